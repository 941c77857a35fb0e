"""Whether the output of a run is the one that its model gives, with its structure and types."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from dpest.proofs.approximate.likeness import alike, is_close, type_text
from dpest.proofs.approximate.run_draws import Different
from dpest.proofs.approximate.run_values import RunValues
from dpest.reading.contributions.control.picks import PICK
from dpest.reading.contributions.control.public import chosen
from dpest.reading.contributions.forms import Raised, SymbolicForm
from dpest.reading.contributions.frames.groups import Labelled
from dpest.reading.contributions.frames.sheets import Sheet
from dpest.reading.contributions.values import (
    Combined,
    Map,
    ProgramObject,
    PublicValue,
    RecordTruth,
    Seq,
    SmallArray,
)
from dpest.running.skeleton import is_other_zero


class OutputComparison:
    """Compares outputs of one run; `types` are those of all that a receiver sees."""

    def __init__(self, run: RunValues) -> None:
        self.run = run
        self.types: dict[str, str] = {}
        self.types_behind: dict[int, str] = {}

    def compare(self, expected: Any, actual: Any, path: str = "") -> None:
        if isinstance(expected, Raised) or isinstance(actual, Raised):
            self._compare_errors(expected, actual)
            return
        if isinstance(expected, SymbolicForm):
            value = self.run.native(expected)
            constant = None if expected.terms else value
            if not alike(value, actual) or is_other_zero(constant, actual):
                raise Different(f"it gives {actual!r}, not {value!r}")
            behind = f"{self._operand(expected, value)}{self._types_behind(expected)}"
            self.types[f"{path}{behind}"] = type(actual).__name__
        elif isinstance(expected, Sheet):
            self._compare_sheet(expected, actual, path)
        elif isinstance(expected, Labelled):
            self._compare_series(expected, actual, path)
        elif isinstance(expected, SmallArray):
            found = np.asarray(actual)
            if found.shape != expected.shape:
                raise Different(f"it gives an array of shape {found.shape}, not {expected.shape}")
            for e, a in zip(expected.cells, found.ravel(), strict=True):
                self.compare(e, a, path)
            self.types[path] = f"{type(actual).__name__} of {found.dtype}"
        elif isinstance(expected, (Seq, tuple)):
            items = expected.items if isinstance(expected, Seq) else expected
            if not isinstance(actual, (list, tuple)) or len(actual) != len(items):
                raise Different(f"it gives {actual!r}, not {len(items)} values")
            for i, (e, a) in enumerate(zip(items, actual, strict=True)):
                self.compare(e, a, f"{path}[{i}]")
        elif isinstance(expected, Map):
            self._compare_dict(expected, actual, path)
        elif isinstance(expected, ProgramObject):
            self._compare_object(expected, actual, path)
        elif isinstance(expected, PublicValue) and expected.recipe is None:
            self._compare_keys(actual)
        elif isinstance(expected, (PublicValue, RecordTruth, Combined)):
            value = self.run.native(expected)
            if not alike(value, actual):
                raise Different(f"it gives {actual!r}, not {value!r}")
            self.types[f"{path}{self._types_behind(expected)}"] = type_text(actual)
        elif isinstance(expected, (int, float, np.number)) and not isinstance(expected, bool):
            if not is_close(float(expected), actual) or is_other_zero(expected, actual):
                raise Different(f"it gives {actual!r}, not {expected!r}")
        elif not bool(np.all(expected == actual)):
            raise Different(f"it gives {actual!r}, not {expected!r}")

    def _compare_errors(self, expected: Any, actual: Any) -> None:
        if not (isinstance(expected, Raised) and isinstance(actual, Raised)):
            raise Different("it raises an exception, or does not")
        error = self.run.native(expected.error)
        if type(error) is not type(actual.error) or not alike(str(error), str(actual.error)):
            raise Different(f"it raises {actual.error!r}, not {error!r}")

    def _compare_object(self, expected: ProgramObject, actual: Any, path: str) -> None:
        if type(actual) is not expected.kind:
            raise Different(f"it gives {actual!r}, not a {expected.kind.__name__}")
        held = actual._asdict() if hasattr(actual, "_asdict") else vars(actual)
        held = {
            k: v for k, v in held.items()
            if not isinstance(v, (np.random.Generator, np.random.RandomState, random.Random))
        }  # fmt: skip
        if set(held) != set(expected.attributes):
            raise Different(f"it gives an object with the attributes {list(held)}")
        for name, value in expected.attributes.items():
            self.compare(value, held[name], f"{path}.{name}")

    def _operand(self, form: SymbolicForm, value: float) -> str:
        """Which operand a minimum or maximum of public values is: it has the type of that one."""
        if len(form.terms) != 1 or form.constant or form.terms[0][1] != 1:
            return ""
        node = self.run.way.terms.nodes[form.terms[0][0]]
        if node[0] not in ("min", "max"):
            return ""
        equal = [k for k, a in enumerate(node[1:]) if self.run.value(a) == value]
        return "".join(f" operand {k}{self._operand(node[1 + k], value)}" for k in equal)

    def _types_behind(self, value: Any) -> str:
        """What public values say of a type: which way was taken, and of what types they are."""
        recipe = getattr(value, "recipe", None)
        if isinstance(value, SymbolicForm) and len(value.terms) == 1:
            node = self.run.way.terms.nodes[value.terms[0][0]]
            recipe = self.run.way.recipes.get(node[1]) if node[0] == "pub" else None
        if recipe is None or recipe.function is PICK:
            return ""
        if recipe.function is chosen:
            first = bool(self.run.native(recipe.arguments[0]))
            return f" way {first}{self._types_behind(recipe.arguments[1 if first else 2])}"
        if id(recipe) not in self.types_behind:
            inner = "".join(self._types_behind(a) for a in recipe.arguments)
            self.types_behind[id(recipe)] = f" {type_text(self.run.prepared(recipe))}({inner})"
        return self.types_behind[id(recipe)]

    def _compare_sheet(self, expected: Sheet, actual: Any, path: str) -> None:
        if list(getattr(actual, "columns", ())) != list(expected.columns):
            raise Different(f"it gives {actual!r}, not a DataFrame of {list(expected.columns)}")
        for name, cells in expected.columns.items():
            self._compare_series(Labelled(expected.labels, cells), actual[name], f"{path}[{name}]")
        self.types[path] = f"{type(actual).__name__} by {actual.columns.dtype}"

    def _compare_series(self, expected: Labelled, actual: Any, path: str) -> None:
        labels = list(getattr(actual, "index", ()))
        if labels != list(expected.labels) or not hasattr(actual, "dtype"):
            raise Different(f"it gives {actual!r}, not a Series by {list(expected.labels)}")
        for label, e, a in zip(labels, expected.held, actual.tolist(), strict=True):
            self.compare(e, a, f"{path}[{label!r}]")
        self.types[path] = (
            f"{type(actual).__name__} {actual.name!r} of {actual.dtype}, by "
            f"{type(actual.index).__name__} {actual.index.name!r} of {actual.index.dtype}"
        )

    def _compare_dict(self, expected: Map, actual: Any, path: str) -> None:
        if not isinstance(actual, dict):
            raise Different(f"it gives {actual!r}, not a dict")
        if expected.open:
            self._compare_keys(list(actual))
            return
        if list(actual) != list(expected.items):
            raise Different(f"it gives a dict with the keys {list(actual)}")
        for key, value in expected.items.items():
            self.compare(value, actual[key], f"{path}[{key!r}]")

    def _compare_keys(self, actual: Any) -> None:
        if not self.run.way.ledger.gates:
            return
        plain = isinstance(actual, (list, tuple, set, frozenset)) and all(
            not isinstance(a, (list, tuple)) for a in actual
        )
        if plain and set(actual) != set(self.run.shown):
            raise Different(f"it shows the keys {actual!r}, not {sorted(self.run.shown)!r}")
