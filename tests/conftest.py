"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from reference.project import POLICIES

# Tests never time: a busy machine is no failure. Where changes are judged, examples are the same each time;
# elsewhere every run tries new ones.
settings.register_profile("judge", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("judge" if os.environ.get("CI") else "search")


@pytest.fixture(scope="session")
def policies() -> Path:
    """The folder of example policies and their data."""
    return POLICIES
