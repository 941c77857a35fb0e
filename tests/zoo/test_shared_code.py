"""Variants share code by ending in a call: the loops of what is called must stay visible."""

from __future__ import annotations

from dpest import zoo
from dpest.program.pieces import cut


def kinds(name):
    return [piece.kind for piece in cut(zoo.get(name).function).pieces]


def test_the_loop_of_the_shared_implementation_is_cut():
    assert "loop" in kinds("SVT1")
    assert "loop" in kinds("AT3")  # whose implementation lives in another file
    assert "loop" in kinds("SmartSum")


def test_each_piece_names_the_file_it_came_from():
    files = [p.code.co_filename.rsplit("/", 1)[-1] for p in cut(zoo.get("AT1").function).pieces]
    assert files[0] == "dp_finder.py"
    assert files[-1] == "sparse_vector.py"


def ends_in(x, rng, *, scale):
    total = 0
    for value in x:
        total = total + value
    return total + rng.laplace(scale=scale)


helper = ends_in


def shadowing(x, rng):
    sum = 3
    return uses_builtin(x, rng, sum)


def uses_builtin(x, rng, scale):
    for _ in range(1):
        total = sum(x)
    return total + rng.laplace(scale=scale)


def swapped(x, rng, *, a=1, b=2):
    return in_order(x, rng, b, a)


def in_order(x, rng, a, b):
    out = []
    for value in x:
        out.append(value * a - b)
    return out


def run(function, x):
    """What the pieces compute, run one after the other."""
    import builtins

    from dpest.program.pieces import CONTROL, ITEM, PieceReturn

    parts = cut(function)
    scope = {**parts.names, "__builtins__": vars(builtins), **CONTROL, "x": x, "rng": None}
    scope.update(function.__kwdefaults__ or {})
    try:
        for piece in parts.pieces:
            if piece.kind == "block":
                exec(piece.code, scope)
            else:
                for item in eval(piece.iterable, scope):
                    scope[ITEM] = item
                    exec(piece.code, scope)
    except PieceReturn as returned:
        return returned.value


def test_a_call_under_another_name_is_seen_through():
    def outer(x, rng, *, eps=1):
        return helper(x, rng, scale=1 / eps)

    assert [p.kind for p in cut(outer).pieces] == ["block", "block", "loop", "block"]


def test_names_that_clash_leave_the_call_alone():
    assert [p.kind for p in cut(shadowing).pieces] == ["block"]


def test_arguments_are_bound_at_once():
    assert run(swapped, [10, 20]) == swapped([10, 20], None) == [19, 39]
