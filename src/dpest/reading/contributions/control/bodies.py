"""Which instructions are the body of a loop."""

from __future__ import annotations

import functools

from dpest.reading.code.instructions import Code, successors


@functools.lru_cache(maxsize=1024)
def body_of(code: Code, head: int) -> frozenset[int]:
    """The instructions of a loop: from behind its head back to it."""
    forward = {head + 1}
    pending = [head + 1]
    while pending:
        for after in successors(code, pending.pop()):
            if after != head and after not in forward:
                forward.add(after)
                pending.append(after)
    found: set[int] = set()
    grown = True
    while grown:
        grown = False
        for pc in forward - found:
            if any(after == head or after in found for after in successors(code, pc)):
                found.add(pc)
                grown = True
    return frozenset(found)
