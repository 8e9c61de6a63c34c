"""``values: {HIV: 0.1, flu: 0.5}``: an epsilon by value, of which the smaller one of two counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Final, TypeAlias, final

from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.by_value import ByValue
from dxgeom.policy.rule_kinds.rule_kind import RuleKind, StatedRule, Told
from dxgeom.policy.source.fields import Epsilon
from dxgeom.universe.attributes import Attribute

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
