"""What public numbers save plans of counts and sums, and what these say of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dxgeom.mechanisms.linear.sensitivity import Sensitivity, on_records_of, sensitivity_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.privacy.measures import PURE
from dxgeom.universe.public_counts import NONE
from dxgeom.universe.public_shares import PublicNumbers, PublicPart, Shares, less_public
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.counts import Counts

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.additive import AdditiveMechanism
    from dxgeom.mechanisms.parts.table_mechanism import TableMechanism
    from dxgeom.planner.plan import Plan

EXACT: Final = "exact, public"
"""What is said of an answer that public numbers imply,"""
ROUNDED: Final = "public, of rounded values"
"""and of one that is a sum of values that each stand for many numbers, so that its bar is not 0."""
ALL_PUBLIC: Final = (
    "all of it is public, and costs nothing: take it from the policy's numbers; a release of nothing else is refused, "
    "and beside other tasks it uses up no part of the budget"
)
NOT_COMPARED: Final = (
    "public numbers are the policy's and never compared with the data: where they are wrong, answers are, beyond their "
    "error bars"
)
MOST_ANSWERS: Final = 320
"""Of more answers noise is sought in parts that they share: what is left of them may have lost these,"""
_MOST_LEFT: Final = 1 << 18
"""and is looked at under pure privacy, up to so many weights; what they imply is left out of any number."""
_FEW_CELLS: Final = 36
"""Tables of more cells have noise in parts, less those that public numbers tell."""
_NAMED: Final = 3


def numbers_of(metric: VerifiedMetric) -> PublicNumbers | None:
    """The public numbers of the policy that a metric came from; None where it states none, or its counts alone."""
    known, universe = metric.known, metric.universe
    if known is None or universe is None or all(one.numbers is None for one in known.counts):
        return None
    return PublicNumbers(known, universe)


def fits_of(metric: VerifiedMetric, queries: LinearQueries) -> list[Shares | None]:
    """What may be taken away of each query, in one way or several; None for nothing of any, and only where nothing
    else is to be had."""
    numbers = numbers_of(metric)
    if numbers is None:
        return [None]
    from dxgeom.mechanisms.linear.public_centres import implied_alone, projection, public_fits  # and a solver with it

    records = on_records_of(metric, queries)
    if queries.count <= MOST_ANSWERS:
        return [*public_fits(records, numbers, queries)] or [None]
    implied = implied_alone(records, numbers, queries)
    projected = implied
    if metric.privacy == PURE and queries.count * numbers.universe.record_types <= _MOST_LEFT:
        projected = projection(records, numbers, queries).shares
    found: list[Shares | None] = [one for one in (implied, projected) if any(own is not None for own in one)]
    return found[: 1 + (implied != projected)] or [None]


def leaves_shapes(plan: Plan) -> bool:
    """Whether what is left of a plan's queries may have lost a form for which noise in parts is known, as whole tables
    have, and no search made up for that: the queries as they are may then be answered with less noise. Not where public
    numbers imply an answer, which would not be exact any more."""
    part = public_part(plan.mechanism)
    unfinished = plan.comparison.search == "quick" and plan.interrupted is None
    return part is not None and unfinished and not part.implied.any()


def follow_from_known(metric: VerifiedMetric, queries: LinearQueries) -> bool:
    """Whether all answers follow from counts that the policy lists as public, with or without their numbers."""
    known, universe = metric.known, metric.universe
    if known is None or universe is None:
        return False
    from dxgeom.mechanisms.linear.public_centres import projection  # and a solver with it

    counts = tuple(one if one.numbers is not None else replace(one, numbers=(0,) * one.sets) for one in known.counts)
    return all(projection(metric, PublicNumbers(replace(known, counts=counts), universe), queries).implied)


def everybody_is_counted(metric: VerifiedMetric) -> bool:
    """Whether the number of all records follows from counts that the policy lists as public."""
    known = metric.known
    return known is not None and any(bool(np.all(one.cells != NONE)) for one in known.counts)


def helped(metric: VerifiedMetric, queries: Counts) -> bool:
    """Whether public numbers say something of counts in another form, of which there are few; and no more than they
    save in that form."""
    if numbers_of(metric) is None or queries.count > (_FEW_CELLS if told_of_tables(metric, queries) else MOST_ANSWERS):
        return False
    return fits_of(metric, queries.listed) != [None]


def told_of_tables(metric: VerifiedMetric, queries: Counts) -> bool:
    """Whether these are whole tables, and public numbers tell parts of them."""
    from dxgeom.planner.kind import kind_of  # which plans of all kinds are told by

    return numbers_of(metric) is not None and kind_of(queries).leaves_public(metric, queries)


def sensitivity_less_public(
    metric: VerifiedMetric, queries: LinearQueries, shares: Shares | None
) -> tuple[Sensitivity, LinearQueries]:
    """The sensitivity of what is asked of the data, and that. Raises: as :func:`sensitivity_of`, ``less_public``."""
    numbers = numbers_of(metric)
    if shares is None or numbers is None:
        return sensitivity_of(metric, queries), queries
    answered, part = less_public(numbers, queries, shares)
    return sensitivity_of(metric, answered, part), answered


def public_part(mechanism: AdditiveMechanism) -> PublicPart | None:
    """What public numbers say of a mechanism's answers."""
    return mechanism.sensitivity.queries.public


def public_sentences(queries: LinearQueries, mechanism: AdditiveMechanism) -> list[str]:
    """What public numbers are to the answers, for a reader; nothing where they are none."""
    part = public_part(mechanism)
    if part is None:
        return []
    names = queries.names
    whole, partly = np.flatnonzero(part.implied), np.flatnonzero(part.helped & ~part.implied)
    said = []
    if whole.size:
        said.append(
            f"{_listed(names, whole.tolist())} follow{'s' if whole.size == 1 else ''} from the policy's public "
            f"numbers: {_exactness(queries, whole.tolist())}, nothing is asked of the data for "
            f"{'it' if whole.size == 1 else 'them'}"
        )
    if partly.size:
        said.append(
            f"public numbers are part of {_listed(names, partly.tolist())}: only the rest is asked of the data, and "
            "has the noise"
        )
    return [*said, *([ALL_PUBLIC] if whole.size == len(names) else []), NOT_COMPARED]


def sentences_of_tables(mechanism: TableMechanism) -> list[str]:
    """What public numbers are to whole tables, for a reader; nothing where they are none."""
    if not mechanism.public:
        return []
    told = [frozenset(mechanism.family.members_of(number)) for number in mechanism.told]
    columns = mechanism.queries.column_titles
    largest = [", ".join(columns[a] for a in sorted(one)) for one in told if not any(one < other for other in told)]
    names, whole = mechanism.queries.names, np.flatnonzero(mechanism.all_told).tolist()
    margins = " and of ".join(f"'{one}'" for one in largest if one) or "all records"
    said = [f"the counts of {margins} are the policy's public numbers, exactly: only the rest of tables has noise"]
    if whole:
        said.append(f"{_listed(names, whole)} follow{'s' if len(whole) == 1 else ''} from them: {EXACT}")
    return [*said, *([ALL_PUBLIC] if len(whole) == len(names) else []), NOT_COMPARED]


def told_of_plan(plan: Plan) -> bool:
    """Whether a plan of whole tables leaves out of them what public numbers tell."""
    from dxgeom.mechanisms.parts.table_mechanism import TableMechanism  # slow to load

    return isinstance(plan.mechanism, TableMechanism) and plan.mechanism.public


def _exactness(queries: LinearQueries, places: list[int]) -> str:
    """Whether answers at these places, which public numbers imply, are exact."""
    rounded = sum(queries.each_rounding[place].per_record > 0 for place in places)
    return EXACT if not rounded else ROUNDED if rounded == len(places) else f"{EXACT}, but for rounded values"


def unused_in_words(plan: Plan) -> list[str]:
    """That a plan, or how many of its parts, make no use of the policy's public numbers, where it has any; else
    nothing."""
    if numbers_of(plan.metric) is None:
        return []
    each = [_uses(one) for one in _inside(plan)]
    if any(each):
        left = len(each) - sum(each)
        said = [f"Of {len(each):,} parts {left:,} make no use of the policy's public numbers."] if left else []
        alone = len(each) == 1 and plan.answers_a_list  # of which the notes of answers tell
        return said if alone else [*said, f"▲ {NOT_COMPARED[:1].upper()}{NOT_COMPARED[1:]}."]
    return [
        "The policy's public numbers are not used here: they are exact where they imply an answer, and save noise on "
        "whole tables of any size, and on counts and sums with up to about a million weights."
    ]


def _inside(plan: Plan) -> Iterator[Plan]:
    parts = plan.kind.inside(plan)
    for part in parts:
        yield from _inside(part)
    if not parts:
        yield plan


def _uses(plan: Plan) -> bool:
    return told_of_plan(plan) or (plan.answers_a_list and public_part(plan.mechanism) is not None)


def public_words(queries: LinearQueries, mechanism: AdditiveMechanism) -> list[dict[str, Any]]:
    """What JSON says of each answer: whether public numbers are all of it, or a part, where they are of any."""
    part = public_part(mechanism)
    if part is None:
        return [{}] * queries.count
    each = zip(part.helped.tolist(), part.implied.tolist(), queries.each_rounding, strict=True)
    return [
        {"public": (ROUNDED if one.per_record else EXACT) if implied else "in part" if helped else None}
        for helped, implied, one in each
    ]


def _listed(names: Sequence[str], places: list[int]) -> str:
    named = ", ".join(f"'{names[place]}'" for place in places[:_NAMED])
    return named if len(places) <= _NAMED else f"{named} and {len(places) - _NAMED:,} more answers"
