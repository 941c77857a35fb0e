"""Small charts as SVG text: no library, no network, readable on paper and on a phone.

A chart carries its scale in its attributes and has two empty groups, `shades` behind and `marks` in
front, so that the page's script can draw into it what the reader asks for.
Without the script the chart is complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 560, 280
LEFT, RIGHT, TOP, BOTTOM = 68, 14, 34, 44
LETTER = 6.6  # about the width of one, at the size of the legend

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class ChartLine:
    """One curve. `role` picks its style: "p", "q", "claim", "bound"."""

    points: Points
    label: str
    role: str = "p"
    fill: bool = False


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers between two ends.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def label_of(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1e5 or abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:.6g}"


class _Frame:
    """The mapping from numbers to places, with axes."""

    def __init__(
        self, x_range: tuple[float, float], y_range: tuple[float, float], height: int = HEIGHT
    ) -> None:
        (self.x0, self.x1), (self.y0, self.y1) = _open(x_range), _open(y_range)
        self.height = height

    @property
    def scale(self) -> str:
        """For the page's script: the numbers at the ends of the axes, and where those are."""
        ends = f"{self.x0!r} {self.x1!r} {self.y0!r} {self.y1!r}"
        bottom = self.height - BOTTOM
        return f'data-ends="{ends}" data-box="{LEFT} {WIDTH - RIGHT} {bottom} {TOP}"'

    def x(self, value: float) -> float:
        share = (value - self.x0) / (self.x1 - self.x0)
        return LEFT + min(max(share, -0.02), 1.02) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.y0) / (self.y1 - self.y0)
        return self.height - BOTTOM - min(max(share, -0.02), 1.02) * (self.height - TOP - BOTTOM)

    def axes(
        self,
        x_label: str,
        y_label: str,
        x_ticks: bool = True,
        y_words: Callable[[float], str] = label_of,
    ) -> list[str]:
        bottom, right = self.height - BOTTOM, WIDTH - RIGHT
        parts = []
        for value in ticks(self.y0, self.y1, 4):
            y = self.y(value)
            parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
            parts.append(
                f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{y_words(value)}</text>'
            )
        if x_ticks:
            for value in ticks(self.x0, self.x1):
                x = self.x(value)
                parts.append(
                    f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">'
                    f"{label_of(value)}</text>"
                )
        parts.append(f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
        middle = (LEFT + right) / 2
        parts.append(
            f'<text class="name" x="{middle}" y="{self.height - 8}" text-anchor="middle">'
            f"{escape(x_label)}</text>"
        )
        mid_y = (TOP + bottom) / 2
        parts.append(
            f'<text class="name" x="14" y="{mid_y}" text-anchor="middle" '
            f'transform="rotate(-90 14 {mid_y})">{escape(y_label)}</text>'
        )
        return parts


def _open(span: tuple[float, float]) -> tuple[float, float]:
    low, high = span
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _svg(parts: Sequence[str], title: str, frame: _Frame, kind: str = "") -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {frame.height}" role="img" '
        f'data-kind="{kind}" {frame.scale} '
        f'aria-label="{escape(title, quote=True)}" xmlns="http://www.w3.org/2000/svg">'
        f'<title>{escape(title)}</title><g class="shades"></g>{"".join(parts)}'
        '<g class="marks"></g></svg>'
    )


def lines(
    curves: Sequence[ChartLine],
    *,
    title: str,
    x_label: str,
    y_label: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    kind: str = "",
) -> str:
    """Curves over common axes, with a legend. `kind` tells the page's script what is drawn."""
    curves = [
        ChartLine(
            [(x, y) for x, y in c.points if math.isfinite(x) and math.isfinite(y)],
            c.label,
            c.role,
            c.fill,
        )
        for c in curves
    ]
    curves = [c for c in curves if c.points]
    if not curves:
        return ""
    xs = [x for c in curves for x, _ in c.points]
    ys = [y for c in curves for _, y in c.points]
    frame = _Frame(x_range or (min(xs), max(xs)), y_range or (min(0.0, min(ys)), max(ys)))
    parts = frame.axes(x_label, y_label)
    for curve in curves:
        path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in curve.points)
        if curve.fill:
            floor = frame.y(frame.y0)
            first, last = frame.x(curve.points[0][0]), frame.x(curve.points[-1][0])
            parts.append(
                f'<polygon class="area {curve.role}" '
                f'points="{first:.1f},{floor:.1f} {path} {last:.1f},{floor:.1f}"/>'
            )
        parts.append(f'<polyline class="line {curve.role}" points="{path}"/>')
    parts += _legend([(c.label, c.role) for c in curves])
    return _svg(parts, title, frame, kind)


def _legend(entries: Sequence[tuple[str, str]]) -> list[str]:
    """In a row above the plot, where no curve runs into it."""
    parts = []
    right = float(WIDTH - RIGHT)
    for label, role in reversed(entries):
        left = right - LETTER * len(label)
        parts.append(f'<text x="{left:.1f}" y="20">{escape(label)}</text>')
        parts.append(f'<rect class="key {role}" x="{left - 18:.1f}" y="11" width="12" height="9"/>')
        right = left - 34
    return parts


def bars(
    labels: Sequence[str],
    p: Sequence[float],
    q: Sequence[float],
    *,
    marked: Sequence[int] = (),
    title: str,
    names: tuple[str, str] = ("x", "x′"),
    y_label: str = "probability",
) -> str:
    """Two probabilities per output, side by side; the marked outputs are the event.

    Where a marked output is too rare to be seen, the axis is logarithmic.
    """
    if not labels:
        return ""
    top = max(*p, *q)
    event = [v for i in marked for v in (p[i], q[i])]
    if event and 0 < max(event) < 1e-3 * top:
        return _log_bars(labels, p, q, marked, title, names, y_label)
    frame = _Frame((0, len(labels)), (0.0, top * 1.05))
    parts = frame.axes("output", y_label, x_ticks=False)
    parts += _columns(frame, labels, p, q, marked, lambda value: value)
    return _svg([*parts, *_legend([(names[0], "p"), (names[1], "q")])], title, frame, "outputs")


def _log_bars(
    labels: Sequence[str],
    p: Sequence[float],
    q: Sequence[float],
    marked: Sequence[int],
    title: str,
    names: tuple[str, str],
    y_label: str,
) -> str:
    floor = math.floor(math.log10(min(v for v in (*p, *q) if v > 0))) - 1
    frame = _Frame((0, len(labels)), (float(floor), 0.5))
    parts = frame.axes("output", f"{y_label}, logarithmic", False, lambda v: f"1e{v:.0f}")
    height = lambda v: math.log10(v) if v > 0 else float(floor)  # noqa: E731
    parts += _columns(frame, labels, p, q, marked, height)
    return _svg([*parts, *_legend([(names[0], "p"), (names[1], "q")])], title, frame, "outputs")


def _columns(
    frame: _Frame,
    labels: Sequence[str],
    p: Sequence[float],
    q: Sequence[float],
    marked: Sequence[int],
    height: Callable[[float], float],
) -> list[str]:
    slot = (WIDTH - LEFT - RIGHT) / len(labels)
    bottom = HEIGHT - BOTTOM
    every = max(1, math.ceil(len(labels) / 12))
    parts = []
    for i, (label, a, b) in enumerate(zip(labels, p, q, strict=True)):
        left = LEFT + i * slot
        if i in marked:
            parts.append(
                f'<rect class="event" x="{left:.1f}" y="{TOP}" width="{slot:.1f}" '
                f'height="{bottom - TOP}"/>'
            )
        for value, role, shift in ((a, "p", 0.12), (b, "q", 0.5)):
            top = frame.y(height(value))
            parts.append(
                f'<rect class="bar {role}" x="{left + shift * slot:.1f}" y="{top:.1f}" '
                f'width="{0.36 * slot:.1f}" height="{max(bottom - top, 0):.1f}">'
                f"<title>{escape(label)}: {value:.6g}</title></rect>"
            )
        if i % every == 0:
            parts.append(
                f'<text x="{left + slot / 2:.1f}" y="{bottom + 14}" text-anchor="middle">'
                f"{escape(shorten(label, max(3, int(slot * every / 8))))}</text>"
            )
    return parts


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"


def interval(lower: float, upper: float, limit: float | None, *, letter: str) -> str:
    """[lower, upper] on a line, with the claim as a mark."""
    finite = [v for v in (lower, upper, limit) if v is not None and math.isfinite(v)]
    top = max([*finite, 1e-9]) * 1.25
    frame = _Frame((0.0, top), (0.0, 1.0), height=110)
    y = 46
    low, high = frame.x(min(lower, top)), frame.x(min(upper, top))
    parts = [
        f'<line class="axis" x1="{LEFT}" y1="{y + 22}" x2="{WIDTH - RIGHT}" y2="{y + 22}"/>',
        f'<rect class="between" x="{low:.1f}" y="{y - 9}" width="{max(high - low, 3):.1f}" '
        'height="18" rx="3"/>',
    ]
    for value in ticks(0.0, top):
        x = frame.x(value)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{y + 22}" x2="{x:.1f}" y2="{y + 27}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{y + 41}" text-anchor="middle">{label_of(value)}</text>'
        )
    parts.append(f'<text class="name" x="{LEFT - 20}" y="{y + 5}">{escape(letter)}</text>')
    if limit is not None and math.isfinite(limit):
        x = frame.x(limit)
        parts.append(f'<line class="limit" x1="{x:.1f}" y1="{y - 24}" x2="{x:.1f}" y2="{y + 22}"/>')
        parts.append(
            f'<text class="limit-name" x="{x:.1f}" y="{y - 28}" text-anchor="middle">claim '
            f"{label_of(limit)}</text>"
        )
    if math.isinf(upper):
        parts.append(f'<text x="{WIDTH - RIGHT - 4}" y="{y - 14}" text-anchor="end">→ ∞</text>')
    return _svg(parts, f"The interval of {letter}", frame)
