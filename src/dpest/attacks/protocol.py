"""What an attack is, and the one list of them: an attack is added by adding one file.

A new attack is a class with a name, a sentence, `refuses` and `run`. `register(YourAttack())` puts
it on the list: then `dpest.attack(..., method=name)` and `dpest attack --method name` know it, and
`dpest attack --help` lists it. A package may do so by itself with an entry point of the group
`dpest.plugins` that names the module to import.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dpest.errors import InputError

if TYPE_CHECKING:
    from dpest.ask.questions import Question
    from dpest.attacks.budget import Budget, Report
    from dpest.attacks.sampler import MechanismSampler
    from dpest.evidence import Evidence

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class AttackRequest:
    """What an attack is asked for, and what it may use.

    `pair` is the pair to attack, or None: then the attack looks for one, among `pairs()` (the best
    first) or by `search(share)`, which spends a share of the budget and never uses its runs again.
    """

    question: Question
    pair: Pair | None
    alpha: float
    seed: int
    budget_left: Callable[[], Budget]
    """What it may spend from now on."""
    budget_given: bool
    """Whether somebody said so."""
    progress: Report | None
    sampler: Callable[[], MechanismSampler]
    pairs: Callable[[], Sequence[Pair]]
    in_runs: Callable[[Any, Pair], Budget]
    """The budget in runs of a sampler on a pair."""
    search: Callable[[Any, float], tuple[Pair, Budget]]
    """The worst-looking pair, and the budget that is left."""
    confirm: Callable[[], Callable[..., Any]]
    run_all: Callable[..., Any] | None
    options: Mapping[str, Any] = field(default_factory=dict)
    event_ratio: Callable[[Any, Any], float | None] | None = None

    @property
    def budget(self) -> Budget:
        """What it may spend from now on: what was done before is paid."""
        return self.budget_left()

    @property
    def given_budget(self) -> Budget | None:
        """None where nobody said what it may spend."""
        return self.budget_left() if self.budget_given else None

    @property
    def settings(self) -> dict[str, Any]:
        """What every attack takes, with the caller's own options."""
        common = {"alpha": self.alpha, "seed": self.seed, "progress": self.progress}
        return {**common, **self.options}

    def chosen_pairs(self, most: int | None = None) -> list[Pair]:
        return [self.pair] if self.pair is not None else list(self.pairs())[:most]


class Attack(Protocol):
    """A way to a lower bound (or to a finding) from runs of the code."""

    name: str
    summary: str
    chooses_parameters: bool
    """Whether it finds values for parameters that nobody gave one."""

    def refuses(self, question: Question) -> str | None:
        """Why it can't answer this question; None if it can."""
        ...

    def run(self, request: AttackRequest) -> Evidence: ...


# Name -> where the attack lives; loaded when it is asked for, so that a list of names is cheap.
_HOMES: dict[str, str] = {
    "sequential": "dpest.attacks.methods:Sequential",
    "sniper": "dpest.attacks.methods:Sniper",
    "statdp": "dpest.attacks.methods:StatDP",
    "finder": "dpest.attacks.methods:Finder",
    "scores": "dpest.attacks.methods:Scores",
    "recorded": "dpest.attacks.methods:Recorded",
    "histogram": "dpest.attacks.histogram:Histogram",
}
_ADDED: dict[str, Attack] = {}
_plugins_loaded = False


def register(attack: Attack) -> None:
    """Put an attack on the list."""
    if attack.name in _HOMES or attack.name in _ADDED:
        raise InputError(f"there is an attack called {attack.name!r} already")
    _ADDED[attack.name] = attack


def unregister(name: str) -> None:
    """Take an attack of yours off the list again."""
    _ADDED.pop(name, None)


def names() -> tuple[str, ...]:
    """The names of all attacks, built in and added."""
    _load_plugins()
    return (*_HOMES, *_ADDED)


def get(name: str) -> Attack:
    _load_plugins()
    if name in _ADDED:
        return _ADDED[name]
    if name not in _HOMES:
        raise InputError(f"no attack is called {name!r}; there are {', '.join(names())}")
    module, _, made = _HOMES[name].partition(":")
    attack: Attack = vars(importlib.import_module(module))[made]()
    return attack


def _load_plugins() -> None:
    """Import the modules that installed packages name as plugins, once."""
    global _plugins_loaded
    if _plugins_loaded:
        return
    _plugins_loaded = True
    from importlib.metadata import entry_points

    for entry in entry_points(group="dpest.plugins"):
        entry.load()
