"""What ends an instruction before its end: forks, exceptions of the program, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpest.geometry.linear import Condition

_KEEP_NOTHING = "a mechanism must not keep anything from one call to the next"


class Refused(Exception):
    """The machine does not know what this does, so that it must not go on.

    `final`: the machine has seen that types, structure or hidden state matter here, so that no
    weaker reader may be asked either. Otherwise it merely has no rule.
    """

    def __init__(self, reason: str, advice: str = "", *, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice
        self.final = final
        self.where: str | None = None


class OutOfLimits(Refused):
    """The reading would take more paths, turns or time than there are."""

    forks = 0  # that it has made, most of them at the line that it names


class OutOfTime(OutOfLimits):
    """The reading has taken too long."""


class KeepsState(Refused):
    """The function changes something that outlives a call, or looks at what such a change left."""

    def __init__(self, reason: str, advice: str = _KEEP_NOTHING) -> None:
        super().__init__(reason, advice, final=True)


class Thrown(Exception):
    """An exception of the user's program, as a value of the machine or as Python's own."""

    def __init__(self, error: Any) -> None:
        super().__init__()
        self.error = error


class Fork(Exception):
    """An instruction must know which of several holds; each possible one becomes a state.

    `endless`: some of them lead to another such fork, without a bound. What is improbable there may
    be left (`exploring.leaving`).
    """

    def __init__(
        self,
        options: Sequence[tuple[Condition, ...]],
        alive: Sequence[int],
        *,
        endless: bool = False,
    ) -> None:
        super().__init__()
        self.options = options
        self.alive = alive
        self.endless = endless


class BeforeDraw(Exception):
    """The state stands before a draw at which a reading wants to look at it."""


class Dead(Exception):
    """No point of the noise and the data comes here."""
