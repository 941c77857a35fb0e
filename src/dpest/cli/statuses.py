"""From how a command ended to its exit status, and to one line that says why."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

import click

from dpest.cli.output import echo, one_line
from dpest.errors import DpestError, belongs_to_user, described

EXIT_HOLDS, EXIT_VIOLATED, EXIT_UNANSWERED, EXIT_INTERRUPTED = 0, 1, 2, 130


def answered(work: Callable[[], Any], label: str = "") -> int:
    """The status of a command, whatever happens in it. Why there is no answer is said here."""
    try:
        status = work()
        return status if isinstance(status, int) else EXIT_HOLDS
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as wrong:
        echo(f"dpest: {label}{one_line(wrong.format_message())}{_help(wrong)}", err=True)
    except DpestError as wrong:
        echo(f"dpest: {label}{one_line(wrong)}", err=True)
    except (KeyboardInterrupt, click.exceptions.Abort):
        echo("dpest: interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        raise
    except BaseException as wrong:
        reason = fault_of_audited(wrong)
        echo(f"dpest: {label}{one_line(reason) if reason else bug(wrong)}", err=True)
    return EXIT_UNANSWERED


def worst(statuses: list[int]) -> int:
    """Of several answers: an interrupt, then a violation, then a question left open."""
    for status in (EXIT_INTERRUPTED, EXIT_VIOLATED, EXIT_UNANSWERED):
        if status in statuses:
            return status
    return EXIT_HOLDS


def _help(wrong: click.ClickException) -> str:
    context = getattr(wrong, "ctx", None)
    return "" if context is None else f" (see {context.command_path} --help)"


def fault_of_audited(error: BaseException) -> str | None:
    """In words, if it was the audited code that raised; None if it was dpest.

    Libraries raise on behalf of their callers: the innermost frame that is either's decides.
    """
    if isinstance(error, SystemExit):
        return f"the audited code called sys.exit({error.code!r}); a mechanism returns"
    place = _innermost(error.__traceback__)
    if place is None or not belongs_to_user(place[0]):
        return None
    file, line = place
    return f"{file}:{line}: the audited code raised {described(error)}"


def _innermost(trace: TracebackType | None) -> tuple[str, int] | None:
    found, begun = None, False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        ours = file.startswith(_PACKAGE)
        begun = begun or ours  # what called dpest is neither's
        if begun and not file.startswith("<") and (ours or belongs_to_user(file)):
            found = (file, trace.tb_lineno)
        trace = trace.tb_next
    return found


_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def bug(error: BaseException) -> str:
    """Keep the traceback in a file; the line says where."""
    told = "".join(traceback.format_exception(error))
    words = f"this is a bug in dpest ({described(error)})"
    try:
        handle, name = tempfile.mkstemp(prefix="dpest-bug-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n{sys.version}\n{sys.argv}\n{told}")
    except OSError:
        return one_line(f"{words}; its traceback could not be written")
    return one_line(f"{words}; its traceback is in {name}: please report it")
