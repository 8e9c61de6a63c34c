"""What a plan may be told about its candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias, final

import numpy as np

from dxgeom.arguments import require
from dxgeom.errors import WrongArgument
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.mechanisms.linear.shapes.coarse_hull import FACETS
from dxgeom.numeric.qhull import HullLimits

AUTO = "auto"
"""Every candidate is built, and the one with the smallest exact error is taken."""

Progress: TypeAlias = Callable[[str], None]


@final
@dataclass(frozen=True)
class PlanOptions:
    """Which candidates are built, and how far each may go.

    ``mechanism``: the name of the candidate to take, or "auto". ``records``: the public number of records; None where
    nobody states it. ``published``: also build the published baselines. ``hull_limits``: when to give the exact hull
    up. ``coarse_facets``: how many facets the coarsened hull may have. ``progress``: told in words what is being built.
    ``body``: a body of one's own to shape noise by, in answer units.
    """

    mechanism: str = AUTO
    records: int | None = None
    published: bool = False
    hull_limits: HullLimits | None = field(default=None, repr=False)
    coarse_facets: int = FACETS
    progress: Progress | None = field(default=None, repr=False)
    body: ConvexBody | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.records is not None:
            require(self.records, (int, np.integer), "records", "give their whole number")
        if self.hull_limits is not None:
            require(
                self.hull_limits, HullLimits, "hull_limits", "give HullLimits(facets=…, seconds=…), or leave it out"
            )
        require(self.published, bool, "published", "say True or False")
        require(self.coarse_facets, (int, np.integer), "coarse_facets", "give a whole number such as 8000")
        if not (self.progress is None or callable(self.progress)):
            raise WrongArgument("'progress' is told in words what is being built: pass a function of one text")

    @property
    def told_hull_limits(self) -> HullLimits | None:
        """The limits of the hull, with its facets told as they grow."""
        progress = self.progress
        if progress is None:
            return self.hull_limits
        return replace(
            self.hull_limits or HullLimits(), progress=lambda facets: progress(f"hull: {facets:,} facets so far")
        )
