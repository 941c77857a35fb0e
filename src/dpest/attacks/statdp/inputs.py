"""Algorithm 4 of StatDP: pairs of inputs from the literature's patterns, and their arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.attacks.statdp.laboratory import InputCase, Laboratory
from dpest.errors import InputError

DEFAULT_LENGTHS = (5, 10)
_TRIED = 32


def generate_cases(
    target: Any,
    x: Any = None,
    x2: Any = None,
    *,
    adjacency: Any = None,
    domain: Any = None,
    length: int | Sequence[int] | None = None,
    params: Mapping[str, Any] | None = None,
    free: Sequence[str] = (),
) -> list[InputCase]:
    """The pairs to try, each with arguments for the parameters that are free.

    Without a pair: the seven patterns (eight pairs: all above and all below count as one), at
    every length, 5 and 10 by default, where domain and adjacency allow them. Of several lengths
    those after the first are left out where the function raises whenever it is called.
    """
    if (x is None) != (x2 is None):
        raise InputError("give both inputs of the pair, or none")
    pairs = (
        [InputCase(x, x2)]
        if x is not None
        else _patterns(target, adjacency=adjacency, domain=domain, length=length)
    )
    if hasattr(target, "draw"):
        return pairs
    mechanism = as_mechanism(target).with_params(params)
    pairs = _with_arguments(mechanism, pairs, free)
    refused = {
        n
        for n, case in {_length(case): case for case in reversed(pairs)}.items()
        if n != _length(pairs[0]) and _always_raises(mechanism, case)
    }
    return [case for case in pairs if _length(case) not in refused]


def _length(case: InputCase) -> int | None:
    return len(case.x) if hasattr(case.x, "__len__") else None


def _always_raises(mechanism: Mechanism, case: InputCase) -> bool:
    """Does every one of some runs raise, on both inputs?"""
    laboratory = Laboratory(mechanism, None, 0)
    for x in (case.x, case.x2):
        raised = laboratory.draw(case, x, _TRIED, 0).raised
        if raised is None or raised.count < _TRIED:
            return False
    return True


def _with_arguments(
    mechanism: Mechanism, pairs: list[InputCase], free: Sequence[str]
) -> list[InputCase]:
    from dpest.attacks.statdp.arguments import ArgumentGenerator

    generator = ArgumentGenerator(mechanism, free)
    if not generator.free:
        return pairs
    return [
        dataclasses.replace(case, arguments=generator.arguments(case.x, case.x2)) for case in pairs
    ]


def _patterns(
    target: Any, *, adjacency: Any, domain: Any, length: int | Sequence[int] | None
) -> list[InputCase]:
    from dpest.ask.adjacency import LInf, parse_adjacency
    from dpest.ask.domain_text import parse_domain
    from dpest.ask.domains import reals
    from dpest.ask.patterns import patterns

    rule = adjacency if adjacency is not None else getattr(target, "adjacency", None)
    rule = parse_adjacency(rule) if rule is not None else LInf()
    space = domain if domain is not None else getattr(target, "domain", None)
    space = parse_domain(space) if space is not None else reals()
    if length is None:
        fixed = getattr(space, "length", None)
        lengths: Sequence[int] = (fixed,) if isinstance(fixed, int) else DEFAULT_LENGTHS
    else:
        lengths = (length,) if isinstance(length, int) else tuple(length)
    found = [
        InputCase(a, b, {}, name)
        for n in lengths
        for name, a, b in patterns(rule, space.with_length(n), n, both_orders=False)
    ]
    if not found:
        raise InputError(
            f"no pattern of two neighbours fits the domain {space} under {rule}; give a pair"
        )
    return found
