"""From the graph of a function to what each of its releases asks of the noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.family import Noise
from dpest.proofs.alignments.alignment import AlignedNoise, Change, Kind, Problem
from dpest.reading.domains.unit import Complement, Unit
from dpest.reading.merged_states import MergedModel, MergedNode
from dpest.running.skeleton import unflatten

# What a proof asks of a shift, by what the family says that it costs.
_KINDS: dict[str, Kind] = {
    "absolute": "absolute",
    "one_sided": "upward",
    "upward": "upward",
    "square": "square",
}
_GEOMETRIC: dict[str, Kind] = {"geometric": "upward", "two_sided_geometric": "absolute"}


@dataclass(frozen=True)
class Rates:
    """The draws of a mechanism, their rates as multiples of unit^power."""

    draws: Mapping[Symbol, AlignedNoise]
    power: int


def draw_of(symbol: Symbol, noise: Noise) -> tuple[AlignedNoise, int | None]:
    """The proof rule of a noise and the power of the unit in its rate (None: no matter which)."""
    rule = noise.shift_cost
    chance = getattr(noise, "p", None)
    if noise.family in _GEOMETRIC and isinstance(chance, Complement):
        rate = -chance.exponent
        if rate.factor <= 0:
            raise RefusedError(
                f"the success probability of a geometric draw is negative: {noise!r}"
            )
        return AlignedNoise(_GEOMETRIC[noise.family], rate.factor, True, noise.family), rate.power
    if noise.family == "coin" or rule.kind == "none":
        # Both runs share its value: a draw that is not shifted costs nothing.
        return AlignedNoise("absolute", Fraction(0), False, noise.family), None
    rate = rule.rate
    if isinstance(rate, Unit):
        factor, power = rate.factor, rate.power
    else:
        try:
            factor, power = Fraction(rate), 0
        except (TypeError, ValueError):
            raise RefusedError(
                f"the scale of a {noise.family} draw depends on private data or on noise: "
                f"{noise!r}. Scales must be public: compute them from parameters alone."
            ) from None
    if factor <= 0:
        raise RefusedError(f"the scale of a {noise.family} draw is not positive: {noise!r}")
    kind = _KINDS[rule.kind]
    return AlignedNoise(kind, factor, rule.integral, noise.family, rule.attained), power


def rates(noises: Mapping[Symbol, Noise]) -> Rates:
    draws: dict[Symbol, AlignedNoise] = {}
    powers: dict[int, Symbol] = {}
    for symbol, noise in noises.items():
        draws[symbol], power = draw_of(symbol, noise)
        if power is not None and draws[symbol].kind != "square":
            powers.setdefault(power, symbol)
    if len(powers) > 1:
        shown = ", ".join(f"{noises[s]!r}" for s in powers.values())
        raise RefusedError(
            f"some scales are in units of eps and some are not: {shown}. Give eps a value "
            "(params={'eps': 0.1}, unit=None) to get an absolute bound."
        )
    return Rates(draws, next(iter(powers), 1))


def change_of(form: Form) -> Change:
    noise = {s: c for s, c in form.terms.items() if s.kind == "noise"}
    data = {s: c for s, c in form.terms.items() if s.kind == "input"}
    return Change(noise, data)


@dataclass(frozen=True)
class ReleaseRegion:
    """The set of noises that release one thing: conditions, and the released reals."""

    node: MergedNode
    conditions: tuple[Condition, ...]
    released: tuple[Form, ...]
    problem: Problem

    @property
    def seen(self) -> Any:
        """What an observer can tell apart without looking at real numbers."""
        assert self.node.release is not None
        return visible(*self.node.release)


class _AnyReal:
    """A released real in a text."""

    def __repr__(self) -> str:
        return "real"


def release_text(region: ReleaseRegion) -> str:
    """The release as Python writes it, `real` for a number that depends on the noise."""
    assert region.node.release is not None
    skeleton, leaves = region.node.release
    plain = [_AnyReal() if isinstance(v, Form) else v for v in leaves]
    return repr(unflatten(skeleton, plain))


def visible(skeleton: Any, leaves: Sequence[Any]) -> Any:
    return repr(skeleton), tuple(
        "real" if isinstance(v, Form) else (type(v).__name__, repr(v)) for v in leaves
    )


def regions(model: MergedModel, draws: Mapping[Symbol, AlignedNoise]) -> list[ReleaseRegion]:
    found = []
    for node in model.leaves:
        assert node.release is not None
        forms = tuple(v for v in node.release[1] if isinstance(v, Form))
        found.append(
            ReleaseRegion(node, node.known, forms, problem(node.known, forms, node.drawn, draws))
        )
    return found


def problem(
    conditions: Iterable[Condition],
    forms: Iterable[Form],
    drawn: Iterable[Symbol],
    draws: Mapping[Symbol, AlignedNoise],
) -> Problem:
    """Shift each noise that is drawn; those without a rule stay where they are."""
    keep = [change_of(c.form) for c in conditions]
    pin = [change_of(f) for f in forms]
    met = {s for change in (*keep, *pin) for s in change.noise}
    here = {s: draws[s] for s in sorted(met | set(drawn)) if s in met}
    fixed = {s for s, d in here.items() if not d.rate}
    pin += [Change({s: Fraction(1)}, {}) for s in sorted(fixed)]
    movable = {
        s: d if d.rate else AlignedNoise("absolute", Fraction(1), False, d.family)
        for s, d in here.items()
    }
    return Problem(movable, keep, pin)
