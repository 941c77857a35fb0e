(** * Continuous noises: Laplace, exponential, Gumbel, logistic, Cauchy, Gaussian

    Each is given by its density up to a constant.  [r] is the rate, 1/scale. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint UpperIntegral.
Import ListNotations.
Open Scope R_scope.

Definition laplace_density (r x : R) : R := exp (- (r * Rabs x)).
Definition exponential_density (r x : R) : R := if Rle_dec 0 x then exp (- (r * x)) else 0.
Definition gumbel_density (r x : R) : R := exp (- (r * x) - exp (- (r * x))).
Definition logistic_density (r x : R) : R := exp (r * x - 2 * ln (1 + exp (r * x))).
Definition cauchy_density (r x : R) : R := exp (- ln (1 + r * x * (r * x))).
Definition gaussian_density (r x : R) : R := exp (- (r * (x * x))).

Lemma int_continuous e : (forall x, continuous e x) -> integrable e.
Proof. intros C a b. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply C. Qed.
Lemma total_le e g J : integrable e -> integrable g -> (forall x, e x <= g x) ->
  (forall a b, a <= b -> RInt g a b <= J) -> forall a b, a <= b -> RInt e a b <= J.
Proof.
  intros I G L T a b AB. apply Rle_trans with (RInt g a b); auto. apply RInt_le; auto.
Qed.
(** A derivative of a bounded function has a bounded integral. *)
Lemma total_derivative F e m M : (forall x, continuous e x) -> (forall x, is_derive F x (e x)) ->
  (forall x, m <= F x <= M) -> forall a b, a <= b -> RInt e a b <= M - m.
Proof.
  intros C D B a b AB. rewrite (is_RInt_unique e a b (Hierarchy.minus (F b) (F a))).
  - unfold Hierarchy.minus, Hierarchy.plus, opp; simpl. pose proof (B a). pose proof (B b). lra.
  - apply (is_RInt_derive F e); auto.
Qed.
Lemma continuous_density e J B : (forall x, 0 < e x) -> (forall x, continuous e x) ->
  (forall a b, a <= b -> RInt e a b <= J) -> (forall x, e x <= B) -> density e.
Proof.
  intros P C T U. split; eauto.
  - intros; left; apply P.
  - exists 0, 1. split; [lra|]. apply RInt_gt_0; auto; lra.
Qed.

Section Rate.
Variable r : R.
Hypothesis rp : 0 < r.

(** ** Laplace *)
Lemma laplace_continuous x : continuous (laplace_density r) x.
Proof.
  unfold laplace_density. apply continuous_exp_comp. apply (continuous_opp (fun x => r * Rabs x)).
  apply (continuous_scal_r r Rabs). apply continuous_Rabs.
Qed.
(** The logistic density is above a quarter of it, and has a simple antiderivative. *)
Definition logistic (x : R) : R := exp (r * x) / (1 + exp (r * x)) ^ 2.
Lemma logistic_derivative x : is_derive (fun x => / r * (exp (r * x) / (1 + exp (r * x)))) x (logistic x).
Proof.
  pose proof (exp_pos (r * x)). unfold logistic. auto_derive; [lra|]. field. split; lra.
Qed.
Lemma logistic_continuous x : continuous logistic x.
Proof.
  apply (ex_derive_continuous logistic). unfold logistic. pose proof (exp_pos (r * x)). auto_derive.
  apply Rgt_not_eq. apply Rmult_lt_0_compat; [lra|]. apply Rmult_lt_0_compat; lra.
Qed.
Lemma laplace_below_logistic x : laplace_density r x <= 4 * logistic x.
Proof.
  unfold laplace_density, logistic. pose proof (exp_pos (r * x)) as E.
  assert (D : 0 < (1 + exp (r * x)) ^ 2) by (apply pow_lt; lra).
  apply Rmult_le_reg_r with ((1 + exp (r * x)) ^ 2); auto.
  replace (4 * (exp (r * x) / (1 + exp (r * x)) ^ 2) * (1 + exp (r * x)) ^ 2) with (4 * exp (r * x))
    by (field; lra).
  destruct (Rle_dec 0 x) as [P|P].
  - rewrite Rabs_pos_eq by auto. assert (1 <= exp (r * x)).
    { rewrite <- exp_0. apply exp_le. apply Rmult_le_pos; lra. }
    rewrite exp_Ropp. apply Rmult_le_reg_l with (exp (r * x)); auto.
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. nra.
  - rewrite Rabs_left by lra. replace (- (r * - x)) with (r * x) by lra.
    assert (exp (r * x) <= 1).
    { rewrite <- exp_0. apply exp_le. assert (r * - x >= 0); [|lra].
      apply Rle_ge, Rmult_le_pos; lra. }
    assert ((1 + exp (r * x)) ^ 2 <= 4) by nra. nra.
Qed.
Lemma laplace_total : forall a b, a <= b -> RInt (laplace_density r) a b <= 4 * (/ r - 0).
Proof.
  assert (IR : 0 < / r) by (apply Rinv_0_lt_compat; auto).
  apply (total_le _ (fun x => 4 * logistic x)).
  - apply int_continuous, laplace_continuous.
  - apply int_scal, int_continuous, logistic_continuous.
  - apply laplace_below_logistic.
  - intros a b AB. rewrite rint_scal by apply int_continuous, logistic_continuous.
    apply Rmult_le_compat_l; [lra|].
    apply (total_derivative (fun x => / r * (exp (r * x) / (1 + exp (r * x)))));
      auto using logistic_continuous, logistic_derivative. intros x.
    pose proof (exp_pos (r * x)). assert (0 < / (1 + exp (r * x))) by (apply Rinv_0_lt_compat; lra).
    assert (exp (r * x) / (1 + exp (r * x)) <= 1).
    { apply Rmult_le_reg_r with (1 + exp (r * x)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    split; [apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; lra|].
    rewrite <- (Rmult_1_r (/ r)) at 2. apply Rmult_le_compat_l; lra.
Qed.
Lemma laplace_is_density : density (laplace_density r).
Proof.
  apply (continuous_density _ (4 * (/ r - 0)) 1); auto using laplace_continuous, laplace_total.
  - intros; apply exp_pos.
  - intros x. unfold laplace_density. rewrite <- exp_0. apply exp_le. pose proof (Rabs_pos x).
    pose proof (Rmult_le_pos r (Rabs x)). lra.
Qed.
Lemma laplace_shift s x : laplace_density r x <= exp (r * Rabs s) * laplace_density r (x + s).
Proof.
  unfold laplace_density. rewrite <- exp_plus. apply exp_le. pose proof (Rabs_triang x s).
  assert (r * Rabs (x + s) <= r * (Rabs x + Rabs s)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
Theorem laplace_noise : continuous_noise r (fun _ => True) (expect (laplace_density r)).
Proof. apply density_noise; auto using laplace_is_density. intros; apply laplace_shift. Qed.

(** ** Exponential: one-sided, may only be shifted upwards *)
Lemma exponential_continuous x : continuous (fun x => exp (- (r * x))) x.
Proof. apply (ex_derive_continuous (fun x => exp (- (r * x)))). auto_derive; auto. Qed.
Lemma exponential_cut f x :
  f x * exponential_density r x = if Rle_dec 0 (0 + 1 * x) then f x * exp (- (r * x)) else 0.
Proof.
  unfold exponential_density. replace (0 + 1 * x) with x by lra. destruct Rle_dec; lra.
Qed.
Lemma exponential_regular f : regular f -> integrable (fun x => f x * exponential_density r x).
Proof.
  intros F. destruct (int_cut 0 1 _ (F _ exponential_continuous)) as [I _].
  eapply int_ext, I. intros x. simpl. rewrite exponential_cut. auto.
Qed.
Lemma exponential_below x : exponential_density r x <= laplace_density r x.
Proof.
  unfold exponential_density, laplace_density. pose proof (exp_pos (- (r * Rabs x))).
  destruct Rle_dec; [rewrite Rabs_pos_eq by auto; lra | lra].
Qed.
Lemma exponential_int : integrable (exponential_density r).
Proof.
  apply (int_ext (fun x => 1 * exponential_density r x)); [intros; lra|].
  apply (exponential_regular (fun _ => 1)). apply (regular_lipschitz _ 0).
  intros. rewrite Rminus_same, Rabs_R0. lra.
Qed.
Lemma exponential_is_density : density (exponential_density r).
Proof.
  split.
  - intros x. unfold exponential_density. destruct Rle_dec; [apply exp_nonneg | lra].
  - apply exponential_regular.
  - exists (4 * (/ r - 0)). apply (total_le _ (laplace_density r)); auto using exponential_int,
      exponential_below, laplace_total, int_continuous, laplace_continuous.
  - exists 1. intros x. unfold exponential_density. destruct Rle_dec; [|lra]. rewrite <- exp_0.
    apply exp_le. pose proof (Rmult_le_pos r x). lra.
  - exists 0, 1. split; [lra|]. rewrite (RInt_ext _ (fun x => exp (- (r * x)))).
    + apply RInt_gt_0; [lra | intros; apply exp_pos | intros; apply exponential_continuous].
    + rewrite Rmin_left, Rmax_right by lra. intros x X. unfold exponential_density. destruct Rle_dec; lra.
Qed.
Lemma exponential_shift s x : 0 <= s ->
  exponential_density r x <= exp (r * Rabs s) * exponential_density r (x + s).
Proof.
  intros S. unfold exponential_density. rewrite (Rabs_pos_eq s S). pose proof (exp_pos (r * s)).
  destruct (Rle_dec 0 x), (Rle_dec 0 (x + s)); try lra.
  - rewrite <- exp_plus. apply exp_le. lra.
  - apply Rmult_le_pos; [lra | apply exp_nonneg].
Qed.
Theorem exponential_noise : continuous_noise r (fun s => 0 <= s) (expect (exponential_density r)).
Proof. apply density_noise; auto using exponential_is_density. intros; apply exponential_shift; auto. Qed.

(** ** Gumbel *)
Lemma gumbel_continuous x : continuous (gumbel_density r) x.
Proof. apply (ex_derive_continuous (gumbel_density r)). unfold gumbel_density. auto_derive; auto. Qed.
Lemma gumbel_is_density : density (gumbel_density r).
Proof.
  assert (IR : 0 < / r) by (apply Rinv_0_lt_compat; auto).
  apply (continuous_density _ (/ r - 0) 1); auto using gumbel_continuous.
  - intros; apply exp_pos.
  - apply (total_derivative (fun x => / r * exp (- exp (- (r * x))))); auto using gumbel_continuous.
    + intros x. unfold gumbel_density. auto_derive; auto. unfold Rminus. rewrite exp_plus. field. lra.
    + intros x. pose proof (exp_pos (- exp (- (r * x)))). pose proof (exp_pos (- (r * x))).
      assert (exp (- exp (- (r * x))) <= 1) by (rewrite <- exp_0; apply exp_le; lra).
      split; [apply Rmult_le_pos; lra|]. rewrite <- (Rmult_1_r (/ r)) at 2. apply Rmult_le_compat_l; lra.
  - intros x. unfold gumbel_density. rewrite <- exp_0. apply exp_le.
    pose proof (exp_ineq1_le (- (r * x))). lra.
Qed.
Lemma gumbel_shift s x : 0 <= s -> gumbel_density r x <= exp (r * Rabs s) * gumbel_density r (x + s).
Proof.
  intros S. unfold gumbel_density. rewrite (Rabs_pos_eq s S), <- exp_plus. apply exp_le.
  assert (exp (- (r * (x + s))) <= exp (- (r * x))); [|lra]. apply exp_le.
  pose proof (Rmult_le_pos r s). lra.
Qed.
Theorem gumbel_noise : continuous_noise r (fun s => 0 <= s) (expect (gumbel_density r)).
Proof. apply density_noise; auto using gumbel_is_density. intros; apply gumbel_shift; auto. Qed.

(** ** Noises whose log-density has a bounded slope *)
Lemma slope_shift (L L' : R -> R) : (forall x, is_derive L x (L' x)) -> (forall x, Rabs (L' x) <= r) ->
  forall s x, exp (L x) <= exp (r * Rabs s) * exp (L (x + s)).
Proof.
  intros D B s x. rewrite <- exp_plus. apply exp_le.
  destruct (MVT_gen L x (x + s) L') as (c & _ & E).
  - intros y _. apply D.
  - intros y _. apply continuity_pt_filterlim. apply (ex_derive_continuous L). exists (L' y). apply D.
  - replace (x + s - x) with s in E by lra.
    assert (Rabs (L' c * s) <= r * Rabs s).
    { rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos | apply B]. }
    pose proof (Rabs_maj2 (L' c * s)). lra.
Qed.

(** ** Logistic *)
Lemma logistic_same x : logistic_density r x = logistic x.
Proof.
  unfold logistic_density, logistic. pose proof (exp_pos (r * x)). unfold Rminus. rewrite exp_plus, exp_Ropp.
  replace (2 * ln (1 + exp (r * x))) with (ln (1 + exp (r * x)) + ln (1 + exp (r * x))) by lra.
  rewrite exp_plus, !exp_ln by lra. unfold Rdiv. f_equal. f_equal. simpl. ring.
Qed.
Lemma logistic_density_continuous x : continuous (logistic_density r) x.
Proof.
  apply (ex_derive_continuous (logistic_density r)). unfold logistic_density.
  pose proof (exp_pos (r * x)). auto_derive. lra.
Qed.
Lemma logistic_is_density : density (logistic_density r).
Proof.
  assert (IR : 0 < / r) by (apply Rinv_0_lt_compat; auto).
  apply (continuous_density _ (/ r - 0) 1); auto using logistic_density_continuous.
  - intros; apply exp_pos.
  - apply (total_derivative (fun x => / r * (exp (r * x) / (1 + exp (r * x)))));
      auto using logistic_density_continuous.
    + intros x. rewrite logistic_same. apply logistic_derivative.
    + intros x. pose proof (exp_pos (r * x)). assert (0 < / (1 + exp (r * x))) by (apply Rinv_0_lt_compat; lra).
      assert (exp (r * x) / (1 + exp (r * x)) <= 1).
      { apply Rmult_le_reg_r with (1 + exp (r * x)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
      split; [apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; lra|].
      rewrite <- (Rmult_1_r (/ r)) at 2. apply Rmult_le_compat_l; lra.
  - intros x. rewrite logistic_same. unfold logistic. pose proof (exp_pos (r * x)).
    apply Rmult_le_reg_r with ((1 + exp (r * x)) ^ 2); [apply pow_lt; lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l; [nra | apply pow_nonzero; lra].
Qed.
Lemma logistic_shift s x : logistic_density r x <= exp (r * Rabs s) * logistic_density r (x + s).
Proof.
  apply (slope_shift (fun x => r * x - 2 * ln (1 + exp (r * x)))
    (fun x => r * ((1 - exp (r * x)) / (1 + exp (r * x))))).
  - intros y. pose proof (exp_pos (r * y)). auto_derive; [lra|]. field. lra.
  - intros y. pose proof (exp_pos (r * y)). rewrite Rabs_mult, (Rabs_pos_eq r) by lra.
    apply Rle_trans with (r * 1); [apply Rmult_le_compat_l; [lra|] | lra].
    apply Rabs_le. split; apply Rmult_le_reg_r with (1 + exp (r * y)); try lra;
      unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Theorem logistic_noise : continuous_noise r (fun _ => True) (expect (logistic_density r)).
Proof. apply density_noise; auto using logistic_is_density. intros; apply logistic_shift. Qed.

(** ** Cauchy: a shift costs at most what it would cost Laplace noise of this scale *)
Lemma cauchy_positive x : 0 < 1 + r * x * (r * x).
Proof. pose proof (Rle_0_sqr (r * x)) as Q. unfold Rsqr in Q. lra. Qed.
Lemma cauchy_same x : cauchy_density r x = / (1 + r * x * (r * x)).
Proof. unfold cauchy_density. rewrite exp_Ropp, exp_ln; auto using cauchy_positive. Qed.
Lemma cauchy_continuous x : continuous (cauchy_density r) x.
Proof.
  apply (ex_derive_continuous (cauchy_density r)). unfold cauchy_density.
  pose proof (cauchy_positive x). auto_derive. auto.
Qed.
Lemma cauchy_is_density : density (cauchy_density r).
Proof.
  assert (IR : 0 < / r) by (apply Rinv_0_lt_compat; auto).
  apply (continuous_density _ (/ r * (PI / 2) - / r * (- PI / 2)) 1); auto using cauchy_continuous.
  - intros; apply exp_pos.
  - apply (total_derivative (fun x => / r * atan (r * x))); auto using cauchy_continuous.
    + intros x. rewrite cauchy_same. pose proof (cauchy_positive x). auto_derive; auto.
      unfold Rsqr. field. split; nra.
    + intros x. pose proof (atan_bound (r * x)). split; apply Rmult_le_compat_l; lra.
  - intros x. unfold cauchy_density. apply Rle_trans with (exp 0); [apply exp_le | rewrite exp_0; lra].
    assert (0 <= ln (1 + r * x * (r * x))); [|lra]. rewrite <- ln_1. apply ln_le; [lra|].
    pose proof (Rle_0_sqr (r * x)) as Q. unfold Rsqr in Q. lra.
Qed.
Lemma cauchy_shift s x : cauchy_density r x <= exp (r * Rabs s) * cauchy_density r (x + s).
Proof.
  apply (slope_shift (fun x => - ln (1 + r * x * (r * x)))
    (fun x => r * (- (2 * (r * x)) / (1 + r * x * (r * x))))).
  - intros y. pose proof (cauchy_positive y). auto_derive; auto. field. lra.
  - intros y. pose proof (cauchy_positive y) as P. rewrite Rabs_mult, (Rabs_pos_eq r) by lra.
    apply Rle_trans with (r * 1); [apply Rmult_le_compat_l; [lra|] | lra].
    pose proof (Rle_0_sqr (r * y - 1)) as Q1. pose proof (Rle_0_sqr (r * y + 1)) as Q2. unfold Rsqr in Q1, Q2.
    apply Rabs_le. split; apply Rmult_le_reg_r with (1 + r * y * (r * y)); auto;
      replace (- (2 * (r * y)) / (1 + r * y * (r * y)) * (1 + r * y * (r * y))) with (- (2 * (r * y)))
        by (field; lra); lra.
Qed.
Theorem cauchy_noise : continuous_noise r (fun _ => True) (expect (cauchy_density r)).
Proof. apply density_noise; auto using cauchy_is_density. intros; apply cauchy_shift. Qed.

(** ** Gaussian: a density, but shifts have no price in epsilon (see [ZeroConcentrated.v]) *)
Lemma gaussian_continuous x : continuous (gaussian_density r) x.
Proof. apply (ex_derive_continuous (gaussian_density r)). unfold gaussian_density. auto_derive; auto. Qed.
End Rate.

Lemma gaussian_is_density r : 0 < r -> density (gaussian_density r).
Proof.
  intros P. apply (continuous_density _ (exp (/ 4) * (4 * (/ sqrt r - 0))) 1); auto using gaussian_continuous.
  - intros; apply exp_pos.
  - pose proof (sqrt_lt_R0 r P) as S. apply (total_le _ (fun x => exp (/ 4) * laplace_density (sqrt r) x)).
    + apply int_continuous, gaussian_continuous; auto.
    + apply int_scal, int_continuous, laplace_continuous.
    + intros x. unfold gaussian_density, laplace_density. rewrite <- exp_plus. apply exp_le.
      assert (Q : r * (x * x) = (sqrt r * Rabs x) * (sqrt r * Rabs x)).
      { replace (sqrt r * Rabs x * (sqrt r * Rabs x)) with (sqrt r * sqrt r * (Rabs x * Rabs x)) by lra.
        rewrite sqrt_sqrt by lra. f_equal. rewrite <- Rabs_mult, Rabs_pos_eq; auto. apply Rle_0_sqr. }
      rewrite Q. set (y := sqrt r * Rabs x). pose proof (Rle_0_sqr (y - / 2)) as Z. unfold Rsqr in Z. lra.
    + intros a b AB. rewrite rint_scal by apply int_continuous, laplace_continuous.
      apply Rmult_le_compat_l; [apply exp_nonneg|]. apply laplace_total; auto.
  - intros x. unfold gaussian_density. rewrite <- exp_0. apply exp_le.
    pose proof (Rmult_le_pos r (x * x)). pose proof (Rle_0_sqr x). unfold Rsqr in *. lra.
Qed.
