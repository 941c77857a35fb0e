(** * A single continuous noise, as one would write it *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint UpperIntegral ContinuousNoise LatticeNoise Program NoiseTable Draw.
Import ListNotations.
Open Scope R_scope.

(** The least expectation of a piecewise Lipschitz function above [f].  Where [f] itself is piecewise
    Lipschitz (programs that release tokens and compare), it is the expectation of [f]. *)
Definition piecewise1 (phi : R -> R) := piecewise (fun h => phi (h 0%nat)).
Definition one (N : (R -> R) -> R) (f : R -> R) : R :=
  real (Glb_Rbar (fun J => exists phi, piecewise1 phi /\ (forall x, f x <= phi x) /\ J = N phi)).
Definition laplace (b : R) : (R -> R) -> R := one (expect (laplace_density (/ b))).

Lemma piecewise_subst i k w : piecewise w -> piecewise (fun h => w (upd zero i (h k))).
Proof.
  intros (l & PR & X).
  exists (map (fun p : cell => (fun h => fst p (upd zero i (h k)),
    map (fun c : condition => ((fst (fst c), [(k, slope i (snd (fst c)))]), snd c)) (snd p))) l). split.
  - intros p I. apply in_map_iff in I. destruct I as (q & <- & I).
    destruct (PR q I) as [(K & vs & KP & G) B]. split; simpl.
    + exists (K * INR (length vs)), [k]. split; [apply Rmult_le_pos; auto; apply pos_INR|]. intros a b.
      eapply Rle_trans; [apply G|]. simpl. rewrite Rplus_0_r, Rmult_assoc. apply Rmult_le_compat_l; auto.
      apply distance_one.
    + apply (bounded_comp _ (fun h : vec => upd zero i (h k))); auto.
  - intros h. rewrite X. clear X PR. induction l as [|[g P] l IH]; simpl; auto. rewrite <- IH. do 2 f_equal.
    induction P as [|[a b] P IHP]; simpl; auto. rewrite <- IHP.
    assert (E : affine_at (fst a, [(k, slope i (snd a))]) h = affine_at a (upd zero i (h k))).
    { rewrite (affine_upd i a zero (h k)). unfold affine_at, others; simpl.
      cut (terms_at (filter (fun t : nat * R => negb (Nat.eqb (fst t) i)) (snd a)) zero = 0); [lra|].
      induction (filter _ (snd a)) as [|[j c] t IHt]; simpl; auto. rewrite IHt. unfold zero. lra. }
    unfold holds; simpl. rewrite E. reflexivity.
Qed.
Theorem draw_one T u i F : integral T = false -> draw T u [i] (fun h => F (h i)) = one (law u (entry T i)) F.
Proof.
  intros NI. unfold draw. rewrite NI. unfold joint, one. f_equal. apply Glb_Rbar_eqset. intros J. split.
  - intros (w & W & A & ->). exists (fun x => w (upd zero i x)). split; [|split].
    + exact (piecewise_subst i 0 w W).
    + intros x. specialize (A (upd zero i x)). unfold upd at 1 in A. rewrite Nat.eqb_refl in A. exact A.
    + reflexivity.
  - intros (phi & W & A & ->). exists (fun h => phi (h i)). split; [|split]; auto.
    + pose proof (piecewise_subst 0 i _ W) as S. exact S.
    + simpl. unfold integrate. f_equal. apply functional_extensionality. intros x. unfold upd. rewrite Nat.eqb_refl. auto.
Qed.
(** Nothing is drawn. *)
Lemma draw_none T u c : proper_table T = true -> 0 < u -> 0 <= c -> draw T u [] (fun _ => c) = c.
Proof. intros P U C. apply (E_const _ _ _ _ (draw_laws T u P U)); auto. Qed.
(** Functions above are not negative: they are bounded ones. *)
Lemma laplace_nonneg b f : 0 < b -> 0 <= laplace b f.
Proof.
  intros B. unfold laplace, one.
  match goal with |- 0 <= real (Glb_Rbar ?S) => assert (Z : Rbar_le (Finite 0) (Glb_Rbar S)) end.
  { apply (Glb_Rbar_correct _). intros J (phi & W & I & ->). simpl.
    assert (RP : 0 < / b) by (apply Rinv_0_lt_compat; auto). destruct (bounded_piecewise _ W) as [M BW].
    apply (N_range _ _ _ (laplace_noise _ RP) phi M). intros x. exact (BW (fun _ => x)). }
  destruct (Glb_Rbar _); simpl in *; auto; lra.
Qed.
