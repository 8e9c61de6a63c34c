"""Which keys go together in a rule: one way to select its pairs, one to bound them, and what belongs to each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dxgeom.policy.rule_kinds.rule_kinds import RULE_KINDS, AnyRuleKind, kind_of_rule
from dxgeom.policy.rule_kinds.values import ValuesKind
from dxgeom.policy.source.fields import have_numbers
from dxgeom.policy.syntax.joint_rules import Noted, clashes, joins_alone, joint_mistakes, splits_records
from dxgeom.policy.syntax.models import BOUNDS, SELECTS, WRITTEN, RuleSyntax, listed

_NEVER_WITH_PRESENCE: Final = (
    "together",
    "measure",
    *(kind.key for kind in RULE_KINDS),
    "otherwise",
    "per",
    "within",
    "beyond",
    "secrets",
    "weight",
)

VALUES: Final = ValuesKind.key
_NAME_THEM: Final = "name the attributes with 'change'"


def shape_mistakes(rule: RuleSyntax) -> Iterator[Noted]:
    """What is wrong with the keys of a rule, whatever the universe; without a key where it is the rule as a whole."""
    selectors = [f"'{key}'" for key in ("change", "between", "presence") if getattr(rule, key) is not None]
    alone = splits_records(rule) or joins_alone(rule)
    if len(selectors) != 1 and not (alone or (rule.together and not selectors)):
        found = " and ".join(selectors) or "none of them"
        message = f"a rule has one of 'change', 'between: everything' and 'presence: true', found {found}"
        yield "DX130", None, message, SELECTS if selectors else _what_to_select(rule)
    if rule.presence is not None:
        yield from _about_presence(rule)
        return
    bounds = ("epsilon", *(kind.key for kind in RULE_KINDS), "weight")
    stated = [f"'{key}'" for key in bounds if getattr(rule, key) is not None]
    if rule.secrets is not None and have_numbers(rule.secrets.edges):
        stated.append("the numbers of its edges")
    if len(stated) != 1:
        found = " and ".join(stated) or "none of them"
        known = listed([f"'{key}'" for key in bounds], " and ")
        message = f"a rule has one of {known}, found {found}"
        yield "DX131", None, message, BOUNDS
    yield from joint_mistakes(rule)
    yield from _about_secrets(rule)
    for kind in RULE_KINDS:
        if kind.key != VALUES and getattr(rule, kind.key) is not None:
            yield from _about_own_key(rule, kind)
    given = kind_of_rule(rule)
    if rule.otherwise is not None and not (given and given[0].takes_otherwise(given[1])):
        yield "DX131", "otherwise", "'otherwise' goes with 'values' or a list of 'individuals'", WRITTEN["values"]
    yield from _about_lengths(rule)
    by_value = getattr(rule, VALUES) is not None
    if rule.between is not None and by_value:
        yield "DX131", "values", "'values' goes with 'change', not with 'between'", _NAME_THEM
    if by_value and rule.change is not None and len(rule.change) > 1:
        yield "DX131", "values", "'values' belong to one attribute, found several in 'change'", "write one rule each"


def _what_to_select(rule: RuleSyntax) -> str:
    """For a rule that selects nothing: what its other keys need."""
    if kind_of_rule(rule) is not None:
        return "add 'change' with the attribute whose values these are"
    return SELECTS


def _of_no_single_attribute(rule: RuleSyntax) -> bool:
    """Whether it selects by something else than one attribute; that it selects by nothing is told once, elsewhere."""
    return rule.between is not None or (rule.change is not None and len(rule.change) > 1)


def _about_presence(rule: RuleSyntax) -> Iterator[Noted]:
    yield from clashes(rule, _NEVER_WITH_PRESENCE, "presence", "bound it by 'epsilon' alone")
    if rule.epsilon is None:
        yield "DX131", None, "'presence' needs an 'epsilon'", "write one below it, such as 'epsilon: 0.5'"


def _about_secrets(rule: RuleSyntax) -> Iterator[Noted]:
    if rule.weight is not None and (rule.secrets is None or rule.secrets.edges is None):
        yield "DX131", "weight", "'weight' goes with 'secrets: {edges}'", "name the file of edges"
    if rule.secrets is None:
        return
    if rule.secrets.edges is not None and _of_no_single_attribute(rule):
        yield "DX130", "secrets", "edges go with 'change' of one attribute", "write one rule each"
    advice = "give the edges an epsilon or a weight, a partition an epsilon"
    yield from clashes(rule, ("per", "within", "values"), "secrets", advice)


def _about_own_key(rule: RuleSyntax, kind: AnyRuleKind) -> Iterator[Noted]:
    yield from clashes(rule, ("per", "within", "secrets"), kind.key, "write two rules")
    said = rule.secrets is not None or rule.together is not None
    if not said and _of_no_single_attribute(rule):
        message = f"'{kind.key}' {kind.goes} with 'change' of one attribute"
        yield "DX131", kind.key, message, "write one rule each"


def _about_lengths(rule: RuleSyntax) -> Iterator[Noted]:
    lengths = [key for key in ("per", "within") if getattr(rule, key) is not None]
    if len(lengths) == 2:
        yield "DX131", "within", "a rule has 'per' or 'within', found both", "write two rules"
    for key in lengths:
        if getattr(rule, VALUES) is not None:
            yield "DX131", key, f"'{key}' goes with 'epsilon', not with 'values'", "write two rules"
        if rule.between is not None:
            yield "DX131", key, f"'{key}' goes with 'change', not with 'between'", _NAME_THEM
    if rule.beyond is not None and rule.within is None:
        yield "DX131", "beyond", "'beyond: linear' goes with 'within'", "say within which distance epsilon holds"
