"""Two tapes side by side: what each primitive costs on the pair, and what no noise covers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dpest.attacks.recorded.libraries import Call
from dpest.attacks.recorded.pricing import (
    ROUNDING,
    Price,
    chances_price,
    coin_price,
    difference_price,
    distance,
    shift_price,
    total,
)
from dpest.attacks.recorded.tape import Divergence, Tape, TapedPlace, Use

What = Literal[
    "sensitivity",
    "budget",
    "not a number",
    "scale from data",
    "noise used twice",
    "seed from data",
    "control flow",
    "released without noise",
    "noise and data mixed",
    "raises",
]


@dataclass(frozen=True)
class UncoveredUse:
    """Something that the noise does not cover, in words, with the line."""

    what: What
    words: str
    place: TapedPlace | None = None

    def __str__(self) -> str:
        return f"{self.words} ({self.place})" if self.place is not None else self.words


@dataclass
class PrimitiveRow:
    """One primitive: all uses of noise by one line of code."""

    name: str
    place: TapedPlace
    uses: int = 0
    norm: str = "l1"
    sensitivity: float | None = None
    scale: float | None = None
    declared: float | None = None  # the sensitivity that a library was told
    prices: list[Price] = field(default_factory=list)
    priced: list[Use] = field(default_factory=list)  # uses whose values before noise differ

    @property
    def price(self) -> Price:
        return total(self.prices)


class TapeComparison:
    """What came out of two tapes: rows of primitives, findings, and what was not understood."""

    def __init__(self, first: Tape, second: Tape, divergence: Divergence | None) -> None:
        self.first, self.second = first, second
        self.rows: dict[tuple[str, str, int], PrimitiveRow] = {}
        self.findings: list[UncoveredUse] = []
        self.unresolved: list[str] = []
        # How far each noise moves, and who asked for it; which noise an atom is part of.
        self.shifts: dict[tuple[tuple[int, float], ...], tuple[float, TapedPlace]] = {}
        self.owners: dict[int, tuple[tuple[int, float], ...]] = {}
        self.idle: list[Use] = []  # noise on a value without data: it may cover something later
        # Whether coins or choices decided something.
        self.chosen = any(_selects(use) for use in (*first.uses, *second.uses))
        for index, (a, b) in enumerate(zip(first.uses, second.uses, strict=False)):
            if not self._superseded(index):
                self._compare(a, b)
        if divergence is not None:
            self._diverged(divergence)

    # What noise covers ---------------------------------------------------------------------------

    def _superseded(self, index: int) -> bool:
        """Whether a later use goes on with this one, and nobody looked at it in between."""
        if self.first.uses[index].handled or self.second.uses[index].handled:
            return False
        later = (index in use.replaces for use in self.first.uses[index + 1 :])
        return any(later)

    def _compare(self, a: Use, b: Use) -> None:
        if a.kind == "sum":
            self._sum(a, b)
        elif a.kind == "coin":
            self._coin(a, b)
        elif a.kind == "choice":
            self.chosen = True
            self._add(self._row(a, a.name), self._choice(a, b), a)
        elif a.kind == "primitive":
            self._primitive(a, b)
        elif a.value != b.value:
            said = f"a generator is seeded with the data: {a.value} against {b.value}"
            self.findings.append(UncoveredUse("seed from data", said, a.place))

    def _row(self, use: Use, name: str) -> PrimitiveRow:
        key = (name, use.place.file, use.place.line)
        row = self.rows.setdefault(key, PrimitiveRow(name, use.place))
        row.uses += 1
        return row

    def _add(self, row: PrimitiveRow, price: Price, use: Use) -> None:
        row.prices.append(price)
        if not price.free:
            row.priced.append(use)

    def _sum(self, a: Use, b: Use) -> None:
        laws, scales = self._noise(self.first, a)
        _, scales2 = self._noise(self.second, b)
        name = " + ".join(dict.fromkeys(laws[0])) if laws and laws[0] else "noise"
        row = self._row(a, name)
        row.norm = "l2" if name == "normal" else "l1"
        value, value2 = np.ravel(a.value), np.ravel(b.value)
        if np.any(np.isfinite(value) != np.isfinite(value2)):
            said = "the value before noise is not a finite number on one input, and is on the other"
            self.findings.append(UncoveredUse("not a number", said, a.place))
            self._add(row, Price(pure=math.inf), a)
            return
        if not np.allclose(scales, scales2, rtol=1e-9):
            at = int(np.argmax(np.abs(scales - scales2).sum(axis=1)))
            said = (
                f"the scale of the noise depends on the data: {_list(np.abs(scales[at]))} "
                f"against {_list(np.abs(scales2[at]))}"
            )
            self._depends(said, name, row, a)
            return
        gap = distance(value, value2, row.norm) or 0.0
        if gap == 0 and not a.released:
            self.idle.append(a)
        if gap and name == "uniform" and self.chosen:
            said = "uniform noise between bounds that depend on the data"
            self.unresolved.append(f"{said} ({a.place}); a random choice may account for it")
            return
        row.sensitivity = _norm(row.sensitivity, gap, row.norm)
        least = float(np.min(np.abs(scales), initial=math.inf))
        row.scale = min(filter(None, (row.scale, least)), default=0.0)
        self._add(row, self._moved(a, value2 - value, laws, scales), a)

    def _depends(self, said: str, law: str, row: PrimitiveRow, use: Use) -> None:
        """The noise itself depends on the data; after a random choice that may be all right."""
        if self.chosen or law == "uniform":
            self.unresolved.append(f"{said} ({use.place}); a random choice may account for it")
            return
        self.findings.append(UncoveredUse("scale from data", said, use.place))
        self._add(row, Price(pure=math.inf), use)

    def _moved(self, use: Use, gaps: Any, laws: list[list[str]], scales: Any) -> Price:
        """The cost of moving the noise so that the noisy values stay what they are."""
        prices = []
        for element, gap in enumerate(gaps):
            size = max(abs(np.ravel(use.value)[element]), 1.0)
            shift = 0.0 if abs(gap) <= ROUNDING * size else -float(gap)
            known = self._known(use, element, shift)
            if known == "paid":
                continue
            if known == "twice":
                prices.append(Price(pure=math.inf))
            elif len(use.terms) == 1:
                prices.append(shift_price(laws[element][0], abs(scales[element][0]), shift))
            else:
                prices.append(difference_price(laws[element], list(scales[element]), shift))
        return total(prices)

    def _known(self, use: Use, element: int, shift: float) -> Literal["new", "paid", "twice"]:
        """Whether this noise was moved before: alike, which is paid once, or in another way."""
        noise = [(int(np.ravel(a)[element]), float(np.ravel(f)[element])) for a, f in use.terms]
        scale = noise[0][1]
        if not scale:
            return "new"  # a scale of zero: priced as no noise at all
        signature = tuple((atom, round(by / scale, 9)) for atom, by in noise)
        own = shift / scale
        if signature in self.shifts:
            known, where = self.shifts[signature]
            if abs(known - own) <= 1e-9 * max(abs(known), abs(own), 1e-3):
                return "paid"
            said = (
                "one draw of noise covers two different values: their difference is released "
                f"without noise (first at {where.file}:{where.line})"
            )
            self.findings.append(UncoveredUse("noise used twice", said, use.place))
            return "twice"
        self.shifts[signature] = (own, use.place)
        for atom, _ in noise:
            other = self.owners.setdefault(atom, signature)
            if other != signature and (own or self.shifts[other][0]):
                self.unresolved.append(f"one draw of noise is part of several sums ({use.place})")
        return "new"

    def _noise(self, tape: Tape, use: Use) -> tuple[list[list[str]], Any]:
        """For each number of a sum: the laws of its noises, and their scales with the factors."""
        laws: list[list[str]] = []
        scales = []
        for atoms, factor in use.terms:
            names, own = tape.atom_scale(np.asarray(atoms))
            lattice = np.array([law == "geometric" for law in names], dtype=bool)
            with np.errstate(divide="ignore"):
                own = np.where(lattice, 1 / -np.log1p(-np.where(lattice, own, 0.5)), own)
            laws.append(["exponential" if law == "geometric" else law for law in names])
            scales.append(own * np.ravel(factor))
        by_element = [list(parts) for parts in zip(*laws, strict=True)]
        return by_element, np.stack(scales, axis=1)

    def _coin(self, a: Use, b: Use) -> None:
        self.chosen = True
        row = self._row(a, "coin")
        if len(a.terms) != 1:
            self._add(row, Price(unpriced="a comparison of several noises at once"), a)
            return
        laws, scales = self._noise(self.first, a)
        _, scales2 = self._noise(self.second, b)
        value, value2 = np.ravel(a.value), np.ravel(b.value)
        if value.shape != value2.shape or not np.allclose(scales, scales2, rtol=1e-9):
            self._depends("the noise that is compared depends on the data", laws[0][0], row, a)
            return
        by = scales[:, 0]
        shape = np.broadcast_shapes(value.shape, by.shape)
        value, value2, by = (np.broadcast_to(v, shape) for v in (value, value2, by))
        self._add(
            row, coin_price(laws[0][0], np.abs(by), value * np.sign(by), value2 * np.sign(by)), a
        )

    def _choice(self, a: Use, b: Use) -> Price:
        first, second = np.asarray(a.value), np.asarray(b.value)
        if a.name != "binomial":
            return chances_price(first, second)
        if first.shape != second.shape or not np.array_equal(first[0], second[0]):
            return Price(pure=math.inf)
        ways = [np.stack([p, 1 - p]) for p in (np.ravel(first[1]), np.ravel(second[1]))]
        trials = np.ravel(first[0])
        each = [chances_price(ways[0][:, i], ways[1][:, i]) for i in range(len(trials))]
        return Price(
            pure=float(np.dot(trials, [p.pure for p in each])),
            behind=float(np.dot(trials, [p.pure if p.behind is None else p.behind for p in each])),
        )

    def _primitive(self, a: Use, b: Use) -> None:
        call, call2 = a.parameters.get("call"), b.parameters.get("call")
        if not isinstance(call, Call) or not isinstance(call2, Call):
            self.chosen = True  # a draw whose law is not priced
            return
        row = self._row(a, a.name)
        row.declared = call.sensitivity
        if _settings(call) != _settings(call2):
            said = (
                f"the parameters of {a.name} depend on the data: {_settings(call)} "
                f"against {_settings(call2)}"
            )
            self._depends(said, a.name, row, a)
            return
        if call.price is not None:
            self._add(row, call.price(call.value, call2.value), a)
            return
        self._library_noise(row, a, call, call2)

    def _library_noise(self, row: PrimitiveRow, use: Use, call: Call, call2: Call) -> None:
        row.norm = call.norm or ("l2" if call.law == "normal" else "l1")
        first, second = call.value, call2.value
        if isinstance(first, dict) and isinstance(second, dict):
            if first.keys() != second.keys():
                said = f"{row.name} releases other groups: {_unlike(first, second)}"
                self.findings.append(UncoveredUse("released without noise", said, use.place))
                return
            first, second = ([d[k] for k in sorted(first)] for d in (first, second))
        gap = distance(first, second, row.norm)
        if gap is None:
            equal = _same(call.value, call2.value)
            believed = Price() if equal else Price(claimed=call.claim or (0.0, 0.0), trusted=True)
            if not equal and call.claim is None:
                believed = Price(unpriced=f"{row.name} on a value that can't be compared")
            self._add(row, believed, use)
            return
        if math.isinf(gap):
            said = f"{row.name} gets a value that is not a finite number on one of the inputs"
            self.findings.append(UncoveredUse("not a number", said, use.place))
        elif call.sensitivity is not None and gap > call.sensitivity * (1 + 1e-9):
            said = (
                f"{row.name} was told a sensitivity of {call.sensitivity:.6g}; its values on the "
                f"two inputs are {gap:.6g} apart"
            )
            self.findings.append(UncoveredUse("sensitivity", said, use.place))
        row.sensitivity = _norm(row.sensitivity, gap, row.norm)
        if call.law:
            row.scale = call.scale
            self._add(row, shift_price(call.law, call.scale, gap), use)
        elif gap == 0:
            self._add(row, Price(), use)
        else:
            times = max(1.0, gap / call.sensitivity) if call.sensitivity else 1.0
            epsilon, delta = call.claim or (math.inf, 1.0)
            self._add(row, Price(claimed=(times * epsilon, delta), trusted=True), use)

    # What it doesn't cover -----------------------------------------------------------------------

    def _diverged(self, divergence: Divergence) -> None:
        where = divergence.second or divergence.first
        said = f"with the same noisy values, the run on x2 {divergence.words}"
        if divergence.first is not None and divergence.second is not None:
            said += f" (x: {divergence.first})"
        if self.chosen or divergence.sampling or self.lost_sight():
            self.unresolved.append(
                f"{said} ({where}); coins or noise that could not be followed may account for it"
            )
        else:
            self.findings.append(UncoveredUse("control flow", said, where))

    @property
    def price(self) -> Price:
        return total(row.price for row in self.rows.values())

    def lost_sight(self) -> list[str]:
        """Draws that were never seen to meet a value."""
        lost: dict[str, str] = {}
        for draw in self.first.draws:
            if not draw.followed and draw.size:
                lost[str(draw.place)] = draw.words
        for use in self.idle:
            lost[str(use.place)] = "noise"
        return [f"{words} at {where}" for where, words in lost.items()]


def _selects(use: Use) -> bool:
    call = use.parameters.get("call")
    return isinstance(call, Call) and call.selects


def _settings(call: Call) -> dict[str, Any]:
    told = {k: v for k, v in call.parameters.items() if isinstance(v, (str, int, float))}
    return {**told, **({"scale": float(f"{call.scale:.9g}")} if call.law else {})}


def _norm(before: float | None, gap: float, norm: str) -> float:
    if before is None:
        return gap
    return math.hypot(before, gap) if norm == "l2" else before + gap


def _list(values: Any) -> str:
    return ", ".join(f"{v:.6g}" for v in np.ravel(values))


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except Exception:  # a value of the user's, whose == may do anything
        return False


def _unlike(first: dict[str, Any], second: dict[str, Any]) -> str:
    return ", ".join(sorted(first.keys() ^ second.keys())[:3])


def leaves_by_name(value: Any) -> Iterator[tuple[str, Any]]:
    """The values in an output with their places in words."""
    from dpest.running.skeleton import Leaf, flatten

    skeleton, leaves = flatten(value)
    names: list[str] = []

    def walk(part: Any, path: str) -> None:
        if isinstance(part, Leaf):
            names.append(path or "the output")
            return
        keys = part.keys if part.container == "dict" else range(len(part.parts))
        for key, inner in zip(keys, part.parts, strict=True):
            walk(inner, f"{path}[{key!r}]")

    walk(skeleton, "")
    yield from zip(names, leaves, strict=True)


def grouped(findings: list[UncoveredUse]) -> list[UncoveredUse]:
    """Findings that say the same once."""
    seen: dict[str, UncoveredUse] = defaultdict()
    for finding in findings:
        seen.setdefault(str(finding), finding)
    return list(seen.values())
