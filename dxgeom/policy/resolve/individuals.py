"""Individuals with an epsilon of their own each, from a column of their attribute's file."""

from __future__ import annotations

from fractions import Fraction

from dxgeom.policy.source.data_files import WrongContent
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import TextColumn
from dxgeom.universe.wording import did_you_mean, shown


def epsilons_in_column(attribute: Attribute, name: str) -> tuple[Fraction, ...]:
    """The number of each value in a further column of the attribute's file.

    Raises: WrongContent when there is no such column, or it does not hold numbers above 0.
    """
    columns = {column.name: column for column in attribute.columns[1:]}
    if name not in columns:
        guess = (
            did_you_mean(name, columns)
            or "list the individuals with their epsilons, or name a column of the attribute's own file"
        )
        raise WrongContent(f"the attribute {shown(attribute.name)} has no further column {shown(name)}; {guess}")
    column = columns[name]
    if isinstance(column, TextColumn):
        raise WrongContent(f"the column {shown(name)} does not hold numbers only")
    least = min(column.numbers)
    if least <= 0:
        whose = attribute.labels[column.numbers.index(least)]
        raise WrongContent(f"{shown(name)} of {shown(whose)} is not above 0; an epsilon is")
    return column.numbers
