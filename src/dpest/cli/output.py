"""Where a command's words and files go: straight out, or to the process that watches this one."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from dpest.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from dpest.execution.frames import FrameWriter

_LONGEST = 2000  # characters of a reason


class Sink(Protocol):
    """What a command says, writes and has found so far."""

    def echo(self, text: str, err: bool = False, nl: bool = True) -> None: ...

    def write(self, path: str, text: str) -> None: ...

    def console(self, stderr: bool = False) -> Console: ...

    def send(self, message: dict[str, Any]) -> None: ...

    def hand_over(self, part: dict[str, Any]) -> None: ...


class Direct:
    """This process's own streams and files."""

    def echo(self, text: str, err: bool = False, nl: bool = True) -> None:
        click.echo(text, err=err, nl=nl)

    def write(self, path: str, text: str) -> None:
        if path == "-":
            click.echo(text)
        else:
            write_file(path, text)

    def console(self, stderr: bool = False) -> Console:
        from rich.console import Console

        return Console(stderr=stderr)

    def send(self, message: dict[str, Any]) -> None:
        """Nobody watches."""

    def hand_over(self, part: dict[str, Any]) -> None:
        _handed.append(part)


class _Stream:
    """A text stream for `rich` that hands everything to a function."""

    encoding = "utf-8"

    def __init__(self, take: Callable[[str], None], terminal: bool) -> None:
        self._take = take
        self._terminal = terminal

    def write(self, text: str) -> int:
        self._take(text)
        return len(text)

    def flush(self) -> None:
        """What was written is on its way."""

    def isatty(self) -> bool:
        return self._terminal


class Piped:
    """Messages to the process that watches this one.

    Standard output and error belong to the audited code; dpest itself never writes there. Made
    before they are taken away, so that it knows what kind of terminal waits at the other end.
    """

    def __init__(self) -> None:
        self._writer: FrameWriter | None = None
        self._width = shutil.get_terminal_size().columns
        self._terminals = {True: sys.stderr.isatty(), False: sys.stdout.isatty()}

    def connect(self, writer: FrameWriter) -> None:
        self._writer = writer

    def send(self, message: dict[str, Any]) -> None:
        if self._writer is not None:
            self._writer.send(message)

    def hand_over(self, part: dict[str, Any]) -> None:
        self.send({"handed": part})

    def echo(self, text: str, err: bool = False, nl: bool = True) -> None:
        self.send({"err" if err else "out": str(text) + ("\n" if nl else "")})

    def write(self, path: str, text: str) -> None:
        if path == "-":
            self.echo(text)
        else:
            self.send({"file": [path, text]})

    def console(self, stderr: bool = False) -> Console:
        from rich.console import Console

        stream = _Stream(lambda text: self.echo(text, stderr, nl=False), self._terminals[stderr])
        return Console(file=stream, width=self._width)  # type: ignore[arg-type]


_sink: Sink = Direct()
_handed: list[dict[str, Any]] = []  # parts of one file that several targets make together


def use(sink: Sink) -> None:
    """All words and files of this process go there from now on."""
    global _sink
    _sink = sink


def echo(text: Any = "", err: bool = False, nl: bool = True) -> None:
    """As `click.echo`, whoever owns the terminal."""
    _sink.echo(str(text), err, nl)


def console(stderr: bool = False) -> Console:
    return _sink.console(stderr)


def write(path: str, text: str) -> None:
    """A file that was asked for; `-` is standard output."""
    _sink.write(path, text)


def hand_over(part: dict[str, Any]) -> None:
    """A part of a file that is written when all targets have been answered."""
    _sink.hand_over(part)


def handed_over() -> list[dict[str, Any]]:
    """The parts so far; taken away from here."""
    parts = list(_handed)
    _handed.clear()
    return parts


def so_far(status: int, lines: str, files: list[tuple[str, str]]) -> None:
    """What to say and to write should this process be ended now."""
    _sink.send({"so_far": {"status": status, "lines": lines, "files": files}})


def discard() -> None:
    """Nothing that was said and written is true: forget it."""
    _handed.clear()
    _sink.send({"discard": True})


def send_progress(*fields: Any) -> None:
    _sink.send({"progress": fields})


class Interrupts(Protocol):
    """Who turns a request to stop into an interrupt."""

    finishing: bool

    def install(self) -> None: ...


_interrupts: Interrupts | None = None


def interrupted_by(who: Interrupts) -> None:
    """Requests to stop come from there in this process."""
    global _interrupts
    _interrupts = who
    who.install()


def listen_again() -> None:
    """After the user's file was loaded: it may have installed handlers of its own."""
    if _interrupts is not None:
        _interrupts.install()


def finishing() -> None:
    """The audited code has run for the last time: an interrupt would come too late."""
    if _interrupts is not None:
        _interrupts.finishing = True


def one_line(text: object) -> str:
    """A reason in one line, without what a terminal would obey."""
    words = re.sub(r"\s*[\n\r\x0b\x0c\x85\u2028\u2029]+\s*", " ", str(text)).strip()
    words = re.sub(r"[\x00-\x08\x0e-\x1f\x7f]", "?", words)
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


# Files --------------------------------------------------------------------------------------


def check_writable(path: str | None) -> None:
    """Refuse an output path before the work, not after it."""
    if path is None or path == "-":
        return
    try:
        real = os.path.realpath(path)
        folder = os.path.dirname(real)
        if os.path.isdir(real) or path.endswith(os.sep):
            reason = "it is a folder"
        elif not os.path.isdir(folder):
            reason = f"there is no folder {folder}"
        elif os.path.exists(real):
            reason = "" if os.access(real, os.W_OK) else "it can't be written to"
        else:
            reason = "" if os.access(folder, os.W_OK) else f"{folder} can't be written to"
    except (OSError, ValueError) as wrong:
        reason = str(wrong)
    if reason:
        raise InputError(f"can't write {path!r}: {reason}")


def write_file(path: str, text: str) -> None:
    """Whole or not at all for a plain file; through it for a device, a pipe or a link.

    What UTF-8 has no code for (halves of pairs of surrogates) is written with a backslash.
    """
    data = (text if text.endswith("\n") else text + "\n").encode("utf-8", "backslashreplace")
    try:
        real = os.path.realpath(path)
        try:
            before: os.stat_result | None = os.stat(real)
        except FileNotFoundError:
            before = None
        folder = os.path.dirname(real)
        plain = before is None or stat.S_ISREG(before.st_mode)
        if plain and os.access(folder, os.W_OK):
            _replace(real, data, before)
        else:
            _write_through(path, data)
    except (OSError, ValueError) as wrong:
        reason = getattr(wrong, "strerror", None) or wrong
        raise InputError(f"can't write {path!r}: {reason}") from None


def _replace(real: str, data: bytes, before: os.stat_result | None) -> None:
    handle, name = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".dpest-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if before is None:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask  # mkstemp makes it private; a report is an ordinary file
        else:
            mode = stat.S_IMODE(before.st_mode)
        os.chmod(name, mode)
        os.replace(name, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _write_through(path: str, data: bytes) -> None:
    rest = memoryview(data)
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


class WantedFiles(NamedTuple):
    """The files that were asked for."""

    json: str | None
    html: str | None
    replay: str | None
    sarif: str | None
    summary: str | None
    badge: str | None


def nothing_known(target: str, seed: int = 0) -> dict[str, Any]:
    """The JSON of a verdict without any answer."""
    return {
        "format": "dpest-verdict/1",
        "mechanism": target,
        "parameters": {},
        "adjacency": "unknown",
        "claim": None,
        "status": "unsettled",
        "lower": None,
        "upper": None,
        "evidence": [],
        "notes": ["stopped before anything was established"],
        "seed": seed,
        "seconds": 0.0,
        "interrupted": True,
    }


def say(text: str, err: bool = False) -> None:
    """Print; a reader who has gone away is no error, a device that takes nothing is one."""
    try:
        echo(text, err=err, nl=False)
        (sys.stderr if err else sys.stdout).flush()
    except BrokenPipeError:
        silence(err)
    except OSError as wrong:
        silence(err)
        if not err:
            raise InputError(f"can't write to standard output: {wrong.strerror}") from None


def silence(err: bool = False) -> None:
    """Let nothing more be written to a stream whose other end is gone, not even at the end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stream = sys.stderr if err else sys.stdout
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
