"""Noise is integrated out: densities of one variable, their sums, and regions under them."""
