"""The rows of a table as a policy's attributes read them: codes, what is outside, and a model's features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.answer_frames import arrow_table
from dxgeom.engines.cells import BatchEncoder
from dxgeom.engines.opening import opened
from dxgeom.engines.people import columns_of
from dxgeom.engines.reading import plan_reading
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import ArrayError, UnsupportedCombination
from dxgeom.learning.features import FeatureGroup
from dxgeom.numeric.sealed import Sealed
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.columns import NumberColumn
from dxgeom.universe.people.people import People
from dxgeom.universe.reading.reading import CellReading, Reading
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import is_nan


def column_of(table: Any, name: str) -> NDArray[Any]:
    """A column of a data frame, an Arrow table, or a dictionary of columns. Raises: ArrayError without it."""
    try:
        return np.asarray(table[name])
    except (KeyError, IndexError, TypeError) as error:
        raise ArrayError(
            f"the table has no column '{name}', which the policy speaks of: hand over a data frame, an Arrow table or "
            "a dictionary with the policy's columns"
        ) from error


def codes_of_column(universe: Universe, place: int, cells: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """(n,): the code of one attribute in each row, ``OUTSIDE`` where there is none.

    Raises: UnsupportedCombination for an attribute that a policy makes of several columns.
    """
    attribute, reading = universe.attributes[place], universe.reading.attributes[place]
    if reading.expression is not None:
        raise UnsupportedCombination(
            f"'{attribute.name}' is made of other columns by the policy: leave y out, and hand "
            "over a table that has them"
        )
    return _coded(attribute, reading, cells)


def _coded(attribute: Attribute, reading: CellReading, cells: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    absent = np.logical_or.reduce([_is_absent(column) for column in cells])
    if reading.read_as == "numbers":
        numbers = [_numbers(column) for column in cells]
        codes = attribute.encode_cells(numbers)
    else:
        (column,) = cells
        codes = attribute.encode_cells([[str(cell) for cell in column.tolist()]])
    codes = np.where(codes == OUTSIDE, OUTSIDE if reading.unlisted is None else reading.unlisted, codes)
    return np.where(absent, OUTSIDE if attribute.missing is None else attribute.missing, codes)


def require_inside(universe: Universe, place: int, codes: NDArray[np.int64]) -> None:
    """Raises: ArrayError for rows outside the universe, by their number."""
    outside = int(np.sum(codes == OUTSIDE))
    if outside:
        attribute = universe.attributes[place]
        raise ArrayError(
            f"{outside:,} of {len(codes):,} rows have a '{attribute.name}' that the policy does not list, "
            f"{attribute.accepted('')}; correct them, or drop them; nothing was spent"
        )


def require_single_rows(people: People | None, table: Any) -> None:
    """Raises: ArrayError where the policy says that each person has a single row, and rows of the table name nobody, or
    somebody again."""
    if people is None:
        return
    column = column_of(table, people.column)
    cells = column.tolist()
    named = "each person has a single row ('count: single') and is named by " + f"'{people.column}'"
    if any(says_nothing(cell) for cell in cells):
        raise ArrayError(f"{named}, but some rows name nobody; fill it in, or leave these rows out; nothing was spent")
    if {*map(type, cells)} not in ({str}, {int}):
        raise ArrayError(f"{named}, by text or by whole numbers, and this column has neither alone; convert it")
    if len({*cells}) < len(cells):
        raise ArrayError(f"{named}, but somebody is named on more than one; keep one row of each; nothing was spent")


def _is_absent(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column), dtype=np.bool_)
    if column.dtype.kind != "O":
        empty = column == "" if column.dtype.kind == "U" else np.zeros(len(column))
        return np.asarray(empty, dtype=np.bool_)
    return np.array([says_nothing(cell) for cell in column.tolist()], dtype=np.bool_)


def says_nothing(cell: Any) -> bool:
    """Whether a cell is none, an empty word, or no number or moment: what is not even equal to itself."""
    if cell is None or isinstance(cell, str):
        return not cell
    same = cell == cell
    return not isinstance(same, (bool, np.bool_)) or not same


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind in "iufb":
        return column.astype(np.float64)
    return np.array([_number(cell) for cell in column.tolist()], dtype=np.float64)


def _number(cell: Any) -> float:
    try:
        return float("nan") if cell is None or is_nan(str(cell)) else float(cell)
    except (TypeError, ValueError):
        return float("nan")


def joined_table(universe: Universe, label: str, X: Any, y: Any) -> Any:
    """One table of the columns that the policy reads, the predicted one among them. Raises: ArrayError."""
    people = universe.reading.people
    own = universe.reading.attributes[universe.names.index(label)]
    wanted = (*universe.reading.columns, *columns_of(people))
    if y is not None and (own.expression is not None or len(own.columns) != 1):
        raise UnsupportedCombination(
            f"'{label}' is made of other columns by the policy: leave y out, and hand over a table that has them"
        )
    columns = {
        name: np.asarray(y).ravel() if y is not None and name in own.columns else column_of(X, name)
        for name in dict.fromkeys(wanted)
    }
    if len({len(column) for column in columns.values()}) > 1:
        sizes = [len(column) for column in columns.values()]
        raise ArrayError(f"Found input variables with inconsistent numbers of samples: {sorted(set(sizes))}")
    return table_of_cells(columns)


def table_of_cells(columns: dict[str, NDArray[Any]]) -> Any:
    """An Arrow table of columns that NumPy holds."""
    return arrow_table({name: _cells(column) for name, column in columns.items()})


def _cells(column: NDArray[Any]) -> list[Any]:
    """As words, numbers, or nothing; days as words."""
    if column.dtype.kind == "M":
        return [None if text == "NaT" else text for text in column.astype("datetime64[D]").astype(str).tolist()]
    cells = [None if says_nothing(cell) else cell for cell in column.tolist()]
    return [cell if cell is None or isinstance(cell, (str, int, float)) else str(cell) for cell in cells]


def made_codes(universe: Universe, place: int, table: Any) -> NDArray[np.int64]:
    """(n,): the code of one attribute in each row, in the table's order, ``OUTSIDE`` where there is none.

    Args: ``table``: a data frame, an Arrow table or a dictionary with the columns that the attribute is made of.
    Raises: DataError where a column's type does not fit.
    """
    reading = universe.reading.attributes[place]
    alone = Universe((universe.attributes[place],), stated_reading=Reading((reading,)))
    columns = alone.reading.columns
    whole = table_of_cells({name: np.asarray(table[name]) for name in columns}) if isinstance(table, dict) else table
    encoder = BatchEncoder(alone, frozenset())
    with opened(whole, columns) as source, plain_errors(source.described):
        batches = plan_reading(source, alone, None).batches()
        codes = [encoder.codes(batch)[0] for batch in batches]
    return np.concatenate([np.zeros(0, dtype=np.int64), *codes])


@final
@dataclass(frozen=True, eq=False)
class EncodedAttribute(Sealed):
    """``table`` (values, dimensions): the features of each code; ``groups``: theirs, in order.

    ``half``: what a distance of 1 in the first feature is worth, of numbers, and of days in days; else None.
    ``middle``: the number that is 0 there.
    """

    name: str
    groups: tuple[FeatureGroup, ...]
    table: NDArray[np.float64]
    half: Fraction | None = None
    middle: Fraction = Fraction(0)

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.table.shape[1])


def unused(attribute: Attribute) -> EncodedAttribute:
    """An attribute that a model does not look at: no features."""
    return EncodedAttribute(attribute.name, (), np.zeros((attribute.size, 0)))


def encoded(attribute: Attribute, beside_first: bool = False) -> EncodedAttribute:
    """An attribute's features.

    Numbers and days: one feature, the values' own least and largest at −1 and 1; anything else: a feature for each
    value, 1 where it holds, ``beside_first`` for each but the first, which all are then compared with. A missing number
    is 0, and 1 in a feature of its own.
    Guarantee: features are within their groups' bodies, whatever the value; nothing here comes from data.
    """
    present = attribute.present
    points = _points(present)
    missing = attribute.missing is not None
    if points is None:
        names = tuple(f"{attribute.name}={label}" for label in attribute.labels)[beside_first:]
        words = (FeatureGroup(names, "choice"),) if names else ()
        return EncodedAttribute(attribute.name, words, np.eye(attribute.size)[:, beside_first:])
    low, high = min(points), max(points)
    half, middle = (high - low) / 2 or Fraction(1), (low + high) / 2
    scaled = [float((2 * x - low - high) / (high - low)) if high > low else 0.0 for x in points]
    line = FeatureGroup((attribute.name,), "box")
    if not missing:
        return EncodedAttribute(attribute.name, (line,), np.array(scaled)[:, None], half, middle)
    groups = (line, FeatureGroup((f"{attribute.name} is missing",), "choice"))
    table = np.column_stack([[*scaled, 0.0], [0.0] * len(scaled) + [1.0]])
    return EncodedAttribute(attribute.name, groups, table, half, middle)


def _points(attribute: Attribute) -> list[Fraction] | None:
    """Where the values lie on a line, None for words without an order."""
    column = attribute.columns[0]
    if isinstance(column, NumberColumn):
        return list(column.added_up)
    if column.dates:
        return [Fraction(date.fromisoformat(text).toordinal()) for text in column.texts]
    return None


@final
@dataclass(frozen=True, eq=False)
class FeatureRows:
    """``encodings``: of each attribute in the universe's order, without features for those that a model does not see;
    None for the one that is predicted."""

    universe: Universe
    encodings: tuple[EncodedAttribute | None, ...]

    @property
    def used(self) -> tuple[EncodedAttribute, ...]:
        """Those with features."""
        return tuple(one for one in self.encodings if one is not None and one.groups)

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(name for one in self.used for group in one.groups for name in group.names)

    @property
    def halves(self) -> list[Fraction | None]:
        """For each feature, what 1 is worth of it in raw units; None of words and marks of what is missing."""
        return [one.half if place == 0 else None for one in self.used for place in range(one.size)]

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that features are read from, each once."""
        each = zip(self.encodings, self.universe.reading.attributes, strict=True)
        return tuple(
            dict.fromkeys(name for one, reading in each if one is not None and one.groups for name in reading.columns)
        )

    def rows(self, table: Any) -> NDArray[np.float64]:
        """(n, m): a one, then the features. Raises: ArrayError for rows outside the universe."""
        found = []
        for place, one in enumerate(self.encodings):
            if one is not None and one.groups:
                reading = self.universe.reading.attributes[place]
                cells = [column_of(table, name) for name in reading.columns]
                if reading.expression is None:
                    codes = codes_of_column(self.universe, place, cells)
                else:
                    codes = made_codes(self.universe, place, table)
                require_inside(self.universe, place, codes)
                found.append(one.table[codes])
        return np.column_stack([np.ones(len(found[0])), *found])


def feature_rows(
    universe: Universe, predicted: str, features: Sequence[str] | None, beside_first: bool = False
) -> FeatureRows:
    """The features of these attributes, of all but the ``predicted`` one where none are named.

    Raises: UnsupportedCombination for a name that the policy does not have, and where nothing is left to tell it from.
    """
    if predicted not in universe.names:
        raise UnsupportedCombination(f"the policy has no attribute '{predicted}', its are {', '.join(universe.names)}")
    named = [name for name in universe.names if name != predicted] if features is None else list(features)
    for name in named:
        if name not in universe.names or name == predicted:
            raise UnsupportedCombination(
                f"'{predicted}' is told from other attributes of the policy, {', '.join(universe.names)}; found "
                f"'{name}'"
            )
    encodings = tuple(
        None if one.name == predicted else encoded(one, beside_first) if one.name in named else unused(one)
        for one in universe.attributes
    )
    found = FeatureRows(universe, encodings)
    if not found.used:
        raise UnsupportedCombination(f"'{predicted}' is told from other attributes with two values at least: name some")
    return found
