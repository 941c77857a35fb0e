"""Every example gets the verdict that its folder promises."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import dpest

ROOT = Path(__file__).parents[2] / "examples"
FILES = sorted(ROOT.glob("*/*.py"))


def mechanisms_of(path: Path) -> list[dpest.Mechanism]:
    name = f"example_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return [v for v in vars(module).values() if isinstance(v, dpest.Mechanism)]


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_example(path):
    found = mechanisms_of(path)
    assert found, "an example declares at least one mechanism"
    for mechanism in found:
        verdict = dpest.audit(mechanism, seed=1)
        if path.parent.name == "violating":
            assert verdict.status == "violated", str(verdict)
        elif mechanism.black_box:
            assert verdict.status == "unsettled", str(verdict)
        else:
            assert verdict.status in ("exact", "proved"), str(verdict)
