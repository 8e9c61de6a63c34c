"""The attributes of a policy with their meaning, checked before anything large is built; their missing values; what
goes with values that nobody listed.

What a policy says of how tables are written and what their cells mean; every mistake noted at its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Named
from datetime import date
from typing import Any, Final, final

from dxgeom.policy.bounds.value_bounds import MissingValue
from dxgeom.policy.kinds.attribute_kinds import kind_of
from dxgeom.policy.kinds.kind import AttributeKeys, Declared, MissingSyntax
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.yaml_tree import Mapping, node_at
from dxgeom.policy.syntax.models import PolicySyntax, ReadingSyntax, RuleSyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.policy.syntax.schema import joins_alone, splits_records
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain, words_of_column
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.reading.expressions import LocalDay, MomentPart, WordCell
from dxgeom.universe.reading.reading import MISSING, PLAIN, CellReading, FileForm, OptionalAttribute
from dxgeom.universe.reading.written import CellRules, Ignored, WrittenMoment, written_moment
from dxgeom.universe.universe import MOST_ATTRIBUTES, MOST_RECORD_TYPES
from dxgeom.universe.wording import did_you_mean, shown

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


def missing_rules(tree: SyntaxTree, attributes: dict[str, Attribute], mistakes: Mistakes) -> tuple[ResolvedRule, ...]:
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


def check_missing_values(tree: SyntaxTree, attributes: dict[str, Attribute], mistakes: Mistakes) -> None:
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
    if rule.presence is not None or rule.any is not None:
        return "'presence'" if rule.any is None else "'any'"
    if rule.together is not None and rule.measure is None and name in (rule.change or ()):
        return "one epsilon for several attributes together"
    if splits_records(rule) and rule.secrets is not None and name not in (rule.secrets.partition or ()):
        return "a partition of the records"
    return ""


MAX_ATTRIBUTES: Final = MOST_ATTRIBUTES
MOST_IN_TABLES: Final = 1000
"""So many attributes there may be where every rule is about single ones: then whole tables of counts can be asked."""
MOST_VALUES_IN_TABLES: Final = 1_000_000
"""Of an attribute, where there are more possible records than are counted: of each value its word and its codes are
kept, which is some 700 bytes."""
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
        message = f"the attributes make {size:,} possible records; at most {MAX_RECORD_TYPES:,} are handled"
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
    distances add up over attributes but for these, and nothing has to know all possible records for whole tables."""
    return all(
        (any(one is not None for one in (rule.change, rule.presence, rule.any, rule.between)) or joins_alone(rule))
        and rule.measure is None
        for rule in document.rules
    )


def good_name(name: str) -> bool:
    """Whether conditions can name an attribute so."""
    return bool(name) and len(name) <= 100 and "`" not in name and name.isprintable()


_CHANCE: Final = (
    "write 'delta: 1e-9' beside 'budget': with this chance all releases together may show what a single person has"
)


def check_unlisted(
    tree: SyntaxTree, attributes: Named[str, Attribute], rules: Sequence[ResolvedRule], mistakes: Mistakes
) -> None:
    """Note what the policy says that no values which nobody listed go with; and a ``delta`` without any such."""
    document, names = tree.document, [name for name, one in attributes.items() if one.unlisted]
    if document.delta is not None and not names and not tree.broken:
        message = "'delta' is about attributes whose values nobody listed, and there are none"
        mistakes.add("DX194", tree.key_span("delta"), message, "leave it out, or write {open: text} for an attribute")
    if not names:
        return
    span = tree.key_span("universe", "attributes", names[0])
    if node_at(tree.root, ("delta",)) is None:
        message = f"nobody listed the values of {shown(names[0])}, and the policy states no 'delta'"
        mistakes.add("DX194", span, message, _CHANCE)
    if document.universe.table is not None:
        message = f"nobody listed the values of {shown(names[0])}, and a table lists the records"
        mistakes.add("DX194", span, message, "state 'attributes' without a 'table'")
    if document.known is not None:
        message = f"known counts are of listed values, and nobody listed those of {shown(names[0])}"
        mistakes.add("DX194", tree.key_span("known"), message, "leave them out, or list the values")
    for rule in rules:
        about = [name for name, bound in rule.bounds if bound.constant is None]
        if rule.joint is not None and rule.joint.constant is None:
            about += rule.joint.names
        for name in (name for name in names if name in about):
            message = f"a rule tells values of {shown(name)} apart, which nobody listed"
            mistakes.add("DX194", rule.span, message, "write 'change' with 'epsilon' alone, for any two of them")


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
