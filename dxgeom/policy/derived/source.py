"""``from: column``, or for numbers ``from: weight / (height * height)``: another column, or numbers made of several."""

from __future__ import annotations

from typing import Any, ClassVar, final

from dxgeom.policy.derived.arithmetic import arithmetic
from dxgeom.policy.derived.derivation import DerivationKind, Stated, require_no_zone
from dxgeom.universe.reading.expressions import Expression, LocalDay, WordCell


@final
class SourceKind(DerivationKind):
    """The column of another name that holds the attribute; of numbers, what is worked out from several."""

    key: ClassVar[str] = "from"
    field: ClassVar[Any] = str
    about: ClassVar[str] = (
        "The column of tables that it is made from, if not one of its own name; for numbers also an expression of "
        "+ - * /, parentheses, numbers and columns, such as weight / (height * height)."
    )

    def expression(self, stated: Stated) -> Expression:
        if stated.makes == "days":
            return LocalDay(stated.column, stated.zone)
        require_no_zone(stated)
        if stated.makes == "words":
            return WordCell(stated.column)
        return arithmetic(stated.source or f"`{stated.name}`")
