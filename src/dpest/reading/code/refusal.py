"""Why a function was not lowered."""

from __future__ import annotations


class NotLowered(Exception):
    """Something in the source that has no instructions; with the line, where there is one."""

    def __init__(self, reason: str, line: int | None = None, file: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.file = file
