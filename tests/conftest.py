"""What every test may use, and which tests need more than the test environment holds."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings
from reference.project import POLICIES

# Tests never time: a busy machine is no failure. Where changes are judged, examples are the same each time;
# elsewhere every run tries new ones.
settings.register_profile("judge", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("judge" if os.environ.get("CI") else "search")

MUST_RUN = frozenset(filter(None, os.environ.get("DXGEOM_MUST_RUN", "").split(",")))
"""Libraries whose tests may neither be skipped nor be missing."""
_PASSED: set[str] = set()


@pytest.fixture(scope="session")
def policies() -> Path:
    """The folder of example policies and their data."""
    return POLICIES


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test for want of a library, unless it must run."""
    for mark in item.iter_markers("needs"):
        (library,) = mark.args
        item.user_properties.append(("needs", library))
        if library not in MUST_RUN and find_spec(library) is None:
            pytest.skip(f"{library} is not installed; make test-extras runs this")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remembers which libraries' tests have passed, also those that ran in other processes."""
    if report.when == "call" and report.passed:
        _PASSED.update(library for name, library in report.user_properties if name == "needs")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails when no test passed of a library whose tests must run."""
    missing = MUST_RUN - _PASSED
    if missing and not hasattr(session.config, "workerinput"):
        print(f"\nno test passed that needs {', '.join(sorted(missing))}, named in DXGEOM_MUST_RUN")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
