"""A call of the API in a process of its own."""

from __future__ import annotations

import base64
import contextlib
import pickle
import sys
from collections.abc import Callable
from typing import Any

from dpest.errors import DpestError, InputError, TargetError, described
from dpest.execution.frames import FrameWriter
from dpest.execution.supervision import WorkLimits, can_isolate, supervise


def in_own_process(work: Callable[[], Any], limits: WorkLimits | None = None) -> Any:
    """What `work` returns or raises, from a copy of this process that can't reach this one.

    The result comes back as a pickle: this guards against code that exits, hangs, prints or takes
    memory, not against code that means harm.
    """
    if not can_isolate():
        raise InputError("this system can't copy a process: leave isolate=True away")
    found: dict[str, Any] = {}

    def do(writer: FrameWriter) -> int:
        try:
            answer = pickle.dumps((True, work()))
        except DpestError as error:
            answer = _packed(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            answer = _packed(TargetError(f"the audited code raised {described(error)}"))
        writer.send({"answer": base64.b64encode(answer).decode("ascii")})
        return 0

    def show(data: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(data.decode("utf-8", "backslashreplace"))

    outcome = supervise(do, limits=limits or WorkLimits(), on_message=found.update, on_print=show)
    if outcome.end == "interrupted":
        raise KeyboardInterrupt
    if outcome.end != "done" or "answer" not in found:
        raise TargetError(outcome.reason or "the audited code left no answer")
    good, value = pickle.loads(base64.b64decode(found["answer"]))
    if not good:
        raise value
    return value


def _packed(error: DpestError) -> bytes:
    try:
        packed = pickle.dumps((False, error))
        pickle.loads(packed)
    except Exception:
        return pickle.dumps((False, DpestError(str(error))))
    return packed
