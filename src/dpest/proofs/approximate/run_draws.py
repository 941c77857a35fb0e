"""What a run drew, taken in the order of the model."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpest.proofs.approximate.recorder import Recorder


class Different(Exception):
    """How a run differs from the model."""


class RunDraws:
    """The draws of a run, each of which one draw of the model takes."""

    def __init__(self, rng: Recorder) -> None:
        self.left = list(rng.noises)
        self.vectors = list(rng.vectors)
        self.uniforms = list(rng.uniforms)
        self.all_uniforms = tuple(rng.uniforms)
        self.picks = list(rng.picks)
        self.chances = dict(rng.chances)
        self.coins: dict[tuple[tuple[Any, ...], int], float] = {}
        self.places: dict[int, float] = {}

    def noise(self, family: str, scale: Fraction) -> float:
        """The next noise, which must be of this family and scale."""
        if not self.left:
            raise Different("it draws less noise")
        found, size, value = self.left.pop(0)
        if found != family or not math.isclose(size, scale, rel_tol=1e-12):
            raise Different(
                f"it draws {found} noise of scale {size:g}, not {family} {float(scale):g}"
            )
        return value

    def coins_below(self, chance: Fraction) -> float:
        """How many uniform numbers come before one that is not below a chance."""
        for count, value in enumerate(self.uniforms):
            if value >= chance:
                del self.uniforms[: count + 1]
                return float(count)
        raise Different("it draws less coins")

    def coin(self, name: tuple[Any, ...], place: int, records: int) -> float:
        """The uniform number behind the coin of a record, by its place among so many."""
        if (name, place) not in self.coins:
            if name[0] == "draw":
                if not self.vectors or len(self.vectors[0]) != records:
                    raise Different("it draws other coins")
                for i, value in enumerate(self.vectors.pop(0)):
                    self.coins[name, i] = value
            else:
                if not self.uniforms:
                    raise Different("it draws less coins")
                self.coins[name, place] = self.uniforms.pop(0)
        return self.coins[name, place]

    def uniform(self, place: int) -> float:
        """A uniform number: by its place, or in turn where records have coins of their own."""
        if place not in self.places:
            if not self.coins and len(self.all_uniforms) > place:
                self.places[place] = self.all_uniforms[place]
                self.uniforms = self.uniforms[1:]
            elif self.uniforms:
                self.places[place] = self.uniforms.pop(0)
            else:
                raise Different("it draws less uniform numbers")
        return self.places[place]

    def pick(self, place: int) -> Any:
        if place >= len(self.picks):
            raise Different("it draws less whole numbers")
        return self.picks[place]

    def finish(self, single: int) -> None:
        """Refuses draws that are left; `single`: how many uniform numbers the model draws."""
        if self.left:
            raise Different("it draws more noise")
        if any(self.vectors):
            raise Different("it draws more coins")
        if self.uniforms and len(self.all_uniforms) != single:
            raise Different("it draws more uniform numbers")
