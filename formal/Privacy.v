(** * Differential privacy of expectations

    The divergence of order eps, and what follows from it: reflexivity, monotonicity, composability,
    post-processing, group privacy, sequential and adaptive composition.  A distribution is its
    expectation: monotone, homogeneous, subadditive, and 1 on 1.  Sums and integrals are of this kind,
    and so are upper integrals. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise.
Import ListNotations.
Open Scope R_scope.

Record expectation {A} (P : (A -> R) -> R) : Prop := {
  P_const : forall c, 0 <= c -> P (fun _ => c) = c;
  P_le : forall f g, bounded f -> bounded g -> (forall x, f x <= g x) -> P f <= P g;
  P_scal : forall c f, 0 <= c -> bounded f -> P (fun x => c * f x) = c * P f;
  P_sub : forall f g, bounded f -> bounded g -> P (fun x => f x + g x) <= P f + P g }.
(** Tests: what a receiver may do to tell two inputs apart. *)
Definition test {A} (f : A -> R) := forall x, 0 <= f x <= 1.

Lemma test_bounded {A} (f : A -> R) : test f -> bounded f.
Proof. exists 1. auto. Qed.
Lemma P_range {A} (P : (A -> R) -> R) f M : expectation P -> 0 <= M -> (forall x, 0 <= f x <= M) -> 0 <= P f <= M.
Proof.
  intros EP MP B. assert (F : bounded f) by (exists M; auto). split.
  - rewrite <- (P_const P EP 0) by lra. apply (P_le P EP); auto using bounded_const, Rle_refl. intros; apply B.
  - rewrite <- (P_const P EP M) by lra. apply (P_le P EP); auto using bounded_const. intros; apply B.
Qed.

(** ** The divergence of order [eps] *)
Definition gaps {A} (eps : R) (P Q : (A -> R) -> R) (y : R) := exists f, test f /\ y = P f - exp eps * Q f.
Definition divergence {A} (eps : R) (P Q : (A -> R) -> R) : R := real (Lub_Rbar (gaps eps P Q)).

Section Divergence.
Context {A : Type}.
Implicit Types P Q S : (A -> R) -> R.

Lemma divergence_spec eps P Q : expectation P -> expectation Q ->
  (forall f, test f -> P f - exp eps * Q f <= divergence eps P Q) /\
  (forall m, (forall f, test f -> P f - exp eps * Q f <= m) -> divergence eps P Q <= m).
Proof.
  intros EP EQ. pose proof (Lub_Rbar_correct (gaps eps P Q)) as [U L]. unfold divergence.
  assert (F : is_finite (Lub_Rbar (gaps eps P Q))).
  { assert (L1 : Rbar_le (Lub_Rbar (gaps eps P Q)) 1).
    { apply L. intros y (f & T & ->). simpl. destruct (P_range P f 1 EP Rle_0_1 T).
      destruct (P_range Q f 1 EQ Rle_0_1 T). pose proof (exp_pos eps).
      assert (0 <= exp eps * Q f) by (apply Rmult_le_pos; lra). lra. }
    assert (U0 : Rbar_le (P (fun _ => 0) - exp eps * Q (fun _ => 0)) (Lub_Rbar (gaps eps P Q))).
    { apply U. exists (fun _ => 0). split; auto. intros x; lra. }
    destruct (Lub_Rbar (gaps eps P Q)); simpl in *; try contradiction. reflexivity. }
  split.
  - intros f T. assert (X : Rbar_le (P f - exp eps * Q f) (Lub_Rbar (gaps eps P Q))) by (apply U; exists f; auto).
    rewrite <- F in X. exact X.
  - intros m X. assert (Y : Rbar_le (Lub_Rbar (gaps eps P Q)) m) by (apply L; intros y (f & T & ->); apply X; auto).
    rewrite <- F in Y. exact Y.
Qed.
(** (eps, delta)-closeness is a bound of the divergence. *)
Definition close (eps delta : R) P Q := forall f, test f -> P f <= exp eps * Q f + delta.
Theorem divergence_close eps delta P Q : expectation P -> expectation Q ->
  (divergence eps P Q <= delta <-> close eps delta P Q).
Proof.
  intros EP EQ. destruct (divergence_spec eps P Q EP EQ) as [U L]. split.
  - intros D f T. specialize (U f T). lra.
  - intros C. apply L. intros f T. specialize (C f T). lra.
Qed.
Theorem divergence_nonnegative eps P Q : expectation P -> expectation Q -> 0 <= divergence eps P Q.
Proof.
  intros EP EQ. destruct (divergence_spec eps P Q EP EQ) as [U _].
  specialize (U (fun _ => 0)). rewrite (P_const P EP), (P_const Q EQ) in U by lra.
  eapply Rle_trans; [|apply U; intros x; lra]. lra.
Qed.
Theorem divergence_reflexive eps P : expectation P -> 0 <= eps -> divergence eps P P = 0.
Proof.
  intros EP E. apply Rle_antisym; [|apply divergence_nonnegative; auto].
  apply divergence_close; auto. intros f T. destruct (P_range P f 1 EP Rle_0_1 T).
  assert (1 <= exp eps) by (rewrite <- exp_0; apply exp_le; auto).
  assert (1 * P f <= exp eps * P f) by (apply Rmult_le_compat_r; auto). lra.
Qed.
Theorem divergence_monotone eps eps' P Q : expectation P -> expectation Q -> eps <= eps' ->
  divergence eps' P Q <= divergence eps P Q.
Proof.
  intros EP EQ E. apply divergence_close; auto. intros f T.
  assert (C : close eps (divergence eps P Q) P Q) by (apply divergence_close; auto; apply Rle_refl).
  specialize (C f T). destruct (P_range Q f 1 EQ Rle_0_1 T).
  assert (exp eps * Q f <= exp eps' * Q f) by (apply Rmult_le_compat_r; auto; apply exp_le; auto). lra.
Qed.
(** Group privacy: from [P] to [Q] to [S]. *)
Theorem close_transitive e1 d1 e2 d2 P Q S : close e1 d1 P Q -> close e2 d2 Q S ->
  close (e1 + e2) (d1 + exp e1 * d2) P S.
Proof.
  intros C1 C2 f T. specialize (C1 f T). specialize (C2 f T). rewrite exp_plus.
  apply (Rmult_le_compat_l (exp e1)) in C2; [lra | apply exp_nonneg].
Qed.
End Divergence.

(** ** Post-processing and composition *)
Definition push {A B} (g : A -> B) (P : (A -> R) -> R) : (B -> R) -> R := fun f => P (fun x => f (g x)).
(** First [P], then [K] of what came out: [bind]. *)
Definition bind {A B} (P : (A -> R) -> R) (K : A -> (B -> R) -> R) : (B -> R) -> R := fun f => P (fun x => K x f).

Theorem post_processing {A B} (g : A -> B) eps delta (P Q : (A -> R) -> R) :
  close eps delta P Q -> close eps delta (push g P) (push g Q).
Proof. intros C f T. apply (C (fun x => f (g x))). intros x. apply T. Qed.
Lemma expectation_push {A B} (g : A -> B) (P : (A -> R) -> R) : expectation P -> expectation (push g P).
Proof.
  intros EP. unfold push. split.
  - intros c C. apply (P_const P EP); auto.
  - intros f h F H I. apply (P_le P EP); auto using bounded_comp.
  - intros c f C F. apply (P_scal P EP c (fun x => f (g x))); auto. apply (bounded_comp f g); auto.
  - intros f h F H. apply (P_sub P EP (fun x => f (g x)) (fun x => h (g x))); auto using bounded_comp.
Qed.
(** Composability of the divergence: what the second part adds, whatever the first one released. *)
Theorem composability {A B} e1 d1 e2 d2 (P Q : (A -> R) -> R) (K L : A -> (B -> R) -> R) :
  expectation P -> expectation Q -> (forall x, expectation (K x)) -> (forall x, expectation (L x)) -> 0 <= d2 ->
  close e1 d1 P Q -> (forall x, close e2 d2 (K x) (L x)) -> close (e1 + e2) (d1 + d2) (bind P K) (bind Q L).
Proof.
  intros EP EQ EK EL D2 C1 C2 f T. unfold bind.
  assert (RK : forall x, 0 <= K x f <= 1) by (intros x; apply P_range; auto; lra).
  assert (RL : forall x, 0 <= L x f <= 1) by (intros x; apply P_range; auto; lra).
  set (g := fun x => Rmin 1 (exp e2 * L x f)).
  assert (LP : forall x, 0 <= exp e2 * L x f) by (intros x; apply Rmult_le_pos; [apply exp_nonneg | apply RL]).
  assert (TG : test g).
  { intros x. unfold g. split; [apply Rmin_glb; auto; lra | apply Rmin_l]. }
  assert (BL : bounded (fun x => L x f)) by (exists 1; auto).
  apply Rle_trans with (P (fun x => g x + d2)).
  - apply (P_le P EP).
    + exists 1; auto.
    + apply bounded_plus; [apply test_bounded; auto | apply bounded_const; auto].
    + intros x. specialize (C2 x f T). unfold g. destruct (RK x). unfold Rmin. destruct Rle_dec; lra.
  - eapply Rle_trans; [apply (P_sub P EP); [apply test_bounded; auto | apply bounded_const; auto]|].
    rewrite (P_const P EP) by auto. specialize (C1 g TG).
    assert (Q g <= exp e2 * Q (fun x => L x f)).
    { rewrite <- (P_scal Q EQ) by (auto using exp_nonneg). apply (P_le Q EQ).
      - apply test_bounded; auto.
      - apply bounded_scal; auto using exp_nonneg.
      - intros x. unfold g. apply Rmin_r. }
    rewrite exp_plus. apply (Rmult_le_compat_l (exp e1)) in H; [lra | apply exp_nonneg].
Qed.
Lemma expectation_bind {A B} (P : (A -> R) -> R) (K : A -> (B -> R) -> R) : expectation P ->
  (forall x, expectation (K x)) -> expectation (bind P K).
Proof.
  intros EP EK. unfold bind.
  assert (BK : forall f, bounded f -> bounded (fun x => K x f)).
  { intros f [M FB]. exists (Rmax 0 M). intros x. apply P_range; auto; [apply Rmax_l|]. intros y. specialize (FB y).
    pose proof (Rmax_r 0 M). lra. }
  split.
  - intros c C. transitivity (P (fun _ => c)); [|apply (P_const P EP); auto]. f_equal. apply functional_extensionality. intros x. apply (P_const _ (EK x)); auto.
  - intros f g F G I. apply (P_le P EP); auto. intros x. apply (P_le _ (EK x)); auto.
  - intros c f C F. rewrite <- (P_scal P EP) by auto. f_equal. apply functional_extensionality. intros x. apply (P_scal _ (EK x)); auto.
  - intros f g F G. eapply Rle_trans; [apply (P_le P EP) with (g := fun x => K x f + K x g)|].
    + apply BK, bounded_plus; auto.
    + apply bounded_plus; auto.
    + intros x. apply (P_sub _ (EK x)); auto.
    + apply (P_sub P EP); auto.
Qed.

(** ** Mechanisms *)
Section Mechanisms.
Context {A Out : Type}.
Variable near : A -> A -> Prop.
(** Pure privacy, for all bounded functions of the output: so for all events. *)
Definition private (eps : R) (M : A -> (Out -> R) -> R) :=
  forall a b, near a b -> forall f, bounded f -> M a f <= exp eps * M b f.
Definition approximately_private (eps delta : R) (M : A -> (Out -> R) -> R) :=
  forall a b, near a b -> close eps delta (M a) (M b).
(** The chances of a mechanism sum to one. *)
Definition mass_one (M : A -> (Out -> R) -> R) := forall a c, 0 <= c -> M a (fun _ => c) = c.

Theorem private_approximately eps M : private eps M -> approximately_private eps 0 M.
Proof. intros P a b N f T. specialize (P a b N f (test_bounded f T)). lra. Qed.
Theorem private_event eps M : private eps M -> forall a b, near a b -> forall S : Out -> bool,
  M a (fun o => if S o then 1 else 0) <= exp eps * M b (fun o => if S o then 1 else 0).
Proof. intros P a b N S. apply P; auto. exists 1. intros o. destruct (S o); lra. Qed.
(** Neighbours of neighbours: a group of [k]. *)
Fixpoint within (k : nat) (a b : A) : Prop :=
  match k with O => a = b | S k => exists c, near a c /\ within k c b end.
Theorem group_privacy eps M : private eps M -> forall k a b, within k a b -> forall f, bounded f ->
  M a f <= exp (INR k * eps) * M b f.
Proof.
  intros P. induction k as [|k IH]; intros a b W f F.
  - simpl in W. subst. rewrite Rmult_0_l, exp_0. lra.
  - destruct W as (c & N & W). rewrite S_INR. replace ((INR k + 1) * eps) with (eps + INR k * eps) by lra.
    rewrite exp_plus, Rmult_assoc. eapply Rle_trans; [apply (P a c N f F)|].
    apply Rmult_le_compat_l; [apply exp_nonneg | apply IH; auto].
Qed.
(** The second mechanism may depend on what the first one released. *)
Theorem adaptive_composition {B} e1 e2 (M : A -> (Out -> R) -> R) (N : Out -> A -> (B -> R) -> R) :
  (forall a, expectation (M a)) -> (forall o a, expectation (N o a)) -> private e1 M ->
  (forall o a b, near a b -> forall f, bounded f -> N o a f <= exp e2 * N o b f) ->
  forall a b, near a b -> forall f, bounded f ->
  bind (M a) (fun o => N o a) f <= exp (e1 + e2) * bind (M b) (fun o => N o b) f.
Proof.
  intros EM EN P1 P2 a b NB f [K FB]. assert (F : bounded f) by (exists K; auto). unfold bind.
  assert (BN : forall x, bounded (fun o => N o x f)).
  { intros x. exists (Rmax 0 K). intros o. apply P_range; auto; [apply Rmax_l|]. intros y. specialize (FB y).
    pose proof (Rmax_r 0 K). lra. }
  rewrite exp_plus, Rmult_assoc. eapply Rle_trans; [|eapply Rle_trans; [apply (P1 a b NB (fun o => exp e2 * N o b f))|]].
  - apply (P_le _ (EM a)); auto. apply bounded_scal; auto using exp_nonneg.
  - apply bounded_scal; auto using exp_nonneg.
  - rewrite (P_scal _ (EM b)) by (auto using exp_nonneg). lra.
Qed.
Theorem adaptive_composition_approximate {B} e1 d1 e2 d2 (M : A -> (Out -> R) -> R) (N : Out -> A -> (B -> R) -> R) :
  (forall a, expectation (M a)) -> (forall o a, expectation (N o a)) -> 0 <= d2 ->
  approximately_private e1 d1 M -> (forall o a b, near a b -> close e2 d2 (N o a) (N o b)) ->
  forall a b, near a b -> close (e1 + e2) (d1 + d2) (bind (M a) (fun o => N o a)) (bind (M b) (fun o => N o b)).
Proof. intros EM EN D2 P1 P2 a b NB. apply composability; auto. Qed.
End Mechanisms.
