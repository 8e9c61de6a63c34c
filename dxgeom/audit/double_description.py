"""The facets of a hull by double description, as a program: rationals in, corners of facets out, as JSON.

It is run in a process of its own, since pycddlib is GPL: nothing of it is loaded where dxgeom is used.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from fractions import Fraction
from typing import Final, NamedTuple, TextIO

from dxgeom.errors import MissingExtra
from dxgeom.numeric.optional_library import optional_library

MISSING: Final = "missing"
"""What is answered in place of ``facets``: the sentence about the library that is not there."""


class FoundFacets(NamedTuple):
    """Each facet as the places of the points on it; ``exact``: found in rationals and not in float64."""

    facets: list[list[int]]
    exact: bool


def facets_of(points: list[list[Fraction]]) -> FoundFacets:
    """The facets of the points' hull: by cdd.gmp where it is there, which is *exact*, else in float64.

    pycddlib-standalone has float64 only; pycddlib itself has both, and needs cddlib and GMP to be built.
    Raises: MissingExtra; ValueError for points that lie in a hyperplane.
    """
    task = "facets are found again, in a process of its own since it is GPL,"
    cdd = optional_library("cdd", "cdd", task)
    exact = importlib.util.find_spec("cdd.gmp") is not None
    kernel = optional_library("cdd.gmp", "cdd", task) if exact else cdd
    rows = [[entry if exact else float(entry) for entry in (Fraction(1), *point)] for point in points]
    polyhedron = kernel.polyhedron_from_matrix(kernel.matrix_from_array(rows, rep_type=cdd.RepType.GENERATOR))
    if kernel.copy_inequalities(polyhedron).lin_set:
        raise ValueError("the points lie in a hyperplane")
    return FoundFacets([sorted(on_it) for on_it in kernel.copy_incidence(polyhedron) if on_it], exact)


def main(question: TextIO, answer: TextIO) -> None:
    """{"points": [["p/q", …], …]} → {"facets": [[place, …], …], "exact": …}."""
    points = [[Fraction(entry) for entry in row] for row in json.load(question)["points"]]
    try:
        found = facets_of(points)
    except MissingExtra as error:
        json.dump({MISSING: str(error)}, answer)
    else:
        json.dump(found._asdict(), answer)


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
