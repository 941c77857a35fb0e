(** * Gaussian noise: what a shift costs in Rényi divergence

    Shifting Gaussian noise of density exp (- r x^2) by [s] has divergence alpha r s^2 of order alpha.
    The proof completes a square; no value of the normalising constant is needed. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Power Privacy ZeroConcentrated Joint UpperIntegral ContinuousNoise.
Import ListNotations.
Open Scope R_scope.

(** Below [k (J + eta)] for all [eta]: below [k J]. *)
Lemma le_up_to_eta x k J : 0 < k -> (forall eta, 0 < eta -> x <= k * (J + eta)) -> x <= k * J.
Proof.
  intros K H. apply Rnot_lt_le. intros LT. assert (P : 0 < (x - k * J) / k / 2).
  { apply Rdiv_lt_0_compat; [apply Rdiv_lt_0_compat|]; lra. }
  specialize (H _ P). rewrite Rmult_plus_distr_l in H.
  replace (k * ((x - k * J) / k / 2)) with ((x - k * J) / 2) in H by (field; lra). lra.
Qed.
(** Completing the square: one density is a mean of the shifted one and of a third one. *)
Lemma gaussian_mean r alpha s x : 1 < alpha ->
  exp (- (r * (x * x))) = power (exp (- (r * ((x + s) * (x + s))))) (/ dual alpha) *
    power (exp (alpha * (alpha - 1) * (r * (s * s))) * exp (- (r * ((x - (alpha - 1) * s) * (x - (alpha - 1) * s))))) (1 - / dual alpha).
Proof.
  intros A. rewrite <- exp_plus, !power_exp, <- exp_plus. f_equal. unfold dual. field. lra.
Qed.
(** The price of the third one, and of the normalising constant. *)
Lemma gaussian_price r alpha s J Z : 1 < alpha -> 0 <= J -> 0 < Z ->
  power (power J (/ dual alpha) * power (exp (alpha * (alpha - 1) * (r * (s * s))) * Z) (1 - / dual alpha)) (dual alpha) * power (/ Z) (dual alpha)
  = exp (alpha * (r * (s * s))) * (J / Z).
Proof.
  intros A JP ZP. pose proof (dual_above _ A) as B. pose proof (dual_minus _ A) as BM.
  assert (IZ : 0 < / Z) by (apply Rinv_0_lt_compat; auto).
  rewrite power_mult, !power_power, Rinv_l, power_1 by (apply power_nonneg || lra).
  replace ((1 - / dual alpha) * dual alpha) with (/ (alpha - 1)) by (rewrite <- BM; field; lra).
  rewrite power_mult, power_exp by (solve [apply exp_nonneg] || lra).
  replace (alpha * (alpha - 1) * (r * (s * s)) * / (alpha - 1)) with (alpha * (r * (s * s))) by (field; lra).
  replace (dual alpha) with (/ (alpha - 1) + 1) by lra. rewrite power_plus, (power_1 (/ Z)) by lra.
  transitivity (exp (alpha * (r * (s * s))) * (J * / Z) * (power Z (/ (alpha - 1)) * power (/ Z) (/ (alpha - 1)))); [ring|].
  rewrite <- power_mult by lra. rewrite Rinv_r by lra. rewrite (power_Rpower 1) by lra.
  unfold Rpower. rewrite ln_1, Rmult_0_r, exp_0. unfold Rdiv. ring.
Qed.

Section Gaussian.
Variable r : R.
Hypothesis rp : 0 < r.
Let e := gaussian_density r.
Let D : density e := gaussian_is_density r rp.

Lemma gaussian_mass a b : a <= b -> RInt e a b <= upper e (fun _ => 1).
Proof.
  intros AB. pose proof (e_int e D) as I.
  assert (I1 : integrable (fun x => 1 * e x)) by (apply int_scal; auto).
  destruct (upper_exact e D (fun _ => 1) (bounded_const 1 Rle_0_1) I1) as [U _]. apply U.
  exists a, b. split; auto. apply RInt_ext. intros x _. simpl. lra.
Qed.
Theorem gaussian_renyi alpha s f : 1 < alpha -> bounded f ->
  power (expect e f) (dual alpha) <= exp (alpha * (r * (s * s))) * expect e (fun x => power (f (x - s)) (dual alpha)).
Proof.
  intros A F. pose proof (dual_above _ A) as BA. set (b := dual alpha) in *. set (Z := upper e (fun _ => 1)).
  assert (ZP : 0 < Z) by apply (upper_1 e D).
  assert (TH : 0 < / b < 1) by (split; [apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1; apply Rinv_lt_contravar; lra]).
  assert (FS : bounded (fun x => power (f (x - s)) b)).
  { apply (bounded_power (fun x => f (x - s))); [lra|]. apply (bounded_comp f (fun x => x - s)); auto. }
  set (C := exp (alpha * (alpha - 1) * (r * (s * s)))). assert (CP : 0 < C) by apply exp_pos.
  assert (CZ : 0 < C * Z) by (apply Rmult_lt_0_compat; auto).
  assert (EP : forall x, 0 < e x) by (intros; apply exp_pos).
  assert (KEY : forall J, dominates e (fun x => power (f (x - s)) b) J -> forall eta, 0 < eta ->
    upper e f <= power (J + eta) (/ b) * power (C * Z) (1 - / b)).
  { intros J (w & (WP & WI & WD) & W) eta ETA.
    assert (JP : 0 <= J) by (apply (dominated_pos w); split; auto).
    set (m := power (J + eta) (/ b) * power (C * Z) (1 - / b)).
    assert (MP : 0 <= m) by (apply Rmult_le_pos; apply power_nonneg).
    set (p := m * (/ b / (J + eta))). set (q := m * ((1 - / b) / (C * Z)) * C).
    assert (PP : 0 <= p).
    { apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]. }
    assert (QP : 0 <= q).
    { apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]. }
    set (t := (alpha - 1) * s).
    assert (I1 : integrable (fun x => w (x + s))) by (apply int_shift; auto).
    assert (I2 : integrable (fun x => e (x + - t))) by (apply int_shift, (e_int e D)).
    apply (upper_spec e D f F). exists (fun x => p * w (x + s) + q * e (x + - t)). split; [split; [|split]|].
    - intros x. specialize (WP (x + s)). pose proof (EP (x + - t)).
      apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto; lra.
    - apply int_plus; apply int_scal; auto.
    - intros x y XY. rewrite (rint_plus (fun x => p * w (x + s))) by (apply int_scal; auto).
      rewrite (rint_scal p (fun x => w (x + s))), (rint_scal q (fun x => e (x + - t))) by auto.
      rewrite !rint_shift by (auto; apply (e_int e D)).
      apply Rle_trans with (p * (J + eta) + q * Z).
      + apply Rplus_le_compat; apply Rmult_le_compat_l; auto; [|apply gaussian_mass; lra].
        specialize (WD (x + s) (y + s) ltac:(lra)). lra.
      + right. unfold p, q. field. repeat split; lra.
    - intros x. specialize (W (x + s)). replace (x + s - s) with x in W by lra.
      destruct F as [M FB]. specialize (FB x).
      set (X := power (f x) b * e (x + s)) in *. set (Y := C * e (x + - t)).
      assert (XP : 0 <= X) by (apply Rmult_le_pos; [apply power_nonneg | left; apply EP]).
      assert (YP : 0 <= Y) by (apply Rmult_le_pos; [lra | left; apply EP]).
      assert (E : f x * e x = power X (/ b) * power Y (1 - / b)).
      { unfold X, Y. rewrite power_mult by (solve [apply power_nonneg] || (left; apply EP)).
        rewrite power_power, Rinv_r, power_1 by lra. rewrite Rmult_assoc. f_equal.
        unfold e, gaussian_density. unfold b, C. rewrite (gaussian_mean r alpha s x A). reflexivity. }
      rewrite E. eapply Rle_trans; [apply (means_of (/ b) X Y (J + eta) (C * Z)); auto; lra|]. fold m.
      apply Rle_trans with (p * X + q * e (x + - t)).
      + right. unfold p, q, Y. field. repeat split; lra.
      + apply Rplus_le_compat_r. apply Rmult_le_compat_l; auto. }
  assert (IZ : 0 < / Z) by (apply Rinv_0_lt_compat; auto).
  pose proof (upper_nonneg e D f F) as UP. unfold expect. fold Z. unfold Rdiv at 1.
  rewrite power_mult by lra. set (K := exp (alpha * (r * (s * s)))). assert (KP : 0 < K) by apply exp_pos.
  assert (ALL : forall J, dominates e (fun x => power (f (x - s)) b) J -> power (upper e f) b * power (/ Z) b <= K * / Z * J).
  { intros J DJ. apply le_up_to_eta; [apply Rmult_lt_0_compat; auto|]. intros eta ETA.
    pose proof (KEY J DJ eta ETA) as X. destruct DJ as (w & WD & _). pose proof (dominated_pos w J WD) as JP.
    pose proof (power_le _ _ b ltac:(lra) (conj UP X)) as Y.
    apply Rle_trans with (power (power (J + eta) (/ b) * power (C * Z) (1 - / b)) b * power (/ Z) b).
    - apply Rmult_le_compat_r; auto using power_nonneg.
    - unfold b, C. rewrite gaussian_price by lra. fold K. right. unfold Rdiv. ring. }
  assert (KZ : 0 < K * / Z) by (apply Rmult_lt_0_compat; auto).
  replace (K * (upper e (fun x => power (f (x - s)) b) / Z)) with (K * / Z * upper e (fun x => power (f (x - s)) b)) by (unfold Rdiv; ring).
  apply Rmult_le_reg_l with (/ (K * / Z)); [apply Rinv_0_lt_compat; auto|].
  rewrite <- (Rmult_assoc _ (K * / Z)), Rinv_l, Rmult_1_l by lra.
  apply (upper_spec e D _ FS). intros J DJ. specialize (ALL J DJ).
  apply Rmult_le_reg_l with (K * / Z); auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. auto.
Qed.
(** As a continuous noise, whose shifts have no price in epsilon. *)
Theorem gaussian_noise q : continuous_noise q (fun s => s = 0) (expect e).
Proof.
  apply density_noise; auto. intros s x ->. rewrite Rabs_R0, Rmult_0_r, exp_0, Rmult_1_l, Rplus_0_r. lra.
Qed.
End Gaussian.
