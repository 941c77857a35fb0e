(** * Finite mechanisms: tables of exact chances

    A chance is a quotient of polynomials in [a = exp (- u / D)], so that one table serves every unit
    [u > 0]; without a unit it is a number.  Several parts of an output are independent. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Privacy LoopChecker NoiseTable.
Import ListNotations.
Open Scope R_scope.

(** ** Polynomials that are not negative on [0, 1] *)
Definition poly := list Q.
Fixpoint peval (p : poly) (x : R) : R := match p with [] => 0 | c :: p => Q2R c + x * peval p x end.
Fixpoint padd (p q : poly) : poly :=
  match p, q with [], q => q | p, [] => p | a :: p, b :: q => Qred (a + b) :: padd p q end.
Definition pscal (c : Q) (p : poly) : poly := map (fun a => Qred (c * a)) p.
Fixpoint pmul (p q : poly) : poly := match p with [] => [] | a :: p => padd (pscal a q) (0%Q :: pmul p q) end.
Fixpoint pcompose (p l : poly) : poly := match p with [] => [] | c :: p => padd [c] (pmul l (pcompose p l)) end.
Fixpoint ppower (k : nat) : poly := match k with O => [1%Q] | S k => 0%Q :: ppower k end.

Lemma padd_ok p : forall q x, peval (padd p q) x = peval p x + peval q x.
Proof.
  induction p as [|a p IH]; intros [|b q] x; cbn [padd peval]; try lra. rewrite Q2R_red, Q2R_plus, IH. lra.
Qed.
Lemma pscal_ok c p x : peval (pscal c p) x = Q2R c * peval p x.
Proof. induction p as [|a p IH]; cbn [pscal map peval]; [lra|]. fold (pscal c p). rewrite IH, Q2R_red, Q2R_mult. lra. Qed.
Lemma pmul_ok p q x : peval (pmul p q) x = peval p x * peval q x.
Proof.
  induction p as [|a p IH]; cbn [pmul peval]; [lra|]. rewrite padd_ok, pscal_ok. cbn [peval]. rewrite IH, Q2R_0. lra.
Qed.
Lemma pcompose_ok p l x : peval (pcompose p l) x = peval p (peval l x).
Proof.
  induction p as [|c p IH]; cbn [pcompose peval]; auto. rewrite padd_ok, pmul_ok, IH. cbn [peval]. lra.
Qed.
Lemma ppower_ok k x : peval (ppower k) x = x ^ k.
Proof. induction k as [|k IH]; cbn [ppower peval pow]; [rewrite Q2R_1; lra|]. rewrite IH, Q2R_0. lra. Qed.

(** Homogeneous form: coefficients of [x^i * y^(n-i)], where [y = 1 - x]. *)
Fixpoint heval (c : list Q) (x y : R) : R := match c with [] => 0 | a :: c => Q2R a * y ^ length c + x * heval c x y end.
Fixpoint times_sum (prev : Q) (c : list Q) : list Q :=  (* times (x + y) *)
  match c with [] => [prev] | a :: c => Qred (a + prev) :: times_sum a c end.
Fixpoint row (n : nat) (a : Q) : list Q := match n with O => [a] | S n => times_sum 0 (row n a) end.
Fixpoint hadd (p q : list Q) : list Q := match p, q with a :: p, b :: q => Qred (a + b) :: hadd p q | _, _ => [] end.
Fixpoint homogeneous (p : poly) : list Q :=
  match p with [] => [] | a :: p => hadd (row (length p) a) (0%Q :: homogeneous p) end.
Lemma times_sum_length c : forall prev, length (times_sum prev c) = S (length c).
Proof. induction c; intros; simpl; auto. Qed.
Lemma row_length n a : length (row n a) = S n.
Proof. induction n; simpl; auto. rewrite times_sum_length. lia. Qed.
Lemma hadd_length p : forall q, length p = length q -> length (hadd p q) = length p.
Proof. induction p; intros [|]; simpl; intros; try lia. f_equal. apply IHp. lia. Qed.
Lemma homogeneous_length p : length (homogeneous p) = length p.
Proof.
  induction p as [|a p IH]; cbn [homogeneous]; auto. rewrite hadd_length; rewrite row_length; auto. simpl. lia.
Qed.
Lemma times_sum_ok c x y : forall prev, heval (times_sum prev c) x y = (x + y) * heval c x y + Q2R prev * y ^ length c.
Proof.
  induction c as [|a c IH]; intros prev; cbn [times_sum heval length pow]; [lra|].
  rewrite IH, times_sum_length, Q2R_red, Q2R_plus. cbn [pow]. lra.
Qed.
Lemma row_ok n a x y : heval (row n a) x y = Q2R a * (x + y) ^ n.
Proof.
  induction n as [|n IH]; cbn [row pow]; [simpl; lra|]. rewrite times_sum_ok, IH, Q2R_0. lra.
Qed.
Lemma hadd_ok p : forall q x y, length p = length q -> heval (hadd p q) x y = heval p x y + heval q x y.
Proof.
  induction p as [|a p IH]; intros [|b q] x y L; cbn [hadd heval] in *; simpl in L; try lia; [lra|].
  rewrite hadd_length, IH, Q2R_red, Q2R_plus by lia. replace (length q) with (length p) by lia. lra.
Qed.
Lemma homogeneous_ok p x : heval (homogeneous p) x (1 - x) = peval p x.
Proof.
  induction p as [|a p IH]; cbn [homogeneous peval]; auto.
  rewrite hadd_ok by (rewrite row_length; simpl; rewrite homogeneous_length; auto).
  rewrite row_ok. cbn [heval]. rewrite IH, Q2R_0. replace (x + (1 - x)) with 1 by lra. rewrite pow1. lra.
Qed.
Definition half : poly := [0%Q; (1 # 2)%Q].
Definition upper_half : poly := [(1 # 2)%Q; (1 # 2)%Q].
Fixpoint nonneg (depth : nat) (p : poly) : bool :=
  if forallb (Qle_bool 0) (homogeneous p) then true
  else match depth with
    | O => false
    | S d => if nonneg d (pcompose p half) then nonneg d (pcompose p upper_half) else false
    end.
Lemma heval_nonneg c x y : forallb (Qle_bool 0) c = true -> 0 <= x -> 0 <= y -> 0 <= heval c x y.
Proof.
  intros A X Y. induction c as [|a c IH]; cbn [heval]; [lra|]. simpl in A. apply andb_true_iff in A. destruct A as [A C].
  apply qle_ok in A. rewrite Q2R_0 in A. pose proof (pow_le y (length c) Y). specialize (IH C).
  assert (0 <= Q2R a * y ^ length c) by (apply Rmult_le_pos; auto). assert (0 <= x * heval c x y) by (apply Rmult_le_pos; auto). lra.
Qed.
Lemma nonneg_ok depth : forall p x, nonneg depth p = true -> 0 <= x <= 1 -> 0 <= peval p x.
Proof.
  induction depth as [|d IH]; intros p x N B; cbn [nonneg] in N;
    (destruct (forallb (Qle_bool 0) (homogeneous p)) eqn:E;
     [rewrite <- homogeneous_ok; apply heval_nonneg; auto; lra|]); try discriminate.
  destruct (nonneg d (pcompose p half)) eqn:N1; [|discriminate]. rename N into N2. destruct (Rle_dec x (1 / 2)) as [L|L].
  - specialize (IH _ (2 * x) N1 ltac:(lra)). rewrite pcompose_ok in IH. replace (peval half (2 * x)) with x in IH; auto.
    unfold half. cbn [peval]. unfold Q2R; simpl. lra.
  - specialize (IH _ (2 * x - 1) N2 ltac:(lra)). rewrite pcompose_ok in IH. replace (peval upper_half (2 * x - 1)) with x in IH; auto.
    unfold upper_half. cbn [peval]. unfold Q2R; simpl. lra.
Qed.
Definition is_zero (p : poly) : bool := forallb (fun c => Qeq_bool c 0) p.
Lemma is_zero_ok p x : is_zero p = true -> peval p x = 0.
Proof.
  induction p as [|a p IH]; cbn [is_zero forallb peval]; auto. rewrite andb_true_iff. intros [A P].
  apply qeq_ok in A. rewrite A, IH, Q2R_0 by auto. lra.
Qed.

(** ** Tables *)
(** For each output its chance, numerator and denominator. *)
Definition table := list (nat * (poly * poly)).
Definition chance (a : R) (c : poly * poly) : R := peval (fst c) a / peval (snd c) a.
Definition part_expect (a : R) (t : table) (f : nat -> R) : R :=
  fold_right (fun x r => chance a (snd x) * f (fst x) + r) 0 t.
Fixpoint parts_expect (a : R) (ts : list table) (f : list nat -> R) : R :=
  match ts with [] => f [] | t :: ts => part_expect a t (fun y => parts_expect a ts (fun o => f (y :: o))) end.

Definition depth : nat := 8.
(** A denominator is positive: not negative on [0, 1], and still so less a small constant, or with
    coefficients of one sign. *)
Definition positive_poly (p : poly) : bool :=
  forallb (Qle_bool 0) p && existsb (fun c => negb (Qle_bool c 0)) p.
Lemma positive_ok p x : positive_poly p = true -> 0 < x -> 0 < peval p x.
Proof.
  unfold positive_poly. rewrite andb_true_iff. intros [N E] X. induction p as [|c p IH]; [discriminate|].
  cbn [forallb existsb peval] in *. apply andb_true_iff in N. destruct N as [C N]. apply qle_ok in C. rewrite Q2R_0 in C.
  assert (PP : 0 <= peval p x).
  { clear - N X. induction p as [|c p IH]; cbn [peval]; [lra|]. cbn [forallb] in N. apply andb_true_iff in N. destruct N as [C N].
    apply qle_ok in C. rewrite Q2R_0 in C. specialize (IH N). pose proof (Rmult_le_pos x (peval p x)). lra. }
  apply orb_true_iff in E. destruct E as [E|E].
  - apply negb_true_iff in E. assert (0 < Q2R c).
    { rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. congruence. }
    pose proof (Rmult_le_pos x (peval p x)). lra.
  - specialize (IH N E). pose proof (Rmult_lt_0_compat x (peval p x) X IH). lra.
Qed.
Fixpoint total_fraction (t : table) : poly * poly :=
  match t with
  | [] => ([], [1%Q])
  | (_, (p, q)) :: t => let (n, d) := total_fraction t in (padd (pmul p d) (pmul n q), pmul q d)
  end.
Fixpoint distinct_outputs (t : table) (seen : list nat) : bool :=
  match t with [] => true | (y, _) :: t => negb (existsb (Nat.eqb y) seen) && distinct_outputs t (y :: seen) end.
Definition check_table (t : table) : bool :=
  forallb (fun x => nonneg depth (fst (snd x)) && positive_poly (snd (snd x))) t &&
  (let (n, d) := total_fraction t in is_zero (padd n (pscal (-1) d))).
Fixpoint lookup (y : nat) (t : table) : poly * poly :=
  match t with [] => ([], [1%Q]) | (z, c) :: t => if Nat.eqb z y then c else lookup y t end.
(** [p * a^k <= w * p'] for every output of the first table. *)
Definition check_ratio (w : Q) (k : nat) (t t' : table) : bool :=
  distinct_outputs t [] && distinct_outputs t' [] &&
  forallb (fun x : nat * (poly * poly) => let (p, q) := snd x in let (p', q') := lookup (fst x) t' in
    nonneg depth (padd (pscal w (pmul p' q)) (pscal (-1) (pmul (pmul p q') (ppower k))))) t.

Section At.
Variable a : R.
Hypothesis A : 0 < a <= 1.
Lemma chance_nonneg t x : check_table t = true -> In x t -> 0 <= chance a (snd x).
Proof.
  unfold check_table. rewrite andb_true_iff, forallb_forall. intros [C _] I. specialize (C x I). apply andb_true_iff in C.
  destruct C as [N P]. unfold chance. apply Rmult_le_pos; [eapply nonneg_ok; eauto; lra|].
  left. apply Rinv_0_lt_compat. apply positive_ok; auto. lra.
Qed.
Lemma part_le t f g : check_table t = true -> (forall y, f y <= g y) -> part_expect a t f <= part_expect a t g.
Proof.
  intros C I. assert (X : forall x, In x t -> 0 <= chance a (snd x)) by (intros; eapply chance_nonneg; eauto).
  clear C. unfold part_expect. induction t as [|x t IH]; simpl; [lra|].
  apply Rplus_le_compat; [apply Rmult_le_compat_l; auto; apply X; left; auto | apply IH; intros; apply X; right; auto].
Qed.
Lemma part_scal t c f : part_expect a t (fun y => c * f y) = c * part_expect a t f.
Proof. unfold part_expect. induction t as [|x t IH]; simpl; [lra|]. rewrite IH. lra. Qed.
Lemma total_ok t : forallb (fun x : nat * (poly * poly) => positive_poly (snd (snd x))) t = true ->
  0 < peval (snd (total_fraction t)) a /\
  part_expect a t (fun _ => 1) = peval (fst (total_fraction t)) a / peval (snd (total_fraction t)) a.
Proof.
  induction t as [|[y [p q]] t IH]; intros P.
  - simpl. split; [rewrite Q2R_1; lra | field; rewrite Q2R_1; lra].
  - cbn [forallb snd fst] in P. apply andb_true_iff in P. destruct P as [PQ P]. destruct (IH P) as [D E].
    unfold part_expect in *. cbn [fold_right total_fraction fst snd]. rewrite E.
    destruct (total_fraction t) as [n d]. cbn [fst snd] in *. pose proof (positive_ok q a PQ ltac:(lra)) as QP.
    rewrite padd_ok, !pmul_ok. split; [apply Rmult_lt_0_compat; auto|]. unfold chance. cbn [fst snd]. field. lra.
Qed.
Lemma part_mass t c : check_table t = true -> part_expect a t (fun _ => c) = c.
Proof.
  unfold check_table. rewrite andb_true_iff. intros [C Z].
  assert (P : forallb (fun x : nat * (poly * poly) => positive_poly (snd (snd x))) t = true).
  { rewrite forallb_forall in *. intros x I. specialize (C x I). apply andb_true_iff in C. apply C. }
  destruct (total_ok t P) as [D E]. destruct (total_fraction t) as [n d]. cbn [fst snd] in *.
  apply (is_zero_ok _ a) in Z. rewrite padd_ok, pscal_ok in Z. replace (Q2R (-1)) with (-1) in Z by (unfold Q2R; simpl; lra).
  replace (fun _ : nat => c) with (fun _ : nat => c * 1) by (apply functional_extensionality; intros; lra).
  rewrite part_scal, E. replace (peval n a) with (peval d a) by lra. field. lra.
Qed.
Lemma lookup_in t y c : distinct_outputs t [] = true -> In (y, c) t -> lookup y t = c.
Proof.
  cut (forall seen, distinct_outputs t seen = true -> In (y, c) t -> ~ In y seen /\ lookup y t = c).
  { intros H D I. apply (H [] D I). }
  induction t as [|[z e] t IH]; intros seen D I; [contradiction|]. cbn [distinct_outputs] in D.
  apply andb_true_iff in D. destruct D as [N D]. apply negb_true_iff in N. simpl. destruct I as [I|I].
  - injection I as -> ->. rewrite Nat.eqb_refl. split; auto. intros S.
    assert (existsb (Nat.eqb y) seen = true); [|congruence]. apply existsb_exists. exists y. split; auto. apply Nat.eqb_refl.
  - destruct (IH (z :: seen) D I) as [S L]. destruct (Nat.eqb_spec z y) as [->|]; [exfalso; apply S; left; auto|].
    split; auto. intros X. apply S. right; auto.
Qed.
(** The sum over the first table, with chances of the second, is at most the second's sum. *)
Lemma part_other t' : check_table t' = true -> forall t f, distinct_outputs t [] = true -> distinct_outputs t' [] = true ->
  (forall y, 0 <= f y) ->
  fold_right (fun (x : nat * (poly * poly)) r => chance a (lookup (fst x) t') * f (fst x) + r) 0 t <= part_expect a t' f.
Proof.
  intros C' t f D D' F. rename D' into DD.
  (* by removing the outputs of [t] from [t'] one after the other *)
  assert (G : forall t seen, distinct_outputs t seen = true ->
    fold_right (fun (x : nat * (poly * poly)) r => chance a (lookup (fst x) t') * f (fst x) + r) 0 t <=
    fold_right (fun (x : nat * (poly * poly)) r => (if existsb (Nat.eqb (fst x)) seen then 0 else chance a (snd x) * f (fst x)) + r) 0 t').
  { assert (NN : forall x, In x t' -> 0 <= chance a (snd x)) by (intros; eapply chance_nonneg; eauto).
    clear t D. induction t as [|[y c] t IH]; intros seen D; cbn [fold_right fst].
    - clear - NN F. induction t' as [|x t' IH]; simpl; [lra|].
      assert (0 <= chance a (snd x) * f (fst x)) by (apply Rmult_le_pos; auto; apply NN; left; auto).
      specialize (IH (fun z I => NN z (or_intror I))). destruct (existsb _ seen); lra.
    - cbn [distinct_outputs] in D. apply andb_true_iff in D. destruct D as [N D]. apply negb_true_iff in N.
      specialize (IH _ D).
      assert (ONE : chance a (lookup y t') * f y +
        fold_right (fun (x : nat * (poly * poly)) r => (if existsb (Nat.eqb (fst x)) (y :: seen) then 0 else chance a (snd x) * f (fst x)) + r) 0 t' <=
        fold_right (fun (x : nat * (poly * poly)) r => (if existsb (Nat.eqb (fst x)) seen then 0 else chance a (snd x) * f (fst x)) + r) 0 t').
      { clear - N DD NN F. revert DD NN. cut (forall s, distinct_outputs t' s = true -> (forall x, In x t' -> 0 <= chance a (snd x)) ->
          chance a (lookup y t') * f y +
          fold_right (fun (x : nat * (poly * poly)) r => (if existsb (Nat.eqb (fst x)) (y :: seen) then 0 else chance a (snd x) * f (fst x)) + r) 0 t' <=
          fold_right (fun (x : nat * (poly * poly)) r => (if existsb (Nat.eqb (fst x)) seen then 0 else chance a (snd x) * f (fst x)) + r) 0 t').
        { intros H DD NN. apply (H [] DD NN). }
        induction t' as [|[z e] t' IH]; intros s DD NN.
        - simpl. unfold chance; simpl. rewrite Q2R_1. unfold Rdiv. lra.
        - cbn [distinct_outputs] in DD. apply andb_true_iff in DD. destruct DD as [_ DD].
          cbn [fold_right lookup fst snd]. specialize (IH (z :: s) DD (fun x I => NN x (or_intror I))).
          destruct (Nat.eqb_spec z y) as [->|NE].
          + rewrite N. cbn [existsb]. rewrite Nat.eqb_refl. cbn [orb].
            (* the rest does not hold [y] *)
            assert (REST : forall l s, distinct_outputs l (y :: s) = true ->
              fold_right (fun (x : nat * (poly * poly)) r => (if Nat.eqb (fst x) y || existsb (Nat.eqb (fst x)) seen then 0 else chance a (snd x) * f (fst x)) + r) 0 l =
              fold_right (fun (x : nat * (poly * poly)) r => (if existsb (Nat.eqb (fst x)) seen then 0 else chance a (snd x) * f (fst x)) + r) 0 l).
            { induction l as [|[w g] l IHl]; intros q Q; cbn [fold_right fst snd]; auto. cbn [distinct_outputs] in Q.
              apply andb_true_iff in Q. destruct Q as [Q1 Q2]. apply negb_true_iff in Q1. cbn [existsb] in Q1.
              apply orb_false_iff in Q1. destruct Q1 as [Q1 _]. rewrite Q1. cbn [orb].
              assert (SW : forall m s1 s2, (forall x, In x s2 -> In x s1) -> distinct_outputs m s1 = true -> distinct_outputs m s2 = true).
              { clear. induction m as [|[u h] m IHm]; intros s1 s2 S M; cbn [distinct_outputs] in *; auto.
                apply andb_true_iff in M. destruct M as [M1 M2]. apply andb_true_iff. split.
                - apply negb_true_iff in M1. apply negb_true_iff. destruct (existsb (Nat.eqb u) s2) eqn:E; auto.
                  apply existsb_exists in E. destruct E as (v & V & EV). apply S in V.
                  assert (existsb (Nat.eqb u) s1 = true) by (apply existsb_exists; exists v; auto). congruence.
                - apply (IHm (u :: s1)); auto. intros x [<-|X]; [left; auto | right; auto]. }
              rewrite (IHl q); auto. apply (SW l (w :: y :: q)); auto. intros x X. right; auto. }
            rewrite (REST t' s DD). lra.
          + cbn [existsb] in *. destruct (Nat.eqb_spec z y); [congruence|]. cbn [orb]. destruct (existsb (Nat.eqb z) seen); lra. }
      lra. }
  eapply Rle_trans; [apply (G t [] D)|]. unfold part_expect. simpl. right. reflexivity.
Qed.
Lemma ratio_ok w k t t' f : check_table t = true -> check_table t' = true -> check_ratio w k t t' = true -> 0 <= Q2R w ->
  (forall y, 0 <= f y) -> a ^ k * part_expect a t f <= Q2R w * part_expect a t' f.
Proof.
  intros C C' RA W F. unfold check_ratio in RA. rewrite !andb_true_iff in RA. destruct RA as [[D D'] RA]. rewrite forallb_forall in RA.
  apply Rle_trans with (Q2R w * fold_right (fun (x : nat * (poly * poly)) r => chance a (lookup (fst x) t') * f (fst x) + r) 0 t).
  2: { apply Rmult_le_compat_l; auto. apply part_other; auto. }
  assert (LP : forall y, 0 < peval (snd (lookup y t')) a).
  { intros y. unfold check_table in C'. apply andb_true_iff in C'. destruct C' as [C' _].
    clear - C' A. induction t' as [|[z e] t' IH]; simpl; [rewrite Q2R_1; lra|]. cbn [forallb] in C'. apply andb_true_iff in C'.
    destruct C' as [P C']. apply andb_true_iff in P. destruct (Nat.eqb z y); auto. apply positive_ok; [apply P | lra]. }
  assert (QP : forall x, In x t -> 0 < peval (snd (snd x)) a).
  { intros x I. unfold check_table in C. apply andb_true_iff in C. destruct C as [C _]. rewrite forallb_forall in C.
    specialize (C x I). apply andb_true_iff in C. apply positive_ok; [apply C | lra]. }
  unfold part_expect. clear C C' D D'. induction t as [|[y [p q]] t IH]; cbn [fold_right fst snd]; [lra|].
  specialize (IH (fun x I => RA x (or_intror I)) (fun x I => QP x (or_intror I))).
  assert (H : a ^ k * (chance a (p, q) * f y) <= Q2R w * (chance a (lookup y t') * f y)).
  { specialize (RA (y, (p, q)) (or_introl eq_refl)). cbn [fst snd] in RA. specialize (LP y).
    specialize (QP _ (or_introl eq_refl)). cbn [fst snd] in QP. destruct (lookup y t') as [p' q']. cbn [fst snd] in *.
    apply (nonneg_ok depth _ a) in RA; [|lra]. rewrite padd_ok, !pscal_ok, !pmul_ok, ppower_ok in RA.
    replace (Q2R (-1)) with (-1) in RA by (unfold Q2R; simpl; lra).
    cut (a ^ k * chance a (p, q) <= Q2R w * chance a (p', q')).
    { intros X. apply (Rmult_le_compat_r (f y)) in X; auto. lra. }
    unfold chance; cbn [fst snd]. apply Rmult_le_reg_r with (peval q a * peval q' a); [apply Rmult_lt_0_compat; auto|].
    replace (a ^ k * (peval p a / peval q a) * (peval q a * peval q' a)) with (a ^ k * peval p a * peval q' a) by (field; lra).
    replace (Q2R w * (peval p' a / peval q' a) * (peval q a * peval q' a)) with (Q2R w * peval p' a * peval q a) by (field; lra). lra. }
  lra.
Qed.

(** Independent parts: the ratios multiply. *)
Fixpoint check_parts (ws : list Q) (k : nat) (ts ts' : list table) : bool :=
  match ws, ts, ts' with
  | [], [], [] => true
  | w :: ws, t :: ts, t' :: ts' => check_table t && check_table t' && check_ratio w k t t' && Qle_bool 0 w && check_parts ws k ts ts'
  | _, _, _ => false
  end.
Fixpoint product (ws : list Q) : Q := match ws with [] => 1%Q | w :: ws => Qred (w * product ws) end.
Lemma product_ok ws : Forall (fun w => 0 <= Q2R w) ws -> 0 <= Q2R (product ws).
Proof.
  induction 1 as [|w ws W _ IH]; cbn [product]; [rewrite Q2R_1; lra|]. rewrite Q2R_red, Q2R_mult. apply Rmult_le_pos; auto.
Qed.
Lemma parts_nonneg ts : forall f, forallb check_table ts = true -> (forall o, 0 <= f o) -> 0 <= parts_expect a ts f.
Proof.
  induction ts as [|t ts IH]; intros f C F; cbn [parts_expect]; auto. cbn [forallb] in C. apply andb_true_iff in C. destruct C as [C CS].
  rewrite <- (part_mass t 0 C). apply part_le; auto.
Qed.
Lemma parts_ok ws : forall k ts ts' f, check_parts ws k ts ts' = true -> (forall o, 0 <= f o) ->
  (a ^ k) ^ length ts * parts_expect a ts f <= Q2R (product ws) * parts_expect a ts' f.
Proof.
  induction ws as [|w ws IH]; intros k [|t ts] [|t' ts'] f C F; cbn [check_parts] in C; try discriminate.
  - cbn. rewrite Q2R_1. lra.
  - rewrite !andb_true_iff in C. destruct C as [[[[C1 C2] C3] C4] C5]. apply qle_ok in C4. rewrite Q2R_0 in C4.
    assert (AK : 0 <= a ^ k) by (apply pow_le; lra).
    assert (WS : 0 <= Q2R (product ws)).
    { apply product_ok. clear - C5. revert ts ts' C5. induction ws as [|w ws IH]; intros [|t ts] [|t' ts'] C; cbn [check_parts] in C; try discriminate; constructor.
      - rewrite !andb_true_iff in C. destruct C as [[_ C] _]. rewrite <- Q2R_0. apply qle_ok; auto.
      - rewrite !andb_true_iff in C. destruct C as [_ C]. eapply IH; eauto. }
    assert (CT : forallb check_table ts' = true).
    { clear - C5. revert ws ts C5. induction ts' as [|t' ts' IH]; intros [|w ws] [|t ts] C; cbn [check_parts] in C; try discriminate; auto.
      rewrite !andb_true_iff in C. destruct C as [[[[_ C] _] _] C5]. cbn [forallb]. rewrite C. eapply IH; eauto. }
    cbn [parts_expect product length pow]. rewrite Q2R_red, Q2R_mult.
    apply Rle_trans with (a ^ k * part_expect a t (fun y => Q2R (product ws) * parts_expect a ts' (fun o => f (y :: o)))).
    + rewrite Rmult_assoc. apply Rmult_le_compat_l; auto. rewrite <- part_scal. apply part_le; auto.
    + rewrite part_scal. pose proof (ratio_ok w k t t' (fun y => parts_expect a ts' (fun o => f (y :: o))) C1 C2 C3 C4) as X.
      specialize (X (fun y => parts_nonneg ts' _ CT (fun o => F (y :: o)))).
      apply (Rmult_le_compat_l (Q2R (product ws))) in X; auto. lra.
Qed.
Lemma parts_mass ts : forall c, forallb check_table ts = true -> parts_expect a ts (fun _ => c) = c.
Proof.
  induction ts as [|t ts IH]; intros c C; cbn [parts_expect]; auto. cbn [forallb] in C. apply andb_true_iff in C. destruct C as [C CS].
  transitivity (part_expect a t (fun _ => c)); [|apply part_mass; auto].
  f_equal. apply functional_extensionality. intros y. apply IH; auto.
Qed.
End At.

(** ** Mechanisms *)
(** Inputs are numbered; [near i j]: which are neighbours; each pair with the ratios of its parts. *)
Record finite_certificate := Finite {
  f_inputs : list (list table); f_near : nat -> nat -> bool; f_ratios : nat -> nat -> list Q; f_power : nat; f_factor : Q }.
Definition check_finite (C : finite_certificate) : bool :=
  Qle_bool 0 (f_factor C) && forallb (forallb check_table) (f_inputs C) &&
  forallb (fun i => forallb (fun j => negb (f_near C i j) ||
    let ts := nth i (f_inputs C) [] in let ts' := nth j (f_inputs C) [] in
    check_parts (f_ratios C i j) (f_power C) ts ts' && Qle_bool (product (f_ratios C i j)) (f_factor C) &&
    (Nat.eqb (f_power C) 0 || Nat.eqb (length ts) 1))
    (seq 0 (length (f_inputs C)))) (seq 0 (length (f_inputs C))).
Definition run_table (C : finite_certificate) (a : R) (i : nat) (f : list nat -> R) : R := parts_expect a (nth i (f_inputs C) []) f.
Definition near_inputs (C : finite_certificate) (i j : nat) : Prop :=
  (i < length (f_inputs C))%nat /\ (j < length (f_inputs C))%nat /\ f_near C i j = true.

Lemma finite_ratio C a i j f : check_finite C = true -> 0 < a <= 1 -> near_inputs C i j -> bounded f ->
  a ^ f_power C * run_table C a i f <= Q2R (f_factor C) * run_table C a j f.
Proof.
  unfold check_finite. rewrite !andb_true_iff. intros [[FP TS] PR] A (I & J & N) [M B]. rewrite forallb_forall in PR.
  specialize (PR i ltac:(apply in_seq; lia)). rewrite forallb_forall in PR. specialize (PR j ltac:(apply in_seq; lia)).
  rewrite N in PR. cbn [negb orb] in PR. rewrite !andb_true_iff in PR. destruct PR as [[CP CF] LEN].
  assert (F : forall o, 0 <= f o) by (intros; apply B). unfold run_table.
  pose proof (parts_ok a A _ _ _ _ f CP F) as X. apply qle_ok in CF.
  assert (PN : 0 <= parts_expect a (nth j (f_inputs C) []) f).
  { apply parts_nonneg; auto. rewrite forallb_forall in TS. apply TS, nth_In; auto. }
  assert (EQ : (a ^ f_power C) ^ length (nth i (f_inputs C) []) = a ^ f_power C).
  { apply orb_true_iff in LEN. destruct LEN as [L|L]; apply Nat.eqb_eq in L; rewrite L; simpl; [apply pow1 | lra]. }
  rewrite EQ in X. eapply Rle_trans; [exact X|]. apply Rmult_le_compat_r; auto.
Qed.
Lemma finite_mass C a i c : check_finite C = true -> 0 < a <= 1 -> run_table C a i (fun _ => c) = c.
Proof.
  unfold check_finite. rewrite !andb_true_iff. intros [[FP TS] PR] A. unfold run_table. apply parts_mass; auto.
  rewrite forallb_forall in TS. destruct (nth_in_or_default i (f_inputs C) []) as [I | ->]; auto.
Qed.
(** With a unit: [a = exp (- u / D)], and [power / D] is epsilon. *)
Theorem finite_private C D : check_finite C = true -> Qeq_bool (f_factor C) 1 = true -> forall u, 0 < u ->
  let run := run_table C (exp (- (u / IZR (Zpos D)))) in
  private (near_inputs C) (u * Q2R (Z.of_nat (f_power C) # D)) run /\ mass_one run.
Proof.
  intros OK F1 u U run. apply qeq_ok in F1. assert (DP : 0 < IZR (Zpos D)) by (apply IZR_lt; lia).
  assert (UD : 0 < u / IZR (Zpos D)) by (apply Rdiv_lt_0_compat; auto).
  assert (A : 0 < exp (- (u / IZR (Zpos D))) <= 1).
  { split; [apply exp_pos|]. rewrite <- exp_0. apply exp_le. lra. }
  split; [|intros i c _; apply finite_mass; auto].
  intros i j N f F. pose proof (finite_ratio C _ i j f OK A N F) as X. rewrite F1, Q2R_1, Rmult_1_l in X. fold run in X.
  assert (P : exp (u * Q2R (Z.of_nat (f_power C) # D)) * exp (- (u / IZR (Zpos D))) ^ f_power C = 1).
  { assert (EP : forall k x, exp x ^ k = exp (INR k * x)).
    { induction k as [|k IH]; intros x; [simpl; rewrite Rmult_0_l, exp_0; auto|]. rewrite S_INR. cbn [pow]. rewrite IH, <- exp_plus. f_equal. lra. }
    rewrite EP, <- exp_plus, <- exp_0. f_equal. unfold Q2R; simpl. rewrite <- INR_IZR_INZ. field. lra. }
  apply (Rmult_le_compat_l (exp (u * Q2R (Z.of_nat (f_power C) # D)))) in X; [|apply exp_nonneg].
  rewrite <- Rmult_assoc, P, Rmult_1_l in X. exact X.
Qed.
(** Without one: the chances are numbers, and the factor is e^epsilon. *)
Theorem finite_private_number C : check_finite C = true -> Nat.eqb (f_power C) 0 && negb (Qle_bool (f_factor C) 0) = true ->
  private (near_inputs C) (ln (Q2R (f_factor C))) (run_table C 1) /\ mass_one (run_table C 1).
Proof.
  rewrite andb_true_iff. intros OK [K P]. apply Nat.eqb_eq in K. assert (A : 0 < 1 <= 1) by lra. split.
  - intros i j N f F. pose proof (finite_ratio C 1 i j f OK A N F) as X. rewrite K in X. simpl in X. rewrite Rmult_1_l in X.
    rewrite exp_ln; auto. rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. rewrite Y in P. discriminate.
  - intros i c _. apply finite_mass; auto.
Qed.

(** Ratios of chances that are numbers, found by computation; [check_parts] checks them. *)
Definition number (c : poly * poly) : Q := (hd 0%Q (fst c) / hd 0%Q (snd c))%Q.
Definition worst (t t' : table) : Q :=
  fold_right (fun (x : nat * (poly * poly)) r =>
    let q := Qred (number (snd x) / number (lookup (fst x) t')) in if Qle_bool r q then q else r) 0%Q t.
Definition worst_ratios (inputs : list (list table)) (i j : nat) : list Q :=
  map (fun tt : table * table => worst (fst tt) (snd tt)) (combine (nth i inputs []) (nth j inputs [])).
Definition among (pairs : list (nat * nat)) (i j : nat) : bool :=
  existsb (fun p => Nat.eqb (fst p) i && Nat.eqb (snd p) j) pairs.
