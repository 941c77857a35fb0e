"""Functions of sums over records, case by case: what one record adds, as proofs for every eps."""
