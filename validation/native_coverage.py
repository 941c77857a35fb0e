"""Which functions compile to native loops, and whether those agree with the functions themselves.

Every mechanism of the zoo, and every function of a corpus (a folder with `cases.json`, where one is
named), on one input of its domain: compiled, replayed run by run with the kernel's own draws, and
compared in distribution with plain runs. What is not compiled is run by the batch reading or by
plain calls. The exit status is 1 where a zoo mechanism does not compile or any kernel disagrees.

    python validation/native_coverage.py [CORPUS]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shlex
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpest import zoo
from dpest.ask.declaration import as_mechanism, parameters_of
from dpest.ask.domain_text import parse_domain
from dpest.ask.patterns import patterns
from dpest.running.native.compiled import Compiled, program_of
from dpest.running.native.replay import check_distribution, check_runs
from dpest.running.native.signals import NotCompiled


def of_the_zoo() -> Iterator[tuple[str, Any, Any]]:
    for entry in zoo.entries():
        yield entry.name, entry, patterns(entry.adjacency, entry.domain)[0][2]


def of_a_corpus(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    options = argparse.ArgumentParser()
    for name in ("epsilon", "delta", "claim", "adjacency", "domain", "length", "rho"):
        options.add_argument(f"--{name}")
    options.add_argument("--param", "-p", action="append", default=[])
    for name, case in json.loads((folder / "cases.json").read_text()).items():
        given, _ = options.parse_known_args(shlex.split(case["args"]))
        found: Any = _module(folder / case["file"])
        for part in case["function"].split("."):
            found = getattr(found, part)
        params = {k: json.loads(v) for k, v in (p.split("=", 1) for p in given.param)}
        for parameter in parameters_of(found).values():
            if parameter.name in ("eps", "epsilon") and parameter.default is parameter.empty:
                params.setdefault(parameter.name, float(given.epsilon))
        target = as_mechanism(found).with_params(params)
        domain = parse_domain(given.domain) if given.domain else target.domain
        if domain is None:
            domain = parse_domain("reals(any)")
        length = int(given.length) if given.length and given.length.isdigit() else None
        x = domain.random(np.random.default_rng(1), length or domain.default_length())
        yield name, target, domain.as_input(x)


def _module(path: Path) -> Any:
    if path.stem not in sys.modules:
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[path.stem])
    return sys.modules[path.stem]


def look_at(cases: Iterator[tuple[str, Any, Any]]) -> tuple[int, int, int, int]:
    """Functions, compiled and agreeing, of those for any input, and disagreeing ones."""
    total = agreed = shared = wrong = 0
    for name, target, x in cases:
        total += 1
        start = time.perf_counter()
        try:
            program, any_input = program_of(target, x)
            compiled = Compiled(program, any_input, x)
            compiled.samples(1, np.random.SeedSequence(0))
            took = time.perf_counter() - start
            check_runs(compiled, target, x)
            check_distribution(compiled, target, x)
        except NotCompiled as refusal:
            wrong += str(refusal).startswith("replay")
            print(f"{name:<30} {'no':<6} {refusal}", flush=True)
            continue
        agreed += 1
        shared += any_input
        kind = "counts" if compiled.layout.countable else f"{compiled.layout.width} columns"
        data = "data as arguments" if any_input else "data compiled in"
        print(f"{name:<30} {'yes':<6} {took:6.2f} s  {kind}, {data}", flush=True)
    return total, agreed, shared, wrong


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")
    total, agreed, shared, wrong = look_at(of_the_zoo())
    print(f"zoo: {agreed} of {total} compile and agree, {shared} for every input of a shape")
    failed = agreed < total or wrong
    if arguments:
        found = look_at(of_a_corpus(Path(arguments[0])))
        print(
            f"corpus: {found[1]} of {found[0]} compile and agree; {found[3]} were refused by replay"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
