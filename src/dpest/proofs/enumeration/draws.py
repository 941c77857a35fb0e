"""Draws whose chances are made of eps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.noise import Binomial, Categorical, bernoulli
from dpest.noise.parameters import is_number
from dpest.proofs.enumeration.ratios import Ratio
from dpest.reading.domains.numbers import Real
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Array, Method
from dpest.reading.table.generator import pool_of

if TYPE_CHECKING:
    from dpest.proofs.enumeration.machine import EnumeratingMachine

_MOST_COINS = 32


def _coin(m: EnumeratingMachine, rng: Any, p: Any, size: Any = None) -> Any:
    if size is not None:
        raise Refused("several coins at once")
    return m.coin(_chance(m, p))


def _binomial(m: EnumeratingMachine, rng: Any, n: Any, p: Any, size: Any = None) -> Any:
    if size is not None or type(n) is not int or not 0 < n <= _MOST_COINS:
        raise Refused("binomial draws whose chance is made of eps")
    chance = _chance(m, p)
    if n == 1:
        return int(m.coin(chance))
    noise = Binomial(n, chance)
    terms = [Ratio((1,))]
    for _ in range(n):
        stay, step = [*terms, Ratio(())], [Ratio(()), *terms]
        terms = [a * (1 - chance) + b * chance for a, b in zip(stay, step, strict=True)]
    return m.outcome(noise, list(enumerate(terms)))


def _choice(
    m: EnumeratingMachine, rng: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None
) -> Any:
    if size is not None:
        raise Refused("several choices whose chances are made of eps")
    pool = pool_of(m, a)
    chances = [_chance(m, value) for value in _values(m, p)]
    total = sum(chances, start=Ratio(()))
    if len(chances) != len(pool) or total != 1:
        raise Refused("chances of a choice that don't add up to one for every eps")
    if len(pool) == 2 and all(is_number(v) for v in pool):
        return pool[1] if m.coin(chances[1]) else pool[0]
    noise = Categorical(tuple(range(len(pool))), tuple(chances))
    return pool[m.outcome(noise, list(enumerate(chances)))]


def _values(m: EnumeratingMachine, values: Any) -> list[Any]:
    if isinstance(values, Array):
        return m.arrays.elements(m, values)
    return list(m.all_items(values, "the chances of a choice"))


def _chance(m: EnumeratingMachine, value: Any) -> Ratio:
    """A chance: between 0 and 1 for every eps."""
    if isinstance(value, Real) and m.in_eps(value.form):
        found = m.value_of(value.form)
    elif is_number(value):
        found = Ratio.of(value)
    else:
        raise Refused("a chance that depends on noise")
    if not m.is_chance(found):
        raise Refused("a chance that is not between 0 and 1 for every eps")
    return found


OF_EPS: dict[Any, Callable[..., Any]] = {
    bernoulli: _coin,
    **{Method(library, "binomial"): _binomial for library in ("generator", "state")},
    **{Method(library, "choice"): _choice for library in ("generator", "state")},
}


def made_of_eps(m: EnumeratingMachine, values: Any) -> bool:
    """Whether one of some arguments is a public number that is made of eps, or holds one."""
    for value in values:
        if isinstance(value, Real) and m.in_eps(value.form):
            return True
        parts = None
        if isinstance(value, Array):
            known = m.arrays.is_known(m, value)
            parts = None if known else m.arrays.elements(m, value)
        elif not isinstance(value, (str, bytes, np.ndarray)):
            parts = m.sequence(value)
        if parts and any(isinstance(v, Real) and m.in_eps(v.form) for v in parts):
            return True
    return False
