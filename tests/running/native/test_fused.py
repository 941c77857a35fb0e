"""The final stage of DP-Sniper in the loop counts what the scorer counts; PTX of the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpest import zoo
from dpest.attacks.budget import Budget, Meter
from dpest.attacks.fused import check, count_scores, rule_of, scored_for
from dpest.attacks.sampler import MechanismSampler
from dpest.attacks.sniper import SniperPlan, _find, _Options, _SniperRun, sniper_attack
from dpest.attacks.thresholds import ThresholdAttack
from dpest.running.native.ir import DOUBLE, SINGLE
from dpest.running.native.runs import compiled_for, draw_runs
from dpest.running.native.scoring import CompiledScores
from dpest.running.native.signals import NotCompiled

pytest.importorskip("llvmlite")
PAIR = ([1.0] * 5, [0.0] * 5)
SLOW = ("NumericalSVT", "PrefixSum")


def attack_on(name: str) -> ThresholdAttack:
    plan = SniperPlan(0, 20_000, 20_000, 10**6)
    run = _SniperRun(MechanismSampler(zoo.get(name)), 1, Meter(Budget()), None, plan.portion)
    return _find(run, PAIR, 20_000, 20_000, _Options(plan, 0.05, 0.0, None, False, 0.01))[0]


@pytest.mark.parametrize(
    "name",
    ["SVT6", "SVT3", "ReportNoisyMax1", *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)],
)
def test_fused_counts_are_those_of_the_scorer(name: str) -> None:
    attack = attack_on(name)
    size = (1 << 17) + 5
    found = count_scores(zoo.get(name), attack, [(x, size, 9) for x in PAIR])
    for x, counts in zip(PAIR, found, strict=True):
        above, below = attack.count(draw_runs(zoo.get(name), x, size, 9), np.random.default_rng(0))
        assert counts.size == size
        if attack.q == 0.0:
            assert counts.above == above
        assert not attack.two_sided or counts.below == below


def test_another_rule_is_found_out() -> None:
    attack = attack_on("SVT6")
    compiled = compiled_for(zoo.get("SVT6"), PAIR[0])
    rule = rule_of(attack, compiled.layout)
    wrong = replace(rule, by_code=rule.by_code[::-1].copy())
    with pytest.raises(NotCompiled):
        check(CompiledScores(compiled, wrong), compiled, attack)
    check(scored_for(zoo.get("SVT6"), PAIR[0], attack), compiled, attack)


def test_the_evidence_names_its_runners() -> None:
    plan = SniperPlan(0, 20_000, 20_000, 300_000)
    sampler = MechanismSampler(zoo.get("SVT6"))
    evidence = sniper_attack(sampler, [PAIR], plan=plan, seed=2)
    assert evidence.details["runner"]["native, fused"] > 500_000
    assert 0 < evidence.value < zoo.get("SVT6").params.get("eps", 0.1) * 5 + 0.01
    again = sniper_attack(MechanismSampler(zoo.get("SVT6")), [PAIR], plan=plan, seed=2)
    assert again.value == evidence.value


@pytest.mark.parametrize("real", [DOUBLE, SINGLE], ids=lambda r: r.name)
def test_ptx_is_written_without_a_gpu(real: object) -> None:
    ptx = pytest.importorskip("dpest.running.native.ptx")
    for name, x in (("SVT1", [1.0] * 5), ("ExponentialMechanism", [1.0] * 5), ("TopK", [1.0] * 5)):
        text = ptx.ptx(compiled_for(zoo.get(name), x).program, real)
        assert ".entry kernel" in text
        assert "atom.shared.add" in text or "red.shared.add" in text
        assert "call" not in text.replace("callseq", "")
