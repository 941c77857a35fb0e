(** * Several independent noises as one functional

    One continuous noise is an upper integral [N] on the line.  Upper integrals of upper integrals
    are not additive, so the noises of a step are integrated in one go: [joint] is the infimum of
    the iterated integrals of the functions above that are _piecewise Lipschitz_, i.e. Lipschitz on
    each cell of a partition along hyperplanes.  On these the iterated integral is additive, and so
    [joint] splits along half-spaces, for all bounded functions. *)
From Coq Require Import Reals Lra Lia List QArith Qreals Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise.
Import ListNotations.
Open Scope R_scope.

Notation minus := Noise.minus.
Notation plus := Noise.plus.
Notation zero := Noise.zero.

Definition integrable (w : R -> R) := forall a b, ex_RInt w a b.
(** Functions that stay integrable under continuous weights. *)
Definition regular (f : R -> R) :=
  forall c : R -> R, (forall x, continuous c x) -> integrable (fun x => f x * c x).
Definition between (a b x : R) : R :=
  if Rle_dec (Rmin a b) x then if Rle_dec x (Rmax a b) then 1 else 0 else 0.

(** One continuous noise of rate [r]: [len] says that it has a bounded density.  [ok]: which shifts
    have a price (all, upward ones, or only 0). *)
Record continuous_noise (r : R) (ok : R -> Prop) (N : (R -> R) -> R) : Prop := {
  N_const : forall c, 0 <= c -> N (fun _ => c) = c;
  N_le : forall f g, bounded f -> bounded g -> (forall x, f x <= g x) -> N f <= N g;
  N_scal : forall c f, 0 <= c -> bounded f -> N (fun x => c * f x) = c * N f;
  N_sub : forall f g, bounded f -> bounded g -> N (fun x => f x + g x) <= N f + N g;
  N_add : forall f g, bounded f -> bounded g -> regular f -> regular g ->
    N (fun x => f x + g x) = N f + N g;
  N_len : exists B, 0 <= B /\ forall a b, N (between a b) <= B * Rabs (b - a);
  N_shift : forall s f, ok s -> bounded f ->
    N f <= exp (r * Rabs s) * N (fun x => f (x - s)) }.

Lemma noise_weaken r (ok ok' : R -> Prop) N :
  (forall s, ok' s -> ok s) -> continuous_noise r ok N -> continuous_noise r ok' N.
Proof. intros I [A B C D E F G]. split; auto. Qed.

Lemma Rminus_same x : x - x = 0. Proof. lra. Qed.

(** ** Regular functions of one variable *)
Lemma int_plus f g : integrable f -> integrable g -> integrable (fun x => f x + g x).
Proof. intros F G a b. apply (ex_RInt_plus f g); auto. Qed.
Lemma int_scal c f : integrable f -> integrable (fun x => c * f x).
Proof. intros F a b. apply (ex_RInt_scal f a b c); auto. Qed.
Lemma int_ext f g : (forall x, f x = g x) -> integrable f -> integrable g.
Proof. intros X F. replace g with f; auto. apply functional_extensionality; auto. Qed.
Lemma int_0 : integrable (fun _ => 0).
Proof. intros a b. apply (ex_RInt_const (V := R_NormedModule)). Qed.
(** On each side of the border of a half-line a condition does not change. *)
Lemma int_sides t (f g w : R -> R) : integrable f -> integrable g ->
  (forall x, x < t -> w x = f x) -> (forall x, t < x -> w x = g x) -> integrable w.
Proof.
  intros F G LO HI.
  assert (TO : forall c, ex_RInt w c t).
  { intros c. destruct (Rle_lt_dec c t) as [I|I].
    - apply ex_RInt_ext with f; auto. rewrite Rmin_left, Rmax_right by lra.
      intros; symmetry; apply LO; lra.
    - apply ex_RInt_ext with g; auto. rewrite Rmin_right, Rmax_left by lra.
      intros; symmetry; apply HI; lra. }
  intros c d. apply ex_RInt_Chasles with t; auto. apply ex_RInt_swap; auto.
Qed.
Lemma int_cut a b w : integrable w ->
  integrable (fun x => if Rle_dec 0 (a + b * x) then w x else 0) /\
  integrable (fun x => if Rle_dec 0 (a + b * x) then 0 else w x).
Proof.
  intros W. pose proof int_0 as Z. destruct (Req_dec b 0) as [->|B].
  - assert (X : forall x, a + 0 * x = a) by (intros; lra).
    destruct (Rle_dec 0 a) as [I|I]; split;
      [apply (int_ext w) | apply (int_ext (fun _ => 0)) | apply (int_ext (fun _ => 0)) | apply (int_ext w)];
      auto; intros x; rewrite X; destruct Rle_dec; auto; lra.
  - assert (T : forall x, a + b * x = b * (x - - a / b)) by (intros x; field; auto).
    destruct (Rdichotomy b 0 B) as [S|S]; split;
      [ apply (int_sides (- a / b) w (fun _ => 0)) | apply (int_sides (- a / b) (fun _ => 0) w)
      | apply (int_sides (- a / b) (fun _ => 0) w) | apply (int_sides (- a / b) w (fun _ => 0))];
      auto; intros x X; rewrite T; destruct Rle_dec as [P|P]; auto; exfalso; nra.
Qed.
Lemma regular_plus f g : regular f -> regular g -> regular (fun x => f x + g x).
Proof.
  intros F G c C. apply (int_ext (fun x => f x * c x + g x * c x)); [intros; lra|].
  apply int_plus; auto.
Qed.
Lemma regular_cut a b f : regular f ->
  regular (fun x => if Rle_dec 0 (a + b * x) then f x else 0) /\
  regular (fun x => if Rle_dec 0 (a + b * x) then 0 else f x).
Proof.
  intros F; split; intros c C; destruct (int_cut a b _ (F c C)) as [P Q];
    [eapply int_ext, P | eapply int_ext, Q]; intros x; simpl; destruct Rle_dec; lra.
Qed.
Lemma regular_lipschitz f K : (forall x y, Rabs (f x - f y) <= K * Rabs (x - y)) -> regular f.
Proof.
  intros L c C a b. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros z _.
  apply (continuous_mult f c); [|apply C]. apply filterlim_locally. intros [e E].
  assert (KP : 0 < Rabs K + 1) by (pose proof (Rabs_pos K); lra).
  assert (D : 0 < e / (Rabs K + 1)) by (apply Rdiv_lt_0_compat; auto).
  exists (mkposreal _ D). intros y Y. unfold ball in *; simpl in *. unfold AbsRing_ball, abs, Hierarchy.minus, Hierarchy.plus, opp in *; simpl in *.
  apply Rle_lt_trans with (K * Rabs (y - z)); [apply L|].
  apply Rle_lt_trans with ((Rabs K + 1) * Rabs (y - z)).
  - apply Rmult_le_compat_r; [apply Rabs_pos|]. pose proof (Rle_abs K). lra.
  - apply Rlt_le_trans with ((Rabs K + 1) * (e / (Rabs K + 1))).
    + apply Rmult_lt_compat_l; auto.
    + right; field; lra.
Qed.

(** ** Piecewise Lipschitz functions of many variables *)
Definition condition := (affine_form * bool)%type.
Definition holds (c : condition) (h : vec) : bool :=
  Bool.eqb (if Rle_dec 0 (affine_at (fst c) h) then true else false) (snd c).
Fixpoint inside (P : list condition) (h : vec) : R :=
  match P with [] => 1 | c :: P => if holds c h then inside P h else 0 end.
Fixpoint distance (vs : list nat) (a b : vec) : R :=
  match vs with [] => 0 | j :: vs => Rabs (a j - b j) + distance vs a b end.
Definition lipschitz (g : vec -> R) :=
  exists K vs, 0 <= K /\ forall a b, Rabs (g a - g b) <= K * distance vs a b.
Definition cell := ((vec -> R) * list condition)%type.
Definition proper (p : cell) := lipschitz (fst p) /\ bounded (fst p).
Fixpoint cells_at (l : list cell) (h : vec) : R :=
  match l with [] => 0 | (g, P) :: l => g h * inside P h + cells_at l h end.
Definition piecewise (f : vec -> R) :=
  exists l, (forall p, In p l -> proper p) /\ forall h, f h = cells_at l h.

Lemma inside_01 P h : inside P h = 0 \/ inside P h = 1.
Proof. induction P as [|c P IH]; simpl; auto. destruct (holds c h); auto. Qed.
Lemma distance_pos vs a b : 0 <= distance vs a b.
Proof. induction vs as [|j vs IH]; simpl; [lra|]. pose proof (Rabs_pos (a j - b j)). lra. Qed.
Lemma distance_upd vs a b i x : distance vs (upd a i x) (upd b i x) <= distance vs a b.
Proof.
  induction vs as [|j vs IH]; simpl; [lra|]. apply Rplus_le_compat; auto. unfold upd.
  destruct (Nat.eqb j i); [|lra]. rewrite Rminus_same, Rabs_R0. apply Rabs_pos.
Qed.
Lemma distance_one vs h i x y : distance vs (upd h i x) (upd h i y) <= INR (length vs) * Rabs (x - y).
Proof.
  induction vs as [|j vs IH]; [simpl; lra|]. change (length (j :: vs)) with (S (length vs)).
  rewrite S_INR. simpl. unfold upd at 1 2. pose proof (Rabs_pos (x - y)).
  destruct (Nat.eqb j i); [lra|]. rewrite Rminus_same, Rabs_R0. lra.
Qed.
Lemma bounded_cell g P : bounded g -> bounded (fun h : vec => g h * inside P h).
Proof.
  intros [M B]. exists M. intros h. specialize (B h). destruct (inside_01 P h) as [-> | ->]; lra.
Qed.
Lemma bounded_cells l : (forall p, In p l -> proper p) -> bounded (cells_at l).
Proof.
  induction l as [|[g P] l IH]; intros H; [apply bounded_const; lra|].
  apply bounded_plus; [|apply IH; intros; apply H; right; auto].
  apply bounded_cell. destruct (H (g, P)); [left|]; auto.
Qed.
Lemma bounded_piecewise f : piecewise f -> bounded f.
Proof.
  intros (l & H & X). destruct (bounded_cells l H) as [M B].
  exists M. intros h. rewrite X. apply B.
Qed.
Lemma piecewise_plus f g : piecewise f -> piecewise g -> piecewise (fun h => f h + g h).
Proof.
  intros (l & H & X) (m & G & Y). exists (l ++ m). split.
  - intros p I. apply in_app_or in I. destruct I; auto.
  - intros h. rewrite X, Y. clear. induction l as [|[g P] l IH]; simpl; [lra|]. rewrite <- IH. lra.
Qed.
Lemma lipschitz_scal c g : 0 <= c -> lipschitz g -> lipschitz (fun h => c * g h).
Proof.
  intros C (K & vs & KP & L). exists (c * K), vs. split; [apply Rmult_le_pos; auto|]. intros a b.
  rewrite <- Rmult_minus_distr_l, Rabs_mult, Rabs_pos_eq, Rmult_assoc by auto.
  apply Rmult_le_compat_l; auto.
Qed.
Lemma piecewise_scal c f : 0 <= c -> piecewise f -> piecewise (fun h => c * f h).
Proof.
  intros C (l & H & X). exists (map (fun p : cell => (fun h => c * fst p h, snd p)) l). split.
  - intros p I. apply in_map_iff in I. destruct I as (q & <- & I). destruct (H q I).
    split; [apply lipschitz_scal | apply bounded_scal]; auto.
  - intros h. rewrite X. clear. induction l as [|[g P] l IH]; simpl; [lra|]. rewrite <- IH. lra.
Qed.
Lemma piecewise_const c : 0 <= c -> piecewise (fun _ => c).
Proof.
  intros C. exists [(fun _ => c, [])]. split.
  - intros p [<- | []]. split; [|apply bounded_const; auto].
    exists 0, []. split; [lra|]. intros. rewrite Rminus_same, Rabs_R0. simpl. lra.
  - intros h. simpl. lra.
Qed.
Lemma piecewise_cut f a : piecewise f ->
  piecewise (fun h => if Rle_dec 0 (affine_at a h) then f h else 0) /\
  piecewise (fun h => if Rle_dec 0 (affine_at a h) then 0 else f h).
Proof.
  intros (l & H & X).
  assert (C : forall b, (forall p, In p (map (fun p : cell => (fst p, (a, b) :: snd p)) l) -> proper p) /\
    forall h, cells_at (map (fun p : cell => (fst p, (a, b) :: snd p)) l) h =
              if holds (a, b) h then cells_at l h else 0).
  { intros b. split.
    - intros p I. apply in_map_iff in I. destruct I as (q & <- & I). apply (H q I).
    - intros h. clear. induction l as [|[g P] l IH]; simpl; [destruct (holds (a, b) h); auto|].
      rewrite IH. simpl. destruct (holds (a, b) h); lra. }
  split; [destruct (C true) as [P E] | destruct (C false) as [P E]];
    eexists; (split; [exact P|]); intros h; rewrite E, X; unfold holds; simpl; destruct Rle_dec; auto.
Qed.

(** ** Integrating one variable out *)
Section One.
Variables (r : R) (ok : R -> Prop) (N : (R -> R) -> R) (i : nat).
Hypothesis L : continuous_noise r ok N.
Let NL := N_le _ _ _ L.

Definition integrate (f : vec -> R) : vec -> R := fun h => N (fun x => f (upd h i x)).

Lemma N_range f M : (forall x, 0 <= f x <= M) -> 0 <= N f <= M.
Proof.
  intros B. assert (F : bounded f) by (exists M; auto). pose proof (B 0) as B0. split.
  - rewrite <- (N_const _ _ _ L 0) by lra. apply NL; auto using bounded_const, Rle_refl. intros; apply B.
  - rewrite <- (N_const _ _ _ L M) by lra. apply NL; auto. apply bounded_const; lra. intros; apply B.
Qed.

(** The coefficient of the variable, and the form without it. *)
Fixpoint slope (l : list (nat * R)) : R :=
  match l with [] => 0 | (j, a) :: l => (if Nat.eqb j i then a else 0) + slope l end.
Definition others (a : affine_form) : affine_form :=
  (fst a, filter (fun t => negb (Nat.eqb (fst t) i)) (snd a)).
Lemma affine_upd a h x : affine_at a (upd h i x) = affine_at (others a) h + slope (snd a) * x.
Proof.
  destruct a as [c l]. unfold affine_at; simpl.
  cut (terms_at l (upd h i x) =
       terms_at (filter (fun t => negb (Nat.eqb (fst t) i)) l) h + slope l * x); [lra|].
  induction l as [|[j b] l IH]; simpl; [lra|]. rewrite IH. unfold upd.
  destruct (Nat.eqb j i); simpl; lra.
Qed.
Definition fixed (c : condition) : bool :=
  if Req_EM_T (slope (snd (fst c))) 0 then true else false.
Definition staying (P : list condition) := map (fun c => (others (fst c), snd c)) (filter fixed P).
Definition moving (P : list condition) := filter (fun c => negb (fixed c)) P.
Lemma inside_parts P h x :
  inside P (upd h i x) = inside (staying P) h * inside (moving P) (upd h i x).
Proof.
  unfold staying, moving. induction P as [|c P IH]; simpl; [lra|].
  assert (F : fixed c = true -> holds c (upd h i x) = holds (others (fst c), snd c) h).
  { unfold fixed, holds. destruct Req_EM_T as [Z|]; [|discriminate]. intros _.
    simpl. rewrite affine_upd, Z. do 2 f_equal. replace (affine_at (others (fst c)) h + 0 * x)
      with (affine_at (others (fst c)) h) by lra. reflexivity. }
  destruct (fixed c) eqn:E; simpl.
  - rewrite F by auto. destruct (holds _ h); [auto | lra].
  - rewrite IH. destruct (holds c (upd h i x)); lra.
Qed.

(** Where a condition starts to hold moves as the other variables do. *)
Definition border (c : condition) (h : vec) : R :=
  - affine_at (others (fst c)) h / slope (snd (fst c)).
Definition swept (P : list condition) (h h' : vec) (x : R) : R :=
  fold_right (fun c y => between (border c h) (border c h') x + y) 0 P.
Lemma between_01 a b x : 0 <= between a b x <= 1.
Proof. unfold between. destruct Rle_dec; [destruct Rle_dec|]; lra. Qed.
Lemma swept_pos P h h' x : 0 <= swept P h h' x.
Proof.
  induction P as [|c P IH]; simpl; [lra|]. pose proof (between_01 (border c h) (border c h') x). lra.
Qed.
Lemma swept_one c h h' x : fixed c = false -> holds c (upd h i x) = true ->
  holds c (upd h' i x) = false -> between (border c h) (border c h') x = 1.
Proof.
  intros F A B. unfold fixed in F. destruct Req_EM_T as [|S]; [discriminate|].
  unfold holds in *. rewrite !affine_upd in *. unfold border. set (b := slope (snd (fst c))) in *.
  set (p := affine_at (others (fst c)) h) in *. set (q := affine_at (others (fst c)) h') in *.
  assert (P1 : p + b * x = b * (x - - p / b)) by (field; auto).
  assert (P2 : q + b * x = b * (x - - q / b)) by (field; auto).
  rewrite P1 in A. rewrite P2 in B. set (s := - p / b) in *. set (t := - q / b) in *.
  assert (X : s <= x <= t \/ t <= x <= s).
  { destruct (Rle_dec 0 (b * (x - s))), (Rle_dec 0 (b * (x - t))), (snd c); simpl in *;
      try discriminate; destruct (Rdichotomy b 0 S); (left; split; nra) || (right; split; nra). }
  unfold between, Rmin, Rmax. repeat destruct Rle_dec; lra.
Qed.
Lemma inside_swept P h h' x : (forall c, In c P -> fixed c = false) ->
  inside P (upd h i x) <= inside P (upd h' i x) + swept P h h' x.
Proof.
  induction P as [|c P IH]; intros F; simpl; [lra|].
  pose proof (between_01 (border c h) (border c h') x). pose proof (swept_pos P h h' x).
  pose proof (inside_01 P (upd h' i x)). specialize (IH (fun c I => F c (or_intror I))).
  destruct (holds c (upd h i x)) eqn:A, (holds c (upd h' i x)) eqn:B; try lra.
  rewrite (swept_one c h h' x) by (auto; apply F; left; auto).
  destruct (inside_01 P (upd h i x)); lra.
Qed.
Lemma terms_lipschitz l : exists K vs, 0 <= K /\ forall a b,
  Rabs (terms_at l a - terms_at l b) <= K * distance vs a b.
Proof.
  induction l as [|[j c] l (K & vs & KP & IH)]; simpl.
  - exists 0, []. split; [lra|]. intros. rewrite Rminus_same, Rabs_R0. lra.
  - exists (Rabs c + K), (j :: vs). pose proof (Rabs_pos c). split; [lra|]. intros a b. simpl.
    replace (c * a j + terms_at l a - (c * b j + terms_at l b))
      with (c * (a j - b j) + (terms_at l a - terms_at l b)) by lra.
    eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_mult. specialize (IH a b).
    pose proof (Rabs_pos (a j - b j)). pose proof (distance_pos vs a b).
    assert (0 <= K * Rabs (a j - b j)) by (apply Rmult_le_pos; auto).
    assert (0 <= Rabs c * distance vs a b) by (apply Rmult_le_pos; auto). lra.
Qed.
Lemma border_lipschitz c : fixed c = false ->
  exists K vs, 0 <= K /\ forall a b, Rabs (border c b - border c a) <= K * distance vs a b.
Proof.
  intros F. unfold fixed in F. destruct Req_EM_T as [|S]; [discriminate|].
  destruct (terms_lipschitz (snd (others (fst c)))) as (K & vs & KP & T).
  assert (SP : 0 < / Rabs (slope (snd (fst c)))) by (apply Rinv_0_lt_compat, Rabs_pos_lt; auto).
  exists (/ Rabs (slope (snd (fst c))) * K), vs. split; [apply Rmult_le_pos; lra|].
  intros a b. unfold border, affine_at. specialize (T a b).
  set (x := terms_at (snd (others (fst c))) a) in *. set (y := terms_at _ b) in *.
  set (k := fst (others (fst c))).
  replace (- (k + y) / slope (snd (fst c)) - - (k + x) / slope (snd (fst c)))
    with (/ slope (snd (fst c)) * (x - y)) by (field; auto).
  rewrite Rabs_mult, Rabs_inv, Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.
Lemma bounded_between a b : bounded (between a b).
Proof. exists 1. apply between_01. Qed.
Lemma bounded_swept P h h' : bounded (swept P h h').
Proof.
  induction P as [|c P IH]; [apply bounded_const; lra|].
  apply (bounded_plus (between (border c h) (border c h')) (swept P h h')); auto using bounded_between.
Qed.
(** The borders sweep little: their paths have bounded length, and the noise has a density. *)
Lemma swept_small P : (forall c, In c P -> fixed c = false) ->
  exists K vs, 0 <= K /\ forall a b, N (swept P a b) <= K * distance vs a b.
Proof.
  induction P as [|c P IH]; intros F.
  - exists 0, []. split; [lra|]. intros a b.
    change (swept [] a b) with (fun _ : R => 0). rewrite (N_const _ _ _ L); simpl; lra.
  - destruct (IH (fun c I => F c (or_intror I))) as (K & vs & KP & X).
    destruct (border_lipschitz c (F c (or_introl eq_refl))) as (K' & vs' & KP' & Y).
    destruct (N_len _ _ _ L) as (B & BP & LEN).
    assert (D : forall a b, distance (vs ++ vs') a b = distance vs a b + distance vs' a b).
    { intros a b. clear. induction vs as [|j vs IH]; simpl; [lra|]. rewrite IH. lra. }
    assert (P0 : 0 <= B * K') by (apply Rmult_le_pos; auto).
    exists (K + B * K'), (vs ++ vs'). split; [lra|]. intros a b.
    change (swept (c :: P) a b)
      with (fun x => between (border c a) (border c b) x + swept P a b x).
    eapply Rle_trans; [apply (N_sub _ _ _ L); [apply bounded_between | apply bounded_swept]|].
    specialize (X a b). specialize (LEN (border c a) (border c b)). specialize (Y a b).
    apply (Rmult_le_compat_l B) in Y; auto. rewrite D.
    pose proof (distance_pos vs a b). pose proof (distance_pos vs' a b).
    assert (0 <= K * distance vs' a b) by (apply Rmult_le_pos; auto).
    assert (0 <= B * K' * distance vs a b) by (apply Rmult_le_pos; auto). lra.
Qed.
Lemma integrate_lipschitz g P : lipschitz g -> bounded g -> (forall c, In c P -> fixed c = false) ->
  lipschitz (integrate (fun h => g h * inside P h)).
Proof.
  intros (K & vs & KP & G) [M B] F. destruct (swept_small P F) as (K' & vs' & KP' & S).
  assert (MP : 0 <= M) by (specialize (B zero); lra).
  exists (K + M * K'), (vs ++ vs'). split; [pose proof (Rmult_le_pos M K'); lra|].
  assert (D : forall a b, distance (vs ++ vs') a b = distance vs a b + distance vs' a b).
  { intros a b. clear. induction vs as [|j vs IH]; simpl; [lra|]. rewrite IH. lra. }
  assert (SYM : forall ws a b, distance ws a b = distance ws b a).
  { clear. intros ws a b. induction ws as [|j ws IH]; simpl; auto. rewrite IH, Rabs_minus_sym. auto. }
  set (phi := fun h x => g (upd h i x) * inside P (upd h i x)).
  assert (BP : forall h, bounded (phi h)).
  { intros h. apply (bounded_comp (fun k => g k * inside P k) (fun x => upd h i x)).
    apply bounded_cell. exists M; auto. }
  assert (ONE : forall a b, N (phi a) <= N (phi b) + (K + M * K') * distance (vs ++ vs') a b).
  { intros a b. pose proof (distance_pos vs a b) as DP. pose proof (distance_pos vs' a b) as DP'.
    assert (KD : 0 <= K * distance vs a b) by (apply Rmult_le_pos; auto).
    assert (BS : bounded (fun x => M * swept P a b x)) by (apply bounded_scal, bounded_swept; auto).
    assert (BC : bounded (fun _ : R => K * distance vs a b)) by (apply bounded_const; auto).
    assert (X : N (phi a) <= N (fun x => phi b x + (K * distance vs a b + M * swept P a b x))).
    { apply NL; auto; [apply bounded_plus; auto; apply (bounded_plus _ (fun x => M * swept P a b x)); auto|].
      intros x. unfold phi. pose proof (inside_swept P a b x F). pose proof (swept_pos P a b x).
      pose proof (B (upd a i x)). pose proof (B (upd b i x)).
      assert (Rabs (g (upd a i x) - g (upd b i x)) <= K * distance vs a b).
      { eapply Rle_trans; [apply G|]. apply Rmult_le_compat_l; auto. apply distance_upd. }
      pose proof (Rle_abs (g (upd a i x) - g (upd b i x))).
      destruct (inside_01 P (upd a i x)) as [E|E], (inside_01 P (upd b i x)) as [E'|E']; rewrite E, E' in *;
        assert (0 <= M * swept P a b x) by (apply Rmult_le_pos; auto); try lra.
      assert (M * 1 <= M * swept P a b x) by (apply Rmult_le_compat_l; lra). lra. }
    assert (Y : N (fun x => phi b x + (K * distance vs a b + M * swept P a b x)) <=
                N (phi b) + (K * distance vs a b + M * N (swept P a b))).
    { eapply Rle_trans; [apply (N_sub _ _ _ L); auto; apply (bounded_plus _ (fun x => M * swept P a b x)); auto|].
      apply Rplus_le_compat_l. eapply Rle_trans; [apply (N_sub _ _ _ L); auto|].
      rewrite (N_const _ _ _ L) by auto. rewrite (N_scal _ _ _ L) by (auto using bounded_swept). lra. }
    specialize (S a b). apply (Rmult_le_compat_l M) in S; auto. rewrite D.
    assert (0 <= K * distance vs' a b) by (apply Rmult_le_pos; auto).
    assert (0 <= M * K' * distance vs a b) by (repeat apply Rmult_le_pos; auto). lra. }
  intros a b. unfold integrate. fold (phi a) (phi b). pose proof (ONE a b). pose proof (ONE b a) as T.
  rewrite (SYM _ b a) in T. apply Rabs_le. split; lra.
Qed.

(** What is left of a cell is a cell. *)
Lemma integrate_cell g P h : bounded g ->
  integrate (fun k => g k * inside P k) h =
  integrate (fun k => g k * inside (moving P) k) h * inside (staying P) h.
Proof.
  intros B. unfold integrate. rewrite Rmult_comm. rewrite <- (N_scal _ _ _ L).
  - f_equal. apply functional_extensionality. intros x. rewrite inside_parts. lra.
  - destruct (inside_01 (staying P) h); lra.
  - apply (bounded_comp (fun k => g k * inside (moving P) k) (fun x => upd h i x)).
    apply bounded_cell; auto.
Qed.
Lemma regular_cell g P h : lipschitz g -> regular (fun x => g (upd h i x) * inside P (upd h i x)).
Proof.
  intros (K & vs & KP & G). induction P as [|c P IH].
  - apply (regular_lipschitz _ (K * INR (length vs))). intros x y. simpl. rewrite !Rmult_1_r.
    eapply Rle_trans; [apply G|]. rewrite Rmult_assoc.
    apply Rmult_le_compat_l; auto using distance_one.
  - destruct (regular_cut (affine_at (others (fst c)) h) (slope (snd (fst c))) _ IH) as [R1 R2].
    destruct c as [a []]; intros w W; [eapply int_ext, (R1 w W) | eapply int_ext, (R2 w W)];
      intros x; simpl; unfold holds; rewrite affine_upd; simpl; destruct Rle_dec; simpl; lra.
Qed.
Lemma regular_cells l h : (forall p, In p l -> proper p) -> regular (fun x => cells_at l (upd h i x)).
Proof.
  induction l as [|[g P] l IH]; intros H; simpl.
  - apply (regular_lipschitz _ 0). intros. rewrite Rminus_same, Rabs_R0. lra.
  - apply regular_plus; [|apply IH; intros; apply H; right; auto].
    apply regular_cell. apply (H (g, P)). left; auto.
Qed.
Lemma slice f h : bounded f -> bounded (fun x => f (upd h i x)).
Proof. apply (bounded_comp f (fun x => upd h i x)). Qed.
Lemma integrate_add f g h : piecewise f -> piecewise g ->
  integrate (fun k => f k + g k) h = integrate f h + integrate g h.
Proof.
  intros F G. unfold integrate. apply (N_add _ _ _ L); auto using slice, bounded_piecewise.
  - destruct F as (l & H & X). intros c C. eapply int_ext, (regular_cells l h H c C).
    intros; simpl; rewrite X; auto.
  - destruct G as (l & H & X). intros c C. eapply int_ext, (regular_cells l h H c C).
    intros; simpl; rewrite X; auto.
Qed.
Lemma integrate_piecewise f : piecewise f -> piecewise (integrate f).
Proof.
  intros (l & H & X). replace f with (cells_at l) by (symmetry; apply functional_extensionality; auto).
  clear f X. induction l as [|[g P] l IH].
  - unfold integrate, cells_at. rewrite (N_const _ _ _ L) by lra. apply piecewise_const; lra.
  - destruct (H (g, P) (or_introl eq_refl)) as [G B]. simpl in G, B.
    assert (H' : forall p, In p l -> proper p) by (intros; apply H; right; auto).
    assert (C : piecewise (fun h => g h * inside P h)).
    { exists [(g, P)]. split; [intros p [<-|[]]; split; auto | intros; simpl; lra]. }
    assert (T : piecewise (cells_at l)) by (exists l; split; auto).
    match goal with |- piecewise ?F => replace F with
      (fun h => integrate (fun k => g k * inside P k) h + integrate (cells_at l) h) end.
    2: { apply functional_extensionality. intros h. symmetry. exact (integrate_add _ _ h C T). }
    apply piecewise_plus; auto.
    exists [(integrate (fun k => g k * inside (moving P) k), staying P)]. split.
    + intros p [<-|[]]. split; simpl.
      * apply integrate_lipschitz; auto. intros c I. apply filter_In in I. destruct I as [_ I].
        apply negb_true_iff; auto.
      * destruct (bounded_cell g (moving P) B) as [M BM]. exists M. intros h. apply N_range. intros; apply BM.
    + intros h. simpl. rewrite (integrate_cell g P h B). lra.
Qed.
Lemma integrate_le f g h : bounded f -> bounded g -> (forall k, f k <= g k) ->
  integrate f h <= integrate g h.
Proof. intros F G I. apply NL; auto using slice. Qed.
Lemma integrate_scal c f h : 0 <= c -> bounded f -> integrate (fun k => c * f k) h = c * integrate f h.
Proof. intros C F. unfold integrate. apply (N_scal _ _ _ L c (fun x => f (upd h i x))); auto using slice. Qed.
Lemma integrate_bounded f M : (forall h, 0 <= f h <= M) -> forall h, 0 <= integrate f h <= M.
Proof. intros B h. apply N_range. intros; apply B. Qed.
End One.

(** ** All noises of a step *)
Section Joint.
Variables (u : R) (rate : nat -> Q) (ok : nat -> R -> Prop) (N : nat -> (R -> R) -> R).
Hypothesis L : forall i, continuous_noise (u * Q2R (rate i)) (ok i) (N i).

Fixpoint iterated (ns : list nat) (f : vec -> R) : vec -> R :=
  match ns with [] => f | i :: ns => integrate (N i) i (iterated ns f) end.
(** The upper integral. *)
Definition above (ns : list nat) (f : vec -> R) (J : R) :=
  exists w, piecewise w /\ (forall h, f h <= w h) /\ J = iterated ns w zero.
Definition joint (ns : list nat) (f : vec -> R) : R := real (Glb_Rbar (above ns f)).

Lemma iterated_range ns f M : (forall h, 0 <= f h <= M) -> forall h, 0 <= iterated ns f h <= M.
Proof.
  intros B. induction ns as [|i ns IH]; simpl; auto.
  apply (integrate_bounded _ _ _ i (L i)); auto.
Qed.
Lemma iterated_bounded ns f : bounded f -> bounded (iterated ns f).
Proof. intros [M B]. exists M. apply iterated_range; auto. Qed.
Lemma iterated_piecewise ns f : piecewise f -> piecewise (iterated ns f).
Proof. intros F. induction ns; simpl; auto. eapply integrate_piecewise; eauto. Qed.
Lemma iterated_le ns f g : bounded f -> bounded g -> (forall h, f h <= g h) ->
  forall h, iterated ns f h <= iterated ns g h.
Proof.
  intros F G I. induction ns as [|i ns IH]; simpl; auto. intros h.
  apply (integrate_le _ _ _ i (L i)); auto using iterated_bounded.
Qed.
Lemma iterated_add ns f g : piecewise f -> piecewise g ->
  forall h, iterated ns (fun k => f k + g k) h = iterated ns f h + iterated ns g h.
Proof.
  intros F G. induction ns as [|i ns IH]; simpl; auto. intros h.
  rewrite <- (integrate_add _ _ _ i (L i)) by auto using iterated_piecewise.
  f_equal. apply functional_extensionality; auto.
Qed.
Lemma iterated_scal ns c f : 0 <= c -> bounded f ->
  forall h, iterated ns (fun k => c * f k) h = c * iterated ns f h.
Proof.
  intros C F. induction ns as [|i ns IH]; simpl; auto. intros h.
  rewrite <- (integrate_scal _ _ _ i (L i)) by auto using iterated_bounded.
  f_equal. apply functional_extensionality; auto.
Qed.
Lemma iterated_const ns c : 0 <= c -> forall h, iterated ns (fun _ => c) h = c.
Proof.
  intros C. induction ns as [|i ns IH]; simpl; auto. intros h. unfold integrate.
  transitivity (N i (fun _ => c)); [|apply (N_const _ _ _ (L i)); auto].
  f_equal. apply functional_extensionality; auto.
Qed.
Definition shiftable (s : vec) := forall i, ok i (s i).
Lemma iterated_shift ns s w : shiftable s -> bounded w -> forall h,
  iterated ns (fun k => w (plus k s)) h <= exp (u * cost rate ns s) * iterated ns w (plus h s).
Proof.
  intros S W. induction ns as [|i ns IH]; intros h; simpl.
  - rewrite Rmult_0_r, exp_0. lra.
  - set (k := exp (u * cost rate ns s)).
    assert (KP : 0 <= k) by apply exp_nonneg.
    assert (WS : bounded (fun k => w (plus k s))) by (apply (bounded_comp w (fun k => plus k s)); auto).
    unfold integrate. eapply Rle_trans.
    + apply (N_le _ _ _ (L i)) with
        (g := fun x => k * iterated ns w (plus (upd h i x) s)).
      * apply (slice i); auto using iterated_bounded.
      * apply bounded_scal; auto.
        apply (bounded_comp (iterated ns w) (fun x => plus (upd h i x) s)); auto using iterated_bounded.
      * intros x. apply IH.
    + rewrite (N_scal _ _ _ (L i) k (fun x => iterated ns w (plus (upd h i x) s))); auto.
      2: apply (bounded_comp (iterated ns w) (fun x => plus (upd h i x) s)); auto using iterated_bounded.
      rewrite Rmult_plus_distr_l, exp_plus, Rmult_comm, (Rmult_comm (exp _) (exp (u * cost rate ns s))).
      fold k. rewrite (Rmult_assoc k), (Rmult_comm k). apply Rmult_le_compat_r; auto.
      eapply Rle_trans; [apply (N_shift _ _ _ (L i) (s i))|].
      * apply S.
      * apply (bounded_comp (iterated ns w) (fun x => plus (upd h i x) s)); auto using iterated_bounded.
      * rewrite <- Rmult_assoc. right. do 2 f_equal. apply functional_extensionality. intros x. f_equal.
        apply vec_ext. intros j. unfold plus, upd. destruct (Nat.eqb_spec j i) as [->|]; auto. lra.
Qed.
(** What is drawn does not depend on what was there. *)
Lemma iterated_fresh ns w h h' : (forall i, ~ In i ns -> h i = h' i) ->
  iterated ns w h = iterated ns w h'.
Proof.
  revert h h'. induction ns as [|i ns IH]; intros h h' X; simpl.
  - f_equal. apply vec_ext. intros; apply X; auto.
  - unfold integrate. f_equal. apply functional_extensionality. intros x. apply IH.
    intros j J. unfold upd. destruct (Nat.eqb_spec j i); auto. apply X. simpl. intros [K|K]; auto.
Qed.

Lemma above_bounded ns f M : (forall h, 0 <= f h <= M) -> above ns f M.
Proof.
  intros B. assert (0 <= M) by (specialize (B zero); lra). exists (fun _ => M). split; [|split].
  - apply piecewise_const; auto.
  - intros; apply B.
  - rewrite iterated_const; auto.
Qed.
Lemma joint_spec ns f : bounded f -> (forall J, above ns f J -> joint ns f <= J) /\
  (forall m, (forall J, above ns f J -> m <= J) -> m <= joint ns f).
Proof.
  intros [M B]. pose proof (above_bounded ns f M B) as A.
  pose proof (Glb_Rbar_correct (above ns f)) as [G1 G2]. unfold joint.
  assert (F : is_finite (Glb_Rbar (above ns f))).
  { assert (Z : Rbar_le 0 (Glb_Rbar (above ns f))).
    { apply G2. intros J (w & W & I & ->). simpl.
      destruct (bounded_piecewise w W) as [K BW]. apply (iterated_range ns w K BW). }
    specialize (G1 _ A). destruct (Glb_Rbar (above ns f)); simpl in *; try contradiction. reflexivity. }
  split.
  - intros J X. specialize (G1 J X). rewrite <- F in G1. exact G1.
  - intros m X. assert (Z : Rbar_le m (Glb_Rbar (above ns f))) by (apply G2; intros J Y; apply X; auto).
    rewrite <- F in Z. exact Z.
Qed.
Lemma joint_le ns f g : bounded f -> bounded g -> (forall h, f h <= g h) -> joint ns f <= joint ns g.
Proof.
  intros F G I. apply (joint_spec ns g G). intros J (w & W & A & ->). apply (joint_spec ns f F).
  exists w. repeat split; auto. intros h. apply Rle_trans with (g h); auto.
Qed.
(** On piecewise Lipschitz functions it is the iterated integral itself. *)
Theorem joint_exact ns f : piecewise f -> joint ns f = iterated ns f zero.
Proof.
  intros P. pose proof (bounded_piecewise f P) as F. apply Rle_antisym.
  - apply (joint_spec ns f F). exists f. repeat split; auto. intros; lra.
  - apply (joint_spec ns f F). intros J (w & W & A & ->). apply iterated_le; auto using bounded_piecewise.
Qed.
Lemma joint_scal_le ns c f : 0 < c -> bounded f -> joint ns (fun h => c * f h) <= c * joint ns f.
Proof.
  intros C F. apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; auto|].
  rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra. apply (joint_spec ns f F). intros J (w & W & A & ->).
  apply Rmult_le_reg_l with c; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
  apply (joint_spec ns (fun h => c * f h)); [apply bounded_scal; auto; lra|].
  exists (fun h => c * w h). split; [apply piecewise_scal; auto; lra|]. split.
  - intros h. apply Rmult_le_compat_l; auto; lra.
  - rewrite iterated_scal; auto using bounded_piecewise; lra.
Qed.
Lemma joint_const ns c : 0 <= c -> joint ns (fun _ => c) = c.
Proof. intros C. rewrite joint_exact by (apply piecewise_const; auto). apply iterated_const; auto. Qed.
Lemma joint_scal ns c f : 0 <= c -> bounded f -> joint ns (fun h => c * f h) = c * joint ns f.
Proof.
  intros [C | <-] F.
  - apply Rle_antisym; [apply joint_scal_le; auto|].
    assert (CF : bounded (fun h => c * f h)) by (apply bounded_scal; auto; lra).
    pose proof (joint_scal_le ns (/ c) _ (Rinv_0_lt_compat c C) CF) as X. cbv beta in X.
    replace (fun h => / c * (c * f h)) with f in X by (apply functional_extensionality; intros; field; lra).
    apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; auto|].
    replace (/ c * (c * joint ns f)) with (joint ns f) by (field; lra). exact X.
  - rewrite Rmult_0_l. transitivity (joint ns (fun _ => 0)); [|apply joint_const; lra].
    f_equal. apply functional_extensionality. intros; lra.
Qed.
Lemma joint_split ns a f : bounded f ->
  joint ns f = joint ns (fun h => if Rle_dec 0 (affine_at a h) then f h else 0) +
               joint ns (fun h => if Rle_dec 0 (affine_at a h) then 0 else f h).
Proof.
  intros F. destruct (bounded_if f (affine_at a) F) as [B1 B2].
  set (f1 := fun h => if Rle_dec 0 (affine_at a h) then f h else 0) in *.
  set (f2 := fun h => if Rle_dec 0 (affine_at a h) then 0 else f h) in *. apply Rle_antisym.
  - assert (X : joint ns f - joint ns f2 <= joint ns f1); [|lra].
    apply (joint_spec ns f1 B1). intros J1 (w1 & W1 & A1 & ->).
    assert (X : joint ns f - iterated ns w1 zero <= joint ns f2); [|lra].
    apply (joint_spec ns f2 B2). intros J2 (w2 & W2 & A2 & ->).
    assert (X : joint ns f <= iterated ns w1 zero + iterated ns w2 zero); [|lra].
    rewrite <- iterated_add by auto. apply (joint_spec ns f F). exists (fun h => w1 h + w2 h).
    split; [apply piecewise_plus; auto|]. split; auto.
    intros h. specialize (A1 h). specialize (A2 h). unfold f1, f2 in *. destruct Rle_dec; lra.
  - apply (joint_spec ns f F). intros J (w & W & A & ->). destruct (piecewise_cut w a W) as [C1 C2].
    set (w1 := fun h => if Rle_dec 0 (affine_at a h) then w h else 0) in *.
    set (w2 := fun h => if Rle_dec 0 (affine_at a h) then 0 else w h) in *.
    replace w with (fun h => w1 h + w2 h)
      by (apply functional_extensionality; intros h; unfold w1, w2; destruct Rle_dec; lra).
    rewrite iterated_add by auto. apply Rplus_le_compat;
      [apply (joint_spec ns f1 B1); exists w1 | apply (joint_spec ns f2 B2); exists w2]; repeat split; auto;
      intros h; specialize (A h); unfold f1, f2, w1, w2; destruct Rle_dec; lra.
Qed.
Lemma piecewise_translate s w : piecewise w -> piecewise (fun h => w (plus h s)).
Proof.
  intros (l & H & X).
  exists (map (fun p : cell => (fun h => fst p (plus h s),
    map (fun c : condition => ((fst (fst c) + terms_at (snd (fst c)) s, snd (fst c)), snd c)) (snd p))) l).
  split.
  - intros p I. apply in_map_iff in I. destruct I as (q & <- & I).
    destruct (H q I) as [(K & vs & KP & G) B]. split; simpl.
    + exists K, vs. split; auto. intros a b. eapply Rle_trans; [apply G|].
      apply Rmult_le_compat_l; auto. right. clear. induction vs as [|j vs IH]; simpl; auto.
      rewrite IH. do 2 f_equal. unfold plus. lra.
    + apply (bounded_comp _ (fun h => plus h s)); auto.
  - intros h. rewrite X. clear X H. induction l as [|[g P] l IH]; simpl; auto. rewrite <- IH. do 2 f_equal.
    induction P as [|[a b] P IHP]; simpl; auto. rewrite <- IHP.
    assert (E : affine_at (fst a + terms_at (snd a) s, snd a) h = affine_at a (plus h s)).
    { unfold affine_at; simpl. clear. induction (snd a) as [|[j c] t IH]; simpl; [lra|].
      unfold plus at 1. lra. }
    unfold holds; simpl. rewrite E. reflexivity.
Qed.
Lemma joint_shift ns s f : shiftable s -> (forall i, ~ In i ns -> s i = 0) -> bounded f ->
  joint ns f <= exp (u * cost rate ns s) * joint ns (fun h => f (minus h s)).
Proof.
  intros S Z F. set (k := exp (u * cost rate ns s)). assert (KP : 0 < k) by apply exp_pos.
  assert (FS : bounded (fun h => f (minus h s))) by (apply (bounded_comp f (fun h => minus h s)); auto).
  apply Rmult_le_reg_l with (/ k); [apply Rinv_0_lt_compat; auto|].
  rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
  apply (joint_spec ns _ FS). intros J (w & W & A & ->).
  apply Rmult_le_reg_l with k; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
  apply Rle_trans with (iterated ns (fun h => w (plus h s)) zero).
  - apply (joint_spec ns f F). exists (fun h => w (plus h s)).
    split; [apply piecewise_translate; auto|]. split; auto. intros h.
    replace (f h) with (f (minus (plus h s) s)); [apply A|]. f_equal.
    apply vec_ext. intros i. unfold minus, plus. lra.
  - eapply Rle_trans; [apply iterated_shift; auto using bounded_piecewise|]. fold k.
    right. f_equal. apply iterated_fresh. intros i I. unfold plus, zero. rewrite Z; auto. lra.
Qed.
(** A hyperplane that a noise has a part in has no mass. *)
Lemma iterated_0 ns h : iterated ns (fun _ => 0) h = 0.
Proof. apply iterated_const; lra. Qed.

Theorem joint_laws : laws u rate shiftable joint.
Proof.
  split.
  - intros; apply joint_const; auto.
  - intros; apply joint_le; auto.
  - intros; apply joint_scal; auto.
  - intros ns g f (a & A) F. rewrite (joint_split ns a f F).
    f_equal; f_equal; apply functional_extensionality; intros h; rewrite A; auto.
  - intros; apply joint_shift; auto.
Qed.
End Joint.
