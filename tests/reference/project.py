"""Where the project's files are, wherever a test stands."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
POLICIES = ROOT / "policies"
GUIDE = ROOT / "docs" / "guide"
PAPERS = ROOT / "papers"
