(** * The upper integral against a density on the line

    [upper f] is the infimum of the (improper Riemann) integrals of the functions above [f * e].
    Where [f * e] is Riemann integrable, it is the integral ([upper_exact]).  [expect] divides by the
    total mass, so that no normalising constant has to be computed. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint.
Import ListNotations.
Open Scope R_scope.

Definition dominated (w : R -> R) (J : R) :=
  (forall x, 0 <= w x) /\ integrable w /\ forall a b, a <= b -> RInt w a b <= J.

Lemma int_shift s f : integrable f -> integrable (fun x => f (x + s)).
Proof.
  intros F a b. apply ex_RInt_ext with (fun y => scal 1 (f (1 * y + s))).
  - intros x _. unfold scal; simpl; unfold mult; simpl. rewrite !Rmult_1_l. reflexivity.
  - apply (ex_RInt_comp_lin f 1 s); auto.
Qed.
Lemma rint_shift s f a b : integrable f -> RInt (fun x => f (x + s)) a b = RInt f (a + s) (b + s).
Proof.
  intros F. transitivity (RInt (fun y => scal 1 (f (1 * y + s))) a b).
  - apply RInt_ext. intros x _. unfold scal; simpl; unfold mult; simpl. rewrite !Rmult_1_l. reflexivity.
  - transitivity (RInt f (1 * a + s) (1 * b + s)); [apply (RInt_comp_lin f 1 s a b); auto | f_equal; lra].
Qed.
Lemma rint_plus f g a b : integrable f -> integrable g ->
  RInt (fun x => f x + g x) a b = RInt f a b + RInt g a b.
Proof. intros F G. apply (RInt_plus f g); auto. Qed.
Lemma rint_scal c f a b : integrable f -> RInt (fun x => c * f x) a b = c * RInt f a b.
Proof. intros F. apply (RInt_scal f); auto. Qed.
Lemma rint_chasles f a b c : integrable f -> RInt f a b + RInt f b c = RInt f a c.
Proof. intros F. apply (RInt_Chasles f a b c); auto. Qed.
Lemma rint_pos f a b : integrable f -> (forall x, 0 <= f x) -> a <= b -> 0 <= RInt f a b.
Proof. intros F P I. apply RInt_ge_0; auto. Qed.
Lemma rint_mono f a b c d : integrable f -> (forall x, 0 <= f x) ->
  c <= a -> a <= b -> b <= d -> RInt f a b <= RInt f c d.
Proof.
  intros F P I1 I2 I3. rewrite <- (rint_chasles f c a d F), <- (rint_chasles f a b d F).
  pose proof (rint_pos f c a F P I1). pose proof (rint_pos f b d F P I3). lra.
Qed.
Lemma rint_0 a b : RInt (fun _ => 0) a b = 0.
Proof. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. lra. Qed.

(** What a density has to be. *)
Record density (e : R -> R) : Prop := {
  e_pos : forall x, 0 <= e x;
  e_regular : forall f, regular f -> integrable (fun x => f x * e x);
  e_total : exists J, forall a b, a <= b -> RInt e a b <= J;
  e_bounded : exists B, forall x, e x <= B;
  e_mass : exists a b, a <= b /\ 0 < RInt e a b }.

Section Upper.
Variable e : R -> R.
Hypothesis D : density e.
Let pos := e_pos e D.

Lemma e_int : integrable e.
Proof.
  apply (int_ext (fun x => 1 * e x)); [intros; lra|]. apply (e_regular e D (fun _ => 1)).
  apply (regular_lipschitz _ 0). intros. rewrite Rminus_same, Rabs_R0. lra.
Qed.
Definition dominates (f : R -> R) (J : R) := exists w, dominated w J /\ forall x, f x * e x <= w x.
Definition upper (f : R -> R) : R := real (Glb_Rbar (dominates f)).

Lemma dominated_pos w J : dominated w J -> 0 <= J.
Proof.
  intros (P & I & B). specialize (B 0 0 (Rle_refl 0)).
  pose proof (rint_pos w 0 0 I P (Rle_refl 0)). lra.
Qed.
Lemma dominates_bounded f M J : (forall a b, a <= b -> RInt e a b <= J) ->
  (forall x, 0 <= f x <= M) -> dominates f (M * J).
Proof.
  intros T B. exists (fun x => M * e x). assert (0 <= M) by (specialize (B 0); lra).
  pose proof e_int as I. split; [split; [|split]|].
  - intros x. apply Rmult_le_pos; auto.
  - apply int_scal; auto.
  - intros a b AB. rewrite rint_scal by auto. apply Rmult_le_compat_l; auto.
  - intros x. apply Rmult_le_compat_r; auto. apply B.
Qed.
Lemma upper_spec f : bounded f -> (forall J, dominates f J -> upper f <= J) /\
  (forall m, (forall J, dominates f J -> m <= J) -> m <= upper f).
Proof.
  intros [M B]. destruct (e_total e D) as [J0 T]. pose proof (dominates_bounded f M J0 T B) as A.
  pose proof (Glb_Rbar_correct (dominates f)) as [G1 G2]. unfold upper.
  assert (F : is_finite (Glb_Rbar (dominates f))).
  { assert (L : Rbar_le 0 (Glb_Rbar (dominates f)))
      by (apply G2; intros J (w & W & _); apply (dominated_pos w); auto).
    specialize (G1 _ A). destruct (Glb_Rbar (dominates f)); simpl in *; try contradiction. reflexivity. }
  split.
  - intros J X. specialize (G1 J X). rewrite <- F in G1. exact G1.
  - intros m X. assert (L : Rbar_le m (Glb_Rbar (dominates f))) by (apply G2; intros J Y; apply X; auto).
    rewrite <- F in L. exact L.
Qed.
Lemma upper_le f g : bounded f -> bounded g -> (forall x, f x <= g x) -> upper f <= upper g.
Proof.
  intros F G I. apply (upper_spec g G). intros J (w & W & A). apply (upper_spec f F).
  exists w. split; auto. intros x. apply Rle_trans with (g x * e x); auto. apply Rmult_le_compat_r; auto.
Qed.
Lemma upper_scal_le c f : 0 < c -> bounded f -> upper (fun x => c * f x) <= c * upper f.
Proof.
  intros C F. assert (CF : bounded (fun x => c * f x)) by (apply bounded_scal; auto; lra).
  apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; auto|].
  rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
  apply (upper_spec f F). intros J (w & (P & I & B) & A).
  apply Rmult_le_reg_l with c; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
  apply (upper_spec _ CF). exists (fun x => c * w x). split; [split; [|split]|].
  - intros x. apply Rmult_le_pos; auto; lra.
  - apply int_scal; auto.
  - intros a b AB. rewrite rint_scal by auto. apply Rmult_le_compat_l; auto; lra.
  - intros x. rewrite Rmult_assoc. apply Rmult_le_compat_l; auto; lra.
Qed.
Lemma upper_nonneg f : bounded f -> 0 <= upper f.
Proof. intros F. apply (upper_spec f F). intros J (w & W & _). apply (dominated_pos w); auto. Qed.
Lemma upper_0 : upper (fun _ => 0) = 0.
Proof.
  apply Rle_antisym; [|apply upper_nonneg, bounded_const; lra].
  destruct (e_total e D) as [J0 T]. apply (upper_spec (fun _ => 0)); [apply bounded_const; lra|].
  assert (Z := dominates_bounded (fun _ => 0) 0 J0 T). rewrite Rmult_0_l in Z. apply Z. intros; lra.
Qed.
Lemma upper_scal c f : 0 <= c -> bounded f -> upper (fun x => c * f x) = c * upper f.
Proof.
  intros [C | <-] F.
  - apply Rle_antisym; [apply upper_scal_le; auto|].
    assert (CF : bounded (fun x => c * f x)) by (apply bounded_scal; auto; lra).
    pose proof (upper_scal_le (/ c) _ (Rinv_0_lt_compat c C) CF) as X. cbv beta in X.
    replace (fun x => / c * (c * f x)) with f in X by (apply functional_extensionality; intros; field; lra).
    apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; auto|].
    replace (/ c * (c * upper f)) with (upper f) by (field; lra). exact X.
  - rewrite Rmult_0_l. transitivity (upper (fun _ => 0)); [|apply upper_0].
    f_equal. apply functional_extensionality; intros; lra.
Qed.
Lemma upper_sub f g : bounded f -> bounded g -> upper (fun x => f x + g x) <= upper f + upper g.
Proof.
  intros F G. pose proof (bounded_plus f g F G) as FG.
  assert (X : upper (fun x => f x + g x) - upper g <= upper f); [|lra].
  apply (upper_spec f F). intros J1 (w1 & (P1 & I1 & D1) & A1).
  assert (X : upper (fun x => f x + g x) - J1 <= upper g); [|lra].
  apply (upper_spec g G). intros J2 (w2 & (P2 & I2 & D2) & A2).
  assert (X : upper (fun x => f x + g x) <= J1 + J2); [|lra].
  apply (upper_spec _ FG). exists (fun x => w1 x + w2 x). split; [split; [|split]|].
  - intros x. specialize (P1 x). specialize (P2 x). lra.
  - apply int_plus; auto.
  - intros c d CD. rewrite rint_plus by auto. specialize (D1 c d CD). specialize (D2 c d CD). lra.
  - intros x. specialize (A1 x). specialize (A2 x). lra.
Qed.
(** Where [f * e] is integrable, [upper f] is its integral. *)
Lemma upper_exact f : bounded f -> integrable (fun x => f x * e x) ->
  is_lub (fun y => exists a b, a <= b /\ y = RInt (fun x => f x * e x) a b) (upper f).
Proof.
  intros F I. destruct (upper_spec f F) as [U L]. destruct F as [M B].
  assert (P : forall x, 0 <= f x * e x) by (intros x; apply Rmult_le_pos; auto; apply B). split.
  - intros y (a & b & AB & ->). apply L. intros J (w & (WP & WI & WD) & A).
    apply Rle_trans with (RInt w a b); auto. apply RInt_le; auto.
  - intros y Y. apply U. exists (fun x => f x * e x). split; [split; [|split]|]; auto.
    + intros a b AB. apply Y. exists a, b. auto.
    + intros; lra.
Qed.
Lemma upper_add f g : bounded f -> bounded g -> regular f -> regular g ->
  upper (fun x => f x + g x) = upper f + upper g.
Proof.
  intros F G RF RG. apply Rle_antisym; [apply upper_sub; auto|].
  pose proof (e_regular e D f RF) as IF. pose proof (e_regular e D g RG) as IG.
  destruct (upper_exact f F IF) as [_ LF]. destruct (upper_exact g G IG) as [_ LG].
  destruct (upper_exact _ (bounded_plus f g F G) (e_regular e D _ (regular_plus f g RF RG))) as [U _].
  assert (PF : forall x, 0 <= f x * e x) by (destruct F as [M B]; intros; apply Rmult_le_pos; auto; apply B).
  assert (PG : forall x, 0 <= g x * e x) by (destruct G as [M B]; intros; apply Rmult_le_pos; auto; apply B).
  cut (upper f <= upper (fun x => f x + g x) - upper g); [lra|]. apply LF. intros y (a & b & AB & ->).
  cut (upper g <= upper (fun x => f x + g x) - RInt (fun x => f x * e x) a b); [lra|].
  apply LG. intros y (c & d & CD & ->).
  cut (RInt (fun x => f x * e x) a b + RInt (fun x => g x * e x) c d <= upper (fun x => f x + g x)); [lra|].
  eapply Rle_trans; [|apply U; exists (Rmin a c), (Rmax b d); split; [|reflexivity]].
  - rewrite (RInt_ext (fun x => (f x + g x) * e x) (fun x => f x * e x + g x * e x)) by (intros; simpl; lra).
    rewrite rint_plus by auto.
    pose proof (Rmin_l a c). pose proof (Rmin_r a c). pose proof (Rmax_l b d). pose proof (Rmax_r b d).
    apply Rplus_le_compat; apply rint_mono; auto.
  - pose proof (Rmin_l a c). pose proof (Rmax_l b d). lra.
Qed.
Lemma upper_shift k s f : 0 < k -> (forall x, e x <= k * e (x + s)) -> bounded f ->
  upper f <= k * upper (fun x => f (x - s)).
Proof.
  intros K S F. assert (FS : bounded (fun x => f (x - s))) by (apply (bounded_comp f (fun x => x - s)); auto).
  apply Rmult_le_reg_l with (/ k); [apply Rinv_0_lt_compat; auto|].
  rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
  apply (upper_spec _ FS). intros J (w & (P & I & B) & A).
  apply Rmult_le_reg_l with k; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
  apply (upper_spec f F). exists (fun x => k * w (x + s)). split; [split; [|split]|].
  - intros x. apply Rmult_le_pos; auto; lra.
  - apply int_scal, (int_shift s w); auto.
  - intros a b AB. rewrite (rint_scal k (fun x => w (x + s))) by (apply int_shift; auto).
    rewrite rint_shift by auto. apply Rmult_le_compat_l; [lra | apply B; lra].
  - intros x. specialize (A (x + s)). replace (x + s - s) with x in A by lra.
    destruct F as [M BF]. specialize (BF x).
    apply Rle_trans with (f x * (k * e (x + s))); [apply Rmult_le_compat_l; [lra | apply S]|].
    replace (f x * (k * e (x + s))) with (k * (f x * e (x + s))) by lra. apply Rmult_le_compat_l; lra.
Qed.
Lemma upper_1 : 0 < upper (fun _ => 1).
Proof.
  destruct (e_mass e D) as (a & b & AB & P). apply Rlt_le_trans with (RInt e a b); auto.
  apply (upper_spec (fun _ => 1)); [apply bounded_const; lra|]. intros J (w & (WP & WI & WD) & A).
  apply Rle_trans with (RInt w a b); [|apply WD; auto]. apply RInt_le; auto using e_int.
  intros x _. specialize (A x). lra.
Qed.
(** An interval has little mass: the density is bounded. *)
Lemma int_between a b : integrable (between a b).
Proof.
  assert (Z := int_0). assert (O : integrable (fun _ => 1)) by (intros c d; apply (ex_RInt_const (V := R_NormedModule))).
  apply (int_sides (Rmin a b) (fun _ => 0) (fun x => if Rle_dec x (Rmax a b) then 1 else 0)); auto.
  - apply (int_sides (Rmax a b) (fun _ => 1) (fun _ => 0)); auto; intros x X; destruct Rle_dec; lra.
  - intros x X. unfold between. destruct Rle_dec; lra.
  - intros x X. unfold between. destruct (Rle_dec (Rmin a b) x); lra.
Qed.
Lemma rint_between a b c d : c <= d -> RInt (between a b) c d <= Rabs (b - a).
Proof.
  intros CD. pose proof (int_between a b) as I. assert (P : forall x, 0 <= between a b x) by (intros; apply between_01).
  set (p := Rmin a b). set (q := Rmax a b).
  assert (PQ : p <= q /\ q - p = Rabs (b - a)).
  { unfold p, q, Rmin, Rmax, Rabs. destruct Rle_dec, Rcase_abs; lra. }
  pose proof (Rmin_l c p). pose proof (Rmin_r c p). pose proof (Rmax_l d q). pose proof (Rmax_r d q).
  apply Rle_trans with (RInt (between a b) (Rmin c p) (Rmax d q)); [apply rint_mono; auto|].
  rewrite <- (rint_chasles _ (Rmin c p) p _ I), <- (rint_chasles _ p q _ I).
  assert (X : RInt (between a b) (Rmin c p) p = 0).
  { rewrite <- (rint_0 (Rmin c p) p). apply RInt_ext. rewrite Rmin_left, Rmax_right by lra. intros x Y.
    unfold between. fold p. destruct Rle_dec; lra. }
  assert (Y : RInt (between a b) q (Rmax d q) = 0).
  { rewrite <- (rint_0 q (Rmax d q)). apply RInt_ext. rewrite Rmin_left, Rmax_right by lra. intros x Y.
    unfold between. fold q. destruct (Rle_dec (Rmin a b) x); auto. destruct Rle_dec; lra. }
  assert (Z : RInt (between a b) p q = q - p).
  { transitivity (RInt (fun _ => 1) p q).
    - apply RInt_ext. rewrite Rmin_left, Rmax_right by lra. intros x W. unfold between. fold p q.
      destruct Rle_dec; [destruct Rle_dec|]; lra.
    - rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. lra. }
  lra.
Qed.
Lemma upper_len B a b : (forall x, e x <= B) -> upper (between a b) <= B * Rabs (b - a).
Proof.
  intros EB. assert (BP : 0 <= B) by (specialize (EB 0); pose proof (pos 0); lra).
  apply (upper_spec _ (bounded_between a b)). exists (fun x => B * between a b x). split; [split; [|split]|].
  - intros x. apply Rmult_le_pos; auto. apply between_01.
  - apply int_scal, int_between.
  - intros c d CD. rewrite rint_scal by apply int_between. apply Rmult_le_compat_l; auto using rint_between.
  - intros x. rewrite Rmult_comm. apply Rmult_le_compat_r; auto. apply between_01.
Qed.

Definition expect (f : R -> R) : R := upper f / upper (fun _ => 1).

(** A density that falls by at most [exp (r |s|)] where it is shifted by [s] is a noise. *)
Theorem density_noise r (ok : R -> Prop) : (forall s x, ok s -> e x <= exp (r * Rabs s) * e (x + s)) ->
  continuous_noise r ok expect.
Proof.
  intros S. pose proof upper_1 as K. assert (IK : 0 < / upper (fun _ => 1)) by (apply Rinv_0_lt_compat; auto).
  split; unfold expect, Rdiv.
  - intros c C. replace (fun _ : R => c) with (fun _ : R => c * 1) by (apply functional_extensionality; intros; lra).
    rewrite upper_scal by (auto using bounded_const, Rle_0_1). field. lra.
  - intros f g F G I. apply Rmult_le_compat_r; [lra|]. apply upper_le; auto.
  - intros c f C F. rewrite upper_scal; auto. lra.
  - intros f g F G. rewrite <- Rmult_plus_distr_r. apply Rmult_le_compat_r; [lra|]. apply upper_sub; auto.
  - intros f g F G RF RG. rewrite upper_add; auto. lra.
  - destruct (e_bounded e D) as [B EB]. exists (B * / upper (fun _ => 1)).
    assert (BP : 0 <= B) by (specialize (EB 0); pose proof (pos 0); lra).
    split; [apply Rmult_le_pos; lra|]. intros a b.
    rewrite Rmult_assoc, (Rmult_comm (/ _)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    apply upper_len; auto.
  - intros s f UP F. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. apply upper_shift; auto.
    apply exp_pos.
Qed.
End Upper.
