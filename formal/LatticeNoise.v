(** * Noise on the integers: discrete Laplace and geometric, as sums

    A sum is additive on all bounded functions, so several noises are iterated sums. *)
From Coq Require Import Reals Lra Lia ZArith List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint.
Import ListNotations.
Open Scope R_scope.

(** ** Sums over the integers *)
Definition summable (g : Z -> R) :=
  ex_series (fun n => g (Z.of_nat n)) /\ ex_series (fun n => g (- Z.of_nat (S n))%Z).
Definition total (g : Z -> R) : R :=
  Series (fun n => g (Z.of_nat n)) + Series (fun n => g (- Z.of_nat (S n))%Z).

Lemma total_plus g h : summable g -> summable h -> total (fun z => g z + h z) = total g + total h.
Proof. intros [G1 G2] [H1 H2]. unfold total. rewrite !Series_plus; auto. lra. Qed.
Lemma summable_scal c g : summable g -> summable (fun z => c * g z).
Proof.
  intros [A B]. split; apply @ex_series_scal_l with (c := c) in A;
    apply @ex_series_scal_l with (c := c) in B; auto.
Qed.
Lemma total_scal c g : total (fun z => c * g z) = c * total g.
Proof. unfold total. rewrite !Series_scal_l. lra. Qed.
Lemma total_le g h : summable h -> (forall z, 0 <= g z <= h z) -> total g <= total h.
Proof. intros [A B] I. unfold total. apply Rplus_le_compat; apply Series_le; auto. Qed.
Lemma summable_le g h : summable h -> (forall z, 0 <= g z <= h z) -> summable g.
Proof.
  intros [A B] I. split;
    [apply (ex_series_le (V := R_CompleteNormedModule)) with (2 := A)
    |apply (ex_series_le (V := R_CompleteNormedModule)) with (2 := B)];
    intros n; match goal with |- norm ?x <= _ => change (norm x) with (Rabs x) end;
    (rewrite Rabs_pos_eq; apply I).
Qed.
Lemma summable_succ g : summable g -> summable (fun z => g (z + 1)%Z).
Proof.
  intros [A B]. split.
  - apply ex_series_ext with (fun n => g (Z.of_nat (S n))); [intros n; f_equal; lia|].
    apply (ex_series_incr_1 (fun n => g (Z.of_nat n))); auto.
  - apply ex_series_incr_1. apply ex_series_ext with (fun n => g (- Z.of_nat (S n))%Z); auto.
    intros n. f_equal. lia.
Qed.
Lemma total_succ g : summable g -> total (fun z => g (z + 1)%Z) = total g.
Proof.
  intros [A B]. unfold total. rewrite (Series_incr_1 (fun n => g (Z.of_nat n))) by auto.
  rewrite (Series_incr_1 (fun n => g (- Z.of_nat (S n) + 1)%Z)).
  - replace (g (- Z.of_nat 1 + 1)%Z) with (g (Z.of_nat 0)) by (f_equal; lia).
    rewrite (Series_ext (fun n => g (Z.of_nat n + 1)%Z) (fun n => g (Z.of_nat (S n)))) by (intros n; f_equal; lia).
    rewrite (Series_ext (fun n => g (- Z.of_nat (S (S n)) + 1)%Z) (fun n => g (- Z.of_nat (S n))%Z))
      by (intros n; f_equal; lia). lra.
  - apply (summable_succ g (conj A B)).
Qed.
Lemma shift_nat k : forall g, summable g -> summable (fun z => g (z + Z.of_nat k)%Z) /\
  total (fun z => g (z + Z.of_nat k)%Z) = total g.
Proof.
  induction k as [|k IH]; intros g G.
  - replace (fun z => g (z + Z.of_nat 0)%Z) with g; auto.
    apply functional_extensionality. intros z. f_equal. lia.
  - replace (fun z => g (z + Z.of_nat (S k))%Z) with (fun z => (fun y => g (y + Z.of_nat k)%Z) (z + 1)%Z)
      by (apply functional_extensionality; intros z; f_equal; lia).
    destruct (IH g G) as [A B]. split; [apply (summable_succ _ A) | rewrite (total_succ _ A); auto].
Qed.
Lemma shift_Z k g : (forall j, summable (fun z => g (z + j)%Z)) -> total (fun z => g (z + k)%Z) = total g.
Proof.
  intros G. assert (G0 : summable g).
  { replace g with (fun z => g (z + 0)%Z); auto. apply functional_extensionality; intros z; f_equal; lia. }
  destruct (Z_le_gt_dec 0 k) as [P|P].
  - destruct (shift_nat (Z.to_nat k) g G0) as [_ T]. rewrite Z2Nat.id in T; auto.
  - destruct (shift_nat (Z.to_nat (- k)) _ (G k)) as [_ T]. rewrite Z2Nat.id in T by lia. rewrite <- T. f_equal.
    apply functional_extensionality. intros z. f_equal. lia.
Qed.

(** ** Noise given by weights *)
(** One discrete noise of rate [r]. *)
Record discrete_noise (r : R) (up : bool) (N : (R -> R) -> R) : Prop := {
  Z_const : forall c, 0 <= c -> N (fun _ => c) = c;
  Z_le : forall f g, bounded f -> bounded g -> (forall x, f x <= g x) -> N f <= N g;
  Z_scal : forall c f, 0 <= c -> bounded f -> N (fun x => c * f x) = c * N f;
  Z_add : forall f g, bounded f -> bounded g -> N (fun x => f x + g x) = N f + N g;
  Z_shift : forall z f, (up = true -> 0 <= IZR z) -> bounded f ->
    N f <= exp (r * Rabs (IZR z)) * N (fun x => f (x - IZR z)) }.

Section Weights.
Variable w : Z -> R.
Hypothesis w_pos : forall z, 0 <= w z.
Hypothesis w_shifts : forall j, summable (fun z => w (z + j)%Z).
Hypothesis w_total : 0 < total w.

Lemma w_summable : summable w.
Proof.
  replace w with (fun z => w (z + 0)%Z); auto. apply functional_extensionality; intros z; f_equal; lia.
Qed.
Definition sum (f : R -> R) : R := total (fun z => w z * f (IZR z)) / total w.

Lemma bounded_summable (f : Z -> R) M j : (forall x, 0 <= f x <= M) -> summable (fun z => w (z + j) * f z).
Proof.
  intros B. apply summable_le with (fun z => M * w (z + j)); [apply summable_scal, w_shifts|].
  intros z. pose proof (w_pos (z + j)). specialize (B z).
  split; [apply Rmult_le_pos; lra|]. rewrite Rmult_comm. apply Rmult_le_compat_r; lra.
Qed.
Lemma sum_summable (f : R -> R) : bounded f -> summable (fun z => w z * f (IZR z)).
Proof.
  intros [M B]. pose proof (bounded_summable (fun z => f (IZR z)) M 0 (fun z => B (IZR z))) as S.
  replace (fun z => w z * f (IZR z)) with (fun z => w (z + 0) * f (IZR z)); auto.
  apply functional_extensionality. intros z. do 2 f_equal. lia.
Qed.
Theorem weights_noise r up :
  (forall s z, (up = true -> 0 <= IZR s) -> w z <= exp (r * Rabs (IZR s)) * w (z + s)%Z) ->
  discrete_noise r up sum.
Proof.
  intros SH. assert (IT : 0 < / total w) by (apply Rinv_0_lt_compat; auto). split; unfold sum, Rdiv.
  - intros c C. rewrite (functional_extensionality (fun z => w z * c) (fun z => c * w z)) by (intros; lra).
    rewrite total_scal. field. lra.
  - intros f g F G I. apply Rmult_le_compat_r; [lra|]. apply total_le; [apply sum_summable; auto|].
    intros z. pose proof (w_pos z). destruct F as [M F]. specialize (F (IZR z)).
    split; [apply Rmult_le_pos; lra | apply Rmult_le_compat_l; [lra | apply I]].
  - intros c f C F.
    rewrite (functional_extensionality (fun z => w z * (c * f (IZR z))) (fun z => c * (w z * f (IZR z)))) by (intros; lra).
    rewrite total_scal. lra.
  - intros f g F G. rewrite <- Rmult_plus_distr_r, <- total_plus by (apply sum_summable; auto).
    do 2 f_equal. apply functional_extensionality. intros z. lra.
  - intros s f UP [M B]. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    set (g := fun z => w z * f (IZR z - IZR s)).
    assert (G : forall j, summable (fun z => g (z + j)%Z)).
    { intros j. apply (bounded_summable (fun z => f (IZR (z + j) - IZR s)) M j). intros; apply B. }
    rewrite <- (shift_Z s g G), <- total_scal. apply total_le; [apply summable_scal, G|].
    intros z. pose proof (B (IZR z)). pose proof (w_pos z). unfold g. rewrite plus_IZR.
    replace (IZR z + IZR s - IZR s) with (IZR z) by lra. split; [apply Rmult_le_pos; lra|].
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra | apply SH; auto].
Qed.
End Weights.

(** ** Discrete Laplace and geometric noise *)
Section Rate.
Variable r : R.
Hypothesis rp : 0 < r.
Definition discrete_laplace_weight (z : Z) : R := exp (- (r * Rabs (IZR z))).
(** The number of trials up to the first success, of chance 1 - exp (- r). *)
Definition geometric_weight (z : Z) : R := if Z_lt_dec 0 z then exp (- (r * IZR z)) else 0.

Lemma weight_power n : exp (- (r * INR n)) = exp (- r) ^ n.
Proof.
  induction n as [|n IH]; [simpl; rewrite Rmult_0_r, Ropp_0, exp_0; auto|].
  rewrite S_INR. simpl. rewrite <- IH, <- exp_plus. f_equal. lra.
Qed.
Lemma ratio_below_1 : Rabs (exp (- r)) < 1.
Proof. rewrite Rabs_pos_eq by apply exp_nonneg. rewrite <- exp_0. apply exp_increasing. lra. Qed.
Lemma laplace_weight_shift s z :
  discrete_laplace_weight z <= exp (r * Rabs (IZR s)) * discrete_laplace_weight (z + s).
Proof.
  unfold discrete_laplace_weight. rewrite <- exp_plus. apply exp_le.
  pose proof (Rabs_triang (IZR z) (IZR s)) as A. rewrite <- plus_IZR in A.
  assert (r * Rabs (IZR (z + s)) <= r * (Rabs (IZR z) + Rabs (IZR s))) by (apply Rmult_le_compat_l; lra). lra.
Qed.
Lemma laplace_weight_nat n : discrete_laplace_weight (Z.of_nat n) = exp (- r) ^ n.
Proof. unfold discrete_laplace_weight. rewrite <- INR_IZR_INZ, Rabs_pos_eq by apply pos_INR. apply weight_power. Qed.
Lemma laplace_weight_neg n : discrete_laplace_weight (- Z.of_nat (S n)) = exp (- r) ^ (S n).
Proof.
  unfold discrete_laplace_weight. rewrite opp_IZR, Rabs_Ropp, <- INR_IZR_INZ, Rabs_pos_eq by apply pos_INR.
  apply weight_power.
Qed.
Lemma laplace_weight_summable : summable discrete_laplace_weight.
Proof.
  split.
  - apply ex_series_ext with (fun n => exp (- r) ^ n); [intros; symmetry; apply laplace_weight_nat|].
    apply ex_series_geom, ratio_below_1.
  - apply ex_series_ext with (fun n => exp (- r) ^ (S n)); [intros; symmetry; apply laplace_weight_neg|].
    apply (ex_series_incr_1 (fun n => exp (- r) ^ n)). apply ex_series_geom, ratio_below_1.
Qed.
Lemma laplace_weight_shifts j : summable (fun z => discrete_laplace_weight (z + j)).
Proof.
  apply summable_le with (fun z => exp (r * Rabs (IZR j)) * discrete_laplace_weight z);
    [apply summable_scal, laplace_weight_summable|].
  intros z. split; [apply exp_nonneg|].
  pose proof (laplace_weight_shift (- j) (z + j)) as W. replace (z + j + - j)%Z with z in W by lia.
  rewrite opp_IZR, Rabs_Ropp in W. auto.
Qed.
(** The closed form: the usual normalising constant. *)
Lemma laplace_weight_total : total discrete_laplace_weight = (1 + exp (- r)) / (1 - exp (- r)).
Proof.
  pose proof ratio_below_1 as G. assert (exp (- r) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  unfold total. rewrite (Series_ext (fun n => discrete_laplace_weight (Z.of_nat n)) (fun n => exp (- r) ^ n))
    by apply laplace_weight_nat.
  rewrite (Series_ext (fun n => discrete_laplace_weight (- Z.of_nat (S n))) (fun n => exp (- r) * exp (- r) ^ n))
    by (intros; apply laplace_weight_neg).
  rewrite Series_scal_l, !Series_geom by auto. field. lra.
Qed.
Theorem discrete_laplace_noise : discrete_noise r false (sum discrete_laplace_weight).
Proof.
  apply weights_noise.
  - intros; apply exp_nonneg.
  - apply laplace_weight_shifts.
  - rewrite laplace_weight_total. assert (exp (- r) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
    pose proof (exp_pos (- r)). apply Rdiv_lt_0_compat; lra.
  - intros; apply laplace_weight_shift.
Qed.

Lemma geometric_below z : 0 <= geometric_weight z <= discrete_laplace_weight z.
Proof.
  unfold geometric_weight, discrete_laplace_weight. pose proof (exp_pos (- (r * Rabs (IZR z)))).
  destruct Z_lt_dec as [P|P]; [|lra]. apply IZR_lt in P. rewrite (Rabs_pos_eq (IZR z)) by lra.
  pose proof (exp_pos (- (r * IZR z))). lra.
Qed.
Theorem geometric_noise : discrete_noise r true (sum geometric_weight).
Proof.
  assert (SU : forall j, summable (fun z => geometric_weight (z + j))).
  { intros j. apply summable_le with (fun z => discrete_laplace_weight (z + j)); auto using laplace_weight_shifts.
    intros; apply geometric_below. }
  apply weights_noise; auto.
  - intros; apply geometric_below.
  - assert (S0 : summable geometric_weight).
    { replace geometric_weight with (fun z => geometric_weight (z + 0)); auto.
      apply functional_extensionality; intros z; f_equal; lia. }
    apply Rlt_le_trans with (total (fun z => if Z.eq_dec z 1 then geometric_weight z else 0)).
    + unfold total. rewrite (Series_ext (fun n => if Z.eq_dec (- Z.of_nat (S n)) 1 then _ else _) (fun n => 0 * 0)).
      2: { intros n. destruct Z.eq_dec; [lia | lra]. }
      rewrite Series_scal_l, Rmult_0_l, Rplus_0_r.
      rewrite Series_incr_1_aux by (destruct Z.eq_dec; auto; simpl in *; lia).
      rewrite Series_incr_1.
      * destruct Z.eq_dec as [_|N]; [|simpl in N; lia].
        rewrite (Series_ext _ (fun n => 0 * 0)) by (intros n; destruct Z.eq_dec; [lia | lra]).
        rewrite Series_scal_l, Rmult_0_l, Rplus_0_r. unfold geometric_weight. destruct Z_lt_dec; [apply exp_pos | simpl in *; lia].
      * apply ex_series_ext with (fun n => if Nat.eq_dec n 0 then geometric_weight 1 else 0).
        -- intros n. destruct Nat.eq_dec as [->|]; destruct Z.eq_dec; auto; lia.
        -- apply ex_series_incr_1. apply ex_series_ext with (fun n => 0 * 0 ^ n).
           ++ intros n. destruct Nat.eq_dec; [lia | lra].
           ++ apply (ex_series_scal_l 0 (fun n => 0 ^ n)). apply ex_series_geom. rewrite Rabs_R0. lra.
    + apply total_le; auto. intros z. pose proof (geometric_below z). destruct Z.eq_dec; lra.
  - intros s z UP. unfold geometric_weight. specialize (UP eq_refl).
    destruct (Z_lt_dec 0 z) as [P|P].
    + destruct (Z_lt_dec 0 (z + s)) as [Q|Q].
      * rewrite (Rabs_pos_eq _ UP), plus_IZR, <- exp_plus. apply exp_le. lra.
      * exfalso. apply le_IZR in UP. lia.
    + apply Rmult_le_pos; [apply exp_nonneg|]. destruct Z_lt_dec; [apply exp_nonneg | lra].
Qed.
End Rate.

(** ** Several discrete noises *)
Section Several.
Variables (u : R) (rate : nat -> Q) (up : nat -> bool) (N : nat -> (R -> R) -> R).
Hypothesis L : forall i, discrete_noise (u * Q2R (rate i)) (up i) (N i).
Definition sums (ns : list nat) (f : vec -> R) : R := iterated N ns f zero.
Definition whole (s : vec) := (forall i, exists z, s i = IZR z) /\ forall i, up i = true -> 0 <= s i.

Lemma sums_range ns f M : (forall h, 0 <= f h <= M) -> forall h, 0 <= iterated N ns f h <= M.
Proof.
  intros B. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  assert (BF : bounded (fun x => iterated N ns f (upd h i x))) by (exists M; intros; apply IH).
  pose proof (B zero) as B0. split.
  - rewrite <- (Z_const _ _ _ (L i) 0) by lra. apply (Z_le _ _ _ (L i)); auto using bounded_const, Rle_refl.
    intros; apply IH.
  - rewrite <- (Z_const _ _ _ (L i) M) by lra. apply (Z_le _ _ _ (L i)); auto.
    + apply bounded_const; lra.
    + intros; apply IH.
Qed.
Lemma sums_bounded ns f : bounded f -> bounded (iterated N ns f).
Proof. intros [M B]. exists M. apply sums_range; auto. Qed.
Lemma sums_le ns f g : bounded f -> bounded g -> (forall h, f h <= g h) ->
  forall h, iterated N ns f h <= iterated N ns g h.
Proof.
  intros F G I. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  apply (Z_le _ _ _ (L i)); auto; apply (slice i); auto using sums_bounded.
Qed.
Lemma sums_add ns f g : bounded f -> bounded g ->
  forall h, iterated N ns (fun k => f k + g k) h = iterated N ns f h + iterated N ns g h.
Proof.
  intros F G. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  rewrite <- (Z_add _ _ _ (L i)) by (apply (slice i); auto using sums_bounded).
  f_equal. apply functional_extensionality; auto.
Qed.
Lemma sums_scal ns c f : 0 <= c -> bounded f ->
  forall h, iterated N ns (fun k => c * f k) h = c * iterated N ns f h.
Proof.
  intros C F. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  rewrite <- (Z_scal _ _ _ (L i)) by (auto; apply (slice i); auto using sums_bounded).
  f_equal. apply functional_extensionality; auto.
Qed.
Lemma sums_shift ns s w : whole s -> bounded w -> forall h,
  iterated N ns (fun k => w (plus k s)) h <= exp (u * cost rate ns s) * iterated N ns w (plus h s).
Proof.
  intros [S UP] W. induction ns as [|i ns IH]; intros h; simpl.
  - rewrite Rmult_0_r, exp_0. lra.
  - set (k := exp (u * cost rate ns s)). assert (KP : 0 <= k) by apply exp_nonneg.
    assert (WS : bounded (fun k => w (plus k s))) by (apply (bounded_comp w (fun k => plus k s)); auto).
    assert (BB : bounded (fun x => iterated N ns w (plus (upd h i x) s)))
      by (apply (bounded_comp (iterated N ns w) (fun x => plus (upd h i x) s)); auto using sums_bounded).
    unfold integrate. eapply Rle_trans.
    + apply (Z_le _ _ _ (L i)) with (g := fun x => k * iterated N ns w (plus (upd h i x) s)).
      * apply (slice i); auto using sums_bounded.
      * apply bounded_scal; auto.
      * intros x. apply IH.
    + rewrite (Z_scal _ _ _ (L i) k (fun x => iterated N ns w (plus (upd h i x) s))) by auto.
      rewrite Rmult_plus_distr_l, exp_plus, Rmult_comm, (Rmult_comm (exp _) (exp (u * cost rate ns s))).
      fold k. rewrite (Rmult_assoc k), (Rmult_comm k). apply Rmult_le_compat_r; auto.
      destruct (S i) as [z Z]. eapply Rle_trans.
      * apply (Z_shift _ _ _ (L i) z); auto. rewrite <- Z. auto.
      * rewrite <- Z, <- Rmult_assoc. right. do 2 f_equal. apply functional_extensionality. intros x. f_equal.
        apply vec_ext. intros j. unfold plus, upd. destruct (Nat.eqb_spec j i) as [->|]; auto. lra.
Qed.
Theorem sums_laws : laws u rate whole sums.
Proof.
  unfold sums. split.
  - intros ns c C. cut (forall h, iterated N ns (fun _ => c) h = c); auto.
    induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
    transitivity (N i (fun _ => c)); [|apply (Z_const _ _ _ (L i)); auto].
    f_equal. apply functional_extensionality; auto.
  - intros; apply sums_le; auto.
  - intros; apply sums_scal; auto.
  - intros ns g f G F. destruct (bounded_if f g F) as [B1 B2]. rewrite <- sums_add; auto. f_equal.
    apply functional_extensionality. intros h. destruct Rle_dec; lra.
  - intros ns s f S Z F. assert (FS : bounded (fun h => f (minus h s))) by (apply (bounded_comp f (fun h => minus h s)); auto).
    replace f with (fun h => (fun k => f (minus k s)) (plus h s)) at 1.
    2: { apply functional_extensionality. intros h. f_equal. apply vec_ext. intros i. unfold minus, plus. lra. }
    eapply Rle_trans; [apply (sums_shift ns s (fun k => f (minus k s))); auto|].
    right. f_equal. apply iterated_fresh. intros i I. unfold plus, zero. rewrite Z; auto. lra.
Qed.
End Several.
