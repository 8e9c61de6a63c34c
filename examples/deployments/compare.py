"""Ten public deployments: what their published noise does to our answers, and what dxgeom reaches.

For each folder here, ± of the answers of its queries, 19 times in 20, in the middle: with the published noise,
with dxgeom for the published promise, and with dxgeom for a policy that says what is hidden from what.
Prints the table of docs/guide/deployments.md; with names, only their rows.
"""

import sys
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from statistics import median

import dxgeom as dx

HERE = Path(__file__).parent
NORMAL = 1.959964


@dataclass(frozen=True)
class Answers:
    """Some answers of the queries file, and ± of the published noise for them."""

    name: str
    first: int
    end: int
    published: float | None


def laplace(epsilon: float, sensitivity: float = 1) -> float:
    """Return ± of Laplace noise, 19 times in 20."""
    return log(20) * sensitivity / epsilon


DEPLOYMENTS = {
    "births": [Answers("births", 0, 64, None)],
    "broadband": [Answers("households", 0, 8, laplace(0.1))],
    "degrees": [Answers("graduates", 0, 33, None)],
    "editors": [Answers("editors", 0, 4, laplace(1.1)), Answers("edits", 4, 8, laplace(0.9, 101))],
    # The bound of a household's use is not published; the range of our policy stands for it.
    "energy": [Answers("kWh", 0, 2, laplace(1.25, 12))],
    "hiring": [Answers("hires", 0, 16, laplace(1.2 / 2))],
    "mobility": [
        Answers("visits in all", 0, 4, laplace(0.11)),
        Answers("by state", 4, 12, laplace(0.11)),
        Answers("by county", 12, 36, laplace(0.22)),
    ],
    # rho = 0.015 for ten different pages, which change the counts by at most the root of 10.
    "page-views": [Answers("views", 0, 24, NORMAL * sqrt(10 / (2 * 0.015)))],
    # The published numbers of a level are for three symptoms of a person.
    "symptoms": [
        Answers("searches in all", 0, 4, laplace(0.168, 3)),
        Answers("by state", 4, 12, laplace(0.37, 3)),
        Answers("by county", 12, 36, laplace(1.1, 3)),
    ],
    "trips": [Answers("trips", 0, 81, laplace(0.66))],
}


def reached(name: str, file: str) -> list[float]:
    """Return dxgeom's ± for each group of answers, in the middle, under one of the two policies of a deployment."""
    policy = dx.load_policy(HERE / name / f"{file}.yaml")
    queries = dx.load_queries(HERE / name / "queries.yaml", policy)
    half_widths = dx.plan(policy.compile(), queries).half_widths(0.95)
    return [float(median(half_widths[one.first : one.end])) for one in DEPLOYMENTS[name]]


def number(value: float | None) -> str:
    """Return ± in digits that a reader needs."""
    return "not published" if value is None else f"{value:.1f}" if value < 20 else f"{value:,.0f}"


def row(name: str) -> str:
    """Return the line of the table."""
    groups = DEPLOYMENTS[name]
    columns = [
        [number(one.published) for one in groups][: 1 if groups[0].published is None else None],
        [number(value) for value in reached(name, "as-published")],
        [number(value) for value in reached(name, "policy")],
    ]
    words = "; ".join(one.name for one in groups)
    return (
        f"| [{name}](../../examples/deployments/{name}/policy.yaml) | {words} | "
        + " | ".join("; ".join(column) for column in columns)
        + " |"
    )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or DEPLOYMENTS:
        print(row(chosen))
