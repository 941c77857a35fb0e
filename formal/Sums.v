(** * Sums over records

    Each record adds numbers to the sums that a program reads: its contributions, the fields of a
    datum.  Neighbours differ in the contributions of one record; one that is absent adds nothing, as
    one whose contributions are 0. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Privacy Program NoiseTable Loop LoopChecker Draw Total.
Import ListNotations.
Open Scope R_scope.

(** One of the contributions changes, by a difference of the given kind. *)
Inductive one_changed (P : vec -> Prop) : list vec -> list vec -> Prop :=
| change_here x y a : P (minus y x) -> one_changed P (x :: a) (y :: a)
| change_later x a b : one_changed P a b -> one_changed P (x :: a) (x :: b).
Lemma one_changed_length P a b : one_changed P a b -> length a = length b.
Proof. induction 1; simpl; auto. Qed.
Lemma changed_some P a b : one_changed P a b -> exists d, P d.
Proof. induction 1; eauto. Qed.

Section Sums.
Variable C : cert.
Hypothesis one : c_one C = true.
Lemma same_adjacent d : hull C d -> forall m a, 0 <= m -> adjacent C m a a.
Proof.
  intros HD m a. revert m. induction a as [|x a IH]; intros m M; simpl; auto.
  exists 0. split; [lra|]. split; [|apply IH; lra]. unfold turn. rewrite one.
  split; [lra|]. split; [auto|]. exists d. split; auto. intros i. unfold minus. lra.
Qed.
Lemma changed_adjacent a b : one_changed (hull C) a b -> adjacent C 1 a b.
Proof.
  induction 1 as [x y a HD | x a b OC IH]; simpl.
  - exists 1. split; [lra|]. split.
    + unfold turn. rewrite one. split; [lra|]. split; [auto|]. exists (minus y x). split; auto. intros i. lra.
    + apply (same_adjacent _ HD). lra.
  - destruct (changed_some _ _ _ OC) as [d HD]. exists 0. split; [lra|]. split.
    + unfold turn. rewrite one. split; [lra|]. split; [auto|]. exists d. split; auto. intros i. unfold minus. lra.
    + rewrite Rminus_0_r. exact IH.
Qed.
End Sums.

Definition run_sums (T : noise_table) (prog : program) (ranks : list nat) (top : nat) (u : R) (a : list vec)
    (f : list out -> R) : R := sem (draw T u) prog (steps_needed ranks top 0 a) 0 zero a f.
Theorem sums_private C start eps ranks top : check C start eps = true -> c_one C = true -> forall u, 0 < u ->
  private (one_changed (hull C)) (u * Q2R eps) (run_sums (c_noises C) (c_prog C) ranks top u).
Proof.
  intros OK ONE u U a b N f F. unfold run_sums, steps_needed. rewrite (one_changed_length _ _ _ N).
  apply (check_sound C start eps OK); auto using changed_adjacent; [lra|].
  apply draw_laws; auto. apply (OK_table C start eps OK).
Qed.
Theorem sums_mass T prog ranks top : proper_table T = true -> check_total prog ranks top = true ->
  forall u, 0 < u -> mass_one (run_sums T prog ranks top u).
Proof.
  intros P OK u U a c C. apply (total_mass prog ranks top OK u (rate T) (allowed T)); auto.
  apply draw_laws; auto.
Qed.
