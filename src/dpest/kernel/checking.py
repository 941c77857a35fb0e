"""From a certificate to the statement that it shows."""

from __future__ import annotations

from dataclasses import replace

from .fields import Fields, listed
from .header import read_header
from .invalid import Invalid, need
from .rules import RULES
from .sealing import unsealed
from .statement import Statement

_DEEPEST = 8
"""A composition of compositions of … is read to this depth."""


def check(certificate: object) -> Statement:
    """The statement about the model in a certificate (as JSON gives it), or `Invalid`.

    Nothing is executed, compiled or imported. The statement is about a model; whether it is the
    model of the source in the certificate is for those to say who can read the source.
    """
    try:
        return _check(certificate, 0)
    except RecursionError:
        raise Invalid("too deeply nested to be checked") from None
    except (ValueError, ArithmeticError) as error:  # of the arithmetic on enclosures
        raise Invalid(f"numbers beyond what can be checked: {error}") from None


def check_text(text: str) -> Statement:
    """The same for the text of a file, whose digest must be right."""
    return check(unsealed(text))


def _check(certificate: object, depth: int) -> Statement:
    need(depth <= _DEEPEST, "parts: too deeply nested")
    fields = Fields(certificate, "certificate")
    fields.optional("digest")
    header = read_header(fields)
    need(header.method in RULES, f"method: {header.method[:40]!r} is not known")
    if header.method == "composition":
        inside = listed(fields.take("parts"), "parts")
        header = replace(header, parts=tuple(_check(part, depth + 1) for part in inside))
    found = RULES[header.method](header, fields)
    return Statement(
        header.digest,
        header.adjacency,
        found.inputs,
        found.lengths,
        found.measure,
        found.bound,
        header.unit,
        found.power,
        found.assumptions,
        delta=found.delta,
    )
