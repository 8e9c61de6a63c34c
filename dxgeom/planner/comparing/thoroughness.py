"""Where the thorough search is made though nobody asked for it: it is short, and its work is stated before it begins.

Work is counted in operations, from sizes alone: the same plan is made on every machine, however busy.

Which candidates a plan considers, and what the best of them would do for some of its queries alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import comb
from typing import Final

import numpy as np

from dxgeom.mechanisms.linear.sensitivity import Sensitivity, sensitivity_of
from dxgeom.mechanisms.shapes.strategy import THOROUGH
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.planner.candidate_builder import BUILD_ERRORS, CandidateBuilder
from dxgeom.planner.candidates import Kind, build, names
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.wish import AUTO, PlanOptions
from dxgeom.privacy.measures import CONCENTRATED
from dxgeom.universe.queries import LinearQueries

SMALL: Final = 400_000_000
"""Operations, of which a processor makes some billion in a second: a search of no more is always thorough."""
SHORT: Final = 1_000_000_000
"""One of no more is thorough where what is found at once may leave something to be found."""
_SEARCHES: Final = 5
"""For a strategy with as many directions as answers, and for sums of several beginnings;"""
_TURNS: Final = 3 * THOROUGH.steps
"""of so many steps, each of products of matrices,"""
_STEP: Final = 100_000
"""and of what a call of many functions takes, however small these are."""
_FACET: Final = 300_000
"""To find a facet of a hull, and to draw from it."""


def work_of_search(sensitivity: Sensitivity, facets: int) -> int:
    """Operations of the thorough search, about: those of searches for strategies and of hulls, which take longest.

    Differences that are kept in factors are more work than anything. Args: ``facets``: at most so many are built. A
    hull's own are bounded by those of the cyclic polytope of its corners: work is rather overstated than understated.
    Source: McMullen 1970, the upper bound theorem.
    """
    dimension = int(np.sum(sensitivity.of_each_query > 0))
    if not isinstance(sensitivity.changes, ListedChanges | PairedChanges):
        return sys.maxsize
    differences = sensitivity.changes.count
    step = _STEP + 4 * dimension**2 * (dimension + differences)
    hull = min(facets, _most_facets(2 * differences, dimension))
    return _SEARCHES * min(_TURNS * step, int(THOROUGH.work)) + hull * _FACET


def _most_facets(corners: int, dimension: int) -> int:
    """Of a polytope with so many corners."""
    if dimension < 2 or corners <= dimension:
        return 2
    return sum(comb(corners - half, corners - dimension) for half in ((dimension + 1) // 2, dimension // 2 + 1))


def of_small_work(options: PlanOptions, sensitivity: Sensitivity) -> PlanOptions:
    """The same, thorough where that is little work."""
    return _thorough(options) if options.quick and _work(options, sensitivity) <= SMALL else options


def settled(shared: CandidateBuilder) -> CandidateBuilder:
    """The same, thorough where the search is short and what is found at once may leave something to be found: a
    mechanism was named, or there is neither normal noise nor the hull, on which other shapes seldom gain a hundredth.
    """
    options = shared.options
    if not options.quick or _work(options, shared.sensitivity) > SHORT:
        return shared
    enough = shared.sensitivity.metric.privacy == CONCENTRATED or (shared.objective.is_plain and shared.has_hull)
    if options.mechanism == AUTO and enough:
        return shared
    return replace(shared, options=_thorough(options))


def _work(options: PlanOptions, sensitivity: Sensitivity) -> int:
    return work_of_search(sensitivity, options.coarse_facets)


def _thorough(options: PlanOptions) -> PlanOptions:
    return replace(options, quick=False)


def error_alone(sensitivity: Sensitivity, queries: LinearQueries, options: PlanOptions, places: Sequence[int]) -> float:
    """The total mean squared error, at spend 1, of the best noise for these queries if they were all that is asked; of
    the mechanism that was named, or of Laplace noise where that cannot be had for them alone."""
    if options.progress is not None:
        options.progress(f"{queries.names[places[0]]} and its unit alone")
    if isinstance(sensitivity.changes, ListedChanges):
        own = sensitivity.only(places)
    else:
        own = sensitivity_of(sensitivity.metric, queries.only(places))
    shared = CandidateBuilder(own, options=replace(options, records=None, body=None))
    kinds = (Kind.SHAPE, *_kinds_of(shared))
    if options.mechanism == AUTO:
        return float(CandidateComparison(shared, names(*kinds)).best(kinds).variances().sum())
    if options.mechanism in names(*kinds, Kind.ORDINARY, Kind.PUBLISHED, Kind.OTHERWISE_DRAWN):
        with suppress(*BUILD_ERRORS):
            found = float(build(options.mechanism, shared).variances().sum())
            if shared.is_interrupted:
                raise KeyboardInterrupt
            return found
    return float(shared.laplace.variances().sum())


def candidate_names(shared: CandidateBuilder) -> tuple[str, ...]:
    """What is built, in the order in which it is listed."""
    options = shared.options
    size = shared.objective.size
    kinds = {Kind.SHAPE, Kind.ORDINARY, *_kinds_of(shared)}
    if options.body is not None:
        kinds.add(Kind.USER_BODY)
    if options.records is not None and shared.objective.wanted is None and size is None:
        kinds.add(Kind.CHANGED_QUERIES)
    if options.published:
        kinds.add(Kind.PUBLISHED)
    listed = {*names(*kinds), options.mechanism}
    return tuple(name for name in names() if name in listed)


def _kinds_of(shared: CandidateBuilder) -> set[Kind]:
    """What policy and queries add to the shapes that serve all."""
    concentrated = shared.sensitivity.metric.privacy == CONCENTRATED
    kinds = {Kind.CONCENTRATED if concentrated else Kind.PURE}
    if shared.objective.size is not None:
        return kinds
    if shared.asks_tables:
        kinds |= {Kind.TABLES, Kind.CONCENTRATED_TABLES} if concentrated else {Kind.TABLES}
        if concentrated and shared.asks_uneven_tables:
            kinds |= {Kind.UNEVEN_TABLES}
    elif shared.asks_boxes:
        kinds |= {Kind.BOXES, Kind.CONCENTRATED_BOXES} if concentrated else {Kind.BOXES}
    if shared.asks_products:
        kinds |= {Kind.CONCENTRATED_PRODUCTS if concentrated else Kind.PRODUCTS}
    return kinds
