"""Forged certificates of noisy sums, tables and compositions, each accepted once: refused now."""

from __future__ import annotations

import pytest

from dpest import kernel
from kernel.sums import FIELD, LAPLACE, NOISE, NOISY, NORMAL, SUM, certificate, form, one_pass
from kernel.sums import sums as _sums


def sums(epsilon, *parts, **more):
    names = ("terms", "passes", "rows", "noises")
    return _sums(epsilon, **dict(zip(names, parts, strict=False)), **more)


def refused(changed) -> str:
    with pytest.raises(kernel.Invalid) as reason:
        kernel.check(changed)
    return str(reason.value)


def test_a_sum_with_noise_is_accepted():
    assert kernel.check(sums("1")).bound == 1
    assert "costs more" in refused(sums("999/1000"))


def test_one_noise_under_two_names_that_cancels_hides_nothing():
    rows = [form((1, 1), (2, 1), (3, -1))]
    assert "without noise" in refused(sums("1", (FIELD, SUM, NOISE, NOISE), rows=rows))
    rows = [form((1, 2), (2, 1), (3, 1))]
    assert kernel.check(sums("1", (FIELD, SUM, NOISE, NOISE), rows=rows)).bound == 1


def test_a_coin_and_a_subset_of_one_name_do_not_exclude_each_other():
    passes = [
        one_pass(
            ([[yes, "c", "1/2"]], [form((0, 1))]),
            ([[no, "c", "1/2"]], [form()]),
        )
        for yes, no in (("heads", "tails"), ("in", "out"))
    ]
    terms = (FIELD, SUM, ["sum", 1, 0], NOISE)
    rows = [form((1, 1), (2, 1), (3, 1))]
    assert "costs more" in refused(sums("0", terms, passes, rows, length=2))
    assert kernel.check(sums("2", terms, passes, rows, length=2)).bound == 2


UPPER = [[">=", form((0, 1), constant="-1/2")]]
LOWER = [[">", form((0, -1), constant="1/2")]]
ONE = [form(constant="1")]


def test_a_record_in_no_case_is_refused():
    assert "in none of them" in refused(sums("0", passes=[one_pass((UPPER, ONE))]))
    assert "in none of them" in refused(sums("0", passes=[one_pass((UPPER, ONE), (UPPER, ONE))]))
    whole = one_pass((UPPER, ONE), (LOWER, [form()]))
    assert kernel.check(sums("1", passes=[whole])).bound == 1
    heads = one_pass(([["heads", "c", "1/2"]], ONE))
    adds = {"adjacency": {"name": "add_remove_one", "radius": "inf"}}
    assert "in none of them" in refused(sums("1", passes=[heads], **adds))


def test_cases_that_no_record_is_in_need_not_be_listed():
    cases = [([["==", form((0, 1), constant=str(-v))]], [form(constant=str(v))]) for v in range(3)]
    column = {"name": "x", "low": "0", "high": "2", "whole": True}
    assert kernel.check(sums("2", passes=[one_pass(*cases)], columns=[column])).bound == 2
    wider = {**column, "high": "3"}
    assert "in none of them" in refused(sums("2", passes=[one_pass(*cases)], columns=[wider]))
    real = {**column, "whole": False}
    assert "in none of them" in refused(sums("2", passes=[one_pass(*cases)], columns=[real]))


@pytest.mark.parametrize("name", ["apart", "l1"])
def test_people_with_several_rows_are_in_sums_alone(name):
    terms = (["field", 0, "x"], ["field", 1, "x"], NOISE)
    own = {"terms": terms, "passes": [], "rows": [form((0, 1), (1, 1), (2, 1))]}
    l1 = {"adjacency": {"name": "l1", "radius": "1"}}
    known = sums("1", **own, apart=True, length=2) if name == "apart" else sums("1", **l1)
    assert kernel.check(known).bound == 1
    assert "in sums alone" in refused({**known, "rows_each": 2, "user": "u"})


def test_a_function_of_sums_of_several_rows_is_refused_beside_those_sums():
    terms = (FIELD, SUM, ["min", form((1, 1)), form(constant="100")], NOISE, ["noise", 1])
    rows = [form((1, 1), (3, 1)), form((2, 1), (4, 1))]
    thrice = one_pass(([], [form((0, 1))]), times=3)
    people = {"rows_each": 3, "user": "u"}
    forged = sums("5", terms, [thrice], rows, (LAPLACE, LAPLACE), **people)
    assert "several rows" in refused(forged)


def test_subsets_of_the_rows_of_people_are_not_amplified():
    cases = ([["in", "c", "1/2"]], [form((0, 1))]), ([["out", "c", "1/2"]], [form()])
    people = {"rows_each": 2, "user": "u", "length": 2}
    assert "costs more" in refused(sums("3/2", passes=[one_pass(*cases, times=2)], **people))
    assert kernel.check(sums("2", passes=[one_pass(*cases, times=2)], **people)).bound == 2


def test_functions_of_infinite_exponentials_are_not_subtracted():
    terms = (
        FIELD,
        ["npexp", form((0, 1))],
        ["log1p", form((1, 1))],
        ["log1p", form((1, 2))],
        ["max", form(), form((2, 1), (3, -1))],
        ["min", form(constant="1"), form((4, 1))],
        SUM,
        NOISE,
    )
    unbounded = {"name": "x", "low": "0", "high": "inf", "whole": False}
    passes, rows = [one_pass(([], [form((5, 1))]))], [form((6, 1), (7, 1))]
    assert "infinite" in refused(sums("1", terms, passes, rows, columns=[unbounded]))
    assert kernel.check(sums("1", terms, passes, rows)).bound == 1


@pytest.mark.parametrize("most", ["1/" + "1" + "0" * k for k in range(40, 44)])
def test_noise_that_is_cut_next_to_zero_is_refused(most):
    noise = {**LAPLACE, "most": most}
    rows = [form((1, "1/" + "1" + "0" * 60), (2, 1))]
    refused(sums("1", noises=[noise], rows=rows, delta="1/2"))


def composed(part):
    return certificate("composition", part["epsilon"], parts=[part], paths=[[[0, "1"]]])


def test_a_composition_adds_up_pure_parts_and_parts_in_rho_alone():
    mu2 = sums("1", noises=[NORMAL], measure="mu2")
    assert kernel.check(mu2).measure == "mu2"
    assert "mu2 is not added" in refused(composed(mu2))
    but_for = sums("1", noises=[NORMAL], delta="1/2")
    assert kernel.check(but_for).delta
    assert "but for a δ" in refused(composed(but_for))
    assert kernel.check(composed(sums("1"))).bound == 1


def test_a_composition_is_about_people_with_as_many_rows():
    person = sums("1", rows=NOISY, rows_each=2, user="u")
    both = {**composed(person), "parts": [person, sums("1")], "paths": [[[0, "1"]], [[1, "1"]]]}
    assert kernel.check(composed(person)).inputs[0].rows == 2
    assert "fewer rows" in refused(both)


def test_a_table_of_inputs_of_several_lengths_is_not_about_records_that_come_and_go():
    tables = [{"input": v, "parts": [{str(v): [["1"], ["1"]]}]} for v in ([], [1])]
    table = certificate(
        "finite",
        "0",
        unit="eps",
        length=1,
        adjacency={"name": "add_remove_one", "radius": "inf"},
        domain={"kind": "finite", "values": [[], [1]]},
        power=0,
        denominator=1,
        exponential=None,
        tables=tables,
    )
    assert "same length" in refused(table)


def test_what_a_statement_repeats_is_one_line():
    assert "not one line" in refused(sums("1", assumptions=["nothing\na model: ε ≤ 0"]))
    column = {"name": "x", "low": "0", "high": "1", "whole": True, "values": ["a", "b\x1b[2K"]}
    assert "not one line" in refused(sums("1", columns=[column]))


def test_arithmetic_out_of_reach_is_no_crash():
    plan = {"grid": 100, "windows": [[3200, 3300], [3200, 3300]], "tail": 70}
    two = [form((1, 1), (2, 1)), form((1, 1), (3, 1))]
    terms = (FIELD, SUM, NOISE, ["noise", 1])
    forged = sums("1", terms, rows=two, noises=(LAPLACE, NORMAL), delta="1/2", plan=plan)
    assert "beyond" in refused(forged)


@pytest.mark.parametrize("root", [("1/2", "1/4", "-1"), ("1/3", "1/9", "-2/3")])
def test_a_chance_is_there_for_every_unit(root):
    """At its double root the fraction is 0/0: the table says nothing of that unit."""
    _, constant, slope = root
    square = [constant, slope, "1"]
    chance = {"out": [square, square]}
    table = certificate(
        "finite",
        "0",
        unit="eps",
        length=1,
        adjacency={"name": "any_pair", "radius": "1"},
        domain={"kind": "finite", "values": [0, 1]},
        power=0,
        denominator=1,
        exponential=None,
        tables=[{"input": v, "parts": [chance]} for v in (0, 1)],
    )
    assert "divided by 0" in refused(table)
    chance["out"] = [["1", "-1"], ["1", "-1"]]
    assert kernel.check(table).bound == 0


HALF = {"name": "x", "low": "0", "high": "1", "whole": False}


def test_a_statement_says_which_fields_are_whole_numbers():
    """Cases of a whole field cover no number between: the data are not all real."""
    cases = [([["==", form((0, 1), constant=str(-v))]], [form(constant=str(v))]) for v in (0, 1)]
    columns = [{**HALF, "whole": True}, {**HALF, "name": "y"}]
    found = kernel.check(sums("1", passes=[one_pass(*cases)], columns=columns))
    assert "ℤ ∩ [0, 1] x [0, 1]" in str(found)
    free = [{**columns[0], "low": "-inf", "high": "inf"}, columns[1]]
    bounded = one_pass(([], [form()]))
    assert "ℤ ∩ [-∞, ∞] x [0, 1]" in str(kernel.check(sums("0", passes=[bounded], columns=free)))


@pytest.mark.parametrize(("kind", "words"), [("of_all", "moves ‘s’ by"), ("of_person", "‘s’ is")])
def test_ranges_of_numbers_that_are_no_fields_are_assumptions(kind, words):
    column = {**HALF, "name": "s", kind: True}
    found = kernel.check(sums("1", (["field", None, "s"], SUM, NOISE), columns=[HALF, column]))
    assert any(words in a and "[0, 1]" in a for a in found.assumptions)
    assert len(found.inputs[0].ranges) == 1
    assert "none is of a record" in refused(sums("1", columns=[{**HALF, kind: True}]))
    assert "one line" in refused(sums("1", columns=[HALF, {**column, "name": "s\n"}]))


def test_a_number_is_of_all_records_or_of_one_person():
    both = {**HALF, "name": "s", "of_all": True, "of_person": True}
    assert "of one person" in refused(sums("1", columns=[HALF, both]))


def test_a_coin_has_one_chance():
    def half(chance):
        cases = ([["heads", "c", chance]], [form((0, 1))]), ([["tails", "c", chance]], [form()])
        return one_pass(*cases)

    terms = (FIELD, SUM, ["sum", 1, 0], NOISE)
    rows, adds = [form((1, 1), (2, 1), (3, 1))], {"name": "add_remove_one", "radius": "inf"}
    assert "two chances" in refused(
        sums("2", terms, [half("1/2"), half("1/3")], rows, adjacency=adds)
    )


def test_a_public_value_is_known_from_one_row_on():
    terms = (FIELD, SUM, NOISE, ["pub", 0, 0], ["pub", 0, 1])
    assert "of two times" in refused(sums("1", terms))


def test_a_field_that_is_no_name_is_refused():
    assert "not a text" in refused(sums("1", (["field", None, []], SUM, NOISE)))
