"""Documents stay true: their code runs, their links lead somewhere, exports are documented."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run_in_order(path, tmp_path, monkeypatch, capsys):
    """The blocks of one document share a namespace, and run from a real file (they are traced)."""
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    if not blocks:
        pytest.skip("no code")
    namespace: dict[str, object] = {"__name__": "document"}
    for number, block in enumerate(blocks):
        if block.lstrip().startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(block, namespace, path.name, None, number)
            example.globs = namespace  # shared with the other blocks, not a copy
            result = doctest.DocTestRunner().run(example, clear_globs=False)
            assert result.failed == 0, capsys.readouterr().out
        else:
            script = tmp_path / f"document_{number}.py"
            script.write_text(block, encoding="utf-8")
            exec(compile(block, str(script), "exec"), namespace)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} points at {target}"


def test_architecture_names_every_module():
    """Made by docs/module_map.py; run it after adding or moving a module."""
    map_of = runpy.run_path(str(ROOT / "docs" / "module_map.py"))
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert map_of["with_map"](text) == text


def test_every_public_name_exists_and_is_documented():
    import dpest

    shown = "\n".join(p.read_text(encoding="utf-8") for p in DOCUMENTS)
    for name in dpest.__all__:
        assert getattr(dpest, name) is not None
        assert name in shown, f"dpest.{name} is in no document"
