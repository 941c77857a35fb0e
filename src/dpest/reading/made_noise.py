"""A model with noise that was made of draws: the noise in the place of the draws behind it.

When all paths are known, draws are read again where that makes noise of them (`rewrites/draws`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpest.geometry.linear import Form
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.making import Made
from dpest.reading.model import Edge, Model
from dpest.reading.rewrites.draws.changes import ChangedWay
from dpest.reading.rewrites.draws.rereading import HeldWay, Rereading
from dpest.reading.rewrites.laws.protocol import drawn_in
from dpest.running.skeleton import seen_constant


def with_made_noise(machine: Machine, model: Model) -> Model:
    """The same model; refuses where a draw behind made noise is used for anything else."""
    paths = Rereading(machine, [_held(edge) for edge in model.edges], model.noises)
    shared = set(paths.cut_draws())
    machine.draws_apart(paths.used(), shared)
    paths.pair_signs()
    used = paths.used()
    behind = machine.draws_apart(used, shared)
    made = {symbol: machine.made[symbol] for symbol in used if symbol in machine.made}
    if not made:
        return model
    noises = {symbol: noise for symbol, noise in model.noises.items() if symbol not in behind}
    noises = {s: n for s, n in noises.items() if s not in shared or s in used}
    return replace(
        model,
        edges=[_edge(held) if paths.changed else held.owner for held in paths.held],
        noises=noises | {symbol: one.noise for symbol, one in made.items()},
        definitions=machine.definitions,
        notes=(*model.notes, *dict.fromkeys(note(machine, one) for one in made.values())),
        made=made,
    )


def note(machine: Machine, made: Made) -> str:
    """How draws were read, for people."""
    draws = (d for d in drawn_in(machine.written_out(made.expression)))
    drawn = " and ".join(dict.fromkeys(d.noise.family for d in draws))
    read = " and ".join(dict.fromkeys(noise.family for _, noise in made.law.terms))
    file, _, line = made.where.rpartition(":")
    place = f"{Path(file).name}:{line}: " if file else ""
    return f"{place}{drawn} draws are read as {read} noise"


def _held(edge: Edge) -> HeldWay:
    """A path as a way: its conditions, and the numbers that it releases."""
    release = edge.release
    assert release is not None
    forms = tuple(leaf for leaf in release.leaves if isinstance(leaf, Form))
    plain = tuple(seen_constant(v) for v in release.leaves if not isinstance(v, Form))
    rest = (release.skeleton, plain, release.raised, edge.draws, edge.picks)
    return HeldWay(ChangedWay(edge.conditions, forms), rest, edge)


def _edge(held: HeldWay) -> Edge:
    """The edge of a path, with what is known of it now."""
    edge: Edge = held.owner
    release = edge.release
    assert release is not None
    forms = iter(held.way.forms)
    leaves = tuple(next(forms) if isinstance(v, Form) else v for v in release.leaves)
    new = release._replace(leaves=leaves)
    return replace(edge, conditions=held.way.conditions, release=new)
