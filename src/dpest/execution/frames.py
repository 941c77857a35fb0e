"""Messages over a pipe: JSON, with a length and a secret word in front of each."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import Any

_LENGTH = 4
_MOST = 1 << 28  # bytes of one message: a report has some hundred thousand


class GarbledError(Exception):
    """Somebody else has written into the pipe."""


class FrameWriter:
    """The end of the pipe that sends. Threads may share it; a process that was forked may not.

    JSON and not pickle: who reads must not run what the audited code wrote.
    """

    def __init__(self, descriptor: int, word: bytes) -> None:
        self._descriptor = descriptor
        self._word = word
        self._owner = os.getpid()
        self._lock = threading.Lock()
        # Bound now, so that code that replaces functions of modules does not replace these.
        self._dumps, self._write, self._pid = json.dumps, os.write, os.getpid

    def send(self, message: Mapping[str, Any]) -> None:
        if self._pid() != self._owner:
            os._exit(0)  # a copy of this process, made by the audited code, has no say
        body = self._dumps(message).encode("ascii")
        data = memoryview(self._word + len(body).to_bytes(_LENGTH, "big") + body)
        with self._lock:
            while data:
                data = data[self._write(self._descriptor, data) :]


class FrameReader:
    """Takes bytes as they come, gives the messages that are complete."""

    def __init__(self, word: bytes) -> None:
        self._word = word
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        self._bytes += data
        head = len(self._word) + _LENGTH
        found = []
        while len(self._bytes) >= head:
            length = int.from_bytes(self._bytes[len(self._word) : head], "big")
            if not self._bytes.startswith(self._word) or length > _MOST:
                raise GarbledError
            if len(self._bytes) < head + length:
                break
            body = bytes(self._bytes[head : head + length])
            del self._bytes[: head + length]
            try:
                message = json.loads(body)
            except ValueError:
                raise GarbledError from None
            if not isinstance(message, dict):
                raise GarbledError
            found.append(message)
        if len(self._bytes) and not self._bytes.startswith(self._word[: len(self._bytes)]):
            raise GarbledError
        return found
