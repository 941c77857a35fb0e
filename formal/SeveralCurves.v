(** * Several Gaussian noises of one step, by their curve

    What several noises cost together, before what is behind them: the curve of the root of the sum
    of squares.  [trade m] is what a test can reach: the least upper line. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint UpperIntegral ContinuousNoise GaussianNoise SeveralGaussians GaussianCurve Shear.
Import ListNotations.
Open Scope R_scope.

Definition lines (m y v : R) := exists t, 0 < t /\ v = t * y + curve m t.
Definition trade (m y : R) : R := real (Glb_Rbar (lines m y)).
Lemma trade_spec m y : 0 <= y -> (forall t, 0 < t -> trade m y <= t * y + curve m t) /\
  (forall v, (forall t, 0 < t -> v <= t * y + curve m t) -> v <= trade m y).
Proof.
  intros Y. pose proof (Glb_Rbar_correct (lines m y)) as [G1 G2]. unfold trade.
  assert (F : is_finite (Glb_Rbar (lines m y))).
  { assert (A : Rbar_le (Glb_Rbar (lines m y)) (1 * y + curve m 1)) by (apply G1; exists 1; split; [lra | auto]).
    assert (B : Rbar_le 0 (Glb_Rbar (lines m y))).
    { apply G2. intros v (t & T & ->). simpl. pose proof (curve_range m t ltac:(lra)). pose proof (Rmult_le_pos t y). lra. }
    destruct (Glb_Rbar (lines m y)); simpl in *; try contradiction. reflexivity. }
  split.
  - intros t T. assert (A : Rbar_le (Glb_Rbar (lines m y)) (t * y + curve m t)) by (apply G1; exists t; auto).
    rewrite <- F in A. exact A.
  - intros v V. assert (A : Rbar_le v (Glb_Rbar (lines m y))) by (apply G2; intros x (t & T & ->); apply V; auto).
    rewrite <- F in A. exact A.
Qed.
Lemma trade_range m y : 0 <= y -> 0 <= trade m y <= y + 1.
Proof.
  intros Y. destruct (trade_spec m y Y) as [U L]. split.
  - apply L. intros t T. pose proof (curve_range m t ltac:(lra)). pose proof (Rmult_le_pos t y). lra.
  - specialize (U 1 ltac:(lra)). pose proof (curve_range m 1 ltac:(lra)). lra.
Qed.
Lemma trade_lipschitz m eta x y : 0 < eta -> eta <= x -> eta <= y -> Rabs (trade m x - trade m y) <= (1 + / eta) * Rabs (x - y).
Proof.
  intros E. assert (IE : 0 < / eta) by (apply Rinv_0_lt_compat; auto). revert x y.
  assert (ONE : forall x y, eta <= y -> y <= x -> 0 <= trade m x - trade m y <= (1 + / eta) * (x - y)).
  { intros x y Y XY. assert (YP : 0 < y) by lra. destruct (trade_spec m x ltac:(lra)) as [UX LX]. destruct (trade_spec m y ltac:(lra)) as [UY LY].
    split.
    - assert (trade m y <= trade m x); [|lra]. apply LX. intros t T. specialize (UY t T). pose proof (Rmult_le_compat_l t y x ltac:(lra) XY). lra.
    - assert (XR : trade m x <= x / y * trade m y).
      { apply Rmult_le_reg_l with (y / x); [apply Rdiv_lt_0_compat; lra|].
        replace (y / x * (x / y * trade m y)) with (trade m y) by (field; lra). apply LY. intros t T. specialize (UX t T).
        pose proof (curve_range m t ltac:(lra)) as CR.
        assert (Q : 0 <= y / x <= 1).
        { split; [left; apply Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with x; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
        apply Rle_trans with (y / x * (t * x + curve m t)); [apply Rmult_le_compat_l; lra|].
        replace (y / x * (t * x + curve m t)) with (t * y + y / x * curve m t) by (field; lra).
        assert (y / x * curve m t <= 1 * curve m t) by (apply Rmult_le_compat_r; lra). lra. }
      pose proof (trade_range m y ltac:(lra)) as TR.
      replace (trade m x - trade m y) with (trade m x - x / y * trade m y + (x - y) * (trade m y / y)) by (field; lra).
      assert (TY : trade m y / y <= 1 + / eta).
      { apply Rmult_le_reg_r with y; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
        assert (1 <= / eta * y); [|lra]. rewrite <- (Rinv_l eta) by lra. apply Rmult_le_compat_l; lra. }
      apply Rmult_le_compat_l with (r := x - y) in TY; [|lra]. lra. }
  intros x y X Y. destruct (Rle_dec y x) as [L|L].
  - specialize (ONE x y Y L). rewrite !Rabs_pos_eq; lra.
  - specialize (ONE y x X ltac:(lra)). rewrite !Rabs_left1 by lra. lra.
Qed.

Section Several.
Variables (rate : nat -> Q).
Hypothesis RP : forall i, 0 < Q2R (rate i).
Let N (i : nat) := expect (gaussian_density (1 * Q2R (rate i))).
Let P (i : nat) : 0 < 1 * Q2R (rate i).
Proof. specialize (RP i). lra. Qed.
Let C (i : nat) : continuous_noise (1 * Q2R (rate i)) (fun s => s = 0) (N i) := gaussian_noise _ (P i) _.

Definition spread (m : R) (ns : list nat) (s : vec) : R := sqrt (m * m + 2 * squares rate ns s).
Lemma squares_nonneg ns s : 0 <= squares rate ns s.
Proof.
  induction ns as [|i ns IH]; simpl; [lra|]. pose proof (Rle_0_sqr (s i)). unfold Rsqr in H. specialize (RP i).
  pose proof (Rmult_le_pos (Q2R (rate i)) (s i * s i)). lra.
Qed.
Lemma spread_square m ns s : 0 < m -> spread m ns s * spread m ns s = m * m + 2 * squares rate ns s /\ 0 < spread m ns s.
Proof.
  intros M. pose proof (squares_nonneg ns s). pose proof (Rmult_lt_0_compat m m M M). unfold spread.
  split; [apply sqrt_sqrt | apply sqrt_lt_R0]; lra.
Qed.
Lemma iterated_step ns m s f g : 0 < m -> bounded f -> bounded g ->
  (forall h t, 0 < t -> f h <= t * g (plus h s) + curve m t) -> forall h t, 0 < t ->
  iterated N ns f h <= t * iterated N ns g (plus h s) + curve (spread m ns s) t.
Proof.
  intros M F G H. induction ns as [|i ns IH]; intros h t T; simpl.
  - unfold spread. simpl. rewrite Rmult_0_r, Rplus_0_r, sqrt_square by lra. apply H; auto.
  - destruct (spread_square m ns s M) as [SQ SP].
    assert (E : spread m (i :: ns) s = sqrt (spread m ns s * spread m ns s + 2 * (1 * Q2R (rate i)) * (s i * s i))).
    { rewrite SQ. unfold spread. simpl. f_equal. ring. }
    rewrite E. unfold integrate. apply (gaussian_step (1 * Q2R (rate i)) (s i) (spread m ns s)); auto.
    + apply (bounded_comp (iterated N ns f) (fun x => upd h i x)). apply (iterated_bounded 1 rate (fun _ s => s = 0) N C); auto.
    + apply (bounded_comp (iterated N ns g) (fun x => upd (plus h s) i x)). apply (iterated_bounded 1 rate (fun _ s => s = 0) N C); auto.
    + intros x t' T'. eapply Rle_trans; [apply (IH (upd h i x) t' T')|]. right. do 3 f_equal. apply vec_ext. intros j.
      unfold plus, upd. destruct (Nat.eqb_spec j i) as [->|]; auto.
Qed.
Theorem joint_step ns m s f g : 0 < m -> bounded f -> bounded g -> (forall i, ~ In i ns -> s i = 0) ->
  (forall h t, 0 < t -> f h <= t * g (plus h s) + curve m t) -> forall t, 0 < t ->
  joint N ns f <= t * joint N ns g + curve (spread m ns s) t.
Proof.
  intros M F G Z H t T. cut ((joint N ns f - curve (spread m ns s) t) / t <= joint N ns g).
  { intros L. apply Rmult_le_compat_l with (r := t) in L; [|lra].
    replace (t * ((joint N ns f - curve (spread m ns s) t) / t)) with (joint N ns f - curve (spread m ns s) t) in L by (field; lra). lra. }
  apply (joint_spec 1 rate (fun _ s => s = 0) N C ns g G). intros J (w & W & A & ->).
  apply Rmult_le_reg_l with t; auto.
  replace (t * ((joint N ns f - curve (spread m ns s) t) / t)) with (joint N ns f - curve (spread m ns s) t) by (field; lra).
  cut (joint N ns f <= t * iterated N ns w zero + curve (spread m ns s) t); [lra|].
  apply le_epsilon. intros eta0 E0. set (eta := eta0 / t). assert (E : 0 < eta) by (apply Rdiv_lt_0_compat; auto).
  assert (WP : forall h, 0 <= w h) by (intros h; destruct (bounded_piecewise w W) as [K B]; apply B).
  set (v := fun h => trade m (w (plus h s) + eta)).
  assert (V : piecewise v).
  { apply (piecewise_compose (trade m) (1 + / eta) eta (fun h => w (plus h s))); auto.
    - assert (0 < / eta) by (apply Rinv_0_lt_compat; auto). lra.
    - intros; apply trade_lipschitz; auto.
    - intros B. exists (B + 1). intros x X. pose proof (trade_range m x ltac:(lra)). lra.
    - apply piecewise_translate; auto. }
  assert (WE : piecewise (fun h => w h + eta)) by (apply piecewise_plus; auto; apply piecewise_const; lra).
  apply Rle_trans with (iterated N ns v zero).
  - apply (joint_spec 1 rate (fun _ s => s = 0) N C ns f F). exists v. repeat split; auto. intros h. unfold v.
    pose proof (WP (plus h s)). apply (trade_spec m); [lra|]. intros t' T'. eapply Rle_trans; [apply H; eauto|].
    apply Rplus_le_compat_r, Rmult_le_compat_l; [lra|]. specialize (A (plus h s)). lra.
  - eapply Rle_trans; [apply (iterated_step ns m s v (fun h => w h + eta)) with (t := t); auto using bounded_piecewise|].
    + intros h t' T'. pose proof (WP (plus h s)). apply (trade_spec m); [lra | auto].
    + rewrite (iterated_fresh N ns (fun h => w h + eta) (plus zero s) zero).
      * rewrite (iterated_add 1 rate (fun _ s => s = 0) N C ns w (fun _ => eta)) by (auto; apply piecewise_const; lra).
        rewrite (iterated_const 1 rate (fun _ s => s = 0) N C) by lra.
        assert (t * eta = eta0) by (unfold eta; field; lra). rewrite Rmult_plus_distr_l. lra.
      * intros i I. unfold plus, zero. rewrite Z; auto. lra.
Qed.
End Several.
