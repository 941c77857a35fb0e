"""The state of a loop between two turns: discrete values as they are, real ones as slots.

What a list holds that the function only fills is released at once; the place of an element that
was is a mark, and so on: the states are finitely many, so that the loop is a finite graph.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

from dpest.errors import RefusedError
from dpest.geometry.linear import Form, Symbol
from dpest.reading.loops.any_length import OutputList, PrefixSums, TracedVector
from dpest.reading.loops.lengths import Counter, Position
from dpest.reading.loops.loop_values import PLACED, leaves_of, substituted
from dpest.reading.loops.passes import Chosen, Index, RandomPlace
from dpest.reading.loops.pieces import FunctionCut
from dpest.reading.rewrites.labels import LabelOfPlace
from dpest.reading.rewrites.named_values import NamedValues
from dpest.reading.rewrites.order_statistics import TracedRank
from dpest.reading.rewrites.softmax import Chance, ScaledScore, Weight
from dpest.reading.tracing.states import copied
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth, is_symbolic
from dpest.reading.tracing.symbolic_arrays import wrapped
from dpest.reading.world import conditions_of


class LoopStateAbstraction:
    """One state: what its slots are set to, and what was released on the way to it.

    `counters` are integers that grow with the data, `kept_lists` lists that are more than filled,
    `looked` the random places that have been looked at.
    """

    def __init__(
        self,
        parts: FunctionCut,
        named: NamedValues,
        counters: Set[str] = frozenset(),
        kept_lists: Set[str] = frozenset(),
        looked: Set[str] = frozenset(),
    ) -> None:
        self.parts = parts
        self.named = named
        self.counters = counters
        self.kept_lists = kept_lists
        self.looked = looked
        self.updates: dict[Symbol, Form] = {}
        self.released: list[Any] = []
        self.places: dict[str, str] = {}
        self.memo: dict[int, Any] = {}

    def of(self, value: Any, path: str) -> Any:
        """What the value of a variable is in the state; its real part goes to a slot."""
        if isinstance(value, Position):
            # From here on it is the position of an earlier element, which is not tracked.
            self.places[path] = "now"
            return Counter()
        if isinstance(value, Counter):
            self.places[path] = "kept"
            return value
        if path in self.counters and isinstance(value, int):
            return Counter()
        if isinstance(value, (RandomPlace, Chosen)):
            return self._place(value, path)
        if isinstance(value, Index):
            raise RefusedError(f"{self.parts.name} keeps a random index over a loop")
        if isinstance(value, LabelOfPlace):
            place = self.of(value.place, path)
            return LabelOfPlace(value.table, place)
        if isinstance(value, TracedRank) and value.rank == 1 and not value.vector.own:
            return value  # the greatest of the data themselves: of no turn, and of all
        if isinstance(value, (ScaledScore, Weight, Chance)):
            value = value.real()
        if isinstance(value, TracedReal):
            if not value.form.terms:
                return value.plain
            if all(isinstance(self.named.meanings.get(s), Form) for s in value.form.terms):
                return value
            return TracedReal(self._slot(value.form, path), value.integer)
        if isinstance(value, TracedVector):
            return self.vector(value, path)
        if isinstance(value, PrefixSums):
            return PrefixSums(self.vector(value.vector, path))
        if isinstance(value, PLACED):
            raise RefusedError(
                f"{self.parts.name}: the place of the greatest element is kept over a loop: give "
                "a length instead of ANY"
            )
        if isinstance(value, OutputList):
            if id(value) not in self.memo:
                self.released.extend(leaves_of(value.items))
                self.memo[id(value)] = OutputList(value.name)
            return self.memo[id(value)]
        if type(value) is list:
            return self._list(value, path)
        if type(value) is tuple:
            return tuple(self.of(v, f"{path}.{i}") for i, v in enumerate(value))
        if type(value) is dict or (isinstance(value, np.ndarray) and value.dtype == object):
            if id(value) not in self.memo:
                self.memo[id(value)] = self._parts(value, path)
            return self.memo[id(value)]
        self._refuse_hidden(value, path)
        return copied(value)

    def _list(self, value: list[Any], path: str) -> Any:
        """A list that is only filled is released; of one that is read each entry is kept."""
        if id(value) in self.memo:
            return self.memo[id(value)]
        if path not in self.kept_lists:
            self.released.extend(leaves_of(value))
            self.memo[id(value)] = OutputList(path)
            return self.memo[id(value)]
        fresh: list[Any] = []
        self.memo[id(value)] = fresh
        for i, v in enumerate(value):
            fresh.append(self.of(v, f"{path}.{i}"))
        return fresh

    def _place(self, value: RandomPlace | Chosen, path: str) -> Any:
        """A place that nobody has looked at yet is as good as drawn anew; others can be kept."""
        if isinstance(value, Chosen):
            self.places[path] = "kept"
            return value
        drawn = value.source.startswith(("uniform", "fresh"))
        if drawn and value.source not in self.looked and not value.offset:
            self.places[path] = "fresh"
            return RandomPlace(f"fresh {path}")
        self.places[path] = f"place {value.source}"
        return Chosen(path, value.offset)

    def _parts(self, value: Any, path: str) -> Any:
        """Each entry of a dict or of an array with symbolic values."""
        if type(value) is dict:
            return {k: self.of(v, f"{path}.{k}") for k, v in value.items()}
        parts = np.empty(value.shape, dtype=object)
        for place in np.ndindex(value.shape):
            name = ".".join((path, *map(str, place)))
            parts[place] = self.of(value[place], name)
        return wrapped(parts)

    def _refuse_hidden(self, value: Any, path: str) -> None:
        """An object that keeps noise or data where no state of the loop can follow it."""
        inner = getattr(value, "__dict__", None)
        if type(inner) is dict and any(is_symbolic(v) for v in inner.values()):
            names = ", ".join(k for k, v in inner.items() if is_symbolic(v))
            raise RefusedError(
                f"{self.parts.file}: the object {path!r} ({type(value).__name__}) keeps a noisy or "
                f"private value ({names}) over a loop: keep it in a variable, a list or a dict, or "
                "give a length instead of ANY"
            )

    def _slot(self, form: Form, path: str) -> Form:
        symbol = Symbol("state", path)
        self.updates[symbol] = form
        return Form.of(symbol)

    def vector(self, vector: TracedVector, path: str) -> TracedVector:
        """The shared part of the elements goes to a slot; their own part stays an expression."""
        if type(vector.element) is not TracedReal:
            return vector  # its own noise alone, where it is a curve
        form = vector.element.form
        own = {
            s: c
            for s, c in form.terms.items()
            if s in vector.own or s.kind == "input" or self.named.is_shared(s)
        }
        shared = Form({s: c for s, c in form.terms.items() if s not in own})
        mine = Form(own, form.constant)
        if shared.terms:
            mine = mine.plus(self._slot(shared, path))
        return TracedVector(TracedReal(mine, vector.element.integer), vector.own)

    def element(self, vector: TracedVector, path: str) -> TracedVector:
        """A vector that is released: what its elements share goes to slots."""
        if isinstance(vector.element, TracedReal):
            return self.vector(vector, path)
        element = vector.element
        shared: dict[Symbol, Form] = {}
        if not isinstance(element, TracedTruth):
            return vector
        for condition in conditions_of(element):
            for symbol in condition.form.terms:
                if symbol not in vector.own and symbol.kind in ("noise", "state"):
                    slot = Symbol("state", f"{path}.{symbol.name}")
                    self.updates[slot] = Form.of(symbol)
                    shared[symbol] = Form.of(slot)
        return TracedVector(substituted(element, shared), vector.own)
