"""Variants share code by ending in a call: the loops of what is called must stay visible."""

from __future__ import annotations

import pytest

from dpest import zoo
from dpest.reading.loops.pieces import cut


@pytest.mark.parametrize("name", ["SVT1", "SVT6", "AT3", "StatDP_iSVT4", "NumSVT", "SmartSum"])
def test_the_loop_of_the_shared_implementation_is_cut(name):
    assert "loop" in [piece.kind for piece in cut(zoo.get(name).function).pieces]
