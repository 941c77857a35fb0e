(** * Mechanisms as one would write them, proved equal to what was exported

    Nobody has to believe the encoding of programs as graphs for these: each is written down
    directly, proved to be what the exported certificate is about, and so is private. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From DP Require Import Noise Privacy Joint UpperIntegral ContinuousNoise Program NoiseTable Loop LoopChecker Draw OneNoise
  Cells Adjacency Total Selection Certificate.
From DP.examples Require SVT1 ReportNoisyMax1 LaplaceMechanism.
Import ListNotations.
Open Scope R_scope.

Lemma Q2R_quotient n d : Q2R (n # d) = IZR n / IZR (Zpos d). Proof. reflexivity. Qed.

(** ** The Laplace mechanism *)
(** A number plus Laplace noise of scale 1/eps. *)
Definition laplace_mechanism (eps x : R) (f : R -> R) : R := laplace (1 / eps) (fun h => f (x + h)).

Definition number_released (f : R -> R) (o : list out) : R := match o with [_; Num y] => f y | _ => 0 end.
Lemma laplace_mechanism_same eps x f : 0 < eps ->
  LaplaceMechanism.run eps [x] (number_released f) = laplace_mechanism eps x f.
Proof.
  intros P. unfold LaplaceMechanism.run, run_cells, release, laplace_mechanism, laplace.
  replace (expect (laplace_density (/ (1 / eps)))) with (law eps (entry (k_noises LaplaceMechanism.mechanism) 0)).
  - rewrite <- (draw_one (k_noises LaplaceMechanism.mechanism) eps 0 (fun h => f (x + h))) by reflexivity.
    apply E_ext. intros h. cbn. unfold feval, emit. cbn. unfold feval. cbn. f_equal. rewrite !Q2R_quotient. unfold fields. simpl. lra.
  - unfold law. cbn. do 2 f_equal. rewrite Q2R_quotient. field. lra.
Qed.
Theorem laplace_mechanism_private eps x y f : 0 < eps -> Rabs (y - x) <= 1 -> bounded f ->
  laplace_mechanism eps x f <= exp eps * laplace_mechanism eps y f.
Proof.
  intros P A F. rewrite <- !laplace_mechanism_same by auto.
  destruct (LaplaceMechanism.is_private eps P) as [PR _].
  replace (exp eps) with (exp (eps * Q2R (1 # 1))) by (f_equal; rewrite Q2R_quotient; lra).
  apply PR.
  - split; [reflexivity|]. split; [|split; intros I; discriminate].
    simpl. rewrite Q2R_quotient. lra.
  - destruct F as [M B]. exists M. intros o. assert (0 <= M) by (specialize (B 0); lra).
    unfold number_released. destruct o as [|? [|[] []]]; auto; lra.
Qed.

(** ** Report Noisy Max *)
(** Which of the values is greatest, after each got Laplace noise of scale [b]?  [laplace_noises]: as
    many independent ones as asked for. *)
Definition laplace_noises (b : R) : list nat -> (vec -> R) -> R := joint (fun _ => expect (laplace_density (/ b))).
Definition noisy_max (b : R) (a : list R) (f : nat -> R) : R :=
  laplace_noises b (seq 0 (length a)) (fun h => f (greatest (fun j => nth j a 0 + h j) (length a))).
Lemma noisy_max_run (eps : R) q a f : 0 < eps * Q2R q ->
  run_selection (Laplace, q) (1 # 1) (1 # 1) eps a f = noisy_max (/ (eps * Q2R q)) a f.
Proof.
  intros P. unfold run_selection, selection, noisy_max, laplace_noises, draw. cbn [integral existsb discrete fst orb].
  replace (fun i : nat => law eps (entry [(Laplace, q)] i)) with (fun _ : nat => expect (laplace_density (/ / (eps * Q2R q)))).
  - f_equal. apply functional_extensionality. intros h. do 2 f_equal. apply functional_extensionality. intros j.
    rewrite !Q2R_quotient. lra.
  - apply functional_extensionality. intros i. rewrite entry_all. unfold law; simpl. rewrite Rinv_inv. auto.
Qed.
Theorem noisy_max_same eps a f : 0 < eps -> ReportNoisyMax1.run eps a f = noisy_max (2 / eps) a f.
Proof.
  intros P. unfold ReportNoisyMax1.run, ReportNoisyMax1.noise. rewrite noisy_max_run.
  - f_equal. rewrite Q2R_quotient. field. lra.
  - rewrite Q2R_quotient. lra.
Qed.
(** Every number of values, each of which may move by 1. *)
Theorem noisy_max_private eps a a' f : 0 < eps -> Forall2 (fun x y => Rabs (y - x) <= 1) a a' -> bounded f ->
  noisy_max (2 / eps) a f <= exp eps * noisy_max (2 / eps) a' f.
Proof.
  intros P A F. rewrite <- !noisy_max_same by auto. destruct (ReportNoisyMax1.is_private eps P) as [PR _].
  replace (exp eps) with (exp (eps * Q2R (1 # 1))) by (f_equal; rewrite Q2R_quotient; lra).
  apply PR; auto. unfold linf. replace (Q2R (1 # 1)) with 1 by (rewrite Q2R_quotient; lra). exact A.
Qed.
(** Counting queries: all answers move up by at most 1, or all down; half the noise is enough. *)
Definition counting_plan (lo hi : Q) : list plan :=
  [Plan 0 0 (both lo hi lo hi) [(0%nat, (hi, [(0%nat, (-1)%Q)]))] [(0%nat, (hi, [(0%nat, (-1)%Q)]))]].
Theorem noisy_max_counting eps a a' f : 0 < eps -> monotone 1 a a' -> bounded f ->
  noisy_max (1 / eps) a f <= exp eps * noisy_max (1 / eps) a' f.
Proof.
  intros P A F. assert (E1 : Q2R (1 # 1) = 1) by (rewrite Q2R_quotient; lra).
  assert (E0 : Q2R 0 = 0) by apply Q2R_0. assert (EM : Q2R (-1) = -1) by (unfold Q2R; simpl; lra).
  assert (RUN : forall a, noisy_max (1 / eps) a f = run_selection (Laplace, 1 # 1) (1 # 1) (1 # 1) eps a f).
  { intros l. rewrite noisy_max_run by (rewrite E1; lra). f_equal. rewrite E1. field. lra. }
  rewrite !RUN. replace (exp eps) with (exp (eps * Q2R (1 # 1))) by (f_equal; rewrite E1; lra).
  destruct A as [A|A].
  - apply (selection_private (Laplace, 1 # 1) (1 # 1) (1 # 1) 0 1 0 1 0 [[both 0 1 0 1]] (counting_plan 0 1) (1 # 1));
      try (vm_compute; reflexivity); auto. rewrite E0. replace (Q2R 1) with 1 by (rewrite Q2R_1; auto). auto.
  - apply (selection_private (Laplace, 1 # 1) (1 # 1) (1 # 1) (-1) 0 (-1) 0 0 [[both (-1) 0 (-1) 0]] (counting_plan (-1) 0) (1 # 1));
      try (vm_compute; reflexivity); auto. rewrite E0, EM. auto.
Qed.

(** ** The sparse vector technique *)
(** One noisy threshold; each query gets its own noise; the first that is above ends it. *)
Fixpoint answers (eps threshold rho : R) (queries : list R) (f : list bool -> R) : R :=
  match queries with
  | [] => f []
  | q :: queries => laplace (4 / eps) (fun nu =>
      if Rle_dec (threshold + rho) (q + nu) then f [true]
      else answers eps threshold rho queries (fun o => f (false :: o)))
  end.
Definition sparse_vector (eps threshold : R) (queries : list R) (f : list bool -> R) : R :=
  laplace (2 / eps) (fun rho => answers eps threshold rho queries f).

Definition answer_of (o : out) : bool := match o with Tok O => true | _ => false end.
Section SparseVector.
Variable eps : R.
Hypothesis P : 0 < eps.
Notation E := (draw SVT1.noises eps).
Notation S_ := (sem E SVT1.prog).
Lemma table : proper_table SVT1.noises = true. Proof. reflexivity. Qed.
Lemma draw_threshold F : E [0%nat] (fun h => F (h 0%nat)) = laplace (2 / eps) F.
Proof.
  rewrite (draw_one SVT1.noises eps 0 F eq_refl). unfold laplace, law. cbn. do 3 f_equal. rewrite Q2R_quotient. field. lra.
Qed.
Lemma draw_query F : E [1%nat] (fun h => F (h 1%nat)) = laplace (4 / eps) F.
Proof.
  rewrite (draw_one SVT1.noises eps 1 F eq_refl). unfold laplace, law. cbn. do 3 f_equal. rewrite Q2R_quotient. field. lra.
Qed.
Definition known (f : list bool -> R) (o : list out) : R := f (map answer_of o).
Definition nonnegative (f : list bool -> R) := forall o, 0 <= f o.
(** What a silent step without noise does: nothing. *)
Lemma finished k v qs f : (1 <= k)%nat -> S_ k 3 v qs (known f) = f [].
Proof. intros K. destruct k as [|k]; try lia. reflexivity. Qed.
Lemma stopped k v qs f : nonnegative f -> (2 <= k)%nat -> S_ k 2 v qs (known f) = f [].
Proof.
  intros N K. destruct k as [|k]; try lia. rewrite (sem_S SVT1.prog E k). unfold once.
  destruct qs as [|q qs]; cbn -[sem]; unfold pick; cbn -[sem];
    transitivity (E [] (fun _ => f [])); try (apply (draw_none SVT1.noises eps (f []) table P); apply N);
    apply E_ext; intros h; apply (finished k _ _ f); lia.
Qed.
Lemma in_loop queries : forall k v f, nonnegative f -> (length queries + 2 <= k)%nat ->
  S_ k 1 v (map datum queries) (known f) = answers eps (1 / 2) (v 0%nat) queries f.
Proof.
  induction queries as [|q queries IH]; intros k v f N K.
  - destruct k as [|k]; simpl in K; try lia. rewrite (sem_S SVT1.prog E k). unfold once. cbn -[sem]. unfold pick. cbn -[sem].
    transitivity (E [] (fun _ => f [])); [|apply (draw_none SVT1.noises eps (f []) table P); apply N].
    apply E_ext. intros h. apply (finished k _ _ f). lia.
  - destruct k as [|k]; simpl in K; try lia. rewrite (sem_S SVT1.prog E k). unfold once.
    change (map datum (q :: queries)) with (datum q :: map datum queries).
    cbn [answers]. rewrite <- draw_query. cbn -[sem]. apply E_ext. intros h. unfold pick. cbn -[sem].
    assert (D : feval (Form (-1 # 2) [(H 1, (1 # 1)%Q); (D 0, (1 # 1)%Q); (V 0, (-1 # 1)%Q)]) (mkenv (datum q) h v)
                = q + h 1%nat - (1 / 2 + v 0%nat)) by (unfold feval; cbn; rewrite !Q2R_quotient; lra).
    rewrite D. destruct (Rle_dec 0 (q + h 1%nat - (1 / 2 + v 0%nat))) as [A|A], (Rle_dec (1 / 2 + v 0%nat) (q + h 1%nat)) as [B|B];
      try (exfalso; lra); cbn -[sem].
    + apply (stopped k _ _ (fun o => f (true :: o))); [intros o; apply N | lia].
    + rewrite (IH k _ (fun o => f (false :: o))); [|intros o; apply N | lia].
      f_equal. unfold after. cbn. unfold feval. cbn. rewrite !Q2R_quotient. lra.
Qed.
Theorem sparse_vector_same queries f : nonnegative f ->
  SVT1.run eps queries (known f) = sparse_vector eps (1 / 2) queries f.
Proof.
  intros N. unfold SVT1.run, run_loop.
  assert (F : exists k, steps_needed SVT1.ranks 2 0 (map datum queries) = S k /\ (length queries + 2 <= k)%nat).
  { unfold steps_needed. rewrite map_length. exists (2 + length queries * 3)%nat. split; [reflexivity | lia]. }
  destruct F as (k & -> & K). unfold sparse_vector. rewrite <- draw_threshold.
  rewrite (sem_S SVT1.prog E k). unfold once. cbn -[sem]. apply E_ext. intros h. unfold pick. cbn -[sem].
  pose proof (in_loop queries k (after (Leaf 0 1 [] [(0%nat, Form (0 # 1) [(H 0, (1 # 1)%Q)])]) (mkenv zero h zero)) f N K) as X.
  transitivity (answers eps (1 / 2) (after (Leaf 0 1 [] [(0%nat, Form (0 # 1) [(H 0, (1 # 1)%Q)])]) (mkenv zero h zero) 0%nat) queries f);
    [exact X|]. f_equal. unfold after. cbn. unfold feval. cbn. rewrite !Q2R_quotient. lra.
Qed.
End SparseVector.
(** For every number of queries and every event. *)
Theorem sparse_vector_private eps a b (event : list bool -> bool) : 0 < eps ->
  Forall2 (fun x y => Rabs (y - x) <= 1) a b ->
  sparse_vector eps (1 / 2) a (fun o => if event o then 1 else 0) <=
  exp eps * sparse_vector eps (1 / 2) b (fun o => if event o then 1 else 0).
Proof.
  intros P A. assert (N : nonnegative (fun o => if event o then 1 else 0)) by (intros o; destruct (event o); lra).
  rewrite <- !sparse_vector_same by auto. destruct (SVT1.is_private eps P) as [PR _].
  replace (exp eps) with (exp (eps * Q2R (1 # 1))) by (f_equal; rewrite Q2R_quotient; lra). apply PR.
  - unfold linf. replace (Q2R (1 # 1)) with 1 by (rewrite Q2R_quotient; lra). exact A.
  - exists 1. intros o. unfold known. destruct (event (map answer_of o)); lra.
Qed.
Theorem sparse_vector_mass eps a : 0 < eps -> sparse_vector eps (1 / 2) a (fun _ => 1) = 1.
Proof.
  intros P. rewrite <- sparse_vector_same by (auto; intros o; lra). destruct (SVT1.is_private eps P) as [_ M].
  apply (M a 1). lra.
Qed.
