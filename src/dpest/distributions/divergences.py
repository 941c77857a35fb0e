"""δ(ε), Rényi divergences and trade-offs of a pair of distributions cut into cells."""

from __future__ import annotations

from dpest.distributions.pairs import GroupPair


class LossMeasure:
    def __init__(self, parts: list[list[GroupPair]]) -> None:
        self.parts = parts
