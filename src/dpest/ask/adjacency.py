"""Adjacency: which two inputs are neighbours.

A number without its adjacency means nothing: PrefixSum leaks 0.1 under `l1` and 1.0 under `linf`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

from dpest.ask.entries import entries, is_real, same, short, vector
from dpest.errors import InputError, RefusedError

Box = tuple[tuple[Fraction, Fraction], ...]
Interval = tuple[Any, Any]
S = TypeVar("S", bound=Hashable)
T = TypeVar("T")


class MoveBuilder(Protocol[T]):
    """How a search writes down pairs of neighbours: the words that adjacencies speak in."""

    def moved(self, ends: tuple[float, float]) -> T:
        """Every entry moves within these ends."""
        ...

    def total(self, radius: float) -> T:
        """The entries move by at most so much in total."""
        ...

    def replaced(self, radius: float) -> list[T]:
        """One entry becomes another within the radius, at each place."""
        ...

    def added(self, radius: float) -> list[T]:
        """One entry of at most this absolute value is added, or removed."""
        ...

    def free(self) -> T:
        """Any two inputs."""
        ...


@dataclass(frozen=True)
class Adjacency:
    """A symmetric relation between inputs. `radius` bounds how far they differ."""

    radius: Any = 1
    name: ClassVar[str] = ""
    moves_one: ClassVar[bool] = False
    """Whether neighbours differ in one entry, or come to differ so one entry at a time (`l1`)."""
    changes_length: ClassVar[bool] = False
    """Whether neighbours have different lengths."""
    replaces: ClassVar[bool] = False
    """Whether one entry becomes another: then a proof may look at what one record adds."""
    spans_hull: ClassVar[bool] = False
    """Whether its faces are vertices of a convex hull, which no width of a clip may cut."""
    relates_all: ClassVar[bool] = False
    """Whether any two inputs are neighbours."""
    swaps_entries: ClassVar[bool] = False
    """Whether an entry becomes any other, is added or removed, and does not merely move."""

    def __post_init__(self) -> None:
        if self.radius is not None and not (is_real(self.radius) and 0 < self.radius < math.inf):
            raise InputError(f"the radius of {self.name} must be a positive number: {self.radius=}")

    def check(self, x: Any, x2: Any, domain: Any = None) -> None:
        """Raise InputError, saying which rule is broken, unless x and x2 are neighbours.

        The rounding of doubles is forgiven: a few units in the last place of the entries.
        """
        if domain is not None:
            domain.check(x, any_length=self.changes_length)
            domain.check(x2, any_length=self.changes_length)
            x, x2 = domain.check_pair(x, x2)
        else:  # without a domain nobody said that there may be NaN
            entries(x), entries(x2)
        self._check(x, x2)

    def _check(self, x: Any, x2: Any) -> None:
        raise NotImplementedError

    def holds(self, x: Any, x2: Any, domain: Any = None) -> bool:
        try:
            self.check(x, x2, domain)
        except InputError:
            return False
        return True

    def boxes(self, length: int, domain: Any = None) -> list[Box]:
        """Boxes of differences d = x2 - x, one (low, high) per coordinate, for proofs.

        They cover what a proof must cover, given that its cost is convex in d: the whole set for
        `linf` and `monotone`; for `l1` the vertices ±radius·e_j, whose convex hull is the ball.
        """
        raise InputError(
            f"inputs under {self.name} have no difference vector within fixed bounds; "
            "use linf, l1 or monotone, or a bounded domain"
        )

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        """The differences of neighbours, for proofs, on the symbols of each entry's fields.

        A list of components whose union covers all differences; each is the convex hull of its
        boxes. `radius` may be infinite; `reach` is how far each field of an entry may move.
        """
        raise RefusedError(f"no proof knows the adjacency {self.name}")

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        """The pairs of neighbours in the words of a builder, for a search over all of them."""
        return None

    def corners(self, length: int, limit: int = 64, domain: Any = None) -> list[tuple[float, ...]]:
        """Up to `limit` extreme differences, those that matter most often first."""
        return []

    def describe(self) -> str:
        """One plain sentence."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name if self.radius in (None, 1) else f"{self.name}:{self.radius:g}"

    def _exact_radius(self) -> Fraction:
        r = self.radius
        return Fraction(repr(float(r))) if isinstance(r, float) else Fraction(r)

    def _differences(self, x: Any, x2: Any) -> tuple[list[float], float]:
        a, b = vector(x), vector(x2)
        if len(a) != len(b):
            raise InputError(
                f"lengths differ ({len(a)} and {len(b)}): under {self.name} both inputs have the "
                "same length; only add_remove_one lets them differ by one"
            )
        if not a:
            raise InputError(
                f"empty inputs are not neighbours under {self.name}; only add_remove_one allows one"
            )
        if any(math.isinf(v) for v in (*a, *b)):
            raise InputError(f"an input is infinite: {short(x)}, {short(x2)}")
        slack = 1e-12 * (float(self.radius or 0) + max(map(abs, (*a, *b))))
        return [v - u for u, v in zip(a, b, strict=True)], slack


@dataclass(frozen=True)
class LInf(Adjacency):
    """Every entry may move by at most `radius`."""

    name: ClassVar[str] = "linf"

    def _check(self, x: Any, x2: Any) -> None:
        differences, slack = self._differences(x, x2)
        for i, d in enumerate(differences):
            if abs(d) > self.radius + slack:
                raise InputError(
                    f"not neighbours under linf with radius {self.radius}: entry {i} moves by {d:g}"
                )

    def boxes(self, length: int, domain: Any = None) -> list[Box]:
        r = self._exact_radius()
        return [((-r, r),) * length]

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        return [[_all_within(entries, (-radius, radius))]]

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        return [moves.moved((-float(self.radius), float(self.radius)))]

    def corners(self, length: int, limit: int = 64, domain: Any = None) -> list[tuple[float, ...]]:
        signs = itertools.islice(_sign_vectors(length), limit)
        return [tuple(float(self.radius) * s for s in vector) for vector in signs]

    def describe(self) -> str:
        return f"every entry may move by at most {self.radius:g} (L∞)"


@dataclass(frozen=True)
class L1(Adjacency):
    """The entries move by at most `radius` in total."""

    name: ClassVar[str] = "l1"
    moves_one: ClassVar[bool] = True
    spans_hull: ClassVar[bool] = True

    def _check(self, x: Any, x2: Any) -> None:
        differences, slack = self._differences(x, x2)
        moved = math.fsum(map(abs, differences))
        if moved > self.radius + slack * len(differences):
            raise InputError(
                f"not neighbours under l1 with radius {self.radius}: the entries move by {moved:g} "
                "in total"
            )

    def boxes(self, length: int, domain: Any = None) -> list[Box]:
        r, zero = self._exact_radius(), Fraction(0)
        return [
            tuple((sign * r, sign * r) if i == j else (zero, zero) for i in range(length))
            for j in range(length)
            for sign in (1, -1)
        ]

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        return [[{entry[0]: (v, v)} for entry in entries for v in (radius, -radius)]]

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        return [moves.total(float(self.radius))]

    def corners(self, length: int, limit: int = 64, domain: Any = None) -> list[tuple[float, ...]]:
        r = float(self.radius)
        every = [
            tuple(sign * r if i == j else 0.0 for i in range(length))
            for j in _ends_first(length)
            for sign in (1, -1)
        ]
        return every[:limit]

    def describe(self) -> str:
        return f"the entries move by at most {self.radius:g} in total (L1)"


@dataclass(frozen=True)
class Monotone(Adjacency):
    """All differences lie in [0, radius], or all in [-radius, 0]."""

    name: ClassVar[str] = "monotone"

    def _check(self, x: Any, x2: Any) -> None:
        differences, slack = self._differences(x, x2)
        up = [i for i, d in enumerate(differences) if d > slack]
        down = [i for i, d in enumerate(differences) if d < -slack]
        if up and down:
            raise InputError(
                f"not neighbours under monotone: entry {up[0]} goes up and entry {down[0]} down"
            )
        for i, d in enumerate(differences):
            if abs(d) > self.radius + slack:
                raise InputError(
                    f"not neighbours under monotone with radius {self.radius}: entry {i} moves by "
                    f"{d:g}"
                )

    def boxes(self, length: int, domain: Any = None) -> list[Box]:
        r, zero = self._exact_radius(), Fraction(0)
        return [((zero, r),) * length, ((-r, zero),) * length]

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        zero = Fraction(0)
        ways = ((zero, radius), (-radius, zero))
        return [[_all_within(entries, way)] for way in ways]

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        r = float(self.radius)
        return [moves.moved((0.0, r)), moves.moved((-r, 0.0))]

    def corners(self, length: int, limit: int = 64, domain: Any = None) -> list[tuple[float, ...]]:
        found: dict[tuple[float, ...], None] = {}
        for signs in _sign_vectors(length):
            for sign in (1, -1):
                one_way = tuple(float(sign * self.radius) if s > 0 else 0.0 for s in signs)
                if any(one_way):
                    found[one_way] = None
            if len(found) >= limit:
                break
        return list(found)[:limit]

    def describe(self) -> str:
        return (
            f"all entries move up by at most {self.radius:g}, or all move down by at most "
            f"{self.radius:g} (monotone)"
        )


@dataclass(frozen=True)
class ReplaceOne(Adjacency):
    """One entry is replaced by another; by anything in the domain if `radius` is None."""

    radius: Any = None
    name: ClassVar[str] = "replace_one"
    replaces: ClassVar[bool] = True
    swaps_entries: ClassVar[bool] = True
    moves_one: ClassVar[bool] = True

    def _check(self, x: Any, x2: Any) -> None:
        a, b = entries(x, nan=True), entries(x2, nan=True)
        if len(a) != len(b):
            raise InputError(
                f"lengths differ ({len(a)} and {len(b)}): replace_one replaces an entry; "
                "add_remove_one lets lengths differ by one"
            )
        pairs = enumerate(zip(a, b, strict=True))
        changed = [i for i, (u, v) in pairs if u is not v and not same(u, v)]
        if len(changed) > 1:
            raise InputError(
                f"not neighbours under replace_one: entries {changed[0]} and {changed[1]} differ"
            )
        if changed and self.radius is not None:
            u, v = a[changed[0]], b[changed[0]]
            if not (is_real(u) and is_real(v)):
                raise InputError(
                    f"replace_one with a radius needs numbers; entry {changed[0]} is {short(u)}"
                )
            if abs(v - u) > self.radius + 1e-12 * (self.radius + max(abs(u), abs(v))):
                raise InputError(
                    f"not neighbours under replace_one with radius {self.radius}: entry "
                    f"{changed[0]} moves by {v - u:g}"
                )

    def boxes(self, length: int, domain: Any = None) -> list[Box]:
        reach = self._reach(domain)
        if reach is None:
            return super().boxes(length, domain)
        zero = Fraction(0)
        return [
            tuple((-reach, reach) if i == j else (zero, zero) for i in range(length))
            for j in range(length)
        ]

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        return [[dict(zip(entry, reach, strict=True))] for entry in entries]

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        return moves.replaced(math.inf if self.radius is None else float(self.radius))

    def _reach(self, domain: Any) -> Fraction | None:
        width = getattr(domain, "width", None)
        bounds = [Fraction(repr(float(width)))] if width is not None and width < math.inf else []
        if self.radius is not None:
            bounds.append(self._exact_radius())
        return min(bounds, default=None)

    def corners(self, length: int, limit: int = 64, domain: Any = None) -> list[tuple[float, ...]]:
        reach = self._reach(domain)
        return L1(float(reach)).corners(length, limit) if reach else []

    def describe(self) -> str:
        if self.radius is None:
            return "one entry is replaced by any other of the domain"
        return f"one entry is replaced by another that differs from it by at most {self.radius:g}"


@dataclass(frozen=True)
class AddRemoveOne(Adjacency):
    """One entry is added or removed, anywhere; with a radius r its value lies in [-r, r]."""

    radius: Any = None
    name: ClassVar[str] = "add_remove_one"
    swaps_entries: ClassVar[bool] = True
    moves_one: ClassVar[bool] = True
    changes_length: ClassVar[bool] = True

    def _check(self, x: Any, x2: Any) -> None:
        a, b = entries(x, nan=True), entries(x2, nan=True)
        if abs(len(a) - len(b)) != 1:
            if len(a) == len(b) and all(same(u, v) for u, v in zip(a, b, strict=True)):
                return
            raise InputError(
                "not neighbours under add_remove_one: lengths must differ by one, they are "
                f"{len(a)} and {len(b)}"
            )
        small, large = (a, b) if len(a) < len(b) else (b, a)
        at = next((i for i, u in enumerate(small) if not same(u, large[i])), len(small))
        if any(not same(u, v) for u, v in zip(small[at:], large[at + 1 :], strict=True)):
            raise InputError(
                "not neighbours under add_remove_one: the shorter input is not the longer one "
                "without an entry"
            )
        added = large[at]
        if self.radius is not None and not (is_real(added) and abs(added) <= self.radius):
            raise InputError(
                f"not neighbours under add_remove_one with radius {self.radius}: the entry "
                f"{short(added)} is not a number in [-{self.radius:g}, {self.radius:g}]"
            )

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        raise RefusedError(
            "records that come and go (add_remove_one): only sums over them are proved, with noise "
            "added afterwards"
        )

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        return moves.added(math.inf if self.radius is None else float(self.radius))

    def describe(self) -> str:
        entry = (
            "" if self.radius is None else f" with a value in [-{self.radius:g}, {self.radius:g}]"
        )
        return f"one entry{entry} is added or removed, so that the lengths differ by one"


@dataclass(frozen=True)
class AnyPair(Adjacency):
    """Any two inputs of the domain are neighbours (local privacy)."""

    radius: Any = None
    name: ClassVar[str] = "any_pair"
    relates_all: ClassVar[bool] = True

    def _check(self, x: Any, x2: Any) -> None:
        a, b = entries(x, nan=True), entries(x2, nan=True)
        if len(a) != len(b):
            raise InputError(
                f"lengths differ ({len(a)} and {len(b)}): only add_remove_one lets them differ"
            )

    def boxes(self, length: int, domain: Any = None) -> list[Box]:
        width = getattr(domain, "width", math.inf)
        if not width < math.inf:
            return super().boxes(length, domain)
        reach = Fraction(repr(float(width)))
        return [((-reach, reach),) * length]

    def faces(
        self, entries: Sequence[Sequence[S]], radius: Any, reach: Sequence[Interval]
    ) -> list[list[dict[S, Interval]]]:
        return [[_all_within(entries, (-radius, radius))]]

    def differences(self, moves: MoveBuilder[T]) -> list[T] | None:
        return [moves.free()]

    def corners(self, length: int, limit: int = 64, domain: Any = None) -> list[tuple[float, ...]]:
        width = getattr(domain, "width", math.inf)
        return LInf(width).corners(length, limit) if 0 < width < math.inf else []

    def describe(self) -> str:
        return "any two inputs of the domain are neighbours"


def _all_within(entries: Sequence[Sequence[S]], interval: Interval) -> dict[S, Interval]:
    return {symbol: interval for entry in entries for symbol in entry}


def _ends_first(length: int) -> list[int]:
    """Positions from both ends inwards: sequential mechanisms are worst at an end."""
    order = []
    for i in range((length + 1) // 2):
        order.append(i)
        if length - 1 - i != i:
            order.append(length - 1 - i)
    return order


def _sign_vectors(length: int) -> Iterator[tuple[int, ...]]:
    """All of {-1, 1}^length: blocks and single turns first, as far as anyone will read."""
    seen: set[tuple[int, ...]] = set()

    def fresh(candidates: Iterator[list[int]]) -> Iterator[tuple[int, ...]]:
        for candidate in candidates:
            for sign in (1, -1):
                signs = tuple(sign * s for s in candidate)
                if signs not in seen:
                    seen.add(signs)
                    yield signs

    def one_turned() -> Iterator[list[int]]:
        for j in reversed(_ends_first(length)):
            yield [-1 if i == j else 1 for i in range(length)]

    def first() -> Iterator[list[int]]:
        yield [1] * (length - 1) + [-1]
        yield [1] * length
        yield [1] * (length // 2) + [-1] * (length - length // 2)
        yield [-1] + [1] * (length - 1)
        yield [1 if i % 2 == 0 else -1 for i in range(length)]

    def blocks() -> Iterator[list[int]]:
        # A mechanism that stops after c hits is worst where the last c queries go the other way.
        for k in reversed(range(1, length)):
            yield [1] * k + [-1] * (length - k)

    yield from fresh(first())
    yield from fresh(blocks())
    yield from fresh(one_turned())
    yield from fresh(list(s) for s in itertools.product((1, -1), repeat=length))


def linf(radius: Any = 1) -> Adjacency:
    """Every entry may move by at most `radius`."""
    return LInf(radius)


def l1(radius: Any = 1) -> Adjacency:
    """The entries move by at most `radius` in total ("one entry differs")."""
    return L1(radius)


def monotone(radius: Any = 1) -> Adjacency:
    """All differences in [0, radius], or all in [-radius, 0]."""
    return Monotone(radius)


def replace_one(radius: Any = None) -> Adjacency:
    """One entry is replaced, by anything in the domain or within `radius`."""
    return ReplaceOne(radius)


def add_remove_one(radius: Any = None) -> Adjacency:
    """One entry (of absolute value at most `radius`) is added or removed."""
    return AddRemoveOne(radius)


def any_pair() -> Adjacency:
    """Any two inputs of the domain."""
    return AnyPair()


_RULES: dict[str, type[Adjacency]] = {
    rule.name: rule for rule in (LInf, L1, Monotone, ReplaceOne, AddRemoveOne, AnyPair)
}


def register(rule: type[Adjacency]) -> type[Adjacency]:
    """Put an adjacency of your own on the list (a decorator): then its name is known everywhere.

    For proofs the kernel needs a row of its own (`dpest.kernel.adjacency.trust`).
    """
    if _RULES.setdefault(rule.name, rule) is not rule:
        raise InputError(f"there is an adjacency called {rule.name!r} already")
    return rule


def parse_adjacency(text: str | Adjacency) -> Adjacency:
    """An adjacency from text: "linf", "l1:2", "replace_one:1", "add_remove_one", "any_pair", …

    >>> parse_adjacency("linf:2").radius
    2.0
    """
    if isinstance(text, Adjacency):
        return text
    name, colon, radius = str(text).partition(":")
    name = name.strip().lower().replace("-", "_").replace("∞", "inf")
    rule = _RULES.get(name)
    if rule is None:
        raise InputError(f"unknown adjacency {text!r}; choose one of {', '.join(_RULES)}")
    if not colon:
        return rule()
    if rule.relates_all:
        raise InputError(f"any_pair takes no radius: {text!r}")
    try:
        return rule(float(radius))
    except ValueError:
        raise InputError(f"the radius in {text!r} is not a positive number") from None
