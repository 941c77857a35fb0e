"""Budgets on the states of a loop: proofs for every length, and the bounds from below."""
