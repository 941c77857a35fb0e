"""Documents stay true: their code runs, their links lead somewhere, exports are documented."""

from __future__ import annotations

import doctest
import re
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
    script = tmp_path / "document.py"
    plain = [block for block in blocks if not block.lstrip().startswith(">>>")]
    script.write_text("\n".join(plain), encoding="utf-8")
    namespace = {"__name__": "document", "__file__": str(script)}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), namespace)
    if len(plain) < len(blocks):
        failed, ran = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
        assert ran > 0
        assert failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} points at {target}"


def test_architecture_names_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = []
    for module in sorted((ROOT / "src" / "dpest").rglob("*.py")):
        name = module.relative_to(ROOT / "src" / "dpest")
        if name.name in ("__init__.py", "__main__.py"):
            continue
        if f"`{name.name}`" not in text and f"`{name}`" not in text:
            missing.append(str(name))
    assert missing == []


def test_every_public_name_exists_and_is_documented():
    import dpest

    shown = "\n".join(p.read_text(encoding="utf-8") for p in DOCUMENTS)
    for name in dpest.__all__:
        assert getattr(dpest, name) is not None
        assert name in shown, f"dpest.{name} is in no document"
