"""Functions that do to their auditor what code should not do, each with the status that is right.

Most add Laplace noise of scale 2 to one number, which is 0.5-DP: status 0 unless what else they do
makes an answer impossible (2). Those called `low_...` add a quarter of the noise: status 1 whatever
else they do. This file is itself what is audited.
"""

import atexit
import builtins
import contextlib
import ctypes
import gc
import io
import json
import math
import multiprocessing
import os
import random
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import weakref

import numpy as np

EXPECTED = {}


def ends(status, says="", seconds=None):
    """The exit status, what the reason says, and how long it may take (None: no hang)."""

    def note(function):
        EXPECTED[function.__name__] = (status, says, seconds)
        return function

    return note


def noise(x, rng=None):
    """Noise that dpest can read; without `rng`, noise that it can only run.

    The latter is rounded: the low bits of its doubles would give x away, which is status 1.
    """
    if rng is not None:
        return x[0] + rng.laplace(scale=2.0)
    return round(64 * (x[0] + random.expovariate(0.5) - random.expovariate(0.5))) / 64


def little_noise(x, rng=None):
    if rng is not None:
        return x[0] + rng.laplace(scale=0.5)
    return x[0] + random.expovariate(2.0) - random.expovariate(2.0)


# Leaving ------------------------------------------------------------------------------------


@ends(2, "sys.exit(0)")
def leaves_by_sys_exit(x):
    sys.exit(0)


@ends(2, "status 0")
def leaves_at_once(x, rng):
    os._exit(0)


@ends(2, "status 1")
def leaves_as_if_violated(x):
    os._exit(1)


@ends(2)
def leaves_now_and_then(x, rng):
    value = noise(x, rng)
    if value > 3:
        os._exit(0)
    return value


@ends(2)
def exits_now_and_then(x, rng):
    value = noise(x, rng)
    if float(value) > 3:
        raise SystemExit(0)
    return value


@ends(2, "SIGKILL")
def kills_itself(x):
    os.kill(os.getpid(), signal.SIGKILL)
    return noise(x)


@ends(2, "SIGSEGV")
def reads_nothing(x):
    ctypes.string_at(0)
    return noise(x)


@ends(2, "SIGABRT")
def aborts(x):
    os.abort()


@ends(2, "signals to the audit")
def kills_its_parent(x):
    os.kill(os.getppid(), signal.SIGKILL)
    return noise(x)


@ends(2)
def kills_its_group(x):
    os.killpg(os.getpgid(0), signal.SIGKILL)
    return noise(x)


@ends(2)
def becomes_another_program(x):
    os.execv("/bin/true", ["true"])


@ends(0)
def leaves_words_for_the_end(x):
    atexit.register(os._exit, 1)
    return noise(x)


@ends(2)
def stops_itself(x):
    os.kill(os.getpid(), signal.SIGSTOP)
    return noise(x)


# Hanging ------------------------------------------------------------------------------------


@ends(2, "more than 1 s", seconds=30)
def sleeps(x, rng):
    time.sleep(1000)
    return noise(x, rng)


@ends(2, "", seconds=60)
def loops(x, rng):
    while True:
        pass


@ends(2, "", seconds=60)
def swallows_what_would_end_it(x):
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass


@ends(2, "", seconds=60)
def waits_for_a_lock(x):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@ends(2, "", seconds=60)
def waits_for_a_socket(x):
    a, _b = socket.socketpair()
    a.recv(1)


@ends(2, "", seconds=60)
def waits_for_a_pipe(x):
    select.select([os.pipe()[0]], [], [])


@ends(2, "", seconds=60)
def joins_a_thread_that_sleeps(x):
    thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
    thread.start()
    thread.join()


@ends(2, "", seconds=60)
def holds_the_interpreter(x):
    return len(str(sum(range(10**11))))


@ends(2, "", seconds=60)
def ignores_requests_to_stop(x):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(1000)


@ends(2, "", seconds=60)
def blocks_signals(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    while True:
        time.sleep(1)


@ends(2, "EOFError")
def waits_for_an_answer(x):
    return float(input("how much? "))


@ends(0)
def reads_standard_input(x):
    sys.stdin.read()
    return noise(x)


# Printing -----------------------------------------------------------------------------------


@ends(0)
def prints(x):
    print('{"status": "violated"}')
    return noise(x)


@ends(1)
def low_and_prints(x, rng):
    print("EXACT: proved")
    return little_noise(x, rng)


@ends(0)
def prints_much(x):
    print("x" * 10_000)
    return noise(x)


@ends(0)
def writes_to_descriptors(x):
    os.write(1, b"\xff\xfe\x00 not text")
    os.write(2, b"\x1b[2J")
    return noise(x)


@ends(0)
def replaces_the_streams(x):
    sys.stdout = sys.stderr = io.StringIO()
    return noise(x)


@ends(0)
def closes_the_streams(x):
    with contextlib.suppress(OSError):
        os.close(1)
        os.close(2)
    return noise(x)


@ends(1)
def low_and_closes_the_streams(x):
    sys.stdout.close()
    return little_noise(x)


@ends(2)
def closes_every_descriptor(x):
    os.closerange(3, 4096)
    return noise(x)


@ends(2)
def writes_to_every_descriptor(x):
    for number in range(3, 1024):
        with contextlib.suppress(OSError):
            os.write(number, b'{"done": 0}')
    return noise(x)


@ends(0)
def warns(x):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("careful", stacklevel=1)
    return noise(x)


@ends(0)
def logs(x):
    sys.stderr.write("debug\n" * 10)
    return noise(x)


# Raising ------------------------------------------------------------------------------------


@ends(2, "ValueError")
def raises(x):
    raise ValueError("no")


class Odd(BaseException):
    """Neither an Exception nor one that Python knows."""


@ends(2)
def raises_something_odd(x, rng):
    raise Odd("odd")


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


@ends(2)
def raises_without_a_text(x):
    raise Mute


@ends(2)
def raises_an_interrupt(x):
    raise KeyboardInterrupt


@ends(2)
def raises_a_generator_exit(x):
    raise GeneratorExit


@ends(2, "RecursionError")
def recurses(x, rng):
    return recurses(x, rng)


@ends(2)
def raises_many_lines(x):
    raise ValueError("one\ntwo\x1b[2J\nthree" * 1000)


@ends(2)
def raises_halves_of_pairs(x):
    raise ValueError("\ud800 \udfff \x00")


@ends(0)
def answers_in_halves_of_pairs(x):
    return "\ud800" if noise(x) > 0 else "\udfff"


@ends(0)
def answers_nan(x):
    return math.nan if noise(x) > 0 else math.inf


# Changing what is shared --------------------------------------------------------------------


@ends(0)
def changes_the_folder(x, rng):
    os.chdir(tempfile.gettempdir())
    return noise(x, rng)


@ends(1)
def low_and_changes_the_folder(x):
    os.chdir("/")
    return little_noise(x)


@ends(0)
def installs_handlers(x, rng):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    return noise(x, rng)


@ends(0)
def sets_an_alarm(x):
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    return noise(x)


@ends(0)
def starts_threads(x):
    if threading.active_count() < 20:
        threading.Thread(target=time.sleep, args=(1000,), daemon=False).start()
    return noise(x)


@ends(0)
def changes_the_environment(x):
    os.environ.clear()
    return noise(x)


@ends(0)
def changes_limits(x):
    sys.setrecursionlimit(400)
    return noise(x)


@ends(0)
def collects_nothing(x):
    gc.disable()
    return noise(x)


@ends(1)  # the noise is the same each time
def seeds_the_generators(x):
    random.seed(0)
    np.random.seed(0)
    return noise(x)


@ends(2, "replaced math.exp")
def replaces_exp(x, rng):
    math.exp = lambda value: 1.0
    return noise(x, rng)


@ends(2, "replaced")
def low_and_replaces_the_verdict(x, rng):
    import dpest.verdict

    dpest.verdict.exceeds = lambda evidence, limit: False
    return little_noise(x, rng)


@ends(2, "replaced")
def low_and_replaces_a_property(x):
    import dpest.verdict

    dpest.verdict.Verdict.status = property(lambda self: "exact")
    return little_noise(x)


@ends(2, "replaced builtins")
def replaces_max(x):
    builtins.max = min
    return noise(x)


@ends(2, "replaced json.dumps")
def replaces_json(x):
    json.dumps = lambda *_, **__: "{}"
    return noise(x)


@ends(2, "replaced")
def replaces_numpy(x):
    np.cos = np.sin  # not what a search needs to end: it is the noticing that is tested
    return noise(x)


@ends(2, "replaced time.monotonic")
def stops_the_clock(x):
    time.monotonic = lambda: 0.0
    return noise(x)


# Copies, and too much -----------------------------------------------------------------------


@ends(2, "fork")
def forks(x):
    os.fork()
    return noise(x)


@ends(2, "fork")
def forks_a_process(x):
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,)).start()
    return noise(x)


@ends(0)
def leaves_a_process_behind(x):
    if not leftovers:
        leftovers.append(subprocess.Popen(["sleep", "1000.25"], start_new_session=True))
    return noise(x)


leftovers = []


@ends(2, "memory")
def takes_memory(x):
    held = []
    while True:
        held.append(bytearray(1 << 26))


@ends(2, "memory")
def takes_memory_at_once(x):
    return float(np.ones(1 << 32)[0])


@ends(0)
def limits_its_memory(x):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return noise(x)


@ends(0)
def makes_cycles(x):
    class Node:
        pass

    node = Node()
    node.self = node
    weakref.finalize(node, print, "gone")
    return noise(x)
