"""A derivation as text: the tree with apRHL's names of the rules, couplings and costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dpest.kernel.judgments.assertions import (
    SIDED,
    LinearTerm,
    assertion_text,
    read_assertion,
    read_linear,
)
from dpest.kernel.judgments.programs import Assign, DrawStatement, If, Program, Statement, While

Node = dict[str, Any]
_MOST = 200


def tree(node: Node, first: Program, second: Program) -> str:
    """One line a rule, indented below the rule that it belongs to."""
    lines: list[str] = []
    _walk(node, (first, second), 0, lines)
    if len(lines) > _MOST:
        lines = [*lines[:_MOST], f"… ({len(lines) - _MOST} more lines)"]
    return "\n".join(lines)


def linear_text(form: LinearTerm) -> str:
    shown = ""
    for name, factor in sorted(form.terms.items()):
        sign = " - " if factor < 0 else " + "
        size = abs(factor)
        shown += sign + (name if size == 1 else f"{size}·{name}")
    if form.constant or not shown:
        shown += f" {'-' if form.constant < 0 else '+'} {abs(form.constant)}"
    return (
        shown.removeprefix(" + ").replace(" - ", "-", 1)
        if shown[1] == "-"
        else (shown.removeprefix(" + "))
    )


def statement_text(statement: Statement) -> str:
    if isinstance(statement, Assign):
        return f"{statement.name} := {linear_text(statement.value)}"
    if isinstance(statement, DrawStatement):
        noise = statement.noise
        if noise.family == "bernoulli":
            return f"{statement.name} <- Bernoulli({noise.size})"
        return f"{statement.name} <- {noise.family.title()}({linear_text(statement.centre)}, " + (
            f"{noise.size})"
        )
    kind = "if" if isinstance(statement, If) else "while"
    return f"{kind} {assertion_text(statement.test)}"


def program_text(program: Program, indent: str = "") -> str:
    """A program, one statement a line."""
    lines = []
    for statement in program:
        lines.append(indent + statement_text(statement))
        if isinstance(statement, If):
            lines.append(program_text(statement.then, indent + "  "))
            if statement.other:
                lines += [indent + "else", program_text(statement.other, indent + "  ")]
        elif isinstance(statement, While):
            lines.append(program_text(statement.body, indent + "  "))
    return "\n".join(line for line in lines if line)


Pair = tuple[Program, Program]


def _walk(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    _SHOWN[node["rule"]](node, pair, depth, lines)


def _line(lines: list[str], depth: int, text: str) -> None:
    lines.append("  " * depth + text)


def _skip(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    _line(lines, depth, "[skip]")


def _absurd(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    _line(lines, depth, "[absurd] this way is impossible")


def _frame(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    kept = assertion_text(read_assertion(node["keeps"], SIDED, ""))
    _line(lines, depth, f"[frame] {kept} stays, and settles the postcondition")


def _dropped(pair: Pair, side: int, program: Program) -> Pair:
    return (program, pair[1]) if side == 1 else (pair[0], program)


def _assign(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    side = node["side"]
    program = pair[side - 1]
    _line(lines, depth, f"[assn-{'LR'[side - 1]}] {statement_text(program[0])}")
    _walk(node["then"], _dropped(pair, side, program[1:]), depth, lines)


def _draw(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    one, two = pair[0][0], pair[1][0]
    assert isinstance(one, DrawStatement)
    assert isinstance(two, DrawStatement)
    cost = _cost(node)
    if "opposite" in node:
        how = "1 - " if node["opposite"] else ""
        text = f"[coin] {statement_text(one)}: {two.name}<2> = {how}{one.name}<1>{cost}"
    else:
        shift = read_linear(node["shift"], SIDED, "")
        by = linear_text(shift)
        moved = "" if by == "0" else (f" + {by}" if not by.startswith("-") else f" - {by[1:]}")
        name = {"laplace": "lap", "gaussian": "gauss", "exponential": "exp"}[one.noise.family]
        null = "-null" if node["distance"] == "0" else ""
        text = f"[{name}{null}] {statement_text(one)}: {two.name}<2> = {one.name}<1>{moved}{cost}"
    _line(lines, depth, text)
    _walk(node["then"], (pair[0][1:], pair[1][1:]), depth, lines)


def _cost(node: Node) -> str:
    parts = [f"ε {node['epsilon']}"] if node["epsilon"] != "0" else []
    if node["delta"] != "0":
        parts.append(f"δ {_short(node['delta'])}")
    if node.get("reach") is not None:
        parts.append(f"noise within {_short(node['reach'])}")
    return f", costs {', '.join(parts)}" if parts else ", free"


def _short(text: str) -> str:
    from fractions import Fraction

    return text if len(text) < 12 else f"{float(Fraction(text)):.6g}"


def _draw_one(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    side = node["side"]
    program = pair[side - 1]
    reach = f", within {_short(node['reach'])}" if node.get("reach") is not None else ", any value"
    _line(lines, depth, f"[rand-{'LR'[side - 1]}] {statement_text(program[0])}{reach}")
    _walk(node["then"], _dropped(pair, side, program[1:]), depth, lines)


def _if(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    one, two = pair[0][0], pair[1][0]
    assert isinstance(one, If)
    assert isinstance(two, If)
    _line(lines, depth, f"[cond] {statement_text(one)} | {statement_text(two)}")
    ways = (("both", 1, 1), ("neither", 0, 0), ("first", 1, 0), ("second", 0, 1))
    for key, yes, also in ways:
        _line(lines, depth + 1, f"{key}:" if key in ("both", "neither") else f"{key} only:")
        left = (one.then if yes else one.other) + pair[0][1:]
        right = (two.then if also else two.other) + pair[1][1:]
        _walk(node[key], (left, right), depth + 2, lines)


def _if_one(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    side = node["side"]
    program = pair[side - 1]
    head = program[0]
    assert isinstance(head, If)
    _line(lines, depth, f"[cond-{'LR'[side - 1]}] {statement_text(head)}")
    for key, branch in (("yes", head.then), ("no", head.other)):
        _line(lines, depth + 1, f"{key}:")
        _walk(node[key], _dropped(pair, side, branch + program[1:]), depth + 2, lines)


def _case(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    test = assertion_text(read_assertion(node["test"], SIDED, ""))
    _line(lines, depth, f"[case] {test}")
    for key in ("yes", "no"):
        _line(lines, depth + 1, f"{key}:")
        _walk(node[key], pair, depth + 2, lines)


def _weaken(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    pre = assertion_text(read_assertion(node["pre"], SIDED, ""))
    _line(lines, depth, f"[weak] {pre}")
    _walk(node["then"], pair, depth, lines)


def _sequence(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    m, n = node["at"]
    _line(lines, depth, "[seq]")
    _walk(node["first"], (pair[0][:m], pair[1][:n]), depth + 1, lines)
    _line(lines, depth, "then:")
    _walk(node["second"], (pair[0][m:], pair[1][n:]), depth + 1, lines)


def _while(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    one, two = pair[0][0], pair[1][0]
    assert isinstance(one, While)
    assert isinstance(two, While)
    invariant = assertion_text(read_assertion(node["invariant"], SIDED, ""))
    text = f"[while] {assertion_text(one.test)}; at most {node['turns']} turns; keeps {invariant}"
    _line(lines, depth, text)
    _walk(node["body"], (one.body, two.body), depth + 1, lines)


def _pointwise(node: Node, pair: Pair, depth: int, lines: list[str]) -> None:
    names: Sequence[str] = node["first"]
    _line(lines, depth, f"[pw-eq] for each of {len(node['points'])} outputs")
    for point, inner in zip(node["points"], node["each"], strict=True):
        shown = ", ".join(f"{n}<1> = {v}" for n, v in zip(names, point, strict=True))
        _line(lines, depth + 1, f"{shown}:")
        _walk(inner, pair, depth + 2, lines)
    _line(lines, depth + 1, "and there are no other outputs:")
    _walk(node["outside"], pair, depth + 2, lines)


_SHOWN: dict[str, Callable[[Node, Pair, int, list[str]], None]] = {
    "skip": _skip,
    "absurd": _absurd,
    "frame": _frame,
    "assign": _assign,
    "draw": _draw,
    "draw_one": _draw_one,
    "if": _if,
    "if_one": _if_one,
    "case": _case,
    "weaken": _weaken,
    "sequence": _sequence,
    "while": _while,
    "pointwise": _pointwise,
}
