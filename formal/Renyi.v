(** * Randomised response; from Rényi divergence to (eps, delta)

    The conversion is proved for finite distributions. *)
From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From DP Require Import Noise Privacy.
Import ListNotations.
Open Scope R_scope.

(** ** Randomised response *)
(** The truth with chance e^eps / (1 + e^eps), else its opposite. *)
Definition randomised_response (eps : R) (truth : bool) (f : bool -> R) : R :=
  (exp eps * f truth + f (negb truth)) / (1 + exp eps).
Theorem randomised_response_private eps : 0 <= eps ->
  private (fun _ _ => True) eps (randomised_response eps) /\ mass_one (randomised_response eps).
Proof.
  intros E. pose proof (exp_pos eps) as EP. assert (E1 : 1 <= exp eps) by (rewrite <- exp_0; apply exp_le; auto).
  assert (I : 0 < / (1 + exp eps)) by (apply Rinv_0_lt_compat; lra). split.
  - intros a b _ f [M B]. unfold randomised_response, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    pose proof (B true) as [T _]. pose proof (B false) as [F _].
    assert (X : forall x, 0 <= x -> x <= exp eps * x) by (intros x P; rewrite <- (Rmult_1_l x) at 1; apply Rmult_le_compat_r; auto).
    pose proof (X _ T). pose proof (X _ F).
    pose proof (X (exp eps * f true) ltac:(apply Rmult_le_pos; lra)). pose proof (X (exp eps * f false) ltac:(apply Rmult_le_pos; lra)).
    destruct a, b; simpl; lra.
  - intros a c _. unfold randomised_response. field. lra.
Qed.

(** ** Rényi divergence *)
Fixpoint total (n : nat) (f : nat -> R) : R := match n with O => 0 | S n => f n + total n f end.
Lemma total_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> total n f <= total n g.
Proof. induction n as [|n IH]; intros H; simpl; [lra|]. apply Rplus_le_compat; [apply H; lia | apply IH; intros; apply H; lia]. Qed.
Lemma total_plus n f g : total n (fun i => f i + g i) = total n f + total n g.
Proof. induction n as [|n IH]; simpl; [lra|]. rewrite IH. lra. Qed.
Lemma total_scal n c f : total n (fun i => c * f i) = c * total n f.
Proof. induction n as [|n IH]; simpl; [lra|]. rewrite IH. lra. Qed.

(** The moment of order [alpha]: the sum of p^alpha q^(1 - alpha). *)
Definition moment (alpha : R) (n : nat) (p q : nat -> R) : R := total n (fun i => p i * Rpower (p i / q i) (alpha - 1)).
(** D_alpha (p, q) <= rho. *)
Definition renyi_close (alpha rho : R) (n : nat) (p q : nat -> R) := moment alpha n p q <= exp ((alpha - 1) * rho).

Theorem renyi_to_approximate alpha rho delta n p q : 1 < alpha -> 0 < delta ->
  (forall i, (i < n)%nat -> 0 <= p i) -> (forall i, (i < n)%nat -> 0 < q i) -> renyi_close alpha rho n p q ->
  close (rho + ln (/ delta) / (alpha - 1)) delta
    (fun f => total n (fun i => p i * f i)) (fun f => total n (fun i => q i * f i)).
Proof.
  intros A D P Q RC f T. set (eps := rho + ln (/ delta) / (alpha - 1)).
  set (k := exp (- ((alpha - 1) * eps))).
  assert (KP : 0 < k) by apply exp_pos.
  assert (ONE : forall i, (i < n)%nat -> p i * f i <= exp eps * (q i * f i) + k * (p i * Rpower (p i / q i) (alpha - 1))).
  { intros i I. specialize (P i I). specialize (Q i I). destruct (T i) as [F0 F1]. pose proof (exp_pos eps) as EP.
    assert (RP : 0 < Rpower (p i / q i) (alpha - 1)) by apply exp_pos.
    assert (R0 : 0 <= k * (p i * Rpower (p i / q i) (alpha - 1))).
    { apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; lra. }
    destruct (Rle_lt_dec (p i) (exp eps * q i)) as [L|L].
    - apply (Rmult_le_compat_r (f i)) in L; auto. lra.
    - (* here p / q is above e^eps, so that the last term is above p *)
      assert (QF : 0 <= exp eps * (q i * f i)) by (apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra]).
      assert (PP : 0 < p i) by (pose proof (Rmult_lt_0_compat _ _ EP Q); lra).
      assert (G : exp eps <= p i / q i).
      { apply Rmult_le_reg_r with (q i); auto. replace (p i / q i * q i) with (p i) by (field; lra). lra. }
      assert (LN : eps <= ln (p i / q i)).
      { rewrite <- (ln_exp eps). destruct G as [G|G]; [left; apply ln_increasing; auto | rewrite G; lra]. }
      assert (X : 1 <= k * Rpower (p i / q i) (alpha - 1)).
      { unfold k, Rpower. rewrite <- exp_plus. apply Rle_trans with (exp 0); [rewrite exp_0; lra|]. apply exp_le.
        assert ((alpha - 1) * eps <= (alpha - 1) * ln (p i / q i)) by (apply Rmult_le_compat_l; lra). lra. }
      apply (Rmult_le_compat_l (p i)) in X; [|lra].
      assert (p i * f i <= p i * 1) by (apply Rmult_le_compat_l; lra). lra. }
  eapply Rle_trans; [apply total_le, ONE|]. rewrite total_plus, !total_scal. apply Rplus_le_compat_l.
  unfold renyi_close, moment in RC. apply (Rmult_le_compat_l k) in RC; [|lra]. eapply Rle_trans; [exact RC|].
  unfold k. rewrite <- exp_plus. right. transitivity (exp (ln delta)); [|apply exp_ln; auto].
  f_equal. unfold eps. rewrite ln_Rinv by auto. field. lra.
Qed.
