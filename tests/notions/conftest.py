"""Hypothesis draws the same examples in every run, and a busy machine is no failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("notions", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("notions")
