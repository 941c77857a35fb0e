"""False alarms of every bound from scores, where nothing is wrong: at most alpha.

Each row is a mechanism whose privacy is known exactly, and a bound that must not exceed it more
often than alpha = 0.05. The mechanisms are the least favourable ones where there are such: for
(ε, δ) the one that gives its label away with chance δ and otherwise answers at random with odds
e^ε; for f-DP Gaussians. The curve's bound is simultaneous: an alarm is a curve that lies below the
true trade-off function anywhere. Prints how many of the audits raised an alarm, and the upper limit
of the 95 % interval (Clopper and Pearson) on the rate; the exit status is 1 if a limit is above
alpha.

    python validation/scores_null.py [AUDITS] [WORKERS]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from scipy.special import ndtr, ndtri

from dpest.attacks.scores.bounds import ScoredRuns, lower_bound
from dpest.evidence import Measure
from dpest.scoring import attack_samples
from dpest.stats import clopper_pearson, extremes, one_run
from dpest.stats.score_curve import AnytimeCurve, ScoreCurve, score_curve

ALPHA = 0.05
PARTS = 16  # of a row, so that workers share it
Draw = Callable[[np.random.Generator, int, bool], np.ndarray]


def gaussian(mu: float) -> Draw:
    return lambda rng, n, inside: rng.normal(size=n) + mu * inside


def canonical(epsilon: float, delta: float) -> Draw:
    """The least favourable mechanism of (ε, δ), with a uniform score that keeps its ratio."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))

    def draw(rng: np.random.Generator, n: int, inside: bool) -> np.ndarray:
        high = rng.random(n) < (right if inside else 1 - right)
        score = rng.random(n) * np.where(high, 1.0, -1.0)
        return np.where(rng.random(n) < delta, 2.0 if inside else -2.0, score)

    return draw


def two_valued(epsilon: float) -> Draw:
    """Randomised response: scores of 0 and 1, so that nearly all are equal."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda rng, n, inside: (rng.random(n) < (right if inside else 1 - right)).astype(float)


def below_gaussian(curve: ScoreCurve, mu: float) -> bool:
    """Whether the curve lies below that of μ-GDP somewhere: at a corner, as that one is convex."""
    return bool(np.any(curve.y < ndtr(-ndtri(curve.x) - mu) * (1 - 1e-12)))


def below_response(curve: ScoreCurve, epsilon: float) -> bool:
    truth = np.maximum(
        0, np.maximum(1 - math.exp(epsilon) * curve.x, math.exp(-epsilon) * (1 - curve.x))
    )
    return bool(np.any(curve.y < truth * (1 - 1e-12)))


def coin_runs(draw: Draw, rng: np.random.Generator, runs: int) -> ScoredRuns:
    first = int(rng.binomial(runs, 0.5))
    return ScoredRuns(draw(rng, first, True), draw(rng, runs - first, False), coin=True)


def fixed_runs(draw: Draw, rng: np.random.Generator, m: int, n: int) -> ScoredRuns:
    return ScoredRuns(draw(rng, m, True), draw(rng, n, False))


def bound_exceeds(measure: Measure, truth: float, make: Callable[..., ScoredRuns]) -> Callable:
    def alarm(rng: np.random.Generator) -> bool:
        return lower_bound(make(rng), measure, ALPHA, int(rng.integers(1 << 60))).value > truth

    return alarm


def labels_refute(epsilon: float, delta: float, make: Callable[..., ScoredRuns]) -> Callable:
    """The test that the bound on ε inverts, at the truth alone, which is many times as fast."""

    def alarm(rng: np.random.Generator) -> bool:
        runs, alpha, share = make(rng), ALPHA, 0.5
        inside, outside = runs.inside, runs.outside
        if not runs.coin:
            inside, outside, share, paid = extremes.coin_sample(inside, outside, ALPHA, rng)
            alpha -= paid
        found = extremes.extreme_labels(inside, outside, share, rng)
        return found.refutes(epsilon, delta, alpha)

    return alarm


def guesses(
    m: int, k: int, truth: float, bound: Callable[[int, int, int], float], draw: Draw
) -> Callable:
    def alarm(rng: np.random.Generator) -> bool:
        included = rng.random(m) < 0.5
        scores = np.where(included, draw(rng, m, True), draw(rng, m, False))
        return bound(m, k, one_run.right_guesses(scores, included, k, rng)) > truth

    return alarm


def all_or_nothing(m: int, delta: float) -> Callable:
    """(0, δ)-DP at its worst for one run: with chance δ all coins are given away at once."""

    def alarm(rng: np.random.Generator) -> bool:
        included = rng.random(m) < 0.5
        scores = included.astype(float) if rng.random() < delta else rng.random(m)
        right = one_run.right_guesses(scores, included, m // 2, rng)
        return one_run.epsilon_bound(m, m // 2, right, ALPHA, delta) > 0

    return alarm


def anytime(mu: float, most: int) -> Callable:
    def alarm(rng: np.random.Generator) -> bool:
        curves = AnytimeCurve(ALPHA)
        while sum(map(len, curves._inside)) < most:
            size = int(rng.integers(5, 80))
            curves.feed(rng.normal(size=size) + mu, rng.normal(size=size))
        return any(below_gaussian(curve, mu) for curve in curves.curves)

    return alarm


def learnt(epsilon: float, n: int) -> Callable:
    """Rows of two numbers, of which one is noise: the score is learnt from some of them."""
    draw = canonical(epsilon, 0.0)

    def alarm(rng: np.random.Generator) -> bool:
        rows = [
            np.column_stack([draw(rng, n, inside), rng.normal(size=n)]) for inside in (True, False)
        ]
        seed = int(rng.integers(1 << 31))
        found = attack_samples((rows[0], rows[1]), measure=Measure(), alpha=ALPHA, seed=seed)
        return found.value > epsilon

    return alarm


Alarm = Callable[[np.random.Generator], bool]


def cases() -> list[tuple[str, Alarm, float]]:
    """What is audited, whether an audit raises an alarm, and the share of the audits to make."""
    return [*curve_cases(), *epsilon_cases(), *other_measures(), *one_run_cases()]


def curve_cases() -> list[tuple[str, Alarm, float]]:
    g, none, r = gaussian(1.0), gaussian(0.0), two_valued(1.0)
    return [
        ("curve, Gaussian, 200 + 200", lambda q: below_gaussian(_curve(g, q, 200, 200), 1), 1.0),
        ("curve, Gaussian, 30 + 1000", lambda q: below_gaussian(_curve(g, q, 30, 1000), 1), 1.0),
        ("curve, equal inputs", lambda q: below_gaussian(_curve(none, q, 200, 200), 0), 1.0),
        ("curve, two values", lambda q: below_response(_curve(r, q, 200, 200), 1), 1.0),
        ("anytime curve, Gaussian, to 600", anytime(1.0, 600), 1.0),
    ]


def epsilon_cases() -> list[tuple[str, Alarm, float]]:
    plain, same, at, large = (canonical(e, d) for e, d in ((1, 0), (0, 0), (1, 1e-3), (1, 0.1)))

    def by_coin(rng: np.random.Generator) -> ScoredRuns:
        return coin_runs(plain, rng, 400)

    def of(draw: Draw, m: int, n: int) -> Callable[[np.random.Generator], ScoredRuns]:
        return lambda rng: fixed_runs(draw, rng, m, n)

    many = lambda rng: coin_runs(at, rng, 1000)  # noqa: E731
    return [
        ("ε, canonical, 200 + 200", labels_refute(1, 0, of(plain, 200, 200)), 1.0),
        ("ε, canonical, 100 + 300", labels_refute(1, 0, of(plain, 100, 300)), 1.0),
        ("ε, canonical, 400 by a coin", labels_refute(1, 0, by_coin), 1.0),
        ("the same, by its bound", bound_exceeds(Measure(), 1.0, by_coin), 1.0),
        ("ε, equal inputs, 200 + 200", labels_refute(0, 0, of(same, 200, 200)), 1.0),
        ("ε, two values, 200 + 200", labels_refute(1, 0, of(two_valued(1), 200, 200)), 1.0),
        ("ε at δ, canonical, 1000 by a coin", labels_refute(1, 1e-3, many), 1.0),
        (
            "ε at a large δ, canonical, 300 + 300",
            bound_exceeds(Measure(delta=0.1), 1.0, of(large, 300, 300)),
            1.0,
        ),
        ("samples, score learnt, 120 + 120", learnt(1.0, 120), 1.0),
    ]


def other_measures() -> list[tuple[str, Alarm, float]]:
    def of(mu: float, n: int) -> Callable[[np.random.Generator], ScoredRuns]:
        return lambda rng: fixed_runs(gaussian(mu), rng, n, n)

    gdp, zcdp = Measure("gdp"), Measure("zcdp")
    second, low = Measure("renyi", alpha=2.0), Measure("renyi", alpha=1.5)
    return [
        ("μ, Gaussian, 100 + 100", bound_exceeds(gdp, 1.0, of(1, 100)), 1.0),
        ("μ, equal inputs, 100 + 100", bound_exceeds(gdp, 0.0, of(0, 100)), 1.0),
        ("μ, Gaussian, 1000 + 1000", bound_exceeds(gdp, 1.0, of(1, 1000)), 1.0),
        ("ρ of zCDP, Gaussian, 400 + 400", bound_exceeds(zcdp, 0.5, of(1, 400)), 1.0),
        ("D_2, Gaussian, 400 + 400", bound_exceeds(second, 1.0, of(1, 400)), 1.0),
        ("D_1.5, equal inputs, 400 + 400", bound_exceeds(low, 0.0, of(0, 400)), 1.0),
    ]


def one_run_cases() -> list[tuple[str, Alarm, float]]:
    g, plain = gaussian(1.0), canonical(1, 0)

    def steinke(m: int, k: int, right: int) -> float:
        return one_run.epsilon_bound(m, k, right, ALPHA)

    def f_dp(m: int, k: int, right: int) -> float:
        return one_run.mu_bound(m, k, right, ALPHA)

    def f_dp_epsilon(m: int, k: int, right: int) -> float:
        return one_run.f_dp_epsilon_bound(m, k, right, ALPHA)

    return [
        ("one run, ε, canonical, 200 canaries", guesses(200, 60, 1.0, steinke, plain), 4.0),
        ("one run, ε at δ, all or nothing, 200", all_or_nothing(200, 0.04), 1.0),
        ("one run, μ, Gaussian, 200 canaries", guesses(200, 60, 1.0, f_dp, g), 1.0),
        ("one run, μ, Gaussian, 1000 canaries", guesses(1000, 150, 1.0, f_dp, g), 1.0),
        ("one run, ε by f-DP, canonical, 200", guesses(200, 60, 1.0, f_dp_epsilon, plain), 1.0),
    ]


def _curve(draw: Draw, rng: np.random.Generator, m: int, n: int) -> ScoreCurve:
    return score_curve(draw(rng, m, True), draw(rng, n, False), ALPHA)


def count(number: int, part: int, audits: int) -> int:
    """Alarms in a part of a row's audits, with their own stream of random numbers."""
    alarm = cases()[number][1]
    rng = np.random.default_rng([22, number, part])
    return sum(bool(alarm(rng)) for _ in range(audits))


def main() -> int:
    audits = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(f"{'bound, mechanism, runs':42} {'alarms':>7} {'audits':>7} {'rate':>7} {'limit':>7}")
    worst = 0.0
    with ProcessPoolExecutor(workers) as pool:
        for number, (name, _, share) in enumerate(cases()):
            started = time.monotonic()
            each = max(1, round(share * audits / PARTS))
            parts = [pool.submit(count, number, part, each) for part in range(PARTS)]
            alarms, made = sum(part.result() for part in parts), each * PARTS
            limit = float(clopper_pearson.upper(alarms, made, 0.05))
            worst = max(worst, limit)
            seconds = time.monotonic() - started
            rates = f"{alarms / made:7.4f} {limit:7.4f}"
            print(f"{name:42} {alarms:7} {made:7} {rates}   {seconds:.0f} s", flush=True)
    print(f"alpha {ALPHA}; the largest limit is {worst:.4f}")
    return int(worst > ALPHA)


if __name__ == "__main__":
    sys.exit(main())
