"""Random programs that select by chance, right and wrong, against the exact engine.

The grammar, and a longer run, are in validation/selection_fuzz.py.
"""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest

from dpest.proofs import prove

_PATH = Path(__file__).parents[2] / "validation" / "selection_fuzz.py"
_SPEC = importlib.util.spec_from_file_location("selection_fuzz", _PATH)
fuzz = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(fuzz)


@pytest.mark.parametrize("seed", range(40))
def test_no_proof_is_below_the_truth(seed, tmp_path):
    source = random.Random(seed)
    mechanism = fuzz.written(fuzz.program(source), tmp_path, f"selection_{seed}")
    adjacency = source.choice(("linf", "monotone"))
    proof = prove(mechanism, adjacency=adjacency)
    if proof.certificate is not None:
        assert fuzz.exceeded(mechanism, proof, adjacency, source) is None


@pytest.mark.parametrize("seed", range(12))
def test_without_mistakes_all_are_proved(seed, tmp_path):
    text = fuzz.program(random.Random(seed), mistakes=0)
    mechanism = fuzz.written(text, tmp_path, f"right_{seed}")
    assert prove(mechanism, adjacency="linf").status == "exact", text
