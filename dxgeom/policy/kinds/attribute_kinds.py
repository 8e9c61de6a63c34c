"""All kinds of attributes, and what is asked of whichever kind it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from dxgeom.policy.axes import Axis
from dxgeom.policy.kinds.graph import GraphKind
from dxgeom.policy.kinds.kind import AnyKind, Misfit
from dxgeom.policy.kinds.numbers import BinsKind, DatesKind, RangeKind
from dxgeom.policy.kinds.periods import PERIODS
from dxgeom.policy.kinds.places import PlacesKind, RegionsKind
from dxgeom.policy.kinds.words import ListedWordsKind, OpenKind, WordsKind
from dxgeom.policy.source.fields import Length
from dxgeom.universe.attributes import Attribute

WORDS: Final = WordsKind()
ATTRIBUTE_KINDS: Final[tuple[AnyKind, ...]] = (
    WORDS,
    ListedWordsKind(),
    RangeKind(),
    BinsKind(),
    DatesKind(),
    PlacesKind(),
    GraphKind(),
    RegionsKind(),
    OpenKind(),
)


def kind_by_key(keys: Mapping[str, object]) -> AnyKind | None:
    """The kind of a mapping in a policy file: the first one whose key it has."""
    return next((kind for kind in ATTRIBUTE_KINDS if kind is not WORDS and kind.key in keys), None)


def kind_of(syntax: Any) -> AnyKind | None:
    """The kind of what a policy file says of an attribute, read by the grammar or not."""
    if isinstance(syntax, Sequence) and not isinstance(syntax, str):
        return WORDS
    if isinstance(syntax, Mapping):
        return kind_by_key(syntax)
    return next(
        (kind for kind in (*ATTRIBUTE_KINDS, PERIODS) if kind is not WORDS and isinstance(syntax, kind.syntax)), None
    )


def kind_making(attribute: Attribute) -> AnyKind:
    """The first kind whose attributes are of this class.

    Raises: TypeError for an attribute that no kind makes.
    """
    for kind in (*ATTRIBUTE_KINDS, PERIODS):
        if isinstance(attribute, kind.makes):
            return kind
    raise TypeError(f"no kind of attribute makes a {type(attribute).__name__}")


def measured(attribute: Attribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
    """The axis and the exact amount along it that a length means for an attribute.

    Args: ``key`` of the rule that holds the length, for the message.
    """
    return kind_making(attribute).measured(attribute, key, length)
