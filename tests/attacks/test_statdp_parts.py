"""Events that speak of the parts of an output: columns and the script's reading say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpest.attacks.statdp import reading
from dpest.attacks.statdp.families import PairedOutputs, Products
from dpest.attacks.statdp.features import Aggregate, CountOfValue, Element, Length, OneOf, Within
from dpest.attacks.statdp.leaves import leaves_of, part_names, part_of
from dpest.attacks.statdp.selector import families_of, select_events
from dpest.running.samples import Samples

NAMES = {
    name: getattr(reading, name) for name in ("hamming", "number", "numbers", "one_of", "part")
}


def two_lists(rng, shift):
    first = [float(v) for v in rng.normal(size=rng.integers(0, 3)) + shift]
    second = [bool(b) for b in rng.random(rng.integers(1, 4)) < 0.5 + 0.2 * shift]
    return first, second


def table_and_list(rng, shift):
    found = [int(v) for v in rng.integers(0, 3, rng.integers(1, 4))]
    return {"list": found, "sum": sum(found) + rng.normal() + shift}


def or_an_error(rng, shift):
    return "raises ValueError" if rng.random() < 0.1 else two_lists(rng, shift)


def outputs(make, shift, size=150, seed=0):
    rng = np.random.default_rng((seed, int(10 * shift)))
    return [make(rng, shift) for _ in range(size)]


def holds(event, outputs):
    code = compile(event.source, "event", "eval")
    names = [{"output": o, "leaves": reading.leaves(o), "nan": math.nan, **NAMES} for o in outputs]
    return [bool(eval(code, given)) for given in names]


@pytest.mark.parametrize("make", [two_lists, table_and_list, or_an_error])
def test_columns_and_the_script_agree(make):
    first, second = outputs(make, 0.0), outputs(make, 1.0)
    search = select_events(Samples.from_outputs(first), Samples.from_outputs(second))
    rng = np.random.default_rng(1)
    compared = 0
    for block in search.blocks[::5]:
        # Not what always happens: of a yes or no it would be said in the words of a yes.
        some_of_them = np.flatnonzero(block.c1 + block.c2 < 2 * block.runs)
        if not len(some_of_them):
            continue
        event = block.event(int(rng.choice(some_of_them)))
        for some in (first, second):
            mask = event.mask(Samples.from_outputs(some))
            assert mask.tolist() == holds(event, some), event.words
        compared += "output[" in event.words
    assert compared > 10


def test_events_of_two_parts_together():
    first, second = (Samples.from_outputs(outputs(two_lists, s)) for s in (0.0, 1.0))
    joined = PairedOutputs(first, second)
    crossed = [
        family
        for family in families_of(joined)
        if isinstance(family, Products)
        and isinstance(family.bins.feature, Within)
        and family.bins.feature.index != family.split.parts[0][0].index
    ]
    assert crossed
    words = [
        block.event(0).words
        for family in crossed
        for block in family.blocks(family.table(joined), joined.runs)
    ]
    assert any("in output[1] the length is" in text and "output[0]" in text for text in words)


def test_only_parts_whose_places_shift_are_read_alone():
    assert part_names(Samples.from_outputs(outputs(two_lists, 0.0))) == ("0", "1")
    assert part_names(Samples.from_outputs(outputs(table_and_list, 0.0))) == ("'list'", "'sum'")
    assert part_names(Samples.from_outputs([([1.0, 2.0], [True]), ([0.5, 0.0], [False])])) == ()
    assert part_names(Samples.from_outputs([[1.0, 2.0], [True]])) == ()
    assert part_names(Samples.from_outputs([1.0, 2.0])) == ()


def test_a_part_is_read_as_an_output_of_its_own():
    whole = outputs(or_an_error, 0.0)
    samples = Samples.from_outputs(whole)
    for index in (0, 1):
        alone = [leaves_of(o[index]) if isinstance(o, tuple) else () for o in whole]
        assert [reading.part(o, index) for o in whole] == alone
        part = part_of(samples, index)
        for feature in (Length(), CountOfValue(True), Element(-1), Aggregate("max")):
            expected = feature.values(Samples.from_outputs([list(leaves) for leaves in alone]))
            np.testing.assert_array_equal(feature.values(part), expected)
            np.testing.assert_array_equal(
                Within(index, str(index), feature).values(samples), expected
            )


def test_a_part_that_is_missing_is_empty():
    assert reading.part("raises ValueError", 1) == ()
    assert reading.part((1.0,), 1) == ()
    assert reading.part({"b": [1], "a": {3, 2}}, 0) == (2, 3)


def test_words():
    inside = Within(1, "1", OneOf(((True, False),)))
    assert inside.words == "output[1] is [True, False]"
    assert Within(0, "'a'", Length()).words == "in output['a'] the length"
    assert Within(0, "0", Element(0, alone=True)).words == "output[0]"
