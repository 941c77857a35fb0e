(** * Powers of numbers that may be 0, and the inequality of the means *)
From Coq Require Import Reals Lra.
From DP Require Import Noise.
Open Scope R_scope.

(** x^a for x >= 0 and a > 0; Coq's [Rpower 0 a] is 1. *)
Definition power (x a : R) : R := if Rlt_dec 0 x then Rpower x a else 0.

Lemma power_0 a : power 0 a = 0.
Proof. unfold power. destruct Rlt_dec; lra. Qed.
Lemma power_Rpower x a : 0 < x -> power x a = Rpower x a.
Proof. unfold power. destruct Rlt_dec; lra. Qed.
Lemma power_pos x a : 0 < x -> 0 < power x a.
Proof. intros P. rewrite power_Rpower by auto. apply exp_pos. Qed.
Lemma power_nonneg x a : 0 <= power x a.
Proof. unfold power. destruct Rlt_dec; [left; apply exp_pos | lra]. Qed.
Lemma power_1 x : 0 <= x -> power x 1 = x.
Proof. unfold power. destruct Rlt_dec; [rewrite Rpower_1 | ]; lra. Qed.
Lemma power_le x y a : 0 <= a -> 0 <= x <= y -> power x a <= power y a.
Proof.
  intros A [X Y]. unfold power. destruct (Rlt_dec 0 x), (Rlt_dec 0 y); try lra; [|left; apply exp_pos].
  apply Rle_Rpower_l; lra.
Qed.
Lemma power_lt x y a : 0 < a -> 0 <= x < y -> power x a < power y a.
Proof.
  intros A [X Y]. unfold power. destruct (Rlt_dec 0 x), (Rlt_dec 0 y); try lra; [|apply exp_pos].
  apply Rlt_Rpower_l; lra.
Qed.
Lemma power_le_inv x y a : 0 < a -> 0 <= x -> 0 <= y -> power x a <= power y a -> x <= y.
Proof.
  intros A X Y L. destruct (Rle_lt_dec x y) as [|C]; auto. pose proof (power_lt y x a A (conj Y C)). lra.
Qed.
Lemma power_mult x y a : 0 <= x -> 0 <= y -> power (x * y) a = power x a * power y a.
Proof.
  intros [X | <-] [Y | <-]; rewrite ?Rmult_0_l, ?Rmult_0_r, ?power_0, ?Rmult_0_l, ?Rmult_0_r; auto.
  rewrite !power_Rpower; auto using Rmult_lt_0_compat. symmetry. apply Rpower_mult_distr; auto.
Qed.
Lemma power_power x a b : power (power x a) b = power x (a * b).
Proof.
  unfold power at 2 3. destruct (Rlt_dec 0 x); [|apply power_0].
  rewrite power_Rpower by apply exp_pos. apply Rpower_mult.
Qed.
Lemma power_plus x a b : power x (a + b) = power x a * power x b.
Proof. unfold power. destruct Rlt_dec; [apply Rpower_plus | lra]. Qed.
Lemma power_exp y a : power (exp y) a = exp (y * a).
Proof. rewrite power_Rpower by apply exp_pos. unfold Rpower. rewrite ln_exp. f_equal. lra. Qed.
Lemma power_le_1 x a : 0 <= a -> 0 <= x <= 1 -> power x a <= 1.
Proof.
  intros A X. apply Rle_trans with (power 1 a); [apply power_le; auto|].
  rewrite power_Rpower by lra. unfold Rpower. rewrite ln_1, Rmult_0_r, exp_0. lra.
Qed.
(** A power above one of something that is at most 1 is no greater. *)
Lemma power_test x a : 1 <= a -> 0 <= x <= 1 -> power x a <= x.
Proof.
  intros A X. replace a with (1 + (a - 1)) by lra. rewrite power_plus, power_1 by lra.
  pose proof (power_le_1 x (a - 1) ltac:(lra) X). pose proof (power_nonneg x (a - 1)). nra.
Qed.

(** The exponential is convex. *)
Lemma exp_convex t a b : 0 <= t <= 1 -> exp (t * a + (1 - t) * b) <= t * exp a + (1 - t) * exp b.
Proof.
  intros T. set (m := t * a + (1 - t) * b).
  assert (X : forall y, exp m * (1 + (y - m)) <= exp y).
  { intros y. replace (exp y) with (exp m * exp (y - m)) by (rewrite <- exp_plus; f_equal; lra).
    apply Rmult_le_compat_l; [apply exp_nonneg | apply exp_ineq1_le]. }
  pose proof (Rmult_le_compat_l t _ _ (proj1 T) (X a)).
  assert (T1 : 0 <= 1 - t) by lra. pose proof (Rmult_le_compat_l (1 - t) _ _ T1 (X b)).
  assert (E : t * (exp m * (1 + (a - m))) + (1 - t) * (exp m * (1 + (b - m))) = exp m).
  { unfold m at 2 4. ring. }
  lra.
Qed.
(** The geometric mean is at most the arithmetic one. *)
Theorem means t x y : 0 < t < 1 -> 0 <= x -> 0 <= y -> power x t * power y (1 - t) <= t * x + (1 - t) * y.
Proof.
  intros T [X | <-] [Y | <-]; rewrite ?power_0, ?Rmult_0_l, ?Rmult_0_r.
  - rewrite !power_Rpower by auto. unfold Rpower. rewrite <- exp_plus.
    pose proof (exp_convex t (ln x) (ln y) ltac:(lra)) as C. rewrite !exp_ln in C by auto. exact C.
  - pose proof (Rmult_lt_0_compat t x). lra.
  - pose proof (Rmult_lt_0_compat (1 - t) y). lra.
  - lra.
Qed.
(** The same, normalised: what Hölder's inequality is made of. *)
Lemma means_of t x y A B : 0 < t < 1 -> 0 <= x -> 0 <= y -> 0 < A -> 0 < B ->
  power x t * power y (1 - t) <= power A t * power B (1 - t) * (t / A * x + (1 - t) / B * y).
Proof.
  intros T X Y AP BP.
  assert (XA : 0 <= x / A) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]).
  assert (YB : 0 <= y / B) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]).
  replace x with (A * (x / A)) at 1 by (field; lra). replace y with (B * (y / B)) at 1 by (field; lra).
  rewrite !power_mult by lra.
  replace (power A t * power (x / A) t * (power B (1 - t) * power (y / B) (1 - t)))
    with (power A t * power B (1 - t) * (power (x / A) t * power (y / B) (1 - t))) by ring.
  apply Rmult_le_compat_l; [apply Rmult_le_pos; apply power_nonneg|].
  pose proof (means t (x / A) (y / B) T XA YB). replace (t / A * x) with (t * (x / A)) by (field; lra).
  replace ((1 - t) / B * y) with ((1 - t) * (y / B)) by (field; lra). auto.
Qed.
(** Roots of numbers away from 0 do not change fast. *)
Lemma root_lipschitz t d x y : 0 < t < 1 -> 0 < d -> d <= x -> d <= y ->
  Rabs (power x t - power y t) <= power d t / d * Rabs (x - y).
Proof.
  intros T D. revert x y.
  assert (ONE : forall x y, d <= y -> y <= x -> power x t - power y t <= power d t / d * (x - y)).
  { intros x y Y XY. pose proof (means_of t x y y y T ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)) as M.
    assert (P : 0 < power y (1 - t)) by (apply power_pos; lra).
    assert (Q : power y t * power y (1 - t) = y).
    { rewrite <- power_plus. replace (t + (1 - t)) with 1 by lra. apply power_1; lra. }
    rewrite Q in M.
    assert (S : power x t - power y t <= t * (x - y) / power y (1 - t)).
    { apply Rmult_le_reg_r with (power y (1 - t)); auto. unfold Rdiv. rewrite (Rmult_assoc (t * (x - y))), Rinv_l by lra.
      rewrite Rmult_minus_distr_r, Q. replace (y * (t / y * x + (1 - t) / y * y)) with (t * x + (1 - t) * y) in M by (field; lra). lra. }
    eapply Rle_trans; [exact S|].
    assert (R : power d t / d = / power d (1 - t)).
    { assert (power d t * power d (1 - t) = d).
      { rewrite <- power_plus. replace (t + (1 - t)) with 1 by lra. apply power_1; lra. }
      pose proof (power_pos d t D). pose proof (power_pos d (1 - t) D). rewrite <- H at 2. field. lra. }
    rewrite R. unfold Rdiv. rewrite (Rmult_comm (/ power d (1 - t))).
    apply Rmult_le_compat; try lra.
    - apply Rmult_le_pos; lra.
    - left; apply Rinv_0_lt_compat; auto.
    - nra.
    - apply Rinv_le_contravar; [apply power_pos; auto|]. apply power_le; lra. }
  intros x y X Y. destruct (Rle_dec y x) as [L|L].
  - rewrite !Rabs_pos_eq; [apply ONE; auto | lra |]. pose proof (power_le y x t ltac:(lra) ltac:(lra)). lra.
  - rewrite !Rabs_left1; [| lra |].
    + pose proof (ONE y x X ltac:(lra)). lra.
    + pose proof (power_le x y t ltac:(lra) ltac:(lra)). lra.
Qed.
