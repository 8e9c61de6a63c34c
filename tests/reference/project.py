"""Where the project's files are, wherever a test stands."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
LONG_TESTS = TESTS / "long_tests.txt"
POLICIES = ROOT / "policies"
GUIDE = ROOT / "docs" / "guide"
PAPERS = ROOT / "papers"
