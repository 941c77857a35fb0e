"""A verdict in words: the answer first, then what shows it, then what to do next."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from dpest.evidence import MEET, Evidence, Measure
from dpest.report.sentence import sentence

if TYPE_CHECKING:
    from rich.console import Console

    from dpest.verdict import Verdict

_FINITE = " (neither NaN nor infinities)"
_MISSING = " (NaN where it is said, no infinities)"
_STYLES = {"violated": "bold red", "exact": "bold green", "proved": "bold green"}


# Entries of a list that are shown one by one.
_LONG_LIST = 40


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
    if seeds := verdict.details.get("seeded"):
        said += f". Whoever knows the seed knows its noise, and nothing is private: {seeds[0]}"
    state = verdict.details.get("state")
    if not state:
        return said
    return f"{said}. It depends on what lies outside of its input and draws: {', '.join(state[:3])}"


def _headline(verdict: Verdict) -> str:
    machine, claim = verdict.floating_point, verdict.question.claim
    if machine is None:
        return _answer(verdict)
    leak = f"{symbol(machine.measure)} ≥ {number(machine.value)} ({machine.standing})"
    if not verdict.floating_point_violated:
        found = f"no violation of {claim} found in" if claim else "measured"
        return f"{_answer(verdict)}. FLOATING POINT: {found} its doubles, {leak}"
    if verdict.violated:
        return f"{_answer(verdict)}. FLOATING POINT VIOLATED: its doubles leak {leak}"
    # The mathematics alone would not have failed: that has to be clear before anything else.
    unasked = verdict.details.get("floating_point_unasked")
    option = "; --no-floating-point leaves the doubles out" if unasked else ""
    return (
        f"FLOATING POINT VIOLATED: {verdict.question.mechanism} claims {claim}, but its doubles "
        f"leak {leak}. The mathematics is not refuted{option}. {_answer(verdict)}"
    )


def _answer(verdict: Verdict) -> str:
    question = verdict.question
    name, letter = question.mechanism, symbol(question.measure)
    lower, upper = verdict.lower, verdict.upper
    if verdict.status == "violated" and lower is not None:
        sign = "=" if math.isinf(lower.value) else "≥"
        return (
            f"VIOLATED: {name} claims {question.claim}, but {letter} {sign} {number(lower.value)} "
            f"({lower.standing})"
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
        sides = f"{witness.p:.6g} against {witness.q:.6g}"
        if witness.p == witness.q == 0:  # the ratio was computed from logarithms
            sides = "on either side less than any double"
        lines.append(f"{kind}  {sides}")
    return lines


def show_input(value: Any) -> str:
    """An input in one line; a DataFrame as its rows, long lists with equal entries counted."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return _show_rows(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(_entries([show_input(v) for v in value]))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return str(value)


def _entries(words: list[str]) -> list[str]:
    """Entries one by one; of long lists equal ones that follow each other are counted."""
    if len(words) <= _LONG_LIST:
        return words
    runs = [(text, len(list(same))) for text, same in itertools.groupby(words)]
    return [f"{text} ({count} times)" if count > 1 else text for text, count in runs]


def _show_rows(frame: Any) -> str:
    """Rows in order, equal ones that follow each other counted."""
    rows = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
    words = [", ".join(f"{k}: {show_input(v)}" for k, v in row.items()) for row in rows]
    runs = [(text, len(list(same))) for text, same in itertools.groupby(words)]
    shown = [f"{count} × {{{text}}}" if count > 1 else f"{{{text}}}" for text, count in runs]
    return f"{type(frame).__name__} of {len(rows)} rows: {', '.join(shown)}"


def obtained(evidence: Evidence) -> str:
    """The standing and the method."""
    return f"{evidence.standing}, {way(evidence)}"


def way(evidence: Evidence) -> str:
    """The method alone: some are named after the standing of what they give."""
    return evidence.method.removeprefix(f"{evidence.standing}: ")


def cost(evidence: Evidence) -> str:
    spent = [f"{evidence.runs:,} runs"] if evidence.runs else []
    spent.append(f"{evidence.seconds:.2f} s")
    return ", ".join(spent)


REPLAY = "--replay FILE writes a script that shows it"


def advice(verdict: Verdict, shown: str = REPLAY) -> str:
    """What a person should do next, for this verdict; `shown` says where its script is."""
    claim, lower, upper = verdict.question.claim, verdict.lower, verdict.upper
    if verdict.violated:
        return _mend(verdict, shown)
    if verdict.floating_point_violated:
        return _machine_advice(verdict)
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
        more = "A larger --budget raises the lower bound, and nothing else."
        return f"{_in_the_way(verdict)} {more}"
    limit = verdict.question.limit
    if limit is not None and upper.value > limit and math.isfinite(upper.value):
        return (
            f"What is proved is {symbol(verdict.question.measure)} ≤ {number(upper.value)}: claim "
            "that, or give a larger --budget (for a counterexample) or --patience (for a proof)."
        )
    if lower is None or lower.value == 0:
        return "Give a larger --budget, or a pair that you suspect with `dpest exact --pair`."
    return "Give a larger --budget to close the gap, or look at the notes for what was not done."


def _mend(verdict: Verdict, shown: str) -> str:
    if verdict.demonstration is None:
        shown = "The witness shows it"
    upper = verdict.upper
    state = "no larger claim is proved either"
    if upper is not None and math.isfinite(upper.value):
        state = f"or claim {symbol(upper.measure)} = {number(upper.value)}, which is proved"
    elif verdict.lower is not None and math.isinf(verdict.lower.value):
        state = "no larger ε would hold"
    return f"Don't release this code under its claim. {shown}. Mend the mechanism; {state}."


def _machine_advice(verdict: Verdict) -> str:
    """Of a claim that the mathematics keeps, or may keep, and the doubles don't."""
    said = (
        "The mathematics is open, the doubles give the input away"
        if verdict.status == "unsettled"
        else "The mathematics holds, the machine's arithmetic doesn't"
    )
    said += (
        ": release through a mechanism made for doubles (snapping, or discrete noise on a grid). "
        "Where nobody sees the low bits, --no-floating-point audits the mathematics alone"
    )
    return f"{said}. {_in_the_way(verdict)}" if verdict.status == "unsettled" else f"{said}."


def _in_the_way(verdict: Verdict) -> str:
    """Why there is no upper bound, by the first line that stood in the way of one."""
    if not verdict.obstacles:
        return "No upper bound was found; the notes say what was tried."
    found = next((o for o in verdict.obstacles if o.where), verdict.obstacles[0])
    place = f"{found.where}: " if found.where else ""
    words = f"{place}{found.operation}".rstrip(".")
    if found.advice:
        words += f". {found.advice[:1].upper()}{found.advice[1:]}".rstrip(".")
    return f"No upper bound was found: {words}."


Section = tuple[str, list[str]]


def sections(verdict: Verdict, verbose: bool = False) -> list[Section]:
    """The report below the headline, as titled blocks of lines."""
    question = verdict.question
    asked = [
        f"adjacency   {question.adjacency}",
        f"inputs      {question.domain}{_finite(question.domain)}",
        f"parameters  {', '.join(f'{k}={v}' for k, v in question.parameters.items()) or 'none'}",
        f"claim       {question.claim or 'none: measured only'}",
    ]
    blocks = [*_demonstrated(verdict), ("Question", asked)]
    if verdict.lower is not None:
        low = verdict.lower
        title = f"At least {number(low.value)}: {obtained(low)} ({cost(low)})"
        blocks.append((title, witness_lines(low) + list(low.notes)))
    blocks += _beside_bounds(verdict)
    if verdict.upper is not None:
        blocks.append(_upper(verdict.upper, verbose))
    machine = verdict.floating_point
    if machine is not None:
        found = "VIOLATED" if verdict.floating_point_violated else "no violation found"
        title = f"Floating point: {found}, ε ≥ {number(machine.value)} ({machine.standing})"
        blocks.append((title, witness_lines(machine) + list(machine.notes)))
    if verdict.recorded is not None:
        blocks.append(_grey_box(verdict.recorded))
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


def _demonstrated(verdict: Verdict) -> list[Section]:
    shown = verdict.demonstration
    if shown is None:
        return []
    title = f"Demonstration: refutes the claim in {shown.runs:,} runs on each input"
    lines = [
        f"inputs   {show_input(shown.x)}",
        f"against  {show_input(shown.x2)}",
        f"event    {shown.event}",
        f"estimate {shown.p:.3g} of the runs against {shown.q:.3g}",
        "run it   --replay FILE writes a script that needs the function and NumPy alone",
    ]
    return [(title, lines)]


def _upper(up: Evidence, verbose: bool) -> Section:
    title = f"At most {number(up.value)}: {obtained(up)} ({cost(up)})"
    lines = up.witness.event.splitlines() if up.witness.event else []
    if not verbose and len(lines) > 8:
        lines = [*lines[:8], f"… {len(lines) - 8} more lines with --verbose"]
    return title, lines + list(up.notes)


def _grey_box(recorded: Evidence) -> Section:
    count = len(recorded.details["recorded"]["findings"])
    title = (
        f"Grey box: {count or 'no'} finding{'' if count == 1 else 's'}, the pair costs "
        f"{number(recorded.value)} (no bound; {cost(recorded)})"
    )
    return title, witness_lines(recorded) + list(recorded.notes)


def _beside_bounds(verdict: Verdict) -> list[Section]:
    """What is no bound: estimates, and bounds that rest on an assumption."""
    blocks = []
    for e in verdict.evidence:
        letter = symbol(e.measure)
        if e is verdict.recorded:
            continue  # it has a block of its own
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
