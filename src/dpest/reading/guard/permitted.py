"""The functions, methods and constructs that the tracing reader is known to read rightly.

Everything else is refused. A function is here if symbolic values take part in it by a protocol of
Python or NumPy, by a stand-in of the reader, or not at all (it converts them to plain numbers,
which the reader refuses by itself).
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import math
import operator
import statistics
import types
from typing import Any

import numpy as np

from dpest.reading.tracing import symbolic_functions
from dpest.reading.tracing.patches import stands_in_for

BUILTINS = (
    "abs all any bool dict divmod enumerate filter float frozenset int iter len list map max min "
    "next pow range reversed round set slice sorted sum super tuple zip"
)
ITERTOOLS = (
    "accumulate chain combinations combinations_with_replacement compress count cycle dropwhile "
    "filterfalse islice pairwise permutations product repeat starmap takewhile tee zip_longest"
)
OPERATOR = "add sub mul truediv neg abs lt le gt ge itemgetter xor and_ or_ not_"
NUMPY = (
    "arange array asarray ascontiguousarray asanyarray atleast_1d bincount column_stack "
    "concatenate delete empty errstate expand_dims eye flip fromiter full hstack histogram "
    "identity insert linspace logspace meshgrid ndim ones outer ravel repeat reshape roll shape "
    "size squeeze stack tile transpose tril triu vstack zeros append bool_ float64 int64 intp"
)
BOUND = ("dict.fromkeys", "chain.from_iterable", "Counter.fromkeys")
SPECIAL = ("softmax", "log_softmax", "logsumexp")
COLLECTIONS = "Counter OrderedDict defaultdict deque"
STATISTICS = "fmean mean median"
# Constructors of the types that hold every number that the reader means.
WIDE = {
    float, int, bool, object, "float", "float64", "f8", "d", "int", "int64", "i8", "bool", "object",
    np.float64, np.int64, np.bool_, np.intp, np.dtype("float64"), np.dtype("int64"), None,
}  # fmt: skip
# The arguments at which functions take a type of numbers, beside the keyword `dtype`.
DTYPE_AT = {
    "astype": 0,
    "array": 1,
    "asarray": 1,
    "asanyarray": 1,
    "zeros": 1,
    "ones": 1,
    "empty": 1,
}

DRAWS = frozenset(
    [
        "binomial",
        "choice",
        "exponential",
        "gamma",
        "geometric",
        "gumbel",
        "integers",
        "laplace",
        "multinomial",
        "normal",
        "permutation",
        "poisson",
        "random",
        "shuffle",
        "spawn",
        "standard_exponential",
        "standard_normal",
        "uniform",
        "randint",
    ]
)
# Methods of lists, dictionaries, sets and arrays that symbolic values live in.
METHODS = frozenset(
    [
        "all",
        "any",
        "append",
        "appendleft",
        "argmax",
        "argmin",
        "argsort",
        "astype",
        "clear",
        "clip",
        "copy",
        "count",
        "cumprod",
        "cumsum",
        "dot",
        "extend",
        "flatten",
        "get",
        "index",
        "insert",
        "item",
        "items",
        "keys",
        "max",
        "mean",
        "min",
        "nonzero",
        "pop",
        "popleft",
        "prod",
        "put",
        "ravel",
        "remove",
        "repeat",
        "reshape",
        "reverse",
        "rotate",
        "round",
        "searchsorted",
        "setdefault",
        "sort",
        "std",
        "sum",
        "take",
        "tolist",
        "trace",
        "transpose",
        "update",
        "add",
        "discard",
        "values",
        "var",
        "cdf",
        "pdf",
        "pmf",
        "ppf",
        "rvs",
        "sf",
        "send",
        "close",
        "bit_length",
        "most_common",
        "total",
        "elements",
        "squeeze",
        "fill",
    ]
)
MUTATORS = frozenset(
    [
        "append",
        "appendleft",
        "clear",
        "extend",
        "insert",
        "pop",
        "popleft",
        "put",
        "remove",
        "reverse",
        "rotate",
        "setdefault",
        "sort",
        "update",
        "add",
        "discard",
        "fill",
        "resize",
        "partition",
        "popitem",
        "itemset",
    ]
)
PROPERTIES = frozenset(["shape", "size", "ndim", "T"])
TEXT = frozenset(["format", "join", "encode"])


@functools.cache
def functions() -> dict[int, Any]:
    """By id, the library functions that may be called with symbolic values."""
    found: list[Any] = [
        *(getattr(builtins, name) for name in BUILTINS.split()),
        *(getattr(itertools, name) for name in ITERTOOLS.split()),
        *(getattr(operator, name) for name in OPERATOR.split()),
        *(getattr(np, name) for name in NUMPY.split()),
        *(getattr(collections, name) for name in COLLECTIONS.split()),
        *(getattr(statistics, name) for name in STATISTICS.split()),
        *(value for value in vars(np).values() if isinstance(value, np.ufunc)),
        *(value for value in vars(math).values() if callable(value)),
        *symbolic_functions.FUNCTIONS,
        np.linalg.norm,
        np.linalg.solve,
        heapq.nlargest,
        heapq.nsmallest,
        heapq.heappush,
        heapq.heappop,
        heapq.heapify,
        functools.reduce,
        copy.copy,
        copy.deepcopy,
        dataclasses.replace,
        types.SimpleNamespace,
        contextlib.suppress,
        contextlib.nullcontext,
    ]
    return {id(value): value for value in found}


def permitted(value: Any) -> bool:
    """Whether symbolic values may be handed to a library's function."""
    if functions().get(id(value)) is value or stands_in_for(value):
        return True
    module = getattr(value, "__module__", None) or ""
    if getattr(value, "__qualname__", None) in BOUND:
        return True
    if module.startswith("scipy.special") and getattr(value, "__name__", "") in SPECIAL:
        return True
    if isinstance(value, type) and issubclass(value, BaseException):
        return True
    if isinstance(value, np.ufunc):
        return True
    return module.startswith("dpest.noise")


# Functions whose answer depends on their arguments alone: with plain arguments they are run.
PURE = frozenset(
    [
        "math",
        "builtins",
        "itertools",
        "functools",
        "operator",
        "collections",
        "statistics",
        "fractions",
        "decimal",
        "string",
        "re",
        "numpy",
        "scipy",
        "types",
        "typing",
        "enum",
        "bisect",
        "heapq",
        "dataclasses",
        "copy",
        "numbers",
        "_operator",
        "_functools",
        "_collections",
        "_bisect",
        "_heapq",
        "textwrap",
        "json",
        "datetime",
    ]
)
# Of those, what depends on more, or changes something.
IMPURE = frozenset(
    id(value)
    for value in (
        *(
            getattr(builtins, name)
            for name in [
                "open",
                "input",
                "eval",
                "exec",
                "compile",
                "globals",
                "locals",
                "setattr",
                "delattr",
                "id",
                "hash",
                "vars",
                "__import__",
                "breakpoint",
                "memoryview",
            ]
        ),
    )
)


def pure(value: Any) -> bool:
    """Whether a function of a library depends on its arguments alone."""
    module = (getattr(value, "__module__", None) or "").split(".")
    if id(value) in IMPURE or (module[0] == "numpy" and "random" in module):
        return False
    if isinstance(value, np.ufunc):
        return True
    return module[0] in PURE
