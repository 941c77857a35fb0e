"""Documents stay true: their code runs, their links lead somewhere, exports are documented."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r'^```(python|sh)(?: title="([^"]+)")?\n(.*?)^```', re.M | re.S)
# What a document tells people to do on a machine of their own.
NOT_HERE = ("make ", "pip install", "formal/")


def blocks(path: Path) -> list[tuple[str, str, str]]:
    """(language, title, text) of each block that can be run, in order."""
    return BLOCK.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_blocks_run_in_order(path, tmp_path, monkeypatch, capsys):
    """The blocks of one document share a folder and a namespace.

    Python runs from a real file (it is traced), which has the block's title if there is one; then
    commands can name it.
    """
    monkeypatch.chdir(tmp_path)
    found = blocks(path)
    if not found:
        pytest.skip("no code")
    namespace: dict[str, object] = {"__name__": "document"}
    for number, (language, title, block) in enumerate(found):
        if language == "sh":
            run_commands(block, without="--coq")
        elif block.lstrip().startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(block, namespace, path.name, None, number)
            example.globs = namespace  # shared with the other blocks, not a copy
            result = doctest.DocTestRunner().run(example, clear_globs=False)
            assert result.failed == 0, capsys.readouterr().out
        else:
            script = tmp_path / (title or f"document_{number}.py")
            script.write_text(block, encoding="utf-8")
            exec(compile(block, str(script), "exec", dont_inherit=True), namespace)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqc") is None, reason="no Coq on this machine")
def test_commands_of_coq(tmp_path, monkeypatch):
    """Compiling a certificate takes a minute and a half."""
    monkeypatch.chdir(tmp_path)
    for language, _, block in blocks(ROOT / "docs" / "formal.md"):
        if language == "sh":
            run_commands(block)


def run_commands(block: str, without: str | None = None) -> None:
    """Each line; a comment that says "exit 1" says how it ends."""
    for line in block.splitlines():
        command, _, comment = line.partition("  #")
        wanted = re.search(r"exit (\d+)", comment)
        for step in command.split(" && "):
            left_out = step.startswith(NOT_HERE) or (without is not None and without in step)
            if step.strip() and not left_out:
                assert run_command(step.strip()) == int(wanted[1] if wanted else 0), step


def run_command(command: str) -> int:
    from dpest.cli import dpest

    words = shlex.split(command)
    if words[0] == "dpest" and not {"|", ">"} & set(words):
        ended = CliRunner().invoke(dpest, words[1:], standalone_mode=False)
        if isinstance(ended.exception, SystemExit):
            return int(ended.exception.code or 0)
        assert ended.exception is None, f"{command}: {ended.exception}"
        return int(ended.return_value or 0)
    # Anything else goes through a shell in which `dpest` and `pytest` are those of this Python.
    own = {"dpest": "-m dpest", "pytest": "-m pytest -p no:cacheprovider"}
    functions = "".join(
        f'{name}() {{ {shlex.quote(sys.executable)} {how} "$@"; }}; ' for name, how in own.items()
    )
    done = subprocess.run(
        ["bash", "-c", functions + command], env={**os.environ}, timeout=300, check=False
    )
    return done.returncode


def test_a_command_that_fails_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="SVT4"):
        run_commands("dpest audit SVT4 --length 2 --quiet")
    run_commands("dpest audit SVT4 --length 2 --quiet   # exit 1")


def commands() -> Iterator[tuple[Path, str]]:
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for language, block in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.M | re.S):
            for line in block.splitlines():
                if re.match(r"(\$ )?dpest \w", line):
                    yield path, language


def test_every_command_is_one_that_is_run():
    assert {(path.name, language) for path, language in commands() if language != "sh"} == set()


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
