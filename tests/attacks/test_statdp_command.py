"""StatDP as a person meets it: by `dpest.attack`, and on the command line."""

from __future__ import annotations

import math
import subprocess
import sys

import dpest
from dpest.attacks.statdp.inputs import generate_cases

SOURCE = """
def answers(queries, rng, *, eps=0.5, threshold):
    rho = rng.laplace(scale=2 / eps)
    return tuple("above" if q >= threshold + rho else "below" for q in queries)

def total(x, rng, *, eps=1.0):
    return sum(x) + rng.laplace(scale=1 / eps)
"""


def run(*words, cwd):
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=cwd, timeout=120, check=False
    )


def test_the_counterexample_is_shown_and_its_python_replays_it(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    words = ["attack", "mine.py:answers", "--method", "statdp", "--epsilon", "0.5", "--quiet"]
    done = run("-m", "dpest", *words, "--budget", "60000runs", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "violates the claim 0.5" in done.stdout
    assert "arguments that StatDP chose: threshold = " in done.stdout
    assert "(exact test), StatDP's p⊤ = " in done.stdout
    _, code = done.stdout.split("To see it again, in Python:\n")
    assert "dpest_target" not in code
    (tmp_path / "replay.py").write_text("\n".join(line[2:] for line in code.splitlines()))
    again = run("replay.py", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    c1, c2 = (int(again.stdout.split(" times")[i].split()[-1]) for i in (0, 1))
    assert c1 > 2 * c2


def test_a_missing_epsilon_is_asked_for_as_it_is_given(tmp_path):
    (tmp_path / "mine.py").write_text("def f(x, rng, *, eps):\n    return x[0] + rng.laplace()\n")
    done = run("-m", "dpest", "attack", "mine.py:f", "--method", "statdp", cwd=tmp_path)
    assert done.returncode == 2
    assert "--param eps=…" in done.stderr
    assert "Traceback" not in done.stderr


def no_cutoff(q, rng, *, eps=0.7):
    rho = rng.laplace(scale=2 / eps)
    return [bool(v + rng.laplace(scale=2 / eps) >= 1 + rho) for v in q]


def five(x, rng):
    a, b, c, d, e = x
    return a + b + c + d + e + rng.laplace()


def test_both_lengths_are_tried_where_nobody_said_one():
    options = {"method": "statdp", "epsilon": 0.7, "budget": "200000 runs", "seed": 0}
    assert len(dpest.attack(no_cutoff, **options).witness.x) == 10
    assert len(dpest.attack(no_cutoff, length=4, **options).witness.x) == 4
    stated = dpest.attack(no_cutoff, domain="reals(6)", **options)
    assert len(stated.witness.x) == 6


def test_a_length_that_the_function_refuses_is_left_out():
    assert {len(c.x) for c in generate_cases(five, length=(5, 10))} == {5}
    assert {len(c.x) for c in generate_cases(no_cutoff, length=(5, 10))} == {5, 10}
    found = dpest.attack(five, method="statdp", adjacency="l1", budget="50000 runs")
    assert not any("raised" in note for note in found.notes)


def members(x, rng):
    return {i for i, v in enumerate(x) if v + rng.laplace() > 0.5}


def named(x, rng):
    return {f"item {i}": None for i, v in enumerate(x) if v + rng.laplace() > 0.5}


def test_sets_and_keys_are_looked_into():
    """Each entry is answered on its own: two entries that move are ε = 2, one is ε = 1."""
    for mechanism in (members, named):
        found = dpest.attack(
            mechanism, [0, 0], [1, 1], method="statdp", budget="200000 runs", epsilon=1.0
        )
        assert 1.2 < found.value < 2, mechanism


def test_infinity_is_a_value_and_no_warning():
    def clipped(x, rng):
        v = x[0] + rng.laplace(scale=0.5)
        return math.inf if v > 2 else v

    found = dpest.attack(clipped, [0], [1], method="statdp", budget="100000 runs")
    assert 1.8 < found.value < 2


def test_outputs_that_are_not_looked_into_are_said():
    found = dpest.attack(
        lambda x, rng: complex(x[0], rng.laplace()), [0], [1], method="statdp", budget="2000 runs"
    )
    assert found.value == 0
    assert any("could be told apart" in note for note in found.notes)


def test_whole_numbers_read_as_such_whatever_their_type():
    def count(x, rng):
        return float(sum(x)) + rng.geometric(0.4) - rng.geometric(0.4)

    found = dpest.attack(count, [1, 1], [2, 1], method="statdp", budget="100000 runs", seed=0)
    assert "lies in" not in found.witness.event
    assert found.witness.event.startswith("the output is ")


def test_a_curve_lengths_and_patterns_from_the_command_line(tmp_path):
    import subprocess
    import sys

    page = tmp_path / "curve.html"
    words = ["attack", "SVT5", "--method", "statdp", "--lengths", "3", "--pattern", "one above"]
    words += ["--curve", str(page), "--budget", "20000runs", "--quiet"]
    found = subprocess.run(
        [sys.executable, "-m", "dpest", *words], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1, found.stderr
    assert "[2, 1, 1]" in found.stdout
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "test ε" in text
