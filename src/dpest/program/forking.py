"""All paths of a function, by running it again and again with other decisions.

Each run follows the decisions of a prefix and then takes the first possible way at every open
question, leaving the other ways for later runs. Ways that no noise can take are dropped, exactly.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.errors import DpestError, PathLimitError, ReplayError
from dpest.noise.family import Noise
from dpest.program.joining import Joins, state_key
from dpest.program.linear import Condition, Form, Symbol, distinct
from dpest.program.masses import mass_bound
from dpest.program.patches import Overlay, patched
from dpest.program.paths import Choice
from dpest.program.places import Place, innermost, inside_while, shown, source_line, user_place
from dpest.program.regions import Point, Region, Supports
from dpest.program.returning import Loops, Moment, Watch
from dpest.program.running import forgetting, in_run, remembered
from dpest.program.symbolic import Real, Truth
from dpest.program.watchdog import TimeUp, watched


@dataclass(frozen=True)
class Limits:
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

    `tag` is put before the names, to keep apart the pieces of one program.
    """

    tag: str = ""
    supports: Supports = field(default_factory=Supports)
    indicators: dict[Symbol, Truth] = field(default_factory=dict)
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

    def indicator(self, truth: Truth) -> Symbol:
        symbol = self._truths.get(truth.key)
        if symbol is None:
            symbol = Symbol("indicator", f"{self.tag}bit{len(self._truths)}")
            self._truths[truth.key] = symbol
            self.indicators[symbol] = truth
        return symbol


class _Turn:
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


class _Suspended(BaseException):
    """Leaves the user's function in a loop that seems to have no bound."""


class _Joined(BaseException):
    """Leaves the user's function where another run goes on for this one."""


class Run:
    """One run along one path; the `Decider` that symbolic values ask."""

    def __init__(
        self,
        exploration: Exploration,
        turns: Sequence[_Turn],
        patience: int,
        improbable: float,
    ) -> None:
        self.exploration = exploration
        self.improbable = improbable
        self.names = exploration.names
        self.turns = list(turns)
        self.given = len(self.turns)
        self.position = 0
        self.open: list[list[_Turn]] = []
        self.noises: dict[Symbol, Noise] = {}
        self.draws = 0
        self.patience = patience
        self.joined = False
        self.lenient = exploration.lenient
        self._drawn_at: Place | None = None  # the last draw, if nothing was decided since
        self._region: Region | None = None
        self._forks: Counter[Place | None] = Counter()
        loops = exploration.loops
        self._watch = None if loops is None else Watch(loops)

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
        self._drawn_at = user_place()
        return Real(Form.of(symbol), noise.discrete)

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
        self._drawn_at = user_place()
        return value

    def remember(self, key: Any, value: Any) -> None:
        """That the draw just made has this key."""
        if isinstance(value, Real) and len(value.form.terms) == 1:
            (symbol,) = value.form.terms
            noise = self.noises.get(symbol)
            if noise is not None:
                self.names.drawn_values[self.draws - 1, key] = (symbol, noise, value)

    def indicator(self, truth: Truth) -> Symbol:
        return self.names.indicator(truth)

    def defined(self, indicator: Symbol) -> Truth:
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
                    raise remembered(_Joined())

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

    def choose_lazily(
        self, question: Any, cells: Callable[[], Sequence[Sequence[Condition] | None]]
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

    def _repeated(self, question: Any) -> _Turn:
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
        self, question: Any, ways: list[tuple[Sequence[Condition], Point | None, Choice | None]]
    ) -> None:
        possible = [(i, way) for i, way in enumerate(ways) if way[1] is not None]
        if len(possible) == 1:
            # Nothing to say: the conditions follow from those before.
            index, (_, point, choice) = possible[0]
            self._take(_Turn(question, index, (), (), point or {}, None, choice), [])
            return
        if not possible:
            raise AssertionError("the alternatives of a decision cover every case")
        place = user_place()
        if self._absorbed(place):
            raise remembered(_Joined())
        self._forks[place] += 1
        if self._too_deep(place):
            raise remembered(_Suspended())
        self.exploration.forks[place] += 1
        tightened = self.names.supports.tightened
        turns = [
            _Turn(
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

    def _too_deep(self, place: Place | None) -> bool:
        """Whether this looks like a loop without a bound that is better left for later."""
        count = self._forks[place]
        if count > self.patience:
            return True
        limits = self.exploration.limits
        if count <= limits.data_size + 3 or place is None or not inside_while(*place):
            return False
        mass = mass_bound(self.conditions, self.choices, self.names.supports.noises)
        return mass < self.improbable

    def _take(self, turn: _Turn, others: Sequence[_Turn]) -> None:
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


class Exploration:
    """Iterate over it to get the paths; `leftover`, `notes` and `forks` are complete after that.

    `run` is called with a `Run`, once a path and twice more for the first one, to see that it does
    the same thing again. `assume` are conditions that hold from the start and are not repeated in
    the paths. With `join`, paths stand for several ways through a loop without a bound: what they
    are is said by `joins.merged(path.turns, …)` when the iteration is over. `function` is the
    user's, in whose modules NumPy is replaced; `run` itself if it isn't given.
    """

    def __init__(
        self,
        run: Callable[[Run], Any],
        *,
        limits: Limits | None = None,
        names: Names | None = None,
        assume: Sequence[Condition] = (),
        where: str | None = None,
        lenient: bool = False,
        join: bool = False,
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.run = run
        self.overlay = Overlay(run if function is None else function)
        self.lenient = lenient
        self.limits = limits or Limits()
        self.names = names or Names()
        self.assume = tuple(assume)
        self.where = where
        self.joins = Joins(self.names.supports.noises) if join else None
        self.loops = Loops(self.names.supports.noises, function or run) if join else None
        self.notes: dict[str, None] = {}
        self.forks: Counter[Place | None] = Counter()
        self.leftover: Fraction | float = Fraction(0)
        self.start: Point = {}
        self.tight = [self.names.supports.tightened(c) for c in self.assume]
        self.runs = 0
        self.suspensions = 0

    @property
    def indicators(self) -> dict[Symbol, Truth]:
        return self.names.indicators

    def __iter__(self) -> Iterator[Explored]:
        if self.assume:
            from dpest.program.polyhedra import feasible

            symbols = {s for c in self.tight for s in c.form.terms}
            start = feasible([*self.tight, *self.names.supports.conditions(symbols)])
            if start is None:
                return
            self.start = start
        deadline = time.monotonic() + self.limits.seconds
        stack: list[list[_Turn]] = [[]]
        suspended: list[tuple[float, int, list[_Turn], int]] = []
        order = itertools.count()
        first: tuple[list[_Turn], Explored] | None = None
        found = 0
        patience = self.limits.patience
        improbable = self.limits.leftover / 100
        while stack or suspended:
            if not stack:
                suspended = [(-self._mass(t), i, t, p) for _, i, t, p in suspended]
                heapq.heapify(suspended)
                left = sum(-mass for mass, *_ in suspended)
                if left <= self.limits.leftover:
                    self.leftover = left
                    break
                _, _, turns, spent = heapq.heappop(suspended)
                patience = 2 * spent
                improbable = min(improbable, self._mass(turns, joined=False) / 100)
            else:
                turns = stack.pop()
            run, result = self._attempt(turns, patience, deadline, improbable)
            stack.extend(run.open)
            if result is None:
                if not run.joined:
                    self.suspensions += 1
                    suspended.append((0.0, next(order), run.turns, patience))
                continue
            found += 1
            if found > self.limits.paths:
                raise self._too_much(f"more than {self.limits.paths} paths")
            if first is None:
                first = (run.turns, result)
                self._check_repeats(*first, deadline)
            yield result
        if first is not None and found > 1:
            self._check_repeats(*first, deadline)

    def _attempt(
        self, turns: Sequence[_Turn], patience: int, deadline: float, improbable: float
    ) -> tuple[Run, Explored | None]:
        run = Run(self, turns, patience, improbable)
        self.runs += 1
        outcome: Any
        raised = False
        try:
            with in_run(run), patched(self.overlay), watched(deadline):
                outcome = self.run(run)
        except _Suspended:
            return run, None
        except _Joined:
            run.joined = True
            return run, None
        except TimeUp as stop:
            raise self._too_much(
                f"more than {self.limits.seconds:g} s", innermost(stop.__traceback__)
            ) from None
        except DpestError:
            raise
        except Exception as error:
            outcome, raised = error, True
        if run.position < run.given:
            raise ReplayError(
                "the function made fewer decisions when it was run again with the same noise",
                "a mechanism must depend on its input, its parameters and `rng` alone",
                self.where,
            )
        return run, Explored(
            distinct(run.conditions),
            run.choices,
            run.noises,
            outcome,
            raised,
            run.turns[-1].point if run.turns else self.start,
            run.turns,
        )

    def _mass(self, turns: Sequence[_Turn], *, joined: bool = True) -> float:
        """A bound on the probability of all ways that the turns stand for."""
        noises = self.names.supports.noises
        if self.joins is None or self.loops is None or not joined:
            return mass_bound(
                [c for t in turns for c in t.conditions],
                [t.choice for t in turns if t.choice is not None],
                noises,
            )
        return float(self.loops.weight(turns)) * sum(
            mass_bound(conditions, choices, noises)
            for conditions, choices, _ in self.joins.merged(turns, ())
        )

    def _check_repeats(self, turns: list[_Turn], before: Explored, deadline: float) -> None:
        run, again = self._attempt(turns, 10**9, deadline, 0.0)
        same = (
            again is not None
            and len(run.turns) == len(turns)
            and again.noises == before.noises
            and again.raised == before.raised
            and same_outcome(run, again.outcome, before.outcome)
        )
        if not same:
            raise ReplayError(
                "the function did something else when it was run again with the same noise",
                "a mechanism must depend on its input, its parameters and `rng` alone: look for "
                "global variables, default arguments that are changed, files, clocks, and random "
                "numbers that don't come from `rng`",
                self.where,
            )

    def _too_much(self, limit: str, stopped: Place | None = None) -> PathLimitError:
        place = max(self.forks, key=lambda p: self.forks[p], default=None)
        if place is None:
            place = stopped
            text = source_line(place)
            what = f"the function took {limit} without coming to an end"
            what += f", in `{text}`" if text else ""
            advice = "look for a loop that never ends, or raise the limits (max_paths=, seconds=)"
        else:
            text = source_line(place)
            what = f"the trace took {limit}; most of its {sum(self.forks.values())} forks are here"
            what += f", in `{text}`" if text else ""
            advice = (
                "use np.max, np.argmax or np.where for whole vectors, a shorter input, or raise "
                "the limits (max_paths=, seconds=)"
            )
            if self.suspensions:
                advice = (
                    "this loop has no bound; a larger leftover= ends it earlier, or raise the "
                    "limits (max_paths=, seconds=)"
                )
        return PathLimitError(what, advice, shown(place) or self.where)


def explore(
    run: Callable[[Any], Any],
    *,
    limits: Limits | None = None,
    names: Names | None = None,
    assume: Sequence[Condition] = (),
    where: str | None = None,
    lenient: bool = False,
    join: bool = False,
    function: Callable[..., Any] | None = None,
) -> Exploration:
    """The paths of `run(generator)`, where the generator stands in for NumPy's.

    >>> for path in explore(lambda rng: bool(rng.laplace() > 1)):
    ...     print(path.outcome, path.conditions)
    True (laplace0 - 1 > 0,)
    False (-laplace0 + 1 >= 0,)
    """
    from dpest.program.generator import SymbolicGenerator

    return Exploration(
        lambda inner: run(SymbolicGenerator(inner)),
        limits=limits,
        names=names,
        assume=assume,
        where=where,
        lenient=lenient,
        join=join,
        function=run if function is None else function,
    )


def same_outcome(run: Run, first: Any, second: Any) -> bool:
    """Structural equality of outputs that may hold symbolic values."""
    from dpest.program.release import released, same_release

    if isinstance(first, BaseException) or isinstance(second, BaseException):
        return type(first) is type(second)
    with in_run(run):
        return same_release(released(first), released(second))
