"""What a postcondition may say of an output: its numbers, its items, or that outputs are equal.

Outputs are equal as a receiver sees them: container, length, types, then numbers. Where a condition
writes a number or a list of numbers out, it compares numbers, as Python does: True is 1, 1 is 1.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpest.kernel.judgments.assertions import (
    TRUE,
    Assertion,
    LinearTerm,
    all_of,
    any_of,
    equal,
    number,
    variable,
)
from dpest.kernel.judgments.skeletons import (
    NO_NUMBER,
    SCALAR,
    SKELETON,
    ReturnSkeleton,
    output_names,
)
from dpest.reading.programs.translation import ProgramCode


@dataclass(frozen=True)
class OutputTerm:
    """The output of one side."""

    code: ProgramCode
    side: int

    def __str__(self) -> str:
        return " or ".join(map(str, self.code.skeletons))

    def _variable(self, name: str) -> LinearTerm:
        return variable(f"{name}<{self.side}>")

    def _is(self, skeleton: ReturnSkeleton) -> Assertion:
        if self.code.skeletons == (skeleton,):
            return TRUE
        place = self.code.table.index(skeleton)
        return equal(self._variable(SKELETON), number(Fraction(place)))

    @property
    def number(self) -> LinearTerm | None:
        """The output as a number, if it always is one."""
        always = all(s.container == SCALAR and _numeric(s) for s in self.code.skeletons)
        return self._variable(self.code.skeletons[0].names[0]) if always else None

    @property
    def items(self) -> list[LinearTerm] | None:
        """The items as numbers, if there always are as many and they are numbers."""
        found = self.code.skeletons
        if self.length is None or not all(map(_numeric, found)):
            return None
        return [self._variable(name) for name in found[0].names]

    @property
    def length(self) -> int | None:
        """How many items there are, if always as many."""
        found = {len(s.types) for s in self.code.skeletons}
        any_alone = any(s.container == SCALAR for s in self.code.skeletons)
        return None if any_alone or len(found) != 1 else found.pop()

    def item(self, place: int) -> LinearTerm | None:
        """An item as a number, if there always is one at that place."""
        names = set()
        for skeleton in self.code.skeletons:
            if skeleton.container == SCALAR or not -len(skeleton.types) <= place < len(
                skeleton.types
            ):
                return None
            if skeleton.types[place] == NO_NUMBER:
                return None
            names.add(skeleton.names[place])
        return self._variable(names.pop()) if len(names) == 1 else None

    def is_number(self, value: LinearTerm) -> Assertion | None:
        """That the output is this number; None if it never is a number."""
        ways = [s for s in self.code.skeletons if s.container == SCALAR and _numeric(s)]
        return self._any(ways, [value]) if ways else None

    def is_sequence(self, values: list[LinearTerm], container: str) -> Assertion | None:
        """That the output is this list or tuple; None if it never is one."""
        ways = [s for s in self.code.skeletons if s.container == container]
        fitting = [s for s in ways if len(s.types) == len(values) and _numeric(s)]
        return self._any(fitting, values) if ways else None

    def _any(self, ways: list[ReturnSkeleton], values: list[LinearTerm]) -> Assertion:
        return any_of(
            *(
                all_of(
                    self._is(skeleton),
                    *(
                        equal(self._variable(name), value)
                        for name, value in zip(skeleton.names, values, strict=True)
                    ),
                )
                for skeleton in ways
            )
        )

    def is_output(self, other: OutputTerm) -> Assertion:
        """That both outputs are equal to a receiver."""
        names = output_names(self.code.table)
        return all_of(*(equal(self._variable(n), other._variable(n)) for n in names))


def _numeric(skeleton: ReturnSkeleton) -> bool:
    return NO_NUMBER not in skeleton.types
