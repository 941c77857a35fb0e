"""A certificate that was changed in one place is refused, or claims nothing stronger."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import dpest
from agreement.styles import clipped_data, max_argmax, svt_while, two_exponentials, vectorised
from dpest.kernel import Invalid, check
from kernel.sums import MADE, claimed
from kernel.true_costs import judged

MODEL = ("adjacency", "length", "epsilon", "noises", "nodes", "edges", "dead", "leaves", "element")


def _certificate(function: Any, length: Any) -> dict[str, Any]:
    proof = dpest.prove(function, adjacency="linf", length=length)
    assert proof.certificate is not None
    return json.loads(json.dumps(proof.certificate))


CERTIFICATES = {
    "laplace": (vectorised, 2),
    "svt": (svt_while, 2),
    "max": (max_argmax, 2),
    "max of any length": (max_argmax, dpest.ANY),
    "clip": (clipped_data, 2),
    "exponentials": (two_exponentials, 1),
}


@pytest.fixture(params=CERTIFICATES.values(), ids=CERTIFICATES.keys(), scope="module")
def certificate(request: pytest.FixtureRequest) -> dict[str, Any]:
    return _certificate(*request.param)


def _refused(changed: dict[str, Any]) -> bool:
    try:
        check(changed)
    except Exception:
        return True
    return False


def _at(where: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        where = where[key]
    return where


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _paths(value[key], (*path, key))
    yield path


def test_it_is_accepted(certificate: dict[str, Any]) -> None:
    assert not _refused(certificate)


def test_a_smaller_bound_is_refused(certificate: dict[str, Any]) -> None:
    for factor in (Fraction(999, 1000), Fraction(1, 2), Fraction(0), Fraction(-1)):
        epsilon = str(Fraction(certificate["epsilon"]) * factor)
        assert _refused({**certificate, "epsilon": epsilon})


@pytest.mark.parametrize("radius", ["2", "1/2", "0", "-1"])
def test_another_radius_is_refused(certificate: dict[str, Any], radius: str) -> None:
    if certificate["mechanism"] == "clipped_data" and radius == "2":
        pytest.skip("clipped to a width of one: it holds for every radius")
    changed = {**certificate, "adjacency": {"name": "linf", "radius": radius}}
    assert _refused(changed)


def test_less_noise_is_refused(certificate: dict[str, Any]) -> None:
    for name, (family, scale) in certificate["noises"].items():
        changed = copy.deepcopy(certificate)
        changed["noises"][name] = [family, str(Fraction(scale) / 2)]
        if certificate["mechanism"] == "svt_while" and name == "h0_0":
            continue  # with two queries the noise of the threshold need not move
        assert _refused(changed), name


def test_another_source_is_refused(certificate: dict[str, Any]) -> None:
    assert _refused({**certificate, "source": certificate["source"] + " "})


def test_a_dropped_branch_is_refused(certificate: dict[str, Any]) -> None:
    for part in ("nodes", "leaves", "edges", "alignments"):
        for i in range(len(certificate.get(part, []))):
            changed = copy.deepcopy(certificate)
            del changed[part][i]
            assert _refused(changed), (part, i)


def test_a_changed_condition_or_shift_is_refused(certificate: dict[str, Any]) -> None:
    """Every coefficient of a condition or of a shift matters (or the shift was not needed)."""
    for path in _paths(certificate):
        value = _at(certificate, path)
        if not {"if", "shift"} & set(path) or not isinstance(value, str):
            continue
        changed = copy.deepcopy(certificate)
        _at(changed, path[:-1])[path[-1]] = str(Fraction(value) + 3)
        assert _refused(changed), path


# Noisy sums -------------------------------------------------------------------------------------

CHANGED_SUMS = ("clipped", "adaptive", "poisson", "subset", "cases", "people", "functions", "l1")


@pytest.mark.parametrize("name", MADE)
def test_a_smaller_bound_of_sums_is_refused(name: str) -> None:
    known = claimed(MADE[name]())
    check(known)
    assert _refused({**known, "epsilon": str(Fraction(known["epsilon"]) * Fraction(99, 100))})


@pytest.mark.parametrize("name", CHANGED_SUMS)
def test_dropped_and_doubled_parts_of_sums_are_refused_or_cost_no_more(name: str) -> None:
    """Each entry of each list; what is accepted is a model that costs no more than it says."""
    known = claimed(MADE[name]())
    for path in _paths(known):
        if path[:1] != ("ways",) or not isinstance(_at(known, path[:-1]), list):
            continue
        for double in (False, True):
            changed = copy.deepcopy(known)
            place = _at(changed, path[:-1])
            place[path[-1] : path[-1] + 1] = [copy.deepcopy(place[path[-1]])] * (2 * double)
            try:
                check(changed)
            except Invalid:
                continue
            assert not judged(changed, 12, path).violated, path


@pytest.mark.parametrize("name", CHANGED_SUMS)
def test_other_relations_and_coins_are_refused_or_cost_no_more(name: str) -> None:
    known = claimed(MADE[name]())
    words = (">", ">=", "==", "!=", "heads", "tails", "in", "out")
    for path in _paths(known):
        if _at(known, path) not in words:
            continue
        for word in words:
            changed = copy.deepcopy(known)
            _at(changed, path[:-1])[path[-1]] = word
            assert _refused(changed) or not judged(changed, 12, path).violated, (path, word)
