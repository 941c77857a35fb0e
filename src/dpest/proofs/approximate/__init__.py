"""Proofs by what one record adds: (ε, δ), zCDP, Gaussian and pure DP of sums, steps, samples."""
