"""Counting ten million rows: dxgeom's engine against pandas, each in a process of its own.

Run with: python benchmarks/engine.py [rows]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

CITIES = tuple(f"city {number}" for number in range(976))
WORDS = ("Yes", "No")


def make(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)

    def words(values: tuple[str, ...]) -> pa.Array:
        codes = pa.array(random.integers(0, len(values), rows).astype(np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array(values)).cast(pa.string())

    table = {"city": words(CITIES), "native": words(WORDS), "age": random.integers(0, 100, rows)}
    pq.write_table(pa.table({**table, "pay": random.random(rows) * 100}), path)


def by_engine(path: Path, number: str) -> np.ndarray:
    from dxgeom.engines.histogram import histogram_of_table
    from dxgeom.universe.attributes import CategoricalAttribute
    from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute
    from dxgeom.universe.universe import Universe

    decades = BinnedAttribute(number, tuple(Fraction(edge) for edge in range(0, 101, 10)))
    universe = Universe((CategoricalAttribute("city", CITIES), CategoricalAttribute("native", WORDS), decades))
    return histogram_of_table(path, universe).counts


def by_pandas(path: Path, number: str) -> np.ndarray:
    import pandas as pd

    frame = pd.read_parquet(path, columns=["city", "native", number])
    frame[number] = np.minimum(frame[number] // 10, 9).astype(int)
    counts = frame.groupby(["city", "native", number]).size()
    order = pd.MultiIndex.from_product([CITIES, WORDS, range(10)])
    return counts.reindex(order, fill_value=0).to_numpy()


def measure(way: str, path: Path, number: str) -> None:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    counts = {"engine": by_engine, "pandas": by_pandas}[way](path, number)
    seconds = time.perf_counter() - start
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(seconds, peak, hash(counts.astype(np.int64).tobytes()))


def run(way: str, path: Path, number: str) -> tuple[float, float, str]:
    command = [sys.executable, __file__, way, str(path), number]
    # A fixed seed makes the hashes of two processes comparable.
    output = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "0"}).stdout
    seconds, peak, digest = output.split()
    return float(seconds), float(peak), digest


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        # In a process of its own: a child's peak memory begins with what its parent held.
        subprocess.run([sys.executable, __file__, "make", str(path), str(rows)], check=True)
        for number, kind in (("age", "whole numbers"), ("pay", "decimals")):
            ours, theirs = run("engine", path, number), run("pandas", path, number)
            if ours[2] != theirs[2]:
                raise SystemExit(f"{kind}: the two histograms differ")
            print(
                f"{rows} rows, {kind}: engine {ours[0]:.2f} s and {ours[1]:.0f} MB, pandas {theirs[0]:.2f} s and "
                f"{theirs[1]:.0f} MB; time ratio {ours[0] / theirs[0]:.2f}, memory ratio {ours[1] / theirs[1]:.2f}"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
    elif len(sys.argv) == 4:
        measure(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**7)
