"""Finished work in one file, so that a run that was killed goes on where it was.

The file is a row of records that only grows:

    mark (8 bytes) | length of the body (4) | BLAKE2b of the body (16) | body

The body of the first record is a JSON header (format, version of dpest, the mechanism's hash and
name). Those of the others are the key of the work (32 bytes), the number of the block (8) and the
encoded result. A format of our own and no pickle: nothing in it can be executed. No database: a
damaged record is found by its checksum and left out without those around it, and a record that was
being written when the machine stopped is simply not there.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from dpest import __version__
from dpest.errors import StateError

try:
    import fcntl
except ImportError:  # Windows: one process at a time
    fcntl = None  # type: ignore[assignment]

_FORMAT = "2"
_MARK = b"\x00dpest\xf5\n"
_DIGEST = 16
_HEAD = len(_MARK) + 4 + _DIGEST
_KEY = 32
_LARGEST = 1 << 30


class FinishedBlocks:
    """The finished blocks of the work on one mechanism.

    The file belongs to one mechanism (by the hash of its source) and one version of dpest, and
    refuses others; inside it, blocks are kept by the hash of parameters, inputs and settings. A
    lock makes it safe for several processes at a time. Damage is refused; with `repair` the records
    that are damaged are dropped, and their blocks are run again.
    """

    def __init__(
        self, path: str | Path, mechanism: str, name: str = "", *, repair: bool = False
    ) -> None:
        self.path = Path(path)
        self._blocks: dict[bytes, dict[int, bytes]] = {}
        self._end = 0  # what lies before was read
        self._file = -1
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | _CLOEXEC, 0o666)
            self._open({"mechanism": mechanism, "name": name}, repair)
        except OSError as error:
            self.close()
            raise StateError(f"can't use the state file {self.path}: {_reason(error)}") from None
        except StateError:
            self.close()
            raise

    def _open(self, asked: dict[str, str], repair: bool) -> None:
        with self._locked():
            data = self._read_from(0)
            if data and not data.startswith(_MARK):
                raise StateError(
                    f"{self.path} can't be used as a state file: it is something else. "
                    "Name another file"
                )
            if repair and data:
                data = self._repaired(data)
            expected = {"format": _FORMAT, "version": __version__, **asked}
            if not data:
                self._append([_record(json.dumps(expected).encode("ascii"))])
                return
            self._take(data)
        self._check(expected)

    def _check(self, expected: dict[str, str]) -> None:
        for key, reason in (
            ("format", "has another format"),
            ("version", "was written by another version of dpest"),
            ("mechanism", "belongs to another mechanism, or its source has changed"),
        ):
            if self._header.get(key) != expected[key]:
                found = self._header
                what = f"{found.get('name') or 'unnamed'}, dpest {found.get('version')}"
                raise StateError(
                    f"the state file {self.path} {reason} ({what}). "
                    "Name another file, or delete this one to begin anew"
                )

    _header: dict[str, Any]

    def _take(self, data: bytes) -> None:
        """Read records on from where the last reading ended. The last one may be incomplete."""
        at = 0
        while at < len(data):
            body, after = _next(data, at)
            if body is None:
                if after is None:
                    break  # it was being written when its process was ended
                raise self._damaged(self._end + at)
            if self._end + at == 0:
                self._header = _header(body)
            elif len(body) > _KEY + 8:
                key, block = body[:_KEY], int.from_bytes(body[_KEY : _KEY + 8], "big")
                self._blocks.setdefault(key, {}).setdefault(block, body[_KEY + 8 :])
            assert after is not None
            at = after
        self._end += at

    def _damaged(self, at: int) -> StateError:
        return StateError(
            f"the state file {self.path} is damaged at byte {at:,}: --state-repair drops the "
            "damaged blocks, which are then run again"
        )

    def _repaired(self, data: bytes) -> bytes:
        """The records that are whole, written in place of the file's content."""
        whole, at = [], 0
        while at < len(data):
            body, after = _next(data, at)
            if body is not None:
                whole.append(_record(body))
            if after is None or body is None:
                found = data.find(_MARK, at + 1)
                if found < 0:
                    break
                at = found
            else:
                at = after
        if not whole or not data.startswith(whole[0]):
            raise StateError(
                f"the header of the state file {self.path} is damaged, so that nobody knows what "
                "it belongs to: delete it to begin anew"
            )
        text = b"".join(whole)
        os.ftruncate(self._file, 0)
        self._write(text, 0)
        return text

    def finished(self, key: str) -> dict[int, bytes]:
        """The encoded results of the finished blocks of one piece of work."""
        with self._locked():
            self._take(self._read_from(self._end))
        return dict(self._blocks.get(bytes.fromhex(key), {}))

    def keep(self, key: str, results: Iterable[tuple[int, bytes]]) -> None:
        """Keep finished blocks, all or none. A block that is there already stays as it is."""
        raw = bytes.fromhex(key)
        with self._locked():
            self._take(self._read_from(self._end))
            known = self._blocks.get(raw, {})
            self._append(
                [
                    _record(raw + block.to_bytes(8, "big") + result)
                    for block, result in results
                    if block not in known
                ]
            )

    def _append(self, records: list[bytes]) -> None:
        """After the last whole record; a file that can't grow stays as it was."""
        text = b"".join(records)
        try:
            os.ftruncate(self._file, self._end)
            self._write(text, self._end)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise StateError(f"can't write the state file {self.path}: {_reason(error)}") from None
        except BaseException:
            os.ftruncate(self._file, self._end)  # interrupted in the middle of it
            raise
        self._take(text)

    def _write(self, text: bytes, at: int) -> None:
        rest = memoryview(text)
        while rest:
            written = os.pwrite(self._file, rest, at)
            rest, at = rest[written:], at + written

    def _read_from(self, at: int) -> bytes:
        size = os.fstat(self._file).st_size
        if size < at:
            raise StateError(f"the state file {self.path} was cut off by another program")
        parts = []
        while at < size:
            part = os.pread(self._file, size - at, at)
            if not part:
                break
            parts.append(part)
            at += len(part)
        return b"".join(parts)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> FinishedBlocks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def check_path(path: str | Path) -> None:
    """Refuse, before any work, what can't be a state file."""
    place = Path(path)
    try:
        if place.exists() and not place.is_file():
            reason = "it is no plain file"
        elif place.exists():
            with place.open("r+b") as file:
                start = file.read(len(_MARK))
            reason = "it is something else" if start and not _MARK.startswith(start) else ""
        else:
            writable = place.parent.is_dir() and os.access(place.parent, os.W_OK)
            reason = "" if writable else f"{place.parent} is no folder that can be written to"
    except (OSError, ValueError) as error:
        reason = str(error)
    if reason:
        raise StateError(f"{path} can't be used as a state file: {reason}. Name another file")


_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def _record(body: bytes) -> bytes:
    digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
    return _MARK + len(body).to_bytes(4, "big") + digest + body


def _next(data: bytes, at: int) -> tuple[bytes | None, int | None]:
    """The body of the record there and where the next begins.

    No body: it is damaged. No next either: the data end before it does, and nothing follows.
    """
    head = data[at : at + _HEAD]
    start = at + _HEAD
    length = int.from_bytes(head[len(_MARK) : len(_MARK) + 4], "big")
    if not head.startswith(_MARK[: len(head)]) or (len(head) == _HEAD and length > _LARGEST):
        return None, at
    if len(head) < _HEAD or start + length > len(data):
        # Incomplete at the end of the file; with other records behind it, its length is wrong.
        return None, None if data.find(_MARK, at + 1) < 0 else at
    body = data[start : start + length]
    digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
    return (body if digest == head[len(_MARK) + 4 :] else None), start + length


def _header(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; what was finished before is kept"
    return error.strerror or str(error)
