"""What is being done, in words: a line that changes in a notebook, a new line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TextIO, final

EVERY: Final = 5.0
"""Seconds between lines where they cannot be changed."""


@final
class ProgressLine:
    """Call it with words. In a notebook one line shows the last; in a file or a pipe a line is written every so often.

    Args: ``stream``: where lines go, standard error when left out; ``clock``: gives seconds.
    """

    def __init__(self, doing: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._doing, self._stream, self._clock = doing, stream, clock
        self._begun = self._last = clock()
        self._handle: Any = None

    def __call__(self, *said: object) -> None:
        """Says what is done now; two numbers are how much is done, and of how much."""
        words = f"{said[0]} of {said[1]}" if len(said) > 1 else " ".join(map(str, said))
        line = f"{self._doing}: {words}"
        if self._stream is None and in_notebook():
            self._show(line)
            return
        now = self._clock()
        if now - self._last >= EVERY:
            self._last = now
            stream = self._stream or sys.stderr
            stream.write(f"{line} ({now - self._begun:.0f} s)\n")
            stream.flush()

    def _show(self, line: str) -> None:
        bundle = {"text/plain": line}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def in_notebook() -> bool:
    """Whether a kernel runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
