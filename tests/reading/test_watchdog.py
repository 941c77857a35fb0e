"""Deadlines: seconds of computing, stretched by patience, never the length of a sleep alone."""

from __future__ import annotations

import contextlib
import signal
import threading
import time

import pytest

from dpest.running import watchdog
from dpest.running.watchdog import BUSY, Deadline, TimeUp, patient, watched


def endless():
    while True:
        pass


def test_code_that_does_not_end_is_ended():
    with pytest.raises(TimeUp), watched(Deadline(0.05)):
        endless()


def test_the_outer_deadline_counts_inside_a_longer_one():
    with pytest.raises(TimeUp), watched(Deadline(0.05)), watched(Deadline(1000.0)):
        endless()


def test_an_inner_deadline_leaves_the_outer_one_standing():
    with watched(Deadline(1000.0)):
        with pytest.raises(TimeUp), watched(Deadline(0.05)):
            endless()
        assert sum(range(100)) == 4950


def test_patience_multiplies_and_ends():
    with patient(4.0):
        assert Deadline(2.0).seconds == 8.0
        with patient(0.5):
            assert Deadline(2.0).seconds == 4.0
    assert Deadline(2.0).seconds == 2.0


def test_patience_is_the_threads_own():
    seen = []
    with patient(4.0):
        thread = threading.Thread(target=lambda: seen.append(Deadline(1.0).seconds))
        thread.start()
        thread.join()
    assert seen == [1.0]


def test_waiting_costs_less_than_computing(monkeypatch):
    """By a clock of our own: the thread computes half of the time."""
    clock = {"wall": 0.0}
    monkeypatch.setattr(time, "monotonic", lambda: clock["wall"])
    monkeypatch.setattr(Deadline, "_used", lambda self: clock["wall"] / 2)
    deadline = Deadline(1.0)
    clock["wall"] = 1.5
    assert not deadline.passed()
    clock["wall"] = 2.0
    assert deadline.passed()
    monkeypatch.setattr(Deadline, "_used", lambda self: 0.0)
    clock["wall"] = 2.0
    idle = Deadline(1.0)
    clock["wall"] = 2.0 + 0.99 * BUSY
    assert not idle.passed()
    clock["wall"] = 2.0 + BUSY
    assert idle.passed()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pytest's own hook
def test_a_time_up_inside_of_a_destructor_is_not_reported(capsys):
    class Slow:
        def __del__(self):
            end = time.monotonic() + 0.4
            while time.monotonic() < end:
                pass

    def endless():
        thing = Slow()
        del thing  # the first TimeUp comes in here, where Python can't raise it
        while True:
            pass

    with pytest.raises(TimeUp), watched(Deadline(0.1)):
        endless()
    assert "TimeUp" not in capsys.readouterr().err


def test_work_that_takes_long_to_leave_is_left_alone():
    """A second TimeUp on the way out would come where the limit is taken off."""

    class Slow:
        def __del__(self):
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                pass

    def endless():
        held = Slow()
        while held:
            pass

    with pytest.raises(TimeUp), watched(Deadline(0.1)):
        endless()
    assert threading.get_ident() not in watchdog._dog.limits
    end = time.monotonic() + 1.5
    while time.monotonic() < end:  # nothing arrives later
        pass


def test_what_was_sent_for_an_inner_limit_does_not_reach_the_outer_one():
    for turn in range(12):
        with watched(Deadline(60)):
            with contextlib.suppress(TimeUp), watched(Deadline(0.02)):
                end = time.monotonic() + 0.045 + 0.002 * turn
                while time.monotonic() < end:
                    pass
            end = time.monotonic() + 0.12
            while time.monotonic() < end:
                pass


def test_an_import_from_inside_of_a_library_is_not_disturbed(monkeypatch):
    """Libraries import in the middle of their C++, where an exception ends the process."""
    inside = []

    def stand_in(name):
        try:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                pass
        except TimeUp:
            inside.append(name)
            raise
        return time

    monkeypatch.setattr(watchdog, "_importers", set())
    watchdog.imports(stand_in)

    def imports_and_goes_on():
        stand_in("time")
        endless()

    with pytest.raises(TimeUp), watched(Deadline(0.1)):
        imports_and_goes_on()
    assert inside == []


def test_a_call_that_sleeps_is_interrupted():
    began = time.monotonic()
    with pytest.raises(TimeUp), watched(Deadline(0.1)):
        time.sleep(20)
    assert time.monotonic() - began < 10


def test_a_signal_that_belongs_to_the_program_is_left_to_it():
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        with pytest.raises(TimeUp), watched(Deadline(0.05)):
            endless()
    finally:
        own = signal.signal(signal.SIGALRM, before)
    assert own is not before


def test_the_signal_is_given_back():
    with watched(Deadline(10.0)):
        assert signal.getsignal(signal.SIGALRM) is watchdog._alarm
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_a_blocked_signal_does_not_save_the_code(monkeypatch):
    monkeypatch.setattr(watchdog, "DEAF", 0.2)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        with pytest.raises(TimeUp), watched(Deadline(0.05)):
            endless()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
