"""The pictures of a report: each an SVG, a caption and the numbers behind it as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from dpest.pictures import PairPicture
from dpest.report import charts
from dpest.report.text import number, symbol

if TYPE_CHECKING:
    from dpest.verdict import Verdict

ROWS = 12  # of the table beside a curve
# Two inputs whose distributions differ by less than this have the curves of equal inputs.
ALIKE = 1e-9


@dataclass(frozen=True)
class Figure:
    title: str
    svg: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def figures_of_pair(picture: PairPicture, verdict: Verdict) -> list[Figure]:
    """What there is to see of one pair."""
    made = [_outputs(picture), _densities(picture)]
    if not alike(picture):
        made += [_loss(picture), _profile(picture, verdict), _tradeoff(picture, verdict)]
    return [figure for figure in made if figure is not None and figure.svg]


def alike(picture: PairPicture) -> bool:
    """Whether the pair differs in outputs alone that are too rare to be drawn."""
    return bool(picture.profile) and max(d for _, d in picture.profile) < ALIKE


def _outputs(picture: PairPicture) -> Figure | None:
    shown = picture.outputs
    if shown is None:
        return None
    title = "The two output distributions"
    kind, caption = "probability", "The likeliest outputs."
    if picture.runs is not None:
        kind = "frequency"
        caption = f"Frequencies in {picture.runs:,} runs on each input: an estimate, no bound."
    if shown.marked:
        caption += " Framed is what tells the two inputs apart best."
    labels = [_compact(label) for label in shown.labels]
    svg = charts.bars(labels, shown.p, shown.q, marked=shown.marked, title=title, y_label=kind)
    rows = [
        [label, f"{p:.4g}", f"{q:.4g}"]
        for label, p, q in zip(shown.labels, shown.p, shown.q, strict=True)
    ]
    return Figure(title, svg, caption, ("output", f"{kind} on x", "on x′"), rows)


def _compact(label: str) -> str:
    """An answer of many yes and no in few letters; the table has it in full.

    >>> _compact("[False, False, True]"), _compact("[1, 2]")
    ('FFT', '[1, 2]')
    """
    words = label.strip("[]()").split(", ")
    if label[:1] in "[(" and set(words) <= {"True", "False"}:
        return "".join(word[0] for word in words)
    return label


def _densities(picture: PairPicture) -> Figure | None:
    shown = picture.densities
    if shown is None:
        return None
    title = "The two output densities"
    svg = charts.lines(
        [
            charts.ChartLine(list(zip(shown.y, shown.p, strict=True)), "x", "p", fill=True),
            charts.ChartLine(list(zip(shown.y, shown.q, strict=True)), "x′", "q"),
        ],
        title=title,
        x_label=shown.label,
        y_label="density",
        kind="densities",
    )
    rows = _sample(list(zip(shown.y, shown.p, shown.q, strict=True)))
    return Figure(title, svg, "", (shown.label, "density on x", "on x′"), rows)


def _loss(picture: PairPicture) -> Figure | None:
    if not picture.loss:
        return None
    title = "The privacy loss"
    svg = charts.lines(
        [charts.ChartLine(_steps(picture.loss), "P(loss ≤ t | x)", "p")],
        title=title,
        x_label="privacy loss t",
        y_label="probability",
        y_range=(0.0, 1.0),
        kind="loss",
    )
    caption = "How often an output of x is at most e^t times as likely on x as on x′."
    return Figure(title, svg, caption, ("t", "P(loss ≤ t | x)"), _sample(picture.loss))


def _steps(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The staircase of a distribution that has few values; a finely drawn one is left as it is."""
    if len(points) > 60:
        return list(points)
    found = [(points[0][0], 0.0)]
    for t, p in points:
        found += [(t, found[-1][1]), (t, p)]
    return found


def _profile(picture: PairPicture, verdict: Verdict) -> Figure | None:
    if not picture.profile:
        return None
    title = "δ(ε)"
    top = max(d for _, d in picture.profile)
    svg = charts.lines(
        [charts.ChartLine(picture.profile, "this pair", "p"), *_claimed_point(verdict, top)],
        title="δ as a function of ε",
        x_label="ε",
        y_label="δ",
        kind="profile",
    )
    caption = "The least δ with which (ε, δ)-DP holds for this pair."
    return Figure(title, svg, caption, ("ε", "least δ"), _sample(picture.profile))


def _tradeoff(picture: PairPicture, verdict: Verdict) -> Figure | None:
    if not picture.tradeoff:
        return None
    title = "Trade-off curve"
    svg = charts.lines(
        [*claimed_tradeoff(verdict), charts.ChartLine(picture.tradeoff, "this pair", "p")],
        title=title,
        x_label="false alarm",
        y_label="miss",
        x_range=(0.0, 1.0),
        y_range=(0.0, 1.0),
        kind="tradeoff",
    )
    caption = (
        "Errors of the best test that tells the two inputs apart. A curve below the claim's is a "
        "violation."
    )
    return Figure(title, svg, caption, ("false alarm", "least miss"), _sample(picture.tradeoff))


def _sample(points: Sequence[Sequence[float]]) -> list[list[str]]:
    """Some of the points, evenly, as words."""
    last = len(points) - 1
    chosen = sorted({round(i * last / (ROWS - 1)) for i in range(ROWS)}) if last else [0]
    return [[f"{value:.4g}" for value in points[i]] for i in chosen]


def _epsilon_claim(verdict: Verdict) -> tuple[float, float] | None:
    question = verdict.question
    if question.limit is None or question.measure.kind != "epsilon":
        return None
    return question.limit, question.measure.delta


def _claimed_point(verdict: Verdict, top: float) -> list[charts.ChartLine]:
    claim = _epsilon_claim(verdict)
    if claim is None:
        return []
    mark = [(claim[0], 0.0), (claim[0], max(claim[1], 0.2 * top))]
    words = f"claim: ε = {number(claim[0])}, δ = {claim[1]:g}"
    return [charts.ChartLine(mark, words, "claim")]


def claimed_tradeoff(verdict: Verdict) -> list[charts.ChartLine]:
    question = verdict.question
    if question.measure.kind == "gdp" and question.limit is not None:
        normal = NormalDist()
        inside = [(i / 100, normal.inv_cdf(1 - i / 100)) for i in range(1, 100)]
        middle = [(a, normal.cdf(z - question.limit)) for a, z in inside]
        return [charts.ChartLine([(0.0, 1.0), *middle, (1.0, 0.0)], "claim", "claim", fill=True)]
    claim = _epsilon_claim(verdict)
    if claim is None:
        return []
    epsilon, delta = claim
    # Computed as e^±ε·…: a large ε has an e^ε that no double holds.
    up, down = math.exp(min(epsilon, 700.0)), math.exp(-epsilon)
    points = [0.0, *(i / 200 for i in range(1, 201)), min(1.0, (1 - delta) / (1 + up))]
    curve = [(a, max(0.0, 1 - delta - up * a, down * (1 - delta - a))) for a in sorted(points)]
    return [charts.ChartLine(curve, "claim", "claim", fill=True)]


def figures_beside(verdict: Verdict) -> list[Figure]:
    """Pictures that are of no one pair: growth with n, and how the statistics went."""
    return [*_growth(verdict), *_statistics(verdict)]


def _growth(verdict: Verdict) -> list[Figure]:
    growth = verdict.details.get("growth")
    if not growth:
        return []
    rows: list[dict[str, Any]] = growth["rows"]
    letter = symbol(verdict.question.measure)
    curves = [
        charts.ChartLine([(r["length"], r["lower"]) for r in rows], "at least", "p"),
        charts.ChartLine([(r["length"], r["upper"]) for r in rows], "at most", "bound"),
    ]
    limit = verdict.question.limit
    if limit is not None and math.isfinite(limit):
        curves.append(charts.ChartLine([(r["length"], limit) for r in rows], "claim", "claim"))
    title = "Growth with n"
    svg = charts.lines(curves, title=title, x_label="n", y_label=letter)
    table = [[str(r["length"]), number(r["lower"]), number(r["upper"]), r["status"]] for r in rows]
    columns = ("n", f"{letter} at least", "at most", "status")
    return [Figure(title, svg, growth["summary"], columns, table)] if svg else []


def _statistics(verdict: Verdict) -> list[Figure]:
    """The wealth of a bet, or p-values against the tested ε, where an attack has kept them."""
    found = []
    for name, title, x_label, y_label in (
        ("wealth", "Wealth of the bet against the claim", "runs", "log10 of the wealth"),
        ("p_value", "p-value", "test ε", "p"),
    ):
        for evidence in verdict.evidence:
            points = evidence.details.get(name)
            if points:
                svg = charts.lines(
                    [charts.ChartLine(points, evidence.method, "p")],
                    title=title,
                    x_label=x_label,
                    y_label=y_label,
                )
                rows = _sample(points)
                found.append(Figure(title, svg, evidence.method, (x_label, y_label), rows))
                break
    return [figure for figure in found if figure.svg]
