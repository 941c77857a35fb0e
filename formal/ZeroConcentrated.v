(** * Rényi divergence and zero-concentrated privacy of expectations

    The moment of order alpha of a density ratio is a norm, so it is what the dual norm says:
    D_alpha (P, Q) <= d iff (P f)^b <= e^d Q (f^b) for all functions f >= 0, with b = alpha / (alpha - 1)
    ([renyi_finite]: for finite distributions this is the sum that one knows).  No density is needed
    to say this, and nothing measurable. *)
From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From DP Require Import Noise Power Privacy Renyi.
Import ListNotations.
Open Scope R_scope.

Definition dual (alpha : R) : R := alpha / (alpha - 1).
Definition renyi {A} (alpha d : R) (P Q : (A -> R) -> R) := forall f, bounded f ->
  power (P f) (dual alpha) <= exp d * Q (fun x => power (f x) (dual alpha)).

Lemma dual_above alpha : 1 < alpha -> 1 < dual alpha.
Proof.
  intros A. unfold dual. apply Rmult_lt_reg_r with (alpha - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Lemma dual_minus alpha : 1 < alpha -> dual alpha - 1 = / (alpha - 1).
Proof. intros A. unfold dual. field. lra. Qed.
Lemma bounded_power {A} (f : A -> R) a : 0 <= a -> bounded f -> bounded (fun x => power (f x) a).
Proof.
  intros AP [M B]. exists (power M a). intros x. split; [apply power_nonneg | apply power_le; auto].
Qed.

Theorem renyi_monotone {A} alpha d d' (P Q : (A -> R) -> R) : 1 < alpha -> expectation Q -> d <= d' ->
  renyi alpha d P Q -> renyi alpha d' P Q.
Proof.
  intros AL EQ D R f F. eapply Rle_trans; [apply R; auto|]. pose proof (dual_above _ AL).
  destruct (bounded_power f (dual alpha) ltac:(lra) F) as [M B].
  apply Rmult_le_compat_r; [|apply exp_le; auto].
  assert (0 <= M).
  { destruct F as [K F]. specialize (B). destruct (Rle_dec 0 M); auto. exfalso.
    assert (Z : bounded (fun x : A => power (f x) (dual alpha))) by (exists M; auto).
    pose proof (P_le Q EQ (fun x => power (f x) (dual alpha)) (fun _ => 0)) as L.
    assert (forall x : A, False) by (intros x; specialize (B x); lra).
    pose proof (P_const Q EQ 1 ltac:(lra)) as C1. pose proof (P_const Q EQ 0 ltac:(lra)) as C0.
    assert (E : (fun _ : A => 1) = (fun _ => 0)) by (apply functional_extensionality; intros x; destruct (H0 x)).
    rewrite E in C1. lra. }
  apply (P_range Q _ M EQ); auto.
Qed.
Theorem renyi_post_processing {A B} (g : A -> B) alpha d (P Q : (A -> R) -> R) :
  renyi alpha d P Q -> renyi alpha d (push g P) (push g Q).
Proof. intros R f F. apply (R (fun x => f (g x))). apply (bounded_comp f g); auto. Qed.
(** First [P], then [K] of what came out: divergences of one order add up. *)
Theorem renyi_composition {A B} alpha d1 d2 (P Q : (A -> R) -> R) (K L : A -> (B -> R) -> R) : 1 < alpha ->
  expectation Q -> (forall x, expectation (K x)) -> (forall x, expectation (L x)) ->
  renyi alpha d1 P Q -> (forall x, renyi alpha d2 (K x) (L x)) ->
  renyi alpha (d1 + d2) (bind P K) (bind Q L).
Proof.
  intros AL EQ EK EL R1 R2 f F. unfold bind. pose proof (dual_above _ AL) as BA. set (b := dual alpha) in *.
  assert (BK : forall (K : A -> (B -> R) -> R) g, (forall x, expectation (K x)) -> bounded g -> bounded (fun x => K x g)).
  { intros K' g EK' [M G]. exists (Rmax 0 M). intros x. apply P_range; auto; [apply Rmax_l|]. intros y. specialize (G y).
    pose proof (Rmax_r 0 M). lra. }
  assert (FB : bounded (fun y => power (f y) b)) by (apply bounded_power; auto; lra).
  eapply Rle_trans; [apply (R1 (fun x => K x f)); auto|]. fold b. rewrite exp_plus, Rmult_assoc.
  apply Rmult_le_compat_l; [apply exp_nonneg|]. rewrite <- (P_scal Q EQ) by (auto using exp_nonneg).
  apply (P_le Q EQ).
  - apply (bounded_power (fun x => K x f)); auto. lra.
  - apply bounded_scal; auto using exp_nonneg.
  - intros x. apply (R2 x f F).
Qed.
(** From Rényi divergence to (eps, delta), for all mechanisms. *)
Theorem renyi_approximate {A} alpha d delta (P Q : (A -> R) -> R) : 1 < alpha -> 0 < delta ->
  expectation P -> expectation Q -> renyi alpha d P Q -> close (d + ln (/ delta) / (alpha - 1)) delta P Q.
Proof.
  intros AL D EP EQ R f T. pose proof (dual_above _ AL) as BA. pose proof (test_bounded f T) as F.
  destruct (P_range P f 1 EP Rle_0_1 T) as [P0 P1]. destruct (P_range Q f 1 EQ Rle_0_1 T) as [Q0 Q1].
  set (eps := d + ln (/ delta) / (alpha - 1)). pose proof (exp_pos eps) as EX.
  assert (0 <= exp eps * Q f) by (apply Rmult_le_pos; lra).
  destruct (Rle_dec (P f) delta) as [S|S]; [lra|]. apply Rle_trans with (exp eps * Q f); [|lra].
  assert (PP : 0 < P f) by lra.
  assert (X : power (P f) (dual alpha) <= exp d * Q f).
  { eapply Rle_trans; [apply R; auto|]. apply Rmult_le_compat_l; [apply exp_nonneg|]. apply (P_le Q EQ); auto.
    - apply bounded_power; auto. lra.
    - intros x. apply power_test; auto. lra. }
  assert (Y : P f = power (P f) (dual alpha) * power (P f) (1 - dual alpha)).
  { rewrite <- power_plus. replace (dual alpha + (1 - dual alpha)) with 1 by lra. rewrite power_1; lra. }
  rewrite Y. replace (exp eps) with (exp d * exp (ln (/ delta) / (alpha - 1))) by (rewrite <- exp_plus; auto).
  replace (exp d * exp (ln (/ delta) / (alpha - 1)) * Q f) with (exp d * Q f * exp (ln (/ delta) / (alpha - 1))) by ring.
  apply Rmult_le_compat; auto using power_nonneg. rewrite power_Rpower by auto. unfold Rpower. apply exp_le.
  replace (1 - dual alpha) with (- / (alpha - 1)) by (rewrite <- dual_minus by auto; lra).
  rewrite ln_Rinv by auto. unfold Rdiv. assert (IA : 0 < / (alpha - 1)) by (apply Rinv_0_lt_compat; lra).
  assert (ln delta <= ln (P f)) by (left; apply ln_increasing; lra). nra.
Qed.

(** ** Mechanisms *)
Section Mechanisms.
Context {A Out : Type}.
Variable near : A -> A -> Prop.
(** rho-zCDP: divergences of every order alpha > 1 are at most alpha rho. *)
Definition zero_concentrated (rho : R) (M : A -> (Out -> R) -> R) :=
  forall a b, near a b -> forall alpha, 1 < alpha -> renyi alpha (alpha * rho) (M a) (M b).

Theorem concentrated_composition {B} r1 r2 (M : A -> (Out -> R) -> R) (N : Out -> A -> (B -> R) -> R) :
  (forall a, expectation (M a)) -> (forall o a, expectation (N o a)) -> zero_concentrated r1 M ->
  (forall o a b, near a b -> forall alpha, 1 < alpha -> renyi alpha (alpha * r2) (N o a) (N o b)) ->
  forall a b, near a b -> forall alpha, 1 < alpha ->
  renyi alpha (alpha * (r1 + r2)) (bind (M a) (fun o => N o a)) (bind (M b) (fun o => N o b)).
Proof.
  intros EM EN Z1 Z2 a b NB alpha AL. rewrite Rmult_plus_distr_l. apply renyi_composition; auto.
Qed.
(** (rho + 2 sqrt (rho ln (1/delta)), delta)-privacy. *)
Theorem concentrated_approximate rho delta (M : A -> (Out -> R) -> R) : 0 < rho -> 0 < delta < 1 ->
  (forall a, expectation (M a)) -> zero_concentrated rho M ->
  approximately_private near (rho + 2 * sqrt (rho * ln (/ delta))) delta M.
Proof.
  intros R D EM Z a b NB. set (l := ln (/ delta)).
  assert (LP : 0 < l).
  { unfold l. rewrite <- ln_1. apply ln_increasing; [lra|]. rewrite <- Rinv_1 at 1. apply Rinv_lt_contravar; lra. }
  set (s := sqrt (rho * l)). assert (SP : 0 < s) by (apply sqrt_lt_R0, Rmult_lt_0_compat; auto).
  assert (SS : s * s = rho * l) by (apply sqrt_sqrt; left; apply Rmult_lt_0_compat; auto).
  assert (AL : 1 < 1 + s / rho) by (pose proof (Rdiv_lt_0_compat s rho SP R); lra).
  pose proof (renyi_approximate (1 + s / rho) _ delta _ _ AL (proj1 D) (EM a) (EM b) (Z a b NB _ AL)) as C.
  replace (rho + 2 * s) with ((1 + s / rho) * rho + ln (/ delta) / (1 + s / rho - 1)); auto. fold l.
  replace l with (s * s / rho) by (rewrite SS; field; lra). field. lra.
Qed.
End Mechanisms.

(** ** Finite distributions: the divergence is the one that everybody knows *)
Lemma total_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> total n f = total n g.
Proof. induction n as [|n IH]; intros X; simpl; auto. rewrite X, IH by (auto with arith); auto. Qed.
Lemma total_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= total n f.
Proof. induction n as [|n IH]; intros X; simpl; [lra|]. pose proof (X n (le_n _)). pose proof (IH (fun i L => X i (Nat.lt_lt_succ_r _ _ L))). lra. Qed.
Theorem renyi_finite alpha rho n p q : 1 < alpha -> (0 < n)%nat ->
  (forall i, (i < n)%nat -> 0 < p i) -> (forall i, (i < n)%nat -> 0 < q i) ->
  (renyi_close alpha rho n p q <->
   renyi alpha rho (fun f => total n (fun i => p i * f i)) (fun f => total n (fun i => q i * f i))).
Proof.
  intros AL NP P Q. pose proof (dual_above _ AL) as BA. pose proof (dual_minus _ AL) as BM. unfold renyi_close.
  assert (MP : 0 < moment alpha n p q).
  { unfold moment. destruct n as [|n]; [lia|]. simpl. pose proof (P n (le_n _)) as Pn.
    assert (0 <= total n (fun i => p i * Rpower (p i / q i) (alpha - 1))).
    { apply total_nonneg. intros i I. pose proof (P i (Nat.lt_lt_succ_r _ _ I)). apply Rmult_le_pos; [lra | left; apply exp_pos]. }
    pose proof (Rmult_lt_0_compat _ _ Pn (exp_pos ((alpha - 1) * ln (p n / q n)))). unfold Rpower in *. lra. }
  assert (RP : forall i, (i < n)%nat -> 0 < p i / q i) by (intros i I; apply Rdiv_lt_0_compat; auto).
  set (m := moment alpha n p q) in *. set (b := dual alpha) in *. split.
  - intros C f [K F]. set (W := total n (fun i => q i * power (f i) b)).
    assert (WP : 0 <= W) by (apply total_nonneg; intros i I; apply Rmult_le_pos; [left; auto | apply power_nonneg]).
    assert (TB : 0 < / b < 1) by (split; [apply Rinv_0_lt_compat; lra | rewrite <- Rinv_1; apply Rinv_lt_contravar; lra]).
    assert (IB : 1 - / b = / alpha) by (unfold b, dual; field; lra).
    assert (PF0 : 0 <= total n (fun i => p i * f i)) by (apply total_nonneg; intros i I; apply Rmult_le_pos; [left; auto | apply F]).
    (* Hölder: P f <= W^(1/b) m^(1/alpha), with anything above W *)
    assert (H : forall e, 0 < e -> total n (fun i => p i * f i) <= power (W + e) (/ b) * power m (1 - / b)).
    { intros e E. set (k := power (W + e) (/ b) * power m (1 - / b)).
      apply Rle_trans with (total n (fun i => k * (/ b / (W + e) * (q i * power (f i) b) + (1 - / b) / m * (p i * Rpower (p i / q i) (alpha - 1))))).
      - apply total_le. intros i I. pose proof (P i I) as Pi. pose proof (Q i I) as Qi. pose proof (F i) as Fi. specialize (RP i I).
        replace (p i * f i) with (power (q i * power (f i) b) (/ b) * power (p i * Rpower (p i / q i) (alpha - 1)) (1 - / b)).
        + apply means_of; auto; try lra; [apply Rmult_le_pos; [lra | apply power_nonneg] | apply Rmult_le_pos; [lra | left; apply exp_pos]].
        + rewrite power_mult by (apply power_nonneg || lra). rewrite power_power, Rinv_r, power_1 by lra.
          rewrite (power_mult (p i)) by (solve [left; apply exp_pos] || lra).
          rewrite <- (power_Rpower (p i / q i)) by auto. rewrite power_power.
          replace ((alpha - 1) * (1 - / b)) with (/ b) by (unfold b, dual; field; lra).
          unfold Rdiv at 1. rewrite power_mult by (solve [left; apply Rinv_0_lt_compat; lra] || lra).
          replace (power (q i) (/ b) * f i * (power (p i) (1 - / b) * (power (p i) (/ b) * power (/ q i) (/ b))))
            with (f i * (power (p i) (1 - / b) * power (p i) (/ b)) * (power (q i) (/ b) * power (/ q i) (/ b))) by ring.
          rewrite <- power_plus, <- power_mult by (solve [left; apply Rinv_0_lt_compat; lra] || lra).
          rewrite Rinv_r by lra. replace (1 - / b + / b) with 1 by lra. rewrite power_1 by lra.
          rewrite (power_Rpower 1) by lra. unfold Rpower. rewrite ln_1, Rmult_0_r, exp_0. ring.
      - rewrite total_scal, total_plus, !total_scal. fold W m. change (total n (fun i => p i * Rpower (p i / q i) (alpha - 1))) with m.
        assert (KP : 0 <= k) by (unfold k; apply Rmult_le_pos; apply power_nonneg).
        rewrite <- (Rmult_1_r k) at 2. apply Rmult_le_compat_l; auto.
        replace ((1 - / b) / m * m) with (1 - / b) by (field; split; lra).
        assert (/ b / (W + e) * W <= / b); [|lra].
        rewrite <- (Rmult_1_r (/ b)) at 2. unfold Rdiv. rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
        apply Rmult_le_reg_l with (W + e); [lra|]. rewrite <- Rmult_assoc, Rinv_r; lra. }
    assert (G : forall e, 0 < e -> power (total n (fun i => p i * f i)) b <= exp rho * (W + e)).
    { intros e E. apply Rle_trans with (power (power (W + e) (/ b) * power m (1 - / b)) b); [apply power_le; auto; lra|].
      rewrite power_mult, !power_power, Rinv_l, power_1 by (apply power_nonneg || lra). rewrite Rmult_comm.
      apply Rmult_le_compat_r; [lra|]. replace ((1 - / b) * b) with (/ (alpha - 1)) by (rewrite <- BM; field; lra).
      assert (IA : 0 < / (alpha - 1)) by (apply Rinv_0_lt_compat; lra).
      apply Rle_trans with (power (exp ((alpha - 1) * rho)) (/ (alpha - 1))); [apply power_le; lra|].
      rewrite power_exp. right. f_equal. field. lra. }
    apply Rnot_lt_le. intros LT. change (exp rho * W < power (total n (fun i => p i * f i)) b) in LT. pose proof (exp_pos rho) as ER.
    specialize (G ((power (total n (fun i => p i * f i)) b - exp rho * W) / exp rho / 2)).
    assert (POS : 0 < (power (total n (fun i => p i * f i)) b - exp rho * W) / exp rho / 2).
    { apply Rdiv_lt_0_compat; [apply Rdiv_lt_0_compat|]; lra. }
    specialize (G POS). rewrite Rmult_plus_distr_l in G.
    replace (exp rho * ((power (total n (fun i => p i * f i)) b - exp rho * W) / exp rho / 2))
      with ((power (total n (fun i => p i * f i)) b - exp rho * W) / 2) in G by (field; lra). lra.
  - intros R. set (f := fun i => if Nat.ltb i n then Rpower (p i / q i) (alpha - 1) else 0).
    assert (IN : forall i, (i < n)%nat -> f i = Rpower (p i / q i) (alpha - 1)).
    { intros i I. unfold f. apply Nat.ltb_lt in I. rewrite I. auto. }
    assert (FB : bounded f).
    { exists (total n (fun i => f i)). intros i. destruct (Nat.ltb_spec i n) as [I|I].
      - split; [rewrite IN by auto; left; apply exp_pos|]. clear - I. unfold f at 2.
        assert (POS : forall j, 0 <= f j) by (intros j; unfold f; destruct Nat.ltb; [left; apply exp_pos | lra]).
        change (f i <= total n f). clearbody f. induction n as [|n IH]; [lia|]. simpl. destruct (Nat.eq_dec i n) as [->|].
        + pose proof (total_nonneg n f (fun j _ => POS j)). lra.
        + pose proof (POS n). pose proof (IH ltac:(lia)). lra.
      - unfold f at 1 2. destruct (Nat.ltb_spec i n); [lia|]. split; [lra|]. apply total_nonneg. intros j J.
        unfold f. destruct Nat.ltb; [left; apply exp_pos | lra]. }
    specialize (R f FB). fold b in R. cbv beta in R.
    rewrite (total_ext n (fun i => p i * f i) (fun i => p i * Rpower (p i / q i) (alpha - 1))) in R by (intros i I; rewrite IN; auto).
    change (total n (fun i => p i * Rpower (p i / q i) (alpha - 1))) with m in R.
    rewrite (total_ext n (fun i => q i * power (f i) b) (fun i => p i * Rpower (p i / q i) (alpha - 1))) in R.
    + change (total n (fun i => p i * Rpower (p i / q i) (alpha - 1))) with m in R.
      replace b with (/ (alpha - 1) + 1) in R by lra. rewrite power_plus, power_1 in R by lra.
      apply Rmult_le_reg_r in R; auto.
      assert (IA : 0 < / (alpha - 1)) by (apply Rinv_0_lt_compat; lra).
      apply (power_le_inv _ _ (/ (alpha - 1))); auto; [lra | apply exp_nonneg|].
      rewrite power_exp. replace ((alpha - 1) * rho * / (alpha - 1)) with rho by (field; lra). auto.
    + intros i I. rewrite IN by auto. specialize (RP i I). rewrite <- (power_Rpower _ (alpha - 1)) by auto.
      rewrite power_power. replace ((alpha - 1) * b) with (alpha - 1 + 1) by (unfold b, dual; field; lra).
      rewrite power_plus, power_1 by lra. pose proof (Q i I). field. lra.
Qed.
