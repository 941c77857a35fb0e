"""The state of one block of runs while the user's function is executed for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from dpest.errors import user_line
from dpest.running.batch.functions import FUNCTIONS
from dpest.running.batch.labelled import BatchedSeries, is_series, labelled
from dpest.running.batch.python_operators import operate, retyped
from dpest.running.batch.rows import RunRows
from dpest.running.batch.values import Batched, BatchedArray, NeedsScalar, TooMuchKept

_FEW_VALUES = 64  # a discrete value with more than this many outcomes is not split by value
# The commonest operations on the commonest operands take a short way.
_PLAIN = frozenset(
    {
        *(np.add, np.subtract, np.multiply, np.greater, np.greater_equal, np.less),
        np.less_equal,
    }
)
_NUMBERS = frozenset({float, int, bool})
# What Python makes of a float and a number; whole numbers may grow beyond 64 bits.
_PLAIN_RESULTS: dict[tuple[np.ufunc, Any, Any], type] = {
    (ufunc, *kinds): float if ufunc in (np.add, np.subtract, np.multiply) else bool
    for ufunc in _PLAIN
    for kinds in ((float, float), (float, int), (int, float))
}
_ZERO_DIVIDES = frozenset({np.true_divide, np.floor_divide, np.remainder, np.fmod})


# Types whose values are one number a run. `Drawn` joins them where it is defined.
SINGLE: set[type] = {Batched, float, int, bool}


class Pending:
    """A path to be entered: its runs, the decisions that lead there, the draws already made."""

    __slots__ = ("decisions", "draws", "rows")

    def __init__(self, rows: RunRows, decisions: list[Any], draws: list[Any]) -> None:
        self.rows = rows
        self.decisions = decisions
        self.draws = draws


class BatchReading:
    """Executes operations for the runs that are together, and splits them at decisions.

    At a decision the larger side goes on in place; the other is put aside with references to the
    draws made so far, and the function is entered again for it later. On re-entry the known
    decisions are repeated without evaluating their conditions.
    """

    def __init__(self, arrays: Any, count: int) -> None:
        self.arrays = arrays
        self.rows = RunRows(arrays, count)
        self.aside: list[Pending] = []
        self.decisions: list[Any] = []
        self.draws: list[Any] = []
        self.cursor = 0
        self.draw_cursor = 0
        self.active = False
        self.failure: NeedsScalar | TooMuchKept | None = None
        self.kept_bytes = 0
        self.ufuncs = {ufunc: arrays.ufunc(ufunc) for ufunc in _PLAIN}

    def enter(self, path: Pending) -> None:
        self.rows = path.rows
        self.decisions = path.decisions
        self.draws = path.draws
        self.cursor = 0
        self.draw_cursor = 0
        self.failure = None
        self.kept_bytes = sum(
            self.arrays.nbytes(draw.data) for draw in path.draws if draw.data is not None
        )

    def cost_in_runs(self) -> float:
        """What this execution cost, in scalar runs: a split is some sixty times a scalar draw."""
        return 8 + 64 * len(self.aside) / max(len(self.decisions), 1)

    def path(self) -> Pending:
        """The path that is being read, as far as it has come."""
        return Pending(self.rows, self.decisions, self.draws)

    # Decisions

    def decide(self, condition: Batched) -> bool:
        position = self.cursor
        self.cursor += 1
        if position < len(self.decisions):
            return self.decisions[position]
        mask = condition.data()
        if self.arrays.dtype(mask) != np.bool_:
            mask = mask != 0
        rows = self.rows
        true = self.arrays.count(mask)
        if true == 0 or true == rows.count:
            outcome = true > 0
        else:
            outcome = 2 * true >= rows.count
            aside = rows.count - true if outcome else true
            self._put_aside(RunRows(self.arrays, aside, rows, mask, not outcome), not outcome)
            self.rows = RunRows(self.arrays, rows.count - aside, rows, mask, outcome)
        self.decisions.append(outcome)
        return outcome

    def concrete(self, value: Batched, what: str) -> Any:
        """One number for all runs on the path: the batch splits by value, if they are few."""
        if value.shape:
            if value.size != 1:
                raise TypeError("only length-1 arrays can be converted to Python scalars")
            value = value.reshape(())
        position = self.cursor
        self.cursor += 1
        if position < len(self.decisions):
            return self.decisions[position]
        if not self.active:
            raise TypeError(f"{what} outside the run that drew it")
        data = value.data()
        found = self.arrays.values(data, min(_FEW_VALUES, max(2, self.rows.count // 4)))
        if found is None:
            # few runs are left, each on a path of its own; or the value is a real number
            few = self.rows.count < 4 * _FEW_VALUES and self.arrays.dtype(data).kind in "iub"
            self.need_scalar("" if few else what)
        chosen, count = max(found, key=lambda entry: entry[1])
        rows = self.rows
        for other, size in found:
            if other != chosen:
                mask = self.arrays.equal(data, other)
                self._put_aside(RunRows(self.arrays, size, rows, mask), other)
        if count != rows.count:
            self.rows = RunRows(self.arrays, count, rows, self.arrays.equal(data, chosen))
        self.decisions.append(chosen)
        return chosen

    def _put_aside(self, rows: RunRows, outcome: Any) -> None:
        draws = [draw.kept() for draw in self.draws]
        self.aside.append(Pending(rows, [*self.decisions, outcome], draws))

    def need_scalar(self, operation: str) -> NoReturn:
        self.failure = NeedsScalar(operation, user_line())
        raise self.failure

    # Operations

    def operate(self, ufunc: np.ufunc, *operands: Any) -> Any:
        """An operator of Python."""
        if ufunc in _PLAIN:
            a, b = operands
            first, second = type(a), type(b)
            if first in SINGLE and second in SINGLE:
                known = _PLAIN_RESULTS.get(
                    (
                        ufunc,
                        first if first in _NUMBERS else a.python,
                        second if second in _NUMBERS else b.python,
                    )
                )
                if known is not None:
                    value = Batched(self, (), self.ufuncs[ufunc], operands, elementwise=True)
                    value.python = known
                    return value
        return operate(self, ufunc, *operands)

    def python_number(self, value: Batched) -> Batched:
        """`value.item()`: what NumPy's scalar is in Python."""
        return retyped(value, value.python or _PYTHON[self.arrays.dtype(value.data()).kind])

    def wrap(self, node: Batched) -> Batched:
        return BatchedArray(node) if node.shape else node

    def lift(self, value: Any) -> Any:
        """An operand as a node, a Python scalar or an array of the array library."""
        if isinstance(value, Batched):
            return value.node
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, np.generic):
            return value if self.arrays.name == "numpy" else value.item()
        if isinstance(value, (list, tuple)):
            value = self.array_of(value)
            return value.node if isinstance(value, Batched) else value
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                lifted = self.array_of(value)
                return lifted.node if isinstance(lifted, Batched) else lifted
            return value
        array = np.asarray(value)
        if array.dtype == object or type(value).__module__.startswith("pandas."):
            self.need_scalar(f"an operation on noise and a {type(value).__name__}")
        return array

    def array_of(self, value: Any) -> Any:
        """np.array(value) for nested lists or an array of objects that may hold batched values."""
        if isinstance(value, Batched):
            return value
        if isinstance(value, BatchedSeries):
            return value.values
        if isinstance(value, np.ndarray) and value.dtype != object:
            return value
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return self.array_of(value.item())
        if not isinstance(value, (list, tuple, np.ndarray)):
            return np.asarray(value)
        parts = [self.array_of(part) for part in value]
        if not any(isinstance(part, Batched) for part in parts):
            return np.array(parts)
        shapes = {part.shape for part in parts}
        if len(shapes) > 1:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an "
                "inhomogeneous shape"
            )
        return self.stack(parts)

    def stack(self, parts: list[Any]) -> Batched:
        shape = (len(parts), *parts[0].shape)
        nodes = [
            part.node if isinstance(part, Batched) else self.arrays.constant(np.asarray(part))
            for part in parts
        ]
        return self.wrap(
            Batched(self, shape, lambda *d: self.arrays.stack(d, self.rows.count), tuple(nodes))
        )

    def elementwise(self, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
        if ufunc in _PLAIN and type(operands[0]) in SINGLE and type(operands[1]) in SINGLE:
            return Batched(self, (), self.ufuncs[ufunc], operands, elementwise=True)
        if any(map(is_series, operands)):
            return labelled(self, ufunc, operands)
        nodes = []
        shape: tuple[int, ...] = ()
        for operand in operands:
            node = self.lift(operand)
            if isinstance(node, (Batched, np.ndarray)) and node.shape:
                shape = node.shape if not shape else np.broadcast_shapes(shape, node.shape)
                if not isinstance(node, Batched):
                    node = self.arrays.constant(node)
            elif not isinstance(node, Batched) and isinstance(node, np.ndarray):
                node = node.item()
            nodes.append(node)
        function = self.arrays.ufunc(ufunc)
        if function is None:
            self.need_scalar(f"np.{ufunc.__name__} of noise on {self.arrays.name}")
        if ufunc in _ZERO_DIVIDES and isinstance(nodes[1], Batched):
            function = self._guarded_division(function)
        elif ufunc is np.power:
            function = self._guarded_power(function)
        return self.wrap(Batched(self, shape, function, tuple(nodes), elementwise=True))

    def _guarded_division(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def divide(a: Any, b: Any) -> Any:
            # a Python number raises there, where NumPy goes on with inf
            if self.arrays.count(b == 0):
                self.need_scalar("a division by a noisy value that can be zero")
            return function(a, b)

        return divide

    def _guarded_power(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def power(a: Any, b: Any) -> Any:
            result = function(a, b)
            if self.arrays.has_nan(result):
                # a Python float gives a complex number there
                self.need_scalar("a fractional power of a noisy value that can be negative")
            return result

        return power

    def ufunc(
        self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        out = kwargs.pop("out", None)
        if out is not None and not (len(out) == 1 and isinstance(out[0], BatchedArray)):
            self.need_scalar(f"np.{ufunc.__name__} that writes noise into an array of numbers")
        if method == "__call__" and not kwargs and ufunc.nout == 1 and ufunc.signature is None:
            result = self.elementwise(ufunc, inputs)
        elif method == "__call__" and ufunc is np.matmul and not kwargs:
            result = FUNCTIONS["matmul"](self, *inputs)
        elif method == "reduce" and ufunc.__name__ in _REDUCTIONS:
            kwargs.setdefault("axis", 0)
            name = _REDUCTIONS[ufunc.__name__]
            result = FUNCTIONS[name](self, *inputs, **kwargs)
        elif method == "accumulate" and ufunc in (np.add, np.multiply):
            kwargs.setdefault("axis", 0)
            name = "cumsum" if ufunc is np.add else "cumprod"
            result = FUNCTIONS[name](self, *inputs, **kwargs)
        elif method == "accumulate" and ufunc in (np.maximum, np.minimum):
            result = FUNCTIONS["_accumulate"](self, ufunc, *inputs, **kwargs)
        elif method == "outer" and not kwargs and ufunc.nout == 1:
            a, b = (self.array_of(value) for value in inputs)
            result = self.elementwise(ufunc, (a.reshape(a.shape + (1,) * b.ndim), b))
        else:
            self.need_scalar(f"np.{ufunc.__name__} called with {method} {sorted(kwargs)}")
        return out[0].become(result) if out is not None else result

    def function(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        known = FUNCTIONS.get(function.__name__)
        if known is None or (getattr(function, "__module__", "") or "").startswith("numpy.linalg"):
            self.need_scalar(f"np.{function.__name__} of noise")
        out = kwargs.pop("out", None)
        result = known(self, *args, **kwargs)
        if out is None:
            return result
        if not isinstance(out, BatchedArray):
            self.need_scalar(f"np.{function.__name__} that writes noise into an array of numbers")
        return out.become(result)

    def item(self, value: Batched, key: Any) -> Any:
        return FUNCTIONS["_item"](self, value, key)

    def with_item(self, value: Batched, key: Any, new: Any) -> Batched:
        return FUNCTIONS["_with_item"](self, value, key, new)

    def astype(self, value: Batched, dtype: np.dtype[Any]) -> Batched:
        if dtype.kind not in "fiub":
            self.need_scalar(f"astype({dtype})")
        return self.wrap(
            Batched(self, value.shape, lambda d: self.arrays.astype(d, dtype), (value.node,))
        )

    def to_integer(self, value: Batched) -> Batched:
        """A whole float as Python's int; what doesn't fit in 64 bits goes one by one."""

        def convert(data: Any) -> Any:
            if self.arrays.count(~(abs(data) < 2.0**62)):
                self.need_scalar("an integer made of a noisy value that is infinite or huge")
            return self.arrays.astype(data, np.dtype(np.int64))

        result = self.wrap(Batched(self, value.shape, convert, (value.node,)))
        result.python = int
        return result

    def python_round(self, value: Batched, digits: int | None) -> Batched:
        if digits is None:
            return self.to_integer(value.rint())
        if value.python in (bool, int):
            self.need_scalar("round() of a noisy whole number to some digits")
        return retyped(value.round(digits), value.python)


_PYTHON: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float}
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
