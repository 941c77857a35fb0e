"""Native runs on a GPU: rates, agreement with exact probabilities, the final stage of DP-Sniper.

In two halves, since kernels are written where dpest and llvmlite are, and run where a GPU is:

    python benchmarks/native_gpu.py write FOLDER     PTX text and what belongs to it
    python benchmarks/native_gpu.py run FOLDER OUT   on the machine with the GPU: NumPy and CuPy
    python benchmarks/native_gpu.py show FOLDER OUT  p-values and rates, from the counts

A GPU's rates are given as they are; there is nothing to compare them with in one run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RATED = ("SVT1", "SVT6", "ReportNoisyMax1")
TARGETS = {"double": 6e9, "float": 1.5e10}
RUNS = 100_000_000
# DP-Sniper's table: mechanism, and the pair that its final stage looks at.
FINAL = {
    "SVT1": ([1.0] * 10, [0.0] * 10),
    "SVT6": ([1.0] * 10, [0.0] * 10),
    "ReportNoisyMax1": ([1.0] * 10, [0.0] + [1.0] * 9),
    "PrefixSum": ([1.0] * 10, [0.0] * 10),
}


def write(folder: Path) -> None:
    sys.path.insert(0, str(ROOT / "validation"))
    from native_agreement import NAMES, exact_by_code, example

    from dpest import zoo
    from dpest.running.native.ir import DOUBLE, SINGLE
    from dpest.running.native.ptx import GpuKernel, ptx
    from dpest.running.native.runs import compiled_for
    from dpest.running.native.signals import NotCompiled

    folder.mkdir(parents=True, exist_ok=True)
    cases: list[dict[str, Any]] = []

    def add(kind: str, name: str, x: Any, exact: Any = None) -> None:
        compiled = compiled_for(zoo.get(name), x)
        for real in (DOUBLE, SINGLE):
            try:
                text = ptx(compiled.program, real)
            except NotCompiled as refusal:
                print(name, real.name, "not for a GPU:", refusal)
                continue
            label = f"{kind}_{name}_{real.name}"
            (folder / f"{label}.ptx").write_text(text)
            np.save(folder / f"{label}_data.npy", compiled.data)
            counters = GpuKernel(compiled.program, real).counters
            case = {"kind": kind, "name": name, "real": real.name, "label": label}
            cases.append({**case, "counters": counters})
        if exact is not None:
            np.save(folder / f"exact_{name}.npy", exact)

    for name in RATED:
        add("rate", name, [1.0] * 10)
    for name in NAMES:
        mechanism, x = example(name)
        add("agree", name, x, exact_by_code(compiled_for(mechanism, x), mechanism, x))
    for name, pair in FINAL.items():
        cases += _final_stage(folder, name, pair)
    (folder / "cases.json").write_text(json.dumps(cases, indent=1))
    print(f"{len(cases)} kernels in {folder}")


def _final_stage(folder: Path, name: str, pair: Any) -> list[dict[str, Any]]:
    from dpest import zoo
    from dpest.attacks.budget import Budget, Meter
    from dpest.attacks.fused import rule_of, scored_for
    from dpest.attacks.sampler import MechanismSampler
    from dpest.attacks.sniper import SniperPlan, _find, _Options, _SniperRun
    from dpest.running.native.ir import DOUBLE, SINGLE
    from dpest.running.native.ptx import ptx
    from dpest.running.native.runs import compiled_for
    from dpest.running.seeds import block_seed

    plan = SniperPlan(0, 150_000, 150_000, 200_000_000)
    run = _SniperRun(MechanismSampler(zoo.get(name)), 1, Meter(Budget()), None, plan.portion)
    options = _Options(plan, 0.05, 0.0, None, False, 0.01)
    attack = _find(run, pair, plan.train, plan.choose, options)[0]
    used = pair[::-1] if attack.flipped else pair
    made = []
    for side, x in enumerate(used):
        compiled = compiled_for(zoo.get(name), x)
        rule = rule_of(attack, compiled.layout)
        found = scored_for(zoo.get(name), x, attack).counts(4_000_000, block_seed(1, side))
        for real in (DOUBLE, SINGLE):
            label = f"final_{name}_{side}_{real.name}"
            (folder / f"{label}.ptx").write_text(ptx(compiled.program, real, rule))
            np.save(folder / f"{label}_data.npy", compiled.data)
            np.save(folder / f"{label}_table.npy", rule.table())
            made.append(
                {"kind": "final", "name": name, "real": real.name, "label": label, "counters": 3,
                 "side": side, "core": [found.size, found.above, found.equal, found.below]}
            )  # fmt: skip
    return made


def _device() -> Any:
    """The module that launches, without the rest of dpest."""
    path = ROOT / "src/dpest/running/native/device.py"
    spec = importlib.util.spec_from_file_location("dpest_device", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _counter(folder: Path, case: dict[str, Any]) -> Any:
    label = case["label"]
    table = folder / f"{label}_table.npy"
    return _device().GpuCounter(
        (folder / f"{label}.ptx").read_text(),
        case["counters"],
        np.load(folder / f"{label}_data.npy"),
        np.load(table) if table.exists() else None,
    )


def _keys(seed: int) -> Any:
    return np.random.SeedSequence(seed).generate_state(10, np.uint64)


def run(folder: Path, out: Path) -> None:
    cases = json.loads((folder / "cases.json").read_text())
    found = []
    for number, case in enumerate(cases):
        try:
            counter = _counter(folder, case)
            counter.counts(_keys(0), 0, 1 << 20)
            runs = RUNS if case["kind"] == "agree" else 200 * RUNS
            if case["kind"] == "final":
                runs = 2 * RUNS
            counter.counts(_keys(0), 0, runs // 4)  # finds the length of a launch
            start = time.perf_counter()
            counts, done = counter.counts(_keys(100 + number), 0, runs)
            seconds = time.perf_counter() - start
            row = {**case, "runs": done, "seconds": seconds, "counts": counts.tolist()}
            if case["kind"] == "agree":
                row["split"] = _split(counter, runs // 10)
        except Exception as error:  # one kernel that fails must not cost the others
            row = {**case, "error": repr(error)}
        found.append(row)
        rate = f"{row['runs'] / row['seconds']:.3g} runs/s" if "runs" in row else row["error"]
        print(f"{case['label']:<40} {rate}", flush=True)
        out.mkdir(parents=True, exist_ok=True)
    (out / "counts.json").write_text(json.dumps(found))
    _interrupted(folder, cases[0])


def _split(counter: Any, runs: int) -> bool:
    """Whether runs that are made in two parts, the last first, have the same counts."""
    whole, _ = counter.counts(_keys(2), 0, runs)
    late, _ = counter.counts(_keys(2), runs // 3, runs - runs // 3)
    early, _ = counter.counts(_keys(2), 0, runs // 3)
    return bool(np.array_equal(whole, early + late))


def _interrupted(folder: Path, case: dict[str, Any]) -> None:
    """SIGTERM in the middle of 10^13 runs: how long until the process has ended by itself."""
    line = [sys.executable, __file__, "endless", str(folder), case["label"]]
    child = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(3.0)
    start = time.perf_counter()
    child.send_signal(signal.SIGTERM)
    rest = child.communicate(timeout=60)[0]
    print(f"SIGTERM: ended after {time.perf_counter() - start:.2f} s, {rest.strip()}", flush=True)


def endless(folder: Path, label: str) -> None:
    cases = json.loads((folder / "cases.json").read_text())
    counter = _counter(folder, next(c for c in cases if c["label"] == label))
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(time.perf_counter()))
    counter.counts(_keys(0), 0, 1 << 24)
    before = _memory()
    print("running", flush=True)
    _, done = counter.counts(_keys(3), 0, 10**13, stopped=lambda: bool(asked))
    print(f"{done:.3g} runs were made and counted; memory of the process {before} MiB before, "
          f"{_memory()} MiB after")  # fmt: skip


def _memory() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def show(folder: Path, out: Path) -> int:
    sys.path.insert(0, str(ROOT / "validation"))
    from native_agreement import LEVEL, p_value

    rows = [r for r in json.loads((out / "counts.json").read_text()) if "error" not in r]
    agree = [r for r in rows if r["kind"] == "agree"]
    smallest = 1.0
    rates = {}
    for row in rows:
        rate = row["runs"] / row["seconds"]
        line = f"{row['kind']:<6} {row['name']:<24} {row['real']:<7} {rate:>10.3g} runs/s"
        if row["kind"] == "rate":
            rates[row["name"], row["real"]] = rate
            line += f"  wanted {TARGETS[row['real']]:.2g}, {rate / TARGETS[row['real']]:.2f} of it"
        elif row["kind"] == "agree":
            exact = np.load(folder / f"exact_{row['name']}.npy")
            p, freedom = p_value(np.array(row["counts"]), exact)
            smallest = min(smallest, p)
            line += f"  p = {p:.3g} ({freedom} df)  split runs alike: {row['split']}"
        else:
            size, *core = row["core"]
            raw = rates.get((row["name"], row["real"]))
            share = f", {rate / raw:.2f} of the raw rate" if raw else ""
            here = [c / row["runs"] for c in row["counts"]]
            there = [c / size for c in core]
            gap = max(abs(a - b) for a, b in zip(here, there, strict=True)) * size**0.5 * 2
            line += f"  at most {gap:.1f} deviations from a core{share}"
        print(line)
    print(f"smallest of {len(agree)} p-values: {smallest:.3g}")
    return 1 if smallest < LEVEL / len(agree) or not all(r["split"] for r in agree) else 0


if __name__ == "__main__":
    verb, where = sys.argv[1], Path(sys.argv[2])
    if verb == "write":
        write(where)
    elif verb == "run":
        run(where, Path(sys.argv[3]))
    elif verb == "endless":
        endless(where, sys.argv[3])
    else:
        sys.exit(show(where, Path(sys.argv[3])))
