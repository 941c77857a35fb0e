"""Random programs on DataFrames: the proved ε against what neighbours move, without the noise.

A program adds Laplace noise to a few numbers that pandas computes. For one pair of neighbours the
loss is Σ |difference| / scale, computed here from the untouched function with all noise set to 0;
no pair may lose more than was proved, and no result may be NaN on one side alone. The exit status
is 1 where one does.

    python validation/pandas_programs.py [PROGRAMS] [PAIRS] [SEED]
"""

from __future__ import annotations

import importlib.util
import math
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpest.ask.declaration import as_mechanism
from dpest.ask.domain_text import parse_domain
from dpest.errors import DpestError
from dpest.evidence import Measure
from dpest.proofs.approximate.proving import prove_contributions
from dpest.proofs.question import asked

CITIES = ["Berlin", "Paris", "Rome"]
HEAD = f"import numpy as np\nimport pandas as pd\nCITIES = {CITIES!r}\n\n"


class Silent(np.random.Generator):
    """Noise that is 0, and the scales that were asked for."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))
        self.scales: list[float] = []

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        self.scales += [float(scale)] * (1 if size is None else int(size))
        return 0.0 if size is None else np.zeros(size)


class Writer:
    """The text of one random program."""

    def __init__(self, source: random.Random, people: bool) -> None:
        self.source = source
        self.people = people

    def number(self) -> float:
        return self.source.choice([0, 1, 5, 10, 18, 40, 65, 100, 500, -3])

    def mask(self, depth: int = 0) -> str:
        kind = self.source.randrange(6 if depth < 2 else 4)
        if kind == 0:
            return f"(df['age'] {self.source.choice(['>=', '<', '>'])} {self.number()})"
        if kind == 1:
            return f"(df['city'] {self.source.choice(['==', '!='])} {self.source.choice(CITIES)!r})"
        if kind == 2:
            low, high = sorted((self.number(), self.number()))
            return f"df['income'].between({low}, {high})"
        if kind == 3:
            return f"df['city'].isin({self.source.sample(CITIES, 2)!r})"
        if kind == 4:
            return f"(~{self.mask(depth + 1)})"
        return f"({self.mask(depth + 1)} {self.source.choice('&|')} {self.mask(depth + 1)})"

    def series(self, depth: int = 0) -> str:
        inner = "df['income']" if depth >= 3 else None
        kind = self.source.randrange(9)
        if inner is not None or kind == 0:
            return self.source.choice(["df['income']", "df['age']"])
        if kind == 1:
            low, high = sorted((self.number(), self.number()))
            return f"{self.series(depth + 1)}.clip({low}, {high})"
        if kind == 2:
            return f"{self.series(depth + 1)}.where({self.mask(1)}, {self.number()})"
        if kind == 3:
            return f"{self.series(depth + 1)}.fillna({self.number()})"
        if kind == 4:
            return f"({self.series(depth + 1)} * {self.source.choice([0.5, 2, -1])})"
        if kind == 5:
            points = {c: self.number() for c in self.source.sample(CITIES, 2)}
            return f"df['city'].map({points!r})"
        if kind == 6:
            least = self.number()
            return f"{self.series(depth + 1)}.apply(lambda v: {least} if v < {least} else v)"
        if kind == 7:
            return f"({self.series(depth + 1)} + {self.series(depth + 1)})"
        return f"{self.series(depth + 1)}.abs()"

    def bounded(self) -> str:
        low, high = sorted((self.number(), self.number() + 1))
        return f"{self.series()}.clip({low}, {high})"

    def statement(self, k: int) -> list[str]:
        scale = self.source.choice([1, 2, 10, 100])
        kind = self.source.randrange(8 if self.people else 6)
        one = f"rng.laplace(0, {scale})"
        if kind == 0:
            return [f"    out.append({self.bounded()}.sum() + {one})"]
        if kind == 1:
            return [f"    out.append(len(df[{self.mask()}]) + {one})"]
        if kind == 2:
            return [f"    out.append({self.bounded()}[{self.mask()}].sum() + {one})"]
        if kind == 3:
            counts = f"df.loc[{self.mask()}, 'city'].value_counts().reindex(CITIES, fill_value=0)"
            return [f"    out += list({counts} + rng.laplace(0, {scale}, size=3))"]
        if kind == 4:
            groups = f"df.assign(v={self.bounded()}).groupby('city')['v'].sum()"
            return [
                f"    s{k} = {groups}.reindex(CITIES, fill_value=0)",
                f"    out += (s{k} + rng.laplace(0, {scale}, size=3)).tolist()",
            ]
        if kind == 5:
            return [f"    out.append({self.series()}.count() + {one})"]
        if kind == 6:
            return [f"    out.append(df.drop_duplicates('id')['income'].clip(0, 10).sum() + {one})"]
        what = self.source.choice(["sum", "mean", "max"])
        each = f"df.assign(v=df['age'].clip(0, 50)).groupby('id')['v'].{what}()"
        return [f"    out.append({each}.clip(0, 20).sum() + {one})"]

    def program(self) -> str:
        lines = ["def program(df, rng):", "    out = []"]
        for k in range(self.source.randint(1, 3)):
            lines += self.statement(k)
        return "\n".join([*lines, "    return out"]) + "\n"


def loaded(text: str, folder: Path, number: int) -> Callable[..., Any]:
    path = folder / f"program_{number}.py"
    path.write_text(HEAD + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.program
    return found


def proved(function: Callable[..., Any], domain: Any, adjacency: str) -> float | None:
    question = asked(
        as_mechanism(function), adjacency, domain.length, None, None, domain, None, domain.form
    )
    try:
        proof = prove_contributions(question, Measure(), None)
    except DpestError:
        return None
    return None if proof.bound is None else float(proof.bound)


def loss(function: Callable[..., Any], x: Any, x2: Any) -> float:
    """Σ |difference| / scale, of the two outputs without noise."""
    first, second = Silent(), Silent()
    a, b = function(x, first), function(x2, second)
    if first.scales != second.scales or len(a) != len(b):
        return math.inf
    total = 0.0
    for u, v, scale in zip(a, b, first.scales, strict=True):
        if (u != u) != (v != v):
            return math.inf
        total += 0.0 if u != u else abs(float(u) - float(v)) / scale
    return total


def worst(
    function: Callable[..., Any], domain: Any, adjacency: str, pairs: int, seed: int
) -> float:
    """The largest loss of some random pairs."""
    generator, source = np.random.default_rng(seed), random.Random(seed)
    found = 0.0
    special = domain.typical_entries()
    for _ in range(pairs):
        base = [domain.random_entry(generator) for _ in range(source.randint(1, 4))]
        entry = source.choice([domain.random_entry(generator), source.choice(special)])
        x, x2 = base, [*base, entry]
        if adjacency == "replace_one":
            x, x2 = [*base, source.choice(special)], [*base, entry]
        found = max(found, loss(function, domain.as_input(x), domain.as_input(x2)))
    return found


def main() -> int:
    given = [int(float(a)) for a in sys.argv[1:]]
    programs, pairs, seed = (*given, *(60, 60, 0)[len(given) :])
    warnings.simplefilter("ignore")
    counts = {"proved": 0, "refused": 0, "tight": 0}
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        for k in range(programs):
            source = random.Random(1000 * seed + k)
            people, nan = k % 3 == 2, k % 2 == 1
            income = "reals(-50, 1000, nan=True)" if nan else "(-50, 1000)"
            own = ", user='id', rows_each=2" if people else ""
            fields = f"age=(0, 120), city={CITIES!r}, income={income}{own}"
            domain = parse_domain(f"table(any, {fields}, as_='pandas')")
            text = Writer(source, people).program()
            function = loaded(text, Path(name), k)
            for adjacency in ("add_remove_one", "replace_one"):
                bound = proved(function, domain, adjacency)
                if bound is None:
                    counts["refused"] += 1
                    continue
                counts["proved"] += 1
                found = worst(function, domain, adjacency, pairs, k)
                counts["tight"] += found > 0.9 * bound
                if found > bound * (1 + 1e-9):
                    wrong += 1
                    print(f"WRONG {adjacency} {domain}: {found} > {bound}\n{text}", flush=True)
    print(
        f"{counts['proved']} proved ({counts['tight']} of them reached within a tenth), "
        f"{counts['refused']} refused, {wrong} wrong, of {programs} programs"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
