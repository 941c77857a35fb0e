"""DP-Finder: estimate, smooth objective, search, confirmation. Seeds are fixed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

import dpest
from dpest.ask.adjacency import parse_adjacency
from dpest.ask.declaration import as_mechanism
from dpest.ask.domains import integers, reals
from dpest.attacks.finder import confirmation
from dpest.attacks.finder.attack import finder_attack, finder_search
from dpest.attacks.finder.estimate import PairedCounts, estimate, samples_needed
from dpest.attacks.finder.event import PatternEvent, event_mechanism
from dpest.attacks.finder.frozen import freeze, stretch_for
from dpest.attacks.finder.neighbourhood import neighbourhoods
from dpest.attacks.finder.objective import Side, SmoothObjective
from dpest.attacks.finder.search import Searcher
from dpest.attacks.finder.smooth import EventShape, LinearInput, SmoothCheck
from dpest.attacks.statdp.discrete import NUMBER
from dpest.attacks.statdp.events import Range
from dpest.errors import InputError
from dpest.exact.engine import exact_loss
from dpest.geometry.linear import Symbol
from dpest.noise import Laplace
from dpest.reading.trace import trace
from dpest.running.batch.batch import batch
from dpest.stats import central_limit, hoeffding


def above(queries, rng, *, eps=0.1, threshold=0, rho=40.0, nu=40 / 3):
    """AT4 of the paper with its scales: one hit, then zeros."""
    noisy = threshold + rng.laplace(scale=rho)
    answers = []
    for q in queries:
        if True in answers:
            answers.append(0)
        else:
            answers.append(bool(q + rng.laplace(scale=nu) >= noisy))
    return answers


def exp_mech(scores, rng, *, eps=0.1):
    return int(np.argmax(np.asarray(scores) + rng.exponential(scale=2 / eps, size=len(scores))))


def total(x, rng, *, eps=0.1):
    return sum(x) + rng.laplace(scale=1 / eps)


def bits(x, rng):
    return np.asarray(x) + rng.laplace(scale=1.0, size=len(x)) > 0


def count_above(x, rng):
    return int(np.sum(np.asarray(x) + rng.laplace(scale=1.0, size=len(x)) > 0))


def laplace_cdf(t, scale):
    return 0.5 * math.exp(t / scale) if t < 0 else 1 - 0.5 * math.exp(-t / scale)


def above_probability(x, pattern, rho=40.0, nu=40 / 3):
    """P(pattern), by quadrature over the threshold's noise: an oracle of its own."""

    def integrand(r):
        value = math.exp(-abs(r) / rho) / (2 * rho)
        for q, answer in zip(x, pattern, strict=True):
            if answer is True:
                return value * laplace_cdf(q - r, nu)
            value *= laplace_cdf(r - q, nu)
        return value

    breaks = sorted({0.0, *map(float, x)})
    edges = [-2000.0, *breaks, 2000.0]
    return sum(
        quad(integrand, a, b, epsabs=0, epsrel=1e-10, limit=200)[0]
        for a, b in itertools.pairwise(edges)
    )


def confirm_above(x, x2, event):
    """None where the quadrature is out of its depth."""
    p, q = above_probability(x, event.pattern), above_probability(x2, event.pattern)
    return math.log(p / q) if p > 1e-200 and q > 1e-200 else None


# --- the estimate -------------------------------------------------------------------------------


def test_the_papers_example_of_interval_widths():
    """p = 3.24 %, q = 3.04 %, n = 10^7, ρ = 0.97, 0.001 a side."""
    p, q, n = 0.0324, 0.0304, 10**7
    assert hoeffding.log_ratio_interval(p, q, n, 0.001) == pytest.approx((0.0244, 0.1031), abs=1e-4)
    assert central_limit.log_ratio_interval(p, q, n, 0.001) == pytest.approx(
        (0.0522, 0.0753), abs=1e-4
    )
    low, high = central_limit.correlated_log_ratio_interval(p, q, 0.97, n, 0.001)
    # By the delta method: sqrt((1/p + 1/q - 2·cov/(pq) - …)/n) times the normal quantile.
    spread = math.sqrt(
        ((1 - p) / p + (1 - q) / q - 2 * 0.97 * math.sqrt((1 - p) * (1 - q) / (p * q))) / n
    )
    assert (high - low) / 2 == pytest.approx(3.2905 * spread, rel=0.01)
    assert (high - low) / 2 == pytest.approx(0.0014, abs=1e-4)


def test_shared_noise_needs_fewest_samples():
    needed = samples_needed(0.0324, 0.0304, 0.97, 0.002)
    assert needed["m-clt"] < needed["clt"] < needed["hoeffding"]
    assert needed["clt"] / needed["m-clt"] > 20


def test_paired_counts():
    counts = PairedCounts().plus(
        np.array([True, True, False, False, True]), np.array([True, False, True, False, True])
    )
    assert (counts.both, counts.first, counts.second, counts.samples) == (2, 1, 1, 5)
    assert counts.epsilon == 0.0
    assert counts.correlation == pytest.approx(np.corrcoef([1, 1, 0, 0, 1], [1, 0, 1, 0, 1])[0, 1])
    assert PairedCounts(0, 3, 0, 10).epsilon == math.inf
    assert math.isnan(PairedCounts(0, 0, 0, 10).epsilon)


def test_samples_are_added_until_the_half_width_is_reached():
    rng = np.random.default_rng(0)

    def check(n):
        noise = rng.laplace(scale=10, size=n)
        return noise > 5, noise > 6

    counts = estimate(check, half_width=0.004, most=4_000_000)
    assert counts.half_width() <= 0.004
    assert counts.samples < 4_000_000
    # Four half-widths at 99.9 %: the normal approximation would have to be badly off.
    assert counts.epsilon == pytest.approx(0.1, abs=0.008)
    assert counts.correlation > 0.9


# --- the smooth objective -----------------------------------------------------------------------


def smooth_check(function, n, pattern, ends=None, steepness=50.0, extra=0):
    found = trace(function, [0.0] * n, symbolic=True)
    size = n + extra
    inputs = {Symbol("input", f"x{i}"): LinearInput(np.eye(size)[i]) for i in range(n)}
    symbols = tuple(sorted(found.noises))
    shape = EventShape(pattern, ends or {})
    return SmoothCheck(found, shape, inputs, symbols, found.noises, steepness), symbols, found


CASES = [
    (above, (False, True, 0), None, 0),
    (above, (False, False, False), None, 0),
    (exp_mech, (1,), None, 0),
    (bits, (True, False, True), None, 0),
    (count_above, (2,), None, 0),
    (total, (NUMBER,), {0: (LinearInput(np.eye(5)[3]), LinearInput(np.eye(5)[4]))}, 2),
]


@pytest.mark.parametrize(("function", "pattern", "ends", "extra"), CASES)
def test_gradients_agree_with_finite_differences(function, pattern, ends, extra):
    check, _symbols, found = smooth_check(function, 3, pattern, ends, 5.0, extra)
    rng = np.random.default_rng(1)
    check.freeze(freeze(found.noises, 256, rng).values)
    point = np.concatenate([[0.3, -0.7, 1.1], np.array([-3.0, 4.0])[:extra]])
    value, gradient = check.value_and_gradient(point)
    assert value == pytest.approx(check.value(point))
    assert 0 < value < 1
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-5
        difference = (check.value(point + step) - check.value(point - step)) / 2e-5
        assert gradient[i] == pytest.approx(difference, rel=1e-5, abs=1e-10)


@pytest.mark.parametrize(("function", "pattern", "ends", "extra"), CASES)
def test_the_smooth_indicator_tends_to_the_true_one(function, pattern, ends, extra):
    gaps = []
    point = np.concatenate([[0.3, -0.7, 1.1], np.array([-3.0, 4.0])[:extra]])
    for steepness in (1.0, 10.0, 100.0, 1e5):
        check, _symbols, found = smooth_check(function, 3, pattern, ends, steepness, extra)
        check.freeze(freeze(found.noises, 2048, np.random.default_rng(2)).values)
        gaps.append(abs(check.value(point) - check.hard(point).mean()))
    assert gaps[-1] < 1e-3
    assert gaps[-1] < gaps[0]


def test_the_hard_indicator_is_the_mechanisms_own():
    """The traced indicator on drawn noise against runs of the function itself.

    Five standard errors: false-alarm rate below 1e-6.
    """
    x, pattern, n = [1.0, -4.0, 2.0], (False, False, True), 200_000
    check, symbols, found = smooth_check(above, 3, pattern)
    rng = np.random.default_rng(3)
    check.freeze(np.column_stack([found.noises[s].sample(rng, n) for s in symbols]))
    own = check.hard(np.array(x)).mean()
    event = PatternEvent(pattern)
    runs = event.mask(batch(above, x, n, 4)).mean()
    exact = above_probability(x, pattern)
    slack = 5 * math.sqrt(exact / n)
    assert own == pytest.approx(exact, abs=slack)
    assert runs == pytest.approx(exact, abs=slack)


def test_widened_noise_is_weighted_back():
    noises = {Symbol("noise", f"n{i}"): Laplace(10.0) for i in range(3)}
    frozen = freeze(noises, 2**14, np.random.default_rng(0))
    far = frozen.values[:, 0] > 80
    assert frozen.weights[far].sum() == pytest.approx(0.5 * math.exp(-8), rel=0.05)
    assert far.sum() > 5 * len(far) * 0.5 * math.exp(-8)
    assert 1 < stretch_for(20) < stretch_for(2) <= 2


def test_events_read_columns_values_and_traces_alike():
    event = PatternEvent((False, NUMBER), {1: Range(-1.0, 2.0, True, False)})
    outputs = [
        [False, 0.5],
        [False, 2.0],
        [False, -1.0],
        [True, 0.5],
        [False],
        [0, 0.5],
        [False, 1],
    ]
    expected = [True, False, True, False, False, False, True]
    from dpest.running.samples import Samples

    assert event.mask(Samples.from_outputs(outputs)).tolist() == expected
    assert [event.holds(o) for o in outputs] == expected
    from dpest.attacks.statdp import replay

    names = {name: getattr(replay, name) for name in replay.__all__}
    assert [
        bool(eval(event.source, dict(names), {"leaves": replay.leaves_of(o)})) for o in outputs
    ] == expected
    assert event.words == "the output is [False, …] and element 1 lies in [−1, 2)"


def test_an_event_as_a_mechanism_of_its_own():
    asked = event_mechanism(as_mechanism(above), PatternEvent((False, True, 0)))
    leaves = {path.leaves for path in trace(asked, [1.0, 2.0, 3.0]).paths}
    assert leaves == {(True,), (False,)}


# --- neighbours ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", ["linf", "l1", "monotone", "replace_one", "add_remove_one:1", "any_pair", "linf:2"]
)
@pytest.mark.parametrize("domain", [reals(3), reals(3, 0, 5), integers(3, 0, 10)])
def test_random_pairs_are_neighbours_in_the_domain(rule, domain):
    adjacency = parse_adjacency(rule)
    rng = np.random.default_rng(0)
    for kind in neighbourhoods(adjacency, domain, 3, math.inf) or []:
        for _ in range(20):
            x, x2 = kind.pair(kind.random(rng))
            adjacency.check(x, x2, domain)


@pytest.mark.parametrize(
    "rule", ["linf", "l1", "l1:2", "monotone", "replace_one:1", "add_remove_one:6", "linf:2.5"]
)
@pytest.mark.parametrize("domain", [reals(3), reals(3, 5, 10), integers(3), integers(3, 0, 5)])
def test_pairs_are_neighbours_in_the_domain_wherever_a_search_goes(rule, domain):
    """Steps leave the constraints a little (SLSQP) or a lot (pushing to the tails)."""
    adjacency = parse_adjacency(rule)
    rng = np.random.default_rng(0)
    for kind in neighbourhoods(adjacency, domain, 3, math.inf) or []:
        for _ in range(50):
            step = rng.normal(size=kind.size) * 10 ** rng.uniform(-9, 3)
            x, x2 = kind.pair(kind.random(rng) + step)
            adjacency.check(x, x2, domain)


# --- the search ---------------------------------------------------------------------------------


def test_the_search_closes_the_gap_of_at4():
    """Its bound 0.175 is tight: eps1·1 + eps2·2 at scales 1/eps1 = 40 and 1/eps2 = 40/3."""
    evidence = finder_attack(above, "linf", reals(4), confirm=confirm_above, seed=0)
    assert str(evidence.standing) == "exact"
    assert 0.99 * 0.175 < evidence.value <= 0.175 + 1e-9
    parse_adjacency("linf").check(evidence.witness.x, evidence.witness.x2)
    assert confirm_above(
        evidence.witness.x,
        evidence.witness.x2,
        PatternEvent(
            tuple(
                {"False": False, "True": True, "0": 0}[w] for w in _pattern(evidence.witness.event)
            )
        ),
    ) == pytest.approx(evidence.value)


def releasing(queries, rng):
    """AT3 of the paper: the value of the first query above the threshold is released."""
    noisy = rng.laplace(scale=20.0)
    answers = []
    for q in queries:
        value = q + rng.laplace(scale=20.0)
        if value >= noisy:
            return [*answers, value]
        answers.append(False)
    return answers


def test_events_that_show_most_in_the_far_tails_are_found():
    """The last query's value in an interval, after two False: 3·eps/2 at n = 3, eps = 0.1."""
    mechanism = as_mechanism(releasing)

    def confirm(x, x2, event):
        return exact_loss(event_mechanism(mechanism, event), x, x2).epsilon

    evidence = finder_attack(mechanism, "linf", reals(3), confirm=confirm, seed=0)
    assert 0.99 * 0.15 < evidence.value <= 0.15 + 1e-9


def _pattern(words):
    return words.removeprefix("the output is [").removesuffix("]").split(", ")


def test_only_confirmed_values_are_reported():
    """Without an exact engine: a bound on fresh samples, at most the truth."""
    finding, evidence = finder_search(exp_mech, "linf", reals(4), seed=1, alpha=0.001)
    assert evidence.standing.name == "confidence"
    assert 0.08 < evidence.value <= 0.1
    assert finding.best is not None
    assert evidence.witness.p > evidence.witness.q
    assert sum(evidence.details["shares"].values()) == pytest.approx(1.0)


def test_a_refused_confirmation_falls_back_to_samples():
    evidence = finder_attack(
        total, "add_remove_one:1", reals(4), confirm=lambda x, x2, event: None, seed=2, alpha=0.001
    )
    assert evidence.standing.name == "confidence"
    assert 0.08 < evidence.value <= 0.1
    assert abs(len(evidence.witness.x) - len(evidence.witness.x2)) == 1


def test_a_denominator_of_zero_goes_to_the_support_analysis():
    asked = []

    def no_query_noise(q, rng):
        rho = rng.laplace(scale=20.0)
        return [bool(v >= rho) for v in q]

    def confirm(x, x2, event):
        asked.append((x, x2, event))
        # Possible iff the threshold can lie between the False and the True ones.
        lowest = [
            min((v for v, a in zip(s, event.pattern, strict=True) if a), default=math.inf)
            for s in (x, x2)
        ]
        highest = [
            max((v for v, a in zip(s, event.pattern, strict=True) if not a), default=-math.inf)
            for s in (x, x2)
        ]
        possible = [low > high for low, high in zip(lowest, highest, strict=True)]
        return math.inf if possible == [True, False] else 0.0

    evidence = finder_attack(no_query_noise, "linf", reals(3), confirm=confirm, seed=0)
    assert evidence.value == math.inf
    assert asked


def test_what_is_not_smooth_is_searched_at_random_and_said():
    def text(x, rng):
        return str(round(x[0] + rng.laplace()))

    evidence = finder_attack(text, "linf", reals(1), budget="40000 runs", seed=0)
    assert evidence.method == "finder: random search"
    assert any("random search" in note for note in evidence.notes)


def test_a_given_pair_is_kept():
    evidence = finder_attack(total, x=[0.0, 0.0], x2=[1.0, 0.0], domain=reals(2), seed=0)
    assert {tuple(evidence.witness.x), tuple(evidence.witness.x2)} == {(0.0, 0.0), (1.0, 0.0)}
    with pytest.raises(InputError):
        finder_attack(total, x=[0.0])


def test_same_seed_same_answer():
    one, two = (finder_attack(exp_mech, "linf", reals(3), seed=5) for _ in range(2))
    assert (one.value, one.witness.x, one.witness.event) == (
        two.value,
        two.witness.x,
        two.witness.event,
    )


def test_bits_that_never_branch_are_searched_too():
    """Twenty independent answers as one path: each is an indicator."""
    evidence = finder_attack(bits, "l1", reals(3), seed=0, alpha=0.001)
    assert 0.5 < evidence.value <= 1.0


def test_the_search_beats_random_search_with_the_same_evaluations():
    found = trace(above, [0.0] * 4, symbolic=True)
    side = Side(found, [Symbol("input", f"x{i}") for i in range(4)])
    kinds = neighbourhoods(parse_adjacency("linf"), reals(4), 4, math.inf)
    searcher = Searcher({4: side}, kinds, found.noises, samples=4096, steepness=50.0, seed=0)

    def truth(candidate):
        return abs(confirm_above(candidate.x, candidate.x2, candidate.event))

    starts, others = searcher.best_starts(12, 3)
    assert len(starts) == 3
    assert len(others) == 9
    climbed = [searcher.climb(c.objective, c.variables) for c in starts]
    best = max(truth(c) for c in climbed if c is not None)
    budget = searcher.cost.evaluations
    measured = list(searcher.random_search(min(budget, 150)))
    random = truth(max(measured, key=lambda c: c.frozen if math.isfinite(c.frozen) else -1))
    assert best > 1.2 * random


def test_objective_turns_a_candidate_so_that_the_first_side_is_larger():
    found = trace(total, [0.0], symbolic=True)
    side = Side(found, [Symbol("input", "x0")])
    (kind,) = neighbourhoods(parse_adjacency("linf"), reals(1), 1, math.inf)
    objective = SmoothObjective(
        (side, side), kind, (NUMBER,), {0: (True, False)}, found.noises, tuple(found.noises)
    )
    searcher = Searcher({1: side}, [kind], found.noises, samples=1024, steepness=50.0, seed=0)
    objective.freeze(searcher.noise)
    point = np.array([0.0, 1.0, 3.0])  # P(x ≥ 3) < P(x2 ≥ 3)
    candidate = searcher.candidate(objective, point, point)
    assert candidate.x == [1.0]
    assert candidate.x2 == [0.0]
    assert candidate.frozen > 0


# --- any mechanism ------------------------------------------------------------------------------


def pair_loss(mechanism):
    def confirm(x, x2, event):
        return exact_loss(mechanism, x, x2)

    return confirm


def released_as_it_is(x, rng):
    return x[0]


def raises_below_zero(x, rng):
    value = x[0] + rng.laplace(scale=2.0)
    if value < 0:
        raise ValueError("negative")
    return value > 1


@pytest.mark.parametrize(
    ("function", "length", "truth"),
    [(released_as_it_is, 1, math.inf), (raises_below_zero, 1, 0.5)],
    ids=["no noise", "raises"],
)
def test_functions_of_other_kinds(function, length, truth):
    evidence = finder_attack(function, "linf", reals(length), confirm=pair_loss(function), seed=0)
    assert evidence.value == pytest.approx(truth, rel=1e-9)


def test_a_given_pair_with_one_output_has_nothing_to_move():
    evidence = finder_attack(
        lambda x, rng: "always", x=[0.0], x2=[1.0], domain=reals(1), seed=0, alpha=0.01
    )
    assert evidence.value == 0.0


@pytest.mark.parametrize(
    ("function", "form"),
    [
        (lambda x, rng: x.sum() + rng.laplace(scale=4.0), "array"),
        (lambda x, rng: x + rng.laplace(scale=4.0), "number"),
    ],
    ids=["array", "number"],
)
def test_inputs_of_other_forms(function, form):
    domain = replace(reals(1), form=form)
    evidence = finder_attack(function, "linf", domain, confirm=pair_loss(function), seed=0)
    assert evidence.value == pytest.approx(0.25)
    x, x2 = evidence.witness.x, evidence.witness.x2
    assert isinstance(x, np.ndarray if form == "array" else float)
    assert abs(float(np.sum(x)) - float(np.sum(x2))) == pytest.approx(1.0)


def test_a_search_without_a_budget_ends_and_says_what_it_left_out(monkeypatch):
    monkeypatch.setattr(confirmation, "DEFAULT_WORK", 0.0)
    evidence = finder_attack(above, "linf", reals(4), confirm=confirm_above, seed=0)
    (note,) = [note for note in evidence.notes if "not done" in note]
    assert "restarts" in note or "confirmations" in note or "tails" in note
    assert 0.0 <= evidence.value <= 0.175 + 1e-9


@pytest.mark.parametrize("runs", [40, 20_000])
def test_a_budget_in_runs_is_kept(runs):
    evidence = finder_attack(total, "linf", reals(2), budget=f"{runs} runs", seed=0)
    assert 0 < evidence.runs <= runs
    assert evidence.value <= 0.2


def test_counterexamples_come_back_from_the_far_tails():
    """The exact ratio of an exponential race is reached near zero: no need for large inputs."""
    evidence = finder_attack(exp_mech, "linf", reals(3), confirm=pair_loss(exp_mech), seed=0)
    assert evidence.value == pytest.approx(0.1, rel=2e-3)
    assert max(map(abs, evidence.witness.x)) < 20


def test_a_delta_is_refused():
    with pytest.raises(InputError, match="pure ε"):
        dpest.attack(total, method="finder", epsilon=1.0, delta=0.1, length=2)


def test_a_missing_parameter_is_asked_for():
    def limited(x, rng, *, limit):
        return x[0] + rng.laplace() > limit

    with pytest.raises(InputError, match="limit"):
        dpest.attack(limited, method="finder", length=1)
