"""Is the model of a certificate the program's? The program is read again, and models compared.

The kernel shows that the model is private; this shows that the model is the program's. It needs
the reader and the prover that built the model, so that it is no part of the kernel.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from dpest.ask.adjacency import Adjacency, parse_adjacency
from dpest.ask.declaration import Mechanism, as_mechanism, mechanism
from dpest.ask.domains import ANY, Domain, finite, integers, reals
from dpest.ask.people import table
from dpest.ask.tables import records
from dpest.errors import DpestError, RefusedError
from dpest.proofs.approximate.proving import contributions, written
from dpest.proofs.literals import read_literals
from dpest.proofs.proving import prove_question
from dpest.proofs.question import asked
from dpest.running.places import source_of

_MODEL = (
    "unit",
    "adjacency",
    "length",
    "noises",
    "bounds",
    "derived",
    "tables",
    "entries",
    "element",
    "gap",
    "rule",
    "statistics",
)
"""The parts of a certificate that say what the program is, not what is shown about it."""
_STRUCTURES = ("nodes", "edges", "dead", "leaves", "cases")
_DOMAIN = ("kind", "fields", "range", "declared", "values")


@dataclass(frozen=True)
class ModelComparison:
    """The program that a certificate was compared with, and where their models differ."""

    function: str
    differences: tuple[str, ...]


def differences(certificate: Mapping[str, Any], target: Any = None) -> list[str]:
    """The parts of the model that are not the program's; empty if it is the program's model."""
    return list(compared(certificate, target).differences)


def compared(certificate: Mapping[str, Any], target: Any = None) -> ModelComparison:
    """Read the program again, and compare its model with the certificate's.

    The program is `target`, whose source must then be the certificate's; nothing of the certificate
    is executed. Without a target it is the source in the certificate, which is COMPILED AND RUN.
    RefusedError says why a program can't be read again.
    """
    if target is None:
        with _compiled(certificate) as (function, bare):
            return _compared({**certificate, "source": bare}, as_mechanism(function))
    mechanism = as_mechanism(target)
    try:
        return _compared(certificate, mechanism)
    except DpestError:
        source = source_of(mechanism.function)
        if source == certificate["source"]:
            raise
        return ModelComparison(mechanism.name, ("source",))


def _compared(certificate: Mapping[str, Any], mechanism: Mechanism) -> ModelComparison:
    if certificate["method"] == "contributions":
        different = _other_contributions(certificate, mechanism)
        return ModelComparison(_named(certificate, mechanism), different)
    found: list[str] | None = None
    reason = RefusedError("the source was not proved again")
    for domain in _domains(certificate):
        try:
            again = _proved_again(certificate, mechanism, domain)
        except RefusedError as error:
            reason = error
            continue
        found = _different(certificate, again)
        if not found:
            break
    if found is None:
        raise reason
    return ModelComparison(_named(certificate, mechanism), tuple(found))


def _other_contributions(certificate: Mapping[str, Any], mechanism: Mechanism) -> tuple[str, ...]:
    """Read again what the records add, and name the parts that are different."""
    length = ANY if certificate["length"] == "any" else certificate["length"]
    domain = _domain_of_columns(certificate, length)
    question = asked(
        mechanism,
        _adjacency(certificate),
        length,
        _parameters(certificate, mechanism),
        None,
        domain,
        None,
        certificate["form"],
    )
    found = contributions(question)
    source = source_of(written(mechanism.function))
    again = {**found.model, "source": source, "assumptions": list(found.assumptions)}
    parts = ("source", "apart", "columns", "ways", "assumptions", "rows_each", "user")
    return tuple(p for p in parts if _plain_json(certificate.get(p)) != _plain_json(again.get(p)))


def _domain_of_columns(certificate: Mapping[str, Any], length: Any) -> Domain:
    """The domain whose records have the columns of a certificate."""
    made = ("of_person", "of_all")
    listed = {c["name"]: c for c in certificate["columns"] if not any(map(c.get, made))}
    fields: dict[str, Any] = {}
    for name, c in listed.items():
        missing = f"{name or 'it'} is NaN" in listed
        if c.get("values") == ["a number", "NaN"]:
            continue
        if "values" in c:
            fields[name] = [ast.literal_eval(v) for v in c["values"]]
        elif c["whole"]:
            fields[name] = integers(ANY, _end(c["low"]), _end(c["high"]))
        else:
            fields[name] = reals(ANY, _end(c["low"]), _end(c["high"]), nan=missing)
    if "" in fields:
        only = fields[""]
        return (
            records(length, values=only) if isinstance(only, list) else replace(only, length=length)
        )
    people: dict[str, Any] = {k: certificate[k] for k in ("user", "rows_each") if k in certificate}
    return table(length, **people, **fields)


def _end(text: str) -> float | int:
    value = float(text) if "inf" in text else float(Fraction(text))
    return int(value) if math.isfinite(value) and value == int(value) else value


def _plain_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _named(certificate: Mapping[str, Any], mechanism: Mechanism) -> str:
    given = ", ".join(f"{k}={v}" for k, v in certificate["parameters"].items())
    return f"{mechanism.name}({given})" if given else mechanism.name


def _proved_again(
    certificate: Mapping[str, Any], mechanism: Mechanism, domain: Domain | None
) -> Mapping[str, Any]:
    length = certificate["length"]
    inner = _described(certificate)
    if inner.get("domain", {}).get("kind") == "finite" and length != "any":
        length = _finite_length(inner)
    question = asked(
        mechanism,
        _adjacency(certificate),
        ANY if length == "any" else length,
        _parameters(certificate, mechanism),
        certificate["unit"],
        domain,
        None,
        inner["domain"].get("form"),
    )
    proof = prove_question(replace(question, unit=certificate["unit"]), None)
    again = proof.certificate
    if again is None:
        raise RefusedError(f"the source was not proved again: {proof.reason}")
    if again["method"] != certificate["method"]:
        raise RefusedError(
            f"the source is proved by {again['method']} here, not by {certificate['method']}"
        )
    return again


def _different(certificate: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Names of the parts in which two certificates have different models."""
    found = [key for key in ("source", *_MODEL) if certificate.get(key) != again.get(key)]
    if certificate["method"] == "composition":
        pairs = ((certificate, again), (again, certificate))
        if any(not _calls(a) <= _calls(b) for a, b in pairs):
            found.append("paths")
    else:
        for key in _DOMAIN:
            if certificate["domain"].get(key) != again["domain"].get(key):
                found.append("domain")
                break
    base = _base(certificate)
    if certificate.get(base) != again.get(base):
        found.append(base)
    found += [key for key in _STRUCTURES if _bare(certificate.get(key)) != _bare(again.get(key))]
    return found


def _base(certificate: Mapping[str, Any]) -> str:
    """Where the unit enters: the base of a table, or the power in which noise is measured."""
    return "denominator" if certificate["method"] == "finite" else "power"


def _calls(certificate: Mapping[str, Any]) -> set[str]:
    """The ways through a composition: which models are called, with which scales of the unit."""
    models = [json.dumps(model_of(part), sort_keys=True) for part in certificate["parts"]]
    return {json.dumps([[models[i], scale] for i, scale in path]) for path in certificate["paths"]}


def model_of(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate says about its program: its model, and nothing of the proof."""
    kept = ("source", "parameters", _base(certificate), *_MODEL)
    found = {key: certificate.get(key) for key in kept}
    found |= {key: _bare(certificate.get(key)) for key in _STRUCTURES}
    found["domain"] = {key: certificate.get("domain", {}).get(key) for key in _DOMAIN}
    if certificate["method"] == "composition":
        found["calls"] = sorted(_calls(certificate))
    return found


def _bare(part: Any) -> Any:
    """Without what only the proof needs."""
    if isinstance(part, list):
        return [_bare(entry) for entry in part]
    if isinstance(part, Mapping):
        skipped = ("proof", "empty", "invariant")
        return {k: _bare(v) for k, v in part.items() if k not in skipped}
    return part


def _adjacency(certificate: Mapping[str, Any]) -> Adjacency:
    name, radius = certificate["adjacency"]["name"], certificate["adjacency"]["radius"]
    found = parse_adjacency(name)
    return (
        found
        if name == "any_pair"
        else replace(found, radius=None if radius == "inf" else _number(radius))
    )


def _bound(text: Any) -> Any:
    return float(text) if text in ("inf", "-inf") else Fraction(text)


def _number(text: Any) -> int | float | Fraction:
    value = Fraction(text)
    return int(value) if value.denominator == 1 else value


def _described(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    """The certificate itself or, of a composition, one of a part, which describes its data."""
    while certificate["method"] == "composition":
        certificate = certificate["parts"][0]
    return certificate


def _finite_length(certificate: Mapping[str, Any]) -> int:
    lengths = {len(x) if isinstance(x, list) else 1 for x in certificate["domain"]["values"]}
    if len(lengths) != 1:
        raise RefusedError("the inputs of the table have different lengths")
    return lengths.pop()


def _domains(certificate: Mapping[str, Any]) -> list[Domain | None]:
    """Domains that may have been asked about: a composition does not say that none was given."""
    inner = _described(certificate)
    found: list[Domain | None] = [_domain(inner)]
    if inner is not certificate and not inner["domain"].get("range"):
        found.append(None)
    return found


def _domain(certificate: Mapping[str, Any]) -> Domain:
    domain = certificate["domain"]
    if certificate.get("entries") == "each":
        values = sorted(x[0] for x in domain["values"])
        return integers(ANY, values[0], values[-1])
    if domain["kind"] == "finite":
        return finite(domain["values"])
    stated = domain.get("declared", domain.get("range", ()))
    ranges = [(float(_bound(a)), float(_bound(b))) for a, b in stated]
    if "fields" in domain:
        return records(ANY, fields=dict(zip(domain["fields"], ranges, strict=True)))
    width = math.inf if domain["width"] == "inf" else float(Fraction(domain["width"]))
    make = integers if domain["kind"] == "integers" else reals
    if certificate["adjacency"]["name"] == "any_pair" and math.isfinite(width):
        return make(ANY, 0.0, width)
    if ranges:
        return make(ANY, ranges[0][0], ranges[0][1])
    return make()


def _parameters(certificate: Mapping[str, Any], mechanism: Mechanism) -> dict[str, Any]:
    """Literals; a value that the function has already, as its text says, is taken from there."""
    own = {
        k: v for k, v in mechanism.all_params.items() if certificate["parameters"].get(k) == repr(v)
    }
    return {
        **own,
        **read_literals({k: v for k, v in certificate["parameters"].items() if k not in own}),
    }


@contextlib.contextmanager
def _compiled(certificate: Mapping[str, Any]) -> Iterator[tuple[Callable[..., Any], str]]:
    """The function of the certificate's source, in a file of its own, and what the file says.

    A declaration is left out, as it changes nothing; what another decorator makes of the function
    is not what is compared, so that it is refused.
    """
    source = certificate["source"]
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise RefusedError(f"the source does not compile: {error}") from None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise RefusedError("the source is not one function")
    definition = tree.body[0]
    text = "\n".join(source.splitlines()[definition.lineno - 1 :]) + "\n"
    names = _names(certificate)
    for decorator in definition.decorator_list:
        if not _declares(decorator, names):
            raise RefusedError(
                f"the source has a decorator that is no declaration (@{ast.unparse(decorator)}): "
                "give the function (--against)"
            )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certified_source.py"
        path.write_text(text)
        names["__name__"] = path.stem
        try:
            exec(compile(text, str(path), "exec", dont_inherit=True), names)
            function = names[definition.name]
            yield function, text
        except DpestError as error:
            raise RefusedError(f"the source can't be read again: {error}") from None
        except NameError as error:
            raise RefusedError(
                f"the source needs names of its module ({error}): give the function (--against)"
            ) from None


def _declares(decorator: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether it is a call of `dpest.mechanism`, under whatever name. Nothing is executed."""
    if not isinstance(decorator, ast.Call):
        return False
    called = decorator.func
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        holder = names.get(called.value.id)
        return isinstance(holder, ModuleType) and vars(holder).get(called.attr) is mechanism
    return isinstance(called, ast.Name) and names.get(called.id) is mechanism


def _names(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The names that the source may use: its module's, if it can be imported, or the usual ones."""
    import random

    import numpy as np

    import dpest
    from dpest import noise

    usual = {
        "np": np,
        "numpy": np,
        "math": math,
        "random": random,
        "dpest": dpest,
        "noise": noise,
        "mechanism": mechanism,
        "Fraction": Fraction,
    }
    module = certificate.get("module")
    if module and module != "__main__":
        with contextlib.suppress(Exception):
            return {**usual, **vars(importlib.import_module(module))}
    return usual
