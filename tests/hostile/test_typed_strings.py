"""A few thousand of the random strings of validation/typed_strings.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "validation" / "typed_strings.py"


def load() -> Any:
    spec = importlib.util.spec_from_file_location("typed_strings", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_strings_are_read_or_refused():
    wrong, _, read = load().faults(6_000, seed=7)
    assert not wrong, "\n".join(wrong[:10])
    assert all(read.values()), f"some kind is never read: {read}"
