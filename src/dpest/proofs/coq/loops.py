"""Loops and sums over records as instances of `formal/Loop.v` and `formal/Sums.v`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.kernel.fields import Fields
from dpest.kernel.header import read_header
from dpest.kernel.rules.loop import moves_of, read
from dpest.proofs.coq.terms import (
    SymbolNumbers,
    boolean,
    either,
    is_integral,
    listed,
    noise_table,
    radius_of,
    rational,
    theorem,
)


def loop(certificate: Mapping[str, Any]) -> str:
    if "cases" in certificate:
        return _sums(certificate)
    near, groups = neighbours(certificate)
    moves = [[{"q": v} for v in values] for values, _ in groups]
    lines, total = _graph(certificate, ["q"], moves, "run_loop")
    tactics = [
        f"apply (loop_private cert{k} {_start(part)} {rational(certificate['epsilon'])});"
        f" [vm_compute; reflexivity | {lemma}; vm_compute; reflexivity | exact P]."
        for k, (part, (_, lemma)) in enumerate(zip(certificate["components"], groups, strict=True))
    ]
    proof = (
        tactics[0]
        if len(tactics) == 1
        else "apply private_or. " + " ".join(f"{{ {text} }}" for text in tactics)
    )
    return lines + theorem(certificate, near, [("", proof), *_mass(total, "loop_mass")])


def _sums(certificate: Mapping[str, Any]) -> str:
    """Sums over records: the data are what each record adds, and one record's part changes."""
    if certificate["steps"] != 1:
        raise RefusedError("the formalisation has no theorem for a replacement in two steps yet")
    fields = Fields(certificate, "certificate")
    fields.optional("digest")
    found = moves_of(read(read_header(fields), fields)[0])
    moves = [[{t: Fraction(v) for t, v in move.items()} for move in group] for group in found]
    added = {t for e in certificate["edges"] for terms in e["set"].values() for t in terms}
    data = sorted(t for t in added if t.startswith("t"))
    lines, total = _graph(certificate, data, moves, "run_sums")
    proof = (
        f"apply (sums_private cert0 {_start(certificate['components'][0])}"
        f" {rational(certificate['epsilon'])});"
        " [vm_compute; reflexivity | reflexivity | exact P]."
    )
    near = "(one_changed (hull cert0))"
    return lines + theorem(certificate, near, [("", proof), *_mass(total, "sums_mass")])


def _mass(total: bool, lemma: str) -> list[tuple[str, str]]:
    proof = f"apply {lemma}; [vm_compute; reflexivity | vm_compute; reflexivity | exact P]."
    return [("mass_one (run eps)", proof)] if total else []


def _graph(
    certificate: Mapping[str, Any],
    data: Sequence[str],
    moves: Sequence[Sequence[Mapping[str, Fraction]]],
    run: str,
) -> tuple[str, bool]:
    """The graph and the certificate's components; and whether it stops on data of every length."""
    nodes = sorted(node["id"] for node in certificate["nodes"])
    if nodes != list(range(len(nodes))):
        raise RefusedError("the nodes of the graph are not numbered in order")
    names = SymbolNumbers(
        data={name: i for i, name in enumerate(data)},
        noises={name: i for i, name in enumerate(certificate["noises"])},
        slots={
            slot: i
            for i, slot in enumerate(sorted({s for n in certificate["nodes"] for s in n["slots"]}))
        },
    )
    ranks, total = _ranks(certificate, len(nodes))
    lines = [
        f"Definition noises : noise_table := {noise_table(certificate)}.",
        f"Definition prog : program := {_program(certificate, names, len(nodes))}.",
        f"Definition ranks : list nat := {listed(map(str, ranks))}.",
        f"Definition run := {run} noises prog ranks {max(ranks)}.",
    ]
    lines += [
        _loop_certificate(certificate, names, k, part, corners)
        for k, (part, corners) in enumerate(zip(certificate["components"], moves, strict=True))
    ]
    return "\n".join(lines) + "\n", total


def _move(number: int) -> str:
    return "None" if number < 0 else f"(Some {number})"


def _start(part: Mapping[str, Any]) -> int:
    return [state["id"] for state in part["states"]].index(part["start"])


def neighbours(certificate: Mapping[str, Any]) -> tuple[str, list[tuple[list[Fraction], str]]]:
    """Who is a neighbour, and for each component its moves and the lemma about neighbours."""
    name, r = certificate["adjacency"]["name"], radius_of(certificate)
    q = rational(r)
    ranges = {"linf": [(-r, r)], "monotone": [(Fraction(0), r), (-r, Fraction(0))]}
    if name in ranges and is_integral(certificate):
        spans = ranges[name]
        near = [f"integers_near (Q2R {rational(a)}) (Q2R {rational(b)})" for a, b in spans]
        groups = [
            (
                [Fraction(v) for v in range(math.ceil(a), math.floor(b) + 1)],
                f"apply (integers_neighbours cert{k} {rational(a)} {rational(b)})",
            )
            for k, (a, b) in enumerate(spans)
        ]
    elif name in ranges:
        spans = ranges[name]
        near = [f"between (Q2R {rational(a)}) (Q2R {rational(b)})" for a, b in spans]
        groups = [
            (sorted({a, b}), f"apply (between_neighbours cert{k} {rational(a)} {rational(b)})")
            for k, (a, b) in enumerate(spans)
        ]
        if name == "linf":
            near = [f"linf (Q2R {q})"]
            groups = [(groups[0][0], f"apply (linf_neighbours cert0 {q})")]
    elif name in ("l1", "replace_one") and not is_integral(certificate):
        near = [f"{name} (Q2R {q})"]
        order = [r, -r] if name == "l1" else [-r, r]
        groups = [(order, f"apply ({name}_neighbours cert0 {q})")]
    else:
        raise RefusedError(f"the formalisation has no theorem for loops and {name} yet")
    if len(near) == 1:
        return f"({near[0]})", groups
    return either(n + " a b" for n in near), groups


def _program(certificate: Mapping[str, Any], names: SymbolNumbers, count: int) -> str:
    """The nodes in order, then the end (which the certificate calls -1)."""

    def group(node: int, reads: bool) -> str:
        edges = [
            (i, e)
            for i, e in enumerate(certificate["edges"])
            if e["from"] == node and e["reads"] is reads
        ]
        if not edges:
            return "None"
        draws = dict.fromkeys(names.noises[h] for _, e in edges for h in e["noise"])
        branches = [
            f"({names.path(e['if'])},\n      {_leaf(i, e, names, count)})" for i, e in edges
        ]
        return (
            f"(Some (Group {listed(map(str, draws))} {listed(branches, ';' + chr(10) + '     ')}))"
        )

    nodes = [f"Node {group(n, True)}\n    {group(n, False)}" for n in range(count)]
    return listed([*nodes, "Halt"], ";\n  ")


def _leaf(number: int, edge: Mapping[str, Any], names: SymbolNumbers, count: int) -> str:
    reals = iter(edge["real"])
    outs = [
        f"SNum {names.form(0, next(reals))}" if token is None else f"STok {names.token(token)}"
        for token in edge["release"]
    ]
    sets = listed(
        f"({names.slots[slot]}, {names.form(0, terms)})" for slot, terms in edge["set"].items()
    )
    target = count if edge["to"] == -1 else edge["to"]
    return f"Leaf {number} {target} {listed(outs)} {sets}"


def _ranks(certificate: Mapping[str, Any], count: int) -> tuple[list[int], bool]:
    """How many silent steps may follow at each node; and whether every node has one."""
    silent: dict[int, list[int]] = {}
    for edge in certificate["edges"]:
        if not edge["reads"]:
            silent.setdefault(edge["from"], []).append(edge["to"])
    ranks: dict[int, int] = {-1: 0}

    def rank(node: int, seen: frozenset[int]) -> int:
        if node in seen:
            raise RefusedError("silent steps of the graph may go on forever")
        if node not in ranks:
            after = [rank(n, seen | {node}) for n in silent.get(node, [])]
            ranks[node] = 1 + max(after, default=0)
        return ranks[node]

    found = [rank(n, frozenset()) for n in range(count)]
    return [*found, 0], all(n in silent for n in range(count))


def _loop_certificate(
    certificate: Mapping[str, Any],
    names: SymbolNumbers,
    number: int,
    part: Mapping[str, Any],
    moves: Sequence[Mapping[str, Fraction]],
) -> str:
    count = len(certificate["nodes"])
    order = {state["id"]: i for i, state in enumerate(part["states"])}
    slots = {n["id"]: [names.slots[s] for s in n["slots"]] for n in certificate["nodes"]}
    states = [
        f"AState {count if s['node'] == -1 else s['node']} {s['phase']} {rational(s['budget'])} "
        + names.values({names.slots[x]: v for x, v in s["difference"].items()})
        for s in part["states"]
    ]
    steps = [
        f"AStep {order[s['state']]} {s['edge']} "
        f"{_move(s['move'])} {order[s['next']]} "
        + names.values({names.noises[h]: v for h, v in s["shift"].items()})
        for s in part["steps"]
    ]
    one = certificate["adjacency"]["name"] in ("l1", "replace_one", "add_remove_one")
    gap = ";\n   "
    return (
        f"Definition cert{number} : cert := Cert prog"
        f" {listed(listed(map(str, slots[n])) for n in range(count))} noises {boolean(one)}\n"
        f"  {listed(names.values({names.data[k]: v for k, v in m.items()}) for m in moves)}\n"
        f"  {listed(states, gap)}\n  {listed(steps, gap)}."
    )
