"""What it takes to build a mechanism: in words that do not depend on the machine, and in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges


def timed(build: Callable[[], AdditiveMechanism]) -> tuple[AdditiveMechanism, float]:
    """The mechanism and the seconds that building it took; what several candidates share is paid by the first."""
    started = time.perf_counter()
    built = build()
    return built, time.perf_counter() - started


def build_cost(mechanism: AdditiveMechanism) -> str:
    """The size of what is built, which decides how long that takes."""
    changes = mechanism.sensitivity.changes
    found = "differences in factors"
    if isinstance(changes, ListedChanges | PairedChanges):
        found = f"{changes.count:,} differences"
    return "no noise" if mechanism.law is None else mechanism.law.size_in_words(found)
