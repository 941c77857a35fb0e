"""Random programs: what the machine makes of them against what CPython does.

`program(source)` is a function `program(x, rng)` of a few statements, drawn at random from the ways
in which people write: loops, closures, generators, errors, aliases, views, star arguments. With
`noise` it draws, compares and releases; without, it is run on numbers alone.
"""

from __future__ import annotations

import linecache
import random
import textwrap
from typing import Any

_NUMBERS = ("0", "1", "2", "-1", "3", "0.5", "-2.5")
_OPERATORS = ("+", "-", "*")
_COMPARISONS = ("<", "<=", ">", ">=")
_MOST_DEPTH = 3


class Writer:
    """Writes one program; names that it has bound are of a kind, so that most programs run."""

    def __init__(self, source: random.Random, noise: bool) -> None:
        self.source = source
        self.noise = noise
        self.numbers = ["a", "b"]
        self.lists = ["l"]
        self.arrays = ["v"]
        self.made = 0
        self.draws = 0

    def name(self, start: str) -> str:
        self.made += 1
        return f"{start}{self.made}"

    def number(self, depth: int = 0) -> str:
        """An expression for a number; of noise only sums, and products with constants."""
        choice = self.source.random()
        if depth >= _MOST_DEPTH or choice < 0.3:
            return self.source.choice(self.numbers)
        if choice < 0.45:
            return self.source.choice(_NUMBERS)
        if choice < 0.6 and self.lists:
            return self.entry()
        if choice < 0.8:
            sign = self.source.choice(_OPERATORS[: 2 if self.noise else 3])
            return f"({self.number(depth + 1)} {sign} {self.number(depth + 1)})"
        if choice < 0.88 or not self.noise:
            return self.odd(depth) if not self.noise else f"(-{self.number(depth + 1)})"
        return f"({self.source.choice(('2', '0.5', '-1'))} * {self.number(depth + 1)})"

    def entry(self) -> str:
        held = self.source.choice(self.lists)
        return self.source.choice((f"sum({held})", f"{held}[0]", f"{held}[-1]", f"len({held})"))

    def odd(self, depth: int) -> str:
        """What is not linear, for programs without noise."""
        first, second = self.number(depth + 1), self.number(depth + 1)
        return self.source.choice(
            (
                f"({first} // {second})",
                f"({first} % {second})",
                f"abs({first})",
                f"max({first}, {second})",
                f"min({first}, {second})",
                f"round({first})",
                f"int({first})",
                f"({first} if {second} else {first})",
                f"({first} and {second})",
                f"({first} or {second})",
                f"({first} / {second})",
                f"({self.source.choice(self.arrays)}.sum())",
                f"divmod({first}, {second})[1]",
                f"bool({first})",
                f"(not {first})",
            )
        )

    def truth(self) -> str:
        sign = self.source.choice(_COMPARISONS)
        plain = f"{self.number(2)} {sign} {self.number(2)}"
        if self.source.random() < 0.2:
            joint = self.source.choice(("and", "or"))
            return f"{plain} {joint} {self.number(2)} {sign} {self.number(2)}"
        return f"not {plain}" if self.source.random() < 0.1 else plain

    def block(self, depth: int, count: int | None = None) -> str:
        """Some statements; names bound inside of a branch are forgotten after it."""
        kept = list(self.numbers), list(self.lists), list(self.arrays)
        lines = [self.statement(depth) for _ in range(count or self.source.randint(1, 2))]
        self.numbers, self.lists, self.arrays = kept
        return "\n".join(lines)

    def statement(self, depth: int) -> str:
        simple = (self.assign, self.change, self.append, self.draw, self.array, self.view)
        nested = (self.branch, self.loop, self.function, self.attempt, self.generator, self.counted)
        if depth >= 2 or self.source.random() < 0.6:
            return self.source.choice(simple)(depth)
        return self.source.choice(nested)(depth)

    def assign(self, depth: int) -> str:
        value = self.number()
        if self.source.random() < 0.2:
            return f"a, b = b, {value}"
        new = self.name("n") if self.source.random() < 0.5 else self.source.choice(self.numbers)
        if new not in self.numbers:
            self.numbers.append(new)
        return f"{new} = {value}"

    def change(self, depth: int) -> str:
        return (
            f"{self.source.choice(self.numbers)} {self.source.choice(('+', '-'))}= {self.number(1)}"
        )

    def append(self, depth: int) -> str:
        held = self.source.choice(self.lists)
        value = self.number(1)
        choice = self.source.random()
        if choice < 0.4:
            return f"{held}.append({value})"
        if choice < 0.55:
            return f"{held}[0] = {value}"
        if choice < 0.7:
            return f"{held} += [{value}]"
        new = self.name("l")
        line = self.source.choice(
            (
                f"{new} = {held}",
                f"{new} = list({held})",
                f"{new} = [{value}, {self.number(2)}]",
                f"{new} = {held} + [{value}]",
                f"{new} = [v + 1 for v in {held}]",
                f"{new} = {held}[::-1]",
            )
        )
        self.lists.append(new)
        return line

    def draw(self, depth: int) -> str:
        if not self.noise or self.draws >= 4:
            return self.assign(depth)
        self.draws += 1
        new = self.name("z")
        self.numbers.append(new)
        kind = self.source.choice(("laplace(scale=2)", "exponential()", "normal()", "laplace()"))
        return f"{new} = {self.source.choice(self.numbers[:-1])} + rng.{kind}"

    def array(self, depth: int) -> str:
        if self.noise:
            return self.append(depth)
        held = self.source.choice(self.arrays)
        return self.source.choice(
            (
                f"{held} += {self.number(2)}",
                f"{held}[0] = {self.number(2)}",
                f"{held} *= 2",
                f"{held}[1:] -= 1",
                f"{held} = {held} + 1",
                f"{held}[{held} > 0] = 0",
            )
        )

    def view(self, depth: int) -> str:
        if self.noise:
            return self.change(depth)
        held, new = self.source.choice(self.arrays), self.name("v")
        line = self.source.choice(
            (
                f"{new} = {held}",
                f"{new} = {held}[1:]",
                f"{new} = {held}.copy()",
                f"{new} = {held}[::-1]",
                f"{new} = {held}[[0, 1]]",
                f"{new} = np.asarray({held})",
            )
        )
        self.arrays.append(new)
        return line

    def branch(self, depth: int) -> str:
        text = f"if {self.truth()}:\n{_in(self.block(depth + 1))}"
        if self.source.random() < 0.5:
            text += f"\nelse:\n{_in(self.block(depth + 1))}"
        return text

    def loop(self, depth: int) -> str:
        over = self.source.choice(
            (
                "range(3)",
                "range(2)",
                f"list({self.source.choice(self.lists)})[:3]",
                "x",
                "enumerate(x)",
            )
        )
        target = "i, v" if over.startswith("enumerate") else self.source.choice(("i", "v"))
        body = self.block(depth + 1)
        if self.source.random() < 0.3 and not self.noise:
            word = self.source.choice(("break", "continue"))
            body = f"if {self.truth()}:\n    {word}\n{body}"
        text = f"for {target} in {over}:\n{_in(body)}"
        if self.source.random() < 0.2:
            text += f"\nelse:\n{_in(self.block(depth + 1, 1))}"
        return text

    def counted(self, depth: int) -> str:
        at = self.name("k")
        return f"{at} = 0\nwhile {at} < 3:\n    {at} += 1\n{_in(self.block(depth + 1))}"

    def function(self, depth: int) -> str:
        name = self.name("f")
        outer = self.source.choice(self.numbers)
        body = self.source.choice(
            (
                f"return p + {outer}",
                f"p += {self.number(2)}\nreturn p",
                f"nonlocal_ = p\nreturn nonlocal_ - {outer}",
                f"{self.source.choice(self.lists)}.append(p)\nreturn p",
            )
        )
        new = self.name("n")
        used = self.number(1)
        self.numbers.append(new)
        given = self.source.choice((f"{name}({used})", f"{name}(p={used})", f"{name}(*[{used}])"))
        return f"def {name}(p, q=1):\n{_in(body)}\n{new} = {given}"

    def generator(self, depth: int) -> str:
        name, new = self.name("g"), self.name("n")
        text = f"def {name}(m):\n    for w in m:\n        yield w + {self.number(2)}\n"
        held = self.source.choice(self.lists)
        self.numbers.append(new)
        return f"{text}{new} = sum({name}({held}))"

    def attempt(self, depth: int) -> str:
        last = self.source.choice(self.numbers)
        body = self.block(depth + 1)
        if self.source.random() < 0.5:
            test = self.truth()
            body += f"\nif {test}:\n    raise ValueError"
        caught = "(ValueError, ZeroDivisionError, IndexError)"
        text = f"try:\n{_in(body)}\nexcept {caught}:\n    {last} = 1"
        if self.source.random() < 0.5:
            text += f"\nfinally:\n    {last} += 1"
        return text


def _in(text: str) -> str:
    return textwrap.indent(text, "    ")


def program(source: random.Random, *, noise: bool = False) -> str:
    writer = Writer(source, noise)
    lines = ["a = x[0]", "b = x[-1]", "l = list(x)", "v = np.array([1.0, -2.0, 3.0])"]
    lines += [writer.draw(0)] if noise else []
    lines += [writer.statement(0) for _ in range(source.randint(3, 5 if noise else 8))]
    shown = ", ".join([*writer.numbers[:5], *writer.lists[:2]])
    if not noise:
        shown += ", " + ", ".join(writer.arrays[:3])
    lines.append(f"return {shown}")
    body = _in("\n".join(lines))
    return f"import numpy as np\n\n\ndef program(x, rng):\n{body}\n"


def load(text: str, number: int) -> Any:
    """The function of a program, with its source where readers look for it."""
    file = f"<random program {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "random_program"}
    exec(compile(text, file, "exec", dont_inherit=True), scope)
    return scope["program"]
