"""Verdicts made by hand, for tests of how they are shown."""

from __future__ import annotations

import math

from dpest.ask.stated import StatedQuestion
from dpest.evidence import EPSILON, EXACT, PROVED, Evidence, Witness, confidence
from dpest.pictures import Bars, PairPicture
from dpest.verdict import Verdict


def question(limit: float | None = 0.1, mechanism: str = "SVT4") -> StatedQuestion:
    return StatedQuestion(
        mechanism=mechanism,
        parameters={"eps": 0.1, "cutoff": 1},
        adjacency="every entry may move by at most 1 (L∞)",
        domain="vectors of 10 real numbers",
        length=10,
        claim=None if limit is None else f"{limit:g}-DP",
        measure=EPSILON,
        limit=limit,
    )


def lower(value: float, standing=EXACT, **more) -> Evidence:
    witness = Witness(
        x=[1.0] * 10,
        x2=[2.0] * 5 + [0.0] * 5,
        event="the output is [False] * 9 + [True]",
        p=0.0123,
        q=0.0103,
        replay="import dpest\nprint('again')",
    )
    return Evidence("lower", value, standing, "exact: half half", witness, seconds=0.2, **more)


def upper(value: float, **more) -> Evidence:
    proof = Witness(event="shift the threshold's noise by 1, at cost eps/4")
    return Evidence("upper", value, PROVED, "proof: potentials", proof, seconds=0.05, **more)


def pictures():
    return [
        PairPicture(
            "The pair of the verdict",
            [1] * 3,
            [2, 0, 0],
            outputs=Bars(["<b>T</b>", "FT", "FFT"], [0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [0]),
            profile=[(i / 100, max(0.0, 0.05 - i / 400)) for i in range(30)],
            needed=[(0.0, 0.17), (0.01, 0.16), (0.05, 0.0)],
            tradeoff=[(i / 50, max(0.0, 1 - i / 50 * 1.1)) for i in range(51)],
            loss=[(-0.1, 0.0), (0.0, 0.5), (0.1, 1.0)],
        )
    ]


VIOLATED = Verdict(question(), (lower(0.1725), upper(0.175)), picturing=pictures)
TIGHT = Verdict(question(0.2), (lower(0.1999), upper(0.2)))
LOOSE = Verdict(question(0.2), (lower(0.05, confidence(0.05), runs=1000, seed=3), upper(0.2)))
OPEN = Verdict(question(0.2), (lower(0.05, confidence(0.05), runs=1000, seed=3),))
MEASURED = Verdict(question(None), (lower(0.1999), upper(0.2)))
INFINITE = Verdict(question(0.2), (lower(math.inf),), ("no proof: it is not private",))
EVERY = (VIOLATED, TIGHT, LOOSE, OPEN, MEASURED, INFINITE)
