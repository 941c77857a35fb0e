"""Loops without a bound at one input: summed up, or followed turn by turn."""
