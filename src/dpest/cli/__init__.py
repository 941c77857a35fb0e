"""The command line. Each command lives in its own module and is loaded when it is called."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
import warnings
from typing import Any

import click

from dpest import __version__
from dpest.cli.output import say, silence
from dpest.cli.statuses import (
    EXIT_HOLDS,
    EXIT_INTERRUPTED,
    EXIT_UNANSWERED,
    EXIT_VIOLATED,
    answered,
)
from dpest.errors import DpestError

__all__ = [
    "EXIT_HOLDS",
    "EXIT_INTERRUPTED",
    "EXIT_UNANSWERED",
    "EXIT_VIOLATED",
    "main",
    "run",
]

# command -> (module, one line of help): known without importing the command.
COMMANDS = {
    "audit": ("dpest.cli.audit", "How private is a mechanism? A two-sided answer."),
    "exact": ("dpest.cli.exact", "The exact privacy loss of one pair of inputs."),
    "attack": ("dpest.cli.attack", "A lower bound from runs alone, with its witness."),
    "scores": ("dpest.cli.scores", "How much do scores of runs, made elsewhere, show?"),
    "prove": ("dpest.cli.prove", "An upper bound for all inputs, with a certificate."),
    "check": ("dpest.cli.check", "Check a certificate, without a solver."),
    "calibrate": ("dpest.cli.calibrate", "The least noise at which a claim still holds."),
    "convert": ("dpest.cli.convert", "From one guarantee to another, with the formula."),
    "zoo": ("dpest.cli.zoo", "The literature's mechanisms, built in."),
    "init": ("dpest.cli.init", "A test and a CI step for the mechanisms of a project."),
    "bench": ("dpest.cli.bench", "The literature's benchmark, side by side."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(module), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpest")
def dpest() -> None:
    """How private is this code, really?

    TARGET is a built-in mechanism (see `dpest zoo`), `file.py:function` or
    `package.module:function`. Exit status: 0 the claim holds or nothing
    contradicts it, 1 it is violated, 2 the question could not be answered,
    130 interrupted.

    \b
    Example:
      dpest audit SVT1
      dpest audit my_code.py:noisy_mean --epsilon 1 --adjacency l1 --length 5
    """


def main(argv: list[str] | None = None) -> None:
    """Run the command line; the exit status says how the question was answered."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if "_DPEST_COMPLETE" in os.environ:  # a shell asks for completions: no question to answer
        dpest.main(args=argv, prog_name="dpest")
    with contextlib.suppress(ValueError):  # in a thread
        signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(run(argv))


def run(argv: list[str] | None = None) -> int:
    """The exit status of a command line."""
    # Python's parser warns of odd literals in what was typed; that is refused in our words.
    warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")
    try:
        status = answered(lambda: dpest.main(args=argv, prog_name="dpest", standalone_mode=False))
        say("")
    except BrokenPipeError:  # the reader of our output went away (`dpest zoo | head`)
        silence()
        status = EXIT_HOLDS
    except DpestError as wrong:  # standard output takes nothing
        say(f"dpest: {wrong}\n", err=True)
        status = EXIT_UNANSWERED
    return status


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt
