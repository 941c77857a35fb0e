"""Start-up stays light: no heavy library is imported before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "scipy",
    "numpy",
    "flint",
    "rich",
    "jinja2",
    "z3",
    "sklearn",
    "torch",
    "dask",
    "matplotlib",
)


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import dpest", set()),
        ("import dpest.cli", set()),
        ("import dpest; dpest.PureDP(1); dpest.linf(1); dpest.reals(3)", {"numpy"}),
        ("import dpest; dpest.zoo.get('SVT1')", {"numpy"}),
    ],
)
def test_imports(code, allowed):
    show = "import sys; print(' '.join(m for m in sys.modules if '.' not in m))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {show}"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert loaded & set(HEAVY) <= allowed
