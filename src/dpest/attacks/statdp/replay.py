"""Code that runs a counterexample again, one run at a time."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from math import nan
from typing import Any

from dpest.ask.declaration import data_first
from dpest.ask.entries import as_code
from dpest.attacks.statdp.leaves import leaves_of
from dpest.attacks.statdp.reading import hamming, number, numbers, one_of, part

__all__ = ["hamming", "leaves_of", "nan", "number", "numbers", "one_of", "part"]


def import_lines(function: Callable[..., Any], rng: bool) -> list[str]:
    """Python that brings the function back under the name `mechanism`, where that is possible."""
    inner = inspect.unwrap(function)
    module, name = getattr(inner, "__module__", None), getattr(inner, "__qualname__", "")
    if not module or not name or "<" in name:
        return ["# `mechanism` is the function that was tested: define it above this line."]
    if module != "__main__" and _importable(module):
        head, _, rest = name.partition(".")
        return [f"from {module} import {head}", f"mechanism = {head}{'.' + rest if rest else ''}"]
    try:
        path = inspect.getfile(inner)
    except (OSError, TypeError):
        return ["# `mechanism` is the function that was tested: define it above this line."]
    # What stands beside the file may be imported by it.
    return [
        "import os",
        "import runpy",
        "import sys",
        f"sys.path.insert(0, os.path.dirname({path!r}))",
        f"mechanism = runpy.run_path({path!r})[{name!r}]",
    ]


def _importable(module: str) -> bool:
    """Would another process find it? That it is loaded here doesn't say so."""
    top = module.partition(".")[0]
    for finder in sys.meta_path:
        try:
            if finder.find_spec(top, None) is not None:
                return True
        except (ImportError, ValueError, AttributeError):
            continue
    return False


def replay_code(
    function: Callable[..., Any],
    x: Any,
    x2: Any,
    arguments: Mapping[str, Any],
    event_source: str,
    runs: int,
    rng: bool,
) -> str:
    """A few lines that run the mechanism on both inputs and count the event.

    They use the function as it is, one run at a time; nothing of dpest but the reading of outputs.
    """
    known = ("hamming", "nan", "number", "numbers", "one_of", "part")
    names = [name for name in known if name in event_source]
    extra = "".join(f", {key}={value!r}" for key, value in arguments.items())
    both = "x, rng" if data_first(function) else "rng, x"
    call = f"mechanism({both}{extra})" if rng else f"mechanism(x{extra})"
    lines = [
        "import numpy as np",
        f"from dpest.attacks.statdp.replay import {', '.join(['leaves_of', *names])}",
        *import_lines(function, rng),
        "",
        f"D1, D2 = {as_code(x)}, {as_code(x2)}",
        f"runs, rng = {runs}, np.random.default_rng(0)",
        "",
        "def event(output):",
        "    leaves = leaves_of(output)",
        f"    return bool({event_source})",
        "",
        f"c1, c2 = (sum(event({call}) for _ in range(runs)) for x in (D1, D2))",
        'print(f"the event happened {c1} times on D1 and {c2} times on D2, of {runs} runs each")',
    ]
    return "\n".join(lines) + "\n"
