"""One run of a function along one path: its draws, its decisions, and the ways it leaves open."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpest.errors import ReplayError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.masses import mass_bound
from dpest.geometry.regions import Point, Region, Supports
from dpest.noise.family import Noise
from dpest.reading.paths import Choice
from dpest.reading.refusals import forgetting, remembered
from dpest.reading.rewrites.readings import Plan, Site
from dpest.reading.rewrites.returning import Moment, Watch
from dpest.reading.tracing.joining import state_key
from dpest.reading.tracing.symbolic import TracedReal, TracedTruth
from dpest.running.places import Place, inside_while, shown, user_call, user_place

if TYPE_CHECKING:
    from dpest.reading.tracing.forking import TraceExploration


@dataclass(frozen=True)
class TraceLimits:
    """Where a trace gives up, or, for loops without a bound, stops.

    `leftover` is the probability that may stay unexplored. `patience`: how often one line may fork
    on one path before it is taken for a loop without a bound; in a `while` loop, as soon as it has
    forked more often than there are data (`data_size`) and what it goes on with is improbable.
    """

    paths: int = 100_000
    seconds: float = 60.0
    leftover: float = 1e-9
    patience: int = 200
    data_size: int = 0


@dataclass(frozen=True)
class Explored:
    """One path: its conditions and choices, the noises drawn on it in order, and how it ended.

    `outcome` is what the function returned, or the exception that it raised (`raised`). `point` is
    a place inside the region, for the symbols that its conditions speak of.
    """

    conditions: tuple[Condition, ...]
    choices: tuple[Choice, ...]
    noises: dict[Symbol, Noise]
    outcome: Any
    raised: bool = False
    point: Point = field(default_factory=dict)
    turns: Sequence[Any] = field(default=(), repr=False)


@dataclass
class Names:
    """Symbols for draws and truths, the same on every path that makes the same draw.

    `tag` is put before the names, to keep apart the pieces of one program. `plan` says which draws
    are read in another way (see `rewrites.readings`), `pairs` whether two of them may be read as
    one, `sites` where they are made.
    """

    tag: str = ""
    supports: Supports = field(default_factory=Supports)
    plan: Plan = field(default_factory=dict)
    pairs: bool = True
    sites: dict[Symbol, Site | None] = field(default_factory=dict)
    indicators: dict[Symbol, TracedTruth] = field(default_factory=dict)
    drawn_values: dict[tuple[int, Any], tuple[Symbol, Noise, Any]] = field(default_factory=dict)
    _draws: dict[tuple[int, Noise], Symbol] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _truths: dict[Any, Symbol] = field(default_factory=dict)

    def drawn(self, index: int, noise: Noise) -> Symbol:
        symbol = self._draws.get((index, noise))
        if symbol is None:
            stem = f"{self.tag}{noise.family}{index}"
            name = stem
            for other in itertools.count(2):
                if name not in self._taken:
                    break
                name = f"{stem}_{other}"
            self._taken.add(name)
            symbol = self._draws[index, noise] = Symbol("noise", name)
            self.supports.noises[symbol] = noise
        return symbol

    def indicator(self, truth: TracedTruth) -> Symbol:
        symbol = self._truths.get(truth.key)
        if symbol is None:
            symbol = Symbol("indicator", f"{self.tag}bit{len(self._truths)}")
            self._truths[truth.key] = symbol
            self.indicators[symbol] = truth
        return symbol


class Turn:
    """One decision of a path: what was asked, and which way this path went.

    `tight` are the conditions as the region holds them.
    """

    __slots__ = ("choice", "conditions", "index", "place", "point", "question", "tight")

    def __init__(
        self,
        question: Any,
        index: int,
        conditions: tuple[Condition, ...],
        tight: tuple[Condition, ...],
        point: Point,
        place: Place | None,
        choice: Choice | None = None,
    ) -> None:
        self.question = question
        self.index = index
        self.conditions = conditions
        self.tight = tight
        self.point = point
        self.place = place
        self.choice = choice


class SuspendedRun(BaseException):
    """Leaves the user's function in a loop that seems to have no bound."""


class Joined(BaseException):
    """Leaves the user's function where another run goes on for this one."""


class TraceRun:
    """One run along one path; the `Decider` that symbolic values ask."""

    def __init__(
        self,
        exploration: TraceExploration,
        turns: Sequence[Turn],
        patience: int,
        improbable: float,
    ) -> None:
        self.exploration = exploration
        self.improbable = improbable
        self.names = exploration.names
        self.turns = list(turns)
        self.given = len(self.turns)
        self.position = 0
        self.open: list[list[Turn]] = []
        self.noises: dict[Symbol, Noise] = {}
        self.draws = 0
        self.patience = patience
        self.joined = False
        self.lenient = exploration.lenient
        self._drawn_at: Place | None = None  # the last draw, if nothing was decided since
        self._region: Region | None = None
        self._forks: Counter[Place | None] = Counter()
        loops = exploration.loops
        self._watch = Watch(loops) if loops is not None and loops.possible else None

    # Symbols

    def draw(self, noise: Noise) -> Any:
        """A value of a noise: a symbol, or the only value that it has."""
        constant = getattr(noise, "constant", None)
        if constant is not None:
            return constant
        self._drawing()
        symbol = self.names.drawn(self.draws, noise)
        self.draws += 1
        self.noises[symbol] = noise
        self._at(symbol, noise)
        return TracedReal(Form.of(symbol), noise.discrete)

    def _at(self, symbol: Symbol, noise: Noise) -> None:
        """Note where a draw was made."""
        place = user_call()
        self._drawn_at = None if place is None else place[:2]
        self.names.sites[symbol] = None if place is None else (*place, noise.family)

    def drawn_before(self, key: Any) -> Any:
        """The value of the next draw, if some run has drawn with this key at this place.

        Saves a replay the making of the noise; None where there is nothing to save.
        """
        found = self.names.drawn_values.get((self.draws, key))
        if found is None:
            return None
        symbol, noise, value = found
        self._drawing()
        self.draws += 1
        self.noises[symbol] = noise
        self._at(symbol, noise)
        return value

    def remember(self, key: Any, value: Any) -> None:
        """That the draw just made has this key."""
        if isinstance(value, TracedReal) and len(value.form.terms) == 1:
            (symbol,) = value.form.terms
            noise = self.noises.get(symbol)
            if noise is not None:
                self.names.drawn_values[self.draws - 1, key] = (symbol, noise, value)

    @property
    def plan(self) -> Plan:
        return self.names.plan

    @property
    def pairs(self) -> bool:
        return self.names.pairs

    @property
    def draw_sites(self) -> dict[Symbol, Site | None]:
        return self.names.sites

    def indicator(self, truth: TracedTruth) -> Symbol:
        return self.names.indicator(truth)

    def defined(self, indicator: Symbol) -> TracedTruth:
        return self.names.indicators[indicator]

    def noise_of(self, symbol: Symbol) -> Noise | None:
        return self.names.supports.noises.get(symbol)

    def note(self, text: str) -> None:
        self.exploration.notes.setdefault(text)

    # Decisions

    def decide(self, condition: Condition) -> bool:
        if self.position < self.given:
            return self._decided(self._repeated(condition).index == 0)
        region = self._inner()
        other = condition.negated()
        yes = region.meet((condition,))
        no = region.meet((other,)) if yes is not None else region.point
        self._fork(condition, [((condition,), yes, None), ((other,), no, None)])
        return self._decided(self.turns[-1].index == 0)

    def _decided(self, outcome: bool) -> bool:
        if self._watch is not None:
            self._watch.decided(outcome)
        return outcome

    def _drawing(self) -> None:
        """Before a draw: the run ends here if it is in a state where it was before."""
        if self._watch is None:
            return
        earlier = self._watch.drawing(self.position, len(self.noises), self.draws)
        if self.position >= self.given:
            for moment in reversed(earlier):
                if self._returns_to(moment):
                    raise remembered(Joined())

    def _returns_to(self, moment: Moment) -> bool:
        """Whether the way from an earlier moment depends on nothing from before it."""
        segment = self.turns[moment.turns :]
        fresh = set(list(self.noises)[moment.noises :])
        spoken = {s for turn in segment for c in turn.conditions for s in c.form.terms}
        loops, joins = self.exploration.loops, self.exploration.joins
        if loops is None or not spoken <= fresh:
            return False
        reached = () if joins is None else joins.on(self.turns)
        if any(len(join.prefix) >= moment.turns for _, join in reached):
            return False
        return loops.add(moment, self.turns)

    def choose(self, cells: Sequence[Sequence[Condition] | None]) -> int:
        question = tuple(None if cell is None else tuple(cell) for cell in cells)
        return self.choose_lazily(question, lambda: question)

    def choose_endlessly(
        self, question: Any, cells: Callable[[], Sequence[Sequence[Condition]]]
    ) -> int:
        """`choose` in a search without a bound: what is improbable may stay unexplored."""
        return self.choose_lazily(question, cells, endless=True)

    def choose_lazily(
        self,
        question: Any,
        cells: Callable[[], Sequence[Sequence[Condition] | None]],
        *,
        endless: bool = False,
    ) -> int:
        """`choose`, with the cells written down only if the question is new."""
        if self.position < self.given:
            index = self._repeated(question).index
        else:
            region = self._inner()
            self._fork(
                question,
                [
                    ((), None, None) if cell is None else (cell, region.meet(cell), None)
                    for cell in cells()
                ],
                endless=endless,
            )
            index = self.turns[-1].index
        if self._watch is not None:
            self._watch.decided(None)
        return index

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        """One of finitely many outcomes of a draw, each on its own path."""
        self._drawing()
        site = f"{self.names.tag}{noise.family}{self.draws}"
        self.draws += 1
        if self.position < self.given:
            return outcomes[self._repeated((noise, site)).index][0]
        point = self._inner().point
        ways: list[Any] = [
            ((), point, Choice(site, noise, value, probability)) for value, probability in outcomes
        ]
        self._fork((noise, site), ways)
        return outcomes[self.turns[-1].index][0]

    def implied(self, condition: Condition) -> bool | None:
        """Whether the path so far decides the condition; None if both are possible."""
        region = self._inner()
        if region.apart(condition):
            return None
        if region.meet((condition,)) is None:
            return False
        return True if region.meet((condition.negated(),)) is None else None

    def _repeated(self, question: Any) -> Turn:
        turn = self.turns[self.position]
        self.position += 1
        self._drawn_at = None
        if turn.question != question:
            place = user_place()
            raise remembered(
                ReplayError(
                    "the function decided differently when it was run again with the same noise",
                    "a mechanism must depend on its input, its parameters and `rng` alone: look "
                    "for global variables, default arguments that are changed, files, clocks, and "
                    "random numbers that don't come from `rng`",
                    shown(place),
                )
            )
        return turn

    def _fork(
        self,
        question: Any,
        ways: list[tuple[Sequence[Condition], Point | None, Choice | None]],
        *,
        endless: bool = False,
    ) -> None:
        possible = [(i, way) for i, way in enumerate(ways) if way[1] is not None]
        if len(possible) == 1:
            # Nothing to say: the conditions follow from those before.
            index, (_, point, choice) = possible[0]
            self._take(Turn(question, index, (), (), point or {}, None, choice), [])
            return
        if not possible:
            raise AssertionError("the alternatives of a decision cover every case")
        place = user_place()
        if self._absorbed(place):
            raise remembered(Joined())
        self._forks[place] += 1
        if self._too_deep(place, endless):
            raise remembered(SuspendedRun())
        self.exploration.forks[place] += 1
        tightened = self.names.supports.tightened
        turns = [
            Turn(
                question,
                index,
                tuple(conditions),
                tuple(tightened(c) for c in conditions),
                point or {},
                place,
                choice,
            )
            for index, (conditions, point, choice) in possible
        ]
        self._take(turns[0], turns[1:])

    def _absorbed(self, place: Place | None) -> bool:
        joins = self.exploration.joins
        if joins is None or place is None or self._drawn_at is None:
            return False
        if not inside_while(*place):
            return False
        with forgetting():
            key = state_key(place, self._drawn_at, self.draws, self.noises)
        if key is None:
            return False
        loops, known = self.exploration.loops, joins.found.get(key)
        if loops is not None and (
            loops.on(self.turns) or (known is not None and loops.on(known.prefix))
        ):
            return False  # what is summed up must not be joined as well
        return joins.absorbs(key, self.turns)

    def _too_deep(self, place: Place | None, endless: bool) -> bool:
        """Whether this looks like a loop without a bound that is better left for later."""
        count = self._forks[place]
        if count > self.patience:
            return True
        limits = self.exploration.limits
        early = count <= limits.data_size + 3 or place is None or not inside_while(*place)
        if early and not endless:
            return False
        mass = mass_bound(self.conditions, self.choices, self.names.supports.noises)
        return mass < self.improbable

    def _take(self, turn: Turn, others: Sequence[Turn]) -> None:
        for other in reversed(others):
            self.open.append([*self.turns, other])
        self.turns.append(turn)
        self.position += 1
        self._drawn_at = None
        self._inner().add(turn.tight, turn.point)

    def _inner(self) -> Region:
        if self._region is None:
            if self.given:
                for turn in self.turns:
                    if turn.place is not None:
                        self._forks[turn.place] += 1
            point = self.turns[-1].point if self.turns else self.exploration.start
            tight = [*self.exploration.tight, *(c for turn in self.turns for c in turn.tight)]
            self._region = Region(self.names.supports, tight, point)
        return self._region

    @property
    def conditions(self) -> list[Condition]:
        return [c for turn in self.turns for c in turn.conditions]

    @property
    def choices(self) -> tuple[Choice, ...]:
        return tuple(turn.choice for turn in self.turns if turn.choice is not None)
