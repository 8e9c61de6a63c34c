"""Values that may be missing: the attributes that may lack one, and what the policy states about that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dxgeom.policy.bounds.missing_value import MissingValue
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import Declared
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.joint_rules import splits_records
from dxgeom.policy.syntax.models import RuleSyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain, words_of_column
from dxgeom.universe.reading.optional import MISSING, OptionalAttribute

PUBLIC: Final = "public"


def with_missing_value(attribute: Attribute, syntax: Any, declared: Declared) -> Attribute | None:
    """The attribute, with the missing value where the policy states one; None when its name is taken, then noted."""
    if not isinstance(syntax, AttributeKeys) or syntax.missing in (None, "refuse"):
        return attribute
    taken = next((column.name for column in attribute.columns if MISSING in words_of_column(column)), None)
    if MISSING in attribute.labels or taken is not None:
        where = "a value" if taken in (None, attribute.name) else f"an entry of its column '{taken}'"
        message = f": a missing value is called '{MISSING}', but that is {where} of it already"
        declared.note("DX160", message, "call it something else there", at=("missing",))
        return None
    return OptionalAttribute(attribute.name, attribute)


def public_names(tree: SyntaxTree) -> frozenset[str]:
    """The attributes of which it is not hidden whether they are missing."""
    written = tree.document.universe.attributes.items()
    return frozenset(name for name, syntax in written if getattr(syntax, "missing", None) == PUBLIC)


def missing_rules(
    tree: SyntaxTree, attributes: Mapping[str, Attribute], mistakes: Mistakes
) -> tuple[ResolvedRule, ...]:
    """What the attributes state about their missing values, as rules that stand where it is stated."""
    found = []
    for name, syntax in tree.document.universe.attributes.items():
        epsilon = syntax.missing_epsilon if isinstance(syntax, AttributeKeys) else None
        code = attributes[name].missing if name in attributes else None
        if epsilon is None or code is None:
            continue
        span = tree.key_span("universe", "attributes", name, "missing")
        line, _ = mistakes.text.position(span.start)
        words = f"{name} missing: epsilon {plain(epsilon)}"
        bounds = ((name, MissingValue(code, epsilon)),)
        found.append(ResolvedRule(line, span, words, bounds, None, RuleSyntax(change=(name,), epsilon=epsilon)))
    return tuple(found)


def check_missing_values(tree: SyntaxTree, attributes: Mapping[str, Attribute], mistakes: Mistakes) -> None:
    """Note rules that do not go with values that may be missing."""
    optional = [name for name, attribute in attributes.items() if attribute.missing is not None]
    public = public_names(tree)
    for number, rule in zip(tree.rule_numbers, tree.document.rules, strict=True):
        place = tree.span("rules", number)
        for name in (name for name in optional if name in public):
            what = _crosses(rule, name)
            if what:
                message = (
                    f"{what} hides whether '{name}' is missing, but 'missing: public' says that this is not hidden"
                )
                advice = "write 'missing: {epsilon: …}' there, or bound the attributes one by one"
                mistakes.add("DX160", place, message, advice)
        for name in (name for name in optional if rule.measure is not None and name in (rule.change or ())):
            message = f"'measure: max' compares numbers that are there, but '{name}' may be missing"
            mistakes.add("DX160", place, message, "leave it out of this rule, or leave out 'missing' at the attribute")


def _crosses(rule: RuleSyntax, name: str) -> str:
    """What the rule is, where it is about records that differ in whether that attribute is missing; else nothing."""
    if rule.between is not None:
        return "'between: everything'"
    if rule.presence is not None:
        return "'presence'"
    if rule.together is not None and rule.measure is None and name in (rule.change or ()):
        return "one epsilon for several attributes together"
    if splits_records(rule) and rule.secrets is not None and name not in (rule.secrets.partition or ()):
        return "a partition of the records"
    return ""
