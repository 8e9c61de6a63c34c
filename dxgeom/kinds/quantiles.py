"""Quantiles: each by transport cost or with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.universe.quantile_queries import QuantileQueries

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


@final
class QuantilesKind(QuestionKind[QuantileQueries]):
    """Quantiles of an attribute."""

    question = QuantileQueries
    about = "quantiles"
    heeds = frozenset({"mechanism", "records"})
    codec, field = "dxgeom.plan_files.quantile_plans:CODEC", "forms"

    def part(self, question: QuantileQueries, how: Planning) -> Plan:
        from dxgeom.planner.quantile_plan import plan_quantiles

        wish = how.wish
        return plan_quantiles(how.metric, question, records=wish.records, spend=wish.spend, mechanism=wish.mechanism)


QUANTILES: Final = QuantilesKind()
