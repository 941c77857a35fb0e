"""A command in a process of its own: nothing that the audited code does can bend the answer."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any

import click

from dpest.cli import output
from dpest.cli.output import echo, one_line, say, write_file
from dpest.cli.progress import ProgressLine
from dpest.cli.statuses import EXIT_INTERRUPTED, EXIT_UNANSWERED, EXIT_VIOLATED, answered
from dpest.errors import DpestError, InputError
from dpest.execution.frames import FrameWriter
from dpest.execution.supervision import WorkLimits, WorkOutcome, can_isolate, supervise

_SIZE = re.compile(r"^\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([KMGT]?)(?:i?B)?\s*$", re.I)
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What the audited code may take. The callback gets `limits`, None: in this process."""

    @functools.wraps(command)
    def with_limits(isolate: bool, time_limit: float, memory_limit: str, **options: Any) -> Any:
        limits = WorkLimits(time_limit, size_of(memory_limit))
        return command(limits=limits if isolate and can_isolate() else None, **options)

    for option in (
        click.option(
            "--isolate/--no-isolate",
            default=True,
            show_default=True,
            help="Run the audited code in a process of its own.",
        ),
        click.option(
            "--memory-limit",
            default="8GB",
            show_default=True,
            metavar="SIZE",
            help="Memory that the audited code may take.",
        ),
        click.option(
            "--time-limit",
            type=float,
            default=30.0,
            show_default=True,
            metavar="SECONDS",
            help="Seconds that one call of the audited code may take.",
        ),
    ):
        with_limits = option(with_limits)
    return with_limits


def size_of(text: str) -> int:
    """Bytes, from `500MB` or `8GB`.

    >>> size_of("1.5 GiB")
    1610612736
    """
    match = _SIZE.match(text)
    if match is None:
        raise InputError(f"{text!r} is not a size of memory; write 500MB or 8GB")
    return int(float(match[1]) * (1 << _POWERS[match[2].upper()]))


def isolated(
    work: Callable[[], Any],
    limits: WorkLimits | None,
    *,
    quiet: bool = False,
    unanswered: tuple[tuple[str, str], ...] = (),
    label: str = "",
) -> int:
    """The status of `work`, done in a process of its own within the limits; None: done here.

    `work` calls the audited code and says everything through `dpest.cli.output`. `unanswered`:
    files to write should it be stopped before it has anything to say. `label` goes before a
    reason, where there are several answers.
    """
    if limits is None:
        return answered(work, label)
    desk = Desk(quiet, unanswered, label)
    piped = output.Piped()

    def do(writer: FrameWriter) -> int:
        from dpest.execution.worker import Interruption

        piped.connect(writer)
        output.use(piped)
        output.interrupted_by(Interruption())
        from dpest.running.watchdog import one_call

        with one_call(limits.seconds):
            return answered(work, label)

    outcome = supervise(do, limits=limits, on_message=desk.take, on_print=desk.printed, adopt=True)
    return desk.close(outcome)


class Desk:
    """What comes out of the process of its own; shown and written when it is complete."""

    def __init__(
        self, quiet: bool, unanswered: tuple[tuple[str, str], ...], label: str = ""
    ) -> None:
        self._label = label
        self._said: list[tuple[str, bool]] = []
        self._files: list[tuple[str, str]] = []
        self._parts: list[dict[str, Any]] = []
        self._so_far: dict[str, Any] = {
            "status": EXIT_UNANSWERED,
            "lines": "",
            "files": list(unanswered),
        }
        self._progress = ProgressLine(quiet)

    def take(self, message: dict[str, Any]) -> None:
        if "out" in message:
            self._said.append((message["out"], False))
        elif "err" in message:
            self._said.append((message["err"], True))
        elif "file" in message:
            path, text = message["file"]
            self._files.append((path, text))
        elif "so_far" in message:
            self._so_far = message["so_far"]
        elif "handed" in message:
            self._parts.append(message["handed"])
        elif "discard" in message:
            self._said.clear()
            self._files.clear()
            self._parts.clear()
        elif "progress" in message:
            self._progress.show(*message["progress"])

    def printed(self, data: bytes) -> None:
        """What the audited code prints goes to standard error, apart from the answer."""
        self._progress.hide()
        with contextlib.suppress(OSError, ValueError):
            echo(data.decode("utf-8", "backslashreplace"), err=True, nl=False)

    def close(self, outcome: WorkOutcome) -> int:
        """Show and write what there is; the status of the whole."""
        self._progress.hide()
        if outcome.end == "done":
            status = outcome.status if isinstance(outcome.status, int) else EXIT_UNANSWERED
            if status == EXIT_INTERRUPTED and not outcome.asked:
                reason = f"dpest: {self._label}the audited code raised KeyboardInterrupt\n"
                return self._publish([(reason, True)], [], EXIT_UNANSWERED)
            if status == EXIT_INTERRUPTED and not self._files:
                self._files = list(self._so_far["files"])
            for part in self._parts:
                output.hand_over(part)
            return self._publish(self._said, self._files, status)
        found = self._so_far
        said = [
            (found["lines"], False),
            (f"dpest: {self._label}{one_line(outcome.reason)}\n", True),
        ]
        files = [(path, text) for path, text in found["files"]]
        if outcome.end == "interrupted":
            status = EXIT_INTERRUPTED
        else:
            status = EXIT_VIOLATED if found["status"] == EXIT_VIOLATED else EXIT_UNANSWERED
        return self._publish(said, files, status)

    def _publish(
        self, said: list[tuple[str, bool]], files: list[tuple[str, str]], status: int
    ) -> int:
        wrong: DpestError | None = None
        for path, text in files:
            try:
                if path == "-":
                    say(text + "\n")
                else:
                    write_file(path, text)
            except DpestError as reason:
                wrong = wrong or reason
        try:
            for text, err in said:
                say(text, err)
        except InputError as reason:
            wrong = wrong or reason
        if wrong is not None:
            say(f"dpest: {one_line(wrong)}\n", err=True)
            return status if status == EXIT_INTERRUPTED else EXIT_UNANSWERED
        return status
