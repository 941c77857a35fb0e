"""Changed certificates never crash the kernel; a script in `validation/` tries 10,000."""

from __future__ import annotations

import random

import pytest

from dpest import kernel
from kernel.examples import TARGETS, certificate
from kernel.mutations import forged, mutated
from kernel.sums import MADE, claimed, every_kind
from kernel.true_costs import judged


@pytest.mark.parametrize("name", TARGETS)
def test_every_refusal_is_invalid_with_a_reason(name):
    source, whole = random.Random(f"mutated {name}"), certificate(name)
    old = kernel.check(whole)
    refused = 0
    for _ in range(25):
        changed = mutated(whole, source)
        try:
            found = kernel.check(changed)
        except kernel.Invalid as reason:
            refused += 1
            assert str(reason)  # noqa: PT017
        else:
            assert found.measure == old.measure
    assert refused >= 15


@pytest.fixture(scope="module")
def noisy_sums():
    return every_kind()


@pytest.mark.parametrize("name", MADE)
def test_changed_sums_are_refused_or_cost_no_more(noisy_sums, name):
    """Half of the forgeries claim the least that the kernel finds for the model they describe."""
    source, refused = random.Random(f"forged {name}"), 0
    for trial in range(20):
        whole, others = noisy_sums[name], list(noisy_sums.values())
        changed = mutated(whole, source) if trial % 4 == 0 else forged(whole, others, source)
        try:
            if trial % 2:
                changed = claimed(changed)
            kernel.check(changed)
        except (kernel.Invalid, KeyError, TypeError, ValueError, ArithmeticError):
            with pytest.raises(kernel.Invalid):
                kernel.check(changed)
            refused += 1
        else:
            assert not judged(changed, 24, trial).violated, changed
    assert refused >= 5


TIGHT = (
    "laplace", "mu2", "rho", "clipped", "clipped laplace", "if long", "poisson", "subset", "bins",
    "gumbel race", "l1", "all records", "two ways", "matrix", "delta",
)  # fmt: skip


@pytest.mark.parametrize("name", TIGHT)
def test_the_judge_sees_a_bound_that_is_too_small(noisy_sums, name):
    whole = noisy_sums[name]
    assert not judged(whole).violated
    many = 2000 if "race" in name else 100  # the others must decide for another candidate
    assert judged(whole, many, most=0.9).violated


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "1", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 100_000]
)
def test_a_text_that_is_no_certificate_is_refused(text):
    with pytest.raises(kernel.Invalid):
        kernel.check_text(text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("length", "anyx"),
        ("length", True),
        ("length", 10**9),
        ("unit", "epsx"),
        ("unit", "scores"[::-1]),
        ("unit", 1),
        ("format", "dpest-certificate/2"),
        ("version", "9"),
        ("epsilon", "1e0"),
        ("epsilon", 1.0),
        ("epsilon", "-1"),
        ("epsilon", None),
        ("method", "made_up"),
        ("extra", 0),
        ("power", 2),
        ("parts", []),
        ("adjacency", {"name": "linf"}),
        ("adjacency", {"name": "linf", "radius": "1", "more": "1"}),
        ("adjacency", {"name": "linf", "radius": "0"}),
        ("adjacency", {"name": "linf", "radius": "١"}),
        ("domain", {"kind": "realsx", "width": "inf"}),
    ],
)
def test_a_malformed_header_is_refused(key, value):
    whole = certificate("selection")
    with pytest.raises(kernel.Invalid):
        kernel.check({**whole, key: value})


@pytest.mark.parametrize("name", TARGETS)
def test_no_key_may_be_missing(name):
    whole = certificate(name)
    optional = {"digest", "module", "version"}
    for key in whole:
        bare = {k: v for k, v in whole.items() if k != key}
        if key in optional:
            kernel.check(bare)
            continue
        if key == "rule":  # without it the model is an argmax as such: another program
            assert not kernel.check(bare).assumptions
            continue
        with pytest.raises(kernel.Invalid):
            kernel.check(bare)
