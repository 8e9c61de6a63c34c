"""Rule kinds: each key of a rule that states a bound of its own on one attribute's values.

A kind says how it is written, what it means, and how it reads aloud; the bound it makes says the rest. A new one is a
class and a line in ``RULE_KINDS``. Touches ``source``, ``bounds`` and ``universe``; knows neither policies nor the
other keys of a rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Generic, TypeAlias, TypeVar, final

from pydantic import Discriminator, Tag

from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.value_bounds import ByIndividual, ByValue, among_present
from dxgeom.policy.source.data_files import WrongContent
from dxgeom.policy.source.fields import Epsilon
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.yaml_tree import Node, key_span_at, span_at
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import TextColumn, plain
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.wording import did_you_mean, shown

Told: TypeAlias = Callable[[Fraction], str]
"""The odds that an epsilon leaves an observer of everything the budget allows, as a limit: "at most 1.11 to 1"."""


@final
@dataclass(frozen=True)
class StatedRule:
    """A rule of a policy file: its number, where its mistakes go, and the epsilon of values that it does not list."""

    number: int
    root: Node
    mistakes: Mistakes
    otherwise: Fraction | None

    def note(self, code: str, message: str, advice: str = "", *, at: tuple[str | int, ...], key: bool = False) -> None:
        """Remember a mistake at the place ``at`` below the rule, or at its key."""
        place = key_span_at if key else span_at
        self.mistakes.add(code, place(self.root, ("rules", self.number, *at)), message, advice)

    def listed(self, attribute: Attribute, key: str, given: dict[str, Fraction]) -> tuple[Fraction | None, ...] | None:
        """An ε for each value: the one that ``given`` lists, else 'otherwise', else None; None with mistakes noted."""
        code_of = {label: code for code, label in enumerate(attribute.labels)}
        epsilons: list[Fraction | None] = [self.otherwise] * attribute.size
        stated: dict[int, str] = {}
        for word, epsilon in given.items():
            if self.mistakes.full:
                return None
            code = code_of.get(word, code_of.get(_canonical(word)))
            if code is None:
                message = f"the attribute {shown(attribute.name)} has no value {shown(word)}"
                self.note("DX133", message, did_you_mean(word, attribute.labels), at=(key, word), key=True)
            elif code in stated:
                message = f"{shown(word)} and {shown(stated[code])} are the same value"
                self.note("DX133", message, "keep one of them", at=(key, word), key=True)
            else:
                epsilons[code], stated[code] = epsilon, word
        if not given:
            message = f"'{key}' lists no value"
            self.note("DX107", message, "list at least one with its epsilon", at=(key,), key=True)
            return None
        return tuple(epsilons)


Given = TypeVar("Given")


class RuleKind(ABC, Generic[Given]):
    """A key of a rule that states a bound on the values of one attribute, in the place of 'epsilon'.

    ``key``: the key; ``field``: the type of what stands behind it, as pydantic reads it; ``tagged``: whether that is a
    union with tags; ``about`` and ``limits``: what editors show and check; ``example``: how it is written; ``goes``:
    the verb of the key in a sentence.
    """

    key: ClassVar[str]
    field: ClassVar[Any]
    about: ClassVar[str]
    example: ClassVar[str]
    tagged: ClassVar[bool] = False
    limits: ClassVar[dict[str, Any]] = {}
    goes: ClassVar[str] = "goes"

    @abstractmethod
    def bound(self, given: Given, attribute: Attribute, rule: StatedRule) -> Bound | None:
        """What the rule states about the attribute; None when it makes no sense, which is then noted."""

    @abstractmethod
    def words(self, given: Given) -> str:
        """The bound in a few words, for one line about the rule."""

    @abstractmethod
    def sentence(self, name: str, given: Given, otherwise: Fraction | None, bound: Bound, at_most: Told) -> str:
        """What the rule leaves an observer, to be read aloud. Args: the ``name`` of the attribute."""

    @abstractmethod
    def takes_otherwise(self, given: Given) -> bool:
        """Whether 'otherwise' has a meaning beside it."""


def _canonical(word: str) -> str:
    try:
        return plain(exact(word))
    except NotANumber:
        return word


Listed: TypeAlias = dict[str, Fraction]
_SHOWN: Final = 3


@final
class ValuesKind(RuleKind[Listed]):
    """An epsilon for some values, of which the smaller one of two counts."""

    key: ClassVar[str] = "values"
    field: ClassVar[Any] = dict[str, Epsilon]
    about: ClassVar[str] = "An epsilon by value; a pair of values gets the smaller of its two."
    example: ClassVar[str] = "write an epsilon for each value, as in {HIV: 0.1, flu: 0.5}"
    limits: ClassVar[dict[str, Any]] = {"minProperties": 1}

    def bound(self, given: Listed, attribute: Attribute, rule: StatedRule) -> Bound | None:
        listed = rule.listed(attribute, self.key, given)
        return None if listed is None else ByValue(listed)

    def words(self, given: Listed) -> str:
        return "epsilon by value"

    def sentence(self, name: str, given: Listed, otherwise: Fraction | None, bound: Bound, at_most: Told) -> str:
        smallest = min(given.values())
        words = [word for word, epsilon in given.items() if epsilon == smallest]
        others = [epsilon for epsilon in (*given.values(), otherwise) if epsilon is not None and epsilon > smallest]
        said = " or ".join(words[:_SHOWN]) + (" or …" if len(words) > _SHOWN else "")
        told = f"two records that differ only in {name}, one of them {said}, are told apart with odds"
        rest = f"; others {at_most(min(max(others), 2 * smallest))}" if others else ""
        return f"{told} {at_most(smallest)}{rest}"

    def takes_otherwise(self, given: Listed) -> bool:
        return True


Individuals: TypeAlias = dict[str, Fraction] | str


def _form(value: Any) -> str | None:
    """The tag of how individuals' epsilons are given; in angle brackets, as those of attributes."""
    if isinstance(value, str):
        return "<column>"
    return "<listed>" if isinstance(value, dict) else None


@final
class IndividualsKind(RuleKind[Individuals]):
    """An epsilon by value, or the column of the attribute's file that holds each value's own; two add up."""

    key: ClassVar[str] = "individuals"
    field: ClassVar[Any] = Annotated[
        Annotated[dict[str, Epsilon], Tag("<listed>")] | Annotated[str, Tag("<column>")], Discriminator(_form)
    ]
    about: ClassVar[str] = (
        "An epsilon by value, or the column of the attribute's file that holds it; a pair of values gets the sum of "
        "its two."
    )
    example: ClassVar[str] = "write an epsilon for each value, as in {ann: 0.1, bob: 0.5}, or the name of a column"
    tagged: ClassVar[bool] = True
    limits: ClassVar[dict[str, Any]] = {"minProperties": 1}
    goes: ClassVar[str] = "go"

    def bound(self, given: Individuals, attribute: Attribute, rule: StatedRule) -> Bound | None:
        if not isinstance(given, str):
            listed = rule.listed(attribute, self.key, given)
            return None if listed is None else ByIndividual(listed)
        try:
            return among_present(ByIndividual(_epsilons_in_column(attribute, given)), attribute)
        except WrongContent as error:
            rule.note("DX147", str(error), at=(self.key,))
        return None

    def words(self, given: Individuals) -> str:
        return "epsilon by individual" + (f", column {given}" if isinstance(given, str) else "")

    def sentence(self, name: str, given: Individuals, otherwise: Fraction | None, bound: Bound, at_most: Told) -> str:
        least, most = (at_most(Fraction(one)) for one in bound.extremes)
        who = f"two records that differ only in {name} are told apart with odds"
        return (
            f"{who} {least}"
            if least == most
            else f"{who} {least} for some and {most} for others, by the sum of their values' own epsilons"
        )

    def takes_otherwise(self, given: Individuals) -> bool:
        return isinstance(given, dict)


def _epsilons_in_column(attribute: Attribute, name: str) -> tuple[Fraction, ...]:
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


AnyRuleKind: TypeAlias = RuleKind[Any]

RULE_KINDS: Final[tuple[AnyRuleKind, ...]] = (
    ValuesKind(),
    IndividualsKind(),
)


def kind_of_rule(rule: object) -> tuple[AnyRuleKind, Any] | None:
    """The kind whose key a rule has, and what stands behind it; None for a rule that has 'epsilon' or a weight."""
    given = ((kind, getattr(rule, kind.key, None)) for kind in RULE_KINDS)
    return next((one for one in given if one[1] is not None), None)
