"""The table: what functions do on forms, arrays and rows. What is not here is refused.

A file for each group of functions. Later ones may look at an earlier entry of the same function,
and give it what they don't know themselves: statistics of other values than the data.
"""

from __future__ import annotations

from dpest.reading.contributions.frames import frame_methods, series_methods
from dpest.reading.contributions.functions import (
    arrays,
    containers,
    conversions,
    copies,
    histograms,
    journals,
    mathematics,
    order_statistics,
    python_functions,
    sequences,
    sources,
    statistics,
)
from dpest.reading.contributions.functions.registry import FUNCTIONS
from dpest.reading.contributions.gaps import functions as gap_functions

GROUPS = (
    sequences,
    conversions,
    copies,
    containers,
    mathematics,
    arrays,
    histograms,
    journals,
    python_functions,
    statistics,
    order_statistics,
    sources,
    gap_functions,
    series_methods,
    frame_methods,
)
__all__ = ["FUNCTIONS", "GROUPS"]
