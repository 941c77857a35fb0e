"""A GPU's kernels without a GPU: their text is run on a core, and assembled."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "validation"))

from card_of_one_thread import OneThreadCounter
from native_agreement import exact_by_code, example, p_value
from native_ptx import assembled, final_stage, ptxas

from dpest.running.native.device import Trapped
from dpest.running.native.ir import DOUBLE, SINGLE
from dpest.running.native.ptx import GpuKernel, ptx
from dpest.running.native.runs import compiled_for
from dpest.running.native.streams import block_keys
from dpest.running.seeds import block_seed

#: With a fixed seed; a right kernel would fail one test in ten thousand seeds.
LEVEL = 1e-4
KEYS = block_keys(block_seed(11, 0))
NAMES = ("SVT1", "SVT6", "GumbelMax", "GaussianNoisyMax", "TopK", "PermuteAndFlip")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("real", [DOUBLE, SINGLE], ids=["double", "float"])
def test_counts_of_a_card_are_those_of_the_exact_distribution(name, real):
    mechanism, x = example(name)
    compiled = compiled_for(mechanism, x)
    counter = OneThreadCounter(GpuKernel(compiled.program, real), compiled.data)
    counts, done = counter.counts(KEYS, 0, 500_000)
    assert counts.sum() == done == 500_000
    assert p_value(counts, exact_by_code(compiled, mechanism, x))[0] > LEVEL


def test_counts_depend_neither_on_launches_nor_on_blocks():
    mechanism, x = example("SVT1")
    compiled = compiled_for(mechanism, x)
    kernel = GpuKernel(compiled.program)
    whole, _ = OneThreadCounter(kernel, compiled.data).counts(KEYS, 50, 100_000)
    several = OneThreadCounter(kernel, compiled.data, blocks=7)
    late, _ = several.counts(KEYS, 30_050, 70_000)
    early, _ = several.counts(KEYS, 50, 30_000)
    assert np.array_equal(whole, early + late)


@pytest.mark.parametrize("name", ["NumericalSVT", "ReportNoisyMax1"])
def test_the_final_stage_counts_what_a_core_counts(name):
    pair = [1.0] * 10, [0.0] * 10
    line, fine = final_stage(name, pair, 500_000)
    assert fine, line


def test_a_run_that_leaves_its_types_is_no_count():
    def logarithm(x, rng):
        noisy = x[0] + rng.laplace()
        return bool(np.log(noisy * noisy - 1e-3) > 0)

    compiled = compiled_for(logarithm, [0.0])
    with pytest.raises(Trapped):
        OneThreadCounter(GpuKernel(compiled.program), compiled.data).counts(KEYS, 0, 100_000)


@pytest.mark.skipif(ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("name", ["SVT1", "TopK"])
@pytest.mark.parametrize("real", [DOUBLE, SINGLE], ids=["double", "float"])
def test_kernels_are_assembled_without_spills(name, real):
    mechanism, x = example(name)
    text = ptx(compiled_for(mechanism, x).program, real)
    registers, spilled = assembled(text, ptxas(), "sm_90")
    assert 0 < registers <= 255
    assert spilled == 0


@pytest.mark.skipif(ptxas() is None, reason="ptxas is not installed")
def test_the_assembler_refuses_what_is_no_kernel():
    mechanism, x = example("SVT1")
    text = ptx(compiled_for(mechanism, x).program)
    with pytest.raises(Exception, match="ptxas"):
        assembled(text.replace("ret;", "retract;"), ptxas(), "sm_90")
