"""What is added by adding one file: each toy is one file that touches nothing of the package."""

from __future__ import annotations

import math

import numpy as np
import pytest
from click.testing import CliRunner

import dpest
from dpest import kernel
from dpest.attacks import protocol
from dpest.attacks.sampler import MechanismSampler
from dpest.errors import DpestError, ReplayError
from dpest.reading.rewrites.laws import protocol as laws
from protocols import toy_adjacency, toy_attack, toy_entry, toy_noise, toy_rewrite


def test_a_noise_family_is_sampled():
    sampler = MechanismSampler(toy_noise.noisy_sum)
    drawn = np.array([float(v) for v in sampler.draw([0.0], 20_000, 0)])
    noise = toy_noise.SkewLaplace(1.0)
    # Of 20,000 draws the empirical distribution is off by 0.0137 with probability 1e-3.
    places = np.sort(drawn)
    off = np.abs(noise.cdf(places) - np.arange(1, len(places) + 1) / len(places)).max()
    assert off < 0.0137


def test_a_noise_family_is_exact():
    loss = dpest.exact(toy_noise.noisy_sum, [0.0], [1.0])
    assert loss.epsilon == pytest.approx(1.0)
    assert min(loss.epsilon_forward, loss.epsilon_backward) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("function", "adjacency"), [(toy_noise.noisy_sum, "l1"), (toy_noise.above, "linf")]
)
def test_a_noise_family_is_proved(function, adjacency):
    proof = dpest.prove(function, adjacency=adjacency)
    # Its rate bounds what a shift costs; to the right it is half of that: no proof says "exact".
    assert (proof.epsilon, proof.status) == (1, "upper bound")
    statement = kernel.check(dict(proof.certificate))
    assert any("skew_laplace" in assumption for assumption in statement.assumptions)
    found = max(
        dpest.exact(function, x, x2).epsilon
        for x, x2 in (([0.0, 0.0], [1.0, 0.0]), ([5.0, 0.0], [5.0, 1.0]), ([0.0, 1.0], [0.0, 0.0]))
    )
    assert found <= 1 + 1e-9


def test_a_noise_family_is_audited():
    verdict = dpest.audit(toy_noise.noisy_sum, epsilon=1.0, adjacency="l1", length=2)
    assert verdict.upper.value == pytest.approx(1)
    assert verdict.lower.value == pytest.approx(1)


def laplace_each(x, rng, *, eps=1.0):
    return [v + rng.laplace(scale=1 / eps) for v in x]


def noisy_max(x, rng, *, eps=1.0):
    return int(np.argmax(np.asarray(x) + rng.laplace(scale=2 / eps, size=len(x))))


def test_an_adjacency():
    rule = dpest.ask.adjacency.parse_adjacency("tilted:1")
    assert isinstance(rule, toy_adjacency.Tilted)
    assert rule.holds([0.0, 0.0], [1.0, -0.5])
    assert not rule.holds([0.0, 0.0], [1.0, -0.6])
    proof = dpest.prove(noisy_max, adjacency=rule)
    # The winner falls by a half while another rises by 1, or the other way round: 3/2 of 1/2.
    assert proof.epsilon == dpest.prove(noisy_max, adjacency="linf").epsilon * 3 / 4
    statement = kernel.check(dict(proof.certificate))
    assert "tilted(1)" in str(statement)
    assert any("tilted" in assumption for assumption in statement.assumptions)
    assert dpest.prove(laplace_each, adjacency="tilted:1", length=2).epsilon == 2


def test_an_audit_under_an_adjacency_of_ones_own():
    verdict = dpest.audit(laplace_each, epsilon=2.0, adjacency="tilted:1", length=2)
    assert verdict.upper.value == pytest.approx(2)
    assert 1 < verdict.lower.value <= 2 + 1e-9


def test_an_attack_is_listed_and_runs():
    from dpest.cli.attack import attack as command

    assert toy_attack.AboveTheMiddle.name in protocol.names()
    shown = CliRunner().invoke(command, ["--help"]).output
    assert "above_the_middle" in shown.replace("\n", "").replace(" ", "")
    found = dpest.attack(
        laplace_each, [0.0], [1.0], method="above_the_middle", budget=30_000, adjacency="l1"
    )
    assert found.method == "above_the_middle"
    truth = math.log(0.5 / (0.5 * math.exp(-1)))
    assert 0.4 < found.value <= truth
    with pytest.raises(DpestError, match="above_the_middle"):
        dpest.attack(laplace_each, [0.0], [1.0], method="no such attack", adjacency="l1")


def test_an_entry_of_the_table():
    with pytest.raises(DpestError):
        dpest.exact(toy_entry.released, [0.0], [1.0])
    toy_entry.add()
    try:
        assert dpest.exact(toy_entry.released, [0.0], [1.0]).epsilon == pytest.approx(1.0)
    finally:
        toy_entry.remove()


@pytest.fixture
def listed():
    """Puts rewrites on the list for the time of a test."""
    added = []

    def add(rewrite):
        laws.register(rewrite)
        added.append(rewrite)

    yield add
    for rewrite in added:
        laws.remove(rewrite)


def test_a_rewrite(listed):
    with pytest.raises(DpestError, match="made of draws that may be negative|division by a noisy"):
        dpest.exact(toy_rewrite.released, [0.0], [1.0])
    listed(toy_rewrite.LogOdds())
    assert dpest.exact(toy_rewrite.released, [0.0], [1.0]).epsilon == pytest.approx(1.0)
    # P(logistic > 1) against P(logistic > 0), and the other way round.
    above = dpest.exact(toy_rewrite.above, [0.0], [1.0]).epsilon
    assert above == pytest.approx(math.log(0.5 * (1 + math.e)))


def test_an_audit_with_a_rewrite_of_ones_own(listed):
    listed(toy_rewrite.LogOdds())
    verdict = dpest.audit(toy_rewrite.released, epsilon=0.5, adjacency="l1", length=1)
    assert verdict.status == "violated"
    assert verdict.lower.method.startswith("exact")
    assert verdict.lower.value == pytest.approx(1.0)


def test_a_rewrite_is_held_against_samples(listed):
    listed(toy_rewrite.WrongScale())
    with pytest.raises(ReplayError, match="log-odds"):
        dpest.exact(toy_rewrite.released, [0.0], [1.0])


def test_a_draw_that_is_used_elsewhere_is_not_rewritten(listed):
    listed(toy_rewrite.LogOdds())
    with pytest.raises(DpestError, match="used in another way|division by a noisy"):
        dpest.exact(toy_rewrite.used_twice, [0.0], [1.0])
