(** * Kinds of stages that are close for neighbours

    What the accountant asks of a stage that is not Gaussian noise, shown for: Laplace noise, a choice
    by weights (the exponential mechanism), a stage on a Poisson sample of the records, and keys that
    are shown above a threshold only. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Privacy Renyi ZeroConcentrated Joint UpperIntegral ContinuousNoise NormalNumbers NoiseTable LoopChecker Shear Stages Accountant.
Import ListNotations.
Open Scope R_scope.

(** ** Laplace noise *)
Section Laplace.
Context {A : Type}.
Variables (near : A -> A -> Prop) (rates : nat -> Q) (n : nat) (values : A -> vec).
Hypothesis RP : forall i, 0 < Q2R (rates i).
Definition laplace_stage (a : A) (f : vec -> R) : R := laplace_draw rates (seq 0 n) (fun h => f (shown n (plus (values a) h))).
Let N (i : nat) := expect (laplace_density (1 * Q2R (rates i))).
Let L (i : nat) : continuous_noise (1 * Q2R (rates i)) (fun _ => True) (N i).
Proof. apply laplace_noise. specialize (RP i). lra. Qed.
Theorem laplace_expectation a : expectation (laplace_stage a).
Proof.
  set (g := fun h => shown n (plus (values a) h)).
  assert (B : forall f : vec -> R, bounded f -> bounded (fun h => f (g h))) by (intros f F; apply (bounded_comp f g); auto).
  unfold laplace_stage, laplace_draw. split.
  - intros c C. apply (joint_const 1 rates _ N L); auto.
  - intros f h F H I. apply (joint_le 1 rates _ N L (seq 0 n) (fun x => f (g x)) (fun x => h (g x))); auto.
  - intros c f C F. apply (joint_scal 1 rates _ N L (seq 0 n) c (fun x => f (g x))); auto.
  - intros f h F H. apply (joint_sub 1 rates _ N L (seq 0 n) (fun x => f (g x)) (fun x => h (g x))); auto.
Qed.
Theorem laplace_close c : (forall a b, near a b -> cost rates (seq 0 n) (moved n values a b) <= Q2R c) ->
  forall a b, near a b -> close (Q2R c) (Q2R 0) (laplace_stage a) (laplace_stage b).
Proof.
  intros C a b NB f T. specialize (C a b NB). rewrite Q2R_0, Rplus_0_r. set (s := moved n values a b) in *. pose proof (test_bounded f T) as F.
  assert (B : forall d, bounded (fun h => f (shown n (plus (values d) h)))) by (intros d; apply (bounded_comp f (fun h => shown n (plus (values d) h))); auto).
  pose proof (joint_laws 1 rates _ N L) as LW. unfold laplace_stage, laplace_draw.
  eapply Rle_trans; [apply (E_shift _ _ _ _ LW (seq 0 n) s (fun h => f (shown n (plus (values a) h)))); auto|].
  - intros i; exact Logic.I.
  - intros i NI. unfold s, moved. destruct (Nat.ltb_spec i n) as [LT|]; auto. exfalso. apply NI. apply in_seq. lia.
  - rewrite Rmult_1_l.
    replace (fun h => f (shown n (plus (values a) (minus h s)))) with (fun h => f (shown n (plus (values b) h))).
    + apply Rmult_le_compat_r; [|apply exp_le; auto]. apply (E_range _ _ _ _ LW (seq 0 n) _ 1). intros h. apply T.
    + apply functional_extensionality. intros h. f_equal. apply vec_ext. intros i. unfold shown, plus, minus, s, moved. destruct (Nat.ltb i n); lra.
Qed.
End Laplace.

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
