"""`dpest convert`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dpest import cli
from dpest.cli.convert import convert


def run(*arguments):
    return CliRunner().invoke(convert, list(arguments))


def test_prints_the_guarantee_and_the_formula():
    done = run("renyi:2,0.1", "--to", "approx", "--delta", "1e-5", "--closed-form")
    assert done.exit_code == 0
    assert "(10.2266311, 1e-05)-DP" in done.output
    assert "log δ" in done.output
    assert "not tight" in done.output


def test_json():
    done = run("gdp:1", "--to", "renyi", "--alpha", "8", "--json")
    answer = json.loads(done.output)
    assert answer["result"] == {"notion": "renyi", "alpha": 8.0, "rho": 4.0}
    assert answer["tight"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("approx:1,1e-5", "--to", "zcdp"), "no finite"),
        (("renyi:1,2", "--to", "zcdp"), "alpha must be greater than 1"),
        (("bogus:1", "--to", "zcdp"), "is not a claim"),
        (("pure:1", "--to", "approx"), "needs epsilon or delta"),
        (("pure:eps", "--to", "zcdp"), "without values"),
    ],
)
def test_what_can_not_be_answered(arguments, message, capfd):
    assert cli.run(["convert", *arguments]) == 2
    assert message in capfd.readouterr().err
