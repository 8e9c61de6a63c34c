"""What a policy says of how tables are written and what their cells mean; every mistake noted at its place."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any, final

from dxgeom.policy.kinds.kind import AttributeKeys, Declared, MissingSyntax
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.policy.syntax.reading_syntax import ReadingSyntax
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.reading.cell_rules import CellRules, Ignored
from dxgeom.universe.reading.expressions import LocalDay, MomentPart, WordCell
from dxgeom.universe.reading.form import PLAIN, FileForm
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.reading.written import WrittenMoment, written_moment
from dxgeom.universe.wording import did_you_mean, shown

_EMPTY = ReadingSyntax()


def stated_form(tree: SyntaxTree, mistakes: Mistakes) -> FileForm:
    """How the file is written, as far as the policy says it; keys that do not go together are noted."""
    stated = tree.document.reading or _EMPTY
    if (stated.header == 0) != (stated.names is not None):
        key = "names" if stated.header != 0 else "header"
        message = "names are those of columns that no line names, so 'names' and 'header: none' come together"
        mistakes.add("DX180", tree.key_span("reading", key), message, "write both, or neither")
    quote = PLAIN.quote if stated.quote is None else stated.quote
    if stated.separator == quote:
        mistakes.add("DX180", tree.key_span("reading", "quote"), "one sign separates cells and quotes them")
    if stated.line_breaks is not None and not quote:
        message = "where nothing quotes a cell, no cell has a line break"
        mistakes.add("DX180", tree.key_span("reading", "line_breaks"), message, "leave 'line_breaks' out")
    if stated.thousands is not None and stated.thousands == (stated.decimal or "."):
        message = f"{shown(stated.thousands)} cannot be before the decimals and between groups of three digits"
        mistakes.add("DX181", tree.key_span("reading", "thousands"), message, "say 'decimal', and another sign here")
    return FileForm(
        stated.separator,
        quote,
        stated.encoding or PLAIN.encoding,
        PLAIN.header if stated.header is None else stated.header,
        stated.names or (),
        stated.sheet,
        stated.line_breaks is not None,
    )


def stated_ignored(tree: SyntaxTree, read: Iterable[str], mistakes: Mistakes) -> tuple[Ignored, ...]:
    """Which rows are none. ``read``: the columns of attributes, by which no row is left out."""
    stated, columns = tree.document.reading or _EMPTY, set(read)
    rules = CellRules(trim=stated.trim is not None, fold=stated.case is not None)
    for column in stated.ignore or {}:
        if column in columns:
            message = f"rows are left out by a column that no attribute reads, and one reads {shown(column)}"
            advice = 'name another column, or leave rows outside with outside="drop" (--drop-outside)'
            mistakes.add("DX184", tree.key_span("reading", "ignore", column), message, advice)
    return tuple(Ignored(column, words, rules) for column, words in sorted((stated.ignore or {}).items()))


def with_cell_rules(tree: SyntaxTree, attribute: Attribute, plain: CellReading, declared: Declared) -> CellReading:
    """The reading with what the policy says of its cells; as it is where that is nothing, or a mistake was noted."""
    syntax = tree.document.universe.attributes.get(attribute.name)
    keys = syntax if isinstance(syntax, AttributeKeys) else None
    rules = _Rules(tree.document.reading or _EMPTY, keys, attribute, plain, declared).found
    return plain if rules is None else plain.with_rules(rules)


@final
class _Rules:
    """The rules of one attribute, from what stands at ``reading`` and at the attribute."""

    def __init__(
        self,
        stated: ReadingSyntax,
        keys: AttributeKeys | None,
        attribute: Attribute,
        reading: CellReading,
        declared: Declared,
    ) -> None:
        self._smallest_bound, self._keys, self._declared = stated, keys, declared
        self._attribute, self._made = attribute.present, reading.expression
        moments = isinstance(self._made, MomentPart | LocalDay) or reading.read_as == "days"
        self._reads = "moments" if moments else reading.read_as

    @property
    def found(self) -> CellRules | None:
        before = len(self._declared.mistakes.all)
        for key, reads in (("words", "words"), ("units", "numbers"), ("written", "moments")):
            if self._of(key) is not None and self._reads != reads:
                what = {"words": "words", "numbers": "numbers", "moments": "dates, and 'as' of them"}[reads]
                self._note(key, f": {shown(key)} is for {what}")
        missing = self._of("missing")
        own = (missing.written or ()) if isinstance(missing, MissingSyntax) else ()
        numbers = self._reads == "numbers"
        signs = numbers and (self._smallest_bound.decimal is not None or self._smallest_bound.thousands is not None)
        written = tuple(map(written_moment, self._of("written") or ()))
        rules = CellRules(
            trim=self._smallest_bound.trim is not None,
            fold=self._smallest_bound.case is not None,
            missing=tuple(dict.fromkeys((*(self._smallest_bound.missing or ()), *own))),
            words=tuple((self._of("words") or {}).items()),
            units=tuple((self._of("units") or {}).items()),
            decimal=(self._smallest_bound.decimal or ".") if numbers else ".",
            thousands=(self._smallest_bound.thousands or "") if numbers else "",
            written=written,
            century=self._century(written),
        )
        self._check_zones(written)
        if self._reads == "words":
            self._check_words(rules)
        if len(self._declared.mistakes.all) > before or (rules == CellRules() and not signs):
            return None
        return rules

    def _of(self, key: str) -> Any:
        return getattr(self._keys, key, None)

    def _note(self, key: str, message: str, advice: str = "", code: str = "DX183") -> None:
        self._declared.note(code, message, advice, at=(key,) if self._of(key) is not None else ())

    def _check_words(self, rules: CellRules) -> None:
        values = self._attribute.labels
        if isinstance(self._made, WordCell) and self._made.length is not None and rules.words:
            self._note("words", ": 'words' does not go with 'prefix'", "list the words that the prefixes make")
        for read in dict.fromkeys(read for _, read in rules.words if read not in set(values)):
            self._note("words", f": {shown(read)} is none of its values", did_you_mean(read, values))
        if (pair := rules.alike(values)) is not None:
            self._note("values", f": with 'trim' or 'case' its values {shown(pair[0])} and {shown(pair[1])} are one")
        value_of = {rules.compared(value): value for value in values}
        for word, read in rules.words:
            other = value_of.setdefault(rules.compared(word), read)
            if other != read:
                self._note("words", f": {shown(word)} is read as {shown(other)} already, not as {shown(read)}")
        for word in rules.missing:
            if rules.compared(word) in value_of:
                message = f": {shown(word)} is one of its words, and says that nothing is there"
                self._note("missing", message, "take it out of one of the two lists")

    def _check_zones(self, written: tuple[WrittenMoment, ...]) -> None:
        zone = self._made.zone if isinstance(self._made, MomentPart | LocalDay) else None
        if any((way.zone is None) != (zone is None) for way in written):
            message = ": moments that are written with a zone need 'zone', and others have none"
            advice = "write 'zone: Europe/Berlin' beside 'written: 2025-12-31T23:59+01:00', or neither"
            self._note("written", message, advice, "DX182")
        if isinstance(self._made, MomentPart) and self._made.part == "hour" and not all(w.has_hours for w in written):
            self._note("written", ": 'as: hour' needs an hour in each example", "write 31.12.2025 23:59", "DX182")

    def _century(self, written: tuple[WrittenMoment, ...]) -> date | None:
        """The first day of dates whose years have two digits. A month, a quarter or an hour is told by any century."""
        if not any(way.short_year for way in written):
            return None
        advice = "write 'dates' that span fewer than 100 years, or export years of four digits"
        if isinstance(self._attribute, DateAttribute):
            first, last = self._attribute.first, self._attribute.last
            if (last.year - first.year, last.month, last.day) < (100, first.month, first.day):
                return first
            self._note("written", ": a year of two digits says no century of these dates", advice, "DX182")
        elif isinstance(self._made, MomentPart) and self._made.part in ("year", "weekday"):
            self._note("written", f": a year of two digits does not say the {self._made.part}", advice, "DX182")
        return None
