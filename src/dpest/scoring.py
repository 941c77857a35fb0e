"""Audits of scores that were made elsewhere: of many runs, or of the canaries of one run."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpest.ask.questions import measured
from dpest.ask.stated import StatedQuestion
from dpest.attacks.scores.bounds import ScoredRuns
from dpest.attacks.scores.evidence import (
    GaussianFit,
    assuming_gaussian,
    curve_of,
    evidence_of,
    gaussian_fit,
)
from dpest.attacks.scores.learning import learnt_score
from dpest.errors import DomainError, InputError
from dpest.evidence import ESTIMATE, Evidence, Measure, Witness, confidence
from dpest.notions import domain
from dpest.notions.claims import ApproxDP, Claim, GaussianDP, PureDP, parse_claim
from dpest.running.samples import Samples
from dpest.stats import one_run as one_run_bounds
from dpest.verdict import Verdict

Floats = NDArray[np.float64]

# The part of the runs from which a score is learnt, where there are several numbers a run.
_LEARNING = 0.3
_LEAST = 20
_INDEPENDENT = "assumed: the scores are independent of each other, one run each"
_CURVE_NOTE = (
    "the curve holds everywhere at once, at a confidence of its own that equals the bound's"
)


def audit_scores(
    inside: ArrayLike,
    outside: ArrayLike,
    *,
    claim: Claim | str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    alpha: float = 0.05,
    groups: tuple[ArrayLike, ArrayLike] | None = None,
    learn: bool | None = None,
    seed: int = 0,
    name: str = "scores",
) -> Verdict:
    """How much do scores of runs with a record (`inside`) and without it (`outside`) show?

    High scores speak for `inside`. Each is one number, or a row of several: then a score is learnt
    from a part of the rows (`learn=True` does so for single numbers, where both tails or neither
    may speak for `inside`). The verdict has a lower bound on the measure that the claim is about
    (ε, ε at a δ, μ, ρ, a Rényi divergence), at confidence 1 − alpha; an estimate; a bound under the
    assumption that the trade-off curve is Gaussian, labelled as one, with a test of that; and in
    `details["curve"]` a bound on the whole curve that holds everywhere at once, from which ε at
    every δ, μ and ρ can be read (`verdict.details["curve"].epsilon(1e-5)`).

    Scores must be independent of each other: one run each. Canaries of one run are not. Give
    `groups`, the run of each score, and one score of each run is used; or, if a fair coin included
    each canary, use `one_run`, which uses them all.
    """
    started = time.monotonic()
    stated = _claim_of(claim, epsilon, delta)
    measure, limit = measure_of(claim, epsilon, delta)
    _check_alpha(alpha)
    first, second = _rows(inside, "inside"), _rows(outside, "outside")
    notes: list[str] = []
    if groups is None:
        notes.append(_INDEPENDENT)
    else:
        first, second = _one_of_each(first, second, groups, seed, notes)
    runs, about = _scored(first, second, measure, seed, learn, notes)
    lower, estimate = evidence_of(runs, measure, alpha, seed=seed, details=about)
    fit = gaussian_fit(runs, alpha, seed)
    gaussian = assuming_gaussian(fit, measure, alpha, runs.runs, seed)
    evidence = [lower, estimate, *([gaussian] if gaussian is not None else [])]
    notes.append(_CURVE_NOTE)
    return Verdict(
        _question(name, stated, measure, limit, "a record is there or not"),
        tuple(e.with_(seconds=time.monotonic() - started) for e in evidence),
        tuple(notes),
        seed=seed,
        seconds=time.monotonic() - started,
        alpha=alpha,
        details={
            "source": "scores",
            "inside": len(runs.inside),
            "outside": len(runs.outside),
            "gaussian": fit.as_dict(),
            "curve": curve_of(runs, alpha),
        },
    )


def attack_samples(
    samples: tuple[Any, Any],
    *,
    measure: Measure,
    alpha: float,
    seed: int = 0,
    learn: bool | None = None,
) -> Evidence:
    """A lower bound from outputs of two inputs that were made elsewhere; see `dpest.attack`.

    Outputs may be anything that a mechanism returns. A score is learnt from some of them, unless
    they are single numbers and `learn` is false.
    """
    started = time.monotonic()
    _check_alpha(alpha)
    notes = [_INDEPENDENT]
    first, second = (_outputs(part) for part in samples)
    runs, about = _scored(first, second, measure, seed, True if learn is None else learn, notes)
    lower, _ = evidence_of(runs, measure, alpha, seed=seed, notes=tuple(notes), details=about)
    return lower.with_(runs=len(first) + len(second), seconds=time.monotonic() - started)


def one_run(
    scores: ArrayLike,
    included: ArrayLike,
    *,
    claim: Claim | str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    alpha: float = 0.05,
    guesses: int | Sequence[int] | None = None,
    seed: int = 0,
    name: str = "one run",
) -> Verdict:
    """How much does one run show, in which a fair coin included each canary?

    `scores` has one number for each canary, larger the more the run speaks for its inclusion; it
    must not have been made from `included`. Guesses are made about the highest and the lowest
    scores; about the others none. By default three numbers of guesses share alpha.

    For ε at a δ the bound is that of Steinke, Nasr and Jagielski (2023); for μ of Gaussian DP that
    of Mahloujifar, Melis and Chaudhuri (2025), which also gives ε at a δ under the assumption that
    the curve is Gaussian, labelled as one. Each is at confidence 1 − alpha. Canaries of several
    independent runs may be given together.
    """
    started = time.monotonic()
    stated = _claim_of(claim, epsilon, delta)
    measure, limit = measure_of(claim, epsilon, delta)
    if measure.kind not in ("epsilon", "gdp"):
        raise InputError("one run bounds ε, ε at a δ, or μ of Gaussian DP: claim one of them")
    _check_alpha(alpha)
    values, labels = _canaries(scores, included)
    plan = _plan(guesses, len(values))
    rng = np.random.default_rng(np.random.SeedSequence([seed, 25]))
    counted = [
        (k, share, one_run_bounds.right_guesses(values, labels, k, rng)) for k, share in plan
    ]
    evidence = _one_run_evidence(counted, len(values), measure, alpha, seed)
    return Verdict(
        _question(name, stated, measure, limit, "a canary is there or not"),
        tuple(e.with_(seconds=time.monotonic() - started) for e in evidence),
        (
            "assumed: an independent fair coin included each canary, and the scores were made "
            "without knowing the coins",
        ),
        seed=seed,
        seconds=time.monotonic() - started,
        alpha=alpha,
        details={"source": "one run", "canaries": len(values), "included": int(labels.sum())},
    )


def _one_run_evidence(
    counted: Sequence[tuple[int, float, int]], m: int, measure: Measure, alpha: float, seed: int
) -> list[Evidence]:
    """Bounds for the measure, the estimate, and ε if the curve is Gaussian."""

    def best(bound: Any) -> tuple[float, int, int]:
        return max((float(bound(k, right, share * alpha)), k, right) for k, share, right in counted)

    mu, k_mu, right_mu = best(lambda k, c, a: one_run_bounds.mu_bound(m, k, c, a))
    f_dp = "one run: f-DP of Mahloujifar, Melis, Chaudhuri (2025)"
    gdp = _one_run_bound(mu, k_mu, right_mu, m, Measure("gdp"), f_dp, alpha, seed)
    if measure.kind == "gdp":
        return [gdp, *_guess_estimate(k_mu, right_mu, measure, m, seed)]
    delta = measure.delta
    value, k, right = best(lambda k, c, a: one_run_bounds.epsilon_bound(m, k, c, a, delta))
    plain = "one run: Steinke, Nasr, Jagielski (2023)"
    found = [
        _one_run_bound(value, k, right, m, measure, plain, alpha, seed),
        *_guess_estimate(k, right, measure, m, seed),
        gdp,
    ]
    if delta > 0.0:
        gaussian = GaussianDP(mu).epsilon_at(delta) if mu > 0.0 else 0.0
        assumed = _one_run_bound(gaussian, k_mu, right_mu, m, measure, f_dp, alpha, seed)
        found.append(assumed.with_(assumption="the mechanism's trade-off curve is Gaussian"))
    return found


def _one_run_bound(
    value: float, k: int, right: int, m: int, measure: Measure, method: str, alpha: float, seed: int
) -> Evidence:
    event = f"{right:,} of {k:,} guesses right, about the extreme scores of {m:,} canaries"
    return Evidence(
        side="lower",
        value=value,
        standing=confidence(alpha),
        method=method,
        witness=Witness(event=event, p=right / k if k else None, q=1 - right / k if k else None),
        runs=1,
        seed=seed,
        measure=measure,
        details={"guesses": k, "right": right, "canaries": m},
    )


def _guess_estimate(k: int, right: int, measure: Measure, m: int, seed: int) -> list[Evidence]:
    """What the guesses point to if they were independent: log-odds, or a Gaussian's μ."""
    if k == 0:
        return []
    wrong = k - right
    error = math.sqrt(1.0 / (right + 0.5) + 1.0 / (wrong + 0.5))
    value = max(0.0, math.log((right + 0.5) / (wrong + 0.5)))
    if measure.kind == "gdp":
        # The log-odds of a Gaussian's outer scores, solved for its μ on the average of its tail.
        value, error = _mu_of_guesses(k / m, right / k), math.nan
    spread = error if math.isfinite(error) else value
    event = f"{right:,} of {k:,} guesses right"
    return [
        Evidence(
            side="lower",
            value=value,
            standing=ESTIMATE,
            method="one run: odds of the guesses",
            witness=Witness(event=event),
            runs=1,
            seed=seed,
            measure=measure,
            error=spread,
            details={"of": "what these guesses show, not the most that the mechanism leaks"},
        )
    ]


def _mu_of_guesses(share: float, right: float) -> float:
    """μ for which the outer `share` of the scores of two Gaussians is told apart that often."""
    from scipy.special import ndtr

    def accuracy(mu: float) -> float:
        low, high = -20.0, 20.0
        for _ in range(80):
            t = 0.5 * (low + high)
            above = 0.5 * (ndtr(mu / 2 - t) + ndtr(-mu / 2 - t))
            low, high = (t, high) if above > share / 2 else (low, t)
        return float(ndtr(mu / 2 - t) / (ndtr(mu / 2 - t) + ndtr(-mu / 2 - t)))

    low, high = 0.0, 12.0
    for _ in range(50):
        mu = 0.5 * (low + high)
        low, high = (mu, high) if accuracy(mu) < right else (low, mu)
    return low


def _plan(guesses: int | Sequence[int] | None, m: int) -> list[tuple[int, float]]:
    """Numbers of guesses and the part of alpha that each gets."""
    if guesses is None:
        return [(max(2, round(share * m)), part) for share, part in one_run_bounds.SHARES]
    numbers = [guesses] if isinstance(guesses, int) else list(guesses)
    if not numbers or any(not 1 <= k <= m for k in numbers):
        raise InputError(f"guesses are between 1 and the number of canaries {m}; got {guesses!r}")
    return [(k, 1.0 / len(numbers)) for k in numbers]


def _canaries(scores: ArrayLike, included: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    values = np.asarray(scores, dtype=np.float64)
    labels = np.asarray(included)
    if values.ndim != 1 or labels.shape != values.shape:
        raise InputError(
            "one run needs one score and one inclusion for each canary; got shapes "
            f"{values.shape} and {labels.shape}"
        )
    if np.isnan(values).any():
        raise InputError("a score is NaN: give every canary a number")
    if labels.dtype != bool:
        if not np.isin(labels, (0, 1)).all():
            raise InputError("included is true or false (1 or 0) for each canary")
        labels = labels.astype(bool)
    if len(values) < 2:
        raise InputError(f"one run needs at least two canaries, got {len(values)}")
    return values, labels


def measure_of(
    claim: Claim | str | None, epsilon: float | None = None, delta: float | None = None
) -> tuple[Measure, float | None]:
    """What is asked about, and what is claimed of it; ε, at the δ if there is one, by default."""
    stated = _claim_of(claim, epsilon, delta)
    if stated is None and delta:
        return Measure(delta=float(domain.probability(delta, "delta"))), None
    return measured(stated)


def _claim_of(
    claim: Claim | str | None, epsilon: float | None, delta: float | None
) -> Claim | None:
    if claim is not None and (epsilon is not None or delta is not None):
        raise InputError("give either a claim or epsilon and delta, not both")
    if isinstance(claim, str):
        return parse_claim(claim).resolve({})
    if claim is not None:
        return claim.resolve({})
    if epsilon is not None:
        return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return None


def _question(
    name: str, claim: Claim | None, measure: Measure, limit: float | None, adjacency: str
) -> StatedQuestion:
    return StatedQuestion(
        mechanism=name,
        parameters={},
        adjacency=adjacency,
        domain="runs that were made elsewhere",
        length=None,
        claim=str(claim) if claim is not None else None,
        measure=measure,
        limit=limit,
    )


def _check_alpha(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise DomainError(f"alpha is a probability between 0 and 1; got {alpha=}")


def _rows(values: ArrayLike, what: str) -> Floats:
    """Scores as rows: one number or several each."""
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim not in (1, 2) or rows.size == 0:
        raise InputError(f"{what} scores are a list of numbers, or of rows; got {rows.shape=}")
    if np.isnan(rows).any():
        raise InputError(f"{what} scores contain NaN: give every run a number")
    if len(rows) < _LEAST:
        raise InputError(f"at least {_LEAST} {what} scores are needed, got {len(rows)}")
    return rows


def _outputs(part: Any) -> Any:
    """Outputs as an array where they are numbers or rows of them, or as a list."""
    rows: np.ndarray | None = None
    if isinstance(part, np.ndarray):
        rows = part
    else:
        part = list(part)
        plain = all(type(v) in (int, float, np.float64, np.float32) for v in part)
        rows = np.asarray(part, dtype=np.float64) if plain else None
    if rows is not None and rows.ndim in (1, 2) and rows.dtype.kind in "fiu":
        found = rows.astype(np.float64)
        if not np.isnan(found).any() and np.isfinite(found).all():
            part = found
    if len(part) < _LEAST:
        raise InputError(f"at least {_LEAST} samples of each input are needed, got {len(part)}")
    return part


def _scored(
    first: Any, second: Any, measure: Measure, seed: int, learn: bool | None, notes: list[str]
) -> tuple[ScoredRuns, dict[str, Any]]:
    """One score a run: the numbers themselves, or learnt ones of the runs that taught nothing."""
    single = all(isinstance(v, np.ndarray) and v.ndim == 1 for v in (first, second))
    if single and not learn:
        return ScoredRuns(np.sort(first), np.sort(second)), {}
    rng = np.random.default_rng(np.random.SeedSequence([seed, 26]))
    parts: list[tuple[Samples, Samples]] = []
    for rows in (first, second):
        order = rng.permutation(len(rows))
        cut = int(_LEARNING * len(rows))
        taught, rest = (_as_samples(rows, some) for some in (order[:cut], order[cut:]))
        parts.append((taught, rest))
    scorer = learnt_score(parts[0][0], parts[1][0], measure, seed)
    notes.append(
        f"the score, a {scorer.describe()}, was learnt from {_LEARNING:.0%} of the runs, which the "
        "bound does not use"
    )
    scored = ScoredRuns(scorer.scores(parts[0][1]), scorer.scores(parts[1][1]))
    return scored, {"score": scorer.describe()}


def _as_samples(rows: Any, some: NDArray[np.intp]) -> Samples:
    if isinstance(rows, np.ndarray):
        taken = rows[some]
        return Samples.from_outputs(
            taken.tolist() if taken.ndim == 1 else [tuple(row) for row in taken.tolist()]
        )
    return Samples.from_outputs([rows[i] for i in some.tolist()])


def _one_of_each(
    first: Floats,
    second: Floats,
    groups: tuple[ArrayLike, ArrayLike],
    seed: int,
    notes: list[str],
) -> tuple[Floats, Floats]:
    """One score of each run, picked at random: those are independent, as runs are."""
    names = [np.asarray(part) for part in groups]
    if [len(part) for part in names] != [len(first), len(second)]:
        raise InputError("groups needs the run of each inside score, and of each outside score")
    rng = np.random.default_rng(np.random.SeedSequence([seed, 27]))
    together = np.concatenate([part.astype(str) for part in names])
    order = rng.permutation(len(together))
    _, chosen = np.unique(together[order], return_index=True)
    kept = np.sort(order[chosen])
    notes.append(
        f"scores of one run depend on each other: one of each of {len(kept):,} runs was used, of "
        f"{len(together):,} scores (one_run uses all, if a fair coin included each canary)"
    )
    inside, outside = first[kept[kept < len(first)]], second[kept[kept >= len(first)] - len(first)]
    if min(len(inside), len(outside)) < _LEAST:
        raise InputError(
            f"one score of each run leaves {len(inside)} inside and {len(outside)} outside; at "
            f"least {_LEAST} of each are needed"
        )
    return inside, outside


__all__ = ["GaussianFit", "attack_samples", "audit_scores", "one_run"]
