"""A noisy value times a power of eps, in a proof that holds for every eps: `rng.laplace() / eps`.

Forms hold rational numbers alone. So the draw is read again, as noise N of scale c·eps^p divided by
that scale: where the function multiplies the scale back, N itself is left, a form like any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpest.geometry.linear import Form, Symbol
from dpest.noise.family import Noise
from dpest.noise.parameters import is_number
from dpest.reading.domains.unit import NO_VALUE, Unit
from dpest.reading.refusals import refuse, remembered
from dpest.reading.rewrites.readings import SCALED, Curve, Plan, RereadError, Site, scale_of
from dpest.reading.tracing.running import running
from dpest.reading.tracing.symbolic import TracedReal, as_real


class InUnits(TracedReal):
    """unit·inner, eps in the unit having no value."""

    __slots__ = ("inner", "unit")

    def __init__(self, unit: Unit, inner: TracedReal) -> None:
        self.unit = unit
        self.inner = inner
        self.integer = False
        self.numpy = inner.numpy

    @property
    def form(self) -> Form:  # type: ignore[override]
        again = _reread(self.unit, self.inner.form)
        if again is not None:
            raise remembered(again)
        refuse(
            f"a noisy value is combined with eps, {NO_VALUE}",
            "let eps scale the noise only, or give eps a value",
        )

    def noises(self, run: Any) -> set[Symbol]:
        return self.inner.noises(run)

    def retyped(self, numpy: bool | None) -> TracedReal:
        return InUnits(self.unit, self.inner.retyped(numpy))

    def dpest_signature(self) -> Any:
        from dpest.reading.tracing.states import signature

        return ("in units", self.unit, signature(self.inner))

    def _sum(self, other: Any, sign: int) -> Any:
        ratio = other.unit / self.unit if isinstance(other, InUnits) else None
        if ratio is None or isinstance(ratio, Unit):
            plain = TracedReal(self.form, False, self.numpy)
            return plain + other if sign == 1 else plain - other
        return in_units(self.unit, self.inner + other.inner * (sign * ratio))

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, InUnits):
            return in_units(self.unit * other.unit, self.inner * other.inner)
        if isinstance(other, Unit):
            return in_units(self.unit * other, self.inner)
        found = as_real(other)
        if found is NotImplemented or not isinstance(found, TracedReal):
            return NotImplemented
        return in_units(self.unit, self.inner * found)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, InUnits):
            return in_units(self.unit / other.unit, self.inner / other.inner)
        if isinstance(other, Unit):
            return in_units(self.unit / other, self.inner)
        return in_units(self.unit, self.inner / other)

    def __neg__(self) -> Any:
        return in_units(self.unit, -self.inner)

    def __abs__(self) -> Any:
        return in_units(abs(self.unit), abs(self.inner))

    def __repr__(self) -> str:
        return f"⟨{self.unit!r} times {self.inner!r}⟩"


def in_units(unit: Any, inner: Any) -> Any:
    """unit·inner: a plain value where eps has gone."""
    if not isinstance(unit, Unit):
        return inner * unit
    if not isinstance(inner, TracedReal):  # both noises have gone
        return unit * inner
    return InUnits(unit, inner)


def chosen_in_units(choose: Any, truth: Any, yes: Any, no: Any) -> Any:
    """np.where between two such values; None where one is something else."""
    if not isinstance(yes, InUnits) or not isinstance(no, InUnits):
        return None
    ratio = no.unit / yes.unit
    if isinstance(ratio, Unit):
        return None
    return in_units(yes.unit, choose(truth, yes.inner, no.inner * ratio))


def _reread(unit: Unit, form: Form) -> RereadError | None:
    """How the draws have to be read for unit·form to be a form, if it is of noises alone."""
    run: Any = running()
    plan: Plan | None = getattr(run, "plan", None)
    if plan is None or form.constant or not form.terms:
        return None
    scale = abs(unit) / abs(unit.factor)
    found: Plan = {}
    for symbol in form.terms:
        site: Site | None = run.draw_sites.get(symbol)
        noise: Noise | None = run.noise_of(symbol)
        curve = None if site is None or noise is None else _scaled(plan.get(site), noise, scale)
        if site is None or curve is None:
            return None
        found[site] = curve
        if curve.partner is not None:
            found[curve.partner] = replace(plan[curve.partner], scale=scale)
    return RereadError(found)


def _scaled(before: Curve | None, noise: Noise, scale: Any) -> Curve | None:
    """How a draw of standard noise is read with a scale."""
    if before is not None:
        standard = is_number(before.scale) and before.scale == 1 and before.kind != "geometric"
        return replace(before, scale=scale) if standard else None
    if noise.family not in SCALED or not is_number(scale_of(noise)):
        return None
    return Curve("scaled", True, noise.family, scale=scale)
