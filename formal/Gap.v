(** * Selection with the gap: the place of the greatest noisy value, and by how much it is ahead

    Value [j] is [c * q_j + b * h_j], with Laplace noise.  The winner's noise is shifted by what its own
    value and the best of the others move by; the latter depends on the noise of the others. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Privacy Joint UpperIntegral ContinuousNoise LatticeNoise Program NoiseTable Loop LoopChecker Draw Cells
  Adjacency Total Selection Certificate Shear.
Import ListNotations.
Open Scope R_scope.

(** [p] is the best of the others than [i]; of equal ones the first. *)
Definition best (v : nat -> R) (n i p : nat) : bool :=
  negb (Nat.eqb p i) && forallb (fun j => Nat.eqb j i || beats v p j) (seq 0 n).
Definition rival (v : nat -> R) (n i : nat) : option nat := find (best v n i) (seq 0 n).
(** The winner, and its lead on the second (if there is one). *)
Definition ahead (v : nat -> R) (n : nat) : nat * option R :=
  let i := greatest v n in (i, match rival v n i with Some p => Some (v i - v p) | None => None end).
Definition selection_gap (E : list nat -> (vec -> R) -> R) (c b : R) (a : list R) (f : nat * option R -> R) : R :=
  let n := length a in E (seq 0 n) (fun h => f (ahead (fun j => c * nth j a 0 + b * h j) n)).

Lemma seq_in n j : (j < n)%nat -> In j (seq 0 n).
Proof. intros; apply in_seq; lia. Qed.
Lemma beats_le v p j : beats v p j = true -> v j <= v p.
Proof. unfold beats. destruct (Nat.ltb j p); destruct Rle_dec; intros; try discriminate; lra. Qed.
Lemma beats_strict v p j : v j < v p -> beats v p j = true.
Proof. intros L. unfold beats. destruct (Nat.ltb j p); destruct Rle_dec; auto; lra. Qed.
Lemma beats_both v p j : beats v p j = true -> beats v j p = true -> p = j.
Proof.
  unfold beats. destruct (Nat.ltb_spec j p), (Nat.ltb_spec p j); try lia; repeat destruct Rle_dec; try discriminate; intros; try lia; lra.
Qed.
Lemma best_spec v n i p : best v n i p = true <-> p <> i /\ forall j, (j < n)%nat -> j <> i -> beats v p j = true.
Proof.
  unfold best. rewrite andb_true_iff, negb_true_iff, Nat.eqb_neq, forallb_forall. split; intros [A B]; split; auto.
  - intros j J N. specialize (B j (seq_in n j J)). apply orb_true_iff in B. destruct B as [B|B]; auto. apply Nat.eqb_eq in B. congruence.
  - intros j J. apply in_seq in J. apply orb_true_iff. destruct (Nat.eqb_spec j i); auto. right. apply B; auto; lia.
Qed.
Lemma best_once v n i p p' : (p < n)%nat -> (p' < n)%nat -> best v n i p = true -> best v n i p' = true -> p = p'.
Proof. rewrite !best_spec. intros P P' [N B] [N' B']. apply (beats_both v); auto. Qed.
Lemma rival_some v n i p : (p < n)%nat -> best v n i p = true -> rival v n i = Some p.
Proof.
  intros P B. unfold rival. destruct (find (best v n i) (seq 0 n)) as [p'|] eqn:F.
  - apply find_some in F. destruct F as [I F]. apply in_seq in I. f_equal. apply (best_once v n i); auto; lia.
  - pose proof (find_none _ _ F p (seq_in n p P)) as X. simpl in X. congruence.
Qed.
Lemma rival_exists v n i : (2 <= n)%nat -> (i < n)%nat -> exists p, (p < n)%nat /\ best v n i p = true.
Proof.
  intros N I. set (low := fold_right Rmin 0 (map v (seq 0 n)) - 1).
  assert (LOW : forall j, (j < n)%nat -> low < v j).
  { intros j J. unfold low. assert (IN : In (v j) (map v (seq 0 n))) by (apply in_map, in_seq; lia).
    assert (X : fold_right Rmin 0 (map v (seq 0 n)) <= v j); [|lra]. revert IN. generalize (map v (seq 0 n)). induction l as [|y l IH]; [contradiction|].
    intros [->|K]; simpl; [apply Rmin_l | eapply Rle_trans; [apply Rmin_r | auto]]. }
  set (v' := fun j => if Nat.eqb j i then low else v j). destruct (winner_exists v' n ltac:(lia)) as (p & P & W). exists p. split; auto.
  unfold wins in W. rewrite forallb_forall in W.
  assert (NE : p <> i).
  { intros ->. set (j := if Nat.eqb i 0 then 1%nat else 0%nat). assert (J : (j < n)%nat /\ j <> i) by (unfold j; destruct (Nat.eqb_spec i 0); lia).
    specialize (W j (seq_in n j (proj1 J))). apply beats_le in W. unfold v' in W. rewrite Nat.eqb_refl in W.
    destruct (Nat.eqb_spec j i); [lia|]. pose proof (LOW j (proj1 J)). lra. }
  apply best_spec. split; auto. intros j J NJ. specialize (W j (seq_in n j J)). unfold beats, v' in *.
  destruct (Nat.eqb_spec p i); [congruence|]. destruct (Nat.eqb_spec j i); [congruence|]. auto.
Qed.

Section Gap.
Variables (q c b eps : Q) (u : R).
Hypothesis U : 0 < u.
Hypothesis QP : 0 < Q2R q.
Hypothesis BZ : Q2R b <> 0.
Notation T := [(Laplace, q)].
Let N (i : nat) := law u (entry T i).
Let entry_T i : entry T i = (Laplace, q). Proof. unfold entry. destruct i as [|[|i]]; reflexivity. Qed.
Let L : forall i, continuous_noise (u * Q2R (rate T i)) (fun _ => True) (N i).
Proof. intros i. unfold N, rate. rewrite entry_T. unfold law; simpl. apply laplace_noise. apply Rmult_lt_0_compat; auto. Qed.
Notation E := (joint N).
Let LAWS : laws u (rate T) (shiftable (fun _ _ => True)) E := joint_laws u (rate T) _ N L.
Notation noisy := (noisy c b).

(** Conditions under which [p] is the best of the others. *)
Definition gap_form (a : list R) (p j : nat) : affine_form :=
  (Q2R c * nth p a 0 - Q2R c * nth j a 0, [(p, Q2R b); (j, - Q2R b)]).
Lemma gap_form_ok a p j h : affine_at (gap_form a p j) h = noisy a h p - noisy a h j.
Proof. unfold gap_form, affine_at, Selection.noisy; simpl. lra. Qed.
Lemma gap_form_slope a p j i : slope i (snd (gap_form a p j)) = (if Nat.eqb p i then Q2R b else 0) - (if Nat.eqb j i then Q2R b else 0).
Proof. unfold gap_form; simpl. destruct (Nat.eqb p i), (Nat.eqb j i); lra. Qed.
Definition beats_condition (a : list R) (p j : nat) : condition :=
  if Nat.ltb j p then (gap_form a j p, false) else (gap_form a p j, true).
Lemma beats_holds a p j h : holds (beats_condition a p j) h = beats (noisy a h) p j.
Proof.
  unfold beats_condition, beats, holds. destruct (Nat.ltb j p); cbn [fst snd]; rewrite gap_form_ok; destruct Rle_dec; auto.
Qed.
Definition conditions (a : list R) (n i p : nat) : list condition :=
  flat_map (fun j => if Nat.eqb j i then [] else [beats_condition a p j]) (seq 0 n).
Lemma inside_all P h : inside P h = 1 <-> forall x, In x P -> holds x h = true.
Proof.
  induction P as [|x P IH]; simpl; [split; auto; intros _ y []|]. destruct (holds x h) eqn:HX.
  - rewrite IH. split; [intros H y [<-|I]; auto | intros H; auto].
  - split; [lra | intros H; rewrite (H x (or_introl eq_refl)) in HX; discriminate].
Qed.
Lemma conditions_ok a n i p h : p <> i -> (inside (conditions a n i p) h = 1 <-> best (noisy a h) n i p = true).
Proof.
  intros NE. rewrite inside_all, best_spec. unfold conditions. split.
  - intros X. split; auto. intros j J NJ. rewrite <- beats_holds. apply X. apply in_flat_map. exists j. split; [apply in_seq; lia|].
    destruct (Nat.eqb_spec j i); [congruence | left; auto].
  - intros [_ X] y I. apply in_flat_map in I. destruct I as (j & J & I). apply in_seq in J. destruct (Nat.eqb_spec j i); [contradiction|].
    destruct I as [<-|[]]. rewrite beats_holds. apply X; auto; lia.
Qed.
Lemma conditions_blind a n i p x : p <> i -> In x (conditions a n i p) -> slope i (snd (fst x)) = 0.
Proof.
  intros NE I. unfold conditions in I. apply in_flat_map in I. destruct I as (j & J & I). destruct (Nat.eqb_spec j i); [contradiction|].
  destruct I as [<-|[]]. unfold beats_condition. destruct (Nat.ltb j p); cbn [fst]; rewrite gap_form_slope;
    destruct (Nat.eqb_spec p i), (Nat.eqb_spec j i); try congruence; lra.
Qed.
Lemma inside_app P Q h : inside (P ++ Q) h = inside P h * inside Q h.
Proof. induction P as [|x P IH]; simpl; [lra|]. rewrite IH. destruct (holds x h); lra. Qed.

(** ** One winner, one best rival on either side *)
Section Triple.
Variables (a a' : list R) (n i p r : nat) (f : nat * option R -> R) (M : R).
Hypothesis FB : forall o, 0 <= f o <= M.
Hypothesis LEN : length a = n.
Hypothesis I : (i < n)%nat.
Hypothesis P : (p < n)%nat.
Hypothesis R' : (r < n)%nat.
Variables mlo mhi : R.
Hypothesis moves : forall j, (j < n)%nat -> mlo <= Q2R c * (nth j a' 0 - nth j a 0) <= mhi.
Hypothesis pays : forall m, mlo <= m <= mhi -> exists s, Q2R c * (nth i a' 0 - nth i a 0) + Q2R b * s - m = 0 /\ Q2R q * Rabs s <= Q2R eps.
Definition at_first (h : vec) : bool := wins (noisy a h) n i && best (noisy a h) n i p && best (noisy a' h) n i r.
Definition at_second (h : vec) : bool :=
  negb (if Rle_dec 0 (noisy a' h r - noisy a' h i) then true else false) && best (noisy a h) n i p && best (noisy a' h) n i r.
Lemma triple : E (seq 0 n) (fun h => if at_first h then f (i, Some (noisy a h i - noisy a h p)) else 0) <=
  exp (u * Q2R eps) * E (seq 0 n) (fun h => if at_second h then f (i, Some (noisy a' h i - noisy a' h r)) else 0).
Proof.
  set (ns := seq 0 n). assert (MP : 0 <= M) by (pose proof (FB (O, None)); lra). assert (IN : In i ns) by (apply in_seq; lia).
  assert (POS : 0 <= exp (u * Q2R eps) * E ns (fun h => if at_second h then f (i, Some (noisy a' h i - noisy a' h r)) else 0)).
  { apply Rmult_le_pos; [apply exp_nonneg|]. apply (E_range _ _ _ _ LAWS ns _ M). intros h. destruct (at_second h); [apply FB | lra]. }
  destruct (Nat.eq_dec p i) as [SAME|PI].
  { apply Rle_trans with 0; [|exact POS]. right. transitivity (E ns (fun _ => 0)); [|apply (E_const _ _ _ _ LAWS); lra]. apply E_ext. intros h.
    unfold at_first. replace (best (noisy a h) n i p) with false by (unfold best; rewrite SAME, Nat.eqb_refl; auto). rewrite andb_false_r. auto. }
  destruct (Nat.eq_dec r i) as [SAME|RI].
  { apply Rle_trans with 0; [|exact POS]. right. transitivity (E ns (fun _ => 0)); [|apply (E_const _ _ _ _ LAWS); lra]. apply E_ext. intros h.
    unfold at_first. replace (best (noisy a' h) n i r) with false by (unfold best; rewrite SAME, Nat.eqb_refl; auto). rewrite andb_false_r. auto. }
  set (PC := conditions a n i p ++ conditions a' n i r).
  assert (PCOK : forall h, inside PC h = 1 <-> best (noisy a h) n i p = true /\ best (noisy a' h) n i r = true).
  { intros h. unfold PC. rewrite inside_app, <- (conditions_ok a n i p h PI), <- (conditions_ok a' n i r h RI).
    destruct (inside_01 (conditions a n i p) h) as [-> | ->], (inside_01 (conditions a' n i r) h) as [-> | ->]; split; intros; try lra; destruct H; lra. }
  set (A := ((Q2R c * nth i a 0 - Q2R c * nth i a' 0 + Q2R c * nth r a' 0 - Q2R c * nth p a 0) / Q2R b, [(r, 1); (p, -1)]) : affine_form).
  assert (AOK : forall h, Q2R b * affine_at A h = Q2R c * nth i a 0 - Q2R c * nth i a' 0 + noisy a' h r - noisy a h p).
  { intros h. unfold A, affine_at, Selection.noisy; simpl. field. auto. }
  assert (AB : slope i (snd A) = 0).
  { unfold A; simpl. destruct (Nat.eqb_spec r i), (Nat.eqb_spec p i); try congruence; try lra; exfalso; auto. }
  assert (BL : forall x, In x PC -> slope i (snd (fst x)) = 0).
  { intros x X. apply in_app_or in X.
    destruct X as [X|X]; [exact (conditions_blind a n i p x PI X) | exact (conditions_blind a' n i r x RI X)]. }
  assert (SM : forall h, inside PC h = 1 -> Rabs (affine_at A h) <= Q2R eps / Q2R q).
  { intros h X. apply PCOK in X. destruct X as [B1 B2]. apply best_spec in B1, B2. destruct B1 as [_ B1], B2 as [_ B2].
    set (m := noisy a' h r - noisy a h p).
    assert (MR : mlo <= m <= mhi).
    { pose proof (beats_le _ _ _ (B1 r R' RI)) as X1. pose proof (beats_le _ _ _ (B2 p P PI)) as X2. pose proof (moves r R'). pose proof (moves p P).
      unfold m, Selection.noisy in *. lra. }
    destruct (pays m MR) as (s & S1 & S2). specialize (AOK h). assert (AS : affine_at A h = s).
    { apply Rmult_eq_reg_l with (Q2R b); auto. rewrite AOK. unfold m in S1. lra. }
    rewrite AS. apply Rmult_le_reg_l with (Q2R q); auto. replace (Q2R q * (Q2R eps / Q2R q)) with (Q2R eps) by (field; lra). auto. }
  set (f1 := fun h => if Rlt_dec 0 (noisy a h i - noisy a h p) then f (i, Some (noisy a h i - noisy a h p)) else 0).
  assert (BF1 : bounded f1) by (exists M; intros h; unfold f1; destruct Rlt_dec; [apply FB | lra]).
  destruct (strip_small u (rate T) _ N L (gap_form a i p) ns) as (C & CP & ST).
  { exists i. split; auto. rewrite gap_form_slope, Nat.eqb_refl. destruct (Nat.eqb_spec p i); [congruence | lra]. }
  specialize (ST 0 (Rle_refl 0)). rewrite Rmult_0_r in ST.
  apply Rle_trans with (E ns (fun h => inside PC h * f1 h)).
  - eapply Rle_trans; [apply (E_le _ _ _ _ LAWS ns _ (fun h => inside PC h * f1 h + M * strip (gap_form a i p) 0 h))|].
    + exists M. intros h. destruct (at_first h); [apply FB | lra].
    + apply (bounded_plus (fun h => inside PC h * f1 h)); [|apply bounded_scal; auto using bounded_strip].
      destruct BF1 as [K BK]. exists K. intros h. pose proof (BK h). destruct (inside_01 PC h) as [-> | ->]; lra.
    + intros h. pose proof (strip_01 (gap_form a i p) 0 h) as S01. destruct BF1 as [K BK]. pose proof (BK h) as Bh.
      assert (Z : 0 <= M * strip (gap_form a i p) 0 h) by (apply Rmult_le_pos; lra).
      destruct (at_first h) eqn:AT; [|destruct (inside_01 PC h) as [-> | ->]; lra].
      unfold at_first in AT. rewrite !andb_true_iff in AT. destruct AT as [[W B1] B2].
      assert (IC : inside PC h = 1) by (apply PCOK; auto). rewrite IC, Rmult_1_l.
      unfold wins in W. rewrite forallb_forall in W. specialize (W p (seq_in n p P)). apply beats_le in W.
      unfold f1. destruct Rlt_dec as [|NL]; [lra|]. assert (LZ : noisy a h i - noisy a h p = 0) by lra.
      unfold strip. rewrite gap_form_ok, LZ, Rabs_R0. destruct Rle_dec; [|lra]. pose proof (FB (i, Some 0)). lra.
    + eapply Rle_trans; [apply (joint_sub u (rate T) _ N L ns (fun h => inside PC h * f1 h))|].
      * destruct BF1 as [K BK]. exists K. intros h. pose proof (BK h). destruct (inside_01 PC h) as [-> | ->]; lra.
      * apply bounded_scal; auto using bounded_strip.
      * rewrite (E_scal _ _ _ _ LAWS) by (auto using bounded_strip). nra.
  - assert (RT : rate T i = q) by (unfold rate; rewrite entry_T; auto).
    eapply Rle_trans; [apply (joint_shear u (rate T) (fun _ _ => True) N L ns i A IN AB PC (Q2R eps / Q2R q)); auto|].
    + assert (E0 : 0 <= Q2R eps); [|apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]].
      destruct (pays mlo) as (s & _ & S2); [pose proof (moves i I); lra|]. pose proof (Rabs_pos s). nra.
    + rewrite RT. apply Rmult_le_pos; lra.
    + intros s. rewrite RT. exact (cost_alone (Laplace, q) ns i s (seq_NoDup _ _) IN).
    + rewrite RT. replace (u * Q2R q * (Q2R eps / Q2R q)) with (u * Q2R eps) by (field; lra).
      apply Rmult_le_compat_l; [apply exp_nonneg|]. right. apply E_ext. intros h.
      set (h' := upd h i (h i - affine_at A h)).
      assert (HI : noisy a h' i - noisy a h' p = noisy a' h i - noisy a' h r).
      { specialize (AOK h). unfold Selection.noisy in *. unfold h' at 1 2. unfold upd. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec p i); [congruence|]. lra. }
      unfold f1. rewrite HI. unfold at_second.
      destruct (inside_01 PC h) as [IC|IC].
      * rewrite IC, Rmult_0_l. destruct (best (noisy a h) n i p) eqn:B1; [|rewrite andb_false_r; auto].
        destruct (best (noisy a' h) n i r) eqn:B2; [|rewrite andb_false_r; auto].
        assert (X : inside PC h = 1) by (apply PCOK; auto). lra.
      * rewrite IC, Rmult_1_l. apply PCOK in IC. destruct IC as [-> ->]. rewrite !andb_true_r.
        destruct Rlt_dec, Rle_dec; simpl; auto; lra.
Qed.
End Triple.

(** ** All of them *)
Lemma splits_beats ns a p j : splits E ns (fun h => beats (noisy a h) p j).
Proof.
  unfold beats. destruct (Nat.ltb j p).
  - pose proof (splits_not _ _ _ (splits_affine _ _ _ _ LAWS ns _ (noisy_affine c b a j p))) as S. intros g G.
    rewrite (S g G). f_equal; apply E_ext; intros h; destruct Rle_dec; auto.
  - exact (splits_affine _ _ _ _ LAWS ns _ (noisy_affine c b a p j)).
Qed.
Lemma splits_best ns a n i p : splits E ns (fun h => best (noisy a h) n i p).
Proof.
  unfold best. apply splits_and.
  - destruct (negb (Nat.eqb p i)); [apply (splits_true _ _ _ _ LAWS)|].
    apply (splits_ext _ _ (fun _ => negb true)); auto. apply splits_not, (splits_true _ _ _ _ LAWS).
  - apply (splits_forallb _ _ _ _ LAWS ns (fun j h => Nat.eqb j i || beats (noisy a h) p j)). intros j _.
    destruct (Nat.eqb j i); simpl; [apply (splits_true _ _ _ _ LAWS) | apply splits_beats].
Qed.
Lemma splits_winner ns a n i : splits E ns (fun h => wins (noisy a h) n i).
Proof. unfold wins. apply (splits_forallb _ _ _ _ LAWS ns (fun j h => beats (noisy a h) i j)). intros; apply splits_beats. Qed.

Definition triples (n : nat) : list (nat * nat * nat) := list_prod (list_prod (seq 0 n) (seq 0 n)) (seq 0 n).
Lemma triples_in n t : In t (triples n) <-> (fst (fst t) < n)%nat /\ (snd (fst t) < n)%nat /\ (snd t < n)%nat.
Proof. destruct t as [[i p] r]. unfold triples. rewrite !in_prod_iff, !in_seq. simpl. lia. Qed.
Lemma prod_nodup {X Y} (l : list X) (m : list Y) : NoDup l -> NoDup m -> NoDup (list_prod l m).
Proof.
  induction l as [|x l IH]; intros A B; simpl; [constructor|]. inversion A; subst.
  assert (NA : forall (s t : list (X * Y)), NoDup s -> NoDup t -> (forall z, In z s -> ~ In z t) -> NoDup (s ++ t)).
  { clear. induction s as [|z s IH]; intros t S T D; simpl; auto. inversion S; subst. constructor.
    - rewrite in_app_iff. intros [I|I]; auto. apply (D z); auto. left; auto.
    - apply IH; auto. intros y Y'. apply D. right; auto. }
  apply NA; auto.
  - clear - B. induction m as [|y m IH]; simpl; [constructor|]. inversion B; subst. constructor; auto. intros I. apply in_map_iff in I. destruct I as (z & Z & J). injection Z as ->. auto.
  - intros [x' y'] I J. apply in_map_iff in I. destruct I as (z & Z & _). injection Z as -> ->. apply in_prod_iff in J. apply H1. apply J.
Qed.
Lemma nothing_ahead v n (f : nat * option R -> R) : (n < 2)%nat -> f (ahead v n) = f (O, None).
Proof.
  intros N2. f_equal. unfold ahead. assert (G : greatest v n = O).
  { destruct n as [|[|n]]; [reflexivity| |lia]. apply (greatest_spec v 1 0); [lia|]. unfold wins, beats; simpl. destruct Rle_dec; auto. lra. }
  rewrite G. destruct n as [|[|n]]; [reflexivity | reflexivity | lia].
Qed.
Theorem gap_by a a' f mlo mhi : length a = length a' ->
  (forall j, (j < length a)%nat -> mlo <= Q2R c * (nth j a' 0 - nth j a 0) <= mhi) ->
  (forall i m, (i < length a)%nat -> mlo <= m <= mhi -> exists s, Q2R c * (nth i a' 0 - nth i a 0) + Q2R b * s - m = 0 /\ Q2R q * Rabs s <= Q2R eps) ->
  0 <= Q2R eps -> bounded f -> selection_gap E (Q2R c) (Q2R b) a f <= exp (u * Q2R eps) * selection_gap E (Q2R c) (Q2R b) a' f.
Proof.
  intros LEN MV PAY EP [M FB]. unfold selection_gap. rewrite <- LEN. set (n := length a) in *. set (ns := seq 0 n). cbv zeta.
  change (E ns (fun h => f (ahead (noisy a h) n)) <= exp (u * Q2R eps) * E ns (fun h => f (ahead (noisy a' h) n))).
  assert (MP : 0 <= M) by (pose proof (FB (O, None)); lra).
  destruct (Nat.lt_ge_cases n 2) as [N2|N2].
  { rewrite (E_ext E ns (fun h => f (ahead (noisy a h) n)) (fun _ => f (O, None))) by (intros; apply nothing_ahead; auto).
    rewrite (E_ext E ns (fun h => f (ahead (noisy a' h) n)) (fun _ => f (O, None))) by (intros; apply nothing_ahead; auto).
    pose proof (FB (O, None)). rewrite (E_const _ _ _ _ LAWS) by lra.
    assert (1 <= exp (u * Q2R eps)) by (rewrite <- exp_0; apply exp_le, Rmult_le_pos; lra). nra. }
  assert (WON : forall v i p, (i < n)%nat -> (p < n)%nat -> wins v n i = true -> best v n i p = true -> ahead v n = (i, Some (v i - v p))).
  { intros v i p I P W B. unfold ahead. apply (greatest_spec v n i I) in W. rewrite W, (rival_some v n i p P B). auto. }
  set (ft := fun (t : nat * nat * nat) h => f (fst (fst t), Some (noisy a h (fst (fst t)) - noisy a h (snd (fst t))))).
  set (gt := fun (t : nat * nat * nat) h => f (fst (fst t), Some (noisy a' h (fst (fst t)) - noisy a' h (snd t)))).
  set (At := fun (t : nat * nat * nat) => at_first a a' n (fst (fst t)) (snd (fst t)) (snd t)).
  set (Bt := fun (t : nat * nat * nat) => at_second a a' n (fst (fst t)) (snd (fst t)) (snd t)).
  eapply Rle_trans; [apply (E_cover _ _ _ _ LAWS ns At ft _ (triples n))|].
  - intros t _. unfold At, at_first. apply splits_and; [apply splits_and|]; auto using splits_winner, splits_best.
  - intros h _. destruct (winner_exists (noisy a h) n ltac:(lia)) as (i & I & W).
    destruct (rival_exists (noisy a h) n i N2 I) as (p & P & BP). destruct (rival_exists (noisy a' h) n i N2 I) as (r & R & BR).
    exists (i, p, r). split; [apply triples_in; auto|]. unfold At, at_first. simpl. rewrite W, BP, BR. auto.
  - exists M. intros; apply FB.
  - intros t _. exists M. intros; apply FB.
  - intros t h IT AT. apply triples_in in IT. destruct IT as (I & P & R). unfold At, at_first in AT. rewrite !andb_true_iff in AT. destruct AT as [[W B1] _].
    unfold ft. rewrite (WON _ _ _ I P W B1). lra.
  - eapply Rle_trans; [|apply Rmult_le_compat_l; [apply exp_nonneg|]; apply (E_partition _ _ _ _ LAWS ns Bt gt _ (triples n))].
    + assert (SUB : forall t, In t (triples n) -> In t (triples n)) by auto. revert SUB. generalize (triples n) at 1 3 4. induction l as [|t l IH]; intros SUB; simpl; [lra|].
      rewrite Rmult_plus_distr_l. apply Rplus_le_compat; [|apply IH; intros; apply SUB; right; auto].
      pose proof (SUB t (or_introl eq_refl)) as IT. apply triples_in in IT. destruct IT as (I & P & R).
      apply (triple a a' n (fst (fst t)) (snd (fst t)) (snd t) f M FB eq_refl I P R mlo mhi MV (fun m => PAY _ m I)).
    + intros t _. unfold Bt, at_second. apply splits_and; [apply splits_and|]; auto using splits_best.
      apply splits_not. exact (splits_affine _ _ _ _ LAWS ns _ (noisy_affine c b a' (snd t) (fst (fst t)))).
    + unfold triples. repeat apply prod_nodup; apply seq_NoDup.
    + intros t t' h IT IT' B1 B2. apply triples_in in IT, IT'. destruct IT as (I & P & R), IT' as (I' & P' & R').
      unfold Bt, at_second in B1, B2. rewrite !andb_true_iff, !negb_true_iff in B1, B2. destruct B1 as [[L1 X1] Y1], B2 as [[L2 X2] Y2].
      destruct t as [[i p] r], t' as [[i' p'] r']. simpl in *.
      assert (WI : i = i').
      { destruct Rle_dec as [|N1]; [discriminate|]. clear L1. destruct Rle_dec as [|N2']; [discriminate|]. clear L2.
        apply best_spec in Y1, Y2. destruct Y1 as [_ Y1], Y2 as [_ Y2]. destruct (Nat.eq_dec i i') as [|NE]; auto. exfalso.
        pose proof (beats_le _ _ _ (Y1 i' I' (not_eq_sym NE))). pose proof (beats_le _ _ _ (Y2 i I NE)). lra. }
      subst i'. rewrite (best_once _ _ _ p p' P P' X1 X2), (best_once _ _ _ r r' R R' Y1 Y2). auto.
    + exists M. intros; apply FB.
    + intros t _. exists M. intros; apply FB.
    + intros t h IT BT. apply triples_in in IT. destruct IT as (I & P & R). unfold Bt, at_second in BT. rewrite !andb_true_iff, negb_true_iff in BT.
      destruct BT as [[LD _] BR]. destruct Rle_dec as [|NL]; [discriminate|]. unfold gt. rewrite (WON (noisy a' h) (fst (fst t)) (snd t) I R); auto; [lra|].
      unfold wins. apply forallb_forall. intros j J. apply in_seq in J. destruct (Nat.eq_dec j (fst (fst t))) as [->|NE].
      * unfold beats. rewrite Nat.ltb_irrefl. destruct Rle_dec; auto. lra.
      * apply beats_strict. apply best_spec in BR. destruct BR as [_ BR]. pose proof (beats_le _ _ _ (BR j ltac:(lia) NE)). lra.
Qed.
End Gap.

(** ** The checker *)
Definition gap_lead (c b : Q) : form := Form 0 [(D 0, c); (H 0, b); (D 1, (-1)%Q)].
Definition gap_cell (x : family * Q) (c b : Q) (comps : list (list box)) (plans : list plan) : cells :=
  Cells [x] [0%nat] [([(Sign (gap_lead c b), 1%nat)], Leaf 0 0 [SNum (gap_lead c b)] [])] comps plans.
Definition run_gap (x : family * Q) (c b : Q) (u : R) (a : list R) (f : nat * option R -> R) : R :=
  selection_gap (draw [x] u) (Q2R c) (Q2R b) a f.
Theorem gap_private q c b r mlo mhi comps plans eps : check_cells (gap_cell (Laplace, q) c b comps plans) eps && negb (Qeq_bool b 0) = true ->
  match nth_error comps 0 with Some faces => existsb (box_eqb (both (- r) r mlo mhi)) faces | None => false end = true ->
  Qle_bool mlo (c * - r) && Qle_bool mlo (c * r) && Qle_bool (c * - r) mhi && Qle_bool (c * r) mhi = true ->
  forall u, 0 < u -> private (linf (Q2R r)) (u * Q2R eps) (run_gap (Laplace, q) c b u).
Proof.
  rewrite andb_true_iff, negb_true_iff. intros [OK BZ] NG MM u U a a' X f F. destruct (nth_error comps 0) as [faces|] eqn:NC; [|discriminate].
  pose proof (cells_table _ _ OK) as PT. simpl in PT. pose proof (entry_proper [(Laplace, q)] 0 PT) as [QP _]. unfold rate, entry in QP; simpl in QP.
  assert (EP : 0 <= Q2R eps).
  { pose proof OK as O. unfold check_cells in O. rewrite !andb_true_iff in O. destruct O as [[[_ Z] _] _]. rewrite <- Q2R_0. apply qle_ok; auto. }
  assert (BN : Q2R b <> 0).
  { intros Z. rewrite <- Q2R_0 in Z. apply eqR_Qeq in Z. apply Qeq_eq_bool in Z. congruence. }
  rewrite !andb_true_iff in MM. destruct MM as [[[M1 M2] M3] M4]. apply qle_ok in M1, M2, M3, M4. rewrite Q2R_mult in M1, M2, M3, M4. rewrite Q2R_opp in M1, M3.
  apply linf_between in X.
  assert (DI : forall k, (k < length a)%nat -> - Q2R r <= nth k a' 0 - nth k a 0 <= Q2R r).
  { clear - X. induction X as [|p q' a a' B _ IH]; intros [|k] K; simpl in *; try lia; auto. apply IH. lia. }
  assert (CR : forall d, - Q2R r <= d <= Q2R r -> Q2R mlo <= Q2R c * d <= Q2R mhi).
  { intros d B. destruct (Rle_dec 0 (Q2R c)).
    - assert (Q2R c * - Q2R r <= Q2R c * d) by (apply Rmult_le_compat_l; lra).
      assert (Q2R c * d <= Q2R c * Q2R r) by (apply Rmult_le_compat_l; lra). lra.
    - assert (Q2R c * d <= Q2R c * - Q2R r) by (apply Rmult_le_compat_neg_l; lra).
      assert (Q2R c * Q2R r <= Q2R c * d) by (apply Rmult_le_compat_neg_l; lra). lra. }
  unfold run_gap, draw. replace (integral [(Laplace, q)]) with false by reflexivity.
  apply (gap_by q c b eps u U QP BN a a' f (Q2R mlo) (Q2R mhi)); auto.
  - apply (Forall2_len _ _ _ X).
  - intros i m L MR. apply existsb_exists in NG. destruct NG as (G & IG & BE).
    assert (SP : spanned (gap_cell (Laplace, q) c b comps plans) faces (pair (nth i a' 0 - nth i a 0) m)).
    { apply span_face with G; auto; [|intros INT; discriminate]. eapply box_eqb_ok; [exact BE|]. apply pair_box; auto. rewrite Q2R_opp. auto. }
    destruct (spanned_fits _ eps OK [(Sign (gap_lead c b), 1%nat)] (Leaf 0 0 [SNum (gap_lead c b)] []) 0 faces _ (or_introl eq_refl) NC SP)
      as (s & SU & AL & KP & RS & CO).
    exists (s 0%nat). simpl in CO. unfold rate, entry in CO; simpl in CO. split; [|lra].
    specialize (RS (gap_lead c b) (or_introl eq_refl)). simpl in RS. unfold pair, upd in RS; simpl in RS.
    replace (Q2R (-1)) with (-1) in RS by (unfold Q2R; simpl; lra). lra.
Qed.
Theorem gap_mass x c b : proper_table [x] = true -> forall u, 0 < u -> mass_one (run_gap x c b u).
Proof. intros P u U a k K. unfold run_gap, selection_gap. apply (E_const _ _ _ _ (draw_laws [x] u P U)); auto. Qed.
