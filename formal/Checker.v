(** * The whole checker: a certificate with its adjacency, accepted or not

    This is what is extracted to OCaml (see [checker/]); [accepts_private] says what its yes means. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Privacy Program NoiseTable Loop LoopChecker Draw Cells Adjacency Total Selection Certificate Sums
  FiniteTable ZeroConcentrated Square Gap Composition SeveralGaussians Stages Accountant.
Import ListNotations.
Open Scope R_scope.

Inductive adjacency := Linf (r : Q) | Monotone (r : Q) | L1 (r : Q) | ReplaceOne (r : Q).
Definition near (A : adjacency) : list R -> list R -> Prop :=
  match A with
  | Linf r => linf (Q2R r)
  | Monotone r => fun a b => between (Q2R 0) (Q2R r) a b \/ between (Q2R (- r)) (Q2R 0) a b
  | L1 r => l1 (Q2R r)
  | ReplaceOne r => replace_one (Q2R r)
  end.
Inductive certificate :=
| LoopOf (endless : bool) (parts : list (cert * nat))  (* [endless]: data of every length *)
| CellsOf (n : nat) (K : cells)
| SelectionOf (x : family * Q) (c b : Q) (plans : list plan).

Definition groups_complete (x : node) : bool :=
  match x with
  | Halt => true
  | Node None None => false
  | Node rd si => on (fun g => complete (branches g)) rd && on (fun g => complete (branches g)) si
  end.
Definition has_silent (x : node) : bool := match x with Node (Some _) None => false | _ => true end.
Definition one_program (parts : list (cert * nat)) (endless : bool) (eps : Q) : bool :=
  forallb (fun p => check (fst p) (snd p) eps && forallb groups_complete (c_prog (fst p)) &&
    (negb endless || forallb has_silent (c_prog (fst p)))) parts.
(** The moves of a part are those of its adjacency, no more and no fewer. *)
Definition moves_between (C : cert) (lo hi : Q) : bool :=
  if integral (c_noises C) then negb (c_one C) && forallb (has_move C) (integers_in lo hi)
  else real_noise C && negb (c_one C) && has_move C lo && has_move C hi.
Definition moves_one (C : cert) (r : Q) : bool :=
  real_noise C && c_one C && negb (Qle_bool r 0) && has_move C (- r) && has_move C r.
Definition accepts_loop (A : adjacency) (endless : bool) (parts : list (cert * nat)) (eps : Q) : bool :=
  one_program parts endless eps &&
  match A, parts with
  | Linf r, [(C, _)] => moves_between C (- r) r
  | Monotone r, [(C, _); (C', _)] => moves_between C 0 r && moves_between C' (- r) 0
  | L1 r, [(C, _)] | ReplaceOne r, [(C, _)] => moves_one C r
  | _, _ => false
  end.
Definition components_of (A : adjacency) (n : nat) : list (list box) :=
  match A with
  | Linf r => [[cube (- r) r n]]
  | Monotone r => [[cube 0 r n]; [cube (- r) 0 n]]
  | L1 r | ReplaceOne r => [corners r n]
  end.
Fixpoint components_eqb (F G : list (list box)) : bool :=
  match F, G with [], [] => true | f :: F, g :: G => boxes_eqb f g && components_eqb F G | _, _ => false end.
Definition accepts_cells (A : adjacency) (n : nat) (K : cells) (eps : Q) : bool :=
  check_cells K eps && complete (k_branches K) && components_eqb (components_of A n) (k_components K) &&
  match A with L1 r | ReplaceOne r => negb (Qle_bool r 0) && (negb (integral (k_noises K)) || Qeq_bool r 1) | _ => true end.
Definition selection_face (c r : Q) : box :=
  both (- r) r (if Qle_bool 0 c then c * - r else c * r)%Q (if Qle_bool 0 c then c * r else c * - r)%Q.
Definition accepts_selection (A : adjacency) (x : family * Q) (c b : Q) (plans : list plan) (eps : Q) : bool :=
  match A with
  | Linf r => check_selection x c b [[selection_face c r]] plans eps && negb (Qle_bool r 0)
  | _ => false
  end.
Definition accepts (A : adjacency) (C : certificate) (eps : Q) : bool :=
  match C with
  | LoopOf endless parts => accepts_loop A endless parts eps
  | CellsOf n K => accepts_cells A n K eps
  | SelectionOf x c b plans => accepts_selection A x c b plans eps
  end.

(** ** What a yes means *)
(** Whole numbers where the noise is. *)
Definition data_fit (T : noise_table) (a b : list R) := integral T = true -> whole_numbers a /\ whole_numbers b.
Lemma moves_between_ok C lo hi : moves_between C lo hi = true ->
  neighbours C (fun a b => between (Q2R lo) (Q2R hi) a b /\ data_fit (c_noises C) a b).
Proof.
  unfold moves_between. destruct (integral (c_noises C)) eqn:I; intros OK a b [X F].
  - apply (integers_neighbours C lo hi OK). destruct (F I). split; auto.
  - apply (between_neighbours C lo hi OK); auto.
Qed.
Theorem loop_accepted A endless parts eps : accepts_loop A endless parts eps = true ->
  forall ranks top u, 0 < u -> forall a b, near A a b -> (forall p, In p parts -> data_fit (c_noises (fst p)) a b) ->
  exists p, In p parts /\ forall f, bounded f ->
    run_loop (c_noises (fst p)) (c_prog (fst p)) ranks top u a f <=
    exp (u * Q2R eps) * run_loop (c_noises (fst p)) (c_prog (fst p)) ranks top u b f.
Proof.
  unfold accepts_loop. rewrite andb_true_iff. intros [ONE MV] ranks top u U a b N FIT.
  unfold one_program in ONE. rewrite forallb_forall in ONE.
  assert (GO : forall C s nr, In (C, s) parts -> neighbours C nr -> nr a b ->
    exists p, In p parts /\ forall f, bounded f -> run_loop (c_noises (fst p)) (c_prog (fst p)) ranks top u a f <=
      exp (u * Q2R eps) * run_loop (c_noises (fst p)) (c_prog (fst p)) ranks top u b f).
  { intros C s nr I NB X. exists (C, s). split; auto. intros f F. specialize (ONE _ I). rewrite !andb_true_iff in ONE.
    destruct ONE as [[CK _] _]. apply (loop_private C s eps ranks top nr CK NB u U a b X f F). }
  destruct A as [r|r|r|r], parts as [|[C s] [|[C' s'] [|]]]; try discriminate; simpl in N.
  - apply (GO C s _ (or_introl eq_refl) (moves_between_ok C _ _ MV)). split; [|apply (FIT (C, s)); left; auto].
    rewrite Q2R_opp. apply linf_between; auto.
  - apply andb_true_iff in MV. destruct MV as [M1 M2]. destruct N as [N|N].
    + apply (GO C s _ (or_introl eq_refl) (moves_between_ok C _ _ M1)). split; auto. apply (FIT (C, s)); left; auto.
    + apply (GO C' s' _ (or_intror (or_introl eq_refl)) (moves_between_ok C' _ _ M2)). split; auto.
      apply (FIT (C', s')); right; left; auto.
  - apply (GO C s _ (or_introl eq_refl) (l1_neighbours C r MV)); auto.
  - apply (GO C s _ (or_introl eq_refl) (replace_one_neighbours C r MV)); auto.
Qed.
Lemma components_ok F : forall G g f, components_eqb F G = true -> nth_error F g = Some f ->
  exists f', nth_error G g = Some f' /\ boxes_eqb f f' = true.
Proof.
  induction F as [|x F IH]; intros [|y G] g f E N; simpl in E; try discriminate; [destruct g; discriminate|].
  apply andb_true_iff in E. destruct E as [E1 E2]. destruct g as [|g]; simpl in *; [injection N as <-; exists y; auto | eauto].
Qed.
Theorem cells_accepted A n K eps : accepts_cells A n K eps = true -> forall u, 0 < u ->
  private (of_length n K (near A)) (u * Q2R eps) (run_cells K u) /\ mass_one (run_cells K u).
Proof.
  unfold accepts_cells. rewrite !andb_true_iff. intros [[[CK CO] CE] EX] u U. split; [|eapply cells_mass_one; eauto].
  apply (cells_private K eps); auto. intros a b (LEN & N & WA & WB).
  assert (GO : forall g f, nth_error (components_of A n) g = Some f -> spanned K f (minus (fields b) (fields a)) ->
    exists g faces, nth_error (k_components K) g = Some faces /\ spanned K faces (minus (fields b) (fields a))).
  { intros g f NG SP. destruct (components_ok _ _ g f CE NG) as (f' & NG' & BE). exists g, f'. split; auto.
    eapply spanned_boxes; eauto. }
  destruct A as [r|r|r|r]; simpl in N.
  - apply (GO 0%nat [cube (- r) r n] eq_refl). apply (linf_spanned K r); auto. rewrite LEN. left; auto.
  - destruct N as [N|N].
    + apply (GO 0%nat [cube 0 r n] eq_refl). apply (between_spanned K 0 r); auto. rewrite LEN. left; auto.
    + apply (GO 1%nat [cube (- r) 0 n] eq_refl). apply (between_spanned K (- r) 0); auto. rewrite LEN. left; auto.
  - apply (GO 0%nat (corners r n) eq_refl). rewrite <- LEN. apply andb_true_iff in EX. destruct EX as [P I].
    apply l1_spanned; auto.
    + rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. rewrite Y in P. discriminate.
    + intros INT. rewrite INT in I. simpl in I. apply qeq_ok in I. rewrite I. apply Q2R_1.
  - apply (GO 0%nat (corners r n) eq_refl). rewrite <- LEN. apply andb_true_iff in EX. destruct EX as [P I].
    apply l1_spanned; auto.
    + rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. rewrite Y in P. discriminate.
    + intros INT. rewrite INT in I. simpl in I. apply qeq_ok in I. rewrite I. apply Q2R_1.
    + apply replace_l1; auto.
Qed.
Lemma box_eqb_refl F : box_eqb F F = true.
Proof.
  induction F as [|[k [a b]] F IH]; simpl; auto. rewrite Nat.eqb_refl, IH. unfold qq_eqb; simpl.
  rewrite !(Qeq_eq_bool _ _ (Qeq_refl _)). auto.
Qed.
Theorem selection_accepted A x c b plans eps : accepts_selection A x c b plans eps = true -> forall u, 0 < u ->
  private (near A) (u * Q2R eps) (run_selection x c b u) /\ mass_one (run_selection x c b u).
Proof.
  unfold accepts_selection. destruct A as [r|r|r|r]; try discriminate. rewrite andb_true_iff. intros [CK RP] u U. split.
  - unfold selection_face in CK.
    assert (P : 0 < Q2R r).
    { rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. rewrite Y in RP. discriminate. }
    apply (selection_linf x c b r (if Qle_bool 0 c then c * - r else c * r)%Q
      (if Qle_bool 0 c then c * r else c * - r)%Q _ plans eps CK); auto;
      [cbn [nth_error existsb]; rewrite box_eqb_refl; reflexivity|].
    rewrite !andb_true_iff. destruct (Qle_bool 0 c) eqn:C.
    + apply qle_ok in C. rewrite Q2R_0 in C. rewrite !Qle_bool_iff.
      assert (X : (c * - r <= c * r)%Q) by (apply Rle_Qle; rewrite !Q2R_mult, Q2R_opp; nra).
      repeat split; try apply Qle_refl; exact X.
    + assert (C' : Q2R c < 0).
      { rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. congruence. }
      rewrite !Qle_bool_iff. assert (X : (c * r <= c * - r)%Q) by (apply Rle_Qle; rewrite !Q2R_mult, Q2R_opp; nra).
      repeat split; try apply Qle_refl; exact X.
  - apply selection_mass_one; auto. unfold check_selection in CK. apply andb_true_iff in CK. destruct CK as [_ CK].
    exact (cells_table _ _ CK).
Qed.

(** ** Sums over records, and tables *)
(** The moves of a sum are what the contributions of one record may change by. *)
Definition accepts_sums (endless : bool) (C : cert) (start : nat) (eps : Q) : bool :=
  c_one C && one_program [(C, start)] endless eps.
Theorem sums_accepted endless C start eps : accepts_sums endless C start eps = true -> forall ranks top u, 0 < u ->
  private (one_changed (hull C)) (u * Q2R eps) (run_sums (c_noises C) (c_prog C) ranks top u).
Proof.
  unfold accepts_sums, one_program. rewrite andb_true_iff. intros [ONE P] ranks top u U. simpl in P.
  rewrite !andb_true_iff in P. destruct P as [[[CK _] _] _]. apply (sums_private C start eps); auto.
Qed.
(** Chances in units of exp (- eps / D), or numbers: then [factor] bounds e^eps. *)
Definition accepts_table (inputs : list (list table)) (near : nat -> nat -> bool) (power : nat) : bool :=
  check_finite (Finite inputs near (fun _ _ => [1%Q]) power 1).
Theorem table_accepted inputs near power D : accepts_table inputs near power = true -> forall u, 0 < u ->
  let C := Finite inputs near (fun _ _ => [1%Q]) power 1 in let run := run_table C (exp (- (u / IZR (Zpos D)))) in
  private (near_inputs C) (u * Q2R (Z.of_nat power # D)) run /\ mass_one run.
Proof. intros OK u U C run. apply (finite_private C D OK eq_refl u U). Qed.
Definition accepts_numbers (inputs : list (list table)) (near : nat -> nat -> bool) (factor : Q) : bool :=
  check_finite (Finite inputs near (worst_ratios inputs) 0 factor) && negb (Qle_bool factor 0).
Theorem numbers_accepted inputs near factor : accepts_numbers inputs near factor = true ->
  let C := Finite inputs near (worst_ratios inputs) 0 factor in
  private (near_inputs C) (ln (Q2R factor)) (run_table C 1) /\ mass_one (run_table C 1).
Proof. unfold accepts_numbers. rewrite andb_true_iff. intros [OK P]. apply (finite_private_number _ OK). simpl. auto. Qed.

(** ** Gaussian noise: a bound on rho *)
Definition accepts_square (A : adjacency) (n : nat) (K : square) (rho : Q) : bool :=
  check_square K rho && well_formed (g_branches K) && complete (g_branches K) && components_eqb (components_of A n) (g_components K) &&
  match A with L1 r | ReplaceOne r => negb (Qle_bool r 0) && (negb (g_discrete K) || Qeq_bool r 1) | _ => true end.
Theorem square_accepted A n K rho : accepts_square A n K rho = true -> forall u, 0 < u ->
  zero_concentrated (of_length n (frame K) (near A)) (u * Q2R rho) (run_square K u) /\ mass_one (run_square K u).
Proof.
  unfold accepts_square. rewrite !andb_true_iff. intros [[[[CK _] CO] CE] EX] u U. split; [|eapply square_mass; eauto].
  apply (square_sound K rho); auto. intros a b (LEN & N & WA & WB).
  assert (GO : forall g f, nth_error (components_of A n) g = Some f -> spanned (frame K) f (minus (fields b) (fields a)) ->
    exists g faces, nth_error (k_components (frame K)) g = Some faces /\ spanned (frame K) faces (minus (fields b) (fields a))).
  { intros g f NG SP. destruct (components_ok _ _ g f CE NG) as (f' & NG' & BE). exists g, f'. split; auto.
    eapply spanned_boxes; eauto. }
  assert (L : forall r, (negb (Qle_bool r 0) = true /\ (negb (g_discrete K) || Qeq_bool r 1) = true) -> l1 (Q2R r) a b ->
    spanned (frame K) (corners r n) (minus (fields b) (fields a))).
  { intros r [P I] X. rewrite <- LEN. apply l1_spanned; auto.
    - rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. rewrite Y in P. discriminate.
    - intros INT. rewrite frame_integral in INT. rewrite INT in I. simpl in I. apply qeq_ok in I. rewrite I. apply Q2R_1. }
  destruct A as [r|r|r|r]; simpl in N.
  - apply (GO 0%nat [cube (- r) r n] eq_refl). apply (linf_spanned (frame K) r); auto. rewrite LEN. left; auto.
  - destruct N as [N|N].
    + apply (GO 0%nat [cube 0 r n] eq_refl). apply (between_spanned (frame K) 0 r); auto. rewrite LEN. left; auto.
    + apply (GO 1%nat [cube (- r) 0 n] eq_refl). apply (between_spanned (frame K) (- r) 0); auto. rewrite LEN. left; auto.
  - apply (GO 0%nat (corners r n) eq_refl). apply andb_true_iff in EX. auto.
  - apply (GO 0%nat (corners r n) eq_refl). apply andb_true_iff in EX. apply L; auto. apply replace_l1; auto.
Qed.

(** ** Selection with the gap *)
Definition accepts_gap (A : adjacency) (q c b : Q) (plans : list plan) (eps : Q) : bool :=
  match A with
  | Linf r => check_cells (gap_cell (Laplace, q) c b [[selection_face c r]] plans) eps && negb (Qeq_bool b 0) && negb (Qle_bool r 0)
  | _ => false
  end.
Theorem gap_accepted A q c b plans eps : accepts_gap A q c b plans eps = true -> forall u, 0 < u ->
  private (near A) (u * Q2R eps) (run_gap (Laplace, q) c b u) /\ mass_one (run_gap (Laplace, q) c b u).
Proof.
  unfold accepts_gap. destruct A as [r|r|r|r]; try discriminate. rewrite andb_true_iff. intros [CK RP] u U. split.
  - assert (P : 0 < Q2R r).
    { rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. rewrite Y in RP. discriminate. }
    unfold selection_face in CK.
    apply (gap_private q c b r (if Qle_bool 0 c then c * - r else c * r)%Q (if Qle_bool 0 c then c * r else c * - r)%Q _ plans eps CK); auto;
      [cbn [nth_error existsb]; rewrite box_eqb_refl; reflexivity|].
    rewrite !andb_true_iff. destruct (Qle_bool 0 c) eqn:C.
    + apply qle_ok in C. rewrite Q2R_0 in C. rewrite !Qle_bool_iff.
      assert (X : (c * - r <= c * r)%Q) by (apply Rle_Qle; rewrite !Q2R_mult, Q2R_opp; nra).
      repeat split; try apply Qle_refl; exact X.
    + assert (C' : Q2R c < 0).
      { rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. congruence. }
      rewrite !Qle_bool_iff. assert (X : (c * r <= c * - r)%Q) by (apply Rle_Qle; rewrite !Q2R_mult, Q2R_opp; nra).
      repeat split; try apply Qle_refl; exact X.
  - apply gap_mass; auto. apply andb_true_iff in CK. destruct CK as [CK _]. exact (cells_table _ _ CK).
Qed.

(** ** Parts that are called, and stages *)
(** The parts are accepted one by one; here their costs, as many as there are calls on a way, are added up. *)
Definition calls_cost (costs : list Q) (w : way) : Q := fold_right (fun x r => Qred (nth (fst x) costs 0 * snd x + r))%Q 0%Q w.
Definition accepts_calls (costs : list Q) (ws : list way) (bound : Q) : bool := forallb (fun w => Qle_bool (calls_cost costs w) bound) ws.
Lemma calls_ok parts ws bound : accepts_calls (map p_cost parts) ws bound = check_ways parts ws bound.
Proof.
  unfold accepts_calls, check_ways. f_equal. apply functional_extensionality. intros w. f_equal. unfold calls_cost, way_cost. f_equal.
  apply functional_extensionality. intros x. apply functional_extensionality. intros r. do 3 f_equal. unfold cost_of.
  destruct (nth_error parts (fst x)) as [p|] eqn:N.
  - apply nth_error_nth. rewrite nth_error_map, N. reflexivity.
  - apply nth_overflow. rewrite map_length. apply nth_error_None; auto.
Qed.
Theorem calls_accepted parts nr ws bound : accepts_calls (map p_cost parts) ws bound = true -> (forall p, In p parts -> outcomes_of p) ->
  ((forall p, In p parts -> pure_part nr p) -> forall u, 0 < u -> forall O (t : tree O), follows parts ws t -> private nr (u * Q2R bound) (run_tree u t)) /\
  ((forall p, In p parts -> rho_part nr p) -> forall u, 0 < u -> forall O (t : tree O), follows parts ws t -> zero_concentrated nr (u * Q2R bound) (run_tree u t)).
Proof.
  rewrite calls_ok. intros CK L. split; intros P u U O t F; [eapply tree_private | eapply tree_concentrated]; eauto.
Qed.
(** Stages, by what they cost: epsilon, rho, mu^2, or (epsilon, delta). *)
Theorem costs_accepted ws bound : check_costs ws bound = true -> forall (A O : Type) (nr : A -> A -> Prop) (t : Stages.program A O), only_shown t ->
  (within_ways nr cost ws t -> private nr (Q2R bound) (run_program laplace_draw t)) /\
  (within_ways nr squares ws t -> zero_concentrated nr (Q2R bound) (run_program gaussian_draw t)).
Proof. intros CK A O nr t ON. split; intros W; [eapply stages_private | eapply stages_concentrated]; eauto. Qed.
Theorem account_accepted ws eps delta : accepts_account ws eps delta = true -> forall (A O : Type) (nr : A -> A -> Prop) (p : mixed A O),
  within_steps nr ws p -> approximately_private nr (Q2R eps) (Q2R delta) (run_mixed p).
Proof. intros CK A O nr. apply account_private; auto. Qed.
Theorem gaussian_accepted ws mu2 : check_gaussian ws mu2 = true -> forall (A O : Type) (nr : A -> A -> Prop) (p : mixed A O),
  within_steps nr ws p -> gaussian_private nr (sqrt (Q2R mu2)) (run_mixed p).
Proof. intros CK A O nr. apply accountant_gaussian; auto. Qed.
