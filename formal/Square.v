(** * Gaussian noise on data of a fixed length: one linear shift that leaves everything as it was

    If shifting the noise by a linear function of the difference leaves every answer and every released
    number exactly as it is, then the second run is the first one with shifted noise, and the program
    costs what the shift does. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Qabs Qminmax Bool FunctionalExtensionality.
From DP Require Import Noise Power Privacy ZeroConcentrated Joint UpperIntegral ContinuousNoise LatticeNoise Theta
  GaussianNoise SeveralGaussians DiscreteGaussian Program NoiseTable Loop LoopChecker Cells Adjacency Total Certificate.
Import ListNotations.
Open Scope R_scope.

(** Rates 1 / (2 variance), in units of [u]; all noise is discrete, or none is. *)
Record square := Square {
  g_discrete : bool; g_rates : list Q; g_draws : list nat; g_branches : list (path * leaf);
  g_components : list (list box); g_shift : list (nat * list (nat * Q)) }.
Definition grate (K : square) (i : nat) : Q := nth i (g_rates K) 1%Q.
Definition gaussian_law (discrete : bool) (r : R) : (R -> R) -> R :=
  if discrete then sum (gaussian_weight r) else expect (gaussian_density r).
Definition draw_gaussian (K : square) (u : R) : list nat -> (vec -> R) -> R :=
  let N i := gaussian_law (g_discrete K) (u * Q2R (grate K i)) in
  if g_discrete K then fun ns f => iterated N ns f zero else joint N.
Definition run_square (K : square) (u : R) (a : list R) (f : list out -> R) : R :=
  release (draw_gaussian K u) (g_draws K) (g_branches K) (fields a) f.

(** ** The checker *)
Definition moved (K : square) : list (nat * aff) := map (fun x => (fst x, (0%Q, snd x))) (g_shift K).
Definition nothing (a : aff) : bool := Qeq_bool (fst a) 0 && forallb (fun t : nat * Q => Qeq_bool (coef (fst t) (snd a)) 0) (snd a).
Definition difference (a b : aff) : aff := aff_add a (aff_scal (-1) b).
Definition same_answer (sh : list (nat * aff)) (q : question) : bool :=
  match q with
  | Sign f => nothing (change sh (terms f))
  | Greatest [] => true
  | Greatest (f :: fs) => forallb (fun g => nothing (difference (change sh (terms f)) (change sh (terms g)))) fs
  end.
Definition reach (F : box) (a : aff) : Q := Qmax (- least F a) (- least F (aff_scal (-1) a)).
Definition square_price (K : square) (F : box) : Q :=
  fold_right (fun i r => let m := reach F (given (moved K) i no_shift) in Qred (grate K i * (m * m) + r)) 0%Q (g_draws K).
Definition check_square (K : square) (rho : Q) : bool :=
  forallb (fun q => negb (Qle_bool q 0)) (g_rates K) && Qle_bool 0 rho &&
  forallb (fun x => member (fst x) (g_draws K)) (g_shift K) &&
  (negb (g_discrete K) || forallb (fun x => forallb (fun t : nat * Q => qint (snd t)) (snd x)) (g_shift K)) &&
  forallb (fun b => forallb (fun qa : question * nat => same_answer (moved K) (fst qa)) (fst b) &&
                    forallb (fun t => nothing (change (moved K) t)) (out_forms (snd b))) (g_branches K) &&
  forallb (forallb (fun F => distinct (map fst F) && Qle_bool (square_price K F) rho)) (g_components K).
(** Who is a neighbour is said as for [Cells.v]: of the noise only its kind matters there. *)
Definition frame (K : square) : cells :=
  Cells [((if g_discrete K then DiscreteLaplace else Laplace), 1%Q)] [] [] (g_components K) [].

(** ** Correctness *)
Lemma frame_integral K : integral (k_noises (frame K)) = g_discrete K.
Proof. unfold frame; simpl. destruct (g_discrete K); reflexivity. Qed.
Lemma coef_out k l : ~ In k (map fst l) -> coef k l = 0%Q.
Proof.
  induction l as [|[i a] l IH]; simpl; auto. intros N. destruct (Nat.eqb_spec i k) as [->|]; [exfalso; auto|]. apply IH. auto.
Qed.
Lemma nothing_ok a d : nothing a = true -> aff_at a d = 0.
Proof.
  unfold nothing. rewrite andb_true_iff, forallb_forall. intros [C X]. apply qeq_ok in C. unfold aff_at. rewrite C, Q2R_0.
  assert (Z : forall k, Q2R (coef k (snd a)) = 0).
  { intros k. destruct (in_dec Nat.eq_dec k (map fst (snd a))) as [I|I]; [|rewrite coef_out by auto; apply Q2R_0].
    apply in_map_iff in I. destruct I as (t & <- & I). specialize (X t I). apply qeq_ok in X. rewrite X. apply Q2R_0. }
  clear C X. destruct a as [c l]. simpl in *. rewrite Rplus_0_l.
  (* variable by variable *)
  cut (forall ks d, (forall k, In k (map fst l) -> In k ks \/ d k = 0) -> terms_at (map (fun t => (fst t, Q2R (snd t))) l) d = 0).
  { intros H. apply (H (map fst l)). auto. }
  induction ks as [|k ks IH]; intros e S.
  - clear Z. induction l as [|[i x] l IHl]; simpl; auto. rewrite IHl by (intros; apply S; right; auto).
    destruct (S i (or_introl eq_refl)) as [[]| ->]. lra.
  - rewrite (terms_once k l e), Z, Rmult_0_l, Rplus_0_l. apply IH. intros j J. unfold upd.
    destruct (Nat.eqb_spec j k) as [->|NE]; [right; auto|]. destruct (S j J) as [[E|I]|E]; auto. congruence.
Qed.
Lemma difference_ok a b d : aff_at (difference a b) d = aff_at a d - aff_at b d.
Proof. unfold difference. rewrite aff_add_ok, neg_ok. lra. Qed.
Lemma forallb_ext_in {A} (f g : A -> bool) l : (forall x, In x l -> f x = g x) -> forallb f l = forallb g l.
Proof. induction l as [|x l IH]; simpl; intros E; auto. rewrite E, IH; auto. Qed.
Lemma greatest_same x y n : (forall i j, (i < n)%nat -> (j < n)%nat -> x i - x j = y i - y j) -> greatest x n = greatest y n.
Proof.
  intros X. assert (W : forall i, (i < n)%nat -> wins x n i = wins y n i).
  { intros i I. unfold wins. apply forallb_ext_in. intros j J. apply in_seq in J. unfold beats.
    rewrite (X j i), (X i j) by lia. auto. }
  destruct (Nat.eq_dec n 0) as [->|N]; [reflexivity|].
  destruct (winner_exists x n ltac:(lia)) as (i & I & WI). pose proof WI as WY. rewrite (W i I) in WY.
  apply (greatest_spec x n i I) in WI. apply (greatest_spec y n i I) in WY. congruence.
Qed.
Lemma same_answer_ok sh q d e1 e2 : same_answer sh q = true ->
  (fun s => e2 s - e1 s) = mkenv d (shift_at sh d) zero -> answer q e1 = answer q e2.
Proof.
  assert (V : (fun s => e2 s - e1 s) = mkenv d (shift_at sh d) zero -> forall f, feval f e2 - feval f e1 = aff_at (change sh (terms f)) d).
  { intros DE f. unfold feval. rewrite <- change_ok, <- DE, leval_minus. lra. }
  intros SA DE. specialize (V DE). destruct q as [f|[|f fs]]; simpl in SA |- *; auto.
  - specialize (V f). rewrite (nothing_ok _ d SA) in V. replace (feval f e2) with (feval f e1) by lra. auto.
  - apply greatest_same. intros i j I J. unfold value.
    assert (Z : forall k, (k < S (length fs))%nat -> feval (nth k (f :: fs) (Form 0 [])) e2 - feval (nth k (f :: fs) (Form 0 [])) e1 = feval f e2 - feval f e1).
    { intros [|k] K; auto. change (nth (S k) (f :: fs) (Form 0 [])) with (nth k fs (Form 0 [])). rewrite forallb_forall in SA.
      assert (KL : (k < length fs)%nat) by lia. specialize (SA (nth k fs (Form 0 [])) (nth_In fs _ KL)). apply (nothing_ok _ d) in SA. rewrite difference_ok in SA.
      rewrite !V. lra. }
    pose proof (Z i I). pose proof (Z j J). lra.
Qed.

Section Correct.
Variables (K : square) (rho : Q).
Hypothesis OK : check_square K rho = true.
Lemma square_parts : (forall q, In q (g_rates K) -> 0 < Q2R q) /\ 0 <= Q2R rho /\
  (forall x, In x (g_shift K) -> In (fst x) (g_draws K)) /\
  (g_discrete K = true -> forall x t, In x (g_shift K) -> In t (snd x) -> qint (snd t) = true) /\
  (forall p l, In (p, l) (g_branches K) -> (forall q a, In (q, a) p -> same_answer (moved K) q = true) /\
     forall t, In t (out_forms l) -> nothing (change (moved K) t) = true) /\
  (forall g faces F, nth_error (g_components K) g = Some faces -> In F faces -> NoDup (map fst F) /\ Q2R (square_price K F) <= Q2R rho).
Proof.
  pose proof OK as O. unfold check_square in O. rewrite !andb_true_iff, !forallb_forall in O.
  destruct O as [[[[[R P] M] I] B] F]. repeat split.
  - intros q Q. specialize (R q Q). apply negb_true_iff in R. rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros L.
    apply Qle_bool_iff in L. congruence.
  - rewrite <- Q2R_0. apply qle_ok; auto.
  - intros x X. apply member_ok. auto.
  - intros D x t X T. rewrite D in I. simpl in I. rewrite forallb_forall in I. specialize (I x X). rewrite forallb_forall in I. auto.
  - intros q a Q. specialize (B _ H). simpl in B. apply andb_true_iff in B. destruct B as [B _]. rewrite forallb_forall in B. apply (B (q, a) Q).
  - intros t T. specialize (B _ H). simpl in B. apply andb_true_iff in B. destruct B as [_ B]. rewrite forallb_forall in B. auto.
  - apply nth_error_In in H. specialize (F _ H). rewrite forallb_forall in F. specialize (F _ H0). apply andb_true_iff in F. apply distinct_ok, F.
  - apply nth_error_In in H. specialize (F _ H). rewrite forallb_forall in F. specialize (F _ H0). apply andb_true_iff in F. apply qle_ok, F.
Qed.
Lemma grate_pos i : 0 < Q2R (grate K i).
Proof.
  unfold grate. destruct (nth_in_or_default i (g_rates K) 1%Q) as [I | ->]; [apply square_parts; auto | rewrite Q2R_1; lra].
Qed.
Theorem gaussian_laws u : 0 < u ->
  renyi_laws u (grate K) (fun s => g_discrete K = true -> forall i, exists z, s i = IZR z) (draw_gaussian K u).
Proof.
  intros U. assert (RP : forall i, 0 < u * Q2R (grate K i)) by (intros; apply Rmult_lt_0_compat; auto using grate_pos).
  unfold draw_gaussian, gaussian_law. destruct (g_discrete K).
  - destruct (iterated_renyi_laws u (grate K) (fun _ s => exists z, s = IZR z) (fun i => sum (gaussian_weight (u * Q2R (grate K i))))) as [A B C].
    + intros i. apply discrete_gaussian_noise; auto.
    + split; auto.
  - destruct (joint_renyi_laws u (grate K) (fun _ _ => True) (fun i => expect (gaussian_density (u * Q2R (grate K i))))
      (fun i => gaussian_renyi_noise _ (RP i)) (fun _ s => s = 0) (fun i => gaussian_noise _ (RP i) _)) as [A B C].
    split; auto.
Qed.
Lemma gaussian_scal u : 0 < u -> forall c, 0 <= c -> forall f, bounded f ->
  draw_gaussian K u (g_draws K) (fun h => c * f h) = c * draw_gaussian K u (g_draws K) f.
Proof.
  intros U c C f F. assert (RP : forall i, 0 < u * Q2R (grate K i)) by (intros; apply Rmult_lt_0_compat; auto using grate_pos).
  unfold draw_gaussian, gaussian_law. destruct (g_discrete K).
  - apply (renyi_scal u (grate K) (fun _ s => exists z, s = IZR z) (fun i => sum (gaussian_weight (u * Q2R (grate K i))))); auto.
    intros i. apply discrete_gaussian_noise; auto.
  - apply (joint_scal u (grate K) (fun _ s => s = 0) (fun i => expect (gaussian_density (u * Q2R (grate K i))))); auto.
    intros i. apply gaussian_noise; auto.
Qed.
Lemma reach_ok F a d : NoDup (map fst F) -> in_box F d -> Rabs (aff_at a d) <= Q2R (reach F a).
Proof.
  intros ND B. pose proof (least_ok F a d ND B) as L1. pose proof (least_ok F (aff_scal (-1) a) d ND B) as L2. rewrite neg_ok in L2.
  pose proof (Qle_Rle _ _ (Q.le_max_l (- least F a) (- least F (aff_scal (-1) a)))) as M1.
  pose proof (Qle_Rle _ _ (Q.le_max_r (- least F a) (- least F (aff_scal (-1) a)))) as M2.
  rewrite !Q2R_opp in M1, M2. unfold reach. apply Rabs_le. lra.
Qed.
Let shift d := shift_at (moved K) d.
Lemma squares_face F d : NoDup (map fst F) -> in_box F d -> squares (grate K) (g_draws K) (shift d) <= Q2R (square_price K F).
Proof.
  intros ND B. unfold square_price, shift, shift_at. induction (g_draws K) as [|i ns IH]; cbn [squares fold_right]; [rewrite Q2R_0; lra|].
  cbv zeta. rewrite Q2R_red, Q2R_plus, !Q2R_mult. apply Rplus_le_compat; auto.
  apply Rmult_le_compat_l; [left; apply grate_pos|]. pose proof (reach_ok F (given (moved K) i no_shift) d ND B) as R.
  set (x := aff_at (given (moved K) i no_shift) d) in *. replace (x * x) with (Rabs x * Rabs x).
  - pose proof (Rabs_pos x). apply Rmult_le_compat; auto.
  - rewrite <- Rabs_mult. apply Rabs_pos_eq, Rle_0_sqr.
Qed.
Lemma shift_linear i t d1 d2 d : mixed t d1 d2 d -> shift d i = t * shift d1 i + (1 - t) * shift d2 i.
Proof.
  intros X. unfold shift, shift_at, given. destruct (assoc i (moved K)) as [a|] eqn:AS; [|rewrite !no_shift_ok; lra].
  apply assoc_in in AS. unfold moved in AS. apply in_map_iff in AS. destruct AS as ([j l] & E & _). injection E as _ <-.
  unfold aff_at; simpl. rewrite Q2R_0, !Rplus_0_l. induction l as [|[k c] l IH]; simpl; [lra|]. rewrite IH, (X k). lra.
Qed.
Lemma squares_mix t d1 d2 d : 0 <= t <= 1 -> mixed t d1 d2 d -> squares (grate K) (g_draws K) (shift d) <=
  t * squares (grate K) (g_draws K) (shift d1) + (1 - t) * squares (grate K) (g_draws K) (shift d2).
Proof.
  intros T X. induction (g_draws K) as [|i ns IH]; cbn [squares]; [lra|]. rewrite (shift_linear i t d1 d2 d X).
  pose proof (grate_pos i) as R. set (x := shift d1 i). set (y := shift d2 i).
  assert (SQ : (t * x + (1 - t) * y) * (t * x + (1 - t) * y) <= t * (x * x) + (1 - t) * (y * y)).
  { assert (0 <= t * (1 - t) * ((x - y) * (x - y))); [|nra]. apply Rmult_le_pos; [nra | apply Rle_0_sqr]. }
  apply (Rmult_le_compat_l (Q2R (grate K i))) in SQ; [|lra]. nra.
Qed.
Lemma squares_spanned g faces d : nth_error (g_components K) g = Some faces -> spanned (frame K) faces d ->
  squares (grate K) (g_draws K) (shift d) <= Q2R rho /\ (g_discrete K = true -> forall i, exists z, shift d i = IZR z).
Proof.
  destruct square_parts as (_ & RP & _ & INT & _ & FA). intros NG.
  assert (WH : forall d, (forall i, exists z, d i = IZR z) -> g_discrete K = true -> forall i, exists z, shift d i = IZR z).
  { intros e Z D i. unfold shift, shift_at, given. destruct (assoc i (moved K)) as [a|] eqn:AS; [|exists 0%Z; apply no_shift_ok].
    apply assoc_in in AS. unfold moved in AS. apply in_map_iff in AS. destruct AS as (x & E & I). injection E as _ <-.
    apply whole_aff_ok; auto. unfold whole_aff. apply andb_true_iff. split; [reflexivity|]. apply forallb_forall. intros t T. eapply INT; eauto. }
  induction 1 as [d Z | F d IF B ZD | t d1 d2 d NI TB S1 [I1 _] S2 [I2 _] X].
  - assert (S0 : forall i, shift d i = 0).
    { intros i. rewrite (shift_linear i 0 d (fun _ => 0) d) by (intros j; rewrite Z; lra). rewrite Rmult_0_l, Rplus_0_l, Rminus_0_r, Rmult_1_l.
      unfold shift, shift_at, given. destruct (assoc i (moved K)) as [a|] eqn:AS; [|apply no_shift_ok].
      apply assoc_in in AS. unfold moved in AS. apply in_map_iff in AS. destruct AS as (x & E & I). injection E as _ <-.
      unfold aff_at; simpl. rewrite Q2R_0, Rplus_0_l. induction (snd x) as [|[k c] l IH]; simpl; [auto|]. rewrite IH. lra. }
    split; [|intros; exists 0%Z; apply S0]. replace (squares (grate K) (g_draws K) (shift d)) with 0; auto.
    induction (g_draws K) as [|i ns IH]; simpl; auto. rewrite <- IH, S0. lra.
  - destruct (FA g faces F NG IF) as [ND PR]. split.
    + eapply Rle_trans; [apply (squares_face F d ND B) | auto].
    + intros D. apply WH; auto. apply ZD. rewrite frame_integral. auto.
  - split; [|intros D; rewrite frame_integral in NI; congruence].
    eapply Rle_trans; [apply (squares_mix t d1 d2 d TB X)|]. nra.
Qed.
(** The second run is the first one with shifted noise. *)
Lemma same_pick bs d q1 q2 h f : incl bs (g_branches K) -> minus q2 q1 = d ->
  pick bs (mkenv q1 (minus h (shift d)) zero) (fun l => f (map (emit (mkenv q1 (minus h (shift d)) zero)) (outs l))) =
  pick bs (mkenv q2 h zero) (fun l => f (map (emit (mkenv q2 h zero)) (outs l))) .
Proof.
  intros IN DE. destruct square_parts as (_ & _ & _ & _ & BR & _).
  set (e1 := mkenv q1 (minus h (shift d)) zero). set (e2 := mkenv q2 h zero).
  assert (EE : (fun s => e2 s - e1 s) = mkenv d (shift_at (moved K) d) zero).
  { apply functional_extensionality. intros [i|i|i]; simpl; rewrite <- ?DE; unfold minus, shift, zero; rewrite ?DE; lra. }
  unfold pick. induction bs as [|[p l] bs IH]; simpl; auto.
  destruct (BR p l (IN _ (or_introl eq_refl))) as [SA SO].
  assert (ME : meets p e1 = meets p e2).
  { unfold meets. apply forallb_ext_in. intros [q a] I. simpl. rewrite (same_answer_ok (moved K) q d e1 e2); eauto. }
  rewrite ME. destruct (meets p e2); [|apply IH; intros x X; apply IN; right; auto]. simpl. f_equal.
  apply map_ext_in. intros [t|g] I; simpl; auto. f_equal. unfold feval.
  assert (T : In (terms g) (out_forms l)) by (unfold out_forms; apply in_flat_map; exists (SNum g); simpl; auto).
  specialize (SO _ T). apply (nothing_ok _ d) in SO. rewrite <- change_ok, <- EE, leval_minus in SO. lra.
Qed.
Theorem square_sound near : covered_by (frame K) near -> forall u, 0 < u -> zero_concentrated near (u * Q2R rho) (run_square K u).
Proof.
  intros CO u U a b N alpha A f F. destruct (CO a b N) as (g & faces & NG & SP). simpl in NG.
  destruct (squares_spanned g faces _ NG SP) as [PR WH]. set (d := minus (fields b) (fields a)) in *.
  destruct (gaussian_laws u U) as [_ GL GS]. pose proof (dual_above _ A) as BA. set (be := dual alpha) in *.
  unfold run_square, release. set (ns := g_draws K). cbv zeta.
  set (F1 := fun h => pick (g_branches K) (mkenv (fields a) h zero) (fun l => f (map (emit (mkenv (fields a) h zero)) (outs l)))).
  assert (BP : forall q (f : list out -> R), bounded f -> bounded (fun h => pick (g_branches K) (mkenv q h zero) (fun l => f (map (emit (mkenv q h zero)) (outs l))))).
  { intros q f' [M FB]. exists M. intros h. apply pick_range; [intros; apply FB|]. pose proof (FB []). lra. }
  assert (B1 : bounded F1) by (apply BP; auto).
  assert (SUP : forall i, ~ In i ns -> shift d i = 0).
  { intros i I. unfold shift, shift_at, given. destruct (assoc i (moved K)) as [x|] eqn:AS; [|apply no_shift_ok].
    exfalso. apply I. apply assoc_in in AS. unfold moved in AS. apply in_map_iff in AS. destruct AS as (y & E & J).
    injection E as <- _. apply square_parts; auto. }
  eapply Rle_trans; [apply (GS ns alpha (shift d) F1); auto|]. fold be.
  assert (FP : bounded (fun o => power (f o) be)) by (apply bounded_power; auto; lra).
  apply Rmult_le_compat; [apply exp_nonneg | | |].
  - destruct (gaussian_laws u U) as [GC _ _]. rewrite <- (GC ns 0) at 1 by lra. apply GL.
    + apply bounded_const; lra.
    + apply (bounded_power (fun h => F1 (minus h (shift d)))); [lra|]. apply (bounded_comp F1 (fun h => minus h (shift d))); auto.
    + intros; apply power_nonneg.
  - apply exp_le. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra | exact PR].
  - apply GL.
    + apply (bounded_power (fun h => F1 (minus h (shift d)))); [lra|]. apply (bounded_comp F1 (fun h => minus h (shift d))); auto.
    + apply (BP (fields b) (fun o => power (f o) be)); auto.
    + intros h. unfold F1. rewrite (same_pick (g_branches K) d (fields a) (fields b) h f); [|apply incl_refl | reflexivity].
      unfold pick. destruct find; [lra | rewrite power_0; lra].
Qed.
Theorem square_mass : complete (g_branches K) = true -> forall u, 0 < u -> mass_one (run_square K u).
Proof.
  intros CO u U a c C. unfold run_square, release. destruct (gaussian_laws u U) as [GC _ _].
  transitivity (draw_gaussian K u (g_draws K) (fun _ => c)); [|apply GC; auto]. f_equal.
  apply functional_extensionality. intros h. apply (pick_complete (g_branches K) _ _ (fun x => x = c)); auto.
Qed.
End Correct.
Lemma concentrated_or {A O} (n1 n2 : A -> A -> Prop) rho (M : A -> (O -> R) -> R) :
  zero_concentrated n1 rho M -> zero_concentrated n2 rho M -> zero_concentrated (fun a b => n1 a b \/ n2 a b) rho M.
Proof. intros P Q a b [N|N]; auto. Qed.
