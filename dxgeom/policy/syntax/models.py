"""The language's grammar as data models: what a policy file may say, before any meaning.

The same models serve files, policies built in Python, and the JSON Schema for editors.

``reading:``, how a table's file is written and what its cells mean; whether keys go together is checked later.
"""

from __future__ import annotations

import codecs
from abc import ABC
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, final

from pydantic import BaseModel, ConfigDict, Discriminator, PlainValidator, Tag, WithJsonSchema, create_model
from pydantic_core import core_schema

from dxgeom.policy.kinds.attribute_kinds import ATTRIBUTE_KINDS, kind_of
from dxgeom.policy.rule_kinds import RULE_KINDS
from dxgeom.policy.source.fields import (
    ByAge,
    Chance,
    Edges,
    Epsilon,
    LengthText,
    Names,
    Positive,
    Span,
    WholeBudget,
    WholeFromOne,
    whole_from_1,
    words_field,
    wrong_field,
)
from dxgeom.policy.syntax.known_syntax import Hold, KnownSyntax
from dxgeom.policy.syntax.time_syntax import TimeSyntax

_SIGNS: Final = {"tab": "\t", "\\t": "\t"}
_THOUSANDS: Final = (".", ",", "'", "’", " ", "\u00a0", "\u2009", "\u202f")
_WORD: Final = {"type": ["string", "number", "boolean"]}
_TRUE: Final = {"enum": [True, "true"]}


def _separator(value: Any) -> str:
    sign = _SIGNS.get(value, value) if isinstance(value, str) else ""
    if len(sign) != 1 or sign in "\"'\r\n" or sign.isalnum():
        raise wrong_field("DX180", "one sign that separates cells is expected here", 'write ";", "|", "," or tab')
    return sign


def _quote(value: Any) -> str:
    if value == "none":
        return ""
    if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value.isspace():
        raise wrong_field("DX180", "one sign around cells is expected here", "write '\"', or none")
    return value


def _encoding(value: Any) -> str:
    try:
        found = codecs.lookup(value)
        b"".decode(found.name)  # refuses codecs that are not of text
    except (LookupError, TypeError, ValueError) as error:
        advice = "write utf-8, windows-1252, iso-8859-15, utf-16 or another name that Python has"
        raise wrong_field("DX180", "the name of an encoding is expected here", advice) from error
    if found.name in ("undefined", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7"):
        raise wrong_field("DX180", "this encoding is none of files", "write utf-8, windows-1252 or utf-16")
    return str(value)


def _header(value: Any) -> int:
    return 0 if value == "none" else whole_from_1(value, "lines")


def _decimal(value: Any) -> str:
    if value not in (".", ","):
        raise wrong_field("DX181", "the sign before decimals is a point or a comma", 'write decimal: ","')
    return str(value)


def _thousands(value: Any) -> str:
    if value not in _THOUSANDS:
        advice = 'write thousands: ".", or one of , \' ’ and blanks'
        raise wrong_field("DX181", "one sign between groups of three digits is expected here", advice)
    return str(value)


def _ignore(value: Any) -> dict[str, tuple[str, ...]]:
    advice = "write ignore: {Pat-Nr: [Total]}"
    if not isinstance(value, dict) or not value:
        raise wrong_field("DX183", "columns with the words of rows to leave out are expected here", advice)
    return {str(column): words_field(words, advice) for column, words in value.items()}


_WORDS_SCHEMA: Final[dict[str, Any]] = {"type": "array", "items": _WORD, "minItems": 1}


def _words(value: Any) -> tuple[str, ...]:
    return words_field(value, "write a list such as [NA, unknown]")


Words: TypeAlias = Annotated[tuple[str, ...], PlainValidator(_words), WithJsonSchema(_WORDS_SCHEMA)]


@final
class ReadingSyntax(BaseModel):
    """How a table's file is written, and what its cells mean."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    separator: Annotated[str | None, PlainValidator(_separator), WithJsonSchema({"type": "string"})] = None
    quote: Annotated[str | None, PlainValidator(_quote), WithJsonSchema({"type": "string"})] = None
    encoding: Annotated[str | None, PlainValidator(_encoding), WithJsonSchema({"type": "string"})] = None
    header: Annotated[
        int | None,
        PlainValidator(_header),
        WithJsonSchema({"anyOf": [{"type": ["integer", "string"], "exclusiveMinimum": 0}, {"const": "none"}]}),
    ] = None
    names: Words | None = None
    sheet: str | None = None
    line_breaks: Annotated[Literal["true"] | None, WithJsonSchema(_TRUE)] = None
    decimal: Annotated[str | None, PlainValidator(_decimal), WithJsonSchema({"enum": [".", ","]})] = None
    thousands: Annotated[str | None, PlainValidator(_thousands), WithJsonSchema({"enum": [*_THOUSANDS]})] = None
    trim: Annotated[Literal["true"] | None, WithJsonSchema(_TRUE)] = None
    case: Literal["fold"] | None = None
    missing: Words | None = None
    ignore: Annotated[
        dict[str, tuple[str, ...]] | None,
        PlainValidator(_ignore),
        WithJsonSchema({"type": "object", "additionalProperties": _WORDS_SCHEMA, "minProperties": 1}),
    ] = None


def attribute_tag(value: Any) -> str | None:
    """The tag of an attribute's kind."""
    kind = kind_of(value)
    return None if kind is None else kind.tag


if TYPE_CHECKING:
    AttributeSyntax: TypeAlias = tuple[str, ...] | BaseModel
else:
    _FORMS = [Annotated[kind.syntax, Tag(kind.tag)] for kind in ATTRIBUTE_KINDS]
    AttributeSyntax = Annotated[reduce(or_, _FORMS), Discriminator(attribute_tag)]


def listed(words: Sequence[str], last: str) -> str:
    """Words with commas between them, and ``last`` before the last one."""
    return f"{', '.join(words[:-1])}{last}{words[-1]}"


@final
class UniverseSyntax(BaseModel):
    """``attributes``, in the order that numbers the possible records; or a ``table`` that lists these."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    table: str | None = None
    attributes: dict[str, AttributeSyntax] = {}


@final
class SecretsSyntax(BaseModel):
    """``{edges: file.csv}``, ``{edges: [[a, b], …]}`` or ``{partition: …}``; that it is one is checked later.

    The file's first two columns are values of the rule's attribute. A partition is by attributes, or with ``change`` by
    a further column of that attribute.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    edges: Edges | None = None
    partition: Names = None


class RuleKeys(BaseModel, ABC):
    """The keys by which a rule selects its pairs, and those of a bound by 'epsilon'."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    title: str | None = None
    change: Names = None
    together: Annotated[Literal["true"] | None, WithJsonSchema({"enum": [True, "true"]})] = None
    measure: Literal["max"] | None = None
    between: Literal["everything"] | None = None
    presence: Annotated[Literal["true"], WithJsonSchema({"enum": [True, "true"]})] | None = None
    any: Span | None = None
    published: ByAge | None = None
    secrets: SecretsSyntax | None = None
    epsilon: Epsilon | None = None
    per: LengthText | None = None
    within: LengthText | None = None
    beyond: Literal["linear"] | None = None


if TYPE_CHECKING:

    @final
    class RuleSyntax(RuleKeys):
        """One selector and one bound; that there is exactly one of each is checked with the rule's meaning.

        Each kind of rule with a key of its own has a field of that name, None in rules that do not have the key.
        """

        otherwise: Epsilon | None = None
        weight: str | None = None

else:
    _KINDS = {kind.key: (kind.field | None, None) for kind in RULE_KINDS}
    _LAST = {"otherwise": (Epsilon | None, None), "weight": (str | None, None)}
    RuleSyntax = create_model("RuleSyntax", __base__=RuleKeys, __module__=__name__, **_KINDS, **_LAST)


@final
class DatasetSyntax(BaseModel):
    """Which data the policy is about; that disjoint people come with an edition is checked with its meaning."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    name: str
    edition: str | None = None
    people: Literal["disjoint"] | None = None
    budget: WholeBudget | None = None


class PeopleKeys(BaseModel, ABC):
    """Whose row a row is, and how people with many rows count, but for the periods they count in."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    column: str
    count: Literal["once", "rows", "single"]
    at_most: WholeFromOne | None = None
    order: str | None = None


if TYPE_CHECKING:

    @final
    class PeopleSyntax(PeopleKeys):
        """The whole, ``in: period`` included; which keys go together is checked with the meaning."""

else:
    _IN = {"in": (Literal["period"] | None, None)}
    PeopleSyntax = create_model("PeopleSyntax", __base__=PeopleKeys, __module__=__name__, **_IN)

ONE_ROW_EACH: Final = "one row each"
"""What a policy says of people when it states the assumption that is made where it says nothing."""


@final
class _OrOneRowEach:
    """Beside a mapping the words themselves, so that what is wrong in a mapping is said of the mapping."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        def read(value: Any, mapping: Any) -> Any:
            return value if value == ONE_ROW_EACH else mapping(value)

        return core_schema.no_info_wrap_validator_function(read, handler(PeopleSyntax))

    def __get_pydantic_json_schema__(self, made: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [handler(made["schema"]), {"const": ONE_ROW_EACH}]}


@final
class PolicySyntax(BaseModel):
    """A whole policy file."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    policy: str
    title: str | None = None
    about: str = ""
    called: str | None = None
    reading: ReadingSyntax | None = None
    universe: UniverseSyntax
    time: TimeSyntax | None = None
    rules: tuple[RuleSyntax, ...]
    budget: Positive = Fraction(1)
    delta: Chance | None = None
    privacy: Literal["pure", "concentrated"] = "pure"
    people: Annotated[PeopleSyntax | Literal["one row each"], _OrOneRowEach()] | None = None
    known: tuple[KnownSyntax, ...] | None = None
    hold: Hold | None = None
    dataset: DatasetSyntax | None = None
    unconnected: Literal["allow"] | None = None
    adaptive: Literal["allow"] | None = None


SELECTS: Final = (
    "a rule selects by change (of several attributes with together: true), by secrets: {edges} or {partition}, by "
    "between: everything, by presence: true, or over time by any: 30 days or any: life"
)
BOUNDS: Final = (
    "a rule bounds by epsilon (with per, within, or within and beyond: linear; together with measure: max and per), "
    f"by {listed([kind.key for kind in RULE_KINDS], ' or ')} with otherwise, with presence by published, or, with "
    "secrets: {edges}, by weight"
)

HERE: Final[dict[str, str]] = {
    "policy": "a policy has: policy, title, about, called, reading, universe, time, rules, budget, delta, privacy, "
    "people, known, hold, dataset, unconnected, adaptive",
    "reading": f"reading has: {', '.join(ReadingSyntax.model_fields)}",
    "time": f"time has: {', '.join(TimeSyntax.model_fields)}; as in {{column: day, from: 2027-01-01, to: 2027-12-31, "
    "every: day}",
    "people": "people have: column, and count: once (with a time in: period), rows (with at_most, and perhaps order) "
    "or single; or, without a column, 'people: one row each'",
    "known": "a known count is {totals: region}, perhaps with numbers: file.csv, or {where: age >= 65, count: 10771}",
    "dataset": "a dataset has: name, budget (a number, or none), and perhaps edition, people: disjoint",
    "universe": "a universe has: attributes, or a table (and then the attributes that are not words)",
    "attribute": f"an attribute is {listed([kind.form for kind in ATTRIBUTE_KINDS], ', or ')}",
    "rule": f"{SELECTS}; {BOUNDS}",
}
"""What this version's language has in each of these places."""

_NEIGHBOURS: Final = "the rules say it; of a person who is there or not, write a rule with 'presence: true'"
_WHAT_VALUES: Final = "leave it out: its other keys say what its values are"
OF_OTHER_LANGUAGES: Final[dict[str, dict[str, str]]] = {
    "policy": {
        "attributes": "indent it by two spaces",
        "epsilon": "indent it, below a rule; what all releases may spend is 'budget: 2'",
        "change": "indent it, below 'rules:', behind a dash and a space",
        "version": "leave it out",
        "records": "write 'records: 5000' into the queries file; if others know it, '- {where: true, count: 5000}' "
        "below 'known:'",
        **dict.fromkeys(
            ("constraints", "public", "invariants", "marginals"), "write 'known:', and '- totals: region' below"
        ),
        "queries": "queries are asked in a file of their own, which is named after the policy",
        **dict.fromkeys(("columns", "fields"), "write 'attributes:', and indent it by two spaces"),
        **dict.fromkeys(
            ("person", "persons", "user", "unit", "subject"), "write 'people: {column: patient, count: once}'"
        ),
        **dict.fromkeys(("neighbors", "neighbours", "adjacency"), _NEIGHBOURS),
    },
    "universe": {
        **dict.fromkeys(("columns", "fields", "variables"), "write 'attributes:'"),
        **dict.fromkeys(("rules", "budget", "people", "reading"), "begin it at the left, without spaces"),
    },
    "rule": {
        **dict.fromkeys(("attribute", "attributes", "column", "columns", "field"), "write 'change: [one, other]'"),
        "ε": "write 'epsilon: 0.5'",
        "delta": "leave it out; the other kind is 'privacy: concentrated', beside 'rules'",
        "sensitivity": "leave it out: it follows from the rules",
        **dict.fromkeys(("life", "lifetime", "ever", "window", "days"), "write 'any: life', or 'any: 30 days'"),
    },
    "known": dict.fromkeys(("records", "n", "people", "number"), "write {where: true, count: 5000}"),
    "time": {
        **dict.fromkeys(("start", "begin", "since", "first", "min"), "write 'from: 2027-01-01'"),
        **dict.fromkeys(("end", "until", "till", "last", "max"), "write 'to: 2027-12-31'"),
        **dict.fromkeys(("period", "step", "interval", "freq", "frequency", "unit", "by"), "write 'every: day'"),
        **dict.fromkeys(("name", "attribute", "field", "date", "day"), "write 'column: day'"),
    },
    "attribute": dict.fromkeys(("type", "kind", "dtype"), _WHAT_VALUES),
    "people": {
        **dict.fromkeys(("id", "key"), "write 'column: patient'"),
        **dict.fromkeys(("max", "limit", "rows"), "write 'count: rows, at_most: 5'"),
    },
    "reading": {
        **dict.fromkeys(("sep", "delimiter", "delim"), 'write separator: ";"'),
        **dict.fromkeys(("na", "na_values", "null", "nulls"), "write missing: [NA]"),
    },
}
"""Words that newcomers bring from elsewhere, or to the wrong place, and what to write, by the place."""

WRITTEN: Final[dict[str, str]] = {
    "together": "write 'together: true', or leave it out",
    "measure": "write 'measure: max', or leave it out",
    "between": "write 'between: everything'; for some attributes only, 'change: [one, other]' with 'together: true'",
    "presence": "write 'presence: true', and below it 'epsilon: 0.5'",
    "any": "write 'any: 30 days', 'any: 4 steps' or 'any: life', and below it 'epsilon: 12'",
    "published": "write 'published: {at once: 0.5, 7 days: 0.7, ever: 1}'",
    "beyond": "write 'beyond: linear', or leave it out",
    "secrets": "write 'secrets: {edges: file.csv}' or 'secrets: {partition: name}'",
    **{kind.key: kind.example for kind in RULE_KINDS},
}
"""How a part of a rule is written, by its key."""
