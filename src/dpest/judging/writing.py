"""Programs as the kernel reads them."""

from __future__ import annotations

from typing import Any

from dpest.judging.deriving import assertion_json, linear_json
from dpest.kernel.judgments.programs import Assign, DrawStatement, If, Program, Statement


def program_json(program: Program) -> list[Any]:
    return [_statement(statement) for statement in program]


def _statement(statement: Statement) -> dict[str, Any]:
    if isinstance(statement, Assign):
        value = linear_json(statement.value)
        return {"do": "assign", "name": statement.name, "value": value}
    if isinstance(statement, DrawStatement):
        noise = {"family": statement.noise.family, "size": str(statement.noise.size)}
        centre = linear_json(statement.centre)
        return {"do": "draw", "name": statement.name, "centre": centre, "noise": noise}
    test = assertion_json(statement.test)
    if isinstance(statement, If):
        then, other = program_json(statement.then), program_json(statement.other)
        return {"do": "if", "test": test, "then": then, "else": other}
    return {"do": "while", "test": test, "body": program_json(statement.body)}
