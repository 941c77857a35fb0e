(** * Kinds of stages that are close for neighbours

    What the accountant asks of a stage that is not Gaussian noise, shown for: Laplace and discrete
    Laplace noise, races (noisy maxima), choices by weights (the exponential mechanism), a stage on a Poisson sample of the records, and keys that
    are shown above a threshold only. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Privacy Joint UpperIntegral ContinuousNoise LatticeNoise NormalNumbers Program NoiseTable
  Loop LoopChecker Draw Selection Shear Stages Accountant Renyi ZeroConcentrated.
Import ListNotations.
Open Scope R_scope.

(** ** Added noise: Laplace, or discrete Laplace *)
Lemma draw_sub T u : proper_table T = true -> 0 < u -> forall ns f g, bounded f -> bounded g ->
  draw T u ns (fun h => f h + g h) <= draw T u ns f + draw T u ns g.
Proof.
  intros P U ns f g F G. unfold draw. destruct (integral T) eqn:I.
  - right. apply (sums_add u (rate T) (fun i => upward (fst (entry T i)))); auto. intros i. destruct (entry_proper T i P) as [R D]. rewrite I in D.
    assert (RP : 0 < u * Q2R (rate T i)) by (apply Rmult_lt_0_compat; auto).
    unfold law, rate in *. destruct (fst (entry T i)); try discriminate; [apply discrete_laplace_noise | apply geometric_noise]; auto.
  - apply (joint_sub u (rate T) (fun i s => upward (fst (entry T i)) = true -> 0 <= s)); auto.
    intros i. destruct (entry_proper T i P) as [R D]. rewrite I in D. assert (RP : 0 < u * Q2R (rate T i)) by (apply Rmult_lt_0_compat; auto).
    unfold law, rate in *. destruct (fst (entry T i)); try discriminate;
      (eapply noise_weaken; [|(apply laplace_noise || apply exponential_noise || apply gumbel_noise
        || apply logistic_noise || apply cauchy_noise); auto]); intros s X; simpl in *; auto.
Qed.
Lemma draw_expectation {X} T ns (g : vec -> X) : proper_table T = true -> expectation (fun f => draw T 1 ns (fun h => f (g h))).
Proof.
  intros P. pose proof (draw_laws T 1 P Rlt_0_1) as L.
  assert (B : forall f : X -> R, bounded f -> bounded (fun h => f (g h))) by (intros f F; apply (bounded_comp f g); auto). split.
  - intros c C. apply (E_const _ _ _ _ L); auto.
  - intros f h F H I. apply (E_le _ _ _ _ L); auto.
  - intros c f C F. apply (E_scal _ _ _ _ L); auto.
  - intros f h F H. apply (draw_sub T 1 P Rlt_0_1 ns (fun x => f (g x)) (fun x => h (g x))); auto.
Qed.
Section Added.
Context {A : Type}.
Variables (near : A -> A -> Prop) (T : noise_table) (n : nat) (values : A -> vec).
Hypothesis P : proper_table T = true.
Definition added (a : A) (f : vec -> R) : R := draw T 1 (seq 0 n) (fun h => f (shown n (plus (values a) h))).
Theorem added_expectation a : expectation (added a).
Proof. apply (draw_expectation T (seq 0 n) (fun h => shown n (plus (values a) h)) P). Qed.
(** Discrete noise hides moves by whole numbers, noise on one side none downwards: [allowed]. *)
Theorem added_close c : (forall a b, near a b -> allowed T (moved n values a b) /\ cost (rate T) (seq 0 n) (moved n values a b) <= Q2R c) ->
  forall a b, near a b -> close (Q2R c) (Q2R 0) (added a) (added b).
Proof.
  intros C a b NB f TF. destruct (C a b NB) as [AL CO]. rewrite Q2R_0, Rplus_0_r. set (s := moved n values a b) in *. pose proof (test_bounded f TF) as F.
  assert (B : forall d, bounded (fun h => f (shown n (plus (values d) h)))) by (intros d; apply (bounded_comp f (fun h => shown n (plus (values d) h))); auto).
  pose proof (draw_laws T 1 P Rlt_0_1) as L. unfold added.
  eapply Rle_trans; [apply (E_shift _ _ _ _ L (seq 0 n) s (fun h => f (shown n (plus (values a) h)))); auto|].
  - intros i NI. unfold s, moved. destruct (Nat.ltb_spec i n) as [LT|]; auto. exfalso. apply NI. apply in_seq. lia.
  - rewrite Rmult_1_l.
    replace (fun h => f (shown n (plus (values a) (minus h s)))) with (fun h => f (shown n (plus (values b) h))).
    + apply Rmult_le_compat_r; [|apply exp_le; auto]. apply (E_range _ _ _ _ L (seq 0 n) _ 1). intros h. apply TF.
    + apply functional_extensionality. intros h. f_equal. apply vec_ext. intros i. unfold shown, plus, minus, s, moved. destruct (Nat.ltb i n); lra.
Qed.
End Added.

(** ** A race: the place of the greatest of scores with noise of one kind *)
Section Race.
Context {A : Type}.
Variables (near : A -> A -> Prop) (x : family * Q) (scores : A -> list R) (e : Q).
Hypothesis P : proper_table [x] = true.
Hypothesis NI : integral [x] = false.
Hypothesis EP : 0 <= Q2R e.
Definition race (a : A) : (nat -> R) -> R := selection (draw [x] 1) (Q2R 1) (Q2R 1) (scores a).
Theorem race_expectation a : expectation (race a).
Proof.
  apply (draw_expectation [x] (seq 0 (length (scores a))) (fun h => greatest (fun j => Q2R 1 * nth j (scores a) 0 + Q2R 1 * h j) (length (scores a))) P).
Qed.
Theorem race_close : (forall a b, near a b -> length (scores a) = length (scores b) /\ forall i j, (i < length (scores a))%nat -> (j < length (scores a))%nat ->
    Q2R (snd x) * ((nth j (scores b) 0 - nth j (scores a) 0) - (nth i (scores b) 0 - nth i (scores a) 0)) <= Q2R e) ->
  forall a b, near a b -> close (Q2R e) (Q2R 0) (race a) (race b).
Proof.
  intros C a b NB f TF. destruct (C a b NB) as [LEN MV]. rewrite Q2R_0, Rplus_0_r. replace (Q2R e) with (1 * Q2R e) by lra.
  apply (selection_by x 1 1 e 1 (draw [x] 1) Rle_0_1 (draw_laws [x] 1 P Rlt_0_1)); auto using test_bounded.
  intros i I. assert (R : 0 < Q2R (snd x)) by (pose proof (rate_pos [x] 0 P) as R; exact R).
  exists (Q2R e / Q2R (snd x)). assert (S : 0 <= Q2R e / Q2R (snd x)) by (apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto).
  repeat split; auto.
  - rewrite Rabs_pos_eq by auto. right. field. lra.
  - intros j J _. rewrite Q2R_1. specialize (MV i j I J). apply Rmult_le_reg_l with (Q2R (snd x)); auto.
    replace (Q2R (snd x) * (1 * (nth i (scores b) 0 - nth i (scores a) 0) + 1 * (Q2R e / Q2R (snd x))))
      with (Q2R (snd x) * (nth i (scores b) 0 - nth i (scores a) 0) + Q2R e) by (field; lra). lra.
Qed.
End Race.

(** ** A choice by weights: the exponential mechanism *)
Lemma total_pos n w : (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < w i) -> 0 < total n w.
Proof.
  intros N P. destruct n as [|n]; [lia|]. simpl. pose proof (P n ltac:(lia)).
  assert (0 <= total n w) by (apply total_nonneg; intros i I; left; apply P; lia). lra.
Qed.
Section Choice.
Context {A : Type}.
Variables (near : A -> A -> Prop) (k : nat) (c : nat -> R) (u : A -> nat -> R).
Hypothesis CP : forall i, (i < k)%nat -> 0 < c i.
Hypothesis KP : (0 < k)%nat.
Definition weight (a : A) (i : nat) : R := c i * exp (u a i).
Definition chosen (a : A) (f : nat -> R) : R := total k (fun i => weight a i * f i) / total k (weight a).
Lemma weight_pos a i : (i < k)%nat -> 0 < weight a i.
Proof. intros I. apply Rmult_lt_0_compat; auto. apply exp_pos. Qed.
Lemma weights_pos a : 0 < total k (weight a).
Proof. apply total_pos; auto. intros; apply weight_pos; auto. Qed.
Theorem chosen_expectation a : expectation (chosen a).
Proof.
  pose proof (weights_pos a) as W. assert (IW : 0 < / total k (weight a)) by (apply Rinv_0_lt_compat; auto). unfold chosen, Rdiv. split.
  - intros x X. rewrite (total_ext k _ (fun i => x * weight a i)) by (intros; ring). rewrite total_scal. field. lra.
  - intros f g _ _ I. apply Rmult_le_compat_r; [lra|]. apply Renyi.total_le. intros i J. apply Rmult_le_compat_l; auto. left; apply weight_pos; auto.
  - intros x f X F. rewrite (total_ext k _ (fun i => x * (weight a i * f i))) by (intros; ring). rewrite total_scal. ring.
  - intros f g _ _. rewrite (total_ext k _ (fun i => weight a i * f i + weight a i * g i)) by (intros; ring). rewrite total_plus. lra.
Qed.
Theorem chosen_close e : (forall a b, near a b -> forall i j, (i < k)%nat -> (j < k)%nat -> (u a i - u b i) - (u a j - u b j) <= Q2R e) ->
  forall a b, near a b -> close (Q2R e) (Q2R 0) (chosen a) (chosen b).
Proof.
  intros C a b NB f T. specialize (C a b NB). rewrite Q2R_0, Rplus_0_r. pose proof (weights_pos a) as WA. pose proof (weights_pos b) as WB. unfold chosen.
  set (Sa := total k (weight a)) in *. set (Sb := total k (weight b)) in *.
  apply Rmult_le_reg_r with (Sa * Sb); [apply Rmult_lt_0_compat; auto|].
  replace (total k (fun i => weight a i * f i) / Sa * (Sa * Sb)) with (total k (fun i => weight a i * f i) * Sb) by (field; lra).
  replace (exp (Q2R e) * (total k (fun i => weight b i * f i) / Sb) * (Sa * Sb)) with (exp (Q2R e) * total k (fun i => weight b i * f i) * Sa) by (field; lra).
  apply Rle_trans with (total k (fun i => Sb * (weight a i * f i))); [right; rewrite total_scal; ring|].
  apply Rle_trans with (total k (fun i => Sa * exp (Q2R e) * (weight b i * f i))); [|right; rewrite total_scal; ring].
  apply Renyi.total_le. intros i I. unfold Sa, Sb.
  replace (total k (weight b) * (weight a i * f i)) with (f i * (weight a i * total k (weight b))) by ring.
  replace (total k (weight a) * exp (Q2R e) * (weight b i * f i)) with (f i * (exp (Q2R e) * weight b i * total k (weight a))) by ring.
  apply Rmult_le_compat_l; [apply T|]. rewrite <- !total_scal. apply Renyi.total_le. intros j J. specialize (C i j I J). unfold weight.
  replace (c i * exp (u a i) * (c j * exp (u b j))) with (c i * c j * (exp (u a i) * exp (u b j))) by ring.
  replace (exp (Q2R e) * (c i * exp (u b i)) * (c j * exp (u a j))) with (c i * c j * (exp (Q2R e) * exp (u b i) * exp (u a j))) by ring.
  rewrite <- !exp_plus. apply Rmult_le_compat_l; [pose proof (CP i I); pose proof (CP j J); apply Rmult_le_pos; lra | apply exp_le; lra].
Qed.
End Choice.

(** ** A Poisson sample: each record takes part with chance q *)
Section Poisson.
Context {D X : Type}.
Variable q : R.
Hypothesis QP : 0 <= q <= 1.
Fixpoint sampled (K : list D -> (X -> R) -> R) (a : list D) (f : X -> R) : R :=
  match a with [] => K [] f | r :: a => (1 - q) * sampled K a f + q * sampled (fun l => K (r :: l)) a f end.
(** One record is added, or removed. *)
Inductive one_more : list D -> list D -> Prop :=
| More r a : one_more (r :: a) a
| Later r a b : one_more a b -> one_more (r :: a) (r :: b).
Definition add_remove (a b : list D) := one_more a b \/ one_more b a.
Lemma sampled_expectation K a : (forall l, expectation (K l)) -> expectation (sampled K a).
Proof.
  revert K. induction a as [|r a IH]; intros K E; simpl; auto.
  pose proof (IH K E) as E0. pose proof (IH (fun l => K (r :: l)) (fun l => E (r :: l))) as E1. split.
  - intros c C. rewrite (P_const _ E0), (P_const _ E1) by auto. ring.
  - intros f g F G I. apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; [apply (P_le _ E0) | apply (P_le _ E1)]; auto.
  - intros c f C F. rewrite (P_scal _ E0), (P_scal _ E1) by auto. ring.
  - intros f g F G. pose proof (P_sub _ E0 f g F G). pose proof (P_sub _ E1 f g F G).
    apply Rle_trans with ((1 - q) * (sampled K a f + sampled K a g) + q * (sampled (fun l => K (r :: l)) a f + sampled (fun l => K (r :: l)) a g)); [|right; ring].
    apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.
Lemma sampled_le K K' c a f : 0 <= c -> (forall l, K l f <= c * K' l f) -> sampled K a f <= c * sampled K' a f.
Proof.
  intros C. revert K K'. induction a as [|r a IH]; intros K K' H; simpl; auto.
  pose proof (IH K K' H) as H0. pose proof (IH (fun l => K (r :: l)) (fun l => K' (r :: l)) (fun l => H (r :: l))) as H1.
  apply Rle_trans with ((1 - q) * (c * sampled K' a f) + q * (c * sampled (fun l => K' (r :: l)) a f)); [|right; ring].
  apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.
Variables (K : list D -> (X -> R) -> R) (e : R).
Hypothesis EK : forall l, expectation (K l).
Hypothesis PK : forall a b, add_remove a b -> forall f, test f -> K a f <= exp e * K b f.
Theorem sampled_close e' : 0 <= e -> 1 + q * (exp e - 1) <= exp e' -> forall a b, add_remove a b -> close e' 0 (sampled K a) (sampled K b).
Proof.
  intros EP AM a b NB f T. rewrite Rplus_0_r.
  assert (E1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
  assert (POS : forall K', (forall l, expectation (K' l)) -> forall a, 0 <= sampled K' a f).
  { intros K' E' a'. apply (P_range _ f 1 (sampled_expectation K' a' E') Rle_0_1 T). }
  revert PK EK. generalize K as K0. clear K. destruct NB as [NB|NB].
  - induction NB as [r a|r a b NB IH]; intros K0 PK EK; simpl.
    + assert (S : sampled (fun l => K0 (r :: l)) a f <= exp e * sampled K0 a f).
      { apply sampled_le; [left; apply exp_pos|]. intros l. apply PK; auto. left. constructor. }
      pose proof (POS K0 EK a) as P0.
      apply Rle_trans with ((1 + q * (exp e - 1)) * sampled K0 a f); [|apply Rmult_le_compat_r; auto].
      apply Rle_trans with ((1 - q) * sampled K0 a f + q * (exp e * sampled K0 a f)); [|right; ring].
      apply Rplus_le_compat_l. apply Rmult_le_compat_l; lra.
    + pose proof (IH K0 PK EK) as H0.
      assert (H1 : sampled (fun l => K0 (r :: l)) a f <= exp e' * sampled (fun l => K0 (r :: l)) b f).
      { apply IH; auto. intros x y XY g G. apply PK; auto. destruct XY; [left | right]; constructor; auto. }
      apply Rle_trans with ((1 - q) * (exp e' * sampled K0 b f) + q * (exp e' * sampled (fun l => K0 (r :: l)) b f)); [|right; ring].
      apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
  - induction NB as [r a|r a b NB IH]; intros K0 PK EK; simpl.
    + assert (S : sampled K0 a f <= exp e * sampled (fun l => K0 (r :: l)) a f).
      { apply sampled_le; [left; apply exp_pos|]. intros l. apply PK; auto. right. constructor. }
      pose proof (POS K0 EK a) as P0. pose proof (POS (fun l => K0 (r :: l)) (fun l => EK (r :: l)) a) as P1.
      set (x := exp e) in *. set (s := sampled K0 a f) in *. set (s1 := sampled (fun l => K0 (r :: l)) a f) in *.
      assert (Y : (1 - q) * x * s + q * s <= x * ((1 - q) * s + q * s1)).
      { apply Rle_trans with ((1 - q) * x * s + q * (x * s1)); [|right; ring]. apply Rplus_le_compat_l. apply Rmult_le_compat_l; lra. }
      apply Rmult_le_reg_l with x; [lra|].
      apply Rle_trans with ((1 + q * (x - 1)) * ((1 - q) * x * s + q * s)).
      * assert (Z : 0 <= q * (1 - q) * ((x - 1) * (x - 1)) * s).
        { apply Rmult_le_pos; auto. apply Rmult_le_pos; [apply Rmult_le_pos; lra | apply Rmult_le_pos; lra]. }
        replace ((1 + q * (x - 1)) * ((1 - q) * x * s + q * s)) with (x * s + q * (1 - q) * ((x - 1) * (x - 1)) * s) by ring. lra.
      * apply Rle_trans with (exp e' * (x * ((1 - q) * s + q * s1))); [|right; ring].
        assert (0 <= (1 - q) * x * s + q * s).
        { apply Rplus_le_le_0_compat; [apply Rmult_le_pos; auto; apply Rmult_le_pos; lra | apply Rmult_le_pos; lra]. }
        apply Rmult_le_compat; auto. assert (0 <= q * (x - 1)) by (apply Rmult_le_pos; lra). lra.
    + pose proof (IH K0 PK EK) as H0.
      assert (H1 : sampled (fun l => K0 (r :: l)) b f <= exp e' * sampled (fun l => K0 (r :: l)) a f).
      { apply IH; auto. intros x y XY g G. apply PK; auto. destruct XY; [left | right]; constructor; auto. }
      apply Rle_trans with ((1 - q) * (exp e' * sampled K0 a f) + q * (exp e' * sampled (fun l => K0 (r :: l)) a f)); [|right; ring].
      apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.
End Poisson.

(** ** Keys of the data that are shown above a threshold *)
Section Tail.
Variable r : R.
Hypothesis rp : 0 < r.
Let e := laplace_density r.
Let D : density e := laplace_is_density r rp.
Lemma exp_integral a b : RInt (fun x => exp (- (r * x))) a b = (exp (- (r * a)) - exp (- (r * b))) / r.
Proof.
  apply is_RInt_unique.
  assert (I : is_RInt (fun x => exp (- (r * x))) a b (Hierarchy.minus (- exp (- (r * b)) / r) (- exp (- (r * a)) / r))).
  { apply (is_RInt_derive (fun x => - exp (- (r * x)) / r)).
    - intros x _. auto_derive; auto. field. lra.
    - intros x _. apply (ex_derive_continuous (fun x => exp (- (r * x)))). auto_derive; auto. }
  replace ((exp (- (r * a)) - exp (- (r * b))) / r) with (Hierarchy.minus (- exp (- (r * b)) / r) (- exp (- (r * a)) / r)); auto.
  unfold Hierarchy.minus, Hierarchy.plus, opp; simpl. field. lra.
Qed.
Lemma laplace_right a b : 0 <= a -> a <= b -> RInt e a b = (exp (- (r * a)) - exp (- (r * b))) / r.
Proof.
  intros A AB. rewrite <- exp_integral. apply RInt_ext. rewrite Rmin_left, Rmax_right by auto. intros x X. unfold e, laplace_density.
  rewrite Rabs_pos_eq by lra. auto.
Qed.
Lemma laplace_left C : 0 <= C -> RInt e (- C) 0 = RInt e 0 C.
Proof.
  intros CP. pose proof (e_int e D) as I. pose proof (RInt_comp_lin e (-1) 0 C 0 (I _ _)) as E.
  replace (-1 * 0 + 0) with 0 in E by ring. replace (-1 * C + 0) with (- C) in E by ring. rewrite <- E.
  rewrite (RInt_ext _ (fun y => -1 * e y)).
  - rewrite rint_scal by auto. pose proof (rint_chasles e 0 C 0 I) as CH. rewrite (RInt_point (V := R_CompleteNormedModule)) in CH.
    change (RInt e 0 C + RInt e C 0 = 0) in CH. lra.
  - intros y _. unfold scal; simpl; unfold mult; simpl. replace (-1 * y + 0) with (- y) by ring. unfold e, laplace_density. rewrite Rabs_Ropp. lra.
Qed.
Lemma laplace_mass : 2 / r <= upper e (fun _ => 1).
Proof.
  destruct (upper_exact e D (fun _ => 1) (bounded_const 1 Rle_0_1)) as [U _].
  { apply (int_ext e); [intros; lra | apply (e_int e D)]. }
  apply le_epsilon. intros eta E.
  set (C := Rmax 0 (- ln (eta * r / 2) / r)). assert (CP : 0 <= C) by apply Rmax_l.
  assert (EC : exp (- (r * C)) <= eta * r / 2).
  { assert (P : 0 < eta * r / 2) by (pose proof (Rmult_lt_0_compat eta r E rp); lra).
    rewrite <- (exp_ln (eta * r / 2)) by auto. apply exp_le. pose proof (Rmax_r 0 (- ln (eta * r / 2) / r)) as L. fold C in L.
    apply Rmult_le_compat_l with (r := r) in L; [|lra]. replace (r * (- ln (eta * r / 2) / r)) with (- ln (eta * r / 2)) in L by (field; lra). lra. }
  assert (X : RInt e (- C) C <= upper e (fun _ => 1)).
  { apply U. exists (- C), C. split; [lra|]. apply RInt_ext. intros x _. simpl. lra. }
  rewrite <- (rint_chasles e (- C) 0 C (e_int e D)), laplace_left, laplace_right in X by lra.
  rewrite Rmult_0_r, Ropp_0, exp_0 in X.
  assert (Y : (eta * r / 2) * / r * 2 = eta) by (field; lra).
  assert (Z : exp (- (r * C)) * / r <= eta * r / 2 * / r) by (apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | auto]).
  unfold Rdiv at 1 in X. unfold Rdiv in *. lra.
Qed.
Theorem laplace_tail x : 0 <= x -> expect e (fun h => if Rle_dec x h then 1 else 0) <= exp (- (r * x)) / 2.
Proof.
  intros X. pose proof laplace_mass as ZM. pose proof (upper_1 e D) as ZP. unfold expect. set (Z := upper e (fun _ => 1)) in *.
  set (f := fun h => if Rle_dec x h then 1 else 0). assert (F : bounded f) by (exists 1; intros h; unfold f; destruct Rle_dec; lra).
  pose proof (e_int e D) as I. pose proof (exp_pos (- (r * x))) as EP.
  assert (U : upper e f <= exp (- (r * x)) / r).
  { apply (upper_spec e D f F). destruct (int_cut (- x) 1 e I) as [WI _]. set (w := fun h => if Rle_dec 0 (- x + 1 * h) then e h else 0) in *.
    assert (WP : forall h, 0 <= w h) by (intros h; unfold w; destruct Rle_dec; [left; apply exp_pos | lra]).
    exists w. split; [split; [|split]|]; auto.
    - intros a b AB. set (a' := Rmin a x). set (b' := Rmax b x). assert (A1 : a' <= a) by apply Rmin_l. assert (A2 : a' <= x) by apply Rmin_r.
      assert (B1 : b <= b') by apply Rmax_l. assert (B2 : x <= b') by apply Rmax_r. clearbody a' b'.
      apply Rle_trans with (RInt w a' b'); [apply rint_mono; auto|]. rewrite <- (rint_chasles w a' x b' WI).
      rewrite (RInt_ext w (fun _ => 0) a' x), rint_0.
      + rewrite (RInt_ext w e x b').
        * rewrite laplace_right by lra. pose proof (exp_pos (- (r * b'))).
          assert (0 < / r) by (apply Rinv_0_lt_compat; auto). unfold Rdiv. rewrite Rplus_0_l. apply Rmult_le_compat_r; lra.
        * rewrite Rmin_left, Rmax_right by lra. intros h H3. unfold w. destruct Rle_dec; lra.
      + rewrite Rmin_left, Rmax_right by lra. intros h H3. unfold w. destruct Rle_dec; lra.
    - intros h. unfold f, w. pose proof (exp_pos (- (r * Rabs h))). destruct (Rle_dec x h), (Rle_dec 0 (- x + 1 * h)); lra. }
  apply Rmult_le_reg_r with Z; auto. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  eapply Rle_trans; [exact U|]. replace (exp (- (r * x)) / r) with (exp (- (r * x)) / 2 * (2 / r)) by (field; lra).
  apply Rmult_le_compat_l; lra.
Qed.
End Tail.

Section Threshold.
Variables (r T : R).
Hypotheses (rp : 0 < r) (TP : 1 <= T).
Let N := expect (laplace_density r).
Let L : continuous_noise r (fun _ => True) N := laplace_noise r rp.
(** The count of a key, if it is there, with noise, if that reaches the threshold. *)
Definition shows (v : option R) (f : option R -> R) : R :=
  match v with None => f None | Some v => N (fun h => if Rle_dec T (v + h) then f (Some (v + h)) else f None) end.
Definition chance : R := exp (- (r * (T - 1))) / 2.
Inductive key_moves : option R -> option R -> Prop :=
| Both v v' : Rabs (v - v') <= 1 -> key_moves (Some v) (Some v')
| Gone v : v <= 1 -> key_moves (Some v) None
| New v : v <= 1 -> key_moves None (Some v).
Lemma chance_range : 0 < chance <= 1 / 2.
Proof.
  unfold chance. pose proof (exp_pos (- (r * (T - 1)))). assert (exp (- (r * (T - 1))) <= 1); [|lra].
  apply Rle_trans with (exp 0); [apply exp_le | rewrite exp_0; lra]. pose proof (Rmult_le_pos r (T - 1) (Rlt_le _ _ rp) ltac:(lra)). lra.
Qed.
Lemma tail_chance v : v <= 1 -> N (fun h => if Rle_dec (T - v) h then 1 else 0) <= chance.
Proof.
  intros V. eapply Rle_trans; [apply (laplace_tail r rp); lra|]. unfold chance.
  assert (exp (- (r * (T - v))) <= exp (- (r * (T - 1)))); [|lra]. apply exp_le. assert (r * (T - 1) <= r * (T - v)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
Lemma bounded_step (f : option R -> R) v : bounded f -> bounded (fun h => if Rle_dec T (v + h) then f (Some (v + h)) else f None).
Proof. intros [M F]. exists M. intros h. destruct Rle_dec; apply F. Qed.
Theorem shows_expectation v : expectation (shows v).
Proof.
  destruct v as [v|]; [|split; simpl; intros; auto; lra]. unfold shows. split.
  - intros c C. transitivity (N (fun _ => c)); [|apply (N_const _ _ _ L); auto]. f_equal. apply functional_extensionality. intros h. destruct Rle_dec; auto.
  - intros f g F G I. apply (N_le _ _ _ L); auto using bounded_step. intros h. destruct Rle_dec; auto.
  - intros c f C F. rewrite <- (N_scal _ _ _ L) by (auto using bounded_step). f_equal. apply functional_extensionality. intros h. destruct Rle_dec; auto.
  - intros f g F G. eapply Rle_trans; [|apply (N_sub _ _ _ L); auto using bounded_step]. right. f_equal. apply functional_extensionality. intros h. destruct Rle_dec; auto.
Qed.
Theorem shows_close v v' : key_moves v v' -> close r chance (shows v) (shows v').
Proof.
  intros K f TF. pose proof chance_range as CR. assert (ER : 1 <= exp r) by (rewrite <- exp_0; apply exp_le; lra).
  pose proof (test_bounded f TF) as F. destruct K as [v v' V|v V|v V]; unfold shows.
  - set (g := fun h => if Rle_dec T (v + h) then f (Some (v + h)) else f None).
    pose proof (N_shift _ _ _ L (v - v') g Logic.I (bounded_step f v F)) as S.
    replace (fun x => g (x - (v - v'))) with (fun h => if Rle_dec T (v' + h) then f (Some (v' + h)) else f None) in S.
    + assert (B : 0 <= N (fun h => if Rle_dec T (v' + h) then f (Some (v' + h)) else f None) <= 1).
      { apply (P_range (shows (Some v')) f 1 (shows_expectation (Some v')) Rle_0_1 TF). }
      assert (exp (r * Rabs (v - v')) <= exp r) by (apply exp_le; rewrite <- (Rmult_1_r r) at 2; apply Rmult_le_compat_l; lra).
      assert (exp (r * Rabs (v - v')) * N (fun h => if Rle_dec T (v' + h) then f (Some (v' + h)) else f None) <=
        exp r * N (fun h => if Rle_dec T (v' + h) then f (Some (v' + h)) else f None)) by (apply Rmult_le_compat_r; lra).
      fold g. lra.
    + apply functional_extensionality. intros h. unfold g. replace (v + (h - (v - v'))) with (v' + h) by lra. auto.
  - pose proof (tail_chance v V) as TC. set (ind := fun h => if Rle_dec (T - v) h then 1 else 0) in *.
    assert (BI : bounded ind) by (exists 1; intros h; unfold ind; destruct Rle_dec; lra).
    apply Rle_trans with (N (fun h => f None + ind h)).
    + apply (N_le _ _ _ L); [apply bounded_step; auto | apply (bounded_plus (fun _ => f None) ind); auto; apply bounded_const; apply TF |].
      intros h. unfold ind. pose proof (TF None). pose proof (TF (Some (v + h))). destruct (Rle_dec T (v + h)), (Rle_dec (T - v) h); lra.
    + eapply Rle_trans; [apply (N_sub _ _ _ L (fun _ => f None) ind); auto; apply bounded_const; apply TF|].
      rewrite (N_const _ _ _ L) by apply TF. pose proof (TF None). nra.
  - pose proof (tail_chance v V) as TC. set (ind := fun h => if Rle_dec (T - v) h then 1 else 0) in *.
    set (rest := fun h => if Rle_dec (T - v) h then 0 else 1).
    assert (BI : bounded ind) by (exists 1; intros h; unfold ind; destruct Rle_dec; lra).
    assert (BR : bounded rest) by (exists 1; intros h; unfold rest; destruct Rle_dec; lra).
    assert (ONE : 1 <= N ind + N rest).
    { eapply Rle_trans; [|apply (N_sub _ _ _ L); auto]. rewrite <- (N_const _ _ _ L 1) at 1 by lra. right. f_equal.
      apply functional_extensionality. intros h. unfold ind, rest. destruct Rle_dec; lra. }
    pose proof (TF None) as F0.
    assert (LOW : f None * N rest <= N (fun h => if Rle_dec T (v + h) then f (Some (v + h)) else f None)).
    { rewrite <- (N_scal _ _ _ L) by (auto; lra). apply (N_le _ _ _ L); [apply bounded_scal; auto; lra | apply bounded_step; auto|].
      intros h. unfold rest. pose proof (TF (Some (v + h))). destruct (Rle_dec T (v + h)), (Rle_dec (T - v) h); lra. }
    set (S := N (fun h => if Rle_dec T (v + h) then f (Some (v + h)) else f None)) in *.
    assert (SP : 0 <= S <= 1) by (apply (P_range (shows (Some v)) f 1 (shows_expectation (Some v)) Rle_0_1 TF)).
    assert (exp r * S >= S) by nra. nra.
Qed.
End Threshold.

(** Parts whose exceptions are independent: deltas compose as chances do. *)
Theorem composability_chances {A B} e1 d1 e2 d2 (P Q : (A -> R) -> R) (K L : A -> (B -> R) -> R) :
  expectation P -> expectation Q -> (forall x, expectation (K x)) -> (forall x, expectation (L x)) -> 0 <= d2 < 1 ->
  close e1 d1 P Q -> (forall x, close e2 d2 (K x) (L x)) -> close (e1 + e2) (1 - (1 - d1) * (1 - d2)) (bind P K) (bind Q L).
Proof.
  intros EP EQ EK EL D2 C1 C2 f T. unfold bind.
  assert (RK : forall x, 0 <= K x f <= 1) by (intros x; apply P_range; auto; lra).
  assert (RL : forall x, 0 <= L x f <= 1) by (intros x; apply P_range; auto; lra).
  set (k := 1 - d2). assert (KP : 0 < k) by (unfold k; lra). set (g := fun x => Rmin 1 (/ k * (exp e2 * L x f))).
  assert (IK : 0 < / k) by (apply Rinv_0_lt_compat; auto).
  assert (LP : forall x, 0 <= exp e2 * L x f) by (intros x; apply Rmult_le_pos; [apply exp_nonneg | apply RL]).
  assert (TG : test g).
  { intros x. unfold g. assert (0 <= / k * (exp e2 * L x f)) by (apply Rmult_le_pos; auto; lra). split; [apply Rmin_glb; lra | apply Rmin_l]. }
  assert (BL : bounded (fun x => L x f)) by (exists 1; auto). pose proof (test_bounded g TG) as BG.
  apply Rle_trans with (P (fun x => k * g x + d2)).
  - apply (P_le P EP).
    + exists 1; auto.
    + apply (bounded_plus (fun x => k * g x)); [apply bounded_scal; auto; lra | apply bounded_const; lra].
    + intros x. specialize (C2 x f T). unfold g. destruct (RK x). unfold Rmin. destruct Rle_dec.
      * unfold k in *. lra.
      * rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. lra.
  - eapply Rle_trans; [apply (P_sub P EP (fun x => k * g x)); [apply bounded_scal; auto; lra | apply bounded_const; lra]|].
    rewrite (P_const P EP), (P_scal P EP) by (auto; lra). specialize (C1 g TG).
    assert (H : Q g <= / k * (exp e2 * Q (fun x => L x f))).
    { rewrite <- (P_scal Q EQ (exp e2)) by (auto using exp_nonneg).
      rewrite <- (P_scal Q EQ (/ k) (fun x => exp e2 * L x f)) by (try lra; apply bounded_scal; auto using exp_nonneg). apply (P_le Q EQ); auto.
      - apply bounded_scal; [lra|]. apply bounded_scal; auto using exp_nonneg.
      - intros x. apply Rmin_r. }
    apply (Rmult_le_compat_l (exp e1)) in H; [|apply exp_nonneg].
    assert (X : k * P g <= k * (exp e1 * (/ k * (exp e2 * Q (fun x => L x f))) + d1)) by (apply Rmult_le_compat_l; lra).
    replace (k * (exp e1 * (/ k * (exp e2 * Q (fun x => L x f))) + d1)) with (exp (e1 + e2) * Q (fun x => L x f) + k * d1) in X by (rewrite exp_plus; field; lra).
    unfold k in *. lra.
Qed.

Section Keys.
Variables (r T : R).
Hypotheses (rp : 0 < r) (TP : 1 <= T).
(** All keys, each with noise of its own; a record touches [k] of them. *)
Fixpoint all_shown (vs : list (option R)) (f : list (option R) -> R) : R :=
  match vs with [] => f [] | v :: vs => shows r T v (fun o => all_shown vs (fun os => f (o :: os))) end.
Inductive touched : nat -> list (option R) -> list (option R) -> Prop :=
| NoKeys : touched 0 [] []
| Same k v vs vs' : touched k vs vs' -> touched k (v :: vs) (v :: vs')
| Moves k v v' vs vs' : key_moves v v' -> touched k vs vs' -> touched (S k) (v :: vs) (v' :: vs').
Lemma all_shown_bind v vs : all_shown (v :: vs) = bind (shows r T v) (fun o => push (cons o) (all_shown vs)).
Proof. reflexivity. Qed.
Lemma all_shown_expectation vs : expectation (all_shown vs).
Proof.
  induction vs as [|v vs IH]; [split; simpl; intros; auto; lra|]. rewrite all_shown_bind.
  apply expectation_bind; [apply shows_expectation; auto|]. intros o. apply expectation_push; auto.
Qed.
Theorem keys_close k vs vs' : touched k vs vs' -> close (INR k * r) (1 - (1 - chance r T) ^ k) (all_shown vs) (all_shown vs').
Proof.
  pose proof (chance_range r T rp TP) as CR. induction 1 as [|k v vs vs' TT IH|k v v' vs vs' KM TT IH].
  - intros f F. simpl. rewrite Rmult_0_l, exp_0. lra.
  - rewrite !all_shown_bind. replace (INR k * r) with (0 + INR k * r) by lra.
    replace (1 - (1 - chance r T) ^ k) with (0 + (1 - (1 - chance r T) ^ k)) by lra.
    assert (PW : 0 <= (1 - chance r T) ^ k <= 1) by (split; [apply pow_le; lra | rewrite <- (pow1 k) at 2; apply pow_incr; lra]).
    apply composability; try (intros; apply expectation_push); auto using shows_expectation, all_shown_expectation; try lra.
    + intros f F. rewrite exp_0. lra.
    + intros o. apply post_processing; auto.
  - rewrite !all_shown_bind, S_INR. replace ((INR k + 1) * r) with (r + INR k * r) by ring.
    assert (PW : 0 < (1 - chance r T) ^ k <= 1) by (split; [apply pow_lt; lra | rewrite <- (pow1 k) at 2; apply pow_incr; lra]).
    replace (1 - (1 - chance r T) ^ S k) with (1 - (1 - chance r T) * (1 - (1 - (1 - chance r T) ^ k))) by (simpl; ring).
    apply composability_chances; try (intros; apply expectation_push); auto using shows_expectation, all_shown_expectation; try lra.
    + apply shows_close; auto.
    + intros o. apply post_processing; auto.
Qed.
End Keys.

(** ** The numbers of samples and thresholds, verified *)
Inductive fact := Sampled (q e e' : Q) | Shown (scale threshold : Q) (keys : nat) (e d : Q).
Definition chance_high (scale threshold : Q) : Q := Qred (1 / (2 * exp_low ((threshold - 1) / scale))).
Fixpoint qpower (q : Q) (k : nat) : Q := match k with O => 1%Q | S k => Qred (q * qpower q k) end.
Definition check_fact (x : fact) : bool :=
  match x with
  | Sampled q e e' => Qle_bool 0 q && Qle_bool q 1 && small e && Qle_bool 0 e' && Qle_bool (1 + q * (exp_high e - 1)) (exp_low e')
  | Shown s t k e d => negb (Qle_bool s 0) && Qle_bool 1 t && Qle_bool (inject_Z (Z.of_nat k) / s) e && negb (Qle_bool (exp_low ((t - 1) / s)) 0) &&
      Qle_bool (chance_high s t) 1 && Qle_bool (1 - qpower (1 - chance_high s t) k) d
  end.
Definition holds_fact (x : fact) : Prop :=
  match x with
  | Sampled q e e' => 1 + Q2R q * (exp (Q2R e) - 1) <= exp (Q2R e')
  | Shown s t k e d => 0 < / Q2R s /\ 1 <= Q2R t /\ INR k * / Q2R s <= Q2R e /\ 1 - (1 - chance (/ Q2R s) (Q2R t)) ^ k <= Q2R d
  end.
Lemma qpower_ok q k : Q2R (qpower q k) = Q2R q ^ k.
Proof. induction k as [|k IH]; cbn [qpower pow]; [apply Q2R_1|]. rewrite Q2R_red, Q2R_mult, IH. reflexivity. Qed.
Theorem check_fact_ok x : check_fact x = true -> holds_fact x.
Proof.
  destruct x as [q e e'|s t k e d]; unfold check_fact, holds_fact; rewrite !andb_true_iff.
  - intros [[[[Q0 Q1] SE] E0] LE]. apply qle_ok in Q0. apply qle_ok in E0. apply qle_ok in LE. rewrite Q2R_0 in *.
    rewrite Q2R_plus, Q2R_mult, Q2R_minus, Q2R_1 in LE. pose proof (exp_high_ok e SE). pose proof (exp_low_ok e' E0).
    assert (Q2R q * (exp (Q2R e) - 1) <= Q2R q * (Q2R (exp_high e) - 1)) by (apply Rmult_le_compat_l; lra). lra.
  - intros [[[[[S T] E] X] C1] D]. apply not_le in S. apply qle_ok in T. apply qle_ok in E. apply not_le in X. apply qle_ok in C1. apply qle_ok in D.
    rewrite Q2R_0 in *. rewrite Q2R_1 in *. pose proof (Q2R_pos_nonzero s S) as SN.
    assert (IS : 0 < / Q2R s) by (apply Rinv_0_lt_compat; auto).
    assert (IN : Q2R (inject_Z (Z.of_nat k)) = INR k) by (unfold Q2R, inject_Z; simpl; rewrite Rinv_1, Rmult_1_r; symmetry; apply INR_IZR_INZ).
    rewrite Q2R_div, IN in E by auto. repeat split; auto.
    assert (AR : Q2R ((t - 1) / s) = / Q2R s * (Q2R t - 1)) by (rewrite Q2R_div, Q2R_minus, Q2R_1 by auto; unfold Rdiv; ring).
    assert (AP : 0 <= Q2R ((t - 1) / s)) by (rewrite AR; apply Rmult_le_pos; lra).
    pose proof (exp_low_ok _ AP) as [_ EL]. rewrite AR in EL.
    assert (TWO : Q2R 2 = 2) by (unfold Q2R; simpl; lra).
    assert (CH : chance (/ Q2R s) (Q2R t) <= Q2R (chance_high s t)).
    { unfold chance, chance_high. rewrite Q2R_red, Q2R_div, Q2R_mult, TWO, Q2R_1.
      - rewrite exp_Ropp. unfold Rdiv. rewrite Rmult_1_l, Rinv_mult, Rmult_comm. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; auto.
      - apply Q2R_pos_nonzero. rewrite Q2R_mult, TWO. lra. }
    rewrite Q2R_minus, qpower_ok, Q2R_minus, Q2R_1 in D.
    assert (P : (1 - Q2R (chance_high s t)) ^ k <= (1 - chance (/ Q2R s) (Q2R t)) ^ k) by (apply pow_incr; lra). lra.
Qed.
Theorem check_facts_ok xs : forallb check_fact xs = true -> List.Forall holds_fact xs.
Proof. intros H. apply List.Forall_forall. intros x I. apply check_fact_ok. rewrite forallb_forall in H. auto. Qed.
