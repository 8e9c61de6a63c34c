"""Tables that Spark reads, in the session that they came with, or in one of their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, cast, final

import pyarrow as pa

from dxgeom.engines.embedded import connected, flowing_from
from dxgeom.engines.files import unchanged
from dxgeom.engines.frames import backend_of
from dxgeom.engines.source import (
    ROWS,
    Address,
    Elsewhere,
    Engine,
    Source,
    Wanted,
    address_of,
    has_scheme,
    ibis,
    is_made_by,
    located,
)
from dxgeom.engines.watching import Extent, plain_errors
from dxgeom.errors import DataError
from dxgeom.numeric.optional_library import optional_library
from dxgeom.universe.reading.reading import FileForm
from dxgeom.universe.universe import Universe


@final
class Jobs:
    """What is worked out in a session under a name of its own, beside whatever else that session does.

    A session of Spark Connect knows no jobs, and is not asked how far they are.
    """

    def __init__(self, session: Any, name: str) -> None:
        self._session, self._name = session, name
        self._context = getattr(session, "sparkContext", None)
        self._most = 0.0
        self._ended: dict[int, tuple[int, int]] = {}

    def aside(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """The same work in another thread, whose jobs bear the name, and are otherwise as those of this thread are."""
        util = optional_library("pyspark.util", "spark", "tables on Spark are read")

        def named() -> Any:
            if self._context is None:
                self._session.addTag(self._name)
            else:
                self._context.setJobGroup(self._name, "dxgeom reads a table", interruptOnCancel=True)
            return work()

        alike: Any = util.inheritable_thread_target(self._session)
        # Where threads here share one of Spark's (PYSPARK_PIN_THREAD=false) a name would be for all of them.
        return work if alike is self._session else cast(Callable[[], Any], alike(named))

    def stop(self) -> None:
        """Ends them."""
        if self._context is None:
            self._session.interruptTag(self._name)
        else:
            self._context.cancelJobGroup(self._name)

    def fraction(self) -> float | None:
        """How many of the tasks that are known are done; never less than before, for tasks become known late."""
        if self._context is None:
            return None
        tracker = self._context.statusTracker()
        known = [self._tasks(tracker, job) for job in tracker.getJobIdsForGroup(self._name)]
        tasks = sum(one for one, _ in known)
        if not tasks:
            return None
        self._most = max(self._most, sum(done for _, done in known) / tasks)
        return self._most

    def _tasks(self, tracker: Any, number: int) -> tuple[int, int]:
        """How many tasks of a job are known, and how many of them are done; not asked again once it has ended."""
        if number in self._ended:
            return self._ended[number]
        job = tracker.getJobInfo(number)
        stages = [] if job is None else [one for one in map(tracker.getStageInfo, job.stageIds) if one is not None]
        found = sum(stage.numTasks for stage in stages), sum(stage.numCompletedTasks for stage in stages)
        if job is not None and job.status == "SUCCEEDED":
            self._ended[number] = found
        return found


_TYPES: Final[dict[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
    "void": pa.string(),
}
_EXAMPLE: Final = "spark://server:7077#table or spark://server:7077#/folder/table.parquet"
_FILES_LOOKED_AT: Final = 1000
_SETTINGS: Final = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}


@final
class Spark(Engine):
    """A DataFrame, an Ibis table of that backend, or ``spark://…#table``, ``#SELECT …`` or ``#path of Parquet``."""

    name = "Spark"

    def takes(self, table: Any) -> bool:
        return (
            has_scheme(table, "spark")
            or is_made_by(table, "DataFrame", "pyspark.sql")
            or backend_of(table) == "pyspark"
        )

    def look_up(self, table: Any, form: FileForm) -> None:
        if isinstance(table, str):
            address_of(table, _EXAMPLE)

    @contextmanager
    def opened(self, table: Any, wanted: Wanted, universe: Universe | None) -> Iterator[Source]:
        described = "the table"
        if isinstance(table, str):
            address = address_of(table, _EXAMPLE)
            described = address.described
            with plain_errors(described), _session(address.server) as session:
                yield from _source(_frame_at(session, address), described, wanted)
        else:
            with plain_errors(described):
                yield from _source(_frame_of(table), described, wanted)


@contextmanager
def _session(server: str) -> Iterator[Any]:
    """The session that is there, if it is one of that server, or one that ends with the reading."""
    sql = optional_library("pyspark.sql", "spark", "tables on Spark are read")
    there = sql.SparkSession.getActiveSession()
    if there is not None:
        if there.sparkContext.master != server:
            raise DataError("a session with another Spark is open here; stop it first, or hand over its DataFrame")
        yield there
        return
    builder = sql.SparkSession.builder.master(server).appName("dxgeom")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _frame_at(session: Any, address: Address) -> Any:
    if address.is_query:
        return session.sql(address.what)
    return session.read.parquet(address.what) if "/" in address.what else session.table(address.what)


def _frame_of(table: Any) -> Any:
    if is_made_by(table, "DataFrame", "pyspark.sql"):
        return table
    return table.get_backend()._session.sql(str(ibis.to_sql(table)))


def _source(frame: Any, described: str, wanted: Wanted) -> Iterator[Source]:
    """The source of a frame, which ends with it."""
    places = located(frame.columns, wanted, described)
    fields = [frame.schema.fields[place] for place in places]
    kinds = tuple(_type(field, described) for field in fields)
    columns = [_column(field).alias(f"k{k}") for k, field in enumerate(fields)]
    name = f"dxgeom_{uuid.uuid4().hex}"
    frame.select(*columns).createTempView(name)
    try:
        with unchanged(described, lambda: _state_of_files(frame)), connected() as here:
            yield flowing_from(
                here, _View(frame.sparkSession, name, described, kinds, kinds, Jobs(frame.sparkSession, name))
            )
    finally:
        frame.sparkSession.catalog.dropTempView(name)


def _state_of_files(frame: Any) -> list[tuple[str, int, int]]:
    """Where the first files are that a frame is made of, their sizes and when they were changed, for Spark reads them
    again for each job. Of sessions of Spark Connect nothing is known."""
    machine: Any = getattr(frame.sparkSession, "_jvm", None)
    files = [] if machine is None else sorted(frame.inputFiles())[:_FILES_LOOKED_AT]
    if not files:
        return []
    paths = [machine.org.apache.hadoop.fs.Path(machine.java.net.URI(file)) for file in files]
    configuration = frame.sparkSession._jsc.hadoopConfiguration()
    found = [path.getFileSystem(configuration).getFileStatus(path) for path in paths]
    return [(one.getPath().toString(), one.getLen(), one.getModificationTime()) for one in found]


def _column(field: Any) -> Any:
    """Words are compared letter for letter, whatever their collation."""
    functions = optional_library("pyspark.sql.functions", "spark", "tables on Spark are read")
    column = functions.col("`" + field.name.replace("`", "``") + "`")
    kind = field.dataType.simpleString()
    if kind.startswith("string collate"):
        return functions.collate(column, "UTF8_BINARY")
    return column.cast("string") if kind == "void" else column


@final
@dataclass(frozen=True)
class _View(Elsewhere):
    """A temporary view of the wanted columns."""

    session: Any
    name: str
    described: str
    types: tuple[pa.DataType, ...]
    shipped: tuple[pa.DataType, ...]
    jobs: Jobs
    extent = Extent()
    flows = False

    def stop(self) -> None:
        self.jobs.stop()

    def fraction(self) -> float | None:
        return self.jobs.fraction()

    def aside(self, work: Callable[[], Any]) -> Callable[[], Any]:
        return self.jobs.aside(work)

    @contextmanager
    def held(self, rows: ibis.Table) -> Iterator[Elsewhere]:
        """In memory only: rows of people are not written to disks of its own accord."""
        level = optional_library("pyspark", "spark", "tables on Spark are read").StorageLevel.MEMORY_ONLY
        frame, name = self._frame(rows).persist(level), f"dxgeom_{uuid.uuid4().hex}"
        frame.createTempView(name)
        try:
            yield replace(self, name=name)
        finally:
            self.session.catalog.dropTempView(name)
            frame.unpersist()

    def run(self, rows: ibis.Table) -> pa.RecordBatchReader:
        found = self._frame(rows).toArrow()
        schema = rows.schema().to_pyarrow()
        return found.rename_columns(schema.names).cast(schema).to_reader()

    def _frame(self, rows: ibis.Table) -> Any:
        return self.session.sql(_in_its_words(rows, self.name))


def _in_its_words(rows: ibis.Table, name: str) -> str:
    """Spark's SQL for an expression over ROWS, which are the view of that name. (Ibis' own needs pandas.)

    They are named where they are read: Spark does not know again what it holds where that begins with WITH.
    """
    import sqlglot  # slow to load

    tree = sqlglot.parse_one(str(ibis.to_sql(rows, dialect="duckdb")), read="duckdb")
    for table in tree.find_all(sqlglot.exp.Table):
        if table.name == ROWS:
            table.set("this", sqlglot.exp.to_identifier(name))
    for window in tree.find_all(sqlglot.exp.Window):
        # The number of a row and the row before know no frame, and Spark lets none be said.
        window.set("spec", None)
    return tree.sql(dialect="spark")


def _type(field: Any, described: str) -> pa.DataType:
    kind = field.dataType.simpleString()
    if kind in _TYPES:
        return _TYPES[kind]
    if kind.startswith(("string", "varchar", "char")):
        return pa.string()
    if kind.startswith("decimal"):
        return pa.decimal128(field.dataType.precision, field.dataType.scale)
    raise DataError(
        f"column '{field.name}' of {described} holds {kind}, which is not read; convert it in a query, to text"
    )
