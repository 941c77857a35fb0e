(** SVT1 is 1*eps-differentially private for every eps > 0: for all neighbours (linf, radius 1) among lists of every length and all events of its release. sha256 of its source: a72cce94af6db1627451975b9a05635b5364a6a4cbfb28da4cdf536b19494b74 *)
From Coq Require Import Reals Lra List QArith Qreals.
From DP Require Import Noise Privacy ZeroConcentrated Program NoiseTable Loop LoopChecker Draw Cells
  Adjacency Total Selection Certificate FiniteTable Sums Square View Composition
  Gap.
Import ListNotations.
Open Scope nat_scope.

Definition noises : noise_table := [(Laplace, (1 # 2)%Q); (Laplace, (1 # 4)%Q)].
Definition prog : program := [Node None
    (Some (Group [0] [([],
      Leaf 0 1 [] [(0, (Form (0 # 1)%Q [(H 0, (1 # 1)%Q)]))])]));
  Node (Some (Group [1] [([(Sign (Form (-1 # 2)%Q [(H 1, (1 # 1)%Q); (D 0, (1 # 1)%Q); (V 0, (-1 # 1)%Q)]), 1)],
      Leaf 2 2 [STok 0] [(0, (Form (0 # 1)%Q [(V 0, (1 # 1)%Q)]))]);
     ([(Sign (Form (-1 # 2)%Q [(H 1, (1 # 1)%Q); (D 0, (1 # 1)%Q); (V 0, (-1 # 1)%Q)]), 0)],
      Leaf 3 1 [STok 1] [(0, (Form (0 # 1)%Q [(V 0, (1 # 1)%Q)]))])]))
    (Some (Group [] [([],
      Leaf 1 3 [] [])]));
  Node (Some (Group [] [([],
      Leaf 5 3 [] [])]))
    (Some (Group [] [([],
      Leaf 4 3 [] [])]));
  Halt].
Definition ranks : list nat := [2; 1; 1; 0].
Definition run := run_loop noises prog ranks 2.
Definition cert0 : cert := Cert prog [[]; [0]; [0]] noises false
  [[(0, (-1 # 1)%Q)]; [(0, (1 # 1)%Q)]]
  [AState 0 0 (1 # 1)%Q [];
   AState 1 0 (1 # 2)%Q [(0, (1 # 1)%Q)];
   AState 3 0 (0 # 1)%Q [];
   AState 2 0 (0 # 1)%Q [(0, (1 # 1)%Q)]]
  [AStep 0 0 None 1 [(0, (1 # 1)%Q)];
   AStep 1 1 None 2 [];
   AStep 1 2 (Some 0) 3 [(1, (2 # 1)%Q)];
   AStep 1 2 (Some 1) 3 [];
   AStep 1 3 (Some 0) 1 [];
   AStep 1 3 (Some 1) 1 [];
   AStep 3 4 None 2 [];
   AStep 3 5 (Some 0) 2 [];
   AStep 3 5 (Some 1) 2 []].
Theorem is_private : forall eps : R, (0 < eps)%R ->
  private (linf (Q2R (1 # 1)%Q)) (eps * Q2R (1 # 1)%Q) (run eps) /\
  mass_one (run eps).
Proof.
  intros eps P. split.
  - apply (loop_private cert0 0 (1 # 1)%Q); [vm_compute; reflexivity | apply (linf_neighbours cert0 (1 # 1)%Q); vm_compute; reflexivity | exact P].
  - apply loop_mass; [vm_compute; reflexivity | vm_compute; reflexivity | exact P].
Qed.

Print Assumptions is_private.
