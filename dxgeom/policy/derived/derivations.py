"""All kinds of derivations; of several keys the first kind here counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dxgeom.policy.derived.derivation import DerivationKind, NotDerivable, Stated
from dxgeom.policy.derived.moment_parts import MomentPartKind
from dxgeom.policy.derived.prefix import PrefixKind
from dxgeom.policy.derived.source import SourceKind
from dxgeom.universe.attributes import CellType
from dxgeom.universe.reading.expressions import Expression

SOURCE: Final = SourceKind()
DERIVATIONS: Final[tuple[DerivationKind, ...]] = (MomentPartKind(), PrefixKind(), SOURCE)


def expression_of(name: str, key: Callable[[str], Any], makes: CellType) -> Expression | None:
    """What an attribute is made from; None where it is its own column as it is.

    Args: ``key``: what stands behind a key of the attribute, None where nothing does.
    Raises: NotDerivable.
    """
    given = [kind for kind in DERIVATIONS if key(kind.key) is not None]
    if not given and key("zone") is None:
        return None
    kind, *others = given or [SOURCE]
    besides = [other.key for other in others if other is not SOURCE]
    if besides:
        message = f"'{besides[0]}' does not go with '{kind.key}'"
        raise NotDerivable(besides[0], message, "make two attributes")
    return kind.expression(Stated(name, key(SOURCE.key), key(kind.key), key("zone"), makes))
