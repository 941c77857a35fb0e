(** * The discrete Gaussian: weights exp (- r z^2) on the integers, priced as the continuous one *)
From Coq Require Import Reals Lra Lia ZArith List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Power Privacy ZeroConcentrated Joint LatticeNoise Theta GaussianNoise SeveralGaussians.
Open Scope R_scope.

Section Discrete.
Variable r : R.
Hypothesis rp : 0 < r.
Definition gaussian_weight (z : Z) : R := bell r (IZR z).
Let w := gaussian_weight.
Let wp : forall z, 0 <= w z. Proof. intros; apply exp_nonneg. Qed.
Let shifts : forall j, summable (fun z => w (z + j)%Z).
Proof. intros j. apply (bell_summable_at r rp _ (- IZR j)). intros z. rewrite plus_IZR. lra. Qed.
Lemma gaussian_total : total w = theta r 0.
Proof. unfold theta. f_equal. apply functional_extensionality. intros z. unfold w, gaussian_weight. f_equal. lra. Qed.
Lemma gaussian_total_pos : 0 < total w.
Proof. rewrite gaussian_total. apply theta_0_pos; auto. Qed.

Theorem discrete_gaussian_renyi alpha k f : 1 < alpha -> bounded f ->
  power (sum w f) (dual alpha) <= exp (alpha * (r * (IZR k * IZR k))) * sum w (fun x => power (f (x - IZR k)) (dual alpha)).
Proof.
  intros A F. pose proof (dual_above _ A) as BA. set (b := dual alpha) in *. set (s := IZR k). set (Z := total w).
  assert (ZP : 0 < Z) by apply gaussian_total_pos.
  assert (TH : 0 < / b < 1) by (split; [apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1; apply Rinv_lt_contravar; lra]).
  set (C := exp (alpha * (alpha - 1) * (r * (s * s)))). assert (CP : 0 < C) by apply exp_pos.
  assert (CZ : 0 < C * Z) by (apply Rmult_lt_0_compat; auto). set (t := (alpha - 1) * s).
  destruct F as [M FB]. assert (F : bounded f) by (exists M; auto).
  set (W := total (fun z => w (z + k)%Z * power (f (IZR z)) b)).
  assert (SW : summable (fun z => w (z + k)%Z * power (f (IZR z)) b)).
  { apply (bounded_summable w wp shifts (fun z => power (f (IZR z)) b) (power M b) k). intros z.
    split; [apply power_nonneg | apply power_le; auto; lra]. }
  assert (WP : 0 <= W) by (apply total_nonneg; auto; intros z; apply Rmult_le_pos; [apply wp | apply power_nonneg]).
  assert (WE : W = total (fun z => w z * power (f (IZR z - s)) b)).
  { unfold W. rewrite <- (shift_Z k (fun z => w z * power (f (IZR z - s)) b)).
    - f_equal. apply functional_extensionality. intros z. do 3 f_equal. rewrite plus_IZR. unfold s. lra.
    - intros j. apply (bounded_summable w wp shifts (fun z => power (f (IZR (z + j) - s)) b) (power M b) j). intros z.
      split; [apply power_nonneg | apply power_le; auto; lra]. }
  assert (SB : summable (fun z => bell r (IZR z - t))) by (apply bell_summable; auto).
  assert (TB : total (fun z => bell r (IZR z - t)) <= Z).
  { unfold Z. rewrite gaussian_total. apply (theta_greatest r rp t). }
  assert (KEY : forall eta, 0 < eta -> total (fun z => w z * f (IZR z)) <= power (W + eta) (/ b) * power (C * Z) (1 - / b)).
  { intros eta ETA. set (m := power (W + eta) (/ b) * power (C * Z) (1 - / b)).
    assert (MP : 0 <= m) by (apply Rmult_le_pos; apply power_nonneg).
    set (p := m * (/ b / (W + eta))). set (q := m * ((1 - / b) / (C * Z)) * C).
    assert (PP : 0 <= p).
    { apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]. }
    assert (QP : 0 <= q).
    { apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]. }
    apply Rle_trans with (total (fun z => p * (w (z + k)%Z * power (f (IZR z)) b) + q * bell r (IZR z - t))).
    - apply total_le; [apply summable_plus; apply summable_scal; auto|]. intros z. specialize (FB (IZR z)).
      split; [apply Rmult_le_pos; [apply wp | lra]|].
      set (X := w (z + k)%Z * power (f (IZR z)) b). set (Y := C * bell r (IZR z - t)).
      assert (XP : 0 <= X) by (apply Rmult_le_pos; [apply wp | apply power_nonneg]).
      assert (YP : 0 <= Y) by (apply Rmult_le_pos; [lra | apply bell_pos]).
      assert (E : w z * f (IZR z) = power X (/ b) * power Y (1 - / b)).
      { unfold X, Y. rewrite power_mult by (apply wp || apply power_nonneg).
        rewrite power_power, Rinv_r, power_1 by lra.
        transitivity (f (IZR z) * (power (w (z + k)%Z) (/ b) * power (C * bell r (IZR z - t)) (1 - / b))); [|ring].
        rewrite Rmult_comm. f_equal. unfold w, gaussian_weight, bell, b, C. rewrite plus_IZR. fold s. unfold t.
        apply (gaussian_mean r alpha s (IZR z) A). }
      rewrite E. eapply Rle_trans; [apply (means_of (/ b) X Y (W + eta) (C * Z)); auto; lra|]. fold m.
      right. unfold p, q, Y. field. repeat split; lra.
    - rewrite total_plus, total_scal, total_scal by (apply summable_scal; auto). fold W.
      apply Rle_trans with (p * (W + eta) + q * Z); [apply Rplus_le_compat; apply Rmult_le_compat_l; auto; lra|].
      right. unfold p, q. field. repeat split; lra. }
  assert (IZ : 0 < / Z) by (apply Rinv_0_lt_compat; auto).
  set (T := total (fun z => w z * f (IZR z))) in *.
  assert (TP : 0 <= T).
  { apply total_nonneg; [intros z; apply Rmult_le_pos; [apply wp | apply FB]|]. apply (sum_summable w wp shifts); auto. }
  unfold sum. fold Z T. fold b. rewrite <- WE. unfold Rdiv at 1. rewrite power_mult by lra.
  set (K := exp (alpha * (r * (s * s)))). assert (KP : 0 < K) by apply exp_pos.
  replace (K * (W / Z)) with (K * / Z * W) by (unfold Rdiv; ring).
  apply le_up_to_eta; [apply Rmult_lt_0_compat; auto|]. intros eta ETA. pose proof (KEY eta ETA) as X.
  pose proof (power_le _ _ b ltac:(lra) (conj TP X)) as Y.
  apply Rle_trans with (power (power (W + eta) (/ b) * power (C * Z) (1 - / b)) b * power (/ Z) b).
  - apply Rmult_le_compat_r; auto using power_nonneg.
  - unfold b, C. rewrite gaussian_price by lra. fold K. right. unfold Rdiv. ring.
Qed.
Theorem discrete_gaussian_noise : renyi_noise r (fun s => exists z, s = IZR z) (sum w).
Proof.
  pose proof gaussian_total_pos as T. assert (IT : 0 < / total w) by (apply Rinv_0_lt_compat; auto). split.
  - intros c C. unfold sum. rewrite (functional_extensionality (fun z => w z * c) (fun z => c * w z)) by (intros; lra).
    rewrite total_scal. field. lra.
  - intros f g F G I. unfold sum, Rdiv. apply Rmult_le_compat_r; [lra|]. apply total_le; [apply (sum_summable w wp shifts); auto|].
    intros z. pose proof (wp z). destruct F as [M F]. specialize (F (IZR z)).
    split; [apply Rmult_le_pos; lra | apply Rmult_le_compat_l; [lra | apply I]].
  - intros c f C F. unfold sum, Rdiv.
    rewrite (functional_extensionality (fun z => w z * (c * f (IZR z))) (fun z => c * (w z * f (IZR z)))) by (intros; lra).
    rewrite total_scal. lra.
  - intros alpha s f A [z ->] F. apply discrete_gaussian_renyi; auto.
Qed.
End Discrete.
