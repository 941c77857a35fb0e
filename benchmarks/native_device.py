"""All that is claimed of one GPU, in one go: rates, agreement, memory, SIGTERM, the whole table.

Each part runs in processes of its own, so that one that fails costs no other. Rates are measured
with nothing beside them; the table, which keeps the cores busy, runs beside what comes after it.
What a part prints goes to OUT/<part>.txt and, in short, to standard output, with its time. The
packages that dpest needs and the machine lacks may be given as a folder with `packages.tar.xz` (a
site-packages) and `libllvmlite.so.xz` (its library): it is unpacked first.

    python benchmarks/native_device.py OUT [--packages FOLDER] [--workers 14] [PART ...]
"""

from __future__ import annotations

import argparse
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("kernels", "table", "agreement", "memory", "stopping")
LIMIT = {"kernels": 240, "agreement": 60, "memory": 60, "stopping": 90, "table": 420}
# Mechanism, and the seconds after which it is asked to stop.
STOPPED = (("SVT6", 4.0), ("SVT6", 16.0), ("SVT1", 12.0), ("PrefixSum", 8.0))
WANTED = 2.0


class Script:
    """A script of a part that has been started."""

    def __init__(self, part: str, child: subprocess.Popen[bytes]) -> None:
        self.part, self.child, self.began = part, child, time.perf_counter()

    def wait(self) -> int:
        left = LIMIT[self.part] - (time.perf_counter() - self.began)
        try:
            status = self.child.wait(max(left, 1.0))
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = 124
        seconds = time.perf_counter() - self.began
        print(f"== {self.part} ended with {status}, {seconds:.0f} s after it began", flush=True)
        return status


class Machine:
    """Where parts write, and the environment that they run in."""

    def __init__(self, out: Path, packages: Path | None, workers: int) -> None:
        self.out, self.workers = out, workers
        self.scratch = Path(tempfile.mkdtemp(prefix="dpest-device-"))
        paths = [str(ROOT / "src")]
        if packages is not None:
            paths.append(str(unpacked(packages, self.scratch / "packages")))
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.environment = {
            **os.environ,
            **one,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONUNBUFFERED": "1",
        }

    def start(self, part: str, *arguments: str) -> Script:
        """A script, its output in the file of the part."""
        with (self.out / f"{part}.txt").open("a") as file:
            child = subprocess.Popen(
                [sys.executable, *arguments],
                env=self.environment,
                cwd=ROOT,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        return Script(part, child)

    def python(self, part: str, *arguments: str) -> int:
        return self.start(part, *arguments).wait()

    def tail(self, part: str, lines: int) -> None:
        text = (self.out / f"{part}.txt").read_text().splitlines()
        print("\n".join(text[-lines:]), flush=True)


def unpacked(packages: Path, into: Path) -> Path:
    into.mkdir(parents=True)
    with tarfile.open(packages / "packages.tar.xz") as archive:
        archive.extractall(into, filter="data")
    library = into / "llvmlite/binding/libllvmlite.so"
    with lzma.open(packages / "libllvmlite.so.xz") as packed, library.open("wb") as file:
        shutil.copyfileobj(packed, file)
    return into


def kernels(machine: Machine) -> int:
    """Raw rates, counts for the agreement, the final stage, SIGTERM in the middle of launches."""
    script, folder = "benchmarks/native_gpu.py", str(machine.scratch / "kernels")
    status = machine.python("kernels", script, "write", folder)
    status |= machine.python("kernels", script, "run", folder, str(machine.scratch))
    machine.tail("kernels", 1)
    return status


def agreement(machine: Machine) -> int:
    folder, out = str(machine.scratch / "kernels"), str(machine.scratch)
    status = machine.python("agreement", "benchmarks/native_gpu.py", "show", folder, out)
    machine.tail("agreement", 90)
    return status


def memory(machine: Machine) -> int:
    script = "benchmarks/native_memory.py"
    status = machine.python("memory", script, "--device", "cuda", "--runs", "1e11", "SVT1")
    machine.tail("memory", 11)
    return status


def stopping(machine: Machine) -> int:
    """`dpest attack … --device cuda` is sent SIGTERM: seconds until it has ended, and how."""
    fine = True
    with (machine.out / "stopping.txt").open("w") as file:
        for name, after in STOPPED:
            line = [sys.executable, "-m", "dpest", "attack", name, "--method", "sniper",
                    "--device", "cuda", "--budget", "10000000000000runs"]  # fmt: skip
            child = subprocess.Popen(
                line,
                env=machine.environment,
                cwd=machine.scratch,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            time.sleep(after)
            early, start = child.poll(), time.perf_counter()
            child.send_signal(signal.SIGTERM)
            said = child.communicate(timeout=60)[0].strip()
            took = time.perf_counter() - start
            fine &= early is None and took < WANTED and child.returncode == 130
            shown = (
                f"{name:<12} SIGTERM after {after:4.1f} s: ended within {took:.2f} s, "
                f"status {child.returncode}{'' if early is None else ' (had ended before)'}"
            )
            print(shown, flush=True)
            print(shown, said, sep="\n", file=file, flush=True)
    return 0 if fine else 1


def table(machine: Machine) -> Script:
    given = ("--runs", "2e8", "--device", "cuda", "--workers", str(machine.workers))
    return machine.start("table", "benchmarks/native_table.py", *given)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("parts", nargs="*", default=PARTS)
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--workers", type=int, default=14)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    start, failed = time.perf_counter(), []
    machine = Machine(options.out, options.packages, options.workers)
    print(f"ready after {time.perf_counter() - start:.0f} s", flush=True)
    beside: Script | None = None
    runs = {"kernels": kernels, "agreement": agreement, "memory": memory, "stopping": stopping}
    for part in options.parts:
        if part == "table":
            beside = table(machine)
        elif runs[part](machine):
            failed.append(part)
    if beside is not None:
        if beside.wait():
            failed.append("table")
        machine.tail("table", 25)
    shutil.rmtree(machine.scratch)
    judged = "not as claimed: " + ", ".join(failed) if failed else "all as claimed"
    print(f"{time.perf_counter() - start:.0f} s in all; {judged}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
