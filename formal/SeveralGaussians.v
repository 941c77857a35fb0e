(** * Several independent noises whose shifts are priced in Rényi divergence *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Power Privacy ZeroConcentrated Joint UpperIntegral ContinuousNoise GaussianNoise.
Import ListNotations.
Open Scope R_scope.

(** What a shift costs, in units of [u]: the sum of rate s^2. *)
Fixpoint squares (rate : nat -> Q) (ns : list nat) (s : vec) : R :=
  match ns with [] => 0 | i :: ns => Q2R (rate i) * (s i * s i) + squares rate ns s end.

(** One noise; [ok]: which shifts have a price (whole numbers for discrete noise). *)
Record renyi_noise (r : R) (ok : R -> Prop) (N : (R -> R) -> R) : Prop := {
  R_const : forall c, 0 <= c -> N (fun _ => c) = c;
  R_le : forall f g, bounded f -> bounded g -> (forall x, f x <= g x) -> N f <= N g;
  R_scal : forall c f, 0 <= c -> bounded f -> N (fun x => c * f x) = c * N f;
  R_shift : forall alpha s f, 1 < alpha -> ok s -> bounded f ->
    power (N f) (dual alpha) <= exp (alpha * (r * (s * s))) * N (fun x => power (f (x - s)) (dual alpha)) }.

(** The laws of the noises of one step. *)
Record renyi_laws (u : R) (rate : nat -> Q) (ok : vec -> Prop) (E : list nat -> (vec -> R) -> R) : Prop := {
  RE_const : forall ns c, 0 <= c -> E ns (fun _ => c) = c;
  RE_le : forall ns f g, bounded f -> bounded g -> (forall h, f h <= g h) -> E ns f <= E ns g;
  RE_shift : forall ns alpha s f, 1 < alpha -> ok s -> (forall i, ~ In i ns -> s i = 0) -> bounded f ->
    power (E ns f) (dual alpha) <=
    exp (alpha * (u * squares rate ns s)) * E ns (fun h => power (f (minus h s)) (dual alpha)) }.

Section Several.
Variables (u : R) (rate : nat -> Q) (ok : nat -> R -> Prop) (N : nat -> (R -> R) -> R).
Hypothesis L : forall i, renyi_noise (u * Q2R (rate i)) (ok i) (N i).

Lemma renyi_range ns f M : (forall h, 0 <= f h <= M) -> forall h, 0 <= iterated N ns f h <= M.
Proof.
  intros B. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  assert (BF : bounded (fun x => iterated N ns f (upd h i x))) by (exists M; intros; apply IH).
  pose proof (B zero) as B0. split.
  - rewrite <- (R_const _ _ _ (L i) 0) by lra. apply (R_le _ _ _ (L i)); auto using bounded_const, Rle_refl.
    intros; apply IH.
  - rewrite <- (R_const _ _ _ (L i) M) by lra. apply (R_le _ _ _ (L i)); auto.
    + apply bounded_const; lra.
    + intros; apply IH.
Qed.
Lemma renyi_bounded ns f : bounded f -> bounded (iterated N ns f).
Proof. intros [M B]. exists M. apply renyi_range; auto. Qed.
Lemma renyi_le ns f g : bounded f -> bounded g -> (forall h, f h <= g h) ->
  forall h, iterated N ns f h <= iterated N ns g h.
Proof.
  intros F G I. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  apply (R_le _ _ _ (L i)); auto; apply (slice i); auto using renyi_bounded.
Qed.
Lemma renyi_const ns c : 0 <= c -> forall h, iterated N ns (fun _ => c) h = c.
Proof.
  intros C. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  transitivity (N i (fun _ => c)); [|apply (R_const _ _ _ (L i)); auto].
  f_equal. apply functional_extensionality; auto.
Qed.
Lemma renyi_scal ns c f : 0 <= c -> bounded f -> forall h, iterated N ns (fun k => c * f k) h = c * iterated N ns f h.
Proof.
  intros C F. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  rewrite <- (R_scal _ _ _ (L i)) by (auto; apply (slice i); auto using renyi_bounded).
  f_equal. apply functional_extensionality; auto.
Qed.
Lemma renyi_iterated ns alpha s f : 1 < alpha -> (forall i, ok i (s i)) -> bounded f -> forall h,
  power (iterated N ns f h) (dual alpha) <=
  exp (alpha * (u * squares rate ns s)) * iterated N ns (fun k => power (f (minus k s)) (dual alpha)) (plus h s).
Proof.
  intros A OK F. pose proof (dual_above _ A) as BA. set (b := dual alpha) in *.
  assert (FS : bounded (fun k => power (f (minus k s)) b)).
  { apply (bounded_power (fun k => f (minus k s))); [lra|]. apply (bounded_comp f (fun k => minus k s)); auto. }
  induction ns as [|i ns IH]; intros h; simpl.
  - rewrite !Rmult_0_r, exp_0, Rmult_1_l. right. do 2 f_equal. apply vec_ext. intros j. unfold minus, plus. lra.
  - unfold integrate.
    assert (BI : bounded (fun x => iterated N ns f (upd h i x))) by (apply (slice i); auto using renyi_bounded).
    eapply Rle_trans; [apply (R_shift _ _ _ (L i) alpha (s i)); auto|]. fold b.
    replace (alpha * (u * (Q2R (rate i) * (s i * s i) + squares rate ns s)))
      with (alpha * (u * Q2R (rate i) * (s i * s i)) + alpha * (u * squares rate ns s)) by ring.
    rewrite exp_plus, (Rmult_assoc (exp _) (exp _)). apply Rmult_le_compat_l; [apply exp_nonneg|].
    set (k := exp (alpha * (u * squares rate ns s))) in *. assert (KP : 0 <= k) by apply exp_nonneg.
    set (G := iterated N ns (fun k => power (f (minus k s)) b)) in *.
    assert (BG : bounded G) by (apply renyi_bounded; auto).
    rewrite <- (R_scal _ _ _ (L i) k (fun x => G (upd (plus h s) i x))) by (auto; apply (slice i); auto).
    apply (R_le _ _ _ (L i)).
    + apply (bounded_power (fun x => iterated N ns f (upd h i (x - s i)))); [lra|].
      apply (bounded_comp (iterated N ns f) (fun x => upd h i (x - s i))). apply renyi_bounded; auto.
    + apply (bounded_scal k (fun x => G (upd (plus h s) i x))); auto. apply (slice i); auto.
    + intros x. eapply Rle_trans; [apply IH|]. right. do 2 f_equal. apply vec_ext. intros j.
      unfold plus, upd. destruct (Nat.eqb_spec j i) as [->|]; auto. lra.
Qed.
Lemma renyi_steps ns alpha s f : 1 < alpha -> (forall i, ok i (s i)) -> (forall i, ~ In i ns -> s i = 0) -> bounded f ->
  power (iterated N ns f zero) (dual alpha) <=
  exp (alpha * (u * squares rate ns s)) * iterated N ns (fun h => power (f (minus h s)) (dual alpha)) zero.
Proof.
  intros A OK Z F. eapply Rle_trans; [apply renyi_iterated; eauto|]. right. f_equal. apply iterated_fresh.
  intros i I. unfold plus, zero. rewrite Z; auto. lra.
Qed.
(** Sums: the iterated one itself. *)
Theorem iterated_renyi_laws : renyi_laws u rate (fun s => forall i, ok i (s i)) (fun ns f => iterated N ns f zero).
Proof.
  split.
  - intros; apply renyi_const; auto.
  - intros; apply renyi_le; auto.
  - intros; apply renyi_steps; auto.
Qed.

(** ** Upper integrals: roots of piecewise Lipschitz functions are piecewise Lipschitz *)
Lemma piecewise_choose P f g : piecewise f -> piecewise g ->
  piecewise (fun h => inside P h * f h + (1 - inside P h) * g h).
Proof.
  intros F G. induction P as [|[a b] P IH]; simpl.
  - replace (fun h : vec => 1 * f h + (1 - 1) * g h) with f; auto. apply functional_extensionality. intros h. lra.
  - destruct (piecewise_cut _ a IH) as [T1 E1]. destruct (piecewise_cut g a G) as [T2 E2].
    destruct b.
    + replace (fun h : vec => _) with (fun h => (if Rle_dec 0 (affine_at a h) then inside P h * f h + (1 - inside P h) * g h else 0) +
        (if Rle_dec 0 (affine_at a h) then 0 else g h)); [apply piecewise_plus; auto|].
      apply functional_extensionality. intros h. unfold holds; simpl. destruct Rle_dec; simpl; lra.
    + replace (fun h : vec => _) with (fun h => (if Rle_dec 0 (affine_at a h) then 0 else inside P h * f h + (1 - inside P h) * g h) +
        (if Rle_dec 0 (affine_at a h) then g h else 0)); [apply piecewise_plus; auto|].
      apply functional_extensionality. intros h. unfold holds; simpl. destruct Rle_dec; simpl; lra.
Qed.
Lemma lipschitz_plus f g : lipschitz f -> lipschitz g -> lipschitz (fun h => f h + g h).
Proof.
  intros (K & vs & KP & F) (K' & vs' & KP' & G). exists (K + K'), (vs ++ vs'). split; [lra|]. intros a b.
  assert (D : distance (vs ++ vs') a b = distance vs a b + distance vs' a b).
  { clear. induction vs as [|j vs IH]; simpl; [lra|]. rewrite IH. lra. }
  rewrite D. replace (f a + g a - (f b + g b)) with (f a - f b + (g a - g b)) by lra.
  eapply Rle_trans; [apply Rabs_triang|]. specialize (F a b). specialize (G a b).
  pose proof (distance_pos vs a b). pose proof (distance_pos vs' a b).
  assert (0 <= K * distance vs' a b) by (apply Rmult_le_pos; auto).
  assert (0 <= K' * distance vs a b) by (apply Rmult_le_pos; auto). lra.
Qed.
(** A function that is Lipschitz from [eta] on, of a piecewise Lipschitz one. *)
Lemma piecewise_compose (phi : R -> R) K eta w : 0 <= K -> 0 < eta ->
  (forall x y, eta <= x -> eta <= y -> Rabs (phi x - phi y) <= K * Rabs (x - y)) ->
  (forall B, exists C, forall x, eta <= x <= B -> 0 <= phi x <= C) ->
  piecewise w -> piecewise (fun h => phi (w h + eta)).
Proof.
  intros KP ETA LP BP (l & PR & X). replace w with (cells_at l) by (symmetry; apply functional_extensionality; auto). clear w X.
  cut (forall g0, lipschitz g0 -> bounded g0 -> piecewise (fun h => phi (g0 h + cells_at l h + eta))).
  { intros H. replace (fun h => phi (cells_at l h + eta)) with (fun h => phi (0 + cells_at l h + eta))
      by (apply functional_extensionality; intros h; f_equal; lra).
    apply H; [|apply bounded_const; lra]. exists 0, []. split; [lra|]. intros. rewrite Rminus_same, Rabs_R0. lra. }
  induction l as [|[g P] l IH]; intros g0 G0 B0; simpl.
  - exists [(fun h => phi (g0 h + eta), [])]. split.
    + intros p [<-|[]]. destruct B0 as [M B]. split; simpl.
      * destruct G0 as (K' & vs & KP' & G). exists (K * K'), vs.
        split; [apply Rmult_le_pos; auto|]. intros a b. pose proof (B a). pose proof (B b).
        eapply Rle_trans; [apply LP; lra|]. rewrite Rmult_assoc. apply Rmult_le_compat_l; auto.
        replace (g0 a + eta - (g0 b + eta)) with (g0 a - g0 b) by lra. auto.
      * destruct (BP (M + eta)) as [C BC]. exists C. intros h. specialize (B h). apply BC. lra.
    + intros h. simpl. rewrite Rplus_0_r. lra.
  - assert (PL : forall p, In p l -> proper p) by (intros; apply PR; right; auto).
    destruct (PR (g, P) (or_introl eq_refl)) as [LG BG]. simpl in LG, BG. specialize (IH PL).
    pose proof (IH (fun h => g0 h + g h) (lipschitz_plus _ _ G0 LG) (bounded_plus _ _ B0 BG)) as I1.
    pose proof (IH g0 G0 B0) as I0. pose proof (piecewise_choose P _ _ I1 I0) as CH.
    replace (fun h => phi (g0 h + (g h * inside P h + cells_at l h) + eta))
      with (fun h => inside P h * phi (g0 h + g h + cells_at l h + eta) + (1 - inside P h) * phi (g0 h + cells_at l h + eta)); auto.
    apply functional_extensionality. intros h. destruct (inside_01 P h) as [-> | ->].
    + rewrite Rmult_0_l, Rplus_0_l, Rminus_0_r, Rmult_1_l. f_equal. lra.
    + rewrite Rmult_1_l. replace (1 - 1) with 0 by lra. rewrite Rmult_0_l, Rplus_0_r. f_equal. lra.
Qed.
Lemma piecewise_root t eta w : 0 < t < 1 -> 0 < eta -> piecewise w -> piecewise (fun h => power (w h + eta) t).
Proof.
  intros T ETA. apply (piecewise_compose (fun x => power x t) (power eta t / eta) eta); auto.
  - apply Rmult_le_pos; [apply power_nonneg | left; apply Rinv_0_lt_compat; auto].
  - intros. apply root_lipschitz; auto.
  - intros B. exists (power B t). intros x X. split; [apply power_nonneg | apply power_le; lra].
Qed.

Variable okc : nat -> R -> Prop.
Hypothesis C : forall i, continuous_noise (u * Q2R (rate i)) (okc i) (N i).
Theorem joint_renyi_laws : renyi_laws u rate (fun s => forall i, ok i (s i)) (joint N).
Proof.
  split.
  - intros; apply (joint_const u rate okc N C); auto.
  - intros; apply (joint_le u rate okc N C); auto.
  - intros ns alpha s f A OK Z F. pose proof (dual_above _ A) as BA. set (b := dual alpha) in *.
    set (k := exp (alpha * (u * squares rate ns s))). assert (KP : 0 < k) by apply exp_pos.
    assert (FS : bounded (fun h => power (f (minus h s)) b)).
    { apply (bounded_power (fun h => f (minus h s))); [lra|]. apply (bounded_comp f (fun h => minus h s)); auto. }
    assert (TH : 0 < / b < 1) by (split; [apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1; apply Rinv_lt_contravar; lra]).
    apply Rmult_le_reg_l with (/ k); [apply Rinv_0_lt_compat; auto|]. rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
    apply (joint_spec u rate okc N C ns _ FS). intros J (w & W & AB & ->).
    apply Rmult_le_reg_l with k; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    apply le_up_to_eta; auto. intros eta ETA.
    set (v := fun h => power (w (plus h s) + eta) (/ b)).
    assert (WP : forall h, 0 <= w h) by (intros h; destruct (bounded_piecewise w W) as [M B]; apply B).
    assert (V : piecewise v).
    { apply (piecewise_root (/ b) eta (fun h => w (plus h s))); auto. apply piecewise_translate; auto. }
    assert (BV : bounded v) by (apply bounded_piecewise; auto).
    assert (JF : 0 <= joint N ns f).
    { apply (joint_spec u rate okc N C ns f F). intros J (x & X & _ & ->). destruct (bounded_piecewise x X) as [M B].
      apply (renyi_range ns x M B). }
    assert (UB : joint N ns f <= iterated N ns v zero).
    { apply (joint_spec u rate okc N C ns f F). exists v. repeat split; auto. intros h. unfold v.
      specialize (AB (plus h s)). replace (minus (plus h s) s) with h in AB by (apply vec_ext; intros j; unfold minus, plus; lra).
      destruct F as [M FB]. specialize (FB h).
      replace (f h) with (power (power (f h) b) (/ b)) by (rewrite power_power, Rinv_r, power_1; lra).
      apply power_le; [lra|]. split; [apply power_nonneg | lra]. }
    apply Rle_trans with (power (iterated N ns v zero) b); [apply power_le; auto; lra|].
    eapply Rle_trans; [apply (renyi_steps ns alpha s v); auto|]. fold b k. apply Rmult_le_compat_l; [lra|]. right.
    transitivity (iterated N ns (fun h => w h + eta) zero).
    + f_equal. apply functional_extensionality. intros h. unfold v. rewrite power_power, Rinv_l by lra.
      replace (plus (minus h s) s) with h by (apply vec_ext; intros j; unfold minus, plus; lra).
      apply power_1. specialize (WP h). lra.
    + rewrite (iterated_add u rate okc N C ns w (fun _ => eta)) by (auto; apply piecewise_const; lra).
      rewrite renyi_const by lra. auto.
Qed.
End Several.

(** Gaussian noise of rate [r]. *)
Theorem gaussian_renyi_noise r : 0 < r -> renyi_noise r (fun _ => True) (expect (gaussian_density r)).
Proof.
  intros P. pose proof (gaussian_noise r P r) as C. split.
  - apply (N_const _ _ _ C).
  - apply (N_le _ _ _ C).
  - apply (N_scal _ _ _ C).
  - intros alpha s f A _ F. apply gaussian_renyi; auto.
Qed.
