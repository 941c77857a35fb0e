(** * Programs as graphs, and what they mean

    A node is a discrete state of the program; its slots hold reals.  A step draws noises, asks
    questions that are linear in data, noises and slots, and by the answers takes one branch, which
    releases tokens and numbers and sets the slots.  Data are read one by one. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise.
Import ListNotations.
Open Scope R_scope.

Fixpoint assoc {A} (j : nat) (l : list (nat * A)) : option A :=
  match l with [] => None | (i, a) :: l => if Nat.eqb i j then Some a else assoc j l end.

(** ** Syntax *)
Inductive sym := D (i : nat) | H (i : nat) | V (i : nat).  (* a field of the datum; a noise; a slot *)
Definition lin := list (sym * Q).
Record form := Form { constant : Q; terms : lin }.
(** "Is it at least 0?", answered by 1 or 0; "which is the greatest?" (the first of equal ones). *)
Inductive question := Sign (f : form) | Greatest (fs : list form).
Definition path := list (question * nat).
Inductive out := Tok (t : nat) | Num (x : R).
Inductive spec := STok (t : nat) | SNum (f : form).
Record leaf := Leaf { id : nat; to : nat; outs : list spec; sets : list (nat * form) }.
Record group := Group { draws : list nat; branches : list (path * leaf) }.
Inductive node := Halt | Node (reading silent : option group).
Definition program := list node.

(** ** Meaning *)
Definition env := sym -> R.
Definition mkenv (d h v : vec) : env := fun s => match s with D i => d i | H i => h i | V i => v i end.
Fixpoint leval (t : lin) (e : env) : R :=
  match t with [] => 0 | (s, a) :: t => Q2R a * e s + leval t e end.
Definition feval (f : form) (e : env) : R := Q2R (constant f) + leval (terms f) e.

Definition beats (x : nat -> R) (i j : nat) : bool :=
  if Nat.ltb j i then (if Rle_dec 0 (x j - x i) then false else true)
  else (if Rle_dec 0 (x i - x j) then true else false).
Definition wins (x : nat -> R) (n i : nat) : bool := forallb (beats x i) (seq 0 n).
Definition greatest (x : nat -> R) (n : nat) : nat :=
  match find (wins x n) (seq 0 n) with Some i => i | None => n end.
Definition value (fs : list form) (e : env) (i : nat) : R := feval (nth i fs (Form 0 [])) e.
Definition answer (q : question) (e : env) : nat :=
  match q with
  | Sign f => if Rle_dec 0 (feval f e) then 1%nat else 0%nat
  | Greatest fs => greatest (value fs e) (length fs)
  end.
Definition meets (p : path) (e : env) : bool :=
  forallb (fun qa : question * nat => Nat.eqb (answer (fst qa) e) (snd qa)) p.
(** The branch whose answers are the ones given. *)
Definition pick (bs : list (path * leaf)) (e : env) (k : leaf -> R) : R :=
  match find (fun b => meets (fst b) e) bs with Some b => k (snd b) | None => 0 end.

Definition after (l : leaf) (e : env) : vec :=
  fun j => match assoc j (sets l) with Some f => feval f e | None => 0 end.
Definition emit (e : env) (s : spec) : out :=
  match s with STok t => Tok t | SNum f => Num (feval f e) end.

(** What is expected of a function [f] of all that is released.  Silent steps are taken where no
    datum is asked for, or none is left.  [fuel] bounds the number of steps (see [Total.v]). *)
Section Meaning.
Variable E : list nat -> (vec -> R) -> R.
Variable prog : program.
Fixpoint sem (fuel n : nat) (v : vec) (qs : list vec) (f : list out -> R) {struct fuel} : R :=
  match fuel with
  | O => 0
  | S fuel =>
    let go g q qs := E (draws g) (fun h => let e := mkenv q h v in pick (branches g) e (fun l =>
      sem fuel (to l) (after l e) qs (fun o => f (map (emit e) (outs l) ++ o)))) in
    match nth n prog Halt with
    | Halt => f []
    | Node rd si =>
      match rd, qs with
      | Some g, q :: qs' => go g q qs'
      | _, _ => match si with Some g => go g zero qs | None => 0 end
      end
    end
  end.
End Meaning.

(** ** Questions: the answers are disjoint, cover, and are kept by shifts *)
Lemma leval_minus t e1 e2 : leval t (fun s => e2 s - e1 s) = leval t e2 - leval t e1.
Proof. induction t as [|[s a] t IH]; simpl; [lra | rewrite IH; lra]. Qed.
Lemma leval_affine t d v : affine (fun h => leval t (mkenv d h v)).
Proof.
  induction t as [|[s a] t [[x l] IH]]; simpl.
  - exists (0, []). intros; unfold affine_at; simpl; lra.
  - unfold affine_at in *; simpl in *. destruct s as [i|i|i]; simpl.
    + exists (Q2R a * d i + x, l). intros h. rewrite IH. unfold affine_at; simpl. lra.
    + exists (x, (i, Q2R a) :: l). intros h. rewrite IH. unfold affine_at; simpl. lra.
    + exists (Q2R a * v i + x, l). intros h. rewrite IH. unfold affine_at; simpl. lra.
Qed.
Lemma affine_sum k f g : affine f -> affine g -> affine (fun h => f h + k * g h).
Proof.
  intros [[a l] A] [[b m] B]. exists (a + k * b, l ++ map (fun t => (fst t, k * snd t)) m).
  intros h. rewrite A, B. unfold affine_at; simpl. clear A B.
  induction l as [|[i c] l IH]; simpl; [|lra].
  induction m as [|[i c] m IH]; simpl; lra.
Qed.
Lemma feval_affine f d v : affine (fun h => feval f (mkenv d h v)).
Proof.
  destruct (leval_affine (terms f) d v) as [[a l] A]. exists (Q2R (constant f) + a, l).
  intros h. unfold feval. rewrite A. unfold affine_at; simpl. lra.
Qed.

Lemma wins_once x n i j : (i < n)%nat -> (j < n)%nat -> wins x n i = true -> wins x n j = true -> i = j.
Proof.
  unfold wins. rewrite !forallb_forall. intros I J A B. specialize (A j). specialize (B i).
  rewrite !in_seq in *. specialize (A ltac:(lia)). specialize (B ltac:(lia)). unfold beats in *.
  destruct (Nat.ltb_spec j i), (Nat.ltb_spec i j); try lia; exfalso;
    [destruct (Rle_dec 0 (x j - x i)) | destruct (Rle_dec 0 (x i - x j))]; discriminate.
Qed.
Lemma greatest_spec x n i : (i < n)%nat -> (greatest x n = i <-> wins x n i = true).
Proof.
  intros I. unfold greatest. split.
  - destruct (find (wins x n) (seq 0 n)) as [j|] eqn:F; [|lia]. intros <-. apply find_some in F. apply F.
  - intros W. destruct (find (wins x n) (seq 0 n)) as [j|] eqn:F.
    + apply find_some in F. destruct F as [J F]. apply in_seq in J. apply (wins_once x n); auto; lia.
    + pose proof (find_none _ _ F i) as N. rewrite N in W; [discriminate|]. apply in_seq; lia.
Qed.
Lemma winner_exists x n : (0 < n)%nat -> exists i, (i < n)%nat /\ wins x n i = true.
Proof.
  induction n as [|n IH]; [lia|]. intros _. destruct n as [|n].
  - exists O. split; [lia|]. unfold wins, beats; simpl. destruct Rle_dec; auto. lra.
  - destruct IH as (i & I & W); [lia|]. unfold wins in *. rewrite forallb_forall in W.
    assert (W' : forall j, (j < S n)%nat -> beats x i j = true) by (intros j J; apply W, in_seq; lia).
    clear W. destruct (Rle_dec 0 (x i - x (S n))) as [L|L].
    + exists i. split; [lia|]. apply forallb_forall. intros j J. rewrite in_seq in J.
      destruct (Nat.eq_dec j (S n)) as [->|NE]; [|apply W'; lia].
      unfold beats. destruct (Nat.ltb_spec (S n) i); [lia|]. destruct Rle_dec; auto.
    + exists (S n). split; [lia|]. apply forallb_forall. intros j J. rewrite in_seq in J.
      destruct (Nat.eq_dec j (S n)) as [->|NE].
      * unfold beats. rewrite Nat.ltb_irrefl. destruct Rle_dec; auto. lra.
      * assert (JJ : (j < S n)%nat) by lia. specialize (W' j JJ). unfold beats in *.
        destruct (Nat.ltb_spec j (S n)); [|lia].
        destruct (Nat.ltb j i), (Rle_dec 0 (x j - x (S n))); auto; exfalso;
          [destruct (Rle_dec 0 (x j - x i)) | destruct (Rle_dec 0 (x i - x j))]; try discriminate; lra.
Qed.
Definition ways (q : question) : nat := match q with Sign _ => 2 | Greatest fs => length fs end.
Lemma answer_ways q e : (0 < ways q)%nat -> (answer q e < ways q)%nat.
Proof.
  destruct q as [f|fs]; simpl; [destruct Rle_dec; lia|]. intros P.
  destruct (winner_exists (value fs e) (length fs) P) as (i & I & W).
  apply (greatest_spec (value fs e) (length fs) i I) in W. rewrite W. auto.
Qed.

(** A change of the environment that keeps an answer. *)
Definition keeps1 (q : question) (a : nat) (d : env) : Prop :=
  match q with
  | Sign f => match a with O => leval (terms f) d <= 0 | _ => 0 <= leval (terms f) d end
  | Greatest fs => (a < length fs)%nat -> forall k, (k < length fs)%nat ->
      leval (terms (nth k fs (Form 0 []))) d <= leval (terms (nth a fs (Form 0 []))) d
  end.
Definition keeps (p : path) (d : env) := forall q a, In (q, a) p -> keeps1 q a d.
Definition in_range (p : path) := forall q a, In (q, a) p -> (a < ways q)%nat.

Lemma answer_kept q a e1 e2 : (a < ways q)%nat -> keeps1 q a (fun s => e2 s - e1 s) ->
  answer q e1 = a -> answer q e2 = a.
Proof.
  destruct q as [f|fs]; simpl; intros W K A.
  - rewrite leval_minus in K. unfold feval in *.
    destruct (Rle_dec 0 (Q2R (constant f) + leval (terms f) e1)), (Rle_dec 0 (Q2R (constant f) + leval (terms f) e2));
      subst a; auto; exfalso; lra.
  - apply greatest_spec; auto. apply greatest_spec in A; auto. unfold wins in *.
    rewrite forallb_forall in *. intros k I. specialize (A k I). apply in_seq in I.
    specialize (K W k ltac:(lia)). rewrite !leval_minus in K. unfold beats, value, feval in *.
    destruct (Nat.ltb k a); repeat destruct Rle_dec; auto; try discriminate; exfalso; lra.
Qed.
Lemma meets_kept p e1 e2 : in_range p -> keeps p (fun s => e2 s - e1 s) ->
  meets p e1 = true -> meets p e2 = true.
Proof.
  unfold meets. rewrite !forallb_forall. intros R K M [q a] I. specialize (M _ I). simpl in *.
  apply Nat.eqb_eq in M. apply Nat.eqb_eq. apply (answer_kept q a e1 e2); auto.
Qed.

Definition beyond (q : question) (a : nat) : bool := Nat.ltb a (ways q).
Definition form_eqb (f g : form) : bool :=
  (fix eql (a b : lin) := match a, b with
     | [], [] => true
     | (s, x) :: a, (t, y) :: b =>
         match s, t with D i, D j => Nat.eqb i j | H i, H j => Nat.eqb i j | V i, V j => Nat.eqb i j | _, _ => false end
         && Qeq_bool x y && eql a b
     | _, _ => false end) (terms f) (terms g) && Qeq_bool (constant f) (constant g).
Definition question_eqb (p q : question) : bool :=
  match p, q with
  | Sign f, Sign g => form_eqb f g
  | Greatest fs, Greatest gs => Nat.eqb (length fs) (length gs) && forallb (fun x => form_eqb (fst x) (snd x)) (combine fs gs)
  | _, _ => false
  end.
Lemma form_eqb_ok f g : form_eqb f g = true -> forall e, feval f e = feval g e.
Proof.
  destruct f as [c t], g as [c' t']. unfold form_eqb, feval; simpl. rewrite andb_true_iff. intros [T C] e.
  apply Qeq_bool_eq, Qeq_eqR in C. rewrite C. f_equal. clear C. revert t' T.
  induction t as [|[s x] t IH]; intros [|[s' y] t'] T; simpl; auto; try discriminate.
  rewrite !andb_true_iff in T. destruct T as [[S X] T]. apply Qeq_bool_eq, Qeq_eqR in X.
  rewrite X, (IH t' T). f_equal. f_equal. f_equal.
  destruct s, s'; try discriminate; apply Nat.eqb_eq in S; congruence.
Qed.
Lemma question_eqb_ok p q : question_eqb p q = true -> forall e, answer p e = answer q e.
Proof.
  destruct p as [f|fs], q as [g|gs]; simpl; try discriminate.
  - intros X e. rewrite (form_eqb_ok f g X e). auto.
  - rewrite andb_true_iff. intros [N X] e. apply Nat.eqb_eq in N. rewrite N. f_equal.
    apply functional_extensionality. intros i. unfold value.
    revert gs N X i. induction fs as [|f fs IH]; intros [|g gs] N X i; simpl in *; try discriminate; auto.
    apply andb_true_iff in X. destruct X as [X Y]. destruct i as [|i]; [apply form_eqb_ok; auto|].
    apply IH; auto.
Qed.

(** Two branches are apart if they answer one question differently. *)
Definition apart (p p' : path) : bool :=
  existsb (fun x : question * nat => existsb (fun y : question * nat =>
    question_eqb (fst x) (fst y) && negb (Nat.eqb (snd x) (snd y))) p') p.
Lemma apart_ok p p' e : apart p p' = true -> meets p e = true -> meets p' e = true -> False.
Proof.
  unfold apart, meets. rewrite existsb_exists, !forallb_forall. intros ([q a] & I & X) M M'.
  apply existsb_exists in X. destruct X as ([q' a'] & I' & X). simpl in X. apply andb_true_iff in X.
  destruct X as [S N]. specialize (M _ I). specialize (M' _ I'). simpl in *.
  apply Nat.eqb_eq in M, M'. rewrite (question_eqb_ok _ _ S e) in M. rewrite <- M, M', Nat.eqb_refl in N.
  discriminate.
Qed.
Fixpoint disjoint (bs : list (path * leaf)) : bool :=
  match bs with [] => true | b :: bs => forallb (fun c => apart (fst b) (fst c)) bs && disjoint bs end.
Definition well_formed (bs : list (path * leaf)) : bool :=
  disjoint bs && forallb (fun b => forallb (fun qa : question * nat => beyond (fst qa) (snd qa)) (fst b)) bs.
Lemma well_formed_range bs p l : well_formed bs = true -> In (p, l) bs -> in_range p.
Proof.
  unfold well_formed. rewrite andb_true_iff, forallb_forall. intros [_ W] I q a Q. specialize (W _ I).
  simpl in W. rewrite forallb_forall in W. specialize (W _ Q). apply Nat.ltb_lt. auto.
Qed.
(** Which branch is taken is known from its answers. *)
Lemma pick_at bs e k i b : disjoint bs = true -> nth_error bs i = Some b -> meets (fst b) e = true ->
  pick bs e k = k (snd b).
Proof.
  unfold pick. revert i. induction bs as [|c bs IH]; intros i DI N M; [destruct i; discriminate|].
  simpl in DI. apply andb_true_iff in DI. destruct DI as [A DI]. rewrite forallb_forall in A. simpl.
  destruct i as [|i]; simpl in N.
  - injection N as ->. rewrite M. auto.
  - destruct (meets (fst c) e) eqn:MC; [|apply (IH i); auto].
    exfalso. apply (apart_ok (fst c) (fst b) e); auto. apply A. apply nth_error_In in N. auto.
Qed.
Lemma pick_once bs e i j b c : disjoint bs = true -> nth_error bs i = Some b -> nth_error bs j = Some c ->
  meets (fst b) e = true -> meets (fst c) e = true -> i = j.
Proof.
  revert i j. induction bs as [|x bs IH]; intros i j DI NI NJ MI MJ; [destruct i; discriminate|].
  simpl in DI. apply andb_true_iff in DI. destruct DI as [A DI]. rewrite forallb_forall in A.
  destruct i as [|i], j as [|j]; simpl in *; auto.
  - exfalso. injection NI as ->. apply (apart_ok (fst b) (fst c) e); auto. apply A. eapply nth_error_In; eauto.
  - exfalso. injection NJ as ->. apply (apart_ok (fst c) (fst b) e); auto. apply A. eapply nth_error_In; eauto.
Qed.
Lemma pick_range bs e k M : (forall l, 0 <= k l <= M) -> 0 <= M -> 0 <= pick bs e k <= M.
Proof. intros B P. unfold pick. destruct find as [b|]; auto. lra. Qed.

(** ** One step *)
Definition supported (ns : list nat) (s : vec) := forall i, ~ In i ns -> s i = 0.
Section Step.
Variables (u : R) (rate : nat -> Q) (allowed : vec -> Prop) (E : list nat -> (vec -> R) -> R).
Hypothesis u_pos : 0 <= u.
Hypothesis L : laws u rate allowed E.

Lemma splits_answer ns q a d v : (a < ways q)%nat ->
  splits E ns (fun h => Nat.eqb (answer q (mkenv d h v)) a).
Proof.
  destruct q as [f|fs]; simpl; intros W.
  - pose proof (splits_affine _ _ _ _ L ns _ (feval_affine f d v)) as S.
    destruct a as [|[|a]]; [| |lia]; intros g G; [rewrite (splits_not _ _ _ S g G) | rewrite (S g G)];
      f_equal; apply E_ext; intros h; destruct Rle_dec; auto.
  - assert (X : forall h, Nat.eqb (greatest (value fs (mkenv d h v)) (length fs)) a =
                wins (value fs (mkenv d h v)) (length fs) a).
    { intros h. destruct (wins _ _ a) eqn:E1.
      - apply Nat.eqb_eq. apply greatest_spec; auto.
      - apply Nat.eqb_neq. intros E2. apply greatest_spec in E2; auto. congruence. }
    apply (splits_ext _ _ (fun h => wins (value fs (mkenv d h v)) (length fs) a)); [intros; symmetry; auto|].
    unfold wins.
    apply (splits_forallb _ _ _ _ L ns (fun j h => beats (value fs (mkenv d h v)) a j)).
    intros j J.
    assert (AF : forall p q, affine (fun h => value fs (mkenv d h v) p - value fs (mkenv d h v) q)).
    { intros p q. pose proof (affine_sum (-1) _ _ (feval_affine (nth p fs (Form 0 [])) d v)
        (feval_affine (nth q fs (Form 0 [])) d v)) as [g G]. exists g. intros h. rewrite <- G. unfold value. lra. }
    unfold beats. destruct (Nat.ltb j a).
    + pose proof (splits_not _ _ _ (splits_affine _ _ _ _ L ns _ (AF j a))) as S. intros g G.
      rewrite (S g G). f_equal; apply E_ext; intros h; destruct Rle_dec; auto.
    + exact (splits_affine _ _ _ _ L ns _ (AF a j)).
Qed.
Lemma splits_meets ns p d v : in_range p -> splits E ns (fun h => meets p (mkenv d h v)).
Proof.
  intros R. unfold meets.
  apply (splits_forallb _ _ _ _ L ns (fun (qa : question * nat) h => Nat.eqb (answer (fst qa) (mkenv d h v)) (snd qa))).
  intros [q a] I. apply splits_answer. apply (R q a I).
Qed.

Lemma mkenv_minus q1 q2 v1 v2 s h :
  (fun x => mkenv q2 h v2 x - mkenv q1 (minus h s) v1 x) = mkenv (minus q2 q1) s (minus v2 v1).
Proof. apply functional_extensionality. intros []; unfold mkenv, minus; lra. Qed.

(** Split by the branch taken, shift each part by its own shift, put together again. *)
Theorem step ns bs q1 q2 v1 v2 v (K1 K2 : leaf -> env -> R) M : well_formed bs = true -> 0 <= M ->
  (forall l e, 0 <= K1 l e <= M) -> (forall l e, 0 <= K2 l e <= M) ->
  (forall p l, In (p, l) bs -> exists s v', supported ns s /\ allowed s /\
     keeps p (mkenv (minus q2 q1) s (minus v2 v1)) /\ cost rate ns s + v' <= v /\
     forall e1 e2, (fun x => e2 x - e1 x) = mkenv (minus q2 q1) s (minus v2 v1) ->
       K1 l e1 <= exp (u * v') * K2 l e2) ->
  E ns (fun h => pick bs (mkenv q1 h v1) (fun l => K1 l (mkenv q1 h v1))) <=
  exp (u * v) * E ns (fun h => pick bs (mkenv q2 h v2) (fun l => K2 l (mkenv q2 h v2))).
Proof.
  intros WF MP B1 B2 W. pose proof WF as DI. unfold well_formed in DI. apply andb_true_iff in DI. destruct DI as [DI _].
  set (e1 := fun h => mkenv q1 h v1). set (e2 := fun h => mkenv q2 h v2).
  set (b := fun i => nth i bs ([], Leaf 0 0 [] [])).
  assert (NB : forall i, In i (seq 0 (length bs)) -> nth_error bs i = Some (b i)).
  { intros i I. apply in_seq in I. apply nth_error_nth'. lia. }
  assert (RB : forall i, In i (seq 0 (length bs)) -> in_range (fst (b i))).
  { intros i I. apply (well_formed_range bs (fst (b i)) (snd (b i))); auto.
    rewrite <- surjective_pairing. eapply nth_error_In, NB; auto. }
  assert (BP : forall K e, (forall l e, 0 <= K l e <= M) -> bounded (fun h : vec => pick bs (e h) (fun l => K l (e h)))).
  { intros K e B. exists M. intros h. apply pick_range; auto. }
  assert (BK : forall K (e : vec -> env) i, (forall l e, 0 <= K l e <= M) -> bounded (fun h => K (snd (b i)) (e h))).
  { intros K e i B. exists M. intros h. apply B. }
  eapply Rle_trans.
  - apply (E_cover _ _ _ _ L ns (fun i h => meets (fst (b i)) (e1 h)) (fun i h => K1 (snd (b i)) (e1 h)) _ (seq 0 (length bs))).
    + intros i I. apply splits_meets. auto.
    + intros h N. unfold pick in N. destruct find as [c|] eqn:F; [|lra]. apply find_some in F.
      destruct F as [I F]. apply In_nth_error in I. destruct I as [i I]. exists i.
      assert (LT : (i < length bs)%nat) by (apply nth_error_Some; congruence).
      assert (J : In i (seq 0 (length bs))) by (apply in_seq; lia). split; auto.
      specialize (NB i J). rewrite I in NB. injection NB as <-. auto.
    + apply BP; auto.
    + intros i _. apply BK; auto.
    + intros i h I A. right. apply (pick_at bs (e1 h) (fun l => K1 l (e1 h)) i (b i)); auto.
  - eapply Rle_trans; [|apply Rmult_le_compat_l; [apply exp_nonneg|];
      apply (E_partition _ _ _ _ L ns (fun i h => meets (fst (b i)) (e2 h)) (fun i h => K2 (snd (b i)) (e2 h)) _ (seq 0 (length bs)))].
    + assert (SUB : forall i, In i (seq 0 (length bs)) -> In i (seq 0 (length bs))) by auto. revert SUB.
      generalize (seq 0 (length bs)) at 1 3 4. intros is SUB. induction is as [|i is IH]; [simpl; lra|].
      assert (J : In i (seq 0 (length bs))) by (apply SUB; left; auto).
      simpl. rewrite Rmult_plus_distr_l. apply Rplus_le_compat; [|apply IH; intros; apply SUB; right; auto].
      destruct (W (fst (b i)) (snd (b i))) as (s & v' & SU & AL & KP & CO & KK).
      { rewrite <- surjective_pairing. eapply nth_error_In, NB; auto. }
      destruct (bounded_cut (fun h => meets (fst (b i)) (e1 h)) _ (BK K1 e1 i B1)) as [C1 _].
      destruct (bounded_cut (fun h => meets (fst (b i)) (e2 h)) _ (BK K2 e2 i B2)) as [C2 _].
      eapply Rle_trans; [apply (E_shift _ _ _ _ L ns s); auto|].
      apply Rle_trans with (exp (u * cost rate ns s) * (exp (u * v') *
        E ns (fun h => if meets (fst (b i)) (e2 h) then K2 (snd (b i)) (e2 h) else 0))).
      * apply Rmult_le_compat_l; [apply exp_nonneg|]. rewrite <- (E_scal _ _ _ _ L) by (auto using exp_nonneg).
        apply (E_le _ _ _ _ L).
        -- apply (bounded_comp (fun h => if meets (fst (b i)) (e1 h) then K1 (snd (b i)) (e1 h) else 0) (fun h => minus h s)); auto.
        -- apply bounded_scal; auto using exp_nonneg.
        -- intros h. destruct (meets (fst (b i)) (e1 (minus h s))) eqn:M1.
           ++ rewrite (meets_kept (fst (b i)) (e1 (minus h s)) (e2 h)); auto.
              ** apply KK. apply mkenv_minus.
              ** unfold e1, e2. rewrite mkenv_minus. auto.
           ++ apply Rmult_le_pos; [apply exp_nonneg|]. destruct (meets (fst (b i)) (e2 h)); [apply B2 | lra].
      * rewrite <- Rmult_assoc, <- exp_plus. destruct C2 as [M2 C2]. apply Rmult_le_compat_r; [apply (E_range _ _ _ _ L _ _ M2 C2)|].
        apply exp_le. rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; auto.
    + intros i I. apply splits_meets. auto.
    + apply seq_NoDup.
    + intros i j h I J A B. apply (pick_once bs (e2 h) i j (b i) (b j)); auto.
    + apply BP; auto.
    + intros i _. apply BK; auto.
    + intros i h I A. right. symmetry. apply (pick_at bs (e2 h) (fun l => K2 l (e2 h)) i (b i)); auto.
Qed.
End Step.
