"""DP-Sniper: thresholds, guideline, soundness and power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from attacks import fakes
from dpest.ask.declaration import Mechanism
from dpest.attacks.features import Bins, Coder, FeatureFamily, Splitter
from dpest.attacks.models.classifiers import AdditiveTrainer, ProbabilityTrainer, VectorFeatures
from dpest.attacks.models.networks import PaperLogistic, PaperNetwork
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, guideline_size, paper_threshold, sniper_attack
from dpest.attacks.thresholds import Counts, OrderedScores, ThresholdAttack, best_threshold
from dpest.errors import InputError
from dpest.running.samples import Samples, SkeletonGroup
from dpest.running.skeleton import flatten


def test_guideline_one():
    assert guideline_size(0.01, 0.005, 0.05) == pytest.approx(1.07e7, rel=0.01)
    with pytest.raises(InputError, match="omega"):
        guideline_size(omega=0.0)


def test_threshold_and_tie_break_hit_c():
    """The paper's figure 4: c N = 1.5 samples of which the threshold's tie takes a part."""

    class Fixed:
        def scores(self, samples):
            return np.array([0.9, 0.5, 0.5, 0.2, 0.1, 0.1])

        def describe(self):
            return "fixed"

    scores = np.array([0.9, 0.5, 0.5, 0.2, 0.1, 0.1])
    attack = paper_threshold(Fixed(), scores, 0.25)
    assert (attack.t, attack.q) == (0.5, 0.25)
    for c in (0.05, 0.2, 0.5, 0.9):
        attack = paper_threshold(Fixed(), scores, c)
        mass = np.mean(scores > attack.t) + attack.q * np.mean(scores == attack.t)
        assert mass == pytest.approx(c)
        assert 0.0 <= attack.q <= 1.0


def test_laplace_is_nearly_tight_and_sound():
    # One bound in twenty may exceed the truth; the seed is fixed.
    found = sniper_attack(fakes.laplace(1.0), [(1.0, 0.0)], budget=400_000, seed=2)
    assert 0.95 < found.value <= 1.0
    assert found.standing.alpha == 0.05
    assert found.runs <= 400_000
    assert found.witness.p > found.witness.q > 0.05


def test_the_paper_can_not_exceed_its_cap():
    sampler = fakes.laplace(10.0)
    plan = SniperPlan(0, 20_000, 20_000, 100_000)
    paper = sniper_attack(sampler, [(1.0, 0.0)], plan=plan, paper=True, seed=1)
    ours = sniper_attack(sampler, [(1.0, 0.0)], plan=plan, seed=1)
    assert paper.value < math.log(100)
    assert 6.0 < ours.value <= 10.0
    assert paper.details["c_power"] <= math.log(100)


def test_the_best_pair_is_chosen():
    sampler = fakes.laplace(0.5)
    pairs = [(0.0, 0.1), (0.0, 0.2), (1.0, 0.0), (0.0, 0.3), (0.5, 0.6)]
    found = sniper_attack(sampler, pairs, budget=300_000, seed=2)
    assert {found.witness.x, found.witness.x2} == {0.0, 1.0}
    assert 0.4 < found.value <= 0.5


def test_coordinates_add_up():
    """Ten coordinates of epsilon 0.1 each: one shows 0.1, all of them much more."""
    sampler = fakes.ArraySampler(lambda x, n, rng: x + rng.laplace(scale=10, size=(n, 10)))
    found = sniper_attack(
        sampler, [(1.0, 0.0)], plan=SniperPlan(0, 100_000, 200_000, 400_000), seed=0
    )
    assert 0.35 < found.value <= 1.0


def test_prefix_sums_are_taken_apart():
    sampler = fakes.ArraySampler(
        lambda x, n, rng: np.cumsum(x + rng.laplace(scale=1, size=(n, 4)), axis=1)
    )
    found = sniper_attack(
        sampler, [(1.0, 0.0)], plan=SniperPlan(0, 50_000, 50_000, 200_000), seed=0
    )
    assert 3.0 < found.value <= 4.0


def test_approximate_claim():
    def excess(epsilon):  # the Gaussian's hockey-stick divergence, less delta
        return norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon) - 0.3

    truth = brentq(excess, 0.0, 1.0)
    found = sniper_attack(fakes.gaussian(1.0), [(1.0, 0.0)], budget=200_000, delta=0.3, seed=4)
    assert 0.8 * truth < found.value <= truth


@pytest.mark.parametrize("name", ["logistic", "network"])
def test_the_papers_classifiers(name):
    found = sniper_attack(
        fakes.laplace(1.0),
        [(1.0, 0.0)],
        plan=SniperPlan(0, 100_000, 50_000, 400_000),
        classifier=name,
        paper=True,
        c=0.1,
        seed=0,
    )
    assert 0.9 < found.value <= 1.0


def test_any_classifier_with_predict_proba():
    tree = pytest.importorskip("sklearn.tree")
    found = sniper_attack(
        fakes.laplace(1.0),
        [(1.0, 0.0)],
        plan=SniperPlan(0, 20_000, 20_000, 100_000),
        classifier=tree.DecisionTreeClassifier(max_depth=3),
        seed=0,
    )
    assert 0.85 < found.value <= 1.0
    with pytest.raises(InputError, match="predict_proba"):
        sniper_attack(fakes.laplace(1.0), [(1.0, 0.0)], budget=1000, classifier=object())
    with pytest.raises(InputError, match="classifier"):
        sniper_attack(fakes.laplace(1.0), [(1.0, 0.0)], budget=1000, classifier="forest")


def test_interrupt_in_the_final_stage_is_valid_and_before_it_empty():
    class Interrupted:
        def __init__(self, draws):
            self.inner, self.left = fakes.laplace(1.0), draws

        def draw(self, x, size, seed):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return self.inner.draw(x, size, seed)

        def notes(self):
            return ()

    plan = SniperPlan(0, 50_000, 50_000, 2_000_000)
    late = sniper_attack(Interrupted(10), [(1.0, 0.0)], plan=plan, seed=0)
    assert late.details["interrupted"]
    assert 0.9 < late.value <= 1.0
    early = sniper_attack(Interrupted(1), [(1.0, 0.0)], plan=plan, seed=0)
    assert early.value == 0.0
    assert "nothing was measured" in early.notes[0]


def test_vector_features_handle_special_and_ragged_outputs():
    outputs = [1.5, float("nan"), float("inf"), [1.0, 2.0], [True], None, "text"]
    features = VectorFeatures(Samples.from_outputs(outputs), bits=True)
    matrix = features(Samples.from_outputs(outputs))
    assert np.isfinite(matrix).all()
    assert len({tuple(row) for row in matrix}) == len(outputs)


def test_bits_are_numbers_at_fixed_places():
    values = [1.0, 1.0 + 2.0**-52, 0.0, -0.0]
    raw = VectorFeatures(Samples.from_outputs(values), bits=True)._raw(
        Samples.from_outputs(values)
    )[:, 5:]
    assert set(np.unique(raw)) == {0.0, 1.0}
    assert raw[1, 0] == 1.0  # the last bit
    assert raw[0, 0] == 0.0
    assert raw[3, 63] == 1.0  # the sign of -0.0
    assert raw[2].sum() == 0.0


def test_networks_learn_and_repeat():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(20_000, 2))
    inside = ((matrix**2).sum(axis=1) < 1.4).astype(np.int64)
    network = PaperNetwork(seed=1, batch=500).fit(matrix, inside)
    assert np.mean((network.predict_proba(matrix)[:, 1] > 0.5) == inside) > 0.9
    line = (matrix[:, 0] > 0).astype(np.int64)
    first, second = (PaperLogistic(seed=1, batch=500).fit(matrix, line) for _ in range(2))
    assert np.mean((first.predict_proba(matrix)[:, 1] > 0.5) == line) > 0.98
    np.testing.assert_array_equal(first.weights[0], second.weights[0])


def test_trainers_need_outputs():
    with pytest.raises(ValueError, match="outputs"):
        ProbabilityTrainer(PaperLogistic(), 0).finish()


def test_symmetric_leaks_are_measured_with_both_tails():
    """A coin picks the inputs; twice as many runs speak, and neither side exceeds the plan."""
    plan = SniperPlan(0, 20_000, 40_000, 100_000)
    found = sniper_attack(fakes.laplace(0.2), [(1.0, 0.0)], plan=plan, seed=1)
    right, wrong = found.details["right_and_wrong"]
    assert right > wrong > found.details["counts"][1]
    assert 0.17 < found.value < math.log(right / wrong) < 0.23
    assert 95_000 < found.details["final_runs_per_side"] <= plan.final
    assert found.witness.p > found.witness.q


def test_an_attack_on_both_inputs_counts_what_it_says():
    class Identity:
        def scores(self, samples):
            return samples.groups[0].columns[0]

        def describe(self):
            return "number"

    rng = np.random.default_rng(0)
    first, second = (OrderedScores.of(rng.laplace(m, size=40_000)) for m in (1.0, 0.0))
    attack = best_threshold(Identity(), first, second, 40_000, 0.05, coin=True)
    assert attack.two_sided
    assert attack.low <= attack.t
    outputs = Samples.from_outputs([-9.0, 0.5, 9.0, 10.0])
    above, below = attack.count(outputs, rng)
    assert (above, below) == ((1, 2) if attack.flipped else (2, 1))
    one_sided = best_threshold(Identity(), first, second, 40_000, 0.05)
    assert not one_sided.two_sided
    # With delta > 0 the sum of two events is not bounded in the same way.
    assert not best_threshold(Identity(), first, second, 40_000, 0.05, 0.1, coin=True).two_sided


def test_the_bound_of_both_tails_is_exact():
    """P(bound > truth), summed over all counts given the number of named runs, at most alpha."""
    epsilon, named, alpha = 0.7, 60, 0.1
    share = math.exp(epsilon) / (1 + math.exp(epsilon))
    attack = ThresholdAttack(None, 1.0, 0.0, False, low=0.0)
    wrong_reports = 0.0
    for right in range(named + 1):
        counts = Counts(100, 100, right, 0, named - right, 0)
        if counts.bound(attack, alpha, 0.0, stopped=False, paper=False) > epsilon:
            wrong_reports += binom.pmf(right, named, share)
    assert 0.5 * alpha < wrong_reports <= alpha


def test_pairs_share_the_outputs_of_a_common_input():
    drawn = []

    class Recorded:
        def draw(self, x, size, seed):
            drawn.append((x, size))
            return fakes.laplace(0.5).draw(x, size, seed)

        def notes(self):
            return ()

    pairs = [(0.0, 0.1), (0.0, 0.2), (0.0, 0.3), (0.0, 1.0)]
    found = sniper_attack(Recorded(), pairs, budget=100_000, seed=0)
    assert {found.witness.x, found.witness.x2} == {0.0, 1.0}
    assert [x for x, _ in drawn[:5]] == [0.0, 0.1, 0.2, 0.3, 1.0]
    assert sum(size for _, size in drawn) == found.runs <= 100_000


def test_values_are_looked_up_as_they_would_be_searched_for():
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.laplace(size=5000), [np.inf, -np.inf, np.nan]])
    edges = np.quantile(values[:5000], np.arange(1, 16) / 16)
    codes = Bins(edges).codes(values)
    searched = np.searchsorted(edges, values, side="right") + 1
    assert codes[-1] == 0
    near = np.abs(values[:, None] - edges).min(axis=1) < 0.01
    assert (codes == searched)[:-1][~near[:-1]].all()
    whole = np.arange(-50.0, 50.0)
    np.testing.assert_array_equal(
        Bins(whole[10::10]).codes(whole), np.searchsorted(whole[10::10], whole, side="right") + 1
    )
    # Edges that an even grid can't hold are searched.
    wide = np.array([1.0, 1.0001, 1e6, 1e9])
    np.testing.assert_array_equal(Bins(wide).codes(np.array([0.0, 1.00005, 1e7])), [1, 2, 4])


def test_parts_of_a_nested_output_are_told_apart_one_by_one():
    rng = np.random.default_rng(0)
    outputs = []
    for _ in range(3000):
        flag = bool(rng.random() < 0.5)
        number = [float(rng.normal())] if flag else []
        outputs.append(([flag, *number], [bool(b) for b in rng.random(3) < 0.5]))
    samples = Samples.from_outputs(outputs)
    splitter = Splitter(samples)
    parts = splitter.parts(samples)
    coder = Coder(splitter, parts, FeatureFamily(bins=4, crossed=True, inner=True))
    assert [f.size for f in coder.features[:2]] == [2 + 1, 8 + 1]
    first, second, *_ = coder.codes_of(parts)
    for codes, place in ((first, 0), (second, 1)):
        # The kinds of the leaves and the booleans make the signature, not the number.
        seen = [tuple(v if isinstance(v, bool) else "number" for v in o[place]) for o in outputs]
        pairs = set(zip(codes.tolist(), seen, strict=True))
        assert len(pairs) == len(set(codes.tolist())) == len(set(seen))
    # All numbers lie in the first part, and the whole has a signature for each combination.
    assert parts.holders == {(0, 0): sum(len(o[0]) - 1 for o in outputs)}
    whole = Coder(splitter, parts, FeatureFamily(bins=4))
    assert whole.features[0].size == 2 * 8 + 1
    # Outputs that lack the second part can still be coded.
    other = splitter.parts(Samples.from_outputs([([True, 0.5], [True] * 3), 3.0]))
    assert len(coder.codes_of(other)) == len(coder.features)
    assert len(coder.codes_of(splitter.parts(Samples.from_outputs([3.0, 4.0])))) == len(
        coder.features
    )


def test_outputs_of_many_numbers_are_fitted_with_few_weights():
    """A fit takes the cube of the number of weights: a thousand numbers share a thousand bins."""
    rng = np.random.default_rng(3)
    shape = flatten(np.zeros(1000))[0]

    def samples(shift):
        columns = rng.normal(shift, 1.0, size=(1000, 400))
        return Samples(400, [SkeletonGroup(shape, np.arange(400), tuple(columns))])

    trainer = AdditiveTrainer(
        steps=(0.1,), families=[FeatureFamily(), FeatureFamily(differences=True)]
    )
    first, second = samples(0.0), samples(1.0)
    trainer.add(first, second)
    scorer = trainer.finish()[0]
    assert scorer.model.weights.size < 2000
    assert np.mean(scorer.scores(first)) > np.mean(scorer.scores(second))


def test_dd_search_checks_attacks_on_runs_of_their_own():
    """Every stage draws anew: what compares the attacks neither trained nor chose them."""
    seeds: list[int] = []
    stages: list[str] = []

    class Watched(MechanismSampler):
        def draw(self, x, size, seed):
            seeds.append(seed)
            return super().draw(x, size, seed)

    plan = SniperPlan(0, 200, 200, 400, check=300)
    sniper_attack(
        Watched(Mechanism(_noisy, "noisy")),
        [(0.0, 1.0), (0.0, 2.0)],
        plan=plan,
        paper=True,
        c=0.1,
        seed=0,
        progress=lambda p: stages.append(p.stage),
    )
    assert len(set(seeds)) == len(seeds)
    assert stages.count("checking attacks") == 4
    assert plan.total(2) == 2 * (4 * 700 + 400)


def _noisy(x, rng):
    return x + rng.laplace(scale=1.0)


def test_the_papers_plan():
    plan = SniperPlan.paper()
    assert plan.train == plan.choose == plan.check == guideline_size(0.01)
    assert plan.final == 200_000_000


def test_paper_and_classifier_are_options_of_sniper_alone():
    from click.testing import CliRunner

    from dpest.cli.attack import attack as command

    found = CliRunner().invoke(command, ["AT1", "--method", "finder", "--paper"])
    assert found.exit_code == 2
    assert "--method sniper" in found.output


def test_the_bound_of_dd_search_is_valid_on_nulls():
    """Randomized response at its own ε; 40 runs at level 0.1: 12 above have a chance of 1e-3."""
    sampler = MechanismSampler(Mechanism(_response, "response"))
    plan = SniperPlan(0, 200, 200, 1000, check=200)
    above = sum(
        sniper_attack(sampler, [(0, 1)], plan=plan, paper=True, alpha=0.1, c=0.1, seed=s).value
        > math.log(3)
        for s in range(40)
    )
    assert above < 12


def _response(bit, rng):
    if rng.random() < 0.75:
        return bit
    return 1 - bit


def test_pairs_that_promise_alike_leave_runs_to_measure_with() -> None:
    """Each of them is learnt from, and still most runs that were bought are counted."""
    pairs = [(float(v), float(v + 1)) for v in (0, 5, 10, 15)]
    found = sniper_attack(
        MechanismSampler(lambda x, rng: x + rng.laplace()), pairs, budget=20_000, seed=1
    )
    assert found.runs <= 20_000
    assert found.details["final_runs_per_side"] >= 4_000
    assert 0.7 < found.value < 1.0
