"""Stages of a sample of the records.

**Subsets.** n records are known, and m of them are drawn, each set of m being as likely as another.
One record is replaced. Where all that a stage adds is of records of the subset, and nothing else
looks at it, a stage that is ε-private for replacing a record of the subset is
ln(1 + m/n·(e^ε − 1))-private (Balle, Barthe and Gaboardi 2018, Theorem 9: a subset without the
record becomes one with it by replacing one of its records).

**Samples.** Where every case in which a record adds anything needs heads of one and the same coin
of the record, and that coin is looked at in one stage alone, the stage is a mechanism on a Poisson
sample. In any other use the coin is dropped: with equal coins, samples of neighbours are
neighbours or equal, and the bound without sampling holds by joint convexity.
"""

from __future__ import annotations

from fractions import Fraction

from .enclosures import exp_range, log_range, rounded
from .shifts import atoms
from .stages import Stage
from .ways import StageWay


def coin_of(way: StageWay, stage: Stage) -> tuple[str, Fraction] | None:
    """The coin that every case of the stage needs heads of, to add anything."""
    coins: set[tuple[str, Fraction]] = set()
    yes, no = ("in", "out") if way.replace else ("heads", "tails")
    for p in {k.passed for k in atoms(way, stage.symbols()) if k.passed >= 0}:
        for case in way.passes[p].cases:
            if not any(f.terms or f.constant for f in case.adds):
                continue
            heads = {(c.coin, c.chance) for c in case.conditions if c.relation == yes}
            tails = [c for c in case.conditions if c.relation == no]
            if len(heads) != 1 or tails:
                return None
            coins |= heads
    return coins.pop() if len(coins) == 1 else None


def coins_seen(way: StageWay, stage: Stage) -> set[str]:
    """The coins that conditions of the stage's cases look at."""
    return {
        c.coin
        for p in {k.passed for k in atoms(way, stage.symbols()) if k.passed >= 0}
        for case in way.passes[p].cases
        for c in case.conditions
        if c.form is None
    }


def amplified(epsilon: Fraction, q: Fraction) -> Fraction:
    """ln(1 + q·(e^ε − 1)), rounded up."""
    return rounded(log_range(1 + q * (exp_range(epsilon)[1] - 1))[1], True, 160)
