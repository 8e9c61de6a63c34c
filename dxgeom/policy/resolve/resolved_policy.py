"""Fourth phase: the policy in its universe, every rule checked against it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from dxgeom.metrics.data_set import UNNAMED, DataSet
from dxgeom.policy.resolve.attributes import resolve_attributes
from dxgeom.policy.resolve.bare_edges import with_joined_attributes
from dxgeom.policy.resolve.listed_records import listed_universe, read_table
from dxgeom.policy.resolve.missing_values import check_missing_values, missing_rules, public_names
from dxgeom.policy.resolve.readings import stated_reading
from dxgeom.policy.resolve.rules import ResolvedRule, resolve_rules
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.tree_places import node_at
from dxgeom.policy.syntax.models import PolicySyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.privacy.currencies import PURE, Privacy
from dxgeom.universe.universe import Universe


@final
@dataclass(frozen=True)
class ResolvedPolicy:
    """A policy whose every word has a meaning.

    ``rules``: those of the file, after those that attributes state about their missing values; ``public``: the
    attributes of which it is not hidden whether they are missing. ``data_set``: which data it is about.
    ``attribute_spans``: where each attribute's name stands, ``universe_span``: where the universe is; ``document``: the
    policy as it was written.
    """

    name: str
    about: str
    universe: Universe
    rules: tuple[ResolvedRule, ...]
    budget: Fraction
    privacy: Privacy
    unconnected_allowed: bool
    data_set: DataSet
    attribute_spans: tuple[Span, ...]
    universe_span: Span
    document: PolicySyntax
    public: frozenset[str] = frozenset()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the meaning: attributes, labels, coordinates, how rows are read, bounds, budget,
        and what privacy is counted in.

        Comments, layout, the policy's name, and the order and repetition of rules do not change it.
        """
        stated = {json.dumps([name, bound.data]) for rule in self.rules for name, bound in rule.bounds} | {
            json.dumps(["*", str(rule.everything)]) for rule in self.rules if rule.everything is not None
        }
        stated |= {json.dumps(rule.joint.data) for rule in self.rules if rule.joint is not None}
        stated |= {json.dumps(["presence", str(rule.presence)]) for rule in self.rules if rule.presence is not None}
        meaning = {"language": 1, **self.universe.meaning, "bounds": sorted(stated), "budget": str(self.budget)}
        if self.privacy != PURE:
            meaning["privacy"] = self.privacy
        if self.public:
            meaning["public"] = sorted(self.public)
        canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def resolve(tree: SyntaxTree, mistakes: Mistakes) -> ResolvedPolicy | None:
    """Give every attribute and rule its meaning; None when any phase so far found a mistake."""
    file = tree.document.universe.table
    stated = node_at(tree.root, ("universe", "table")) is not None
    table = None if file is None else read_table(tree, file, mistakes)
    universe = listed_universe(tree, table, mistakes) if stated else None
    attributes = {} if stated else resolve_attributes(tree, mistakes)
    if universe is not None:
        attributes = {attribute.name: attribute for attribute in universe.attributes}
    names = tree.document.universe.attributes if table is None else table.header
    # Of a table that could not be read nobody knows which attributes it has.
    known = None if stated and table is None else dict.fromkeys((*names, *sorted(tree.broken)))
    tree = with_joined_attributes(tree, attributes, mistakes)
    rules = missing_rules(tree, attributes, mistakes)
    rules += resolve_rules(tree, attributes, known, public_names(tree), mistakes)
    check_missing_values(tree, attributes, mistakes)
    reading = stated_reading(tree, attributes, mistakes)
    data_set = _data_set(tree, mistakes)
    if mistakes:
        return None
    document = tree.document
    return ResolvedPolicy(
        name=document.policy,
        about=document.about,
        universe=Universe(
            tuple(attributes.values()),
            presence=any(rule.presence is not None for rule in rules),
            listed=None if universe is None else universe.listed,
            stated_reading=reading,
        ),
        rules=rules,
        budget=document.budget,
        privacy=document.privacy,
        unconnected_allowed=document.unconnected == "allow",
        data_set=data_set,
        attribute_spans=tuple(_span_of(tree, name) for name in attributes),
        universe_span=tree.key_span("universe") if file is None else tree.key_span("universe", "table"),
        document=document,
        public=public_names(tree),
    )


def _data_set(tree: SyntaxTree, mistakes: Mistakes) -> DataSet:
    """Which data the policy says that it is about. No part of the fingerprint: a new edition is no new policy."""
    stated = tree.document.dataset
    if stated is None:
        return UNNAMED
    if stated.people is not None and stated.edition is None:
        advice = "name the edition, as in 'edition: 2026'; who is in it is in no other"
        mistakes.add("DX107", tree.key_span("dataset", "people"), "people: disjoint needs an edition", advice)
        return UNNAMED
    return DataSet(
        stated.name, stated.edition, stated.people is not None, None if stated.budget == "none" else stated.budget
    )


def _span_of(tree: SyntaxTree, name: str) -> Span:
    """Where an attribute's name stands; of a table's column, where the table is named."""
    declared = name in tree.document.universe.attributes
    return tree.key_span("universe", "attributes", name) if declared else tree.key_span("universe", "table")
