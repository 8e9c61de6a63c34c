"""What a kind of attribute is: a form in a policy file, its meaning, its axes, and the keys that every kind has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, TypeAlias, TypeVar, final
from zoneinfo import available_timezones

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from dxgeom.policy.axes import Axis
from dxgeom.policy.derived import DERIVATIONS
from dxgeom.policy.source.data_files import read_or_note
from dxgeom.policy.source.fields import (
    EPSILON_SCHEMA,
    Epsilon,
    Length,
    Names,
    epsilon_of,
    exact_field,
    words_field,
    wrong_field,
)
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import Folder
from dxgeom.policy.source.yaml_tree import Node, node_at, span_at
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain
from dxgeom.universe.reading.written import NoExample, different_readings, written_moment
from dxgeom.universe.wording import shown

_WRITE_MISSING: Final = "write {epsilon: 0.5}, public or refuse"
_WRITE_WRITTEN: Final = 'write {epsilon: 0.5, written: ["-1", NA]}'


@final
class MissingSyntax(BaseModel):
    """``{epsilon: e, written: [NA]}``: how far the missing value is from every other, and how it is written."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    epsilon: Epsilon
    written: tuple[str, ...] | None = None


def _missing(value: Any) -> MissingSyntax | str:
    if isinstance(value, MissingSyntax) or (isinstance(value, str) and value in ("public", "refuse")):
        return value
    if not isinstance(value, dict) or "epsilon" not in value or not {*value} <= {"epsilon", "written"}:
        raise wrong_field("DX108", "how a missing value counts is expected here", _WRITE_MISSING)
    written: dict[str, Any] = {}
    if "written" in value:
        written["written"] = words_field(value["written"], _WRITE_WRITTEN)
    try:
        return MissingSyntax.model_construct(epsilon=epsilon_of(value["epsilon"]), **written)
    except PydanticCustomError as error:
        raise wrong_field(error.type, f"the epsilon of a missing value: {error.message()}", _WRITE_MISSING) from error


def _zone(value: Any) -> str:
    if not isinstance(value, str) or value not in available_timezones():
        raise wrong_field("DX163", "the name of a time zone is expected here", "write one such as Europe/Berlin or UTC")
    return value


Zone: TypeAlias = Annotated[str, PlainValidator(_zone), WithJsonSchema({"type": "string"})]

_WORDS_SCHEMA: Final[dict[str, Any]] = {
    "type": "array",
    "items": {"type": ["string", "number", "boolean"]},
    "minItems": 1,
}
_MISSING_SCHEMA = {
    "anyOf": [
        {"enum": ["public", "refuse"]},
        {
            "type": "object",
            "properties": {"epsilon": EPSILON_SCHEMA, "written": _WORDS_SCHEMA},
            "required": ["epsilon"],
            "additionalProperties": False,
        },
    ]
}
_MISSING: Final = (
    "{epsilon: e}: a missing value is one of its own, e from every other; 'public': whether it is missing is not "
    "hidden; 'refuse', as without this key: rows that lack it are outside. 'written': words that mean it."
)
_UNLISTED: Final = (
    "The value of rows whose word is none of the attribute's: one of its own, or for a list of words a new one."
)
Missing: TypeAlias = Annotated[
    MissingSyntax | Literal["public", "refuse"] | None, PlainValidator(_missing), WithJsonSchema(_MISSING_SCHEMA)
]


def _mapped(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value or not all(isinstance(word, str) for word in value.values()):
        raise wrong_field("DX183", "words, and the value that each is read as, are expected here", "write {w: F}")
    return {str(word): str(read) for word, read in value.items()}


def _units(value: Any) -> dict[str, Fraction]:
    advice = "write {kg: 1, g: 0.001}"
    if not isinstance(value, dict) or not value:
        raise wrong_field("DX183", "units, and what a number in each is multiplied by, are expected here", advice)
    units = {str(unit): exact_field(factor, advice) for unit, factor in value.items()}
    if any(factor <= 0 for factor in units.values()):
        raise wrong_field("DX183", "a number is multiplied by a number above 0", advice)
    if any(not unit.strip() or set(unit) & set("0123456789+-.,") for unit in units):
        raise wrong_field("DX183", "a unit is a word or a sign without digits, points and commas", advice)
    return units


def _examples(value: Any) -> tuple[str, ...]:
    words = words_field(value, "write 31.12.2025 23:59, or a list of such")
    try:
        ways = tuple(map(written_moment, words))
    except NoExample as error:
        raise wrong_field("DX182", str(error), error.advice) from error
    different = different_readings(ways)
    if different is not None:
        one, other, text = different
        message = f"{words[one]!r} and {words[other]!r} read {text!r} as two different days or times"
        raise wrong_field("DX182", message, "keep the one that the column has")
    return words


_MAPPED_SCHEMA = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean"]},
    "minProperties": 1,
}
_UNITS_SCHEMA = {"type": "object", "additionalProperties": EPSILON_SCHEMA, "minProperties": 1}
_EXAMPLES_SCHEMA = {"anyOf": [{"type": ["string", "number"]}, _WORDS_SCHEMA]}
_WRITTEN: Final = (
    "How 31 December 2025, 23:59 is written in the column, such as 31.12.2025 23:59 or 12/31/2025 11:59 PM; or a list "
    "of ways. With dates and with 'as'."
)
_RECODED: Final = "Words of the column that are read as other values, as in {w: F, female: F}."
_TITLE: Final = "What the attribute is called where people read of it; no answer and no fingerprint depends on it."
_LABELS: Final = "What values are called where people read of them, as in {F: women, M: men}."
_NAME: Final = "The column of the attribute's file, or several, that say what its values are called."
_FACTORS: Final = "Words beside numbers, and what these are multiplied by, as in {kg: 1, g: 0.001}."


def _labelled(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value or not all(isinstance(word, str) for word in value.values()):
        raise wrong_field("DX183", "values, and what each is called, are expected here", "write {F: women, M: men}")
    return {str(word): str(called) for word, called in value.items()}


class StatedKeys(BaseModel, ABC):
    """How what is missing and what is unlisted counts, how its cells are written, and what readers see it called."""

    title: Annotated[str | None, Field(description=_TITLE)] = None
    labels: Annotated[
        dict[str, str] | None,
        PlainValidator(_labelled),
        WithJsonSchema(_MAPPED_SCHEMA),
        Field(description=_LABELS),
    ] = None
    name: Annotated[Names, Field(description=_NAME)] = None
    missing: Annotated[Missing, Field(description=_MISSING)] = None
    unlisted: Annotated[str | None, Field(description=_UNLISTED)] = None
    words: Annotated[
        dict[str, str] | None,
        PlainValidator(_mapped),
        WithJsonSchema(_MAPPED_SCHEMA),
        Field(description=_RECODED),
    ] = None
    units: Annotated[
        dict[str, Fraction] | None,
        PlainValidator(_units),
        WithJsonSchema(_UNITS_SCHEMA),
        Field(description=_FACTORS),
    ] = None
    written: Annotated[
        tuple[str, ...] | None,
        PlainValidator(_examples),
        WithJsonSchema(_EXAMPLES_SCHEMA),
        Field(description=_WRITTEN),
    ] = None

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


MAX_VALUES: Final = 1_000_000

METRES: Final = {"m": 1, "km": 1000}

Step: TypeAlias = str | int
Read = TypeVar("Read")


def written_as(title: str, about: str) -> ConfigDict:
    """The settings of a kind's model, and how editors title and describe it."""
    return ConfigDict(
        extra="forbid", defer_build=True, frozen=True, title=title, json_schema_extra={"description": about}
    )


def obeyed(limits: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """What JSON Schema says of a key that every file must also obey, and the model leaves to ``resolve``."""
    return {"limits": limits}


@final
@dataclass(frozen=True)
class Misfit:
    """Why a length means nothing for an attribute: the message, what to do, and the code of the mistake."""

    message: str
    advice: str
    code: str = "DX135"


@final
@dataclass(frozen=True)
class Declared:
    """An attribute that a policy file states: its name, and where its mistakes go."""

    name: str
    root: Node
    mistakes: Mistakes

    @property
    def folder(self) -> Folder | None:
        """Where the policy's files are."""
        return self.mistakes.text.folder

    def note(self, code: str, message: str, advice: str = "", *, at: tuple[Step, ...] = ()) -> None:
        """Remember a mistake of the attribute, at the place ``at`` below it."""
        span = span_at(self.root, (*self._place, *at))
        self.mistakes.add(code, span, f"attribute {shown(self.name)}{message}", advice)

    @property
    def _place(self) -> tuple[Step, ...]:
        """Where it is stated: among the attributes, or as the time."""
        place = ("universe", "attributes", self.name)
        return place if node_at(self.root, place) is not None else ("time",)

    def few_enough(self, count: int | Fraction) -> bool:
        """Whether so many values are handled; if not, that is noted. Asked before anything large is built."""
        if count > MAX_VALUES:
            message = f" would have {count:,} values; at most {MAX_VALUES:,} are handled"
            self.note("DX116", message, "use a coarser step or bins")
        return count <= MAX_VALUES

    def read(self, key: str, file: str, read: Callable[[], Read], what: str = "file", form: str = "CSV") -> Read | None:
        """What ``read`` makes of the file that a key of the attribute names; None when it cannot, which is then noted.

        Args: ``what`` and ``form`` the file is, for the message.
        """
        span = span_at(self.root, ("universe", "attributes", self.name, key))
        return read_or_note(read, self.mistakes, span, f"the {what} {shown(file)}", form)


Syntax = TypeVar("Syntax", bound=BaseModel | tuple[str, ...])
Values = TypeVar("Values", bound=Attribute)


class AttributeKind(ABC, Generic[Syntax, Values]):
    """A form in which a policy states the values of an attribute.

    ``key``: the key that a mapping of this kind has and no other kind's; ``syntax``: the grammar's model of it;
    ``makes``: the class of its attributes, which says how tables and people name their values; ``noun`` and ``form``:
    the kind in a sentence, and its keys in brief; ``example``: what to write, empty where ``form`` says enough;
    ``joining``: what to do where rules leave values without any way from one to the other.
    """

    key: ClassVar[str]
    noun: ClassVar[str]
    form: ClassVar[str]
    example: ClassVar[str] = ""
    joining: ClassVar[str] = "add a rule with a longer 'within', 'per' or a plain 'epsilon'"
    syntax: type[Syntax]
    makes: type[Values]

    @property
    def tag(self) -> str:
        """The key in angle brackets, so that it cannot be mistaken for a key of the file."""
        return f"<{self.key}>"

    @abstractmethod
    def resolve(self, syntax: Syntax, declared: Declared) -> Values | None:
        """The attribute; None when it makes no sense, which is then noted."""

    @abstractmethod
    def measured(self, attribute: Values, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        """The axis and the exact amount along it that a length means for an attribute of this kind.

        Args: ``key`` of the rule that holds the length, for the message.
        """

    def geometries(self, syntax: Syntax, attribute: Values, folder: Folder | None) -> NDArray[Any] | None:
        """A Shapely geometry for each value, in their order; None for values that are nowhere.

        Raises: Unreadable, WrongContent for a file that is not what it was.
        """
        return None


AnyKind: TypeAlias = AttributeKind[Any, Any]


def wrote(length: Length) -> str:
    """A length in a message about its unit."""
    return f"'{length}'" if length.unit else f"'{plain(length.amount)}' without a unit"


def misfit_of_numbers(attribute: Attribute, length: Length) -> Misfit:
    """The misfit of a length that is neither a bare number nor steps."""
    advice = "write a bare number in the attribute's own unit, or '2 steps'"
    return Misfit(f"{shown(attribute.name)} holds plain numbers, found {wrote(length)}", advice)
