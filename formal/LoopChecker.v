(** * The checker of loops: a boolean over the rationals; what it accepts is private *)
From Coq Require Import Reals Lra Lia List QArith Qreals Qabs Bool FunctionalExtensionality.
From DP Require Import Noise Program NoiseTable Loop.
Import ListNotations.
Open Scope R_scope.

Fixpoint qleval (t : lin) (e : sym -> Q) : Q :=
  match t with [] => 0%Q | (s, a) :: t => Qred (a * e s + qleval t e)%Q end.
Definition qenv (d h v : list (nat * Q)) (s : sym) : Q :=
  match s with D i => qval d i | H i => qval h i | V i => qval v i end.
Definition check_keeps1 (q : question) (a : nat) (e : sym -> Q) : bool :=
  match q with
  | Sign f => match a with O => Qle_bool (qleval (terms f) e) 0 | _ => Qle_bool 0 (qleval (terms f) e) end
  | Greatest fs => let w := qleval (terms (nth a fs (Form 0 []))) e in
      forallb (fun f => Qle_bool (qleval (terms f) e) w) fs
  end.
Definition check_keeps (p : path) (e : sym -> Q) : bool :=
  forallb (fun qa : question * nat => check_keeps1 (fst qa) (snd qa) e) p.
Definition check_releases (l : leaf) (e : sym -> Q) : bool :=
  forallb (fun o => match o with SNum f => Qeq_bool (qleval (terms f) e) 0 | _ => true end) (outs l).

Lemma qleval_ok t e : leval t (fun s => Q2R (e s)) = Q2R (qleval t e).
Proof.
  induction t as [|[s a] t IH]; cbn [leval qleval]; [symmetry; apply Q2R_0|].
  rewrite Q2R_red, IH, Q2R_plus, Q2R_mult. reflexivity.
Qed.
Lemma qenv_ok d h v : mkenv (rval d) (rval h) (rval v) = (fun s => Q2R (qenv d h v s)).
Proof. apply functional_extensionality; intros []; reflexivity. Qed.
Lemma qle_ok a b : Qle_bool a b = true -> Q2R a <= Q2R b.
Proof. intros; apply Qle_Rle, Qle_bool_iff; auto. Qed.
Lemma qeq_ok a b : Qeq_bool a b = true -> Q2R a = Q2R b.
Proof. intros; apply Qeq_eqR, Qeq_bool_eq; auto. Qed.
Lemma check_keeps_ok p e : check_keeps p e = true -> keeps p (fun s => Q2R (e s)).
Proof.
  unfold check_keeps. rewrite forallb_forall. intros C q a I. specialize (C _ I). simpl in C.
  destruct q as [f|fs]; simpl in *.
  - rewrite qleval_ok, <- Q2R_0. destruct a; apply qle_ok; auto.
  - intros A k K. rewrite !qleval_ok. rewrite forallb_forall in C. apply qle_ok, C, nth_In; auto.
Qed.
Lemma check_releases_ok l e : check_releases l e = true -> releases_same l (fun s => Q2R (e s)).
Proof.
  unfold check_releases. rewrite forallb_forall. intros C f I. specialize (C _ I). simpl in C.
  rewrite qleval_ok, <- Q2R_0. apply qeq_ok; auto.
Qed.

Section Check.
Variable C : cert.
Notation one := (c_one C).
Notation T := (c_noises C).

Definition same_move (a b : option nat) : bool :=
  match a, b with None, None => true | Some a, Some b => Nat.eqb a b | _, _ => false end.
Definition same_keys (a b : list nat) : bool :=
  forallb (fun x => existsb (Nat.eqb x) b) a && forallb (fun x => existsb (Nat.eqb x) a) b.
Definition phase_after (st : astate) (mv : option nat) : nat :=
  match mv with Some k => if one then S k else 0%nat | None => a_phase st end.

Definition check_step (i : nat) (st : astate) (ns : list nat) (mv : option nat) (d : list (nat * Q))
    (p : path) (l : leaf) : bool :=
  match find (fun x => Nat.eqb (s_state x) i && Nat.eqb (s_edge x) (id l) && same_move (s_move x) mv) (c_steps C) with
  | None => false
  | Some x =>
    match nth_error (c_states C) (s_next x) with
    | None => false
    | Some st' =>
      let e := qenv d (s_shift x) (a_diff st) in
      Nat.eqb (a_node st') (to l) &&
      (halts C (to l) || Nat.eqb (a_phase st') (phase_after st mv)) &&
      same_keys (map fst (sets l)) (map fst (a_diff st')) &&
      check_keeps p e && check_releases l e &&
      forallb (fun j => Qeq_bool (match assoc j (sets l) with Some f => qleval (terms f) e | None => 0%Q end)
                                 (qval (a_diff st') j)) (map fst (sets l)) &&
      check_shift T ns (s_shift x) &&
      Qle_bool (qcost T ns (s_shift x) + a_budget st') (a_budget st)
    end
  end.

Definition indexed {A} (l : list A) : list (nat * A) := combine (seq 0 (length l)) l.
Definition check_silent (i : nat) (st : astate) (g : group) : bool :=
  forallb (fun b => check_step i st (draws g) None [] (fst b) (snd b)) (branches g).
Definition check_moves (i : nat) (st : astate) (g : group) : bool :=
  forallb (fun b => forallb (fun km : nat * list (nat * Q) =>
    check_step i st (draws g) (Some (fst km)) (snd km) (fst b) (snd b)) (indexed (c_moves C))) (branches g).
Definition check_reading (i : nat) (st : astate) (g : group) : bool :=
  (negb one || check_silent i st g) && ((one && negb (Nat.eqb (a_phase st) 0)) || check_moves i st g).
Definition on {A} (f : A -> bool) (o : option A) := match o with Some a => f a | None => true end.
Definition check_state (i : nat) (st : astate) : bool :=
  Qle_bool 0 (a_budget st) && same_keys (map fst (a_diff st)) (nth (a_node st) (c_slots C) []) &&
  match nth (a_node st) (c_prog C) Halt with
  | Halt => true
  | Node rd si => on (check_reading i st) rd && on (check_silent i st) si
  end.
Definition check_node (n : node) : bool :=
  match n with
  | Halt => true
  | Node rd si => on (fun g => well_formed (branches g)) rd && on (fun g => well_formed (branches g)) si
  end.
(** The start: nothing was read, there are no slots, the move is to come, the budget is [eps]. *)
Definition check_start (i : nat) (eps : Q) : bool :=
  match nth_error (c_states C) i with
  | Some st => Nat.eqb (a_node st) 0 && Nat.eqb (a_phase st) 0 &&
               match a_diff st with [] => true | _ => false end && Qle_bool (a_budget st) eps
  | None => false
  end.
Definition check (start : nat) (eps : Q) : bool :=
  proper_table T && check_start start eps && forallb check_node (c_prog C) &&
  forallb (fun x : nat * astate => check_state (fst x) (snd x)) (indexed (c_states C)).

(** ** Correctness *)
Lemma indexed_in {A} (l : list A) i a : nth_error l i = Some a -> In (i, a) (indexed l).
Proof.
  unfold indexed. cut (forall k, nth_error l i = Some a -> In ((k + i)%nat, a) (combine (seq k (length l)) l)).
  { intros X; apply (X O). }
  revert i. induction l as [|b l IH]; intros [|i] k; simpl; try discriminate.
  - intros [= ->]. left. f_equal. lia.
  - intros N. right. replace (k + S i)%nat with (S k + i)%nat by lia. apply IH; auto.
Qed.
Lemma same_keys_ok a b x : same_keys a b = true -> (In x a <-> In x b).
Proof.
  unfold same_keys. rewrite andb_true_iff, !forallb_forall. intros [A B].
  split; intros I; [specialize (A x I); rename A into X | specialize (B x I); rename B into X];
    apply existsb_exists in X; destruct X as (y & Y & E); apply Nat.eqb_eq in E; subst; auto.
Qed.

(** What is left of the one move after a step: [phase_after], as a number. *)
Definition kept (st : astate) (mv : option nat) : R :=
  match mv with None => mass (Nat.eqb (a_phase st) 0) | Some _ => if one then 0 else 1 end.
Lemma check_step_wit i st ns mv d p l : check_step i st ns mv d p l = true ->
  wit C ns p l (rval (a_diff st)) (rval d) (Q2R (a_budget st)) (kept st mv).
Proof.
  unfold check_step. destruct (find _ _) as [x|]; [|discriminate].
  destruct (nth_error (c_states C) (s_next x)) as [st'|] eqn:N; [|discriminate].
  rewrite !andb_true_iff. intros (((((((TO & PH) & KEYS) & KP) & RL) & SL) & SH) & CO).
  apply Nat.eqb_eq in TO. rewrite forallb_forall in SL. apply check_shift_ok in SH. destruct SH as [SU AL].
  exists (rval (s_shift x)), (Q2R (a_budget st')), (mass (fresh C st')). rewrite qenv_ok.
  refine (conj SU (conj AL (conj (check_keeps_ok _ _ KP) (conj (check_releases_ok _ _ RL) (conj _ (conj _ _)))))).
  - rewrite <- TO. apply rel_base with (s_next x); auto. intros j. unfold dafter, rval.
    destruct (in_dec Nat.eq_dec j (map fst (sets l))) as [I|I].
    + specialize (SL j I). apply qeq_ok in SL. rewrite <- SL.
      destruct (assoc j (sets l)); [apply qleval_ok | symmetry; apply Q2R_0].
    + rewrite qval_out by (intros X; apply I, (same_keys_ok _ _ j KEYS); auto).
      destruct (assoc j (sets l)) eqn:A; [|symmetry; apply Q2R_0]. exfalso. apply I.
      apply assoc_in in A. apply (in_map fst) in A. exact A.
  - unfold kept, fresh, mass. rewrite TO. destruct (halts C (to l)).
    + rewrite orb_true_r. destruct mv, one, (Nat.eqb (a_phase st) 0); lra.
    + rewrite orb_false_r. simpl in PH. apply Nat.eqb_eq in PH. rewrite PH. unfold phase_after.
      destruct mv, one, (Nat.eqb (a_phase st) 0); simpl; lra.
  - rewrite qcost_ok, <- Q2R_plus. apply qle_ok; auto.
Qed.

Lemma leval_mix tm t e1 e2 e : (forall s, e s = t * e1 s + (1 - t) * e2 s) ->
  leval tm e = t * leval tm e1 + (1 - t) * leval tm e2.
Proof. intros X. induction tm as [|[s a] tm IH]; simpl; [lra|]. rewrite IH, X. lra. Qed.
Lemma mkenv_mix t d1 d2 d h1 h2 h v1 v2 v : mixed t d1 d2 d -> mixed t h1 h2 h -> mixed t v1 v2 v ->
  forall s, mkenv d h v s = t * mkenv d1 h1 v1 s + (1 - t) * mkenv d2 h2 v2 s.
Proof. intros X Y Z []; simpl; auto. Qed.
Lemma Rabs_mix t a b : 0 <= t <= 1 -> Rabs (t * a + (1 - t) * b) <= t * Rabs a + (1 - t) * Rabs b.
Proof.
  intros B. eapply Rle_trans; [apply Rabs_triang|].
  rewrite !Rabs_mult, (Rabs_pos_eq t), (Rabs_pos_eq (1 - t)); lra.
Qed.
Lemma mix_le t a b c d : 0 <= t <= 1 -> a <= b -> c <= d -> t * a + (1 - t) * c <= t * b + (1 - t) * d.
Proof. intros. apply Rplus_le_compat; apply Rmult_le_compat_l; lra. Qed.
Lemma cost_mix TT t ns s1 s2 s : proper_table TT = true -> 0 <= t <= 1 -> mixed t s1 s2 s ->
  cost (rate TT) ns s <= t * cost (rate TT) ns s1 + (1 - t) * cost (rate TT) ns s2.
Proof.
  intros P B X. induction ns as [|i ns IH]; simpl; [lra|]. pose proof (rate_pos TT i P).
  assert (Q2R (rate TT i) * Rabs (s i) <= Q2R (rate TT i) * (t * Rabs (s1 i) + (1 - t) * Rabs (s2 i))).
  { apply Rmult_le_compat_l; [lra|]. rewrite X. apply Rabs_mix; auto. }
  lra.
Qed.
Lemma keeps_mix t p e1 e2 e : 0 <= t <= 1 -> (forall s, e s = t * e1 s + (1 - t) * e2 s) ->
  keeps p e1 -> keeps p e2 -> keeps p e.
Proof.
  intros B X K1 K2 q a I. specialize (K1 q a I). specialize (K2 q a I).
  destruct q as [f|fs]; simpl in *.
  - rewrite (leval_mix _ t _ _ _ X). destruct a.
    + pose proof (mix_le t _ 0 _ 0 B K1 K2). lra.
    + pose proof (mix_le t 0 _ 0 _ B K1 K2). lra.
  - intros A k K. rewrite !(leval_mix _ t _ _ _ X). apply mix_le; auto.
Qed.
Lemma allowed_mix t TT s1 s2 s : integral TT = false -> 0 <= t <= 1 -> mixed t s1 s2 s ->
  allowed TT s1 -> allowed TT s2 -> allowed TT s.
Proof.
  intros NI B X [_ U1] [_ U2]. split; [intros I; congruence|]. intros i U. rewrite X.
  pose proof (mix_le t 0 _ 0 _ B (U1 i U) (U2 i U)). lra.
Qed.

Section Accepted.
Variables (start : nat) (eps : Q).
Hypothesis OK : check start eps = true.
Lemma OK_table : proper_table T = true.
Proof. unfold check in OK. rewrite !andb_true_iff in OK. apply OK. Qed.
Lemma OK_state i st : nth_error (c_states C) i = Some st -> check_state i st = true.
Proof.
  intros N. unfold check in OK. rewrite !andb_true_iff in OK. destruct OK as [_ S].
  rewrite forallb_forall in S. apply (S (i, st)). apply indexed_in; auto.
Qed.

Lemma wit_mix t ns p l dv1 dv2 dv dd1 dd2 dd v1 v2 m1 m2 : integral T = false -> 0 <= t <= 1 ->
  wit C ns p l dv1 dd1 v1 m1 -> wit C ns p l dv2 dd2 v2 m2 -> mixed t dv1 dv2 dv -> mixed t dd1 dd2 dd ->
  wit C ns p l dv dd (t * v1 + (1 - t) * v2) (t * m1 + (1 - t) * m2).
Proof.
  intros NI B (s1 & v1' & m1' & Z1 & A1 & K1 & O1 & R1 & M1 & C1) (s2 & v2' & m2' & Z2 & A2 & K2 & O2 & R2 & M2 & C2) XV XD.
  set (s := fun i => t * s1 i + (1 - t) * s2 i).
  assert (XS : mixed t s1 s2 s) by (intros i; reflexivity).
  pose proof (mkenv_mix t dd1 dd2 dd s1 s2 s dv1 dv2 dv XD XS XV) as XE.
  exists s, (t * v1' + (1 - t) * v2'), (t * m1' + (1 - t) * m2').
  refine (conj _ (conj _ (conj _ (conj _ (conj _ (conj _ _)))))).
  - intros i I. unfold s. rewrite Z1, Z2; auto; lra.
  - eapply allowed_mix; eauto.
  - eapply keeps_mix; eauto.
  - intros f I. rewrite (leval_mix _ t _ _ _ XE), O1, O2; auto. lra.
  - eapply rel_mix; [exact NI | exact B | exact R1 | exact R2 | | reflexivity | reflexivity].
    intros j. unfold dafter. destruct (assoc j (sets l)); [apply (leval_mix _ t _ _ _ XE) | lra].
  - apply mix_le; auto.
  - pose proof (cost_mix T t ns s1 s2 s OK_table B XS). pose proof (mix_le t _ _ _ _ B C1 C2). lra.
Qed.
Lemma wit_le ns p l dv dd v m m' : m' <= m -> wit C ns p l dv dd v m -> wit C ns p l dv dd v m'.
Proof.
  intros I (s & v' & k & A & B & D & F & G & H & J). exists s, v', k.
  refine (conj A (conj B (conj D (conj F (conj G (conj _ J)))))). lra.
Qed.
Lemma mass_mix n dv v m : rel C n dv v m -> 0 <= m <= 1.
Proof.
  induction 1; [destruct (fresh C st); simpl; lra|]. subst.
  pose proof (mix_le t 0 m1 0 m2). pose proof (mix_le t m1 1 m2 1). lra.
Qed.
Lemma budget_pos n dv v m : rel C n dv v m -> 0 <= v.
Proof.
  induction 1 as [i st d N _ | n t d1 d2 d v1 v2 v m1 m2 m NI B R1 I1 R2 I2 X -> _].
  - apply OK_state in N. unfold check_state in N. rewrite !andb_true_iff in N. destruct N as [[N _] _].
    rewrite <- Q2R_0. apply qle_ok; auto.
  - pose proof (mix_le t 0 _ 0 _ B I1 I2). lra.
Qed.
Lemma rval_nil : rval [] = zero.
Proof. apply vec_ext; intros; apply Q2R_0. Qed.
(** At a node that does not halt, fresh is phase 0. *)
Lemma fresh_phase st rd si : nth (a_node st) (c_prog C) Halt = Node rd si -> fresh C st = Nat.eqb (a_phase st) 0.
Proof. intros N. unfold fresh, halts. rewrite N. apply orb_false_r. Qed.

Lemma silent_ok n rd g : nth n (c_prog C) Halt = Node rd (Some g) -> followed C g n.
Proof.
  intros N dv v m R. induction R as [i st d S X | n t d1 d2 d v1 v2 v m1 m2 m NI B R1 I1 R2 I2 X -> ->]; intros p l I.
  - rewrite (fresh_phase st _ _ N). apply OK_state in S. unfold check_state in S. rewrite N in S. simpl in S.
    rewrite !andb_true_iff in S. destruct S as (_ & _ & S).
    unfold check_silent in S. rewrite forallb_forall in S. specialize (S _ I). simpl in S.
    apply check_step_wit in S. rewrite rval_nil in S. rewrite (vec_ext _ _ X). exact S.
  - apply wit_mix with d1 d2 zero zero; auto. intros k. unfold zero. lra.
Qed.

Lemma reading_base n si g i st : nth n (c_prog C) Halt = Node (Some g) si -> nth_error (c_states C) i = Some st ->
  a_node st = n -> forall p l, In (p, l) (branches g) ->
  (one = true -> wit C (draws g) p l (rval (a_diff st)) zero (Q2R (a_budget st)) (mass (fresh C st))) /\
  (one = false \/ fresh C st = true -> forall d, hull C d ->
     wit C (draws g) p l (rval (a_diff st)) d (Q2R (a_budget st)) (if one then 0 else 1)).
Proof.
  intros N S A p l I. subst n. rewrite (fresh_phase st _ _ N). apply OK_state in S. unfold check_state in S.
  rewrite N in S. simpl in S. rewrite !andb_true_iff in S.
  destruct S as (_ & S & _). unfold check_reading in S. apply andb_true_iff in S. destruct S as [S1 S2].
  split.
  - intros O. rewrite O in S1. simpl in S1. unfold check_silent in S1. rewrite forallb_forall in S1.
    specialize (S1 _ I). simpl in S1. apply check_step_wit in S1. rewrite rval_nil in S1. exact S1.
  - intros F. assert (F' : one && negb (Nat.eqb (a_phase st) 0) = false)
      by (destruct F as [F|F]; rewrite F; [reflexivity | apply andb_false_r]).
    rewrite F' in S2. simpl in S2. unfold check_moves in S2. rewrite forallb_forall in S2.
    specialize (S2 _ I). simpl in S2. rewrite forallb_forall in S2.
    induction 1 as [m d M X | t d1 d2 d NI B H1 I1 H2 I2 X].
    + apply In_nth_error in M. destruct M as [k M]. specialize (S2 (k, m) (indexed_in _ _ _ M)). simpl in S2.
      apply check_step_wit in S2. rewrite (vec_ext _ _ X). exact S2.
    + set (w := if one then 0 else 1) in *.
      assert (W : wit C (draws g) p l (rval (a_diff st)) d
        (t * Q2R (a_budget st) + (1 - t) * Q2R (a_budget st)) (t * w + (1 - t) * w)).
      { apply wit_mix with (rval (a_diff st)) (rval (a_diff st)) d1 d2; auto. intros j. lra. }
      replace (t * w + (1 - t) * w) with w in W by lra.
      replace (t * Q2R (a_budget st) + (1 - t) * Q2R (a_budget st)) with (Q2R (a_budget st)) in W by lra.
      exact W.
Qed.

(** A move that is made in parts: a mixture of making it and not making it. *)
Lemma reading_ok n si g : nth n (c_prog C) Halt = Node (Some g) si -> followed_reading C g n.
Proof.
  intros N dv v m w d R. revert w d.
  induction R as [i st dv S X | n t d1 d2 dv v1 v2 v m1 m2 m NI B R1 I1 R2 I2 X -> ->]; intros w d TU WM p l I.
  - destruct (reading_base _ _ _ i st N S eq_refl p l I) as [STAY MOVE]. rewrite (vec_ext _ _ X). unfold turn in TU.
    destruct one eqn:O.
    + destruct TU as (W & WI & d' & HD & DD). specialize (STAY eq_refl).
      destruct (fresh C st) eqn:FR.
      2: { simpl in WM. assert (w = 0) by lra. subst w.
           rewrite (vec_ext d zero); [|intros j; rewrite DD; unfold zero; lra].
           eapply wit_le; [|exact STAY]. simpl. lra. }
      specialize (MOVE (or_intror eq_refl) d' HD).
      destruct (integral T) eqn:IN.
      * destruct (WI eq_refl) as [-> | ->].
        -- rewrite (vec_ext d zero); [|intros j; rewrite DD; unfold zero; lra].
           eapply wit_le; [|exact STAY]. simpl; lra.
        -- rewrite (vec_ext d d'); [|intros j; rewrite DD; lra]. eapply wit_le; [|exact MOVE]. simpl in *; lra.
      * assert (Y : wit C (draws g) p l (rval (a_diff st)) d
          (w * Q2R (a_budget st) + (1 - w) * Q2R (a_budget st)) (w * 0 + (1 - w) * mass true)).
        { apply wit_mix with (rval (a_diff st)) (rval (a_diff st)) d' zero; auto; intros j; [lra | rewrite DD; unfold zero; lra]. }
        replace (w * Q2R (a_budget st) + (1 - w) * Q2R (a_budget st)) with (Q2R (a_budget st)) in Y by lra.
        eapply wit_le; [|exact Y]. simpl in *; lra.
    + destruct TU as [-> HD]. eapply wit_le; [|apply MOVE; auto]. destruct (fresh C st); simpl; lra.
  - pose proof (mass_mix _ _ _ _ R1) as B1. pose proof (mass_mix _ _ _ _ R2) as B2.
    assert (P : exists w1 w2 e1 e2, turn C w1 e1 /\ turn C w2 e2 /\ w1 <= m1 /\ w2 <= m2 /\
                mixed t e1 e2 d /\ w = t * w1 + (1 - t) * w2).
    { unfold turn in *. destruct one.
      - destruct TU as (W & _ & d' & HD & DD). set (m := t * m1 + (1 - t) * m2) in *.
        destruct (Rle_lt_dec m 0) as [Z|P].
        + assert (w = 0) by lra. subst w. exists 0, 0, zero, zero.
          assert (TZ : 0 <= 0 <= 1 /\ (integral T = true -> 0 = 0 \/ 0 = 1) /\ (exists d', hull C d' /\ forall i, zero i = 0 * d' i)).
          { split; [lra|]. split; [auto|]. exists d'. split; auto. intros i. unfold zero. lra. }
          split; auto. split; auto. split; [lra|]. split; [lra|]. split; [|lra].
          intros i. rewrite DD. unfold zero. lra.
        + (* each part gets its share of the move *)
          assert (K : 0 <= w / m <= 1).
          { split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]|].
            apply Rmult_le_reg_r with m; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
          exists (w / m * m1), (w / m * m2), (fun i => w / m * m1 * d' i), (fun i => w / m * m2 * d' i).
          assert (TW : forall x, 0 <= x <= 1 -> 0 <= w / m * x <= 1 /\ (integral T = true -> w / m * x = 0 \/ w / m * x = 1) /\
            (exists d'', hull C d'' /\ forall i, w / m * x * d' i = w / m * x * d'' i)).
          { intros x BX. split; [split; [apply Rmult_le_pos; lra|]|].
            - apply Rle_trans with (1 * 1); [apply Rmult_le_compat; lra | lra].
            - split; [intros II; congruence|]. exists d'. auto. }
          split; [apply TW; auto|]. split; [apply TW; auto|].
          split; [rewrite <- (Rmult_1_l m1) at 2; apply Rmult_le_compat_r; lra|].
          split; [rewrite <- (Rmult_1_l m2) at 2; apply Rmult_le_compat_r; lra|]. split.
          * intros i. rewrite DD. transitivity (w / m * (t * m1 + (1 - t) * m2) * d' i); [|lra].
            fold m. f_equal. field. lra.
          * transitivity (w / m * (t * m1 + (1 - t) * m2)); [|lra]. fold m. field. lra.
      - destruct TU as [-> HD]. exists 0, 0, d, d. repeat split; auto; try lra. intros j. lra. }
    destruct P as (w1 & w2 & e1 & e2 & T1 & T2 & L1 & L2 & XD & ->).
    replace (t * m1 + (1 - t) * m2 - (t * w1 + (1 - t) * w2)) with (t * (m1 - w1) + (1 - t) * (m2 - w2)) by lra.
    apply wit_mix with d1 d2 e1 e2; auto.
Qed.

Lemma simulated : simulation C.
Proof.
  split; [apply budget_pos|]. intros n rd si N.
  assert (DR : check_node (Node rd si) = true).
  { unfold check in OK. rewrite !andb_true_iff in OK. destruct OK as [[_ DR] _]. rewrite forallb_forall in DR.
    apply DR. rewrite <- N. apply nth_In. destruct (Nat.lt_ge_cases n (length (c_prog C))) as [I|I]; auto.
    rewrite nth_overflow in N by auto. discriminate. }
  simpl in DR. apply andb_true_iff in DR. destruct DR as [D1 D2].
  split; intros g ->; split; auto; [eapply reading_ok | eapply silent_ok]; eauto.
Qed.

(** What is accepted is private: data of every length, every bounded function of the releases (so
    every event), every unit [u]. *)
Theorem check_sound u E : 0 <= u -> laws u (rate T) (allowed T) E ->
  forall fuel qs1 qs2 f, bounded f -> adjacent C 1 qs1 qs2 ->
  sem E (c_prog C) fuel 0 zero qs1 f <= exp (u * Q2R eps) * sem E (c_prog C) fuel 0 zero qs2 f.
Proof.
  intros U L fuel qs1 qs2 f B A.
  pose proof OK as O. unfold check in O. rewrite !andb_true_iff in O. destruct O as [[[_ O] _] _]. unfold check_start in O.
  destruct (nth_error (c_states C) start) as [st|] eqn:N; [|discriminate]. rewrite !andb_true_iff in O.
  destruct O as (((O1 & O2) & O3) & O4). apply Nat.eqb_eq in O1.
  assert (R : rel C 0 (minus zero zero) (Q2R (a_budget st)) 1).
  { pose proof (rel_base C start st (minus zero zero) N) as R. unfold fresh in R. rewrite O1, O2 in R. apply R.
    intros j. destruct (a_diff st); [|discriminate]. rewrite rval_nil. unfold minus, zero. lra. }
  eapply Rle_trans; [apply (sound C u E U L simulated fuel 0%nat zero zero qs1 qs2 f _ _ B R A)|].
  assert (S : 0 <= sem E (c_prog C) fuel 0 zero qs2 f).
  { destruct B as [M B]. apply (sem_range C u E L) with M; auto. }
  apply Rmult_le_compat_r; auto. apply exp_le. apply Rmult_le_compat_l; auto. apply qle_ok; auto.
Qed.
End Accepted.
End Check.
