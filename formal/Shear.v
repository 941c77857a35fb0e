(** * Shifting one noise by an amount that depends on the others

    The laws in [Noise.v] shift by constants.  Where what is released is by how much a winner is ahead,
    its noise is shifted by an affine function of the other noises.  Steps of a small width come as
    close as one likes: what is between two steps lies near the border of a cell, and such strips have
    little mass. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool ZArith FinFun Classical_Prop FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint.
Import ListNotations.
Open Scope R_scope.

Definition shear (i : nat) (A : affine_form) (h : vec) : vec := upd h i (h i + affine_at A h).
Definition strip (a : affine_form) (t : R) (h : vec) : R := if Rle_dec (Rabs (affine_at a h)) t then 1 else 0.

Lemma strip_01 a t h : 0 <= strip a t h <= 1.
Proof. unfold strip. destruct Rle_dec; lra. Qed.
Lemma bounded_strip a t : bounded (strip a t).
Proof. exists 1. apply strip_01. Qed.
(** An affine form does not see a variable without a slope. *)
Lemma affine_blind i a h x : slope i (snd a) = 0 -> affine_at a (upd h i x) = affine_at a h.
Proof.
  intros Z. rewrite (affine_upd i a h x), Z. pose proof (affine_upd i a h (h i)) as E. rewrite Z in E.
  replace (upd h i (h i)) with h in E; [lra|]. apply vec_ext. intros j. unfold upd. destruct (Nat.eqb_spec j i) as [->|]; auto.
Qed.
Lemma inside_blind i P h x : (forall c, In c P -> slope i (snd (fst c)) = 0) -> inside P (upd h i x) = inside P h.
Proof.
  induction P as [|c P IH]; intros Z; simpl; auto. rewrite IH by (intros; apply Z; right; auto). unfold holds.
  rewrite affine_blind by (apply Z; left; auto). auto.
Qed.
Lemma affine_step i a h x : affine_at a (upd h i x) = affine_at a h + slope i (snd a) * (x - h i).
Proof.
  rewrite (affine_upd i a h x). pose proof (affine_upd i a h (h i)) as E.
  replace (upd h i (h i)) with h in E; [lra|]. apply vec_ext. intros j. unfold upd. destruct (Nat.eqb_spec j i) as [->|]; auto.
Qed.
(** The form after the shear. *)
Definition sheared (i : nat) (A a : affine_form) : affine_form :=
  (fst a + slope i (snd a) * fst A, snd a ++ map (fun t => (fst t, slope i (snd a) * snd t)) (snd A)).
Lemma sheared_ok i A a h : affine_at (sheared i A a) h = affine_at a (shear i A h).
Proof.
  unfold shear. rewrite affine_step. unfold sheared, affine_at; simpl.
  assert (T : forall l m, terms_at (l ++ m) h = terms_at l h + terms_at m h) by (induction l as [|[j c] l IH]; intros; simpl; [lra | rewrite IH; lra]).
  rewrite T. assert (M : forall k l, terms_at (map (fun t => (fst t, k * snd t)) l) h = k * terms_at l h) by (induction l as [|[j c] l IH]; simpl; [lra | rewrite IH; lra]).
  rewrite M. lra.
Qed.
Lemma slope_app i l m : slope i (l ++ m) = slope i l + slope i m.
Proof. induction l as [|[j c] l IH]; simpl; [lra | rewrite IH; lra]. Qed.
Lemma slope_scal i k l : slope i (map (fun t => (fst t, k * snd t)) l) = k * slope i l.
Proof. induction l as [|[j c] l IH]; simpl; [lra|]. rewrite IH. destruct (Nat.eqb j i); lra. Qed.
Lemma sheared_slope i A a : slope i (snd A) = 0 -> slope i (snd (sheared i A a)) = slope i (snd a).
Proof. intros Z. unfold sheared; simpl. rewrite slope_app, slope_scal, Z. lra. Qed.

Section Shear.
Variables (u : R) (rate : nat -> Q) (ok : nat -> R -> Prop) (N : nat -> (R -> R) -> R).
Hypothesis L : forall i, continuous_noise (u * Q2R (rate i)) (ok i) (N i).
Notation E := (joint N).
Let LAWS : laws u rate (shiftable ok) E := joint_laws u rate ok N L.

Lemma joint_sub ns f g : bounded f -> bounded g -> E ns (fun h => f h + g h) <= E ns f + E ns g.
Proof.
  intros F G. pose proof (bounded_plus f g F G) as FG.
  assert (X : E ns (fun h => f h + g h) - E ns g <= E ns f); [|lra].
  apply (joint_spec u rate ok N L ns f F). intros J1 (w1 & W1 & A1 & ->).
  assert (X : E ns (fun h => f h + g h) - iterated N ns w1 zero <= E ns g); [|lra].
  apply (joint_spec u rate ok N L ns g G). intros J2 (w2 & W2 & A2 & ->).
  assert (X : E ns (fun h => f h + g h) <= iterated N ns w1 zero + iterated N ns w2 zero); [|lra].
  rewrite <- (iterated_add u rate ok N L) by auto. apply (joint_spec u rate ok N L ns _ FG).
  exists (fun h => w1 h + w2 h). split; [apply piecewise_plus; auto|]. split; auto. intros h. specialize (A1 h). specialize (A2 h). lra.
Qed.

(** ** Strips have little mass *)
Lemma iterated_blind ns f : (forall i h x, In i ns -> f (upd h i x) = f h) -> bounded f -> forall h, iterated N ns f h = f h.
Proof.
  intros B [M F]. induction ns as [|i ns IH]; intros h; simpl; auto. unfold integrate.
  transitivity (N i (fun _ => f h)); [|apply (N_const _ _ _ (L i)); apply F]. f_equal. apply functional_extensionality. intros x.
  rewrite IH by (intros; apply B; right; auto). apply B. left; auto.
Qed.
Lemma strip_iterated a ns : (exists i, In i ns /\ slope i (snd a) <> 0) -> exists C, 0 <= C /\ forall t h, 0 <= t -> iterated N ns (strip a t) h <= C * t.
Proof.
  induction ns as [|i ns IH]; intros (j & J & SJ); [contradiction|].
  destruct (in_dec Nat.eq_dec 0%nat (map (fun k => if Req_EM_T (slope k (snd a)) 0 then 1%nat else 0%nat) ns)) as [I|I].
  - assert (EX : exists k, In k ns /\ slope k (snd a) <> 0).
    { apply in_map_iff in I. destruct I as (k & K & IK). exists k. split; auto. destruct Req_EM_T; [discriminate | auto]. }
    destruct (IH EX) as (C & CP & B). exists C. split; auto. intros t h T. simpl. apply (integrate_bounded _ _ _ i (L i)). intros k.
    split; [apply (iterated_range u rate ok N L ns (strip a t) 1); apply strip_01 | auto].
  - assert (Z : forall k, In k ns -> slope k (snd a) = 0).
    { intros k K. destruct (Req_EM_T (slope k (snd a)) 0) as [|NZ] eqn:EQ; auto. exfalso. apply I. apply in_map_iff. exists k. rewrite EQ. auto. }
    destruct J as [<-|J]; [|exfalso; auto]. destruct (N_len _ _ _ (L i)) as (B & BP & LEN). set (s := slope i (snd a)) in *.
    assert (AS : 0 < Rabs s) by (apply Rabs_pos_lt; auto). assert (IS : 0 < / Rabs s) by (apply Rinv_0_lt_compat; auto).
    exists (B * (2 * / Rabs s)). split; [apply Rmult_le_pos; lra|]. intros t h T. simpl. unfold integrate.
    set (o := affine_at (others i a) h).
    apply Rle_trans with (N i (between ((- t - o) / s) ((t - o) / s))).
    + apply (N_le _ _ _ (L i)).
      * exists 1. intros x. apply (iterated_range u rate ok N L ns (strip a t) 1). apply strip_01.
      * exists 1. apply between_01.
      * intros x. rewrite iterated_blind; [|intros k k' y K; unfold strip; rewrite affine_blind by auto; auto | apply bounded_strip].
        unfold strip. rewrite (affine_upd i a h x). fold s o. destruct Rle_dec as [R|R]; [|apply between_01].
        unfold between. assert (- t <= o + s * x <= t) by (unfold Rabs in R; destruct Rcase_abs; lra).
        assert (XE : x = (o + s * x - o) / s) by (field; auto).
        set (y := o + s * x) in *.
        assert (M1 : Rmin ((- t - o) / s) ((t - o) / s) <= x).
        { rewrite XE. destruct (Rdichotomy s 0 SJ) as [S|S].
          - eapply Rle_trans; [apply Rmin_r|]. unfold Rdiv. assert (/ s < 0) by (apply Rinv_lt_0_compat; auto). nra.
          - eapply Rle_trans; [apply Rmin_l|]. unfold Rdiv. assert (0 < / s) by (apply Rinv_0_lt_compat; auto). nra. }
        assert (M2 : x <= Rmax ((- t - o) / s) ((t - o) / s)).
        { rewrite XE. destruct (Rdichotomy s 0 SJ) as [S|S].
          - eapply Rle_trans; [|apply Rmax_l]. unfold Rdiv. assert (/ s < 0) by (apply Rinv_lt_0_compat; auto). nra.
          - eapply Rle_trans; [|apply Rmax_r]. unfold Rdiv. assert (0 < / s) by (apply Rinv_0_lt_compat; auto). nra. }
        destruct Rle_dec; [destruct Rle_dec; lra | lra].
    + eapply Rle_trans; [apply LEN|]. rewrite Rmult_assoc. apply Rmult_le_compat_l; auto.
      replace ((t - o) / s - (- t - o) / s) with (2 * t * / s) by (field; auto).
      rewrite Rabs_mult, (Rabs_pos_eq (2 * t)), Rabs_inv by lra. lra.
Qed.
Lemma piecewise_strip a t : 0 <= t -> piecewise (strip a t).
Proof.
  intros T. destruct (piecewise_cut (fun _ => 1) (fst a + t, snd a) (piecewise_const 1 Rle_0_1)) as [P1 _].
  destruct (piecewise_cut _ (t - fst a, map (fun x => (fst x, -1 * snd x)) (snd a)) P1) as [P2 _].
  replace (strip a t) with (fun h => if Rle_dec 0 (affine_at (t - fst a, map (fun x => (fst x, -1 * snd x)) (snd a)) h) then
    if Rle_dec 0 (affine_at (fst a + t, snd a) h) then 1 else 0 else 0); auto.
  apply functional_extensionality. intros h. unfold strip, affine_at; simpl.
  assert (M : forall k l, terms_at (map (fun t => (fst t, k * snd t)) l) h = k * terms_at l h) by (induction l as [|[j c] l IH]; simpl; [lra | rewrite IH; lra]).
  rewrite M. set (x := terms_at (snd a) h). unfold Rabs. destruct Rcase_abs; repeat destruct Rle_dec; lra.
Qed.
Lemma strip_small a ns : (exists i, In i ns /\ slope i (snd a) <> 0) -> exists C, 0 <= C /\ forall t, 0 <= t -> E ns (strip a t) <= C * t.
Proof.
  intros X. destruct (strip_iterated a ns X) as (C & CP & B). exists C. split; auto. intros t T.
  rewrite (joint_exact u rate ok N L) by (apply piecewise_strip; auto). auto.
Qed.

(** ** From a shear to a step *)
Variables (ns : list nat) (i : nat) (A : affine_form).
Hypothesis IN : In i ns.
Hypothesis blind : slope i (snd A) = 0.
(** What may change between a shear by [A h] and a step by nearly that. *)
Definition near_step (eta : R) (w e : vec -> R) := forall h x, 0 <= affine_at A h - x <= eta ->
  w (shear i A h) <= w (upd h i (h i + x)) + e h.
Lemma step_cell g P : lipschitz g -> bounded g -> exists C, 0 <= C /\ forall eta, 0 <= eta -> exists e,
  bounded e /\ E ns e <= C * eta /\ near_step eta (fun h => g h * inside P h) e.
Proof.
  intros (K & vs & KP & G) [M B]. assert (MP : 0 <= M) by (pose proof (B zero); lra).
  induction P as [|c P (C & CP & IH)].
  - exists (K * INR (length vs)). pose proof (pos_INR (length vs)). split; [apply Rmult_le_pos; auto|]. intros eta ET.
    assert (KE : 0 <= K * INR (length vs) * eta) by (repeat apply Rmult_le_pos; auto).
    exists (fun _ => K * INR (length vs) * eta). split; [apply bounded_const; auto|]. split; [rewrite (E_const _ _ _ _ LAWS); lra|].
    intros h x X. simpl. rewrite !Rmult_1_r. unfold shear.
    pose proof (G (upd h i (h i + affine_at A h)) (upd h i (h i + x))) as GD.
    pose proof (distance_one vs h i (h i + affine_at A h) (h i + x)) as D.
    replace (h i + affine_at A h - (h i + x)) with (affine_at A h - x) in D by lra. rewrite (Rabs_pos_eq (affine_at A h - x)) in D by lra.
    pose proof (Rle_abs (g (upd h i (h i + affine_at A h)) - g (upd h i (h i + x)))).
    assert (K * distance vs (upd h i (h i + affine_at A h)) (upd h i (h i + x)) <= K * (INR (length vs) * eta)).
    { apply Rmult_le_compat_l; auto. eapply Rle_trans; [exact D|]. apply Rmult_le_compat_l; lra. }
    lra.
  - destruct (Req_EM_T (slope i (snd (fst c))) 0) as [Z|NZ].
    + (* the condition does not see the variable *)
      exists C. split; auto. intros eta ET. destruct (IH eta ET) as (e & BE & EE & NE). exists e. split; auto. split; auto.
      intros h x X. specialize (NE h x X). destruct BE as [Me BE]. specialize (BE h). cbn [inside]. unfold shear in *. unfold holds.
      rewrite !affine_blind by auto. destruct (Bool.eqb _ _); auto. lra.
    + destruct (strip_small (sheared i A (fst c)) ns) as (C' & CP' & SB).
      { exists i. split; auto. rewrite sheared_slope; auto. }
      set (sl := slope i (snd (fst c))) in *. pose proof (Rabs_pos sl) as AP.
      exists (C + M * (C' * Rabs sl)). split; [apply Rplus_le_le_0_compat; auto; repeat apply Rmult_le_pos; auto|]. intros eta ET.
      destruct (IH eta ET) as (e & BE & EE & NE). assert (TE : 0 <= Rabs sl * eta) by (apply Rmult_le_pos; auto).
      exists (fun h => e h + M * strip (sheared i A (fst c)) (Rabs sl * eta) h).
      assert (BS : bounded (fun h => M * strip (sheared i A (fst c)) (Rabs sl * eta) h)) by (apply bounded_scal; auto using bounded_strip).
      split; [apply (bounded_plus e); auto|]. split.
      * eapply Rle_trans; [apply (joint_sub ns e); auto|]. rewrite (E_scal _ _ _ _ LAWS) by (auto using bounded_strip).
        specialize (SB _ TE). apply (Rmult_le_compat_l M) in SB; auto. lra.
      * intros h x X. specialize (NE h x X). destruct BE as [Me BE]. specialize (BE h). cbn [inside].
        pose proof (strip_01 (sheared i A (fst c)) (Rabs sl * eta) h) as ST. pose proof (B (shear i A h)) as Bg. pose proof (B (upd h i (h i + x))) as Bg'.
        destruct (inside_01 P (shear i A h)) as [I1|I1], (inside_01 P (upd h i (h i + x))) as [I2|I2]; rewrite I1, I2 in *.
        all: destruct (holds c (shear i A h)) eqn:H1, (holds c (upd h i (h i + x))) eqn:H2; try nra.
        all: assert (SE : strip (sheared i A (fst c)) (Rabs sl * eta) h = 1); [|rewrite SE in *; nra].
        all: unfold strip; rewrite sheared_ok; unfold holds in H1, H2; unfold shear in *; rewrite affine_step in H1, H2 |- *; fold sl in H1, H2 |- *.
        all: set (y := affine_at (fst c) h) in H1, H2 |- *; set (al := affine_at A h) in H1, H2, X |- *.
        all: assert (R1 : h i + al - h i = al) by lra; assert (R2 : h i + x - h i = x) by lra.
        all: rewrite ?R1, ?R2 in H1; rewrite ?R1, ?R2 in H2; rewrite ?R1, ?R2.
        all: match goal with |- (if ?d then _ else _) = _ => destruct d as [|NR]; [reflexivity | exfalso; apply NR] end.
        all: assert (DX : Rabs (sl * al - sl * x) <= Rabs sl * eta) by
               (rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_pos_eq (al - x)) by lra; apply Rmult_le_compat_l; lra).
        all: destruct (Rle_dec 0 (y + sl * al)), (Rle_dec 0 (y + sl * x)), (snd c); simpl in *; try discriminate.
        all: unfold Rabs in DX |- *; destruct (Rcase_abs (sl * al - sl * x)), (Rcase_abs (y + sl * al)), (Rcase_abs sl); lra.
Qed.
Lemma step_piecewise w : piecewise w -> exists C, 0 <= C /\ forall eta, 0 <= eta -> exists e, bounded e /\ E ns e <= C * eta /\ near_step eta w e.
Proof.
  intros (l & PR & X). replace w with (cells_at l) by (symmetry; apply functional_extensionality; auto). clear X w.
  induction l as [|[g P] l IH].
  - exists 0. split; [lra|]. intros eta _. exists (fun _ => 0). split; [apply bounded_const; lra|].
    split; [rewrite (E_const _ _ _ _ LAWS); lra|]. intros h x _. simpl. lra.
  - destruct (IH (fun p I => PR p (or_intror I))) as (C & CP & I). destruct (PR (g, P) (or_introl eq_refl)) as [LG BG].
    destruct (step_cell g P LG BG) as (C' & CP' & I'). exists (C' + C). split; [lra|]. intros eta ET.
    destruct (I eta ET) as (e & BE & EE & NE). destruct (I' eta ET) as (e' & BE' & EE' & NE').
    exists (fun h => e' h + e h). split; [apply bounded_plus; auto|]. split.
    + eapply Rle_trans; [apply joint_sub; auto|]. lra.
    + intros h x X. specialize (NE h x X). specialize (NE' h x X). cbn [cells_at]. lra.
Qed.

(** ** The price of a shear *)
Variables (P : list condition) (S : R).
Hypothesis blindP : forall c, In c P -> slope i (snd (fst c)) = 0.
Hypothesis SP : 0 <= S.
Hypothesis small : forall h, inside P h = 1 -> Rabs (affine_at A h) <= S.
Hypothesis both : forall j s, ok j s.
Hypothesis UR : 0 <= u * Q2R (rate i).
Hypothesis single : forall s, cost rate ns (upd zero i s) = Q2R (rate i) * Rabs s.

Definition step_of (eta : R) (k : Z) (h : vec) : bool :=
  (if Rle_dec 0 (affine_at (fst A - IZR k * eta, snd A) h) then true else false) &&
  negb (if Rle_dec 0 (affine_at (fst A - IZR (k + 1) * eta, snd A) h) then true else false).
Definition here (eta : R) (k : Z) (h : vec) : bool := (if Req_EM_T (inside P h) 1 then true else false) && step_of eta k h.
Lemma splits_inside Q : splits E ns (fun h => if Req_EM_T (inside Q h) 1 then true else false).
Proof.
  induction Q as [|c Q IH].
  - apply (splits_ext _ _ (fun _ => true)); [|apply (splits_true _ _ _ _ LAWS)]. intros h. simpl. destruct Req_EM_T; auto. lra.
  - assert (SC : splits E ns (fun h => holds c h)).
    { assert (AF : affine (affine_at (fst c))) by (exists (fst c); auto). pose proof (splits_affine _ _ _ _ LAWS ns _ AF) as SA.
      unfold holds. destruct (snd c).
      - apply (splits_ext _ _ _ _ ) with (2 := SA). intros h. destruct Rle_dec; auto.
      - apply (splits_ext _ _ _ _ ) with (2 := splits_not _ _ _ SA). intros h. destruct Rle_dec; auto. }
    apply (splits_ext _ _ _ _) with (2 := splits_and _ _ _ _ SC IH). intros h. simpl. destruct (holds c h); simpl; auto. destruct Req_EM_T; auto. lra.
Qed.
Lemma splits_here eta k : splits E ns (here eta k).
Proof.
  unfold here, step_of. apply splits_and; [apply splits_inside|]. apply splits_and.
  - apply (splits_affine _ _ _ _ LAWS). eexists; intros; reflexivity.
  - apply splits_not. apply (splits_affine _ _ _ _ LAWS). eexists; intros; reflexivity.
Qed.
Lemma step_of_ok eta k h : step_of eta k h = true <-> IZR k * eta <= affine_at A h < IZR (k + 1) * eta.
Proof.
  unfold step_of, affine_at; cbn [fst snd]. rewrite andb_true_iff, negb_true_iff. split.
  - intros [A1 A2]. destruct Rle_dec; [|discriminate]. destruct Rle_dec; [discriminate|]. lra.
  - intros [A1 A2]. destruct Rle_dec; [|lra]. destruct Rle_dec; [lra|]. auto.
Qed.
Lemma here_blind eta k h x : here eta k (upd h i x) = here eta k h.
Proof.
  unfold here, step_of. rewrite inside_blind by auto.
  rewrite (affine_blind i (fst A - IZR k * eta, snd A)), (affine_blind i (fst A - IZR (k + 1) * eta, snd A)) by auto. auto.
Qed.
(** A step that is taken at all is not much longer than the shears. *)
Lemma taken eta k : 0 < eta -> Rabs (IZR k * eta) <= S + eta \/ forall h, here eta k h = false.
Proof.
  intros ET. destruct (Classical_Prop.classic (exists h, here eta k h = true)) as [(h & HK)|NO].
  - left. unfold here in HK. apply andb_true_iff in HK. destruct HK as [I HK]. destruct Req_EM_T as [I1|]; [|discriminate].
    apply step_of_ok in HK. rewrite plus_IZR in HK. pose proof (small h I1) as SM. unfold Rabs in *. repeat destruct Rcase_abs; lra.
  - right. intros h. destruct (here eta k h) eqn:HK; auto. exfalso. eauto.
Qed.
Definition steps (m : nat) : list Z := map (fun n => (Z.of_nat n - Z.of_nat m)%Z) (seq 0 (2 * m)).
Lemma steps_nodup m : NoDup (steps m).
Proof. unfold steps. apply FinFun.Injective_map_NoDup; [intros a b; lia | apply seq_NoDup]. Qed.

Lemma shear_up_to w eta : piecewise w -> 0 < eta -> forall C e, bounded e -> E ns e <= C -> near_step eta w e ->
  E ns (fun h => inside P h * w (shear i A h)) <= exp (u * Q2R (rate i) * (S + eta)) * E ns (fun h => inside P h * w h) + C.
Proof.
  intros W ET C e BE EC NE. pose proof (bounded_piecewise w W) as [M BW]. assert (MP : 0 <= M) by (pose proof (BW zero); lra).
  assert (B1 : forall g : vec -> vec, bounded (fun h => inside P h * w (g h))).
  { intros g. exists M. intros h. pose proof (BW (g h)). destruct (inside_01 P h) as [-> | ->]; lra. }
  assert (BP : bounded (fun h => inside P h * w h)) by exact (B1 (fun h => h)).
  (* enough steps *)
  destruct (archimed ((S + eta) / eta)) as [UP _]. set (m := Z.to_nat (up ((S + eta) / eta))).
  assert (ME : S + eta < IZR (Z.of_nat m) * eta).
  { assert (Q : 0 < (S + eta) / eta) by (apply Rdiv_lt_0_compat; lra).
    assert (UZ : (0 < up ((S + eta) / eta))%Z) by (apply lt_IZR; lra). unfold m. rewrite Z2Nat.id by lia.
    apply (Rmult_lt_compat_r eta) in UP; auto. unfold Rdiv in UP. rewrite Rmult_assoc, Rinv_l in UP by lra. lra. }
  set (f := fun k h => w (upd h i (h i + IZR k * eta))).
  assert (BF : forall k, bounded (f k)) by (intros k; apply (bounded_comp w (fun h => upd h i (h i + IZR k * eta))); exists M; auto).
  (* a shear is a step up to the error *)
  set (core := fun h => fold_right (fun k r => (if here eta k h then f k h else 0) + r) 0 (steps m)).
  assert (COV : forall h, inside P h = 1 -> exists k, In k (steps m) /\ here eta k h = true /\ IZR k * eta <= affine_at A h < IZR (k + 1) * eta).
  { intros h I. pose proof (small h I) as SM. exists (up (affine_at A h / eta) - 1)%Z. destruct (archimed (affine_at A h / eta)) as [U1 U2].
    set (z := up (affine_at A h / eta)) in *.
    assert (X : IZR (z - 1) * eta <= affine_at A h < IZR (z - 1 + 1) * eta).
    { replace (z - 1 + 1)%Z with z by lia. rewrite minus_IZR.
      assert (EQ : affine_at A h / eta * eta = affine_at A h) by (field; lra). split; [|apply (Rmult_lt_compat_r eta) in U1; lra].
      assert (U3 : IZR z - 1 <= affine_at A h / eta) by lra. apply (Rmult_le_compat_r eta) in U3; lra. }
    split; [|split; auto].
    - unfold steps. apply in_map_iff. exists (Z.to_nat (z - 1 + Z.of_nat m)).
      assert (LO : (- Z.of_nat m <= z - 1)%Z).
      { assert (- S <= affine_at A h) by (unfold Rabs in SM; destruct Rcase_abs; lra).
        assert (IZR (- Z.of_nat m) < IZR (z - 1 + 1)); [|apply lt_IZR in H0; lia].
        apply Rmult_lt_reg_r with eta; auto. rewrite opp_IZR. lra. }
      assert (HI : (z - 1 < Z.of_nat m)%Z).
      { assert (affine_at A h <= S) by (unfold Rabs in SM; destruct Rcase_abs; lra). apply lt_IZR. apply Rmult_lt_reg_r with eta; auto. lra. }
      split; [rewrite Z2Nat.id; lia|]. apply in_seq. lia.
    - unfold here. destruct Req_EM_T; [|contradiction]. simpl. apply step_of_ok. auto. }
  (* step by step *)
  assert (ONE : forall k, In k (steps m) -> E ns (fun h => if here eta k h then f k h else 0) <=
    exp (u * Q2R (rate i) * (S + eta)) * E ns (fun h => if here eta k h then w h else 0)).
  { intros k K. destruct (taken eta k ET) as [SM|NONE].
    - eapply Rle_trans; [apply (E_shift _ _ _ _ LAWS ns (upd zero i (IZR k * eta)))|].
      + intros j. apply both.
      + intros j J. unfold upd. destruct (Nat.eqb_spec j i) as [->|]; [contradiction | auto].
      + apply (bounded_cut (here eta k) (f k)); auto.
      + rewrite single. apply Rmult_le_compat.
        * apply exp_nonneg.
        * apply (E_range _ _ _ _ LAWS ns _ M). intros h. destruct (here _ _ _); [apply BW | lra].
        * apply exp_le. rewrite <- Rmult_assoc. apply Rmult_le_compat_l; auto.
        * right. apply E_ext. intros h.
          assert (MI : minus h (upd zero i (IZR k * eta)) = upd h i (h i - IZR k * eta)).
          { apply vec_ext. intros j. unfold minus, upd, zero. destruct (Nat.eqb_spec j i) as [->|]; lra. }
          rewrite MI, here_blind. destruct (here eta k h); auto. unfold f. f_equal. apply vec_ext. intros j. unfold upd.
          rewrite Nat.eqb_refl. destruct (Nat.eqb_spec j i) as [->|]; auto. lra.
    - right. rewrite (E_ext E ns (fun h => if here eta k h then f k h else 0) (fun _ => 0)) by (intros h; rewrite NONE; auto).
      rewrite (E_ext E ns (fun h => if here eta k h then w h else 0) (fun _ => 0)) by (intros h; rewrite NONE; auto).
      rewrite (E_const _ _ _ _ LAWS) by lra. lra. }
  assert (CORE : E ns (fun h => inside P h * w (shear i A h)) <= fold_right (fun k r => E ns (fun h => if here eta k h then f k h else 0) + r) 0 (steps m) + E ns e).
  { set (g := fun h => match find (fun k => here eta k h) (steps m) with Some k => f k h | None => 0 end).
    assert (BG : bounded g).
    { exists M. intros h. unfold g. destruct find as [k|]; [apply BW | lra]. }
    eapply Rle_trans; [apply (E_le _ _ _ _ LAWS ns _ (fun h => g h + e h)); [apply B1 | apply bounded_plus; auto |]|].
    - intros h. destruct BE as [Me BE]. specialize (BE h). destruct (inside_01 P h) as [I|I]; rewrite I; [unfold g; destruct find as [k|]; [pose proof (BW (upd h i (h i + IZR k * eta))); unfold f; lra | lra]|].
      rewrite Rmult_1_l. destruct (COV h I) as (k & K & HK & X). unfold g. destruct (find (fun k => here eta k h) (steps m)) as [k'|] eqn:F.
      + apply find_some in F. destruct F as [_ F]. unfold here in F. apply andb_true_iff in F. destruct F as [_ F]. apply step_of_ok in F.
        unfold f. apply NE. rewrite plus_IZR in F. lra.
      + pose proof (find_none _ _ F k K) as FN. simpl in FN. congruence.
    - eapply Rle_trans; [apply joint_sub; auto|]. apply Rplus_le_compat_r.
      apply (E_cover _ _ _ _ LAWS ns (here eta) f g (steps m)); auto.
      + intros; apply splits_here.
      + intros h NZ. unfold g in NZ. destruct (find (fun k => here eta k h) (steps m)) as [k|] eqn:F; [|lra]. apply find_some in F. exists k. auto.
      + intros k h K HK. unfold g. destruct (find (fun k => here eta k h) (steps m)) as [k'|] eqn:F.
        * apply find_some in F. destruct F as [_ F]. assert (k' = k); [|subst; lra].
          unfold here in F, HK. apply andb_true_iff in F, HK. destruct F as [_ F], HK as [_ HK]. apply step_of_ok in F, HK.
          assert (A1 : IZR k' < IZR (k + 1)) by (apply Rmult_lt_reg_r with eta; auto; lra).
          assert (A2 : IZR k < IZR (k' + 1)) by (apply Rmult_lt_reg_r with eta; auto; lra). apply lt_IZR in A1, A2. lia.
        * pose proof (BW (upd h i (h i + IZR k * eta))). unfold f. lra. }
  eapply Rle_trans; [exact CORE|]. apply Rplus_le_compat; auto.
  eapply Rle_trans; [|apply Rmult_le_compat_l; [apply exp_nonneg|]; apply (E_partition _ _ _ _ LAWS ns (here eta) (fun _ h => w h) _ (steps m)); auto].
  - revert ONE. generalize (steps m). induction l as [|k l IH]; intros ONE; simpl; [lra|]. rewrite Rmult_plus_distr_l.
    apply Rplus_le_compat; [apply ONE; left; auto | apply IH; intros; apply ONE; right; auto].
  - intros; apply splits_here.
  - apply steps_nodup.
  - intros k k' h _ _ HK F. unfold here in F, HK. apply andb_true_iff in F, HK. destruct F as [_ F], HK as [_ HK]. apply step_of_ok in F, HK.
    assert (A1 : IZR k' < IZR (k + 1)) by (apply Rmult_lt_reg_r with eta; auto; lra).
    assert (A2 : IZR k < IZR (k' + 1)) by (apply Rmult_lt_reg_r with eta; auto; lra). apply lt_IZR in A1, A2. lia.
  - intros; exists M; auto.
  - intros k h K HK. unfold here in HK. apply andb_true_iff in HK. destruct HK as [HK _]. destruct Req_EM_T as [I|]; [|discriminate]. rewrite I. lra.
Qed.
Lemma shear_piecewise w : piecewise w ->
  E ns (fun h => inside P h * w (shear i A h)) <= exp (u * Q2R (rate i) * S) * E ns (fun h => inside P h * w h).
Proof.
  intros W. destruct (step_piecewise w W) as (C & CP & ST). set (c := u * Q2R (rate i)) in *.
  set (X := E ns (fun h => inside P h * w (shear i A h))). set (Y := E ns (fun h => inside P h * w h)).
  destruct (bounded_piecewise w W) as [M BW]. assert (MP : 0 <= M) by (pose proof (BW zero); lra).
  assert (YP : 0 <= Y).
  { apply (E_range _ _ _ _ LAWS ns _ M). intros h. pose proof (BW h). destruct (inside_01 P h) as [-> | ->]; lra. }
  assert (UP : forall eta, 0 < eta -> X <= exp (c * (S + eta)) * Y + C * eta).
  { intros eta ET. destruct (ST eta ltac:(lra)) as (e & BE & EE & NE). apply (shear_up_to w eta W ET (C * eta) e); auto. }
  set (Z := exp (c * S) * Y). assert (ZP : 0 <= Z) by (apply Rmult_le_pos; auto using exp_nonneg).
  set (D := 2 * c * Z + C). assert (DP : 0 <= D) by (unfold D; assert (0 <= c * Z) by (apply Rmult_le_pos; auto); lra).
  apply Rnot_lt_le. intros LT. fold Z in LT.
  set (eta := Rmin (/ (2 * (c + 1))) ((X - Z) / (2 * (D + 1)))).
  assert (E1 : 0 < / (2 * (c + 1))) by (apply Rinv_0_lt_compat; lra).
  assert (E2 : 0 < (X - Z) / (2 * (D + 1))) by (apply Rdiv_lt_0_compat; lra).
  assert (ET : 0 < eta) by (unfold eta; apply Rmin_pos; auto).
  assert (C1 : c * eta <= / 2).
  { apply Rle_trans with (c * / (2 * (c + 1))); [apply Rmult_le_compat_l; auto; apply Rmin_l|].
    apply Rmult_le_reg_r with (2 * (c + 1)); [lra|]. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (C2 : D * eta <= (X - Z) / 2).
  { apply Rle_trans with (D * ((X - Z) / (2 * (D + 1)))); [apply Rmult_le_compat_l; auto; apply Rmin_r|].
    apply Rmult_le_reg_r with (2 * (D + 1)); [lra|].
    replace (D * ((X - Z) / (2 * (D + 1))) * (2 * (D + 1))) with (D * (X - Z)) by (field; lra). nra. }
  assert (EX : exp (c * eta) <= 1 + 2 * (c * eta)).
  { assert (CE : 0 <= c * eta) by (apply Rmult_le_pos; lra). pose proof (exp_ineq1_le (- (c * eta))) as I. pose proof (exp_pos (c * eta)) as EPOS.
    rewrite exp_Ropp in I. apply Rmult_le_reg_r with (/ exp (c * eta)); [apply Rinv_0_lt_compat; auto|]. rewrite Rinv_r by lra.
    assert (J : (1 + 2 * (c * eta)) * (1 + - (c * eta)) <= (1 + 2 * (c * eta)) * / exp (c * eta)) by (apply Rmult_le_compat_l; lra). nra. }
  specialize (UP eta ET). rewrite Rmult_plus_distr_l, exp_plus in UP.
  assert (exp (c * S) * exp (c * eta) * Y <= Z * (1 + 2 * (c * eta))).
  { unfold Z. replace (exp (c * S) * exp (c * eta) * Y) with (exp (c * S) * Y * exp (c * eta)) by ring. apply Rmult_le_compat_l; auto. }
  assert (2 * c * Z * eta + C * eta = D * eta) by (unfold D; ring). nra.
Qed.
(** The law: what the shear of one noise costs, for all bounded functions. *)
Theorem joint_shear f : bounded f -> E ns (fun h => inside P h * f h) <=
  exp (u * Q2R (rate i) * S) * E ns (fun h => inside P h * f (upd h i (h i - affine_at A h))).
Proof.
  intros [M B]. set (k := exp (u * Q2R (rate i) * S)). assert (KP : 0 < k) by apply exp_pos. assert (MP : 0 <= M) by (pose proof (B zero); lra).
  assert (FS : bounded (fun h => inside P h * f (upd h i (h i - affine_at A h)))).
  { exists M. intros h. pose proof (B (upd h i (h i - affine_at A h))). destruct (inside_01 P h) as [-> | ->]; lra. }
  assert (FB : bounded (fun h => inside P h * f h)) by (exists M; intros h; pose proof (B h); destruct (inside_01 P h) as [-> | ->]; lra).
  apply Rmult_le_reg_l with (/ k); [apply Rinv_0_lt_compat; auto|]. rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
  apply (joint_spec u rate ok N L ns _ FS). intros J (w & W & AB & ->).
  apply Rmult_le_reg_l with k; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
  destruct (bounded_piecewise w W) as [Mw BW].
  assert (B1 : forall g : vec -> vec, bounded (fun h => inside P h * w (g h))).
  { intros g. exists Mw. intros h. pose proof (BW (g h)). destruct (inside_01 P h) as [-> | ->]; lra. }
  apply Rle_trans with (E ns (fun h => inside P h * w (shear i A h))).
  - apply (E_le _ _ _ _ LAWS); auto. intros h. destruct (inside_01 P h) as [I|I]; rewrite I; [lra|]. rewrite !Rmult_1_l.
    specialize (AB (shear i A h)). unfold shear in AB at 1. rewrite inside_blind, I, Rmult_1_l in AB by auto.
    replace (upd (shear i A h) i (shear i A h i - affine_at A (shear i A h))) with h in AB; auto.
    apply vec_ext. intros j. unfold shear. rewrite affine_blind by auto. unfold upd. rewrite Nat.eqb_refl.
    destruct (Nat.eqb_spec j i) as [->|]; auto. lra.
  - eapply Rle_trans; [apply shear_piecewise; auto|]. fold k. apply Rmult_le_compat_l; [lra|].
    rewrite <- (joint_exact u rate ok N L) by auto. apply (E_le _ _ _ _ LAWS); [exact (B1 (fun h => h)) | exists Mw; auto |].
    intros h. pose proof (BW h). destruct (inside_01 P h) as [-> | ->]; lra.
Qed.
End Shear.
