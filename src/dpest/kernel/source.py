"""What can be read off a source without running it: the parameters of its function.

The source is taken apart into tokens; nothing of it is compiled or evaluated.
"""

from __future__ import annotations

import io
import itertools
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from .invalid import Invalid


@dataclass(frozen=True)
class Signature:
    """Names of the parameters; `others`: it also takes whatever is named in a call (**)."""

    parameters: frozenset[str]
    others: bool


def signature(source: str) -> Signature:
    """Of the first function in the source; of the first lambda, where there is no function."""
    tokens = _tokens(source)
    for word, end in (("def", ")"), ("lambda", ":")):
        for at, token in enumerate(tokens):
            if token.type == tokenize.NAME and token.string == word:
                rest = tokens[at + 1 :]
                if word == "def":
                    rest = list(itertools.dropwhile(lambda t: t.string != "(", rest))[1:]
                return _parameters(rest, end)
    raise Invalid("source: no function in it")


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    """The tokens up to where they end: a lambda's line is often torn out of a call."""
    found: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            found.append(token)
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass
    return found


def _parameters(tokens: Iterable[tokenize.TokenInfo], end: str) -> Signature:
    """The names at the beginning of the list and after `,`, `*` and `**`, up to its end."""
    names: set[str] = set()
    depth, starts, double, others = 0, True, False, False
    for token in tokens:
        word = token.string
        if depth == 0 and word == end:
            break
        if token.type == tokenize.NAME and depth == 0 and starts:
            names.add(word)
            others, starts = others or double, False
        elif token.type == tokenize.OP:
            depth += (word in "([{") - (word in ")]}")
            starts = depth == 0 and word in (",", "*", "**")
            double = word == "**"
    return Signature(frozenset(names), others)
