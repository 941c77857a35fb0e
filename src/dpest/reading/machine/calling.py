"""What a call can lead to: a value at once, or code that the machine has to execute first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Enter:
    """This function is to be read with these arguments; its result is the result."""

    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    back: str = "value"
    target: Any = None
