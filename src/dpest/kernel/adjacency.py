"""Which two inputs are neighbours: a union of convex hulls of boxes of differences.

The kernel's own table, a row for each adjacency; a test compares it with the library's. A row says
which boxes an input of given entries has. It is a list of components: the neighbours are covered
by the union of the components, each component by the convex hull of its boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from .fields import Extended, Fields, extended
from .forms import ZERO, Box, Interval
from .invalid import Invalid, need
from .models.data import MOST_POINTS, PrivateData
from .models.noise import Noises

Entries = Sequence[Sequence[str]]
"""For each entry of the input the symbols of its fields."""


@dataclass(frozen=True)
class Request:
    """What a row is asked for: boxes of these entries; `reach`: how far each field moves."""

    entries: Entries
    radius: Extended
    reach: tuple[Interval, ...]

    def all_within(self, interval: Interval) -> Box:
        return {symbol: interval for entry in self.entries for symbol in entry}


@dataclass(frozen=True)
class Shape:
    """One adjacency. `hull`: its boxes are vertices of a convex hull, which may not be cut."""

    boxes: Callable[[Request], list[list[Box]]]
    moves_one: bool
    """Whether at most one entry of the input moves."""
    hull: bool = False
    several_fields: bool = False
    changes_length: bool = False


def _linf(request: Request) -> list[list[Box]]:
    return [[request.all_within((-request.radius, request.radius))]]


def _monotone(request: Request) -> list[list[Box]]:
    up, down = (ZERO, request.radius), (-request.radius, ZERO)
    return [[request.all_within(up)], [request.all_within(down)]]


def _l1(request: Request) -> list[list[Box]]:
    ends = (request.radius, -request.radius)
    return [[{entry[0]: (end, end)} for entry in request.entries for end in ends]]


def _replace_one(request: Request) -> list[list[Box]]:
    return [[dict(zip(entry, request.reach, strict=True))] for entry in request.entries]


def _by_cases_only(request: Request) -> list[list[Box]]:
    raise Invalid("records that come and go: only sums over them, case by case, are checked")


SHAPES: dict[str, Shape] = {
    "linf": Shape(_linf, moves_one=False),
    "any_pair": Shape(_linf, moves_one=False),
    "monotone": Shape(_monotone, moves_one=False),
    "l1": Shape(_l1, moves_one=True, hull=True),
    "replace_one": Shape(_replace_one, moves_one=True, several_fields=True),
    "add_remove_one": Shape(
        _by_cases_only, moves_one=True, several_fields=True, changes_length=True
    ),
}
_OWN = frozenset(SHAPES)


def trust(name: str, shape: Shape) -> None:
    """Add a row. Whoever does so answers for it: each statement that rests on it says so."""
    need(name not in SHAPES, f"{name} is in the table already")
    SHAPES[name] = shape


@dataclass(frozen=True)
class Neighbours:
    name: str
    radius: Extended

    @property
    def shape(self) -> Shape:
        return SHAPES[self.name]

    @property
    def own(self) -> bool:
        """Whether the kernel itself knows it."""
        return self.name in _OWN

    def __str__(self) -> str:
        return self.name if self.radius == inf else f"{self.name}({self.radius})"


def read_adjacency(fields: Fields) -> Neighbours:
    name = fields.text("name")
    radius = extended(fields.take("radius"), "adjacency.radius")
    fields.done()
    need(name in SHAPES, f"adjacency.name: {name[:40]!r}")
    need(radius > 0, "adjacency.radius: not positive")
    return Neighbours(name, radius)


def faces(
    adjacency: Neighbours, data: PrivateData, noises: Noises, inputs: Sequence[str]
) -> list[list[dict[str, Interval]]]:
    """The components of the adjacency, on the inputs and on all that is derived from them."""
    shape, domain, radius = adjacency.shape, data.domain, adjacency.radius
    need(len(inputs) * domain.size <= MOST_POINTS, "too many data to be checked")
    need(domain.size == 1 or shape.several_fields, "fields move under replace_one alone")
    need(domain.size == 1 or radius == inf, "a radius is for entries of one number")
    if adjacency.name == "any_pair":
        need(radius == domain.width, "any_pair: the radius is not the domain's width")
    reach: tuple[Interval, ...] = ((-radius, radius),)
    if domain.ranges and radius == inf:
        reach = tuple((low - high, high - low) for low, high in domain.ranges)
    jumps = any(n.integral for n in noises.values()) or any(
        rule.kind == "indicator" for rule in data.derived.values()
    )
    one_step = domain.kind == "integers" and radius <= 1
    need(not (shape.hull and jumps) or one_step, "a hull of integers, or of steps")
    found = shape.boxes(Request([data.entry(q) for q in inputs], radius, reach))
    return [[data.widened(face, cut=not shape.hull) for face in group] for group in found]
