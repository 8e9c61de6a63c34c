"""Released answers one by one, and as a table with a row for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, final

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.planner.answers.linear_answers import LinearAnswers
    from dxgeom.planner.answers.ratios import RatioAnswer
    from dxgeom.universe.workloads.groups import AnswerOrigin

_BEFORE_GROUPS: Final = ("query", "name")
_AFTER_GROUPS: Final = ("value", "low", "high", "rmse", "bias", "unit")
Columns: TypeAlias = dict[str, list[Any]]
Found = TypeVar("Found")


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


def answers_by_name(answers: LinearAnswers) -> Mapping[str, ReleasedAnswer | RatioAnswer]:
    """Every answer, with its interval at 95 %, and every ratio that was asked for."""
    origins = answers.queries.each_origin
    rows = zip(_rows(answers, range(answers.queries.count), 0.95, False), answers.exact_values, origins, strict=True)
    found: dict[str, ReleasedAnswer | RatioAnswer] = {
        row["name"]: ReleasedAnswer(
            row["name"],
            row["value"],
            exact,
            (row["low"], row["high"]),
            row["rmse"],
            row["bias"],
            row["unit"],
            origin.query,
            dict(origin.group),
        )
        for row, exact, origin in rows
    }
    return {ratio.name: ratio for ratio in answers.ratios()} | found


def the_answer(found: Mapping[str, Found], name: str, origins: Iterable[AnswerOrigin]) -> Found:
    """The answer of that name.

    Raises: UnsupportedCombination where there is none.
    """
    if isinstance(name, str) and name in found:
        return found[name]
    if not isinstance(name, str):
        raise UnsupportedCombination(f"answers are asked for by name, found {name!r}; all of them are in to_arrow()")
    several = any(origin.query == name for origin in origins)
    advice = f"it has several: take to_arrow(query={name!r})" if several else did_you_mean(name, found)
    raise UnsupportedCombination(f"no answer is called {shown(name)}" + (f"; {advice}" if advice else ""))


def unknown_name(what: str, name: object, known: Iterable[str]) -> UnsupportedCombination:
    """Where there is no query, task or reading of a name."""
    advice = did_you_mean(str(name), known)
    return UnsupportedCombination(f"no {what} is called {shown(str(name))}" + (f"; {advice}" if advice else ""))


def answer_columns(
    answers: LinearAnswers, level: float = 0.95, query: str | None = None, *, joint: bool = False
) -> Columns:
    """A row for each answer, and for each ratio asked for: its query and name, the values of the columns that it is
    about, the answer with its interval at ``level``, its error, bias and unit; a ratio has no error but its interval.

    Args: ``query``: only the answers of this query. ``joint``: whether all intervals hold at once. A column of the
    policy that is named like one of the table's own is called ``by …``.
    Raises: UnsupportedCombination for an unknown query.
    """
    origins, asked = answers.queries.each_origin, answers.queries.ratios
    places = [place for place, origin in enumerate(origins) if query in (None, origin.query)]
    ratios = [place for place, one in enumerate(asked) if query in (None, one.origin.query)]
    if not places and not ratios:
        known = dict.fromkeys([origin.query for origin in origins] + [one.origin.query for one in asked])
        raise unknown_name("query", query, known)
    about = [origins[place] for place in places] + [asked[place].origin for place in ratios]
    rows = [*_rows(answers, places, level, joint), *_ratio_rows(answers, ratios, level, joint)]
    titles = dict.fromkeys(title for origin in about for title, _ in origin.group)
    return {
        "query": [origin.query for origin in about],
        "name": [row["name"] for row in rows],
        **{
            titled(title, (*_BEFORE_GROUPS, *_AFTER_GROUPS)): [dict(origin.group).get(title) for origin in about]
            for title in titles
        },
        **{column: [row[column] for row in rows] for column in _AFTER_GROUPS},
    }


def _rows(answers: LinearAnswers, places: Sequence[int], level: float, joint: bool) -> Iterator[dict[str, Any]]:
    measures = answers.queries.measures or (None,) * answers.queries.count
    if not places:
        return
    intervals, rmse, biases = answers.intervals(level, joint=joint), answers.rmse, answers.biases
    for place in places:
        yield {
            "name": answers.names[place],
            "value": float(answers.exact_values[place]),
            "low": float(intervals[place, 0]),
            "high": float(intervals[place, 1]),
            "rmse": float(rmse[place]),
            "bias": float(biases[place]),
            "unit": measures[place],
        }


def _ratio_rows(answers: LinearAnswers, places: Sequence[int], level: float, joint: bool) -> Iterator[dict[str, Any]]:
    """The ratios at these places."""
    if not places:
        return
    units, ratios = ratio_units(answers), answers.ratios(level, joint=joint)
    for place in places:
        one = ratios[place]
        low, high = one.interval
        yield {
            "name": one.name,
            "value": one.value,
            "low": low,
            "high": high,
            "rmse": None,
            "bias": one.rounding,
            "unit": units[place],
        }


def ratio_units(answers: LinearAnswers) -> list[str | None]:
    """What each ratio is measured in: what its numerator is, unless that is its denominator's."""
    measures = answers.queries.measures or (None,) * answers.queries.count
    each = ((measures[one.numerator], measures[one.denominator]) for one in answers.queries.ratios)
    return [None if unit == other else unit for unit, other in each]


def titled(title: str, own: Collection[str]) -> str:
    """What a column of the policy is called in a table that has columns of its own."""
    return f"by {title}" if title in own else title


def origin_words(name: str, origin: AnswerOrigin) -> dict[str, Any]:
    """Which query of a file an answer is to, where it has another name, and the group that it is about."""
    query = {} if origin.query == name else {"query": origin.query}
    return {**query, **({"group": dict(origin.group)} if origin.group else {})}
