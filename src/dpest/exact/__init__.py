"""Paths become exact output distributions, and those the exact privacy loss."""
