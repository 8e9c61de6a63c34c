"""The figures of the paper: those that take seconds computed anew, the others as the benchmarks last printed them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

import dxgeom as dx


class Figure(NamedTuple):
    """A row of the paper's table.

    ``here``, ``beside``: what dxgeom reaches, and what the alternative does, as the paper says it. ``script``: what
    prints both. ``computed``: both once more, where that takes seconds.
    """

    what: str
    here: str
    beside: str
    alternative: str
    script: str
    computed: Callable[[], tuple[float, float]] | None = None

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        return (self.what, self.here, f"{self.alternative}: {self.beside}", f"`{self.script}`")


def a_year() -> tuple[float, float]:
    """Root mean squared errors of 365 running totals: one plan, and a release every day, which divides the budget."""
    policy = dx.parse_policy("""
policy: days
privacy: concentrated
universe: {attributes: {day: {range: [1, 365], step: 1}}}
rules: [{presence: true, epsilon: 1}]
""")
    asked = dx.queries_from_dict({"queries": [{"count": f"day <= {day}"} for day in range(1, 366)]}, policy)
    return math.sqrt(dx.plan(policy.compile(), asked).predicted_mse / 365), math.sqrt(365)


def margins() -> tuple[float, float]:
    """Squared error of all nine cells by normal noise, with both margins public and with none."""
    cells = {"queries": [{"marginal": ["a", "b"]}]}

    def error(known: str) -> float:
        policy = dx.parse_policy(f"""
policy: table
privacy: concentrated
universe: {{attributes: {{a: [a0, a1, a2], b: [b0, b1, b2]}}}}
{known}
rules: [{{change: a, epsilon: 1}}, {{change: b, epsilon: 1}}]
""")
        return float(dx.plan(policy.compile(), dx.queries_from_dict(cells, policy)).predicted_mse)

    counts = (
        "known: [" + ", ".join(f"{{where: {name} == '{name}{k}', count: 2}}" for name in "ab" for k in range(3)) + "]"
    )
    return error(counts), error("")


def a_ring() -> tuple[float, float]:
    """How far two people are apart for whoever knows one margin of a 3 × 3 table, and for everybody else."""
    policy = dx.parse_policy("""
policy: ring
universe: {attributes: {a: [a0, a1, a2], b: [b0, b1, b2]}}
known: [{totals: a}]
rules: [{change: [a, b], epsilon: 1}]
""")
    known = policy.explain({"a": "a0"}, {"a": "a1"}).known
    if known is None or known.separate is None:
        raise AssertionError("the policy knows a partition")
    return known.separate, known.stated


FIGURES = (
    Figure(
        "running totals of 365 days, normal noise: error of one",
        "2.635",
        "19.10",
        "a release every day",
        "benchmarks/time.py",
        a_year,
    ),
    Figure("the same", "2.635", "3.134", "trees", "benchmarks/time.py"),
    Figure(
        "all 9 cells of a 3 × 3 table with public margins: squared error",
        "5.334",
        "15.54",
        "margins unused",
        "papers/dxgeom/run.py",
        margins,
    ),
    Figure(
        "distance of two people for whoever knows a margin of that table",
        "3",
        "1",
        "what the rules say",
        "papers/dxgeom/run.py",
        a_ring,
    ),
    Figure("ten random counts: total error", "1", "1.38", "OpenDP's Gaussian noise", "benchmarks/gaussian_peers.py"),
    Figure("59 prefixes: total error", "1", "11.3", "OpenDP's Gaussian noise", "benchmarks/gaussian_peers.py"),
    Figure("Adult's tables: root mean squared error", ".944", "1", "HDMM, as printed", "benchmarks/hdmm.py"),
    Figure(
        "ten three-way tables of Adult that follow the data, ρ = .000625, .01, .16: mean error",
        ".323, .231, .134",
        ".324, .228, .124",
        "AIM",
        "benchmarks/adaptive.py",
    ),
    Figure(
        "synthetic records of census data, ε = 1: largest error",
        "162",
        "439",
        "SmartNoise's MWEM",
        "benchmarks/mwem.py",
    ),
    Figure("Adult, regression at ε = .1: accuracy", ".807", ".714", "diffprivlib", "benchmarks/learning.py"),
)


def rows() -> Iterator[Row]:
    """Of figures that are computed anew, both numbers."""
    for figure in FIGURES:
        if figure.computed is not None:
            for text, value in zip((figure.here, figure.beside), figure.computed(), strict=True):
                yield Row(f"{figure.what}, {text}", value, float(text), 0.51 * 10.0 ** -len(text.partition(".")[2]))


if __name__ == "__main__":
    list(printed(rows(), margin=True))
