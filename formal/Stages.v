(** * Stages of added noise: what proofs by contributions stand on

    A program computes values of its data, adds noise to them and sees the sums; the next values may
    depend on all that it has seen.  For neighbours, the values of a stage move by no more than its
    noise covers at a stated cost.  Nothing is said of how the values are computed: that they move by
    no more than stated is for whoever reads the program to show. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Power Privacy ZeroConcentrated Joint UpperIntegral ContinuousNoise GaussianNoise SeveralGaussians
  NoiseTable LoopChecker Draw.
Import ListNotations.
Open Scope R_scope.

(** Laplace noise of density exp (- rate |x|), or Gaussian noise of density exp (- rate x^2). *)
Definition laplace_draw (rates : nat -> Q) : list nat -> (vec -> R) -> R := joint (fun i => expect (laplace_density (1 * Q2R (rates i)))).
Definition gaussian_draw (rates : nat -> Q) : list nat -> (vec -> R) -> R := joint (fun i => expect (gaussian_density (1 * Q2R (rates i)))).

Inductive program (A O : Type) :=
| Release (o : O)
| Stage (rates : nat -> Q) (size : nat) (values : A -> vec) (next : vec -> program A O).
Arguments Release {A O}. Arguments Stage {A O}.
(** What is expected of a function of what is released; [draw]: the noise of a stage. *)
Fixpoint run_program {A O} (draw : (nat -> Q) -> list nat -> (vec -> R) -> R) (t : program A O) (a : A) (f : O -> R) : R :=
  match t with
  | Release o => f o
  | Stage rates n values next => draw rates (seq 0 n) (fun h => run_program draw (next (plus (values a) h)) a f)
  end.

(** ** Costs of ways *)
Definition total_cost (w : list Q) : Q := fold_right (fun c r => Qred (c + r)) 0%Q w.
Definition check_costs (ws : list (list Q)) (bound : Q) : bool := forallb (fun w => Qle_bool (total_cost w) bound) ws.
Definition after_stage (c : Q) (ws : list (list Q)) : list (list Q) :=
  flat_map (fun w => match w with c' :: w => if Qeq_bool c' c then [w] else [] | [] => [] end) ws.
Lemma costs_after ws B c : (forall w, In w ws -> Q2R (total_cost w) <= B) ->
  forall w, In w (after_stage c ws) -> Q2R (total_cost w) <= B - Q2R c.
Proof.
  intros P w I. apply in_flat_map in I. destruct I as ([|c' w'] & J & I); [contradiction|]. destruct (Qeq_bool c' c) eqn:E; [|contradiction].
  destruct I as [<-|[]]. specialize (P _ J). cbn [total_cost fold_right] in P. fold (total_cost w') in P.
  rewrite Q2R_red, Q2R_plus in P. apply qeq_ok in E. lra.
Qed.
Lemma costs_ok ws bound : check_costs ws bound = true -> forall w, In w ws -> Q2R (total_cost w) <= Q2R bound.
Proof. unfold check_costs. rewrite forallb_forall. intros C w I. apply qle_ok. auto. Qed.

Section Programs.
Context {A O : Type}.
Variable near : A -> A -> Prop.
(** The stages of a program cost no more than those of one of the ways, whatever was seen. *)
Fixpoint within_ways (cost : (nat -> Q) -> list nat -> vec -> R) (ws : list (list Q)) (t : program A O) : Prop :=
  match t with
  | Release _ => In [] ws
  | Stage rates n values next => (forall i, 0 < Q2R (rates i)) /\ exists c,
      (forall a b, near a b -> cost rates (seq 0 n) (fun i => if Nat.ltb i n then values a i - values b i else 0) <= Q2R c) /\
      forall x, within_ways cost (after_stage c ws) (next x)
  end.
(** Moving the noise by what the values differ by shows the same. *)
Lemma same_shown n (va vb : vec) h i : (i < n)%nat ->
  plus va (minus h (fun i => if Nat.ltb i n then va i - vb i else 0)) i = plus vb h i.
Proof. intros I. unfold plus, minus. apply Nat.ltb_lt in I. rewrite I. lra. Qed.

(** A stage shows its [n] sums, and nothing else. *)
Definition shown (n : nat) (x : vec) : vec := fun i => if Nat.ltb i n then x i else 0.
Fixpoint only_shown (t : program A O) : Prop :=
  match t with
  | Release _ => True
  | Stage rates n values next => (forall x, next x = next (shown n x)) /\ forall x, only_shown (next x)
  end.
Lemma next_same {T : Type} n (next : vec -> T) va vb h : (forall x, next x = next (shown n x)) ->
  next (plus va (minus h (fun i => if Nat.ltb i n then va i - vb i else 0))) = next (plus vb h).
Proof.
  intros X. rewrite X, (X (plus vb h)). f_equal. apply vec_ext. intros i. unfold shown. destruct (Nat.ltb_spec i n) as [L|L]; auto.
  apply (same_shown n va vb h i L).
Qed.

Section Pure.
Let L (rates : nat -> Q) : (forall i, 0 < Q2R (rates i)) -> forall i,
  continuous_noise (1 * Q2R (rates i)) (fun _ => True) (expect (laplace_density (1 * Q2R (rates i)))).
Proof. intros R i. apply laplace_noise. specialize (R i). lra. Qed.
Lemma laplace_range (t : program A O) : forall ws, within_ways cost ws t -> forall a f M, (forall o, 0 <= f o <= M) -> 0 <= run_program laplace_draw t a f <= M.
Proof.
  induction t as [o|rates n values next IH]; intros ws W a f M B; simpl; auto. destruct W as (R & c & C & W).
  apply (E_range _ _ _ _ (joint_laws 1 rates _ _ (L rates R))). intros h. eapply IH; eauto.
Qed.
(** Laplace noise: the costs, sums of |move| / scale, add up to epsilon. *)
Theorem stages_private ws bound : check_costs ws bound = true -> forall t, within_ways cost ws t -> only_shown t ->
  private near (Q2R bound) (run_program laplace_draw t).
Proof.
  intros CK t W ON a b NB f [M FB]. pose proof (costs_ok ws bound CK) as CB. clear CK. revert CB. generalize (Q2R bound) as B. clear bound.
  revert ws W. induction t as [o|rates n values next IH]; intros ws W B CB; simpl.
  - specialize (CB [] W). cbn in CB. rewrite Q2R_0 in CB. specialize (FB o). assert (1 <= exp B) by (rewrite <- exp_0; apply exp_le; auto). nra.
  - destruct W as (R & c & C & W). destruct ON as [X ON]. pose proof (joint_laws 1 rates _ _ (L rates R)) as LW.
    set (s := fun i => if Nat.ltb i n then values a i - values b i else 0). set (E := laplace_draw rates (seq 0 n)).
    assert (BD : forall d, bounded (fun h => run_program laplace_draw (next (plus (values d) h)) d f)).
    { intros d. exists M. intros h. eapply laplace_range; eauto. }
    eapply Rle_trans; [apply (E_shift _ _ _ _ LW (seq 0 n) s); auto|].
    + intros i; exact Logic.I.
    + intros i NI. unfold s. destruct (Nat.ltb_spec i n) as [LT|]; auto. exfalso. apply NI. apply in_seq. lia.
    + specialize (C a b NB). rewrite Rmult_1_l. set (e := exp (B - Q2R c)). assert (EP : 0 <= e) by apply exp_nonneg.
      apply Rle_trans with (exp (Q2R c) * (e * E (fun h => run_program laplace_draw (next (plus (values b) h)) b f))).
      * apply Rmult_le_compat; [apply exp_nonneg | | apply exp_le; auto |].
        -- apply (E_range _ _ _ _ LW (seq 0 n) _ M). intros h. eapply laplace_range; eauto.
        -- unfold E. change (laplace_draw rates) with (joint (fun i => expect (laplace_density (1 * Q2R (rates i))))).
           rewrite <- (E_scal _ _ _ _ LW) by auto. apply (E_le _ _ _ _ LW); auto.
           ++ apply (bounded_comp (fun h => run_program laplace_draw (next (plus (values a) h)) a f) (fun h => minus h s)); auto.
           ++ apply bounded_scal; auto.
           ++ intros h. unfold s. rewrite (next_same n next (values a) (values b) h X). apply (IH _ (ON _) (after_stage c ws)); auto.
              apply costs_after; auto.
      * right. unfold e. rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. lra.
Qed.
End Pure.

Section Gaussian.
Let C (rates : nat -> Q) : (forall i, 0 < Q2R (rates i)) -> forall i,
  continuous_noise (1 * Q2R (rates i)) (fun s => s = 0) (expect (gaussian_density (1 * Q2R (rates i)))).
Proof. intros R i. apply gaussian_noise. specialize (R i). lra. Qed.
Let L (rates : nat -> Q) : (forall i, 0 < Q2R (rates i)) -> forall i,
  renyi_noise (1 * Q2R (rates i)) (fun _ => True) (expect (gaussian_density (1 * Q2R (rates i)))).
Proof. intros R i. apply gaussian_renyi_noise. specialize (R i). lra. Qed.
Lemma gaussian_range (t : program A O) : forall ws, within_ways squares ws t -> forall a f M, (forall o, 0 <= f o <= M) -> 0 <= run_program gaussian_draw t a f <= M.
Proof.
  induction t as [o|rates n values next IH]; intros ws W a f M B; simpl; auto. destruct W as (R & c & CC & W).
  pose proof (joint_renyi_laws 1 rates _ _ (L rates R) _ (C rates R)) as [RC RL _].
  assert (BF : forall h, 0 <= run_program gaussian_draw (next (plus (values a) h)) a f <= M) by (intros h; eapply IH; eauto).
  assert (MP : 0 <= M) by (pose proof (BF zero); lra). change (gaussian_draw rates) with (joint (fun i => expect (gaussian_density (1 * Q2R (rates i))))). split.
  - rewrite <- (RC (seq 0 n) 0) by lra. apply RL; [apply bounded_const; lra | exists M; auto | intros; apply BF].
  - rewrite <- (RC (seq 0 n) M) by auto. apply RL; [exists M; auto | apply bounded_const; auto | intros; apply BF].
Qed.
(** Gaussian noise: the costs, sums of move^2 / (2 variance), add up to rho. *)
Theorem stages_concentrated ws bound : check_costs ws bound = true -> forall t, within_ways squares ws t -> only_shown t ->
  zero_concentrated near (Q2R bound) (run_program gaussian_draw t).
Proof.
  intros CK t W ON a b NB alpha A1 f [M FB]. pose proof (costs_ok ws bound CK) as CB. clear CK. revert CB. generalize (Q2R bound) as B. clear bound.
  pose proof (dual_above _ A1) as BA. set (be := dual alpha) in *.
  assert (FP : forall o, 0 <= power (f o) be <= power M be) by (intros o; split; [apply power_nonneg | apply power_le; [lra | apply FB]]).
  revert ws W. induction t as [o|rates n values next IH]; intros ws W B CB; simpl.
  - specialize (CB [] W). cbn in CB. rewrite Q2R_0 in CB. specialize (FP o).
    assert (1 <= exp (alpha * B)) by (rewrite <- exp_0; apply exp_le; apply Rmult_le_pos; lra). nra.
  - destruct W as (R & c & CC & W). destruct ON as [X ON]. pose proof (joint_renyi_laws 1 rates _ _ (L rates R) _ (C rates R)) as [RC RL RS].
    set (s := fun i => if Nat.ltb i n then values a i - values b i else 0). change (gaussian_draw rates) with (joint (fun i => expect (gaussian_density (1 * Q2R (rates i))))).
    set (E := joint (fun i => expect (gaussian_density (1 * Q2R (rates i)))) (seq 0 n)).
    set (F := fun h => run_program gaussian_draw (next (plus (values a) h)) a f).
    set (G := fun h => run_program gaussian_draw (next (plus (values b) h)) b (fun o => power (f o) be)).
    assert (BF : bounded F) by (exists M; intros h; eapply gaussian_range; eauto).
    assert (BG : bounded G) by (exists (power M be); intros h; eapply gaussian_range; eauto).
    eapply Rle_trans; [apply (RS (seq 0 n) alpha s F A1); auto|].
    + intros i NI. unfold s. destruct (Nat.ltb_spec i n) as [LT|]; auto. exfalso. apply NI. apply in_seq. lia.
    + fold be. specialize (CC a b NB). rewrite Rmult_1_l. set (e := exp (alpha * (B - Q2R c))). assert (EP : 0 <= e) by apply exp_nonneg.
      assert (BS : bounded (fun h => power (F (minus h s)) be)).
      { apply (bounded_power (fun h => F (minus h s))); [lra|]. apply (bounded_comp F (fun h => minus h s)); auto. }
      apply Rle_trans with (exp (alpha * Q2R c) * (e * E G)).
      * apply Rmult_le_compat; [apply exp_nonneg | | apply exp_le; apply Rmult_le_compat_l; auto; lra |].
        -- rewrite <- (RC (seq 0 n) 0) by lra. apply RL; auto; [apply bounded_const; lra | intros; apply power_nonneg].
        -- unfold E. rewrite <- (joint_scal 1 rates _ _ (C rates R) (seq 0 n) e G) by auto. apply RL; auto; [apply bounded_scal; auto|].
           intros h. unfold F, G, s. rewrite (next_same n next (values a) (values b) h X). apply (IH _ (ON _) (after_stage c ws)); auto.
           apply costs_after; auto.
      * right. unfold e. rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring.
Qed.
End Gaussian.
End Programs.
