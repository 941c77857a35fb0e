"""An output of a traced function as its skeleton and leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpest.geometry.linear import Form, Symbol
from dpest.reading.tracing.running import has_run, running
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth
from dpest.running.skeleton import Leaf, Nest, Skeleton, flatten, leaf_kind


def released(value: Any) -> tuple[Skeleton, tuple[Any, ...]]:
    """The skeleton and the leaves: plain constants and Forms.

    A Form leaf has kind "real", or "int" where the function would release an integer, or "bool"
    where it would release a truth value; the latter is the indicator of that truth.
    """
    skeleton, leaves = flatten(value)
    plain = [_leaf(leaf) for leaf in leaves]
    if all(a is b for a, b in zip(plain, leaves, strict=True)):
        return skeleton, tuple(plain)
    kinds = iter(
        [
            leaf_kind(new) if not isinstance(new, Form) else leaf_kind(old)
            for new, old in zip(plain, leaves, strict=True)
        ]
    )
    return with_kinds(skeleton, kinds), tuple(plain)


def same_release(
    first: tuple[Skeleton, tuple[Any, ...]], second: tuple[Skeleton, tuple[Any, ...]]
) -> bool:
    return first[0] == second[0] and all(
        a is b or a == b or (a != a and b != b)  # NaN is released alike
        for a, b in zip(first[1], second[1], strict=True)
    )


def _leaf(leaf: Any) -> Any:
    if isinstance(leaf, TracedTruth):
        known = known_truth(leaf)
        return Form.of(running().indicator(leaf)) if known is None else known
    if isinstance(leaf, TracedReal):
        leaf = _with_known_bits(leaf)
        return leaf.form if leaf.form.terms else leaf.plain
    if isinstance(leaf, np.generic):
        return leaf.item()
    if isinstance(leaf, (set, frozenset)):
        return frozenset(leaf)
    return leaf


def known_truth(truth: TracedTruth) -> bool | None:
    """Its value, where the path has decided it."""
    implied = getattr(running(), "implied", None) if has_run() else None
    if implied is None:
        return None
    if truth.condition is not None:
        answer: bool | None = implied(truth.condition)
        return answer
    answers = [known_truth(part) for part in truth.parts]
    if (not truth.conjunction) in answers:
        return not truth.conjunction
    return truth.conjunction if None not in answers else None


def _with_known_bits(leaf: TracedReal) -> TracedReal:
    values = {}
    for symbol in leaf.form.symbols("indicator"):
        known = known_truth(running().defined(symbol))
        if known is not None:
            values[symbol] = Form.number(int(known))
    return TracedReal(leaf.form.substitute(values), leaf.integer) if values else leaf


def with_kinds(skeleton: Skeleton, kinds: Any) -> Skeleton:
    if isinstance(skeleton, Leaf):
        return Leaf(next(kinds))
    return Nest(
        skeleton.container,
        skeleton.keys,
        tuple(with_kinds(part, kinds) for part in skeleton.parts),
        skeleton.label,
    )


def with_bits(leaf: Any, kind: str, bits: Mapping[Symbol, int]) -> Any:
    """A leaf with its indicators replaced by their values."""
    if not isinstance(leaf, Form):
        return leaf
    form = leaf.substitute({s: Form.number(bits[s]) for s in leaf.terms if s in bits})
    if form.terms:
        return form
    if kind == "bool":
        return bool(form.constant)
    return TracedReal(form, kind == "int").plain
