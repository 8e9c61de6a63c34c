"""What a policy says that is legal and probably not meant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.syntax.models import DatasetSyntax
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.wording import shown

_HIDES_NOTHING: Final = Fraction(math.log(1_000_000))


def doubts_of_values(attributes: Sequence[Attribute]) -> Iterator[str]:
    """Attributes with one value, and what they say of themselves."""
    for one in attributes:
        name = shown(one.name)
        if one.size == 1:
            yield f"{name} has one value only, which every record has: list the others, or leave the attribute out"
        yield from one.doubts


def doubts_of_data(dataset: DatasetSyntax | None) -> Iterator[str]:
    """A named data set that does not say what may be spent on it in all."""
    if dataset is not None and dataset.budget is None:
        yield (
            f"the data set '{dataset.name}' has no budget of its own, so every further policy about it has a whole "
            "budget more; write what all together may spend into the dataset, as in 'budget: 2', or 'budget: none' "
            "where that is meant; version 0.3 refuses a data set without it"
        )


def doubts_of_rules(rules: Sequence[ResolvedRule], budget: Fraction) -> Iterator[str]:
    """Rules under which even the two records that are hidden best are told apart."""
    for rule in rules:
        least = _least(rule)
        if least is not None and least * budget > _HIDES_NOTHING:
            yield (
                f"the rule at line {rule.line} ({rule.words}) hides nothing: the odds between the nearest two of its "
                "records may be more than 1,000,000 to 1 once the budget is spent; an epsilon is mostly from 0.01 to "
                "3, write a smaller one"
            )


def _least(rule: ResolvedRule) -> Fraction | None:
    """The smallest distance above 0 that a rule states, None for none."""
    stated = [Fraction(bound.extremes[0]) for _, bound in rule.bounds]
    stated += [one for one in (rule.everything, rule.presence, rule.constant) if one is not None]
    return min((one for one in stated if one > 0), default=None)
