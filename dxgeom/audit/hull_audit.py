"""Hulls, checked again: that a body has all the facets of its vertices' hull, and no other.

Another route than the body's: facets come from the vertices by double description, and not from simplices that Qhull
proposed and that were proved to close up. What speaks against a body is checked in integers before it is said.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from flint import fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.audit.double_description import MISSING, FoundFacets
from dxgeom.audit.plan_audit import mechanisms_within
from dxgeom.errors import CertificateRefused, MissingExtra, TooLarge, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.planner.plan import Plan

MOST_VERTICES: Final = 1_000
MOST_FACETS: Final = 4_000
"""Double description keeps the facets of every hull on the way, and compares them in pairs."""
SECONDS: Final = 60.0

Facet: TypeAlias = tuple[int, ...]
"""The places of the vertices on a facet, in ascending order: facets of one hull differ in them."""


@final
@dataclass(frozen=True)
class HullAudit:
    """``facets``: how many the hull of ``vertices`` has; ``exact``: found in rationals, so nothing can be missing."""

    vertices: int
    facets: int
    exact: bool

    def lines(self) -> list[str]:
        """The audit for a reader."""
        found = "rationals, which proves that none is missing" if self.exact else "float64, which might miss some"
        return [
            f"each of the {self.facets:,} facets is one of the hull of the {self.vertices:,} vertices, in integers",
            f"double description finds just these facets: in {found}",
        ]


def audit_hull(body: SymmetricPolytope, seconds: float = SECONDS) -> HullAudit:
    """Find a body's facets anew from its vertices, by pycddlib in a process of its own.

    dxgeom[cdd] brings pycddlib-standalone, which is GPL and works in float64; where pycddlib with GMP is installed in
    its place, that is used, in rationals.
    Guarantee: *exact* that every facet of the body is one of its vertices' hull, and what a refusal says; that none is
    missing is exact where ``exact`` says so, else as float64 tells.
    Args: ``seconds``: after so many the other process is stopped.
    Raises: CertificateRefused where the body lacks a facet of the hull, has one too many, or float64 cannot tell;
    TooLarge beyond 1,000 vertices, 4,000 facets or ``seconds``; MissingExtra where pycddlib is not installed.
    Source: Fukuda & Prodon, Double description method revisited, 1996.
    """
    require(body, SymmetricPolytope, "body", "give a hull, such as dx.geometry.hull_of_points makes")
    require(seconds, (int, float), "seconds", "give how long the other process may take, such as 60")
    corners = body.fan.vertices.astype(object)
    claimed = _facets(body, corners)
    if len(corners) > MOST_VERTICES or len(claimed) > MOST_FACETS:
        raise TooLarge(
            f"hulls are checked again up to {MOST_VERTICES:,} vertices and {MOST_FACETS:,} facets; this one has "
            f"{len(corners):,} and {len(claimed):,}"
        )
    answer = _facets_by_own_process(corners, seconds)
    found = {tuple(facet) for facet in answer.facets}
    for facet in sorted(found - claimed):
        if not _supports(corners, facet):
            raise CertificateRefused(f"float64 cannot tell the facets of this hull: {_EXACTLY}")
        raise CertificateRefused(f"the hull of the vertices has a facet that the body lacks, on vertices {facet}")
    if claimed - found:
        raise CertificateRefused(f"double description misses facets that are some: {_EXACTLY}")
    return HullAudit(len(corners), len(found), answer.exact)


def audit_hulls(plan: Any, seconds: float = SECONDS) -> tuple[tuple[str, HullAudit], ...]:
    """Every hull of a plan's noise with the name of where it is, each checked as by :func:`audit_hull`.

    Args: ``plan``: a plan, or what ``dx.load_plan`` returns. Bodies that are made of hulls are taken apart.
    Raises: UnsupportedCombination for a plan whose noise has no hull; as :func:`audit_hull`.
    """
    require(plan, Plan, "plan", "give a plan, or what dx.load_plan returns")
    found = [
        (f"{name}{mechanism.name}", hull)
        for name, mechanism in mechanisms_within(plan.mechanism, "")
        if isinstance(mechanism, AdditiveMechanism) and mechanism.law is not None and mechanism.law.body is not None
        for hull in _hulls_in(mechanism.law.body)
    ]
    if not found:
        raise UnsupportedCombination(
            "no noise of this plan has a hull, whose facets could be found again: dxgeom audit plan looks at any noise"
        )
    return tuple((name, audit_hull(hull, seconds)) for name, hull in found)


def _hulls_in(body: ConvexBody) -> Iterator[SymmetricPolytope]:
    """The polytopes with a proved boundary that a body is made of."""
    if body.polytope is not None:
        yield body.polytope
        return
    made_of = [*(body.factors or ()), *(body.summands or ())]
    if body.preimage is not None:
        made_of.append(body.preimage[0])
    for one in made_of:
        yield from _hulls_in(one)


_EXACTLY: Final = "install pycddlib with GMP, which works in rationals, in place of pycddlib-standalone"


def _facets(body: SymmetricPolytope, corners: NDArray[Any]) -> set[Facet]:
    """The body's, by their vertices. Raises: CertificateRefused unless each is a facet of the vertices' hull."""
    facets = set()
    for normal, height in {
        (*n, h): (n, h) for n, h in zip(map(tuple, body.fan.normals), body.fan.volumes, strict=True)
    }.values():
        heights = corners @ np.array(normal, dtype=object)
        facet = tuple(np.flatnonzero(heights == height).tolist())
        spans = (
            len(facet) and fmpz_mat([[int(x) for x in row] for row in corners[list(facet)]]).rank() == body.dimension
        )
        if height <= 0 or heights.max() > height or not spans:
            raise CertificateRefused(f"the body has a facet that is none of its vertices' hull, on vertices {facet}")
        facets.add(facet)
    return facets


def _supports(corners: NDArray[Any], facet: Facet) -> bool:
    """Whether a hyperplane goes through just these corners and leaves all others on the side of the origin."""
    chosen = fmpq_mat([[int(x) for x in row] for row in corners[list(facet)]])
    if chosen.rank() < chosen.ncols():
        return False
    ones = fmpq_mat([[1]] * len(facet))
    normal = (chosen.transpose() * chosen).inv() * (chosen.transpose() * ones)
    heights = fmpq_mat([[int(x) for x in row] for row in corners.tolist()]) * normal
    return all(heights[place, 0] == 1 if place in facet else heights[place, 0] < 1 for place in range(len(corners)))


def _facets_by_own_process(corners: NDArray[Any], seconds: float) -> FoundFacets:
    """What ``double_description`` answers, run by this interpreter with this path."""
    largest = int(np.abs(corners).max())
    question = json.dumps({"points": [[str(Fraction(entry, largest)) for entry in row] for row in corners.tolist()]})
    command = [sys.executable, "-m", "dxgeom.audit.double_description"]
    there = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        run = subprocess.run(  # noqa: S603 - this interpreter, and a module of this package
            command, input=question, capture_output=True, text=True, env=there, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TooLarge(f"double description took longer than {seconds:g} s: allow more seconds") from error
    if run.returncode:
        raise CertificateRefused(f"double description found no hull: {run.stderr.strip().rpartition(chr(10))[2]}")
    answer = json.loads(run.stdout)
    if MISSING in answer:
        raise MissingExtra(answer[MISSING])
    return FoundFacets(**answer)
