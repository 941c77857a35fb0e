"""`python -m dpest.kernel FILE...`: the statement that each file shows about its model.

Exit status: 0 if all are valid, 1 if one was refused, 2 if one can't be read.
"""

from __future__ import annotations

import sys

from . import judgments
from .checking import check_text
from .fields import loads
from .invalid import Invalid


def verdict(path: str) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        print(f"UNREAD   {path}  {error}")
        return 2
    try:
        print(f"valid    {path}  {_shown(text)}")
    except Invalid as reason:
        print(f"REFUSED  {path}  {reason}")
        return 1
    return 0


def _shown(text: str) -> str:
    found = loads(text)
    is_judgment = isinstance(found, dict) and found.get("method") == "judgment"
    return str(judgments.check_text(text) if is_judgment else check_text(text))


if __name__ == "__main__":
    sys.exit(max(map(verdict, sys.argv[1:]), default=2))
