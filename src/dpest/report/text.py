"""A verdict in words: the answer first, then what shows it, then what to do next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpest.evidence import Evidence, Measure
from dpest.report.sentence import sentence
from dpest.verdict import MEET, Verdict

if TYPE_CHECKING:
    from rich.console import Console

_FINITE = " (neither NaN nor infinities)"
_MISSING = " (NaN where it is said, no infinities)"
_STYLES = {"violated": "bold red", "exact": "bold green", "proved": "bold green"}


def _finite(domain: str) -> str:
    """Which numbers are not among the inputs."""
    if "nan=True" in domain:
        return _MISSING
    return _FINITE if "real" in domain else ""


def number(value: float | None) -> str:
    """A value as people read it: six digits, ∞ as a sign."""
    if value is None:
        return "?"
    if math.isinf(value):
        return "∞"
    return f"{value:.6g}"


def symbol(measure: Measure) -> str:
    """The letter of a measure, as it stands in an inequality."""
    if measure.kind == "renyi":
        return f"D_{measure.alpha:g}"
    if measure.kind == "zcdp":
        return "ρ"
    if measure.kind == "gdp":
        return "μ"
    return "ε" if measure.delta == 0 else f"ε(δ={measure.delta:g})"


def headline(verdict: Verdict) -> str:
    """The answer in one line, and what it is not about."""
    raises = verdict.details.get("raises")
    said = f"{_headline(verdict)}. It raises {'; '.join(raises)}" if raises else _headline(verdict)
    state = verdict.details.get("state")
    return f"{said}. It keeps state between calls: {', '.join(state[:3])}" if state else said


def _headline(verdict: Verdict) -> str:
    machine = verdict.floating_point
    if machine is None:
        return _answer(verdict)
    leak = f"{symbol(machine.measure)} ≥ {number(machine.value)} ({machine.standing})"
    if verdict.floating_point_violated:
        return f"{_answer(verdict)}. FLOATING POINT VIOLATED: its doubles leak {leak}"
    claim = verdict.question.claim
    found = f"no violation of {claim} found in" if claim else "measured"
    return f"{_answer(verdict)}. FLOATING POINT: {found} its doubles, {leak}"


def _answer(verdict: Verdict) -> str:
    question = verdict.question
    name, letter = question.mechanism, symbol(question.measure)
    lower, upper = verdict.lower, verdict.upper
    if verdict.status == "violated" and lower is not None:
        sign = "=" if math.isinf(lower.value) else "≥"
        return (
            f"VIOLATED: {name} claims {question.claim}, but {letter} {sign} {number(lower.value)} "
            f"({obtained(lower)})"
        )
    both = f"{letter} {interval(verdict)}"
    if verdict.status == "exact":
        if lower is not None and math.isinf(lower.value):
            return f"EXACT: {name} is not private at all at this length: {letter} = ∞"
        said = f"{name} is {question.claim}; " if question.claim else f"{name}: "
        return f"EXACT: {said}{both}, bounds within {MEET:.0%} of each other"
    if verdict.status == "proved" and upper is not None:
        said = f"{name} is {question.claim}; " if question.claim else f"{name}: "
        return f"PROVED: {said}{both}"
    if _from_scores(verdict) and lower is not None and not question.claim:
        return f"MEASURED: {name}: {letter} ≥ {number(lower.value)} ({obtained(lower)})"
    said = f"the claim {question.claim} of {name} is" if question.claim else f"{name} is"
    return f"UNSETTLED: {said} neither proved nor refuted; {both}"


def _from_scores(verdict: Verdict) -> bool:
    """Whether all that is known are scores that somebody else made."""
    return "source" in verdict.details


def interval(verdict: Verdict) -> str:
    low = verdict.lower.value if verdict.lower is not None else 0.0
    high = verdict.upper.value if verdict.upper is not None else math.inf
    if number(low) == number(high):
        return f"= {number(low)}"
    right = "∞)" if math.isinf(high) else f"{number(high)}]"
    return f"in [{number(low)}, {right}"


def witness_lines(evidence: Evidence) -> list[str]:
    """What shows a lower bound: the pair, the event, how likely it is on each side."""
    witness = evidence.witness
    lines = []
    if witness.x is not None or witness.x2 is not None:
        lines.append(f"inputs   {show_input(witness.x)}")
        lines.append(f"against  {show_input(witness.x2)}")
    if witness.event:
        lines.append(f"event    {witness.event}")
    if witness.p is not None and witness.q is not None:
        kind = "density" if witness.densities else "probability"
        lines.append(f"{kind}  {witness.p:.6g} against {witness.q:.6g}")
    return lines


def show_input(value: Any) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(show_input(v) for v in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return str(value)


def obtained(evidence: Evidence) -> str:
    """The standing and the method; a method that begins with its standing says both."""
    standing, method = str(evidence.standing), evidence.method
    return method if method.startswith(f"{standing}:") else f"{standing}, {method}"


def cost(evidence: Evidence) -> str:
    spent = [f"{evidence.runs:,} runs"] if evidence.runs else []
    spent.append(f"{evidence.seconds:.2f} s")
    return ", ".join(spent)


def advice(verdict: Verdict) -> str:
    """What a person should do next."""
    claim, lower, upper = verdict.question.claim, verdict.lower, verdict.upper
    if verdict.status == "violated":
        return (
            "Don't release this code under its claim. Replay the witness, mend the mechanism, or "
            "state the larger bound"
            + (f" {number(upper.value)}." if upper and math.isfinite(upper.value) else ".")
        )
    if verdict.floating_point_violated:
        said = "The mathematics holds, the machine's arithmetic doesn't: release through"
        if verdict.status == "unsettled":
            said = "Whatever the mathematics, the doubles give the input away: release through"
        return f"{said} a mechanism made for doubles (snapping, or discrete noise on a grid)."
    if verdict.status in ("exact", "proved"):
        if claim is None:
            return "State a claim (--epsilon) to have it tested."
        limit = verdict.question.limit
        if upper is not None and limit and upper.value < 0.9 * limit:
            return (
                f"The claim is looser than the truth by {1 - upper.value / limit:.0%}: "
                "`dpest calibrate` finds the least noise that still keeps it."
            )
        return "Nothing: the claim holds for the stated adjacency and domain."
    if _from_scores(verdict):
        return (
            "Scores show a leak, never its absence: more of them, or better ones, raise the bound. "
            "For an upper bound give dpest the code."
        )
    if upper is None:
        return (
            "No upper bound was found; see the notes for what stood in the way of a proof. "
            "A larger --budget raises the lower bound only."
        )
    if lower is None or lower.value == 0:
        return "Give a larger --budget, or a pair that you suspect with `dpest exact --pair`."
    return "Give a larger --budget to close the gap, or look at the notes for what was not done."


def sections(verdict: Verdict, verbose: bool = False) -> list[tuple[str, list[str]]]:
    """The report below the headline, as titled blocks of lines."""
    question = verdict.question
    asked = [
        f"adjacency   {question.adjacency}",
        f"inputs      {question.domain}{_finite(question.domain)}",
        f"parameters  {', '.join(f'{k}={v}' for k, v in question.parameters.items()) or 'none'}",
        f"claim       {question.claim or 'none: measured only'}",
    ]
    blocks = [("Question", asked)]
    shown = verdict.demonstration
    if shown is not None:
        title = f"Demonstration: refutes the claim in {shown.runs:,} runs on each input"
        lines = [
            f"inputs   {show_input(shown.x)}",
            f"against  {show_input(shown.x2)}",
            f"event    {shown.event}",
            f"estimate {shown.p:.3g} of the runs against {shown.q:.3g}",
            "run it   --replay FILE writes a script that needs the function and NumPy alone",
        ]
        blocks.insert(0, (title, lines))
    if verdict.lower is not None:
        low = verdict.lower
        title = f"At least {number(low.value)}: {obtained(low)} ({cost(low)})"
        blocks.append((title, witness_lines(low) + list(low.notes)))
    blocks += _beside_bounds(verdict)
    if verdict.upper is not None:
        up = verdict.upper
        title = f"At most {number(up.value)}: {obtained(up)} ({cost(up)})"
        lines = up.witness.event.splitlines() if up.witness.event else []
        if not verbose and len(lines) > 8:
            more = f"… {len(lines) - 8} more lines with --verbose"
            lines = [*lines[:8], more]
        blocks.append((title, lines + list(up.notes)))
    machine = verdict.floating_point
    if machine is not None:
        found = "VIOLATED" if verdict.floating_point_violated else "no violation found"
        title = f"Floating point: {found}, ε ≥ {number(machine.value)} ({machine.standing})"
        blocks.append((title, witness_lines(machine) + list(machine.notes)))
    if verdict.recorded is not None:
        count = len(verdict.recorded.details["recorded"]["findings"])
        title = (
            f"Grey box: {count or 'no'} finding{'' if count == 1 else 's'}, the pair costs "
            f"{number(verdict.recorded.value)} (no bound; {cost(verdict.recorded)})"
        )
        blocks.append((title, witness_lines(verdict.recorded) + list(verdict.recorded.notes)))
    growth = verdict.details.get("growth")
    if growth:
        rows = [
            f"n = {row['length']:<4} {number(row['lower']):>10} … {number(row['upper'])}"
            for row in growth["rows"]
        ]
        blocks.append(("How it grows with n", [*rows, growth["summary"]]))
    if verdict.gap is not None and math.isfinite(verdict.gap):
        blocks.append(("Gap", [f"{verdict.gap:.2%} of the upper bound"]))
    if verbose:
        others = [
            f"{e.side:5} {number(e.value):>10}  {obtained(e)} ({cost(e)})" for e in verdict.evidence
        ]
        blocks.append(("All evidence", others))
    if verdict.notes:
        blocks.append(("Notes", [f"- {note}" for note in verdict.notes]))
    blocks.append(("What to do", [advice(verdict)]))
    return blocks


def _beside_bounds(verdict: Verdict) -> list[tuple[str, list[str]]]:
    """What is no bound: estimates, and bounds that rest on an assumption."""
    blocks = []
    for e in verdict.evidence:
        letter = symbol(e.measure)
        if not e.standing.is_bound:
            about = e.details.get("of")
            title = f"Estimate: {letter} ≈ {number(e.value)} ± {number(e.error)}, no bound"
            blocks.append((title, [about] if about else []))
        elif e.assumption:
            title = f"At least {number(e.value)} if {e.assumption}: {obtained(e)}"
            blocks.append((title, witness_lines(e)))
        elif e.measure != verdict.question.measure:
            title = f"{letter} is at least {number(e.value)}: {obtained(e)}"
            blocks.append((title, witness_lines(e)))
    return blocks


def plain(verdict: Verdict, verbose: bool = False) -> str:
    lines = [headline(verdict), *filter(None, [sentence(verdict)])]
    for title, body in sections(verdict, verbose):
        lines += ["", title, *[f"  {line}" for line in body]]
    return "\n".join(lines)


def show(verdict: Verdict, console: Console, verbose: bool = False, quiet: bool = False) -> None:
    """Print a verdict; the words are those of `plain`, with colour where there is a terminal."""
    from rich.text import Text

    style = _STYLES.get(verdict.status, "bold yellow")
    console.print(Text(headline(verdict), style=style), soft_wrap=True)
    if quiet:
        return
    if said := sentence(verdict):
        console.print(Text(said), soft_wrap=True)
    for title, body in sections(verdict, verbose):
        console.print()
        console.print(Text(title, style="bold"), soft_wrap=True)
        for line in body:
            console.print(Text("  " + line), soft_wrap=True)
