"""What the theorems of the formalisation assume, asked of Coq.

`python assumptions.py` (after `make theories`) asks for all theorems at once; with `--each` it asks
for each on its own (minutes) and prints a line for it. The exit status is 1 if one of them rests on
anything but the axioms of Coq's real numbers.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
STANDARD = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)


def theorems() -> Iterator[str]:
    """Every theorem, with the module that it is in."""
    for path in sorted([*FOLDER.glob("*.v"), *FOLDER.glob("examples/*.v")]):
        module = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        for name in re.findall(r"^\s*Theorem (\w+)", path.read_text(encoding="utf-8"), re.M):
            yield f"{module}.{name}"


def printed(names: list[str], each: bool) -> list[frozenset[str]]:
    """The axioms that Coq prints for each of them, or for all of them together."""
    modules = sorted({f"DP.{name.rpartition('.')[0]}" for name in names})
    lines = [f"Require {' '.join(modules)}."]
    if each:
        lines += [f"Print Assumptions DP.{name}." for name in names]
    else:
        together = ", ".join(f"@DP.{name}" for name in names)
        lines += [f"Definition together := ({together}).", "Print Assumptions together."]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "Assumptions.v"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = ["coqc", "-q", "-w", "-ambiguous-paths", "-Q", str(FOLDER), "DP", str(path)]
        answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(answer.stderr)
    blocks = re.split(r"^(?=Axioms:|Closed under)", answer.stdout, flags=re.M)[1:]
    axiom = re.compile(r"^(?!Axioms:|Closed)([A-Za-z_][\w.']*)\s*(?::|$)", re.M)
    return [frozenset(axiom.findall(block)) for block in blocks]


def main(each: bool) -> int:
    names = list(theorems())
    found = printed(names, each)
    if not names or len(found) != (len(names) if each else 1):
        raise SystemExit(f"{len(names)} theorems, {len(found)} answers")
    if each:
        for name, axioms in zip(names, found, strict=True):
            more = sorted(axioms - STANDARD)
            print(f"{name}: {', '.join(more) or f'{len(axioms)} of the standard axioms'}")
    beyond = sorted(frozenset().union(*found) - STANDARD)
    print(
        f"{len(names)} theorems; beyond the axioms of the reals: {', '.join(beyond) or 'nothing'}"
    )
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main(each="--each" in sys.argv[1:]))
