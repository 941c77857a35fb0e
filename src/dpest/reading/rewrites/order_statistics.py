"""Order statistics of a vector of any length: the greatest element, its place, its gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpest.reading.loops.lengths import unsupported
from dpest.reading.rewrites.named_values import named_values
from dpest.reading.tracing.symbolic import TracedReal

if TYPE_CHECKING:
    from dpest.reading.loops.any_length import TracedVector


@dataclass(frozen=True)
class Selected:
    """The place of the greatest (or least) element: np.argmax. It can only be released."""

    element: TracedReal
    least: bool

    def _unknown(self, *_: Any) -> Any:
        unsupported("anything but the release of the argmax")

    __index__ = __int__ = __float__ = __bool__ = __lt__ = __gt__ = _unknown

    def __add__(self, other: Any) -> Any:
        return self if type(other) is int and other == 0 else self._unknown()

    def item(self) -> Selected:
        return self

    def dpest_signature(self) -> Any:
        return ("selected", self.element.form, self.least)


@dataclass(frozen=True)
class TracedRank:
    """The greatest (rank 1), second greatest (2) or least (−1) element.

    Of noisy ones only the gap between the first two can be released.
    """

    vector: TracedVector
    rank: int

    def shared(self) -> TracedReal:
        """The greatest of the data themselves: it moves all elements alike, and must cancel."""
        values, element = named_values(), self.vector.element
        data = isinstance(element, TracedReal) and all(
            s.kind == "input" for s in element.form.terms
        )
        fits = data and element.form.terms and not self.vector.own and self.rank == 1
        if values is None or not fits:
            unsupported("the value of the greatest element")
        return TracedReal(values.greatest(element.form))

    def __neg__(self) -> Any:
        return -self.shared()

    def __add__(self, other: Any) -> Any:
        return self.shared() + other

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        return other * self.shared()

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self.shared() / other

    def __rsub__(self, other: Any) -> Any:
        return other - self.shared()

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, TracedRank):
            return self.shared() - other
        same = isinstance(other, TracedRank) and other.vector.element is self.vector.element
        if same and (self.rank, other.rank) == (1, 2):
            return TracedGap(self.vector)
        unsupported("this difference of order statistics")

    def item(self) -> TracedRank:
        return self

    def _unknown(self, *_: Any) -> Any:
        unsupported("the value of the greatest element")

    __float__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = __int__ = _unknown

    def dpest_signature(self) -> Any:
        return ("ranked", self.rank, self.vector.dpest_signature())


@dataclass(frozen=True)
class TracedGap:
    """The greatest element minus the second greatest. It can only be released."""

    vector: TracedVector

    def item(self) -> TracedGap:
        return self

    def _unknown(self, *_: Any) -> Any:
        unsupported("anything but the release of the gap")

    __add__ = __radd__ = __sub__ = __mul__ = __lt__ = __gt__ = __bool__ = _unknown

    def dpest_signature(self) -> Any:
        return ("gap", self.vector.dpest_signature())


@dataclass(frozen=True)
class Sorted:
    """All elements in order: only the two greatest can be taken."""

    vector: TracedVector
    descending: bool = False

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key == slice(None, None, -1):
            return Sorted(self.vector, not self.descending)
        ranks = {0: 1, 1: 2} if self.descending else {-1: 1, -2: 2}
        if isinstance(key, int) and key in ranks:
            return TracedRank(self.vector, ranks[key])
        unsupported("this order statistic")

    def dpest_signature(self) -> Any:
        return ("sorted", self.descending, self.vector.dpest_signature())


@dataclass(frozen=True)
class SortedPlaces:
    """The places of all elements, in the order of these: only the first or last can be taken."""

    element: TracedReal
    descending: bool = False

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key == slice(None, None, -1):
            return SortedPlaces(self.element, not self.descending)
        if isinstance(key, int) and key in (0, -1):
            return Selected(self.element, self.descending == (key == -1))
        unsupported("this entry of an order")

    def dpest_signature(self) -> Any:
        return ("sorted places", self.descending, self.element.form)


class Extreme:
    """The item of the greatest (or least) element, where items are (place, …): its place alone."""

    def __init__(self, place: Selected, at: int) -> None:
        self.place = place
        self.at = at

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and key == self.at:
            return self.place
        unsupported("the value of the greatest element")

    def __iter__(self) -> Any:
        yield from (self.place, Withheld()) if self.at == 0 else (Withheld(), self.place)


class Withheld:
    """A noisy value that was taken with its place, and must not be used."""

    def _used(self, *_: Any) -> Any:
        unsupported("the value of the greatest element")

    __add__ = __radd__ = __sub__ = __mul__ = __lt__ = __gt__ = __float__ = __bool__ = _used

    def dpest_signature(self) -> Any:
        return "withheld"


@dataclass(frozen=True)
class Others:
    """All elements but the greatest."""

    vector: TracedVector

    def max(self, axis: Any = None) -> TracedRank:
        return TracedRank(self.vector, 2)

    def dpest_signature(self) -> Any:
        return ("others", self.vector.dpest_signature())
