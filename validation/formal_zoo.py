"""Every certificate of the zoo as a theorem of Coq: how many, at what cost, and on what they rest.

All certificates (every length, and the usual length) are exported and compiled in two batches, one
for each core; each batch ends with `Print Assumptions` of all its theorems. What the formalisation
has no theorem for is named with the reason. The exit status is 1 if Coq refuses anything, or if a
theorem rests on more than the axioms of the reals.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dpest
from dpest import zoo
from dpest.auditing import prove
from dpest.errors import RefusedError
from dpest.proofs import coqc
from dpest.proofs.coq import exporting as coq


def certificates() -> dict[str, Any]:
    found = {}
    for entry in zoo.entries():
        for length in (dpest.ANY, entry.about.get("length")):
            certificate = prove(entry, length=length).certificate
            if certificate is not None:
                where = "any" if length is dpest.ANY else length
                found[f"{entry.name} ({where})"] = certificate
    return found


def compile_batch(texts: list[str], folder: Path) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "Batch.v"
        path.write_text(coqc.batch_text(texts), encoding="utf-8")
        answer = coqc.compile_file(path, folder)
    return answer.returncode, answer.stdout + answer.stderr


def main() -> int:
    folder = coqc.formal_folder()
    coqc.build(folder)
    texts: list[str] = []
    refused: list[str] = []
    for name, certificate in certificates().items():
        try:
            texts.append(coq.export(certificate))
        except RefusedError as reason:
            refused.append(f"{name}: {reason}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # by making the theories, and by proofs
    before, started = used.ru_utime + used.ru_stime, time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda b: compile_batch(b, folder), (texts[::2], texts[1::2])))
    seconds = time.monotonic() - started
    status = 0
    for code, said in answers:
        axioms = set(coqc.assumptions(said))
        if code or not axioms or not axioms <= coqc.STANDARD_AXIOMS:
            print(f"FAILED: {said[-800:]}")
            status = 1
        else:
            print(f"assumed by all theorems of a batch: {', '.join(sorted(axioms))}")
    print(f"{len(texts)} certificates are theorems; {len(refused)} have none yet:")
    print("\n".join(f"  {line}" for line in refused))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    computing = spent.ru_utime + spent.ru_stime - before
    print(
        f"seconds on two cores: {seconds:.0f}; of computing, both together: {computing:.0f}",
        file=sys.stderr,
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
