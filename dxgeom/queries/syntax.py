"""The language's grammar: the kinds of queries, and what a queries file may say."""

from __future__ import annotations

from typing import Annotated, Any, Final, final

from pydantic import BaseModel, Field, WithJsonSchema

from dxgeom.queries.counts_and_sums import Count, Sum
from dxgeom.queries.matrix_file import Matrix
from dxgeom.queries.means_and_shares import Mean, Share
from dxgeom.queries.quantiles import Median, Quantiles
from dxgeom.queries.query_kind import STRICT, QueryKind
from dxgeom.queries.tables_of_counts import Marginal, Marginals, Prefixes, Ranges

QUERY_KINDS: Final[tuple[QueryKind, ...]] = (
    Count(),
    Sum(),
    Mean(),
    Share(),
    Marginal(),
    Marginals(),
    Prefixes(),
    Ranges(),
    Median(),
    Quantiles(),
    Matrix(),
)
KINDS: Final = tuple(kind.word for kind in QUERY_KINDS)
_SHARED: Final = ("name", "where", "by", "at", "importance", "unit", "error")
WORDS_OF_A_QUERY: Final = (*_SHARED, *KINDS)


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
    tasks: Annotated[Any, WithJsonSchema({"type": "array", "minItems": 1})] = Field(
        None,
        description="In place of queries: tasks of any kinds, which one release answers, each at its share.",
    )


def kinds_with(key: str) -> tuple[str, ...]:
    """The kinds of queries that have a key."""
    return tuple(kind.word for kind in QUERY_KINDS if key in kind.syntax.model_fields)
