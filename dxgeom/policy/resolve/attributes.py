"""The attributes of a policy with their meaning, each as its kind says, checked before anything large is built."""

from __future__ import annotations

import math
from typing import Final

from dxgeom.policy.kinds.attribute_kinds import kind_of
from dxgeom.policy.kinds.kind import Declared
from dxgeom.policy.resolve.missing_values import with_missing_value
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.tree_places import node_at
from dxgeom.policy.source.yaml_tree import Mapping
from dxgeom.policy.syntax.joint_rules import joins_alone
from dxgeom.policy.syntax.models import PolicySyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.universe import MOST_ATTRIBUTES, MOST_RECORD_TYPES

MAX_ATTRIBUTES: Final = MOST_ATTRIBUTES
MOST_IN_TABLES: Final = 1000
"""So many attributes there may be where every rule is about single ones: then whole tables of counts can be asked."""
MOST_VALUES_IN_TABLES: Final = 4096
NAMES: Final = "an attribute's name has 1 to 100 printable characters and no backtick"
MAX_RECORD_TYPES: Final = MOST_RECORD_TYPES


def resolve_attributes(tree: SyntaxTree, mistakes: Mistakes) -> dict[str, Attribute]:
    """Every attribute that makes sense, by name, in order; mistakes noted for the others and for their product."""
    written = node_at(tree.root, ("universe",))
    keys = {key.text for key, _ in written.entries} if isinstance(written, Mapping) else set()
    if not tree.document.universe.attributes and not tree.broken and keys <= {"attributes"}:
        span = tree.key_span("universe", "attributes")
        mistakes.add("DX107", span, "the universe has no attribute", "list at least one with its values")
    found = declared_attributes(tree, mistakes)
    size = math.prod(attribute.size for attribute in found.values())
    largest = max((attribute.size for attribute in found.values()), default=0)
    if size > MAX_RECORD_TYPES and not (in_tables(tree.document) and largest <= MOST_VALUES_IN_TABLES):
        message = f"the attributes make {size:,} record types; at most {MAX_RECORD_TYPES:,} are handled"
        mistakes.add("DX116", tree.key_span("universe", "attributes"), message, "use coarser steps or fewer attributes")
    return found


def declared_attributes(tree: SyntaxTree, mistakes: Mistakes) -> dict[str, Attribute]:
    """The same, whatever their product."""
    found: dict[str, Attribute] = {}
    written = tree.document.universe.attributes
    most = MOST_IN_TABLES if in_tables(tree.document) else MAX_ATTRIBUTES
    if len(written) > most:
        message = f"the universe has {len(written):,} attributes; at most {most} are handled"
        mistakes.add("DX116", tree.key_span("universe", "attributes"), message, "keep those that rules or queries need")
        return {}
    for name, syntax in written.items():
        if not good_name(name):
            mistakes.add("DX117", tree.key_span("universe", "attributes", name), NAMES)
            continue
        kind = kind_of(syntax)
        declared = Declared(name, tree.root, mistakes)
        attribute = None if kind is None else kind.resolve(syntax, declared)
        if attribute is not None:
            attribute = with_missing_value(attribute, syntax, declared)
        if attribute is not None:
            found[name] = attribute
    return found


def in_tables(document: PolicySyntax) -> bool:
    """Whether every rule is about single attributes or presence, or one constant for several or for any change: then
    distances add up over attributes but for these, and nothing has to know all record types for whole tables."""
    return all(
        (rule.change is not None or rule.presence is not None or rule.between is not None or joins_alone(rule))
        and rule.measure is None
        for rule in document.rules
    )


def good_name(name: str) -> bool:
    """Whether conditions can name an attribute so."""
    return bool(name) and len(name) <= 100 and "`" not in name and name.isprintable()
