(** The verified checker as OCaml.  Booleans, lists and pairs are OCaml's; numbers that count or name
    are machine integers; rationals stay Coq's own. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt QArith.
From DP Require Import Program NoiseTable Loop LoopChecker Cells Adjacency Total FiniteTable Square Stages Accountant Checker.
Extraction Language OCaml.
Extraction "checker/extracted.ml" accepts accepts_sums accepts_table accepts_numbers accepts_square accepts_gap accepts_calls
  check_costs accepts_account check_gaussian components_of
  well_formed complete Qplus Qmult Qred Qinv Qopp Qle_bool Qeq_bool integers_in.
