(** * Loops over data of any length: budgets on the states

    A certificate gives abstract states: a node, how far the slots of the two runs differ, and what
    may still be spent.  For each step and each move of a datum it says how the noise is shifted.
    What [sound] needs is that these steps simulate; [LoopChecker.v] decides it. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Program NoiseTable.
Import ListNotations.
Open Scope R_scope.

(** phase 0: the one move is still to come; [k + 1]: move [k] was made. *)
Record astate := AState { a_node : nat; a_phase : nat; a_budget : Q; a_diff : list (nat * Q) }.
Record astep := AStep {
  s_state : nat; s_edge : nat; s_move : option nat; s_next : nat; s_shift : list (nat * Q) }.
Record cert := Cert {
  c_prog : program;
  c_slots : list (list nat);       (* the slots of each node *)
  c_noises : noise_table;
  c_one : bool;                    (* at most one datum moves, in all by one move *)
  c_moves : list (list (nat * Q)); (* corners of what a datum may differ by *)
  c_states : list astate;
  c_steps : list astep }.

Definition mass (b : bool) : R := if b then 1 else 0.
Definition mixed (t : R) (a b c : vec) := forall i, c i = t * a i + (1 - t) * b i.

Section Cert.
Variable C : cert.
Notation prog := (c_prog C).
Notation one := (c_one C).
Notation T := (c_noises C).

(** Differences of one datum: mixtures of the corners, unless noise is integral. *)
Inductive hull : vec -> Prop :=
| hull_move m d : In m (c_moves C) -> (forall i, d i = rval m i) -> hull d
| hull_mix t d1 d2 d : integral T = false -> 0 <= t <= 1 -> hull d1 -> hull d2 -> mixed t d1 d2 d -> hull d.
(** [w]: which part of the one move is made here. *)
Definition turn (w : R) (d : vec) : Prop :=
  if one then 0 <= w <= 1 /\ (integral T = true -> w = 0 \/ w = 1) /\
              exists d', hull d' /\ forall i, d i = w * d' i
  else w = 0 /\ hull d.
Fixpoint adjacent (m : R) (qs1 qs2 : list vec) : Prop :=
  match qs1, qs2 with
  | [], [] => True
  | q1 :: qs1, q2 :: qs2 => exists w, w <= m /\ turn w (minus q2 q1) /\ adjacent (m - w) qs1 qs2
  | _, _ => False
  end.

Definition halts (n : nat) : bool := match nth n prog Halt with Halt => true | _ => false end.
Definition fresh (st : astate) : bool := Nat.eqb (a_phase st) 0 || halts (a_node st).
(** Related states of the two runs: mixtures of abstract states, unless noise is integral. *)
Inductive rel : nat -> vec -> R -> R -> Prop :=
| rel_base i st d : nth_error (c_states C) i = Some st -> (forall j, d j = rval (a_diff st) j) ->
    rel (a_node st) d (Q2R (a_budget st)) (mass (fresh st))
| rel_mix n t d1 d2 d v1 v2 v m1 m2 m : integral T = false -> 0 <= t <= 1 ->
    rel n d1 v1 m1 -> rel n d2 v2 m2 -> mixed t d1 d2 d ->
    v = t * v1 + (1 - t) * v2 -> m = t * m1 + (1 - t) * m2 -> rel n d v m.

Definition dafter (l : leaf) (e : env) : vec :=
  fun j => match assoc j (sets l) with Some f => leval (terms f) e | None => 0 end.
Definition releases_same (l : leaf) (d : env) := forall f, In (SNum f) (outs l) -> leval (terms f) d = 0.

(** A step can be followed: a shift that keeps the branch and the release, ends in related states,
    and is paid. *)
Definition wit (ns : list nat) (p : path) (l : leaf) (dv dd : vec) (v m : R) : Prop :=
  exists s v' m', supported ns s /\ allowed T s /\ keeps p (mkenv dd s dv) /\
    releases_same l (mkenv dd s dv) /\
    rel (to l) (dafter l (mkenv dd s dv)) v' m' /\ m <= m' /\ cost (rate T) ns s + v' <= v.
Definition followed (g : group) n := forall dv v m, rel n dv v m ->
  forall p l, In (p, l) (branches g) -> wit (draws g) p l dv zero v m.
Definition followed_reading (g : group) n := forall dv v m w d, rel n dv v m -> turn w d -> w <= m ->
  forall p l, In (p, l) (branches g) -> wit (draws g) p l dv d v (m - w).
Definition simulation := (forall n dv v m, rel n dv v m -> 0 <= v) /\
  forall n rd si, nth n prog Halt = Node rd si ->
    (forall g, rd = Some g -> well_formed (branches g) = true /\ followed_reading g n) /\
    (forall g, si = Some g -> well_formed (branches g) = true /\ followed g n).

(** ** The theorem *)
Section Sound.
Variable (u : R) (E : list nat -> (vec -> R) -> R).
Hypothesis u_pos : 0 <= u.
Hypothesis L : laws u (rate T) (allowed T) E.
Notation sem := (sem E prog).

Lemma sem_range fuel : forall n v qs f M, (forall o, 0 <= f o <= M) -> 0 <= sem fuel n v qs f <= M.
Proof.
  induction fuel as [|fuel IH]; intros n v qs f M B; simpl.
  - specialize (B []); lra.
  - assert (M0 : 0 <= 0 <= M) by (specialize (B []); lra).
    destruct (nth n prog Halt) as [|rd si] eqn:N; [apply B|].
    assert (G : forall g q qs', 0 <= E (draws g) (fun h => let e := mkenv q h v in
        pick (branches g) e (fun l => sem fuel (to l) (after l e) qs' (fun o => f (map (emit e) (outs l) ++ o)))) <= M).
    { intros g q qs'. apply (E_range _ _ _ _ L). intros h. cbv zeta. apply pick_range; [|lra].
      intros l. apply IH. intros; apply B. }
    destruct rd as [g|], qs as [|q qs'], si as [g'|]; auto.
Qed.
Lemma after_minus l e1 e2 : minus (after l e2) (after l e1) = dafter l (fun s => e2 s - e1 s).
Proof.
  apply functional_extensionality; intros j. unfold minus, after, dafter, feval.
  destruct (assoc j (sets l)); [rewrite leval_minus|]; lra.
Qed.
Lemma emit_same l e1 e2 : releases_same l (fun s => e2 s - e1 s) -> map (emit e1) (outs l) = map (emit e2) (outs l).
Proof.
  intros Z. apply map_ext_in. intros [t|f] I; simpl; auto. specialize (Z f I).
  rewrite leval_minus in Z. unfold feval. f_equal. lra.
Qed.
Lemma adjacent_le m m' qs1 qs2 : m <= m' -> adjacent m qs1 qs2 -> adjacent m' qs1 qs2.
Proof.
  revert m m' qs2. induction qs1 as [|q1 qs1 IH]; intros m m' [|q2 qs2] I A; simpl in *; auto.
  destruct A as (w & W & TU & A). exists w. repeat split; auto; try lra. apply IH with (m - w); auto; lra.
Qed.

Theorem sound : simulation -> forall fuel n v1 v2 qs1 qs2 f v m, bounded f ->
  rel n (minus v2 v1) v m -> adjacent m qs1 qs2 ->
  sem fuel n v1 qs1 f <= exp (u * v) * sem fuel n v2 qs2 f.
Proof.
  intros [POS SIM]. induction fuel as [|fuel IH]; intros n v1 v2 qs1 qs2 f v m [M B] R A; [simpl; lra|].
  assert (GO : forall g q1 q2 r1 r2 m', well_formed (branches g) = true -> adjacent m' r1 r2 ->
      (forall p l, In (p, l) (branches g) -> wit (draws g) p l (minus v2 v1) (minus q2 q1) v m') ->
      E (draws g) (fun h => let e := mkenv q1 h v1 in pick (branches g) e (fun l =>
        sem fuel (to l) (after l e) r1 (fun o => f (map (emit e) (outs l) ++ o)))) <=
      exp (u * v) * E (draws g) (fun h => let e := mkenv q2 h v2 in pick (branches g) e (fun l =>
        sem fuel (to l) (after l e) r2 (fun o => f (map (emit e) (outs l) ++ o))))).
  { intros g q1 q2 r1 r2 m' WF AD WI.
    apply (step u (rate T) (allowed T) E u_pos L (draws g) (branches g) q1 q2 v1 v2 v
      (fun l e => sem fuel (to l) (after l e) r1 (fun o => f (map (emit e) (outs l) ++ o)))
      (fun l e => sem fuel (to l) (after l e) r2 (fun o => f (map (emit e) (outs l) ++ o))) M WF).
    - specialize (B []). lra.
    - intros l e. apply sem_range; auto.
    - intros l e. apply sem_range; auto.
    - intros p l I. destruct (WI p l I) as (s & v' & m'' & SU & AL & KP & RS & RR & MM & CO).
      exists s, v'. refine (conj SU (conj AL (conj KP (conj CO _)))). intros e1 e2 DE.
      rewrite (emit_same l e1 e2) by (rewrite DE; auto). apply IH with m''.
      + exists M. intros o; apply B.
      + rewrite after_minus, DE. exact RR.
      + apply adjacent_le with m'; auto. }
  assert (ZZ : minus zero zero = zero) by (apply functional_extensionality; intros; unfold minus, zero; lra).
  simpl. destruct (nth n prog Halt) as [|rd si] eqn:N.
  - pose proof (POS _ _ _ _ R) as P. pose proof (B []) as F.
    assert (1 <= exp (u * v)) by (rewrite <- exp_0; apply exp_le, Rmult_le_pos; lra).
    apply Rle_trans with (1 * f []); [lra | apply Rmult_le_compat_r; lra].
  - destruct (SIM n rd si N) as [RD SI].
    assert (SILENT : forall r1 r2, adjacent m r1 r2 ->
      match si with Some g => E (draws g) (fun h => let e := mkenv zero h v1 in pick (branches g) e (fun l =>
          sem fuel (to l) (after l e) r1 (fun o => f (map (emit e) (outs l) ++ o)))) | None => 0 end <=
      exp (u * v) * match si with Some g => E (draws g) (fun h => let e := mkenv zero h v2 in pick (branches g) e (fun l =>
          sem fuel (to l) (after l e) r2 (fun o => f (map (emit e) (outs l) ++ o)))) | None => 0 end).
    { intros r1 r2 AD. destruct si as [g|]; [|lra]. destruct (SI g eq_refl) as [O F].
      apply GO with m; auto. intros p l I. rewrite ZZ. apply F; auto. }
    destruct rd as [g|]; [|apply SILENT; exact A].
    destruct qs1 as [|q1 r1], qs2 as [|q2 r2]; try contradiction; [apply SILENT; exact A|].
    destruct A as (w & WM & TU & A). destruct (RD g eq_refl) as [O F].
    apply GO with (m - w); auto.
Qed.
End Sound.
End Cert.
