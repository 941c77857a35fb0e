"""The grey box: record and replay of a function's noise."""

from __future__ import annotations

from dpest.attacks.recorded.attack import recorded_attack

__all__ = ["recorded_attack"]
