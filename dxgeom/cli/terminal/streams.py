"""Standard input, output and error as a process finds them: open, closed, full, or pipes that nobody reads.

What is written to them never fails on the way, so that it neither ends a release between its charge and its answer nor
the process with a code of Python's own. What standard output did not take is remembered, and asked for at the end.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, final


@final
class Door(io.RawIOBase):
    """What a standard stream writes through. Once it has not taken something, all that follows goes nowhere.

    ``failure``: why it did not take it, None as long as it has taken everything.
    """

    def __init__(self, way: Any) -> None:
        self._way = way
        self.failure: OSError | None = None

    def write(self, content: Any) -> int:
        if self.failure is None:
            try:
                taken = self._way.write(content)
                if taken is not None:
                    return int(taken)
                raise BlockingIOError("nobody reads as fast as it is written")
            except OSError as error:
                self.failure = error
        return len(content)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._way.isatty())

    def fileno(self) -> int:
        return int(self._way.fileno())


def hang_doors() -> bool:
    """Standard output and error through doors. Closed descriptors are opened to nowhere, so that no ledger, table or
    library gets the number of one. Returns: whether standard output is open for writing."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    is_open = _is_open(sys.stdout)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - open as long as the process
    sys.stdout, sys.stderr = _hung(sys.stdout), _hung(sys.stderr)
    return is_open


def unshown() -> OSError | None:
    """Why standard output has not taken all that was written to it; None where it has, or has no door."""
    sys.stdout.flush()
    door = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return door.failure if isinstance(door, Door) else None


def _is_open(stream: Any) -> bool:
    if stream is None:
        return False
    try:
        os.write(stream.fileno(), b"")  # nothing is written; what was opened for reading only says so
    except OSError as error:
        return error.errno != errno.EBADF
    return True


def _hung(stream: Any) -> Any:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open as long as the process
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    way = getattr(stream.buffer, "raw", stream.buffer)
    # An answer that was paid for must not be lost because a terminal cannot show one of its letters.
    return io.TextIOWrapper(
        io.BufferedWriter(Door(way)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
