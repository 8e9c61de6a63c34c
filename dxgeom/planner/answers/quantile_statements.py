"""What holds of the errors of quantiles, whatever the data, in words."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dxgeom.mechanisms.contract.composition import Parallel
from dxgeom.mechanisms.quantiles.choice import MOST_RECORDS, QuantileMechanism
from dxgeom.mechanisms.quantiles.transport import TransportQuantiles
from dxgeom.universe.conditions.stepped import stands_for_more, stepped_columns
from dxgeom.universe.predicates import parse_predicate
from dxgeom.universe.quantile_queries import AskedQuantiles
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown


def statement_of(mechanism: QuantileMechanism | Parallel, records: int | None, level: float, spend: Fraction) -> str:
    """What holds with probability ``level`` of a query's errors.

    Args: ``records``: how many are asked about; None where only the release tells that, and of groups it is not used.
    """
    if isinstance(mechanism, Parallel):
        return "in each group: " + "; ".join(dict.fromkeys(_of_groups(mechanism, level, spend)))
    if records is not None or not isinstance(mechanism, TransportQuantiles):
        return mechanism.statement(MOST_RECORDS if records is None else records, level, spend)
    return _of_any_number([mechanism], level, spend)


def rounding_of(question: AskedQuantiles, universe: Universe) -> str:
    """What rounding to the attributes' values adds to a query's errors, in words to go on with; empty if nothing."""
    place = universe.names.index(question.attribute)
    said = ""
    if stands_for_more(universe, place, universe.attributes[place].columns[0]):
        said += (
            f"; a value of {shown(question.attribute)} stands for all up to the next one, and the quantile of the "
            "numbers themselves lies among those"
        )
    columns = () if question.where is None else stepped_columns(parse_predicate(question.where), universe)
    if columns:
        said += (
            f"; its condition asks which value of {', '.join(map(shown, columns))} a record has, not which number, and "
            "nothing is said of the difference; with < and >= there is none"
        )
    return said


def _of_groups(mechanism: Parallel, level: float, spend: Fraction) -> Iterator[str]:
    ranked = [part for part in mechanism.parts if isinstance(part, TransportQuantiles)]
    if ranked:
        yield _of_any_number(ranked, level, spend)
    for part in mechanism.parts:
        if not isinstance(part, TransportQuantiles):
            # The other form, whose statement is about values and the same for any number of records.
            yield part.statement(MOST_RECORDS, level, spend)  # type: ignore[attr-defined]


def _of_any_number(mechanisms: list[TransportQuantiles], level: float, spend: Fraction) -> str:
    """Of however many records: the loosest bound.

    One quantile, and several whose lengths do not add up, are off by no more ranks than their length pays for, or by
    all that there are. Of several that add up a length counts the ranks up to the next one asked for only.
    """
    bounds = [one.rank_bound(MOST_RECORDS, level, spend) for one in mechanisms]
    if None in bounds:
        return "some values are at distance 0, so that nothing can be said of the ranks of answers"
    most = max(bound for bound in bounds if bound is not None)
    apart = any(
        one.reach.adds_up and one.question.absence is None and len(set(one.question.at)) > 1 for one in mechanisms
    )
    where = ", where the ranks asked for are further apart than that" if apart else ""
    return f"with probability {level:g} the rank of each answer is off by at most {most:,}{where}"
