"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import dpest, pytest

def noisy(x, rng, *, eps=0.5):
    return x[0] + rng.laplace(scale=1 / eps)

def test_right(dpest_seed):
    verdict = dpest.assert_private(
        noisy, epsilon=0.5, adjacency=dpest.l1(1), length=1, seed=dpest_seed)
    assert verdict.seed == 7

def test_wrong():
    dpest.assert_private(noisy, epsilon=0.4, adjacency=dpest.l1(1), length=1)

@pytest.mark.dpest_slow
def test_long():
    raise AssertionError("must not run without --dpest-slow")

def test_other():
    pass
"""


@pytest.mark.parametrize("extra", [[], ["-n", "2"]])
def test_summary_seed_and_counterexample(pytester, extra):
    pytester.makepyfile(SUITE)
    # The workers' warnings are the concern of the outer run.
    result = pytester.runpytest_subprocess("--dpest-seed", "7", "-p", "no:cacheprovider", *extra)
    result.assert_outcomes(passed=2, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["*dpest: seed 7*", "*VIOLATED: noisy claims 0.4-DP*", "*privacy audits*"]
    )
    text = result.stdout.str()
    assert "EXACT: noisy" in text
    assert "replay:" in text
    assert "adjacency:" in text


def test_a_suite_without_audits_does_not_import_dpest(pytester):
    pytester.makepyfile(
        """
        import sys
        def test_light():
            assert "dpest" not in sys.modules
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert "privacy audits" not in result.stdout.str()
