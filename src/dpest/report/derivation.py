"""A proof's explanation as blocks to read: what is shown, by which shifts, by which rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_RULE = re.compile(r"^\[(\w+)\]\s+(.*)$")


@dataclass
class Item:
    """One line of a derivation; `rule` is the name of the rule that it applies, if it says one."""

    text: str
    rule: str = ""
    below: list[Item] = field(default_factory=list)


@dataclass(frozen=True)
class DerivationBlock:
    """A sentence and what it rests on."""

    lead: str
    items: Sequence[Item]


def derivation(text: str) -> list[DerivationBlock]:
    """Blocks from the text of `Proof.explain`: indentation says what belongs under what.

    >>> [block.lead for block in derivation("Coupling:\\n  noise 1 moves by 1\\n\\nDone.")]
    ['Coupling:', 'Done.']
    """
    blocks: list[DerivationBlock] = []
    stack: list[tuple[int, list[Item]]] = []  # an indentation, and what is gathered at it
    for line in text.splitlines():
        words = line.strip()
        if not words:
            continue
        depth = len(line) - len(line.lstrip())
        if depth == 0 or not blocks:
            items: list[Item] = []
            blocks.append(DerivationBlock(words, items))
            stack = [(0, items)]
            continue
        while stack[-1][0] > depth:
            stack.pop()
        if stack[-1][0] < depth:
            above = stack[-1][1]
            stack.append((depth, above[-1].below if len(stack) > 1 else above))
        match = _RULE.match(words)
        stack[-1][1].append(Item(match[2], match[1]) if match else Item(words))
    return blocks
