"""Random programs in the machine, and their traces, against plain runs: no mismatch."""

from __future__ import annotations

import pytest

from ..reading.conformance import check_conformance
from .comparing import conforms, mismatch

PLAIN, NOISY = 300, 80


@pytest.mark.parametrize("part", range(4))
def test_programs_on_numbers(part: int) -> None:
    found = [mismatch(i) for i in range(part, PLAIN, 4)]
    assert not [text for text in found if text], next(text for text in found if text)
    refused = sum(text is None for text in found)
    assert refused <= 0.2 * len(found), f"{refused} of {len(found)} are refused"


@pytest.mark.parametrize("part", range(4))
def test_programs_with_noise(part: int) -> None:
    found = [conforms(i, check_conformance) for i in range(part, NOISY, 4)]
    read = sum(answer is True for answer in found)
    assert read >= 0.4 * len(found), f"{read} of {len(found)} are read"
