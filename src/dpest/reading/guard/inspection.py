"""All that a function can reach, walked once: where does it look at more than numbers?

The walk is flow-insensitive: a variable is the join of all that is ever assigned to it, and a
parameter of all that is ever handed in. It goes round until nothing is news, then once more to
write down its findings.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpest.reading.guard.statements import WalkedStatements
from dpest.reading.guard.things import (
    ALL,
    PLAIN,
    STATE,
    Suspicion,
)
from dpest.reading.guard.units import InspectedUnit
from dpest.reading.guard.values import (
    ARGUMENT,
    MISSING,
    NOTHING,
    Value,
)

_ROUNDS = 24


class Inspection(WalkedStatements):
    """The findings in one function and in all of the user's code that it can reach."""

    def __init__(self, function: Any, params: Mapping[str, Any], form: str) -> None:
        super().__init__(form)
        for _ in range(_ROUNDS):
            if not self.news:
                break
            self.news = False
            self._root(function, params)
            self._walk_all()
        self.recording = True
        self._root(function, params)
        self._walk_all()
        if self.news:
            self._note_at("?", "code that is too involved to inspect", PLAIN, None)

    def _root(self, function: Any, params: Mapping[str, Any]) -> None:
        """Call the mechanism as dpest does: data, rng, and the parameters by name."""
        data = Value(
            "number" if self.form == "number" else "data",
            frozenset({"data"}),
            NOTHING if self.form == "number" else ARGUMENT,
        )
        rng = Value("rng", frozenset({"noise"}))
        named = {name: self._parameter(value) for name, value in params.items()}
        self.calling = function
        self._call_object(None, function, [data], {"rng": rng, **named}, NOTHING)
        self.calling = None

    def _parameter(self, value: Any) -> Value:
        if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)):
            return self.value_of(value)
        if isinstance(value, (int, float, np.number)):
            known = value if isinstance(value, float) else MISSING
            return Value("number", frozenset({"parameter"}), known=known)
        return self.value_of(value)

    def _walk_all(self) -> None:
        done: set[int] = set()
        while True:
            waiting = [(k, u) for k, u in self.units.items() if u.reached and k not in done]
            if not waiting:
                return
            for key, unit in waiting:
                done.add(key)
                self._walk(unit)

    def _walk(self, unit: InspectedUnit) -> None:
        self.unit = unit
        given = unit.node.args
        for extra in (given.vararg, given.kwarg):
            if extra is not None and extra.arg not in unit.variables:
                unit.bind(extra.arg, Value("list"))
        if isinstance(unit.node, ast.Lambda):
            self._returned(self.eval(unit.node.body))
            return
        for statement in unit.node.body:
            self.run(statement)

    def _returned(self, value: Value) -> None:
        before = self.unit.returns
        after = value if before is None else before.join(value)
        if before != after:
            self.unit.returns = after
            self.news = True

    def _bind(self, unit: InspectedUnit, name: str, value: Value) -> None:
        self.news |= unit.bind(name, value)


__all__ = ["ALL", "STATE", "Inspection", "Suspicion"]
