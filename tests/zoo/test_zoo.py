"""Every entry: complete, true to its sources, runs, batches and traces."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from dpest import zoo
from dpest.ask.patterns import patterns
from dpest.errors import TargetError
from dpest.reading.trace import trace
from dpest.running.batch.batch import batch
from dpest.zoo.bloom_filter import BITS, HASHES, SET_BITS
from zoo.two_samples import describe, p_values, smallest

ENTRIES = zoo.entries()

entries = pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)


def some_input(entry):
    return patterns(entry.adjacency, entry.domain)[0][2]


def test_there_are_at_least_45_with_distinct_names():
    assert len(ENTRIES) >= 45
    assert len({name.lower() for name in zoo.names()}) == len(ENTRIES)


def test_the_literatures_are_all_there():
    sniper = [
        *("LaplaceMechanism", "LaplaceParallel", "TruncatedGeometric", "SnappingLaplace"),
        *("NoisyHist1", "NoisyHist2", "PrefixSum", "Rappor", "OneTimeRappor", "NoisyMaxSum"),
        *(f"ReportNoisyMax{i}" for i in range(1, 5)),
        *(f"SVT{i}" for i in range(1, 7)),
        *("NumericalSVT", "SVT34Parallel"),
    ]
    finder = ["AT", "AT1", "AT2", "AT3", "AT4", "AT5", "ExpMech", "NoisyMax", "Sum"]
    statdp = [n for n in zoo.names() if n.startswith("StatDP_")]
    assert set(sniper + finder) <= set(zoo.names())
    assert len(statdp) == 11


@entries
def test_entry_is_complete(entry):
    about = entry.about
    assert entry.claim is not None
    assert entry.adjacency is not None
    assert entry.domain is not None
    assert entry.reference
    assert entry.function.__doc__
    assert about["tool"] in zoo.TOOLS
    assert about["length"] == entry.domain.default_length()
    assert isinstance(about["right"], bool)
    assert about["right"] == (about.get("wrong_from") is None)
    assert about["right"] or about.get("note")


@entries
def test_claim_truth_and_least_wrong_length_agree(entry):
    claim = entry.claim.resolve(entry.all_params).value
    truth = entry.about["truth"]
    if truth is None:
        return
    slack = claim * (1 + 1e-9)
    if entry.about["right"]:
        known = [truth(n, entry.all_params) for n in range(1, 30)]
        assert all(value <= slack for value in known if value is not None)
        return
    start = entry.about["wrong_from"]
    assert truth(start, entry.all_params) > slack
    for n in range(1, start):
        below = truth(n, entry.all_params)
        assert below is None or below <= slack


# TRUTHS: the worst case over all real inputs, with n and eps as published.
@pytest.mark.parametrize(
    ("name", "worst"),
    [
        ("LaplaceMechanism", 0.1),
        ("TruncatedGeometric", math.log(9 / 8)),
        ("NoisyHist1", 0.1),
        ("NoisyHist2", 10),
        ("ReportNoisyMax1", 0.1),
        ("ReportNoisyMax2", 0.1),
        ("ReportNoisyMax3", 0.25),
        ("ReportNoisyMax4", math.inf),
        ("SVT1", 0.1),
        ("SVT2", 0.1),
        ("SVT3", 0.5),
        ("SVT4", 0.175),
        ("SVT5", math.inf),
        ("SVT6", 0.5),
        ("NumericalSVT", 0.1),
        ("SVT34Parallel", 0.575),
        ("PrefixSum", 1.0),
        ("PrefixSum_L1", 0.1),
        ("LaplaceParallel", 0.1),
        ("OneTimeRappor", 0.800668),
        ("Rappor", 0.400083),
        ("AT", 0.2),
        ("AT3", 0.2),
        ("AT4", 0.175),
        ("AT5", math.inf),
    ],
)
def test_published_worst_cases(name, worst):
    entry = zoo.get(name)
    found = entry.about["truth"](entry.about["length"], entry.all_params)
    assert found == pytest.approx(worst, rel=1e-5)
    on_patterns = entry.about.get("pattern_epsilon")
    assert on_patterns is None or on_patterns <= found * (1 + 1e-6)


# Proved by linear programming, in units of eps at n = 5, 10, 20.
@pytest.mark.parametrize(
    ("name", "params", "multiples"),
    [
        ("ReportNoisyMax1", {}, (1, 1, 1)),
        ("SVT1", {"cutoff": 1}, (1, 1, 1)),
        ("SVT2", {"cutoff": 1}, (1, 1, 1)),
        ("GapSVT", {"cutoff": 1}, (1, 1, 1)),
        ("SVT1", {"cutoff": 2}, (5 / 8, 1, 1)),
        ("SVT2", {"cutoff": 2}, (5 / 8, 1, 1)),
        ("GapSVT", {"cutoff": 2}, (5 / 8, 1, 1)),
        ("NumericalSVT", {"cutoff": 2}, (3 / 4, 1, 1)),
        ("PartialSum", {}, (1, 1, 1)),
        ("SmartSum", {}, (2, 2, 2)),
        ("ReportNoisyMax3", {}, (5 / 2, 5, 10)),
        ("SVT3", {}, (5 / 2, 5, 10)),
        ("SVT4", {"cutoff": 1}, (7 / 4, 7 / 4, 7 / 4)),
        ("SVT4", {"cutoff": 2}, (13 / 4, 13 / 4, 13 / 4)),
        ("SVT6", {}, (5 / 2, 5, 10)),
        ("GapSVT_wrong", {"cutoff": 2}, (5 / 8, 5 / 4, 5 / 2)),
    ],
)
def test_proved_multiples_of_eps(name, params, multiples):
    entry = zoo.get(name).with_params({**params, "eps": 1.0})
    found = [entry.about["truth"](n, entry.all_params) for n in (5, 10, 20)]
    assert found == pytest.approx(multiples)


# Null hypothesis: batch and run have one distribution. Each entry's comparisons are bounded
# together at 1e-6, so that all entries together give a false alarm with probability below 1e-4.
@entries
def test_batch_agrees_with_run(entry):
    x = some_input(entry)
    rng = np.random.default_rng(2024)
    runs = [entry(x, rng) for _ in range(2000)]
    drawn = batch(entry, x, 6000, seed=5).to_list()
    found = p_values(runs, drawn)
    assert smallest(found) > 1e-6, describe(found)


def test_the_comparison_can_fail():
    rng = np.random.default_rng(1)
    entry = zoo.get("SVT1")
    runs = [entry([1.0] * 10, rng) for _ in range(2000)]
    moved = batch(entry, [30.0] * 10, 6000, seed=5).to_list()
    assert smallest(p_values(runs, moved)) < 1e-6
    entry = zoo.get("PrefixSum")
    runs = [entry([1.0] * 10, rng) for _ in range(2000)]
    shuffled = batch(entry, [1.0] * 10, 6000, seed=5).to_list()
    columns = np.array(shuffled)
    columns[:, 3] = rng.permutation(columns[:, 3])  # the marginals stay, the dependence goes
    assert smallest(p_values(runs, list(columns))) < 1e-6


@entries
def test_traces(entry):
    if entry.name == "SVT34Parallel":
        entry = entry.with_params({"cutoff": 1})  # 121 paths in place of 3,136
    elif entry.name == "SVT6":
        assert len(trace(entry, [1.0] * 6).paths) == 2**6
        return
    found = trace(entry, some_input(entry))
    assert found.paths
    # What is rounded has a path for each multiple, and there is no last one.
    assert found.leftover == 0 or (entry.name == "SnappingLaplace" and found.leftover < 1e-9)


def test_names_in_any_case_and_close_ones():
    assert zoo.get("svt1") is zoo.get("SVT1")
    with pytest.raises(TargetError, match="did you mean SVT"):
        zoo.get("SVTX")
    with pytest.raises(TargetError, match="dpest zoo"):
        zoo.get("qqqq")


def test_the_hash_table_is_that_of_mmh3():
    mmh3 = pytest.importorskip("mmh3")
    for value, bits in SET_BITS.items():
        assert bits == tuple(mmh3.hash(str(value), seed=i) % BITS for i in range(HASHES))
    assert sorted(SET_BITS) == list(range(-10, 11))


def test_truncated_geometric_has_the_published_distribution():
    """F(z)/d from the definition against the traced masses; the worst ratio is 9/8."""
    k, n = 3, 5
    d = (2 ** (k + 1) + 1) * (2**k + 1) ** (n - 1)

    def below(z, c):
        if z < c:
            return 2 ** (k * (c - z)) * (2**k + 1) ** (n - c + z)
        if z < n:
            return d - 2 ** (k * (z - c + 1)) * (2**k + 1) ** (n - 1 - z + c)
        return d

    masses = {c: np.diff([0] + [below(z, c) for z in range(n + 1)]) / d for c in range(n + 1)}
    worst = max(np.max(np.abs(np.log(masses[c] / masses[c + 1]))) for c in range(n))
    assert worst == pytest.approx(math.log(9 / 8), rel=1e-12)
    entry = zoo.get("TruncatedGeometric")
    rng = np.random.default_rng(0)
    counts = np.bincount([entry([2], rng) for _ in range(4000)], minlength=6)
    expected = masses[2] * 4000
    # χ² with 5 degrees of freedom; 40 is exceeded with probability 1.5e-7.
    assert ((counts - expected) ** 2 / expected).sum() < 40


def test_the_zoo_is_light():
    code = "import sys; from dpest import zoo; zoo.entries(); assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_lists_and_explains():
    from dpest.cli.zoo import zoo as command

    listed = CliRunner().invoke(command, [])
    assert listed.exit_code == 0
    for name in zoo.names():
        assert name in listed.output
    told = CliRunner().invoke(command, ["svt4"])
    assert told.exit_code == 0
    assert "every entry may move by at most 1" in told.output
    assert "def sparse_vector(" in told.output
    assert "0.175" in told.output
