"""What a plan may be told about its candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias, final

from dxgeom.geometry.body import ConvexBody
from dxgeom.mechanisms.shapes.hulls import FACETS
from dxgeom.numeric.qhull import HullLimits
from dxgeom.numeric.work import ALLOWED

AUTO = "auto"
"""Every candidate is built, and the one with the smallest exact error is taken."""

FAMILIES = "families"
"""The family of mechanisms with the smallest proved bound is taken."""
MWEM = "mwem"
"""Multiplicative weights answer."""
DATABASE = "small-database"
"""A database of few records answers."""
NAMED_FAMILIES = (FAMILIES, MWEM, DATABASE)
BOX_NOISE = ("boxes-laplace", "boxes-gaussian", "toeplitz-gaussian")
"""Named, they answer linear queries that are all counts in boxes as ``BoxQueries``."""
"""What may stand for a mechanism and is none that adds noise."""

_QUICK_FACETS = 2_000
"""Of the hull;"""
_QUICK_COARSE_FACETS = 6_000
"""of one that is coarsened where it has more, which a quick plan seeks around few differences only."""

Progress: TypeAlias = Callable[[str], None]


@final
@dataclass(frozen=True)
class PlanOptions:
    """Which candidates are built, and how far each may go.

    ``mechanism``: the name of the candidate to take, or "auto". ``records``: the public number of records; None where
    nobody states it. ``published``: also build the published baselines. ``hull_limits``: when to give the exact hull
    up. ``coarse_facets``: how many facets the coarsened hull may have. ``progress``: told in words what is being built.
    ``body``: a body of one's own to shape noise by, in answer units. ``quick``: only what is found at once. ``work``:
    multiplications that a search may take which cannot be cut short.
    """

    mechanism: str = AUTO
    records: int | None = None
    published: bool = False
    hull_limits: HullLimits | None = field(default=None, repr=False)
    coarse_facets: int = FACETS
    progress: Progress | None = field(default=None, repr=False)
    body: ConvexBody | None = field(default=None, repr=False)
    quick: bool = False
    work: float = ALLOWED

    @property
    def facets(self) -> int:
        """How many facets the coarsened hull may have."""
        return min(self.coarse_facets, _QUICK_COARSE_FACETS) if self.quick else self.coarse_facets

    @property
    def told_hull_limits(self) -> HullLimits | None:
        """The limits of the hull, with its facets told as they grow."""
        progress, limits = self.progress, self.hull_limits
        if self.quick:
            limits = limits or HullLimits()
            limits = replace(limits, facets=min(limits.facets, _QUICK_FACETS))
        if progress is None:
            return limits
        return replace(limits or HullLimits(), progress=lambda facets: progress(f"hull: {facets:,} facets so far"))
