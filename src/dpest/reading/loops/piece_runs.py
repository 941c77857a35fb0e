"""One piece of a function, run on symbolic values along each of its paths.

Every decision is kept as it was taken (which of two, or which of several, was true), and every
branch that was found impossible is kept too, so that the result can be checked to be complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, TypeVar

from dpest.errors import PathLimitError
from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.regions import Point, Region
from dpest.noise.family import Noise
from dpest.reading.decision_path import DecisionPath
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
from dpest.reading.refusals import arrived, remembered
from dpest.reading.rewrites.readings import Plan, Site, site_of_draw
from dpest.reading.tracing.patches import overlaid, overlay_of, patched
from dpest.reading.tracing.running import in_run
from dpest.reading.tracing.states import copied
from dpest.reading.tracing.symbolic import TracedReal
from dpest.reading.world import Coin, PrivateBranchError, World
from dpest.running.places import shown, source_line, user_place


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
