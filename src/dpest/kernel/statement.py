"""What was shown, as data: everything that is printed about a certificate is made from here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Literal

from .adjacency import Neighbours
from .fields import Extended

Measure = Literal["epsilon", "rho", "exponential", "mu2"]
"""ε of differential privacy, ρ of zCDP, e^ε (where ε itself is no rational), μ² of Gaussian DP."""


@dataclass(frozen=True)
class Inputs:
    """The inputs that a statement is about: what an entry may be.

    `ranges` are the bounds of its fields (none: all numbers of the kind); `width` is how far two
    entries differ at most; `values` is the list of all inputs, as JSON, of a finite domain;
    `names` are the values of fields whose numbers are places in a list.
    """

    kind: Literal["reals", "integers", "finite"]
    ranges: tuple[tuple[Extended, Extended], ...] = ()
    width: Extended = inf
    values: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    rows: int = 1
    """How many such entries a person has at most, where neighbours differ in people."""
    whole: tuple[bool, ...] = ()
    """Which fields are whole numbers, where some are and others need not be."""

    def __str__(self) -> str:
        if self.kind == "finite":
            shown = ", ".join(self.values[:6]) + (", …" if len(self.values) > 6 else "")
            return f"data among {len(self.values)} values ({shown})"
        words = f"{'real' if self.kind == 'reals' else 'integer'} data"
        bounded = [shown_range(ends) for ends in self.ranges]
        mixed = self.kind == "reals" and any(self.whole)
        if mixed:
            bounded = [f"{'ℤ ∩ ' * w}{b}" for w, b in zip(self.whole, bounded, strict=True)]
        if any(self.names):
            words = "records"
            named = [f"{{{', '.join(v)}}}" for v in self.names]
            bounded = [n if v else b for n, v, b in zip(named, self.names, bounded, strict=True)]
        if mixed or any(abs(end) != inf for ends in self.ranges for end in ends):
            words += f" in {' x '.join(bounded)}"
        if self.rows > 1:
            words = f"people with at most {self.rows} rows each of {words}"
        return words if self.width == inf else f"{words} within a range of {self.width}"


def _short(value: Fraction) -> str:
    """A rational, or where that is long a decimal number that is no smaller."""
    text = str(value)
    if len(text) <= 24:
        return text
    power = 0
    while value * 10**power < 10**16:
        power += 1
    return f"{-((-value * 10**power) // 1)}e-{power}"


def _end(value: Extended) -> str:
    return str(value).replace("inf", "∞")


def shown_range(ends: tuple[Extended, Extended]) -> str:
    return f"[{_end(ends[0])}, {_end(ends[1])}]"


@dataclass(frozen=True)
class Lengths:
    """The lengths of the inputs: one, several, or (none listed) every length."""

    listed: tuple[int, ...] = ()

    @property
    def every(self) -> bool:
        return not self.listed

    def __str__(self) -> str:
        return "every length" if self.every else "n = " + ", ".join(map(str, self.listed))

    def meet(self, other: Lengths) -> Lengths | None:
        """The lengths in both; None where there are none."""
        if self.every or other.every:
            return other if self.every else self
        both = tuple(n for n in self.listed if n in other.listed)
        return Lengths(both) if both else None


@dataclass(frozen=True)
class Finding:
    """What a rule has shown about the model in a certificate."""

    measure: Measure
    bound: Fraction
    lengths: Lengths
    inputs: tuple[Inputs, ...]
    """The data belong to each of them."""
    power: int = 1
    """The bound is a multiple of unit^power."""
    assumptions: tuple[str, ...] = ()
    delta: Fraction = Fraction(0)
    """With ε: the δ of (ε, δ)-privacy."""


@dataclass(frozen=True)
class Statement:
    """A bound for all neighbouring inputs of a model or, once it was compared, of a function.

    `source` is the digest of the source that the certificate carries. Only where `function` is
    set was the model compared with it.
    """

    source: str
    adjacency: Neighbours
    inputs: tuple[Inputs, ...]
    lengths: Lengths
    measure: Measure
    bound: Fraction
    unit: str | None
    power: int
    assumptions: tuple[str, ...]
    function: str | None = None
    delta: Fraction = Fraction(0)

    def about(self, function: str) -> Statement:
        """The same statement about a function whose model was found to be this one."""
        return replace(self, function=function)

    @property
    def bound_text(self) -> str:
        if self.measure == "exponential":
            return f"e^ε ≤ {self.bound}"
        name = {"rho": "ρ", "mu2": "μ²"}.get(self.measure, "ε")
        if self.delta:
            return f"{name} ≤ {self.bound} at δ = {_short(self.delta)}"
        if self.unit is None or self.power == 0:
            return f"{name} ≤ {self.bound}"
        power = "" if self.power == 1 else f"^{self.power}"
        return f"{name} ≤ {self.bound}·{self.unit}{power}"

    @property
    def subject(self) -> str:
        return "a model" if self.function is None else f"{self.function} ({self.source[:12]}…)"

    def __str__(self) -> str:
        unit = "" if self.unit is None else f" for every {self.unit} > 0"
        data = " and ".join(map(str, self.inputs))
        text = f"{self.subject}: {self.bound_text}{unit}, {self.adjacency}, {self.lengths}, {data}"
        return text + "".join(f"; assuming that {a}" for a in self.assumptions)
