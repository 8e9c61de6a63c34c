"""Which candidates a plan considers, and what the best of them would do for some of its queries alone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from dxgeom.mechanisms.linear.sensitivity import Sensitivity, sensitivity_of
from dxgeom.metrics.changes import ListedChanges
from dxgeom.planner.candidate_builder import BUILD_ERRORS, CandidateBuilder
from dxgeom.planner.candidates import Kind, build, names
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.options import AUTO, PlanOptions
from dxgeom.privacy.measures import CONCENTRATED
from dxgeom.universe.queries import LinearQueries


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
