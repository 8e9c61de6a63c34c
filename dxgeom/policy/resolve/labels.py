"""What readers are shown instead of names and values: titles, labels, names of places. No fingerprint holds them."""

from __future__ import annotations

from collections import Counter

from dxgeom.policy.kinds.kind import AttributeKeys, Declared
from dxgeom.policy.syntax.models import PolicySyntax
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import Column, TextColumn, plain
from dxgeom.universe.labels import PolicyLabels
from dxgeom.universe.periods import along_time
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown


def labels_of(document: PolicySyntax, universe: Universe) -> PolicyLabels:
    """The titles and labels of a policy."""
    titles: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    units: dict[str, str] = {}
    along = along_time(universe.attributes)
    if along is not None and document.time is not None:
        _, periods = along
        titles |= {} if document.time.title is None else {periods.name: document.time.title}
        values |= {periods.name: periods.ends_in_words}
    for attribute in universe.attributes:
        keys = document.universe.attributes.get(attribute.name)
        if not isinstance(keys, AttributeKeys):
            continue
        unit = getattr(keys, "unit", None)
        titles |= {} if keys.title is None else {attribute.name: keys.title}
        units |= {attribute.name: unit} if isinstance(unit, str) else {}
        named = [keys.labels.get(value, value) for value in attribute.labels] if keys.labels else None
        called = _told_apart(attribute, named or _by_columns(attribute, keys.name or ()))
        values |= {attribute.name: called} if called else {}
    return PolicyLabels(titles, values, units, document.called or "people")


def check_labels(attribute: Attribute, keys: object, declared: Declared) -> None:
    """Notes labels of what is no value, and names in what is no column."""
    if not isinstance(keys, AttributeKeys):
        return
    known = set(attribute.labels)
    for value in keys.labels or ():
        if value not in known:
            message = f" has no value {shown(value)} to label"
            declared.note("DX133", message, did_you_mean(value, attribute.labels), at=("labels", value))
    columns = [column.name for column in attribute.columns]
    for name in keys.name or ():
        if name not in columns:
            message = f": its file has no column {shown(name)} of names"
            declared.note("DX126", message, did_you_mean(name, columns), at=("name",))


def _by_columns(attribute: Attribute, names: tuple[str, ...]) -> list[str]:
    """What the columns of an attribute's file call its values."""
    found = {column.name: column for column in attribute.columns}
    if not names or any(name not in found for name in names):
        return []
    return [" ".join(words) for words in zip(*(_words(found[name]) for name in names), strict=True)]


def _told_apart(attribute: Attribute, called: list[str]) -> dict[str, str]:
    """What the first values are called, where that differs; where two are called alike, the value follows."""
    several = Counter(called)
    pairs = zip(attribute.labels, called, strict=False)
    told = {value: f"{one} ({value})" if several[one] > 1 else one for value, one in pairs}
    return {value: one for value, one in told.items() if value != one}


def _words(column: Column) -> tuple[str, ...]:
    return column.texts if isinstance(column, TextColumn) else tuple(map(plain, column.numbers))
