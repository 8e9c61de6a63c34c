"""What a kind of derivation is: a key of an attribute, and what it makes of a row's cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

from dxgeom.universe.attributes import CellType
from dxgeom.universe.reading.expressions import Expression


@final
class NotDerivable(Exception):
    """What is stated makes nothing that the attribute could be; the message says why. Callers give it a place.

    ``key``: of the attribute, where it stands; ``advice``: what to write.
    """

    def __init__(self, key: str, message: str, advice: str) -> None:
        super().__init__(message)
        self.key, self.advice = key, advice


@final
@dataclass(frozen=True)
class Stated:
    """What a policy says of an attribute's derivation.

    ``name``: the attribute's; ``source``: what stands behind ``from``, as it is written, None where nothing does;
    ``given``: what stands behind the key of the kind; ``zone``: what stands behind that; ``makes``: what the attribute
    must be handed.
    """

    name: str
    source: str | None
    given: Any
    zone: str | None
    makes: CellType

    @property
    def column(self) -> str:
        """The column that ``from`` names, in backticks or as it is; without it the attribute's own."""
        text = self.name if self.source is None else self.source.strip()
        return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "`" else text


class DerivationKind(ABC):
    """A key by which an attribute says what it is made from.

    ``key``: the key; ``field``: its type, as pydantic reads it; ``about``: what editors show.
    """

    key: ClassVar[str]
    field: ClassVar[Any]
    about: ClassVar[str]

    @abstractmethod
    def expression(self, stated: Stated) -> Expression:
        """What is made of each row. Raises: NotDerivable."""


def require_no_zone(stated: Stated) -> None:
    """Raises: NotDerivable where a zone is stated that nothing asks for."""
    if stated.zone is not None:
        message = "'zone' says where clocks show a moment, for dates and with 'as'"
        raise NotDerivable("zone", message, "leave it out")
