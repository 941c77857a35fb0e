"""Fixed lengths as instances of `formal/Cells.v`, `formal/View.v` and `formal/Square.v`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.proofs.coq.terms import (
    SymbolNumbers,
    either,
    is_integral,
    listed,
    noise_table,
    power_of,
    radius_of,
    rational,
    theorem,
    unit_text,
)

_GAP = ";\n   "
_MOST_WAYS = 5_000
"""More ways through a program with merged states than this are not written down."""


def cells(certificate: Mapping[str, Any]) -> str:
    """A program whose shift may differ from cell to cell of its noise."""
    if merges_or_clips(certificate):
        return _viewed(certificate)
    bound = rational(certificate["epsilon"])
    near, components, lemmas = cell_neighbours(certificate, "mechanism")
    names = _names(certificate, [f"q{j}" for j in range(certificate["length"])])
    lines = (
        f"Definition mechanism : cells := {_cells(certificate, names, components)}.\n"
        "Definition run := run_cells mechanism.\n"
    )
    tactics = [
        f"apply (cells_private mechanism {bound});"
        f" [vm_compute; reflexivity | {lemma}; vm_compute; reflexivity | exact P]."
        for lemma in lemmas
    ]
    mass = (
        f"apply (cells_mass_one mechanism {bound});"
        " [vm_compute; reflexivity | vm_compute; reflexivity | exact P]."
    )
    parts = [("", _one_or_either(tactics, "private_or")), ("mass_one (run eps)", mass)]
    return lines + theorem(certificate, near, parts)


def plan(given: Mapping[str, Any], leaf: int, names: SymbolNumbers) -> str:
    return (
        f"Plan {leaf} {given['component']} {names.box(given['face'])}"
        f" {names.shifts(given['shift'])} {names.shifts(given['bound'])}"
    )


def cell_neighbours(certificate: Mapping[str, Any], mechanism: str) -> tuple[str, str, list[str]]:
    """Who is a neighbour, the faces of their differences, and the lemmas that connect the two."""
    name, r, n = certificate["adjacency"]["name"], radius_of(certificate), certificate["length"]
    q = rational(r)
    if name == "linf":
        return (
            f"(of_length {n} {mechanism} (linf (Q2R {q})))",
            f"[[cube {rational(-r)} {q} {n}]]",
            [f"apply (linf_covered {mechanism} {q} {n})"],
        )
    if name == "monotone":
        spans = [(Fraction(0), r), (-r, Fraction(0))]
        near = [
            f"of_length {n} {mechanism} (between (Q2R {rational(a)}) (Q2R {rational(b)})) a b"
            for a, b in spans
        ]
        return (
            either(near),
            listed(f"[cube {rational(a)} {rational(b)} {n}]" for a, b in spans),
            [
                f"apply (between_covered {mechanism} {rational(a)} {rational(b)} {n} {k})"
                for k, (a, b) in enumerate(spans)
            ],
        )
    if name == "l1":
        return (
            f"(of_length {n} {mechanism} (l1 (Q2R {q})))",
            f"[corners {q} {n}]",
            [f"apply (l1_covered {mechanism} {q} {n})"],
        )
    raise RefusedError(f"the formalisation has no theorem for fixed lengths and {name} yet")


def _one_or_either(tactics: Sequence[str], lemma: str) -> str:
    if len(tactics) == 1:
        return tactics[0]
    return f"apply {lemma}. " + " ".join(f"{{ {text} }}" for text in tactics)


def _names(certificate: Mapping[str, Any], data: Sequence[str]) -> SymbolNumbers:
    return SymbolNumbers(
        data={symbol: place for place, symbol in enumerate(data)},
        noises={name: place for place, name in enumerate(certificate["noises"])},
    )


def _cells(certificate: Mapping[str, Any], names: SymbolNumbers, components: str) -> str:
    plans = (plan(a, a["leaf"], names) for a in certificate["alignments"])
    return (
        f"Cells {noise_table(certificate)} {listed(map(str, range(len(names.noises))))}\n"
        f"  {listed(_branches(certificate, names), _GAP)}\n"
        f"  {components}\n  {listed(plans, _GAP)}"
    )


def _branches(certificate: Mapping[str, Any], names: SymbolNumbers) -> list[str]:
    """The leaves of the decision tree with the answers that are known there."""
    known = {node: way.known for node, way in _walk(certificate).items()}
    found = []
    for leaf in certificate["leaves"]:
        outs = [f"STok {names.token(leaf['release'])}"]
        outs += [f"SNum {names.form(0, terms)}" for terms in leaf["real"]]
        path = names.path(known[leaf["node"]])
        found.append(f"({path},\n    Leaf {leaf['node']} 0 {listed(outs)} [])")
    return found


# --- ways through the program


@dataclass(frozen=True)
class _Node:
    """All ways to a node, each with its answers; and what is known there: less where ways meet."""

    ways: list[list[Any]]
    known: list[Any]


def _walk(certificate: Mapping[str, Any]) -> dict[int, _Node]:
    found: dict[int, _Node] = {}
    for node in certificate["nodes"]:
        entries = node["in"]
        ways = [[*way, *edge["if"]] for edge in entries for way in found[edge["from"]].ways]
        if len(ways) > _MOST_WAYS:
            raise RefusedError("the program has too many ways for the formalisation")
        if not entries:
            found[node["id"]] = _Node([[]], [])
        elif len(entries) == 1:
            before = found[entries[0]["from"]].known
            found[node["id"]] = _Node(ways, [*before, *entries[0]["if"]])
        else:
            found[node["id"]] = _Node(ways, list(node["invariant"]))
    return found


# --- clipped data and merged states


def merges_or_clips(certificate: Mapping[str, Any]) -> bool:
    merged = any(len(node["in"]) > 1 for node in certificate["nodes"])
    return merged or bool(certificate["derived"])


def _viewed(certificate: Mapping[str, Any]) -> str:
    """Data are read through clips; the ways of the program are written down one by one."""
    if is_integral(certificate):
        raise RefusedError("the formalisation clips data and merges states of real noise only")
    clipped = bool(certificate["derived"])
    symbols = _used(certificate) if clipped else [f"q{j}" for j in range(certificate["length"])]
    names = _names(certificate, symbols)
    near, components, lemmas = _view_neighbours(certificate, clipped)
    views = _views(certificate, symbols) if clipped else f"map Entry (seq 0 {len(symbols)})"
    bound = rational(certificate["epsilon"])
    lines = (
        f"Definition views : list view := {views}.\n"
        f"Definition mechanism : cells := {_cells(certificate, names, components)}.\n"
        f"Definition fine : list (path * nat) := {_fine(certificate, names)}.\n"
        "Definition run := run_view mechanism views fine.\n"
    )
    checks = "vm_compute; reflexivity | vm_compute; reflexivity"
    tactics = [
        f"apply (view_private mechanism views fine {bound}); [{checks}"
        f" | {lemma}; vm_compute; reflexivity | exact P]."
        for lemma in lemmas
    ]
    mass = f"apply (view_mass mechanism views fine {bound}); [{checks} | exact P]."
    parts = [("", _one_or_either(tactics, "private_or")), ("mass_one (run eps)", mass)]
    return lines + theorem(certificate, near, parts)


def _used(certificate: Mapping[str, Any]) -> list[str]:
    """The entries and clips that the program itself looks at."""
    forms = [terms for leaf in certificate["leaves"] for terms in leaf["real"]]
    for node in certificate["nodes"]:
        for decided in (d for edge in node["in"] for d in edge["if"]):
            forms += (
                [terms for _, terms in decided[1]] if decided[0] == "greatest" else [decided[1]]
            )
    found = {symbol for terms in forms for symbol in terms} - set(certificate["noises"])
    return sorted(found, key=lambda symbol: (symbol[0] != "q", int(symbol[1:])))


def _views(certificate: Mapping[str, Any], symbols: Sequence[str]) -> str:
    return listed(_view(symbol, certificate["derived"]) for symbol in symbols)


def _view(symbol: str, derived: Mapping[str, Any]) -> str:
    if symbol not in derived:
        return f"Entry {int(symbol[1:])}"
    rule = derived[symbol]
    if rule["kind"] != "clip" or not all(entry.startswith("q") for entry in rule["of"]):
        raise RefusedError("the formalisation has no theorem for indicators or clips of clips yet")
    form = listed(f"({int(entry[1:])}, {rational(c)})" for entry, c in sorted(rule["of"].items()))
    ends = " ".join("None" if end is None else f"(Some {rational(end)})" for end in rule["ends"])
    return f"Clip {form} {ends}"


def _fine(certificate: Mapping[str, Any], names: SymbolNumbers) -> str:
    walk = _walk(certificate)
    return listed(
        (
            f"({names.path(way)}, {place})"
            for place, leaf in enumerate(certificate["leaves"])
            for way in walk[leaf["node"]].ways
        ),
        _GAP,
    )


def _view_neighbours(certificate: Mapping[str, Any], clipped: bool) -> tuple[str, str, list[str]]:
    name, n = certificate["adjacency"]["name"], certificate["length"]
    if not clipped:
        return _entry_neighbours(certificate)
    if name == "l1":
        q = rational(radius_of(certificate))
        near = f"(long {n} (l1 (Q2R {q})))"
        return near, f"[seen_corners views {q} {n}]", [f"apply (l1_view mechanism views {q} {n})"]
    if name == "replace_one":
        radius = certificate["adjacency"]["radius"]
        r = "None" if radius == "inf" else f"(Some {rational(radius)})"
        return (
            f"(long {n} (one_entry (option_map Q2R {r})))",
            f"(map (fun j => [swing_box views {r} j]) (seq 0 {n}))",
            [f"apply (one_entry_view mechanism views {r} {n})"],
        )
    raise RefusedError(f"the formalisation has no theorem for clipped data and {name} yet")


def _entry_neighbours(certificate: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    """The same as without merged states, said of views that clip nothing."""
    name, n = certificate["adjacency"]["name"], certificate["length"]
    if name not in ("linf", "l1"):
        raise RefusedError(f"the formalisation has no theorem for merged states and {name} yet")
    q = rational(radius_of(certificate))
    _, components, lemmas = cell_neighbours(certificate, "mechanism")
    near = f"(of_length {n} mechanism (fun a b => length a = length b /\\ {name} (Q2R {q}) a b))"
    return near, components, [f"apply entries_view; {lemma}" for lemma in lemmas]


# --- Gaussian noise


_GAUSSIAN = {"gaussian": False, "discrete_gaussian": True}


def square(certificate: Mapping[str, Any]) -> str:
    """Gaussian noise that one linear shift moves, the same wherever the noise lies."""
    families = {family for family, _ in certificate["noises"].values()}
    if len(families) != 1 or not families <= _GAUSSIAN.keys():
        raise RefusedError("the formalisation has no theorem for Gaussian noise beside other noise")
    if merges_or_clips(certificate):
        raise RefusedError("the formalisation merges no states and clips no data of Gaussian noise")
    discrete = _GAUSSIAN[families.pop()]
    bound, power = rational(certificate["epsilon"]), power_of(certificate)
    near, components, lemmas = cell_neighbours(certificate, "(frame mechanism)")
    names = _names(certificate, [f"q{j}" for j in range(certificate["length"])])
    rates = (rational(1 / (2 * Fraction(v))) for _, v in certificate["noises"].values())
    shift = {
        names.noises[h]: {names.data[q]: value for q, value in slopes.items()}
        for h, slopes in certificate["common"].items()
    }
    shifts = listed(f"({h}, {names.values(slopes)})" for h, slopes in sorted(shift.items()))
    lines = (
        f"Definition mechanism : square := Square {str(discrete).lower()} {listed(rates)}"
        f" {listed(map(str, range(len(names.noises))))}\n"
        f"  {listed(_branches(certificate, names), _GAP)}\n  {components}\n  {shifts}.\n"
        "Definition run := run_square mechanism.\n"
    )
    tactics = [
        f"apply (square_sound mechanism {bound}); [vm_compute; reflexivity"
        f" | {lemma}; vm_compute; reflexivity | exact U]."
        for lemma in lemmas
    ]
    return lines + _square_theorem(near, bound, tactics, certificate["unit"], power)


def _square_theorem(
    near: str, bound: str, tactics: Sequence[str], unit: str | None, power: int
) -> str:
    mass = (
        f"apply (square_mass mechanism {bound});"
        " [vm_compute; reflexivity | vm_compute; reflexivity | exact U]."
    )
    text = unit_text(power) if unit else "1%R"
    quantified = "forall eps : R, (0 < eps)%R ->\n  " if unit else ""
    positive = "P" if power == 1 else "(powerRZ_lt _ _ P)"
    start = f"intros eps P. exact (at_unit _ {positive})." if unit else "exact (at_unit _ Rlt_0_1)."
    return (
        f"Theorem at_unit : forall u : R, (0 < u)%R ->\n"
        f"  zero_concentrated {near} (u * Q2R {bound}) (run u) /\\ mass_one (run u).\n"
        "Proof.\n  intros u U. split.\n"
        f"  - {_one_or_either(tactics, 'concentrated_or')}\n  - {mass}\nQed.\n"
        f"Theorem is_private : {quantified}zero_concentrated {near}\n"
        f"  ({text} * Q2R {bound}) (run {text}) /\\ mass_one (run {text}).\n"
        f"Proof. {start} Qed.\n"
    )
