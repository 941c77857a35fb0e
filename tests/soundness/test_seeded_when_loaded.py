"""A generator that the file seeds with a number: the verdict's first line says so."""

from __future__ import annotations

import importlib.util

import pytest

import dpest
from dpest.report.text import headline

HEAD = "import random\nimport numpy as np\n"
FIXED = {
    "generator": ("RNG = np.random.default_rng(42)", "RNG.laplace(scale=1.0)"),
    "legacy": ("RNG = np.random.RandomState(seed=7)", "RNG.laplace(0.0, 1.0)"),
    "bits": ("RNG = np.random.Generator(np.random.PCG64(1))", "RNG.laplace(scale=1.0)"),
    "global": ("np.random.seed(0)", "np.random.laplace(scale=1.0)"),
    "helper": (
        "RNG = np.random.default_rng(3)\ndef noise():\n    return RNG.laplace(scale=1.0)",
        "noise()",
    ),
}
FREE = {
    "fresh": ("RNG = np.random.default_rng()", "RNG.laplace(scale=1.0)"),
    "none": ("RNG = np.random.default_rng(None)", "RNG.laplace(scale=1.0)"),
    "other": (
        "TEST = np.random.default_rng(1)\nRNG = np.random.default_rng()",
        "RNG.laplace(scale=1.0)",
    ),
    "when_run": (
        "RNG = np.random.default_rng()\nif __name__ == '__main__':\n"
        "    RNG = np.random.default_rng(0)",
        "RNG.laplace(scale=1.0)",
    ),
}


def loaded(folder, top, noise):
    path = folder / "seeded_code.py"
    path.write_text(f"{HEAD}{top}\ndef total(x):\n    return sum(x) + {noise}\n")
    spec = importlib.util.spec_from_file_location("seeded_code", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.total


def first_line(function):
    verdict = dpest.audit(
        function, claim=1.0, adjacency="replace_one", domain="reals(2, 0, 1)", engines=("proof",)
    )
    return headline(verdict)


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_seed_is_named_in_the_first_line(name, tmp_path):
    assert "knows the seed" in first_line(loaded(tmp_path, *FIXED[name]))


@pytest.mark.parametrize("name", FREE)
def test_other_generators_are_not(name, tmp_path):
    assert "knows the seed" not in first_line(loaded(tmp_path, *FREE[name]))
