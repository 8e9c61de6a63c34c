"""Which long tests CI runs: all that are of what privacy rests on, and of the others one slot of seven each day."""

from __future__ import annotations

import zlib

SLOTS = 7
PRIVACY = (
    "tests/laws/",
    "tests/statistical/",
    "tests/unit/audit/",
    "tests/unit/disclosure/",
    "tests/unit/ledger/",
    "tests/unit/mechanisms/",
    "tests/unit/metrics/",
    "tests/unit/noise/",
    "tests/unit/plan_files/test_forged_plans.py",
    "tests/unit/policy/",
    "tests/unit/privacy/",
)
"""Where they are: no slot leaves them out, and they come first."""


def of_privacy(test: str) -> bool:
    return test.startswith(PRIVACY)


def slot_of(test: str) -> int:
    """The same on every machine and every day."""
    return zlib.crc32(test.encode()) % SLOTS
