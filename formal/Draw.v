(** * The noises of a certificate, as they are: no hypothesis is left *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Joint UpperIntegral ContinuousNoise LatticeNoise Program NoiseTable.
Import ListNotations.
Open Scope R_scope.

(** Noise of the given family with rate [u * q]; [u] is the unit (eps). *)
Definition law (u : R) (x : family * Q) : (R -> R) -> R :=
  let r := u * Q2R (snd x) in
  match fst x with
  | Laplace => expect (laplace_density r)
  | Exponential => expect (exponential_density r)
  | Gumbel => expect (gumbel_density r)
  | Logistic => expect (logistic_density r)
  | Cauchy => expect (cauchy_density r)
  | DiscreteLaplace => sum (discrete_laplace_weight r)
  | Geometric => sum (geometric_weight r)
  end.
Definition draw (T : noise_table) (u : R) : list nat -> (vec -> R) -> R :=
  if integral T then sums (fun i => law u (entry T i)) else joint (fun i => law u (entry T i)).

Theorem draw_laws T u : proper_table T = true -> 0 < u -> laws u (rate T) (allowed T) (draw T u).
Proof.
  intros P U. unfold draw. destruct (integral T) eqn:I.
  - apply laws_weaken with (whole (fun i => upward (fst (entry T i)))).
    + intros s [Z UP]. split; auto.
    + apply sums_laws. intros i. destruct (entry_proper T i P) as [R D]. rewrite I in D.
      assert (RP : 0 < u * Q2R (rate T i)) by (apply Rmult_lt_0_compat; auto).
      unfold law, rate in *. destruct (fst (entry T i)); try discriminate;
        [apply discrete_laplace_noise | apply geometric_noise]; auto.
  - apply laws_weaken with (shiftable (fun i s => upward (fst (entry T i)) = true -> 0 <= s)).
    + intros s [_ UP]. auto.
    + apply joint_laws. intros i. destruct (entry_proper T i P) as [R D]. rewrite I in D.
      assert (RP : 0 < u * Q2R (rate T i)) by (apply Rmult_lt_0_compat; auto).
      unfold law, rate in *. destruct (fst (entry T i)); try discriminate;
        (eapply noise_weaken; [|(apply laplace_noise || apply exponential_noise || apply gumbel_noise
          || apply logistic_noise || apply cauchy_noise); auto]);
        intros s X; simpl in *; auto.
Qed.
