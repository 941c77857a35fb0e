"""Functions cut at their loops: what is kept between the pieces, and where errors point."""

from __future__ import annotations

import numpy as np
import pytest

from dpest.errors import UntraceableError
from dpest.reading.loops.pieces import cut


def loop_then_rest(x, rng, *, eps=1.0):
    unused = 1  # noqa: F841 (that is the point)
    total, seen = 0, []
    for value in x:
        noisy = value + rng.laplace(scale=1 / eps)
        if noisy > 3:
            break
        total += noisy
        seen.append(value)
    answer = total * 2
    return answer


def shared(x, rng, scale):
    best = None
    for value in x:
        noisy = value + rng.laplace(scale=scale)
        if best is None or noisy > best:
            best = noisy
    return best


def hands_over(x, rng, *, eps=1.0):
    return shared(x, rng, 2 / eps)


def listed(x, rng, *, eps=1.0):
    return [value + rng.laplace(scale=1 / eps) for value in x]


counter = 0


def with_global(x, rng):
    global counter
    counter += 1
    return x[0]


def test_a_function_is_cut_at_its_loops():
    assert [p.kind for p in cut(loop_then_rest).pieces] == ["block", "loop", "block"]


def test_only_what_is_still_needed_is_kept():
    before, loop, after = cut(loop_then_rest).pieces
    assert "unused" not in loop.before
    assert {"total", "seen", "x", "eps"} <= loop.before
    assert after.before >= {"total"}
    assert "seen" not in after.before
    assert "x" not in after.before
    assert before.after == loop.before


def test_lines_are_those_of_the_file():
    first = loop_then_rest.__code__.co_firstlineno
    before, loop, after = cut(loop_then_rest).pieces
    assert (before.line, loop.line, after.line) == (first + 1, first + 3, first + 9)
    assert loop.code.co_filename == __file__


def test_a_last_call_is_followed():
    pieces = cut(hands_over).pieces
    assert [p.kind for p in pieces] == ["enter", "block", "loop", "block"]
    assert pieces[-1].names["np"] is np


def test_a_list_comprehension_is_a_loop():
    assert "loop" in [p.kind for p in cut(listed).pieces]


def test_global_state_is_refused_where_it_stands():
    with pytest.raises(UntraceableError, match="global counter") as refused:
        cut(with_global)
    assert f"{__file__}:{with_global.__code__.co_firstlineno + 1}" in str(refused.value)


def test_what_has_no_source_is_refused():
    with pytest.raises(UntraceableError, match="source"):
        cut(len)
