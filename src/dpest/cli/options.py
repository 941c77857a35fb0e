"""Options that several commands share, and how their words become values."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

import click

from dpest.cli.output import check_writable, write
from dpest.errors import InputError

__all__ = [
    "absolute",
    "check_writable",
    "input_of",
    "lengths",
    "parameters",
    "question_options",
    "running_options",
    "value_of",
    "write",
]


# What `ast.literal_eval` raises on what is no literal, or one that is nested too deeply.
_UNREADABLE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def value_of(text: str) -> Any:
    """A Python literal, or the text itself: `0.1`, `[1, 2]`, `True`, `name`."""
    try:
        return ast.literal_eval(text)
    except _UNREADABLE:
        return text


def parameters(words: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(
                f"{word!r} is not of the form name=value", param_hint="--param"
            )
        found[name] = value_of(value)
    return found


def input_of(text: str) -> Any:
    """One input of a pair, written as a Python literal."""
    try:
        return ast.literal_eval(text)
    except _UNREADABLE:
        raise click.BadParameter(
            f"{text!r} is not an input; write a number or a list, such as '[1, 1, 1]'",
            param_hint="--pair",
        ) from None


def lengths(text: str | None) -> int | range | None:
    """`10`, or `1..20` for a range that includes both ends."""
    if text is None:
        return None
    from dpest.ask.arguments import check_arguments

    first, dots, last = text.partition("..")
    try:
        if dots:
            low, high = int(first), int(last)
            if not 1 <= low <= high:
                raise ValueError
            check_arguments(length=high)
            check_arguments(length=range(low, high + 1))
            return range(low, high + 1)
        check_arguments(length=int(text))
        return int(text)
    except InputError:
        raise
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a length; write 10, or 1..20", param_hint="--length"
        ) from None


def absolute(path: str | None) -> str | None:
    """A path as it was meant at the start, whatever folder the audited code changes to."""
    return None if path is None else os.path.abspath(path)


def running_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the runs of an attack are made, and what keeps them."""
    for option in reversed(
        [
            click.option(
                "--workers",
                type=click.IntRange(min=1),
                default=1,
                show_default=True,
                help="Processes that make the runs.",
            ),
            click.option(
                "--cluster", metavar="ADDRESS", help="A Dask cluster: tcp://host:port, or local."
            ),
            click.option(
                "--state", metavar="FILE", help="Keep finished runs here; go on after a kill."
            ),
            click.option(
                "--state-repair",
                is_flag=True,
                help="Drop the damaged blocks of the state file.",
            ),
            click.option(
                "--device",
                default="numpy",
                show_default=True,
                help="numpy, or a torch device such as cuda.",
            ),
        ]
    ):
        command = option(command)
    return command


def _remember_shape(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta["dpest.shape"] = value


def _in_shape(context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    """The domain, with the shape that --as gives its records."""
    shape = context.meta.get("dpest.shape")
    if shape is None:
        return text
    from dataclasses import replace

    from dpest.ask.domain_text import parse_domain
    from dpest.ask.domains import Records
    from dpest.ask.shapes import check_shape
    from dpest.ask.tables import Table

    found = parse_domain(text) if text is not None else None
    if not isinstance(found, (Records, Table)):
        raise InputError("--as says how records are handed in: give them with --domain 'table(…)'")
    return replace(found, form=check_shape(shape))


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that state a question: adjacency, domain, parameters."""
    for option in reversed(
        [
            click.option(
                "--adjacency",
                metavar="A",
                help="Who is a neighbour: l1, linf, monotone, replace_one, add_remove_one, "
                "any_pair; with a radius as in linf:2.",
            ),
            click.option(
                "--as",
                "shape",
                metavar="SHAPE",
                is_eager=True,
                expose_value=False,
                callback=_remember_shape,
                help="How records are handed in: dicts, objects, tuples, structured, matrix, "
                "columns, pandas, polars. Found by trying where it isn't said.",
            ),
            click.option(
                "--domain",
                metavar="D",
                callback=_in_shape,
                help="The inputs: reals, reals:-10,10, integers:0,10; or reals(5, 0, 1); "
                'records: table(8, age=(0, 120), city=["Berlin", "Paris"]).',
            ),
            click.option(
                "--param", "params", multiple=True, metavar="K=V", help="A parameter's value."
            ),
        ]
    ):
        command = option(command)
    return command
