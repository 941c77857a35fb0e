"""The explorer that merges equal states, against the one that follows every path."""

# mypy: disallow-untyped-defs=False
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpest.ask.declaration import as_mechanism
from dpest.exact.engine import exact_loss
from dpest.reading.machine.executor import Machine
from dpest.reading.machine.exploring.explorer import Exploration, Limits
from dpest.reading.machine.exploring.merging import explore_merged
from dpest.reading.machine.signals import Refused
from dpest.reading.merged_paths import merged_model
from dpest.reading.merged_replay import MergedReplay
from dpest.reading.paths_of_code import first_state
from dpest.reading.table.registry import load
from dpest.reading.trace import trace

LIMITS = Limits(paths=20_000, seconds=60)


def started(function: Any, x: Any) -> tuple[Machine, Any]:
    load()
    machine = Machine()
    return machine, first_state(machine, as_mechanism(function), x)


def plain(function: Any, x: Any) -> list[Any]:
    machine, first = started(function, x)
    return [edge_key(e) for e in Exploration(machine, first).model(LIMITS).edges]


def merged(function: Any, x: Any) -> tuple[list[Any], int]:
    """The paths of the graph, and how many nodes it has; replayed, too."""
    machine, first = started(function, x)
    graph = explore_merged(machine, first, LIMITS)
    model = merged_model(machine, graph, 20_000, 20_000)
    MergedReplay(machine, graph, model, as_mechanism(function), x, (), is_folded=False).check()
    return [edge_key(e) for e in model.edges], len(graph)


def edge_key(edge: Any) -> Any:
    return edge.conditions, edge.draws, edge.picks, edge.release


def sparse(x, rng, cutoff=2):
    rho = rng.laplace()
    answers, hits = [], 0
    for q in x:
        if hits == cutoff:
            break
        if q + rng.laplace(scale=2) > rho:
            hits += 1
            answers.append(q + rng.laplace(scale=3))
        else:
            answers.append(None)
    return answers


def comprehension(x, rng):
    return ["yes" if q + rng.laplace() > 0 else "no" for q in x]


def two_lists(x, rng):
    above, below = [], [0]
    for i, q in enumerate(x):
        (above if q + rng.laplace() > 0 else below).append(i)
    return {"above": above, "below": below}


def one_list_by_two_names(x, rng):
    first = []
    second = first
    for q in x:
        if q + rng.laplace() > 0:
            first.append(1)
        else:
            second.append("low")
    return first, second, first is second


def counted(x, rng):
    answers, total = [], 0
    for q in x:
        if q + rng.laplace() > 0:
            total += q
        answers.append(total)
    return answers, total


def looked_into(x, rng):
    answers = []
    for q in x:
        up = q + rng.laplace() > 0
        if answers and answers[-1] == "up":
            answers.append("after" if up else "no")
        else:
            answers.append("up" if up else "no")
    return answers


def looked_into_at_each_turn(x, rng):
    answers = []
    for q in x:
        answers = [*answers, 1 if q + rng.laplace() > len(answers) else 0]
    return answers


def numbered(x, rng):
    answers = []
    for q in x:
        if q + rng.laplace() > 0:
            answers.append(len(answers))
    return answers


def changed_later(x, rng):
    rows, last = [], [0]
    for q in x:
        last = [0] if q + rng.laplace() > 0 else last
        rows.append(last)
        last[0] += 1
    return rows


def types_differ(x, rng):
    kind = None
    for q in x:
        kind = 1 if q + rng.laplace() > 0 else True
    return kind, f"{kind}"


def zeros_differ(x, rng):
    sign = 0.0
    for q in x:
        sign = 0.0 if q + rng.laplace() > 0 else -0.0
    return str(sign)


def noise_that_lives_on(x, rng):
    best = rng.laplace()
    place = 0
    for i, q in enumerate(x):
        noisy = q + rng.laplace()
        if noisy > best:
            best, place = noisy, i
    return place


def threshold_that_is_learnt(x, rng):
    rho = rng.uniform(0, 1)
    answers = []
    for q in x:
        answers.append(1 if rho > q else 0)
    return answers


def drawn_only_sometimes(x, rng):
    answers = []
    for q in x:
        bit = q
        if rng.random() < 0.25:
            bit = 1 if rng.random() < 0.5 else 0
        answers.append(bit)
    return answers


def closures(x, rng):
    answers = []

    def note(v):
        answers.append(v)

    for q in x:
        note("up" if q + rng.laplace() > 0 else "down")
    return answers


def generated(x, rng):
    for q in x:
        yield "up" if q + rng.laplace() > 0 else "down"


def sorted_at_the_end(x, rng):
    answers = []
    for i, q in enumerate(x):
        if q + rng.laplace() > 0:
            answers.append(-i)
    return sorted(answers)


def an_array(x, rng):
    out = np.zeros(len(x), dtype=bool)
    for i, q in enumerate(x):
        if q + rng.laplace() > 0:
            out[i] = True
    return out


def raising(x, rng):
    answers = []
    for i, q in enumerate(x):
        if q + rng.laplace() > 3:
            raise ValueError(f"query {i}")
        answers.append(0)
    return answers


def inner_loop(x, rng):
    rows = []
    for q in x:
        for _ in range(2):
            rows.append(1 if q + rng.laplace() > 0 else 0)
    return rows


FUNCTIONS = [
    *(sparse, comprehension, two_lists, one_list_by_two_names, counted, looked_into, numbered),
    *(changed_later, types_differ, zeros_differ, noise_that_lives_on, threshold_that_is_learnt),
    *(drawn_only_sometimes, closures, sorted_at_the_end, an_array, raising, inner_loop),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_merging_changes_no_path(function: Any, size: int) -> None:
    x = [0.5, 0.25, 0.75, 0.125][:size]
    assert merged(function, x)[0] == plain(function, x)


def test_where_states_are_never_equal_merging_gives_up() -> None:
    with pytest.raises(Refused, match="hardly ever equal"):
        merged(looked_into_at_each_turn, [0.5] * 10)


def test_states_that_are_equal_are_one() -> None:
    _, nodes = merged(sparse, [0.5] * 30)
    assert nodes <= 3 * 31 + 2
    for function in (comprehension, closures):
        _, nodes = merged(function, [0.5] * 10)
        assert nodes <= 12


def test_what_differs_later_is_not_merged() -> None:
    for function in (types_differ, zeros_differ, threshold_that_is_learnt):
        assert merged(function, [0.5, 0.25])[0] == plain(function, [0.5, 0.25])


def rappor(x, rng, f=0.5, p=0.25, q=0.75):
    report = []
    for bit in x:
        u = rng.random()
        if u < f / 2:
            kept = 1
        elif u < f:
            kept = 0
        else:
            kept = bit
        report.append(1 if rng.random() < (q if kept else p) else 0)
    return report


def test_bits_of_rappor_are_one_path() -> None:
    found = trace(rappor, [1, 0, 0, 1, 1, 0, 1, 0])
    assert len(found.paths) == 1
    assert len(found.indicators) == 8
    found = trace(drawn_only_sometimes, [1, 0, 0, 1, 1, 0, 1, 0])
    assert len(found.paths) == 1


@pytest.mark.parametrize("function", [rappor, drawn_only_sometimes], ids=lambda f: f.__name__)
def test_one_path_with_indicators_has_the_loss_of_many_paths(function: Any) -> None:
    one = exact_loss(function, [1], [0]).epsilon
    many = exact_loss(function, [1, 0, 0, 1, 1, 0, 1, 0], [0, 0, 0, 1, 1, 0, 1, 0]).epsilon
    twice = exact_loss(function, [1, 0, 0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 1, 0, 1, 0]).epsilon
    assert many == pytest.approx(one, rel=1e-9)
    assert twice == pytest.approx(2 * one, rel=1e-9)


def test_a_generator_is_read_as_it_was() -> None:
    assert len(trace(generated, [0.5] * 6).paths) == 64
