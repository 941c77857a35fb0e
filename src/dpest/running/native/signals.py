"""What ends an instruction of the specialiser before its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class NotCompiled(Exception):
    """Something that has no native code; the batch reading or plain calls take over."""


class TooLarge(NotCompiled):
    """Code that would take longer to compile than it is worth, however it is looked at."""


class RunThrown(Exception):
    """The user's code raises `error` here, on this way through it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error


class RunFork(Exception):
    """A decision that the run makes: one way for each of the options."""

    def __init__(self, register: Any, kind: str, options: list[int]) -> None:
        super().__init__(kind)
        self.register, self.kind, self.options = register, kind, options


def error_of(call: Callable[[], Any]) -> Exception:
    """What Python itself raises there, so that type and text are those of this Python."""
    try:
        call()
    except Exception as error:
        return error.with_traceback(None)
    raise AssertionError("it was meant to raise")
