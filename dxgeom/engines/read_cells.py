"""What a policy says of cells, in the SQL of the embedded engine: every table's raw cells are read by it and no other.

The order is trim, NFC, small letters, missing words, words or units, value. A cell that means nothing is null; a number
that cannot be read is infinite, and a day that cannot be read is a text that names no day.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any, Final, Literal

import duckdb
import pyarrow as pa

from dxgeom.engines.source import ROWS, Source, ibis, wanted_rows
from dxgeom.errors import DataError
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.reading.expressions import LocalDay, MomentPart
from dxgeom.universe.reading.reading import CellReading, Reading
from dxgeom.universe.reading.written import BLANKS, CellRules, Ignored, WrittenMoment
from dxgeom.universe.wording import shown

TYPED: Final = "\x1f"
"""Begins a cell of a workbook that has a type, in a column where others are text: it is written as ISO does."""
_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = "[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
_OFFSET: Final = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_BLANK_BESIDE_UNIT: Final = "[ \u00a0\u202f]?"


_MAKES: Final = {"clean": pa.string(), "number": pa.float64(), "moment": pa.timestamp("us"), "day": pa.string()}


def holds_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds words."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def named(rules: CellRules, zone: str | None = None) -> str:
    """What the functions of these rules end in; equal names are of equal functions."""
    return hashlib.sha256(json.dumps([rules.digest, zone]).encode()).hexdigest()[:16]


def zone_of(reading: CellReading) -> str | None:
    """Where clocks show the moments of a column, as its expression says."""
    made = reading.expression
    return made.zone if isinstance(made, MomentPart | LocalDay) else None


_UNREAD: Final = "unread"


def prepare(source: Source, reading: Reading) -> Source:
    """Makes what expressions call, before anything flows: clean_…, number_…, moment_… and day_… of each set of rules.

    A table that is here has them as columns, too: an expression that names a cell often would work it out as often.
    """
    connection, read = source.connection, dict[str, str]()
    for one, places in zip(reading.attributes, reading.places, strict=True):
        if one.rules is not None:
            end = named(one.rules, zone_of(one))
            for statement in _functions(connection, one.rules, zone_of(one)):
                connection.execute(statement)
            texts = [place for place in places if holds_text(source.types[place])]
            read |= {f"{kind}_{end}_{place}": f"{kind}_{end}(k{place})" for kind in _MAKES for place in texts}
    if source.there is not None or not read:
        return source
    made = ", ".join(f"{call} AS {name}" for name, call in read.items())
    connection.execute(f"ALTER VIEW {ROWS} RENAME TO {_UNREAD}")
    connection.execute(f"CREATE VIEW {ROWS} AS SELECT *, {made} FROM {_UNREAD}")  # noqa: S608
    kinds = {f"k{place}": kind for place, kind in enumerate(source.types)}
    kinds |= {name: _MAKES[name.partition("_")[0]] for name in read}
    return replace(source, made=wanted_rows(pa.schema(kinds)))


def _functions(connection: duckdb.DuckDBPyConnection, rules: CellRules, zone: str | None) -> Iterable[str]:
    end = named(rules, zone)
    gone = ", ".join(map(literal, {"", *compared(connection, rules, rules.missing)}))
    yield _once(f"clean_{end}", _compared_sql("cell", rules), f"CASE WHEN y NOT IN ({gone}) THEN y END")
    typed = f"starts_with(cell, {literal(TYPED)})"
    plain = "coalesce(try_cast(y AS DOUBLE), CAST('inf' AS DOUBLE))"
    number = f"CASE WHEN y IS NULL THEN NULL WHEN {typed} THEN {plain} {_number(connection, rules)} END"
    yield _once(f"number_{end}", f"clean_{end}(cell)", number)
    ways = [_moment(way, rules.century, zone) for way in rules.written] or [_iso(zone)]
    known = f"CASE WHEN {typed} THEN try_cast(y AS TIMESTAMP) ELSE coalesce({', '.join(ways)}) END"
    yield _once(f"moment_{end}", f"lower(clean_{end}(cell))", known)
    # A day that cannot be read must not be taken for one that is written year-month-day.
    yield _once(
        f"day_{end}", f"lower(clean_{end}(cell))", f"coalesce(CAST(CAST({known} AS DATE) AS VARCHAR), '?' || y)"
    )


def _once(name: str, first: str, then: str) -> str:
    """A function that works out ``first``, called y, once, and ``then`` of it."""
    return f"CREATE OR REPLACE MACRO {name}(cell) AS list_transform([{first}], lambda y: {then})[1]"


def _compared_sql(cell: str, rules: CellRules) -> str:
    """A cell, or a word of the policy, as they are compared."""
    cell = f"CASE WHEN starts_with({cell}, {literal(TYPED)}) THEN substr({cell}, 2) ELSE {cell} END"
    if rules.trim:
        # Most cells have no blank at an end, and the engine is slow to look for so many kinds of them.
        blanks = ", ".join(map(literal, BLANKS))
        blank = f"({cell})[1] IN ({blanks}) OR ({cell})[-1] IN ({blanks})"
        cell = f"CASE WHEN {blank} THEN trim({cell}, {literal(BLANKS)}) ELSE {cell} END"
    cell = f"nfc_normalize({cell})" if rules.composed else cell
    return f"lower({cell})" if rules.fold else cell


def compared(connection: duckdb.DuckDBPyConnection, rules: CellRules, words: Iterable[str]) -> list[str]:
    """Words of the policy as cells are compared with them."""
    listed = list(words)
    if not listed:
        return []
    rows = "(SELECT unnest(?) AS word, unnest(?) AS place)"
    statement = f"SELECT {_compared_sql('word', rules)} FROM {rows} ORDER BY place"  # noqa: S608
    return [word for (word,) in connection.execute(statement, [listed, list(range(len(listed)))]).fetchall()]


def condition_of(connection: duckdb.DuckDBPyConnection, ignored: Ignored, column: str) -> str:
    """What is true of the rows that count, in SQL."""
    words = ", ".join(map(literal, compared(connection, ignored.rules, ignored.words)))
    return f"coalesce({_compared_sql(f'CAST({column} AS VARCHAR)', ignored.rules)} NOT IN ({words}), true)"


def _number(connection: duckdb.DuckDBPyConnection, rules: CellRules) -> str:
    """The rest of a CASE that makes a number of y, strictly."""
    point = re.escape(rules.decimal)
    # One sign throughout a number: 1 234'567 is none.
    groups = (f"[0-9]{{1,3}}(?:{re.escape(sign)}[0-9]{{3}})+" for sign in _signs(rules.thousands))
    whole = f"(?:{'|'.join(['[0-9]+', *groups])})"
    exact = f"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]{{1,3}})?"
    if not rules.units:
        return f"WHEN regexp_full_match(y, {literal(exact)}) THEN {_cast('y', rules)} ELSE CAST('inf' AS DOUBLE)"
    units = compared(connection, rules, (unit for unit, _ in rules.units))
    # The engine knows no escaped signs beyond ASCII, such as the Euro's; Python escapes none of them.
    either = "|".join(map(re.escape, sorted(units, key=len, reverse=True)))
    before, behind = f"(?:({either}){_BLANK_BESIDE_UNIT})", f"(?:{_BLANK_BESIDE_UNIT}({either}))"
    found = "WHEN regexp_full_match(y, {0}) THEN {1} "
    rest = found.format(literal(exact), _cast("y", rules))
    for pattern, number, unit in ((f"{before}({exact})", 2, 1), (f"({exact}){behind}", 1, 2)):
        text, word = (f"regexp_extract(y, {literal(f'^{pattern}$')}, {group})" for group in (number, unit))
        each = " ".join(
            f"WHEN {literal(one)} THEN {_times(_cast(text, rules), factor)}"
            for one, (_, factor) in zip(units, rules.units, strict=True)
        )
        rest += found.format(literal(pattern), f"CASE {word} {each} END")
    return f"{rest} ELSE CAST('inf' AS DOUBLE)"


_ALIKE: Final = {" ": " \u00a0\u202f", "'": "'\u2019"}


def _signs(thousands: str) -> str:
    """The signs that may stand between thousands: a blank is any that does not break a line, a mark either apostrophe;
    none where there is none."""
    return _ALIKE.get(thousands, thousands)


def _cast(text: str, rules: CellRules) -> str:
    for sign in _signs(rules.thousands):
        text = f"replace({text}, {literal(sign)}, '')"
    text = text if rules.decimal == "." else f"replace({text}, {literal(rules.decimal)}, '.')"
    return f"coalesce(try_cast({text} AS DOUBLE), CAST('inf' AS DOUBLE))"


def _times(number: str, factor: Fraction) -> str:
    """A quotient of whole numbers is rounded once where one of them is 1."""
    over = "" if factor.denominator == 1 else f" / CAST('{factor.denominator}' AS DOUBLE)"
    return (number if factor.numerator == 1 else f"({number} * CAST('{factor.numerator}' AS DOUBLE))") + over


def _iso(zone: str | None) -> str:
    """A moment that is written year-month-day, in small letters as y is."""
    if zone is None:
        text = f"CASE WHEN regexp_matches(upper(y), '^{_DAY}({_CLOCK})?$') THEN upper(y) END"
        return f"try_cast({text} AS TIMESTAMP)"
    text = f"CASE WHEN regexp_matches(upper(y), '^{_DAY}{_CLOCK}{_OFFSET}$') THEN upper(y) END"
    return f"timezone({literal(zone)}, try_cast({text} AS TIMESTAMPTZ))"


def _moment(way: WrittenMoment, century: date | None, zone: str | None) -> str:
    pattern = literal(way.pattern)
    body = f"regexp_replace(y, {pattern}, '\\1\\2')" if "S" in way.codes or way.zone is not None else "y"
    moment = f"try_strptime({body}, {literal(way.layout)})"
    if way.zone is not None:
        offset = f"regexp_replace(y, {pattern}, '\\3')"
        digits = f"replace({offset}, ':', '')"
        minutes = f"(60 * CAST(substr({digits}, 2, 2) AS BIGINT) + CAST('0' || substr({digits}, 4) AS BIGINT))"
        signed = f"CAST({digits}[1] || '1' AS BIGINT) * {minutes}"
        since = f"to_minutes(CASE WHEN {offset} IN ('z', 'utc', 'gmt') THEN 0 ELSE {signed} END)"
        moment = f"timezone({literal(zone or 'UTC')}, timezone('UTC', {moment} - {since}))"
    if way.short_year and century is not None:
        moment = _in_century(moment, century)
    return f"CASE WHEN regexp_full_match(y, {pattern}) THEN {moment} END"


def _in_century(moment: str, first: date) -> str:
    """The day of those hundred years that begin on the first one whose year ends in these two digits."""
    year = f"({first.year} + (year(m) - {first.year} + 10000) % 100)"
    day = f"TRY(make_date({year}, month(m), day(m)))"
    later = f"TRY(make_date({year} + 100, month(m), day(m)))"
    begins = f"make_date({first.year}, {first.month}, {first.day})"
    before = f"(year(m) % 100 = {first.year % 100} AND (month(m), day(m)) < ({first.month}, {first.day}))"
    chosen = f"CASE WHEN {before} THEN {later} WHEN {day} >= {begins} THEN {day} END"
    return f"CAST(list_transform([{moment}], lambda m: {chosen})[1] AS TIMESTAMP)"


def _of_the_engine(cell: Any) -> Any:
    """Named only; :func:`prepare` has made the function."""


@cache
def _function(name: str, makes: pa.DataType) -> Any:
    signature = ((ibis.dtype("string"),), ibis.dtype(makes))
    return ibis.udf.scalar.builtin(name=name, signature=signature)(_of_the_engine)


def read_there(
    kind: Literal["clean", "number", "moment", "day"],
    rows: ibis.Table,
    position: int,
    rules: CellRules,
    zone: str | None = None,
) -> Any:
    """A cell of text as it is compared, null where it means that nothing is there; its number, infinite where it is
    none; its moment as clocks show it, in ``zone`` if it says its own, null where it says none; or its day as text."""
    end = named(rules, zone)
    name = f"{kind}_{end}_{position}"
    return rows[name] if name in rows.columns else _function(f"{kind}_{end}", _MAKES[kind])(rows[f"k{position}"])


def word_of_typed(rules: CellRules, text: Any) -> Any:
    """A whole number or a truth value, as text, as it is compared."""
    return _function(f"clean_{named(rules)}", _MAKES["clean"])(text)


def missing_numbers(rules: CellRules) -> list[float]:
    """What the words that mean nothing are as numbers, for cells that have a type."""
    found = []
    for word in rules.missing:
        text = word.strip(BLANKS) if rules.trim else word
        text = text.replace(rules.thousands, "") if rules.thousands else text
        text = text.replace(rules.decimal, ".")
        if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", text, re.ASCII):
            found.append(float(text))
    return found


def missing_days(rules: CellRules) -> list[str]:
    """What they are as days, year-month-day."""
    ways = [way.read(word.strip(BLANKS)) for way in rules.written for word in rules.missing]
    plain = [word for word in rules.missing if re.fullmatch(_DAY, word)]
    return [*plain, *(moment.date().isoformat() for moment in ways if moment is not None)]


def spellings(attribute: Attribute, rules: CellRules) -> dict[str, str]:
    """The value that each word, as cells are compared, is read as. Raises: DataError where two values are one."""
    values = attribute.present.labels
    with duckdb.connect(":memory:") as connection:
        words = compared(connection, rules, (*values, *(word for word, _ in rules.words)))
    found: dict[str, str] = {}
    for word, value in zip(words, (*values, *(read for _, read in rules.words)), strict=True):
        if found.setdefault(word, value) != value:
            raise DataError(
                f"{shown(word)} is read as {shown(found[word])} and as {shown(value)} of '{attribute.name}'"
            )
    return found
