"""The rows of a table as a model's features, read as a policy's attributes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.learning.under_policy.encoding import EncodedAttribute, encoded, unused
from dxgeom.learning.under_policy.made_codes import made_codes
from dxgeom.learning.under_policy.rows import codes_of_column, column_of, require_inside
from dxgeom.universe.universe import Universe


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
