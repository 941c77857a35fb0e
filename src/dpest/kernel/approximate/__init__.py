"""(ε, δ) with a guarantee: what a record adds, stages of noise, and what they cost together."""
