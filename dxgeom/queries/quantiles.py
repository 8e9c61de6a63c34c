"""Queries that ask for quantiles: medians, and several levels at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Final, final

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.queries.columns import ColumnReader, groups_by
from dxgeom.queries.query_kind import WORD, By, NamedSyntax, QueryKind, Where, Word, condition_words, one_line
from dxgeom.universe.columns import NumberColumn
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.quantile_queries import AskedQuantiles
from dxgeom.universe.wording import shown

_MEDIAN: Final = (Fraction(1, 2),)
MOST_LEVELS: Final = 1000


def _levels(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST_LEVELS:
        raise PydanticCustomError("DX108", "'at' is a list of levels, such as [1/4, 1/2, 3/4]")
    return tuple(value)


Levels = Annotated[
    tuple[Any, ...],
    PlainValidator(_levels),
    WithJsonSchema({"type": "array", "items": WORD, "minItems": 1, "maxItems": MOST_LEVELS}),
    Field(description="Levels from 0, the least value, to 1, the greatest: [0.25, 0.5], or [1/4, 1/2]."),
]


@final
class MedianSyntax(NamedSyntax):
    """``{median: attribute, where: condition, by: [columns…]}``."""

    median: Word = Field(description="The median of an attribute of numbers or dates: one of its values.")
    where: Where = None
    by: By = None


@final
class QuantilesSyntax(NamedSyntax):
    """``{quantiles: attribute, at: [levels…], where: condition, by: [columns…]}``."""

    quantiles: Word = Field(description="Quantiles of an attribute of numbers or dates: each one of its values.")
    at: Levels
    where: Where = None
    by: By = None


@final
class Median(QueryKind):
    """The value in the middle, the lower of two."""

    word = "median"
    syntax = MedianSyntax

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQuantiles | None:
        return _quantiles(self.word, _MEDIAN, node, value, columns)


@final
class Quantiles(QueryKind):
    """The ⌈q·n⌉-th smallest of n values, for each level q."""

    word = "quantiles"
    syntax = QuantilesSyntax

    def read(self, node: Mapping, value: Node, columns: ColumnReader, records: int | None) -> AskedQuantiles | None:
        stated = node.entry("at")
        items = stated[1].items if stated and isinstance(stated[1], Sequence) else ()
        levels = [_level(item, columns) for item in items]
        known = tuple(level for level in levels if level is not None)
        again = next((place for place, level in enumerate(known) if level in known[:place]), None)
        if again is not None and len(known) == len(items):
            columns.note("DX219", items[again].span, "a level is listed twice", "name each level once")
            return None
        return None if len(known) < len(items) else _quantiles(self.word, known, node, value, columns)


def _quantiles(
    word: str, at: tuple[Fraction, ...], node: Mapping, value: Node, columns: ColumnReader
) -> AskedQuantiles | None:
    attribute, chosen, by = _ordered(value, columns), columns.where(node), node.entry("by")
    groups = [] if by is None else groups_by(by[1], columns)
    if attribute is None or chosen is None or groups is None:
        return None
    where = node.entry("where")
    said = "median" if word == "median" else "quantiles of"
    name = f"{said} {one_line(value)}{condition_words(node)}"
    condition = where[1].text if where is not None and isinstance(where[1], Scalar) else None
    return AskedQuantiles(name, attribute, at, word != "median", condition, tuple(groups))


def _ordered(value: Node, columns: ColumnReader) -> str | None:
    """The attribute that a value of the column stands for; its own column of numbers or dates."""
    found = columns.column(value)
    if found is None:
        return None
    axis, column = found
    attribute = columns.universe.attributes[axis]
    if column.name != attribute.columns[0].name:
        what = f"a quantile is of an attribute's own values, {shown(column.name)} is told of {shown(attribute.name)}"
        columns.note("DX201", value.span, what, "ask for counts of it, such as its prefixes")
    elif not isinstance(column, NumberColumn) and not isinstance(attribute, DateAttribute):
        what = f"{shown(column.name)} holds words, which have no order"
        columns.note("DX201", value.span, what, "quantiles are of numbers or dates")
    elif attribute.missing is not None:
        what = f"{shown(column.name)} may be missing, and of how many records it is there is private"
        columns.note("DX201", value.span, what, "ask for counts of it, such as its prefixes")
    else:
        return attribute.name
    return None


def _level(node: Node, columns: ColumnReader) -> Fraction | None:
    over, stroke, under = one_line(node).partition("/")
    try:
        level = exact(over) / (exact(under) if stroke else 1)
    except (NotANumber, ZeroDivisionError):
        level = Fraction(-1)
    if 0 <= level <= 1:
        return level
    columns.note("DX219", node.span, "a level lies between 0 and 1", "write 1/4 or 0.25 for the lower quartile")
    return None
