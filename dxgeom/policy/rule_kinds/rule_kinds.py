"""All kinds of rules with a key of their own for the bound, and which of them a rule is."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from dxgeom.policy.rule_kinds.individuals import IndividualsKind
from dxgeom.policy.rule_kinds.rule_kind import RuleKind
from dxgeom.policy.rule_kinds.values import ValuesKind

AnyRuleKind: TypeAlias = RuleKind[Any]

RULE_KINDS: Final[tuple[AnyRuleKind, ...]] = (
    ValuesKind(),
    IndividualsKind(),
)


def kind_of_rule(rule: object) -> tuple[AnyRuleKind, Any] | None:
    """The kind whose key a rule has, and what stands behind it; None for a rule that has 'epsilon' or a weight."""
    given = ((kind, getattr(rule, kind.key, None)) for kind in RULE_KINDS)
    return next((one for one in given if one[1] is not None), None)
