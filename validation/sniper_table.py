"""DP-Sniper's table: our lower bounds against the published ones, with a tenth of the runs.

Each row searches the literature's input patterns, forwards and backwards (RAPPOR: every pair),
trains, chooses the attack and measures it with at most 2e7 runs on each input, at confidence 0.95
(the paper: 2e8 and 0.90). A row passes if the median over the seeds reaches 97 % of the better of
the two published bounds; `clear` rows must beat it by 3 %. Nothing but runs of the mechanism is
used. A row is printed as soon as its seeds are done. The worst case over all inputs is printed
beside it: one bound in twenty may exceed it.

    python validation/sniper_table.py [--seeds 5] [--device cuda] [NAME ...]
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, sniper_attack
from dpest.running.batch.batch import block_of
from dpest.running.samples import Samples

# Name: the better published bound, the true worst case at this length.
PUBLISHED = {
    "LaplaceMechanism": (0.0976, 0.1),
    "SnappingLaplace": (0.0979, 0.1),
    "TruncatedGeometric": (0.1156, math.log(9 / 8)),
    "NoisyHist1": (0.0978, 0.1),
    "NoisyHist2": (4.602, 10.0),
    "ReportNoisyMax1": (0.0925, 0.1),
    "ReportNoisyMax2": (0.0979, 0.1),
    "ReportNoisyMax3": (0.2488, 0.25),
    "ReportNoisyMax4": (0.3534, math.inf),
    "SVT1": (0.0858, 0.1),
    "SVT2": (0.0859, 0.1),
    "SVT3": (0.1822, 0.5),
    "SVT4": (0.1696, 0.175),
    "SVT5": (1.761, math.inf),
    "SVT6": (0.2720, 0.5),
    "NumericalSVT": (0.0345, 0.1),
    "SVT34Parallel": (0.2616, 0.575),
    "PrefixSum": (0.5774, 1.0),
    "LaplaceParallel": (0.0350, 0.1),
    "OneTimeRappor": (0.5999, 0.800668),
    "Rappor": (0.3008, 0.400083),
}
CLEAR = {"PrefixSum", "NumericalSVT", "LaplaceParallel", "SVT3", "SVT6", "NoisyHist2", "SVT5"}
# Hundreds of paths: larger blocks are faster.
WIDE = {"SVT6", "SVT34Parallel", "NumericalSVT"}
# Runs on each side: to compare pairs (all of them together), to train, to choose, to measure.
SIZES = (12_000_000, 2_000_000, 4_000_000, 5_000_000)
MOST = 20_000_000
# Rows where more runs show more, and rows whose runs are slow.
OTHER_SIZES = {
    **dict.fromkeys(("SVT1", "SVT2", "SVT4"), (18_000_000, 2_000_000, 16_000_000, MOST)),
    "SVT3": (12_000_000, 2_000_000, 4_000_000, MOST),
    "ReportNoisyMax3": (12_000_000, 2_000_000, 8_000_000, MOST),
    "LaplaceParallel": (6_000_000, 2_500_000, 4_000_000, MOST),
    "PrefixSum": (2_000_000, 1_000_000, 4_000_000, MOST // 2),
    "NumericalSVT": (4_000_000, 2_000_000, 4_000_000, MOST),
    "SVT6": (3_000_000, 1_000_000, 3_000_000, MOST // 2),
    "SVT34Parallel": (6_000_000, 500_000, 1_500_000, 6_000_000),
    **dict.fromkeys(("OneTimeRappor", "Rappor"), (2_000_000, 500_000, 1_000_000, 5_000_000)),
}
# The slowest first, so that workers end together.
SLOWEST = ("SVT34Parallel", "SVT6", "NumericalSVT", "LaplaceParallel", "PrefixSum")


def pairs_for(mechanism: Any, backwards: bool = True) -> list[tuple[Any, Any]]:
    """The literature's patterns, and the same lists backwards if wanted."""
    found = patterns(
        mechanism.adjacency, mechanism.domain, mechanism.about["length"], both_orders=False
    )
    pairs = [(x, x2) for _, x, x2 in found]
    if backwards and all(isinstance(x, list) for pair in pairs for x in pair):
        for x, x2 in list(pairs):
            turned = (x[::-1], x2[::-1])
            if turned not in pairs and turned[::-1] not in pairs:
                pairs.append(turned)
    return pairs


def whole_blocks(
    mechanism: Any, draws: Sequence[tuple[Any, int, int]], device: str = "numpy"
) -> list[Samples]:
    """Each draw as one block, however large."""
    return [block_of(mechanism, x, n, seed, 0, device=device, rows=n) for x, n, seed in draws]


def bound(name: str, scale: float, seed: int, device: str) -> tuple[float, float, str]:
    """One attack: its bound, cpu-seconds, and what it found."""
    mechanism = zoo.get(name)
    pairs = pairs_for(mechanism, backwards=name != "SVT34Parallel")
    screen, train, choose, final = (int(scale * n) for n in OTHER_SIZES.get(name, SIZES))
    screen = screen // len(pairs) if len(pairs) > 1 else 0
    wide = name in WIDE
    plan = SniperPlan(screen, train, choose, final, portion=1 << 20 if wide else 1 << 18)
    begin = time.process_time()
    own = whole_blocks if wide and device == "numpy" else None
    sampler = MechanismSampler(mechanism, device=device, run_all=own)
    found = sniper_attack(sampler, pairs, plan=plan, seed=seed)
    witness = found.witness
    text = f"c={found.details['c']:.2g} {_short(witness.x)} {_short(witness.x2)}"
    return found.value, time.process_time() - begin, text


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="for a quick look: fewer runs")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="numpy", help="where runs are made: numpy, or cuda")
    options = parser.parse_args()
    names = sorted(options.names or PUBLISHED, key=lambda n: n not in SLOWEST)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    found: dict[str, dict[int, tuple[float, float, str]]] = {name: {} for name in names}
    failed = 0
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        tasks = {
            pool.submit(bound, name, options.scale, seed, options.device): (name, seed)
            for name in names
            for seed in seeds
        }
        for task in as_completed(tasks):
            name, seed = tasks[task]
            found[name][seed] = task.result()
            value, seconds, text = found[name][seed]
            print(
                f"{name}, seed {seed}: {value:.4f}, {seconds:.0f} cpu-s, {text}",
                file=sys.stderr,
                flush=True,
            )
            if len(found[name]) == len(seeds):
                failed += not _row(name, [found[name][s] for s in seeds], options.scale)
    return 1 if failed else 0


def _row(name: str, found: list[tuple[float, float, str]], scale: float) -> bool:
    """Print the row; is it good?"""
    published, truth = PUBLISHED[name]
    bounds = [value for value, _, _ in found]
    median = statistics.median(bounds)
    need = published * (1.03 if name in CLEAR else 0.97)
    above = sum(value > truth for value in bounds)
    final = scale * OTHER_SIZES.get(name, SIZES)[3]
    print(
        f"{name:18s} ours {median:7.4f}  published {published:6.4f}  ratio "
        f"{median / published:5.3f}  needed {need:6.4f} {'ok   ' if median >= need else 'BELOW'}"
        f"  worst case {truth:6.4f}{f' ({above} above)' if above else ''}"
        f"  final {final:.0e}  {statistics.median(s for _, s, _ in found):4.0f} cpu-s"
        f"  [{', '.join(f'{b:.4f}' for b in bounds)}]  {found[-1][2]}",
        flush=True,
    )
    return median >= need


def _short(x: Any) -> str:
    return str([f"{v:g}" for v in x]).replace("'", "") if isinstance(x, list) else str(x)


if __name__ == "__main__":
    sys.exit(main())
