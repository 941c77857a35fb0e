"""The rules, one file each, with the lemma that it rests on in words on top.

A rule is a function from the header and the rest of a certificate to what they show. To add one,
write its file and its row here (and its lemma, and its proof).
"""

from __future__ import annotations

from collections.abc import Callable

from ..fields import Fields
from ..header import Header
from ..statement import Finding
from . import cells, composition, contributions, finite, loop, selection, square

Rule = Callable[[Header, Fields], Finding]

RULES: dict[str, Rule] = {
    "cells": cells.check,
    "square": square.check,
    "selection": selection.check,
    "loop": loop.check,
    "finite": finite.check,
    "composition": composition.check,
    "contributions": contributions.check,
}
