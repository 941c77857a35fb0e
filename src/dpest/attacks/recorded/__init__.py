"""The grey box: record and replay of a function's noise."""

from __future__ import annotations

from dpest.attacks.recorded.attack import noise_drawn, recorded_attack

__all__ = ["noise_drawn", "recorded_attack"]
