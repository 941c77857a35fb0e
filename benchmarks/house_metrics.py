"""Figures of the house: files and lines by folder, `Any`, type-ignores, long functions, duplicates.

python benchmarks/house_metrics.py [ROOT]        # ROOT: another checkout, to compare with
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

LONG, MANY, WINDOW = 60, 10, 8


def modules(root: Path) -> list[Path]:
    return sorted((root / "src" / "dpest").rglob("*.py"))


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    a = node.args
    return len(a.posonlyargs) + len(a.args) + len(a.kwonlyargs)


def duplicate_pairs(texts: dict[Path, str]) -> int:
    """Pairs of places with the same eight lines of code (blank lines and comments left out)."""
    seen: dict[str, int] = Counter()
    for text in texts.values():
        lines = [line.strip() for line in text.splitlines()]
        code = [x for x in lines if x and not x.startswith(("#", "from ", "import "))]
        for i in range(0, len(code) - WINDOW):
            window = "\n".join(code[i : i + WINDOW])
            if len(window) > 160:
                seen[hashlib.sha256(window.encode()).hexdigest()] += 1
    return sum(n * (n - 1) // 2 for n in seen.values())


def main(root: Path) -> int:
    texts = {path: path.read_text() for path in modules(root)}
    folders: dict[str, list[int]] = defaultdict(list)
    classes: Counter[str] = Counter()
    long = many = 0
    for path, text in texts.items():
        folders[str(path.parent.relative_to(root / "src"))].append(len(text.splitlines()))
        tree = ast.parse(text)
        classes.update(n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef))
        for node in functions(tree):
            long += (node.end_lineno or 0) - node.lineno + 1 > LONG
            many += parameters(node) >= MANY
    for folder, lines in sorted(folders.items()):
        print(f"{folder:36} {len(lines):4} files {sum(lines):7} lines")
    print(f"{'all':36} {len(texts):4} files {sum(map(sum, folders.values())):7} lines")
    everything = "\n".join(texts.values())
    print(f"Any: {len(re.findall(r'[^A-Za-z]Any[^A-Za-z]', everything))}")
    print(f"type-ignores: {everything.count('type: ignore')}")
    print(f"functions over {LONG} lines: {long}")
    print(f"functions with {MANY} or more parameters: {many}")
    repeated = {name: n for name, n in classes.items() if n > 1}
    print(f"duplicate class names: {len(repeated)} ({', '.join(sorted(repeated)[:12])} …)")
    print(f"duplicate pairs of {WINDOW} lines: {duplicate_pairs(texts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]))
