"""Parts of a certificate as terms of the formalisation in `formal/`: numbers, forms, theorems.

Nothing here is trusted for a proof: Coq checks what is written. It is trusted to write the graph
that the certificate has; `formal/` builds a second reader of the same JSON, and tests compare them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.errors import RefusedError

FAMILIES = {
    "laplace": "Laplace",
    "exponential": "Exponential",
    "gumbel": "Gumbel",
    "logistic": "Logistic",
    "cauchy": "Cauchy",
    "discrete_laplace": "DiscreteLaplace",
    "two_sided_geometric": "DiscreteLaplace",
    "geometric": "Geometric",
}
DISCRETE = frozenset({"discrete_laplace", "two_sided_geometric", "geometric"})


def rational(value: Any) -> str:
    number = Fraction(value)
    return f"({number.numerator} # {number.denominator})%Q"


def listed(items: Iterable[str], between: str = "; ") -> str:
    return "[" + between.join(items) + "]"


def boolean(value: bool) -> str:
    return "true" if value else "false"


@dataclass
class SymbolNumbers:
    """The symbols of a certificate as numbers: fields of the data, noises, slots, tokens."""

    data: dict[str, int]
    noises: dict[str, int]
    slots: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)

    def symbol(self, name: str) -> str:
        if name in self.data:
            return f"D {self.data[name]}"
        if name in self.noises:
            return f"H {self.noises[name]}"
        if name in self.slots:
            return f"V {self.slots[name]}"
        raise RefusedError(f"the export to Coq does not know the symbol {name}")

    def token(self, text: str) -> int:
        return self.tokens.setdefault(text, len(self.tokens))

    def form(self, constant: Any, terms: Mapping[str, Any]) -> str:
        parts = [
            f"({self.symbol(name)}, {rational(value)})"
            for name, value in sorted(terms.items())
            if Fraction(value)
        ]
        return f"(Form {rational(constant)} {listed(parts)})"

    def decision(self, decided: Sequence[Any]) -> str:
        """A question and its answer. A strict condition is the opposite one, answered by no."""
        if decided[0] == "greatest":
            values = listed(self.form(constant, terms) for constant, terms in decided[1])
            return f"(Greatest {values}, {decided[2]})"
        constant, terms, strict = Fraction(decided[0]), decided[1], decided[2]
        if strict:
            opposite = {name: -Fraction(value) for name, value in terms.items()}
            return f"(Sign {self.form(-constant, opposite)}, 0)"
        return f"(Sign {self.form(constant, terms)}, 1)"

    def path(self, decisions: Iterable[Sequence[Any]]) -> str:
        return listed(self.decision(d) for d in decisions)

    def values(self, numbers: Mapping[int, Any]) -> str:
        return listed(f"({key}, {rational(value)})" for key, value in sorted(numbers.items()))

    def affine(self, given: Sequence[Any]) -> str:
        slopes = {self.data[name]: value for name, value in given[1].items()}
        return f"({rational(given[0])}, {self.values(slopes)})"

    def shifts(self, given: Mapping[str, Sequence[Any]]) -> str:
        numbered = sorted((self.noises[name], self.affine(value)) for name, value in given.items())
        return listed(f"({number}, {value})" for number, value in numbered)

    def box(self, face: Mapping[str, Sequence[Any]]) -> str:
        numbered = sorted((self.data[name], ends) for name, ends in face.items())
        return listed(
            f"({number}, ({rational(low)}, {rational(high)}))" for number, (low, high) in numbered
        )


def noise_table(certificate: Mapping[str, Any]) -> str:
    """The families and rates; refused where the formalisation has no law for one."""
    noises = certificate["noises"]
    for name, (family, _) in noises.items():
        if family not in FAMILIES:
            raise RefusedError(f"the formalisation has no pure law for {family} noise ({name})")
    if len({family in DISCRETE for family, _ in noises.values()}) > 1:
        raise RefusedError("the formalisation does not mix continuous and discrete noise")
    rows = (
        f"({FAMILIES[family]}, {rational(1 / Fraction(scale))})"
        for family, scale in noises.values()
    )
    return listed(rows)


def is_integral(certificate: Mapping[str, Any]) -> bool:
    return any(family in DISCRETE for family, _ in certificate["noises"].values())


def comment(text: str) -> str:
    """Text for a comment: neither its end nor the start of another one."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("(*", "( *").replace("*)", "* )")


def radius_of(certificate: Mapping[str, Any]) -> Fraction:
    radius = certificate["adjacency"]["radius"]
    if radius == "inf":
        raise RefusedError("the formalisation has no theorem for neighbours without a radius yet")
    return Fraction(radius)


def theorem(certificate: Mapping[str, Any], near: str, parts: Sequence[tuple[str, str]]) -> str:
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


def either(relations: Iterable[str]) -> str:
    return "(fun a b => " + " \\/ ".join(relations) + ")"


def power_of(certificate: Mapping[str, Any]) -> int:
    """The power of the unit that a bound on ρ is a multiple of; 1 where none is stated."""
    return int(certificate.get("power", 1))


def unit_text(power: int) -> str:
    """The unit to a power."""
    return "eps" if power == 1 else f"(powerRZ eps ({power}))"
