"""Finished work in one SQLite file, so that a run that was killed goes on where it was."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from dpest import __version__
from dpest.errors import StateError

_FORMAT = "1"
_TABLES = """
CREATE TABLE IF NOT EXISTS header (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS work (
    key TEXT NOT NULL, block INTEGER NOT NULL, result BLOB NOT NULL, finished REAL NOT NULL,
    PRIMARY KEY (key, block)
) WITHOUT ROWID;
"""


class State:
    """The finished blocks of the work on one mechanism.

    The file belongs to one mechanism (by the hash of its source) and one version of dpest, and
    refuses others; inside it, blocks are kept by the hash of parameters, inputs and settings.
    A write-ahead log and short transactions make it safe for several processes at a time and
    against being killed. Results are pickles: open only files that you trust.
    """

    def __init__(self, path: str | Path, mechanism: str, name: str = "") -> None:
        self.path = Path(path)
        try:
            self._connection = sqlite3.connect(
                self.path, timeout=60, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._check(mechanism, name)
        except sqlite3.DatabaseError as error:
            self.close()
            raise StateError(
                f"{self.path} can't be used as a state file: {error}. Name another file"
            ) from error
        except StateError:
            self.close()
            raise

    def _check(self, mechanism: str, name: str) -> None:
        expected = {"format": _FORMAT, "version": __version__, "mechanism": mechanism}
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in _TABLES.split(";"):
                self._connection.execute(statement)
            found = dict(self._connection.execute("SELECT name, value FROM header"))
            if not found:
                rows = {**expected, "name": name}
                self._connection.executemany("INSERT INTO header VALUES (?, ?)", rows.items())
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        for key, reason in (
            ("format", "has another format"),
            ("version", "was written by another version of dpest"),
            ("mechanism", "belongs to another mechanism, or its source has changed"),
        ):
            if found and found.get(key) != expected[key]:
                what = f"{found.get('name') or 'unnamed'}, dpest {found.get('version')}"
                raise StateError(
                    f"the state file {self.path} {reason} ({what}). "
                    "Name another file, or delete this one to begin anew"
                )

    def finished(self, key: str) -> dict[int, bytes]:
        """The packed results of the finished blocks of one piece of work."""
        return dict(
            self._connection.execute("SELECT block, result FROM work WHERE key = ?", (key,))
        )

    def keep(self, key: str, results: Iterable[tuple[int, bytes]]) -> None:
        """Keep finished blocks, all or none. A block that is there already stays as it is."""
        now = time.time()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany(
                "INSERT OR IGNORE INTO work VALUES (?, ?, ?, ?)",
                [(key, block, result, now) for block, result in results],
            )
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()

    def __enter__(self) -> State:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
