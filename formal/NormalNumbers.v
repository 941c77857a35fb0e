(** * Numbers with a guarantee: exp, and the area below the bell

    Bounds by rational numbers that are rounded outwards, so that they are computed: partial sums of
    the series with terms of one sign. *)
From Coq Require Import Reals Lra Lia List ZArith QArith Qreals Bool.
From Coquelicot Require Import Coquelicot.
From DP Require Import Noise Joint UpperIntegral ContinuousNoise GaussianCurve NoiseTable LoopChecker Program.
Open Scope R_scope.

(** ** Whole multiples of 2^-192, and rounding to them *)
Definition bits : positive := 192.
Definition units (a : Z) : Q := a # Pos.pow 2 bits.
Definition floor (q : Q) : Z := (Z.shiftl (Qnum q) (Zpos bits) / Zpos (Qden q))%Z.
Definition ceiling (q : Q) : Z := (- floor (- q))%Z.
Definition down (q : Q) : Q := units (floor q).
Definition up (q : Q) : Q := units (ceiling q).
Definition mul_down (a b : Z) : Z := Z.shiftr (a * b) (Zpos bits).
Definition mul_up (a b : Z) : Z := (- Z.shiftr (- (a * b)) (Zpos bits))%Z.
Definition over_down (a : Z) (n : nat) : Z := (a / Z.of_nat n)%Z.
Definition over_up (a : Z) (n : nat) : Z := (- (- a / Z.of_nat n))%Z.
Definition val (a : Z) : R := Q2R (units a).

Definition scale : R := IZR (2 ^ Zpos bits).
Lemma scale_pos : 0 < scale. Proof. apply IZR_lt. reflexivity. Qed.
Lemma val_scale a : val a = IZR a / scale.
Proof. unfold val, units, Q2R, scale; cbn [Qnum Qden]. rewrite Pos2Z.inj_pow. reflexivity. Qed.
Lemma val_plus a b : val (a + b) = val a + val b.
Proof. rewrite !val_scale, plus_IZR. pose proof scale_pos. field. lra. Qed.
Lemma val_opp a : val (- a) = - val a.
Proof. rewrite !val_scale, opp_IZR. pose proof scale_pos. field. lra. Qed.
Lemma val_le a b : (a <= b)%Z -> val a <= val b.
Proof.
  intros L. rewrite !val_scale. pose proof scale_pos. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | apply IZR_le; auto].
Qed.
Lemma val_nonneg a : (0 <= a)%Z -> 0 <= val a.
Proof. intros L. apply val_le in L. rewrite (val_scale 0) in L. unfold Rdiv in L. rewrite Rmult_0_l in L. auto. Qed.
Lemma val_nonneg_inv a : 0 <= val a -> (0 <= a)%Z.
Proof.
  intros L. rewrite val_scale in L. pose proof scale_pos. apply le_IZR. apply Rmult_le_reg_r with (/ scale); [apply Rinv_0_lt_compat; auto|].
  unfold Rdiv in L. lra.
Qed.
Lemma floor_le q : val (floor q) <= Q2R q.
Proof.
  unfold val. apply Qle_Rle. unfold units, floor, Qle; cbn [Qnum Qden]. rewrite Z.shiftl_mul_pow2, Pos2Z.inj_pow by lia.
  pose proof (Z.mul_div_le (Qnum q * 2 ^ Zpos bits) (Zpos (Qden q)) ltac:(lia)). lia.
Qed.
Lemma floor_nonneg q : 0 <= Q2R q -> (0 <= floor q)%Z.
Proof.
  intros P. rewrite <- Q2R_0 in P. apply Rle_Qle in P. unfold floor, Qle in *; cbn [Qnum Qden] in *.
  rewrite Z.shiftl_mul_pow2 by lia. apply Z.div_pos; [|lia]. apply Z.mul_nonneg_nonneg; [|lia]. change (Qnum 0) with 0%Z in P. lia.
Qed.
Lemma ceiling_ge q : Q2R q <= val (ceiling q).
Proof. unfold ceiling. rewrite val_opp. pose proof (floor_le (- q)). rewrite Q2R_opp in H. lra. Qed.
Lemma down_le q : Q2R (down q) <= Q2R q. Proof. apply floor_le. Qed.
Lemma up_ge q : Q2R q <= Q2R (up q). Proof. apply ceiling_ge. Qed.
Lemma down_nonneg q : 0 <= Q2R q -> 0 <= Q2R (down q).
Proof. intros P. apply val_nonneg, floor_nonneg; auto. Qed.
Lemma mul_down_le a b : val (mul_down a b) <= val a * val b.
Proof.
  unfold mul_down. rewrite Z.shiftr_div_pow2 by lia. rewrite !val_scale. pose proof scale_pos as S.
  apply Rmult_le_reg_r with (scale * scale); [apply Rmult_lt_0_compat; auto|].
  replace (IZR a / scale * (IZR b / scale) * (scale * scale)) with (IZR (a * b)) by (rewrite mult_IZR; field; lra).
  replace (IZR (a * b / 2 ^ Zpos bits) / scale * (scale * scale)) with (IZR (2 ^ Zpos bits * (a * b / 2 ^ Zpos bits))) by (rewrite mult_IZR; fold scale; field; lra).
  apply IZR_le, Z.mul_div_le. reflexivity.
Qed.
Lemma mul_up_ge a b : val a * val b <= val (mul_up a b).
Proof.
  unfold mul_up. rewrite val_opp, <- Z.mul_opp_l. pose proof (mul_down_le (- a) b). unfold mul_down in H. rewrite val_opp in H. lra.
Qed.
Lemma mul_down_nonneg a b : (0 <= a)%Z -> (0 <= b)%Z -> (0 <= mul_down a b)%Z.
Proof. intros A B. unfold mul_down. apply Z.shiftr_nonneg. lia. Qed.
Lemma over_down_le a n : (0 < n)%nat -> val (over_down a n) <= val a / INR n.
Proof.
  intros N. assert (NP : 0 < INR n) by (apply lt_0_INR; auto). unfold over_down. rewrite !val_scale. pose proof scale_pos as S.
  apply Rmult_le_reg_r with (scale * INR n); [apply Rmult_lt_0_compat; auto|].
  replace (IZR a / scale / INR n * (scale * INR n)) with (IZR a) by (field; lra).
  replace (IZR (a / Z.of_nat n) / scale * (scale * INR n)) with (IZR (Z.of_nat n * (a / Z.of_nat n))) by (rewrite mult_IZR, <- INR_IZR_INZ; field; lra).
  apply IZR_le, Z.mul_div_le. lia.
Qed.
Lemma over_up_ge a n : (0 < n)%nat -> val a / INR n <= val (over_up a n).
Proof.
  intros N. unfold over_up. rewrite val_opp. pose proof (over_down_le (- a) n N). unfold over_down in H. rewrite val_opp in H.
  unfold Rdiv in *. lra.
Qed.
Lemma over_down_nonneg a n : (0 < n)%nat -> (0 <= a)%Z -> (0 <= over_down a n)%Z.
Proof. intros N A. unfold over_down. apply Z.div_pos; lia. Qed.
Definition one : Z := (2 ^ Zpos bits)%Z.
Lemma val_one : val one = 1.
Proof. rewrite val_scale. unfold one. fold scale. pose proof scale_pos. field. lra. Qed.

(** ** Functions that start at 0 *)
Lemma grows_from f df x : 0 <= x -> (forall y, is_derive f y (df y)) -> (forall y, 0 <= y <= x -> 0 <= df y) -> f 0 <= f x.
Proof.
  intros X D P. destruct (MVT_gen f 0 x df) as (c & C & E).
  - intros; apply D.
  - intros y _. apply continuity_pt_filterlim, (ex_derive_continuous f). exists (df y). apply D.
  - rewrite Rmin_left, Rmax_right in C by auto. pose proof (Rmult_le_pos _ _ (P c C) (Rle_trans _ _ _ X (Req_le _ _ (eq_sym (Rminus_0_r x))))). lra.
Qed.

(** ** The exponential *)
Fixpoint power_term (n : nat) (x : R) : R := match n with O => 1 | S m => power_term m x * x / INR n end.
Fixpoint power_sum (n : nat) (x : R) : R := match n with O => 1 | S m => power_sum m x + power_term n x end.
Lemma INR_S_pos n : 0 < INR (S n). Proof. apply lt_0_INR. lia. Qed.
Lemma power_term_nonneg n x : 0 <= x -> 0 <= power_term n x.
Proof.
  intros X. induction n as [|n IH]; [simpl; lra|]. cbn [power_term]. pose proof (INR_S_pos n).
  apply Rmult_le_pos; [apply Rmult_le_pos; auto | left; apply Rinv_0_lt_compat; auto].
Qed.
Lemma power_term_derive n x : is_derive (power_term (S n)) x (power_term n x).
Proof.
  revert x. induction n as [|n IH]; intros x.
  - assert (E : forall t : R, t = power_term 1 t) by (intros; cbn; field).
    apply (is_derive_ext (fun y => y)); [exact E | cbn; apply (is_derive_id (K := R_AbsRing))].
  - pose proof (INR_S_pos (S n)) as P. pose proof (INR_S_pos n) as P'.
    pose proof (is_derive_mult (power_term (S n)) (fun y => y) x _ _ (IH x) (is_derive_id x) Rmult_comm) as D.
    pose proof (is_derive_scal (fun y => power_term (S n) y * y) x (/ INR (S (S n))) _ D) as D2.
    assert (E : forall t : R, / INR (S (S n)) * (power_term (S n) t * t) = power_term (S (S n)) t)
      by (intros t; change (power_term (S (S n)) t) with (power_term (S n) t * t / INR (S (S n))); unfold Rdiv; apply Rmult_comm).
    apply (is_derive_ext (fun y => / INR (S (S n)) * (power_term (S n) y * y))).
    + exact E.
    + match type of D2 with is_derive _ _ ?d => replace (power_term (S n) x) with d; [exact D2|] end.
      change (/ INR (S (S n)) * (power_term n x * x + power_term (S n) x * 1) = power_term (S n) x).
      change (power_term (S n) x) with (power_term n x * x / INR (S n)). rewrite (S_INR (S n)). rewrite S_INR in *. field. split; lra.
Qed.
Lemma power_sum_derive n x : is_derive (power_sum (S n)) x (power_sum n x).
Proof.
  revert x. induction n as [|n IH]; intros x.
  - assert (E : forall t : R, 1 + t = power_sum 1 t) by (intros; cbn; field).
    apply (is_derive_ext (fun y => 1 + y)); [exact E | cbn; auto_derive; auto].
  - apply (is_derive_plus (power_sum (S n)) (power_term (S (S n))) x); [apply IH | apply power_term_derive].
Qed.
Lemma power_sum_0 n : power_sum n 0 = 1.
Proof. induction n as [|n IH]; [auto|]. cbn [power_sum]. rewrite IH. cbn [power_term]. unfold Rdiv. ring. Qed.
Lemma power_term_0 n : power_term (S n) 0 = 0.
Proof. cbn [power_term]. unfold Rdiv. ring. Qed.
Lemma exp_derive y : is_derive exp y (exp y). Proof. auto_derive; auto. ring. Qed.
Lemma exp_above n x : 0 <= x -> power_sum n x <= exp x.
Proof.
  revert x. induction n as [|n IH]; intros x X; [simpl; rewrite <- exp_0; apply exp_le; auto|].
  pose proof (grows_from (fun y => exp y - power_sum (S n) y) (fun y => exp y - power_sum n y) x X) as G. cbv beta in G.
  rewrite exp_0, power_sum_0 in G. enough (1 - 1 <= exp x - power_sum (S n) x) by lra. apply G.
  - intros y. apply (is_derive_minus exp (power_sum (S n)) y); [apply exp_derive | apply power_sum_derive].
  - intros y Y. specialize (IH y). lra.
Qed.
Lemma exp_below n x : 0 <= x <= 1 -> exp x <= power_sum n x + 3 * power_term (S n) x.
Proof.
  revert x. induction n as [|n IH]; intros x X.
  - pose proof (grows_from (fun y => 1 + 3 * y - exp y) (fun y => 3 - exp y) x ltac:(lra)) as G. cbv beta in G. rewrite exp_0 in G.
    enough (1 + 3 * 0 - 1 <= 1 + 3 * x - exp x) by (simpl; unfold Rdiv; lra). apply G.
    + intros y. auto_derive; auto. ring.
    + intros y Y. pose proof exp_le_3. assert (exp y <= exp 1) by (apply exp_le; lra). lra.
  - pose proof (grows_from (fun y => power_sum (S n) y + 3 * power_term (S (S n)) y - exp y)
      (fun y => power_sum n y + 3 * power_term (S n) y - exp y) x ltac:(lra)) as G. cbv beta in G.
    rewrite exp_0, power_sum_0, power_term_0 in G. enough (1 + 3 * 0 - 1 <= power_sum (S n) x + 3 * power_term (S (S n)) x - exp x) by lra. apply G.
    + intros y. apply (is_derive_minus (fun y => power_sum (S n) y + 3 * power_term (S (S n)) y) exp y); [|apply exp_derive].
      apply (is_derive_plus (power_sum (S n)) (fun y => 3 * power_term (S (S n)) y) y); [apply power_sum_derive|].
      apply (is_derive_scal (power_term (S (S n))) y 3), power_term_derive.
    + intros y Y. specialize (IH y ltac:(lra)). lra.
Qed.

Section Rounded.
Variables (mul : Z -> Z -> Z) (over : Z -> nat -> Z).
(** The last term and the sum, term by term. *)
Fixpoint series (n : nat) (x : Z) : Z * Z :=
  match n with
  | O => (one, one)
  | S m => let '(term, sum) := series m x in let next := over (mul term x) n in (next, sum + next)%Z
  end.
Fixpoint squared (j : nat) (q : Z) : Z := match j with O => q | S j => let p := squared j q in mul p p end.
Fixpoint odds (n : nat) (x square : Z) : Z * Z :=
  match n with
  | O => (x, x)
  | S m => let '(term, sum) := odds m x square in let next := over (mul term square) (2 * n + 1) in (next, sum + next)%Z
  end.
End Rounded.
Lemma Q2R_pos_nonzero q : 0 < Q2R q -> ~ (q == 0)%Q.
Proof. intros P E. apply Qeq_eqR in E. rewrite Q2R_0 in E. lra. Qed.
(** One more term, rounded. *)
Lemma next_down term x n t y : (0 < n)%nat -> (0 <= term)%Z -> (0 <= x)%Z -> val term <= t -> val x <= y ->
  (0 <= over_down (mul_down term x) n)%Z /\ val (over_down (mul_down term x) n) <= t * y / INR n.
Proof.
  intros N T X TT XX. split; [apply over_down_nonneg; auto; apply mul_down_nonneg; auto|].
  eapply Rle_trans; [apply over_down_le; auto|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, lt_0_INR; auto|].
  eapply Rle_trans; [apply mul_down_le|]. apply Rmult_le_compat; auto using val_nonneg.
Qed.
Lemma next_up term x n t y : (0 < n)%nat -> 0 <= t -> 0 <= y -> t <= val term -> y <= val x ->
  t * y / INR n <= val (over_up (mul_up term x) n).
Proof.
  intros N T Y TT XX. eapply Rle_trans; [|apply over_up_ge; auto]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, lt_0_INR; auto|].
  eapply Rle_trans; [|apply mul_up_ge]. apply Rmult_le_compat; auto.
Qed.
Lemma series_down n x y : (0 <= x)%Z -> val x <= y -> let '(term, sum) := series mul_down over_down n x in
  (0 <= term)%Z /\ val term <= power_term n y /\ (0 <= sum)%Z /\ val sum <= power_sum n y.
Proof.
  intros X Y. induction n as [|n IH]; cbn [series].
  - cbn [power_term power_sum]. rewrite val_one. repeat split; try lra; unfold one; lia.
  - destruct (series mul_down over_down n x) as [term sum]. destruct IH as (T0 & T1 & S0 & S1).
    destruct (next_down term x (S n) _ _ ltac:(lia) T0 X T1 Y) as [N0 N1].
    repeat split; auto; [lia|]. rewrite val_plus. cbn [power_sum power_term] in *. lra.
Qed.
Lemma series_up n x y : 0 <= y -> y <= val x -> let '(term, sum) := series mul_up over_up n x in
  power_term n y <= val term /\ power_sum n y <= val sum.
Proof.
  intros Y X. induction n as [|n IH]; cbn [series].
  - cbn [power_term power_sum]. rewrite val_one. lra.
  - destruct (series mul_up over_up n x) as [term sum]. destruct IH as [T1 S1].
    pose proof (next_up term x (S n) _ _ ltac:(lia) (power_term_nonneg n y Y) Y T1 X) as N.
    split; [exact N|]. rewrite val_plus. cbn [power_sum power_term] in *. lra.
Qed.
(** exp x for x >= 0: x / 2^j is small, and its exponential is squared j times. *)
Definition terms : nat := 32.
Definition halvings (x : Q) : nat := Z.to_nat (3 + Z.log2_up (1 + Z.abs (Qnum x) / Zpos (Qden x) + 1)).
Definition part (x : Q) : Q := (x / inject_Z (2 ^ Z.of_nat (halvings x)))%Q.
Definition exp_low (x : Q) : Q := units (squared mul_down (halvings x) (snd (series mul_down over_down terms (floor (part x))))).
Definition exp_high (x : Q) : Q :=
  let '(term, sum) := series mul_up over_up (S terms) (ceiling (part x)) in
  units (squared mul_up (halvings x) (sum + 2 * term)).
Definition small (x : Q) : bool := Qle_bool 0 x && (ceiling (part x) <=? one)%Z.

Lemma part_ok x : Q2R x = 2 ^ halvings x * Q2R (part x).
Proof.
  unfold part. generalize (halvings x) as j. intros j.
  assert (E : Q2R (inject_Z (2 ^ Z.of_nat j)) = 2 ^ j).
  { unfold Q2R, inject_Z; simpl. rewrite Rinv_1, Rmult_1_r. rewrite <- pow_IZR. reflexivity. }
  assert (P : 0 < 2 ^ j) by (apply pow_lt; lra).
  rewrite Q2R_div, E by (apply Q2R_pos_nonzero; rewrite E; auto). field. lra.
Qed.
Lemma exp_pow2 j y : exp (2 ^ S j * y) = exp (2 ^ j * y) * exp (2 ^ j * y).
Proof. rewrite <- exp_plus. f_equal. simpl. ring. Qed.
Lemma squared_down j q y : (0 <= q)%Z -> val q <= exp y -> (0 <= squared mul_down j q)%Z /\ val (squared mul_down j q) <= exp (2 ^ j * y).
Proof.
  intros P Q. induction j as [|j [I0 I1]]; cbn [squared]; [simpl; rewrite Rmult_1_l; auto|].
  rewrite exp_pow2. set (p := squared mul_down j q) in *. pose proof (val_nonneg p I0).
  split; [apply mul_down_nonneg; auto|]. eapply Rle_trans; [apply mul_down_le|]. apply Rmult_le_compat; lra.
Qed.
Lemma squared_up j q y : exp y <= val q -> exp (2 ^ j * y) <= val (squared mul_up j q).
Proof.
  intros Q. induction j as [|j IH]; cbn [squared]; [simpl; rewrite Rmult_1_l; auto|].
  rewrite exp_pow2. set (p := squared mul_up j q) in *.
  eapply Rle_trans; [|apply mul_up_ge]. pose proof (exp_pos (2 ^ j * y)). apply Rmult_le_compat; lra.
Qed.
Lemma part_nonneg x : 0 <= Q2R x -> 0 <= Q2R (part x).
Proof. intros X. rewrite part_ok in X. assert (0 < 2 ^ halvings x) by (apply pow_lt; lra). apply Rmult_le_reg_l with (2 ^ halvings x); auto. lra. Qed.
Theorem exp_low_ok x : 0 <= Q2R x -> 0 <= Q2R (exp_low x) <= exp (Q2R x).
Proof.
  intros X. rewrite (part_ok x). unfold exp_low. pose proof (part_nonneg x X) as P.
  pose proof (series_down terms (floor (part x)) (Q2R (part x)) (floor_nonneg _ P) (floor_le _)) as SS.
  destruct (series mul_down over_down terms (floor (part x))) as [term sum]. destruct SS as (_ & _ & S0 & S1). cbn [snd].
  destruct (squared_down (halvings x) sum (Q2R (part x)) S0) as [A B]; [|split; [apply val_nonneg; exact A | exact B]].
  eapply Rle_trans; [exact S1|]. apply exp_above; auto.
Qed.
Theorem exp_high_ok x : small x = true -> exp (Q2R x) <= Q2R (exp_high x).
Proof.
  unfold small. rewrite andb_true_iff, Z.leb_le. intros [X Y]. apply qle_ok in X. rewrite Q2R_0 in X. apply val_le in Y. rewrite val_one in Y.
  rewrite (part_ok x). unfold exp_high. pose proof (part_nonneg x X) as P. pose proof (ceiling_ge (part x)) as U.
  pose proof (series_up (S terms) (ceiling (part x)) (Q2R (part x)) P U) as SS.
  destruct (series mul_up over_up (S terms) (ceiling (part x))) as [term sum]. destruct SS as [T1 S1].
  apply squared_up. replace (sum + 2 * term)%Z with (sum + (term + term))%Z by lia. rewrite !val_plus.
  eapply Rle_trans; [apply (exp_below terms); lra|]. cbn [power_sum] in S1. lra.
Qed.

(** ** The area below the bell: bell x (x + x^3 / 3 + x^5 / 15 + ...) *)
Fixpoint odd_term (n : nat) (x : R) : R := match n with O => x | S m => odd_term m x * (x * x) / INR (2 * n + 1) end.
Fixpoint odd_sum (n : nat) (x : R) : R := match n with O => x | S m => odd_sum m x + odd_term n x end.
Lemma odd_INR n : INR (2 * n + 1) = 2 * INR n + 1.
Proof. rewrite plus_INR, mult_INR. simpl. lra. Qed.
Lemma odd_pos n : 0 < INR (2 * n + 1). Proof. apply lt_0_INR. lia. Qed.
Lemma odd_term_nonneg n x : 0 <= x -> 0 <= odd_term n x.
Proof.
  intros X. induction n as [|n IH]; cbn [odd_term]; auto. pose proof (odd_pos (S n)).
  apply Rmult_le_pos; [apply Rmult_le_pos; auto; apply Rmult_le_pos; auto | left; apply Rinv_0_lt_compat; auto].
Qed.
Lemma odd_term_power n : exists c, forall x, odd_term n x = c * x ^ (2 * n + 1).
Proof.
  induction n as [|n [c IH]]; [exists 1; intros; simpl; ring|]. exists (c / INR (2 * S n + 1)). intros x. cbn [odd_term]. rewrite IH.
  pose proof (odd_pos (S n)). set (d := INR (2 * S n + 1)) in *. replace (2 * S n + 1)%nat with (S (S (2 * n + 1))) by lia. simpl pow. field. lra.
Qed.
Lemma monomial_derive c k x : is_derive (fun y => c * y ^ S k) x (c * INR (S k) * x ^ k).
Proof.
  pose proof (is_derive_pow (fun y => y) (S k) x 1 (is_derive_id (K := R_AbsRing) x)) as D.
  pose proof (is_derive_scal (fun y => y ^ S k) x c _ D) as D2.
  match type of D2 with is_derive _ _ ?d => replace (c * INR (S k) * x ^ k) with d; [exact D2|] end.
  cbn [pred]. ring.
Qed.
Lemma odd_term_derive n x : is_derive (odd_term (S n)) x (x * odd_term n x).
Proof.
  destruct (odd_term_power n) as [c E]. set (d := INR (2 * S n + 1)). pose proof (odd_pos (S n)) as P. fold d in P.
  assert (DX : INR (S (S (2 * n + 1))) = d) by (unfold d; f_equal; lia).
  assert (X : forall y, c / d * y ^ S (S (2 * n + 1)) = odd_term (S n) y).
  { intros y. cbn [odd_term]. rewrite E. fold d. simpl pow. field. lra. }
  apply (is_derive_ext (fun y => c / d * y ^ S (S (2 * n + 1)))); [exact X|]. rewrite E.
  replace (x * (c * x ^ (2 * n + 1))) with (c / d * INR (S (S (2 * n + 1))) * x ^ S (2 * n + 1)); [apply monomial_derive|].
  rewrite DX. simpl pow. field. lra.
Qed.
Lemma odd_sum_derive n x : is_derive (odd_sum n) x (1 + x * odd_sum n x - x * odd_term n x).
Proof.
  revert x. induction n as [|n IH]; intros x.
  - replace (1 + x * odd_sum 0 x - x * odd_term 0 x) with 1 by (simpl; ring). apply (is_derive_id (K := R_AbsRing)).
  - pose proof (is_derive_plus (odd_sum n) (odd_term (S n)) x _ _ (IH x) (odd_term_derive n x)) as D.
    match type of D with is_derive _ _ ?d => replace (1 + x * odd_sum (S n) x - x * odd_term (S n) x) with d; [exact D|] end.
    change (1 + x * odd_sum n x - x * odd_term n x + x * odd_term n x = 1 + x * odd_sum (S n) x - x * odd_term (S n) x).
    cbn [odd_sum]. ring.
Qed.
Lemma odd_0 n : odd_sum n 0 = 0 /\ odd_term n 0 = 0.
Proof. induction n as [|n [S T]]; [simpl; lra|]. cbn [odd_sum odd_term]. rewrite S, T. unfold Rdiv. split; ring. Qed.
Lemma bell_derive x : is_derive bell x (- x * bell x).
Proof. unfold bell, gaussian_density. auto_derive; auto. field. Qed.
Lemma bell_sum_derive n x : is_derive (fun y => bell y * odd_sum n y) x (bell x - bell x * (x * odd_term n x)).
Proof.
  pose proof (is_derive_mult bell (odd_sum n) x _ _ (bell_derive x) (odd_sum_derive n x) Rmult_comm) as D.
  match type of D with is_derive _ _ ?d => replace (bell x - bell x * (x * odd_term n x)) with d; [exact D|] end.
  change (- x * bell x * odd_sum n x + bell x * (1 + x * odd_sum n x - x * odd_term n x) = bell x - bell x * (x * odd_term n x)). ring.
Qed.
Theorem area_series n x : 0 <= x -> bell x * odd_sum n x <= area x <= bell x * odd_sum n x + odd_term (S n) x.
Proof.
  intros X. destruct (odd_0 n) as [S0 _]. destruct (odd_0 (S n)) as [_ T0]. split.
  - pose proof (grows_from (fun y => area y - bell y * odd_sum n y) (fun y => bell y * (y * odd_term n y)) x X) as G. cbv beta in G.
    rewrite area_0, S0, Rmult_0_r in G. enough (0 - 0 <= area x - bell x * odd_sum n x) by lra. apply G.
    + intros y. pose proof (is_derive_minus area (fun y => bell y * odd_sum n y) y _ _ (area_derive y) (bell_sum_derive n y)) as D.
      match type of D with is_derive _ _ ?d => replace (bell y * (y * odd_term n y)) with d; [exact D|] end.
      change (bell y - (bell y - bell y * (y * odd_term n y)) = bell y * (y * odd_term n y)). ring.
    + intros y Y. apply Rmult_le_pos; [left; apply bell_pos|]. apply Rmult_le_pos; [lra | apply odd_term_nonneg; lra].
  - pose proof (grows_from (fun y => bell y * odd_sum n y + odd_term (S n) y - area y) (fun y => (1 - bell y) * (y * odd_term n y)) x X) as G. cbv beta in G.
    rewrite area_0, S0, T0, Rmult_0_r in G. enough (0 + 0 - 0 <= bell x * odd_sum n x + odd_term (S n) x - area x) by lra. apply G.
    + intros y. pose proof (is_derive_plus (fun y => bell y * odd_sum n y) (odd_term (S n)) y _ _ (bell_sum_derive n y) (odd_term_derive n y)) as D1.
      pose proof (is_derive_minus (fun y => bell y * odd_sum n y + odd_term (S n) y) area y _ _ D1 (area_derive y)) as D.
      match type of D with is_derive _ _ ?d => replace ((1 - bell y) * (y * odd_term n y)) with d; [exact D|] end.
      change (bell y - bell y * (y * odd_term n y) + y * odd_term n y - bell y = (1 - bell y) * (y * odd_term n y)). ring.
    + intros y Y. pose proof (bell_1 y). apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [lra | apply odd_term_nonneg; lra].
Qed.

Lemma odds_down n x sq y : (0 <= x)%Z -> (0 <= sq)%Z -> val x <= y -> val sq <= y * y -> let '(term, sum) := odds mul_down over_down n x sq in
  (0 <= term)%Z /\ val term <= odd_term n y /\ (0 <= sum)%Z /\ val sum <= odd_sum n y.
Proof.
  intros X SQ XX SS. induction n as [|n IH]; cbn [odds]; [repeat split; auto|].
  destruct (odds mul_down over_down n x sq) as [term sum]. destruct IH as (T0 & T1 & S0 & S1).
  destruct (next_down term sq (2 * S n + 1) _ _ ltac:(lia) T0 SQ T1 SS) as [N0 N1].
  repeat split; auto; [lia|]. rewrite val_plus. cbn [odd_sum odd_term] in *. lra.
Qed.
Lemma odds_up n x sq y : 0 <= y -> y <= val x -> y * y <= val sq -> let '(term, sum) := odds mul_up over_up n x sq in
  odd_term n y <= val term /\ odd_sum n y <= val sum.
Proof.
  intros Y XX SS. induction n as [|n IH]; cbn [odds]; [auto|].
  destruct (odds mul_up over_up n x sq) as [term sum]. destruct IH as [T1 S1].
  pose proof (next_up term sq (2 * S n + 1) _ _ ltac:(lia) (odd_term_nonneg n y Y) (Rmult_le_pos y y Y Y) T1 SS) as N.
  split; [exact N|]. rewrite val_plus. cbn [odd_sum odd_term] in *. lra.
Qed.

(** As many terms as are needed to be exact up to the precision, for moderate x. *)
Definition odd_terms (x : Q) : nat := Z.to_nat (60 + 3 * (Qnum (x * x) / Zpos (Qden (x * x))) / 2).
Definition half_square (x : Q) : Q := Qred (x * x / 2).
(** Bounds of the area, x >= 0. *)
Definition area_low (x : Q) : Q := down (units (snd (odds mul_down over_down (odd_terms x) (floor x) (floor (x * x)))) / exp_high (half_square x)).
Definition area_high (x : Q) : Q :=
  let '(term, sum) := odds mul_up over_up (S (odd_terms x)) (ceiling x) (ceiling (x * x)) in
  (up (units sum / exp_low (half_square x)) + units term)%Q.
Lemma half_square_ok x : Q2R (half_square x) = Q2R x * Q2R x / 2.
Proof. unfold half_square. rewrite Q2R_red, Q2R_div, Q2R_mult; [unfold Q2R at 3; simpl; field|]. unfold Qeq; simpl; lia. Qed.
Lemma bell_exp x : bell (Q2R x) = / exp (Q2R (half_square x)).
Proof. unfold bell, gaussian_density. rewrite exp_Ropp, half_square_ok. do 2 f_equal. field. Qed.
Lemma half_square_nonneg x : 0 <= Q2R (half_square x).
Proof. rewrite half_square_ok. pose proof (Rle_0_sqr (Q2R x)). unfold Rsqr in H. lra. Qed.
Theorem area_low_ok x : 0 <= Q2R x -> small (half_square x) = true -> 0 <= Q2R (area_low x) <= area (Q2R x).
Proof.
  intros X SM. pose proof (exp_high_ok _ SM) as E. pose proof (exp_pos (Q2R (half_square x))) as EP.
  pose proof (Rle_0_sqr (Q2R x)) as XX. unfold Rsqr in XX. rewrite <- Q2R_mult in XX.
  pose proof (floor_le (x * x)) as SQ. rewrite Q2R_mult in SQ.
  pose proof (odds_down (odd_terms x) (floor x) (floor (x * x)) (Q2R x) (floor_nonneg _ X) (floor_nonneg _ XX) (floor_le x) SQ) as O. unfold area_low.
  destruct (odds mul_down over_down (odd_terms x) (floor x) (floor (x * x))) as [term sum]. destruct O as (_ & _ & S0 & S1). cbn [snd].
  apply val_nonneg in S0. set (q := units sum). change (val sum) with (Q2R q) in *.
  assert (HP : 0 < Q2R (exp_high (half_square x))) by lra.
  assert (EQ : Q2R (q / exp_high (half_square x)) = Q2R q / Q2R (exp_high (half_square x))) by (apply Q2R_div, Q2R_pos_nonzero; auto).
  assert (NP : 0 <= Q2R (q / exp_high (half_square x))).
  { rewrite EQ. apply Rmult_le_pos; auto. left; apply Rinv_0_lt_compat; auto. }
  split; [apply down_nonneg; auto|]. eapply Rle_trans; [apply down_le|]. rewrite EQ.
  eapply Rle_trans; [|apply (proj1 (area_series (odd_terms x) (Q2R x) X))]. rewrite bell_exp, Rmult_comm. unfold Rdiv.
  apply Rmult_le_compat; auto; [left; apply Rinv_0_lt_compat; auto | apply Rinv_le_contravar; auto].
Qed.
Theorem area_high_ok x : 0 <= Q2R x -> 0 < Q2R (exp_low (half_square x)) -> area (Q2R x) <= Q2R (area_high x).
Proof.
  intros X LP. pose proof (exp_low_ok _ (half_square_nonneg x)) as E.
  pose proof (ceiling_ge (x * x)) as SQ. rewrite Q2R_mult in SQ.
  pose proof (odds_up (S (odd_terms x)) (ceiling x) (ceiling (x * x)) (Q2R x) X (ceiling_ge x) SQ) as O. unfold area_high.
  destruct (odds mul_up over_up (S (odd_terms x)) (ceiling x) (ceiling (x * x))) as [term sum]. destruct O as [T1 S1].
  rewrite Q2R_plus. set (q := units sum). change (val sum) with (Q2R q) in S1. pose proof (up_ge (q / exp_low (half_square x))) as U.
  rewrite Q2R_div in U by (apply Q2R_pos_nonzero; auto).
  eapply Rle_trans; [apply (proj2 (area_series (odd_terms x) (Q2R x) X))|]. apply Rplus_le_compat; auto.
  eapply Rle_trans; [|exact U]. rewrite bell_exp, Rmult_comm. cbn [odd_sum] in S1.
  pose proof (odd_term_nonneg (S (odd_terms x)) (Q2R x) X).
  assert (SN : 0 <= odd_sum (odd_terms x) (Q2R x)).
  { clear - X. induction (odd_terms x) as [|n IH]; cbn [odd_sum]; auto. pose proof (odd_term_nonneg (S n) (Q2R x) X). lra. }
  unfold Rdiv. apply Rmult_le_compat; auto; [left; apply Rinv_0_lt_compat, exp_pos | lra | apply Rinv_le_contravar; lra].
Qed.
(** The whole area: at least twice that up to 14. *)
Definition full_low : Q := Eval vm_compute in Qred (2 * area_low 14).
Lemma full_low_ok : 0 < Q2R full_low <= full.
Proof.
  assert (E : full_low = Qred (2 * area_low 14)) by (vm_compute; reflexivity).
  assert (P : 0 < Q2R full_low) by (rewrite <- Q2R_0; apply Qlt_Rlt; vm_compute; reflexivity).
  split; auto. rewrite E, Q2R_red, Q2R_mult. clear E P. pose proof (area_half (Q2R 14)) as H.
  assert (S : small (half_square 14) = true) by (vm_compute; reflexivity).
  assert (X : 0 <= Q2R 14) by (unfold Q2R; simpl; lra). pose proof (area_low_ok 14 X S) as B.
  assert (TWO : Q2R 2 = 2) by (unfold Q2R; simpl; lra). rewrite TWO. revert B. generalize (Q2R (area_low 14)). intros A B. lra.
Qed.

(** ** An upper bound of the curve *)
(** A lower bound of the area, whatever the sign. *)
Definition signed_low (x : Q) : Q := if Qle_bool 0 x then area_low x else (- area_high (- x))%Q.
Definition computable (x : Q) : bool :=
  if Qle_bool 0 x then small (half_square x) else negb (Qle_bool (exp_low (half_square (- x))) 0).
Definition curve_high (m eps : Q) : Q :=
  let z := Qred (eps / m - m / 2) in let z' := Qred (eps / m + m / 2) in
  let rest := (exp_high eps * area_high z' - signed_low z)%Q in
  ((1 - exp_low eps) / 2 + (if Qle_bool rest 0 then 0 else rest) / full_low)%Q.
Definition curve_known (m eps : Q) : bool :=
  let z := Qred (eps / m - m / 2) in let z' := Qred (eps / m + m / 2) in
  small eps && negb (Qle_bool m 0) && computable z && computable (- z').
Lemma not_le a b : negb (Qle_bool a b) = true -> Q2R b < Q2R a.
Proof.
  intros H. apply Qlt_Rlt. destruct (Qlt_le_dec b a) as [|L]; auto. apply Qle_bool_iff in L. rewrite L in H. discriminate.
Qed.
Lemma signed_low_ok x : computable x = true -> Q2R (signed_low x) <= area (Q2R x).
Proof.
  unfold computable, signed_low. destruct (Qle_bool 0 x) eqn:S; intros C.
  - apply qle_ok in S. rewrite Q2R_0 in S. apply area_low_ok; auto.
  - assert (N : Q2R x < 0) by (rewrite <- Q2R_0; apply not_le; rewrite S; auto).
    apply not_le in C. rewrite Q2R_0 in C. rewrite Q2R_opp.
    pose proof (area_high_ok (- x)) as A. rewrite Q2R_opp in A. specialize (A ltac:(lra) C). rewrite area_odd in A. lra.
Qed.
Theorem curve_high_ok m eps : curve_known m eps = true -> 0 < Q2R m -> curve (Q2R m) (exp (Q2R eps)) <= Q2R (curve_high m eps).
Proof.
  unfold curve_known, curve_high. set (z := Qred (eps / m - m / 2)). set (z' := Qred (eps / m + m / 2)).
  rewrite !andb_true_iff. intros [[[SE MP] CZ] CZ'] M. apply not_le in MP.
  assert (MN : ~ (m == 0)%Q) by (apply Q2R_pos_nonzero; auto).
  assert (TWO : Q2R 2 = 2) by (unfold Q2R; simpl; lra). assert (TN : ~ (2 == 0)%Q) by (unfold Qeq; simpl; lia).
  assert (ZV : Q2R z = border (Q2R m) (exp (Q2R eps))).
  { unfold z, border. rewrite Q2R_red, ln_exp, Q2R_minus, !Q2R_div, TWO by auto. reflexivity. }
  assert (ZV' : Q2R z' = Q2R z + Q2R m).
  { unfold z', z. rewrite !Q2R_red, Q2R_minus, Q2R_plus, !Q2R_div, TWO by auto. field. lra. }
  assert (EP : 0 <= Q2R eps) by (unfold small in SE; apply andb_true_iff in SE; destruct SE as [S _]; apply qle_ok in S; rewrite Q2R_0 in S; auto).
  pose proof (exp_high_ok eps SE) as EH. pose proof (exp_low_ok eps EP) as EL. pose proof (exp_pos (Q2R eps)) as EX.
  assert (ZP : 0 < Q2R z').
  { rewrite ZV', ZV. unfold border. rewrite ln_exp. assert (0 <= Q2R eps / Q2R m) by (apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto). lra. }
  pose proof (signed_low_ok z CZ) as A0. pose proof (signed_low_ok (- z') CZ') as A1'.
  assert (A1 : area (Q2R z') <= Q2R (area_high z')).
  { apply area_high_ok; [lra|]. unfold computable in CZ'. destruct (Qle_bool 0 (- z')) eqn:S.
    - exfalso. apply qle_ok in S. rewrite Q2R_opp, Q2R_0 in S. lra.
    - apply not_le in CZ'. rewrite Q2R_0 in CZ'. revert CZ'. replace (half_square (- - z')) with (half_square z'); auto.
      unfold half_square. apply Qred_complete. rewrite Qopp_involutive. reflexivity. }
  pose proof full_low_ok as [FP FL]. pose proof full_pos as Z.
  apply Rmult_le_reg_l with full; auto. rewrite curve_value by auto. rewrite <- ZV, <- ZV'.
  set (rest := (exp_high eps * area_high z' - signed_low z)%Q).
  assert (AP : 0 <= area (Q2R z')) by (rewrite <- area_0; apply area_grows; lra).
  assert (RH : exp (Q2R eps) * area (Q2R z') - area (Q2R z) <= Q2R rest).
  { unfold rest. rewrite Q2R_minus, Q2R_mult. assert (exp (Q2R eps) * area (Q2R z') <= Q2R (exp_high eps) * Q2R (area_high z')) by (apply Rmult_le_compat; lra). lra. }
  assert (FN : ~ (full_low == 0)%Q) by (apply Q2R_pos_nonzero; auto).
  rewrite Q2R_plus, !Q2R_div, Q2R_minus, Q2R_1, TWO by auto. rewrite Rmult_plus_distr_l.
  set (p := (if Qle_bool rest 0 then 0 else rest)%Q).
  assert (PP : 0 <= Q2R p /\ Q2R rest <= Q2R p).
  { unfold p. destruct (Qle_bool rest 0) eqn:S; [apply qle_ok in S; rewrite Q2R_0 in *; lra|].
    assert (Q2R 0 < Q2R rest) by (apply not_le; rewrite S; auto). rewrite Q2R_0 in *. lra. }
  assert (PF : Q2R p <= full * (Q2R p / Q2R full_low)).
  { replace (full * (Q2R p / Q2R full_low)) with (Q2R p * (full / Q2R full_low)) by (field; lra).
    rewrite <- (Rmult_1_r (Q2R p)) at 1. apply Rmult_le_compat_l; [lra|].
    apply Rmult_le_reg_r with (Q2R full_low); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (LF : full / 2 * (1 - exp (Q2R eps)) <= full * ((1 - Q2R (exp_low eps)) / 2)).
  { replace (full * ((1 - Q2R (exp_low eps)) / 2)) with (full / 2 * (1 - Q2R (exp_low eps))) by field. apply Rmult_le_compat_l; lra. }
  lra.
Qed.
