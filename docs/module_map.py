"""Writes the list of modules in ARCHITECTURE.md: one line each, the first of its docstring.

python docs/module_map.py
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "dpest"
DOCUMENT = ROOT / "ARCHITECTURE.md"
BEGIN = "## Modules\n"
END = "\n## Where we departed"


def first_line(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0]


def module_map() -> str:
    """A heading for each folder, a line for each module."""
    lines = [BEGIN]
    for folder in [PACKAGE, *sorted(p.parent for p in PACKAGE.rglob("*/__init__.py"))]:
        name = folder.relative_to(PACKAGE.parent).as_posix()
        lines.append(f"### `{name}/`\n")
        lines.append(f"{first_line(folder / '__init__.py')}\n")
        files = (f for f in sorted(folder.glob("*.py")) if not f.name.startswith("__"))
        lines += [f"- `{f.name}`: {first_line(f)}" for f in files]
        lines.append("")
    return "\n".join(lines)


def with_map(text: str) -> str:
    before, rest = text.split(BEGIN, 1)
    return before + module_map() + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    DOCUMENT.write_text(with_map(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
