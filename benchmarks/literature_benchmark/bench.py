"""The benchmark: which rows, which engines, run over all cores, and checked against itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from dpest.errors import InputError
from dpest.verdict import MEET
from literature_benchmark.cache import CellCache
from literature_benchmark.cells import ENGINES, EXACT_ENGINES, Cell, Settings, compute

TOOLS = ("DP-Sniper", "StatDP", "DP-Finder", "CheckDP", "dpest")
BIT_LEVEL = "NumPy Laplace (bit level)"
# Two engines compute one number in different ways; beyond this they disagree.
AGREEMENT = 1e-7


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    tool: str
    length: int
    black_box: bool = False


def all_rows() -> list[Row]:
    """Every mechanism of the literature's tools, then released libraries as black boxes."""
    from dpest import zoo
    from literature_benchmark.third_party import installed

    found = [
        Row(m.name, str(m.about["tool"]), int(m.about["length"]))
        for m in zoo.entries()
        if m.about["tool"] in TOOLS
    ]
    found.sort(key=lambda row: TOOLS.index(row.tool))
    libraries, _ = installed()
    found.append(Row(BIT_LEVEL, "third party", 1))
    found += [Row(name, "third party", 1, black_box=True) for name in libraries]
    return found


def select(only: Sequence[str]) -> list[Row]:
    rows = all_rows()
    if not only:
        return rows
    wanted = {name.lower() for name in only}
    chosen = [r for r in rows if r.name.lower() in wanted or r.tool.lower() in wanted]
    known = {r.name.lower() for r in rows} | {r.tool.lower() for r in rows}
    unknown = [name for name in only if name.lower() not in known]
    if unknown:
        raise InputError(f"no row or tool is called {unknown[0]!r}; see `dpest zoo`")
    return chosen


def engines_for(row: Row, engines: Iterable[str]) -> list[str]:
    """A black box can only be attacked, by what needs no trace."""
    if row.name == BIT_LEVEL:
        return [e for e in engines if e == "sniper"]
    if row.black_box:
        return [e for e in engines if e in ("sequential", "sniper")]
    return list(engines)


def run(
    rows: Sequence[Row],
    *,
    engines: Sequence[str] = ENGINES,
    pictures: Sequence[tuple[str, str]] = (),
    settings: Settings | None = None,
    cache: Path | None = None,
    workers: int = 2,
    done: Callable[[Cell, int, int], None] | None = None,
) -> list[Cell]:
    """Every cell of the chosen rows and engines, in a fixed order; finished ones are reused."""
    unknown = [e for e in engines if e not in ENGINES]
    if unknown:
        raise InputError(f"no engine is called {unknown[0]!r}; there are {', '.join(ENGINES)}")
    settings = settings or Settings()
    kept = CellCache(cache, settings)
    wanted = [(row.name, engine) for row in rows for engine in engines_for(row, engines)]
    wanted += pictures
    found: dict[tuple[str, str], Cell] = {}
    for name, engine in wanted:
        known = kept.get(name, engine)
        if known is not None:
            found[name, engine] = known
    tasks = _tasks([key for key in wanted if key not in found])

    def finished(cells: Sequence[Cell]) -> None:
        for cell in cells:
            kept.put(cell)
            found[cell.row, cell.engine] = cell
            if done is not None:
                done(cell, len(found), len(wanted))

    if workers <= 1 or len(tasks) <= 1:
        for name, group in tasks:
            finished(compute(name, group, settings))
    else:
        with ProcessPoolExecutor(max_workers=workers) as pool:
            futures: list[Future[list[Cell]]] = [
                pool.submit(compute, name, group, settings) for name, group in tasks
            ]
            try:
                for future in as_completed(futures):
                    finished(future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [found[key] for key in wanted]


def _tasks(missing: Sequence[tuple[str, str]]) -> list[tuple[str, tuple[str, ...]]]:
    """What one worker does at a time: the exact engines of a row together, an attack alone.

    The long ones come first: the pool then ends evenly.
    """
    exact: dict[str, list[str]] = {}
    others: list[tuple[str, tuple[str, ...]]] = []
    for name, engine in missing:
        if engine in EXACT_ENGINES:
            exact.setdefault(name, []).append(engine)
        else:
            others.append((name, (engine,)))
    together = [
        (name, tuple(e for e in EXACT_ENGINES if e in engines)) for name, engines in exact.items()
    ]
    return others + together


def disagreements(cells: Sequence[Cell]) -> list[str]:
    """Where one of our lower bounds exceeds one of our upper bounds, in words.

    The bit-level row speaks of the machine's doubles, not of the mathematics that is proved.
    """
    problems = []
    by_row: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.value is not None and cell.row != BIT_LEVEL:
            by_row.setdefault(cell.row, []).append(cell)
    for row, found in by_row.items():
        for low in (c for c in found if c.side == "lower"):
            for high in (c for c in found if c.side == "upper"):
                assert low.value is not None
                assert high.value is not None
                if low.value > high.value * (1 + AGREEMENT) + 1e-12:
                    problems.append(
                        f"{row}: {low.engine} says at least {low.value:.8g}, "
                        f"{high.engine} at most {high.value:.8g}"
                    )
        worst = next((c for c in found if c.engine == "worst"), None)
        pattern = next((c for c in found if c.engine == "patterns"), None)
        if worst is None or pattern is None or worst.value is None or pattern.value is None:
            continue
        # The search ends when it is as near to a proved bound as counts for meeting it.
        if pattern.value > worst.value * (1 + MEET):
            problems.append(
                f"{row}: a pattern has {pattern.value:.8g}, the search for the worst pair "
                f"only {worst.value:.8g}"
            )
    return problems
