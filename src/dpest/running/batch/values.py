"""A value that stands for one number (or array) in every run of a batch.

Values are lazy: an operation is carried out when a decision or the output needs it, for the runs
that are still on the path. So a path that is re-entered costs no arithmetic for what is already
decided.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpest.running.batch.reading import BatchReading

# The methods of an ndarray that are NumPy functions of the same name, and those that NumPy calls
# on the elements of an array of objects (np.exp of an array of noisy values calls .exp()).
_METHODS = (
    *("all", "any", "argmax", "argmin", "argsort", "clip", "copy", "cumprod", "cumsum", "dot"),
    *("max", "mean", "min", "prod", "ravel", "repeat", "round", "squeeze", "std", "sum"),
    *("swapaxes", "take", "transpose", "var", "exp", "exp2", "expm1", "log", "log2", "log10"),
    *("log1p", "sqrt", "cbrt", "square", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh"),
    *("floor", "ceil", "trunc", "rint", "fabs", "sign", "isfinite", "isinf", "isnan"),
)

# pandas leaves an operation to the other operand where its priority is higher than a DataFrame's.
PANDAS_PRIORITY = 5000

_DEEP = 100  # operations waiting on one another, before they are carried out (recursion)


class NeedsScalar(BaseException):
    """The path met an operation that needs one number at a time.

    Not an Exception, so that `except Exception` in a mechanism doesn't swallow it.
    """

    def __init__(self, operation: str, where: str | None) -> None:
        super().__init__(operation)
        self.operation = operation
        self.where = where


class TooMuchKept(BaseException):
    """A block doesn't fit in memory: it is read again in smaller parts."""


class Batched:
    """One value a run. `shape` is the shape that the user's code sees in a single run.

    Arrays hold the runs on their last axis, so that broadcasting is the user's own, an element is
    contiguous, and an output column needs no copy.
    """

    __slots__ = (
        "_args",
        "_data",
        "_depth",
        "_function",
        "_reading",
        "_rows",
        "elementwise",
        "python",
        "shape",
    )
    __array_priority__ = PANDAS_PRIORITY
    __pandas_priority__ = PANDAS_PRIORITY

    def __init__(
        self,
        reading: BatchReading,
        shape: tuple[int, ...],
        function: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        data: Any = None,
        rows: Any = None,
        elementwise: bool = False,
    ) -> None:
        self._reading = reading
        self.elementwise = elementwise
        self.python: type | None = None  # bool, int or float where a plain run has that type
        self.shape = shape
        self._function = function
        self._args = args
        self._data = data
        self._rows = rows
        self._depth = 0
        if args:
            deepest = 0
            for arg in args:
                if isinstance(arg, Batched) and arg._depth > deepest:
                    deepest = arg._depth
            self._depth = deepest + 1
            if deepest >= _DEEP:
                self.data()

    def data(self) -> Any:
        """The values in the runs that are on the current path."""
        rows = self._reading.rows
        if self._rows is rows:
            return self._data
        if self._rows is not None:
            self._data = self._reading.arrays.take(self._data, rows.positions_in(self._rows))
        else:
            self._compute()
        self._rows = rows
        return self._data

    def _compute(self) -> None:
        reading = self._reading
        if self.shape and 8 * self.size * reading.rows.count > reading.arrays.kept_limit:
            reading.failure = TooMuchKept()
            raise reading.failure
        args = [arg.data() if isinstance(arg, Batched) else arg for arg in self._args]
        self._data = self._function(*args)  # type: ignore[misc]
        if self._data.shape != (*self.shape, reading.rows.count):
            # never a wrong answer: an unexpected shape sends these runs one by one
            raise AssertionError(f"{self._data.shape} where {self.shape} was expected")
        self._args = ()
        self._function = None
        self._depth = 0

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the methods of _METHODS

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` sees: the type of a plain run."""
        if self.shape:
            return np.ndarray
        if self.python is None and self._reading.active:
            return self._reading.arrays.dtype(self.data()).type
        return self.python or type(self)

    @property
    def node(self) -> Batched:
        """The value as it is now: what an operation that waits refers to."""
        return self

    def element(self, index: int) -> Batched | None:
        """One element of a vector that waits, made of the elements of its operands."""
        if not self.elementwise or self._rows is not None:
            return None
        length = self.shape[0]
        args: list[Any] = []
        for arg in self._args:
            if isinstance(arg, Batched):
                if arg.shape == (length,):
                    args.append(element_of(arg, index))
                elif not arg.shape:
                    args.append(arg)
                else:
                    return None
            elif getattr(arg, "shape", None):
                if arg.shape[0] != length:
                    return None
                args.append(arg[index].item())
            else:
                args.append(arg)
        return Batched(self._reading, (), self._function, tuple(args), elementwise=True)

    # Shape and elements

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._reading.arrays.dtype(self.data())

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def real(self) -> Batched:
        return self

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("object of type 'float' has no len()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Batched]:
        if not self.shape:
            raise TypeError("'float' object is not iterable")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Any:
        return self._reading.item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("'float' object does not support item assignment")

    # One number at a time

    def __bool__(self) -> bool:
        if not self.shape:
            return self._reading.decide(self)
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()"
            )
        return self._reading.decide(self.reshape(()))

    def __index__(self) -> int:
        return operator.index(self._reading.concrete(self, "an index made of noise"))

    def __int__(self) -> int:
        return int(self._reading.concrete(self, "int() of a noisy value"))

    def __float__(self) -> float:
        what = "float() or a function of `math` on noise (np.log and the like work on batches)"
        return float(self._reading.concrete(self, what))

    def __complex__(self) -> complex:
        return complex(self._reading.concrete(self, "complex() of a noisy value"))

    def __hash__(self) -> int:
        return hash(self._reading.concrete(self, "hashing a noisy value"))

    def __str__(self) -> str:
        return str(self._reading.concrete(self, "str() of a noisy value"))

    def __format__(self, spec: str) -> str:
        return format(self._reading.concrete(self, "formatting a noisy value"), spec)

    def __repr__(self) -> str:
        if self._reading.active:
            return repr(self._reading.concrete(self, "repr() of a noisy value"))
        return f"<batched value of shape {self.shape}>"

    def item(self, *args: Any) -> Any:
        if self.shape or args:
            return self.reshape(-1)[args[0] if args else 0].item()
        return self._reading.python_number(self)

    def tolist(self) -> Any:
        return [v.tolist() for v in self] if self.shape else self.item()

    def __round__(self, digits: int | None = None) -> Batched:
        return self._reading.python_round(self, digits)

    def __floor__(self) -> Any:
        return self._reading.to_integer(self.floor())

    def __ceil__(self) -> Any:
        return self._reading.to_integer(self.ceil())

    def __trunc__(self) -> Any:
        return self._reading.to_integer(self.trunc())

    def is_integer(self) -> Any:
        return self.floor() == self

    # Arrays

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)  # type: ignore

    def flatten(self, order: str = "C") -> Any:
        return self.reshape(-1, order=order)

    def astype(self, dtype: Any, **_: Any) -> Any:
        return self._reading.astype(self, np.dtype(dtype))

    # NumPy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if (
            out is not None
            and type(out[0]) is np.ndarray
            and out[0].dtype == np.float64
            and out[0].base is None
            and sys.getrefcount(out[0]) <= _references
        ):
            # `y += noise`: if nobody else sees the array, y may as well become a new one
            del kwargs["out"]
            result = self._reading.ufunc(ufunc, method, inputs, kwargs)
            if result.shape == out[0].shape:
                return result
            kwargs["out"] = out
        return self._reading.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._reading.function(function, args, kwargs)

    def __add__(self, other: Any) -> Any:
        return self._reading.operate(np.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._reading.operate(np.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self._reading.operate(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._reading.operate(np.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._reading.operate(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._reading.operate(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._reading.operate(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._reading.operate(np.true_divide, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._reading.operate(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._reading.operate(np.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return self._reading.operate(np.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._reading.operate(np.remainder, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return self._reading.operate(np.power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._reading.operate(np.power, other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._reading.function(np.matmul, (self, other), {})

    def __rmatmul__(self, other: Any) -> Any:
        return self._reading.function(np.matmul, (other, self), {})

    def __neg__(self) -> Any:
        return self._reading.operate(np.negative, self)

    def __pos__(self) -> Any:
        return self._reading.operate(np.positive, self)

    def __abs__(self) -> Any:
        return self._reading.operate(np.absolute, self)

    def __invert__(self) -> Any:
        return self._reading.operate(np.invert, self)

    def __and__(self, other: Any) -> Any:
        return self._reading.operate(np.bitwise_and, self, other)

    def __rand__(self, other: Any) -> Any:
        return self._reading.operate(np.bitwise_and, other, self)

    def __or__(self, other: Any) -> Any:
        return self._reading.operate(np.bitwise_or, self, other)

    def __ror__(self, other: Any) -> Any:
        return self._reading.operate(np.bitwise_or, other, self)

    def __xor__(self, other: Any) -> Any:
        return self._reading.operate(np.bitwise_xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._reading.operate(np.bitwise_xor, other, self)

    def __lshift__(self, other: Any) -> Any:
        return self._reading.operate(np.left_shift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._reading.operate(np.left_shift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return self._reading.operate(np.right_shift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._reading.operate(np.right_shift, other, self)

    def __lt__(self, other: Any) -> Any:
        return self._reading.operate(np.less, self, other)

    def __le__(self, other: Any) -> Any:
        return self._reading.operate(np.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return self._reading.operate(np.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._reading.operate(np.greater_equal, self, other)

    def __eq__(self, other: Any) -> Any:
        if other is None or isinstance(other, (str, bytes)):
            return False
        return self._reading.operate(np.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        if other is None or isinstance(other, (str, bytes)):
            return True
        return self._reading.operate(np.not_equal, self, other)


class _Probe:
    """Counts the references to an array that only one variable holds, in `y += noise`."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        return sys.getrefcount(out[0]) if out is not None else 0


def _references_of_one_variable() -> int:
    array: Any = np.zeros(1)
    array += _Probe()
    return array


_references = _references_of_one_variable()


def element_of(node: Batched, index: int) -> Batched:
    """Element `index` of a vector: drawn and computed alone, where the whole still waits."""
    alone = node.element(index)
    if alone is not None:
        return alone
    return Batched(node._reading, (), lambda data: data[index], (node,))


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def call(self: Batched, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    call.__name__ = name
    return call


for _name in _METHODS:
    setattr(Batched, _name, _method(_name))


class BatchedArray(Batched):
    """An array in every run, which the user's code may change in place.

    A change replaces `node`; operations that wait keep the node they were given. An array that
    shares memory with another (a slice) can't be changed here: those runs go one by one.
    """

    __slots__ = ("_node", "shared")

    def __init__(self, node: Batched, shared: bool = False) -> None:
        self._reading = node._reading
        self.shape = node.shape
        self._node = node
        self.python = None
        self.shared = shared
        self._depth = node._depth

    @property
    def node(self) -> Batched:
        return self._node

    def data(self) -> Any:
        return self._node.data()

    def become(self, value: Any) -> BatchedArray:
        """Change in place to `value`, which has the same shape."""
        if self.shared:
            self._reading.need_scalar("changing an array of noise that shares memory with another")
        node = value.node
        if node.shape != self.shape:
            raise ValueError(f"could not broadcast {node.shape} into shape {self.shape}")
        self._node = node
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        self.become(self._reading.with_item(self, key, value))

    def sort(self, axis: int = -1, **_: Any) -> None:
        self.become(np.sort(self, axis=axis))

    def __iadd__(self, other: Any) -> Any:
        return self.become(self + other)

    def __isub__(self, other: Any) -> Any:
        return self.become(self - other)

    def __imul__(self, other: Any) -> Any:
        return self.become(self * other)

    def __itruediv__(self, other: Any) -> Any:
        return self.become(self / other)
