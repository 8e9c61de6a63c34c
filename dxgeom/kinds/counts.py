"""Counts and sums with noise on each: lists of linear queries, whole tables of counts, counts in very many boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

AIMS: Final = frozenset({"objective", "importance", "errors", "mechanism"})
OF_NOISE: Final = frozenset({"objective", "mechanism", "records", "hull_limits", "coarse_facets", "work"})
"""What may be said wherever noise on counts and sums is one of several things that are planned."""


@final
class LinearQueriesKind(QuestionKind[LinearQueries]):
    """Linear queries: noise of the best shape; or the best family of mechanisms, or noise in boxes, by its name."""

    question = LinearQueries
    about = "counts and sums"
    heeds = AIMS | OF_NOISE | {"published", "body"}
    counts = True
    codec = "dxgeom.plan_files.listed_plans:CODEC"

    def part(self, question: LinearQueries, how: Planning) -> Plan:
        from dxgeom.planner.candidates import require_known  # slow to load, as all that plans is
        from dxgeom.planner.choose import by_cost
        from dxgeom.planner.options import BOX_NOISE, NAMED_FAMILIES
        from dxgeom.universe.workloads.spans import boxes_of

        wish = how.wish
        if wish.mechanism in BOX_NOISE:
            boxes = boxes_of(question)
            own = how if wish.records != boxes.records else how.saying(records=None)
            BOXES.require_heeded(own.wish)
            return BOXES.part(boxes, own)
        require_known(wish.mechanism)
        if wish.mechanism in NAMED_FAMILIES:
            if question.universe is not None:
                question.universe.require_indexable("synthetic records")
            return FAMILIES.part(question, how)
        return by_cost(how.metric, question, wish)


@final
class FamiliesKind(QuestionKind[LinearQueries]):
    """Linear queries by noise or by synthetic records; what is asked is no kind of its own."""

    question = LinearQueries
    about = "several families"
    heeds = OF_NOISE
    counts = True

    def part(self, question: LinearQueries, how: Planning) -> Plan:
        from dxgeom.planner.tasks.families import plan_family

        self.require_heeded(how.wish)
        alone = how.saying(mechanism="auto")
        wish = how.wish
        return plan_family(
            how.metric, question, wish.mechanism, lambda: alone.of(question), records=wish.records, spend=wish.spend
        )


@final
class WholeTablesKind(QuestionKind[MarginalQueries]):
    """Whole tables of counts, over universes of any size."""

    question = MarginalQueries
    about = "whole tables of counts"
    heeds = AIMS
    counts = True
    own_noise = frozenset({"auto", "marginal-laplace", "marginal-gaussian", "kronecker-gaussian"})
    codec, field = "dxgeom.plan_files.table_plans:CODEC", "table_noise"

    def part(self, question: MarginalQueries, how: Planning) -> Plan:
        from dxgeom.planner.marginals.marginal_plan import plan_tables

        return plan_tables(how.metric, question, how.wish)


@final
class BoxesKind(QuestionKind[BoxQueries]):
    """Counts in very many boxes, along trees and lines of their attributes."""

    question = BoxQueries
    about = "very many boxes"
    heeds = AIMS
    counts = True
    own_noise = frozenset({"auto", "boxes-laplace", "boxes-gaussian"})
    codec, field = "dxgeom.plan_files.box_plans:CODEC", "box_noise"

    def part(self, question: BoxQueries, how: Planning) -> Plan:
        from dxgeom.planner.boxes.choosing import plan_boxes

        return plan_boxes(how.metric, question, how.wish)


COUNTS: Final = LinearQueriesKind()
TABLES: Final = WholeTablesKind()
BOXES: Final = BoxesKind()
FAMILIES: Final = FamiliesKind()
