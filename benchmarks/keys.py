"""Counts of very many keys: time and memory of a draw, by the number of keys and of rows.

    python benchmarks/keys.py [--picture PATH] [--open] [--table]

Each line says how many keys there are, how many have records, the threshold, how many keys were reported, the seconds
that the process worked to draw them, reading left out, in seconds of a core that adds ten million numbers in .48 s, and
the most memory. ``day`` is a simulated day: 625,000 pages in 200 countries, a million devices with ten rows each, of
which all count, with numbers of their own for countries, and a threshold of 90. Rows are made up by their keys.

``--open``: keys that nobody listed, beside OpenDP's ``make_laplace_threshold`` at the same ε = 1 for a person of m rows
and the same δ. Each line says both thresholds (of OpenDP the least whose own map states δ at most); how many of 20,000
shared keys are reported, in the mean; and of 200,000 people who have a key alone, of all their m rows, the part whose
key is reported, beside δ.

``--table``: one whole table of 10,000 pages in 200 countries, of a million rows: its plan, and its release, reading
included, with a ledger in a file.
"""

from __future__ import annotations

import argparse
import resource
import time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow

import dxgeom as dx
from dxgeom.engines.counted_tables import KeyTable
from dxgeom.numeric.randomness import SystemRandomness

LOOP = 10**7


def slow_seconds() -> float:
    """What a second of this core is, of one that adds ten million numbers in .48 s."""
    begun, total = time.process_time(), 0
    for number in range(LOOP):
        total += number
    return 0.48 / (time.process_time() - begun)


def part_of(attributes: dict[str, Any], rules: list[dict[str, Any]], said: dict[str, Any]) -> Any:
    """The plan of keys made of all attributes."""
    policy = dx.Policy.from_dict(
        {"policy": "keys", "universe": {"attributes": attributes}, "rules": rules, "budget": 9, "unconnected": "allow"}
    )
    tasks = dx.queries_from_dict({"tasks": [{"keys": [*attributes], **said}]}, policy)
    (part,) = dx.plan(policy.compile(), tasks).parts
    return part


def table(keys: int, rows: int) -> KeyTable:
    """Rows of which half are of keys of which few have many, as a power; the others are of any key alike."""
    generator = np.random.default_rng(7)
    ranks = np.minimum(generator.pareto(1.1, rows // 2) * 1000, keys - 1).astype(np.int64)
    alike = generator.integers(0, keys, rows - rows // 2)
    found, counts = np.unique(np.concatenate([ranks * 999_983 % keys, alike]), return_counts=True)
    return KeyTable(found, counts.astype(np.int64), rows)


def timed(name: str, part: Any, data: KeyTable, unit: float) -> None:
    begun = time.process_time()
    answer = part.mechanism.draw(data, Fraction(1), SystemRandomness())
    seconds = (time.process_time() - begun) * unit
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{name:24} {part.question.count:>17,} keys {len(data.keys):>9,} with records  from "
        f"{part.mechanism.threshold(Fraction(1)):>4}  {len(answer.keys):>8,} reported  {seconds:6.2f} s  {most:.2f} GB",
        flush=True,
    )


def whole_table(unit: float) -> None:
    """All of two million counts, where keys are few enough for that."""
    attributes: dict[str, dict[str, Any]] = {
        name: {"range": [0, size - 1], "step": 1, "whole": True} for name, size in (("page", 10_000), ("country", 200))
    }
    rules = [{"presence": True, "epsilon": 1}]
    generator = np.random.default_rng(7)
    rows = pyarrow.table({name: generator.integers(0, one["range"][1], 10**6) for name, one in attributes.items()})
    said = {"policy": "table", "universe": {"attributes": attributes}, "rules": rules, "unconnected": "allow"}
    begun = time.process_time()
    policy = dx.Policy.from_dict(said)
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"queries": [{"marginal": [*attributes]}]}, policy))
    planned = time.process_time()
    with TemporaryDirectory() as folder:
        plan.release(rows, ledger=f"{folder}/table.db", spend=1)
    done = time.process_time()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    seconds = [(planned - begun) * unit, (done - planned) * unit]
    print(f"a table of 2,000,000: planned {seconds[0]:.2f} s, released {seconds[1]:.2f} s, {most:.2f} GB")


def day_of_devices() -> tuple[Any, KeyTable]:
    """625,000 pages as 2,500 × 250, in 200 countries; of 149 countries ε is 0.1, of the others 1."""
    countries = {f"c{place:03}": ("0.1", "1", "2")[max(0, place - 98) // 51] for place in range(200)}
    attributes = {
        "folder": {"range": [0, 2499], "step": 1},
        "leaf": {"range": [0, 249], "step": 1},
        "country": [*countries],
    }
    rules: list[dict[str, Any]] = [{"change": "country", "individuals": countries}, {"presence": True, "epsilon": 2}]
    part = part_of(attributes, rules, {"at_least": 90})
    return part, table(part.question.count, 10_000_000)


def open_part(rows: int, delta: Fraction) -> Any:
    """The plan of keys that nobody listed, where a person has so many rows."""
    people = "one row each" if rows == 1 else {"column": "who", "count": "rows", "at_most": rows, "order": "at"}
    said = {"policy": "open", "universe": {"attributes": {"word": {"open": "text"}}}, "unconnected": "allow"}
    rules = [{"presence": True, "epsilon": 1}]
    policy = dx.Policy.from_dict({**said, "rules": rules, "people": people, "budget": 9, "delta": "0.5"})
    tasks = dx.queries_from_dict({"tasks": [{"keys": "word", "delta": f"{float(delta):.0e}"}]}, policy)
    (part,) = dx.plan(policy.compile(), tasks).parts
    return part


def theirs(rows: int, delta: Fraction) -> tuple[int, Any]:
    """The least threshold at which OpenDP's map of its own measurement states (1, δ), and that measurement."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    metric = dp.l01inf_distance(dp.absolute_distance(T="i64"))

    def measurement(threshold: int) -> Any:
        return dp.m.make_laplace_threshold(domain, metric, scale=float(rows), threshold=threshold)

    def keeps(threshold: int) -> bool:
        epsilon, chance = measurement(threshold).map((rows, rows, rows))
        return bool(epsilon <= 1 and Fraction(chance) <= delta)

    # Below the rows of a person its map has no answer.
    low, high = rows, 1000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high, measurement(high)


def beside_opendp(draws: int = 3) -> None:
    """Partition selection at equal budget."""
    generator, shared, alone = np.random.default_rng(3), 20_000, 200_000
    counts = np.minimum(generator.zipf(1.4, shared) + 9, 10**6).astype(np.int64)
    for rows in (1, 3, 5):
        for delta in (Fraction(1, 10**8), Fraction(1, 10**4)):
            own, (threshold, measurement) = open_part(rows, delta).mechanism, theirs(rows, delta)
            each = np.concatenate([counts, np.full(alone, rows, np.int64)])
            words = tuple(f"k{number:06}" for number in range(len(each)))
            data = KeyTable(np.arange(len(each)), each, int(each.sum()), words=words)
            table = dict(zip(words, each.tolist(), strict=True))
            told = np.zeros((2, 2))
            for _ in range(draws):
                ours = own.draw(data, Fraction(1), SystemRandomness()).words
                for place, found in enumerate((ours, measurement(table))):
                    many = sum(word < words[shared] for word in found)
                    told[place] += np.array([many, len(found) - many]) / draws
            print(
                f"{rows} rows, delta {float(delta):.0e}: from {own.threshold(Fraction(1))} (OpenDP {threshold}); "
                f"shared keys {told[0, 0]:,.0f} ({told[1, 0]:,.0f}); own keys per person {told[0, 1] / alone:.1e} "
                f"({told[1, 1] / alone:.1e})",
                flush=True,
            )


def draw_picture(path: Path) -> None:
    """How many empty keys are expected, and from where keys are reported, by the threshold."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    side = {"range": [0, 499], "step": 1}
    part = part_of(dict.fromkeys(("a", "b", "c"), side), [{"presence": True, "epsilon": 1}], {"spurious": 1})
    thresholds = range(8, 31)
    expected = [float(part.mechanism.expected(Fraction(1), one)) for one in thresholds]
    above = float(part.mechanism.widths(0.9, Fraction(1))[0])
    figure, axes = plt.subplots(figsize=(7, 3.6), constrained_layout=True)
    axes.semilogy(thresholds, expected, color="#1f5a99")
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.annotate("one on average", (23.5, 1.4), color="#555555", fontsize=9)
    axes.set_xlabel("threshold: keys are reported whose count with noise is this or more")
    axes.set_ylabel("keys without a record,\nexpected", color="#1f5a99")
    other = axes.twinx()
    other.plot(thresholds, [int(np.ceil(one - 0.5 + above)) for one in thresholds], color="#b3541e")
    other.set_ylabel("records from which a key is\nreported, 95 times in 100", color="#b3541e")
    axes.set_title("125 million keys, one record more or less at ε = 1", fontsize=10)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--picture", type=Path)
    words.add_argument("--open", action="store_true")
    words.add_argument("--table", action="store_true")
    said = words.parse_args()
    if said.picture:
        draw_picture(said.picture)
        return
    if said.open:
        beside_opendp()
        return
    unit = slow_seconds()
    if said.table:
        whole_table(unit)
        return
    presence: list[dict[str, Any]] = [{"presence": True, "epsilon": 1}]
    for name, size, privacy in (("pure", 9999, presence), ("pure", 499, presence)):
        side = {"range": [0, size], "step": 1}
        part = part_of(dict.fromkeys(("a", "b", "c"), side), privacy, {"spurious": 1})
        timed(f"{name}, presence", part, table(part.question.count, 1_000_000), unit)
    part, data = day_of_devices()
    timed("day", part, data, unit)


if __name__ == "__main__":
    main()
