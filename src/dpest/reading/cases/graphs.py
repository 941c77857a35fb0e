"""A function of sums over records, of any number, as a graph: what the proofs by cases stand on.

The function is read by `reading.contributions`, as passes over the records, draws of noise, and
rows that are seen. Here every row is again what it stands for, a sum of sums and noise. So there is
one pass over the data, which comes first and fills all sums; each way through the program is an
edge to the end, with the decisions about noisy values that lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpest.geometry.linear import Condition, Form, Symbol
from dpest.geometry.regions import Region
from dpest.noise.discrete_gaussian import DiscreteGaussian
from dpest.noise.discrete_laplace import DiscreteLaplace
from dpest.noise.exponential import Exponential
from dpest.noise.family import Noise
from dpest.noise.gaussian import Gaussian
from dpest.noise.gumbel import Gumbel
from dpest.noise.laplace import Laplace
from dpest.noise.two_sided_geometric import TwoSidedGeometric
from dpest.reading.cases.records import ReadCases, RecordError, SymbolicRecord
from dpest.reading.cases.tree import OneRecord, RecordBranches, explored, meant
from dpest.reading.contributions.arithmetic import is_number
from dpest.reading.contributions.forms import Raised
from dpest.reading.contributions.forms import SymbolicForm as ReadForm
from dpest.reading.contributions.ledger import OrderStatistic
from dpest.reading.contributions.reading import Data, PublicWay, read
from dpest.reading.contributions.values import Map, ProgramObject, RecordTruth, Seq, SmallArray
from dpest.reading.decision_path import Block
from dpest.reading.domains.unit import Complement
from dpest.reading.loop_graph import END, Graph, LoopEdge, LoopNode
from dpest.reading.world import World

_FAMILIES: Mapping[str, Callable[[Any], Noise]] = {
    "laplace": Laplace,
    "normal": Gaussian,
    "gumbel": Gumbel,
    "exponential": Exponential,
    "discrete_laplace": DiscreteLaplace,
    "discrete_gaussian": DiscreteGaussian,
    "two_sided_geometric": lambda decay: TwoSidedGeometric(
        decay if isinstance(decay, Complement) else 1 - decay
    ),
}
_SUM = tuple[int, int, int]  # the way, the pass, and the place in it
Powered = tuple[Form, int]  # a form times a power of the public number of records


def read_cases(
    function: Any, parameters: Mapping[str, Any], data: Data, entry: SymbolicRecord, world: World
) -> Graph:
    """The graph of a function; RefusedError where it is no function of sums over its records."""
    found = read(function, dict(parameters), data, by_cases=True)
    return _Builder([_Way(i, w) for i, w in enumerate(found)], data, entry, world).graph()


def _refused(what: str) -> RecordError:
    return RecordError(f"{what}: no graph of sums over the records has that", telling=False)


@dataclass
class _Way:
    """A way, with symbols for its sums and draws."""

    number: int
    way: PublicWay
    sums: dict[tuple[int, int], Form] = field(default_factory=dict)
    draws: list[Symbol] = field(default_factory=list)

    def __post_init__(self) -> None:
        ledger = self.way.ledger
        if ledger.gates or ledger.assumptions or ledger.statistics or self.way.derived:
            raise _refused("keys of the data, people, or something that has to be assumed")
        if isinstance(self.way.output, Raised):
            raise _refused("an exception")
        if any(row.exponents or row.noises for row in ledger.rows):
            raise _refused("a choice by weights")

    @property
    def used(self) -> list[tuple[int, int]]:
        """The sums that rows have, and numbers of which the greatest is taken, in their order."""
        nodes = self.way.terms.nodes
        rows = [row.form for row in self.way.ledger.rows]
        rows += [f for t in self.way.decided if t.relation == "wins" and t.coin for f in t.coin[0]]
        found = [nodes[s][1:] for form in rows for s in form.symbols if nodes[s][0] == "sum"]
        return sorted(dict.fromkeys(found))

    def is_length(self, form: ReadForm) -> bool:
        """Whether a public number is that of the records, of which there is at least one."""
        if form.constant or len(form.terms) != 1 or form.terms[0][1] != 1:
            return False
        node = self.way.terms.nodes[form.terms[0][0]]
        if node[0] == "max":
            others = [a for a in node[1:] if a.terms]
            least = max((a.constant for a in node[1:] if not a.terms), default=Fraction(1))
            return len(others) == 1 and least <= 1 and self.is_length(others[0])
        length = self.way.length_symbol
        return node[0] == "pub" and length is not None and node[1] == length

    def expanded(self, form: ReadForm) -> Powered:
        """A public form by the sums and draws that are behind it."""
        parts = [self._of_symbol(s, c) for s, c in form.terms]
        if form.constant:
            parts.append((Form(None, meant(form.constant)), 0))
        if len({power for _, power in parts}) > 1:
            raise RecordError(
                "a value divided by the number of records meets one that is not. Divide the "
                "noise, too: sum(x)/n + rng.laplace(scale=b/n)"
            )
        total = Form()
        for part, _ in parts:
            total = total.plus(part)
        return total, (parts[0][1] if parts else 0)

    def _of_symbol(self, symbol: int, c: Fraction) -> Powered:
        op, *given = self.way.terms.nodes[symbol]
        factor = meant(c)
        if op == "sum":
            return self.sums[given[0], given[1]].times(factor), 0
        if op == "noise":
            return Form({self.draws[given[0]]: factor}), 0
        if op == "pub" and given[0] in self.way.row_of:
            form, power = self.expanded(self.way.ledger.rows[self.way.row_of[given[0]]].form)
            return form.times(factor), power
        if op == "div" and self.is_length(given[1]):
            form, power = self.expanded(given[0])
            return form.times(factor), power - 1
        if op == "mul" and any(map(self.is_length, given)):
            inner = given[1] if self.is_length(given[0]) else given[0]
            form, power = self.expanded(inner)
            return form.times(factor), power + 1
        if self.is_length(ReadForm(((symbol, Fraction(1)),), Fraction(0))):
            return Form(None, factor), 1
        raise _refused("a function of noisy or private values")

    def holds_of_length(self, truth: RecordTruth) -> bool | None:
        """Whether something holds of every number of records from 1 on, or of none; else None."""
        form = truth.form
        if form is None or not form.terms or len(form.terms) > 1:
            return None
        ((symbol, c),) = form.terms
        if not self.is_length(ReadForm(((symbol, Fraction(1)),), Fraction(0))):
            return None
        answers = {Condition(Form(None, c * n + form.constant), truth.relation).decided()  # type: ignore[arg-type]
                   for n in (1, 2, 3, 10, 10**9)}  # fmt: skip
        # Affine in n: between two numbers it changes its sign at most once.
        monotone = truth.relation in (">", ">=") or form.constant * c >= 0
        if len(answers) != 1 or not monotone:
            raise _refused("a decision about the number of records")
        return answers.pop()


class _Builder:
    def __init__(
        self, ways: Sequence[_Way], data: Data, entry: SymbolicRecord, world: World
    ) -> None:
        self.ways = ways
        self.entry = entry
        self.world = world
        self.names = [c.name for c in data.columns]
        self.slots: dict[Symbol, Symbol] = {}  # from what a record adds to the slot of its sum
        self.statistics: dict[Symbol, OrderStatistic] = {}

    def graph(self) -> Graph:
        cases = self._cases()
        for way in self.ways:
            self._name_draws(way)
            self.world.notes.update(dict.fromkeys(way.way.ledger.notes))
        slots = tuple(sorted(self.slots.values()))
        nodes = [LoopNode(0, (), "start"), LoopNode(1, slots, "sums")]
        turn = {slot: Form.of(slot).plus(Form.of(t)) for t, slot in self.slots.items()}
        edges = [
            LoopEdge(0, 1, False, (), (), {s: Form() for s in slots}, ()),
            LoopEdge(1, 1, True, (), (), {s: turn[s] for s in slots}, ()),
        ]
        dead: dict[tuple[Block, ...], tuple[Symbol, ...]] = {}
        for way in self.ways:
            blocks = self._blocks(way)
            if blocks is None:
                continue
            impossible = self._impossible(blocks)
            if impossible is not None:
                dead.setdefault(impossible, tuple(way.draws))
                continue
            edges.append(self._edge(way, blocks))
        self.world.cases = cases
        return Graph(
            nodes,
            edges,
            [(1, False, blocks, draws) for blocks, draws in dead.items()],
            self.world,
        )

    # Sums

    def _cases(self) -> ReadCases:
        """All that one record adds; equal sums are one, whichever way asks for them."""
        wanted: list[_SUM] = [(w.number, *key) for w in self.ways for key in w.used]

        def compute(
            fields: Mapping[Any, Form], branches: RecordBranches | None
        ) -> dict[_SUM, Form]:
            found: dict[_SUM, Form] = {}
            for way in self.ways:
                record = OneRecord(way.way.terms, fields, branches)
                for place in dict.fromkeys(place for place, _ in way.used):
                    adds = _added(way, place, record)
                    for number, form in enumerate(adds):
                        found[way.number, place, number] = form
            return found

        leaves, dead = explored(self.entry, self.names, compute)
        known: dict[Any, Symbol] = {}
        for key in wanted:
            column = tuple(values[key] for _, values in leaves)
            self._name_sum(key, column, known)
        named = [
            (blocks, {t: column[i] for (column, _), t in known.items()})
            for i, (blocks, _) in enumerate(leaves)
        ]
        return ReadCases(tuple(named), tuple(dead), self.entry, self.statistics, self.slots)

    def _name_sum(self, key: _SUM, column: tuple[Form, ...], known: dict[Any, Symbol]) -> None:
        number, place, j = key
        way = self.ways[number]
        statistic = way.way.ledger.passes[place].statistic
        if statistic is None and not any(f.terms or f.constant for f in column):
            way.sums[place, j] = Form()
            return
        name = (column, None if statistic is None else statistic.name)
        t = known.get(name)
        if t is None:
            t = known[name] = Symbol("input", f"t{len(known)}")
            self.slots[t] = Symbol("state", f"sum{len(known) - 1}")
            if statistic is not None:
                self.statistics[t] = statistic
        way.sums[place, j] = Form.of(self.slots[t])

    # Draws

    def _name_draws(self, way: _Way) -> None:
        for number, drawn in enumerate(way.way.ledger.noises):
            family = _FAMILIES.get(drawn.family)
            made = drawn.most is not None or drawn.parts or drawn.coins or drawn.made is not None
            if family is None or made:
                raise _refused(f"noise of the family {drawn.family}, made of several draws")
            symbol = self.world.noise_symbol(f"1_{number}", family(_plain(drawn.scale)))
            if drawn.over is not None:
                if not way.is_length(drawn.over):
                    raise _refused("noise that is divided by a public number")
                self.world.sized[symbol] = -1
            elif symbol in self.world.sized:
                raise _refused("noise that is divided on one way only")
            way.draws.append(symbol)

    # Ways

    def _blocks(self, way: _Way) -> tuple[Block, ...] | None:
        """The decisions of a way; None where no number of records takes it."""
        found: list[Block] = []
        for truth in way.way.decided:
            if truth.relation == "loses":
                continue  # another wins, which says it
            if truth.relation == "wins":
                assert truth.coin is not None
                found.append(self._greatest(way, *truth.coin))
                continue
            if truth.form is None:
                raise _refused("a coin")
            of_length = way.holds_of_length(truth)
            if of_length is not None:
                if not of_length:
                    return None
                continue
            form, _ = way.expanded(truth.form)  # a positive power of n has no say in its sign
            condition = Condition(form, truth.relation)  # type: ignore[arg-type]
            known = condition.decided()
            if known is False:
                return None
            if known is None:
                if condition.relation not in (">", ">="):
                    raise _refused("noisy values that are equal")
                found.append((condition,))
        return tuple(found)

    def _greatest(self, way: _Way, forms: Sequence[ReadForm], place: Fraction) -> Block:
        """The decision that one of several numbers is the first greatest."""
        values = [way.expanded(f) for f in forms]
        if len({power for form, power in values if form.terms or form.constant}) > 1:
            raise _refused("numbers that are divided by the number of records, and others")
        cells: list[Block] = []
        for i, (mine, _) in enumerate(values):
            ahead = [
                Condition(mine.plus(other, -1), ">" if j < i else ">=")
                for j, (other, _) in enumerate(values)
                if j != i
            ]
            cells.append(tuple(ahead))
        if any(c.decided() is not None for cell in cells for c in cell):
            raise _refused("numbers with the same noise, of which the greatest is taken")
        if len(cells) > 2:
            for number, cell in enumerate(cells):
                self.world.families[cell] = (tuple(cells), number)
        return cells[int(place)]

    def _impossible(self, blocks: tuple[Block, ...]) -> tuple[Block, ...] | None:
        """The first decisions of a way that no noise can take, if there are such."""
        region = Region(self.world.supports, [], {})
        for number, block in enumerate(blocks):
            point = region.meet(block)
            if point is None:
                return blocks[: number + 1]
            region.add(block, point)
        return None

    def _edge(self, way: _Way, blocks: tuple[Block, ...]) -> LoopEdge:
        released: list[Any] = []
        sized: dict[int, int] = {}
        for leaf in _leaves(way.way.output):
            if isinstance(leaf, ReadForm):
                form, power = way.expanded(leaf)
                if power:
                    sized[len(released)] = power
                released.append(form if form.terms else _number(form.constant))
                if power and not form.terms:
                    raise _refused("a release that the number of records is in")
            else:
                released.append(leaf)
        draws = tuple(way.draws)
        order = tuple((s, False) for s in draws)
        return LoopEdge(1, END, False, blocks, draws, {}, tuple(released), order, {}, sized)


def _added(way: _Way, place: int, record: OneRecord) -> list[Form]:
    for conditions, adds in way.way.ledger.passes[place].cases:
        if record.holds(conditions):
            return [record.form(a) for a in adds]
    raise RecordError("a record that is in none of its cases", telling=False)


def _plain(scale: Any) -> Any:
    """A scale as whoever wrote it meant it."""
    return meant(scale) if isinstance(scale, Fraction) else scale


def _number(value: Fraction) -> Any:
    return int(value) if value.denominator == 1 else float(value)


def _leaves(value: Any) -> Iterator[Any]:
    """The numbers and plain values of an output."""
    if isinstance(value, ReadForm) or value is None or isinstance(value, str) or is_number(value):
        yield value
    elif isinstance(value, SmallArray):
        for cell in value.cells:
            yield from _leaves(cell)
    elif isinstance(value, Seq):
        for item in value.items:
            yield from _leaves(item)
    elif isinstance(value, Map) and not value.open:
        for item in value.items.values():
            yield from _leaves(item)
    elif isinstance(value, ProgramObject):
        for item in value.attributes.values():
            yield from _leaves(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        raise _refused("a function of noisy values that is released")
