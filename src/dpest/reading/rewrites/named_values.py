"""Private numbers that are not linear in the data, each a symbol with a known meaning.

The greatest of all scores, e^score of the current element, a random share of the sum of all
weights. Comparisons stay linear in such symbols. What the comparisons amount to is found when the
graph of the loop is known (`rewrites.races`); a graph that holds one of them elsewhere is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpest.geometry.linear import Form, Symbol
from dpest.reading.tracing.running import has_run, running


@dataclass(frozen=True)
class Share:
    """A uniform draw times the sum of all weights (of all chances: 1, so that it is the draw)."""

    noise: Symbol
    weights: Any


@dataclass
class NamedValues:
    """What the symbols of one reading stand for. A symbol has one meaning, wherever it is met."""

    meanings: dict[Symbol, Any] = field(default_factory=dict)
    """A Form: the greatest of its values over all elements. A Weight, a Scaled, a Chance: of the
    current element. A Share: see there. A Left: how many candidates are left."""
    inversions: list[Symbol] = field(default_factory=list)
    """Uniform draws by which an element was found among running sums of weights."""
    _known: dict[Any, Symbol] = field(default_factory=dict)

    def symbol(self, key: Any, meaning: Any) -> Symbol:
        found = self._known.get(key)
        if found is None:
            found = Symbol("state", f"__value{len(self._known)}__")
            self._known[key] = found
            self.meanings[found] = meaning
        return found

    def greatest(self, form: Form) -> Form:
        """The greatest value of a form of an element's data, over all elements.

        max(a·f + b) is a·max(f) + b for a > 0: one symbol for all of these.
        """
        first = min(form.terms)
        scale = abs(form.terms[first])
        plain = Form(dict(form.terms)).times(1 / scale)
        symbol = self.symbol(("greatest", plain), plain)
        return Form({symbol: scale}, form.constant)

    def is_shared(self, symbol: Symbol) -> bool:
        """Whether it is one number for all elements."""
        return isinstance(self.meanings.get(symbol), (Form, Share))

    def among(self, forms: Any) -> set[Symbol]:
        """The symbols of this kind in some forms."""
        return {s for form in forms for s in form.terms if s in self.meanings}


def named_values() -> NamedValues | None:
    """Those of the run in progress; None where no loop over data of any length is read."""
    return getattr(running(), "values", None) if has_run() else None
