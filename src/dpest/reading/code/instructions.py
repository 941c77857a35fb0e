"""The instruction set: what a function's syntax tree is lowered to.

A `Code` is one function (a lambda, a generator expression, the body of an inner class). Its
instructions stand in a list and are executed one after the other; a jump names the index of an
instruction. Each works on **registers** with names:

- a parameter or a local variable is the register of that name; `i'3` is the variable `i` of the
  third comprehension of its file (comprehensions are loops in place, with variables of their own);
- `%7` is a temporary value, written before it is read on every way;
- a variable that an inner function sees too (`code.cells`), or that this function sees of an outer
  one (`code.free`), is a register that holds a *cell*; only `cell` and `setcell` look into it.
  At the start of a call the registers of `code.cells` get fresh cells (those of parameters hold the
  argument), and the registers of `code.free` get the cells of the closure.

Reading a register that was never written raises UnboundLocalError. Every instruction may raise;
control then goes to `handler` (the exception is fetched there by `catch`), or out of the function
where `handler` is None.

| op | uses | extra | does |
|---|---|---|---|
| const | | value | dst = an immutable constant (numbers, text, None, ..., types of exceptions) |
| move | a | | dst = a |
| unset | a | | deletes a local variable (UnboundLocalError if there is none) |
| global, setglobal, unsetglobal | (v) | name | a variable of the module, or a builtin |
| cell, setcell, unsetcell | cell (v) | | what a cell holds; NameError if it is empty |
| newcell | | | dst = an empty cell (a comprehension's own variable that is captured) |
| unary | a | "-" "+" "~" "not" | |
| binary | a b | "+" "-" "*" "/" "//" "%" "**" "@" "&" "\\|" "^" "<<" ">>" | |
| inplace | a b | the same | dst = a, changed by `+=` and its like, or a new value |
| compare | a b | "<" "<=" ">" ">=" "==" "!=" "is" "is not" "in" "not in" | |
| attr, setattr, unsetattr | a (v) | name | a.name (names with two underscores are mangled) |
| special | a | name | a method that the language looks up on the type: `__enter__`, `__exit__` |
| item, setitem, unsetitem | a i (v) | | a[i] |
| build | parts | Build(kind, stars) | a tuple, list, set or slice; a starred part is gone through |
| dict | k v k v … | stars | a dict; where a star stands, v is a mapping that is unpacked |
| append | a v | | puts a value at the end of the list of a comprehension |
| add | a v | | puts a value into the set of a comprehension |
| put | a k v | | puts a pair into the dict of a comprehension |
| unpack | a | Unpack(size, star) | dst = a tuple of `size` values; the starred one is a list |
| part | row | index | dst = one of what `unpack` or `parts_of_match` gave |
| format | a (spec) | conversion | a part of an f-string: -1, or the ord of "s", "r", "a" |
| text | parts | | the parts of an f-string, joined |
| iter | a | | dst = an iterator |
| next | it | None or a register | dst = next value; jumps[0] at the end (see below) |
| branch | a | | jumps[0] if a is true, jumps[1] otherwise |
| jump | | | jumps[0] |
| call | f args … kwargs … | CallShape | dst = f(…) |
| super | cell self | | dst = super() |
| closure | cells … defaults … | Function | dst = a new function |
| class | cells … bases … | ClassBody | dst = a new class, whose body is executed as code |
| namespace | variables … | names | ends the body of a class |
| yield | a | | hands a to whoever resumes; dst = what is sent |
| return | a | | |
| raise | a (cause) | | a class or an instance |
| reraise | a | | an exception that was caught goes on |
| catch | | | dst = the exception that came to this handler |
| caught | a kinds | | dst = whether the exception is of a kind (or of one of a tuple) |
| import | | Import(module, name, level) | |
| is_sequence, is_mapping, length | a | | dst = as `match` sees it |
| match_class | a class | ClassPattern | dst = the attributes that the pattern looks at, or None |
| match_keys | a keys … | | dst = the values of the keys of a mapping, or None |
| match_rest | a keys … | | dst = a new dict of the other keys |

At the end of `next` the register `extra`, if there is one, gets what a generator has returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

# After these, control doesn't go on to the next instruction.
ENDS = frozenset({"jump", "branch", "return", "raise", "reraise", "namespace"})


class Place(NamedTuple):
    """Where in the user's file an instruction comes from."""

    line: int
    column: int


class Instruction:
    """`dst = op(uses, extra)`, or a jump; see the table above."""

    __slots__ = ("dst", "extra", "handler", "jumps", "op", "place", "uses")

    def __init__(
        self,
        op: str,
        dst: str | None,
        uses: tuple[str, ...],
        extra: Any,
        jumps: tuple[int, ...],
        handler: int | None,
        place: Place,
    ) -> None:
        self.op = op
        self.dst = dst
        self.uses = uses
        self.extra = extra
        self.jumps = jumps
        self.handler = handler
        self.place = place

    def __repr__(self) -> str:
        parts = [] if self.dst is None else [self.dst, "="]
        parts += [self.op, *self.uses]
        if self.extra is not None or self.op == "const":
            parts.append(repr(self.extra))
        if self.jumps:
            parts.append(f"-> {', '.join(map(str, self.jumps))}")
        if self.handler is not None:
            parts.append(f"(raises -> {self.handler})")
        return " ".join(parts)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function, by kind, and which of them have a default.

    The defaults themselves belong to the function object: `defaulted` are names, in the order of
    the values.
    """

    positional_only: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    star: str | None = None
    keyword_only: tuple[str, ...] = ()
    double_star: str | None = None
    defaulted: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        named = (*self.positional_only, *self.positional, *self.keyword_only)
        return (*named, *(n for n in (self.star, self.double_star) if n is not None))


@dataclass(eq=False)
class Code:
    """One function, lowered. Compared by identity: the same source place is the same object."""

    name: str
    qualname: str
    file: str
    line: int
    parameters: Parameters
    instructions: list[Instruction] = field(default_factory=list)
    cells: frozenset[str] = frozenset()
    free: tuple[str, ...] = ()
    is_generator: bool = False
    is_class: bool = False
    # Heads of loops: True where the loop is a comprehension, which nobody sees half done.
    heads: dict[int, bool] = field(default_factory=dict)
    joins: frozenset[int] = frozenset()  # where several ways meet
    live: list[frozenset[str]] = field(default_factory=list)  # registers read later, before each

    def __repr__(self) -> str:
        return f"<code of {self.qualname}>"

    def listing(self) -> str:
        """The instructions as text, for people."""
        lines = [f"{i:4} {line!r}" for i, line in enumerate(self.instructions)]
        return "\n".join([f"{self.qualname}{self.parameters.names}", *lines])


class CallShape(NamedTuple):
    """Of a call: which positional arguments are starred; the keywords, None for `**`."""

    stars: tuple[bool, ...]
    keywords: tuple[str | None, ...]


class Build(NamedTuple):
    kind: str  # "tuple", "list", "set" or "slice"
    stars: tuple[bool, ...]


class Unpack(NamedTuple):
    size: int
    star: int | None


class Function(NamedTuple):
    """Of `closure`: the first `len(code.free)` uses are cells, the others are defaults."""

    code: Code


class ClassBody(NamedTuple):
    """Of `class`: the first `len(code.free)` uses are cells, the others are bases."""

    code: Code
    name: str
    class_cell: bool  # whether a method needs the cell `__class__`


class ClassPattern(NamedTuple):
    positional: int
    keywords: tuple[str, ...]


class Import(NamedTuple):
    module: str
    name: str | None  # of `from module import name`
    level: int
    whole: bool  # `import a.b as c` gives a.b, `import a.b` gives a


def successors(code: Code, pc: int) -> tuple[int, ...]:
    """Where control can go from an instruction, the handler last."""
    instruction = code.instructions[pc]
    ways = instruction.jumps
    if instruction.op not in ENDS:
        ways = (*ways, pc + 1)
    return ways if instruction.handler is None else (*ways, instruction.handler)
