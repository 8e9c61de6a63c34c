"""What may be said of a plan beside metric and queries, and how what was said once is still understood.

What a plan may be told about its candidates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import wraps
from types import NoneType
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, final

from dxgeom.arguments import NUMBER, WHOLE, pointing_elsewhere, require, require_function
from dxgeom.errors import WrongArgument
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.halfspaces import body_of_corners
from dxgeom.mechanisms.shapes.hulls import FACETS
from dxgeom.numeric.qhull import HullLimits
from dxgeom.numeric.work import ALLOWED
from dxgeom.planner.amounts import Amount
from dxgeom.planner.objectives.aims import Errors
from dxgeom.planner.objectives.objective import ObjectiveName
from dxgeom.progress_line import ProgressLine

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


Given = ParamSpec("Given")
Planned = TypeVar("Planned")


@final
@dataclass(frozen=True)
class Search:
    """How noise on counts and sums is looked for, where that is to be said.

    ``published``: also build the literature's ways to scale Laplace noise, to be compared with; they are never chosen
    unless named, the optimal scales are no worse. ``hull_limits``: when to give the exact hull up. ``coarse_facets``:
    how many facets the coarsened hull may have; more make its error smaller and its set-up longer. ``body``: a norm
    ball of one's own, in answer units with a coordinate for each query, in their order; the candidate ``body`` is its
    noise, the body made as large or as small as the metric needs. It may be a symmetric polygon of Shapely, or a list
    of corners, each of which stands for its opposite, too: then it is the hull around them. ``work``: how many
    multiplications a search may take that cannot be cut short, as one for very many answers; 2e11, which is what it is
    left out, take about a minute.
    """

    published: bool = False
    hull_limits: HullLimits | None = field(default=None, repr=False)
    coarse_facets: int = FACETS
    body: Any = field(default=None, repr=False)
    work: float = ALLOWED

    def __post_init__(self) -> None:
        limits = "give HullLimits(facets=…, seconds=…), or leave it out"
        require(self.hull_limits, (HullLimits, NoneType), "hull_limits", limits)
        require(self.published, bool, "published", "say True or False")
        if self.body is not None:
            object.__setattr__(self, "body", body_of_corners(self.body))
        require(self.coarse_facets, WHOLE, "coarse_facets", "give a whole number such as 8000")
        require(self.work, NUMBER, "work", "give a number of multiplications, such as 1e12")
        if not self.work > 0:
            raise WrongArgument(f"'work' is a positive number of multiplications, such as 1e12; found {self.work}")


USUAL: Final = Search()


@final
@dataclass(frozen=True, eq=False)
class Wish:
    """What is said of a plan: see :func:`dxgeom.plan`."""

    objective: ObjectiveName = "balanced"
    importance: Sequence[Amount] | None = None
    errors: Errors | None = None
    mechanism: str = AUTO
    records: int | None = None
    spend: Fraction = Fraction(1)
    thorough: bool = False
    progress: Progress | None = None
    search: Search = USUAL

    def __post_init__(self) -> None:
        require(self.records, (*WHOLE, NoneType), "records", "give their whole number")
        require(self.thorough, bool, "thorough", "say True or False")
        require(self.search, Search, "search", "give dx.Search(published=…, coarse_facets=…), or leave it out")

    @property
    def given(self) -> tuple[str, ...]:
        """The names of what is another than if it had been left out, those of a search too."""
        here = [one.name for one in fields(Wish) if one.name != "search" and _differs(self, one.name, one.default)]
        return (*here, *(one.name for one in fields(Search) if _differs(self.search, one.name, one.default)))

    @property
    def plainly(self) -> bool:
        """Whether nothing is said of how noise is looked for, but for how long, by how much work, and who hears it."""
        own = self.options
        return own == PlanOptions(progress=own.progress, quick=own.quick, work=own.work)

    @property
    def options(self) -> PlanOptions:
        """What candidates of noise are built by."""
        said = {one.name: getattr(self.search, one.name) for one in fields(Search)}
        return PlanOptions(self.mechanism, self.records, progress=self.progress, quick=not self.thorough, **said)


def listener(progress: Progress | bool | None) -> AbstractContextManager[Progress | None]:
    """Who is told what is being built: a line on standard error, or in a notebook, for True. Raises: WrongArgument."""
    if isinstance(progress, bool):
        return ProgressLine("planning") if progress else nullcontext()
    if progress is not None:
        require_function(progress, "progress", "say True, or pass one of one text, which says what is being built")
    return nullcontext(progress)


def _differs(options: object, name: str, default: object) -> bool:
    """Arrays are never what is left out, and are not compared with it."""
    value = getattr(options, name)
    return value is not default and not (isinstance(value, (bool, int, str, Fraction)) and value == default)


def with_old_words(plan: Callable[Given, Planned]) -> Callable[Given, Planned]:
    """The same, which still understands for one version what is now said in a search, or as ``thorough``."""

    plan = pointing_elsewhere(plan)

    @wraps(plan)
    def understanding(*given: Given.args, **said: Given.kwargs) -> Planned:
        words = {one.name for one in fields(Search)} & said.keys()
        searched: dict[str, Any] = {name: said.pop(name) for name in words}
        meant: dict[str, Any] = {}
        if searched:
            if said.get("search") is not None:
                raise WrongArgument(f"'{min(words)}' is part of the search: say it in dx.Search(…), and nowhere else")
            meant["search"] = Search(**searched)
        if "quick" in said:
            quick = said.pop("quick")
            require(quick, bool, "quick", "say True or False")
            meant["thorough"] = not quick
        if meant:
            each = [f"search=dx.Search({', '.join(f'{one}=…' for one in sorted(searched))})"] if searched else []
            each += [f"thorough={meant['thorough']}"] if "thorough" in meant else []
            old = ", ".join(sorted({*searched, *(("quick",) if "thorough" in meant else ())}))
            anew = f"write dx.plan(metric, queries, {', '.join(each)})"
            warnings.warn(f"'{old}' will go in the next version: {anew}", DeprecationWarning, stacklevel=2)
            said.update(meant)
        return plan(*given, **said)

    return understanding
