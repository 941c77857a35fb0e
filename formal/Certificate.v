(** * What an accepted certificate says, in the words of [Privacy.v]

    Each theorem here is instantiated by an exported certificate: its hypotheses are booleans, closed
    by computation, and one lemma on who is a neighbour. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Privacy Program NoiseTable Loop LoopChecker Draw Cells Adjacency Total Selection.
Import ListNotations.
Open Scope R_scope.

(** ** Loops *)
(** The mechanism: what is expected of a function of its releases; [u] is the unit of the noise. *)
Definition run_loop (T : noise_table) (prog : program) (ranks : list nat) (top : nat) (u : R) (a : list R)
    (f : list out -> R) : R :=
  sem (draw T u) prog (steps_needed ranks top 0 (map datum a)) 0 zero (map datum a) f.

Definition neighbours (C : cert) (near : list R -> list R -> Prop) :=
  forall a b, near a b -> length a = length b /\ adjacent C 1 (map datum a) (map datum b).
Theorem loop_private C start eps ranks top (near : list R -> list R -> Prop) : check C start eps = true ->
  neighbours C near -> forall u, 0 < u ->
  private near (u * Q2R eps) (run_loop (c_noises C) (c_prog C) ranks top u).
Proof.
  intros OK NB u U a b N f F. destruct (NB a b N) as [LEN AD]. unfold run_loop, steps_needed.
  rewrite !map_length, LEN. apply (check_sound C start eps OK); auto; [lra|].
  apply draw_laws; auto. apply (OK_table C start eps OK).
Qed.
Theorem loop_mass T prog ranks top : proper_table T = true -> check_total prog ranks top = true ->
  forall u, 0 < u -> mass_one (run_loop T prog ranks top u).
Proof.
  intros P OK u U a c C. apply (total_mass prog ranks top OK u (rate T) (allowed T)); auto.
  apply draw_laws; auto.
Qed.
Lemma private_or {A O} (n1 n2 : A -> A -> Prop) eps (M : A -> (O -> R) -> R) :
  private n1 eps M -> private n2 eps M -> private (fun a b => n1 a b \/ n2 a b) eps M.
Proof. intros P Q a b [N|N]; auto. Qed.

Definition has_move (C : cert) (q : Q) : bool :=
  existsb (fun m => match m with [(O, x)] => Qeq_bool x q | _ => false end) (c_moves C).
Lemma has_move_ok C q : has_move C q = true -> exists x, In [(0%nat, x)] (c_moves C) /\ Q2R x = Q2R q.
Proof.
  unfold has_move. rewrite existsb_exists. intros (m & I & X).
  destruct m as [|[[|] x] [|]]; try discriminate. exists x. split; auto. apply qeq_ok; auto.
Qed.
Definition real_noise (C : cert) : bool := negb (integral (c_noises C)).
Theorem between_neighbours C lo hi : real_noise C && negb (c_one C) && has_move C lo && has_move C hi = true ->
  neighbours C (between (Q2R lo) (Q2R hi)).
Proof.
  unfold real_noise. rewrite !andb_true_iff, !negb_true_iff. intros [[[R O] L] H] a b X.
  split; [apply (Forall2_len _ _ _ X)|]. apply has_move_ok in L, H. destruct L as (l & L & LE), H as (h & H & HE).
  apply between_adjacent with l h; auto; [rewrite LE, HE; auto | lra].
Qed.
Theorem linf_neighbours C r : real_noise C && negb (c_one C) && has_move C (- r) && has_move C r = true ->
  neighbours C (linf (Q2R r)).
Proof.
  intros OK a b X. apply (between_neighbours C (- r) r OK). rewrite Q2R_opp. apply linf_between; auto.
Qed.
Theorem l1_neighbours C r : real_noise C && c_one C && negb (Qle_bool r 0) && has_move C (- r) && has_move C r = true ->
  neighbours C (l1 (Q2R r)).
Proof.
  unfold real_noise. rewrite !andb_true_iff, !negb_true_iff. intros [[[[R O] P] L] H] a b X.
  split; [apply (l1_length _ _ _ X)|].
  assert (RP : 0 < Q2R r).
  { rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. congruence. }
  apply has_move_ok in L, H. destruct L as (l & L & LE), H as (h & H & HE). rewrite Q2R_opp in LE.
  assert (HB : forall d, - Q2R r <= d <= Q2R r -> hull C (datum d)).
  { intros d B. apply hull_between with l h; auto. lra. }
  (* as l1_adjacent, with moves that are equal as numbers *)
  replace 1 with (Q2R r / Q2R r) by (field; lra).
  cut (forall a b k, 0 <= k <= Q2R r -> l1 k a b -> adjacent C (k / Q2R r) (map datum a) (map datum b)).
  { intros H0. apply H0; auto. lra. }
  clear a b X. induction a as [|x a IH]; intros [|y b] k K X; simpl in *; auto.
  pose proof (l1_pos _ _ _ X) as K2. pose proof (Rabs_pos (y - x)) as A.
  assert (IN : 0 < / Q2R r) by (apply Rinv_0_lt_compat; auto).
  exists (Rabs (y - x) / Q2R r). repeat split.
  - unfold Rdiv. apply Rmult_le_compat_r; lra.
  - unfold turn. rewrite O. split; [split|split].
    + unfold Rdiv. apply Rmult_le_pos; lra.
    + apply Rmult_le_reg_r with (Q2R r); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
    + intros I. congruence.
    + rewrite minus_datum. exists (datum (if Rle_dec 0 (y - x) then Q2R r else - Q2R r)). split.
      * apply HB. destruct Rle_dec; lra.
      * intros []; simpl; [|lra]. destruct Rle_dec; [rewrite Rabs_pos_eq by auto | rewrite Rabs_left1 by lra]; field; lra.
  - replace (k / Q2R r - Rabs (y - x) / Q2R r) with ((k - Rabs (y - x)) / Q2R r) by (unfold Rdiv; lra). apply IH; auto. lra.
Qed.
Theorem replace_one_neighbours C r : real_noise C && c_one C && negb (Qle_bool r 0) && has_move C (- r) && has_move C r = true ->
  neighbours C (replace_one (Q2R r)).
Proof. intros OK a b X. apply (l1_neighbours C r OK). apply replace_l1; auto. Qed.
(** Integers: every whole move is listed. *)
Definition integers_near (lo hi : R) (a b : list R) := between lo hi a b /\ whole_numbers a /\ whole_numbers b.
Theorem integers_neighbours C lo hi : negb (c_one C) && forallb (has_move C) (integers_in lo hi) = true ->
  neighbours C (integers_near (Q2R lo) (Q2R hi)).
Proof.
  rewrite andb_true_iff, negb_true_iff, forallb_forall. intros [O M] a b (X & A & B).
  split; [apply (Forall2_len _ _ _ X)|]. apply integer_adjacent; auto; [|lra].
  induction X as [|x y a b XY _ IH]; constructor.
  - inversion A as [|? ? [p P] _]; inversion B as [|? ? [q Q] _]; subst.
    destruct (integers_in_ok lo hi (q - p)) as (v & I & V); [rewrite minus_IZR; auto|].
    apply M, has_move_ok in I. destruct I as (w & I & W). exists w. split; auto. rewrite W, V, minus_IZR. auto.
  - inversion A; inversion B; subst. apply IH; auto.
Qed.

(** ** Fixed lengths *)
Definition run_cells (K : cells) (u : R) (a : list R) (f : list out -> R) : R :=
  release (draw (k_noises K) u) (k_draws K) (k_branches K) (fields a) f.
Definition covered_by (K : cells) (near : list R -> list R -> Prop) := forall a b, near a b ->
  exists g faces, nth_error (k_components K) g = Some faces /\ spanned K faces (minus (fields b) (fields a)).
Theorem cells_private K eps near : check_cells K eps = true -> covered_by K near ->
  forall u, 0 < u -> private near (u * Q2R eps) (run_cells K u).
Proof.
  intros OK CO u U a b N f F. destruct (CO a b N) as (g & faces & NG & SP).
  apply (cells_sound K eps OK u _ ltac:(lra) (draw_laws _ u (cells_table K eps OK) U) g faces); auto.
Qed.
Theorem cells_mass_one K eps : check_cells K eps = true -> complete (k_branches K) = true ->
  forall u, 0 < u -> mass_one (run_cells K u).
Proof.
  intros OK CO u U a c C. unfold run_cells.
  apply (cells_mass u (rate (k_noises K)) (allowed (k_noises K))); auto.
  apply draw_laws; auto. apply (cells_table K eps OK).
Qed.
(** Lists of length [n]; whole numbers where the noise is. *)
Definition of_length (n : nat) (K : cells) (near : list R -> list R -> Prop) (a b : list R) :=
  length a = n /\ near a b /\ data_whole K a /\ data_whole K b.
Definition has_face (K : cells) (F : box) : bool := match k_components K with [faces] => existsb (box_eqb F) faces | _ => false end.
Lemma box_eqb_len F G d : box_eqb F G = true -> in_box F d -> in_box G d.
Proof. apply box_eqb_ok. Qed.
Lemma existsb_face faces F d K : existsb (box_eqb F) faces = true -> in_box F d ->
  (integral (k_noises K) = true -> forall i, exists z, d i = IZR z) -> spanned K faces d.
Proof.
  rewrite existsb_exists. intros (G & I & E) B Z. apply span_face with G; auto. eapply box_eqb_ok; eauto.
Qed.
Theorem between_covered K lo hi n g : match nth_error (k_components K) g with
    Some faces => existsb (box_eqb (cube lo hi n)) faces | None => false end = true ->
  covered_by K (of_length n K (between (Q2R lo) (Q2R hi))).
Proof.
  intros OK a b (LEN & X & A & B). destruct (nth_error (k_components K) g) as [faces|] eqn:NG; [|discriminate].
  exists g, faces. split; auto. eapply existsb_face; eauto.
  - rewrite <- LEN. apply between_box; auto.
  - intros INT. apply minus_whole; auto.
Qed.
Theorem linf_covered K r n : match nth_error (k_components K) 0 with
    Some faces => existsb (box_eqb (cube (- r) r n)) faces | None => false end = true ->
  covered_by K (of_length n K (linf (Q2R r))).
Proof.
  intros OK a b (LEN & X & A & B). apply (between_covered K (- r) r n 0 OK). split; auto.
  rewrite Q2R_opp. split; auto. apply linf_between; auto.
Qed.
Fixpoint boxes_eqb (F G : list box) : bool :=
  match F, G with [], [] => true | f :: F, g :: G => box_eqb f g && boxes_eqb F G | _, _ => false end.
Lemma boxes_eqb_in F : forall G f, boxes_eqb F G = true -> In f F -> exists g, In g G /\ box_eqb f g = true.
Proof.
  induction F as [|x F IH]; intros [|y G] f E I; simpl in *; try contradiction; try discriminate.
  apply andb_true_iff in E. destruct E as [E1 E2]. destruct I as [<-|I]; [exists y; auto|].
  destruct (IH G f E2 I) as (g & J & B). exists g. auto.
Qed.
Lemma spanned_boxes K F G d : boxes_eqb F G = true -> spanned K F d -> spanned K G d.
Proof.
  intros E. induction 1 as [d Z | f d I B ZD | t d1 d2 d NI TB S1 I1 S2 I2 X].
  - apply span_zero; auto.
  - destruct (boxes_eqb_in F G f E I) as (g & J & BE). apply span_face with g; auto. eapply box_eqb_ok; eauto.
  - apply span_mix with t d1 d2; auto.
Qed.
Theorem l1_covered K r n : match nth_error (k_components K) 0 with
    Some faces => boxes_eqb (corners r n) faces && negb (Qle_bool r 0) && (negb (integral (k_noises K)) || Qeq_bool r 1)
  | None => false end = true -> covered_by K (of_length n K (l1 (Q2R r))).
Proof.
  intros OK a b (LEN & X & A & B). destruct (nth_error (k_components K) 0) as [faces|] eqn:NG; [|discriminate].
  rewrite !andb_true_iff, negb_true_iff in OK. destruct OK as [[E P] ONE]. exists 0%nat, faces. split; auto.
  apply (spanned_boxes K (corners r n)); auto. rewrite <- LEN. apply l1_spanned; auto.
  - rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. congruence.
  - intros INT. rewrite INT in ONE. simpl in ONE. apply qeq_ok in ONE. rewrite ONE. apply Q2R_1.
Qed.

(** ** Selection *)
Definition run_selection (x : family * Q) (c b : Q) (u : R) (a : list R) (f : nat -> R) : R :=
  selection (draw [x] u) (Q2R c) (Q2R b) a f.
Theorem selection_private x c b lo hi mlo mhi g comps plans eps : check_selection x c b comps plans eps = true ->
  match nth_error comps g with Some faces => existsb (box_eqb (both lo hi mlo mhi)) faces | None => false end = true ->
  Qle_bool mlo (c * lo) && Qle_bool mlo (c * hi) && Qle_bool (c * lo) mhi && Qle_bool (c * hi) mhi = true ->
  forall u, 0 < u -> private (between (Q2R lo) (Q2R hi)) (u * Q2R eps) (run_selection x c b u).
Proof.
  intros OK NG M u U a a' X f F. destruct (nth_error comps g) as [faces|] eqn:N; [|discriminate].
  apply existsb_exists in NG. destruct NG as (G & I & BE).
  assert (OK2 := OK). unfold check_selection in OK2. apply andb_true_iff in OK2. destruct OK2 as [NI CK].
  apply negb_true_iff in NI. pose proof (cells_table _ _ CK) as PT. simpl in PT.
  apply (selection_sound x c b comps plans eps OK u); auto; try lra.
  - apply draw_laws; auto.
  - apply (Forall2_len _ _ _ X).
  - intros i L. rewrite !andb_true_iff in M. destruct M as [[[M1 M2] M3] M4].
    apply qle_ok in M1, M2, M3, M4. rewrite Q2R_mult in M1, M2, M3, M4.
    assert (DI : forall k, (k < length a)%nat -> Q2R lo <= nth k a' 0 - nth k a 0 <= Q2R hi).
    { clear - X. induction X as [|p q a a' B _ IH]; intros [|k] K; simpl in *; try lia; auto. apply IH. lia. }
    assert (CR : forall d, Q2R lo <= d <= Q2R hi -> Q2R mlo <= Q2R c * d <= Q2R mhi).
    { intros d B. destruct (Rle_dec 0 (Q2R c)).
      - assert (Q2R c * Q2R lo <= Q2R c * d) by (apply Rmult_le_compat_l; lra).
        assert (Q2R c * d <= Q2R c * Q2R hi) by (apply Rmult_le_compat_l; lra). lra.
      - assert (Q2R c * d <= Q2R c * Q2R lo) by (apply Rmult_le_compat_neg_l; lra).
        assert (Q2R c * Q2R hi <= Q2R c * d) by (apply Rmult_le_compat_neg_l; lra). lra. }
    set (v := fun j => Q2R c * (nth j a' 0 - nth j a 0)).
    exists g, faces, (best_rival v (length a) i (v i)). split; auto. split.
    + apply span_face with G; auto.
      * eapply box_eqb_ok; [exact BE|]. apply pair_box; auto. apply best_range; [apply CR, DI; auto|]. intros j J. apply CR, DI; auto.
      * intros INT. change (integral [x] = true) in INT. congruence.
    + intros j J NE. apply (best_above v); auto.
Qed.
Theorem selection_linf x c b r mlo mhi comps plans eps : check_selection x c b comps plans eps = true ->
  match nth_error comps 0 with Some faces => existsb (box_eqb (both (- r) r mlo mhi)) faces | None => false end = true ->
  Qle_bool mlo (c * - r) && Qle_bool mlo (c * r) && Qle_bool (c * - r) mhi && Qle_bool (c * r) mhi = true ->
  forall u, 0 < u -> private (linf (Q2R r)) (u * Q2R eps) (run_selection x c b u).
Proof.
  intros OK NG M u U a a' X f F. apply (selection_private x c b (- r) r mlo mhi 0 comps plans eps OK NG M u U); auto.
  rewrite Q2R_opp. apply linf_between; auto.
Qed.
Theorem selection_mass_one x c b : proper_table [x] = true -> forall u, 0 < u -> mass_one (run_selection x c b u).
Proof. intros P u U a k K. apply (selection_mass x c b u); auto. apply draw_laws; auto. Qed.
