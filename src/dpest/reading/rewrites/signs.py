"""A fair sign times exponential noise is Laplace noise: which draws belong together.

They are found where a sign meets the noise in a product; and, where the sign was decided by an
`if`, in what came out: the noise stands there with both signs, beside a fair coin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.noise.bernoulli import Bernoulli
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.parameters import exact, is_number
from dpest.noise.uniform import Uniform
from dpest.reading.rewrites.readings import Curve, Plan, RereadError, Site, can_change
from dpest.reading.tracing.running import running

_HALF = Fraction(1, 2)
Sites = Mapping[Symbol, Site | None]


def signed(first: Form, second: Form) -> RereadError | None:
    """How a sign and an exponential noise have to be read for their product to be linear."""
    run: Any = running()
    plan: Plan | None = getattr(run, "plan", None)
    if plan is None or not getattr(run, "pairs", True):
        return None
    if len(first.terms) != 1 or len(second.terms) != 1 or second.constant:
        return None
    ((bit, step),) = first.terms.items()
    (size,) = second.terms
    if bit.kind != "indicator" or step + 2 * first.constant != 0:
        return None
    truth = run.defined(bit)
    if truth.condition is None or len(truth.condition.form.terms) != 1:
        return None
    (coin,) = truth.condition.form.terms
    noises = {s: noise for s in (coin, size) if (noise := run.noise_of(s)) is not None}
    return _paired(plan, noises, run.draw_sites, truth.condition, size)


def signs_among(
    plan: Plan,
    noises: Mapping[Symbol, Noise],
    sites: Sites,
    conditions: Iterable[Condition],
    released: Iterable[Form],
) -> Plan:
    """The plan with a pair in it that was missed, if there is one: a better one to read by."""
    sizes = [s for s, noise in noises.items() if isinstance(noise, Exponential)]
    if not sizes:
        return plan
    conditions = list(conditions)
    turned = _turned(sizes, [c.form for c in conditions], list(released))
    coins = [c for c in dict.fromkeys(conditions) if len(c.form.terms) == 1]
    found = plan
    for size in turned:
        site = sites.get(size)
        if site is None:
            continue
        by_distance = sorted(
            coins, key=lambda c: _distance(sites.get(next(iter(c.form.terms))), site)
        )
        for coin in by_distance:
            again = _paired(found, noises, sites, coin, size)
            if again is not None:
                found = again.added(found)
                break
    return found


def _distance(first: Site | None, second: Site) -> float:
    if first is None or first[0] != second[0]:
        return float("inf")
    return abs(first[1] - second[1])


def _turned(sizes: list[Symbol], conditions: list[Form], released: list[Form]) -> list[Symbol]:
    """The noises that stand with both signs: in what is released, or beside another symbol."""
    seen: dict[Symbol, set[tuple[Any, bool]]] = {s: set() for s in sizes}
    for form in released:
        for size in form.terms.keys() & seen.keys():
            seen[size].add((None, form.terms[size] > 0))
    for form in (*released, *conditions):
        for size in form.terms.keys() & seen.keys():
            for other, slope in form.terms.items():
                if other != size:
                    seen[size].add((other, (slope > 0) == (form.terms[size] > 0)))
    return [s for s, ways in seen.items() if any((beside, not way) in ways for beside, way in ways)]


def _paired(
    plan: Plan, noises: Mapping[Symbol, Noise], sites: Sites, condition: Condition, size: Symbol
) -> RereadError | None:
    """The reading of a coin and an exponential draw as one Laplace noise, if they are that."""
    (coin,) = condition.form.terms
    first, second = sites.get(coin), sites.get(size)
    sign, noise = noises.get(coin), noises.get(size)
    if first is None or second is None or first == second:
        return None
    if sign is None or not isinstance(noise, Exponential) or first in plan:
        return None
    before = plan.get(second)
    if not can_change(before) or not _is_fair(sign, condition):
        return None
    scale = noise.scale
    part = Curve("laplace", True, "exponential")
    if before is not None and before.kind == "exponential":
        part = before
    return RereadError(
        {
            first: Curve("laplace", True, sign.family, "sign", second, scale),
            second: replace(part, kind="laplace", part="size", partner=first, scale=scale),
        }
    )


def _is_fair(noise: Noise, condition: Condition) -> bool:
    """Whether the condition on one noise holds with probability 1/2."""
    ((_, slope),) = condition.form.terms.items()
    border = -condition.form.constant / slope
    if isinstance(noise, Bernoulli):
        return is_number(noise.p) and noise.p == _HALF and 0 < border < 1
    if not isinstance(noise, Uniform) or not (is_number(noise.low) and is_number(noise.high)):
        return False
    return 2 * border == exact(noise.low) + exact(noise.high)
