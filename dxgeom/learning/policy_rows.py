"""The rows of a table as a policy's attributes read them: codes, what is outside, and a model's features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.answer_frames import arrow_table
from dxgeom.engines.cells import BatchEncoder
from dxgeom.engines.opening import opened
from dxgeom.engines.people import columns_of
from dxgeom.engines.reading import plan_reading
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import ArrayError, DataError, UnsupportedCombination
from dxgeom.learning.features import FeatureGroup
from dxgeom.numeric.sealed import Sealed
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.columns import NumberColumn
from dxgeom.universe.people.people import People
from dxgeom.universe.reading.reading import Reading
from dxgeom.universe.universe import Universe

_ENGINES: Final = frozenset({"_duckdb", "duckdb", "ibis"})
"""Whose tables have a length, which counts them once more or is refused."""


def is_here(table: Any) -> bool:
    """Whether the rows of a table are in memory, and not a file's or an engine's."""
    held = hasattr(table, "__len__") and not isinstance(table, (str, Path))
    return held and type(table).__module__.partition(".")[0] not in _ENGINES


def column_of(table: Any, name: str) -> NDArray[Any]:
    """A column of a data frame, an Arrow table, or a dictionary of columns. Raises: ArrayError without it."""
    try:
        return np.asarray(table[name])
    except (KeyError, IndexError, TypeError) as error:
        raise ArrayError(
            f"the table has no column '{name}', which the policy speaks of: hand over a data frame, an Arrow table or "
            "a dictionary with the policy's columns"
        ) from error


def codes_of(universe: Universe, places: Sequence[int], table: Any) -> list[NDArray[np.int64]]:
    """For each of these attributes (n,): the code of each row, in the table's order, ``OUTSIDE`` where there is none.

    Read as a release reads tables. Args: ``table``: a data frame, an Arrow table or a dictionary with the columns that
    the attributes are made of.
    Raises: ArrayError without one of these, and for one whose type does not fit.
    """
    readings = tuple(universe.reading.attributes[place] for place in places)
    alone = Universe(tuple(universe.attributes[place] for place in places), stated_reading=Reading(readings))
    columns = alone.reading.columns
    whole = table_of_cells({name: column_of(table, name) for name in columns}) if isinstance(table, dict) else table
    encoder = BatchEncoder(alone, frozenset())
    try:
        with opened(whole, columns) as source, plain_errors(source.described):
            found = [encoder.codes(batch) for batch in plan_reading(source, alone, None).batches()]
    except DataError as error:
        raise ArrayError(str(error)) from error
    return [np.concatenate([np.zeros(0, dtype=np.int64), *own]) for own in zip(*found, strict=True)]


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


def says_nothing(cell: Any) -> bool:
    """Whether a cell is none, an empty word, or no number or moment: what is not even equal to itself."""
    if cell is None or isinstance(cell, str):
        return not cell
    same = cell == cell
    return not isinstance(same, (bool, np.bool_)) or not same


def table_of_label(universe: Universe, label: str, y: Any) -> dict[str, NDArray[Any]]:
    """What is predicted, as the column that the policy reads it from.

    Raises: UnsupportedCombination for an attribute that a policy makes of several columns.
    """
    own = universe.reading.attributes[universe.names.index(label)]
    if own.expression is not None or len(own.columns) != 1:
        raise UnsupportedCombination(
            f"'{label}' is made of other columns by the policy: leave y out, and hand over a table that has them"
        )
    return {own.columns[0]: np.asarray(y).ravel()}


def joined_table(universe: Universe, label: str, X: Any, y: Any) -> Any:
    """One table of the columns that the policy reads, the predicted one among them. Raises: ArrayError."""
    people = universe.reading.people
    wanted = (*universe.reading.columns, *columns_of(people))
    given = {} if y is None else table_of_label(universe, label, y)
    columns = {name: given[name] if name in given else column_of(X, name) for name in dict.fromkeys(wanted)}
    if len({len(column) for column in columns.values()}) > 1:
        sizes = [len(column) for column in columns.values()]
        raise ArrayError(f"Found input variables with inconsistent numbers of samples: {sorted(set(sizes))}")
    return table_of_cells(columns)


def table_of_cells(columns: dict[str, NDArray[Any]]) -> Any:
    """An Arrow table of columns that NumPy holds."""
    return arrow_table({name: _cells(column) for name, column in columns.items()})


def _cells(column: NDArray[Any]) -> list[Any]:
    """As words, numbers, or nothing; days and moments as words, and numbers among words too."""
    if column.dtype.kind == "M":
        told = column if column.dtype == "datetime64[D]" else column.astype("datetime64[us]")
        return [None if text == "NaT" else text for text in told.astype(str).tolist()]
    cells = [None if says_nothing(cell) else cell for cell in column.tolist()]
    numbers = all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in cells)
    return cells if numbers else [None if cell is None else _word(cell) for cell in cells]


def _word(cell: Any) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


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
        places = [place for place, one in enumerate(self.encodings) if one is not None and one.groups]
        codes = codes_of(self.universe, places, table)
        for place, own in zip(places, codes, strict=True):
            require_inside(self.universe, place, own)
        features = [one.table[own] for one, own in zip(self.used, codes, strict=True)]
        return np.column_stack([np.ones(len(codes[0])), *features])


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


def refuse_what_is_the_policys(estimator: Any, *names: str) -> None:
    """Raises: UnsupportedCombination where an estimator says what its policy says, or not how much a fit may use."""
    for name in names:
        if getattr(estimator, name) is not None:
            raise UnsupportedCombination(
                f"under a policy '{name}' is the policy's own: leave it out, and say by spend= how much of "
                "the policy's budget this fit uses"
            )
    if estimator.spend is None:
        raise UnsupportedCombination("say how much of the policy's budget this fit uses: spend=0.5, for instance")
    if not estimator.fit_intercept or estimator.outside != "refuse":
        raise UnsupportedCombination(
            "under a policy a model has an intercept, and rows outside the universe are refused"
        )
