(** * Noise as a functional, and the laws that proofs of privacy use

    A distribution is what it expects of functions.  We ask for expectations of _all_ bounded
    functions, measurable or not: an upper integral has them, and it obeys every law below.  So no
    statement of this development needs a proof that something is measurable. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
Import ListNotations.
Open Scope R_scope.

(** Values of numbered variables: noises, slots, fields of a datum. *)
Definition vec := nat -> R.
Definition zero : vec := fun _ => 0.
Definition minus (a b : vec) : vec := fun i => a i - b i.
Definition plus (a b : vec) : vec := fun i => a i + b i.
Definition upd (h : vec) (i : nat) (x : R) : vec := fun j => if Nat.eqb j i then x else h j.

(** Bounded and not negative: what is integrated. *)
Definition bounded {A} (f : A -> R) := exists M, forall x, 0 <= f x <= M.

(** Affine functions of the noises. *)
Definition affine_form := (R * list (nat * R))%type.
Fixpoint terms_at (l : list (nat * R)) (h : vec) : R :=
  match l with [] => 0 | (i, a) :: l => a * h i + terms_at l h end.
Definition affine_at (g : affine_form) (h : vec) : R := fst g + terms_at (snd g) h.
Definition affine (g : vec -> R) := exists a : affine_form, forall h, g h = affine_at a h.

(** What a shift of the noises costs, in units of [u]. *)
Fixpoint cost (rate : nat -> Q) (ns : list nat) (s : vec) : R :=
  match ns with [] => 0 | i :: ns => Q2R (rate i) * Rabs (s i) + cost rate ns s end.

(** The laws of the noises [ns] of one step.  [allowed]: which shifts have a price (whole numbers
    for discrete noise, upward ones for one-sided noise). *)
Record laws (u : R) (rate : nat -> Q) (allowed : vec -> Prop)
    (E : list nat -> (vec -> R) -> R) : Prop := {
  E_const : forall ns c, 0 <= c -> E ns (fun _ => c) = c;
  E_le : forall ns f g, bounded f -> bounded g -> (forall h, f h <= g h) -> E ns f <= E ns g;
  E_scal : forall ns c f, 0 <= c -> bounded f -> E ns (fun h => c * f h) = c * E ns f;
  E_split : forall ns g f, affine g -> bounded f ->
    E ns f = E ns (fun h => if Rle_dec 0 (g h) then f h else 0) +
             E ns (fun h => if Rle_dec 0 (g h) then 0 else f h);
  E_shift : forall ns s f, allowed s -> (forall i, ~ In i ns -> s i = 0) -> bounded f ->
    E ns f <= exp (u * cost rate ns s) * E ns (fun h => f (minus h s)) }.

Lemma laws_weaken u rate (o o' : vec -> Prop) E :
  (forall s, o' s -> o s) -> laws u rate o E -> laws u rate o' E.
Proof. intros I [A B C D F]. split; auto. Qed.

(** ** Bounded functions *)
Lemma bounded_comp {A B} (f : A -> R) (g : B -> A) : bounded f -> bounded (fun x => f (g x)).
Proof. intros [M X]. exists M. intros; apply X. Qed.
Lemma bounded_const {A} c : 0 <= c -> @bounded A (fun _ => c).
Proof. exists c. intros; lra. Qed.
Lemma bounded_scal {A} c (f : A -> R) : 0 <= c -> bounded f -> bounded (fun x => c * f x).
Proof.
  intros C [M B]. exists (c * M). intros x. specialize (B x).
  split; [apply Rmult_le_pos; lra | apply Rmult_le_compat_l; lra].
Qed.
Lemma bounded_plus {A} (f g : A -> R) : bounded f -> bounded g -> bounded (fun x => f x + g x).
Proof. intros [M F] [N G]. exists (M + N). intros x. specialize (F x). specialize (G x). lra. Qed.
Lemma bounded_if {A} (f : A -> R) (g : A -> R) : bounded f ->
  bounded (fun x => if Rle_dec 0 (g x) then f x else 0) /\
  bounded (fun x => if Rle_dec 0 (g x) then 0 else f x).
Proof. intros [M B]. split; exists M; intros x; specialize (B x); destruct Rle_dec; lra. Qed.
Lemma bounded_cut {A} (c : A -> bool) (f : A -> R) : bounded f ->
  bounded (fun x => if c x then f x else 0) /\ bounded (fun x => if c x then 0 else f x).
Proof. intros [M B]. split; exists M; intros x; specialize (B x); destruct (c x); lra. Qed.

Lemma vec_ext (a b : vec) : (forall i, a i = b i) -> a = b.
Proof. apply functional_extensionality. Qed.
Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [I | ->]; [left; apply exp_increasing; auto | right; auto]. Qed.
Lemma exp_nonneg x : 0 <= exp x. Proof. left; apply exp_pos. Qed.
Lemma Q2R_0 : Q2R 0 = 0. Proof. unfold Q2R; simpl; lra. Qed.
Lemma Q2R_1 : Q2R 1 = 1. Proof. unfold Q2R; simpl; lra. Qed.
Lemma cost_ext rate ns s s' : (forall i, In i ns -> s i = s' i) -> cost rate ns s = cost rate ns s'.
Proof. induction ns as [|i ns IH]; simpl; intros X; auto. rewrite IH, (X i); auto. Qed.

(** ** What follows from the laws *)
Section Consequences.
Variables (u : R) (rate : nat -> Q) (allowed : vec -> Prop) (E : list nat -> (vec -> R) -> R).
Hypothesis L : laws u rate allowed E.

Lemma E_range ns f M : (forall h, 0 <= f h <= M) -> 0 <= E ns f <= M.
Proof.
  intros B. pose proof (B zero) as B0. assert (bounded f) by (exists M; exact B). split.
  - rewrite <- (E_const _ _ _ _ L ns 0) at 1 by lra.
    apply (E_le _ _ _ _ L); auto using bounded_const, Rle_refl. intros; apply B.
  - rewrite <- (E_const _ _ _ _ L ns M) by lra.
    apply (E_le _ _ _ _ L); auto. apply bounded_const; lra. intros; apply B.
Qed.
Lemma E_0 ns : E ns (fun _ => 0) = 0.
Proof. apply (E_const _ _ _ _ L); lra. Qed.
Lemma E_ext ns f g : (forall h, f h = g h) -> E ns f = E ns g.
Proof. intros X. f_equal. apply functional_extensionality; auto. Qed.

(** The events along which expectations split are an algebra (as for Carathéodory), and contain
    the half-spaces. *)
Definition splits (ns : list nat) (A : vec -> bool) := forall f, bounded f ->
  E ns f = E ns (fun h => if A h then f h else 0) + E ns (fun h => if A h then 0 else f h).

Lemma splits_affine ns g : affine g -> splits ns (fun h => if Rle_dec 0 (g h) then true else false).
Proof.
  intros G f F. rewrite (E_split _ _ _ _ L ns g f G F).
  f_equal; apply E_ext; intros h; destruct Rle_dec; auto.
Qed.
Lemma splits_ext ns A B : (forall h, A h = B h) -> splits ns A -> splits ns B.
Proof. intros X S. replace B with A; auto. apply functional_extensionality; auto. Qed.
Lemma splits_not ns A : splits ns A -> splits ns (fun h => negb (A h)).
Proof.
  intros S f F. rewrite (S f F), Rplus_comm. f_equal; apply E_ext; intros h; destruct (A h); auto.
Qed.
Lemma splits_and ns A B : splits ns A -> splits ns B -> splits ns (fun h => A h && B h).
Proof.
  intros SA SB f F. rewrite (SA f F). destruct (bounded_cut A f F) as [F1 F2]. rewrite (SB _ F1).
  destruct (bounded_cut (fun h => A h && B h) f F) as [_ F3]. rewrite (SA _ F3).
  match goal with |- ?a + ?b + ?c = ?d + (?p + ?q) =>
    assert (a = d); [|assert (b = p); [|assert (c = q); [|lra]]] end;
    apply E_ext; intros h; destruct (A h), (B h); auto.
Qed.
Lemma splits_true ns : splits ns (fun _ => true).
Proof.
  intros f F. rewrite E_0. simpl.
  replace (fun h => f h) with f by (apply functional_extensionality; auto). lra.
Qed.
Lemma splits_forallb {X} ns (A : X -> vec -> bool) (l : list X) :
  (forall x, In x l -> splits ns (A x)) -> splits ns (fun h => forallb (fun x => A x h) l).
Proof.
  induction l as [|x l IH]; intros H; simpl; [apply splits_true|].
  apply splits_and; [apply H; left; auto | apply IH; intros; apply H; right; auto].
Qed.

(** A sum over disjoint events is at most the whole. *)
Lemma E_partition {X} ns (A : X -> vec -> bool) (f : X -> vec -> R) (w : vec -> R) (l : list X) :
  (forall x, In x l -> splits ns (A x)) -> NoDup l ->
  (forall x y h, In x l -> In y l -> A x h = true -> A y h = true -> x = y) ->
  bounded w -> (forall x, In x l -> bounded (f x)) ->
  (forall x h, In x l -> A x h = true -> f x h <= w h) ->
  fold_right (fun x r => E ns (fun h => if A x h then f x h else 0) + r) 0 l <= E ns w.
Proof.
  revert w. induction l as [|x l IH]; intros w S ND D BW BF LE; simpl.
  - destruct BW as [M B]. apply (E_range ns w M B).
  - rewrite (S x (or_introl eq_refl) w BW). destruct (bounded_cut (A x) w BW) as [B1 B2].
    apply Rplus_le_compat.
    + apply (E_le _ _ _ _ L); auto.
      * apply (bounded_cut (A x) (f x)). apply BF; left; auto.
      * intros h. destruct (A x h) eqn:AX; [|lra]. apply LE; auto. left; auto.
    + inversion ND; subst. apply IH; auto.
      * intros; apply S; right; auto.
      * intros; apply (D x0 y h); auto; right; auto.
      * intros; apply BF; right; auto.
      * intros y h I AY. destruct (A x h) eqn:AX; [|apply LE; auto; right; auto].
        exfalso. apply H1. rewrite (D x y h); auto; [left; auto | right; auto].
Qed.
(** And the whole is at most the sum over events that cover. *)
Lemma E_cover {X} ns (A : X -> vec -> bool) (f : X -> vec -> R) (w : vec -> R) (l : list X) :
  (forall x, In x l -> splits ns (A x)) ->
  (forall h, w h <> 0 -> exists x, In x l /\ A x h = true) ->
  bounded w -> (forall x, In x l -> bounded (f x)) ->
  (forall x h, In x l -> A x h = true -> w h <= f x h) ->
  E ns w <= fold_right (fun x r => E ns (fun h => if A x h then f x h else 0) + r) 0 l.
Proof.
  revert w. induction l as [|x l IH]; intros w S C BW BF LE; simpl.
  - right. rewrite <- (E_0 ns). apply E_ext. intros h.
    destruct (Req_dec (w h) 0) as [|N]; auto. destruct (C h N) as (x & [] & _).
  - rewrite (S x (or_introl eq_refl) w BW). destruct (bounded_cut (A x) w BW) as [B1 B2].
    apply Rplus_le_compat.
    + apply (E_le _ _ _ _ L); auto.
      * apply (bounded_cut (A x) (f x)). apply BF; left; auto.
      * intros h. destruct (A x h) eqn:AX; [|lra]. apply LE; auto. left; auto.
    + apply IH; auto.
      * intros; apply S; right; auto.
      * intros h N. destruct (A x h) eqn:AX; [lra|]. destruct (C h N) as (y & [-> | I] & AY).
        -- congruence.
        -- exists y; auto.
      * intros; apply BF; right; auto.
      * intros y h I AY. destruct (A x h); [|apply LE; auto; right; auto].
        destruct (BF y (or_intror I)) as [M B]. apply B.
Qed.
End Consequences.
