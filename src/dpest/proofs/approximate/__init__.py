"""Proofs by what one record adds: (ε, δ), zCDP, Gaussian and pure DP of sums, steps and samples."""

from __future__ import annotations

from dpest.proofs.approximate.proving import Found, contributions, prove_contributions

__all__ = ["Found", "contributions", "prove_contributions"]
