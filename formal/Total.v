(** * The graph is a program: it stops on all data, with total probability one *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Program NoiseTable Loop LoopChecker Cells.
Import ListNotations.
Open Scope R_scope.

(** ** Some branch is always taken *)
Fixpoint size (ps : list path) : nat := match ps with [] => 0 | p :: ps => length p + size ps end.
Definition tails (q : question) (a : nat) (ps : list path) : list path :=
  flat_map (fun p => match p with
    | (q', a') :: t => if question_eqb q q' && Nat.eqb a a' then [t] else []
    | [] => [] end) ps.
Fixpoint covers (fuel : nat) (ps : list path) : bool :=
  existsb (fun p => match p with [] => true | _ => false end) ps ||
  match fuel, ps with
  | S fuel, ((q, _) :: _) :: _ => Nat.ltb 0 (ways q) && forallb (fun a => covers fuel (tails q a ps)) (seq 0 (ways q))
  | _, _ => false
  end.
Lemma covers_ok fuel : forall ps, covers fuel ps = true -> forall e, exists p, In p ps /\ meets p e = true.
Proof.
  assert (E0 : forall ps, existsb (fun p : path => match p with [] => true | _ => false end) ps = true ->
    forall e, exists p, In p ps /\ meets p e = true).
  { intros ps X e. apply existsb_exists in X. destruct X as ([|x p] & I & X); [|discriminate]. exists []. auto. }
  induction fuel as [|fuel IH]; intros ps C e; simpl in C; apply orb_true_iff in C; destruct C as [C|C]; auto; try discriminate.
  destruct ps as [|[|[q a] p] ps]; try discriminate. apply andb_true_iff in C. destruct C as [W C].
  rewrite forallb_forall in C. apply Nat.ltb_lt in W. pose proof (answer_ways q e W) as A.
  specialize (C (answer q e)). rewrite in_seq in C. specialize (C ltac:(lia)).
  destruct (IH _ C e) as (t & I & M). unfold tails in I. apply in_flat_map in I. destruct I as ([|[q' a'] p'] & J & I); [contradiction|].
  destruct (question_eqb q q' && Nat.eqb (answer q e) a') eqn:X; [|contradiction]. destruct I as [<-|[]].
  apply andb_true_iff in X. destruct X as [X Y]. apply Nat.eqb_eq in Y.
  exists ((q', a') :: p'). split; auto. unfold meets in *. simpl. rewrite <- (question_eqb_ok _ _ X e), Y, Nat.eqb_refl. auto.
Qed.
Definition complete (bs : list (path * leaf)) : bool := let ps := map fst bs in covers (size ps) ps.
Lemma pick_complete bs e k (P : R -> Prop) : complete bs = true -> (forall b, In b bs -> P (k (snd b))) -> P (pick bs e k).
Proof.
  intros C X. destruct (covers_ok _ _ C e) as (p & I & M). unfold pick.
  destruct (find _ bs) as [b|] eqn:F; [apply X; apply find_some in F; apply F|].
  apply in_map_iff in I. destruct I as (b & <- & I). pose proof (find_none _ _ F b I) as N. simpl in N. congruence.
Qed.
Lemma pick_ext bs e k k' : (forall b, In b bs -> k (snd b) = k' (snd b)) -> pick bs e k = pick bs e k'.
Proof. intros X. unfold pick. destruct (find _ bs) as [b|] eqn:F; auto. apply X. apply find_some in F. apply F. Qed.

(** ** Fixed lengths *)
Theorem cells_mass u rt al E ns bs q c : laws u rt al E -> complete bs = true -> 0 <= c ->
  release E ns bs q (fun _ => c) = c.
Proof.
  intros L C P. unfold release. transitivity (E ns (fun _ => c)); [|apply (E_const _ _ _ _ L); auto]. apply E_ext. intros h. simpl.
  apply (pick_complete bs _ _ (fun x => x = c)); auto.
Qed.

(** ** Loops: silent steps lower a rank *)
Section Loops.
Variable (prog : program) (ranks : list nat) (top : nat).
Definition rank (n : nat) : nat := nth n ranks O.
Definition stops (n : nat) (x : node) : bool :=
  match x with
  | Halt => true
  | Node rd (Some g) =>
      complete (branches g) && forallb (fun b : path * leaf => Nat.ltb (rank (to (snd b))) (rank n)) (branches g) &&
      on (fun g => complete (branches g) && forallb (fun b : path * leaf => Nat.leb (rank (to (snd b))) top) (branches g)) rd
  | Node _ None => false
  end.
Definition check_total : bool := forallb (fun x : nat * node => stops (fst x) (snd x)) (indexed prog).
Definition steps_needed (n : nat) (qs : list vec) : nat := S (rank n + length qs * S top).

Hypothesis OK : check_total = true.
Variables (u : R) (rt : nat -> Q) (al : vec -> Prop) (E : list nat -> (vec -> R) -> R).
Hypothesis L : laws u rt al E.

Lemma stops_at n rd si : nth n prog Halt = Node rd si -> stops n (Node rd si) = true.
Proof.
  intros N. unfold check_total in OK. rewrite forallb_forall in OK. apply (OK (n, Node rd si)). apply indexed_in.
  rewrite <- N. apply nth_error_nth'. destruct (Nat.lt_ge_cases n (length prog)) as [I|I]; auto.
  rewrite nth_overflow in N by auto. discriminate.
Qed.
(** Enough fuel for the next steps, of each kind. *)
Lemma stops_steps n rd si fuel (qs : list vec) : nth n prog Halt = Node rd si -> (steps_needed n qs <= S fuel)%nat ->
  exists g, si = Some g /\ complete (branches g) = true /\
    (forall b, In b (branches g) -> (steps_needed (to (snd b)) qs <= fuel)%nat) /\
    (forall g' q qs', rd = Some g' -> qs = q :: qs' -> complete (branches g') = true /\
       forall b, In b (branches g') -> (steps_needed (to (snd b)) qs' <= fuel)%nat).
Proof.
  intros N B. apply stops_at in N. simpl in N. destruct si as [g|]; [|discriminate]. exists g.
  rewrite !andb_true_iff in N. destruct N as [[C SL] RD]. rewrite forallb_forall in SL. unfold steps_needed in *.
  repeat split; auto.
  - intros b I. specialize (SL b I). apply Nat.ltb_lt in SL. lia.
  - intros; subst. simpl in RD. apply andb_true_iff in RD. apply RD.
  - intros b I. subst. simpl in RD. apply andb_true_iff in RD. destruct RD as [_ RD]. rewrite forallb_forall in RD.
    specialize (RD b I). apply Nat.leb_le in RD. simpl in B. lia.
Qed.
Theorem total_mass c : 0 <= c -> forall fuel n v qs, (steps_needed n qs <= fuel)%nat -> sem E prog fuel n v qs (fun _ => c) = c.
Proof.
  intros C. induction fuel as [|fuel IH]; intros n v qs B; [unfold steps_needed in B; lia|]. simpl.
  destruct (nth n prog Halt) as [|rd si] eqn:N; auto.
  destruct (stops_steps n rd si fuel qs N B) as (g & -> & CO & SI & RD).
  assert (GO : forall g q qs', complete (branches g) = true ->
    (forall b, In b (branches g) -> (steps_needed (to (snd b)) qs' <= fuel)%nat) ->
    E (draws g) (fun h => let e := mkenv q h v in pick (branches g) e (fun l => sem E prog fuel (to l) (after l e) qs' (fun _ => c))) = c).
  { intros g' q qs' CO' F. transitivity (E (draws g') (fun _ => c)); [|apply (E_const _ _ _ _ L); auto]. apply E_ext. intros h. cbv zeta.
    apply (pick_complete (branches g') _ _ (fun x => x = c)); auto. }
  destruct rd as [g'|], qs as [|q qs']; auto. destruct (RD g' q qs' eq_refl eq_refl). auto.
Qed.
Definition once (k : nat -> vec -> list vec -> (list out -> R) -> R) (n : nat) (v : vec) (qs : list vec) (f : list out -> R) : R :=
  let go g q qs := E (draws g) (fun h => let e := mkenv q h v in pick (branches g) e (fun l =>
    k (to l) (after l e) qs (fun o => f (map (emit e) (outs l) ++ o)))) in
  match nth n prog Halt with
  | Halt => f []
  | Node rd si => match rd, qs with Some g, q :: qs' => go g q qs' | _, _ => match si with Some g => go g zero qs | None => 0 end end
  end.
Lemma sem_S fuel n v qs f : sem E prog (S fuel) n v qs f = once (sem E prog fuel) n v qs f.
Proof. reflexivity. Qed.
Lemma more_fuel : forall fuel n v qs f, (steps_needed n qs <= fuel)%nat -> sem E prog (S fuel) n v qs f = sem E prog fuel n v qs f.
Proof.
  induction fuel as [|fuel IH]; intros n v qs f B; [unfold steps_needed in B; lia|].
  rewrite (sem_S (S fuel)), (sem_S fuel). unfold once. set (F := S fuel) in *.
  destruct (nth n prog Halt) as [|rd si] eqn:N; auto.
  destruct (stops_steps n rd si fuel qs N B) as (g & -> & CO & SI & RD).
  assert (GO : forall g q qs', (forall b, In b (branches g) -> (steps_needed (to (snd b)) qs' <= fuel)%nat) ->
    E (draws g) (fun h => let e := mkenv q h v in pick (branches g) e (fun l => sem E prog F (to l) (after l e) qs' (fun o => f (map (emit e) (outs l) ++ o)))) =
    E (draws g) (fun h => let e := mkenv q h v in pick (branches g) e (fun l => sem E prog fuel (to l) (after l e) qs' (fun o => f (map (emit e) (outs l) ++ o))))).
  { intros g' q qs' G. apply E_ext. intros h. cbv zeta. apply pick_ext. intros b I. apply IH. apply (G b I). }
  destruct rd as [g'|], qs as [|q qs']; try (apply GO; exact SI). apply GO. apply (RD g' q qs' eq_refl eq_refl).
Qed.
(** What the program does is independent of the fuel, once there is enough. *)
Theorem enough_fuel fuel n v qs f : (steps_needed n qs <= fuel)%nat ->
  sem E prog fuel n v qs f = sem E prog (steps_needed n qs) n v qs f.
Proof. induction 1 as [|k LE IH]; auto. rewrite more_fuel; auto. Qed.
End Loops.
