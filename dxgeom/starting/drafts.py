"""A commented policy and queries file for a table, with marks where only a person knows what to write."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Final, TypeAlias, final

from dxgeom.engines.opening import OutlinedColumn
from dxgeom.errors import DataError
from dxgeom.universe.columns import plain
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.wording import did_you_mean
from dxgeom.wording.numbers import at_most

_MOST_STEPS: Final = 12
_ROUND: Final = (Fraction(1), Fraction(2), Fraction(5), Fraction(10))


@final
@dataclass(frozen=True)
class Values:
    """All words that there can be."""

    words: tuple[str, ...]


@final
@dataclass(frozen=True)
class Numbers:
    """The lowest and the highest number that anybody can have, and the step between values."""

    low: Fraction
    high: Fraction
    step: Fraction
    whole: bool


@final
@dataclass(frozen=True)
class Days:
    """The first and the last day that there can be, and how many days are one value."""

    first: date
    last: date
    step: int


Declared: TypeAlias = Values | Numbers | Days


def ends_of(text: str, *, whole: bool) -> Numbers | Days:
    """What ``LOW:HIGH`` or ``LOW:HIGH:STEP`` says, in numbers or days.

    Raises: DataError.
    """
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise DataError(f"a range is like 0:110, 0:110:10 or 2026-01-01:2026-12-31; found '{text}'")
    try:
        if _is_day(parts[0]):
            return _days(parts)
        low, high = exact(parts[0].strip()), exact(parts[1].strip())
        step = exact(parts[2].strip()) if len(parts) == 3 else _round_step(high - low)
    except (NotANumber, ValueError) as error:
        raise DataError(f"a range is like 0:110 or 2026-01-01:2026-12-31; found '{text}': {error}") from error
    if not low < high or step <= 0 or step > high - low:
        raise DataError(f"a range goes from a lower to a higher number in steps that fit in; found '{text}'")
    reach = math.ceil((high - low) / step) * step
    return Numbers(low, low + reach, step, whole and low.denominator == step.denominator == 1)


def _is_day(text: str) -> bool:
    return text.strip().count("-") == 2 and not text.strip().startswith("-")


def _days(parts: list[str]) -> Days:
    first, last = (date.fromisoformat(part.strip()) for part in parts[:2])
    if not first < last:
        raise ValueError("the last day is after the first")
    step = int(parts[2]) if len(parts) == 3 else max(1, math.ceil((last - first).days / 52))
    if step < 1:
        raise ValueError("a step is a number of days")
    return Days(first, last, step)


def _round_step(span: Fraction) -> Fraction:
    """A round step, so that there are at most a dozen."""
    if span <= 0:
        return Fraction(1)
    power = Fraction(10) ** math.floor(math.log10(span / _MOST_STEPS))
    return next(factor * power for factor in _ROUND if span / (factor * power) <= _MOST_STEPS)


def in_yaml(declared: Declared) -> str:
    """The attribute as a policy file says it."""
    match declared:
        case Values(words=words):
            return f"[{', '.join(map(quoted, words))}]"
        case Numbers(low=low, high=high, step=step, whole=whole):
            more = ", whole: true" if whole else ""
            return f"{{range: [{plain(low)}, {plain(high)}], step: {plain(step)}{more}}}"
        case Days(first=first, last=last, step=step):
            return f"{{dates: [{first.isoformat()}, {last.isoformat()}], step: {step}}}"


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


FILL_IN: Final = "FILL IN"
_WANTED: Final = {
    "words": "words: list all that there can be, as in [a, b]",
    "whole numbers": "whole numbers: the ends that anybody can have, as in {range: [0, 110], step: 10, whole: true}",
    "numbers": "numbers: the ends that anybody can have, as in {range: [0, 50], step: 5}",
    "days": "days: the first and the last there can be, as in {dates: [2026-01-01, 2026-12-31], step: 7}",
    "unknown": "words: list all that there can be, as in [a, b]; numbers: as in {range: [0, 110], step: 10}",
}
_NAMELESS: Final = "a column without a name cannot be an attribute; name it, or leave it out"


@final
@dataclass(frozen=True)
class Draft:
    """A policy and a queries file as texts. ``missing``: the columns that are still to be filled in."""

    policy: str
    queries: str
    missing: tuple[str, ...]


def draft_of(
    name: str, table: str, columns: Sequence[OutlinedColumn], declared: Mapping[str, Declared], epsilon: Fraction
) -> Draft:
    """A policy and queries for a table's columns.

    Args: ``table``: what the comments call it; ``columns``: those that are not left out; ``declared``: what is known of
    them; ``epsilon``: of every rule, for its author to change.
    Raises: DataError for a column that there is not.
    """
    names = [column.name for column in columns]
    for other in declared:
        if other not in names:
            raise DataError(f"the table has no column '{other}'; {did_you_mean(other, names) or 'see its header'}")
    if not all(one.strip() for one in names):
        raise DataError(_NAMELESS)
    if not columns:
        raise DataError("every column is left out: a policy has at least one attribute")
    known = {column.name: _known(column, declared) for column in columns}
    missing = tuple(column for column, said in known.items() if said is None)
    return Draft(
        "\n".join(_policy(name, table, columns, known, epsilon)) + "\n", "\n".join(_queries(known)) + "\n", missing
    )


def _known(column: OutlinedColumn, declared: Mapping[str, Declared]) -> Declared | None:
    if column.name in declared:
        return declared[column.name]
    return Values(("true", "false")) if column.holds == "yes or no" else None


def _policy(
    name: str,
    table: str,
    columns: Sequence[OutlinedColumn],
    known: Mapping[str, Declared | None],
    epsilon: Fraction,
) -> Iterator[str]:
    yield f"# A draft by dxgeom init, from the names and types of the columns of {_on_a_line(table)}."
    yield "# No value was read but those that were declared public. An attribute lists what a record CAN be, by public"
    yield "# knowledge: never what somebody in the data is. Remove the lines of columns that no answer is to depend on,"
    yield "# such as names and numbers of people."
    if any(said is None for said in known.values()):
        yield f"# Where it says {FILL_IN}, only you know what to write. Then: dxgeom check, and dxgeom report."
    yield f"policy: {quoted(name)}"
    yield "about: A draft; say here in a sentence what is hidden."
    yield ""
    yield "universe:"
    yield "  attributes:"
    for column in columns:
        said = known[column.name]
        if said is None:
            yield f"    {quoted(column.name)}: {FILL_IN}    # {_WANTED[column.holds]}"
        else:
            yield f"    {quoted(column.name)}: {in_yaml(said)}"
    yield ""
    yield "# The smaller epsilon, the better hidden: all answers within the budget together tell two such records apart"
    yield f"# with odds of {at_most(float(epsilon))} for an epsilon of {plain(epsilon)}."
    yield "rules:"
    yield from _rules(known, epsilon)
    yield ""
    yield "budget: 1"


def _rules(known: Mapping[str, Declared | None], epsilon: Fraction) -> Iterator[str]:
    """One rule for all attributes of words, and one for each that has a distance."""
    plain_ones = [name for name, said in known.items() if said is None or isinstance(said, Values)]
    if plain_ones:
        yield f"  - change: [{', '.join(map(quoted, plain_ones))}]    # each of them on its own"
        yield f"    epsilon: {plain(epsilon)}"
    for name, said in known.items():
        if isinstance(said, Numbers | Days):
            steps = "2 steps" if isinstance(said, Days) else plain(2 * said.step)
            yield f"  - change: {quoted(name)}"
            yield f"    epsilon: {plain(epsilon)}"
            yield f"    per: {steps}    # near values are hidden best; twice as far, twice the epsilon"


def _queries(known: Mapping[str, Declared | None]) -> Iterator[str]:
    yield "# A draft by dxgeom init: a question for each attribute. The guide on queries has sums, means and ranges."
    yield "queries:"
    for name, said in known.items():
        if said is None or isinstance(said, Values):
            yield f"  - marginal: {quoted(name)}"
        else:
            sign, middle, words = _middle(said)
            yield f"  - name: {quoted(f'{name} {words}')}"
            condition = f"`{name}` {sign} {middle}" if "`" not in name else f"{name} {sign} {middle}"
            yield f"    count: {quoted(condition)}"


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
