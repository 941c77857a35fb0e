"""Tables of exact chances as an instance of `formal/FiniteTable.v`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError
from dpest.proofs.coq.terms import listed, rational


def finite(certificate: Mapping[str, Any]) -> str:
    """The tables, and the theorem that all neighbouring inputs are close."""
    if certificate.get("entries") is not None:
        raise RefusedError("the formalisation has no theorem for tables of one entry of many yet")
    tables = certificate["tables"]
    tokens: dict[str, int] = {}
    inputs = listed((_parts(entry["parts"], tokens) for entry in tables), ";\n  ")
    unit = certificate["unit"]
    if unit:
        power, factor = certificate["power"], "1%Q"
        ratios = "(fun _ _ => [1%Q])"
    else:
        power, factor = 0, rational(certificate["exponential"])
        ratios = "(worst_ratios inputs)"
    near = _near(certificate, [entry["input"] for entry in tables])
    return "\n".join(
        [
            f"Definition inputs : list (list table) := {inputs}.",
            f"Definition mechanism := Finite inputs {near} {ratios} {power} {factor}.",
            _with_unit(certificate) if unit else _with_numbers(certificate),
        ]
    )


def _parts(parts: Sequence[Mapping[str, Any]], tokens: dict[str, int]) -> str:
    return listed(_table(part, tokens) for part in parts)


def _table(part: Mapping[str, Any], tokens: dict[str, int]) -> str:
    return listed(
        f"({tokens.setdefault(output, len(tokens))}, ({_polynomial(p)}, {_polynomial(q)}))"
        for output, (p, q) in part.items()
    )


def _polynomial(coefficients: Sequence[Any]) -> str:
    return listed(rational(c) for c in coefficients)


def _near(certificate: Mapping[str, Any], inputs: Sequence[Any]) -> str:
    """Which inputs are neighbours: all, or the pairs that the adjacency relates."""
    name, radius = certificate["adjacency"]["name"], certificate["adjacency"]["radius"]
    if name == "any_pair":
        return "(fun _ _ => true)"
    r = None if radius == "inf" else Fraction(radius)
    pairs = [
        f"({i}, {j})"
        for (i, x), (j, y) in itertools.product(enumerate(inputs), repeat=2)
        if _related(name, r, x, y)
    ]
    return f"(among {listed(pairs)})"


def _related(name: str, radius: Fraction | None, x: Any, y: Any) -> bool:
    a, b = (value if isinstance(value, list) else [value] for value in (x, y))
    gaps = [Fraction(str(v)) - Fraction(str(u)) for u, v in zip(a, b, strict=True)]
    if name == "replace_one":
        moved = [g for g in gaps if g]
        return len(moved) <= 1 and (radius is None or all(abs(g) <= radius for g in moved))
    if radius is None:
        raise RefusedError("the formalisation has no theorem for neighbours without a radius yet")
    if name == "l1":
        return sum(map(abs, gaps)) <= radius
    if name == "linf":
        return all(abs(g) <= radius for g in gaps)
    if name == "monotone":
        return all(0 <= g <= radius for g in gaps) or all(-radius <= g <= 0 for g in gaps)
    raise RefusedError(f"the formalisation has no theorem for tables and {name} yet")


def _with_unit(certificate: Mapping[str, Any]) -> str:
    power, denominator = certificate["power"], certificate["denominator"]
    return (
        f"Definition run (eps : R) := run_table mechanism (exp (- (eps / {denominator})))%R.\n"
        "Theorem is_private : forall eps : R, (0 < eps)%R ->\n"
        f"  private (near_inputs mechanism) (eps * Q2R ({power} # {denominator})) (run eps) /\\\n"
        "  mass_one (run eps).\n"
        "Proof.\n"
        "  assert (OK : check_finite mechanism = true) by (vm_compute; reflexivity).\n"
        f"  exact (finite_private mechanism {denominator} OK eq_refl).\nQed.\n"
    )


def _with_numbers(certificate: Mapping[str, Any]) -> str:
    factor = rational(certificate["exponential"])
    return (
        "Definition run := run_table mechanism 1%R.\n"
        "Theorem is_private :\n"
        f"  private (near_inputs mechanism) (ln (Q2R {factor})) run /\\ mass_one run.\n"
        "Proof.\n"
        "  assert (OK : check_finite mechanism = true) by (vm_compute; reflexivity).\n"
        "  exact (finite_private_number mechanism OK eq_refl).\nQed.\n"
    )
