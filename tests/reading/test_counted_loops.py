"""`while` loops that count become `for` loops, and do the same; others are left alone."""

from __future__ import annotations

import ast
import textwrap

import pytest

from dpest.reading.loops.counted_loops import with_counted_loops

COUNTS = {
    "plain": """
        j = 0
        while j < n:
            found.append(j)
            j += 1
    """,
    "length": """
        j = 0
        while j < len(x):
            if x[j] > 2:
                break
            found.append(x[j])
            j = j + 1
    """,
    "return": """
        j = 0
        while j < n:
            for k in range(j):
                if k == 1:
                    continue
                found.append(k)
            j += 1
    """,
    "endless": """
        j = 0
        while True:
            v = x[j]
            if v > 7:
                return v
            found.append(v)
            j += 1
    """,
}
OTHERS = {
    "starts at one": "j = 1\nwhile j < n:\n    found.append(j)\n    j += 1",
    "not set": "while j < n:\n    found.append(j)\n    j += 1",
    "steps by two": "j = 0\nwhile j < n:\n    found.append(j)\n    j += 2",
    "continues": "j = 0\nwhile j < n:\n    if j == 1:\n        j = 2\n        continue\n    j += 1",
    "continues early": "j = 0\nwhile j < n:\n    if x[j]:\n        continue\n    j += 1",
    "changes the counter": "j = 0\nwhile j < n:\n    j = j * 2\n    j += 1",
    "changes the bound": "j = 0\nwhile j < n:\n    n -= 1\n    j += 1",
    "changes the list": "j = 0\nwhile j < len(x):\n    x.pop()\n    j += 1",
    "read afterwards": "j = 0\nwhile j < n:\n    found.append(1)\n    j += 1\nfound.append(j)",
    "at most": "j = 0\nwhile j <= n:\n    found.append(1)\n    j += 1",
    "a call": "j = 0\nwhile j < f(x):\n    found.append(1)\n    j += 1",
    "endless, broken": "j = 0\nwhile True:\n    v = x[j]\n    if v:\n        break\n    j += 1",
}


def run(statements, x):
    body = textwrap.indent("\n".join(map(ast.unparse, statements)), "    ")
    names = {}
    exec(f"def f(x, n, found):\n{body}\n", names)
    found = []
    try:
        result = names["f"](list(x), len(x), found)
    except IndexError as error:
        result = type(error)
    return result, found


@pytest.mark.parametrize("name", COUNTS)
def test_they_do_the_same(name):
    statements = ast.parse(textwrap.dedent(COUNTS[name])).body
    changed = with_counted_loops(statements)
    assert any(isinstance(s, ast.For) for s in changed)
    assert not any(isinstance(s, ast.While) for s in changed)
    for x in ([], [1], [1, 2, 3], [0, 9, 1, 8]):
        assert run(statements, x) == run(changed, x)


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_left_alone(name):
    statements = ast.parse(OTHERS[name]).body
    assert with_counted_loops(statements) == statements
