"""A certificate as an instance of the soundness theorem in `formal/`, for `coqc`.

The file that is written holds the program as a graph, the certificate, and a theorem about the
program whose proof is: the verified checker computes `true`. See docs/formal.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.kernel.fields import Fields
from dpest.kernel.header import read_header
from dpest.kernel.rules.loop import moves_of, read
from dpest.proofs.coq_tables import finite
from dpest.proofs.coq_terms import (
    FAMILIES,
    Names,
    boolean,
    comment,
    is_integral,
    listed,
    noise_table,
    rational,
)

HEADER = """From Coq Require Import Reals Lra List QArith Qreals.
From DP Require Import Noise Privacy Program NoiseTable Loop LoopChecker Draw Cells Adjacency
  Total Selection Certificate FiniteTable Sums.
Import ListNotations.
Open Scope nat_scope.
"""


def export(certificate: Mapping[str, Any]) -> str:
    """The instance, as the text of a Coq file; its last theorem is `is_private`."""
    method = certificate["method"]
    if method not in EXPORTS:
        raise RefusedError(f"the formalisation has no theorem for certificates by {method} yet")
    if certificate.get("derived"):
        raise RefusedError("the formalisation has no theorem for clipped data or indicators yet")
    if certificate.get("dead"):
        raise RefusedError("the formalisation has no theorem for branches that are never taken yet")
    body = EXPORTS[method](certificate)
    words = f"(** {comment(statement(certificate))} *)\n"
    return f"{words}{HEADER}\n{body}\nPrint Assumptions is_private.\n"


def statement(certificate: Mapping[str, Any]) -> str:
    """What the theorem of an instance says, in words."""
    unit = certificate["unit"]
    adjacency = certificate["adjacency"]
    every = f"for every {unit} > 0" if unit else "with its parameters"
    length = certificate["length"]
    lists = "lists of every length" if length == "any" else f"lists of length {length}"
    if "cases" in certificate:
        lists = "lists of what records add to its sums (an absent one adds 0)"
    if certificate["method"] == "finite":
        lists = f"its {len(certificate['tables'])} inputs"
    if certificate.get("exponential"):
        bound = f"ln({certificate['exponential']})"
    else:
        bound = certificate["epsilon"] + (f"*{unit}" if unit else "")
    return (
        f"{certificate['mechanism']} is {bound}-differentially private {every}: for all neighbours"
        f" ({adjacency['name']}, radius {adjacency['radius']}) among {lists} and all events of its"
        f" release. sha256 of its source: {certificate['sha256']}"
    )


def module_name(certificate: Mapping[str, Any]) -> str:
    """A name that Coq takes for a file: the mechanism's, in letters, digits and underscores."""
    name = re.sub(r"\W", "_", certificate["mechanism"], flags=re.ASCII) or "Instance"
    return name if name[0].isalpha() else f"C{name}"


def _radius(certificate: Mapping[str, Any]) -> Fraction:
    radius = certificate["adjacency"]["radius"]
    if radius == "inf":
        raise RefusedError("the formalisation has no theorem for neighbours without a radius yet")
    return Fraction(radius)


def _theorem(certificate: Mapping[str, Any], near: str, parts: Sequence[tuple[str, str]]) -> str:
    """`is_private`: each part is a conjunct and the tactics that prove it; the first is privacy."""
    quantified, start = (
        "let eps := 1%R in",
        "intros eps. assert (P : (0 < eps)%R) by (unfold eps; lra).",
    )
    if certificate["unit"]:
        quantified, start = "forall eps : R, (0 < eps)%R ->", "intros eps P."
    claims = [f"private {near} (eps * Q2R {rational(certificate['epsilon'])}) (run eps)"]
    claims += [claim for claim, _ in parts[1:]]
    several = len(parts) > 1
    proofs = "\n".join(f"  {'-' if several else ''} {tactics}" for _, tactics in parts)
    joined = " /\\\n  ".join(claims)
    opening = start + (" split." if several else "")
    return f"Theorem is_private : {quantified}\n  {joined}.\nProof.\n  {opening}\n{proofs}\nQed.\n"


def _either(relations: Iterable[str]) -> str:
    return "(fun a b => " + " \\/ ".join(relations) + ")"


# --- loops


def _loop(certificate: Mapping[str, Any]) -> str:
    if "cases" in certificate:
        return _sums(certificate)
    near, groups = _moves(certificate)
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
    return lines + _theorem(certificate, near, [("", proof), *_mass(total, "loop_mass")])


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
    return lines + _theorem(certificate, near, [("", proof), *_mass(total, "sums_mass")])


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
    names = Names(
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


def _moves(certificate: Mapping[str, Any]) -> tuple[str, list[tuple[list[Fraction], str]]]:
    """Who is a neighbour, and for each component its moves and the lemma about neighbours."""
    name, r = certificate["adjacency"]["name"], _radius(certificate)
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
    return _either(n + " a b" for n in near), groups


def _program(certificate: Mapping[str, Any], names: Names, count: int) -> str:
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


def _leaf(number: int, edge: Mapping[str, Any], names: Names, count: int) -> str:
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
    names: Names,
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


# --- fixed lengths


def _cells(certificate: Mapping[str, Any]) -> str:
    n = certificate["length"]
    names = Names(
        data={f"q{j}": j for j in range(n)},
        noises={name: i for i, name in enumerate(certificate["noises"])},
    )
    gap = ";\n   "
    near, components, lemmas = _cell_components(certificate)
    plans = [_plan(a, a["leaf"], names) for a in certificate["alignments"]]
    cells = (
        f"Cells {noise_table(certificate)} {listed(map(str, range(len(names.noises))))}\n"
        f"  {listed(_branches(certificate, names), gap)}\n"
        f"  {components}\n  {listed(plans, gap)}"
    )
    lines = [
        f"Definition mechanism : cells := {cells}.",
        "Definition run := run_cells mechanism.",
    ]
    tactics = [
        f"apply (cells_private mechanism {rational(certificate['epsilon'])});"
        f" [vm_compute; reflexivity | {lemma}; vm_compute; reflexivity | exact P]."
        for lemma in lemmas
    ]
    proof = (
        tactics[0]
        if len(tactics) == 1
        else "apply private_or. " + " ".join(f"{{ {text} }}" for text in tactics)
    )
    mass = (
        f"apply (cells_mass_one mechanism {rational(certificate['epsilon'])});"
        " [vm_compute; reflexivity | vm_compute; reflexivity | exact P]."
    )
    return (
        "\n".join(lines)
        + "\n"
        + _theorem(certificate, near, [("", proof), ("mass_one (run eps)", mass)])
    )


def _plan(given: Mapping[str, Any], leaf: int, names: Names) -> str:
    return (
        f"Plan {leaf} {given['component']} {names.box(given['face'])}"
        f" {names.shifts(given['shift'])} {names.shifts(given['bound'])}"
    )


def _cell_components(certificate: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    """Who is a neighbour, the faces of their differences, and the lemmas that connect the two."""
    name, r, n = certificate["adjacency"]["name"], _radius(certificate), certificate["length"]
    q = rational(r)
    if name == "linf":
        return (
            f"(of_length {n} mechanism (linf (Q2R {q})))",
            f"[[cube {rational(-r)} {q} {n}]]",
            [f"apply (linf_covered mechanism {q} {n})"],
        )
    if name == "monotone":
        spans = [(Fraction(0), r), (-r, Fraction(0))]
        near = [
            f"of_length {n} mechanism (between (Q2R {rational(a)}) (Q2R {rational(b)})) a b"
            for a, b in spans
        ]
        return (
            _either(near),
            listed(f"[cube {rational(a)} {rational(b)} {n}]" for a, b in spans),
            [
                f"apply (between_covered mechanism {rational(a)} {rational(b)} {n} {k})"
                for k, (a, b) in enumerate(spans)
            ],
        )
    if name == "l1":
        return (
            f"(of_length {n} mechanism (l1 (Q2R {q})))",
            f"[corners {q} {n}]",
            [f"apply (l1_covered mechanism {q} {n})"],
        )
    raise RefusedError(f"the formalisation has no theorem for fixed lengths and {name} yet")


def _branches(certificate: Mapping[str, Any], names: Names) -> list[str]:
    """The leaves of the decision tree with the answers on the way to them."""
    ways: dict[int, list[Any]] = {}
    for node in certificate["nodes"]:
        if len(node["in"]) > 1:
            raise RefusedError("the formalisation has no theorem for states that were merged yet")
        edge = node["in"][0] if node["in"] else {"from": None, "if": []}
        ways[node["id"]] = [*ways.get(edge["from"], []), *edge["if"]]
    found = []
    for leaf in certificate["leaves"]:
        outs = [f"STok {names.token(leaf['release'])}"]
        outs += [f"SNum {names.form(0, terms)}" for terms in leaf["real"]]
        path = names.path(ways[leaf["node"]])
        found.append(f"({path},\n    Leaf {leaf['node']} 0 {listed(outs)} [])")
    return found


# --- selection


def _selection(certificate: Mapping[str, Any]) -> str:
    element = {name: Fraction(value) for name, value in certificate["element"].items()}
    noises = list(certificate["noises"])
    if certificate["gap"] is not False:
        raise RefusedError("the formalisation has no theorem for a released gap yet")
    if len(noises) != 1 or set(element) != {"q", noises[0]} or is_integral(certificate):
        raise RefusedError("the formalisation selects among values a*q + b*h with one noise each")
    name, r, slope = certificate["adjacency"]["name"], _radius(certificate), element["q"]
    if name != "linf":
        raise RefusedError(f"the formalisation has no theorem for selection and {name} yet")
    family, scale = certificate["noises"][noises[0]]
    noise_table(certificate)
    names = Names(data={"q": 0, "m": 1}, noises={noises[0]: 0})
    low, high = sorted((-slope * r, slope * r))
    face = f"both {rational(-r)} {rational(r)} {rational(low)} {rational(high)}"
    plans = listed(_plan(a, 0, names) for a in certificate["alignments"])
    numbers = f"noise {rational(slope)} {rational(element[noises[0]])}"
    lines = [
        f"Definition noise : family * Q := ({FAMILIES[family]}, {rational(1 / Fraction(scale))}).",
        f"Definition plans : list plan := {plans}.",
        f"Definition run := run_selection {numbers}.",
    ]
    proof = (
        f"apply (selection_linf {numbers} {rational(r)} {rational(low)} {rational(high)}"
        f" [[{face}]] plans); [vm_compute; reflexivity | vm_compute; reflexivity"
        " | vm_compute; reflexivity | exact P]."
    )
    mass = "apply selection_mass_one; [vm_compute; reflexivity | exact P]."
    return (
        "\n".join(lines)
        + "\n"
        + _theorem(
            certificate, f"(linf (Q2R {rational(r)}))", [("", proof), ("mass_one (run eps)", mass)]
        )
    )


EXPORTS = {"loop": _loop, "cells": _cells, "selection": _selection, "finite": finite}
