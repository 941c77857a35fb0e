"""The parts that models of programs on numbers share: noises, data, neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from ..adjacency import faces
from ..fields import Fields
from ..forms import Interval
from ..header import Header
from ..invalid import need
from ..statement import Inputs, Lengths
from .data import PrivateData, read_derived, read_domain
from .noise import Noises, outside_families, read_noises


@dataclass(frozen=True)
class Numbers:
    """What is drawn, what is private, and what neighbours differ by."""

    header: Header
    noises: Noises
    data: PrivateData
    names: tuple[str, ...]
    """The entries of an input: q0, q1, …, or q for the entry that a loop reads."""

    @property
    def inputs(self) -> frozenset[str]:
        return frozenset(s for name in self.names for s in self.data.entry(name))

    @property
    def whole(self) -> frozenset[str]:
        return self.data.whole(self.inputs)

    def faces(self) -> list[list[dict[str, Interval]]]:
        return faces(self.header.adjacency, self.data, self.noises, self.names)

    @property
    def lengths(self) -> Lengths:
        return Lengths() if self.header.length is None else Lengths((self.header.length,))

    def stated(self, declared: bool = False) -> tuple[Inputs, ...]:
        """What an entry may be. `declared`: without the bounds that the radius puts on it."""
        domain = self.data.domain
        ranges = domain.ranges
        if declared and self.header.adjacency.radius != inf:
            ranges = domain.declared or ()
        any_pair = self.header.adjacency.name == "any_pair"
        return (Inputs(domain.kind, ranges, domain.width if any_pair else inf),)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What rests on rows that somebody added to the kernel's tables."""
        found = [
            f"the row of the table that was added for {family} noise is right"
            for family in outside_families(self.noises)
        ]
        if not self.header.adjacency.own:
            name = self.header.adjacency.name
            found.append(f"the row of the table that was added for {name} is right")
        return tuple(found)


def read_numbers(header: Header, fields: Fields, names: Sequence[str]) -> Numbers:
    noises = read_noises(fields)
    domain = read_domain(fields.inner("domain"))
    need(domain.form != "number" or header.length == 1, "domain.form: one number has length 1")
    bare = PrivateData(domain, {})
    inputs = frozenset(s for name in names for s in bare.entry(name))
    return Numbers(header, noises, PrivateData(domain, read_derived(fields, inputs)), tuple(names))


def entry_names(length: int) -> list[str]:
    return [f"q{j}" for j in range(length)]


def need_pure(fields: Fields) -> None:
    """A bound on ε is a multiple of the unit itself."""
    need(not fields.has("power"), f"{fields.where}: a bound on ε has no power of the unit")


def read_power(header: Header, fields: Fields) -> int:
    """ρ is a multiple of unit^power."""
    power = fields.whole("power")
    need(-8 <= power <= 8, "power: too large")
    need(header.unit is not None or power == 0, "power: there is no unit")
    return power
