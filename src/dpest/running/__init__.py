"""Runs of a mechanism: plain calls, samples, seeds, and limits on what code may take."""
