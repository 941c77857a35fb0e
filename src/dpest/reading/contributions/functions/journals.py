"""Logs and warnings: their lines are released, as far as they are made of noise."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

from dpest.reading.contributions.functions.registry import FUNCTIONS, entry
from dpest.reading.contributions.values import JOURNAL_METHODS, Log

if TYPE_CHECKING:
    from dpest.reading.contributions.machine import ContributionMachine


@entry(logging.getLogger)
def _logger(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> Log:
    return Log()


def _line(m: ContributionMachine, arguments: list[Any], named: dict[str, Any]) -> None:
    return m.log(*arguments, *named.values())


for _function in (*(getattr(logging, name) for name in JOURNAL_METHODS), warnings.warn):
    FUNCTIONS[_function] = _line
