(** ReportNoisyMax1 is 1*eps-differentially private for every eps > 0: for all neighbours (linf, radius 1) among lists of every length and all events of its release. sha256 of its source: 3a373d8326a121e12a85d83353507a1d449fbbf5708874ec1bbe4eb24802f15d *)
From Coq Require Import Reals Lra List QArith Qreals.
From DP Require Import Noise Privacy ZeroConcentrated Program NoiseTable Loop LoopChecker Draw Cells
  Adjacency Total Selection Certificate FiniteTable Sums Square View Composition
  Gap.
Import ListNotations.
Open Scope nat_scope.

Definition noise : family * Q := (Laplace, (1 # 2)%Q).
Definition plans : list plan := [Plan 0 0 [(0, ((-1 # 1)%Q, (1 # 1)%Q)); (1, ((-1 # 1)%Q, (1 # 1)%Q))] [(0, ((1 # 1)%Q, [(0, (-1 # 1)%Q)]))] [(0, ((1 # 1)%Q, [(0, (-1 # 1)%Q)]))]].
Definition run := run_selection noise (1 # 1)%Q (1 # 1)%Q.
Theorem is_private : forall eps : R, (0 < eps)%R ->
  private (linf (Q2R (1 # 1)%Q)) (eps * Q2R (1 # 1)%Q) (run eps) /\
  mass_one (run eps).
Proof.
  intros eps P. split.
  - apply (selection_linf noise (1 # 1)%Q (1 # 1)%Q (1 # 1)%Q (-1 # 1)%Q (1 # 1)%Q [[both (-1 # 1)%Q (1 # 1)%Q (-1 # 1)%Q (1 # 1)%Q]] plans); [vm_compute; reflexivity | vm_compute; reflexivity | vm_compute; reflexivity | exact P].
  - apply selection_mass_one; [vm_compute; reflexivity | exact P].
Qed.

Print Assumptions is_private.
