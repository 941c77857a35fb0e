"""StatDP: events, selection, arguments, detection. Seeds are fixed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import hypergeom

from dpest.ask.declaration import as_mechanism
from dpest.attacks.statdp import features as f
from dpest.attacks.statdp import replay
from dpest.attacks.statdp.arguments import ArgumentGenerator
from dpest.attacks.statdp.attack import statdp_attack, statdp_detection
from dpest.attacks.statdp.curve import p_value_curve, plot
from dpest.attacks.statdp.detection import (
    SecondLook,
    choose,
    detect,
    is_clear,
    search,
)
from dpest.attacks.statdp.events import Event, Range
from dpest.attacks.statdp.hypothesis_test import coin_label_p_value, hypothesis_test, promise
from dpest.attacks.statdp.inputs import generate_cases
from dpest.attacks.statdp.laboratory import InputCase, Laboratory
from dpest.attacks.statdp.selector import ChosenEvent, select_events
from dpest.errors import InputError
from dpest.running.samples import Samples
from dpest.stats import conditional_test


def svt(queries, rng, *, eps=0.7, threshold=0.5, cutoff=1):
    rho = rng.laplace(scale=2 / eps)
    answers, hits = [], 0
    for q in queries:
        if q + rng.laplace(scale=4 * cutoff / eps) >= threshold + rho:
            answers.append(True)
            hits += 1
            if hits == cutoff:
                break
        else:
            answers.append(False)
    return answers


def value_svt(queries, rng, *, eps=0.7, threshold=1, cutoff=1):
    """iSVT4: releases the noisy value."""
    rho = rng.laplace(scale=2 / eps)
    answers, hits = [], 0
    for q in queries:
        noisy = q + rng.laplace(scale=2 * cutoff / eps)
        if noisy >= threshold + rho:
            answers.append(noisy)
            hits += 1
            if hits == cutoff:
                break
        else:
            answers.append(False)
    return answers


def noisy_max(q, rng, *, eps=0.7):
    return np.argmax(np.asarray(q) + rng.laplace(scale=2 / eps, size=len(q)))


def noisy_max_value(q, rng, *, eps=0.7):
    return np.max(np.asarray(q) + rng.laplace(scale=2 / eps, size=len(q)))


def histogram(q, rng, *, eps=0.7):
    return [v + rng.laplace(scale=1 / eps) for v in q]


def no_cutoff(q, rng, *, eps=0.7):
    rho = rng.laplace(scale=2 / eps)
    return [bool(v + rng.laplace(scale=2 / eps) >= 1 + rho) for v in q]


# --- the test itself --------------------------------------------------------------------------


@pytest.mark.parametrize(("c1", "n1", "c2", "n2"), [(40, 200, 25, 200), (310, 1000, 250, 1100)])
def test_one_thinning_is_the_hypergeometric_tail(c1, n1, c2, n2):
    epsilon, seed = 0.3, 5
    kept = np.random.default_rng(seed).binomial(c1, math.exp(-epsilon))
    found = conditional_test.randomised_p_value(
        c1, n1, c2, n2, epsilon, np.random.default_rng(seed)
    )
    assert found == pytest.approx(hypergeom.sf(kept - 1, n1 + n2, n1, kept + c2), rel=1e-10)


def test_the_expected_p_value_is_the_mean_over_all_thinnings_in_exact_arithmetic():
    c1, n1, c2, n2 = 6, 9, 2, 8
    keep = Fraction(2, 3)
    total = Fraction(0)
    for kept in range(c1 + 1):
        weight = math.comb(c1, kept) * keep**kept * (1 - keep) ** (c1 - kept)
        s = kept + c2
        ways = sum(math.comb(n1, k) * math.comb(n2, s - k) for k in range(kept, min(s, n1) + 1))
        total += weight * Fraction(ways, math.comb(n1 + n2, s))
    p = hypothesis_test(c1, n1, c2, n2, math.log(1.5))
    assert p.expected()[0] == pytest.approx(float(total), rel=1e-12)


def test_the_coin_label_p_value_is_a_binomial_tail():
    exact = sum(
        math.comb(12, k) * Fraction(2, 3) ** k * Fraction(1, 3) ** (12 - k) for k in (11, 12)
    )
    assert coin_label_p_value(11, 1, math.log(2)) == pytest.approx(float(exact), rel=1e-12)


def test_ten_million_runs_take_no_time_and_stay_accurate():
    p = hypothesis_test(5_020_000, 10_000_000, 4_500_000, 10_000_000, 0.11)
    z = (5_020_000 - 9_520_000 / (1 + math.exp(-0.11))) / math.sqrt(9_520_000 / 4)
    assert p.exact == pytest.approx(0.5 * math.erfc(z / math.sqrt(2)), rel=0.02)
    assert 0 < p.top < 1


def test_promise_is_close_to_the_exact_bound():
    from scipy.stats import norm

    from dpest.stats import ratio

    alpha = 0.01
    near = promise([300], [100], float(norm.isf(alpha)))[0]
    assert near == pytest.approx(ratio.coin_label(300, 100, alpha), abs=0.01)


# --- events -----------------------------------------------------------------------------------

OUTPUTS = [
    [True, False, 2.5],
    [False, 0.0],
    [False, False, False],
    [0, 1, 2],
    3,
    -1.25,
    None,
    "yes",
    [1.5, -2.0, 7.25],
    {"a": 1, "b": [True, None]},
    (0.0, 1.5, 0.0),
    np.array([1.0, 2.0]),
    np.bool_(True),
    {3, 0},
    frozenset(),
    {"b": 2},
    {},
    math.inf,
]
FEATURES = [
    f.Length(),
    f.CountOfValue(False),
    f.CountOfValue(0),
    f.CountOfValue(None),
    f.CountOfValue("yes"),
    f.Mismatches((False, False, 1), "D1"),
    f.Mismatches((True,), "D2"),
    f.Element(0),
    f.Element(-1),
    f.ElementIs(1, False),
    f.ElementIs(-1, 0.0),
    f.Aggregate("mean"),
    f.Aggregate("min"),
    f.Aggregate("max", (7.25,)),
    f.Aggregate("argmax", (0.0,)),
    f.Aggregate("last", (0.0,)),
    f.Aggregate("range"),
    f.Difference(1, 0),
    f.OneOf(((False, False, False), (3,))),
    f.OneOf(((True, False, f.NUMBER), (False, 0.0)), (0.0,)),
    f.OneOf(((2, "keys b"), (0, 3), ("keys none",))),
    f.ElementIs(0, math.inf),
    f.ElementIs(-1, "keys a, b"),
]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda x: x.words)
def test_columns_and_replay_source_read_the_same(feature):
    """Two ways for one number: the vectorised columns, and the Python of the replay code."""
    names = {name: getattr(replay, name) for name in replay.__all__}
    together = feature.values(Samples.from_outputs(OUTPUTS))
    for output, value in zip(OUTPUTS, together, strict=True):
        leaves = replay.leaves_of(output)
        plain = float(eval(feature.source, dict(names), {"leaves": leaves}))
        assert (math.isnan(value) and math.isnan(plain)) or value == plain, (output, value, plain)


@pytest.mark.parametrize(
    ("wanted", "inside", "words"),
    [
        (Range(-1, 2, True, False), [0, 1, 1, 0], "v lies in [−1, 2)"),
        (Range(high=2), [1, 1, 1, 0], "v is below 2"),
        (Range(low=1, low_closed=True), [0, 0, 1, 1], "v is at least 1"),
        (Range(1, 1, True, True), [0, 0, 1, 0], "v is 1"),
    ],
)
def test_ranges(wanted, inside, words):
    values = np.array([-3.0, -1.0 if words == "v lies in [−1, 2)" else 0.0, 1.0, 2.0])
    assert wanted.contains(values).astype(int).tolist() == inside
    assert wanted.words("v", False) == words
    assert [bool(eval(wanted.source("v"), {"v": v})) for v in values] == [bool(i) for i in inside]
    assert not wanted.contains(np.array([np.nan])).any()


def test_a_product_reads_like_a_sentence():
    event = Event(
        (
            (f.CountOfValue(False), Range(9, 9, True, True)),
            (f.Aggregate("last"), Range(-2.4, 2.4, True)),
        )
    )
    assert event.words == "the number of False is 9 and the last number lies in [−2.4, 2.4)"


def chosen(first, second, **options):
    best = select_events(Samples.from_outputs(first), Samples.from_outputs(second), **options).best(
        None
    )
    assert best is not None
    return best


def test_selection_finds_the_element_that_differs():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4000, 6)), rng.normal(size=(4000, 6))
    b[:, 3] += 2
    best = chosen(a.tolist(), b.tolist())
    assert best.event.words.startswith("element 3 is")


def test_selection_finds_a_category_with_an_interval():
    """Only outputs with a None and a small number tell the two apart."""
    rng = np.random.default_rng(1)

    def outputs(shift):
        coin, value = rng.random(6000) < 0.3, rng.normal(size=6000)
        return [
            [None, v + shift if none else -v] if none else [True, v]
            for none, v in zip(coin, value, strict=True)
        ]

    best = chosen(outputs(0.0), outputs(3.0))
    category, interval = best.event.parts
    assert category[0] in (f.CountOfValue(None), f.CountOfValue(True))
    assert interval[1].high < 1


def test_selection_reads_integers_both_ways():
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, 5000)
    second = np.where(rng.random(5000) < 0.8, 3, rng.integers(0, 4, 5000))
    assert chosen(first.tolist(), second.tolist()).event.words in (
        "the output is below 3",
        "the output is at most 2",
        "the output is not 3",
        "the output is 0",
        "the output is 1",
        "the output is 2",
        "the output is at most 1",
        "the output is at most 0",
        "the output is between 1 and 2",
    )


def test_constants_among_reals_are_categories():
    """A False written as 0.0 is still a category (NumericalSVT's output)."""
    rng = np.random.default_rng(3)

    def outputs(p):
        return [[0.0 if rng.random() < p else rng.normal(), rng.normal()] for _ in range(5000)]

    best = chosen(outputs(0.1), outputs(0.7))
    assert "0" in best.event.words
    assert best.score > 0.5


def test_rare_events_are_left_out():
    first = [1] * 9999 + [2]
    second = [1] * 10000
    search = select_events(Samples.from_outputs(first), Samples.from_outputs(second))
    best = search.best(0.0)
    assert best is None or best.k1 + best.k2 >= 10


# --- inputs and arguments -----------------------------------------------------------------------


def required_svt(queries, rng, *, eps, threshold, cutoff):
    return svt(queries, rng, eps=eps, threshold=threshold, cutoff=cutoff)


def released_comparison(q, rng, *, eps, level):
    return np.asarray(q) + rng.laplace(scale=1 / eps, size=len(q)) > level


@pytest.mark.parametrize("without_z3", [False, True])
@pytest.mark.parametrize(
    ("x", "x2", "between"),
    [
        ([1] * 5, [2, 0, 0, 0, 0], None),
        ([1, 1, 0, 0], [0, 0, 1, 1], (0, 1)),
        ([1] * 6, [2] * 6, (1, 2)),
    ],
)
def test_a_threshold_between_the_inputs_is_found(monkeypatch, x, x2, between, without_z3):
    from dpest.attacks.statdp import arguments

    if without_z3:
        monkeypatch.setattr(arguments, "_by_max_smt", lambda first, second: None)
    generator = ArgumentGenerator(as_mechanism(required_svt).with_params({"eps": 0.1}))
    found = generator.arguments(x, x2)
    assert found["cutoff"] == 1  # the least noise
    low, high = between or (0, 2)
    assert low < found["threshold"] < high


def test_comparisons_that_are_released_count_as_decisions():
    generator = ArgumentGenerator(as_mechanism(released_comparison).with_params({"eps": 0.1}))
    assert 0 < generator.arguments([1, 1, 0], [0, 0, 1])["level"] < 1


def test_a_missing_privacy_parameter_is_asked_for():
    with pytest.raises(InputError, match="eps"):
        ArgumentGenerator(as_mechanism(required_svt))


def test_default_lengths_and_patterns():
    cases = generate_cases(noisy_max, adjacency="linf")
    assert {len(c.x) for c in cases} == {5, 10}
    assert len(cases) == 16
    assert len(generate_cases(histogram, adjacency="l1", length=5)) == 2


# --- detection ----------------------------------------------------------------------------------

SMALL = {"selection_runs": 20_000, "test_runs": 60_000}


@pytest.mark.parametrize(
    ("mechanism", "adjacency", "refuted"),
    [
        (noisy_max, "linf", False),
        (svt, "linf", False),
        (histogram, "l1", False),
        (noisy_max_value, "linf", True),
        (value_svt, "linf", True),
        (no_cutoff, "linf", True),
    ],
)
def test_right_ones_stay_and_wrong_ones_fall(mechanism, adjacency, refuted):
    """False-alarm rate of each right one: at most 0.001."""
    found = statdp_detection(
        mechanism, adjacency=adjacency, length=10, epsilon=0.7, alpha=0.001, seed=1, **SMALL
    )
    assert found.violated is refuted
    assert found.counterexample is not None
    assert found.bound > 0.3
    assert str(found.counterexample).startswith("D1 = ")


def test_arguments_are_chosen_and_said():
    found = statdp_detection(
        required_svt, adjacency="linf", length=5, params={"eps": 0.7}, epsilon=0.1, seed=0, **SMALL
    )
    assert found.counterexample is not None
    assert set(found.counterexample.arguments) == {"threshold", "cutoff"}
    assert "threshold = " in str(found.counterexample)
    assert found.violated


def test_the_replay_code_runs_and_agrees(capsys):
    found = statdp_detection(
        value_svt, adjacency="linf", length=5, epsilon=0.7, seed=2, **SMALL
    ).counterexample
    assert found is not None
    space: dict = {}
    exec(compile(found.replay, "replay", "exec"), space)
    c1, c2, runs = space["c1"], space["c2"], space["runs"]
    assert f"{c1} times" in capsys.readouterr().out
    for count, k, n in ((c1, found.c1, found.n1), (c2, found.c2, found.n2)):
        share = k / n
        # Five standard errors of both samples: false-alarm rate below 1e-6.
        slack = 5 * math.sqrt(share * (1 - share) * (1 / runs + 1 / n)) + 1e-3
        assert abs(count / runs - share) < slack


def test_a_local_function_says_that_it_must_be_defined():
    def inner(q, rng):
        return q[0] + rng.laplace()

    found = detect(inner, [InputCase([0], [1])], 0.5, **SMALL).counterexample
    assert found is not None
    assert "define it above" in found.replay
    space: dict = {"mechanism": inner}
    exec(found.replay, space)
    assert space["c1"] > space["c2"]


def test_same_seed_same_answer():
    one, two = (
        statdp_attack(noisy_max, [1, 1, 1], [2, 0, 0], epsilon=0.2, seed=7, **SMALL)
        for _ in range(2)
    )
    assert (one.value, one.witness.event, one.runs) == (two.value, two.witness.event, two.runs)
    other = statdp_attack(noisy_max, [1, 1, 1], [2, 0, 0], epsilon=0.2, seed=8, **SMALL)
    assert other.value != one.value


def test_a_budget_in_runs_is_kept():
    evidence = statdp_attack(noisy_max, adjacency="linf", length=5, budget="100000 runs", seed=0)
    assert 30_000 < evidence.runs <= 100_000
    few = statdp_attack(noisy_max, adjacency="linf", length=5, budget="500 runs", seed=0)
    assert 0 < few.runs <= 500


def test_evidence_is_a_bound_with_a_witness():
    evidence = statdp_attack(histogram, [1, 1], [2, 1], epsilon=0.2, seed=0, **SMALL)
    assert evidence.side == "lower"
    assert str(evidence.standing) == "confidence 0.95"
    assert 0.2 < evidence.value < 0.7
    assert evidence.witness.p is not None
    assert evidence.witness.q is not None
    assert evidence.witness.p > evidence.witness.q
    assert evidence.details["counterexample"]["p_values"]["exact"] < 0.05


def test_identical_distributions_give_no_evidence():
    evidence = statdp_attack(lambda x, rng: rng.laplace(), [0], [1], alpha=0.001, seed=0, **SMALL)
    assert evidence.value == 0.0


def test_a_black_box_works():
    rng = np.random.default_rng(0)

    def black_box(x, size):
        return x[0] + rng.laplace(size=size)

    evidence = statdp_attack(black_box, [0], [1], epsilon=0.2, seed=0, **SMALL)
    assert 0.8 < evidence.value < 1.0


def test_the_curve_rises_at_the_true_epsilon():
    """The true ε of this pair is 0.7; the estimate has a standard error near 0.01."""
    curve = p_value_curve(
        histogram,
        [InputCase([1, 1], [2, 1])],
        np.linspace(0.1, 1.2, 12),
        claim=0.7,
        seed=0,
        **SMALL,
    )
    assert curve.rise() == pytest.approx(0.7, abs=0.05)
    assert curve.rise(0.05) < curve.rise()
    assert [row["exact"] for row in curve.rows()] == sorted(row["exact"] for row in curve.rows())


def test_the_plot_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    curve = p_value_curve(histogram, [InputCase([1], [2])], [0.2, 0.7, 1.2], claim=0.7, **SMALL)
    target = tmp_path / "curve.svg"
    plot([curve], "histogram", str(target))
    assert "test ε" in target.read_text() or target.stat().st_size > 1000


def test_false_alarms_of_complete_detections_are_rare():
    """Randomised response at exactly the claim: 200 detections, level 0.05.

    With the true level at 0.05 more than 22 rejections have probability below 1e-3.
    """

    def response(x, rng):
        return bool(rng.random() < 2 / 3) == bool(x[0])

    rejected = 0
    for seed in range(200):
        found = detect(
            response,
            [InputCase([0], [1])],
            math.log(2),
            selection_runs=300,
            test_runs=400,
            seed=seed,
            thinnings=1,
        )
        rejected += found.p_value < 0.05
    assert rejected <= 22


# --- what is said -------------------------------------------------------------------------------


def test_the_hamming_distance_names_the_input_that_it_belongs_to():
    """D1 is the likelier side, whichever came first."""

    def answers(x, rng):
        return [bool(q + rng.laplace(scale=0.3) >= 0.5) for q in x]

    options = {"selection_runs": 5000, "test_runs": 5000, "seed": 0}
    for pair in (([1.0, 1.0], [0.0, 0.0]), ([0.0, 0.0], [1.0, 1.0])):
        found = detect(answers, [InputCase(*pair)], **options).counterexample
        for feature, _ in found.event.parts:
            if isinstance(feature, f.Mismatches):
                side = found.x if feature.of == "D1" else found.x2
                assert feature.reference == tuple(v >= 0.5 for v in side)
                break
        else:
            pytest.fail(f"another event: {found.event.words}")


def test_an_event_that_never_happened_on_the_other_side_is_left_to_the_exact_engine():
    evidence = statdp_attack(
        lambda x, rng: x[0], [0], [1], selection_runs=1000, test_runs=1000, seed=0
    )
    assert math.isfinite(evidence.value)
    assert any("never happened on the second input" in note for note in evidence.notes)


def test_chosen_arguments_are_part_of_the_notes():
    def above(x, rng, *, limit, eps=0.5):
        return x[0] + rng.laplace(scale=1 / eps) > limit

    evidence = statdp_attack(above, [0.0], [1.0], selection_runs=2000, test_runs=2000, seed=0)
    assert any(note.startswith("arguments that StatDP chose: limit = ") for note in evidence.notes)


def test_a_loop_that_only_noise_ends_is_run_without_noise_once(monkeypatch):
    from dpest.errors import PathLimitError
    from dpest.reading import trace

    asked = []

    def refusing(mechanism, x, **settings):
        asked.append(x)
        raise PathLimitError("a loop", "look for a loop that ends only by noise")

    monkeypatch.setattr(trace, "noise_free", refusing)
    cases = [InputCase([0.0], [1.0]), InputCase([2.0], [3.0])]
    detect(lambda x, rng: x[0] + rng.laplace(), cases, selection_runs=2000, test_runs=1000)
    assert len(asked) == 1


def test_luck_is_looked_at_again():
    """Equal distributions: the best candidate looks good where it was chosen, and only there."""
    laboratory = Laboratory(lambda x, rng: [rng.laplace(), rng.laplace()], None, 0)
    finalists, _ = search(laboratory, [InputCase([0.0], [1.0])], 0.0, 5000)
    lucky = choose(finalists, 0.0, caution=0.5).choice
    assert not is_clear(lucky, 0.0, 6.0)
    again = SecondLook(laboratory, finalists, 5000)
    first, second = again._count(0, lucky.event)
    if lucky.swapped:
        first, second = second, first
    assert math.log(lucky.k1 / lucky.k2) > 0.1
    assert math.log(first / second) < 0.5 * math.log(lucky.k1 / lucky.k2)
    assert again.choose(0.0, refute=True) is not None


def test_a_large_difference_is_clear_at_once():
    choice = ChosenEvent(Event(()), False, 5000, 1000, 1.5)
    assert is_clear(choice, 0.7, 6.0)
    assert not is_clear(choice, 1.6, 6.0)
    assert is_clear(choice, None, 6.0)
    assert not is_clear(ChosenEvent(Event(()), False, 30, 10, 0.3), None, 6.0)
