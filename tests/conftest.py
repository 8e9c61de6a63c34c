"""What every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def policies() -> Path:
    """The folder of example policies and their data."""
    return Path(__file__).parent.parent / "policies"
