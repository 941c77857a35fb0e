"""Which runs of a block are still together, as the batch splits."""

from __future__ import annotations

from typing import Any


class RunRows:
    """The runs that follow one path: a subset of the rows of `parent`.

    Nothing is copied when a batch splits. The positions inside the parent, and inside any older
    ancestor, are worked out when a value that was computed there is needed here.
    """

    __slots__ = ("_arrays", "_index", "_mask", "_outcome", "_to", "count", "parent")

    def __init__(
        self,
        arrays: Any,
        count: int,
        parent: RunRows | None = None,
        mask: Any = None,
        outcome: Any = True,
    ) -> None:
        self._arrays = arrays
        self.count = count
        self.parent = parent
        self._mask = mask
        self._outcome = outcome
        self._index: Any = None
        self._to: dict[RunRows, Any] = {}

    @property
    def index(self) -> Any:
        """Positions of these rows among the rows of the parent, in ascending order."""
        if self._index is None:
            self._index = self._arrays.positions(self._mask, self._outcome, self.count)
            self._mask = None
        return self._index

    def positions_in(self, ancestor: RunRows) -> Any:
        """Positions of these rows among the rows of `ancestor`."""
        known = self._to.get(ancestor)
        if known is not None:
            return known
        parent = self.parent
        if parent is None:
            raise AssertionError("a value comes from an ancestor of the rows that use it")
        index = self.index
        if parent is not ancestor:
            index = self._arrays.take(parent.positions_in(ancestor), index)
        self._to[ancestor] = index
        return index

    def absolute(self) -> Any:
        """Positions in the block; None for the whole block."""
        if self.parent is None:
            return None
        root = self.parent
        while root.parent is not None:
            root = root.parent
        return self.positions_in(root)
