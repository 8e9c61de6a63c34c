"""``individuals: {ann: 0.1, bob: 0.5}`` or a column: an epsilon by individual, of which two add up."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, TypeAlias, final

from pydantic import Discriminator, Tag

from dxgeom.policy.bounds.among_present import among_present
from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.by_individual import ByIndividual
from dxgeom.policy.rule_kinds.rule_kind import RuleKind, StatedRule, Told
from dxgeom.policy.source.data_files import WrongContent
from dxgeom.policy.source.fields import Epsilon
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import TextColumn
from dxgeom.universe.wording import did_you_mean, shown

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
