"""Certificates of noisy sums by hand: one of every kind, each with the least bound there is."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpest.kernel import Invalid
from dpest.kernel.approximate.accountant import Account, Ledger, mu2_bound, pure_bound, rho_bound
from dpest.kernel.rules.contributions import ledger_of

SOURCE = "def f(q, eps):\n    return q\n"
LAPLACE = {"family": "laplace", "scale": "1", "most": None}
NORMAL = {"family": "normal", "scale": "1", "most": None}
FIELD, SUM, NOISE = ["field", None, "x"], ["sum", 0, 0], ["noise", 0]
UNIT = {"name": "x", "low": "0", "high": "1", "whole": False}
MODEL = ("apart", "columns", "ways", "rows_each", "user")
BOUNDS: dict[str, Callable[[Ledger], Fraction | None]] = {
    "epsilon": pure_bound,
    "rho": rho_bound,
    "mu2": mu2_bound,
}


def certificate(method: str, epsilon: str, **more: Any) -> dict[str, Any]:
    return {
        "format": "dpest-certificate/1",
        "version": "1.1",
        "source": SOURCE,
        "sha256": hashlib.sha256(SOURCE.encode()).hexdigest(),
        "mechanism": "f",
        "parameters": {},
        "epsilon": epsilon,
        "unit": None,
        "adjacency": {"name": "replace_one", "radius": "inf"},
        "length": "any",
        "method": method,
        **more,
    }


def form(*terms: tuple[int, Any], constant: str = "0") -> list[Any]:
    return [constant, [[symbol, str(slope)] for symbol, slope in terms]]


def one_pass(*cases: Any, **more: Any) -> dict[str, Any]:
    listed = [{"if": conditions, "adds": adds} for conditions, adds in cases]
    return {"made": 0, "cases": listed, **more}


EACH = one_pass(([], [form((0, 1))]))
NOISY = [form((1, 1), (2, 1))]


def way(
    terms: Any = (FIELD, SUM, NOISE),
    passes: Any = (EACH,),
    rows: Any = NOISY,
    noises: Any = (LAPLACE,),
    gates: Any = (),
) -> dict[str, Any]:
    listed = {"terms": terms, "noises": noises, "passes": passes, "rows": rows, "gates": gates}
    return {key: list(value) for key, value in listed.items()}


def sums(epsilon: str, *parts: Any, columns: Any = (UNIT,), **more: Any) -> dict[str, Any]:
    """Sums of numbers of [0, 1] with noise; `parts` and some of `more` are those of the way."""
    own = {k: more.pop(k) for k in ("terms", "passes", "rows", "noises", "gates") if k in more}
    rest = {"apart": False, "columns": list(columns), "assumptions": [], "form": "list"}
    rest |= {"ways": [way(*parts, **own)], "measure": "epsilon", "delta": "0", "plan": None}
    return certificate("contributions", epsilon, **{**rest, **more})


def least(changed: Mapping[str, Any]) -> Fraction | None:
    """The least bound that the kernel finds for the model of a certificate."""
    model = {k: changed[k] for k in MODEL if k in changed}
    near, length = changed["adjacency"], changed["length"]
    radius = float("inf") if near["radius"] == "inf" else Fraction(near["radius"])
    fixed = None if length == "any" else length
    ledger = ledger_of(copy.deepcopy(model), near["name"], radius, fixed)
    delta = Fraction(changed["delta"])
    if delta and changed["measure"] == "epsilon":
        account = Account(ledger)
        if account.needs_laws:
            account.laws()  # on the grid that the kernel takes where a certificate names none
        return account.epsilon(delta)
    return BOUNDS[changed["measure"]](ledger)


def claimed(changed: dict[str, Any]) -> dict[str, Any]:
    """The same certificate with the least bound; `Invalid` where there is none."""
    found = least(changed)
    if found is None:
        raise Invalid("no bound")
    return {**changed, "epsilon": str(found)}


# One of every kind -------------------------------------------------------------------------------

ADDS = {"adjacency": {"name": "add_remove_one", "radius": "inf"}}
TWO = ({**UNIT, "name": "x", "low": "-3", "high": "3"}, {**UNIT, "name": "y", "high": "2"})
FREE = tuple({**UNIT, "name": name, "low": "-inf", "high": "inf"} for name in "xy")
PAIR = (["field", None, "x"], ["field", None, "y"])
TWO_SUMS = [["sum", 0, 0], ["sum", 0, 1], ["noise", 0], ["noise", 1]]


def _two_rows(first: int) -> list[Any]:
    """Two sums, each with noise of its own, the first of which is this symbol."""
    return [form((first, 1), (first + 2, 1)), form((first + 1, 1), (first + 3, 1))]


def _clipped(noise: Any, **more: Any) -> dict[str, Any]:
    terms = [
        *PAIR,
        ["norm", form((0, 1)), form((1, 1))],
        ["div", form(constant="1"), form((2, 1), constant="1/10")],
        ["min", form(constant="1"), form((3, 1))],
        ["mul", form((0, 1)), form((4, 1))],
        ["mul", form((1, 1)), form((4, 1))],
        *TWO_SUMS,
    ]
    passes = [one_pass(([], [form((5, 1)), form((6, 1))]))]
    return sums("9", terms, passes, _two_rows(7), (noise, noise), columns=FREE, **more)


def _divided(**more: Any) -> dict[str, Any]:
    terms = [
        *PAIR,
        ["norm", form((0, 1)), form((1, 1))],
        ["max", form(constant="1"), form((2, "1/2"))],
        ["div", form((0, 1)), form((3, 1))],
        ["div", form((1, 1)), form((3, 1))],
        *TWO_SUMS,
    ]
    passes = [one_pass(([], [form((4, 1)), form((5, 1))]))]
    return sums("9", terms, passes, _two_rows(6), (LAPLACE, LAPLACE), columns=FREE, **more)


def _if_long() -> dict[str, Any]:
    terms = [
        *PAIR,
        ["norm", form((0, 1)), form((1, 1))],
        ["div", form((0, 1)), form((2, 1))],
        ["div", form((1, 1)), form((2, 1))],
        *TWO_SUMS,
    ]
    long, short = form((2, 1), constant="-1"), form((2, -1), constant="1")
    cases = (
        ([[">", long]], [form((3, 1)), form((4, 1))]),
        ([[">=", short]], [form((0, 1)), form((1, 1))]),
    )
    rows, noises = _two_rows(5), (NORMAL, NORMAL)
    return sums("9", terms, [one_pass(*cases)], rows, noises, columns=FREE, measure="mu2", **ADDS)


def _adaptive(noise: Any, **more: Any) -> dict[str, Any]:
    terms = [
        FIELD,
        SUM,
        NOISE,
        ["pub", 0, 1],
        ["mul", form((0, 1)), form((3, 1))],
        ["max", form(constant="-1"), form((4, 1))],
        ["min", form(constant="1"), form((5, 1))],
        ["sum", 1, 0],
        ["noise", 1],
    ]
    passes = [EACH, one_pass(([], [form((6, 1))]), made=1)]
    rows = [*NOISY, form((7, 1), (8, 1))]
    return sums("9", terms, passes, rows, (noise, noise), **more)


def _sampled(yes: str, no: str, noise: Any, **more: Any) -> dict[str, Any]:
    def half(coin: str, made: int, one: int) -> dict[str, Any]:
        cases = ([[yes, coin, "1/2"]], [form((one, 1))]), ([[no, coin, "1/2"]], [form()])
        return one_pass(*cases, made=made)

    terms = [FIELD, SUM, NOISE, ["sum", 1, 0], ["noise", 1]]
    passes = [half("c", 0, 0), half("d", 1, 0)]
    rows = [*NOISY, form((3, 1), (4, 1))]
    return sums("9", terms, passes, rows, (noise, noise), **more)


def _cases() -> dict[str, Any]:
    upper, lower = form((0, 1), constant="-1/2"), form((0, -1), constant="1/2")
    small, large = form((1, 1), constant="-1"), form((1, -1), constant="1")
    cases = (
        ([[">=", upper], [">", small]], [form((0, 1)), form((1, 1))]),
        ([[">=", upper], [">=", large]], [form((0, 1)), form()]),
        ([[">", lower]], [form(), form(constant="1/2")]),
    )
    rows = [form((2, 1), (4, 1)), form((2, 1), (3, -1), (5, 1))]
    return sums("9", [*PAIR, *TWO_SUMS], [one_pass(*cases)], rows, (LAPLACE, LAPLACE), columns=TWO)


def _bins(family: str, scale: str) -> dict[str, Any]:
    cases = [
        (
            [["==", form((0, 1), constant=str(-v))]],
            [form(constant=str(int(v == b))) for b in (0, 1)],
        )
        for v in range(3)
    ]
    column = {"name": "x", "low": "0", "high": "2", "whole": True, "values": ["'a'", "'b'", "'c'"]}
    noise = {"family": family, "scale": scale, "most": None}
    terms, passes = [FIELD, *TWO_SUMS], [one_pass(*cases)]
    return sums("9", terms, passes, _two_rows(1), (noise, noise), columns=[column])


def _people(noise: Any, **more: Any) -> dict[str, Any]:
    terms = [*PAIR, *TWO_SUMS]
    terms[3] = ["sum", 1, 0]
    rows_of, once = one_pass(([], [form((0, 1))]), times=3), one_pass(([], [form((1, 1))]))
    columns = (UNIT, {**UNIT, "name": "y", "high": "2", "of_person": True})
    people = {"rows_each": 3, "user": "u", "columns": columns}
    return sums("9", terms, [rows_of, once], _two_rows(2), (noise, noise), **people, **more)


def _functions() -> dict[str, Any]:
    terms = [
        *PAIR,
        *TWO_SUMS,
        ["pub", 0, 0],
        ["max", form((2, 1)), form((3, 2)), form((6, 1))],
        ["abs", form((2, 1), (3, -1))],
        ["pick", form((6, 1)), form((7, 1)), form((8, 1), constant="1")],
    ]
    passes, rows = [one_pass(([], [form((0, 1)), form((1, 1))]))], _two_rows(2)
    rows[0], rows[1] = form((4, 1), (7, 1)), form((5, 1), (9, 1))
    return sums("9", terms, passes, rows, (LAPLACE, LAPLACE), columns=TWO)


def _choice(family: str | None, **more: Any) -> dict[str, Any]:
    terms, passes = [*PAIR, *TWO_SUMS[:2]], [one_pass(([], [form((0, 1)), form((1, 1))]))]
    exponents = [form((2, 1)), form((3, 1)), form((2, "1/2"))]
    noises = [{"family": family, "scale": "2", "most": None}] * 3 if family else []
    rows = [{"exponents": exponents, "noises": list(range(len(noises)))}]
    return sums("9", terms, passes, rows, noises, columns=TWO, **more)


def _moved(name: str) -> dict[str, Any]:
    terms = [*[["field", i, "x"] for i in range(3)], ["max", form((0, 1)), form((1, 1))]]
    terms += [["tanh", form((2, 1))], ["noise", 0], ["noise", 1]]
    rows = [form((0, 1), (1, -1), (5, 1)), form((3, 1), (4, 2), (6, 1))]
    column = {**UNIT, "low": "-inf", "high": "inf"}
    near = {"adjacency": {"name": name, "radius": "1/2"}, "apart": True, "length": 3}
    return sums("9", terms, (), rows, (LAPLACE, LAPLACE), columns=[column], **near)


def _gates(noise: Any) -> dict[str, Any]:
    gates = [{"noise": 1, "threshold": "5", "made": 1}]
    return sums("9", noises=(LAPLACE, noise), gates=gates, delta="1/10")


def _two_ways() -> dict[str, Any]:
    first, second = way(), way(noises=({**LAPLACE, "scale": "2"},))
    return {**sums("9"), "ways": [first, second]}


def _matrix() -> dict[str, Any]:
    rows = [form((2, 1), (4, 1)), form((3, 1), (4, 1), (5, 2))]
    passes = [one_pass(([], [form((0, 1)), form((1, 1))]))]
    return sums("9", [*PAIR, *TWO_SUMS], passes, rows, (NORMAL, NORMAL), columns=TWO, measure="mu2")


ALL_RECORDS = {"name": "s", "low": "-2", "high": "1", "whole": False, "of_all": True}
CUT = {**LAPLACE, "most": "4"}

MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "laplace": lambda: sums("9"),
    "mu2": lambda: sums("9", noises=(NORMAL,), measure="mu2"),
    "rho": lambda: sums("9", noises=(NORMAL,), measure="rho", **ADDS),
    "rho of laplace": lambda: sums("9", measure="rho"),
    "delta": lambda: sums("9", noises=(NORMAL,), delta="1/50"),
    "clipped": lambda: _clipped(NORMAL, measure="mu2"),
    "clipped laplace": lambda: _clipped(LAPLACE, **ADDS),
    "divided": _divided,
    "if long": _if_long,
    "adaptive": lambda: _adaptive(LAPLACE),
    "adaptive delta": lambda: _adaptive(NORMAL, delta="1/20", **ADDS),
    "two kinds": lambda: {**(c := _adaptive(LAPLACE, delta="1/20")), "ways": [
        {**c["ways"][0], "noises": [LAPLACE, NORMAL]}
    ]},
    "poisson": lambda: _sampled("heads", "tails", LAPLACE, **ADDS),
    "poisson delta": lambda: _sampled("heads", "tails", NORMAL, delta="1/20", **ADDS),
    "subset": lambda: _sampled("in", "out", LAPLACE, length=4),
    "gates": lambda: _gates(LAPLACE),
    "normal gates": lambda: _gates({**NORMAL, "scale": "2"}),
    "weights": lambda: _choice(None),
    "gumbel race": lambda: _choice("gumbel", **ADDS),
    "exponential race": lambda: _choice("exponential"),
    "laplace race": lambda: _choice("laplace"),
    "cases": _cases,
    "bins": lambda: _bins("discrete_laplace", "2"),
    "geometric bins": lambda: _bins("two_sided_geometric", "1/3"),
    "people": lambda: _people(LAPLACE),
    "people mu2": lambda: _people(NORMAL, measure="mu2", **ADDS),
    "functions": _functions,
    "cut noise": lambda: sums("9", noises=(CUT,), delta="1/10"),
    "l1": lambda: _moved("l1"),
    "linf": lambda: _moved("linf"),
    "monotone": lambda: _moved("monotone"),
    "all records": lambda: sums(
        "9", [["field", None, "s"], SUM, NOISE], columns=(UNIT, ALL_RECORDS)
    ),
    "two ways": _two_ways,
    "matrix": _matrix,
}  # fmt: skip


def every_kind() -> dict[str, dict[str, Any]]:
    return {name: claimed(made()) for name, made in MADE.items()}
