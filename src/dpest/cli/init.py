"""dpest init: a declaration, a test and a CI step for the mechanisms of a project."""

from __future__ import annotations

import ast
from pathlib import Path

import click

from dpest.cli.output import echo, write
from dpest.errors import InputError

_SKIPPED = {".git", ".venv", "venv", "build", "dist", "node_modules", "tests", "docs"}
_DRAWS = {
    "laplace", "normal", "standard_normal", "gumbel", "exponential", "geometric", "gauss",
    "normalvariate", "expovariate", "random", "uniform", "binomial", "standard_exponential",
    "logistic", "standard_cauchy", "standard_t", "triangular",
}  # fmt: skip
_EPSILONS = ("eps", "epsilon")
TEST = "tests/test_privacy.py"
WORKFLOW = ".github/workflows/privacy.yml"


@click.command()
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False))
@click.option("--force", is_flag=True, help="Write over files that are there already.")
def init(folder: str, force: bool) -> int:
    """Write a privacy test and a CI step for the functions of FOLDER that draw noise.

    Nothing is asked, and no function is changed: the claims that the test states are guesses to
    be corrected.

    \b
    Example:
      dpest init
    """
    root = Path(folder)
    found = mechanisms(root)
    if not found:
        raise InputError(
            f"no function under {folder} takes data and draws noise: write one as "
            "f(data, rng, *, eps=1.0) and run dpest init again"
        )
    for name, text in ((TEST, privacy_test(found)), (WORKFLOW, workflow())):
        path = root / name
        if path.exists() and not force:
            echo(f"kept     {path} (--force writes it anew)")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write(str(path), text)
        echo(f"written  {path}")
    for place, function, _ in found:
        echo(f"found    {place}:{function}")
    echo("Correct the claims and adjacencies in the test, then run pytest.")
    return 0


def mechanisms(root: Path) -> list[tuple[str, str, float]]:
    """(file, function, claimed ε) of the functions at top level that draw from a generator.

    Read from the syntax trees: nothing is imported or run.
    """
    found = []
    for path in sorted(root.rglob("*.py")):
        if _SKIPPED & set(path.relative_to(root).parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError, OSError):
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and _draws(node) and node.args.args:
                place = path.relative_to(root).as_posix()
                found.append((place, node.name, _epsilon(node)))
    return found


def _draws(node: ast.FunctionDef) -> bool:
    names = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
    return "rng" in names and any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _DRAWS
        for call in ast.walk(node)
    )


def _epsilon(node: ast.FunctionDef) -> float:
    """The default of a parameter eps or epsilon, else 1."""
    plain = node.args.args[len(node.args.args) - len(node.args.defaults) :]
    pairs = [
        *zip(plain, node.args.defaults, strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    for parameter, default in pairs:
        value = default.value if isinstance(default, ast.Constant) else None
        if parameter.arg in _EPSILONS and isinstance(value, (int, float)):
            return float(value)
    return 1.0


def privacy_test(found: list[tuple[str, str, float]]) -> str:
    lines = [
        '"""Privacy as a test: each claim below is a guess. Correct it, and who is a neighbour."""',
        "",
        "import runpy",
        "from pathlib import Path",
        "",
        "import dpest",
        "import pytest",
        "",
        "ROOT = Path(__file__).resolve().parents[1]",
        "CLAIMS = [",
        "    # file, function, epsilon, adjacency",
        *(f'    ("{place}", "{name}", {eps!r}, "replace_one"),' for place, name, eps in found),
        "]",
        "",
        "",
        '@pytest.mark.parametrize(("file", "name", "epsilon", "adjacency"), CLAIMS)',
        "def test_privacy(file, name, epsilon, adjacency):",
        "    function = runpy.run_path(str(ROOT / file))[name]",
        "    dpest.assert_private(function, epsilon=epsilon, adjacency=adjacency)",
        "",
    ]
    return "\n".join(lines)


def workflow() -> str:
    return """name: privacy
on: [push, pull_request]
jobs:
  audit:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install dpest-audit pytest
      - run: pytest tests/test_privacy.py
"""
