"""`match` statements, lowered to tests one after the other."""

from __future__ import annotations

import ast

from dpest.reading.code.emitting import Label
from dpest.reading.code.instructions import ClassPattern, Unpack
from dpest.reading.code.refusal import NotLowered
from dpest.reading.code.statements import Statements


class Patterns(Statements):
    """Captures are stored as soon as they match, as CPython does it within one pattern."""

    def do_Match(self, s: ast.Match) -> None:
        subject = self.expression(s.subject)
        if not subject.startswith("%"):
            subject = self.value("move", [subject])
        self.barrier()
        end = Label()
        for case in s.cases:
            no = Label()
            self.at(case.pattern)
            captures: list[tuple[str, str]] = []
            self._pattern(case.pattern, subject, no, captures)
            for name, value in captures:
                self.barrier()
                self.store(name, value)
            if case.guard is not None:
                yes = Label()
                self.branch(case.guard, yes, no)
                self.put(yes)
            self.block(case.body)
            self.jump(end)
            self.put(no)
        self.put(end)

    def _test(self, register: str, no: Label) -> None:
        yes = Label()
        self.emit("branch", [register], jumps=(yes, no))
        self.put(yes)

    def _pattern(
        self, p: ast.pattern, subject: str, no: Label, captures: list[tuple[str, str]]
    ) -> None:
        if isinstance(p, ast.MatchValue):
            self._test(self.value("compare", [subject, self.expression(p.value)], "=="), no)
        elif isinstance(p, ast.MatchSingleton):
            self._test(self.value("compare", [subject, self.constant(p.value)], "is"), no)
        elif isinstance(p, ast.MatchAs):
            if p.pattern is not None:
                self._pattern(p.pattern, subject, no, captures)
            if p.name is not None:
                captures.append((p.name, subject))
        elif isinstance(p, ast.MatchOr):
            self._alternatives(p, subject, no, captures)
        elif isinstance(p, ast.MatchSequence):
            self._sequence(p, subject, no, captures)
        elif isinstance(p, ast.MatchMapping):
            self._mapping(p, subject, no, captures)
        elif isinstance(p, ast.MatchClass):
            self._class(p, subject, no, captures)
        else:
            raise NotLowered(f"the pattern {type(p).__name__}", self.place.line)

    def _alternatives(
        self, p: ast.MatchOr, subject: str, no: Label, captures: list[tuple[str, str]]
    ) -> None:
        names: dict[str, str] = {}
        done = Label()
        for alternative in p.patterns:
            inner: list[tuple[str, str]] = []
            failed = no if alternative is p.patterns[-1] else Label()
            self._pattern(alternative, subject, failed, inner)
            for name, value in inner:
                target = names.setdefault(name, self.temporary())
                self.emit("move", [value], dst=target)
            self.jump(done)
            if failed is not no:
                self.put(failed)
        self.put(done)
        captures += names.items()

    def _sequence(
        self, p: ast.MatchSequence, subject: str, no: Label, captures: list[tuple[str, str]]
    ) -> None:
        self._test(self.value("is_sequence", [subject]), no)
        stars = [i for i, e in enumerate(p.patterns) if isinstance(e, ast.MatchStar)]
        size = self.value("length", [subject])
        wanted = self.constant(len(p.patterns) - len(stars))
        self._test(self.value("compare", [size, wanted], ">=" if stars else "=="), no)
        unpack = Unpack(len(p.patterns), stars[0] if stars else None)
        row = self.value("unpack", [subject], unpack)
        for i, inner in enumerate(p.patterns):
            part = self.value("part", [row], i)
            if isinstance(inner, ast.MatchStar):
                if inner.name is not None:
                    captures.append((inner.name, part))
            else:
                self._pattern(inner, part, no, captures)

    def _mapping(
        self, p: ast.MatchMapping, subject: str, no: Label, captures: list[tuple[str, str]]
    ) -> None:
        self._test(self.value("is_mapping", [subject]), no)
        keys = [self.expression(k) for k in p.keys]
        found = self.value("match_keys", [subject, *keys])
        self._test(self.value("compare", [found, self.constant(None)], "is not"), no)
        for i, inner in enumerate(p.patterns):
            self._pattern(inner, self.value("part", [found], i), no, captures)
        if p.rest is not None:
            captures.append((p.rest, self.value("match_rest", [subject, *keys])))

    def _class(
        self, p: ast.MatchClass, subject: str, no: Label, captures: list[tuple[str, str]]
    ) -> None:
        kind = self.expression(p.cls)
        shape = ClassPattern(len(p.patterns), tuple(p.kwd_attrs))
        found = self.value("match_class", [subject, kind], shape)
        self._test(self.value("compare", [found, self.constant(None)], "is not"), no)
        for i, inner in enumerate([*p.patterns, *p.kwd_patterns]):
            self._pattern(inner, self.value("part", [found], i), no, captures)
