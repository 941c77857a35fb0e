(** * Composition: programs that hand their data to proved parts

    A program calls parts, each with its own noise and with the unit scaled; what it does next may
    depend on all that was released before.  It does nothing else with its data.  If on every way
    through it the costs add up to at most a bound, then it has that bound. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Power Privacy ZeroConcentrated Program NoiseTable Loop LoopChecker Draw Cells Adjacency Total Selection
  Certificate SeveralGaussians Square View.
Import ListNotations.
Open Scope R_scope.

(** What an expectation of outcomes has to be here. *)
Record outcomes {A} (P : (A -> R) -> R) : Prop := {
  O_const : forall c, 0 <= c -> P (fun _ => c) = c;
  O_le : forall f g, bounded f -> bounded g -> (forall x, f x <= g x) -> P f <= P g;
  O_scal : forall c f, 0 <= c -> bounded f -> P (fun x => c * f x) = c * P f }.
(** A part: for each unit and each list, what is expected of its release; and its cost. *)
Record part := Part { p_out : Type; p_run : R -> list R -> (p_out -> R) -> R; p_cost : Q }.
(** A program: the part that it calls, by how much the unit is scaled there, and how it goes on. *)
Inductive tree (O : Type) := Return (o : O) | Call (p : part) (scale : Q) (next : p_out p -> tree O).
Arguments Return {O}. Arguments Call {O}.
Fixpoint run_tree {O} (u : R) (t : tree O) (a : list R) (f : O -> R) : R :=
  match t with
  | Return o => f o
  | Call p s next => p_run p (u * Q2R s) a (fun x => run_tree u (next x) a f)
  end.

Definition way := list (nat * Q).
Section Parts.
Variable parts : list part.
(** The calls of a program are those of one of the ways. *)
Definition after_call (i : nat) (s : Q) (ws : list way) : list way :=
  flat_map (fun w => match w with (j, t) :: w => if Nat.eqb j i && Qeq_bool t s then [w] else [] | [] => [] end) ws.
Fixpoint follows {O} (ws : list way) (t : tree O) : Prop :=
  match t with
  | Return _ => In [] ws
  | Call p s next => 0 < Q2R s /\ exists i, nth_error parts i = Some p /\ forall x, follows (after_call i s ws) (next x)
  end.
Definition cost_of (i : nat) : Q := match nth_error parts i with Some p => p_cost p | None => 0%Q end.
Definition way_cost (w : way) : Q := fold_right (fun x r => Qred (cost_of (fst x) * snd x + r)) 0%Q w.
Definition check_ways (ws : list way) (bound : Q) : bool := forallb (fun w => Qle_bool (way_cost w) bound) ws.

Variable near : list R -> list R -> Prop.
Definition outcomes_of (p : part) := forall u, 0 < u -> forall a, outcomes (p_run p u a).
Definition pure_part (p : part) := forall u, 0 < u -> private near (u * Q2R (p_cost p)) (p_run p u).
Definition rho_part (p : part) := forall u, 0 < u -> zero_concentrated near (u * Q2R (p_cost p)) (p_run p u).
Hypothesis law : forall p, In p parts -> outcomes_of p.

Lemma tree_range O (t : tree O) : forall ws, follows ws t -> forall u, 0 < u -> forall a f M, (forall x, 0 <= f x <= M) -> 0 <= M ->
  0 <= run_tree u t a f <= M.
Proof.
  induction t as [o|p s next IH]; intros ws F u U a f M B MP; simpl; auto.
  destruct F as (S & i & N & F). apply nth_error_In in N. assert (US : 0 < u * Q2R s) by (apply Rmult_lt_0_compat; auto).
  destruct (law p N _ US a) as [C L _]. assert (R : forall x, 0 <= run_tree u (next x) a f <= M) by (intros x; eapply IH; eauto).
  assert (BR : bounded (fun x => run_tree u (next x) a f)) by (exists M; auto). split.
  - rewrite <- (C 0) by lra. apply L; auto using bounded_const, Rle_refl. intros; apply R.
  - rewrite <- (C M) by auto. apply L; auto using bounded_const. intros; apply R.
Qed.
Lemma tree_bounded O p s (next : p_out p -> tree O) ws : follows ws (Call p s next) -> forall u, 0 < u -> forall a f,
  bounded f -> bounded (fun x => run_tree u (next x) a f).
Proof.
  intros (S & i & N & F) u U a f [M B]. exists (Rmax 0 M). intros x. eapply tree_range; eauto; [|apply Rmax_l].
  intros o. specialize (B o). pose proof (Rmax_r 0 M). lra.
Qed.
Lemma after_cost i s p ws B : nth_error parts i = Some p -> (forall w, In w ws -> Q2R (way_cost w) <= B) ->
  forall w, In w (after_call i s ws) -> Q2R (way_cost w) <= B - Q2R (p_cost p) * Q2R s.
Proof.
  intros N H w I. unfold after_call in I. apply in_flat_map in I. destruct I as ([|[j t] w'] & J & I); [contradiction|].
  destruct (Nat.eqb j i && Qeq_bool t s) eqn:E; [|contradiction]. destruct I as [<-|[]]. apply andb_true_iff in E. destruct E as [E1 E2].
  apply Nat.eqb_eq in E1. subst j. apply qeq_ok in E2. specialize (H _ J). cbn [way_cost fold_right fst snd] in H. fold (way_cost w') in H.
  rewrite Q2R_red, Q2R_plus, Q2R_mult, E2 in H. unfold cost_of in H. rewrite N in H. lra.
Qed.
Lemma ways_ok ws bound : check_ways ws bound = true -> forall w, In w ws -> Q2R (way_cost w) <= Q2R bound.
Proof. unfold check_ways. rewrite forallb_forall. intros C w I. apply qle_ok. auto. Qed.

Theorem tree_private ws bound : (forall p, In p parts -> pure_part p) -> check_ways ws bound = true ->
  forall u, 0 < u -> forall O (t : tree O), follows ws t -> private near (u * Q2R bound) (run_tree u t).
Proof.
  intros PP CW u U O t FO a b NB f F. pose proof (ways_ok ws bound CW) as WB. clear CW. revert WB. generalize (Q2R bound) as B. clear bound.
  revert ws FO. induction t as [o|p s next IH]; intros ws FO B WB; simpl.
  - specialize (WB [] FO). cbn in WB. rewrite Q2R_0 in WB. destruct F as [M F]. specialize (F o).
    assert (1 <= exp (u * B)) by (rewrite <- exp_0; apply exp_le, Rmult_le_pos; lra). nra.
  - pose proof (tree_bounded O p s next ws FO u U) as TB. destruct FO as (S & i & N & FO). pose proof (nth_error_In _ _ N) as IN.
    assert (US : 0 < u * Q2R s) by (apply Rmult_lt_0_compat; auto).
    eapply Rle_trans; [apply (PP p IN _ US a b NB _ (TB a f F))|].
    set (k := exp (u * (B - Q2R (p_cost p) * Q2R s))). assert (KP : 0 <= k) by apply exp_nonneg.
    replace (exp (u * B)) with (exp (u * Q2R s * Q2R (p_cost p)) * k) by (unfold k; rewrite <- exp_plus; f_equal; ring).
    rewrite (Rmult_assoc (exp _) k). apply Rmult_le_compat_l; [apply exp_nonneg|].
    destruct (law p IN _ US b) as [_ L SC]. rewrite <- SC by auto. apply L; auto.
    + apply bounded_scal; auto.
    + intros x. apply (IH x (after_call i s ws)); auto. apply (after_cost i s p); auto.
Qed.
Theorem tree_concentrated ws bound : (forall p, In p parts -> rho_part p) -> check_ways ws bound = true ->
  forall u, 0 < u -> forall O (t : tree O), follows ws t -> zero_concentrated near (u * Q2R bound) (run_tree u t).
Proof.
  intros PP CW u U O t FO a b NB alpha A f F. pose proof (ways_ok ws bound CW) as WB. clear CW. revert WB. generalize (Q2R bound) as B. clear bound.
  pose proof (dual_above _ A) as BA. set (be := dual alpha) in *. assert (FB : bounded (fun o => power (f o) be)) by (apply bounded_power; auto; lra).
  revert ws FO. induction t as [o|p s next IH]; intros ws FO B WB; simpl.
  - specialize (WB [] FO). cbn in WB. rewrite Q2R_0 in WB. pose proof (power_nonneg (f o) be).
    assert (1 <= exp (alpha * (u * B))) by (rewrite <- exp_0; apply exp_le; repeat apply Rmult_le_pos; lra). nra.
  - pose proof (tree_bounded O p s next ws FO u U) as TB. destruct FO as (S & i & N & FO). pose proof (nth_error_In _ _ N) as IN.
    assert (US : 0 < u * Q2R s) by (apply Rmult_lt_0_compat; auto).
    eapply Rle_trans; [apply (PP p IN _ US a b NB alpha A _ (TB a f F))|]. fold be.
    set (k := exp (alpha * (u * (B - Q2R (p_cost p) * Q2R s)))). assert (KP : 0 <= k) by apply exp_nonneg.
    replace (exp (alpha * (u * B))) with (exp (alpha * (u * Q2R s * Q2R (p_cost p))) * k) by (unfold k; rewrite <- exp_plus; f_equal; ring).
    rewrite (Rmult_assoc (exp _) k). apply Rmult_le_compat_l; [apply exp_nonneg|].
    destruct (law p IN _ US b) as [_ L SC]. rewrite <- SC by auto. apply L.
    + apply (bounded_power (fun x => run_tree u (next x) a f)); auto. lra.
    + apply bounded_scal; auto.
    + intros x. apply (IH x (after_call i s ws)); auto. apply (after_cost i s p); auto.
Qed.
Theorem tree_mass ws u : 0 < u -> forall O (t : tree O), follows ws t -> mass_one (run_tree u t).
Proof.
  intros U O t F a c C. revert ws F. induction t as [o|p s next IH]; intros ws F; simpl; auto. destruct F as (S & i & N & F).
  assert (US : 0 < u * Q2R s) by (apply Rmult_lt_0_compat; auto). destruct (law p (nth_error_In _ _ N) _ US a) as [CO _ _].
  transitivity (p_run p (u * Q2R s) a (fun _ => c)); auto. f_equal. apply functional_extensionality. intros x. eauto.
Qed.
End Parts.

(** ** The kinds of parts *)
Lemma pick_scal bs e k c : pick bs e (fun l => c * k l) = c * pick bs e k.
Proof. unfold pick. destruct find; lra. Qed.
Lemma pick_le bs e k k' : (forall l, k l <= k' l) -> pick bs e k <= pick bs e k'.
Proof. intros I. unfold pick. destruct find; auto. lra. Qed.
Lemma bounded_pick bs q (f : list out -> R) : bounded f -> bounded (fun h => let e := mkenv q h zero in pick bs e (fun l => f (map (emit e) (outs l)))).
Proof. intros [M B]. exists M. intros h. apply pick_range; [intros; apply B|]. pose proof (B []). lra. Qed.
Lemma release_outcomes u rt al E ns bs q : laws u rt al E -> complete bs = true -> outcomes (release E ns bs q).
Proof.
  intros L C. unfold release. split.
  - intros c P. exact (cells_mass u rt al E ns bs q c L C P).
  - intros f g F G I. apply (E_le _ _ _ _ L); auto using bounded_pick. intros h. apply pick_le. auto.
  - intros c f P F. rewrite <- (E_scal _ _ _ _ L) by (auto using bounded_pick). f_equal. apply functional_extensionality. intros h.
    apply (pick_scal bs _ (fun l => f (map (emit (mkenv q h zero)) (outs l)))).
Qed.
Theorem cells_outcomes K eps : check_cells K eps = true -> complete (k_branches K) = true ->
  forall u, 0 < u -> forall a, outcomes (run_cells K u a).
Proof.
  intros OK C u U a. apply (release_outcomes u (rate (k_noises K)) (allowed (k_noises K))); auto.
  apply draw_laws; auto. apply (cells_table K eps OK).
Qed.
Theorem view_outcomes K V fine eps : check_cells K eps = true -> merges fine (k_branches K) = true ->
  forall u, 0 < u -> forall a, outcomes (run_view K V fine u a).
Proof.
  intros OK ME u U a. apply (release_outcomes u (rate (k_noises K)) (allowed (k_noises K))).
  - apply draw_laws; auto. apply (cells_table K eps OK).
  - unfold merges in ME. apply andb_true_iff in ME. apply ME.
Qed.
Theorem square_outcomes K rho : check_square K rho = true -> complete (g_branches K) = true ->
  forall u, 0 < u -> forall a, outcomes (run_square K u a).
Proof.
  intros OK C u U a. pose proof (gaussian_laws K rho OK u U) as [GC GL GS]. unfold run_square, release. split.
  - intros c P. exact (square_mass K rho OK C u U a c P).
  - intros f g F G I. apply GL; auto using bounded_pick. intros h. apply pick_le. auto.
  - intros c f P F.
    assert (SC : forall c, 0 <= c -> forall f, bounded f -> draw_gaussian K u (g_draws K) (fun h => c * f h) = c * draw_gaussian K u (g_draws K) f).
    { apply (gaussian_scal K rho OK u U). }
    rewrite <- SC by (auto using bounded_pick). f_equal. apply functional_extensionality. intros h.
    apply (pick_scal (g_branches K) _ (fun l => f (map (emit (mkenv (fields a) h zero)) (outs l)))).
Qed.
Theorem selection_outcomes x c b : proper_table [x] = true -> forall u, 0 < u -> forall a, outcomes (run_selection x c b u a).
Proof.
  intros P u U a. pose proof (draw_laws [x] u P U) as L. unfold run_selection, selection. split.
  - intros k K. apply (E_const _ _ _ _ L); auto.
  - intros f g F G I. apply (E_le _ _ _ _ L); auto;
      apply (bounded_comp _ (fun h => greatest (fun j => Q2R c * nth j a 0 + Q2R b * h j) (length a))); auto.
  - intros k f K F. apply (E_scal _ _ _ _ L _ k (fun h => f (greatest (fun j => Q2R c * nth j a 0 + Q2R b * h j) (length a)))); auto.
    apply (bounded_comp f (fun h => greatest (fun j => Q2R c * nth j a 0 + Q2R b * h j) (length a))); auto.
Qed.
(** Loops. *)
Section LoopOutcomes.
Variables (u : R) (rt : nat -> Q) (al : vec -> Prop) (E : list nat -> (vec -> R) -> R).
Hypothesis L : laws u rt al E.
Variable prog : program.
Lemma sem_between fuel : forall n v qs f M, (forall o, 0 <= f o <= M) -> 0 <= sem E prog fuel n v qs f <= M.
Proof.
  induction fuel as [|fuel IH]; intros n v qs f M B; simpl; [pose proof (B []); lra|].
  assert (M0 : 0 <= 0 <= M) by (pose proof (B []); lra).
  assert (GO : forall g q qs', 0 <= E (draws g) (fun h => let e := mkenv q h v in pick (branches g) e (fun l =>
    sem E prog fuel (to l) (after l e) qs' (fun o => f (map (emit e) (outs l) ++ o)))) <= M).
  { intros g q qs'. apply (E_range _ _ _ _ L). intros h. apply pick_range; [|lra]. intros l. apply IH. intros; apply B. }
  destruct (nth n prog Halt) as [|rd si]; auto. destruct rd, qs; auto; destruct si; auto.
Qed.
Lemma sem_step_bounded fuel g q v qs (f : list out -> R) : bounded f -> bounded (fun h => let e := mkenv q h v in
  pick (branches g) e (fun l => sem E prog fuel (to l) (after l e) qs (fun o => f (map (emit e) (outs l) ++ o)))).
Proof.
  intros [M B]. exists M. intros h. apply pick_range; [|pose proof (B []); lra]. intros l. apply sem_between. intros; apply B.
Qed.
Lemma sem_le fuel : forall n v qs f g, bounded f -> bounded g -> (forall o, f o <= g o) -> sem E prog fuel n v qs f <= sem E prog fuel n v qs g.
Proof.
  induction fuel as [|fuel IH]; intros n v qs f g F G I; simpl; [lra|].
  assert (GO : forall gr q qs', E (draws gr) (fun h => let e := mkenv q h v in pick (branches gr) e (fun l =>
      sem E prog fuel (to l) (after l e) qs' (fun o => f (map (emit e) (outs l) ++ o)))) <=
    E (draws gr) (fun h => let e := mkenv q h v in pick (branches gr) e (fun l =>
      sem E prog fuel (to l) (after l e) qs' (fun o => g (map (emit e) (outs l) ++ o))))).
  { intros gr q qs'. apply (E_le _ _ _ _ L); auto using sem_step_bounded. intros h. apply pick_le. intros l. apply IH; auto.
    - apply (bounded_comp f (fun o => map (emit (mkenv q h v)) (outs l) ++ o)); auto.
    - apply (bounded_comp g (fun o => map (emit (mkenv q h v)) (outs l) ++ o)); auto. }
  destruct (nth n prog Halt) as [|rd si]; auto. destruct rd, qs; auto; destruct si; auto; lra.
Qed.
Lemma sem_scal fuel : forall n v qs c f, 0 <= c -> bounded f -> sem E prog fuel n v qs (fun o => c * f o) = c * sem E prog fuel n v qs f.
Proof.
  induction fuel as [|fuel IH]; intros n v qs c f C F; simpl; [lra|].
  assert (GO : forall gr q qs', E (draws gr) (fun h => let e := mkenv q h v in pick (branches gr) e (fun l =>
      sem E prog fuel (to l) (after l e) qs' (fun o => c * f (map (emit e) (outs l) ++ o)))) =
    c * E (draws gr) (fun h => let e := mkenv q h v in pick (branches gr) e (fun l =>
      sem E prog fuel (to l) (after l e) qs' (fun o => f (map (emit e) (outs l) ++ o))))).
  { intros gr q qs'. rewrite <- (E_scal _ _ _ _ L) by (auto using sem_step_bounded). f_equal. apply functional_extensionality. intros h. cbv zeta.
    rewrite <- pick_scal. f_equal. apply functional_extensionality. intros l. apply (IH _ _ _ c (fun o => f (map (emit (mkenv q h v)) (outs l) ++ o))); auto.
    apply (bounded_comp f (fun o => map (emit (mkenv q h v)) (outs l) ++ o)); auto. }
  destruct (nth n prog Halt) as [|rd si]; auto. destruct rd, qs; auto; destruct si; auto; lra.
Qed.
End LoopOutcomes.
Theorem loop_outcomes T prog ranks top : proper_table T = true -> check_total prog ranks top = true ->
  forall u, 0 < u -> forall a, outcomes (run_loop T prog ranks top u a).
Proof.
  intros P OK u U a. pose proof (draw_laws T u P U) as L. split.
  - intros c C. exact (loop_mass T prog ranks top P OK u U a c C).
  - intros f g F G I. eapply sem_le; eauto.
  - intros c f C F. eapply sem_scal; eauto.
Qed.
