"""What the guard knows about a value: what it is, what it may depend on, what it may share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "number", "truth", "text", "none", "list", "array", "data", "element", "rng", "function",
    "object", "any",
]  # fmt: skip
MISSING: Any = object()
NOTHING: frozenset[str] = frozenset()
ARGUMENT = frozenset({"argument"})
OUTSIDE = frozenset({"outside"})


@dataclass(frozen=True)
class Value:
    """An over-approximation of what an expression may be, on every way through the function.

    `touched` are the things that a symbol in it may stand for: "data", "length" (of data of any
    length), "noise", "parameter". `shared` says with whom it may share memory: "argument" (what the
    caller handed in), "outside" (what outlives the call); `inner` says it of its parts.
    `functions` are the units that it may be; `known` is the object itself where a name stands for
    one thing that nobody rebinds.
    """

    kind: Kind = "any"
    touched: frozenset[str] = NOTHING
    shared: frozenset[str] = NOTHING
    functions: frozenset[Any] = NOTHING
    inner: frozenset[str] = NOTHING
    known: Any = field(default=MISSING, compare=False)

    def join(self, other: Value) -> Value:
        return Value(
            self.kind if self.kind == other.kind else _wider(self.kind, other.kind),
            self.touched | other.touched,
            self.shared | other.shared,
            self.functions | other.functions,
            self.inner | other.inner,
            self.known if self.known is other.known else MISSING,
        )

    @property
    def scalar(self) -> bool:
        return self.kind in ("number", "truth", "text", "none")

    @property
    def container(self) -> bool:
        return self.kind in ("list", "data")

    def part(self) -> Value:
        """An entry of it."""
        kind: Kind = "element" if self.kind == "data" else "any"
        own = NOTHING if self.kind == "list" else self.shared
        return Value(kind, self.touched, self.inner | own, self.functions, self.inner | own)

    @property
    def parts(self) -> frozenset[str]:
        """With whom what it holds may share memory."""
        return self.inner | (NOTHING if self.kind == "list" else self.shared)

    @property
    def counted(self) -> frozenset[str]:
        """What a number of its parts may depend on."""
        return frozenset({"length"}) if self.touched & {"data", "length"} else NOTHING


def _wider(first: Kind, second: Kind) -> Kind:
    return "number" if {first, second} == {"number", "truth"} else "any"


def number(*parts: Value) -> Value:
    return Value("number", touched(parts))


def touched(values: Any) -> frozenset[str]:
    return frozenset().union(*(v.touched for v in values))
