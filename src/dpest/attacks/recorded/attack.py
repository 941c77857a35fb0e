"""The grey box: run on x, write down all noise; run on x2 with the noisy values frozen; compare.

Five runs, whatever they cost: one plain run on each input, the record, a replay on x itself (what
differs there is randomness that no hook saw), and the replay on x2; a quick function is recorded
and replayed once more, and the worse counts. The result says what each
primitive costs on this pair and what no noise covers. It is a finding about the noise that was
drawn, not a bound: its standing is `estimate`, and no verdict rests on it.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpest.ask.declaration import Mechanism
from dpest.attacks.recorded.comparison import (
    PrimitiveRow,
    TapeComparison,
    UncoveredUse,
    grouped,
    leaves_by_name,
)
from dpest.attacks.recorded.hooks import installed
from dpest.attacks.recorded.noisy import plain
from dpest.attacks.recorded.pricing import Price
from dpest.attacks.recorded.tape import Diverged, Divergence, Tape, TapedPlace
from dpest.evidence import EPSILON, ESTIMATE, Evidence, Measure, Witness
from dpest.running.black_box import global_randomness

_METHOD = "recorded"
# What later noise is added to may depend on earlier noise: a quick function is recorded again.
TRANSCRIPTS = 2
QUICK = 0.5
# A cost must exceed the claim by more than claims are rounded to.
SLACK = 1e-6
_UNCOVERED = (
    *("not a number", "scale from data", "noise used twice", "seed from data"),
    *("control flow", "released without noise", "noise and data mixed", "raises"),
)


@dataclass
class TapedOutcome:
    """What one run came to."""

    output: Any = None
    error: BaseException | None = None
    divergence: Divergence | None = None
    bypassed: list[str] = field(default_factory=list)

    @property
    def shown(self) -> Any:
        return f"raises {type(self.error).__name__}" if self.error is not None else self.output


def recorded_attack(
    mechanism: Mechanism,
    x: Any,
    x2: Any,
    *,
    limit: float | None = None,
    measure: Measure = EPSILON,
    seed: int = 0,
) -> Evidence:
    """The finding on one pair; `details` has its rows, its findings and what it is worth."""
    started = time.monotonic()
    plain_runs = [_plain_run(mechanism, v, seed + i) for i, v in enumerate((x, x2))]
    reports = []
    for attempt in range(TRANSCRIPTS):
        first, second = Tape(), Tape()
        record = _hooked_run(mechanism, x, seed + 100 * attempt, first)
        again = _hooked_run(mechanism, x, seed + 7, Tape(first))
        second.master = first
        replay = _hooked_run(mechanism, x2, seed + 9, second)
        found = TapeComparison(first, second, replay.divergence)
        outputs = _Outputs(found, plain_runs[0], plain_runs[1], record, again, replay)
        outputs.compare()
        reports.append(_Report(found, outputs, measure, limit))
        if time.monotonic() - started > QUICK:
            break
    report = max(reports, key=lambda r: (bool(r.findings), r.value, r.incomplete))
    report.incomplete = any(r.incomplete for r in reports)
    return Evidence(
        side="upper",
        value=report.value,
        standing=ESTIMATE,
        method=_METHOD,
        witness=Witness(x=x, x2=x2, event=report.worth),
        runs=2 + 3 * len(reports),
        seconds=time.monotonic() - started,
        seed=seed,
        measure=measure,
        notes=tuple(report.lines()),
        details=report.details(),
    )


def noise_drawn(mechanism: Mechanism, inputs: Sequence[Any]) -> list[tuple[str, float]]:
    """The laws and scales of the noise that a function draws on these inputs, as far as seen."""
    found: dict[tuple[str, float], None] = {}
    for seed, x in enumerate(inputs):
        tape = Tape()
        _hooked_run(mechanism, x, seed, tape)
        for draw in tape.draws:
            found.update(dict.fromkeys((draw.law, float(s)) for s in np.unique(draw.scale)))
    return list(found)


def _arguments(mechanism: Mechanism, seed: int) -> dict[str, Any]:
    if mechanism.takes_size:
        return {"size": 1}
    return {} if mechanism.black_box else {"rng": np.random.default_rng(seed)}


def _plain_run(mechanism: Mechanism, x: Any, seed: int) -> TapedOutcome:
    with global_randomness(np.random.SeedSequence(seed)):
        try:
            return TapedOutcome(mechanism(copy.deepcopy(x), **_arguments(mechanism, seed)))
        except (Exception, SystemExit) as error:  # any failure of the user's code is an output
            return TapedOutcome(error=error)


def _hooked_run(mechanism: Mechanism, x: Any, seed: int, tape: Tape) -> TapedOutcome:
    made = TapedOutcome()
    arguments = _arguments(mechanism, seed)
    with global_randomness(np.random.SeedSequence(seed)), installed(tape) as bypassed:
        made.bypassed = bypassed
        try:
            made.output = mechanism(copy.deepcopy(x), **arguments)
            if tape.master is not None:
                made.divergence = tape.divergence or tape.missing()
        except Diverged as end:
            made.divergence = end.divergence
        except (Exception, SystemExit) as error:
            if tape.divergence is None:
                made.error = error
            made.divergence = tape.divergence
    _mark_released(tape, made.output)
    return made


def _mark_released(tape: Tape, output: Any) -> None:
    """A noisy value that is released was looked at: nothing that goes on with it replaces it."""
    leaves = [leaf for _, leaf in leaves_by_name(output)]
    for leaf in leaves:
        for at in tag.uses if (tag := getattr(leaf, "tag", None)) is not None else ():
            tape.uses[at].handled = tape.uses[at].released = True
    released = {v for v in map(_key, leaves) if v is not None}
    for use in reversed(tape.uses):  # equal values are the latest one's
        if use.kind != "sum":
            continue
        own = {_key(v) for v in np.ravel(use.noisy)}
        # Noise on nothing, that later meets counts of which some are 0, is not what is released.
        if own <= released if not use.settles else own & released:
            use.handled = use.released = True
            released -= own


def _key(value: Any) -> float | None:
    value = plain(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
        return None
    return float(value)


class _Outputs:
    """The outputs of the runs, compared leaf by leaf."""

    def __init__(
        self,
        found: TapeComparison,
        plain_x: TapedOutcome,
        plain_x2: TapedOutcome,
        record: TapedOutcome,
        again: TapedOutcome,
        replay: TapedOutcome,
    ) -> None:
        self.found = found
        self.plain_x, self.plain_x2 = plain_x, plain_x2
        self.record, self.again, self.replay = record, again, replay
        self.unhooked: list[str] = list(record.bypassed)

    def compare(self) -> None:
        if self._raised():
            return
        if self.again.divergence is not None or self.again.error is not None:
            self.unhooked.append(
                "the run on x could not be repeated: something random decided that no hook saw"
            )
            return
        if self.replay.divergence is not None:
            return
        self._leaves()

    def _raised(self) -> bool:
        a, b = self.plain_x.error, self.plain_x2.error
        if type(a) is not type(b):
            which, error = ("x2", b) if b is not None else ("x", a)
            said = f"raises {type(error).__name__} on {which} only: {error}"
            self.found.findings.append(UncoveredUse("raises", said, _raised_at(error)))
            return True
        if a is not None:
            self.unhooked.append(f"the function raises {type(a).__name__} on both inputs: {a}")
            return True
        for name, run in (("x", self.record), ("x2", self.replay)):
            if run.error is not None:
                self.unhooked.append(
                    f"under the hooks the run on {name} raises {type(run.error).__name__} "
                    f"({run.error}), which it does not without them"
                )
                return True
        return False

    def _leaves(self) -> None:
        runs = (self.record, self.again, self.replay, self.plain_x)
        one, repeated, two, free = (dict(leaves_by_name(r.output)) for r in runs)
        if list(one) != list(two):
            if list(free) != list(one) or list(repeated) != list(one):
                self.found.unresolved.append("the structure of the output varies from run to run")
                return
            gone = sorted(set(one) ^ set(two))[:3]
            said = f"the structure of the output depends on the data: {', '.join(gone)}"
            self.found.findings.append(UncoveredUse("released without noise", said))
            return
        opaque = [n for n, leaf in one.items() if not _readable(leaf)]
        if opaque:
            kind = type(one[opaque[0]]).__name__
            self.found.unresolved.append(f"{opaque[0]} is a {kind}, which can't be looked into")
        one = {n: leaf for n, leaf in one.items() if n not in opaque}
        varied = [n for n in one if n in repeated and not _equal(one[n], repeated[n])]
        if varied:
            self.unhooked.append(
                f"{varied[0]} is random although every hooked draw was repeated: "
                "its noise bypasses the hooks"
            )
        differing = [n for n in one if n not in varied and not _equal(one[n], two[n])]
        fixed = [n for n in differing if _equal(one[n], free.get(n))]
        for names in (fixed, [n for n in differing if n not in fixed]):
            if names:
                name = names[0]
                self._differs(name, len(names) - 1, one[name], two[name], free.get(name))

    def _differs(self, name: str, more: int, one: Any, two: Any, free: Any) -> None:
        lost = self.found.lost_sight()
        name = f"{name} (and {more} more)" if more else name
        shown = f"{name} is {_show(one)} on x and {_show(two)} on x2 with the same noisy values"
        if lost:
            self.found.unresolved.append(
                f"{shown}; it may be covered by noise that was lost: {lost[0]}"
            )
        elif self.found.chosen:
            self.found.unresolved.append(f"{shown}; coins or choices may cover it")
        elif _equal(one, free):
            said = f"{shown}, and does not vary: it is released without noise"
            self.found.findings.append(UncoveredUse("released without noise", said))
        else:
            said = f"{shown}: it is computed from noisy values and from the data"
            self.found.findings.append(UncoveredUse("noise and data mixed", said))

    def all_released(self, rows: Iterable[PrimitiveRow]) -> bool:
        """Whether every noisy value of these that depends on the data is released as it is."""
        released = {_key(leaf) for _, leaf in leaves_by_name(self.record.output)}
        for use in (use for row in rows for use in row.priced):
            if use.released:
                continue
            if use.kind in ("coin", "choice") and len(self.found.rows) > 1:
                return False  # a bit in the output may be another one's
            try:
                values = np.ravel(np.asarray(use.noisy, dtype=float))
            except (TypeError, ValueError):
                return False
            if not all(float(v) in released for v in values):
                return False
        return True


class _Report:
    """The numbers and the words of a finding."""

    def __init__(
        self, found: TapeComparison, outputs: _Outputs, measure: Measure, limit: float | None
    ) -> None:
        self.found, self.outputs = found, outputs
        self.measure, self.limit = measure, limit
        self.cost = found.price.at(measure)
        if limit is not None:
            self._against(limit)
        self.findings = grouped(found.findings)
        uncovered = any(f.what in _UNCOVERED for f in self.findings)
        self.value = math.inf if uncovered else self.cost
        self.incomplete = bool(
            found.unresolved or outputs.unhooked or found.price.unpriced or self._nothing_seen()
        )
        self.worth = self._worth(uncovered)

    def _nothing_seen(self) -> bool:
        return not self.found.first.draws and not self.found.first.uses

    def _against(self, limit: float) -> None:
        """Which primitives alone cost more than the claim; else whether their sum does."""
        parts = [row for row in self.found.rows.values() if not row.price.free]
        if self.cost <= limit * (1 + SLACK):
            return
        if not self._decided(parts):
            self.found.unresolved.append(
                f"the noisy values cost {self.cost:.6g} in all, more than the claim {limit:g}, "
                "but they are not all released as they are"
            )
            return
        over = False
        for row in parts:
            if row.sensitivity is None or not row.scale:
                continue
            if row.price.at(self.measure) > limit * (1 + SLACK):
                over = True
                paid = self.pays_for(row.price, row.scale)
                times = f" in {row.uses} uses" if row.uses > 1 else ""
                said = (
                    f"{row.name} noise of scale {row.scale:.6g} pays for a sensitivity of "
                    f"{paid:.6g} at the claim; the values before noise are "
                    f"{row.sensitivity:.6g} apart{times}"
                )
                self.found.findings.append(UncoveredUse("sensitivity", said, row.place))
        if not over:
            lines = ", ".join(
                f"{r.price.at(self.measure):.4g} at line {r.place.line}" for r in parts[:6]
            )
            said = f"the pair costs {self.cost:.6g} in all, more than the claim {limit:g}: {lines}"
            self.found.findings.append(
                UncoveredUse("budget", said, parts[-1].place if parts else None)
            )

    def _decided(self, parts: list[PrimitiveRow]) -> bool:
        """Whether the cost is what the pair is worth, so that to exceed the claim is a finding.

        Post-processing, the sampling of records and draws that were not followed may make it less.
        """
        found = self.found
        sampled = found.chosen and any(row.sensitivity is not None for row in parts)
        loose = any(row.price.loose or row.price.unpriced for row in parts)
        lost = found.unresolved or self.outputs.unhooked
        return not (sampled or loose or lost) and self.outputs.all_released(parts)

    def pays_for(self, price: Price, scale: float) -> float:
        """The sensitivity at which noise of this scale costs just the claim."""
        from dpest.notions.conversions import approx_to_gdp

        if self.limit is None:
            return math.nan
        if not price.mu:
            return scale * self.limit
        if self.measure.kind == "zcdp":
            return scale * math.sqrt(2 * self.limit)
        if self.measure.kind == "gdp":
            return scale * self.limit
        if self.measure.kind != "epsilon" or not self.measure.delta:
            return 0.0
        return scale * approx_to_gdp(self.limit, self.measure.delta)

    def _worth(self, uncovered: bool) -> str:
        if self._nothing_seen():
            return "no draw was seen: the noise bypasses the hooks, or there is none"
        if uncovered:
            return "no finite cost: part of what is released is not covered by the noise"
        if self.incomplete:
            return "the cost of what was seen; not all of the randomness was followed"
        if self.found.price.trusted:
            return "the cost by the library's own account of its primitives, not by their noise"
        if (
            self.outputs.all_released(self.found.rows.values())
            and self.found.price.tight
            and self._tight_measure()
        ):
            return "exact for this pair, on the noise that was drawn: all noisy values are released"
        return (
            "an upper bound for this pair, on the noise that was drawn: what is released is made "
            "of noisy values"
        )

    def _tight_measure(self) -> bool:
        price = self.found.price
        return bool(price.mu) or (self.measure.kind == "epsilon" and not self.measure.delta)

    def lines(self) -> list[str]:
        found = []
        for row in self.found.rows.values():
            found.append(self._row_line(row))
        found += [f"FINDING {f.what}: {f}" for f in self.findings]
        found += [f"unresolved: {u}" for u in self.found.unresolved]
        found += [f"bypasses the hooks: {u}" for u in self.outputs.unhooked]
        if self.found.price.unpriced:
            found.append(f"not priced: {self.found.price.unpriced}")
        found.append("a finding about one pair and one draw of noise, not a bound")
        return found

    def _row_line(self, row: Any) -> str:
        parts = [f"{row.name}: costs {row.price.at(self.measure):.6g}"]
        if row.sensitivity is not None:
            parts.append(f"measured sensitivity {row.sensitivity:.6g} ({row.norm})")
        if row.declared is not None:
            parts.append(f"declared {row.declared:.6g}")
        elif row.scale and self.limit is not None:
            parts.append(f"its scale pays for {self.pays_for(row.price, row.scale):.6g}")
        if row.scale:
            parts.append(f"scale {row.scale:.6g}")
        if row.uses > 1:
            parts.append(f"{row.uses} uses")
        return f"{', '.join(parts)}; {row.place}"

    def details(self) -> dict[str, Any]:
        rows = [
            {
                "primitive": row.name,
                "file": row.place.file,
                "line": row.place.line,
                "code": row.place.text,
                "called_at": row.place.user,
                "uses": row.uses,
                "scale": row.scale,
                "sensitivity": row.sensitivity,
                "norm": row.norm,
                "declared": row.declared,
                "pays_for": self.pays_for(row.price, row.scale)
                if row.scale and self.limit is not None
                else None,
                "cost": row.price.at(self.measure),
                "trusted": row.price.trusted,
            }
            for row in self.found.rows.values()
        ]
        return {
            "recorded": {
                "cost": self.cost,
                "worth": self.worth,
                "complete": not self.incomplete,
                "exceeds_claim": self.exceeds(),
                "primitives": rows,
                "findings": [
                    {"what": f.what, "words": f.words, **_place(f.place)} for f in self.findings
                ],
                "unresolved": list(self.found.unresolved),
                "bypassed": list(self.outputs.unhooked),
            }
        }

    def exceeds(self) -> bool:
        return bool(self.findings)


def _place(where: TapedPlace | None) -> dict[str, Any]:
    if where is None:
        return {"file": None, "line": None, "code": None}
    return {"file": where.file, "line": where.line, "code": where.text}


def _raised_at(error: BaseException | None) -> TapedPlace | None:
    import linecache
    import traceback

    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    inner = [f for f in frames if "/dpest/" not in f.filename]
    if not inner:
        return None
    last = inner[-1]
    line = last.lineno or 0
    return TapedPlace(
        last.filename, line, last.name, linecache.getline(last.filename, line).strip()
    )


def _equal(a: Any, b: Any) -> bool:
    a, b = plain(a), plain(b)
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    try:
        return bool(a == b)
    except Exception:  # objects whose == may do anything
        return False


def _readable(leaf: Any) -> bool:
    """Whether a value can be compared; an object that has no == of its own can't."""
    return leaf is None or type(leaf).__eq__ is not object.__eq__


def _show(value: Any) -> str:
    value = plain(value)
    return f"{value:.6g}" if isinstance(value, float) else repr(value)[:60]
