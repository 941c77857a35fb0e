"""The kernel is believed because it is read: small functions, nothing from outside, types."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from dpest import kernel
from dpest.kernel.rules import RULES

FOLDER = Path(kernel.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
LONGEST = 40


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_no_function_is_longer_than_a_page(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or 0) - node.lineno + 1
            assert lines <= LONGEST, f"{node.name}: {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_it_knows_the_standard_library_and_itself(path):
    depth = len(path.relative_to(FOLDER).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert all(name.name.split(".")[0] in sys.stdlib_module_names for name in node.names)
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names
        if isinstance(node, ast.ImportFrom) and node.level:
            assert node.level <= depth, "an import from outside of the kernel"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_nothing_is_executed_and_nothing_is_hidden(path):
    text = path.read_text()
    names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    assert not names & {"eval", "exec", "compile", "__import__", "getattr", "globals"}
    assert "noqa" not in text
    assert "Any" not in names
    assert "type: ignore" not in text
    caught = [n.type for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ExceptHandler)]
    assert all(kind is not None for kind in caught)
    assert not any(isinstance(k, ast.Name) and k.id == "Exception" for k in caught)


def test_each_rule_has_a_file_of_its_own_with_its_lemma():
    for name, rule in RULES.items():
        module = sys.modules[rule.__module__]
        assert module.__name__.endswith(f"rules.{name}")
        assert "Lemma" in (module.__doc__ or ""), name
