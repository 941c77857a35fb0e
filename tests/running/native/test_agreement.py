"""Kernels give what the functions give: run by run with the same draws, and in distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from dpest import zoo
from dpest.ask.declaration import as_mechanism
from dpest.ask.patterns import patterns
from dpest.noise import discrete_laplace
from dpest.running.native import kernel, replay
from dpest.running.native.compiled import Compiled, program_of
from dpest.running.native.replay import check_distribution, check_runs
from dpest.running.native.runs import block_of_runs, blocks_of, compiled_for, count_runs, draw_runs
from dpest.running.native.signals import NotCompiled
from dpest.running.native.specialising import arithmetic, drawing
from dpest.running.seeds import block_seed

pytest.importorskip("llvmlite")
LABELS = ["low", "middle", "high"]


class Release(NamedTuple):
    value: float
    label: str


@dataclass
class Account:
    total: float
    steps: int = 0

    def add(self, value: float) -> None:
        self.total = self.total + value
        self.steps = self.steps + 1


def made(function: Callable[..., Any], x: Any) -> Compiled:
    program, any_input = program_of(as_mechanism(function), x)
    return Compiled(program, any_input, x)


def sparse(x, rng):
    rho, answers = rng.laplace(), []
    for q in x:
        if q + rng.laplace(scale=2.0) >= rho:
            answers.append("above")
            break
        answers.append("below")
    return answers


def geometric_by_coins(x, rng):
    k = 0
    while rng.random() < 0.5:
        k += 1
    return x[0] > k


def mixed_kinds(x, rng):
    noisy = x[0] + rng.normal()
    if noisy < -0.5:
        return None
    if noisy < 0.5:
        return False
    return max(1, noisy)


def raises_now_and_then(x, rng):
    try:
        return 1 / (1 if rng.random() < 0.5 else 0)
    except ZeroDivisionError:
        if rng.random() < 0.5:
            raise ValueError("nothing left") from None
        return -1


def by_dictionary(x, rng):
    counts = dict.fromkeys(LABELS, 0)
    for v in x:
        counts["low" if v < 0.5 else "high"] += 1
    return {name: count + discrete_laplace(rng, 1.0) for name, count in counts.items()}


def with_arrays(x, rng):
    noisy = np.asarray(x) + rng.laplace(scale=0.5, size=len(x))
    order = np.argsort(noisy)
    return np.clip(noisy, -1, 1).sum(), int(order[-1]), bool((noisy > 0).all())


def by_generators(x, rng):
    def steps():
        for v in x:
            yield v + rng.exponential()

    best = max(steps(), key=lambda v: abs(v - 1))
    return best, any(rng.random() < 0.3 for _ in x)


def with_objects(x, rng):
    account = Account(0.0)
    for v in x:
        account.add(v * rng.random())
    return Release(account.total, LABELS[account.steps % 3])


def chosen_by_chance(x, rng):
    weights = np.exp(np.array(x) / 2)
    picked = rng.choice(LABELS, p=weights / weights.sum())
    return picked, int(rng.integers(1, 7)), rng.permutation(3).tolist()


def spoils_its_input(x, rng):
    x.sort()
    x.append(rng.gumbel())
    return x[-1] + x[0]


def python_arithmetic(x, rng):
    u = 10 * rng.random() - 5
    return math.floor(u), int(u), round(u), u // 2, u % 3, -int(u) % 4, abs(u) ** 0.5, u**2


def heavy_tails(x, rng):
    first = x[0] + 2 * rng.standard_cauchy()
    return first, rng.standard_t(3), rng.standard_t(4), rng.triangular(-1, 0, 2), rng.logistic()


FUNCTIONS = [
    heavy_tails, sparse, geometric_by_coins, mixed_kinds, raises_now_and_then, by_dictionary,
    with_arrays,
    by_generators, with_objects, chosen_by_chance, spoils_its_input, python_arithmetic,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_kernel_gives_what_the_function_gives(function: Callable[..., Any]) -> None:
    x = [0.3, 1.2, 0.7]
    compiled = made(function, x)
    check_runs(compiled, as_mechanism(function), x)
    check_distribution(compiled, as_mechanism(function), x)


@pytest.mark.parametrize("name", ["SVT34Parallel", "Rappor", "TopK", "NumericalSVT"])
def test_some_of_the_zoo(name: str) -> None:
    entry = zoo.get(name)
    x = patterns(entry.adjacency, entry.domain)[0][2]
    compiled_for(entry, x)  # replayed, or it raises


def test_a_wrong_operation_is_found_run_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(arithmetic._REAL, "+", "fsub")
    compiled = made(sparse, [0.3, 1.2])
    with pytest.raises(NotCompiled, match="replay"):
        check_runs(compiled, as_mechanism(sparse), [0.3, 1.2])


def test_a_wrong_draw_is_found_in_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(x, rng):
        return x + rng.laplace()

    wrong = lambda run, m, b: run.scaled(m, 2.0 * b, run.standard("laplace"))  # noqa: E731
    monkeypatch.setitem(drawing.RECIPES, "laplace", wrong)
    compiled = made(noisy, 0.5)
    check_runs(compiled, as_mechanism(noisy), 0.5)  # the replay has the same recipe
    with pytest.raises(NotCompiled, match="distribution"):
        check_distribution(compiled, as_mechanism(noisy), 0.5)


def test_right_kernels_pass_the_comparison_in_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its level of 1e-6, thirty comparisons of right kernels raise no alarm."""

    def noisy(x, rng):
        return x + rng.laplace(), rng.random() < 0.3

    compiled = made(noisy, 0.5)
    for seed in range(30):
        monkeypatch.setattr(replay, "_SEED", seed)
        check_distribution(compiled, as_mechanism(noisy), 0.5, 500)


def growing(x, rng):
    k = 1
    while rng.random() < 0.9:
        k = k * 3
    return k % 7


def test_integers_that_leave_64_bits_are_not_believed() -> None:
    compiled = made(growing, 0)
    with pytest.raises(NotCompiled, match="64 bits"):
        compiled.samples(20_000, block_seed(1, 0))
    samples = block_of_runs(growing, 0, 1 << 17, 1, 0)
    assert samples.runner == "batch"


def test_a_loop_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(x, rng):
        u = rng.random()
        while u < 2:
            u = u * 1.0
        return u

    monkeypatch.setattr(kernel, "FUEL", 1000)
    with pytest.raises(NotCompiled, match="too long"):
        made(endless, 0.0).samples(10, block_seed(1, 0))


def test_long_outputs_are_packed() -> None:
    entry, x = zoo.get("SVT6"), [1.0] * 80
    compiled = compiled_for(entry, x)
    assert compiled.layout.codes == 1
    assert compiled.layout.width == 2
    samples = compiled.samples(1000, block_seed(1, 0))
    assert len(samples[0]) == 80
    assert 0.05 < np.mean([c.mean() for c in samples.groups[0].columns]) < 0.95


def test_counts_are_the_counts_of_the_same_runs() -> None:
    entry, x = zoo.get("SVT1"), [1.0] * 10
    outputs, counts = count_runs(entry, x, 200_000, 3)
    codes = draw_runs(entry, x, 200_000, 3).codes()
    assert draw_runs(entry, x, 200_000, 3).runner == "native"
    keys, values = outputs.codes().keys, outputs.codes().values
    mine = dict(zip(keys, counts[np.argsort(values)].tolist(), strict=True))
    assert mine == dict(zip(codes.keys, codes.counts.tolist(), strict=True))


def test_blocks_in_any_order_and_any_input_of_a_shape() -> None:
    entry = zoo.get("ReportNoisyMax1")
    first, second = compiled_for(entry, [1.0] * 5), compiled_for(entry, [0.0, 1.0, 1.0, 1.0, 2.0])
    assert first.program is second.program
    blocks = list(blocks_of(3 << 17, 1))
    tables = []
    for order in (blocks, blocks[::-1]):
        table = np.zeros(first.layout.codes, dtype=np.int64)
        for count, stream in order:
            first.counts(count, stream, table)
        tables.append(table)
    assert np.array_equal(*tables)
    other = second.counts(100_000, block_seed(1, 0))
    assert np.argmax(other) == 4


FACTOR = 1.0


def scaled_by_a_global(x, rng):
    return x + FACTOR * rng.random() > 1.5


def test_a_global_that_changes_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiled_for(scaled_by_a_global, 1.0).counts(10_000, block_seed(1, 0))
    monkeypatch.setitem(globals(), "FACTOR", 0.25)
    after = compiled_for(scaled_by_a_global, 1.0).counts(10_000, block_seed(1, 0))
    assert before.min() > 4000
    assert after.max() == 10_000


def test_the_same_seed_gives_the_same_samples() -> None:
    entry, x = zoo.get("PrefixSum"), [1.0] * 5
    a, b = (compiled_for(entry, x).samples(1000, block_seed(4, 2)) for _ in range(2))
    for one, two in zip(a.groups[0].columns, b.groups[0].columns, strict=True):
        np.testing.assert_array_equal(one, two)
    c = compiled_for(entry, x).samples(1000, block_seed(4, 3))
    assert not np.array_equal(a.groups[0].columns[0], c.groups[0].columns[0])
