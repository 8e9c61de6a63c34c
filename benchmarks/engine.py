"""Counting ten million rows: dxgeom's engine against a bare GROUP BY of DuckDB, and against pandas.

Each count in a process of its own, libraries loaded beforehand, one after the other by turns, the file in the disk's
cache; medians of time and of the processor's time, which other work on a machine changes less.
Run with: python benchmarks/engine.py [rows [turns]]
The aims: whole numbers at most 1.3 times, decimals at most 2.5 times the bare GROUP BY, below 400 MB.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dxgeom.universe.universe import Universe

CITIES = tuple(f"city {number}" for number in range(976))
WORDS = ("Yes", "No")


def make(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    random, writer = np.random.default_rng(1), None
    for some in np.diff([*range(0, rows, 10**6), rows]):

        def words(values: tuple[str, ...], some: int = int(some)) -> pa.Array:
            codes = pa.array(random.integers(0, len(values), some).astype(np.int32))
            return pa.DictionaryArray.from_arrays(codes, pa.array(values)).cast(pa.string())

        part = {"city": words(CITIES), "native": words(WORDS), "age": random.integers(0, 100, some)}
        table = pa.table({**part, "pay": random.random(some) * 100})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def universe_of(number: str) -> Universe:
    from dxgeom.universe.attributes import CategoricalAttribute
    from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute
    from dxgeom.universe.universe import Universe

    decades = BinnedAttribute(number, tuple(Fraction(edge) for edge in range(0, 101, 10)))
    return Universe((CategoricalAttribute("city", CITIES), CategoricalAttribute("native", WORDS), decades))


def by_engine(path: Path, number: str) -> np.ndarray:
    from dxgeom.engines.histogram import histogram_of_table

    return histogram_of_table(path, universe_of(number)).counts


def by_duckdb(path: Path, number: str) -> np.ndarray:
    import duckdb

    key = number if number == "age" else f"floor({number} / 10)"
    counted = f"SELECT city, native, {key} AS number, count(*) AS n FROM '{path}' GROUP BY ALL"
    groups = duckdb.connect(config={"memory_limit": "2GB", "temp_directory": ""}).sql(counted).to_arrow_table()
    return folded(groups, 10 if number == "age" else 1)


def folded(groups: Any, width: int) -> np.ndarray:
    city, native = (
        np.array(
            [values.index(word) for word in groups[name].dictionary_encode().combine_chunks().dictionary.to_pylist()]
        )[np.asarray(np.from_dlpack(groups[name].dictionary_encode().combine_chunks().indices))]
        for name, values in (("city", CITIES), ("native", WORDS))
    )
    numbers = np.asarray(np.from_dlpack(groups["number"].combine_chunks())).astype(np.int64) // width
    counts = np.zeros(len(CITIES) * len(WORDS) * 10, dtype=np.int64)
    np.add.at(counts, (city * 2 + native) * 10 + numbers, np.asarray(np.from_dlpack(groups["n"].combine_chunks())))
    return counts


def by_pandas(path: Path, number: str) -> np.ndarray:
    import pandas as pd

    frame = pd.read_parquet(path, columns=["city", "native", number])
    frame[number] = np.minimum(frame[number] // 10, 9).astype(int)
    counts = frame.groupby(["city", "native", number]).size()
    order = pd.MultiIndex.from_product([CITIES, WORDS, range(10)])
    return counts.reindex(order, fill_value=0).to_numpy()


def measure(way: str, path: Path, number: str) -> None:
    count = {"engine": by_engine, "duckdb": by_duckdb, "pandas": by_pandas}[way]
    if way == "pandas":
        import pandas  # noqa: F401
    else:
        import dxgeom.engines.histogram  # noqa: F401
    before, busy, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time(), time.perf_counter()
    counts = count(path, number)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(seconds, busy, peak, hash(counts.astype(np.int64).tobytes()))


@dataclass(frozen=True)
class Counted:
    """What one count took: seconds, the processor's seconds, megabytes at most beyond what was loaded; its digest."""

    seconds: float
    busy: float
    peak: float
    digest: str


def run(way: str, path: Path, number: str) -> Counted:
    command = [sys.executable, __file__, "count", way, str(path), number]
    # A fixed seed makes the hashes of two processes comparable.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    seconds, busy, peak, digest = output.split()
    return Counted(float(seconds), float(busy), float(peak), digest)


def compare(path: Path, number: str, ways: tuple[str, ...], turns: int) -> None:
    # The first turn fills the disk's cache and is not looked at.
    taken = [[run(way, path, number) for way in ways] for _ in range(turns + 1)][1:]
    if len({one.digest for turn in taken for one in turn}) != 1:
        raise SystemExit(f"{number}: the histograms differ")
    ours = [turn[0] for turn in taken]
    for place, way in enumerate(ways):
        theirs = [turn[place] for turn in taken]
        told = [
            f"{way}: {of(theirs, 'seconds'):.2f} s, processor {of(theirs, 'busy'):.2f} s, {of(theirs, 'peak'):.0f} MB"
        ]
        if place:
            ratios = ", ".join(
                f"{name} {of(ours, name) / of(theirs, name):.2f}" for name in ("seconds", "busy", "peak")
            )
            told.append(f"ours to theirs: {ratios}")
        print("  " + "; ".join(told), flush=True)


def of(counted: list[Counted], name: str) -> float:
    return statistics.median(getattr(one, name) for one in counted)


def main(rows: int, turns: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        # In a process of its own: a child's peak memory begins with what its parent held.
        subprocess.run([sys.executable, __file__, "make", str(path), str(rows)], check=True)
        ways = ("engine", "duckdb", "pandas") if rows <= 10**7 else ("engine", "duckdb")
        for number, kind in (("age", "whole numbers"), ("pay", "decimals")):
            print(f"{rows} rows, {kind}, medians of {turns}")
            compare(path, number, ways, turns)


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["count"]:
        measure(sys.argv[2], Path(sys.argv[3]), sys.argv[4])
    else:
        main(*map(int, [*sys.argv[1:3], *("10000000", "5")[len(sys.argv) - 1 :]]))
