"""Runs per second through the batch reading: on one core, two cores, a Dask cluster, a GPU.

    python benchmarks/scale.py                  # cores and Dask
    python benchmarks/scale.py --device cuda    # a GPU
    python benchmarks/scale.py --device cuda --operations    # what single operations cost there

The mechanisms are plain functions, as a user's file has them. Each line gives the claim, our
figure, the reference and the ratio; rates are the best of a few rounds, ratios the median, since
machines are shared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpest.running.batch.counts import count_outputs

EPS = 0.1
QUERIES = [1.0] * 10
GPU_TARGET = 3e9


def svt1(queries, rng, *, eps=EPS, threshold=0.5, cutoff=1):  # type: ignore[no-untyped-def]
    rho = rng.laplace(scale=2 / eps)
    answers, hits = [], 0
    for q in queries:
        if q + rng.laplace(scale=4 * cutoff / eps) >= threshold + rho:
            answers.append(True)
            hits += 1
            if hits == cutoff:
                break
        else:
            answers.append(False)
    return answers


def noisy_max(queries, rng, *, eps=EPS):  # type: ignore[no-untyped-def]
    return np.argmax(np.asarray(queries) + rng.laplace(scale=2 / eps, size=len(queries)))


def prefix_sum(queries, rng, *, eps=EPS):  # type: ignore[no-untyped-def]
    return np.cumsum(np.asarray(queries) + rng.laplace(scale=1 / eps, size=len(queries)))


def prefix_sum_above(queries, rng, *, eps=EPS):  # type: ignore[no-untyped-def]
    """An event of PrefixSum, so that it can be counted."""
    return prefix_sum(queries, rng, eps=eps)[-1] > 10


MECHANISMS: dict[str, Callable[..., Any]] = {
    "SVT1": svt1,
    "Noisy Max": noisy_max,
    "PrefixSum": prefix_sum_above,
}


def best_rate(measure: Callable[[int], None], size: int, repeats: int = 3) -> float:
    """Runs per second, the best of several goes; the first, which warms up, doesn't count."""
    measure(0)
    best = 0.0
    for i in range(repeats):
        start = time.perf_counter()
        measure(i + 1)
        best = max(best, size / (time.perf_counter() - start))
    return best


def on_device(device: str, size: int) -> None:
    import torch

    if device.startswith("cuda"):
        print(f"device: {torch.cuda.get_device_name()}, torch {torch.__version__}")
    for name, mechanism in MECHANISMS.items():
        runs = size if name == "SVT1" else max(size // 8, 1)

        def measure(i: int, mechanism: Any = mechanism, runs: int = runs) -> None:
            counts = count_outputs(mechanism, QUERIES, runs, i, device=device)
            assert sum(counts.counts) == runs
            if device.startswith("cuda"):
                torch.cuda.synchronize()

        rate = best_rate(measure, runs)
        reference = (
            f"target {GPU_TARGET:.1e}  ratio {rate / GPU_TARGET:.2f}" if name == "SVT1" else ""
        )
        print(f"{name} n=10 on {device}, float64: {rate:.3e} runs/s  {reference}", flush=True)
    counts = count_outputs(svt1, QUERIES, size, 1, device=device)
    here = count_outputs(svt1, QUERIES, 10**6, 1)
    shares = [count / counts.size for count in counts.counts]
    others = [here[output] / here.size for output in counts.outputs]
    worst = max(
        abs(a - b) / max((b * (1 - b) / here.size) ** 0.5, 1e-9)
        for a, b in zip(shares, others, strict=True)
    )
    print(f"largest difference to NumPy's shares of SVT1's outputs: {worst:.1f} standard errors")
    assert worst < 6, (shares, others)
    if device.startswith("cuda"):
        print(f"peak memory of the device: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB")


def on_cores(size: int, rounds: int) -> None:
    """One process, two, and two workers of a Dask cluster, in turns.

    Ratios are medians over the rounds, so that what else the machine does cancels out. All have
    the allocator's setting that workers have (`keep_memory`).
    """
    from dpest.execution.pools import keep_memory
    from dpest.execution.runner import open_runner

    keep_memory()
    with (
        open_runner(workers=1) as one,
        open_runner(workers=2) as two,
        open_runner(cluster="local", workers=2) as dask,
    ):
        runners = {"one core": one, "two cores": two, "Dask, two workers": dask}
        for name, mechanism in MECHANISMS.items():
            runs = size if name == "SVT1" else size // 4
            wall: dict[str, list[float]] = {label: [] for label in runners}
            cpu: dict[str, list[float]] = {label: [] for label in runners}
            ceilings = []
            for runner in runners.values():  # imports and the function's journey are not counted
                runner.count_outputs(mechanism, QUERIES, 10 * 2**17, 0)
            for i in range(rounds):
                for label, runner in runners.items():
                    start = time.perf_counter()
                    cpu[label].append(_cpu_seconds(runner, mechanism, runs, i))
                    wall[label].append(time.perf_counter() - start)
                ceilings.append(_ceiling(two))
            rate = {label: runs / min(seconds) for label, seconds in wall.items()}
            print(f"{name} n=10 on one core: {rate['one core']:.3e} runs/s")
            print(
                f"{name} n=10 on two cores: {rate['two cores']:.3e} runs/s, reference one core "
                f"{rate['one core']:.3e}, ratio {_ratio(wall, 'one core', 'two cores'):.2f} by the "
                f"clock, {2 * _ratio(cpu, 'one core', 'two cores'):.2f} by CPU time (target 1.8); "
                f"two processes of plain arithmetic reach {np.median(ceilings):.2f} here"
            )
            print(
                f"{name} n=10 through Dask, two workers: {rate['Dask, two workers']:.3e} runs/s, "
                f"reference the process pool {rate['two cores']:.3e}, ratio "
                f"{_ratio(wall, 'two cores', 'Dask, two workers'):.2f} by the clock, "
                f"{_ratio(cpu, 'two cores', 'Dask, two workers'):.2f} by CPU time (target 0.9)",
                flush=True,
            )


def _ratio(seconds: dict[str, list[float]], first: str, second: str) -> float:
    """How many times as long the first takes as the second: the median over the rounds."""
    return float(np.median(np.array(seconds[first]) / np.array(seconds[second])))


def _ceiling(two: Any) -> float:
    """How much two processes do in the time of one, of arithmetic that fits in the cache."""

    def arithmetic(number: int) -> float:
        rng, numbers = np.random.Generator(np.random.SFC64(number)), np.empty(4096)
        for _ in range(10_000):
            rng.standard_exponential(out=numbers)
        return float(numbers[0])

    seconds = []
    for blocks in (range(1), range(2)):
        start = time.perf_counter()
        two.map_blocks(arithmetic, blocks, name="arithmetic")
        seconds.append(time.perf_counter() - start)
    return 2 * seconds[0] / seconds[1]


def _cpu_seconds(runner: Any, mechanism: Callable[..., Any], runs: int, seed: int) -> float:
    """CPU seconds of this process and its children for `runs` runs."""
    before = _spent()
    counts = runner.count_outputs(mechanism, QUERIES, runs, seed)
    assert sum(counts.counts) == runs
    return _spent() - before


def _spent() -> float:
    """CPU seconds so far of this process and of all that it has started and that live."""
    import psutil

    here = psutil.Process()
    return sum(sum(p.cpu_times()[:2]) for p in (here, *here.children(recursive=True)))


def operations(device: str, size: int) -> None:
    """Time of single operations on `size` doubles: where a block's time goes."""
    import torch

    generator = torch.Generator(device=device)
    doubles = torch.empty(size, dtype=torch.float64, device=device)
    other = torch.rand(size, dtype=torch.float64, device=device)
    small = torch.empty(size, dtype=torch.int8, device=device)
    mask = other > 0.5
    index = torch.nonzero(mask).view(-1)
    index32 = index.to(torch.int32)
    cases: dict[str, Callable[[], Any]] = {
        "exponential_": lambda: doubles.exponential_(0.5, generator=generator),
        "uniform_": lambda: doubles.uniform_(-1, 1, generator=generator),
        "rand": lambda: torch.rand(size, dtype=torch.float64, device=device, generator=generator),
        "normal_": lambda: doubles.normal_(generator=generator),
        "randint int8": lambda: torch.randint(
            -128, 128, (size,), dtype=torch.int8, device=device, generator=generator
        ),
        "int8 random_": lambda: small.random_(-128, 128, generator=generator),
        "int64 random_ of an eighth": lambda: (
            doubles[: size // 8].view(torch.int64).random_(generator=generator)
        ),
        "copysign_ int8": lambda: doubles.copysign_(small),
        "copysign_ double": lambda: doubles.copysign_(other),
        "add": lambda: other + 1.0,
        "add_": lambda: doubles.add_(1.0),
        "ge": lambda: doubles >= other,
        "sum of mask": lambda: mask.sum(),
        "count_nonzero": lambda: torch.count_nonzero(mask),
        "not": lambda: ~mask,
        "nonzero": lambda: torch.nonzero(mask),
        "nonzero_static": lambda: torch.nonzero_static(mask, size=len(index)),
        "masked_select": lambda: other[mask],
        "index_select": lambda: other.index_select(0, index),
        "index_select int32": lambda: other.index_select(0, index32),
        "log": lambda: torch.log(other),
        "log1p_": lambda: doubles.log1p_(),
    }
    for name, run in cases.items():
        try:
            run()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(5):
                run()
            torch.cuda.synchronize()
        except Exception as error:
            print(f"{name}: {type(error).__name__} {error}")
            continue
        seconds = (time.perf_counter() - start) / 5
        print(f"{name:28s} {seconds * 1e3:8.3f} ms  {size / seconds:.2e} elements/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="numpy")
    parser.add_argument("--size", type=float, default=None)
    parser.add_argument("--rounds", type=int, default=5, help="of one core, two and Dask in turns")
    parser.add_argument("--operations", action="store_true")
    options = parser.parse_args()
    if options.operations:
        operations(options.device, int(options.size or 2**27))
    elif options.device != "numpy":
        default = 2**30 if options.device.startswith("cuda") else 2**18
        on_device(options.device, int(options.size or default))
    else:
        on_cores(int(options.size or 60_000_000), options.rounds)


if __name__ == "__main__":
    main()
