"""Symbolic values that run inside of the function: the trace of one input."""
