"""The JSON contract, by its schema."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from dpest.report.json_report import plain
from report.verdicts import EVERY, INFINITE

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "verdict.schema.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("verdict", EVERY)
def test_every_verdict_fits_the_schema(verdict):
    jsonschema.validate(json.loads(verdict.to_json()), SCHEMA)


def test_the_schema_can_fail():
    broken = json.loads(INFINITE.to_json())
    del broken["adjacency"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)
    broken = json.loads(INFINITE.to_json())
    broken["status"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


def test_infinity_is_a_string():
    assert json.loads(INFINITE.to_json())["lower"]["value"] == "inf"


def test_values_that_json_lacks():
    assert plain(Fraction(7, 4)) == "7/4"
    assert plain(np.array([1.5, np.inf])) == [1.5, "inf"]
    assert plain({"a": (np.int64(3), None, True)}) == {"a": [3, None, True]}
