"""The keys that every kind of attribute has: how tables say its values, and what holds where they say none."""

from __future__ import annotations

from abc import ABC
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, final
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from dxgeom.policy.derived.derivations import DERIVATIONS
from dxgeom.policy.source.fields import EPSILON_SCHEMA, Epsilon, epsilon_of, wrong_field

_WRITE_MISSING: Final = "write {epsilon: 0.5}, public or refuse"


@final
class MissingSyntax(BaseModel):
    """``{epsilon: e}``: how far the missing value is from every other."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: Epsilon


def _missing(value: Any) -> MissingSyntax | str:
    if isinstance(value, MissingSyntax) or (isinstance(value, str) and value in ("public", "refuse")):
        return value
    if not isinstance(value, dict) or list(value) != ["epsilon"]:
        raise wrong_field("DX108", "how a missing value counts is expected here", _WRITE_MISSING)
    try:
        return MissingSyntax.model_construct(epsilon=epsilon_of(value["epsilon"]))
    except PydanticCustomError as error:
        raise wrong_field(error.type, f"the epsilon of a missing value: {error.message()}", _WRITE_MISSING) from error


def _zone(value: Any) -> str:
    if not isinstance(value, str) or value not in available_timezones():
        raise wrong_field("DX163", "the name of a time zone is expected here", "write one such as Europe/Berlin or UTC")
    return value


Zone: TypeAlias = Annotated[str, PlainValidator(_zone), WithJsonSchema({"type": "string"})]

_MISSING_SCHEMA = {
    "anyOf": [
        {"enum": ["public", "refuse"]},
        {
            "type": "object",
            "properties": {"epsilon": EPSILON_SCHEMA},
            "required": ["epsilon"],
            "additionalProperties": False,
        },
    ]
}
_MISSING: Final = (
    "{epsilon: e}: a missing value is one of its own, e from every other; 'public': whether it is missing is not "
    "hidden; 'refuse', as without this key: rows that lack it are outside."
)
_UNLISTED: Final = (
    "The value of rows whose word is none of the attribute's: one of its own, or for a list of words a new one."
)
Missing: TypeAlias = Annotated[
    MissingSyntax | Literal["public", "refuse"] | None, PlainValidator(_missing), WithJsonSchema(_MISSING_SCHEMA)
]


class StatedKeys(BaseModel, ABC):
    """How what is missing and what is unlisted counts."""

    missing: Annotated[Missing, Field(description=_MISSING)] = None
    unlisted: Annotated[str | None, Field(description=_UNLISTED)] = None

    @property
    def missing_epsilon(self) -> Fraction | None:
        """How far the missing value is from every other; None where it is no value."""
        return self.missing.epsilon if isinstance(self.missing, MissingSyntax) else None


_ZONE: Final = (
    "Where clocks and calendars show the moments of a column that know their own zone, such as Europe/Berlin; with "
    "dates and with 'as'."
)

if TYPE_CHECKING:

    class AttributeKeys(StatedKeys, ABC):
        """What may stand beside the values of an attribute, whatever its kind.

        Each kind of derivation has a field of its key's name.
        """

        zone: str | None = None

else:
    _KEYS = {kind.key: (kind.field | None, Field(default=None, description=kind.about)) for kind in DERIVATIONS}
    _LAST = {"zone": (Zone | None, Field(default=None, description=_ZONE))}
    AttributeKeys = create_model("AttributeKeys", __base__=StatedKeys, __module__=__name__, **_KEYS, **_LAST)
