"""The parts that certificates of all kinds have, parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from .adjacency import Neighbours, read_adjacency
from .fields import Fields, mapping, rational, text
from .invalid import Invalid, need
from .models.data import MOST_POINTS
from .sealing import sha256
from .source import signature
from .statement import Statement

FORMAT = "dpest-certificate/1"
VERSION = "1.1"
"""Since 1.1: `version`, `domain.declared`; a composition names its own unit."""
_VERSIONS = ("1.0", VERSION)


@dataclass(frozen=True)
class Header:
    """`length` is None for every length; `bound` is None where only e^ε is bounded."""

    source: str
    digest: str
    unit: str | None
    adjacency: Neighbours
    length: int | None
    method: str
    bound: Fraction | None
    parts: tuple[Statement, ...] = ()
    """What was shown about the certificates inside of this one."""

    def value(self) -> Fraction:
        if self.bound is None:
            raise Invalid("epsilon: missing")
        return self.bound

    def fixed_length(self) -> int:
        if self.length is None:
            raise Invalid("length: a proof of this kind is for one length")
        return self.length


def read_header(fields: Fields) -> Header:
    need(fields.text("format") == FORMAT, f"format: not {FORMAT}")
    version = fields.text("version") if fields.has("version") else "1.0"
    need(version in _VERSIONS, f"version: {version[:20]!r} is not known here")
    source, digest = fields.text("source"), fields.text("sha256")
    need(sha256(source) == digest, "sha256: not the digest of the source")
    fields.text("mechanism")  # a name for people: no statement repeats it
    module = fields.optional("module")
    need(module is None or isinstance(module, str), "module: not a text")
    for name, value in mapping(fields.take("parameters"), "parameters").items():
        text(value, f"parameters.{name}")
    epsilon = fields.take("epsilon")
    bound = None if epsilon is None else rational(epsilon, "epsilon")
    need(bound is None or bound >= 0, "epsilon: negative")
    return Header(
        source,
        digest,
        _unit(fields.take("unit"), source),
        read_adjacency(fields.inner("adjacency")),
        _length(fields.take("length")),
        fields.text("method"),
        bound,
    )


def _unit(value: object, source: str) -> str | None:
    """A parameter of the function whose source this is: the bound is a multiple of it."""
    if value is None:
        return None
    name = text(value, "unit")
    known = signature(source)
    occurs = re.search(rf"\b{re.escape(name)}\b", source) is not None and name.isidentifier()
    need(
        name in known.parameters or (known.others and occurs),
        f"unit: {name[:40]!r} is no parameter of the source's function",
    )
    return name


def _length(value: object) -> int | None:
    if value == "any":
        return None
    if type(value) is not int or not 0 < value <= MOST_POINTS:
        raise Invalid(f"length: neither any nor a whole number from 1 on: {str(value)[:20]!r}")
    return value
