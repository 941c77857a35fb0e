"""A model with noise that was made of draws: the noise in the place of the draws behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpest.geometry.linear import Form, Symbol
from dpest.reading.domains.numbers import Truth
from dpest.reading.machine.executor import Machine
from dpest.reading.model import Edge, Model


def with_made_noise(machine: Machine, model: Model) -> Model:
    """The same model; refuses where a draw behind made noise is used for anything else."""
    if not machine.has_made_noise:
        return model
    used = _used_symbols(machine, model.edges)
    behind = machine.draws_apart(used)
    made = {symbol: machine.made[symbol] for symbol in used if symbol in machine.made}
    noises = {symbol: noise for symbol, noise in model.noises.items() if symbol not in behind}
    return replace(
        model, noises=noises | {symbol: one.noise for symbol, one in made.items()}, made=made
    )


def _used_symbols(machine: Machine, edges: Sequence[Edge]) -> dict[Symbol, None]:
    """All symbols that something depends on: conditions, releases, and the truths in them."""
    found: dict[Symbol, None] = {}
    pending: list[Form] = []
    for edge in edges:
        assert edge.release is not None
        pending += [c.form for c in edge.conditions]
        pending += [leaf for leaf in edge.release.leaves if isinstance(leaf, Form)]
    for form in pending:
        for symbol in form.terms:
            if symbol not in found:
                found[symbol] = None
                if symbol.kind == "indicator":
                    pending += _forms_of(machine.definitions[symbol])
    return found


def _forms_of(truth: Truth) -> list[Form]:
    own = [] if truth.condition is None else [truth.condition.form]
    return own + [form for part in truth.parts for form in _forms_of(part)]
