"""How tables are read, where a policy says more of it than its attributes do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dxgeom.policy.derived.derivation import NotDerivable
from dxgeom.policy.derived.derivations import expression_of
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import Declared
from dxgeom.policy.resolve.people import stated_people
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import TextColumn
from dxgeom.universe.reading.reading import CellReading, Reading, plain_reading
from dxgeom.universe.wording import did_you_mean, shown


def stated_reading(tree: SyntaxTree, attributes: Mapping[str, Attribute], mistakes: Mistakes) -> Reading | None:
    """The reading of all attributes and of people; None where each attribute is read as it is, and nothing is said of
    people, or a mistake was noted."""
    written = tree.document.universe.attributes
    plain = tuple(map(plain_reading, attributes.values()))
    found = tuple(
        _of_attribute(attribute, written.get(name), one, Declared(name, tree.root, mistakes))
        for (name, attribute), one in zip(attributes.items(), plain, strict=True)
    )
    people = stated_people(tree, (column for one in found for column in one.columns), mistakes)
    return None if found == plain and people is None else Reading(found, people)


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
