"""What is being done, in a line that changes in place in notebooks and on a terminal; elsewhere a line now and then."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TextIO, final

EVERY: Final = 5.0
"""Seconds between lines where they cannot be changed."""
_WIDTH: Final = 20
_ERASED: Final = "\r\x1b[K"


@final
class ProgressLine:
    """Call it with words. In a notebook one line shows the last; in a file or a pipe a line is written every so often.

    As a context (``with ProgressLine("reading") as tell:``) it changes in place on a terminal, too, and is gone at the
    end, from notebooks as well, whatever ended the work.

    Args: ``stream``: where lines go, standard error when left out; ``clock``: gives seconds.
    """

    def __init__(self, doing: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._doing, self._stream, self._clock = doing, stream, clock
        self._begun = self._last = clock()
        self._handle: Any = None
        self._in_place = self._shown = False

    def __call__(self, *said: object, fraction: float | None = None) -> None:
        """Says what is done now; two numbers are how much is done, and of how much.

        Args: ``fraction``: how much of the whole is done, from 0 to 1, drawn as a bar.
        """
        words = f"{said[0]} of {said[1]}" if len(said) > 1 else " ".join(map(str, said))
        line = ": ".join(filter(None, (self._doing, words)))
        if self._stream is None and in_notebook():
            self._show(_with_bar(line, fraction))
            return
        now, stream = self._clock(), self._stream or sys.stderr
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            stream.write(_ERASED + f"{_with_bar(line, fraction)} ({now - self._begun:.0f} s)"[:width])
            self._shown = True
        elif now - self._last >= EVERY:
            self._last = now
            stream.write(f"{line} ({now - self._begun:.0f} s)\n")
        else:
            return
        stream.flush()

    def __enter__(self) -> ProgressLine:
        self._in_place = (self._stream or sys.stderr).isatty() and not begun_by_a_kernel()
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        if self._shown:
            stream = self._stream or sys.stderr
            stream.write(_ERASED)
            stream.flush()
        self._in_place = self._shown = False

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


def begun_by_a_kernel() -> bool:
    """Whether a notebook's cell began this process: its terminal takes no answers and forgets no line."""
    return "JPY_PARENT_PID" in os.environ


def _with_bar(line: str, fraction: float | None) -> str:
    if fraction is None:
        return line
    done = round(_WIDTH * min(max(fraction, 0.0), 1.0))
    return f"[{'#' * done}{'.' * (_WIDTH - done)}] {line}"
