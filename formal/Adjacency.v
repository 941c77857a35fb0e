(** * Who is a neighbour: lists of numbers as people speak of them, and as certificates do *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Program NoiseTable Loop LoopChecker Cells.
Import ListNotations.
Open Scope R_scope.

(** Every entry moves by at most [r]; all move up, or all down; the moves sum to at most [r]; one
    entry moves, by at most [r]. *)
Definition between (lo hi : R) (a b : list R) := Forall2 (fun x y => lo <= y - x <= hi) a b.
Definition linf (r : R) (a b : list R) := Forall2 (fun x y => Rabs (y - x) <= r) a b.
Definition monotone (r : R) (a b : list R) := between 0 r a b \/ between (- r) 0 a b.
Fixpoint l1 (r : R) (a b : list R) : Prop :=
  match a, b with [], [] => 0 <= r | x :: a, y :: b => l1 (r - Rabs (y - x)) a b | _, _ => False end.
Inductive replace_one (r : R) : list R -> list R -> Prop :=
| replace_here x y a : Rabs (y - x) <= r -> replace_one r (x :: a) (y :: a)
| replace_later x a b : replace_one r a b -> replace_one r (x :: a) (x :: b).
Definition whole_numbers (a : list R) := Forall (fun x => exists z, x = IZR z) a.

Lemma l1_pos a : forall b k, l1 k a b -> 0 <= k.
Proof.
  induction a as [|x a IH]; intros [|y b] k X; simpl in X; try contradiction; auto.
  apply IH in X. pose proof (Rabs_pos (y - x)). lra.
Qed.
Lemma l1_refl a r : 0 <= r -> l1 r a a.
Proof. intros P. induction a as [|x a IH]; simpl; auto. rewrite Rminus_eq_0, Rabs_R0, Rminus_0_r. auto. Qed.
Lemma replace_l1 r a b : replace_one r a b -> l1 r a b.
Proof.
  induction 1 as [x y a B | x a b _ IH]; simpl.
  - apply l1_refl. lra.
  - rewrite Rminus_eq_0, Rabs_R0, Rminus_0_r. auto.
Qed.
Lemma Forall2_len {A B} (P : A -> B -> Prop) a b : Forall2 P a b -> length a = length b.
Proof. induction 1; simpl; auto. Qed.
Lemma l1_length a : forall b r, l1 r a b -> length a = length b.
Proof. induction a as [|x a IH]; intros [|y b] r X; simpl in *; try contradiction; auto. f_equal. eapply IH; eauto. Qed.
Lemma linf_between r a b : linf r a b -> between (- r) r a b.
Proof. intros X. induction X as [|x y a b B _ IH]; constructor; auto. unfold Rabs in B. destruct Rcase_abs; lra. Qed.

(** ** For loops: a datum is a vector with one field *)
Definition datum (x : R) : vec := fun i => match i with O => x | _ => 0 end.
Lemma rval1 q i : rval [(0%nat, q)] i = datum (Q2R q) i.
Proof. unfold rval, qval; simpl. destruct i; simpl; auto. apply Q2R_0. Qed.
Lemma minus_datum x y : minus (datum y) (datum x) = datum (y - x).
Proof. apply functional_extensionality; intros []; unfold minus, datum; lra. Qed.

Section Reals.
Variable C : cert.
Hypothesis real : integral (c_noises C) = false.
Lemma hull_between lo hi d : In [(0%nat, lo)] (c_moves C) -> In [(0%nat, hi)] (c_moves C) ->
  Q2R lo <= d <= Q2R hi -> hull C (datum d).
Proof.
  intros L U B. destruct (Req_dec (Q2R lo) (Q2R hi)) as [E|E].
  - apply hull_move with [(0%nat, lo)]; auto. intros i. rewrite rval1. f_equal. lra.
  - apply hull_mix with ((Q2R hi - d) / (Q2R hi - Q2R lo)) (datum (Q2R lo)) (datum (Q2R hi)); auto.
    + assert (P : 0 < Q2R hi - Q2R lo) by lra. split.
      * apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto].
      * apply Rmult_le_reg_r with (Q2R hi - Q2R lo); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
    + apply hull_move with [(0%nat, lo)]; auto. intros; symmetry; apply rval1.
    + apply hull_move with [(0%nat, hi)]; auto. intros; symmetry; apply rval1.
    + intros []; simpl; [field; lra | lra].
Qed.
Lemma between_adjacent lo hi : c_one C = false -> In [(0%nat, lo)] (c_moves C) -> In [(0%nat, hi)] (c_moves C) ->
  forall a b, between (Q2R lo) (Q2R hi) a b -> forall m, 0 <= m -> adjacent C m (map datum a) (map datum b).
Proof.
  intros O L U a b. induction 1 as [|x y a b B _ IH]; intros m M; simpl; auto.
  exists 0. split; [lra|]. split; [|apply IH; lra]. unfold turn. rewrite O. split; auto.
  rewrite minus_datum. apply hull_between with lo hi; auto.
Qed.
Lemma l1_adjacent_part r : c_one C = true -> 0 < Q2R r -> In [(0%nat, (-r)%Q)] (c_moves C) -> In [(0%nat, r)] (c_moves C) ->
  forall a b k, 0 <= k <= Q2R r -> l1 k a b -> adjacent C (k / Q2R r) (map datum a) (map datum b).
Proof.
  intros O P L U. induction a as [|x a IH]; intros [|y b] k K X; simpl in *; auto.
  pose proof (l1_pos _ _ _ X) as K2. pose proof (Rabs_pos (y - x)) as A.
  assert (IN : 0 < / Q2R r) by (apply Rinv_0_lt_compat; auto).
  exists (Rabs (y - x) / Q2R r). repeat split.
  - unfold Rdiv. apply Rmult_le_compat_r; lra.
  - unfold turn. rewrite O. split; [split|split].
    + unfold Rdiv. apply Rmult_le_pos; lra.
    + apply Rmult_le_reg_r with (Q2R r); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
    + intros I. rewrite real in I. discriminate.
    + rewrite minus_datum. exists (datum (if Rle_dec 0 (y - x) then Q2R r else - Q2R r)). split.
      * apply hull_between with (-r)%Q r; auto. rewrite Q2R_opp. destruct Rle_dec; lra.
      * intros []; simpl; [|lra]. destruct Rle_dec; [rewrite Rabs_pos_eq by auto | rewrite Rabs_left1 by lra]; field; lra.
  - replace (k / Q2R r - Rabs (y - x) / Q2R r) with ((k - Rabs (y - x)) / Q2R r) by (unfold Rdiv; lra). apply IH; auto. lra.
Qed.
Lemma l1_adjacent r : c_one C = true -> 0 < Q2R r -> In [(0%nat, (-r)%Q)] (c_moves C) -> In [(0%nat, r)] (c_moves C) ->
  forall a b, l1 (Q2R r) a b -> adjacent C 1 (map datum a) (map datum b).
Proof.
  intros O P L U a b X. replace 1 with (Q2R r / Q2R r) by (field; lra). apply l1_adjacent_part; auto. lra.
Qed.
End Reals.
(** Integers: one of the listed moves. *)
Lemma integer_adjacent C : c_one C = false -> forall a b,
  Forall2 (fun x y => exists q, In [(0%nat, q)] (c_moves C) /\ y - x = Q2R q) a b ->
  forall m, 0 <= m -> adjacent C m (map datum a) (map datum b).
Proof.
  intros O a b. induction 1 as [|x y a b (q & I & E) _ IH]; intros m M; simpl; auto.
  exists 0. split; [lra|]. split; [|apply IH; lra]. unfold turn. rewrite O. split; auto.
  rewrite minus_datum, E. apply hull_move with [(0%nat, q)]; auto. intros; symmetry; apply rval1.
Qed.

(** ** For fixed lengths: the data are the fields of one vector *)
Definition fields (a : list R) : vec := fun j => nth j a 0.
Definition cube (lo hi : Q) (n : nat) : box := map (fun j => (j, (lo, hi))) (seq 0 n).
Definition corner (v : Q) (j : nat) : box := [(j, (v, v))].
Definition corners (r : Q) (n : nat) : list box := flat_map (fun j => [corner r j; corner (- r) j]) (seq 0 n).

Lemma cube_in lo hi n k a b : In (k, (a, b)) (cube lo hi n) <-> (k < n)%nat /\ a = lo /\ b = hi.
Proof.
  unfold cube. rewrite in_map_iff. split.
  - intros (j & E & I). injection E as -> -> ->. apply in_seq in I. split; [lia | auto].
  - intros (L & -> & ->). exists k. split; auto. apply in_seq. lia.
Qed.
Lemma cube_keys lo hi n k : In k (map fst (cube lo hi n)) <-> (k < n)%nat.
Proof. unfold cube. rewrite map_map, map_id, in_seq. lia. Qed.
Lemma between_box lo hi a b : between (Q2R lo) (Q2R hi) a b ->
  in_box (cube lo hi (length a)) (minus (fields b) (fields a)).
Proof.
  intros X. pose proof (Forall2_len _ _ _ X) as LEN. split.
  - intros k x y I. apply cube_in in I. destruct I as (KL & -> & ->). unfold minus, fields. clear LEN.
    revert k KL. induction X as [|p q a b B _ IH]; intros [|k] KL; simpl in *; try lia; auto. apply IH. lia.
  - intros k N. unfold minus, fields. rewrite !nth_overflow; [lra| |]; rewrite cube_keys in N; lia.
Qed.
Lemma minus_whole a b : whole_numbers a -> whole_numbers b -> forall i, exists z, minus (fields b) (fields a) i = IZR z.
Proof.
  assert (X : forall a, whole_numbers a -> forall i, exists z, fields a i = IZR z).
  { clear. intros a A i. unfold fields. revert i. induction A as [|x a Z _ IH]; intros [|i]; simpl; auto; exists 0%Z; auto. }
  intros A B i. destruct (X a A i) as [x XA], (X b B i) as [y YB]. exists (y - x)%Z.
  unfold minus. rewrite XA, YB, minus_IZR. auto.
Qed.
Section Fixed.
Variable K : cells.
Notation T := (k_noises K).
Definition data_whole (a : list R) := integral T = true -> whole_numbers a.
Lemma between_spanned lo hi faces a b : In (cube lo hi (length a)) faces -> between (Q2R lo) (Q2R hi) a b ->
  data_whole a -> data_whole b -> spanned K faces (minus (fields b) (fields a)).
Proof.
  intros I X A B. eapply span_face; eauto using between_box. intros INT. apply minus_whole; auto.
Qed.
Lemma linf_spanned r faces a b : In (cube (- r) r (length a)) faces -> linf (Q2R r) a b ->
  data_whole a -> data_whole b -> spanned K faces (minus (fields b) (fields a)).
Proof.
  intros I X. apply between_spanned with (-r)%Q r; auto. rewrite Q2R_opp. apply linf_between; auto.
Qed.
Fixpoint total_move (n : nat) (d : vec) : R := match n with O => 0 | S n => Rabs (d n) + total_move n d end.
Lemma corner_box v j x : x = Q2R v -> in_box (corner v j) (upd zero j x).
Proof.
  intros ->. split.
  - intros k lo hi [E|[]]. injection E as -> -> ->. unfold upd. rewrite Nat.eqb_refl. lra.
  - intros k N. unfold upd. destruct (Nat.eqb_spec k j); auto. exfalso. apply N. left; auto.
Qed.
Lemma corners_in r n j : (j < n)%nat -> In (corner r j) (corners r n) /\ In (corner (- r) j) (corners r n).
Proof.
  intros L. unfold corners. split; apply in_flat_map; exists j; (split; [apply in_seq; lia | simpl; auto]).
Qed.
Lemma total_move_scal n d c : 0 <= c -> total_move n (fun i => c * d i) = c * total_move n d.
Proof. intros C. induction n as [|n IH]; simpl; [lra|]. rewrite IH, Rabs_mult, (Rabs_pos_eq c); auto. lra. Qed.
Lemma total_move_pos n d : 0 <= total_move n d.
Proof. induction n; simpl; [lra|]. pose proof (Rabs_pos (d n)). lra. Qed.
(** The ball is the hull of its corners. *)
Lemma l1_hull r N : integral T = false -> 0 < Q2R r -> forall n d, (n <= N)%nat ->
  (forall i, (n <= i)%nat -> d i = 0) -> total_move n d <= Q2R r -> spanned K (corners r N) d.
Proof.
  intros NI P. induction n as [|n IH]; intros d LN Z S.
  - apply span_zero. intros; apply Z; lia.
  - simpl in S. pose proof (Rabs_pos (d n)) as AP. pose proof (total_move_pos n d) as TP.
    set (t := Rabs (d n) / Q2R r).
    assert (TB : 0 <= t <= 1).
    { unfold t. split; [apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]|].
      apply Rmult_le_reg_r with (Q2R r); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    set (v := if Rle_dec 0 (d n) then r else (-r)%Q).
    assert (V : d n = t * Q2R v).
    { unfold t, v. destruct Rle_dec; [rewrite Rabs_pos_eq by auto | rewrite Rabs_left by lra; rewrite Q2R_opp]; field; lra. }
    assert (F : spanned K (corners r N) (upd zero n (Q2R v))).
    { destruct (corners_in r N n) as [C1 C2]; [lia|].
      apply span_face with (corner v n); [unfold v; destruct Rle_dec; auto | apply corner_box; auto | intros; congruence]. }
    destruct (Req_dec t 1) as [T1|T1].
    + replace d with (upd zero n (Q2R v)); auto. apply vec_ext. intros i. unfold upd.
      destruct (Nat.eqb_spec i n) as [->|NE]; [rewrite V, T1; lra|]. unfold zero.
      destruct (Nat.lt_ge_cases i n) as [L|L]; [|symmetry; apply Z; lia].
      assert (TZ : total_move n d <= 0).
      { unfold t in T1. apply (Rmult_eq_compat_r (Q2R r)) in T1. unfold Rdiv in T1. rewrite Rmult_assoc, Rinv_l in T1; lra. }
      clear - L TZ. induction n as [|n IH]; [lia|]. simpl in TZ. pose proof (Rabs_pos (d n)). pose proof (total_move_pos n d).
      destruct (Nat.eq_dec i n) as [->|]; [|apply IH; [lia | lra]].
      assert (A0 : Rabs (d n) = 0) by lra. destruct (Req_dec (d n) 0) as [->|NZ]; auto. apply Rabs_no_R0 in NZ. lra.
    + assert (T2 : 0 < 1 - t) by lra. assert (IT : 0 < / (1 - t)) by (apply Rinv_0_lt_compat; auto).
      apply span_mix with t (upd zero n (Q2R v)) (fun i => if Nat.ltb i n then / (1 - t) * d i else 0); auto.
      * apply IH; [lia | |].
        -- intros i L. destruct (Nat.ltb_spec i n); [lia | auto].
        -- assert (X : forall m, (m <= n)%nat -> total_move m (fun i => if Nat.ltb i n then / (1 - t) * d i else 0) = / (1 - t) * total_move m d).
           { intros m M. rewrite <- total_move_scal by lra. induction m as [|m IHm]; simpl; auto.
             rewrite IHm by lia. destruct (Nat.ltb_spec m n); [auto | lia]. }
           rewrite X by lia. apply Rmult_le_reg_l with (1 - t); auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
           replace ((1 - t) * Q2R r) with (Q2R r - Rabs (d n)); [lra|]. unfold t. field. lra.
      * intros i. unfold upd, zero. destruct (Nat.eqb_spec i n) as [->|NE].
        -- destruct (Nat.ltb_spec n n); [lia|]. rewrite V. lra.
        -- destruct (Nat.ltb_spec i n); [field; lra|]. rewrite Z by lia. lra.
Qed.
Lemma total_move_l1 a : forall b k, l1 k a b -> total_move (length a) (minus (fields b) (fields a)) <= k.
Proof.
  assert (SHIFT : forall n (d : vec), total_move (S n) d = Rabs (d O) + total_move n (fun i => d (S i))).
  { induction n as [|n IH]; intros d; simpl in *; [lra|]. rewrite (IH d). lra. }
  induction a as [|x a IH]; intros [|y b] k X; simpl in X; try contradiction; [simpl; auto|].
  change (length (x :: a)) with (S (length a)). rewrite SHIFT. specialize (IH b _ X).
  replace (fun i => minus (fields (y :: b)) (fields (x :: a)) (S i)) with (minus (fields b) (fields a)) by reflexivity.
  unfold minus at 1, fields at 1 2; simpl. lra.
Qed.
Lemma l1_zero a b i : length a = length b -> (length a <= i)%nat -> minus (fields b) (fields a) i = 0.
Proof. intros L I. unfold minus, fields. rewrite !nth_overflow by lia. lra. Qed.
Lemma l1_spanned r a b : 0 < Q2R r -> (integral T = true -> Q2R r = 1) -> l1 (Q2R r) a b ->
  data_whole a -> data_whole b -> spanned K (corners r (length a)) (minus (fields b) (fields a)).
Proof.
  intros P ONE X A B. pose proof (total_move_l1 a b _ X) as S. pose proof (l1_length _ _ _ X) as LEN.
  set (d := minus (fields b) (fields a)) in *.
  assert (Z : forall i, (length a <= i)%nat -> d i = 0) by (intros; apply l1_zero; auto).
  destruct (integral T) eqn:INT; [|apply (l1_hull r (length a) INT P (length a)); auto].
  specialize (ONE eq_refl). rewrite ONE in S.
  assert (W : forall i, exists z, d i = IZR z) by (apply minus_whole; auto).
  (* at most one entry moves, by one *)
  cut (forall n, (n <= length a)%nat -> total_move n d <= 1 -> (forall i, (n <= i)%nat -> d i = 0) ->
       (forall i, d i = 0) \/ exists j, (j < n)%nat /\ (d j = 1 \/ d j = -1) /\ forall i, i <> j -> d i = 0).
  { intros H. destruct (H (length a) (le_n _) S Z) as [H0 | (j & J & D1 & O)]; [apply span_zero; auto|].
    destruct (corners_in r (length a) j J) as [C1 C2].
    destruct D1 as [D1|D1]; [apply span_face with (corner r j) | apply span_face with (corner (- r) j)]; auto;
      match goal with |- in_box (corner ?v j) d => replace d with (upd zero j (d j));
        [apply corner_box; rewrite D1; rewrite ?Q2R_opp; lra|] end;
      apply vec_ext; intros i; unfold upd, zero; destruct (Nat.eqb_spec i j) as [->|]; auto; symmetry; apply O; auto. }
  induction n as [|n IH]; intros LN SN ZN; [left; intros; apply ZN; lia|].
  simpl in SN. destruct (W n) as [z Wz]. pose proof (total_move_pos n d) as TP.
  destruct (Z.eq_dec z 0) as [->|NZ].
  - destruct IH as [IH | (j & J & IH)]; try lia.
    + pose proof (Rabs_pos (d n)). lra.
    + intros i I. destruct (Nat.eq_dec i n) as [->|]; [rewrite Wz; auto | apply ZN; lia].
    + left; auto.
    + right. exists j. split; [lia | auto].
  - right. exists n. split; [lia|]. rewrite Wz in SN. rewrite <- abs_IZR in SN.
    assert (AZ : (1 <= Z.abs z)%Z) by lia. apply IZR_le in AZ.
    assert (EQ : IZR (Z.abs z) = 1) by lra. apply eq_IZR in EQ.
    split.
    + rewrite Wz. assert (z = 1 \/ z = -1)%Z as [-> | ->] by lia; auto.
    + intros i NE. destruct (Nat.lt_ge_cases i n) as [L|L]; [|apply ZN; lia].
      assert (TZ : total_move n d <= 0) by lra. clear - L TZ.
      induction n as [|n IH]; [lia|]. simpl in TZ. pose proof (Rabs_pos (d n)). pose proof (total_move_pos n d).
      destruct (Nat.eq_dec i n) as [->|]; [|apply IH; [lia | lra]].
      assert (A0 : Rabs (d n) = 0) by lra. destruct (Req_dec (d n) 0) as [->|NZ]; auto. apply Rabs_no_R0 in NZ. lra.
Qed.
End Fixed.
