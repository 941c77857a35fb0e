"""The machine on data of any length: the next element or the end, one element on each edge.

All that it adds to `machine.executor` is below: what can be gone through, sized or counted while
the length is not known. Everything else of such values is refused. A decision is kept as it was
taken (a block), and only about what is at hand on its edge: the noise that was drawn on it, the
slots of its node, and the element that it read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpest.errors import DpestError
from dpest.geometry.linear import Condition, Form, Symbol, rational
from dpest.noise import Bernoulli
from dpest.noise.family import Noise
from dpest.noise.parameters import exact, is_number
from dpest.reading.code.instructions import Instruction
from dpest.reading.code.operators import COMPARISONS
from dpest.reading.domains.numbers import Kinds, Real, Truth
from dpest.reading.domains.weights import NamedValues, Weighted
from dpest.reading.lengths import places, weighing
from dpest.reading.lengths.lazy import counting, draws, items, scales, vectors
from dpest.reading.lengths.places import (
    CHOSEN,
    IN_ORDER,
    CandidatesLeft,
    ChosenPlace,
    RandomOrder,
    RandomPlace,
)
from dpest.reading.lengths.scaling import ScalingMachine
from dpest.reading.lengths.turns import Turns
from dpest.reading.lengths.values import (
    Count,
    Cut,
    DataIterator,
    ElementPlace,
    FilledList,
    Gap,
    NeedsList,
    PassLog,
    PlacedList,
    Places,
    Plan,
    Ranked,
    Scale,
    SecondPass,
    Sums,
    Vector,
    symbols_of,
)
from dpest.reading.machine import operators, prelude
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.control import END
from dpest.reading.machine.signals import Fork, Refused
from dpest.reading.machine.state import Draw, Frame, State
from dpest.reading.machine.values import Array, Lazy, Ref
from dpest.reading.world import ELEMENT, Coin, World

_PRIVATE = (
    "a branch on private data alone: two neighbouring inputs may take different ways here",
    "add noise before the comparison; to bound or count data use np.clip and sums of comparisons, "
    "whose sensitivity is known",
)


class LengthMachine(Turns, ScalingMachine):
    """Executes states whose data have any length, with what the plan says is to be known."""

    is_whole = False

    def __init__(
        self,
        world: World,
        plan: Plan,
        most_instructions: int,
    ) -> None:
        super().__init__(most_instructions)
        self.makes_noise = True
        self.plan = plan
        self.world = world
        self.supports = world.supports
        self.named_values = NamedValues()
        self.data: Any = None  # what stands for the private argument
        self.node = 0
        self.slots: frozenset[Symbol] = frozenset()
        self.dead: dict[Any, None] = {}
        self._sites: dict[tuple[int, int], int] = {}
        self.log_ref: Ref
        self.for_each = False  # whether what is drawn is drawn for each of the data

    @property
    def log(self) -> PassLog:
        return self.log_of(self.state)

    def log_of(self, state: State) -> PassLog:
        found: PassLog = state.heap.read(self.log_ref)
        return found

    def change_log(self) -> PassLog:
        found: PassLog = self.state.heap.write(self.log_ref)
        return found

    # Noise

    def symbol_of(self, index: int, noise: Noise) -> Symbol:
        """The same on every edge that makes the same draw at the same place of the code."""
        place = (id(self.frame.code), self.frame.pc)
        site = self._sites.setdefault(place, len(self._sites))
        return self.world.noise_symbol(f"{site}_{index}", noise)

    def symbol_of_each(self, noise: Noise) -> Symbol:
        """The noise that each element has its own copy of, drawn before the pass."""
        index = sum(d.column is not None for d in self.state.draws)
        return self.world.noise_symbol(f"each{index}", noise)

    def outcome(self, noise: Noise, outcomes: Sequence[tuple[Any, Any]]) -> Any:
        """One of finitely many outcomes: decisions about an integer symbol, its number."""
        if len(outcomes) == 1:
            return outcomes[0][0]
        drawn = self.draw(Coin(noise, tuple(value for value, _ in outcomes)), (int,))
        for number, (value, _) in enumerate(outcomes[:-1]):
            if self._condition_holds(Condition(Form.number(number).minus(drawn.form), ">=")):
                return value
        return outcomes[-1][0]

    def coin(self, chance: Any, kind: type = bool) -> Any:
        chance = exact(chance) if is_number(chance) else chance
        noise = Bernoulli(chance)
        if noise.constant is not None:
            return kind(noise.constant)
        drawn = self.draw(Coin(noise, (0, 1)), (int,))
        return Truth(Condition(drawn.form.minus(Form.number(0.5)), ">"), kind=kind)

    def lazy_draws(self, family: Any, loc: Any, scale: Any, size: Any) -> Any:
        return draws.drawn(self, family, loc, scale, size)

    def noise_parameter(self, value: Any) -> Any:
        return value.unit if isinstance(value, Scale) else super().noise_parameter(value)

    def draw(self, noise: Noise, kinds: Kinds) -> Any:
        if not self.for_each or noise.constant is not None:
            return super().draw(noise, kinds)
        symbol = self.symbol_of_each(noise)
        self.state.draws = (*self.state.draws, Draw(symbol, noise, "each"))
        return Real(Form.of(symbol), kinds)

    def drawn_for_each(self, draw: Callable[[], Any]) -> Vector:
        return draws.drawn_for_each(self, draw)

    # Decisions

    def _condition_holds(self, condition: Condition) -> bool:
        """An equality is two decisions: proofs know inequalities alone."""
        condition = self.without_indicators(condition)
        known = condition.decided()
        if known is not None:
            return known
        if condition.relation == "==":
            return self._condition_holds(Condition(condition.form, ">=")) and (
                self._condition_holds(Condition(condition.form.times(-1), ">="))
            )
        if condition.relation == "!=":
            return not self._condition_holds(Condition(condition.form, "=="))
        return self.decide([(condition,), (condition.negated(),)]) == 0

    def one_of(self, form: Form, candidates: Sequence[Any]) -> int | None:
        for k, candidate in enumerate(candidates):
            if self._condition_holds(Condition(form.minus(Form.number(candidate)), "==")):
                return k
        return None

    def decide(self, options: Sequence[tuple[Condition, ...]], *, endless: bool = False) -> int:
        if endless:
            raise Refused("a decision without a bound")
        conditions = [c for option in options for c in option]
        self.need_at_hand({s for c in conditions for s in c.form.terms})
        for condition in conditions:
            if condition.form.terms and all(s.kind == "input" for s in condition.form.terms):
                raise Refused(*_PRIVATE)
        if len(options) > 2 and any(len(o) != len(options) - 1 for o in options):
            raise Refused("a decision between several that proofs don't know")
        return super().decide(options)

    def greatest(self, forms: Sequence[Form], *, first: bool = True) -> int:
        if not first:
            raise Refused("the last of the greatest values")
        return super().greatest(forms)

    def need_at_hand(self, symbols: set[Symbol]) -> None:
        """Only what belongs to this edge may be looked at."""
        log = self.log
        drawn = {d.symbol for d in self.state.draws if d.column is None}
        symbols = {root for symbol in symbols for root in self.roots(symbol)}
        for symbol in symbols - drawn - self.slots - log.used:
            if symbol.kind == "indicator" or symbol in self.named_values.meanings:
                continue
            if symbol.kind == "input" and (log.at or log.looked):
                continue
            raise Refused("a decision about each of the data at once, or about one of long ago")

    def forked(self, state: State, fork: Fork) -> list[State]:
        """Each way knows what was decided; ways that are impossible are kept too."""
        decided = any(fork.options)
        log = state.heap.read(self.log_ref)
        before = log.blocks
        if decided:
            options = tuple(fork.options)
            if len(options) > 2:
                for number, option in enumerate(options):
                    self.world.families[option] = (options, number)
            draws = self.drawn(state)
            for k, option in enumerate(options):
                if k not in fork.alive:
                    self.dead[self.node, bool(log.at), (*before, option), draws] = None
        made = super().forked(state, fork)
        if decided:
            for one, k in zip(made, fork.alive, strict=True):
                one.heap.write(self.log_ref).blocks = (*before, fork.options[k])
        return made

    def drawn(self, state: State) -> tuple[Symbol, ...]:
        """The noises of an edge: of its element, and its own."""
        log = state.heap.read(self.log_ref)
        new = [d.symbol for d in state.draws if d.column is None]
        return (*sorted(log.used), *new)

    def indicator(self, truth: Truth) -> Form:
        """A truth about the data alone is a datum of its own; others are decided when needed."""
        symbols = symbols_of(truth)
        if symbols and all(s.kind == "input" for s in symbols):
            return Form.of(self.world.indicator(truth))
        return super().indicator(truth)

    # The pass

    def lazy_iterator(self, value: Any) -> Any:
        if isinstance(value, Sums):
            return Enter(prelude.accumulate_, (value.vector, None, None, False))
        if isinstance(value, (Vector, Places)):
            if self.plan.totals is not None:
                self._begin_sum()
            elif self.log.begun:
                raise self.after_a_pass(SecondPass())
            return self.state.heap.new(DataIterator(value))
        if isinstance(value, Ref) and isinstance(self.state.heap.read(value), DataIterator):
            return value
        candidates = places.candidates_of(self, value)
        if candidates is not None:
            return places.iterator_over(self, value, candidates)
        if isinstance(value, Lazy):
            raise Refused("going through a number that depends on the length of the data")
        return None

    def after_a_pass(self, refusal: Refused) -> BaseException:
        """What can't be done after a pass: unless that only filled lists that are vectors."""
        for _, thing in self.state.heap.items():
            if type(thing) is FilledList and thing.items.name not in self.plan.vectors:
                return NeedsList(thing.items.name)
        return refusal

    def _begin_sum(self) -> None:
        """Another sum over the data: nobody goes on with the iterators of those before."""
        for address, thing in list(self.state.heap.items()):
            if isinstance(thing, DataIterator):
                self.state.heap.write(Ref(address)).at = -1
        if self.log.ended:
            self.change_log().ended = False

    def iterator(self, value: Any) -> Any:
        lazy = self.lazy_iterator(value)
        return super().iterator(value) if lazy is None else lazy

    def _data_iterator(self, it: Any) -> DataIterator | None:
        thing = self.state.heap.read(it) if isinstance(it, Ref) else None
        return thing if isinstance(thing, DataIterator) else None

    def more(self, it: DataIterator) -> bool:
        """Whether there is an element for an iterator: a new one of this edge, or the same."""
        log, state = self.log, self.state
        if it.at != log.at:
            if it.at == 0 and log.at == 1:
                return True  # another look at the element of this edge
            raise SecondPass()
        if log.ended:
            return False
        if not log.fresh:
            self.cut()
        if self.plan.length is not None:
            more = log.number < self.plan.length
        else:
            if self.taken == len(state.pending):
                if state.heap.changes != self.changes_before:
                    raise Refused("an element that is read in the middle of a change")
                raise Fork([(), ()], (0, 1))
            self.taken += 1
            more = state.pending[self.taken - 1] == 1
        changed = self.change_log()
        changed.fresh, changed.begun = False, True
        if more:
            changed.at = 1
        else:
            changed.ended = True
        return more

    def cut(self) -> None:
        state = self.state
        if state.heap.changes != self.changes_before or state.pending:
            raise Refused("an element that is read in the middle of an instruction")
        raise Cut

    def _item(self, it: DataIterator) -> Any:
        source = it.source
        if isinstance(source, Places):
            return ElementPlace(source.first)
        if isinstance(source, RandomOrder):
            return places.item_of(self, source)
        self.look(IN_ORDER)
        self.use(source.own)
        return source.element

    def use(self, own: frozenset[Symbol]) -> None:
        """The own noises of the element of this edge are looked at."""
        if not own <= self.log.used:
            changed = self.change_log()
            changed.used = changed.used | own

    def lazy_next(self, it: Any) -> Any:
        found = self._data_iterator(it)
        if found is None:
            return None
        if not self.more(found):
            return END
        item = self._item(found)
        self.lazy_step(it)
        return item

    def lazy_peek(self, it: Any) -> Any:
        found = self._data_iterator(it)
        if found is None:
            return None
        return self._item(found) if self.more(found) else END

    def lazy_step(self, it: Any) -> bool:
        found = self._data_iterator(it)
        if found is None:
            return False
        if found.at < self.log.at:
            self.state.heap.write(it).at = found.at + 1
        return True

    # Looks at lazy values

    def is_lazy(self, value: Any) -> bool:
        return isinstance(value, Lazy)

    def lazy_sample(self, value: Any) -> Any:
        """Every value of eps that is admitted is a float."""
        return 1.0 if isinstance(value, Scale) else super().lazy_sample(value)

    def truth_value(self, value: Any) -> Any:
        if isinstance(value, Count):
            return counting.count_compared(self, "!=", value, 0)
        if isinstance(value, Scale):
            return bool(value.unit)
        if isinstance(value, Vector) and value.kind is list:
            return True  # where there are no data, two neighbours are the same
        if isinstance(value, ElementPlace):
            return counting.place_compared(self, "!=", value, 0)
        candidates = places.candidates_of(self, value)
        length = value if candidates is None else places.length_of(candidates, value)
        if isinstance(length, CandidatesLeft):
            return places.some_left(self, length)
        return True if candidates is not None else super().truth_value(value)

    def sequence(self, value: Any) -> Any:
        """The elements of a list: one that was taken to be only filled is read here."""
        if isinstance(value, Ref):
            thing = self.state.heap.read(value)
            if isinstance(thing, FilledList):
                raise NeedsList(thing.items.name)
        return super().sequence(value)

    def key(self, value: Any) -> Any:
        if isinstance(value, Lazy):
            raise Refused("a key that depends on the length of the data")
        return super().key(value)

    def lazy_length(self, value: Any) -> Any:
        if isinstance(value, (Vector, Sums, Places)):
            return Count()
        if isinstance(value, Lazy):
            raise Refused("the length of this")
        candidates = places.candidates_of(self, value)
        if candidates is not None:
            return places.length_of(candidates, value)
        return None

    def lazy_range(self, *ends: Any) -> Any:
        if not any(isinstance(e, Lazy) for e in ends):
            return None
        if ends == (Count(),) or ends == (0, Count()):
            return Places()
        raise Refused("a range that depends on the length of the data in this way")

    def lazy_array(self, value: Any, dtype: Any) -> Any:
        return vectors.array_of(self, value, dtype)

    def lazy_like(self, fill: Any, value: Any) -> Any:
        if not isinstance(value, Lazy):
            return None
        if not isinstance(value, Vector) or fill is None:
            raise Refused("an array with a place for each of these")
        return self.new_places((np.float64(fill),), np.ndarray)

    def new_places(self, fill: tuple[Any, ...], kind: type) -> Ref:
        return items.new_places(self, fill, kind)

    def placed_at(self, thing: Any, index: Any) -> PlacedList | None:
        return items.placed_at(self, thing, index)

    def set_item(self, thing: Any, index: Any, value: Any) -> Any:
        found = self.placed_at(thing, index)
        if found is None:
            return super().set_item(thing, index, value)
        if found.kind is np.ndarray:
            if not isinstance(value, (Real, float)) or (isinstance(value, Real) and value.integral):
                raise Refused("an array of real numbers in which something else is put")
            if isinstance(value, Real):
                value = Real(value.form, (np.float64,))
        self.state.heap.write(thing).current = (value,)
        return None

    def lazy_item(self, thing: Any, index: Any) -> Any:
        return items.entry_of(self, thing, index)

    def item(self, thing: Any, index: Any) -> Any:
        if isinstance(thing, Array) and isinstance(index, CHOSEN):
            label = places.label_at(self, thing, index)
            if label is not None:
                return label
        return super().item(thing, index)

    def lazy_map(self, function: Any, *values: Any) -> Any:
        if not any(isinstance(v, Lazy) for v in values):
            return None
        return self.elementwise(function, *values)

    def elementwise(self, function: Any, *values: Any) -> Any:
        return vectors.elementwise(self, function, *values)

    def lazy_operation(self, op: str, *values: Any) -> Any:
        if not any(isinstance(v, Lazy) for v in values):
            return None
        if any(isinstance(v, Ranked) for v in values):
            return _gap(op, *values)
        if op == "*" and any(isinstance(v, Count) and not v.offset for v in values):
            return vectors.repeated(self, *values)
        if any(isinstance(v, Vector) for v in values):
            if len(values) == 1:
                return self.elementwise(lambda a: operators.unary(self, op, a), *values)
            how = operators.compare if op in COMPARISONS else operators.binary
            return self.elementwise(lambda a, b: how(self, op, a, b), *values)
        if any(isinstance(v, Weighted) for v in values):
            return weighing.operate(self, op, *values)
        if any(isinstance(v, Scale) for v in values):
            score = weighing.scaled(self, op, *values) if len(values) == 2 else None
            if score is not None:
                return score
            if len(values) == 2 and any(isinstance(v, Real) for v in values):
                return self.times_unit(op, *(scales.unscaled(v) for v in values))
            return scales.in_units(op, *values)
        if len(values) == 2 and any(
            isinstance(v, (CandidatesLeft, RandomPlace, ChosenPlace)) for v in values
        ):
            return places.number_operation(self, op, *values)
        return counting.counted(self, op, *values)

    def op_inplace(self, frame: Frame, i: Instruction) -> None:
        """An array that is changed in place is changed for all that hold it."""
        value = self.get(frame, i.uses[0])
        if isinstance(value, (Vector, Sums)) and not self.is_held_once(value):
            raise Refused("data of any length that are changed in place")
        super().op_inplace(frame, i)

    # Numbers of elements

    def variable_looked_at(self) -> str:
        return counting.variable_looked_at(self)

    # Attributes, calls, releases

    def op_attr(self, frame: Frame, i: Instruction) -> None:
        thing = self.get(frame, i.uses[0])
        candidates = places.candidates_of(self, thing)
        if candidates is None:
            super().op_attr(frame, i)
        else:
            self.put(frame, i, places.attribute(candidates, thing, i.extra))

    def lazy_attribute(self, thing: Any, name: str) -> Any:
        if not isinstance(thing, Lazy):
            return None
        from dpest.reading.lengths import functions

        return functions.attribute(self, thing, name)

    def call_table(
        self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        from dpest.reading.lengths import choosing, functions

        values = (*args, *(kwargs or {}).values())
        known = choosing.entry_of(self, f, args, kwargs or {})
        if known is not None:
            return known(self, *args, **(kwargs or {}))
        if f not in _FILLING:
            for value in values:
                self.sequence(value)  # of a list that is only filled nobody else may know
        if f in functions.CLIPS and self.is_data(*values):
            clipped = functions.CLIPS[f](self, *args, **(kwargs or {}))
            if clipped is not None:
                return clipped
        if any(isinstance(v, Lazy) for v in values):
            of_eps = (
                functions.IN_UNITS.get(f) if any(isinstance(v, Scale) for v in values) else None
            )
            entry = of_eps or functions.EVERY_LENGTH.get(f)
            if entry is not None:
                try:
                    return entry(self, *args, **(kwargs or {}))
                except TypeError as error:
                    raise Refused(f"data of any length in a call: {error}") from None
        return super().call_table(f, args, kwargs)

    def in_units(self, compute: Callable[[], Any]) -> Any:
        """What is computed from a power of eps: exact, or refused."""
        try:
            return scales.as_scale(compute())
        except (DpestError, AttributeError) as error:
            raise Refused(f"eps, which has no value here: {error}") from None

    def is_data(self, *values: Any) -> bool:
        """Whether one of some numbers is made of private data alone, and the others are public."""
        data = [v for v in values if isinstance(v, Real)]
        return len(data) == 1 and all(s.kind == "input" for s in data[0].form.terms)

    def clip(self, value: Real, low: Any, high: Any) -> Any:
        """Private data within bounds: a datum of its own, whose sensitivity is known."""
        ends = [None if end is None else rational(end) for end in (low, high)]
        kinds = tuple(
            dict.fromkeys((*value.kinds, *(type(e) for e in (low, high) if e is not None)))
        )
        if any(k not in (int, float, np.float64) for k in kinds):
            raise Refused("bounds of another type than the data")
        return Real(Form.of(self.world.clip(value.form, *ends)), kinds)

    def released(self, value: Any) -> Any:
        return value if isinstance(value, (Vector, Sums, Places)) else None


_FILLING = (list.append, list.extend, isinstance, type)


def _gap(op: str, *values: Any) -> Gap:
    """The greatest minus the second greatest: the only such difference that has a rule."""
    if op == "-" and len(values) == 2 and all(isinstance(v, Ranked) for v in values):
        first, second = values
        if first.vector is second.vector and (first.rank, second.rank) == (1, 2):
            return Gap(first.vector)
    raise Refused("the value of the greatest of the data")


def new_data(form: str) -> Vector:
    """What stands for the private argument."""
    if form == "array":
        return Vector(Real(Form.of(ELEMENT), (np.float64,)))
    return Vector(Real(Form.of(ELEMENT), (float, int)), kind=list)
