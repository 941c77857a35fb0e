(** * Data of a fixed length: one shift for each cell of the noise

    All noises are drawn, then questions decide which branch is taken.  For each branch and each face
    of the differences of neighbours a plan shifts the noise, affinely in the difference. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Qabs Qminmax Bool FunctionalExtensionality.
From DP Require Import Noise Program NoiseTable Loop LoopChecker.
Import ListNotations.
Open Scope R_scope.

(** What is expected of a function of the release, for data with fields [q]. *)
Definition release (E : list nat -> (vec -> R) -> R) (ns : list nat) (bs : list (path * leaf))
    (q : vec) (f : list out -> R) : R :=
  E ns (fun h => let e := mkenv q h zero in pick bs e (fun l => f (map (emit e) (outs l)))).

Definition aff := (Q * list (nat * Q))%type.
Definition box := list (nat * (Q * Q)).
Record plan := Plan {
  p_leaf : nat; p_component : nat; p_face : box; p_shift : list (nat * aff); p_bound : list (nat * aff) }.
Record cells := Cells {
  k_noises : noise_table; k_draws : list nat; k_branches : list (path * leaf);
  k_components : list (list box);  (* neighbours: one of these hulls of boxes of differences *)
  k_plans : list plan }.

(** ** Affine functions on boxes *)
Definition aff_at (a : aff) (d : vec) : R := Q2R (fst a) + terms_at (map (fun t => (fst t, Q2R (snd t))) (snd a)) d.
Definition in_box (F : box) (d : vec) : Prop :=
  (forall k lo hi, In (k, (lo, hi)) F -> Q2R lo <= d k <= Q2R hi) /\ (forall k, ~ In k (map fst F) -> d k = 0).
Definition coef (k : nat) (l : list (nat * Q)) : Q :=
  fold_right (fun t r => if Nat.eqb (fst t) k then Qred (snd t + r) else r) 0%Q l.
Definition least (F : box) (a : aff) : Q :=
  fold_right (fun x r => let c := coef (fst x) (snd a) in
    Qred (Qmin (c * fst (snd x)) (c * snd (snd x)) + r)) (fst a) F.
Definition aff_add (a b : aff) : aff := (Qred (fst a + fst b), snd a ++ snd b).
Definition aff_scal (c : Q) (a : aff) : aff :=
  (Qred (c * fst a), map (fun t => (fst t, Qred (c * snd t))) (snd a)).
Definition no_shift : aff := (0%Q, []).
Definition given {A} (l : list (nat * A)) (i : nat) (d : A) : A := match assoc i l with Some a => a | None => d end.
(** How much a form changes: affine in the difference, since the shift is. *)
Definition change (sh : list (nat * aff)) (t : lin) : aff :=
  fold_right (fun x r => match fst x with
    | D k => aff_add (0%Q, [(k, snd x)]) r
    | H i => aff_add (aff_scal (snd x) (given sh i no_shift)) r
    | V _ => r end) no_shift t.

Lemma terms_at_app l m h : terms_at (l ++ m) h = terms_at l h + terms_at m h.
Proof. induction l as [|[i a] l IH]; simpl; lra. Qed.
Lemma aff_add_ok a b d : aff_at (aff_add a b) d = aff_at a d + aff_at b d.
Proof.
  unfold aff_at, aff_add; cbn [fst snd]. rewrite Q2R_red, Q2R_plus, map_app, terms_at_app. lra.
Qed.
Lemma aff_scal_ok c a d : aff_at (aff_scal c a) d = Q2R c * aff_at a d.
Proof.
  unfold aff_at, aff_scal; cbn [fst snd]. rewrite Q2R_red, Q2R_mult.
  induction (snd a) as [|[i x] l IH]; cbn [map fst snd terms_at]; [simpl; lra|]. rewrite Q2R_red, Q2R_mult. lra.
Qed.
Lemma no_shift_ok d : aff_at no_shift d = 0.
Proof. unfold aff_at, no_shift; simpl. rewrite Q2R_0. lra. Qed.
Definition shift_at (sh : list (nat * aff)) (d : vec) : vec := fun i => aff_at (given sh i no_shift) d.
Lemma change_ok sh t d : leval t (mkenv d (shift_at sh d) zero) = aff_at (change sh t) d.
Proof.
  induction t as [|[s a] t IH]; cbn [leval change fold_right fst snd]; [rewrite no_shift_ok; auto|].
  fold (change sh t). rewrite IH. destruct s as [k|i|k]; cbn [mkenv].
  - rewrite aff_add_ok. unfold aff_at at 2; simpl. rewrite Q2R_0. lra.
  - rewrite aff_add_ok, aff_scal_ok. unfold shift_at. lra.
  - unfold zero. lra.
Qed.
Lemma terms_once k l d : terms_at (map (fun t => (fst t, Q2R (snd t))) l) d =
  Q2R (coef k l) * d k + terms_at (map (fun t => (fst t, Q2R (snd t))) l) (upd d k 0).
Proof.
  induction l as [|[i a] l IH]; [simpl; rewrite Q2R_0; lra|].
  cbn [map terms_at fst snd coef fold_right]. fold (coef k l). rewrite IH. unfold upd at 2.
  destruct (Nat.eqb_spec i k) as [->|N].
  - rewrite Q2R_red, Q2R_plus. lra.
  - lra.
Qed.
Lemma least_ok F : forall a d, NoDup (map fst F) -> in_box F d -> Q2R (least F a) <= aff_at a d.
Proof.
  induction F as [|[k [lo hi]] F IH]; intros a d ND [B Z].
  - simpl. unfold aff_at. cut (terms_at (map (fun t => (fst t, Q2R (snd t))) (snd a)) d = 0); [lra|].
    induction (snd a) as [|[i x] l IHl]; simpl; auto. rewrite IHl, (Z i); [lra|]. intros [].
  - inversion ND as [|? ? NI ND']; subst. cbn [least fold_right fst snd]. fold (least F a).
    rewrite Q2R_red, Q2R_plus.
    assert (IB : in_box F (upd d k 0)).
    { split.
      - intros j l h I. unfold upd. destruct (Nat.eqb_spec j k) as [->|]; [|apply B; right; auto].
        exfalso. apply NI. change k with (fst (k, (l, h))). apply in_map; auto.
      - intros j J. unfold upd. destruct (Nat.eqb_spec j k); auto. apply Z. simpl. intros [X|X]; auto. }
    specialize (IH a (upd d k 0) ND' IB). unfold aff_at in *. rewrite (terms_once k (snd a) d).
    destruct (B k lo hi (or_introl eq_refl)) as [B1 B2].
    set (c := coef k (snd a)) in *.
    assert (M : Q2R (Qmin (c * lo) (c * hi)) <= Q2R c * d k).
    { pose proof (Qle_Rle _ _ (Q.le_min_l (c * lo) (c * hi))) as M1.
      pose proof (Qle_Rle _ _ (Q.le_min_r (c * lo) (c * hi))) as M2.
      rewrite Q2R_mult in M1, M2. destruct (Rle_dec 0 (Q2R c)).
      - assert (Q2R c * Q2R lo <= Q2R c * d k) by (apply Rmult_le_compat_l; auto). lra.
      - assert (Q2R c * Q2R hi <= Q2R c * d k) by (apply Rmult_le_compat_neg_l; lra). lra. }
    lra.
Qed.

(** ** The checker *)
Section Check.
Variable K : cells.
Notation T := (k_noises K).
Variable eps : Q.

Definition lin_data (t : lin) : list nat := flat_map (fun x => match fst x with D k => [k] | _ => [] end) t.
Definition lin_noises (t : lin) : list nat := flat_map (fun x => match fst x with H i => [i] | _ => [] end) t.
Definition path_forms (p : path) : list lin :=
  flat_map (fun qa : question * nat => match fst qa with Sign f => [terms f] | Greatest fs => map terms fs end) p.
Definition out_forms (l : leaf) : list lin := flat_map (fun o => match o with SNum f => [terms f] | _ => [] end) (outs l).
Definition used (p : path) (l : leaf) : list nat := flat_map lin_data (path_forms p ++ out_forms l).
(** One-sided noises have an end, so that they matter to every branch. *)
Definition met (p : path) (l : leaf) : list nat :=
  filter (fun i => match fst (entry T i) with Exponential | Geometric => true | _ => false end) (k_draws K) ++
  flat_map lin_noises (path_forms p ++ out_forms l).
Definition member (k : nat) (l : list nat) : bool := existsb (Nat.eqb k) l.

Definition at_least_0 (F : box) (a : aff) : bool := Qle_bool 0 (least F a).
Definition kept_on (F : box) (sh : list (nat * aff)) (q : question) (a : nat) : bool :=
  match q with
  | Sign f => at_least_0 F (match a with O => aff_scal (-1) (change sh (terms f)) | _ => change sh (terms f) end)
  | Greatest fs => let w := change sh (terms (nth a fs (Form 0 []))) in
      forallb (fun f => at_least_0 F (aff_add w (aff_scal (-1) (change sh (terms f))))) fs
  end.
Definition whole_aff (a : aff) : bool := qint (fst a) && forallb (fun t => qint (snd t)) (snd a).
(** The price of a plan, as an affine function. *)
Definition price (sh bd : list (nat * aff)) (ns : list nat) : aff :=
  fold_right (fun i r => aff_add (aff_scal (rate T i)
    (if upward (fst (entry T i)) then given sh i no_shift else given bd i no_shift)) r) no_shift ns.
Fixpoint distinct (ks : list nat) : bool := match ks with [] => true | k :: ks => negb (member k ks) && distinct ks end.
Definition aligned (p : path) (l : leaf) (F : box) (sh bd : list (nat * aff)) : bool :=
  distinct (map fst F) &&
  forallb (fun x => member (fst x) (met p l) && member (fst x) (k_draws K)) (sh ++ bd) &&
  forallb (fun x => forallb (fun t : nat * Q => member (fst t) (used p l)) (snd (snd x))) (sh ++ bd) &&
  (negb (integral T) || forallb (fun x => whole_aff (snd x)) sh) &&
  forallb (fun qa : question * nat => kept_on F sh (fst qa) (snd qa)) p &&
  forallb (fun t => let c := change sh t in at_least_0 F c && at_least_0 F (aff_scal (-1) c)) (out_forms l) &&
  forallb (fun i => let s := given sh i no_shift in if upward (fst (entry T i)) then at_least_0 F s
    else let b := given bd i no_shift in at_least_0 F (aff_add b s) && at_least_0 F (aff_add b (aff_scal (-1) s))) (k_draws K) &&
  at_least_0 F (aff_add (eps, []) (aff_scal (-1) (price sh bd (k_draws K)))).

Definition qq_eqb (a b : Q * Q) : bool := Qeq_bool (fst a) (fst b) && Qeq_bool (snd a) (snd b).
Fixpoint box_eqb (F G : box) : bool :=
  match F, G with
  | [], [] => true
  | (k, e) :: F, (j, g) :: G => Nat.eqb k j && qq_eqb e g && box_eqb F G
  | _, _ => false
  end.
Definition point (e : Q * Q) : bool := Qeq_bool (fst e) (snd e).
Definition qfloor (q : Q) : Z := (Qnum q / Zpos (Qden q))%Z.
Definition integers_in (lo hi : Q) : list Q :=
  let a := (- qfloor (- lo))%Z in
  map (fun n => inject_Z (a + Z.of_nat n)) (seq 0 (Z.to_nat (qfloor hi - a + 1))).
(** Where a range is split: at its ends, as costs are convex; with integral noise at every integer. *)
Definition points (e : Q * Q) : list Q :=
  if point e then [fst e] else if integral T then integers_in (fst e) (snd e) else [fst e; snd e].
Definition set_range (F : box) (k : nat) (v : Q) : box :=
  map (fun x => if Nat.eqb (fst x) k then (k, (v, v)) else x) F.
(** A box is covered by a plan for it, or by covering it at the points of one of its ranges: the
    first one that all plans which fit the box have split. *)
Fixpoint fits_box (F G : box) : bool :=
  match F, G with
  | [], [] => true
  | (k, e) :: F, (j, g) :: G => Nat.eqb k j &&
      (qq_eqb e g || (point g && existsb (Qeq_bool (fst g)) (points e))) && fits_box F G
  | _, _ => false
  end.
Definition splitting (plans : list (box * bool)) (F : box) : option (nat * (Q * Q)) :=
  match filter (fun x => fits_box F (fst x)) plans with
  | [] => None
  | fit => find (fun x : nat * (Q * Q) => negb (point (snd x)) &&
      forallb (fun g => match assoc (fst x) (fst g) with Some e => point e | None => false end) fit) F
  end.
Fixpoint covered (fuel : nat) (plans : list (box * bool)) (F : box) : bool :=
  existsb (fun x => snd x && box_eqb F (fst x)) plans ||
  match fuel with
  | O => false
  | S fuel => match splitting plans F with
    | Some x => forallb (fun v => covered fuel plans (set_range F (fst x) v)) (points (snd x))
    | None => false
    end
  end.
Definition still (e : Q * Q) : bool := Qeq_bool (fst e) 0 && Qeq_bool (snd e) 0.
Definition restrict (us : list nat) (F : box) : box :=
  filter (fun x => member (fst x) us && negb (still (snd x))) F.
Definition check_branch (p : path) (l : leaf) : bool :=
  forallb (fun x : nat * list box => let (g, faces) := x in
    let mine := filter (fun a => Nat.eqb (p_leaf a) (id l) && Nat.eqb (p_component a) g) (k_plans K) in
    let plans := map (fun a => (p_face a, aligned p l (p_face a) (p_shift a) (p_bound a))) mine in
    forallb snd plans &&
    forallb (fun F => let F' := restrict (used p l) F in
      distinct (map fst F) && match F' with [] => true | _ => covered (length F') plans F' end) faces)
    (indexed (k_components K)).
Definition check_cells : bool :=
  proper_table T && Qle_bool 0 eps && well_formed (k_branches K) &&
  forallb (fun b => check_branch (fst b) (snd b)) (k_branches K).

(** ** Correctness *)
(** Differences: integral where noise is, and then only the boxes themselves. *)
Inductive spanned (faces : list box) : vec -> Prop :=
| span_zero d : (forall i, d i = 0) -> spanned faces d
| span_face F d : In F faces -> in_box F d -> (integral T = true -> forall i, exists z, d i = IZR z) -> spanned faces d
| span_mix t d1 d2 d : integral T = false -> 0 <= t <= 1 -> spanned faces d1 -> spanned faces d2 ->
    mixed t d1 d2 d -> spanned faces d.

Definition fits (p : path) (l : leaf) (d : vec) : Prop :=
  exists s, supported (k_draws K) s /\ allowed T s /\ keeps p (mkenv d s zero) /\
    releases_same l (mkenv d s zero) /\ cost (rate T) (k_draws K) s <= Q2R eps.

Hypothesis OK : check_cells = true.
Lemma cells_table : proper_table T = true.
Proof. unfold check_cells in OK. rewrite !andb_true_iff in OK. apply OK. Qed.
Lemma fits_mix t p l d1 d2 d : integral T = false -> 0 <= t <= 1 -> fits p l d1 -> fits p l d2 ->
  mixed t d1 d2 d -> fits p l d.
Proof.
  intros NI B (s1 & Z1 & A1 & K1 & O1 & C1) (s2 & Z2 & A2 & K2 & O2 & C2) XD.
  set (s := fun i => t * s1 i + (1 - t) * s2 i). assert (XS : mixed t s1 s2 s) by (intros i; reflexivity).
  assert (XZ : mixed t zero zero zero) by (intros i; unfold zero; lra).
  pose proof (mkenv_mix t d1 d2 d s1 s2 s zero zero zero XD XS XZ) as XE.
  exists s. refine (conj _ (conj _ (conj _ (conj _ _)))).
  - intros i I. unfold s. rewrite Z1, Z2; auto; lra.
  - eapply allowed_mix; eauto.
  - eapply keeps_mix; eauto.
  - intros f I. rewrite (leval_mix _ t _ _ _ XE), O1, O2; auto. lra.
  - pose proof (cost_mix T t (k_draws K) s1 s2 s cells_table B XS).
    pose proof (mix_le t _ _ _ _ B C1 C2). lra.
Qed.
Lemma member_ok k l : member k l = true <-> In k l.
Proof.
  unfold member. rewrite existsb_exists. split.
  - intros (x & I & E). apply Nat.eqb_eq in E. subst; auto.
  - intros I. exists k. split; auto. apply Nat.eqb_refl.
Qed.
Lemma distinct_ok l : distinct l = true -> NoDup l.
Proof.
  induction l as [|k l IH]; simpl; [constructor|]. rewrite andb_true_iff, negb_true_iff. intros [M D'].
  constructor; auto. intros I. apply member_ok in I. congruence.
Qed.
Lemma at_least_0_ok F a d : NoDup (map fst F) -> in_box F d -> at_least_0 F a = true -> 0 <= aff_at a d.
Proof.
  intros ND B A. apply Rle_trans with (Q2R (least F a)); [|apply least_ok; auto].
  rewrite <- Q2R_0. apply qle_ok; auto.
Qed.
Lemma neg_ok a d : aff_at (aff_scal (-1) a) d = - aff_at a d.
Proof. rewrite aff_scal_ok. replace (Q2R (-1)) with (-1) by (unfold Q2R; simpl; lra). lra. Qed.
Lemma kept_on_ok F sh p l d : NoDup (map fst F) -> in_box F d -> In (p, l) (k_branches K) ->
  forallb (fun qa : question * nat => kept_on F sh (fst qa) (snd qa)) p = true ->
  keeps p (mkenv d (shift_at sh d) zero).
Proof.
  intros ND B IN A q a I. rewrite forallb_forall in A. specialize (A _ I). simpl in A.
  destruct q as [f|fs]; simpl in *.
  - rewrite change_ok. destruct a; apply (at_least_0_ok F _ d ND B) in A; [rewrite neg_ok in A|]; lra.
  - intros AL k KL. rewrite !change_ok. rewrite forallb_forall in A.
    specialize (A (nth k fs (Form 0 [])) (nth_In _ _ KL)). apply (at_least_0_ok F _ d ND B) in A.
    rewrite aff_add_ok, neg_ok in A. lra.
Qed.
Lemma whole_aff_ok a d : whole_aff a = true -> (forall i, exists z, d i = IZR z) -> exists z, aff_at a d = IZR z.
Proof.
  unfold whole_aff. rewrite andb_true_iff. intros [C L] Z. apply qint_ok in C. destruct C as [z C].
  rewrite forallb_forall in L. unfold aff_at. rewrite C. clear C. revert z.
  induction (snd a) as [|[i x] l IH]; intros z; simpl; [exists z; lra|].
  destruct (qint_ok x) as [y Y]; [apply (L (i, x)); left; auto|]. destruct (Z i) as [w W].
  destruct (IH (fun t I => L t (or_intror I)) (z + y * w)%Z) as [v V]. exists v. rewrite <- V.
  rewrite Y, W, plus_IZR, mult_IZR. lra.
Qed.
Lemma price_ok sh bd ns d : aff_at (price sh bd ns) d =
  fold_right (fun i r => Q2R (rate T i) *
    aff_at (if upward (fst (entry T i)) then given sh i no_shift else given bd i no_shift) d + r) 0 ns.
Proof.
  induction ns as [|i ns IH]; cbn [price fold_right]; [apply no_shift_ok|].
  fold (price sh bd ns). rewrite aff_add_ok, aff_scal_ok, IH. lra.
Qed.
Lemma aligned_fits p l F sh bd d : In (p, l) (k_branches K) -> aligned p l F sh bd = true -> in_box F d ->
  (integral T = true -> forall i, exists z, d i = IZR z) -> fits p l d.
Proof.
  unfold aligned. rewrite !andb_true_iff. intros IN (((((((ND & MET) & USED) & WH) & KP) & PIN) & BND) & PRICE) B ZD.
  apply distinct_ok in ND. rewrite forallb_forall in MET, PIN, BND.
  assert (SU : supported (k_draws K) (shift_at sh d)).
  { intros i I. unfold shift_at, given. destruct (assoc i sh) as [a|] eqn:A; [|apply no_shift_ok].
    apply assoc_in in A. specialize (MET (i, a) (in_or_app _ _ _ (or_introl A))). simpl in MET.
    apply andb_true_iff in MET. destruct MET as [_ M]. apply member_ok in M. contradiction. }
  exists (shift_at sh d). refine (conj SU (conj _ (conj _ (conj _ _)))).
  - split.
    + intros INT i. rewrite INT in WH. simpl in WH. rewrite forallb_forall in WH. unfold shift_at, given.
      destruct (assoc i sh) as [a|] eqn:A.
      * apply assoc_in in A. apply whole_aff_ok; auto. apply (WH (i, a) A).
      * exists 0%Z. apply no_shift_ok.
    + intros i U. destruct (in_dec Nat.eq_dec i (k_draws K)) as [I|I]; [|rewrite SU by auto; lra].
      specialize (BND i I). cbv zeta in BND. rewrite U in BND. apply (at_least_0_ok F); auto.
  - eapply kept_on_ok; eauto.
  - intros f I. rewrite change_ok. assert (IT : In (terms f) (out_forms l)).
    { unfold out_forms. apply in_flat_map. exists (SNum f). split; simpl; auto. }
    specialize (PIN _ IT). cbv zeta in PIN. apply andb_true_iff in PIN. destruct PIN as [P1 P2].
    apply (at_least_0_ok F _ d ND B) in P1. apply (at_least_0_ok F _ d ND B) in P2. rewrite neg_ok in P2. lra.
  - apply (at_least_0_ok F _ d ND B) in PRICE. rewrite aff_add_ok, neg_ok, price_ok in PRICE.
    unfold aff_at at 1 in PRICE. cbn [fst snd map terms_at] in PRICE.
    cut (cost (rate T) (k_draws K) (shift_at sh d) <= fold_right (fun i r => Q2R (rate T i) *
      aff_at (if upward (fst (entry T i)) then given sh i no_shift else given bd i no_shift) d + r) 0 (k_draws K)); [lra|].
    clear PRICE SU MET. induction (k_draws K) as [|i ns IH]; simpl; [lra|].
    apply Rplus_le_compat; [|apply IH; intros; apply BND; right; auto].
    apply Rmult_le_compat_l; [left; apply rate_pos, cells_table|].
    specialize (BND i (or_introl eq_refl)). cbv zeta in BND. unfold shift_at.
    destruct (upward (fst (entry T i))).
    + apply (at_least_0_ok F _ d ND B) in BND. rewrite Rabs_pos_eq; lra.
    + apply andb_true_iff in BND. destruct BND as [B1 B2].
      apply (at_least_0_ok F _ d ND B) in B1. apply (at_least_0_ok F _ d ND B) in B2.
      rewrite aff_add_ok in B1, B2. rewrite neg_ok in B2. apply Rabs_le. lra.
Qed.

Lemma box_eqb_ok F : forall G d, box_eqb F G = true -> in_box F d -> in_box G d.
Proof.
  induction F as [|[k [a b]] F IH]; intros [|[j [a' b']] G] d E [B Z]; simpl in E; try discriminate; [split; auto|].
  rewrite !andb_true_iff in E. destruct E as [[KJ Q] E]. apply Nat.eqb_eq in KJ. subst j.
  unfold qq_eqb in Q. apply andb_true_iff in Q. destruct Q as [Q1 Q2]. apply qeq_ok in Q1, Q2. simpl in Q1, Q2.
  assert (KEYS : forall F G, box_eqb F G = true -> map fst F = map fst G).
  { clear. induction F as [|[k e] F IH]; intros [|[j g] G] E; simpl in *; try discriminate; auto.
    rewrite !andb_true_iff in E. destruct E as [[X _] E]. apply Nat.eqb_eq in X. subst. f_equal; auto. }
  split.
  - intros i lo hi [I|I].
    + injection I as -> -> ->. rewrite <- Q1, <- Q2. apply B. left; auto.
    + (* the tails agree on their own coordinates *)
      assert (X : exists lo' hi', In (i, (lo', hi')) F /\ Q2R lo' = Q2R lo /\ Q2R hi' = Q2R hi).
      { clear - E I. revert G E I. induction F as [|[k [p q]] F IH]; intros [|[j [r s]] G] E I; simpl in *; try discriminate; try contradiction.
        rewrite !andb_true_iff in E. destruct E as [[X Q] E]. apply Nat.eqb_eq in X. subst j.
        unfold qq_eqb in Q. apply andb_true_iff in Q. destruct Q as [Q1 Q2]. apply qeq_ok in Q1, Q2. simpl in Q1, Q2.
        destruct I as [I|I].
        - injection I as -> -> ->. exists p, q. split; [left; auto | auto].
        - destruct (IH G E I) as (lo' & hi' & A & B). exists lo', hi'. split; [right; auto | auto]. }
      destruct X as (lo' & hi' & A & <- & <-). apply B. right; auto.
  - intros i I. apply Z. simpl in *. rewrite (KEYS F G E). auto.
Qed.

Lemma floor_le q z : IZR z <= Q2R q -> (z <= qfloor q)%Z.
Proof.
  intros L. unfold qfloor. apply Z.div_le_lower_bound; [lia|].
  assert (X : (inject_Z z <= q)%Q).
  { apply Rle_Qle. unfold inject_Z, Q2R at 1; simpl. rewrite Rinv_1, Rmult_1_r. auto. }
  unfold Qle, inject_Z in X; simpl in X. lia.
Qed.
Lemma integers_in_ok lo hi z : Q2R lo <= IZR z <= Q2R hi -> exists q, In q (integers_in lo hi) /\ Q2R q = IZR z.
Proof.
  intros [L U]. apply floor_le in U.
  assert (L' : (- z <= qfloor (- lo))%Z) by (apply floor_le; rewrite opp_IZR, Q2R_opp; lra).
  exists (inject_Z z). split.
  - unfold integers_in. apply in_map_iff. exists (Z.to_nat (z + qfloor (- lo))). split.
    + f_equal. rewrite Z2Nat.id; lia.
    + apply in_seq. split; [lia|]. rewrite Nat.add_0_l. apply Z2Nat.inj_lt; lia.
  - unfold inject_Z, Q2R; simpl. rewrite Rinv_1. lra.
Qed.
Lemma set_range_keys F k v : map fst (set_range F k v) = map fst F.
Proof.
  unfold set_range. rewrite map_map. apply map_ext_in. intros [j e] _. simpl.
  destruct (Nat.eqb_spec j k); simpl; auto.
Qed.
Lemma set_range_box F k e v d : NoDup (map fst F) -> In (k, e) F -> in_box F d ->
  in_box (set_range F k v) (upd d k (Q2R v)).
Proof.
  intros ND I [B Z]. split.
  - intros j lo hi J. unfold set_range in J. apply in_map_iff in J. destruct J as ([i g] & X & J). simpl in X.
    destruct (Nat.eqb_spec i k) as [->|N]; unfold upd.
    + injection X as <- <- <-. rewrite Nat.eqb_refl. lra.
    + injection X as <- ->. destruct (Nat.eqb_spec i k); [congruence|]. apply B; auto.
  - intros j J. rewrite set_range_keys in J. unfold upd. destruct (Nat.eqb_spec j k) as [->|]; [|apply Z; auto].
    exfalso. apply J. change k with (fst (k, e)). apply in_map; auto.
Qed.
Lemma covered_fits p l plans : In (p, l) (k_branches K) ->
  (forall F, In (F, true) plans -> forall d, in_box F d -> (integral T = true -> forall i, exists z, d i = IZR z) -> fits p l d) ->
  forall fuel F, NoDup (map fst F) -> covered fuel plans F = true -> forall d, in_box F d ->
  (integral T = true -> forall i, exists z, d i = IZR z) -> fits p l d.
Proof.
  intros IN PL. induction fuel as [|fuel IH]; intros F ND C d B ZD; simpl in C; apply orb_true_iff in C;
    destruct C as [C|C]; try discriminate;
    try (apply existsb_exists in C; destruct C as ([G b] & I & C); simpl in C; apply andb_true_iff in C;
         destruct C as [-> C]; apply (PL G I d); auto; eapply box_eqb_ok; eauto; fail).
  destruct (splitting plans F) as [[k [lo hi]]|] eqn:SP; [|discriminate].
  assert (X : In (k, (lo, hi)) F /\ negb (point (lo, hi)) = true).
  { unfold splitting in SP. destruct (filter _ plans); [discriminate|]. apply find_some in SP.
    destruct SP as [I SP]. apply andb_true_iff in SP. split; auto. apply SP. }
  destruct X as [IF NP].
  assert (NDK : forall v, NoDup (map fst (set_range F k v))) by (intros; rewrite set_range_keys; auto).
  rewrite forallb_forall in C. cbn [fst snd] in *. destruct (proj1 B k lo hi IF) as [B1 B2].
  unfold points in C. rewrite negb_true_iff in NP. rewrite NP in C. destruct (integral T) eqn:INT.
  - destruct (ZD eq_refl k) as [z Zk]. rewrite Zk in B1, B2.
    destruct (integers_in_ok lo hi z (conj B1 B2)) as (q & IQ & Q). cbn [fst snd] in C. specialize (C q IQ).
    apply (IH _ (NDK q) C); auto.
    replace d with (upd d k (Q2R q)); [apply (set_range_box F k (lo, hi)); auto|].
    apply vec_ext. intros j. unfold upd. destruct (Nat.eqb_spec j k) as [->|]; auto. rewrite Q, Zk. auto.
  - assert (LH : Q2R lo < Q2R hi).
    { destruct (Rle_lt_or_eq_dec (Q2R lo) (Q2R hi)) as [|E]; [lra | auto |]. exfalso.
      apply eqR_Qeq in E. unfold point in NP. simpl in NP. apply Qeq_eq_bool in E. congruence. }
    assert (TB : 0 <= (Q2R hi - d k) / (Q2R hi - Q2R lo) <= 1).
    { split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]|].
      apply Rmult_le_reg_r with (Q2R hi - Q2R lo); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (NZ : false = true -> forall i : nat, exists z, d i = IZR z) by discriminate.
    apply fits_mix with ((Q2R hi - d k) / (Q2R hi - Q2R lo)) (upd d k (Q2R lo)) (upd d k (Q2R hi)); auto.
    + apply (IH _ (NDK lo) (C lo (or_introl eq_refl))); [|discriminate].
      apply (set_range_box F k (lo, hi)); auto.
    + apply (IH _ (NDK hi) (C hi (or_intror (or_introl eq_refl)))); [|discriminate].
      apply (set_range_box F k (lo, hi)); auto.
    + intros j. unfold upd. destruct (Nat.eqb_spec j k) as [->|]; [field; lra | lra].
Qed.

(** Data that a branch does not use may differ at will. *)
Lemma fits_used p l d d' : (forall k, In k (used p l) -> d k = d' k) -> fits p l d -> fits p l d'.
Proof.
  intros U (s & SU & AL & KP & RS & CO). exists s. refine (conj SU (conj AL (conj _ (conj _ CO)))).
  - assert (X : forall t, In t (path_forms p) -> leval t (mkenv d s zero) = leval t (mkenv d' s zero)).
    { intros t IT. assert (V : forall k, In k (lin_data t) -> d k = d' k).
      { intros k I. apply U. unfold used. apply in_flat_map. exists t. split; auto. apply in_or_app; auto. }
      clear - V. induction t as [|[[k|i|k] a] t IH]; simpl in *; auto; rewrite IH; auto. rewrite (V k); auto. }
    intros q a I. specialize (KP q a I).
    assert (PF : forall f, match q with Sign g => f = g | Greatest fs => In f fs end -> In (terms f) (path_forms p)).
    { intros f F. unfold path_forms. apply in_flat_map. exists (q, a). split; auto. destruct q; simpl; subst; auto.
      apply in_map; auto. }
    destruct q as [f|fs]; simpl in *.
    + rewrite <- X by (apply PF; auto). auto.
    + intros A k KL. specialize (KP A k KL). rewrite <- !X by (apply PF, nth_In; auto). auto.
  - intros f I. specialize (RS f I).
    assert (V : forall k, In k (lin_data (terms f)) -> d k = d' k).
    { intros k J. apply U. unfold used. apply in_flat_map. exists (terms f). split; auto. apply in_or_app. right.
      unfold out_forms. apply in_flat_map. exists (SNum f). simpl; auto. }
    rewrite <- RS. clear - V. induction (terms f) as [|[[k|i|k] a] t IH]; simpl in *; auto; rewrite IH; auto.
    rewrite (V k); auto.
Qed.
Lemma restrict_box us F d : NoDup (map fst F) -> in_box F d ->
  in_box (restrict us F) (fun k => if member k us then d k else 0).
Proof.
  intros ND [B Z]. split.
  - intros k lo hi I. unfold restrict in I. apply filter_In in I. destruct I as [I U]. simpl in U.
    apply andb_true_iff in U. destruct U as [-> _]. apply B; auto.
  - intros k N. destruct (member k us) eqn:M; auto.
    destruct (in_dec Nat.eq_dec k (map fst F)) as [I|I]; [|apply Z; auto].
    apply in_map_iff in I. destruct I as ([j [lo hi]] & <- & I). simpl in *.
    destruct (still (lo, hi)) eqn:S.
    + unfold still in S. apply andb_true_iff in S. destruct S as [S1 S2]. apply qeq_ok in S1, S2. simpl in S1, S2.
      rewrite Q2R_0 in S1, S2. destruct (B j lo hi I). lra.
    + exfalso. apply N. apply in_map_iff. exists (j, (lo, hi)). split; auto. unfold restrict. apply filter_In.
      split; auto. simpl. rewrite M, S. auto.
Qed.
Lemma fits_zero p l d : (forall i, d i = 0) -> fits p l d.
Proof.
  intros Z. exists zero.
  assert (L0 : forall t, leval t (mkenv d zero zero) = 0).
  { intros t. induction t as [|[[k|i|k] a] t IH]; simpl; auto; rewrite IH; [rewrite Z | unfold zero | unfold zero]; lra. }
  assert (EP : 0 <= Q2R eps).
  { unfold check_cells in OK. rewrite !andb_true_iff in OK. destruct OK as [[[_ E] _] _].
    rewrite <- Q2R_0. apply qle_ok; auto. }
  refine (conj _ (conj _ (conj _ (conj _ _)))).
  - intros i _. reflexivity.
  - split; [intros _ i; exists 0%Z; reflexivity | intros; unfold zero; lra].
  - intros q a I. destruct q as [f|fs]; simpl; [destruct a; rewrite L0; lra|]. intros. rewrite !L0. lra.
  - intros f I. apply L0.
  - replace (cost (rate T) (k_draws K) zero) with 0; auto.
    induction (k_draws K) as [|i ns IH]; simpl; auto. rewrite <- IH. unfold zero. rewrite Rabs_R0. lra.
Qed.
Lemma spanned_fits p l g faces d : In (p, l) (k_branches K) -> nth_error (k_components K) g = Some faces ->
  spanned faces d -> fits p l d.
Proof.
  intros IN NG. induction 1 as [d Z | F d IF B ZD | t d1 d2 d NI TB S1 I1 S2 I2 X].
  - apply fits_zero; auto.
  - pose proof OK as O. unfold check_cells in O. rewrite !andb_true_iff in O. destruct O as [_ CB].
    rewrite forallb_forall in CB. specialize (CB _ IN). simpl in CB. unfold check_branch in CB.
    rewrite forallb_forall in CB. specialize (CB (g, faces) (indexed_in _ _ _ NG)). simpl in CB.
    apply andb_true_iff in CB. destruct CB as [GOOD FA]. rewrite forallb_forall in FA. specialize (FA F IF).
    cbv zeta in FA. apply andb_true_iff in FA. destruct FA as [ND CO]. apply distinct_ok in ND.
    set (mine := filter _ (k_plans K)) in *.
    set (d' := fun k => if member k (used p l) then d k else 0).
    pose proof (restrict_box (used p l) F d ND B) as RB. fold d' in RB.
    apply (fits_used p l d').
    { intros k I. unfold d'. apply member_ok in I. rewrite I. auto. }
    destruct (restrict (used p l) F) as [|x xs] eqn:E.
    + apply fits_zero. intros i. apply (proj2 RB). intros [].
    + eapply (covered_fits p l _ IN); [| |exact CO|exact RB|].
      * intros G IG e BE ZE. apply in_map_iff in IG. destruct IG as (a & EQ & _). injection EQ as <- AL.
        eapply aligned_fits; eauto.
      * rewrite <- E. unfold restrict. clear - ND. induction F as [|y F IH]; simpl; [constructor|].
        inversion ND; subst. destruct (member _ _ && _); simpl; auto. constructor; auto.
        intros I. apply in_map_iff in I. destruct I as (z & EZ & I). apply filter_In in I. apply H1.
        rewrite <- EZ. apply in_map. apply I.
      * intros INT i. unfold d'. destruct (member i (used p l)); [apply ZD; auto | exists 0%Z; auto].
  - apply fits_mix with t d1 d2; auto.
Qed.

(** What is accepted is private, whatever noise obeys the laws. *)
Theorem cells_sound u E : 0 <= u -> laws u (rate T) (allowed T) E ->
  forall g faces q1 q2 f, nth_error (k_components K) g = Some faces -> spanned faces (minus q2 q1) -> bounded f ->
  release E (k_draws K) (k_branches K) q1 f <= exp (u * Q2R eps) * release E (k_draws K) (k_branches K) q2 f.
Proof.
  intros U L g faces q1 q2 f NG SP [M B]. unfold release.
  assert (WF : well_formed (k_branches K) = true).
  { unfold check_cells in OK. rewrite !andb_true_iff in OK. apply OK. }
  apply (step u (rate T) (allowed T) E U L (k_draws K) (k_branches K) q1 q2 zero zero (Q2R eps)
    (fun l e => f (map (emit e) (outs l))) (fun l e => f (map (emit e) (outs l))) M WF).
  - specialize (B []). lra.
  - intros; apply B.
  - intros; apply B.
  - intros p l I. destruct (spanned_fits p l g faces _ I NG SP) as (s & SU & AL & KP & RS & CO).
    assert (ZZ : minus zero zero = zero) by (apply vec_ext; intros; unfold minus, zero; lra).
    exists s, 0. rewrite ZZ. refine (conj SU (conj AL (conj KP (conj _ _)))); [lra|].
    intros e1 e2 DE. rewrite (emit_same l e1 e2) by (rewrite DE; auto). rewrite Rmult_0_r, exp_0. lra.
Qed.
End Check.
