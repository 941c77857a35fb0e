"""One piece of a function, run on symbolic values along each of its paths.

Every decision is kept as it was taken (which of two, or which of several, was true), and every
branch that was found impossible is kept too, so that the result can be checked to be complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from dpest.errors import PathLimitError, RefusedError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.regions import Point, Region, Supports
from dpest.noise.family import Noise
from dpest.reading.decision_path import Block, DecisionPath
from dpest.reading.loops.pieces import (
    BIND,
    BOUND,
    CONTROL,
    GIVEN,
    ITEM,
    FunctionCut,
    Piece,
    PieceBreak,
    PieceContinue,
    PieceReturn,
    scope,
)
from dpest.reading.rewrites.readings import Plan, Site, site_of_draw
from dpest.reading.tracing.patches import overlaid, overlay_of, patched
from dpest.reading.tracing.running import arrived, in_run, remembered
from dpest.reading.tracing.states import copied
from dpest.reading.tracing.symbolic import TracedReal
from dpest.running.places import shown, source_line, user_place


@dataclass(frozen=True)
class DerivedDatum:
    """Data computed from data alone: `clip` to [low, high], or the `indicator` of a condition.

    What a proof uses: it moves only if `of` moves; a clipped value by no more than `of` does and by
    no more than `width`, in the same direction; an indicator by at most 1.
    """

    kind: str
    of: Form
    width: Fraction | None
    truth: Any = None
    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True)
class Coin(Noise):
    """The number of the outcome of a finite draw. It can't be shifted: both runs share it."""

    noise: Noise
    values: tuple[Any, ...]
    family: ClassVar[str] = "coin"
    discrete: ClassVar[bool] = True

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, float(len(self.values) - 1))


class PrivateBranchError(RefusedError):
    """A branch is decided by private data alone."""


class World:
    """What all runs of one reading share: the noises, and the names of everything symbolic."""

    def __init__(self, private: bool = False) -> None:
        self.supports = Supports()
        self.private = private
        """Whether input symbols stand for private data, so that branches on them are refused."""
        self.derived: dict[Symbol, DerivedDatum] = {}
        self.notes: dict[str, None] = {}
        self.chosen: set[Symbol] = set()
        """Gumbel noises that stand for one choice with probabilities (see `rewrites.softmax`)."""
        self.cases: Any = None
        """What one record adds to all sums, case by case (see `reading.cases`)."""
        self.sized: dict[Symbol, int] = {}
        """Noises that the function multiplies by this power of the public length."""
        self.plan: Plan = {}
        """Which draws are read in another way (see `rewrites.curves`), and where they are made."""
        self.eps: Any = None
        """What the unit of a proof stands for in runs with numbers."""
        self.draw_sites: dict[Symbol, Site | None] = {}
        self._names: dict[tuple[str, Noise], Symbol] = {}
        self._taken: dict[str, int] = {}
        self._indicators: dict[Any, Symbol] = {}
        self._truths: dict[Symbol, Any] = {}
        self._derived_keys: dict[Any, Symbol] = {}
        self.families: dict[Block, tuple[tuple[Block, ...], int]] = {}
        """For each answer to "which of several?": all the answers, and its number."""

    @property
    def noises(self) -> dict[Symbol, Noise]:
        return self.supports.noises

    def noise_symbol(self, site: str, noise: Noise) -> Symbol:
        """The symbol of a draw: one name always has one distribution."""
        symbol = self._names.get((site, noise))
        if symbol is None:
            count = self._taken.get(site, 0)
            self._taken[site] = count + 1
            name = f"h{site}" if count == 0 else f"h{site}{chr(ord('a') + count)}"
            symbol = self._names[site, noise] = Symbol("noise", name)
            self.supports.noises[symbol] = noise
        return symbol

    def indicator(self, truth: Any) -> Symbol:
        symbol = self._indicators.get(truth.key)
        if symbol is None:
            # A slot of a loop may hold noise: only the data themselves are data.
            only_data = self.private and all(
                s.kind == "input" for c in conditions_of(truth) for s in c.form.terms
            )
            name = f"i{len(self._indicators)}"
            symbol = Symbol("input" if only_data else "indicator", name)
            self._indicators[truth.key] = symbol
            self._truths[symbol] = truth
            if only_data:
                total = Form()
                for condition in conditions_of(truth):
                    for s in condition.form.terms:
                        total = total.plus(Form.of(s)) if s not in total.terms else total
                self.derived[symbol] = DerivedDatum("indicator", total, Fraction(1), truth)
        return symbol

    def defined(self, symbol: Symbol) -> Any:
        return self._truths[symbol]

    def clip(self, form: Form, low: Fraction | None, high: Fraction | None) -> Symbol:
        if len(form.terms) == 1 and not form.constant:
            ((inner, slope),) = form.terms.items()
            rule = self.derived.get(inner)
            if slope == 1 and rule is not None and rule.kind == "clip":
                # clip(clip(q, a, b), low, high) is clip(q, a', b') with a and b clipped, too.
                form = rule.of
                low, high = _clipped(rule.low, low, high, low), _clipped(rule.high, low, high, high)
        key = (form, low, high)
        symbol = self._derived_keys.get(key)
        if symbol is None:
            symbol = self._derived_keys[key] = Symbol("input", f"c{len(self._derived_keys)}")
            width = None if low is None or high is None else high - low
            self.derived[symbol] = DerivedDatum("clip", form, width, None, low, high)
        return symbol


def _clipped(
    end: Fraction | None, low: Fraction | None, high: Fraction | None, otherwise: Fraction | None
) -> Fraction | None:
    if end is None:
        return otherwise
    end = end if low is None else max(end, low)
    return end if high is None else min(end, high)


def conditions_of(truth: Any) -> Iterator[Condition]:
    if truth.condition is not None:
        yield truth.condition
    for part in truth.parts:
        yield from conditions_of(part)


class PieceRun(DecisionPath):
    """A run along one path of a piece: it answers what symbolic values ask (`running.Decider`)."""

    def __init__(
        self,
        world: World,
        site: str,
        known: Sequence[Condition],
        point: Point,
        prefix: Sequence[int],
    ) -> None:
        super().__init__(Region(world.supports, list(known), dict(point)), prefix)
        self.world = world
        self.site = site
        self.draws: list[Symbol] = []
        self.given_draws: frozenset[Symbol] = frozenset()
        self.count = 0
        self.given: list[Any] = []

    # What symbolic values ask

    def choose(self, cells: Sequence[Sequence[Condition] | None]) -> int:
        open_ = [i for i, cell in enumerate(cells) if cell is not None]
        found = [tuple(cells[i] or ()) for i in open_]
        if len(open_) == 1:
            return open_[0]
        if all(len(cell) == len(found) - 1 for cell in found):
            self.check_decidable([c for cell in found for c in cell])
            if len(found) > 2:
                for number, cell in enumerate(found):
                    self.world.families[cell] = (tuple(found), number)
            return open_[self.fork(found)]
        for position, cell in enumerate(found[:-1]):
            if all(self.decide(c) for c in cell):
                return open_[position]
        return open_[-1]

    @property
    def plan(self) -> Plan:
        return self.world.plan

    @property
    def draw_sites(self) -> dict[Symbol, Site | None]:
        return self.world.draw_sites

    def indicator(self, truth: Any) -> Symbol:
        return self.world.indicator(truth)

    def defined(self, symbol: Symbol) -> Any:
        return self.world.defined(symbol)

    def noise_of(self, symbol: Symbol) -> Noise | None:
        return self.world.noises.get(symbol)

    def note(self, text: str) -> None:
        self.world.notes[text] = None

    def clip(self, form: Form, low: Fraction | None, high: Fraction | None) -> Symbol | None:
        """The clipped value of private data as data of its own; None: clip by branches."""
        if not self.world.private or any(s.kind != "input" for s in form.terms):
            return None
        return self.world.clip(form, low, high)

    def draw(self, noise: Noise) -> Any:
        """A value of a noise: a symbol, or the only value that it has."""
        only = getattr(noise, "constant", None)
        return (
            only if only is not None else TracedReal(Form.of(self._symbol(noise)), noise.discrete)
        )

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        """One of finitely many outcomes: decisions about an integer symbol, its number."""
        coin = Form.of(self._symbol(Coin(noise, tuple(value for value, _ in outcomes))))
        for number, (value, _) in enumerate(outcomes[:-1]):
            if self.decide(Condition(Form(None, Fraction(number)).plus(coin, -1), ">=")):
                return value
        return outcomes[-1][0]

    def _symbol(self, noise: Noise) -> Symbol:
        symbol = self.world.noise_symbol(f"{self.site}_{self.count}", noise)
        self.count += 1
        self.draws.append(symbol)
        self.world.draw_sites[symbol] = site_of_draw(noise)
        return symbol

    def check_decidable(self, conditions: Sequence[Condition]) -> None:
        if not self.world.private:
            return
        for condition in conditions:
            if all(s.kind == "input" for s in condition.form.terms):
                place = user_place()
                text = source_line(place)
                raise remembered(
                    PrivateBranchError(
                        f"{shown(place) or 'the mechanism'}: a branch on private data alone"
                        f"{f', in `{text}`' if text else ''}: two neighbouring inputs may take "
                        "different ways here. Add noise before the comparison; to bound or count "
                        "data use np.clip and sums of comparisons, whose sensitivity is known."
                    )
                )


AnyRun = TypeVar("AnyRun", bound=PieceRun)


@dataclass
class PieceOutcome(Generic[AnyRun]):
    """Where one path of a piece ends: by falling through, `return`, `break` or `continue`."""

    run: AnyRun
    how: str
    value: Any
    variables: dict[str, Any] = field(default_factory=dict)


def outcomes(
    cut: FunctionCut,
    piece: Piece,
    variables: Mapping[str, Any],
    make_run: Callable[[Sequence[int]], AnyRun],
    make_generator: Callable[[AnyRun], Any],
    replacements: Mapping[str, Any],
    *,
    limit: int,
    finish: Callable[[PieceOutcome[AnyRun]], None],
) -> Iterator[PieceOutcome[AnyRun]]:
    """All paths of a piece from one state, with a run for each. `finish` decides what is left.

    `make_run` is given the first decisions of a path, as `DecisionPath` has them.
    """
    pending: list[list[int]] = [[]]
    overlay = overlay_of(piece.names)
    count = 0
    while pending:
        prefix = pending.pop()
        count += 1
        if count > limit:
            raise PathLimitError(
                f"more than {limit} paths in one piece of {cut.name}",
                "Use a smaller length, or release less.",
                f"{cut.file}:{piece.line}",
            )
        run = make_run(prefix)
        outcome = executed(run, piece, variables, make_generator, replacements, overlay, finish)
        pending += run.other_prefixes()
        yield outcome


def executed(
    run: AnyRun,
    piece: Piece,
    variables: Mapping[str, Any],
    make_generator: Callable[[AnyRun], Any],
    replacements: Mapping[str, Any],
    overlay: Any,
    finish: Callable[[PieceOutcome[AnyRun]], None],
) -> PieceOutcome[AnyRun]:
    """A piece along the path of one run; `finish` is still inside of it."""
    names = scope(piece, copied(dict(variables)), replacements)
    if piece.rng:
        names[piece.rng] = make_generator(run)
    names[GIVEN] = run.given
    names.update({name: _signal(kind) for name, kind in CONTROL.items()})
    outcome = PieceOutcome(run, "next", None, names)
    overlaid(names, overlay)
    # What a piece has in place of a builtin comes before what every trace has.
    own = {k: v for k, v in replacements.items() if k in names and k not in piece.names}
    names.update(own)
    with in_run(run), patched(overlay):
        try:
            exec(piece.code, names)
        except PieceReturn as left:
            outcome.how, outcome.value = "return", left.value
            arrived(left)
        except PieceBreak as left:
            outcome.how = "break"
            arrived(left)
        except PieceContinue as left:
            outcome.how = "next"
            arrived(left)
        if piece.kind == "enter":
            outcome.variables = names[BOUND]
        finish(outcome)
    return outcome


def _signal(kind: type[BaseException]) -> Callable[..., BaseException]:
    """A `return`, `break` or `continue` of a piece that a bare `except:` can't hide."""
    return lambda *values: remembered(kind(*values))


_INNER = frozenset({ITEM, GIVEN, BOUND, BIND, *CONTROL})


def kept(outcome: PieceOutcome[Any], names: frozenset[str]) -> dict[str, Any]:
    """The variables that are still needed; the generator is handed out anew."""
    return {
        k: v
        for k, v in outcome.variables.items()
        if k in names and k not in _INNER and not is_generator(v)
    }


def is_generator(value: Any) -> bool:
    return hasattr(type(value), "draw_noise") or hasattr(type(value), "dpest_generator")
