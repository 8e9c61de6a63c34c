"""``from: postcode, prefix: 2``: the beginning of a word."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, final

from pydantic import PlainValidator, WithJsonSchema

from dxgeom.policy.derived.derivation import DerivationKind, NotDerivable, Stated, require_no_zone
from dxgeom.policy.source.fields import whole_from_1
from dxgeom.universe.reading.expressions import Expression, WordCell

_WHOLE = {"type": ["integer", "string"], "exclusiveMinimum": 0}


@final
class PrefixKind(DerivationKind):
    """The first characters of a word, counted as Unicode does; a shorter word stays as it is."""

    key: ClassVar[str] = "prefix"
    field: ClassVar[Any] = Annotated[
        int, PlainValidator(lambda value: whole_from_1(value, "characters")), WithJsonSchema(_WHOLE)
    ]
    about: ClassVar[str] = "Only so many first characters of the word in the column."

    def expression(self, stated: Stated) -> Expression:
        require_no_zone(stated)
        if stated.makes != "words":
            raise NotDerivable("prefix", "'prefix' makes words", "write its values as a list of words")
        return WordCell(stated.column, stated.given)
