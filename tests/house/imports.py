"""The import graph of the package, read from its sources; late imports are imports too."""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Import:
    """`late`: inside of a function. Imports for the type checker alone are left out."""

    source: str
    target: str
    late: bool


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((SOURCE / "dpest").rglob("*.py")):
        parts = list(path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.cache
def imports() -> tuple[Import, ...]:
    known = modules()
    found: dict[Import, None] = {}
    for name, path in known.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node, late in _statements(ast.parse(path.read_text())):
            for target in _targets(node, package, known):
                found[Import(name, target, late)] = None
    return tuple(found)


def _statements(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Import statements, and whether they are inside of a function."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, late = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, late
        if _is_for_types(node) or isinstance(node, ast.expr):
            continue
        inside = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        pending.extend((child, inside) for child in ast.iter_child_nodes(node))


def _is_for_types(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _targets(node: ast.AST, package: str, known: dict[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            up = package.split(".")[: len(package.split(".")) - (node.level - 1)]
            base = ".".join([*up, *([node.module] if node.module else [])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            if inner in known or base in known:
                yield inner if inner in known else base


def room(module: str) -> str:
    """The folder directly below the package, or the module itself."""
    return module.split(".")[1] if "." in module else module


def cycles(edges: Sequence[Import]) -> list[frozenset[str]]:
    """Strongly connected sets of more than one module (Tarjan)."""
    graph: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        if edge.source != edge.target:
            graph[edge.source].add(edge.target)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[frozenset[str]] = []

    def visit(start: str) -> None:
        work = [(start, iter(sorted(graph[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            node, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    place = stack.index(node)
                    found.append(frozenset(stack[place:]))
                    del stack[place:]
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                work.append((following, iter(sorted(graph[following]))))
            elif following in stack:
                low[node] = min(low[node], index[following])

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return [component for component in found if len(component) > 1]
