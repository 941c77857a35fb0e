"""The literature's mechanisms, as plain functions with their claims.

Each entry is a `Mechanism`: claim, adjacency, domain and reference, and in `about`
- `tool`: who ran it (DP-Sniper, StatDP, DP-Finder, CheckDP, dpest) or "textbook";
- `length`: the usual n; `right`: whether the claim holds;
- `truth(n, params)`: the least value for which a claim of its kind is true over all inputs of
  length n (for pure claims the worst-case ε), or None where it isn't known;
- `wrong_from`: the least n at which a wrong one is wrong, with its usual parameters;
- `pattern_epsilon`: the exact ε on the literature's input patterns; `note`: what else is known.
"""

from __future__ import annotations

import difflib
import functools
import importlib

from dpest.ask.declaration import Mechanism
from dpest.errors import TargetError

_MODULES = (
    "additive",
    "noisy_max",
    "sparse_vector",
    "local",
    "dp_finder",
    "statdp",
    "checkdp",
    "datasets",
)
TOOLS = ("DP-Sniper", "DP-Finder", "StatDP", "CheckDP", "dpest", "textbook")


@functools.cache
def _table() -> dict[str, Mechanism]:
    found: dict[str, Mechanism] = {}
    for module in _MODULES:
        for value in vars(importlib.import_module(f"dpest.zoo.{module}")).values():
            if isinstance(value, Mechanism) and value.name not in found:
                found[value.name] = value
    order = {tool: i for i, tool in enumerate(TOOLS)}
    return dict(sorted(found.items(), key=lambda item: order[item[1].about["tool"]]))


def entries() -> list[Mechanism]:
    """Every mechanism, grouped by tool."""
    return list(_table().values())


def names() -> list[str]:
    return list(_table())


def get(name: str) -> Mechanism:
    """A mechanism by its name, in any case.

    >>> get("svt1").name
    'SVT1'
    """
    table = {known.lower(): entry for known, entry in _table().items()}
    wanted = name.strip().lower()
    if wanted in table:
        return table[wanted]
    close = difflib.get_close_matches(wanted, table, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(table[c].name for c in close)}?" if close else ""
    raise TargetError(
        f"the zoo has no mechanism {name!r}; {hint or '`dpest zoo` lists them'}"
        " A function of yours is named as file.py:function."
    )
