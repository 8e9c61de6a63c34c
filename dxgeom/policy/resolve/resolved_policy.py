"""Fourth phase: the policy in its universe, every rule checked against it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import UNNAMED, DataSet
from dxgeom.policy.derived import NotDerivable, expression_of
from dxgeom.policy.kinds.kind import AttributeKeys, Declared
from dxgeom.policy.resolve.attributes import (
    MAX_ATTRIBUTES,
    NAMES,
    check_missing_values,
    check_unlisted,
    declared_attributes,
    good_name,
    missing_rules,
    public_names,
    resolve_attributes,
    stated_form,
    stated_ignored,
    with_cell_rules,
)
from dxgeom.policy.resolve.known import stated_counts
from dxgeom.policy.resolve.labels import check_labels
from dxgeom.policy.resolve.rules import ResolvedRule, joined_attribute, resolve_rules
from dxgeom.policy.resolve.time import with_time
from dxgeom.policy.source.data_files import CsvTable, WrongContent, read_csv, read_or_note
from dxgeom.policy.source.fields import EdgeList, edges_words
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.yaml_tree import node_at
from dxgeom.policy.syntax.models import HERE, ONE_ROW_EACH, PolicySyntax, RuleSyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.policy.syntax.schema import joins_alone
from dxgeom.privacy.measures import CONCENTRATED, PURE, Privacy
from dxgeom.universe.attributes import Attribute, CategoricalAttribute, NotAValue
from dxgeom.universe.columns import TextColumn
from dxgeom.universe.people.people import MOST_SPREAD, People
from dxgeom.universe.public_counts import KnownCounts
from dxgeom.universe.reading.reading import CellReading, Reading, plain_reading
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

_LIMITED = "write 'people: {column: user, count: rows, at_most: 5}'"


def stated_people(tree: SyntaxTree, read: Iterable[str], mistakes: Mistakes) -> People | None:
    """How people count; None where the policy does not say, or a mistake was noted.

    ``read``: the columns that attributes are made of. A person's own column is none of them, or a change of the
    attribute would make another person; nor is the order of rows, which is not protected.
    """
    stated = tree.document.people
    if stated is None or isinstance(stated, str):
        return None
    before = len(mistakes.all)
    if stated.count == "rows" and stated.at_most is None:
        message = f"people who count by rows need {shown('at_most')}"
        mistakes.add("DX170", tree.key_span("people", "count"), message, _LIMITED)
    if stated.count == "rows" and stated.order is None and (stated.at_most or 0) > MOST_SPREAD:
        message = f"a person's rows are spread over at most {MOST_SPREAD:,} of them, found {stated.at_most:,}"
        mistakes.add("DX170", tree.span("people", "at_most"), message, f"take a smaller one; {_LIMITED}")
    for key, value in {"at_most": stated.at_most, "order": stated.order}.items():
        if stated.count != "rows" and value is not None:
            message = f"{shown(key)} is for people who count by rows, these are counted {stated.count}"
            mistakes.add("DX170", tree.key_span("people", key), message, f"leave it out; {HERE['people']}")
    if stated.order is not None and stated.order == stated.column:
        message = f"the rows of a person are ordered by another column than {shown(stated.column)}, which says whose"
        mistakes.add("DX170", tree.span("people", "order"), message, "name the column of a time, or of a number")
    columns = set(read)
    for key, column in (("column", stated.column), ("order", stated.order)):
        if column in columns:
            message = f"the column {shown(column)} is read by an attribute, and cannot be the 'people' {key} too"
            advice = "what says who people are, or which of their rows are kept, is not what the rules hide"
            mistakes.add("DX171", tree.span("people", key), message, advice)
    if len(mistakes.all) > before:
        return None
    time = tree.document.time
    each = time is not None and stated.count == "once" and getattr(stated, "in") is not None
    within = time.column if each and time is not None else None
    return People(stated.column, stated.count, stated.at_most, stated.order, within)


def stated_reading(tree: SyntaxTree, attributes: Mapping[str, Attribute], mistakes: Mistakes) -> Reading | None:
    """The reading of all attributes and of people; None where each attribute is read as it is, and nothing is said of
    people and of rows that are none, or a mistake was noted."""
    written = tree.document.universe.attributes
    plain = tuple(map(plain_reading, attributes.values()))
    found = tuple(
        _of_attribute(attribute, written.get(name), one, Declared(name, tree.root, mistakes))
        for (name, attribute), one in zip(attributes.items(), plain, strict=True)
    )
    found = tuple(
        with_cell_rules(tree, attribute, one, Declared(name, tree.root, mistakes))
        for (name, attribute), one in zip(attributes.items(), found, strict=True)
    )
    for name, attribute in attributes.items():
        check_labels(attribute, written.get(name), Declared(name, tree.root, mistakes))
    columns = [column for one in found for column in one.columns]
    people, ignored = stated_people(tree, columns, mistakes), stated_ignored(tree, columns, mistakes)
    if found == plain and people is None and not ignored:
        return None
    trimmed = people is not None and tree.document.reading is not None and tree.document.reading.trim is not None
    return Reading(found, people, ignored, trimmed)


def _of_attribute(attribute: Attribute, syntax: Any, plain: CellReading, declared: Declared) -> CellReading:
    if not isinstance(syntax, AttributeKeys):
        return plain
    return _with_unlisted(attribute, syntax, _derived(attribute, syntax, plain, declared), declared)


def _derived(attribute: Attribute, syntax: AttributeKeys, plain: CellReading, declared: Declared) -> CellReading:
    """Made from what the policy says, where it says something."""
    try:
        made = expression_of(attribute.name, lambda key: getattr(syntax, key, None), plain.read_as)
        if made is not None and plain.columns != (attribute.name,):
            raise NotDerivable("from", "it is found by coordinates, whose columns it names", "leave this out")
    except NotDerivable as error:
        at = (error.key,) if getattr(syntax, error.key, None) is not None else ()
        declared.note("DX162", f": {error}", error.advice, at=at)
        return plain
    return plain if made is None else CellReading(made.columns, made.makes, plain.unlisted, made)


def _with_unlisted(attribute: Attribute, syntax: AttributeKeys, plain: CellReading, declared: Declared) -> CellReading:
    if syntax.unlisted is None:
        return plain
    known, column = attribute.present.labels, attribute.columns[0]
    words = isinstance(column, TextColumn) and not column.dates
    if words and syntax.unlisted in known:
        return replace(plain, unlisted=known.index(syntax.unlisted))
    if words:
        message = f": rows with an unlisted word count as one of its values, found {shown(syntax.unlisted)}"
        declared.note("DX161", message, did_you_mean(syntax.unlisted, known), at=("unlisted",))
    else:
        message = ": 'unlisted' is for words, and this attribute holds numbers or dates"
        declared.note("DX161", message, "widen its values so that they include all that occurs", at=("unlisted",))
    return plain


def with_joined_attributes(tree: SyntaxTree, attributes: Mapping[str, Attribute], mistakes: Mistakes) -> SyntaxTree:
    """The tree whose rules along edges all say which attribute they are about; what none fits is noted."""
    numbered = zip(tree.rule_numbers, tree.document.rules, strict=True)
    rules = tuple(_with_joined_attribute(tree, number, rule, attributes, mistakes) for number, rule in numbered)
    return replace(tree, document=tree.document.model_copy(update={"rules": rules}))


def _with_joined_attribute(
    tree: SyntaxTree, number: int, rule: RuleSyntax, attributes: Mapping[str, Attribute], mistakes: Mistakes
) -> RuleSyntax:
    edges = rule.secrets.edges if rule.secrets is not None and joins_alone(rule) else None
    if edges is None or tree.broken or not attributes:
        return rule  # of an attribute that makes no sense nobody knows the values, and it has been complained about
    name = _joined(tree, number, edges, attributes, mistakes)
    return rule if name is None else RuleSyntax.model_validate({**_keys_written(rule), "change": (name,)})


def _joined(
    tree: SyntaxTree, number: int, edges: str | EdgeList, attributes: Mapping[str, Attribute], mistakes: Mistakes
) -> str | None:
    what = f"the file of edges {shown(edges_words(edges))}"
    span = tree.span("rules", number, "secrets", "edges")
    return read_or_note(lambda: joined_attribute(attributes, mistakes.text.folder, edges), mistakes, span, what)


def _keys_written(rule: RuleSyntax) -> dict[str, object]:
    return {key: getattr(rule, key) for key in rule.model_fields_set}


MAX_COMBINATIONS: Final = 2**62 - 1
"""Every listed record has a place in the product of the columns' values, a 64-bit integer."""


def read_table(tree: SyntaxTree, file: str, mistakes: Mistakes) -> CsvTable | None:
    """The table that lists the records; None when it cannot be read, which is then noted."""
    span = tree.span("universe", "table")
    return read_or_note(
        lambda: read_csv(mistakes.text.folder, file), mistakes, span, f"the table of records {shown(file)}"
    )


def listed_universe(tree: SyntaxTree, table: CsvTable | None, mistakes: Mistakes) -> Universe | None:
    """The universe of the records that a table lists; None when a mistake was noted.

    A table that lists the whole product in its order is that product.
    """
    before = len(mistakes.all)
    declared = declared_attributes(tree, mistakes)
    if table is None:
        return None
    span, file = tree.span("universe", "table"), table.file
    try:
        _check_columns(tree, table, mistakes)
        attributes = tuple(declared.get(name) or _words(name, table) for name in table.header)
        if len(mistakes.all) > before:
            return None
        combinations = math.prod(attribute.size for attribute in attributes)
        if combinations > MAX_COMBINATIONS:
            message = (
                f"the columns of {file} make {combinations:,} combinations; at most {MAX_COMBINATIONS:,} are handled"
            )
            mistakes.add("DX116", span, message, "leave out columns that no rule or query needs, or use coarser values")
            return None
        places = _places(attributes, table)
    except WrongContent as error:
        mistakes.add("DX115", span, str(error))
        return None
    whole = len(places) == combinations and bool(np.all(places == np.arange(combinations)))
    return Universe(attributes, listed=None if whole else places)


def _check_columns(tree: SyntaxTree, table: CsvTable, mistakes: Mistakes) -> None:
    span = tree.span("universe", "table")
    for name in table.header:
        if not good_name(name):
            mistakes.add("DX117", span, f"{NAMES}, found the column {shown(name)} of {table.file}")
    if len(table.header) > MAX_ATTRIBUTES:
        message = f"{table.file} has {len(table.header):,} columns; at most {MAX_ATTRIBUTES} are handled"
        mistakes.add("DX116", span, message, "leave out those that no rule or query needs")
    for name in tree.document.universe.attributes:
        if name not in table.header:
            message = f"{table.file} has no column {shown(name)}"
            mistakes.add(
                "DX126", tree.key_span("universe", "attributes", name), message, did_you_mean(name, table.header)
            )


def _words(name: str, table: CsvTable) -> Attribute:
    """A column of words: its values in the order in which they first appear."""
    values = tuple(dict.fromkeys(table.column(name)))
    if "" in values:
        line = table.lines[table.column(name).index("")]
        raise WrongContent(f"{table.file}, line {line}: {shown(name)} is empty")
    return CategoricalAttribute(name, values)


def _places(attributes: tuple[Attribute, ...], table: CsvTable) -> NDArray[np.int64]:
    """The place of each row in the product of the attributes. Raises: WrongContent."""
    places = np.zeros(len(table.rows), dtype=np.int64)
    for column, attribute in enumerate(attributes):
        places = places * attribute.size + _codes(attribute, table, column)
    distinct, first = np.unique(places, return_index=True)
    if distinct.size < places.size:
        again = int(np.setdiff1d(np.arange(places.size), first)[0])
        earlier = int(first[np.searchsorted(distinct, places[again])])
        line, other = table.lines[again], table.lines[earlier]
        raise WrongContent(f"{table.file}, line {line}: this record is already in line {other}")
    return places


def _codes(attribute: Attribute, table: CsvTable, column: int) -> NDArray[np.int64]:
    known: dict[str, int] = {}
    codes = np.empty(len(table.rows), dtype=np.int64)
    for row, (cells, line) in enumerate(zip(table.rows, table.lines, strict=True)):
        cell = cells[column]
        if cell not in known:
            try:
                known[cell] = attribute.code_of(cell)
            except NotAValue as error:
                message = f"{table.file}, line {line}: the attribute {shown(attribute.name)} has no value {shown(cell)}"
                raise WrongContent(f"{message}; {error.advice}" if error.advice else message) from error
        codes[row] = known[cell]
    return codes


@final
@dataclass(frozen=True)
class ResolvedPolicy:
    """A policy whose every word has a meaning.

    ``rules``: those of the file, after those that attributes state about their missing values; ``public``: the
    attributes of which it is not hidden whether they are missing. ``data_set``: which data it is about.
    ``attribute_spans``: where each attribute's name stands, ``universe_span``: where the universe is; ``document``: the
    policy as it was written. ``known``: the counts that everybody may know, None for none. ``delta``: with which chance
    all releases together may be outside its promise, None for never.
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
    known: KnownCounts | None = None
    delta: Fraction | None = None

    @property
    def lasting(self) -> tuple[tuple[int, Fraction], ...]:
        """Of rules about several periods how many these are, and ε, where normal noise may keep them as they are.

        None of pure privacy: losses of periods add up, so each has its part of ε."""
        found = {(one.periods, one.epsilon) for one in (rule.lasting for rule in self.rules) if one is not None}
        return tuple(sorted(found)) if self.privacy == CONCENTRATED else ()

    @property
    def of_single_records(self) -> ResolvedPolicy:
        """The same, whose rules about several periods state all of their ε of one record of one period."""
        return replace(self, rules=tuple(rule.of_single_records for rule in self.rules)) if self.lasting else self

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
        if self.known is not None:
            meaning["known"] = self.known.digest
            if self.known.hold is not None:
                meaning["hold"] = self.known.hold
        if self.lasting:
            meaning["periods"] = [[periods, str(epsilon)] for periods, epsilon in self.lasting]
        if self.delta is not None:
            meaning["delta"] = str(self.delta)
        canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def resolve(tree: SyntaxTree, mistakes: Mistakes) -> ResolvedPolicy | None:
    """Give every attribute and rule its meaning; None when any phase so far found a mistake."""
    written, tree = tree.document, with_time(tree, mistakes)
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
    check_unlisted(tree, attributes, rules, mistakes)
    reading, form = stated_reading(tree, attributes, mistakes), stated_form(tree, mistakes)
    data_set = _data_set(tree, mistakes)
    presence = any(rule.presence is not None for rule in rules)
    listed = None if universe is None else universe.listed
    counts = stated_counts(tree, attributes, known, presence, listed, mistakes)
    if mistakes:
        return None
    document = tree.document
    return ResolvedPolicy(
        name=document.policy,
        about=document.about,
        universe=Universe(
            tuple(attributes.values()),
            presence=presence,
            listed=listed,
            stated_reading=reading,
            one_row_each=document.people == ONE_ROW_EACH,
            form=form,
        ),
        rules=rules,
        budget=document.budget,
        privacy=document.privacy,
        unconnected_allowed=document.unconnected == "allow",
        data_set=data_set,
        attribute_spans=tuple(_span_of(tree, name) for name in attributes),
        universe_span=tree.key_span("universe") if file is None else tree.key_span("universe", "table"),
        document=written,
        public=public_names(tree),
        known=counts,
        delta=document.delta,
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
    if tree.document.time is not None and name == tree.document.time.column:
        return tree.key_span("time")
    return tree.key_span("universe", "attributes", name) if declared else tree.key_span("universe", "table")
