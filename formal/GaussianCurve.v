(** * The curve of Gaussian noise

    [curve m t] is the least delta for which Gaussian noise of variance 1, moved by [m], is
    (ln t, delta)-close to itself: the mean of (1 - t exp (- m z - m^2 / 2))+.  Its value is that of
    Balle and Wang ([curve_value]); it grows with [m] ([curve_grows]); and the curve of two moves that
    are made one after the other is the curve of the root of the sum of their squares ([curve_after]):
    this is why Gaussian steps add up their squares. *)
From Coq Require Import Reals Lra Lia List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint UpperIntegral ContinuousNoise.
Open Scope R_scope.

(** ** An integral over a rectangle, in either order *)
Section Rectangle.
Variables (w q q' p : R -> R) (al be : R).
Hypothesis W : forall y, continuous w y.
Hypothesis P : forall x, is_derive p x (q x).
Hypothesis Q : forall x, is_derive q x (q' x).
Hypothesis Q' : forall x, continuous q' x.

Lemma ridge_continuous (k : R -> R) x y : (forall x, continuous k x) ->
  continuity_2d_pt (fun u v => w v * k (al * u - be * v)) x y.
Proof.
  intros K. apply continuity_2d_pt_mult.
  - apply (continuity_1d_2d_pt_comp w (fun _ v => v)); [apply continuity_pt_filterlim, W | apply continuity_2d_pt_id2].
  - apply (continuity_1d_2d_pt_comp k (fun u v => al * u - be * v)); [apply continuity_pt_filterlim, K|].
    apply continuity_2d_pt_minus; apply continuity_2d_pt_mult; auto using continuity_2d_pt_const, continuity_2d_pt_id1, continuity_2d_pt_id2.
Qed.
Lemma ridge_int (k : R -> R) x c d : (forall x, continuous k x) -> ex_RInt (fun y => w y * k (al * x - be * y)) c d.
Proof.
  intros K. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros y _. apply (continuous_mult w (fun y => k (al * x - be * y))); auto.
  apply (continuous_comp (fun y => al * x - be * y) k); auto. apply (ex_derive_continuous (fun y => al * x - be * y)). auto_derive; auto.
Qed.
Lemma ridge_derive (k k' : R -> R) c d x : (forall x, is_derive k x (k' x)) -> (forall x, continuous k' x) ->
  is_derive (fun x => RInt (fun y => w y * k (al * x - be * y)) c d) x (al * RInt (fun y => w y * k' (al * x - be * y)) c d).
Proof.
  intros K K'. assert (DK : forall u v, is_derive (fun z => w v * k (al * z - be * v)) u (al * (w v * k' (al * u - be * v)))).
  { intros u v. replace (al * (w v * k' (al * u - be * v))) with (w v * (al * k' (al * u - be * v))) by ring.
    apply (is_derive_scal (fun z => k (al * z - be * v)) u (w v)). apply (is_derive_comp k (fun z => al * z - be * v) u); auto.
    auto_derive; auto. ring. }
  assert (KC : forall x, continuous k x) by (intros z; apply (ex_derive_continuous k); exists (k' z); auto).
  assert (E : al * RInt (fun y => w y * k' (al * x - be * y)) c d = RInt (fun y => Derive (fun u => w y * k (al * u - be * y)) x) c d).
  { symmetry. etransitivity; [|apply (RInt_scal (fun y => w y * k' (al * x - be * y)) c d al), (ridge_int k' x c d K')]. symmetry.
    apply RInt_ext. intros y _. symmetry. apply is_derive_unique, DK. }
  rewrite E. apply (is_derive_RInt_param (fun x y => w y * k (al * x - be * y))).
  - apply filter_forall. intros u v _. eexists; apply DK.
  - intros y _. apply (continuity_2d_pt_ext (fun u v => al * (w v * k' (al * u - be * v)))).
    + intros u v. symmetry. apply is_derive_unique, DK.
    + apply continuity_2d_pt_mult; [apply continuity_2d_pt_const | apply ridge_continuous; auto].
  - apply filter_forall. intros u. apply (ridge_int k u c d KC).
Qed.
Lemma ridge_rectangle a b c d :
  ex_RInt (fun x => RInt (fun y => w y * (al * q (al * x - be * y))) c d) a b /\
  RInt (fun x => RInt (fun y => w y * (al * q (al * x - be * y))) c d) a b =
  RInt (fun y => w y * (p (al * b - be * y) - p (al * a - be * y))) c d.
Proof.
  assert (PC : forall x, continuous p x) by (intros z; apply (ex_derive_continuous p); exists (q z); auto).
  assert (QC : forall x, continuous q x) by (intros z; apply (ex_derive_continuous q); exists (q' z); auto).
  set (F := fun x => RInt (fun y => w y * p (al * x - be * y)) c d).
  assert (E : forall x, RInt (fun y => w y * (al * q (al * x - be * y))) c d = al * RInt (fun y => w y * q (al * x - be * y)) c d).
  { intros x. etransitivity; [|apply (RInt_scal (fun y => w y * q (al * x - be * y)) c d al), (ridge_int q x c d QC)].
    apply RInt_ext. intros y _. unfold scal; simpl; unfold mult; simpl. ring. }
  assert (I : is_RInt (fun x => RInt (fun y => w y * (al * q (al * x - be * y))) c d) a b (F b - F a)).
  { apply (is_RInt_ext (fun x => al * RInt (fun y => w y * q (al * x - be * y)) c d)); [intros; symmetry; apply E|].
    apply (is_RInt_derive F).
    - intros x _. apply ridge_derive; auto.
    - intros x _. apply (ex_derive_continuous (fun x => al * RInt (fun y => w y * q (al * x - be * y)) c d)).
      eexists. apply (is_derive_scal (fun x => RInt (fun y => w y * q (al * x - be * y)) c d) x al). apply ridge_derive; auto. }
  split; [eexists; apply I|]. rewrite (is_RInt_unique _ _ _ _ I). unfold F.
  symmetry. etransitivity; [|apply (RInt_minus (fun y => w y * p (al * b - be * y)) (fun y => w y * p (al * a - be * y)) c d); apply (ridge_int p); auto].
  apply RInt_ext. intros y _. unfold Hierarchy.minus, Hierarchy.plus, opp; simpl. ring.
Qed.
End Rectangle.

(** ** The area below the bell *)
Definition bell (x : R) : R := gaussian_density (/ 2) x.
Definition area (x : R) : R := RInt bell 0 x.
Definition full : R := upper bell (fun _ => 1).

Lemma bell_density : density bell.
Proof. apply gaussian_is_density. lra. Qed.
Lemma bell_pos x : 0 < bell x. Proof. apply exp_pos. Qed.
Lemma bell_continuous x : continuous bell x. Proof. apply gaussian_continuous. Qed.
Lemma bell_int : integrable bell. Proof. apply int_continuous, bell_continuous. Qed.
Lemma full_pos : 0 < full. Proof. apply (upper_1 bell bell_density). Qed.
Lemma mass_lub r : 0 < r -> is_lub (fun y => exists a b, a <= b /\ y = RInt (gaussian_density r) a b) (upper (gaussian_density r) (fun _ => 1)).
Proof.
  intros RP. pose proof (gaussian_is_density r RP) as D. pose proof (e_int _ D) as I.
  destruct (upper_exact _ D (fun _ => 1) (bounded_const 1 Rle_0_1)) as [U L].
  { apply (int_ext (gaussian_density r)); auto. intros; lra. }
  assert (E : forall a b, RInt (fun x => 1 * gaussian_density r x) a b = RInt (gaussian_density r) a b) by (intros; apply RInt_ext; intros; simpl; lra).
  split.
  - intros y (a & b & AB & ->). apply U. exists a, b. auto.
  - intros y Y. apply L. intros z (a & b & AB & ->). apply Y. exists a, b. auto.
Qed.
Lemma area_derive x : is_derive area x (bell x).
Proof.
  apply (is_derive_RInt bell area 0 x); [|apply bell_continuous]. apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule) bell 0 y), bell_int.
Qed.
Lemma area_continuous x : continuous area x.
Proof. apply (ex_derive_continuous area). exists (bell x). apply area_derive. Qed.
Lemma area_between a b : RInt bell a b = area b - area a.
Proof. unfold area. pose proof (rint_chasles bell 0 a b bell_int). lra. Qed.
Lemma area_grows a b : a <= b -> area a <= area b.
Proof. intros AB. pose proof (rint_pos bell a b bell_int (fun x => Rlt_le _ _ (bell_pos x)) AB). rewrite area_between in H. lra. Qed.
Lemma area_0 : area 0 = 0. Proof. unfold area. apply (RInt_point (V := R_CompleteNormedModule)). Qed.
Lemma bell_even x : bell (- x) = bell x. Proof. unfold bell, gaussian_density. f_equal. ring. Qed.
Lemma area_odd x : area (- x) = - area x.
Proof.
  unfold area. pose proof (RInt_comp_lin bell (-1) 0 0 x (bell_int _ _)) as E.
  replace (-1 * 0 + 0) with 0 in E by ring. replace (-1 * x + 0) with (- x) in E by ring. rewrite <- E.
  rewrite (RInt_ext _ (fun y => -1 * bell y)).
  - rewrite rint_scal by apply bell_int. lra.
  - intros y _. unfold scal; simpl; unfold mult; simpl. replace (-1 * y + 0) with (- y) by ring. rewrite bell_even. lra.
Qed.
Lemma area_within a b : area b - area a <= full.
Proof.
  destruct (Rle_dec a b) as [L|L].
  - rewrite <- area_between. apply (proj1 (mass_lub (/ 2) ltac:(lra))). exists a, b. auto.
  - pose proof (area_grows b a ltac:(lra)). pose proof full_pos. lra.
Qed.
Lemma area_half x : area x <= full / 2.
Proof. pose proof (area_within (- x) x). rewrite area_odd in H. lra. Qed.
Lemma area_near eta : 0 < eta -> exists C, 0 <= C /\ forall x, C <= x -> full / 2 - eta <= area x.
Proof.
  intros E. destruct (mass_lub (/ 2) ltac:(lra)) as [_ L]. fold bell in L. destruct (Rle_dec (full - 2 * eta) 0) as [S|S].
  - exists 0. split; [lra|]. intros x X. pose proof (area_grows 0 x X). rewrite area_0 in *. lra.
  - assert (NB : ~ forall a b, a <= b -> RInt bell a b <= full - 2 * eta).
    { intros B. pose proof (L (full - 2 * eta)) as X. assert (full <= full - 2 * eta); [|lra]. apply X.
      intros y (a & b & AB & ->). apply B; auto. }
    assert (EX : exists C, 0 <= C /\ full - 2 * eta <= 2 * area C).
    { apply Classical_Prop.NNPP. intros N. apply NB. intros a b AB. apply Rnot_lt_le. intros LT. apply N.
      exists (Rmax (Rabs a) (Rabs b)). pose proof (Rabs_pos a). pose proof (Rmax_l (Rabs a) (Rabs b)). pose proof (Rmax_r (Rabs a) (Rabs b)).
      split; [lra|]. rewrite area_between in LT. set (C := Rmax (Rabs a) (Rabs b)) in *.
      pose proof (Rle_abs b). pose proof (Rle_abs (- a)). rewrite Rabs_Ropp in *.
      pose proof (area_grows b C ltac:(lra)). pose proof (area_grows (- C) a ltac:(lra)). rewrite area_odd in *. lra. }
    destruct EX as (C & CP & X). exists C. split; auto. intros x Y. pose proof (area_grows C x Y). lra.
Qed.

(** ** The curve *)
Definition loss (m t z : R) : R := Rmax 0 (1 - t * exp (- (m * z) - m * m / 2)).
Definition curve (m t : R) : R := expect bell (loss m t).

Lemma loss_range m t z : 0 <= t -> 0 <= loss m t z <= 1.
Proof.
  intros T. unfold loss. pose proof (exp_pos (- (m * z) - m * m / 2)).
  assert (0 <= t * exp (- (m * z) - m * m / 2)) by (apply Rmult_le_pos; lra).
  split; [apply Rmax_l | apply Rmax_lub; lra].
Qed.
Lemma loss_bounded m t : 0 <= t -> bounded (loss m t).
Proof. exists 1. intros; apply loss_range; auto. Qed.
Lemma loss_continuous m t z : continuous (loss m t) z.
Proof.
  unfold loss. apply (continuous_ext (fun z => (Rabs (1 - t * exp (- (m * z) - m * m / 2)) + (1 - t * exp (- (m * z) - m * m / 2))) / 2)).
  - intros x. unfold Rmax, Rabs. destruct Rle_dec, Rcase_abs; lra.
  - assert (C : continuous (fun z => 1 - t * exp (- (m * z) - m * m / 2)) z).
    { apply (ex_derive_continuous (fun z => 1 - t * exp (- (m * z) - m * m / 2))). auto_derive; auto. }
    apply (continuous_mult (fun z => Rabs (1 - t * exp (- (m * z) - m * m / 2)) + (1 - t * exp (- (m * z) - m * m / 2))) (fun _ => / 2)); [|apply continuous_const].
    apply (continuous_plus (fun z => Rabs (1 - t * exp (- (m * z) - m * m / 2)))); auto.
    apply (continuous_comp (fun z => 1 - t * exp (- (m * z) - m * m / 2)) Rabs); auto. apply continuous_Rabs.
Qed.
Lemma loss_bell_continuous m t z : continuous (fun z => loss m t z * bell z) z.
Proof. apply (continuous_mult (loss m t) bell); auto using loss_continuous, bell_continuous. Qed.
Lemma loss_int m t : integrable (fun z => loss m t z * bell z).
Proof. apply int_continuous, loss_bell_continuous. Qed.
Lemma curve_full m t : full * curve m t = upper bell (loss m t).
Proof. unfold curve, expect. fold full. pose proof full_pos. field. lra. Qed.
(** A part of the integral is at most the whole, ... *)
Lemma curve_above m t a b : 0 <= t -> a <= b -> RInt (fun z => loss m t z * bell z) a b <= full * curve m t.
Proof.
  intros T AB. rewrite curve_full. apply (proj1 (upper_exact bell bell_density (loss m t) (loss_bounded m t T) (loss_int m t))).
  exists a, b. auto.
Qed.
(** ... and not much is outside of a long interval. *)
Lemma curve_below m t C : 0 <= t -> 0 <= C -> full * curve m t <= RInt (fun z => loss m t z * bell z) (- C) C + (full - 2 * area C).
Proof.
  intros T CP. rewrite curve_full. apply (proj2 (upper_exact bell bell_density (loss m t) (loss_bounded m t T) (loss_int m t))).
  intros y (a & b & AB & ->). set (a' := Rmin a (- C)). set (b' := Rmax b C). set (f := fun z => loss m t z * bell z).
  pose proof (Rmin_l a (- C)). pose proof (Rmin_r a (- C)). pose proof (Rmax_l b C). pose proof (Rmax_r b C). fold a' b' in H, H0, H1, H2.
  pose proof (loss_int m t) as I. fold f in I.
  assert (FP : forall z, 0 <= f z <= bell z).
  { intros z. unfold f. pose proof (loss_range m t z T). pose proof (bell_pos z). split; [apply Rmult_le_pos; lra|].
    rewrite <- (Rmult_1_l (bell z)) at 2. apply Rmult_le_compat_r; lra. }
  apply Rle_trans with (RInt f a' b'); [apply rint_mono; auto; try apply FP; intros; apply FP|].
  assert (S : forall x y, x <= y -> RInt f x y <= area y - area x).
  { intros x y L. rewrite <- area_between. apply RInt_le; auto using bell_int. intros; apply FP. }
  rewrite <- (rint_chasles f a' (- C) b' I), <- (rint_chasles f (- C) C b' I).
  pose proof (S a' (- C) H0). pose proof (S C b' H2). pose proof (area_within a' b'). rewrite area_odd in *. lra.
Qed.
Lemma curve_range m t : 0 <= t -> 0 <= curve m t <= 1.
Proof.
  intros T. pose proof full_pos as Z. pose proof (loss_bounded m t T) as B. split.
  - apply Rmult_le_reg_l with full; auto. rewrite curve_full, Rmult_0_r. apply (upper_nonneg bell bell_density); auto.
  - apply Rmult_le_reg_l with full; auto. rewrite curve_full, Rmult_1_r. apply (upper_le bell bell_density); auto.
    + apply bounded_const; lra.
    + intros; apply loss_range; auto.
Qed.
Lemma curve_falls m t t' : 0 <= t -> t <= t' -> curve m t' <= curve m t.
Proof.
  intros T L. pose proof full_pos as Z. apply Rmult_le_reg_l with full; auto. rewrite !curve_full.
  apply (upper_le bell bell_density); try (apply loss_bounded; lra). intros z. unfold loss. apply Rle_max_compat_l.
  pose proof (exp_pos (- (m * z) - m * m / 2)). nra.
Qed.
Lemma bell_shift m z : exp (- (m * z) - m * m / 2) * bell z = bell (z + m).
Proof. unfold bell, gaussian_density. rewrite <- exp_plus. f_equal. field. Qed.
Lemma rint_bell_shift m a b : RInt (fun z => bell (z + m)) a b = area (b + m) - area (a + m).
Proof. rewrite rint_shift by apply bell_int. apply area_between. Qed.
Lemma rint_line m t a b : RInt (fun z => (1 - t * exp (- (m * z) - m * m / 2)) * bell z) a b =
  area b - area a - t * (area (b + m) - area (a + m)).
Proof.
  rewrite (RInt_ext _ (fun z => bell z + - t * bell (z + m))).
  - rewrite (rint_plus bell (fun z => - t * bell (z + m))); auto using bell_int.
    + rewrite (rint_scal (- t) (fun z => bell (z + m))) by (apply (int_shift m bell), bell_int).
      rewrite rint_bell_shift, area_between. lra.
    + apply int_scal, (int_shift m bell), bell_int.
  - intros z _. rewrite <- bell_shift. simpl. ring.
Qed.
(** It is above 1 - t. *)
Lemma curve_line m t : 0 <= t -> 1 - t <= curve m t.
Proof.
  intros T. pose proof full_pos as Z. apply Rmult_le_reg_l with full; auto. apply Rle_trans with (full - t * full); [lra|].
  apply le_epsilon. intros eta E. destruct (area_near (eta / 2) ltac:(lra)) as (C & CP & N). specialize (N C (Rle_refl C)).
  pose proof (curve_above m t (- C) C T ltac:(lra)) as A.
  assert (L : RInt (fun z => (1 - t * exp (- (m * z) - m * m / 2)) * bell z) (- C) C <= RInt (fun z => loss m t z * bell z) (- C) C).
  { apply RInt_le; try lra; [|apply loss_int|].
    - apply int_continuous. intros z. apply (continuous_mult (fun z => 1 - t * exp (- (m * z) - m * m / 2)) bell); [|apply bell_continuous].
      apply (ex_derive_continuous (fun z => 1 - t * exp (- (m * z) - m * m / 2))). auto_derive; auto.
    - intros z _. apply Rmult_le_compat_r; [left; apply bell_pos | apply Rmax_r]. }
  rewrite rint_line, area_odd in L. pose proof (area_within (- C + m) (C + m)).
  assert (t * (area (C + m) - area (- C + m)) <= t * full) by (apply Rmult_le_compat_l; auto). lra.
Qed.

(** Its value: where the loss is positive. *)
Definition border (m t : R) : R := ln t / m - m / 2.
Lemma loss_border m t z : 0 < m -> 0 < t -> (z <= border m t -> loss m t z = 0) /\
  (border m t <= z -> loss m t z = 1 - t * exp (- (m * z) - m * m / 2)).
Proof.
  intros M T. unfold loss, border.
  assert (E : t * exp (- (m * z) - m * m / 2) = exp (m * (ln t / m - m / 2 - z))).
  { rewrite <- (exp_ln t) at 1 by auto. rewrite <- exp_plus. f_equal. field. lra. }
  rewrite E. split; intros L.
  - apply Rmax_left. assert (1 <= exp (m * (ln t / m - m / 2 - z))); [|lra]. rewrite <- exp_0. apply exp_le. apply Rmult_le_pos; lra.
  - apply Rmax_right. assert (exp (m * (ln t / m - m / 2 - z)) <= 1); [|lra]. rewrite <- exp_0. apply exp_le.
    assert (0 <= m * (z - (ln t / m - m / 2))) by (apply Rmult_le_pos; lra). lra.
Qed.
Lemma loss_integral m t C : 0 < m -> 0 < t -> - C <= border m t <= C ->
  RInt (fun z => loss m t z * bell z) (- C) C = area C - area (border m t) - t * (area (C + m) - area (border m t + m)).
Proof.
  intros M T B. rewrite <- (rint_chasles _ (- C) (border m t) C (loss_int m t)).
  rewrite (RInt_ext (fun z => loss m t z * bell z) (fun _ => 0) (- C)), rint_0.
  - rewrite <- rint_line, Rplus_0_l. apply RInt_ext. rewrite Rmin_left, Rmax_right by lra. intros z Z. f_equal. apply loss_border; auto; lra.
  - rewrite Rmin_left, Rmax_right by lra. intros z Z. destruct (loss_border m t z M T) as [-> _]; [lra | simpl; lra].
Qed.
Theorem curve_value m t : 0 < m -> 0 < t ->
  full * curve m t = full / 2 * (1 - t) + t * area (border m t + m) - area (border m t).
Proof.
  intros M T. set (z := border m t).
  assert (W : forall eta, 0 < eta -> exists C, 0 <= C /\ - C <= z <= C /\ full / 2 - eta <= area C /\ full / 2 - eta <= area (C + m)).
  { intros eta E. destruct (area_near eta E) as (C & CP & N). exists (Rmax C (Rabs z)). pose proof (Rmax_l C (Rabs z)). pose proof (Rmax_r C (Rabs z)).
    pose proof (Rle_abs z). pose proof (Rle_abs (- z)). rewrite Rabs_Ropp in *. repeat split; try lra; apply N; lra. }
  apply Rle_antisym; apply le_epsilon; intros eta E.
  - destruct (W (eta / (2 * (1 + t)))) as (C & CP & B & A1 & A2); [apply Rdiv_lt_0_compat; lra|].
    pose proof (curve_below m t C ltac:(lra) CP) as X. rewrite loss_integral in X by auto. fold z in X.
    set (d := eta / (2 * (1 + t))) in *. assert (ED : eta = 2 * d + 2 * (t * d)) by (unfold d; field; lra).
    pose proof (Rmult_le_compat_l t _ _ (Rlt_le _ _ T) A2). assert (0 < d) by (unfold d; apply Rdiv_lt_0_compat; lra).
    assert (0 < t * d) by (apply Rmult_lt_0_compat; auto). lra.
  - destruct (W eta E) as (C & CP & B & A1 & A2). pose proof (curve_above m t (- C) C ltac:(lra) ltac:(lra)) as X.
    rewrite loss_integral in X by auto. fold z in X. pose proof (Rmult_le_compat_l t _ _ (Rlt_le _ _ T) (area_half (C + m))). lra.
Qed.
Section Growth.
Variable t : R.
Hypothesis T : 0 < t.
Let F (m : R) : R := full / 2 * (1 - t) + t * area (border m t + m) - area (border m t).
Lemma value_derive x : 0 < x -> is_derive F x (bell (border x t)).
Proof.
  intros XP.
  assert (D0 : is_derive (fun m => border m t) x (- ln t / (x * x) - / 2)) by (unfold border; auto_derive; [lra | field; lra]).
  assert (D1 : is_derive (fun m => border m t + m) x (- ln t / (x * x) + / 2)) by (unfold border; auto_derive; [lra | field; lra]).
  pose proof (is_derive_comp area (fun m => border m t) x _ _ (area_derive _) D0) as A0.
  pose proof (is_derive_comp area (fun m => border m t + m) x _ _ (area_derive _) D1) as A1.
  pose proof (is_derive_scal (fun m => area (border m t + m)) x t _ A1) as A2.
  pose proof (is_derive_plus (fun _ => full / 2 * (1 - t)) (fun m => t * area (border m t + m)) x _ _ (is_derive_const (full / 2 * (1 - t)) x) A2) as A3.
  pose proof (is_derive_minus (fun m => full / 2 * (1 - t) + t * area (border m t + m)) (fun m => area (border m t)) x _ _ A3 A0) as A4.
  assert (E : t * bell (border x t + x) = bell (border x t)).
  { rewrite <- bell_shift, <- Rmult_assoc. assert (X : t * exp (- (x * border x t) - x * x / 2) = 1); [|rewrite X; lra].
    rewrite <- (exp_ln t) at 1 by auto. rewrite <- exp_plus, <- exp_0. f_equal. unfold border. field. lra. }
  match type of A4 with is_derive _ _ ?d => replace (bell (border x t)) with d; [exact A4|] end.
  unfold Hierarchy.minus, Hierarchy.plus, opp, Hierarchy.zero, scal; simpl; unfold mult; simpl.
  transitivity ((- ln t / (x * x) + / 2) * (t * bell (border x t + x)) - (- ln t / (x * x) - / 2) * bell (border x t)); [ring|].
  rewrite E. field. lra.
Qed.
Lemma bell_1 x : bell x <= 1.
Proof. unfold bell, gaussian_density. rewrite <- exp_0. apply exp_le. pose proof (Rle_0_sqr x). unfold Rsqr in H. lra. Qed.
(** It grows with the move, and not faster. *)
Theorem curve_growth m m' : 0 < m -> m <= m' -> 0 <= full * curve m' t - full * curve m t <= m' - m.
Proof.
  intros MP L. rewrite !curve_value by lra. change (0 <= F m' - F m <= m' - m).
  destruct (MVT_gen F m m' (fun m => bell (border m t))) as (c & _ & E).
  - rewrite Rmin_left, Rmax_right by auto. intros x X. apply value_derive. lra.
  - rewrite Rmin_left, Rmax_right by auto. intros x X. apply continuity_pt_filterlim, (ex_derive_continuous F). eexists. apply value_derive. lra.
  - rewrite E. pose proof (bell_pos (border c t)). pose proof (bell_1 (border c t)). split; [apply Rmult_le_pos; lra|].
    rewrite <- (Rmult_1_l (m' - m)) at 2. apply Rmult_le_compat_r; lra.
Qed.
End Growth.
Theorem curve_grows m m' t : 0 < m -> m <= m' -> 0 < t -> curve m t <= curve m' t.
Proof.
  intros MP L T. pose proof full_pos as Z. apply Rmult_le_reg_l with full; auto. pose proof (curve_growth t T m m' MP L). lra.
Qed.
(** At epsilon = 0 it is small for small moves. *)
Lemma curve_small m : 0 < m -> full * curve m 1 <= m.
Proof.
  intros MP. rewrite curve_value by lra. unfold border. rewrite ln_1. unfold Rdiv at 2 4. rewrite Rmult_0_l.
  replace (0 - m / 2) with (- (m / 2)) by lra. replace (- (m / 2) + m) with (m / 2) by lra. rewrite area_odd.
  assert (A : area (m / 2) <= m / 2); [|lra].
  apply Rle_trans with (RInt (fun _ => 1) 0 (m / 2)).
  - apply RInt_le; [lra | apply bell_int | apply (ex_RInt_const (V := R_NormedModule)) | intros; apply bell_1].
  - rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. lra.
Qed.

(** ** One move after the other *)
Section After.
Variables (r s m t : R).
Hypotheses (RP : 0 < r) (MP : 0 < m) (T : 0 < t).
Let e := gaussian_density r.
Let k := 2 * r * s.
Let M := sqrt (m * m + 2 * r * (s * s)).
Definition tilted (x : R) : R := t * exp (- (k * x) - r * (s * s)).

Lemma tilted_pos x : 0 < tilted x. Proof. apply Rmult_lt_0_compat; auto. apply exp_pos. Qed.
Lemma M_square : M * M = m * m + 2 * r * (s * s).
Proof. apply sqrt_sqrt. pose proof (Rle_0_sqr s). unfold Rsqr in H. pose proof (Rmult_lt_0_compat m m MP MP). pose proof (Rmult_le_pos r (s * s)). lra. Qed.
Lemma M_pos : 0 < M.
Proof. apply sqrt_lt_R0. pose proof (Rle_0_sqr s). unfold Rsqr in H. pose proof (Rmult_lt_0_compat m m MP MP). pose proof (Rmult_le_pos r (s * s)). lra. Qed.
Lemma tilted_continuous x : continuous (fun x => curve m (tilted x)) x.
Proof.
  pose proof full_pos as Z.
  assert (V : forall y, (full / 2 * (1 - tilted y) + tilted y * area (border m (tilted y) + m) - area (border m (tilted y))) / full = curve m (tilted y))
    by (intros y; rewrite <- curve_value by auto using tilted_pos; field; lra).
  apply (continuous_ext (fun x => (full / 2 * (1 - tilted x) + tilted x * area (border m (tilted x) + m) - area (border m (tilted x))) / full)).
  - exact V.
  - assert (B : forall y, border m (tilted y) = (ln t - k * y - r * (s * s)) / m - m / 2).
    { intros y. unfold border, tilted. rewrite ln_mult, ln_exp by (auto using exp_pos). f_equal. f_equal. ring. }
    assert (CT : continuous tilted x) by (apply (ex_derive_continuous tilted); unfold tilted; auto_derive; auto).
    assert (C0 : continuous (fun y => area (border m (tilted y))) x).
    { apply (continuous_ext (fun y => area ((ln t - k * y - r * (s * s)) / m - m / 2))); [intros; rewrite B; auto|].
      apply (continuous_comp (fun y => (ln t - k * y - r * (s * s)) / m - m / 2) area); [|apply area_continuous].
      apply (ex_derive_continuous (fun y => (ln t - k * y - r * (s * s)) / m - m / 2)). auto_derive; auto. }
    assert (C1 : continuous (fun y => area (border m (tilted y) + m)) x).
    { apply (continuous_ext (fun y => area ((ln t - k * y - r * (s * s)) / m - m / 2 + m))); [intros; rewrite B; auto|].
      apply (continuous_comp (fun y => (ln t - k * y - r * (s * s)) / m - m / 2 + m) area); [|apply area_continuous].
      apply (ex_derive_continuous (fun y => (ln t - k * y - r * (s * s)) / m - m / 2 + m)). auto_derive; auto. }
    apply (continuous_mult (fun x => full / 2 * (1 - tilted x) + tilted x * area (border m (tilted x) + m) - area (border m (tilted x))) (fun _ => / full)); [|apply continuous_const].
    apply (continuous_minus (fun x => full / 2 * (1 - tilted x) + tilted x * area (border m (tilted x) + m))); auto.
    apply (continuous_plus (fun x => full / 2 * (1 - tilted x)) (fun x => tilted x * area (border m (tilted x) + m))).
    + apply (continuous_mult (fun _ => full / 2) (fun x => 1 - tilted x)); [apply continuous_const|].
      apply (continuous_minus (fun _ => 1) tilted); auto. apply continuous_const.
    + apply (continuous_mult tilted (fun x => area (border m (tilted x) + m))); auto.
Qed.
Lemma tilted_int : integrable (fun x => curve m (tilted x) * e x).
Proof. apply int_continuous. intros x. apply (continuous_mult (fun x => curve m (tilted x)) e); [apply tilted_continuous | apply gaussian_continuous]. Qed.
(** Turning the plane: the noises of both moves become the one along the sum of the moves, and another one. *)
Lemma turned x z y : M * y = m * z + k * x ->
  loss m (tilted x) z * bell z * e x = loss M t y * bell y * e (M / m * x - k / (2 * r * m) * y).
Proof.
  intros Y. pose proof M_square as MM. pose proof M_pos as MQ.
  assert (L : loss m (tilted x) z = loss M t y).
  { unfold loss, tilted. f_equal. f_equal. rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. rewrite Y, MM. field. }
  rewrite L, !Rmult_assoc. f_equal. unfold bell, e, gaussian_density. rewrite <- !exp_plus. f_equal.
  assert (ZV : z = (M * y - k * x) / m) by (rewrite Y; field; lra). subst z. unfold k.
  apply Rmult_eq_reg_l with (m * m); [|apply Rgt_not_eq, Rmult_lt_0_compat; auto].
  transitivity (- (/ 2 * (M * y - 2 * r * s * x) * (M * y - 2 * r * s * x)) - r * (m * m) * (x * x)); [field; lra|].
  transitivity (- (/ 2 * (M * M) * (y * y)) + 2 * r * s * M * x * y - (2 * r * r * (s * s) + r * (m * m)) * (x * x)); [field|].
  transitivity (- (/ 2 * (m * m + 2 * r * (s * s)) * (y * y)) + 2 * r * s * M * x * y - r * (M * M) * (x * x)); [rewrite MM; field|].
  field. lra.
Qed.
Theorem curve_after a b : a <= b -> RInt (fun x => curve m (tilted x) * e x) a b <= upper e (fun _ => 1) * curve M t.
Proof.
  intros AB. pose proof full_pos as Z. pose proof M_pos as MQ. set (Zr := upper e (fun _ => 1)).
  assert (ZP : 0 < Zr) by (apply (upper_1 e), gaussian_is_density; auto).
  assert (EI : integrable e) by (apply int_continuous, gaussian_continuous).
  assert (EP : forall x, 0 < e x) by (intros; apply exp_pos).
  assert (MASS : forall c d, c <= d -> RInt e c d <= Zr) by (intros c d CD; apply (proj1 (mass_lub r RP)); exists c, d; auto).
  apply Rmult_le_reg_l with full; auto. apply le_epsilon. intros eta0 E0.
  set (eta := eta0 / Zr). assert (E : 0 < eta) by (apply Rdiv_lt_0_compat; auto).
  destruct (area_near (eta / 2) ltac:(lra)) as (C & CP & N). specialize (N C (Rle_refl C)).
  set (al := M / m). set (be := k / (2 * r * m)). set (w := fun y => loss M t y * bell y).
  assert (AL : 0 < al) by (apply Rdiv_lt_0_compat; auto).
  assert (WP : forall y, 0 <= w y).
  { intros y. apply Rmult_le_pos; [apply loss_range; lra | left; apply bell_pos]. }
  set (K := Rabs k * Rmax (Rabs a) (Rabs b)). set (D := (m * C + K) / M).
  assert (KP : 0 <= K) by (apply Rmult_le_pos; [apply Rabs_pos | eapply Rle_trans; [apply Rabs_pos | apply Rmax_l]]).
  assert (KX : forall x, a <= x <= b -> Rabs (k * x) <= K).
  { intros x X. unfold K. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|].
    unfold Rmax, Rabs. destruct (Rcase_abs x), (Rcase_abs a), (Rcase_abs b), Rle_dec; lra. }
  assert (INNER : forall x, a <= x <= b -> RInt (fun z => loss m (tilted x) z * bell z) (- C) C * e x <=
    RInt (fun y => w y * (al * e (al * x - be * y))) (- D) D).
  { intros x X. specialize (KX x X). pose proof (Rle_abs (k * x)). pose proof (Rle_abs (- (k * x))) as KL. rewrite Rabs_Ropp in KL.
    assert (GI : integrable (fun y => w y * (al * e (al * x - be * y)))).
    { apply int_continuous. intros y. apply (continuous_mult w (fun y => al * e (al * x - be * y))); [apply loss_bell_continuous|].
      apply (ex_derive_continuous (fun y => al * e (al * x - be * y))). unfold e, gaussian_density. auto_derive; auto. }
    apply Rle_trans with (RInt (fun y => w y * (al * e (al * x - be * y))) ((- (m * C) + k * x) / M) ((m * C + k * x) / M)).
    - right. set (f := fun z => loss m (tilted x) z * bell z).
      transitivity (RInt (fun z => e x * f z) (- C) C); [rewrite (rint_scal (e x) f) by apply loss_int; ring|].
      assert (FI : integrable (fun z => e x * f z)) by (apply int_scal, loss_int).
      pose proof (RInt_comp_lin (fun z => e x * f z) al (- (k * x / m)) ((- (m * C) + k * x) / M) ((m * C + k * x) / M)) as X0.
      replace (al * ((- (m * C) + k * x) / M) + - (k * x / m)) with (- C) in X0 by (unfold al; field; lra).
      replace (al * ((m * C + k * x) / M) + - (k * x / m)) with C in X0 by (unfold al; field; lra).
      rewrite <- X0 by apply FI. apply RInt_ext. intros y _. unfold scal; simpl; unfold mult; simpl. unfold f, w.
      pose proof (turned x (al * y + - (k * x / m)) y) as TT. fold al be in TT.
      transitivity (al * (loss m (tilted x) (al * y + - (k * x / m)) * bell (al * y + - (k * x / m)) * e x)); [ring|].
      rewrite TT by (unfold al; field; lra). ring.
    - apply rint_mono; auto.
      + intros y. apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra | left; apply EP].
      + unfold D. replace (- ((m * C + K) / M)) with ((- (m * C) - K) / M) by (field; lra).
        apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | lra].
      + apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto|]. pose proof (Rmult_le_pos m C). lra.
      + unfold D. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | lra]. }
  assert (PD : exists p, forall x, is_derive p x (e x)).
  { exists (fun x => RInt e 0 x). intros x. apply (is_derive_RInt e (fun x => RInt e 0 x) 0 x); [|apply gaussian_continuous].
    apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule) e 0 y), EI. }
  destruct PD as [p PD].
  assert (PB : forall c d, c <= d -> p d - p c <= Zr).
  { intros c d CD. apply Rle_trans with (RInt e c d); [right; symmetry | apply MASS; auto].
    apply is_RInt_unique, (is_RInt_derive p e); auto. intros; apply gaussian_continuous. }
  assert (ED : forall x, is_derive e x (- (2 * r * x) * e x)) by (intros x; unfold e, gaussian_density; auto_derive; auto; ring).
  destruct (ridge_rectangle w e (fun x => - (2 * r * x) * e x) p al be) with (a := a) (b := b) (c := - D) (d := D) as [RI RE]; auto.
  { intros; apply loss_bell_continuous. }
  { intros x. apply (ex_derive_continuous (fun x => - (2 * r * x) * e x)). unfold e, gaussian_density. auto_derive; auto. }
  set (G := fun x => RInt (fun y => w y * (al * e (al * x - be * y))) (- D) D) in *.
  apply Rle_trans with (RInt (fun x => G x + eta * e x) a b).
  - rewrite <- rint_scal by apply tilted_int. apply RInt_le; auto; [apply int_scal, tilted_int | apply (ex_RInt_plus G (fun x => eta * e x)); auto; apply int_scal; auto|].
    intros x X. specialize (INNER x ltac:(lra)). fold (G x) in INNER. specialize (EP x).
    pose proof (curve_below m (tilted x) C (Rlt_le _ _ (tilted_pos x)) CP) as CB.
    apply Rmult_le_compat_r with (r := e x) in CB; [|lra].
    assert ((full - 2 * area C) * e x <= eta * e x) by (apply Rmult_le_compat_r; lra). lra.
  - assert (S : RInt (fun x => G x + eta * e x) a b = RInt G a b + RInt (fun x => eta * e x) a b)
      by (apply (RInt_plus G (fun x => eta * e x)); auto; apply int_scal; auto).
    rewrite S, rint_scal, RE by auto.
    assert (DP : 0 <= D). { unfold D. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; auto]. pose proof (Rmult_le_pos m C). lra. }
    assert (PC : forall x, continuous p x) by (intros x; apply (ex_derive_continuous p); exists (e x); auto).
    assert (RIGHT : RInt (fun y => w y * (p (al * b - be * y) - p (al * a - be * y))) (- D) D <= Zr * (full * curve M t)).
    { apply Rle_trans with (RInt (fun y => Zr * w y) (- D) D).
      - apply RInt_le; [lra | | apply int_scal, loss_int |].
        + apply int_continuous. intros y. apply (continuous_mult w (fun y => p (al * b - be * y) - p (al * a - be * y))); [apply loss_bell_continuous|].
          apply (continuous_minus (fun y => p (al * b - be * y)) (fun y => p (al * a - be * y))).
          * apply (continuous_comp (fun y => al * b - be * y) p); auto. apply (ex_derive_continuous (fun y => al * b - be * y)). auto_derive; auto.
          * apply (continuous_comp (fun y => al * a - be * y) p); auto. apply (ex_derive_continuous (fun y => al * a - be * y)). auto_derive; auto.
        + intros y _. rewrite (Rmult_comm Zr). apply Rmult_le_compat_l; auto. apply PB.
          apply Rplus_le_compat_r. apply Rmult_le_compat_l; lra.
      - rewrite rint_scal by apply loss_int. apply Rmult_le_compat_l; [lra|]. apply curve_above; lra. }
    pose proof (Rmult_le_compat_l eta _ _ (Rlt_le _ _ E) (MASS a b AB)).
    assert (eta * Zr = eta0) by (unfold eta; field; lra). lra.
Qed.
End After.

(** ** What a move costs, before what is behind it *)
Theorem gaussian_step r s m f g : 0 < r -> 0 < m -> bounded f -> bounded g ->
  (forall x t, 0 < t -> f x <= t * g (x + s) + curve m t) -> forall t, 0 < t ->
  expect (gaussian_density r) f <= t * expect (gaussian_density r) g + curve (sqrt (m * m + 2 * r * (s * s))) t.
Proof.
  intros RP MP F G H t T. set (e := gaussian_density r). set (M := sqrt (m * m + 2 * r * (s * s))).
  pose proof (gaussian_is_density r RP) as D. fold e in D. pose proof (upper_1 e D) as ZP. set (Z := upper e (fun _ => 1)) in *.
  assert (X : upper e f <= t * upper e g + Z * curve M t).
  { cut ((upper e f - Z * curve M t) / t <= upper e g).
    - intros L. apply Rmult_le_compat_l with (r := t) in L; [|lra]. replace (t * ((upper e f - Z * curve M t) / t)) with (upper e f - Z * curve M t) in L by (field; lra). lra.
    - apply (upper_spec e D g G). intros J (w & (WP & WI & WD) & W).
      apply Rmult_le_reg_l with t; auto. replace (t * ((upper e f - Z * curve M t) / t)) with (upper e f - Z * curve M t) by (field; lra).
      cut (upper e f <= t * J + Z * curve M t); [lra|]. apply (upper_spec e D f F).
      assert (TI := tilted_int r s m t MP T). fold e in TI. assert (SI : integrable (fun x => t * w (x + s))) by (apply int_scal, int_shift; auto).
      exists (fun x => t * w (x + s) + curve m (tilted r s t x) * e x). split; [split; [|split]|].
      + intros x. apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto; try lra.
        * apply curve_range. left. apply tilted_pos; auto.
        * left; apply exp_pos.
      + apply int_plus; auto.
      + intros a b AB. rewrite (rint_plus (fun x => t * w (x + s))) by auto. apply Rplus_le_compat.
        * rewrite (rint_scal t (fun x => w (x + s))) by (apply int_shift; auto). rewrite rint_shift by auto.
          apply Rmult_le_compat_l; [lra | apply WD; lra].
        * apply (curve_after r s m t RP MP T a b AB).
      + intros x. specialize (H x (tilted r s t x) (tilted_pos r s t T x)). specialize (W (x + s)).
        assert (EX : tilted r s t x * e x = t * e (x + s)).
        { unfold tilted, e, gaussian_density. rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
        assert (EP : 0 < e x) by apply exp_pos. apply Rmult_le_compat_r with (r := e x) in H; [|lra].
        eapply Rle_trans; [exact H|]. rewrite Rmult_plus_distr_r. apply Rplus_le_compat_r.
        replace (tilted r s t x * g (x + s) * e x) with (tilted r s t x * e x * g (x + s)) by ring. rewrite EX.
        replace (t * e (x + s) * g (x + s)) with (t * (g (x + s) * e (x + s))) by ring. apply Rmult_le_compat_l; lra. }
  unfold expect. fold Z. apply Rmult_le_reg_r with Z; auto. rewrite Rmult_plus_distr_r.
  replace (upper e f / Z * Z) with (upper e f) by (field; lra).
  replace (t * (upper e g / Z) * Z) with (t * upper e g) by (field; lra). lra.
Qed.
