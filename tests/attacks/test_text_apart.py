"""Numbers inside of text and of complex numbers are features of their own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dpest.attacks.features import Splitter
from dpest.attacks.text import apart, hides_numbers
from dpest.running.samples import Samples


def outputs(rows: int, count: int) -> list[str]:
    rng = np.random.default_rng(rows)
    return [json.dumps({"sum": round(rng.laplace(), 3), "rows": rows}) for _ in range(count)]


def test_a_text_becomes_its_pattern_and_its_numbers() -> None:
    samples = Samples.from_outputs(["a 1.5 of 3", "a -2e3 of 4", "none"])
    skeleton = samples.groups[0].skeleton
    found = apart(samples, {(skeleton, 0)})
    assert found.size == 3
    assert sorted(len(g.columns) for g in found.groups) == [0, 2]
    two = next(g for g in found.groups if g.columns)
    assert two.rows.tolist() == [0, 1]
    assert [c.tolist() for c in two.columns] == [[1.5, -2000.0], [3.0, 4.0]]


def test_few_texts_stay_whole() -> None:
    assert not hides_numbers(np.array(["a 1", "a 2"] * 50, dtype=object))
    assert hides_numbers(np.array([f"a {i}" for i in range(100)], dtype=object))
    assert not hides_numbers(np.array([1.5, 2.5]))


def test_an_exact_number_in_a_text_is_seen() -> None:
    splitter = Splitter(Samples.from_outputs([*outputs(4, 300), *outputs(5, 300)]))
    four, five = (splitter.parts(Samples.from_outputs(outputs(n, 50))) for n in (4, 5))
    assert len(set(four.signatures.tolist())) == len(set(five.signatures.tolist())) == 1
    assert four.signatures[0] != five.signatures[0]


def test_both_parts_of_a_complex_number_are_seen() -> None:
    def run(n: int) -> list[Any]:
        rng = np.random.default_rng(n)
        return [complex(rng.laplace(), n) for _ in range(200)]

    splitter = Splitter(Samples.from_outputs([*run(1), *run(2)]))
    one, two = (splitter.parts(Samples.from_outputs(run(n))) for n in (1, 2))
    assert one.signatures[0] != two.signatures[0]
