"""What goes into a log or is said as a warning: no part of what a function releases.

Constants may be logged; a note says that the log is not looked at. What is made of noise or of
data is refused, since whoever reads the log sees it.
"""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dpest.reading.machine import prelude
from dpest.reading.machine.adopting import NotConcrete, to_python
from dpest.reading.machine.calling import Enter
from dpest.reading.machine.signals import Refused
from dpest.reading.machine.values import Journal, Method
from dpest.reading.table.registry import entry

if TYPE_CHECKING:
    from dpest.reading.machine.executor import Machine

_METHODS = ("debug", "info", "warning", "error", "critical", "log")
_OF_A_LOGGER = {*(Method("journal", name) for name in _METHODS)}


@entry(logging.getLogger)
def logger(m: Machine, name: Any = None) -> Any:
    return Journal()


@entry(*(getattr(logging, name) for name in _METHODS), warnings.warn)
def written(m: Machine, *values: Any, **options: Any) -> None:
    """One line of a log."""
    try:
        for value in (*values, *options.values()):
            to_python(m.state, value)
    except NotConcrete:
        raise Refused(
            "a log or a warning with noisy or private values, which whoever reads it sees",
            "log what is public alone",
        ) from None
    m.write_log()


@entry(np.errstate, warnings.catch_warnings)
def quiet(m: Machine, **options: Any) -> Any:
    if "raise" in options.values() or options.get("action") == "error" or options.get("record"):
        raise Refused("warnings that are caught, or become exceptions", "leave them as they are")
    return Enter(prelude.Quiet, ())


@entry(warnings.simplefilter, warnings.filterwarnings)
def filtered(m: Machine, action: Any, *values: Any, **options: Any) -> None:
    if action != "ignore":
        raise Refused("warnings that are caught, or become exceptions", "leave them as they are")


@entry(*_OF_A_LOGGER)
def logged(m: Machine, journal: Journal, *values: Any, **options: Any) -> None:
    written(m, *values, **options)
