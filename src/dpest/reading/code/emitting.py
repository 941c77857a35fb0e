"""Instructions in the making: labels, temporaries, and the handlers and loops that are open."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpest.reading.code.instructions import Code, Instruction, Place
from dpest.reading.code.scopes import Scope


class Label:
    """A place in the code that may not be known yet."""

    __slots__ = ("pc",)

    def __init__(self) -> None:
        self.pc = -1


@dataclass(frozen=True)
class Loop:
    head: Label
    end: Label
    cleanups: int  # how many were open outside of it


@dataclass(frozen=True)
class Cleanup:
    """What is done on every way out of a block (`finally`, the end of `with`), and where it is."""

    emit: Callable[[], None]
    handler: Label | None
    loops: tuple[Loop, ...]


class Emitter:
    """Appends instructions to a code; jumps are labels until `finish` makes them numbers."""

    def __init__(self, code: Code, scope: Scope, class_name: str | None) -> None:
        self.code = code
        self.scope = scope
        self.class_name = class_name
        self.cells = code.cells | frozenset(code.free)
        self.out: list[Instruction] = code.instructions
        self.place = Place(code.line, 0)
        self.handler: Label | None = None
        self.loops: tuple[Loop, ...] = ()
        self.cleanups: tuple[Cleanup, ...] = ()
        self._targets: list[tuple[Label, ...]] = []
        self._handlers: list[Label | None] = []
        self._temporaries = 0
        self._barrier = 0  # the last instruction before it must not be changed any more

    def at(self, node: ast.AST) -> None:
        if isinstance(node, (ast.stmt, ast.expr, ast.ExceptHandler, ast.pattern)):
            self.place = Place(node.lineno, node.col_offset)

    def emit(
        self,
        op: str,
        uses: Sequence[str] = (),
        extra: Any = None,
        jumps: Sequence[Label] = (),
        dst: str | None = None,
    ) -> None:
        self.out.append(Instruction(op, dst, tuple(uses), extra, (), None, self.place))
        self._targets.append(tuple(jumps))
        self._handlers.append(self.handler)

    def value(
        self, op: str, uses: Sequence[str] = (), extra: Any = None, jumps: Sequence[Label] = ()
    ) -> str:
        """A register with the result of an instruction."""
        dst = self.temporary()
        self.emit(op, uses, extra, jumps, dst)
        return dst

    def constant(self, value: Any) -> str:
        return self.value("const", extra=value)

    def temporary(self) -> str:
        self._temporaries += 1
        return f"%{self._temporaries}"

    def put(self, label: Label) -> None:
        label.pc = self._barrier = len(self.out)

    def barrier(self) -> None:
        """The value of the last instruction is used again: it keeps its register."""
        self._barrier = len(self.out)

    def jump(self, label: Label) -> None:
        self.emit("jump", jumps=(label,))

    def finish(self) -> None:
        for instruction, jumps, handler in zip(
            self.out, self._targets, self._handlers, strict=True
        ):
            instruction.jumps = tuple(label.pc for label in jumps)
            instruction.handler = None if handler is None else handler.pc

    # Names

    def mangled(self, name: str) -> str:
        if self.class_name is None or not name.startswith("__") or name.endswith("__"):
            return name
        stem = self.class_name.lstrip("_")
        return f"_{stem}{name}" if stem else name

    def load(self, name: str) -> str:
        if name in self.scope.own and name not in self.cells:
            return name
        if name in self.cells:
            return self.value("cell", [name])
        return self.value("global", extra=name)

    def store(self, name: str, value: str) -> None:
        if name in self.cells:
            self.emit("setcell", [name, value])
        elif name not in self.scope.own:
            self.emit("setglobal", [value], name)
        elif value.startswith("%") and self.out[-1].dst == value and self._barrier < len(self.out):
            self.out[-1].dst = name
        else:
            self.emit("move", [value], dst=name)

    def unstore(self, name: str) -> None:
        if name in self.cells:
            self.emit("unsetcell", [name])
        elif name not in self.scope.own:
            self.emit("unsetglobal", extra=name)
        else:
            self.emit("unset", [name])
