"""Which keys go together in a rule about several attributes at once, or about a partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from dxgeom.policy.rule_kinds.rule_kinds import RULE_KINDS
from dxgeom.policy.syntax.models import WRITTEN, RuleSyntax
from dxgeom.universe.columns import Column, TextColumn

_NEVER_TOGETHER: Final = (*(kind.key for kind in RULE_KINDS), "weight", "secrets", "within", "beyond")

Noted = tuple[str, str | None, str, str]
"""Code, key of the rule (None for the rule as a whole), message, advice."""


def splits_records(rule: RuleSyntax) -> bool:
    """Whether the rule selects the records that agree in some attributes: a partition of all of them."""
    partition = rule.secrets is not None and rule.secrets.edges is None and rule.secrets.partition is not None
    return partition and rule.change is None and rule.between is None and rule.presence is None


def joins_alone(rule: RuleSyntax) -> bool:
    """Whether the rule selects by nothing but edges: its attribute is the one whose values they join."""
    selectors = (rule.change, rule.between, rule.presence, rule.together)
    return rule.secrets is not None and rule.secrets.edges is not None and all(one is None for one in selectors)


def block_numbers(column: Column) -> tuple[int, ...]:
    """The block of each code: codes of equal words or numbers share one; blocks are numbered as they first occur."""
    facts = column.texts if isinstance(column, TextColumn) else column.numbers
    number = {fact: place for place, fact in enumerate(dict.fromkeys(facts))}
    return tuple(number[fact] for fact in facts)


def joint_mistakes(rule: RuleSyntax) -> Iterator[Noted]:
    """What is wrong with the keys ``together``, ``measure`` and ``partition`` of a rule."""
    yield from _about_together(rule)
    yield from _about_measure(rule)
    if rule.secrets is not None:
        found = [key for key in ("edges", "partition") if getattr(rule.secrets, key) is not None]
        if len(found) != 1:
            told = "both" if found else "neither"
            message = f"secrets have either 'edges' or 'partition', found {told}"
            yield "DX130", "secrets", message, "write one rule each" if found else WRITTEN["secrets"]
        elif found == ["partition"] and rule.change is not None and len(rule.change) > 1:
            yield "DX130", "secrets", "a partition by a column is of one attribute in 'change'", "write one rule each"
        elif found == ["partition"] and rule.between is not None:
            message = "'between: everything' selects all pairs, found a partition beside it"
            yield "DX130", "secrets", message, "leave out 'between'"


def clashes(rule: RuleSyntax, keys: Iterable[str], beside: str, advice: str, code: str = "DX131") -> Iterator[Noted]:
    """Those of the keys that stand in a rule beside another one that they do not go with."""
    for key in keys:
        if getattr(rule, key) is not None:
            yield code, key, f"'{key}' does not go with '{beside}'", advice


def _about_together(rule: RuleSyntax) -> Iterator[Noted]:
    if rule.together is None:
        return
    if rule.change is None or len(rule.change) < 2:
        found = "one" if rule.change else "none"
        message = f"'together' goes with 'change' of several attributes, found {found}"
        yield "DX145", "together", message, "list the attributes that change at once, or leave out 'together'"
    advice = "give all the attributes one epsilon, or use 'measure: max' with 'per'"
    yield from clashes(rule, _NEVER_TOGETHER, "together", advice, "DX145")
    if rule.per is not None and rule.measure is None:
        message = "'per' with 'together' needs to know how several changes are measured"
        yield "DX145", "per", message, "write 'measure: max': the attribute that changes most counts"


def _about_measure(rule: RuleSyntax) -> Iterator[Noted]:
    if rule.measure is None:
        return
    if rule.together is None:
        message = "'measure' goes with 'together: true'"
        yield "DX145", "measure", message, "write 'together: true', or leave out 'measure'"
    elif rule.per is None:
        advice = "say for which change epsilon holds, such as 'per: 1'; or leave out 'measure'"
        yield "DX145", "measure", "'measure: max' needs 'per'", advice
