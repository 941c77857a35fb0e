"""Exact tests, confidence bounds and e-processes.

Everything here works on counts and probabilities only; nothing knows of mechanisms.
"""
