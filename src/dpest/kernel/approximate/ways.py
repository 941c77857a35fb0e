"""One way through the program: its sums, its noises, and the rows treated as released."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .accountant import ONE
from .terms import RecordCondition, RecordForm, RecordTerms


@dataclass(frozen=True, order=True)
class Private:
    """A private symbol: a place of the sums of a pass, or (pass −1) a symbol of one record."""

    passed: int
    place: int


Shift = dict[Private, Fraction]


@dataclass(frozen=True)
class StageNoise:
    family: str
    scale: Fraction
    most: Fraction | None = None


@dataclass(frozen=True)
class StageCase:
    conditions: tuple[RecordCondition, ...]
    adds: tuple[RecordForm, ...]


@dataclass(frozen=True)
class StagePass:
    cases: tuple[StageCase, ...]
    made: int
    times: int = 1
    """How often one neighbour may be in it: how many rows a person has."""


@dataclass(frozen=True)
class StageGate:
    noise: int
    threshold: Fraction
    made: int


@dataclass(frozen=True)
class StageChoice:
    """What is chosen by weights with these exponents, or by a race of these scores with noises.

    `between`: it is a point between two numbers, and the only exponent is that of any one point.
    """

    exponents: tuple[RecordForm, ...]
    noises: tuple[int, ...] = ()
    between: tuple[Fraction, Fraction] | None = None


MOVED = ("l1", "linf", "monotone", "any_pair")


@dataclass(frozen=True)
class StageWay:
    """One way through the program.

    `moved`: one of `MOVED` where the data are numbers that move, by `radius`. `length`: how many
    records there are, where that is known.
    """

    terms: RecordTerms
    passes: tuple[StagePass, ...]
    noises: tuple[StageNoise, ...]
    rows: tuple[RecordForm | StageChoice, ...]
    gates: tuple[StageGate, ...]
    replace: bool
    apart: bool
    moved: str = ""
    radius: Fraction = ONE
    length: int | None = None
