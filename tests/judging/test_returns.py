"""What a function returns beside numbers is part of its output, and of the certificate."""

from __future__ import annotations

import copy

import pytest

import dpest
from dpest.errors import DpestError
from dpest.kernel import Invalid
from dpest.kernel.judgments import check
from dpest.kernel.judgments.skeletons import ReturnSkeleton
from judging import returns as r

NEAR = "abs(x<1> - x<2>) <= 1"
SAME = "x<1> == x<2>"
# first, second, precondition, ε, and whether the outputs are equal in law within that ε
EQUAL = [
    (r.nothing, r.falls_through, NEAR, 0, True),
    (r.nothing, r.zero, NEAR, 0, False),
    (r.zero, r.zero_float, NEAR, 0, False),
    (r.zero, r.false, NEAR, 0, False),
    (r.two, r.numpy_two, NEAR, 0, False),
    (r.numpy_two, r.numpy_two, NEAR, 0, True),
    (r.empty_list, r.empty_tuple, NEAR, 0, False),
    (r.empty_list, r.empty_list, NEAR, 0, True),
    (r.empty_list, r.nothing, NEAR, 0, False),
    (r.none_in_list, r.nothing, NEAR, 0, False),
    (r.none_in_list, r.empty_list, NEAR, 0, False),
    (r.counted_range, r.pair_list, NEAR, 0, False),
    (r.pair_list, r.pair_tuple, NEAR, 0, False),
    (r.pair_list, r.pair_array, NEAR, 0, False),
    (r.pair_array, r.pair_floats, NEAR, 0, False),
    (r.pair_array, r.pair_array, NEAR, 0, True),
    (r.noisy, r.noisy_list, NEAR, 1, False),
    (r.noisy, r.noisy_numpy, NEAR, 1, False),
    (r.noisy_list, r.noisy_tuple, NEAR, 1, False),
    (r.noisy_list, r.noisy_array, NEAR, 1, False),
    (r.noisy_tuple, r.noisy_tuple, NEAR, 1, True),
    (r.noisy_array, r.noisy_array, NEAR, 1, True),
    (r.with_int, r.with_float, NEAR, 1, False),
    (r.with_int, r.with_true, NEAR, 1, False),
    (r.with_int, r.with_int, NEAR, 1, True),
    (r.none_after, r.none_before, NEAR, 5, False),
    (r.none_after, r.none_after, NEAR, 1, True),
    (r.positive, r.positive_int, NEAR, 1, False),
    (r.positive, r.numpy_positive, NEAR, 1, False),
    (r.numpy_positive, r.numpy_positive, NEAR, 1, True),
    (r.seldom_an_int, r.positive, SAME, 0, False),
    (r.positive_int, r.positive_int_at_once, NEAR, 1, True),
    (r.positive_int, r.positive_index, NEAR, 1, False),
    (r.true_or_zero, r.true_or_zero, NEAR, 1, True),
    (r.true_or_zero, r.true_or_zero, NEAR, 0.5, False),
    (r.true_or_zero, r.one_or_false, NEAR, 5, False),
    (r.one_or_two_zeros, r.one_or_two_zeros, NEAR, 1, True),
    (r.one_or_two_zeros, r.one_or_two_zeros, NEAR, 0.5, False),
    (r.one_or_two_zeros, r.length_tells, SAME, 1, False),
    (r.length_tells, r.length_tells, NEAR, 3, False),
    (r.length_tells, r.length_tells, SAME, 0, True),
    (r.list_or_tuple, r.list_or_tuple, NEAR, 1, True),
    (r.list_or_tuple, r.list_or_tuple, NEAR, 0.5, False),
    (r.list_or_tuple, r.tuple_or_list, SAME, 0, False),
    (r.list_or_tuple_backwards, r.list_or_tuple, SAME, 0, True),
    (r.list_or_tuple_backwards, r.list_or_tuple, NEAR, 1, True),
    (r.container_tells, r.container_tells, NEAR, 1, False),
    (r.number_or_none, r.number_or_falls_through, NEAR, 1, True),
    (r.number_or_none, r.number_or_zero, NEAR, 1, False),
    (r.list_or_none, r.number_or_none, NEAR, 1, False),
    (r.list_or_none, r.list_or_none, NEAR, 1, True),
    (r.coin_list, r.coin_tuple, NEAR, 0, True),
    (r.coin_list, r.rare_tuple, NEAR, "0.69", False),
    (r.coin_list, r.rare_tuple, NEAR, "0.7", True),
    (r.rare_tuple, r.coin_list, NEAR, "0.4", False),
    (r.rare_tuple, r.coin_list, NEAR, "0.41", True),
]
# first, second, postcondition, ε, answer
SAID = [
    (r.noisy_list, r.noisy_tuple, "out<1> == out<2>", 1, "false"),
    (r.noisy_list, r.noisy_tuple, "out<1>[0] == out<2>[0]", 1, "holds"),
    (r.noisy_list, r.noisy_tuple, "abs(out<1>[0] - out<2>[0]) <= 1", 0, "holds"),
    (r.zero, r.zero_float, "out<1> == out<2>", 0, "false"),
    (r.zero, r.zero_float, "out<1> - out<2> == 0", 0, "holds"),
    (r.zero, r.false, "out<1> == 0 and out<2> == 0", 0, "holds"),
    (r.noisy, r.noisy_numpy, "abs(out<1> - out<2>) <= 1", 0, "holds"),
    (r.noisy, r.noisy_numpy, "abs(out<1> - out<2>) <= 0", "1/2", "false"),
    (r.pair_list, r.pair_tuple, "out<1> != out<2>", 0, "holds"),
    (r.pair_list, r.pair_list, "out<1> != out<2>", 0, "false"),
    (r.pair_tuple, r.pair_list, "out<1> == (0, 1) and out<2> == [0, 1]", 0, "holds"),
    (r.pair_list, r.pair_tuple, "sum(out<1>) == len(out<2>) - 1", 0, "holds"),
    (r.number_or_none, r.number_or_none, "out<1> == 0", 0, "false"),
    (r.one_or_two_zeros, r.one_or_two_zeros, "out<1>[0] == out<2>[0]", 0, "holds"),
    (r.one_or_two_zeros, r.one_or_two_zeros, "out<1> == [0] or out<1> == [0, 0]", 0, "holds"),
    (
        r.one_or_two_zeros,
        r.one_or_two_zeros,
        "implies(out<1> == [0], out<2> == [0])",
        "1/2",
        "false",
    ),
]
# What Python would not compute, or what is not of one kind, is no number of a condition.
UNSAID = [
    (r.nothing, r.zero, "abs(out<1> - out<2>) <= 1"),
    (r.nothing, r.zero, "out<1> == 0"),
    (r.number_or_none, r.zero, "out<1> <= 0"),
    (r.none_in_list, r.pair_list, "out<1>[0] == 0"),
    (r.one_or_two_zeros, r.pair_list, "out<1>[1] == 0"),
    (r.one_or_two_zeros, r.one_or_two_zeros, "len(out<1>) == len(out<2>)"),
    (r.one_or_two_zeros, r.one_or_two_zeros, "sum(out<1>) == sum(out<2>)"),
    (r.pair_list, r.pair_list, "out<1> == (0, 1)"),
    (r.pair_array, r.pair_list, "out<1> == [0, 1]"),
    (r.noisy, r.noisy_list, "out<1> + 0 == out<2>"),
]


@pytest.mark.parametrize(("first", "second", "pre", "epsilon", "equal"), EQUAL)
def test_equal_outputs_are_equal_to_a_receiver(first, second, pre, epsilon, equal):
    found = dpest.judge(first, second, pre=pre, epsilon=epsilon)
    assert found.status == ("holds" if equal else "false")
    if equal:
        assert check(found.certificate).returns == found.judgment.returns
    else:
        shown = found.counterexample
        assert shown.probability > shown.image_probability


@pytest.mark.parametrize(("first", "second", "post", "epsilon", "status"), SAID)
def test_a_postcondition_speaks_of_numbers_or_of_whole_outputs(
    first, second, post, epsilon, status
):
    assert dpest.judge(first, second, pre=NEAR, post=post, epsilon=epsilon).status == status


@pytest.mark.parametrize(("first", "second", "post"), UNSAID)
def test_a_postcondition_about_what_may_be_no_number_is_refused(first, second, post):
    with pytest.raises(DpestError, match="the output is"):
        dpest.judge(first, second, pre=NEAR, post=post, epsilon=1)


@pytest.mark.parametrize(
    "function",
    [r.named, r.dictionary, r.text, r.a_set, r.nested, r.an_iterator, r.number_or_else],
)
def test_other_outputs_are_refused(function):
    with pytest.raises(DpestError):
        dpest.judge(function, pre=NEAR, epsilon=1)


@pytest.fixture(scope="module")
def lists_and_tuples():
    """Numbers within 1 of each other, in a list and in a tuple: a judgment that holds."""
    post = "abs(out<1>[0] - out<2>[0]) <= 1"
    return dpest.judge(r.noisy_list, r.noisy_tuple, pre=NEAR, post=post)


def test_a_certificate_says_what_both_programs_return(lists_and_tuples):
    shown = check(lists_and_tuples.certificate)
    assert shown.returns == (
        (ReturnSkeleton("list", ("float",)),),
        (ReturnSkeleton("tuple", ("float",)),),
    )
    assert str(shown).endswith("where noisy_list returns [float] and noisy_tuple returns (float,)")


@pytest.mark.parametrize(
    ("skeletons", "words"),
    [
        ([["list", ["float"]]], "outputs are not those"),
        ([["tuple", ["float"]], ["list", ["float"]], ["list", []]], None),
        ([["list", ["float"]], ["list", ["float", "float"]]], "outputs are not those"),
        ([["list", ["float"]], ["list", ["float"]]], "one twice"),
        ([["list", ["float"]], ["heap", ["float"]]], "unknown container"),
        ([["list", ["float"]], ["tuple", ["number"]]], "unknown type"),
        ([["scalar", ["float", "float"]], ["tuple", ["float"]]], "not one value"),
        ([], "none"),
    ],
)
def test_a_certificate_can_not_hide_what_is_returned(lists_and_tuples, skeletons, words):
    """Another list of skeletons says something else, or does not fit to the programs."""
    forged = {**lists_and_tuples.certificate, "skeletons": skeletons}
    if words is None:
        assert "noisy_list returns (float,) and noisy_tuple returns [float]" in str(check(forged))
    else:
        with pytest.raises(Invalid, match=words):
            check(forged)


@pytest.mark.parametrize("value", [["2", {}], ["1/2", {}], ["-1", {}], ["0", {"x": "1"}]])
def test_a_program_returns_one_of_its_skeletons(lists_and_tuples, value):
    forged = copy.deepcopy(lists_and_tuples.certificate)
    (stored,) = (s for s in forged["second"]["code"] if s["name"] == "out.skeleton")
    stored["value"] = value
    with pytest.raises(Invalid, match="no place in the list"):
        check(forged)


def test_the_same_derivation_does_not_show_equal_outputs(lists_and_tuples):
    """Noise moved by the difference makes the numbers equal, and leaves a list and a tuple."""
    numbers = dpest.judge(
        r.noisy_list, r.noisy_tuple, pre=NEAR, post="out<1>[0] == out<2>[0]", epsilon=1
    )
    names = ("out.0", "out.skeleton")
    signs = ("1", "-1")
    whole = [
        ["is", ["0", {f"{name}<1>": a, f"{name}<2>": b}, False]]
        for name in names
        for a, b in (signs, signs[::-1])
    ]
    assert check(numbers.certificate).epsilon == 1
    with pytest.raises(Invalid):
        check({**numbers.certificate, "post": ["all", *whole]})


def test_an_output_is_no_input(lists_and_tuples):
    forged = copy.deepcopy(lists_and_tuples.certificate)
    forged["first"]["inputs"].append("out.skeleton")
    with pytest.raises(Invalid, match="an input that is an output"):
        check(forged)


@pytest.mark.parametrize("where", ["then", "else", "loop"])
def test_every_way_sets_what_is_returned(lists_and_tuples, where):
    """Else the program may end without one of its skeletons."""
    forged = copy.deepcopy(lists_and_tuples.certificate)
    code = forged["second"]["code"]
    (place,) = (i for i, s in enumerate(code) if s["name"] == "out.skeleton")
    test = ["is", ["0", {"x": "1"}, False]]
    if where == "loop":
        code[place] = {"do": "while", "test": test, "body": [code[place]]}
        with pytest.raises(Invalid, match="not set on every way"):
            check(forged)
        return
    other = {"then": [], "else": [], where: [code[place]]}
    code[place] = {"do": "if", "test": test, **other}
    with pytest.raises(Invalid, match="not set on every way"):
        check(forged)


@pytest.mark.parametrize("name", ["f ~(0, 0) f", "f\n", ""])
def test_the_name_of_a_function_is_one_word_of_the_judgment(lists_and_tuples, name):
    forged = copy.deepcopy(lists_and_tuples.certificate)
    forged["first"]["function"] = name
    with pytest.raises(Invalid, match=r"no name of a function|not one line"):
        check(forged)
