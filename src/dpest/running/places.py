"""Where in the user's code a reading stands, found quickly."""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from dpest.ask.declaration import Mechanism

_PACKAGE = str(Path(__file__).resolve().parent.parent)

Place = tuple[str, int]


@functools.lru_cache(maxsize=4096)
def is_user_file(filename: str) -> bool:
    """Not dpest itself (the zoo counts as a user), not a library."""
    if filename.startswith(_PACKAGE):
        return "/zoo/" in filename
    return not (
        "site-packages" in filename
        or re.search(r"[/\\]lib[/\\]python\d", filename) is not None
        or filename.startswith("<frozen")
    )


def undeclared(function: Any) -> Any:
    """The function itself. A declaration calls it untouched; of other wrappers nobody knows that.

    (`functools.wraps` says what a wrapper is called, not what it does.)
    """
    while isinstance(function, Mechanism):
        function = function.function
    return function


def code_of(function: Callable[..., Any]) -> CodeType | None:
    return getattr(undeclared(function), "__code__", None)


def source_of(function: Callable[..., Any]) -> str:
    """The source of the function's own code, whatever it says that it wraps.

    Raises OSError where there is none.
    """
    code = code_of(function)
    if code is None:
        raise OSError(f"{function!r} has no source in Python")
    return textwrap.dedent(inspect.getsource(code))


def described_code(function: Callable[..., Any]) -> dict[str, str]:
    """Which code it is: where it stands, and the digest of its source (a certificate has the same).

    Paths are shown from the folder of the start, or by the file's name alone.
    """
    code = code_of(function)
    if code is None:
        return {}
    try:
        source = source_of(function)
    except (OSError, TypeError):
        return {"place": f"{Path(code.co_filename).name}:{code.co_firstlineno}"}
    path = Path(code.co_filename)
    try:
        shown_path = path.resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        shown_path = path.name
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    return {"place": f"{shown_path}:{code.co_firstlineno}", "digest": f"sha256:{digest}"}


def is_user_frame(frame: FrameType) -> bool:
    code = frame.f_code
    if code.co_filename == "<string>" and code.co_name.startswith("__"):
        return False  # the methods that dataclasses write
    return is_user_file(code.co_filename)


def user_place() -> Place | None:
    """File and line of the innermost frame that belongs to the user."""
    frame = _user_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_user_frame(frame):
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=4096)
def _calls(code: CodeType) -> dict[int, list[int]]:
    """For each line, where in the bytecode its calls are."""
    spans = code.co_lines()
    lines = {offset: line for first, end, line in spans for offset in range(first, end, 2)}
    found: dict[int, list[int]] = {}
    for step in dis.get_instructions(code):
        line = lines.get(step.offset)
        if step.opname.startswith("CALL") and line is not None:
            found.setdefault(line, []).append(step.offset)
    return found


def shown(place: Place | None) -> str | None:
    return None if place is None else f"{place[0]}:{place[1]}"


def source_line(place: Place | None) -> str:
    """The text of the line, or nothing."""
    return "" if place is None else linecache.getline(*place).strip()


def innermost(step: TracebackType | None) -> Place | None:
    """The innermost place of the user's in a traceback."""
    found = None
    while step is not None:
        if is_user_frame(step.tb_frame):
            found = (step.tb_frame.f_code.co_filename, step.tb_lineno)
        step = step.tb_next
    return found


@functools.lru_cache(maxsize=4096)
def inside_while(filename: str, line: int) -> bool:
    """Whether the line belongs to a `while` loop, or to a loop over an endless iterator.

    Code without a source may be anything.
    """
    if not linecache.getlines(filename):
        return True
    return any(first <= line <= last for first, last in _whiles(filename))


@functools.lru_cache(maxsize=256)
def _whiles(filename: str) -> tuple[tuple[int, int], ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return ()
    found = []
    for node in ast.walk(tree):
        endless = isinstance(node, ast.For) and any(
            isinstance(n, (ast.Name, ast.Attribute))
            and (n.id if isinstance(n, ast.Name) else n.attr)
            in ("count", "repeat", "cycle", "iter")
            for n in ast.walk(node.iter)
        )
        if isinstance(node, ast.While) or endless:
            found.append((node.lineno, node.end_lineno or node.lineno))  # type: ignore[attr-defined]
    return tuple(found)


def _endless(iterable: ast.expr) -> bool:
    names = {n.id for n in ast.walk(iterable) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(iterable) if isinstance(n, ast.Attribute)}
    return bool(names & {"count", "repeat", "cycle", "iter"})


def where_defined(function: Any) -> str | None:
    """The "file:line" of a function's definition."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else None
