"""Finished cells, kept on disk: an interrupted benchmark goes on where it stopped.

A key holds everything a cell depends on: the row, the engine, the settings, and a digest of
dpest's own source. Nothing of other settings or versions is ever returned.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from dpest import __version__
from literature_benchmark.cells import Cell, Settings


def source_digest() -> str:
    """One digest of all of dpest's source files."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class CellCache:
    """An append-only file of JSON lines; a line cut off by a crash is ignored."""

    def __init__(self, path: Path | None, settings: Settings) -> None:
        self.path = path
        self._state = {
            "version": __version__,
            "source": source_digest(),
            "settings": asdict(settings),
        }
        self._known: dict[str, Cell] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    found = json.loads(line)
                    self._known[found["key"]] = Cell.from_json(found["cell"])
                except (ValueError, KeyError, TypeError):
                    continue

    def key(self, row: str, engine: str) -> str:
        words = json.dumps([row, engine, self._state], sort_keys=True)
        return hashlib.sha256(words.encode()).hexdigest()

    def get(self, row: str, engine: str) -> Cell | None:
        return self._known.get(self.key(row, engine))

    def put(self, cell: Cell) -> None:
        key = self.key(cell.row, cell.engine)
        self._known[key] = cell
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            line = json.dumps({"key": key, "cell": cell.to_json()}, default=str)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
