"""Work on a table, watched by whoever waits for it: how far it is, and what ends it when they lose patience."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any, Final, TypeVar, final

import pyarrow as pa

from dxgeom.progress_line import ProgressLine

T = TypeVar("T")

PATIENCE: Final = 2.0
"""Seconds of work of which nothing is said."""
_POLLED: Final = 0.1
_SIZES: Final = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


@final
@dataclass(frozen=True)
class Extent:
    """How large a table is, as far as that is known without reading it; ``estimated`` by a server."""

    rows: int | None = None
    size: int | None = None
    estimated: bool = False

    @property
    def told(self) -> str:
        each = [f"{self.rows:,} rows"] if self.rows is not None else []
        each += [_in_units(self.size)] if self.size is not None else []
        return ("about " if self.estimated and each else "") + ", ".join(each)


@final
class Watch:
    """Work is done in a thread of its own, for DuckDB, Arrow and servers hear of no interruption while they work.

    Args: ``fraction``: how much of the present work is done, from 0 to 1, None where nobody knows; ``stop``: ends it;
    ``extent``: of the table; ``aside``: what makes of work the same work in another thread; ``bound``: to the thread it
    came from, as tables of SQLite are, so that work is done there.
    """

    def __init__(
        self,
        fraction: Callable[[], float | None],
        stop: Callable[[], None],
        extent: Extent,
        aside: Callable[[Callable[[], Any]], Callable[[], Any]] = lambda work: work,
        bound: bool = False,
    ) -> None:
        self._fraction, self._stop, self._extent, self._aside, self._bound = fraction, stop, extent, aside, bound
        self._line: ProgressLine | None = None
        self._secret = True
        self._rows = self._size = 0
        self._begun = monotonic()

    @contextmanager
    def telling(self, what: str, *, secret: bool) -> Iterator[None]:
        """While this lasts, work that takes longer shows how far it is.

        Args: ``what``: is being done; ``secret``: how many rows there are is told to nobody, so that no more than a
        fraction and the time that has passed are shown.
        """
        with ProgressLine(what) as line:
            self._line, self._secret, self._begun = line, secret, monotonic()
            try:
                yield
            finally:
                self._line = None

    def done(self, work: Callable[[], T]) -> T:
        """What the work returns or raises.

        Raises: KeyboardInterrupt, with the work ended, as soon as whoever waits is interrupted.
        """
        if self._bound:
            return work()
        found, raised, ended, aside = list[T](), list[BaseException](), Event(), self._aside(work)

        def working() -> None:
            try:
                found.append(aside())
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
                raised.append(error)
            ended.set()

        Thread(target=working, name="dxgeom reading", daemon=True).start()
        try:
            while not ended.wait(_POLLED):
                self._tell()
        except BaseException:
            # Again and again, for what has not yet begun cannot be stopped.
            while not ended.wait(_POLLED):
                self._stop()
            raise
        if raised:
            raise raised.pop()
        return found.pop()

    def each(self, begun: Callable[[], Iterable[T]]) -> Iterator[T]:
        """What comes, one after the other."""
        flow = self.done(lambda: iter(begun()))
        while (one := self.done(lambda: next(flow, None))) is not None:
            yield one

    def noting(self, flow: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """The same rows, of which it is noted how many have come."""

        def batches() -> Iterator[pa.RecordBatch]:
            self._rows = self._size = 0
            for batch in flow:
                self._rows, self._size = self._rows + batch.num_rows, self._size + batch.nbytes
                if self._bound:
                    self._tell()
                yield batch

        return pa.RecordBatchReader.from_batches(flow.schema, batches())

    def _tell(self) -> None:
        if self._line is None or monotonic() - self._begun < PATIENCE:
            return
        fraction = self._fraction()
        self._line("" if self._secret else self._words(fraction), fraction=fraction)

    def _words(self, fraction: float | None) -> str:
        whole = self._extent.told
        if fraction is not None:
            return f"{fraction:.0%} of {whole}" if whole else f"{fraction:.0%}"
        come = f"{Extent(self._rows, self._size).told} have come" if self._rows else ""
        return "; ".join(filter(None, (whole, come)))


def _in_units(size: int) -> str:
    return next((f"{size / unit:,.1f} {name}" for unit, name in _SIZES if size >= unit), f"{size} B")
