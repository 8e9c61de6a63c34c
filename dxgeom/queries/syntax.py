"""The language's grammar: the kinds of queries, and what a queries file may say."""

from __future__ import annotations

from typing import Annotated, Any, Final, final

from pydantic import BaseModel, Field, WithJsonSchema

from dxgeom.queries.counts_and_sums import Count, Matrix, Mean, Share, Sum, Variance
from dxgeom.queries.over_time import AgainstEarlier, EachPeriod, SlidingWindow, TotalSoFar
from dxgeom.queries.quantiles import Median, Quantiles
from dxgeom.queries.query_kind import STRICT, QueryKind
from dxgeom.queries.tables_of_counts import Marginal, Marginals, Prefixes, Ranges
from dxgeom.universe.wording import did_you_mean

QUERY_KINDS: Final[tuple[QueryKind, ...]] = (
    Count(),
    Sum(),
    Mean(),
    Variance(),
    Share(),
    Marginal(),
    Marginals(),
    Prefixes(),
    Ranges(),
    EachPeriod(),
    TotalSoFar(),
    SlidingWindow(),
    AgainstEarlier(),
    Median(),
    Quantiles(),
    Matrix(),
)
KINDS: Final = tuple(kind.word for kind in QUERY_KINDS)
_SHARED: Final = ("name", "label", "weight", "where", "by", "at", "importance", "unit", "error")
WORDS_OF_A_QUERY: Final = (*_SHARED, *KINDS)
_BY: Final = "write 'by: column', or 'by: [one, other]', beside a count, a sum, a mean or a share"
_WHERE: Final = "write 'where: 18 <= age < 65' beside it, with names of your own"
_ENDS: Final = "it is one person's number: write 'quantiles: column' with 'at: [0.05, 0.95]'"
_FIRST: Final = "write a task, 'tasks: [{name: first, select: {best: column, top: 3}}]'"
_SPREAD: Final = "write 'variance: column'; its root is the standard deviation"
_DIFFERENT: Final = "write a task, 'tasks: [{name: how many, distinct: column}]', of an attribute with listed values"
OF_OTHER_LANGUAGES: Final[dict[str, str]] = {
    **dict.fromkeys(("group_by", "group by", "groupby", "group"), _BY),
    **dict.fromkeys(("filter", "having", "between", "if", "condition"), _WHERE),
    **dict.fromkeys(("max", "min", "maximum", "minimum"), _ENDS),
    **dict.fromkeys(("top", "limit", "order_by", "order by", "mode"), _FIRST),
    **dict.fromkeys(("var", "std", "stddev", "sd", "standard_deviation", "stdev"), _SPREAD),
    **dict.fromkeys(("count_distinct", "count distinct", "distinct", "nunique", "unique"), _DIFFERENT),
    "keys": "write a task, 'tasks: [{keys: [one, other], spurious: 1}]'",
    **dict.fromkeys(("avg", "average"), "write 'mean: column'"),
    **dict.fromkeys(
        ("weights", "weighted", "weight_by"), "write 'weight: column' beside a count, a sum, a mean or a variance"
    ),
    **dict.fromkeys(
        ("histogram", "crosstab", "pivot", "cube"), "write 'marginal: column', or 'marginal: [one, other]'"
    ),
    **dict.fromkeys(("percentile", "percentiles"), "write 'quantiles: column' with 'at: [0.25, 0.75]'"),
    **dict.fromkeys(("cdf", "cumulative"), "write 'prefixes: column'"),
    **dict.fromkeys(("running", "rolling", "moving"), "write 'total: so far', or 'window: 7 days'"),
    **dict.fromkeys(("as", "alias"), "write 'name: its name' beside it"),
    **dict.fromkeys(("ratio", "rate", "proportion", "percent", "percentage"), "write 'share: age >= 65'"),
    **dict.fromkeys(
        ("fit", "regression", "ols"), "write a task, 'tasks: [{name: line, fit: {linear: one, by: [other]}}]'"
    ),
    **dict.fromkeys(
        ("clip", "clamp", "clipping", "bounds", "limits", "winsorize"),
        "write 'within: [0, 100]' beside a sum or a mean",
    ),
    "per": "write 'by: column' beside it; along the policy's time, 'every: day' with 'where:' instead of a count",
    "epsilon": "the policy's rules say which epsilon; a release spends a part of its budget, --spend or spend=",
    "estimate": "an estimate is asked for at the release: --estimate auto, or estimate='auto'",
    "spend": "how much of the budget is used is said to the command or the call: --spend 0.25, or spend=",
    "seed": "what is released is drawn from the system's randomness; a rehearsal is for trying, --rehearse",
}
"""Words that newcomers bring from elsewhere, lower case, and what to write."""


def instead_of(word: str, known: tuple[str, ...]) -> str:
    """What to write instead of a word that is none here."""
    return OF_OTHER_LANGUAGES.get(word.lower()) or did_you_mean(word, known)


_NUMBER: Final[dict[str, Any]] = {"type": ["number", "string"]}
_CORNER: Final[dict[str, Any]] = {"type": "array", "minItems": 1, "items": _NUMBER}
_BODY: Final[dict[str, Any]] = {"anyOf": [{"type": "array", "minItems": 1, "items": _CORNER}, {"type": "string"}]}


@final
class QueriesSyntax(BaseModel):
    """A whole queries file; its queries are read one by one."""

    model_config = STRICT

    records: Annotated[Any, WithJsonSchema({"type": ["integer", "string"], "exclusiveMinimum": 0})] = Field(
        None, description="The public number of records; means need it."
    )
    queries: Annotated[Any, WithJsonSchema({"type": "array", "minItems": 1})] = Field(
        None, description="What to ask; each query asks for one thing."
    )
    body: Annotated[Any, WithJsonSchema(_BODY)] = Field(
        None,
        description="The shape of the noise: corners, each with a number for every query, or for two queries a polygon "
        "in WKT.",
    )
    tasks: Annotated[Any, WithJsonSchema({"type": "array", "minItems": 1})] = Field(
        None,
        description="In place of queries: tasks of any kinds, which one release answers, each at its share.",
    )


def kinds_with(key: str) -> tuple[str, ...]:
    """The kinds of queries that have a key."""
    return tuple(kind.word for kind in QUERY_KINDS if key in kind.syntax.model_fields)
