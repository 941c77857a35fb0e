"""Is the model of a certificate the program in it? Its source is compiled and read again.

The checker shows that the model is private; this shows that the model is the source's. It runs
the source, and the prover that built the model, so that it is no part of the independent checker.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import math
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpest.ask.adjacency import Adjacency, parse_adjacency
from dpest.ask.declaration import Mechanism, as_mechanism
from dpest.ask.domains import ANY, Domain, finite, integers, reals, records
from dpest.errors import DpestError, RefusedError

_MODEL = (
    "unit",
    "adjacency",
    "length",
    "noises",
    "bounds",
    "derived",
    "tables",
    "element",
    "gap",
    "rule",
    "statistics",
)


def differences(certificate: Mapping[str, Any], target: Any = None) -> list[str]:
    """The parts of the model that are not the program's; empty if it is the program's model.

    The program is the certificate's own source or, if given, `target`, whose source must then be
    the certificate's. RefusedError says why a program can't be built again.
    """
    if certificate["method"] == "composition":
        found = [d for part in certificate["parts"] for d in differences(part)]
        if found:
            return found
        raise RefusedError("the parts are their sources' models; how they are called was not read")
    if target is not None:
        mechanism = as_mechanism(target)
        if _source(mechanism.function) != certificate["source"]:
            return ["source"]
        return _compared(certificate, mechanism)
    with _compiled(certificate) as function:
        return _compared(certificate, as_mechanism(function))


def _compared(certificate: Mapping[str, Any], mechanism: Mechanism) -> list[str]:
    from dpest.proofs.proving import answer
    from dpest.proofs.question import asked

    length = certificate["length"]
    question = asked(
        mechanism,
        _adjacency(certificate),
        ANY if length == "any" else length,
        _parameters(certificate),
        certificate["unit"],
        _domain(certificate),
        None,
        certificate["domain"].get("form"),
    )
    proof = answer(replace(question, unit=certificate["unit"]))
    again = proof.certificate
    if again is None:
        raise RefusedError(f"the source was not proved again: {proof.reason}")
    if again["method"] != certificate["method"]:
        raise RefusedError(
            f"the source is proved by {again['method']} here, not by {certificate['method']}"
        )
    found = [key for key in _MODEL if certificate.get(key) != again.get(key)]
    if any(
        certificate["domain"].get(k) != again["domain"].get(k) for k in ("kind", "fields", "range")
    ):
        found.append("domain")
    for key in ("nodes", "edges", "dead", "leaves", "cases"):
        if _bare(certificate.get(key)) != _bare(again.get(key)):
            found.append(key)
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


def _domain(certificate: Mapping[str, Any]) -> Domain:
    domain = certificate["domain"]
    if certificate.get("entries") == "each":
        values = sorted(x[0] for x in domain["values"])
        return integers(ANY, values[0], values[-1])
    if domain["kind"] == "finite":
        return finite(domain["values"])
    ranges = [(float(_bound(a)), float(_bound(b))) for a, b in domain.get("range", ())]
    if "fields" in domain:
        return records(ANY, fields=dict(zip(domain["fields"], ranges, strict=True)))
    width = math.inf if domain["width"] == "inf" else float(Fraction(domain["width"]))
    make = integers if domain["kind"] == "integers" else reals
    if certificate["adjacency"]["name"] == "any_pair" and math.isfinite(width):
        return make(ANY, 0.0, width)
    if ranges:
        return make(ANY, ranges[0][0], ranges[0][1])
    return make()


def _parameters(certificate: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    names = {"Fraction": Fraction, "array": np.array, "np": np, "inf": math.inf, "nan": math.nan}
    try:
        return {k: eval(v, dict(names)) for k, v in certificate["parameters"].items()}
    except Exception as error:
        raise RefusedError(f"the parameters can't be read again: {error}") from None


def _source(function: Callable[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))


@contextlib.contextmanager
def _compiled(certificate: Mapping[str, Any]) -> Iterator[Callable[..., Any]]:
    """The function of the certificate's source, without its decorators, in a file of its own."""
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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certified_source.py"
        path.write_text(text)
        names["__name__"] = path.stem
        try:
            exec(compile(text, str(path), "exec", dont_inherit=True), names)
            function = names[definition.name]
            yield function
        except DpestError as error:
            raise RefusedError(f"the source can't be read again: {error}") from None
        except NameError as error:
            raise RefusedError(
                f"the source needs names of its module ({error}): give the function (--against)"
            ) from None


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
        "Fraction": Fraction,
    }
    module = certificate.get("module")
    if module and module != "__main__":
        with contextlib.suppress(Exception):
            return {**usual, **vars(importlib.import_module(module))}
    return usual
