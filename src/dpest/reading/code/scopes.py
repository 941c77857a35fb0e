"""Which names of a function are its own, which inner functions see, and which are free."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dpest.reading.code.refusal import NotLowered

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)
Scoped = ast.FunctionDef | ast.Lambda | ast.GeneratorExp | ast.ClassDef


@dataclass(frozen=True)
class Scope:
    """Names of one function or class body, as the rules of Python sort them."""

    own: frozenset[str]
    captured: frozenset[str]  # own ones that inner functions see
    free: frozenset[str]  # used here or inside, bound elsewhere
    globals: frozenset[str]  # declared `global`
    comprehension_variables: frozenset[str]


def scope_of(node: Scoped) -> Scope:
    """Comprehensions must have been renamed (`renamed`) before."""
    stored: set[str] = set(parameter_names(node))
    used: set[str] = set()
    outer: set[str] = set()
    module: set[str] = set()
    inner: set[str] = set()
    for part in parts_of(node):
        if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            inner |= scope_of(part).free
            if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                stored.add(part.name)
        elif isinstance(part, ast.Nonlocal):
            outer.update(part.names)
        elif isinstance(part, ast.Global):
            module.update(part.names)
        else:
            _note_names(part, stored, used)
    own = stored - outer - module
    if isinstance(node, ast.ClassDef):
        # Methods don't see the names of the class body; `__class__` is the class itself.
        needed = (used - own) | inner | outer
        return Scope(
            frozenset(own),
            frozenset({"__class__"} & inner),
            frozenset(needed - {"__class__"} - module),
            frozenset(module),
            frozenset(),
        )
    if "super" in used and isinstance(node, ast.FunctionDef):
        used.add("__class__")
    return Scope(
        frozenset(own),
        frozenset(own & inner),
        frozenset((used | inner | outer) - own - module),
        frozenset(module),
        frozenset(n for n in own if "'" in n),
    )


def _note_names(part: ast.AST, stored: set[str], used: set[str]) -> None:
    if isinstance(part, ast.Name):
        (used if isinstance(part.ctx, ast.Load) else stored).add(part.id)
    elif isinstance(part, ast.ExceptHandler) and part.name:
        stored.add(part.name)
    elif isinstance(part, (ast.Import, ast.ImportFrom)):
        stored |= {(a.asname or a.name).split(".")[0] for a in part.names}
    elif isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
        stored.add(part.name)
    elif isinstance(part, ast.MatchMapping) and part.rest:
        stored.add(part.rest)
    elif isinstance(part, (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)):
        raise NotLowered(f"`{type(part).__name__}`: asynchronous code", part.lineno)


def parts_of(node: Scoped) -> Iterator[ast.AST]:
    """The nodes of one scope; of an inner scope its root, and what is evaluated outside of it."""
    pending: list[ast.AST] = list(_body(node))
    while pending:
        at = pending.pop()
        yield at
        if isinstance(at, (*FUNCTIONS, ast.ClassDef)):
            pending += evaluated_outside(at)
        else:
            pending += ast.iter_child_nodes(at)


def _body(node: Scoped) -> list[ast.AST]:
    if isinstance(node, ast.GeneratorExp):
        first, *rest = node.generators
        return [first.target, *first.ifs, *rest, node.elt]
    return list(node.body) if isinstance(node.body, list) else [node.body]


def evaluated_outside(node: Scoped) -> list[ast.AST]:
    """What belongs to an inner scope's definition but is evaluated where it stands."""
    if isinstance(node, ast.GeneratorExp):
        return [node.generators[0].iter]
    if isinstance(node, ast.ClassDef):
        return [*node.bases, *(k.value for k in node.keywords), *node.decorator_list]
    defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    return [*defaults, *(node.decorator_list if isinstance(node, ast.FunctionDef) else ())]


def parameter_names(node: Scoped) -> list[str]:
    if isinstance(node, ast.GeneratorExp):
        return [".0"]
    if isinstance(node, ast.ClassDef):
        return []
    a = node.args
    stars = [v for v in (a.vararg, a.kwarg) if v is not None]
    return [v.arg for v in (*a.posonlyargs, *a.args, *a.kwonlyargs, *stars)]


class _Renaming(ast.NodeTransformer):
    """Gives the variables of each comprehension names of their own, inner ones first."""

    def __init__(self) -> None:
        self.count = 0
        self.classes = 0

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.classes += 1
        self.generic_visit(node)
        self.classes -= 1
        return node

    def visit(self, node: ast.AST) -> ast.AST:
        node = super().visit(node)
        if isinstance(node, COMPREHENSIONS):
            self.count += 1
            targets = [n for g in node.generators for n in ast.walk(g.target)]
            names = {n.id: f"{n.id}'{self.count}" for n in targets if isinstance(n, ast.Name)}
            first = node.generators[0].iter
            node.generators[0].iter = ast.Constant(None)
            _rename([node], names)
            node.generators[0].iter = first
        return node


def renamed(tree: ast.Module) -> ast.Module:
    """The tree with comprehensions that can be lowered in place, as loops of their function."""
    made = _Renaming().visit(tree)
    assert isinstance(made, ast.Module)
    return made


def _rename(nodes: list[ast.AST], names: dict[str, str]) -> None:
    """Free names only: an inner function may have variables that are called alike."""
    pending = list(nodes)
    while pending and names:
        at = pending.pop()
        if isinstance(at, (*FUNCTIONS, ast.ClassDef)):
            free = scope_of(at).free
            _rename(list(_body(at)), {n: v for n, v in names.items() if n in free})
            pending += evaluated_outside(at)
        else:
            if isinstance(at, ast.Name) and at.id in names:
                at.id = names[at.id]
            pending += ast.iter_child_nodes(at)
