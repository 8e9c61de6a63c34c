"""Rules along edges that name no attribute: it is the one that has all the values which the edges join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dxgeom.policy.resolve.secret_edges import joined_attribute
from dxgeom.policy.source.data_files import read_or_note
from dxgeom.policy.source.fields import EdgeList, edges_words
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.joint_rules import joins_alone
from dxgeom.policy.syntax.models import RuleSyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.wording import shown


def with_joined_attributes(tree: SyntaxTree, attributes: Mapping[str, Attribute], mistakes: Mistakes) -> SyntaxTree:
    """The tree whose rules along edges all say which attribute they are about; what none fits is noted."""
    numbered = zip(tree.rule_numbers, tree.document.rules, strict=True)
    rules = tuple(_said(tree, number, rule, attributes, mistakes) for number, rule in numbered)
    return replace(tree, document=tree.document.model_copy(update={"rules": rules}))


def _said(
    tree: SyntaxTree, number: int, rule: RuleSyntax, attributes: Mapping[str, Attribute], mistakes: Mistakes
) -> RuleSyntax:
    edges = rule.secrets.edges if rule.secrets is not None and joins_alone(rule) else None
    if edges is None or tree.broken or not attributes:
        return rule  # of an attribute that makes no sense nobody knows the values, and it has been complained about
    name = _joined(tree, number, edges, attributes, mistakes)
    return rule if name is None else RuleSyntax.model_validate({**_stated(rule), "change": (name,)})


def _joined(
    tree: SyntaxTree, number: int, edges: str | EdgeList, attributes: Mapping[str, Attribute], mistakes: Mistakes
) -> str | None:
    what = f"the file of edges {shown(edges_words(edges))}"
    span = tree.span("rules", number, "secrets", "edges")
    return read_or_note(lambda: joined_attribute(attributes, mistakes.text.folder, edges), mistakes, span, what)


def _stated(rule: RuleSyntax) -> dict[str, object]:
    return {key: getattr(rule, key) for key in rule.model_fields_set}
