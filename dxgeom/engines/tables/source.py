"""A table that is open: here, or on a server that groups its rows before they come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, final

import duckdb
import pyarrow as pa

from dxgeom.engines.tables.delimited import Delimited
from dxgeom.engines.tables.later import ibis
from dxgeom.engines.tables.naming import Wanted
from dxgeom.engines.tables.watching import Extent, Watch

ROWS: Final = "records"
"""What expressions call the wanted columns, k0, k1, …"""


class Elsewhere(ABC):
    """A table that is open on a server.

    ``described``: what messages call it; ``types``: those of the wanted columns, in order; ``shipped``: the types in
    which they come, where they differ; ``extent``: how large the server says that it is; ``flows``: whether results
    come batch by batch, so that there may be more rows than fit into memory here.
    """

    flows: ClassVar[bool] = True
    described: str
    types: tuple[pa.DataType, ...]
    shipped: tuple[pa.DataType, ...]
    extent: Extent

    @abstractmethod
    def run(self, rows: ibis.Table) -> pa.RecordBatchReader:
        """The result of an expression over ROWS, worked out there; its order is kept."""

    @abstractmethod
    def stop(self) -> None:
        """Ends what is being worked out there, for whoever waits in another thread."""

    def held(self, rows: ibis.Table) -> AbstractContextManager[Elsewhere]:
        """The result of an expression over ROWS as ROWS, worked out once; for servers whose results do not flow."""
        raise NotImplementedError

    def fraction(self) -> float | None:
        """How much of it is done, from 0 to 1; None where the server does not say."""
        return None

    def aside(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """The same work, to be done in another thread."""
        return work

    def everything(self) -> pa.RecordBatchReader:
        """All rows of the wanted columns, as c0, c1, …"""
        rows = self.table()
        return self.run(rows.select(**{f"c{k}": rows[f"k{k}"] for k in range(len(self.types))}))

    def table(self) -> ibis.Table:
        """What expressions are built on."""
        fields = {f"k{k}": kind for k, kind in enumerate(self.shipped)}
        return wanted_rows(pa.schema(fields))()


def wanted_rows(schema: pa.Schema) -> Callable[[], ibis.Table]:
    """Makes what expressions call the wanted columns."""
    return lambda: ibis.table(schema=ibis.schema(schema), name=ROWS)


class Engine(ABC):
    """Something that reads tables of some kind."""

    name: str

    @abstractmethod
    def takes(self, table: Any) -> bool:
        """Whether a table is one of its own."""

    @abstractmethod
    def look_up(self, table: Any) -> None:
        """Raises: DataError for an address at which there can be no table, whatever a table there may hold."""

    @abstractmethod
    def opened(self, table: Any, wanted: Wanted) -> AbstractContextManager[Source]:
        """A context in which the columns ``wanted`` can be read: a Source.

        Raises: DataError, in plain words, when it cannot be read, or lacks a column; MissingExtra.
        """


@final
@dataclass(frozen=True)
class Source:
    """A table that is open.

    ``made``: makes ``rows``, the wanted columns, named k0, k1, … in the order they were asked for; ``types``: theirs;
    ``text``: the file if it is delimited text, whose cells have no type of their own; ``anew``: for rows that flow by
    once, what makes them flow from the first one; ``there``: the server that they flow from, which groups them first;
    ``watch``: by which work on it is watched.
    """

    described: str
    connection: duckdb.DuckDBPyConnection
    made: Callable[[], ibis.Table]
    types: tuple[pa.DataType, ...]
    text: Delimited | None
    watch: Watch
    anew: Callable[[], pa.RecordBatchReader] | None = None
    there: Elsewhere | None = None

    @cached_property
    def rows(self) -> ibis.Table:
        """The wanted columns, k0, k1, …"""
        return self.made()

    def written(self, statement: str) -> Iterator[pa.RecordBatch]:
        """The result of a statement in the engine's own words, batch by batch."""
        return iter(pa.RecordBatchReader.from_stream(self.connection.sql(statement)))

    def query(self, rows: ibis.Table) -> duckdb.DuckDBPyRelation:
        """The result of an expression over ``rows``, from their first one; the one before must have been read."""
        if self.anew is not None:
            self._flow("everything", self.anew)
        return self.connection.sql(str(ibis.to_sql(rows, dialect="duckdb")))

    def fetched(self, rows: ibis.Table) -> list[tuple[Any, ...]]:
        """The whole result of an expression over ``rows``, of few; see :meth:`query`."""
        return self.watch.done(lambda: self.query(rows).fetchall())

    def batches(self, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The result of an expression over ``rows``, batch by batch; see :meth:`query`."""
        return self.watch.each(lambda: pa.RecordBatchReader.from_stream(self.query(rows)))

    def finished(
        self, rows: ibis.Table, finish: Callable[[ibis.Table], ibis.Table], order: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """What ``finish`` makes of the result of an expression over ``rows``, batch by batch, in the order of a column.

        The expression is worked out where the table is, and no more than columns, codes and counts are in it; what
        becomes of its result, row by row, always here.
        """
        if self.there is None:
            made = finish(rows)
            return self.batches(made if order is None else made.order_by(order))
        there, wanted = self.there, rows if order is None else rows.order_by(order)
        return self.watch.each(lambda: self._finished_there(there, wanted, finish))

    def worked_out(self, cells: pa.Table, finish: Callable[[ibis.Table], ibis.Table]) -> Iterator[pa.RecordBatch]:
        """What ``finish`` makes of a table that is here, batch by batch."""
        self.connection.register("cells", cells)
        made = finish(ibis.table(schema=ibis.schema(cells.schema), name="cells"))
        return self.watch.each(
            lambda: pa.RecordBatchReader.from_stream(self.connection.sql(str(ibis.to_sql(made, dialect="duckdb"))))
        )

    @contextmanager
    def holding(self, there: Elsewhere, rows: ibis.Table) -> Iterator[Source]:
        """The result of an expression over ``rows``, which the server holds while it is looked at again and again."""
        with there.held(rows) as held:
            yield replace(self, there=held, made=lambda: ibis.table(schema=rows.schema(), name=ROWS))

    def _finished_there(
        self, there: Elsewhere, rows: ibis.Table, finish: Callable[[ibis.Table], ibis.Table]
    ) -> pa.RecordBatchReader:
        flow = self._flow("finished", lambda: there.run(rows))
        made = finish(ibis.table(schema=ibis.schema(flow.schema), name="finished"))
        return pa.RecordBatchReader.from_stream(self.connection.sql(str(ibis.to_sql(made, dialect="duckdb"))))

    def _flow(self, name: str, begun: Callable[[], pa.RecordBatchReader]) -> pa.RecordBatchReader:
        """Rows flow into the database here under a name, once what flowed so before has ended."""
        self.connection.unregister(name)
        rows = self.watch.noting(begun())
        self.connection.register(name, rows)
        return rows
