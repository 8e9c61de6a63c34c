"""A commented policy and queries file for a table, with marks where only a person knows what to write."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal, final

from dxgeom.engines.column_names import in_english, is_german, public_range, unit_of
from dxgeom.errors import DataError, file_errors
from dxgeom.starting.declared import MOST_WHOLE, Chapters, Days, Declared, Months, Numbers, Values, length_of_rule
from dxgeom.starting.seen import SeenColumn
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import odds

FILL_IN: Final = "FILL IN"
SEEN: Final = "seen in the rows: keep it if it is known without them"
_WIDTH: Final = 88
_WIDEST: Final = 96
_FEW: Final = 12
"""Numbers of so many values are hidden like words; of more, near ones are hidden best."""
_YES: Final = frozenset(("ja", "yes", "true", "oui", "si", "sí", "tak", "sim", "y", "j", "1", "wahr"))


def quoted(word: str) -> str:
    """A word as YAML text: as it stands where it can be nothing else, else in quotes.

    >>> quoted("ward"), quoted("no: 1"), quoted("true"), quoted("3")
    ('ward', '"no: 1"', '"true"', '"3"')
    """
    simple = word.isascii() and word.replace("_", "a").replace("-", "a").isalnum() and word[:1].isalpha()
    if simple and word.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n"):
        return word
    escaped = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in word)
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"').replace("\\\\u", "\\u") + '"'


@final
@dataclass(frozen=True)
class Asked:
    """What a draft says of a column that becomes an attribute.

    ``declared``: None where it is to be filled in; ``how``: why it is known, empty where somebody said it;
    ``confirmed``: whether what the rows show of it was confirmed, or needs no rows; ``whole``: whether its numbers were
    said to be whole.
    """

    column: SeenColumn
    declared: Declared | None
    how: str = ""
    confirmed: bool = True
    whole: bool = False


@final
@dataclass(frozen=True)
class DraftPeople:
    """Who a person is. ``columns``: that name one, none where each row is another person; ``count``: ``unknown`` where
    it is to be filled in, with ``guesses`` at the column."""

    columns: tuple[str, ...] = ()
    count: Literal["once", "rows", "one row each", "unknown"] = "once"
    at_most: int | None = None
    guesses: tuple[str, ...] = ()
    looked: bool = False


@final
@dataclass(frozen=True)
class Fact:
    """A line of ``reading:``. ``why``: the comment behind it, empty without one."""

    key: str
    value: str
    why: str = ""


@final
@dataclass(frozen=True)
class Draft:
    """A policy and a queries file as texts. ``missing``: the columns that are still to be filled in; ``todo``: what of
    them; ``left_out``: the columns that are no attributes, and why."""

    policy: str
    queries: str
    missing: tuple[str, ...]
    todo: tuple[str, ...] = field(default=(), repr=False)
    left_out: tuple[str, ...] = field(default=(), repr=False)

    def write(self, policy: str | Path, queries: str | Path) -> None:
        """Write both into new files. Raises: DataError for one that is there already."""
        for path, text in ((Path(policy), self.policy), (Path(queries), self.queries)):
            with file_errors(path, "written"), path.open("x", encoding="utf-8") as file:
                file.write(text)

    def __str__(self) -> str:
        return self.policy


def draft_of(
    name: str,
    about: str,
    attributes: Sequence[Asked],
    epsilon: Fraction,
    *,
    people: DraftPeople | None = None,
    reading: Sequence[Fact] = (),
    left_out: Sequence[tuple[str, str]] = (),
    queries: str = "queries.yaml",
    known: Sequence[str] | None = None,
) -> Draft:
    """A policy and queries for a table's columns.

    Args: ``about``: the first comment; ``epsilon``: of every rule, for its author to change; ``left_out``: columns and
    why they are no attributes; ``queries``: what the second file is called; ``known``: the columns whose totals are
    published elsewhere, None where nobody was asked.
    Raises: DataError where there is no attribute, or a column has no name.
    """
    if not all(one.column.name.strip() for one in attributes):
        raise DataError("a column without a name cannot be an attribute; name it, or leave it out")
    if not attributes:
        raise DataError("every column is left out: a policy has at least one attribute; --take names one")
    named = _named(attributes)
    policy = [*textwrap.wrap(about, _WIDTH, initial_indent="# ", subsequent_indent="# ")]
    policy += [f"policy: {quoted(name)}", "about: A draft; say here in a sentence what is hidden.", ""]
    if reading:
        policy += ["reading:", *(_behind(f"  {fact.key}: {fact.value}", fact.why, 27) for fact in reading), ""]
    if people is not None:
        policy += [*_people(people), ""]
    policy += ["universe:", "  attributes:", *(line for each in named for line in _attribute(*each, epsilon))]
    worth = by_reason((column, why) for column, why in left_out if why != ROW_NUMBER)
    if worth:
        said = f"Left out: {', '.join(worth)}."
        policy += textwrap.wrap(_on_a_line(said), _WIDTH, initial_indent="# ", subsequent_indent="#   ")
    policy += ["", *_rules(named, people, epsilon), *_known(named, people, known), "", "budget: 1"]
    missing = tuple(one.column.name for one in attributes if _lacks(one))
    todo = tuple(_lack_in_words(one) for one in attributes if _lacks(one))
    asked = "\n".join(_queries(named, queries))
    left = by_reason(left_out)
    return Draft("\n".join(policy) + "\n", asked + "\n", missing, todo, left)


def by_reason(left_out: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Columns and why they are left out, those with one reason together.

    >>> by_reason([("a", "empty"), ("b", "free text"), ("c", "empty")])
    ('a, c (empty)', 'b (free text)')
    """
    found: dict[str, list[str]] = {}
    for column, why in left_out:
        found.setdefault(why, []).append(column)
    return tuple(f"{', '.join(columns)} ({why})" for why, columns in found.items())


def _lack_in_words(one: Asked) -> str:
    lacks = ["first and last day"] if one.declared is None and one.column.kind == "days" else []
    lacks += ["zone"] if one.column.zoned else []
    lacks += ["how it is written"] if len(one.column.written) > 1 else []
    return one.column.name + (f" ({', '.join(lacks)})" if lacks else "")


def _lacks(one: Asked) -> bool:
    days = one.column.kind == "days" and (len(one.column.written) > 1 or one.column.zoned)
    return one.declared is None or days or one.column.kind == "numbers with units"


def _named(attributes: Sequence[Asked]) -> list[tuple[str, Asked]]:
    """What attributes are called: as their columns, without a unit, or as the part that is asked by."""
    taken, found = {one.column.name for one in attributes}, []
    for one in attributes:
        own = one.column.name
        german = is_german(own)
        wanted = unit_of(own)[0] if isinstance(one.declared, Numbers) else own
        wanted = ("Monat" if german else "month") if isinstance(one.declared, Months) else wanted
        wanted = ("Kapitel" if german else "chapter") if isinstance(one.declared, Chapters) else wanted
        if wanted != own and wanted in taken:
            wanted = own
        taken.add(wanted)
        found.append((wanted, one))
    return found


def _people(people: DraftPeople) -> Iterator[str]:
    if people.count == "unknown":
        guesses = "".join(f"{quoted(one)}? " for one in people.guesses[:4])
        yield f"people: {FILL_IN}    # {guesses}as in {{column: NAME, count: once}}, or: one row each"
        return
    if not people.columns:
        yield "people: one row each    # nobody has two: said here, and not checked"
        return
    column = ", ".join(map(quoted, people.columns))
    column = f"[{column}]" if len(people.columns) > 1 else column
    if people.count == "rows":
        said = FILL_IN if people.at_most is None else str(people.at_most)
        yield f"people: {{column: {column}, count: rows, at_most: {said}}}    # every row counts, nobody more than that"
        return
    yield f"people: {{column: {column}, count: once}}    # each person counts 1, over all their rows"
    if people.looked:
        yield f"# every row instead: {{column: {column}, count: rows, at_most: 5}}, with a presence rule"


def _attribute(name: str, one: Asked, epsilon: Fraction) -> Iterator[str]:
    flow, comment = _flow(name, one, epsilon)
    line = f"    {quoted(name)}: {flow}"
    if len(line) <= _WIDEST:
        yield _behind(line, comment, 51 if len(line) <= 47 else 67)
    else:
        yield f"    {quoted(name)}:"
        yield _behind(f"      {flow}", comment, 0)


def _flow(name: str, one: Asked, epsilon: Fraction) -> tuple[str, str]:
    """What is said of an attribute, and the comment behind it."""
    column, parts = one.column, list[str]()
    seen = "" if one.confirmed else SEEN
    if len(column.written) > 1:
        seen = f"{' or '.join(column.written[:3])}?"
    if name != column.name:
        parts.append(f"from: {_source(column.name)}")
    written = _written(column)
    missing = f"missing: {{epsilon: {plain(epsilon / 2)}}}"
    match one.declared:
        case Values(words=words) if (len(words) < 3 and not parts and not column.optional) or (
            column.words and not column.optional
        ):
            return f"[{', '.join(map(quoted, words))}]", one.how
        case Values(words=words):
            return _braces(f"values: [{', '.join(map(quoted, words))}]", *parts, missing), one.how
        case Chapters():
            return _braces("values: {letters: A-Z}", *parts, "prefix: 1", missing), seen
        case Months():
            return _braces("range: [1, 12]", "step: 1", "whole: true", *parts, "as: month", *written), seen
        case Numbers() as numbers:
            return _range(numbers, parts, column), one.how
        case Days(first=first, last=last, step=step):
            days = f"dates: [{first.isoformat()}, {last.isoformat()}]"
            return _braces(days, f"step: {step}", *written), seen
    return _to_fill_in(one, parts, written, seen)


def _to_fill_in(one: Asked, parts: list[str], written: list[str], seen: str) -> tuple[str, str]:
    column = one.column
    whole = ["whole: true"] if one.whole else []
    more = "" if one.whole else ", whole: true if no part can occur"
    if column.kind == "days":
        return _braces(f"dates: [{FILL_IN}, {FILL_IN}]", "step: 7", *written), seen if written else ""
    if column.kind == "whole numbers":
        flow = _braces(f"range: {FILL_IN}", "step: 1", *whole, *parts, "clamp: true", *_unit(column))
        return flow, f"as in [1, 20]{more}"
    if column.kind in ("numbers", "numbers with units"):
        units = [f"units: {FILL_IN}"] if column.kind == "numbers with units" else _unit(column)
        as_in = "as in {kg: 1, g: 0.001}" if column.kind == "numbers with units" else "as in [0, 10, 25, 50, 100, 1000]"
        return _braces(f"bins: {FILL_IN}", *parts, "clamp: true", *units), as_in
    if column.kind == "unknown":
        return FILL_IN, "as in [a, b], or {range: [0, 110], step: 10}, or {dates: [2026-01-01, 2026-12-31], step: 7}"
    return _braces(f"values: {FILL_IN}", *parts, "unlisted: other"), "as in [DE, FR]"


def _range(numbers: Numbers, parts: list[str], column: SeenColumn) -> str:
    whole = ["whole: true"] if numbers.whole else []
    few = numbers.whole and numbers.step == 1 and numbers.steps < MOST_WHOLE
    clamp = [] if few else ["clamp: true"]
    ends = f"range: [{plain(numbers.low)}, {plain(numbers.high)}]"
    return _braces(ends, f"step: {plain(numbers.step)}", *whole, *parts, *clamp, *_unit(column))


def _unit(column: SeenColumn) -> list[str]:
    unit = unit_of(column.name)[1]
    return [f"unit: {unit}"] if unit else []


def _written(column: SeenColumn) -> list[str]:
    """How days are written, and their zone, as far as they are not read without a word."""
    zone = [f"zone: {FILL_IN}"] if column.zoned else []
    usual = all(one.startswith("2025-12-31") for one in column.written)
    if not column.written or (usual and len(column.written) == 1):
        return zone
    said = FILL_IN if len(column.written) > 1 else _scalar(column.written[0])
    return [*zone, f"written: {said}"]


def _scalar(text: str) -> str:
    """A way to write days; it would be something else to YAML only with a comma in it."""
    return quoted(text) if "," in text or text.isdigit() else text


def _source(name: str) -> str:
    if name.isidentifier() and name.isascii():
        return name
    return quoted(f"`{name}`")


def _braces(*parts: str) -> str:
    return "{" + ", ".join(parts) + "}"


def _behind(line: str, comment: str, column: int) -> str:
    """A line with its comment behind it, at a column where there is room."""
    if not comment:
        return line
    return f"{line.ljust(max(column, len(line) + 4))}# {_on_a_line(comment)}"


def _rules(named: Sequence[tuple[str, Asked]], people: DraftPeople | None, epsilon: Fraction) -> Iterator[str]:
    """One rule for all attributes without a length, and one for each that has one."""
    yield _behind(
        "rules:", f"epsilon {plain(epsilon)}: odds between two people move by at most {odds(float(epsilon))}", 27
    )
    alone = {name for name, one in named if _has_a_length(one)}
    joint = [name for name, one in named if name not in alone and not isinstance(one.declared, Months)]
    joint += [name for name, one in named if isinstance(one.declared, Months)]
    if joint:
        yield _behind(f"  - change: [{', '.join(map(quoted, joint))}]", "each on its own", 67)
        yield f"    epsilon: {plain(epsilon)}"
    for name, one in named:
        if name in alone:
            yield f"  - change: {quoted(name)}"
            yield f"    epsilon: {plain(epsilon)}"
            yield _behind(*_per(one, epsilon), 27)
    if people is not None and people.count == "rows":
        yield _behind("  - presence: true", "that somebody is in the table at all", 27)
        yield f"    epsilon: {plain(epsilon)}"


def _known(named: Sequence[tuple[str, Asked]], people: DraftPeople | None, known: Sequence[str] | None) -> list[str]:
    """The counts that are published elsewhere; where nobody was asked, a mark. With many rows of a person they are not
    handled."""
    if people is None or people.count != "one row each":
        return []
    if known is None:
        return [
            "",
            "# Are counts of these records published elsewhere, as how many each value has? List them:",
            *("# known:", f"#   - totals: {quoted(named[0][0])}"),
        ]
    called = {one.column.name: name for name, one in named}
    return ["", "known:", *(f"  - totals: {quoted(called[name])}" for name in known)] if known else []


def _has_a_length(one: Asked) -> bool:
    if isinstance(one.declared, Numbers):
        return one.declared.steps >= _FEW
    return isinstance(one.declared, Days) or (one.declared is None and one.column.kind == "days")


def _per(one: Asked, epsilon: Fraction) -> tuple[str, str]:
    if not isinstance(one.declared, Numbers):
        weeks = not isinstance(one.declared, Days) or one.declared.step == 7
        about = f"a month apart: about {odds(float(epsilon))}" if weeks else f"4 steps apart: {odds(float(epsilon))}"
        return "    per: 4 steps", about
    per = length_of_rule(one.declared)
    known = public_range(one.column.name) if one.how.startswith(BY_ITS_NAME) else None
    unit = unit_of(one.column.name)[1] if known is None else known.unit
    apart = f"{plain(per)} {unit} apart" if unit else f"{plain(per)} apart"
    whole = (one.declared.high - one.declared.low) / per * epsilon
    return f"    per: {plain(per)}", f"{apart}: {odds(float(epsilon))}; the whole range: {odds(float(whole))}"


ROW_NUMBER: Final = "a row's own number"
"""A reason that needs no word in a draft."""
BY_ITS_NAME: Final = "by its name"


def _queries(named: Sequence[tuple[str, Asked]], file: str) -> list[str]:
    """Two or three questions that can be answered well."""
    found: list[str] = []
    for rank in (_few_numbers, _months, _yes_or_no, _words, _middle_of, _unknown):
        for name, one in named:
            line = rank(name, one)
            if line and len(found) < 3 and (rank not in (_words, _middle_of, _unknown) or len(found) < 2):
                found.append(line)
    number = {1: "a question", 2: "two questions", 3: "three questions"}[len(found)]
    return [f"# {file}: {number} to begin with.", "queries:", *found]


def _marginal(name: str, called: str) -> str:
    return f"  - {{name: {quoted_name(f'people by {called}')}, marginal: {quoted(name)}}}"


def quoted_name(words: str) -> str:
    """Words of a question as YAML text within braces."""
    return words if words.isascii() and words.replace(" ", "a").isalnum() else quoted(words)


def _few_numbers(name: str, one: Asked) -> str:
    few = isinstance(one.declared, Numbers) and one.declared.steps < _FEW
    return _marginal(name, in_english(name)) if few else ""


def _months(name: str, one: Asked) -> str:
    return _marginal(name, "month") if isinstance(one.declared, Months) else ""


def _yes_or_no(name: str, one: Asked) -> str:
    words = one.declared.words if isinstance(one.declared, Values) else ()
    yes = next((word for word in words if word.lower() in _YES), None)
    if len(words) != 2 or yes is None or "'" in yes or "`" in name:
        return ""
    return f"  - {{name: {quoted_name(in_english(name))}, count: {_condition(f'{_variable(name)} == {yes!r}')}}}"


def _words(name: str, one: Asked) -> str:
    plain_words = isinstance(one.declared, Values | Chapters) and not _yes_or_no(name, one)
    return _marginal(name, in_english(name)) if plain_words else ""


def _middle_of(name: str, one: Asked) -> str:
    if "`" in name or not isinstance(one.declared, Numbers | Days) or _few_numbers(name, one):
        return ""
    sign, middle, words = _middle(one.declared)
    condition = _condition(f"{_variable(name)} {sign} {middle}")
    return f"  - {{name: {quoted_name(f'{in_english(name)} {words}')}, count: {condition}}}"


def _unknown(name: str, one: Asked) -> str:
    return _marginal(name, in_english(name)) if one.declared is None else ""


def _variable(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else f"`{name}`"


def _condition(text: str) -> str:
    """A condition within braces: as it is where YAML reads it so."""
    return text if text.isascii() and not set(text) & set('`\\,{}[]#:"') else quoted(text)


def _middle(said: Numbers | Days) -> tuple[str, str, str]:
    """A comparison with a value near the middle."""
    if isinstance(said, Days):
        steps = max(1, (said.last - said.first).days // said.step // 2)
        day = (said.first + timedelta(days=steps * said.step)).isoformat()
        return "<", f"'{day}'", f"before {day}"
    middle = said.low + max(1, round((said.high - said.low) / said.step / 2)) * said.step
    return ">=", plain(middle), f"at least {plain(middle)}"


def _on_a_line(words: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in words)
