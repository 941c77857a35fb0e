"""Claims as values: their numbers, expressions, short forms and text."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpest.errors import DomainError, DpestError
from dpest.notions import (
    ZCDP,
    ApproxDP,
    GaussianDP,
    PureDP,
    RenyiCurve,
    RenyiDP,
    parse_claim,
)


@pytest.mark.parametrize(
    ("text", "claim", "written"),
    [
        ("pure:0.1", PureDP(0.1), "0.1-DP"),
        ("approx:1,1e-5", ApproxDP(1.0, 1e-5), "(1, 1e-05)-DP"),
        ("renyi:2,0.1", RenyiDP(2.0, 0.1), "(2, 0.1)-Rényi DP"),
        ("zcdp:0.05", ZCDP(0.05), "0.05-zCDP"),
        ("gdp:1", GaussianDP(1.0), "1-GDP"),
        ("pure:inf", PureDP(math.inf), "∞-DP"),
        ("PURE: 1/4", PureDP(0.25), "0.25-DP"),
        ("approx:max(eps, 1),delta", ApproxDP("max(eps, 1)", "delta"), "(max(eps, 1), delta)-DP"),
    ],
)
def test_short_forms(text, claim, written):
    assert parse_claim(text) == claim
    assert str(claim) == written


def test_repr_can_be_read_back():
    for claim in (PureDP(0.1), ApproxDP("eps", 1e-6), RenyiDP(2, 0.5), ZCDP(1), GaussianDP(2)):
        assert eval(repr(claim)) == claim


def test_a_number_alone_is_a_pure_claim():
    assert parse_claim("0.1") == PureDP(0.1)


@pytest.mark.parametrize(
    "text", ["", "pure", "pure:", "pure:1,2", "renyi:2", "zdp:1", "pure:nan", "nan", "-1", "gdp:-1"]
)
def test_short_forms_that_are_wrong(text):
    with pytest.raises(DomainError):
        parse_claim(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureDP(-0.1),
        lambda: PureDP(math.nan),
        lambda: PureDP(None),
        lambda: PureDP(True),
        lambda: ApproxDP(1, 1.5),
        lambda: ApproxDP(1, -1e-9),
        lambda: ApproxDP(1, math.nan),
        lambda: RenyiDP(1, 0.1),
        lambda: RenyiDP(0.5, 0.1),
        lambda: RenyiDP(2, -0.1),
        lambda: ZCDP(-1),
        lambda: GaussianDP(math.nan),
        lambda: RenyiCurve({}),
        lambda: RenyiCurve({1: 0.1}),
    ],
)
def test_numbers_outside_the_domain(make):
    with pytest.raises(DomainError) as problem:
        make()
    assert isinstance(problem.value, ValueError)
    assert isinstance(problem.value, DpestError)


def test_the_error_names_the_number():
    with pytest.raises(DomainError, match=r"delta must lie in \[0, 1\], got 1.5"):
        ApproxDP(1, 1.5)


@pytest.mark.parametrize(
    ("text", "unit", "k"),
    [
        ("eps", "eps", 1),
        ("2*eps", "eps", 2),
        ("eps/2 + eps/3", "eps", Fraction(5, 6)),
        ("0.1*epsilon", "epsilon", Fraction(1, 10)),
        ("-(-eps)", "eps", 1),
        ("eps**2/eps", "eps", 1),
        ("eps - eps", "eps", 0),
        ("eps**2", "eps", None),
        ("eps + 1", "eps", None),
        ("1/eps", "eps", None),
        ("exp(eps)", "eps", None),
    ],
)
def test_multiples_of_the_unit(text, unit, k):
    claim = PureDP(text)
    assert claim.unit == unit
    assert claim.multiple(unit) == k


def test_other_parameters_may_be_given_to_multiple():
    claim = PureDP("n*eps/2")
    assert claim.unit is None
    assert claim.multiple("eps") is None
    assert claim.multiple("eps", {"n": 5, "eps": 0.3}) == Fraction(5, 2)
    assert PureDP(0.1).multiple("eps") is None
    assert PureDP(0.1).unit is None
    assert PureDP(0).multiple("eps") == 0


def test_resolve():
    assert PureDP("2*eps").resolve({"eps": 0.25}) == PureDP(0.5)
    assert PureDP("0.1*eps").resolve({"eps": Fraction(1)}).epsilon == Fraction(1, 10)
    assert ApproxDP("eps", "1/n**2").resolve({"eps": 1, "n": 10}).delta == Fraction(1, 100)
    assert PureDP("log(3)").resolve({}).epsilon == math.log(3)
    assert PureDP("inf").resolve({}).epsilon == math.inf
    assert PureDP(0.3).resolve({}) == PureDP(0.3)
    assert not PureDP("eps").resolved


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("eps", {}),
        ("eps", {"eps": math.nan}),
        ("eps", {"eps": "1"}),
        ("-eps", {"eps": 1}),
        ("1/eps", {"eps": 0}),
        ("eps**9999999", {"eps": 2}),
        ("(-eps)**0.5", {"eps": 1}),
    ],
)
def test_expressions_without_a_value(text, params):
    with pytest.raises(DomainError):
        PureDP(text).resolve(params)


@pytest.mark.parametrize(
    "text", ["__import__('os')", "eps.real", "[eps]", "eps if 1 else 2", "'a'", "eps(", "", "f(1)"]
)
def test_expressions_are_arithmetic_only(text):
    with pytest.raises(DomainError):
        PureDP(text)


def test_a_renyi_curve_between_known_orders_is_sound_for_the_gaussian():
    curve = RenyiCurve({a: a * 0.5 for a in (1.5, 2, 4, 16)})
    for alpha in (1.1, 1.7, 2, 3, 10, 16):
        assert alpha * 0.5 <= curve.at(alpha) * (1 + 1e-12)
    assert curve.at(1.1) == pytest.approx(0.75)
    assert curve.at(17) == math.inf
