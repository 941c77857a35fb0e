(** * Clipped data, and states that were merged

    A program may read its data through clips: entry [k] of its view is an entry of the list, or a form
    of entries that is clipped.  Clips do not widen distances.  And it may forget which of several ways
    it has come: what it does then is the same on all of them. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Qabs Qminmax Bool FunctionalExtensionality.
From DP Require Import Noise Privacy Program NoiseTable Loop LoopChecker Draw Cells Adjacency Total Selection Certificate.
Import ListNotations.
Open Scope R_scope.

(** ** Views *)
Inductive view := Entry (j : nat) | Clip (of : list (nat * Q)) (lo hi : option Q).
Definition clip (lo hi : option Q) (x : R) : R :=
  let y := match hi with Some h => Rmin (Q2R h) x | None => x end in
  match lo with Some l => Rmax (Q2R l) y | None => y end.
Definition form_of (of : list (nat * Q)) (q : vec) : R := terms_at (map (fun t => (fst t, Q2R (snd t))) of) q.
Definition view_at (v : view) (q : vec) : R := match v with Entry j => q j | Clip of lo hi => clip lo hi (form_of of q) end.
Definition viewed (V : list view) (q : vec) : vec :=
  fun k => match nth_error V k with Some v => view_at v q | None => 0 end.

Lemma clip_contracts lo hi x y : x <= y -> 0 <= clip lo hi y - clip lo hi x <= y - x.
Proof.
  intros L. unfold clip. destruct lo as [l|], hi as [h|]; unfold Rmin, Rmax; repeat destruct Rle_dec; lra.
Qed.
Lemma clip_width l h x y : Q2R l <= Q2R h -> Rabs (clip (Some l) (Some h) y - clip (Some l) (Some h) x) <= Q2R h - Q2R l.
Proof. intros L. unfold clip, Rmin, Rmax, Rabs. repeat destruct Rle_dec; destruct Rcase_abs; lra. Qed.
(** What is left of a difference after clipping, as a factor. *)
Definition kept (lo hi : option Q) (x y : R) : R := if Req_EM_T y x then 0 else (clip lo hi y - clip lo hi x) / (y - x).
Lemma kept_ok lo hi x y : 0 <= kept lo hi x y <= 1 /\ clip lo hi y - clip lo hi x = kept lo hi x y * (y - x).
Proof.
  unfold kept. destruct Req_EM_T as [->|N]; [lra|]. split; [|field; lra].
  destruct (Rle_dec x y) as [L|L].
  - pose proof (clip_contracts lo hi x y L) as C. assert (P : 0 < y - x) by lra.
    split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]|].
    apply Rmult_le_reg_r with (y - x); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  - pose proof (clip_contracts lo hi y x ltac:(lra)) as C. assert (P : 0 < x - y) by lra.
    replace ((clip lo hi y - clip lo hi x) / (y - x)) with ((clip lo hi x - clip lo hi y) / (x - y)) by (field; lra).
    split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]|].
    apply Rmult_le_reg_r with (x - y); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Lemma form_minus of q q' : form_of of q' - form_of of q = form_of of (minus q' q).
Proof. unfold form_of. induction of as [|[i c] of IH]; simpl; [lra|]. rewrite <- IH. unfold minus. lra. Qed.
(** The difference of two views is linear in the difference of the data, with the factors that are kept. *)
Definition seen (V : list view) (th : nat -> R) (d : vec) : vec :=
  fun k => match nth_error V k with Some (Entry j) => d j | Some (Clip of _ _) => th k * form_of of d | None => 0 end.
Lemma viewed_minus V q q' : exists th, (forall k, 0 <= th k <= 1) /\ minus (viewed V q') (viewed V q) = seen V th (minus q' q).
Proof.
  exists (fun k => match nth_error V k with Some (Clip of lo hi) => kept lo hi (form_of of q) (form_of of q') | _ => 0 end). split.
  - intros k. destruct (nth_error V k) as [[j|of lo hi]|]; try lra. apply kept_ok.
  - apply vec_ext. intros k. unfold minus at 1, viewed, seen. destruct (nth_error V k) as [[j|of lo hi]|]; simpl; auto; [|lra].
    rewrite <- form_minus. apply kept_ok.
Qed.
Lemma form_one of d j v : (forall i, i <> j -> d i = 0) -> d j = v -> form_of of d = Q2R (coef j of) * v.
Proof.
  intros Z J. unfold form_of. rewrite (terms_once j of d), J.
  cut (terms_at (map (fun t => (fst t, Q2R (snd t))) of) (upd d j 0) = 0); [lra|].
  induction of as [|[i c] of IH]; simpl; auto. rewrite IH. unfold upd. destruct (Nat.eqb_spec i j); [lra|]. rewrite Z by auto. lra.
Qed.

(** ** Neighbours *)
(** The sum of the moves is bounded: corners, as without clips. *)
Definition seen_range (j : nat) (v : Q) (w : view) : Q * Q :=
  match w with
  | Entry i => if Nat.eqb i j then (v, v) else (0, 0)%Q
  | Clip of _ _ => let c := (coef j of * v)%Q in (Qmin 0 c, Qmax 0 c)
  end.
Definition seen_box (V : list view) (j : nat) (v : Q) : box := map (fun x => (fst x, seen_range j v (snd x))) (indexed V).
Definition seen_corners (V : list view) (r : Q) (n : nat) : list box :=
  flat_map (fun j => [seen_box V j r; seen_box V j (- r)]) (seq 0 n).
Lemma indexed_keys {A} (l : list A) k : In k (map fst (indexed l)) <-> (k < length l)%nat.
Proof.
  split.
  - intros I. apply in_map_iff in I. destruct I as ([i x] & <- & I). simpl. unfold indexed in I. apply in_combine_l in I. apply in_seq in I. lia.
  - intros L. destruct (nth_error l k) as [x|] eqn:N; [|apply nth_error_None in N; lia]. apply in_map_iff. exists (k, x). split; auto. apply indexed_in; auto.
Qed.
Lemma indexed_out {A} (l : list A) k x : In (k, x) (indexed l) -> nth_error l k = Some x.
Proof.
  unfold indexed. intros I. apply (In_nth _ _ (O, x)) in I. destruct I as (m & L & E).
  rewrite combine_length, seq_length, Nat.min_id in L. rewrite combine_nth in E by apply seq_length.
  injection E as E1 E2. rewrite seq_nth in E1 by auto. simpl in E1. subst m. rewrite (nth_error_nth' l x L). congruence.
Qed.
Lemma between_0 th c : 0 <= th <= 1 -> Q2R (Qmin 0 c) <= th * Q2R c <= Q2R (Qmax 0 c).
Proof.
  intros T. pose proof (Qle_Rle _ _ (Q.le_min_l 0 c)) as A. pose proof (Qle_Rle _ _ (Q.le_min_r 0 c)) as B.
  pose proof (Qle_Rle _ _ (Q.le_max_l 0 c)) as C. pose proof (Qle_Rle _ _ (Q.le_max_r 0 c)) as D. rewrite Q2R_0 in A, C.
  destruct (Rle_dec 0 (Q2R c)); split; nra.
Qed.
Lemma seen_in_box V th j v d : (forall k, 0 <= th k <= 1) -> in_box (corner v j) d -> in_box (seen_box V j v) (seen V th d).
Proof.
  intros TH [B Z].
  assert (DJ : d j = Q2R v) by (destruct (B j v v (or_introl eq_refl)); lra).
  assert (DO : forall i, i <> j -> d i = 0) by (intros i N; apply Z; simpl; intros [E|[]]; auto).
  split.
  - intros k lo hi I. unfold seen_box in I. apply in_map_iff in I. destruct I as ([i w] & E & I). injection E as -> E. apply indexed_out in I.
    unfold seen. simpl in *. rewrite I. destruct w as [i'|of l h]; simpl in E.
    + destruct (Nat.eqb_spec i' j) as [EQ|N]; injection E as <- <-; [rewrite EQ, DJ; lra|]. rewrite DO by auto. rewrite Q2R_0. lra.
    + injection E as <- <-. rewrite (form_one of d j (Q2R v) DO DJ), <- Q2R_mult. apply between_0; auto.
  - intros k N. unfold seen. destruct (nth_error V k) as [w|] eqn:E; auto. exfalso. apply N. unfold seen_box. rewrite map_map.
    apply (in_map (fun x => fst (fst x, seen_range j v (snd x))) _ (k, w)). apply indexed_in; auto.
Qed.
Lemma seen_spanned K V th r n d : integral (k_noises K) = false -> (forall k, 0 <= th k <= 1) ->
  spanned K (corners r n) d -> spanned K (seen_corners V r n) (seen V th d).
Proof.
  intros NI TH. induction 1 as [d Z | F d IF B ZD | t d1 d2 d _ TB S1 I1 S2 I2 X].
  - apply span_zero. intros k. unfold seen. destruct (nth_error V k) as [[j|of l h]|]; auto.
    cut (form_of of d = 0); [intros ->; lra|]. unfold form_of. induction of as [|[i c] of IH]; simpl; auto. rewrite IH, Z. lra.
  - unfold corners in IF. apply in_flat_map in IF. destruct IF as (j & J & [<-|[<-|[]]]).
    + apply span_face with (seen_box V j r); [|apply seen_in_box; auto | intros; congruence].
      unfold seen_corners. apply in_flat_map. exists j. simpl. auto.
    + apply span_face with (seen_box V j (- r)); [|apply seen_in_box; auto | intros; congruence].
      unfold seen_corners. apply in_flat_map. exists j. simpl. auto.
  - apply span_mix with t (seen V th d1) (seen V th d2); auto. intros k. unfold seen.
    destruct (nth_error V k) as [[j|of l h]|]; [apply X | | lra].
    cut (form_of of d = t * form_of of d1 + (1 - t) * form_of of d2); [intros ->; lra|].
    unfold form_of. induction of as [|[i c] of IH]; simpl; [lra|]. rewrite IH, (X i). lra.
Qed.
Definition view_covered (K : cells) (V : list view) (near : list R -> list R -> Prop) := forall a b, near a b ->
  exists g faces, nth_error (k_components K) g = Some faces /\ spanned K faces (minus (viewed V (fields b)) (viewed V (fields a))).
Definition long (n : nat) (near : list R -> list R -> Prop) (a b : list R) := length a = n /\ near a b.
Theorem l1_view K V r n : negb (integral (k_noises K)) && negb (Qle_bool r 0) && match nth_error (k_components K) 0 with
    Some faces => boxes_eqb (seen_corners V r n) faces | None => false end = true -> view_covered K V (long n (l1 (Q2R r))).
Proof.
  rewrite !andb_true_iff, !negb_true_iff. intros [[NI RP] OK] a b (LEN & N). destruct (nth_error (k_components K) 0) as [faces|] eqn:NG; [|discriminate].
  exists O, faces. split; auto. apply (spanned_boxes K (seen_corners V r n)); auto.
  destruct (viewed_minus V (fields a) (fields b)) as (th & TH & ->). apply seen_spanned; auto. rewrite <- LEN.
  apply l1_spanned; auto; try (intros INT; unfold data_whole in *; congruence).
  rewrite <- Q2R_0. apply Qlt_Rlt, Qnot_le_lt. intros Y. apply Qle_bool_iff in Y. congruence.
Qed.
(** Nothing is clipped: the view is the list itself. *)
Theorem entries_view K n near : covered_by K (of_length n K near) ->
  view_covered K (map Entry (seq 0 n)) (of_length n K (fun a b => length a = length b /\ near a b)).
Proof.
  intros C a b (LEN & (LB & N) & A & B). destruct (C a b (conj LEN (conj N (conj A B)))) as (g & faces & NG & SP).
  exists g, faces. split; auto.
  assert (V : forall c, length c = n -> viewed (map Entry (seq 0 n)) (fields c) = fields c).
  { intros c L. apply vec_ext. intros k. unfold viewed. destruct (Nat.lt_ge_cases k n) as [I|I].
    - rewrite (map_nth_error Entry k (seq 0 n) (d := k)); auto. rewrite (nth_error_nth' _ O) by (rewrite seq_length; auto). rewrite seq_nth; auto.
    - replace (nth_error (map Entry (seq 0 n)) k) with (@None view); [unfold fields; rewrite nth_overflow; auto; lia|].
      symmetry. apply nth_error_None. rewrite map_length, seq_length. auto. }
  rewrite !V by congruence. auto.
Qed.
(** One entry is replaced, by anything or within a radius. *)
Definition one_entry (r : option R) (a b : list R) := length a = length b /\ exists j, (j < length a)%nat /\
  (forall i, i <> j -> nth i a 0 = nth i b 0) /\ match r with Some r => Rabs (nth j b 0 - nth j a 0) <= r | None => True end.
Definition swing (r : option Q) (j : nat) (w : view) : option (Q * Q) :=
  match w with
  | Entry i => if Nat.eqb i j then match r with Some r => Some (- r, r)%Q | None => None end else Some (0, 0)%Q
  | Clip of lo hi => let c := coef j of in if Qeq_bool c 0 then Some (0, 0)%Q else
      match r, lo, hi with
      | Some r, Some l, Some h => let m := Qmin (Qabs c * r) (h - l) in if Qle_bool l h then Some (- m, m)%Q else None
      | Some r, _, _ => Some (- (Qabs c * r), Qabs c * r)%Q
      | None, Some l, Some h => if Qle_bool l h then Some (l - h, h - l)%Q else None
      | None, _, _ => None
      end
  end.
Definition swing_box (V : list view) (r : option Q) (j : nat) : box :=
  map (fun x => (fst x, match swing r j (snd x) with Some e => e | None => (0, 0)%Q end)) (indexed V).
Definition swings (V : list view) (r : option Q) (n : nat) : bool :=
  forallb (fun j => forallb (fun w => match swing r j w with Some _ => true | None => false end) V) (seq 0 n).
Lemma Rabs_between x m : Rabs x <= m -> - m <= x <= m.
Proof. unfold Rabs. destruct Rcase_abs; lra. Qed.
Lemma swing_ok r j w lo hi q q' : swing r j w = Some (lo, hi) -> (forall i, i <> j -> minus q' q i = 0) ->
  match r with Some r => Rabs (minus q' q j) <= Q2R r | None => True end -> Q2R lo <= view_at w q' - view_at w q <= Q2R hi.
Proof.
  intros S Z R. destruct w as [i|of l h]; simpl in S |- *.
  - change (q' i - q i) with (minus q' q i). destruct (Nat.eqb_spec i j) as [->|N].
    + destruct r as [r|]; [|discriminate]. injection S as <- <-. rewrite Q2R_opp. apply Rabs_between; auto.
    + injection S as <- <-. rewrite Z by auto. rewrite Q2R_0. lra.
  - set (x := form_of of q) in *. set (y := form_of of q') in *.
    assert (D : y - x = Q2R (coef j of) * minus q' q j) by (unfold x, y; rewrite form_minus; apply form_one; auto).
    destruct (kept_ok l h x y) as [T E].
    destruct (Qeq_bool (coef j of) 0) eqn:C.
    + injection S as <- <-. apply qeq_ok in C. rewrite C, Q2R_0, Rmult_0_l in D. rewrite E, D, Q2R_0. lra.
    + assert (LIP : Rabs (clip l h y - clip l h x) <= Rabs (y - x)).
      { rewrite E, Rabs_mult, (Rabs_pos_eq (kept l h x y)) by lra. pose proof (Rabs_pos (y - x)). nra. }
      assert (REACH : forall r', r = Some r' -> Rabs (y - x) <= Q2R (Qabs (coef j of) * r')).
      { intros r' ->. rewrite D, Rabs_mult, Q2R_mult, Q2R_abs. apply Rmult_le_compat_l; auto. apply Rabs_pos. }
      destruct r as [r|], l as [l|], h as [h|]; try discriminate.
      * destruct (Qle_bool l h) eqn:LH; [|discriminate]. injection S as <- <-. apply qle_ok in LH. specialize (REACH r eq_refl).
        pose proof (clip_width l h x y LH) as W. rewrite Q2R_opp. apply Rabs_between.
        destruct (Q.min_spec (Qabs (coef j of) * r) (h - l)) as [[_ M]|[_ M]]; apply Qeq_eqR in M; rewrite M; [lra|]. rewrite Q2R_minus. auto.
      * injection S as <- <-. specialize (REACH r eq_refl). rewrite Q2R_opp. apply Rabs_between; lra.
      * injection S as <- <-. specialize (REACH r eq_refl). rewrite Q2R_opp. apply Rabs_between; lra.
      * injection S as <- <-. specialize (REACH r eq_refl). rewrite Q2R_opp. apply Rabs_between; lra.
      * destruct (Qle_bool l h) eqn:LH; [|discriminate]. injection S as <- <-. apply qle_ok in LH.
        pose proof (clip_width l h x y LH) as W. apply Rabs_between in W. rewrite !Q2R_minus. lra.
Qed.
Theorem one_entry_view K V r n : negb (integral (k_noises K)) && swings V r n &&
    forallb (fun j => match nth_error (k_components K) j with Some faces => boxes_eqb [swing_box V r j] faces | None => false end) (seq 0 n) = true ->
  view_covered K V (long n (one_entry (option_map Q2R r))).
Proof.
  rewrite !andb_true_iff, negb_true_iff. intros [[NI SW] OK] a b (LEN & LB & j & J & Z & R). unfold swings in SW. rewrite forallb_forall in SW, OK.
  assert (JN : In j (seq 0 n)) by (apply in_seq; lia). specialize (OK j JN). specialize (SW j JN). rewrite forallb_forall in SW.
  destruct (nth_error (k_components K) j) as [faces|] eqn:NG; [|discriminate]. exists j, faces. split; auto.
  apply (spanned_boxes K [swing_box V r j]); auto. apply span_face with (swing_box V r j); [left; auto | | intros; congruence].
  assert (DZ : forall i, i <> j -> minus (fields b) (fields a) i = 0) by (intros i N; unfold minus, fields; rewrite (Z i N); lra).
  assert (DR : match r with Some r => Rabs (minus (fields b) (fields a) j) <= Q2R r | None => True end) by (destruct r; auto).
  split.
  - intros k lo hi I. unfold swing_box in I. apply in_map_iff in I. destruct I as ([i w] & E & I). injection E as -> E. simpl in E. apply indexed_out in I.
    specialize (SW w (nth_error_In _ _ I)). destruct (swing r j w) as [[p q]|] eqn:SE; [|discriminate]. injection E as <- <-.
    unfold minus, viewed. rewrite I. apply (swing_ok r j w p q (fields a) (fields b)); auto.
  - intros k N. unfold minus, viewed. destruct (nth_error V k) as [w|] eqn:E; [|lra]. exfalso. apply N. unfold swing_box. rewrite map_map.
    apply (in_map (fun x => fst (fst x, match swing r j (snd x) with Some e => e | None => (0, 0)%Q end)) _ (k, w)). apply indexed_in; auto.
Qed.

(** ** Merged states *)
(** The program has the ways [fine]; each ends where one of the merged ways does, whose answers are
    among its own. *)
Definition unmerged (fine : list (path * nat)) (bs : list (path * leaf)) : list (path * leaf) :=
  map (fun x => (fst x, snd (nth (snd x) bs ([], Leaf 0 0 [] [])))) fine.
Definition answered (p : path) (qa : question * nat) : bool :=
  existsb (fun x : question * nat => question_eqb (fst x) (fst qa) && Nat.eqb (snd x) (snd qa)) p.
Definition merges (fine : list (path * nat)) (bs : list (path * leaf)) : bool :=
  complete (unmerged fine bs) && forallb (fun x => Nat.ltb (snd x) (length bs) &&
    forallb (answered (fst x)) (fst (nth (snd x) bs ([], Leaf 0 0 [] [])))) fine.
Lemma answered_ok p qa e : answered p qa = true -> meets p e = true -> Nat.eqb (answer (fst qa) e) (snd qa) = true.
Proof.
  unfold answered, meets. rewrite existsb_exists, forallb_forall. intros (x & I & X) M. apply andb_true_iff in X. destruct X as [Q A].
  specialize (M x I). apply Nat.eqb_eq in M, A. apply Nat.eqb_eq. rewrite <- (question_eqb_ok _ _ Q e), M. auto.
Qed.
Theorem merged_pick fine bs e k : disjoint bs = true -> merges fine bs = true -> pick (unmerged fine bs) e k = pick bs e k.
Proof.
  unfold merges. rewrite andb_true_iff, forallb_forall. intros DI [CO ME].
  destruct (covers_ok _ _ CO e) as (p & I & M). unfold pick at 1. destruct (find _ (unmerged fine bs)) as [b|] eqn:F.
  - apply find_some in F. destruct F as [IB MB]. unfold unmerged in IB. apply in_map_iff in IB. destruct IB as (x & <- & IX). simpl in *.
    specialize (ME x IX). apply andb_true_iff in ME. destruct ME as [L A]. apply Nat.ltb_lt in L. rewrite forallb_forall in A.
    symmetry. apply (pick_at bs e k (snd x)); auto.
    + apply nth_error_nth'; auto.
    + unfold meets. apply forallb_forall. intros qa Q. apply (answered_ok (fst x)); auto.
  - exfalso. apply in_map_iff in I. destruct I as (b & <- & I). pose proof (find_none _ _ F b I) as N. simpl in N. congruence.
Qed.

(** ** The theorems *)
Definition run_view (K : cells) (V : list view) (fine : list (path * nat)) (u : R) (a : list R) (f : list out -> R) : R :=
  release (draw (k_noises K) u) (k_draws K) (unmerged fine (k_branches K)) (viewed V (fields a)) f.
Lemma run_merged K V fine eps u a f : check_cells K eps = true -> merges fine (k_branches K) = true ->
  run_view K V fine u a f = release (draw (k_noises K) u) (k_draws K) (k_branches K) (viewed V (fields a)) f.
Proof.
  intros OK ME. unfold run_view, release. f_equal. apply functional_extensionality. intros h. cbv zeta.
  apply (merged_pick fine (k_branches K) (mkenv (viewed V (fields a)) h zero)); auto.
  unfold check_cells in OK. rewrite !andb_true_iff in OK. destruct OK as [[_ W] _]. unfold well_formed in W. apply andb_true_iff in W. apply W.
Qed.
Theorem view_private K V fine eps near : check_cells K eps = true -> merges fine (k_branches K) = true -> view_covered K V near ->
  forall u, 0 < u -> private near (u * Q2R eps) (run_view K V fine u).
Proof.
  intros OK ME CO u U a b N f F. rewrite !(run_merged K V fine eps) by auto. destruct (CO a b N) as (g & faces & NG & SP).
  apply (cells_sound K eps OK u _ ltac:(lra) (draw_laws _ u (cells_table K eps OK) U) g faces); auto.
Qed.
Theorem view_mass K V fine eps : check_cells K eps = true -> merges fine (k_branches K) = true ->
  forall u, 0 < u -> mass_one (run_view K V fine u).
Proof.
  intros OK ME u U a c C. unfold run_view. apply (cells_mass u (rate (k_noises K)) (allowed (k_noises K))); auto.
  - apply draw_laws; auto. apply (cells_table K eps OK).
  - unfold merges in ME. apply andb_true_iff in ME. apply ME.
Qed.
