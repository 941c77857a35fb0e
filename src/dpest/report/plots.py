"""A verdict as a picture for a notebook or a paper: the bounds, and the claim beside them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpest.errors import MissingExtraError
from dpest.report.text import headline, symbol

if TYPE_CHECKING:
    from dpest.verdict import Verdict

_COLOURS = {"violated": "#c0392b", "unsettled": "#b7791f"}


def plot_bounds(verdict: Verdict, axes: Any = None) -> Any:
    """The interval of the bounds, open to the right where there is no upper one."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("report", "plotting a verdict") from None
    if axes is None:
        axes = plt.figure(figsize=(6, 1.6)).add_subplot()
    low = verdict.lower.value if verdict.lower is not None else 0.0
    high = verdict.upper.value if verdict.upper is not None else math.inf
    limit = verdict.question.limit
    ends = [v for v in (low, high, limit) if v is not None and math.isfinite(v)]
    right = 1.15 * max([*ends, 1e-9])
    colour = _COLOURS.get(verdict.status, "#2e7d32")
    shown = [min(low, right), min(high, right)]
    axes.plot(shown, [0, 0], color=colour, linewidth=6, solid_capstyle="butt")
    axes.plot(shown[:1], [0], marker="|", markersize=18, color=colour)
    axes.plot(
        shown[1:], [0], marker="|" if math.isfinite(high) else ">", markersize=12, color=colour
    )
    if limit is not None:
        axes.axvline(limit, color="0.3", linestyle="--", label=f"claim {limit:g}")
        axes.legend(loc="upper left")
    axes.set(xlim=(0, right), yticks=[], xlabel=symbol(verdict.question.measure))
    axes.set_title(headline(verdict).split(";")[0], fontsize=9)
    return axes
