"""A verdict as one self-contained HTML page, for a person who signs off a release."""

from __future__ import annotations

import math
from typing import Any

from dpest import __version__
from dpest.evidence import Evidence
from dpest.report import charts
from dpest.report.text import (
    advice,
    cost,
    headline,
    interval,
    number,
    show_input,
    symbol,
    witness_lines,
)
from dpest.verdict import Verdict

STANDINGS = {
    "proved": "for all inputs, by a certificate that a small program checks",
    "exact": "computed from the distributions, with an error near rounding",
    "confidence": "wrong with at most the stated probability, over the sampling",
    "estimate": "no guarantee; shown for orientation only",
}


def render(verdict: Verdict) -> str:
    """The page as text. Everything that came from the user is escaped by the template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("dpest.report"), autoescape=True, undefined=StrictUndefined
    )
    template = environment.get_template("report.html")
    pictures = [
        {"title": title, "svg": Markup(svg), "text": text}
        for title, svg, text in figures(verdict)
        if svg
    ]
    return template.render(
        verdict=verdict,
        question=verdict.question,
        headline=headline(verdict).partition(": ")[2],
        interval=Markup(interval_chart(verdict)),
        interval_text=f"{symbol(verdict.question.measure)} {interval(verdict)}",
        advice=advice(verdict),
        lower=card(verdict.lower),
        upper=card(verdict.upper),
        machine=card(verdict.floating_point),
        machine_violated=verdict.floating_point_violated,
        evidence=[card(e) for e in verdict.evidence],
        pictures=pictures,
        growth=verdict.details.get("growth"),
        standings=STANDINGS,
        number=number,
        version=__version__,
    )


def card(evidence: Evidence | None) -> dict[str, Any] | None:
    if evidence is None:
        return None
    return {
        "side": "at least" if evidence.side == "lower" else "at most",
        "value": number(evidence.value),
        "standing": str(evidence.standing),
        "meaning": STANDINGS[evidence.standing.name],
        "method": evidence.method,
        "cost": cost(evidence),
        "seed": evidence.seed,
        "lines": witness_lines(evidence) if evidence.side == "lower" else [],
        "proof": evidence.witness.event if evidence.side == "upper" else "",
        "replay": evidence.witness.replay,
        "notes": list(evidence.notes),
        "arithmetic": evidence.arithmetic,
    }


def interval_chart(verdict: Verdict) -> str:
    low = verdict.lower.value if verdict.lower is not None else 0.0
    high = verdict.upper.value if verdict.upper is not None else math.inf
    letter = symbol(verdict.question.measure)
    return charts.interval(low, high, verdict.question.limit, letter=letter)


def figures(verdict: Verdict) -> list[tuple[str, str, str]]:
    """(title, SVG, caption) for each picture that the evidence has data for."""
    data = verdict.curves() if verdict.curves is not None else {}
    claim = claim_curves(verdict)
    pair = ""
    if "pair" in data:
        pair = f"x = {show_input(data['pair'][0])}, x′ = {show_input(data['pair'][1])}"
    found = []
    if "outputs" in data:
        outputs = data["outputs"]
        svg = charts.bars(
            outputs["labels"],
            outputs["p"],
            outputs["q"],
            marked=outputs["marked"],
            title="The two output distributions",
        )
        event = " The event is shaded." if outputs["marked"] else ""
        found.append(("The two output distributions", svg, f"{pair}.{event}"))
    if "density" in data:
        density = data["density"]
        curves = [
            charts.Line(list(zip(density["y"], density["p"], strict=True)), "x", "p", fill=True),
            charts.Line(list(zip(density["y"], density["q"], strict=True)), "x′", "q"),
        ]
        svg = charts.lines(
            curves,
            title="The two output densities",
            x_label=density.get("label", "output"),
            y_label="density",
        )
        found.append(("The two output densities", svg, pair))
    if "loss" in data:
        svg = charts.lines(
            [charts.Line(data["loss"], "P(loss ≤ t | x)", "p")],
            title="Privacy loss",
            x_label="privacy loss t",
            y_label="probability",
            y_range=(0.0, 1.0),
        )
        found.append(("The privacy loss", svg, "How often the output says at most e^t more for x."))
    if "delta" in data:
        svg = charts.lines(
            [charts.Line(data["delta"], "this pair", "p"), *claim["delta"]],
            title="δ(ε)",
            x_label="ε",
            y_label="δ",
        )
        found.append(("δ(ε)", svg, "The least δ with which (ε, δ)-DP holds for this pair."))
    if "tradeoff" in data:
        svg = charts.lines(
            [*claim["tradeoff"], charts.Line(data["tradeoff"], "this pair", "p")],
            title="Trade-off",
            x_label="false alarm",
            y_label="miss",
            x_range=(0.0, 1.0),
            y_range=(0.0, 1.0),
        )
        found.append(
            (
                "Trade-off curve",
                svg,
                "Errors of the best test that tells the two inputs apart. A curve below the "
                "claim's is a violation.",
            )
        )
    for name, title, y_label in (
        ("wealth", "Wealth of the bet against the claim", "log10 of the wealth"),
        ("p_value", "p-value", "p"),
    ):
        for evidence in verdict.evidence:
            points = evidence.details.get(name)
            if points:
                svg = charts.lines(
                    [charts.Line(points, evidence.method, "p")],
                    title=title,
                    x_label="runs" if name == "wealth" else "test ε",
                    y_label=y_label,
                )
                found.append((title, svg, evidence.method))
                break
    growth = verdict.details.get("growth")
    if growth:
        rows = growth["rows"]
        svg = charts.lines(
            [
                charts.Line([(r["length"], r["lower"]) for r in rows], "at least", "p"),
                charts.Line([(r["length"], r["upper"]) for r in rows], "at most", "claim"),
            ],
            title="Growth with n",
            x_label="n",
            y_label=symbol(verdict.question.measure),
        )
        found.append(("How it grows with the length", svg, growth["summary"]))
    return found


def claim_curves(verdict: Verdict) -> dict[str, list[charts.Line]]:
    """The claim's own δ(ε) and trade-off curve, where it is a pure or (ε, δ) claim."""
    question = verdict.question
    if question.limit is None or question.measure.kind != "epsilon":
        return {"delta": [], "tradeoff": []}
    epsilon, delta = question.limit, question.measure.delta
    curve = []
    for i in range(101):
        a = i / 100
        miss = max(0.0, 1 - delta - math.exp(epsilon) * a, math.exp(-epsilon) * (1 - delta - a))
        curve.append((a, miss))
    mark = [(epsilon, 0.0), (epsilon, max(delta, 0.02))]
    return {
        "delta": [charts.Line(mark, f"claim: ε = {number(epsilon)}, δ = {delta:g}", "claim")],
        "tradeoff": [charts.Line(curve, "claim", "claim", fill=True)],
    }
