"""Shifts of the noise that keep a release, of least cost: linear programs over differences."""
