"""Released answers one by one, and as a table with a row for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.planner.answers.linear_answers import LinearAnswers

_BEFORE_GROUPS: Final = ("query", "name")
_AFTER_GROUPS: Final = ("value", "low", "high", "rmse", "bias", "unit")
Columns: TypeAlias = dict[str, list[Any]]


@final
@dataclass(frozen=True)
class ReleasedAnswer:
    """One private answer.

    ``interval``: the true answer lies between these with probability *at least* 0.95. ``rmse``: the root mean squared
    error, at its worst where the answer has a known bias, ``bias``. ``unit``: what it is measured in, where that is
    known. ``query``: the query of a file that it answers; ``group``: the values of columns that it is about, if any.
    """

    name: str
    value: float
    exact_value: Fraction = field(repr=False)
    interval: tuple[float, float]
    rmse: float
    bias: float
    unit: str | None
    query: str = field(repr=False)
    group: Mapping[str, str] = field(repr=False)


def answers_by_name(answers: LinearAnswers) -> Mapping[str, ReleasedAnswer]:
    """Every answer, with its interval at 95 %."""
    table, origins = answer_columns(answers), answers.queries.each_origin
    rows = zip(*(table[column] for column in ("name", *_AFTER_GROUPS)), answers.exact_values, origins, strict=True)
    return {
        name: ReleasedAnswer(name, value, exact, (low, high), rmse, bias, unit, origin.query, dict(origin.group))
        for name, value, low, high, rmse, bias, unit, exact, origin in rows
    }


def the_answer(found: Mapping[str, ReleasedAnswer], name: str) -> ReleasedAnswer:
    """The answer of that name.

    Raises: UnsupportedCombination where there is none.
    """
    if isinstance(name, str) and name in found:
        return found[name]
    if not isinstance(name, str):
        raise UnsupportedCombination(f"answers are asked for by name, found {name!r}; all of them are in to_arrow()")
    several = any(answer.query == name for answer in found.values())
    advice = f"it has several: take to_arrow(query={name!r})" if several else did_you_mean(name, found)
    raise UnsupportedCombination(f"no answer is called {shown(name)}" + (f"; {advice}" if advice else ""))


def answer_columns(answers: LinearAnswers, level: float = 0.95, query: str | None = None) -> Columns:
    """A row for each answer: its query and name, the values of the columns that it is about, the answer with its
    interval at ``level``, its error, bias and unit.

    Args: ``query``: only the answers of this query. A column of the policy that is named like one of the table's own is
    called ``by …``.
    Raises: UnsupportedCombination for an unknown query.
    """
    origins, measures = answers.queries.each_origin, answers.queries.measures or (None,) * answers.queries.count
    places = [place for place, origin in enumerate(origins) if query in (None, origin.query)]
    if not places:
        advice = did_you_mean(str(query), dict.fromkeys(origin.query for origin in origins))
        raise UnsupportedCombination(f"no query is called {shown(str(query))}" + (f"; {advice}" if advice else ""))
    groups = [dict(origins[place].group) for place in places]
    titles = dict.fromkeys(title for group in groups for title in group)
    intervals = answers.intervals(level)
    return {
        "query": [origins[place].query for place in places],
        "name": [answers.names[place] for place in places],
        **{_called(title): [group.get(title) for group in groups] for title in titles},
        "value": [float(answers.exact_values[place]) for place in places],
        "low": [float(intervals[place, 0]) for place in places],
        "high": [float(intervals[place, 1]) for place in places],
        "rmse": answers.rmse[places].tolist(),
        "bias": answers.biases[places].tolist(),
        "unit": [measures[place] for place in places],
    }


def _called(title: str) -> str:
    return f"by {title}" if title in (*_BEFORE_GROUPS, *_AFTER_GROUPS) else title
