"""The pytest plugin of dpest.

It lies outside the package, so that pytest loads it without importing dpest. It adds `--dpest-seed`
(printed in the header, given to audits through the fixture `dpest_seed`), the marker `dpest_slow`
with `--dpest-slow`, and a summary of all verdicts at the end of the run, also under xdist.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

_KEY = "dpest_verdicts"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dpest", "privacy audits")
    group.addoption(
        "--dpest-seed", type=int, default=0, metavar="N", help="seed of the privacy audits"
    )
    group.addoption("--dpest-slow", action="store_true", help="also run audits marked dpest_slow")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "dpest_slow: a long privacy audit; runs only with --dpest-slow"
    )


def pytest_report_header(config: pytest.Config) -> str:
    return f"dpest: seed {config.getoption('--dpest-seed')} (give it back with --dpest-seed)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--dpest-slow"):
        return
    skip = pytest.mark.skip(reason="a long privacy audit; use --dpest-slow")
    for item in items:
        if item.get_closest_marker("dpest_slow"):
            item.add_marker(skip)


@pytest.fixture
def dpest_seed(request: pytest.FixtureRequest) -> int:
    """The seed that the run's header prints: pass it to audits."""
    return int(request.config.getoption("--dpest-seed"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Collect the verdicts of this test's `assert_private` calls, for the summary."""
    try:
        yield
    finally:
        # Looked up, not imported: a test-suite that never audits must not pay for dpest.
        assertions = sys.modules.get("dpest.assertions")
        if assertions is not None and assertions.recent:
            from dpest.report.text import headline

            lines = [headline(verdict) for verdict in assertions.recent]
            assertions.recent.clear()
            # user_properties travel from xdist's workers to the controller.
            item.user_properties.append((_KEY, lines))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found: list[tuple[str, str]] = []
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for key, lines in getattr(report, "user_properties", []):
                if key == _KEY:
                    found += [(report.nodeid, line) for line in lines]
    if not found:
        return
    terminalreporter.section("privacy audits")
    for nodeid, line in found:
        terminalreporter.write_line(f"{nodeid}: {line}")
