"""The rows of one library in a process of its own, perhaps with another interpreter.

Reads a JSON object from standard input, writes one line per row to standard output, marked, since
libraries print.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import warnings
from typing import Any

from dpest.libraries.cell import RowBudget, audit_row
from dpest.libraries.rows import LIBRARIES, all_rows

MARK = "\x1edpest "


def main() -> None:
    order = json.loads(sys.stdin.read())
    library = next(one for one in LIBRARIES if one.package == order["library"])
    try:
        version = importlib.metadata.version(library.package)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(library.imports, {})  # the text of this package's own rows
    except Exception as missing:  # not there, or not able to load: the table says which
        _write({"missing": f"{type(missing).__name__}: {missing}"})
        return
    settings = RowBudget(**order["settings"])
    for row in all_rows():
        if row.library == library.package and row.name in order["rows"]:
            _write({"version": version, **audit_row(row, library, settings)})


def _write(line: dict[str, Any]) -> None:
    sys.stdout.write(MARK + json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
