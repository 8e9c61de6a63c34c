# ruff: noqa: E501 (a line for each cell)
"""Cells that engines hold and people write, each with a plain one that it counts as; one table for all engines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

LONG: Final = "long " * 600_000
"""3 MB."""
_DATES: Final = "c: {dates: [2024-01-01, 2024-12-31], step: 7}"
_BERLIN: Final = "c: {dates: [2024-01-01, 2024-12-31], step: 7, from: c, zone: Europe/Berlin}"
_HOURS: Final = "c: {range: [0, 23], step: 1, from: c, as: hour}"
_NUMBERS: Final = "c: {range: [0, 10], step: 1, missing: {epsilon: 1}}"
_WORDS: Final = 'c: {values: [x, "\\u00e9", "1", "true"], missing: {epsilon: 1}}'
_MOMENT: Final = pa.timestamp("us")
_INSTANT: Final = pa.timestamp("us", tz="UTC")
OUT: Final[dict[str, str]] = {
    _DATES: "1900-01-01",
    _BERLIN: "1900-01-01",
    _HOURS: "no moment",
    _NUMBERS: "99",
    _WORDS: "z",
}


@dataclass(frozen=True)
class Nasty:
    """A column of an attribute, some ``sound`` cells of it as text, and a cell as each engine writes it; None where an
    engine has no such cell. ``counts_as``: the same cell as plain text, None for a missing one."""

    attribute: str
    kind: pa.DataType
    postgres_type: str
    sound: tuple[str, ...]
    counts_as: str | None
    text: str | None = None
    arrow: Any = None
    postgres: str | None = None
    spark: str | None = None
    sqlite: Any = None


def _day(counts_as: str | None, text: str | None, days: int | None, postgres: str, spark: str | None) -> Nasty:
    cell = None if days is None else pa.array([days], pa.int32()).cast(pa.date32())
    return Nasty(
        _DATES, pa.date32(), "date", ("2024-03-05", "2024-06-01", "2024-12-31"), counts_as, text, cell, postgres, spark,
        text,
    )  # fmt: skip


def _moment(
    attribute: str, counts_as: str | None, text: str, micro: int | None, postgres: str, instant: bool = False
) -> Nasty:
    kind = _INSTANT if instant else _MOMENT
    zone = "+00:00" if instant else ""
    sound = tuple(f"{moment}{zone}" for moment in ("2024-03-05 01:02:03", "2024-06-01 12:00:00", "2024-12-31 20:59:00"))
    cell = None if micro is None else pa.array([micro], pa.int64()).cast(kind)
    spark = None if micro is None or abs(micro) > 2**62 else f"timestamp_micros({micro})"
    if spark is not None and not instant:
        spark = f"to_timestamp_ntz(date_format({spark}, 'yyyy-MM-dd HH:mm:ss'))" if "2024" in text else None
    kinds = "timestamptz" if instant else "timestamp"
    return Nasty(attribute, kind, kinds, sound, counts_as, text, cell, postgres, spark, text)


def _number(
    counts_as: str | None, text: str | None = None, postgres: str | None = None, spark: str | None = None, *,
    kind: pa.DataType | None = None, cell: Any = None, postgres_type: str = "double precision", sqlite: Any = None,
) -> Nasty:  # fmt: skip
    kind = kind or pa.float64()
    arrow = None if cell is None else pa.array([cell], kind)
    return Nasty(_NUMBERS, kind, postgres_type, ("0", "3", "10"), counts_as, text, arrow, postgres, spark, sqlite)


def _word(counts_as: str | None, word: str, *, text: bool = True, postgres: bool = True, spark: bool = True) -> Nasty:
    literal = "E'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
    said = "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return Nasty(
        _WORDS, pa.string(), "text", ("x", "1", "true"), counts_as, word if text else None, pa.array([word]),
        literal if postgres else None, said if spark else None, word,
    )  # fmt: skip


_OUT: Final = "1900-01-01"
_INFINITE: Final = 2**63 - 1
# fmt: off
NASTY: Final[dict[str, Nasty]] = {
    "a day before Christ": _day(_OUT, "0044-03-15 BC", -735_160, "DATE '0044-03-15 BC'", "date_from_unix_date(-735160)"),
    "a day of the year 10000": _day(_OUT, "10000-01-01", 2_932_897, "DATE '10000-01-01'", "date_from_unix_date(2932897)"),
    "an infinite day": _day(_OUT, "infinity", 2**31 - 1, "DATE 'infinity'", None),
    "a day before all others": _day(_OUT, "-infinity", -(2**31) + 1, "DATE '-infinity'", None),
    "the last day of PostgreSQL": _day(_OUT, "5874897-12-31", None, "DATE '5874897-12-31'", None),
    "a day of the Julian calendar": _day(_OUT, "1500-03-01", -171_637, "DATE '1500-03-01'", "DATE '1500-03-01'"),
    "a day that is none": _day(_OUT, "2024-02-30", None, "DATE 'infinity'", None),
    "a missing day": _day(None, "", None, "NULL", "NULL"),
    "a moment of a day": _moment(_DATES, "2024-03-05", "2024-03-05 13:45:00", 1_709_646_300_000_000, "'2024-03-05 13:45'"),
    "a moment with a T": _moment(_DATES, "2024-03-05", "2024-03-05T13:45:00.25", 1_709_646_300_250_000, "'2024-03-05T13:45:00.25'"),
    "an infinite moment": _moment(_DATES, _OUT, "infinity", _INFINITE, "'infinity'"),
    "a moment before all others": _moment(_DATES, _OUT, "-infinity", -_INFINITE, "'-infinity'"),
    "a moment of the year 10000": _moment(_DATES, _OUT, "10000-01-01 00:00:00", 253_402_300_800_000_000, "'10000-01-01'"),
    "a moment before Christ": _moment(_DATES, _OUT, "0044-03-15 00:00:00 BC", -63_517_824_000_000_000, "'0044-03-15 BC'"),
    "the last moment of PostgreSQL": _moment(_DATES, _OUT, "294276-12-31 23:59:59", None, "'294276-12-31 23:59:59'"),
    "an infinite hour": _moment(_HOURS, "no moment", "infinity", _INFINITE, "'infinity'"),
    "the hour of an instant near midnight": _moment(_BERLIN, "2024-03-06 12:00:00+00:00", "2024-03-05T23:45Z", 1_709_682_300_000_000, "'2024-03-05 23:45Z'", True),
    "an infinite instant": _moment(_BERLIN, _OUT, "infinity", _INFINITE, "'infinity'", True),
    "an instant of the year 10000": _moment(_BERLIN, _OUT, "10000-01-01 00:00:00+00:00", 253_402_300_800_000_000, "'10000-01-01Z'", True),
    "a missing moment": _moment(_DATES, None, "", None, "NULL"),
    "a missing hour": replace(_moment(_HOURS, None, "", None, "NULL"), attribute=_HOURS.replace("as: hour", "as: hour, missing: {epsilon: 1}")),
    "no number": _number(None, "NaN", "'NaN'", "double('NaN')", cell=float("nan")),
    "infinity": _number("99", "inf", "'infinity'", "double('Infinity')", cell=float("inf"), sqlite=float("inf")),
    "minus infinity": _number("99", "-inf", "'-infinity'", "-double('Infinity')", cell=-float("inf"), sqlite=-float("inf")),
    "minus zero": _number("0", "-0.0", "'-0'", "-0.0D", cell=-0.0, sqlite=-0.0),
    "the least number above 0": _number("0", "5e-324", "'5e-324'", "double('4.9E-324')", cell=5e-324, sqlite=5e-324),
    "a long decimal beyond floats": _number("99", "1e400", "1e400", None, postgres_type="numeric"),
    "a long decimal below those": _number("99", "-1e400", "-1e400", None, postgres_type="numeric"),
    "a long decimal nearer to 0 than floats": _number("0", "1e-400", "1e-400", None, postgres_type="numeric"),
    "a decimal that is no number": _number(None, "nan", "'NaN'", None, postgres_type="numeric"),
    "an infinite decimal": _number("99", "infinity", "'infinity'", None, postgres_type="numeric"),
    "a whole number beyond 2⁶³": _number("99", "9223372036854775808", "9223372036854775808", "9223372036854775808BD", kind=pa.uint64(), cell=2**63, postgres_type="numeric(20, 0)"),
    "a decimal of 38 digits": _number("99", "1" * 38, "1" * 38, "1" * 38 + "BD", kind=pa.decimal128(38, 0), cell=int("1" * 38), postgres_type="numeric(38, 0)"),
    "a real number": _number("3", "3.5", "3.5", "float(3.5)", kind=pa.float32(), cell=3.5, postgres_type="real"),
    "a word among numbers of text": _number("99", "seven"),
    "an empty word": _word(None, ""),
    "a blank before": _word("z", " x"),
    "a blank after": _word("z", "x "),
    "another case": _word("z", "X"),
    "a letter of two parts": _word("z", "e\u0301"),
    "the same letter of one part": _word("\u00e9", "\u00e9"),
    "a blank that is none": _word("z", "x\u00a0"),
    "a mark of order": _word("z", "\ufeffx"),
    "letters that turn": _word("z", "\u202ex"),
    "a letter of four bytes": _word("z", "\U0001f600"),
    "a zero byte": _word("z", "x\x00", postgres=False),
    "a line break": _word("z", "x\ny", text=False),
    "a line break of old": _word("z", "x\r", text=False),
    "a mark of copies": _word("z", "\\N"),
    "an end of copies": _word("z", "\\."),
    "a word for nothing": _word("z", "NULL"),
    "quotation marks": _word("z", '"x"'),
    "a word of 3 MB": _word("z", LONG, text=False, spark=False),
}
# fmt: on
