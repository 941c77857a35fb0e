(** * Sums of Gaussians over the integers are greatest at an integer

    The sum over z of exp (- r (z - t)^2) is at most its value at t = 0.  The usual proof is by
    Poisson summation.  Here: A(t) A(u) is rearranged along sums and differences of integers; by
    Cauchy-Schwarz A(t)^4 <= A(0)^3 A(2t), so that a value above A(0) would grow without bound along
    t, 2t, 4t, ... *)
From Coq Require Import Reals Lra Lia ZArith List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint LatticeNoise.
Open Scope R_scope.

(** ** Windows: finite parts of a sum *)
Fixpoint window (n : nat) (g : Z -> R) : R :=
  g (Z.of_nat n) + g (- Z.of_nat (S n))%Z + match n with O => 0 | S m => window m g end.
Lemma window_le n g h : (forall z, g z <= h z) -> window n g <= window n h.
Proof.
  intros I. induction n as [|n IH]; cbn [window].
  - pose proof (I (Z.of_nat 0)). pose proof (I (- Z.of_nat 1)%Z). lra.
  - pose proof (I (Z.of_nat (S n))). pose proof (I (- Z.of_nat (S (S n)))%Z). lra.
Qed.
Lemma window_plus n g h : window n (fun z => g z + h z) = window n g + window n h.
Proof. induction n as [|n IH]; cbn [window]; [|rewrite IH]; lra. Qed.
Lemma window_scal n c g : window n (fun z => c * g z) = c * window n g.
Proof. induction n as [|n IH]; cbn [window]; [|rewrite IH]; lra. Qed.
Lemma window_sum n g : window n g = sum_n (fun k => g (Z.of_nat k)) n + sum_n (fun k => g (- Z.of_nat (S k))%Z) n.
Proof.
  induction n as [|n IH]; cbn [window]; [rewrite !sum_O; lra|]. rewrite !sum_Sn, IH. unfold Hierarchy.plus; simpl. lra.
Qed.
Lemma partial_le f n : (forall k, 0 <= f k) -> ex_series f -> sum_n f n <= Series f.
Proof.
  intros P E. apply (is_lim_seq_incr_compare (sum_n f) (Series f)).
  - apply (Series_correct f E).
  - intros k. rewrite sum_Sn. unfold Hierarchy.plus; simpl. pose proof (P (S k)). lra.
Qed.
Lemma window_total n g : (forall z, 0 <= g z) -> summable g -> window n g <= total g.
Proof.
  intros P [A B]. rewrite window_sum. unfold total. apply Rplus_le_compat; apply partial_le; auto.
Qed.
Lemma total_window g M : summable g -> (forall n, window n g <= M) -> total g <= M.
Proof.
  intros [A B] W. apply Series_correct in A. apply Series_correct in B.
  assert (S : is_lim_seq (fun n => window n g) (total g)).
  { apply is_lim_seq_ext with (fun n => sum_n (fun k => g (Z.of_nat k)) n + sum_n (fun k => g (- Z.of_nat (S k))%Z) n).
    - intros n. symmetry. apply window_sum.
    - apply (is_lim_seq_plus' _ _ _ _ A B). }
  apply (is_lim_seq_le (fun n => window n g) (fun _ => M) (total g) M); auto. apply is_lim_seq_const.
Qed.
Lemma summable_plus g h : summable g -> summable h -> summable (fun z => g z + h z).
Proof.
  intros [A B] [C D]. split;
    [apply (ex_series_plus (fun n => g (Z.of_nat n)) (fun n => h (Z.of_nat n)))
    |apply (ex_series_plus (fun n => g (- Z.of_nat (S n))%Z) (fun n => h (- Z.of_nat (S n))%Z))]; auto.
Qed.
Lemma total_nonneg g : (forall z, 0 <= g z) -> summable g -> 0 <= total g.
Proof.
  intros P S. eapply Rle_trans; [|apply (window_total 0 g); auto]. cbn [window].
  pose proof (P (Z.of_nat 0)). pose proof (P (- Z.of_nat 1)%Z). lra.
Qed.
(** Sums of sums. *)
Lemma window_of_totals n (a : Z -> Z -> R) : (forall z, summable (a z)) ->
  summable (fun w => window n (fun z => a z w)) /\ window n (fun z => total (a z)) = total (fun w => window n (fun z => a z w)).
Proof.
  intros S. induction n as [|n [I1 I2]]; cbn [window].
  - pose proof (summable_plus _ _ (S (Z.of_nat 0)) (S (- Z.of_nat 1)%Z)) as SP. split.
    + replace (fun w => a (Z.of_nat 0) w + a (- Z.of_nat 1)%Z w + 0) with (fun w => a (Z.of_nat 0) w + a (- Z.of_nat 1)%Z w); auto.
      apply functional_extensionality; intros; lra.
    + rewrite Rplus_0_r, <- total_plus by auto. f_equal. apply functional_extensionality; intros; lra.
  - pose proof (summable_plus _ _ (S (Z.of_nat (Datatypes.S n))) (S (- Z.of_nat (Datatypes.S (Datatypes.S n)))%Z)) as SP. split.
    + apply (summable_plus (fun w => a (Z.of_nat (Datatypes.S n)) w + a (- Z.of_nat (Datatypes.S (Datatypes.S n)))%Z w)); auto.
    + rewrite I2, <- total_plus, <- total_plus by auto. reflexivity.
Qed.
Lemma swap_le (a : Z -> Z -> R) : (forall z w, 0 <= a z w) -> (forall z, summable (a z)) -> (forall w, summable (fun z => a z w)) ->
  summable (fun z => total (a z)) -> summable (fun w => total (fun z => a z w)) ->
  total (fun z => total (a z)) <= total (fun w => total (fun z => a z w)).
Proof.
  intros P S1 S2 T1 T2. apply total_window; auto. intros n. destruct (window_of_totals n a S1) as [_ ->].
  apply total_le; auto. intros w. split; [|apply window_total; auto].
  replace 0 with (window n (fun _ => 0)); [apply window_le; auto|].
  induction n as [|n IH]; cbn [window]; [|rewrite IH]; lra.
Qed.
Lemma swap (a : Z -> Z -> R) : (forall z w, 0 <= a z w) -> (forall z, summable (a z)) -> (forall w, summable (fun z => a z w)) ->
  summable (fun z => total (a z)) -> summable (fun w => total (fun z => a z w)) ->
  total (fun z => total (a z)) = total (fun w => total (fun z => a z w)).
Proof. intros. apply Rle_antisym; [apply swap_le; auto | apply (swap_le (fun w z => a z w)); auto]. Qed.
(** Even and odd integers. *)
Lemma window_parity n g : window n (fun z => g (2 * z)%Z) + window n (fun z => g (2 * z + 1)%Z) = window (S (2 * n)) g.
Proof.
  induction n as [|n IH].
  - simpl. lra.
  - replace (S (2 * S n)) with (S (S (S (2 * n)))) by lia. cbn [window]. cbn [window] in IH.
    replace (2 * Z.of_nat (S n))%Z with (Z.of_nat (S (S (2 * n)))) by lia.
    replace (2 * - Z.of_nat (S (S n)))%Z with (- Z.of_nat (S (S (S (S (2 * n))))))%Z by lia.
    replace (Z.of_nat (S (S (2 * n))) + 1)%Z with (Z.of_nat (S (S (S (2 * n))))) by lia.
    replace (- Z.of_nat (S (S (S (S (2 * n))))) + 1)%Z with (- Z.of_nat (S (S (S (2 * n)))))%Z by lia. lra.
Qed.
Lemma window_grows n m g : (forall z, 0 <= g z) -> (n <= m)%nat -> window n g <= window m g.
Proof.
  intros P. induction 1 as [|m _ IH]; [lra|]. cbn [window]. pose proof (P (Z.of_nat (S m))). pose proof (P (- Z.of_nat (S (S m)))%Z). lra.
Qed.
Lemma total_parity g : (forall z, 0 <= g z) -> summable g -> summable (fun z => g (2 * z)%Z) -> summable (fun z => g (2 * z + 1)%Z) ->
  total g = total (fun z => g (2 * z)%Z) + total (fun z => g (2 * z + 1)%Z).
Proof.
  intros P S SE SO. rewrite <- total_plus by auto. pose proof (summable_plus _ _ SE SO) as SP. apply Rle_antisym.
  - apply total_window; auto. intros n. eapply Rle_trans; [apply (window_grows n (Datatypes.S (2 * n))); auto; lia|].
    rewrite <- window_parity, <- window_plus. apply window_total; auto. intros z. pose proof (P (2 * z)%Z). pose proof (P (2 * z + 1)%Z). lra.
  - apply total_window; auto. intros n. rewrite window_plus, window_parity. apply window_total; auto.
Qed.

Lemma nat_above x : exists n, x < INR n.
Proof.
  destruct (archimed x) as [U _]. exists (Z.to_nat (up x)). eapply Rlt_le_trans; [exact U|].
  rewrite INR_IZR_INZ. apply IZR_le. lia.
Qed.

(** ** The sums *)
Definition bell (r x : R) : R := exp (- (r * (x * x))).
Definition theta (r t : R) : R := total (fun z => bell r (IZR z - t)).
Section Theta.
Variable r : R.
Hypothesis rp : 0 < r.
Lemma bell_pos x : 0 <= bell r x. Proof. apply exp_nonneg. Qed.
Lemma bell_below t z : bell r (IZR z - t) <= exp (r * (Rabs t + 1)) * discrete_laplace_weight r z.
Proof.
  unfold bell, discrete_laplace_weight. rewrite <- exp_plus. apply exp_le.
  assert (Q : Rabs (IZR z - t) - 1 <= (IZR z - t) * (IZR z - t)).
  { replace ((IZR z - t) * (IZR z - t)) with (Rabs (IZR z - t) * Rabs (IZR z - t)).
    - set (y := Rabs (IZR z - t)). pose proof (Rle_0_sqr (y - / 2)) as S. unfold Rsqr in S. lra.
    - rewrite <- Rabs_mult. apply Rabs_pos_eq. apply Rle_0_sqr. }
  pose proof (Rabs_triang (IZR z - t) t) as T. replace (IZR z - t + t) with (IZR z) in T by lra. nra.
Qed.
Lemma bell_summable t : summable (fun z => bell r (IZR z - t)).
Proof.
  apply summable_le with (fun z => exp (r * (Rabs t + 1)) * discrete_laplace_weight r z).
  - apply summable_scal, laplace_weight_summable; auto.
  - intros z. split; [apply bell_pos | apply bell_below].
Qed.
Lemma bell_summable_at (h : Z -> R) t : (forall z, h z = IZR z - t) -> summable (fun z => bell r (h z)).
Proof. intros H. replace (fun z => bell r (h z)) with (fun z => bell r (IZR z - t)); [apply bell_summable|]. apply functional_extensionality. intros z. rewrite H. auto. Qed.
Lemma theta_period t k : theta r (t + IZR k) = theta r t.
Proof.
  unfold theta. rewrite <- (shift_Z k (fun z => bell r (IZR z - (t + IZR k)))).
  - f_equal. apply functional_extensionality. intros z. f_equal. rewrite plus_IZR. lra.
  - intros j. apply (bell_summable_at _ (t + IZR k - IZR j)). intros z. rewrite plus_IZR. lra.
Qed.
Lemma theta_nonneg t : 0 <= theta r t.
Proof. apply total_nonneg; [intros; apply bell_pos | apply bell_summable]. Qed.
Lemma theta_bounded : exists K, forall t, theta r t <= K.
Proof.
  exists (total (fun z => exp (r * (1 + 1)) * discrete_laplace_weight r z)). intros t.
  destruct (archimed t) as [U1 U2]. replace t with (t - IZR (up t) + IZR (up t)) by lra. rewrite theta_period.
  set (s := t - IZR (up t)). assert (AS : Rabs s <= 1) by (apply Rabs_le; unfold s; lra).
  apply total_le; [apply summable_scal, laplace_weight_summable; auto|]. intros z. split; [apply bell_pos|].
  eapply Rle_trans; [apply bell_below|]. apply Rmult_le_compat_r; [apply exp_nonneg|]. apply exp_le. nra.
Qed.
Lemma theta_0_pos : 0 < theta r 0.
Proof.
  eapply Rlt_le_trans; [|apply (window_total 0); [intros; apply bell_pos | apply bell_summable]]. cbn [window].
  pose proof (exp_pos (- (r * ((IZR (Z.of_nat 0) - 0) * (IZR (Z.of_nat 0) - 0))))).
  pose proof (bell_pos (IZR (- Z.of_nat 1) - 0)). unfold bell in *. lra.
Qed.
End Theta.

Section Product.
Variable r : R.
Hypothesis rp : 0 < r.
Let r2 : 0 < 2 * r. Proof. lra. Qed.
Let rh : 0 < r / 2. Proof. lra. Qed.

Theorem theta_product t u : theta r t * theta r u =
  theta (2 * r) ((t + u) / 2) * theta (2 * r) ((t - u) / 2) + theta (2 * r) ((t + u - 1) / 2) * theta (2 * r) ((t - u - 1) / 2).
Proof.
  set (a := fun k n : Z => bell r (IZR (n + k) - t) * bell r (IZR k - u)).
  assert (AP : forall k n, 0 <= a k n) by (intros; apply Rmult_le_pos; apply bell_pos).
  assert (AE : forall k n, a k n = bell (r / 2) (IZR n - (t - u)) * bell (2 * r) (IZR k - (t + u - IZR n) / 2)).
  { intros k n. unfold a, bell. rewrite <- !exp_plus. f_equal. rewrite plus_IZR. field. }
  assert (S1 : forall k, summable (a k)).
  { intros k. unfold a. replace (fun n => bell r (IZR (n + k) - t) * bell r (IZR k - u))
      with (fun n => bell r (IZR k - u) * bell r (IZR (n + k) - t)) by (apply functional_extensionality; intros; lra).
    apply (summable_scal _ (fun n => bell r (IZR (n + k) - t))).
    apply (bell_summable_at r rp _ (t - IZR k)). intros z. rewrite plus_IZR. lra. }
  assert (T1 : forall k, total (a k) = bell r (IZR k - u) * theta r t).
  { intros k. rewrite <- (theta_period r rp t (- k)), opp_IZR. unfold theta. rewrite <- total_scal. f_equal. apply functional_extensionality.
    intros n. unfold a. rewrite plus_IZR, Rmult_comm. do 2 f_equal. lra. }
  assert (S2 : forall n, summable (fun k => a k n)).
  { intros n. replace (fun k => a k n) with (fun k => bell (r / 2) (IZR n - (t - u)) * bell (2 * r) (IZR k - (t + u - IZR n) / 2))
      by (apply functional_extensionality; intros; symmetry; apply AE).
    apply (summable_scal _ (fun k => bell (2 * r) (IZR k - (t + u - IZR n) / 2))), bell_summable; auto. }
  assert (T2 : forall n, total (fun k => a k n) = bell (r / 2) (IZR n - (t - u)) * theta (2 * r) ((t + u - IZR n) / 2)).
  { intros n. unfold theta. rewrite <- total_scal. f_equal. apply functional_extensionality. intros k. apply AE. }
  set (g := fun n => bell (r / 2) (IZR n - (t - u)) * theta (2 * r) ((t + u - IZR n) / 2)).
  assert (E1 : (fun k => total (a k)) = (fun k => theta r t * bell r (IZR k - u))) by (apply functional_extensionality; intros k; rewrite T1; lra).
  assert (E2 : (fun n => total (fun k => a k n)) = g) by (apply functional_extensionality; intros n; apply T2).
  assert (GP : forall n, 0 <= g n) by (intros n; apply Rmult_le_pos; [apply bell_pos | apply theta_nonneg; auto]).
  destruct (theta_bounded (2 * r) r2) as [K KB].
  assert (SG : summable g).
  { apply summable_le with (fun n => K * bell (r / 2) (IZR n - (t - u))); [apply (summable_scal K (fun n => bell (r / 2) (IZR n - (t - u)))), bell_summable; auto|].
    intros n. split; auto. unfold g. rewrite Rmult_comm. apply Rmult_le_compat_r; [apply bell_pos | apply KB]. }
  transitivity (total (fun k => total (a k))).
  { rewrite E1, (total_scal (theta r t) (fun k => bell r (IZR k - u))). reflexivity. }
  rewrite swap; auto.
  2: { rewrite E1. apply (summable_scal (theta r t) (fun k => bell r (IZR k - u))), bell_summable; auto. }
  2: { rewrite E2. auto. }
  rewrite E2.
  assert (EV : (fun z => g (2 * z)%Z) = (fun z => theta (2 * r) ((t + u) / 2) * bell (2 * r) (IZR z - (t - u) / 2))).
  { apply functional_extensionality. intros z. unfold g. rewrite mult_IZR. rewrite Rmult_comm. f_equal.
    - rewrite <- (theta_period (2 * r) r2 ((t + u) / 2) (- z)), opp_IZR. f_equal. simpl. field.
    - unfold bell. f_equal. simpl. field. }
  assert (OD : (fun z => g (2 * z + 1)%Z) = (fun z => theta (2 * r) ((t + u - 1) / 2) * bell (2 * r) (IZR z - (t - u - 1) / 2))).
  { apply functional_extensionality. intros z. unfold g. rewrite plus_IZR, mult_IZR. rewrite Rmult_comm. f_equal.
    - rewrite <- (theta_period (2 * r) r2 ((t + u - 1) / 2) (- z)), opp_IZR. f_equal. simpl. field.
    - unfold bell. f_equal. simpl. field. }
  rewrite total_parity; auto; rewrite ?EV, ?OD.
  - rewrite (total_scal _ (fun z => bell (2 * r) (IZR z - (t - u) / 2))), (total_scal _ (fun z => bell (2 * r) (IZR z - (t - u - 1) / 2))). reflexivity.
  - apply (summable_scal _ (fun z => bell (2 * r) (IZR z - (t - u) / 2))), bell_summable; auto.
  - apply (summable_scal _ (fun z => bell (2 * r) (IZR z - (t - u - 1) / 2))), bell_summable; auto.
Qed.
Lemma theta_doubling t : (theta r t * theta r t) * (theta r t * theta r t) <= theta r (2 * t) * theta r 0 * (theta r 0 * theta r 0).
Proof.
  rewrite (theta_product t t), (theta_product (2 * t) 0), (theta_product 0 0).
  replace ((t + t) / 2) with t by field. replace ((t - t) / 2) with 0 by field.
  replace ((t + t - 1) / 2) with (t - / 2) by field. replace ((t - t - 1) / 2) with (- / 2) by field.
  replace ((2 * t + 0) / 2) with t by field. replace ((2 * t - 0) / 2) with t by field.
  replace ((2 * t + 0 - 1) / 2) with (t - / 2) by field. replace ((2 * t - 0 - 1) / 2) with (t - / 2) by field.
  replace ((0 + 0) / 2) with 0 by field. replace ((0 - 0) / 2) with 0 by field.
  replace ((0 + 0 - 1) / 2) with (- / 2) by field. replace ((0 - 0 - 1) / 2) with (- / 2) by field.
  set (a := theta (2 * r) t). set (b := theta (2 * r) 0). set (c := theta (2 * r) (t - / 2)). set (d := theta (2 * r) (- / 2)).
  pose proof (Rle_0_sqr (a * d - b * c)) as S. unfold Rsqr in S. nra.
Qed.
Theorem theta_greatest t : theta r t <= theta r 0.
Proof.
  apply Rnot_lt_le. intros GT. pose proof (theta_0_pos r rp) as P0. destruct (theta_bounded r rp) as [K KB].
  set (m := theta r 0) in *. set (e := theta r t / m - 1).
  assert (EP : 0 < e).
  { unfold e. assert (1 < theta r t / m); [|lra]. apply Rmult_lt_reg_r with m; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (GROW : forall n, m * (1 + INR (S n) * e) <= theta r (2 ^ n * t)).
  { induction n as [|n IH].
    - simpl. rewrite !Rmult_1_l. unfold e. right. field. lra.
    - pose proof (theta_doubling (2 ^ n * t)) as D. fold m in D. set (x := theta r (2 ^ n * t)) in *.
      replace (2 ^ S n * t) with (2 * (2 ^ n * t)) by (simpl; lra). set (y := theta r (2 * (2 ^ n * t))) in *.
      set (k := 1 + INR (S n) * e) in *. assert (K1 : 1 + e <= k).
      { unfold k. rewrite S_INR. pose proof (pos_INR n). nra. }
      assert (K2 : 1 + INR (S (S n)) * e <= k * k).
      { unfold k. rewrite (S_INR (S n)). pose proof (pos_INR (S n)). rewrite S_INR in *. pose proof (pos_INR n). nra. }
      assert (X2 : m * k * (m * k) <= x * x) by (apply Rmult_le_compat; nra).
      assert (X4 : m * k * (m * k) * (m * k * (m * k)) <= x * x * (x * x)) by (apply Rmult_le_compat; nra).
      assert (Y : m * (k * k * (k * k)) <= y).
      { apply Rmult_le_reg_r with (m * (m * m)); [repeat apply Rmult_lt_0_compat; auto|]. nra. }
      apply Rle_trans with (m * (k * k * (k * k))); auto. apply Rmult_le_compat_l; [lra|].
      assert (1 <= k * k) by nra. nra. }
  assert (INF : exists n, K < m * (1 + INR (S n) * e)).
  { destruct (nat_above (K / (m * e))) as [n N]. exists n. rewrite S_INR.
    assert (ME : 0 < m * e) by (apply Rmult_lt_0_compat; auto).
    apply (Rmult_lt_compat_r (m * e)) in N; auto. unfold Rdiv in N. rewrite Rmult_assoc, Rinv_l in N by lra. nra. }
  destruct INF as [n N]. specialize (GROW n). specialize (KB (2 ^ n * t)). lra.
Qed.
End Product.
