"""Seconds of a slow core: what a process took of any processor, over what a loop takes there."""

from __future__ import annotations

import os
import time

LONG_SECONDS = 0.5
"""A test that takes more is long."""
ADDITIONS = 1_000_000
SLOW = 0.09
"""Seconds that a slow core takes for so many additions, such as the one that tests are judged on."""


class SecondsOfASlowCore:
    """Turns seconds of this processor into those of a slow core.

    The loop runs in the same process, and in seconds of the processor: what waits for a busy machine does not count.
    What shares a core, its memory or its clock, makes a process slower too, and makes the loop slower with it.
    """

    def __init__(self) -> None:
        self._loop: float | None = None

    def of(self, seconds: float, above: float) -> float:
        """As many of a slow core; where that is more than ``above``, the loop runs again, and the slower one counts."""
        if self._loop is None:
            self._loop = min(_loop() for _ in range(3))
        if seconds * SLOW / self._loop <= above:
            return seconds * SLOW / self._loop
        now = sum(_loop() for _ in range(3)) / 3
        return seconds * SLOW / max(now, self._loop)


def is_crowded() -> bool:
    """Whether far more wants to run than can: what shares caches so is slower than a loop that needs none of them."""
    return os.getloadavg()[0] > 2.5 * (os.cpu_count() or 1)


def _loop() -> float:
    before = time.process_time()
    total = 0
    for number in range(ADDITIONS):
        total += number
    return time.process_time() - before
