"""Kernels for a GPU, checked on a machine without one.

For each mechanism of native_agreement.py, in double and in single precision:

- the PTX text is assembled by NVIDIA's ptxas for two kinds of cards (registers, bytes that did not
  fit into them);
- the same text runs on a core, by one thread; its counts are compared with the exact probabilities
  (χ²), and with those of the same runs in three parts by several thread blocks;
- its digest is compared with that of the text whose rates and counts on an H200 stand in
  benchmarks/native_gpu.txt: where they are the same, so is what was measured there. Another version
  of llvmlite may write another text, and then nothing is compared.

The final stage of DP-Sniper is run in both ways, too: by the card's text and by a core's kernel.

    python validation/native_ptx.py [RUNS] [--measured]

`--measured`, on the commit whose kernels were measured, writes the digests down.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from card_of_one_thread import OneThreadCounter
from native_agreement import LEVEL, NAMES, exact_by_code, example, p_value

from dpest import zoo
from dpest.attacks.budget import Budget, Meter
from dpest.attacks.fused import rule_of, scored_for
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, _find, _Options, _SniperRun
from dpest.running.native import jit
from dpest.running.native.ir import DOUBLE, SINGLE, RealType
from dpest.running.native.ptx import GpuKernel, ptx
from dpest.running.native.runs import compiled_for
from dpest.running.native.streams import block_keys
from dpest.running.seeds import block_seed

MEASURED = Path(__file__).with_name("native_ptx_measured.json")
CHIPS = ("sm_80", "sm_90")
RATED = ("SVT1", "SVT6", "ReportNoisyMax1")
#: Mechanisms whose final stage is run, and the pair that it looks at.
FINAL = {
    "SVT1": ([1.0] * 10, [0.0] * 10),
    "ReportNoisyMax1": ([1.0] * 10, [0.0] + [1.0] * 9),
    "NumericalSVT": ([1.0] * 10, [0.0] * 10),
    "PrefixSum": ([1.0] * 10, [0.0] * 10),
}


def ptxas() -> str | None:
    """NVIDIA's assembler: on the path, or from the package nvidia-cuda-nvcc-cu12."""
    packed = Path(sysconfig.get_path("purelib"), "nvidia/cuda_nvcc/bin/ptxas")
    return shutil.which("ptxas") or (str(packed) if packed.exists() else None)


def assembled(text: str, assembler: str, chip: str) -> tuple[int, int]:
    """Registers of a thread, and bytes that were spilled; an error where it can't be assembled."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.ptx")
        file.write_text(re.sub(r"^\.target \w+", f".target {chip}", text, flags=re.MULTILINE))
        line = [
            assembler,
            "-v",
            f"-arch={chip}",
            str(file),
            "-o",
            str(Path(folder, "kernel.cubin")),
        ]
        said = subprocess.run(line, capture_output=True, text=True, check=True).stderr
    used, spilled = (
        re.search(r"Used (\d+) registers", said),
        re.search(r"(\d+) bytes spill st", said),
    )
    assert used is not None
    return int(used[1]), int(spilled[1]) if spilled else 0


def digests() -> dict[str, str]:
    """The texts that were measured: rates on ten queries, agreement on the pattern's input."""
    inputs = [("rate", name, [1.0] * 10) for name in RATED]
    inputs += [("agree", name, example(name)[1]) for name in NAMES]
    return {
        f"{kind} {name} {real.name}": jit.digest(ptx(compiled_for(zoo.get(name), x).program, real))
        for kind, name, x in inputs
        for real in (DOUBLE, SINGLE)
    }


def counts_row(name: str, real: RealType, runs: int, seed: int) -> tuple[str, bool, float]:
    """The line of one kernel, whether it is fine, and its p-value."""
    mechanism, x = example(name)
    compiled = compiled_for(mechanism, x)
    kernel = GpuKernel(compiled.program, real)
    keys = block_keys(block_seed(seed, 0))
    counts, _ = OneThreadCounter(kernel, compiled.data).counts(keys, 0, runs)
    several = OneThreadCounter(kernel, compiled.data, blocks=5)
    ends = (0, runs // 7, runs // 2, runs)
    parts = [several.counts(keys, a, b - a)[0] for a, b in itertools.pairwise(ends)]
    alike = bool(np.array_equal(counts, sum(parts)))
    p, freedom = p_value(counts, exact_by_code(compiled, mechanism, x))
    text = f"p = {p:8.3g} ({freedom} df)  in parts, by blocks: {'the same' if alike else 'OTHERS'}"
    assembler = ptxas()
    if assembler is not None:
        found = [(chip, *assembled(ptx(compiled.program, real), assembler, chip)) for chip in CHIPS]
        text += "".join(f"  {chip}: {used} registers, {out} spilled" for chip, used, out in found)
    return f"{name:<24} {real.name:<7} {text}", alike, p


def final_stage(name: str, pair: Any, runs: int) -> tuple[str, bool]:
    """Counts of an attack's scores by the card's text and by a core's kernel, in deviations."""
    plan = SniperPlan(0, 150_000, 150_000, 200_000_000)
    run = _SniperRun(MechanismSampler(zoo.get(name)), 1, Meter(Budget()), None, plan.portion)
    options = _Options(plan, 0.05, 0.0, None, False, 0.01)
    attack = _find(run, pair, plan.train, plan.choose, options)[0]
    shares = []
    for side, x in enumerate(pair[::-1] if attack.flipped else pair):
        compiled = compiled_for(zoo.get(name), x)
        rule = rule_of(attack, compiled.layout)
        core = scored_for(zoo.get(name), x, attack).counts(runs, block_seed(1, side))
        there = np.array([core.above, core.equal, core.below])
        for real in (DOUBLE, SINGLE):
            counter = OneThreadCounter(
                GpuKernel(compiled.program, real, rule), compiled.data, rule.table()
            )
            here, _ = counter.counts(block_keys(block_seed(2, side)), 0, runs)
            both = np.maximum((here + there) / (2 * runs), 1 / runs)
            shares.append(np.abs(here - there) / np.sqrt(2 * runs * both * (1 - both) + 1))
    most = float(np.max(shares))
    return f"{name:<24} final stage: at most {most:.1f} deviations from a core", most < 4.5


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")
    if "--measured" in arguments:
        found = {"llvmlite": llvmlite.__version__, **digests()}
        MEASURED.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    runs = int(float(arguments[0])) if arguments else 10_000_000
    failed, smallest = False, 1.0
    if ptxas() is None:
        print("no ptxas (pip install 'dpest-audit[ptx]'): nothing is assembled")
    for number, (name, real) in enumerate((n, r) for n in NAMES for r in (DOUBLE, SINGLE)):
        line, fine, p = counts_row(name, real, runs, 100 + number)
        failed |= not fine
        smallest = min(smallest, p)
        print(line, flush=True)
    print(f"{runs:.0e} runs each, smallest of {2 * len(NAMES)} p-values: {smallest:.3g}")
    for name, pair in FINAL.items():
        line, fine = final_stage(name, pair, runs)
        failed |= not fine
        print(line, flush=True)
    measured = json.loads(MEASURED.read_text())
    if measured.pop("llvmlite") == llvmlite.__version__:
        now = digests()
        same = sum(now[kernel] == digest for kernel, digest in measured.items())
        failed |= same < len(measured)
        print(f"{same} of {len(measured)} kernels measured on an H200 have the same text now")
    else:
        print("another version of llvmlite: texts are not compared with those that were measured")
    return 1 if failed or smallest < LEVEL / (2 * len(NAMES)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
