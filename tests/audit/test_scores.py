"""Scores that were made elsewhere, and black boxes with claims of every kind."""

import json

import numpy as np
import pytest

import dpest
from dpest.attacks.scores.files import read_scores
from dpest.errors import DpestError, InputError
from dpest.notions.claims import GaussianDP


def gaussians(seed, n, mu=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) + mu, rng.normal(size=n)


def too_little_noise(x, rng):
    return x[0] + rng.normal(scale=0.5)


@pytest.mark.parametrize(
    ("claim", "low", "truth"),
    [
        ("gdp:0.5", 0.8, 1.0),
        ("zcdp:0.1", 0.25, 0.5),
        ("renyi:2,0.2", 0.4, 1.0),
        ("approx:0.3,0.1", 0.8, 1.14),
        ("approx:0.5,1e-5", 1.2, 4.377),
    ],
)
def test_claims_of_every_kind_are_refuted_and_none_too_far(claim, low, truth):
    verdict = dpest.audit_scores(*gaussians(1, 3000), claim=claim)
    assert verdict.violated
    assert low < verdict.lower.value < truth
    assert str(verdict.lower.standing) == "confidence 0.95"
    true = dpest.audit_scores(*gaussians(2, 1000), claim="gdp:1.3")
    assert not true.violated


def test_an_estimate_and_an_assumption_are_no_bounds():
    verdict = dpest.audit_scores(*gaussians(3, 2000), delta=1e-5)
    lower, estimate, assumed = verdict.evidence
    assert verdict.lower is lower
    assert str(estimate.standing) == "estimate"
    assert estimate.error > 0
    assert "Gaussian" in assumed.assumption
    assert lower.value < assumed.value < GaussianDP(1).epsilon_at(1e-5)
    text = str(verdict)
    assert "Estimate: " in text
    assert "if the trade-off curve of the scores is Gaussian" in text
    report = json.loads(verdict.to_json())
    assert report["evidence"][2]["assumption"] == assumed.assumption
    assert len(report["details"]["curve"]["x"]) > 3
    assert verdict.details["curve"].epsilon(1e-5) < lower.value
    # Only the assumption is above the claim.
    between = (lower.value + assumed.value) / 2
    assert not dpest.audit_scores(*gaussians(3, 2000), epsilon=between, delta=1e-5).violated


def test_a_curve_that_is_not_gaussian_says_so():
    rng = np.random.default_rng(0)
    verdict = dpest.audit_scores(rng.laplace(size=4000) + 1.5, rng.laplace(size=4000), delta=1e-5)
    assert "contradict" in verdict.evidence[2].assumption
    assert verdict.details["gaussian"]["fit_p_value"] < 0.01


def test_several_scores_a_run_are_learnt_from():
    rng = np.random.default_rng(4)
    inside = np.column_stack([rng.normal(size=4000) * 1.8, rng.normal(size=4000)])
    outside = rng.normal(size=(4000, 2))
    verdict = dpest.audit_scores(inside, outside, epsilon=0.5)
    assert verdict.violated
    assert any("learnt" in note for note in verdict.notes)
    # A single score whose tails both speak for inside is nothing in itself, but can be learnt.
    plain = dpest.audit_scores(inside[:, 0], outside[:, 0], epsilon=0.5)
    assert dpest.audit_scores(inside[:, 0], outside[:, 0], epsilon=0.5, learn=True).violated
    assert plain.lower.value < verdict.lower.value


def test_scores_of_one_run_are_used_once():
    rng = np.random.default_rng(5)
    inside, outside = (np.repeat(v, 20) for v in gaussians(6, 100))
    runs = np.repeat(np.arange(200), 20)
    fooled = dpest.audit_scores(inside, outside, epsilon=1.0)
    groups = (runs[:2000], runs[2000:])
    honest = dpest.audit_scores(inside, outside, epsilon=1.0, groups=groups)
    assert honest.lower.value < fooled.lower.value
    assert any("depend on each other" in note for note in honest.notes)
    assert honest.details["inside"] == 100
    with pytest.raises(InputError, match="groups"):
        dpest.audit_scores(inside, outside, groups=(rng.random(3), rng.random(3)))


@pytest.mark.parametrize("wrong", [[], [1.0] * 5, [float("nan")] * 50, np.zeros((30, 2, 2))])
def test_what_is_no_list_of_scores_is_refused(wrong):
    with pytest.raises(DpestError):
        dpest.audit_scores(wrong, np.arange(100.0))


def test_one_run_bounds_epsilon_and_mu():
    rng = np.random.default_rng(0)
    included = rng.random(1000) < 0.5
    scores = rng.normal(size=1000) + included
    verdict = dpest.one_run(scores, included, delta=1e-5)
    assert 0.8 < verdict.lower.value < 4.377
    gdp = next(e for e in verdict.evidence if e.measure.kind == "gdp")
    assumed = next(e for e in verdict.evidence if e.assumption)
    assert 0.3 < gdp.value < 1.0
    assert verdict.lower.value < assumed.value < 4.377
    assert dpest.one_run(scores, included, claim="gdp:0.2").violated
    assert not dpest.one_run(scores, rng.random(1000) < 0.5, epsilon=0.1).violated
    assert dpest.one_run(scores, included, guesses=100).lower.details["guesses"] == 100
    with pytest.raises(InputError, match="one score"):
        dpest.one_run(scores, included[:10])
    with pytest.raises(InputError, match="ε, ε at a δ, or μ"):
        dpest.one_run(scores, included, claim="zcdp:0.1")


@pytest.mark.parametrize("claim", ["zcdp:0.5", "gdp:1", "renyi:2,1", "approx:1,0.127"])
def test_black_boxes_are_audited_for_every_claim(claim):
    verdict = dpest.audit(
        too_little_noise,
        claim=claim,
        adjacency="l1",
        domain=dpest.reals(1),
        budget=8000,
        engines=("attack",),
    )
    assert verdict.violated
    assert any(not e.standing.is_bound for e in verdict.evidence)
    assert verdict.lower.runs <= 8000


def test_samples_made_elsewhere_go_into_an_attack():
    first, second = gaussians(8, 3000, 2.0)
    found = dpest.attack(samples=(first, second), claim="zcdp:0.5")
    assert found.value > 0.5
    assert found.details["refuted_claim"]
    words = dpest.attack(samples=(["yes"] * 300 + ["no"] * 100, ["yes"] * 100 + ["no"] * 300))
    assert 0.3 < words.value < 1.1
    with pytest.raises(InputError, match="not both"):
        dpest.attack(too_little_noise, samples=(first, second))
    with pytest.raises(InputError, match="mechanism, or samples"):
        dpest.attack()


def test_the_same_seed_gives_the_same_answer():
    first, second = gaussians(9, 500)
    one, two = (dpest.audit_scores(first, second, delta=1e-5, seed=3) for _ in range(2))
    assert [e.value for e in one.evidence] == [e.value for e in two.evidence]
    # The order of independent scores is nothing that the answer's soundness rests on.
    assert dpest.audit_scores(first[::-1], second, delta=1e-5).lower.value < 4.377


def test_files_of_scores_are_read(tmp_path):
    inside, outside = gaussians(10, 60)
    wide = tmp_path / "wide.csv"
    rows = "\n".join(f"{a},{b}" for a, b in zip(inside, outside[:50], strict=False))
    wide.write_text("inside,outside\n" + rows + "\n" + "".join(f"{a},\n" for a in inside[50:]))
    found = read_scores(wide)
    assert found.paired
    assert (found.inside == inside).all()
    assert (found.outside == outside[:50]).all()
    long = tmp_path / "long.csv"
    long.write_text("score,included,run\n1.5,1,a\n0.5,no,b\n2,True,a\n")
    found = read_scores(long)
    assert found.inside.tolist() == [1.5, 2.0]
    assert found.groups.tolist() == ["a", "b", "a"]
    npz = tmp_path / "scores.npz"
    np.savez(npz, scores=np.ones((4, 2)), included=np.array([True, False, True, False]))
    assert read_scores(npz).inside.shape == (2, 2)
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"score": [1.0, 2.0], "included": [1, 0]})
    table.to_parquet(tmp_path / "scores.parquet")
    assert read_scores(tmp_path / "scores.parquet").outside.tolist() == [2.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "needs inside and outside"),
        ("score,included\n1,maybe\n", "membership is 1 or 0"),
        ("score,included\nx,1\n", "no number"),
        ("1,2\n3,4\n", "must name its columns"),
        ("", "empty"),
    ],
)
def test_files_that_are_not_understood_are_refused(tmp_path, text, message):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_scores(path)


def test_scores_on_the_command_line(tmp_path, capsys):
    from dpest.cli import main

    inside, outside = gaussians(11, 1500)
    path = tmp_path / "scores.csv"
    lines = [f"{v},1" for v in inside] + [f"{v},0" for v in outside]
    path.write_text("score,included\n" + "\n".join(lines) + "\n")
    for arguments, status in (
        (["--delta", "1e-5"], 0),
        (["--claim", "gdp:0.5"], 1),
        (["--claim", "gdp:2"], 0),
        (["--one-run", "--claim", "gdp:0.2"], 1),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["scores", str(path), *arguments])
        assert stop.value.code == status, arguments
    assert "VIOLATED" in capsys.readouterr().out
