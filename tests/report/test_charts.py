"""Charts as SVG."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from dpest.report import charts


@pytest.mark.parametrize("high", [0.1, 1.0, 7.3, 250.0, 1e-7])
def test_ticks_are_few_round_and_inside(high):
    found = charts.ticks(0.0, high)
    assert 2 <= len(found) <= 12
    assert found[0] == 0
    assert found[-1] <= high * (1 + 1e-9)


def test_points_land_where_they_should():
    svg = charts.lines(
        [charts.ChartLine([(0.0, 0.0), (1.0, 1.0)], "a")], title="t", x_label="x", y_label="y"
    )
    line = next(e for e in ET.fromstring(svg).iter() if e.tag.endswith("polyline"))
    (x0, y0), (x1, y1) = (map(float, p.split(",")) for p in line.get("points").split())
    assert x0 == charts.LEFT
    assert x1 == charts.WIDTH - charts.RIGHT
    assert y0 > y1


@pytest.mark.parametrize(
    "svg",
    [
        charts.interval(0.1, math.inf, 0.2, letter="ε"),
        charts.interval(math.inf, math.inf, 0.2, letter="ε"),
        charts.interval(0.0, 0.0, None, letter="ε"),
        charts.bars(["<a>", "b"], [0.5, 0.5], [0.4, 0.6], marked=[1], title="<t>"),
        charts.lines(
            [charts.ChartLine([(1.0, math.inf), (2.0, 3.0)], "<c>")],
            title="t",
            x_label="",
            y_label="",
        ),
    ],
)
def test_well_formed(svg):
    assert ET.fromstring(svg).tag.endswith("svg")


def test_nothing_to_draw():
    assert charts.lines([], title="t", x_label="", y_label="") == ""
