(** * The accountant of (epsilon, delta)

    Programs of stages, each of which may depend on all that was seen before: Gaussian noise added
    to values of the data, and stages of other kinds that are (e, d)-close for neighbours.  Gaussian
    stages add up their squares, the others their e and their d ([mixed_curve]); the curve of Gaussian
    noise then gives delta ([accountant_private]), or Gaussian differential privacy. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Power Privacy Joint UpperIntegral ContinuousNoise GaussianNoise SeveralGaussians GaussianCurve SeveralCurves
  NormalNumbers NoiseTable LoopChecker Shear Stages.
Import ListNotations.
Open Scope R_scope.

Inductive mixed (A O : Type) : Type :=
| Done (o : O)
| Gaussian (rates : nat -> Q) (size : nat) (values : A -> vec) (next : vec -> mixed A O)
| Other (X : Type) (M : A -> (X -> R) -> R) (next : X -> mixed A O).
Arguments Done {A O}. Arguments Gaussian {A O}. Arguments Other {A O}.
Fixpoint run_mixed {A O} (t : mixed A O) (a : A) (f : O -> R) : R :=
  match t with
  | Done o => f o
  | Gaussian rates n values next => gaussian_draw rates (seq 0 n) (fun h => run_mixed (next (plus (values a) h)) a f)
  | Other X M next => M a (fun x => run_mixed (next x) a f)
  end.

(** ** Costs of ways: a Gaussian stage by the sum of (move / sigma)^2, others by e and d *)
Inductive step := Squared (c : Q) | Close (e d : Q).
Definition squared_of (s : step) : Q := match s with Squared c => c | Close _ _ => 0%Q end.
Definition epsilon_of (s : step) : Q := match s with Squared _ => 0%Q | Close e _ => e end.
Definition delta_of (s : step) : Q := match s with Squared _ => 0%Q | Close _ d => d end.
Definition summed (part : step -> Q) (w : list step) : Q := fold_right (fun s r => Qred (part s + r)) 0%Q w.
Definition same_step (s s' : step) : bool := Qeq_bool (squared_of s) (squared_of s') && Qeq_bool (epsilon_of s) (epsilon_of s') && Qeq_bool (delta_of s) (delta_of s').
Definition after_step (s : step) (ws : list (list step)) : list (list step) :=
  flat_map (fun w => match w with s' :: w => if same_step s' s then [w] else [] | [] => [] end) ws.
Definition at_most (part : step -> Q) (ws : list (list step)) (B : R) := forall w, In w ws -> Q2R (summed part w) <= B.
Lemma same_step_ok s s' : same_step s s' = true ->
  Q2R (squared_of s) = Q2R (squared_of s') /\ Q2R (epsilon_of s) = Q2R (epsilon_of s') /\ Q2R (delta_of s) = Q2R (delta_of s').
Proof. unfold same_step. rewrite !andb_true_iff. intros [[A B] C]. auto using qeq_ok. Qed.
Lemma at_most_after part ws B s : (part = squared_of \/ part = epsilon_of \/ part = delta_of) ->
  at_most part ws B -> at_most part (after_step s ws) (B - Q2R (part s)).
Proof.
  intros K P w I. apply in_flat_map in I. destruct I as ([|s' w'] & J & I); [contradiction|].
  destruct (same_step s' s) eqn:E; [|contradiction]. destruct I as [<-|[]]. specialize (P _ J). apply same_step_ok in E.
  unfold summed in P; cbn [fold_right] in P. fold (summed part w') in P. rewrite Q2R_red, Q2R_plus in P.
  assert (Q2R (part s') = Q2R (part s)) by (destruct K as [->|[->| ->]]; tauto). lra.
Qed.

Section Programs.
Context {A O : Type}.
Variable near : A -> A -> Prop.
Definition moved (n : nat) (values : A -> vec) (a b : A) : vec := fun i => if Nat.ltb i n then values a i - values b i else 0.
(** The stages of a program cost no more than those of one of the ways, whatever was seen. *)
Fixpoint within_steps (ws : list (list step)) (t : mixed A O) : Prop :=
  match t with
  | Done _ => In [] ws
  | Gaussian rates n values next => (forall i, 0 < Q2R (rates i)) /\ exists c,
      (forall a b, near a b -> 2 * squares rates (seq 0 n) (moved n values a b) <= Q2R c) /\
      (forall x, next x = next (shown n x)) /\ forall x, within_steps (after_step (Squared c) ws) (next x)
  | Other X M next => (forall a, expectation (M a)) /\ exists e d,
      (forall a b, near a b -> close (Q2R e) (Q2R d) (M a) (M b)) /\ forall x, within_steps (after_step (Close e d) ws) (next x)
  end.
Let C (rates : nat -> Q) : (forall i, 0 < Q2R (rates i)) -> forall i,
  continuous_noise (1 * Q2R (rates i)) (fun s => s = 0) (expect (gaussian_density (1 * Q2R (rates i)))).
Proof. intros R i. apply gaussian_noise. specialize (R i). lra. Qed.
Lemma mixed_range (t : mixed A O) : forall ws, within_steps ws t -> forall a f, test f -> 0 <= run_mixed t a f <= 1.
Proof.
  induction t as [o|rates n values next IH|X M next IH]; intros ws W a f T; simpl; auto.
  - destruct W as (R & c & CC & _ & W). pose proof (C rates R) as CN.
    assert (BF : forall h, 0 <= run_mixed (next (plus (values a) h)) a f <= 1) by (intros h; eapply IH; eauto).
    unfold gaussian_draw. split.
    + eapply Rle_trans; [right; symmetry; apply (joint_const 1 rates _ _ CN (seq 0 n) 0); lra|].
      apply (joint_le 1 rates _ _ CN); [apply bounded_const; lra | exists 1; auto | intros; apply BF].
    + eapply Rle_trans; [|right; apply (joint_const 1 rates _ _ CN (seq 0 n) 1); lra].
      apply (joint_le 1 rates _ _ CN); [exists 1; auto | apply bounded_const; lra | intros; apply BF].
  - destruct W as (E & e & d & CL & W). apply P_range; auto; [lra|]. intros x. eapply IH; eauto.
Qed.
Lemma inhabited_of (X : Type) (M : (X -> R) -> R) : expectation M -> exists x : X, True.
Proof.
  intros E. apply Classical_Prop.NNPP. intros N. pose proof (P_const M E 1 ltac:(lra)) as C1. pose proof (P_const M E 0 ltac:(lra)) as C0.
  assert (EQ : (fun _ : X => 1) = (fun _ => 0)) by (apply functional_extensionality; intros x; exfalso; apply N; exists x; auto).
  rewrite EQ in C1. lra.
Qed.
(** What is left of a budget that some way keeps is not negative. *)
Lemma left_squared (t : mixed A O) a b : near a b -> forall ws B, within_steps ws t -> at_most squared_of ws B -> 0 <= B.
Proof.
  intros NB. induction t as [o|rates n values next IH|X M next IH]; intros ws B W P; simpl in W.
  - specialize (P [] W). cbn in P. rewrite Q2R_0 in P. auto.
  - destruct W as (R & c & CC & _ & W). specialize (IH zero _ (B - Q2R c) (W zero)).
    pose proof (squares_nonneg rates R (seq 0 n) (moved n values a b)). specialize (CC a b NB).
    assert (0 <= B - Q2R c); [|lra]. apply IH. apply (at_most_after squared_of ws B (Squared c)); auto.
  - destruct W as (E & e & d & CL & W). destruct (inhabited_of X (M a) (E a)) as [x _].
    apply (IH x (after_step (Close e d) ws) B (W x)). intros w I.
    pose proof (at_most_after squared_of ws B (Close e d) (or_introl eq_refl) P w I) as Q. cbn in Q. rewrite Q2R_0 in Q. lra.
Qed.
Lemma left_delta (t : mixed A O) a b : near a b -> forall ws B, within_steps ws t -> at_most delta_of ws B -> 0 <= B.
Proof.
  intros NB. induction t as [o|rates n values next IH|X M next IH]; intros ws B W P; simpl in W.
  - specialize (P [] W). cbn in P. rewrite Q2R_0 in P. auto.
  - destruct W as (R & c & CC & _ & W). apply (IH zero (after_step (Squared c) ws) B (W zero)). intros w I.
    pose proof (at_most_after delta_of ws B (Squared c) (or_intror (or_intror eq_refl)) P w I) as Q. cbn in Q. rewrite Q2R_0 in Q. lra.
  - destruct W as (E & e & d & CL & W). destruct (inhabited_of X (M a) (E a)) as [x _].
    specialize (CL a b NB (fun _ => 0)). rewrite !P_const in CL by (auto; lra).
    assert (0 <= Q2R d) by (assert (0 <= exp (Q2R e) * 0 + Q2R d) by (apply CL; intros y; lra); lra).
    assert (0 <= B - Q2R d); [|lra]. apply (IH x (after_step (Close e d) ws) _ (W x)). apply (at_most_after delta_of ws B (Close e d)); auto.
Qed.
(** The bound, for tests of any sharpness [t]. *)
Theorem mixed_curve (p : mixed A O) a b m : near a b -> 0 < m -> forall f, test f ->
  forall ws B E D, within_steps ws p -> at_most squared_of ws B -> at_most epsilon_of ws E -> at_most delta_of ws D ->
  forall t, 0 < t -> run_mixed p a f <= t * run_mixed p b f + curve (sqrt (m * m + B)) (t * exp (- E)) + D.
Proof.
  intros NB MP f T. assert (MM : 0 < m * m) by (apply Rmult_lt_0_compat; auto).
  induction p as [o|rates n values next IH|X M next IH]; intros ws B E D W PB PE PD t TP.
  - simpl. pose proof (PB [] W) as B0. pose proof (PE [] W) as E0. pose proof (PD [] W) as D0. cbn in B0, E0, D0. rewrite Q2R_0 in *.
    assert (EX : exp (- E) <= 1) by (rewrite <- exp_0; apply exp_le; lra). pose proof (exp_pos (- E)).
    assert (TE : 0 < t * exp (- E) <= t).
    { split; [apply Rmult_lt_0_compat; auto|]. rewrite <- (Rmult_1_r t) at 2. apply Rmult_le_compat_l; lra. }
    pose proof (curve_line (sqrt (m * m + B)) (t * exp (- E)) ltac:(lra)). pose proof (curve_range (sqrt (m * m + B)) (t * exp (- E)) ltac:(lra)).
    specialize (T o). destruct (Rle_dec 1 t); nra.
  - pose proof W as WW. simpl in WW. destruct WW as (R & c & CC & X & WN). specialize (CC a b NB). pose proof (C rates R) as CN. simpl.
    set (s := moved n values a b) in *. set (N := fun i => expect (gaussian_density (1 * Q2R (rates i)))) in *.
    change (gaussian_draw rates) with (joint N). set (ns := seq 0 n) in *.
    set (F := fun h => run_mixed (next (plus (values a) h)) a f). set (G := fun h => run_mixed (next (plus (values b) h)) b f).
    assert (RF : forall h, 0 <= F h <= 1) by (intros h; eapply mixed_range; eauto).
    assert (RG : forall h, 0 <= G h <= 1) by (intros h; eapply mixed_range; eauto).
    assert (PB' : at_most squared_of (after_step (Squared c) ws) (B - Q2R c)) by (apply (at_most_after squared_of ws B (Squared c)); auto).
    assert (PE' : at_most epsilon_of (after_step (Squared c) ws) E).
    { intros w I. pose proof (at_most_after epsilon_of ws E (Squared c) (or_intror (or_introl eq_refl)) PE w I) as Q. cbn in Q. rewrite Q2R_0 in Q. lra. }
    assert (PD' : at_most delta_of (after_step (Squared c) ws) D).
    { intros w I. pose proof (at_most_after delta_of ws D (Squared c) (or_intror (or_intror eq_refl)) PD w I) as Q. cbn in Q. rewrite Q2R_0 in Q. lra. }
    pose proof (left_squared _ a b NB _ _ (WN zero) PB') as BP. pose proof (left_delta _ a b NB _ _ (WN zero) PD') as DP.
    set (m' := sqrt (m * m + (B - Q2R c))).
    assert (M2 : m' * m' = m * m + (B - Q2R c)) by (apply sqrt_sqrt; lra). assert (MP' : 0 < m') by (apply sqrt_lt_R0; lra).
    set (k := exp E). assert (KP : 0 < k) by apply exp_pos. assert (KI : k * exp (- E) = 1) by (unfold k; rewrite <- exp_plus, <- exp_0; f_equal; lra).
    assert (STEP : forall h u, 0 < u -> Rmax 0 (F h - D) <= u * (k * G (plus h s)) + curve m' u).
    { intros h u U. pose proof (curve_range m' u ltac:(lra)) as CR. pose proof (RG (plus h s)) as RGs.
      assert (0 <= u * (k * G (plus h s))) by (apply Rmult_le_pos; [lra | apply Rmult_le_pos; lra]).
      apply Rmax_lub; [lra|]. unfold F, G.
      assert (SAME : next (plus (values a) h) = next (plus (values b) (plus h s))).
      { pose proof (next_same n next (values a) (values b) (plus h s) X) as NS. rewrite <- NS. f_equal. apply vec_ext. intros i.
        unfold plus, minus, s, moved. lra. }
      rewrite SAME. pose proof (IH (plus (values b) (plus h s)) _ _ _ _ (WN _) PB' PE' PD' (u * k) ltac:(apply Rmult_lt_0_compat; auto)) as Q.
      fold m' in Q. replace (u * k * exp (- E)) with u in Q by (rewrite Rmult_assoc, KI; lra). rewrite Rmult_assoc in Q. lra. }
    set (F' := fun h => Rmax 0 (F h - D)).
    assert (BF' : bounded F') by (exists 1; intros h; unfold F'; specialize (RF h); split; [apply Rmax_l | apply Rmax_lub; lra]).
    assert (BG : bounded G) by (exists 1; auto). assert (BKG : bounded (fun h => k * G h)) by (apply bounded_scal; auto; lra).
    assert (Z : forall i, ~ In i ns -> s i = 0).
    { intros i NI. unfold s, moved. destruct (Nat.ltb_spec i n) as [LT|]; auto. exfalso. apply NI. apply in_seq. lia. }
    pose proof (joint_step rates R ns m' s F' (fun h => k * G h) MP' BF' BKG Z STEP (t * exp (- E)) ltac:(apply Rmult_lt_0_compat; auto; apply exp_pos)) as J.
    fold N in J. rewrite (joint_scal 1 rates _ N CN ns k G) in J by (auto; lra).
    replace (t * exp (- E) * (k * joint N ns G)) with (t * joint N ns G) in J
      by (transitivity (t * (k * exp (- E)) * joint N ns G); [rewrite KI|]; ring).
    assert (SPR : spread rates m' ns s <= sqrt (m * m + B)) by (unfold spread; apply sqrt_le_1_alt; rewrite M2; lra).
    destruct (spread_square rates R m' ns s MP') as [_ SPP].
    assert (TE : 0 < t * exp (- E)) by (apply Rmult_lt_0_compat; auto; apply exp_pos).
    pose proof (curve_grows _ _ (t * exp (- E)) SPP SPR TE) as CG.
    assert (FD : joint N ns F <= joint N ns F' + D).
    { eapply Rle_trans; [apply (joint_le 1 rates _ N CN ns F (fun h => F' h + D))|].
      - exists 1; auto.
      - apply bounded_plus; auto. apply bounded_const; auto.
      - intros h. unfold F'. pose proof (Rmax_r 0 (F h - D)). lra.
      - eapply Rle_trans; [apply (joint_sub 1 rates _ N CN ns F' (fun _ => D)); auto; apply bounded_const; auto|].
        rewrite (joint_const 1 rates _ N CN) by auto. lra. }
    fold F G. lra.
  - pose proof W as WW. simpl in WW. destruct WW as (EM & e & d & CL & WN). specialize (CL a b NB). simpl.
    set (F := fun x => run_mixed (next x) a f). set (G := fun x => run_mixed (next x) b f).
    assert (RF : forall x, 0 <= F x <= 1) by (intros x; eapply mixed_range; eauto).
    assert (RG : forall x, 0 <= G x <= 1) by (intros x; eapply mixed_range; eauto).
    assert (PB' : at_most squared_of (after_step (Close e d) ws) B).
    { intros w I. pose proof (at_most_after squared_of ws B (Close e d) (or_introl eq_refl) PB w I) as Q. cbn in Q. rewrite Q2R_0 in Q. lra. }
    pose proof (at_most_after epsilon_of ws E (Close e d) (or_intror (or_introl eq_refl)) PE) as PE'. cbn [epsilon_of] in PE'.
    pose proof (at_most_after delta_of ws D (Close e d) (or_intror (or_intror eq_refl)) PD) as PD'. cbn [delta_of] in PD'.
    destruct (inhabited_of X (M a) (EM a)) as [x0 _].
    pose proof (left_delta _ a b NB _ _ (WN x0) PD') as DP.
    set (u := t * exp (- Q2R e)). assert (UP : 0 < u) by (apply Rmult_lt_0_compat; auto; apply exp_pos).
    set (g := fun x => Rmin 1 (u * G x)).
    assert (UG : forall x, 0 <= u * G x) by (intros x; apply Rmult_le_pos; [lra | apply RG]).
    assert (TG : test g).
    { intros x. unfold g. specialize (UG x). split; [apply Rmin_glb; lra | apply Rmin_l]. }
    set (k := curve (sqrt (m * m + B)) (t * exp (- E)) + (D - Q2R d)).
    assert (KP : 0 <= k).
    { assert (TE : 0 < t * exp (- E)) by (apply Rmult_lt_0_compat; auto; apply exp_pos).
      pose proof (curve_range (sqrt (m * m + B)) (t * exp (- E)) ltac:(lra)). unfold k. lra. }
    assert (STEP : forall x, F x <= g x + k).
    { intros x. pose proof (IH x _ _ _ _ (WN x) PB' PE' PD' u UP) as Q. fold (F x) (G x) in Q.
      replace (u * exp (- (E - Q2R e))) with (t * exp (- E)) in Q by (unfold u; rewrite Rmult_assoc, <- exp_plus; do 2 f_equal; lra).
      unfold g. specialize (RF x). unfold k in *. unfold Rmin. destruct Rle_dec; lra. }
    assert (BF : bounded F) by (exists 1; auto). assert (BG : bounded G) by (exists 1; auto). pose proof (test_bounded g TG) as Bg.
    assert (S1 : M a F <= M a g + k).
    { eapply Rle_trans; [apply (P_le _ (EM a) F (fun x => g x + k)); auto; apply bounded_plus; auto; apply bounded_const; auto|].
      eapply Rle_trans; [apply (P_sub _ (EM a) g (fun _ => k)); auto; apply bounded_const; auto|]. rewrite (P_const _ (EM a)) by auto. lra. }
    pose proof (CL g TG) as S2.
    assert (S3 : M b g <= u * M b G).
    { rewrite <- (P_scal _ (EM b)) by (auto; lra). apply (P_le _ (EM b)); auto; [apply bounded_scal; auto; lra|]. intros x. apply Rmin_r. }
    apply (Rmult_le_compat_l (exp (Q2R e))) in S3; [|apply exp_nonneg].
    replace (exp (Q2R e) * (u * M b G)) with (t * M b G) in S3.
    + unfold k in S1. fold F G. lra.
    + unfold u. transitivity (t * M b G * (exp (- Q2R e) * exp (Q2R e))); [|ring]. rewrite <- exp_plus.
      replace (- Q2R e + Q2R e) with 0 by lra. rewrite exp_0. ring.
Qed.

(** ** Gaussian differential privacy, and (epsilon, delta) *)
(** No test is better than against Gaussian noise of variance 1 that is moved by [mu]. *)
Definition gaussian_private (mu : R) (M : A -> (O -> R) -> R) :=
  forall a b, near a b -> forall f, test f -> forall t, 0 < t -> M a f <= t * M b f + curve mu t.
Definition total_at_most (part : step -> Q) (ws : list (list step)) (bound : Q) : bool := forallb (fun w => Qle_bool (summed part w) bound) ws.
Lemma total_at_most_ok part ws bound : total_at_most part ws bound = true -> at_most part ws (Q2R bound).
Proof. unfold total_at_most. rewrite forallb_forall. intros H w I. apply qle_ok. auto. Qed.
(** [mu] is a number above the root of the sum of squares; [rest]: what epsilon leaves for Gaussian stages. *)
Definition below_square (squares mu : Q) : bool := negb (Qle_bool mu 0) && negb (Qle_bool (mu * mu) squares).
Lemma below_square_ok B mu : below_square B mu = true -> 0 < Q2R mu /\ exists m, 0 < m /\ m * m + Q2R B = Q2R mu * Q2R mu.
Proof.
  unfold below_square. rewrite andb_true_iff. intros [P L]. apply not_le in P. apply not_le in L. rewrite Q2R_0 in P. rewrite Q2R_mult in L.
  split; auto. exists (sqrt (Q2R mu * Q2R mu - Q2R B)). split; [apply sqrt_lt_R0; lra|]. rewrite sqrt_sqrt; lra.
Qed.
Definition check_account (ws : list (list step)) (B E D mu eps delta : Q) : bool :=
  total_at_most squared_of ws B && total_at_most epsilon_of ws E && total_at_most delta_of ws D &&
  below_square B mu && curve_known mu (Qred (eps - E)) && Qle_bool (curve_high mu (Qred (eps - E)) + D) delta.
Theorem accountant_private ws B E D mu eps delta : check_account ws B E D mu eps delta = true ->
  forall p : mixed A O, within_steps ws p -> approximately_private near (Q2R eps) (Q2R delta) (run_mixed p).
Proof.
  unfold check_account. rewrite !andb_true_iff. intros [[[[[PB PE] PD] BM] KN] LE] p W a b NB f T.
  apply total_at_most_ok in PB. apply total_at_most_ok in PE. apply total_at_most_ok in PD.
  destruct (below_square_ok _ _ BM) as (MU & m & MP & MM). apply qle_ok in LE. rewrite Q2R_plus in LE.
  pose proof (mixed_curve p a b m NB MP f T ws _ _ _ W PB PE PD (exp (Q2R eps)) (exp_pos _)) as X.
  rewrite MM, sqrt_square in X by lra. rewrite <- exp_plus in X. replace (Q2R eps + - Q2R E) with (Q2R (Qred (eps - E))) in X by (rewrite Q2R_red, Q2R_minus; lra).
  pose proof (curve_high_ok mu _ KN MU). lra.
Qed.
(** Without Gaussian stages no curve is needed: epsilons and deltas add up. *)
Definition check_totals (ws : list (list step)) (eps delta : Q) : bool :=
  total_at_most squared_of ws 0 && total_at_most epsilon_of ws eps && total_at_most delta_of ws delta.
Theorem totals_private ws eps delta : check_totals ws eps delta = true ->
  forall p : mixed A O, within_steps ws p -> approximately_private near (Q2R eps) (Q2R delta) (run_mixed p).
Proof.
  unfold check_totals. rewrite !andb_true_iff. intros [[PB PE] PD] p W a b NB f T.
  apply total_at_most_ok in PB. apply total_at_most_ok in PE. apply total_at_most_ok in PD. rewrite Q2R_0 in PB.
  apply le_epsilon. intros eta E. pose proof full_pos as Z. set (m := full * eta). assert (MP : 0 < m) by (apply Rmult_lt_0_compat; auto).
  pose proof (mixed_curve p a b m NB MP f T ws _ _ _ W PB PE PD (exp (Q2R eps)) (exp_pos _)) as X.
  rewrite Rplus_0_r, sqrt_square, <- exp_plus in X by lra. replace (Q2R eps + - Q2R eps) with 0 in X by lra. rewrite exp_0 in X.
  assert (curve m 1 <= eta); [|lra]. apply Rmult_le_reg_l with full; auto. pose proof (curve_small m MP). fold m. lra.
Qed.
(** Whichever it is, with totals and a root that are computed here. *)
Definition largest (part : step -> Q) (ws : list (list step)) : Q :=
  fold_right (fun w m => let s := summed part w in if Qle_bool s m then m else s) 0%Q ws.
Definition root_above (B : Q) : Q := (Z.sqrt (Z.shiftl (Qnum B) 240 / Zpos (Qden B)) + 2)%Z # Pos.pow 2 120.
Definition accepts_account (ws : list (list step)) (eps delta : Q) : bool :=
  let B := largest squared_of ws in
  if Qle_bool B 0 then check_totals ws eps delta
  else check_account ws B (largest epsilon_of ws) (largest delta_of ws) (root_above B) eps delta.
Theorem account_private ws eps delta : accepts_account ws eps delta = true ->
  forall p : mixed A O, within_steps ws p -> approximately_private near (Q2R eps) (Q2R delta) (run_mixed p).
Proof. unfold accepts_account. destruct Qle_bool; [apply totals_private | apply accountant_private]. Qed.
(** Gaussian stages alone, and stages that cost nothing. *)
Definition check_gaussian (ws : list (list step)) (mu2 : Q) : bool :=
  negb (Qle_bool mu2 0) && total_at_most squared_of ws mu2 && total_at_most epsilon_of ws 0 && total_at_most delta_of ws 0.
Theorem accountant_gaussian ws mu2 : check_gaussian ws mu2 = true ->
  forall p : mixed A O, within_steps ws p -> gaussian_private (sqrt (Q2R mu2)) (run_mixed p).
Proof.
  unfold check_gaussian. rewrite !andb_true_iff. intros [[[MU PB] PE] PD] p W a b NB f T t TP.
  apply total_at_most_ok in PB. apply total_at_most_ok in PE. apply total_at_most_ok in PD. rewrite Q2R_0 in *. apply not_le in MU. rewrite Q2R_0 in MU.
  pose proof full_pos as Z. pose proof (sqrt_lt_R0 _ MU) as SP. pose proof (sqrt_sqrt _ (Rlt_le _ _ MU)) as SS. set (mu := sqrt (Q2R mu2)) in *.
  apply le_epsilon. intros eta E. set (d := full * eta). assert (DP : 0 < d) by (apply Rmult_lt_0_compat; auto).
  set (m := sqrt (d * (d + 2 * mu))).
  assert (Q : 0 < d * (d + 2 * mu)) by (apply Rmult_lt_0_compat; lra). assert (MP : 0 < m) by (apply sqrt_lt_R0; auto).
  pose proof (mixed_curve p a b m NB MP f T ws _ _ _ W PB PE PD t TP) as X.
  replace (m * m + Q2R mu2) with ((mu + d) * (mu + d)) in X by (unfold m; rewrite sqrt_sqrt by lra; rewrite <- SS; ring).
  rewrite sqrt_square, Ropp_0, exp_0, Rmult_1_r in X by lra.
  pose proof (curve_growth t TP mu (mu + d) SP ltac:(lra)) as G.
  assert (curve (mu + d) t <= curve mu t + eta); [|lra]. apply Rmult_le_reg_l with full; auto. unfold d in *. lra.
Qed.
(** Gaussian privacy is (epsilon, delta)-privacy for every epsilon. *)
Theorem gaussian_approximately mu eps M : gaussian_private mu M -> approximately_private near eps (curve mu (exp eps)) M.
Proof. intros G a b NB f T. apply G; auto. apply exp_pos. Qed.
End Programs.
