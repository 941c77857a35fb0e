(** * Selection: the place of the greatest of any number of noisy values

    Value [j] is [c * q_j + b * h_j], with noises of one kind.  Only the winner's noise is shifted. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Qabs Bool FunctionalExtensionality.
From DP Require Import Noise Program NoiseTable Loop LoopChecker Cells Adjacency.
Import ListNotations.
Open Scope R_scope.

(** Report noisy max and its relatives: the chance that [f] is given the place of the winner; of
    equal values the first wins. *)
Definition selection (E : list nat -> (vec -> R) -> R) (c b : R) (a : list R) (f : nat -> R) : R :=
  let n := length a in
  E (seq 0 n) (fun h => f (greatest (fun j => c * nth j a 0 + b * h j) n)).

Section Selection.
Variables (x : family * Q) (c b : Q) (eps : Q).
(** All noises have the one entry of the table. *)
Notation T := [x].
Variables (u : R) (E : list nat -> (vec -> R) -> R).
Hypothesis U : 0 <= u.
Hypothesis L : laws u (rate T) (allowed T) E.

Lemma rate_all i : rate T i = snd x.
Proof. unfold rate, entry. destruct i as [|[|i]]; reflexivity. Qed.
Lemma entry_all i : entry T i = x.
Proof. unfold entry. destruct i as [|[|i]]; reflexivity. Qed.
Definition alone (i : nat) (s : R) : vec := upd zero i s.
Lemma cost_alone ns i s : NoDup ns -> In i ns -> cost (rate T) ns (alone i s) = Q2R (snd x) * Rabs s.
Proof.
  assert (Z : forall ns, ~ In i ns -> cost (rate T) ns (alone i s) = 0).
  { clear. intros ns. induction ns as [|j ns IH]; simpl; intros N; auto. rewrite IH by auto.
    unfold alone, upd. destruct (Nat.eqb_spec j i); [exfalso; auto|]. unfold zero. rewrite Rabs_R0. lra. }
  induction ns as [|j ns IH]; intros ND I; [contradiction|]. inversion ND; subst. simpl. rewrite rate_all.
  destruct (Nat.eq_dec j i) as [->|NE].
  - rewrite Z by auto. unfold alone, upd. rewrite Nat.eqb_refl. lra.
  - destruct I as [I|I]; [congruence|]. rewrite IH by auto. unfold alone, upd.
    destruct (Nat.eqb_spec j i); [congruence|]. unfold zero. rewrite Rabs_R0. lra.
Qed.
(** The shift of winner [i] makes up for the worst of its rivals. *)
Definition pays (a a' : list R) (i : nat) (s : R) : Prop :=
  (upward (fst x) = true -> 0 <= s) /\ Q2R (snd x) * Rabs s <= Q2R eps /\
  forall j, (j < length a)%nat -> j <> i ->
    Q2R c * (nth j a' 0 - nth j a 0) <= Q2R c * (nth i a' 0 - nth i a 0) + Q2R b * s.
Definition noisy (a : list R) (h : vec) (j : nat) : R := Q2R c * nth j a 0 + Q2R b * h j.
Lemma noisy_affine a i j : affine (fun h => noisy a h i - noisy a h j).
Proof.
  exists (Q2R c * nth i a 0 - Q2R c * nth j a 0, [(i, Q2R b); (j, - Q2R b)]).
  intros h. unfold affine_at, noisy; simpl. lra.
Qed.
Lemma splits_wins ns a n i : (i < n)%nat -> splits E ns (fun h => Nat.eqb (greatest (noisy a h) n) i).
Proof.
  intros I. apply (splits_ext _ _ (fun h => wins (noisy a h) n i)).
  - intros h. symmetry. destruct (wins (noisy a h) n i) eqn:W.
    + apply Nat.eqb_eq. apply greatest_spec; auto.
    + apply Nat.eqb_neq. intros G. apply greatest_spec in G; auto. congruence.
  - unfold wins. apply (splits_forallb _ _ _ _ L ns (fun j h => beats (noisy a h) i j)). intros j _.
    unfold beats. destruct (Nat.ltb j i).
    + pose proof (splits_not _ _ _ (splits_affine _ _ _ _ L ns _ (noisy_affine a j i))) as S. intros g G.
      rewrite (S g G). f_equal; apply E_ext; intros h; destruct Rle_dec; auto.
    + exact (splits_affine _ _ _ _ L ns _ (noisy_affine a i j)).
Qed.
Lemma winner_kept a a' n i s h : (i < n)%nat -> length a = n -> pays a a' i s ->
  wins (noisy a (minus h (alone i s))) n i = true -> wins (noisy a' h) n i = true.
Proof.
  intros I LEN (_ & _ & X). unfold wins. rewrite !forallb_forall. intros W j J. specialize (W j J). apply in_seq in J.
  assert (GAP : noisy a (minus h (alone i s)) i - noisy a (minus h (alone i s)) j <= noisy a' h i - noisy a' h j).
  { destruct (Nat.eq_dec j i) as [->|NE]; [lra|].
    assert (Si : minus h (alone i s) i = h i - s) by (unfold minus, alone, upd; rewrite Nat.eqb_refl; auto).
    assert (Sj : minus h (alone i s) j = h j).
    { unfold minus, alone, upd. destruct (Nat.eqb_spec j i); [congruence|]. unfold zero. lra. }
    unfold noisy. rewrite Si, Sj. specialize (X j ltac:(lia) NE). lra. }
  unfold beats in *. destruct (Nat.ltb j i); repeat destruct Rle_dec; auto; try discriminate; exfalso; lra.
Qed.

(** Lists of every length. *)
Theorem selection_by a a' f : integral T = false -> 0 <= Q2R eps -> length a = length a' ->
  (forall i, (i < length a)%nat -> exists s, pays a a' i s) -> bounded f ->
  selection E (Q2R c) (Q2R b) a f <= exp (u * Q2R eps) * selection E (Q2R c) (Q2R b) a' f.
Proof.
  intros NI EP LEN X F. unfold selection. rewrite <- LEN. set (n := length a). set (ns := seq 0 n).
  fold (noisy a) (noisy a').
  assert (BW : forall q, bounded (fun h => f (greatest (noisy q h) n))).
  { intros q. apply (bounded_comp f (fun h => greatest (noisy q h) n)); auto. }
  assert (BC : forall i, bounded (fun _ : vec => f i)) by (intros i; apply (bounded_comp f (fun _ => i)); auto).
  destruct (Nat.eq_dec n 0) as [N0|N0].
  { unfold ns. rewrite N0. simpl. change (greatest (noisy a zero) 0) with 0%nat.
    assert (G0 : forall q h, greatest (noisy q h) 0 = 0%nat) by reflexivity.
    rewrite (E_ext E [] (fun h => f (greatest (fun j => Q2R c * nth j a 0 + Q2R b * h j) 0)) (fun _ => f 0%nat)) by reflexivity.
    rewrite (E_ext E [] (fun h => f (greatest (fun j => Q2R c * nth j a' 0 + Q2R b * h j) 0)) (fun _ => f 0%nat)) by reflexivity.
    destruct F as [M B]. specialize (B 0%nat). rewrite (E_const _ _ _ _ L) by lra.
    assert (1 <= exp (u * Q2R eps)) by (rewrite <- exp_0; apply exp_le, Rmult_le_pos; lra).
    apply Rle_trans with (1 * f 0%nat); [lra | apply Rmult_le_compat_r; lra]. }
  eapply Rle_trans.
  - apply (E_cover _ _ _ _ L ns (fun i h => Nat.eqb (greatest (noisy a h) n) i) (fun i _ => f i) _ (seq 0 n)).
    + intros i I. apply in_seq in I. apply splits_wins. lia.
    + intros h _. exists (greatest (noisy a h) n). rewrite Nat.eqb_refl. split; auto. apply in_seq.
      destruct (winner_exists (noisy a h) n) as (i & I & W); [lia|]. apply greatest_spec in W; auto. rewrite W. lia.
    + apply BW.
    + intros; apply BC.
    + intros i h _ G. apply Nat.eqb_eq in G. unfold noisy in G. rewrite G. lra.
  - eapply Rle_trans; [|apply Rmult_le_compat_l; [apply exp_nonneg|];
      apply (E_partition _ _ _ _ L ns (fun i h => Nat.eqb (greatest (noisy a' h) n) i) (fun i _ => f i) _ (seq 0 n))].
    + assert (SUB : forall i, In i (seq 0 n) -> (i < n)%nat) by (intros i I; apply in_seq in I; lia). revert SUB.
      generalize (seq 0 n) at 1 2 3. intros is SUB. induction is as [|i is IH]; [simpl; lra|].
      assert (I : (i < n)%nat) by (apply SUB; left; auto).
      simpl. rewrite Rmult_plus_distr_l. apply Rplus_le_compat; [|apply IH; intros; apply SUB; right; auto].
      destruct (bounded_cut (fun h => Nat.eqb (greatest (noisy a h) n) i) _ (BC i)) as [C1 _].
      destruct (bounded_cut (fun h => Nat.eqb (greatest (noisy a' h) n) i) _ (BC i)) as [C2 _].
      destruct (X i I) as (s & PS). pose proof PS as (UP & C & _).
      eapply Rle_trans; [apply (E_shift _ _ _ _ L ns (alone i s)); auto|].
      * split; [intros INT; congruence|]. intros j UJ. rewrite entry_all in UJ.
        unfold alone, upd. destruct (Nat.eqb j i); [auto | unfold zero; lra].
      * intros j J. unfold alone, upd. destruct (Nat.eqb_spec j i) as [->|]; auto.
        exfalso. apply J. unfold ns. apply in_seq. lia.
      * rewrite cost_alone by (try apply seq_NoDup; unfold ns; apply in_seq; lia).
        apply Rmult_le_compat; [apply exp_nonneg | | |].
        -- destruct C1 as [M C1]. apply (E_range _ _ _ _ L ns _ M). intros h. apply (C1 (minus h (alone i s))).
        -- apply exp_le, Rmult_le_compat_l; auto.
        -- apply (E_le _ _ _ _ L); auto.
           ++ apply (bounded_comp (fun h => if Nat.eqb (greatest (noisy a h) n) i then f i else 0) (fun h => minus h (alone i s))); auto.
           ++ intros h. destruct F as [M FB]. specialize (FB i).
              destruct (Nat.eqb (greatest (noisy a (minus h (alone i s))) n) i) eqn:G;
                [|destruct (Nat.eqb (greatest (noisy a' h) n) i); lra].
              apply Nat.eqb_eq in G. apply (greatest_spec _ n i I) in G.
              apply (winner_kept a a' n i s h I eq_refl PS) in G. apply (greatest_spec _ n i I) in G. rewrite G, Nat.eqb_refl. lra.
    + intros i I. apply in_seq in I. apply splits_wins. lia.
    + apply seq_NoDup.
    + intros i j h _ _ A B. apply Nat.eqb_eq in A, B. congruence.
    + apply BW.
    + intros; apply BC.
    + intros i h _ G. apply Nat.eqb_eq in G. unfold noisy in G. rewrite G. lra.
Qed.
(** There is a winner: the chances sum to one. *)
Theorem selection_mass a k : 0 <= k -> selection E (Q2R c) (Q2R b) a (fun _ => k) = k.
Proof. intros K. exact (E_const _ _ _ _ L (seq 0 (length a)) k K). Qed.
End Selection.

(** ** The checker: the winner and the best of its rivals, as one cell

    Field 0 is the winner's datum, field 1 what the best rival's value moves by; the winner stays
    ahead if [c * d + b * s - m >= 0]. *)
Definition winner_cell (x : family * Q) (c b : Q) (comps : list (list box)) (plans : list plan) : cells :=
  Cells [x] [0%nat] [([(Sign (Form 0 [(D 0, c); (H 0, b); (D 1, (-1)%Q)]), 1%nat)], Leaf 0 0 [] [])] comps plans.
Definition check_selection x c b comps plans eps : bool :=
  negb (integral [x]) && check_cells (winner_cell x c b comps plans) eps.
Definition pair (d m : R) : vec := upd (upd zero 1 m) 0 d.

Theorem selection_sound x c b comps plans eps : check_selection x c b comps plans eps = true ->
  forall u E, 0 <= u -> laws u (rate [x]) (allowed [x]) E -> forall a a' f, length a = length a' ->
  (forall i, (i < length a)%nat -> exists g faces m, nth_error comps g = Some faces /\
     spanned (winner_cell x c b comps plans) faces (pair (nth i a' 0 - nth i a 0) m) /\
     forall j, (j < length a)%nat -> j <> i -> Q2R c * (nth j a' 0 - nth j a 0) <= m) ->
  bounded f ->
  selection E (Q2R c) (Q2R b) a f <= exp (u * Q2R eps) * selection E (Q2R c) (Q2R b) a' f.
Proof.
  unfold check_selection. rewrite andb_true_iff, negb_true_iff. intros [NI OK] u E U L a a' f LEN X F.
  assert (EP : 0 <= Q2R eps).
  { unfold check_cells in OK. rewrite !andb_true_iff in OK. destruct OK as [[[_ Z] _] _]. rewrite <- Q2R_0. apply qle_ok; auto. }
  apply (selection_by x c b eps u E U L); auto. intros i I.
  destruct (X i I) as (g & faces & m & NG & SP & BEST).
  destruct (spanned_fits _ eps OK [(Sign (Form 0 [(D 0, c); (H 0, b); (D 1, (-1)%Q)]), 1%nat)] (Leaf 0 0 [] []) g faces _
    (or_introl eq_refl) NG SP) as (s & SU & AL & KP & _ & CO).
  exists (s 0%nat). simpl in CO. unfold rate, entry in CO; simpl in CO. split; [|split].
  - intros UP. apply (proj2 AL 0%nat). unfold entry; simpl. auto.
  - lra.
  - intros j J NE. specialize (BEST j J NE).
    specialize (KP (Sign (Form 0 [(D 0, c); (H 0, b); (D 1, (-1)%Q)])) 1%nat (or_introl eq_refl)). simpl in KP.
    unfold pair, upd in KP; simpl in KP. replace (Q2R (-1)) with (-1) in KP by (unfold Q2R; simpl; lra). lra.
Qed.

(** *** Neighbours *)
(** All entries move by between [lo] and [hi]: the best rival's value by between [mlo] and [mhi]. *)
Definition both (lo hi mlo mhi : Q) : box := [(0%nat, (lo, hi)); (1%nat, (mlo, mhi))].
Definition best_rival (v : nat -> R) (n i : nat) (d : R) : R :=
  fold_right (fun j r => if Nat.eqb j i then r else Rmax (v j) r) d (seq 0 n).
Lemma best_above v n i d j : (j < n)%nat -> j <> i -> v j <= best_rival v n i d.
Proof.
  intros J NE. unfold best_rival. assert (I : In j (seq 0 n)) by (apply in_seq; lia). revert I.
  induction (seq 0 n) as [|k l IH]; intros I; [contradiction|]. simpl. destruct I as [->|I].
  - destruct (Nat.eqb_spec j i); [congruence | apply Rmax_l].
  - specialize (IH I). destruct (Nat.eqb k i); auto. eapply Rle_trans; [exact IH | apply Rmax_r].
Qed.
Lemma best_range v n i d lo hi : lo <= d <= hi -> (forall j, (j < n)%nat -> lo <= v j <= hi) -> lo <= best_rival v n i d <= hi.
Proof.
  intros D0 V. unfold best_rival. assert (I : forall j, In j (seq 0 n) -> (j < n)%nat) by (intros j J; apply in_seq in J; lia).
  revert I. induction (seq 0 n) as [|k l IH]; intros I; simpl; auto. specialize (IH (fun j J => I j (or_intror J))).
  destruct (Nat.eqb k i); auto. specialize (V k (I k (or_introl eq_refl))).
  split; [eapply Rle_trans; [|apply Rmax_l]; lra | apply Rmax_lub; lra].
Qed.
Lemma pair_box lo hi mlo mhi d m : Q2R lo <= d <= Q2R hi -> Q2R mlo <= m <= Q2R mhi -> in_box (both lo hi mlo mhi) (pair d m).
Proof.
  intros A B. split.
  - intros k p q [I|[I|[]]]; injection I as <- <- <-; unfold pair, upd; simpl; auto.
  - intros k N. unfold pair, upd. destruct k as [|[|k]]; simpl in *; [exfalso; auto | exfalso; auto | reflexivity].
Qed.
