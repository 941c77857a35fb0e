(** * The noises of a certificate: family and rate (1/scale, in units of eps) of each *)
From Coq Require Import Reals Lra Lia List QArith Qreals Qabs Bool.
From DP Require Import Noise Program.
Import ListNotations.
Open Scope R_scope.

Inductive family := Laplace | Exponential | Gumbel | Logistic | Cauchy | DiscreteLaplace | Geometric.
Definition discrete (f : family) : bool :=
  match f with DiscreteLaplace | Geometric => true | _ => false end.
Definition upward (f : family) : bool :=
  match f with Exponential | Gumbel | Geometric => true | _ => false end.

Definition noise_table := list (family * Q).
Definition entry (T : noise_table) (i : nat) : family * Q := nth i T (hd (Laplace, 1%Q) T).
Definition rate (T : noise_table) (i : nat) : Q := snd (entry T i).
Definition integral (T : noise_table) : bool := existsb (fun x => discrete (fst x)) T.
(** Rates are positive, and continuous and discrete noise are not mixed. *)
Definition proper_table (T : noise_table) : bool :=
  forallb (fun x => negb (Qle_bool (snd x) 0) && Bool.eqb (discrete (fst x)) (integral T)) T.

(** Which shifts have a price. *)
Definition allowed (T : noise_table) (s : vec) : Prop :=
  (integral T = true -> forall i, exists z, s i = IZR z) /\
  (forall i, upward (fst (entry T i)) = true -> 0 <= s i).

Lemma entry_or_default T i : In (entry T i) T \/ T = [].
Proof.
  unfold entry. destruct T as [|x T]; auto. left. change (hd (Laplace, 1%Q) (x :: T)) with x.
  destruct (nth_in_or_default i (x :: T) x) as [I | D]; [exact I | rewrite D; left; auto].
Qed.
Lemma entry_proper T i : proper_table T = true ->
  0 < Q2R (rate T i) /\ discrete (fst (entry T i)) = integral T.
Proof.
  unfold proper_table, rate. rewrite forallb_forall. intros P. rewrite <- Q2R_0.
  destruct (entry_or_default T i) as [I | ->].
  - specialize (P _ I). apply andb_true_iff in P. destruct P as [P D]. split; [|apply eqb_prop; auto].
    apply Qlt_Rlt, Qnot_le_lt. intros L. apply Qle_bool_iff in L. rewrite L in P. discriminate.
  - unfold entry; simpl. destruct i; simpl; rewrite Q2R_1, Q2R_0; split; auto; lra.
Qed.
Lemma rate_pos T i : proper_table T = true -> 0 < Q2R (rate T i).
Proof. apply entry_proper. Qed.

(** Values given by a list; variables that are not in it are 0. *)
Definition qval (l : list (nat * Q)) (i : nat) : Q := match assoc i l with Some q => q | None => 0%Q end.
Definition rval (l : list (nat * Q)) : vec := fun i => Q2R (qval l i).
Definition qint (q : Q) : bool := Qeq_bool q (inject_Z (Qnum q / Zpos (Qden q))).
Fixpoint qcost (T : noise_table) (ns : list nat) (s : list (nat * Q)) : Q :=
  match ns with [] => 0%Q | i :: ns => Qred (rate T i * Qabs (qval s i) + qcost T ns s)%Q end.
(** Only noises of the step are shifted, each as its family allows. *)
Definition check_shift (T : noise_table) (ns : list nat) (s : list (nat * Q)) : bool :=
  forallb (fun k : nat * Q => existsb (Nat.eqb (fst k)) ns && (negb (integral T) || qint (snd k)) &&
    (negb (upward (fst (entry T (fst k)))) || Qle_bool 0 (snd k))) s.

Lemma Q2R_abs q : Q2R (Qabs q) = Rabs (Q2R q).
Proof.
  apply Qabs_case; intros I; apply Qle_Rle in I; rewrite Q2R_0 in I.
  - rewrite Rabs_pos_eq; auto.
  - rewrite Q2R_opp, Rabs_left1; auto.
Qed.
Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.
Lemma qcost_ok T ns s : cost (rate T) ns (rval s) = Q2R (qcost T ns s).
Proof.
  induction ns as [|i ns IH]; cbn [cost qcost]; [symmetry; apply Q2R_0|].
  rewrite Q2R_red, IH, Q2R_plus, Q2R_mult, Q2R_abs. reflexivity.
Qed.
Lemma assoc_in {A} j (l : list (nat * A)) a : assoc j l = Some a -> In (j, a) l.
Proof.
  induction l as [|[i b] l IH]; simpl; [discriminate|].
  destruct (Nat.eqb_spec i j); [intros [= ->]; subst; auto | auto].
Qed.
Lemma qval_out j (l : list (nat * Q)) : ~ In j (map fst l) -> qval l j = 0%Q.
Proof.
  intros N. unfold qval. destruct (assoc j l) as [q|] eqn:A; auto. apply assoc_in in A.
  exfalso; apply N. change j with (fst (j, q)). apply in_map; auto.
Qed.
Lemma qint_ok q : qint q = true -> exists z, Q2R q = IZR z.
Proof.
  unfold qint. intros I. apply Qeq_bool_eq, Qeq_eqR in I. rewrite I. eexists.
  unfold Q2R, inject_Z; simpl. rewrite Rinv_1, Rmult_1_r. reflexivity.
Qed.
Lemma check_shift_ok T ns s : check_shift T ns s = true -> supported ns (rval s) /\ allowed T (rval s).
Proof.
  unfold check_shift. rewrite forallb_forall. intros C. split; [|split].
  - intros k K. unfold rval. rewrite qval_out; [apply Q2R_0|]. intros I. apply in_map_iff in I.
    destruct I as (y & <- & I). specialize (C y I). rewrite !andb_true_iff in C. destruct C as [[C _] _].
    apply existsb_exists in C. destruct C as (z & Z & E). apply Nat.eqb_eq in E. apply K. rewrite E; auto.
  - intros INT k. unfold rval, qval. destruct (assoc k s) as [q|] eqn:A; [|exists 0%Z; apply Q2R_0].
    apply assoc_in in A. specialize (C _ A). rewrite INT in C. simpl in C. rewrite !andb_true_iff in C.
    apply qint_ok. apply C.
  - intros k U. unfold rval, qval. destruct (assoc k s) as [q|] eqn:A; [|rewrite Q2R_0; lra].
    apply assoc_in in A. specialize (C _ A). simpl in C. rewrite U in C. simpl in C.
    rewrite !andb_true_iff in C. destruct C as [_ C]. rewrite <- Q2R_0. apply Qle_Rle, Qle_bool_iff; auto.
Qed.
