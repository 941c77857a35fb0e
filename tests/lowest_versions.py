"""The lowest versions that pyproject.toml promises, as arguments of pip.

python tests/lowest_versions.py
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

GROUPS = ("test", "ml", "fast")


def lowest() -> list[str]:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for group in GROUPS:
        wanted += project["optional-dependencies"][group]
    found = {}
    for line in wanted:
        name, version = re.match(r"([A-Za-z0-9_-]+)>=([0-9.]+)", line).groups()
        found[name] = f"{name}=={version if '.' in version else version + '.0'}.*"
    return sorted(found.values())


if __name__ == "__main__":
    print(" ".join(lowest()))
