(** LaplaceMechanism is 1*eps-differentially private for every eps > 0: for all neighbours (l1, radius 1) among lists of length 1 and all events of its release. sha256 of its source: cfc39cc2395e9733645ae2daf640b97ecae43161a0cb25e215b8fe03fc62a954 *)
From Coq Require Import Reals Lra List QArith Qreals.
From DP Require Import Noise Privacy ZeroConcentrated Program NoiseTable Loop LoopChecker Draw Cells
  Adjacency Total Selection Certificate FiniteTable Sums Square View Composition
  Gap.
Import ListNotations.
Open Scope nat_scope.

Definition mechanism : cells := Cells [(Laplace, (1 # 1)%Q)] [0]
  [([],
    Leaf 1 0 [STok 0; SNum (Form (0 # 1)%Q [(H 0, (1 # 1)%Q); (D 0, (1 # 1)%Q)])] [])]
  [corners (1 # 1)%Q 1]
  [Plan 1 0 [(0, ((1 # 1)%Q, (1 # 1)%Q))] [(0, ((-1 # 1)%Q, []))] [(0, ((1 # 1)%Q, []))];
   Plan 1 0 [(0, ((-1 # 1)%Q, (-1 # 1)%Q))] [(0, ((1 # 1)%Q, []))] [(0, ((1 # 1)%Q, []))]].
Definition run := run_cells mechanism.
Theorem is_private : forall eps : R, (0 < eps)%R ->
  private (of_length 1 mechanism (l1 (Q2R (1 # 1)%Q))) (eps * Q2R (1 # 1)%Q) (run eps) /\
  mass_one (run eps).
Proof.
  intros eps P. split.
  - apply (cells_private mechanism (1 # 1)%Q); [vm_compute; reflexivity | apply (l1_covered mechanism (1 # 1)%Q 1); vm_compute; reflexivity | exact P].
  - apply (cells_mass_one mechanism (1 # 1)%Q); [vm_compute; reflexivity | vm_compute; reflexivity | exact P].
Qed.

Print Assumptions is_private.
