"""Where a verdict comes from: what a reader needs to make it again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dpest import __version__

if TYPE_CHECKING:
    from dpest.verdict import Verdict

_LIBRARIES = ("numpy", "scipy", "python-flint")


@dataclass(frozen=True)
class Provenance:
    """Who asked, with which command; what isn't known is empty."""

    command: str = ""
    author: str = ""

    def rows(self, verdict: Verdict) -> list[tuple[str, str]]:
        """Titled lines: author, date, code, command, seed, versions."""
        import platform

        code: dict[str, Any] = verdict.details.get("code", {})
        rows = [
            ("Author", self.author),
            ("Date", moment().strftime("%Y-%m-%d %H:%M UTC")),
            ("Code", code.get("place", "")),
            ("Digest of the code", code.get("digest", "")),
            ("Command", self.command),
            ("Seed", str(verdict.seed)),
            ("Chance of error", f"at most {verdict.alpha:g}, shared by everything that was tried"),
            ("Time", f"{verdict.seconds:.2f} s"),
            ("Versions", versions()),
            ("Machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        ]
        return [(name, words) for name, words in rows if words]


def moment() -> datetime:
    """Now, or the time that reproducible builds agree on."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)


def versions() -> str:
    import platform
    from importlib import metadata

    found = [f"dpest {__version__}", f"Python {platform.python_version()}"]
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
