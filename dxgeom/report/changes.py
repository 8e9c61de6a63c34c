"""What a change of policy does: pair by pair, worst first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.document.document import (
    Badge,
    Block,
    Code,
    Document,
    Notice,
    Paragraph,
    Section,
    ShownColumn,
    ShownTable,
    Words,
)
from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.explain.telling import curve_of
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE, Privacy
from dxgeom.report.facts import Facts, PairDistances, both, facts_of
from dxgeom.universe.columns import chance_in_words
from dxgeom.wording.numbers import NO_LIMIT, amount, band_of, guesses, odds

_SAME: Final = 1e-9
_UP: Final = 1 + 1e-9
"""Compiled distances are rounded down by less than this, relatively; what is said of them is not."""
_MOST_ROWS: Final = 40
_OF_ODDS: Final = "Odds are those of all answers within the whole budget together."
_OF_CURVES: Final = (
    "Right guesses, on average, are those of all answers within the whole budget together, at most; odds pass the "
    "figures one time in a million. There is no ceiling on the odds."
)
_ODDS_COLUMNS: Final = (
    ShownColumn("Odds before", figures=True),
    ShownColumn("Odds now", figures=True),
    ShownColumn("Right guesses of 1,000, before and now", figures=True),
    ShownColumn("Now in words"),
)
_CURVE_COLUMNS: Final = (
    ShownColumn("Right guesses of 1,000 before", figures=True),
    ShownColumn("Now", figures=True),
    ShownColumn("Odds before, but one time in a million", figures=True),
    ShownColumn("Odds now", figures=True),
)


@final
@dataclass(frozen=True)
class PairChange:
    """Two records that differ in one attribute only, and how far the whole budget tells them apart."""

    attribute: str
    words: str
    before: float
    after: float

    @property
    def growth(self) -> float:
        """How much more is told; the worst is the largest."""
        if self.before == self.after:
            return 0.0
        return self.after - self.before


def changes_page(old: Policy, new: Policy) -> Document:
    """What is told of pairs of records under a new policy that was not told under an old one, and the other way round.

    Guarantee: odds are those of the whole budget of each, *rounded up*; of concentrated privacy right guesses, and odds
    that are passed one time in a million at most.
    Raises: UnsupportedCombination for policies that count privacy in two ways; TooLarge.
    """
    for policy, name in ((old, "old"), (new, "new")):
        require(policy, Policy, name, "load it with dx.load_policy")
    if old.privacy != new.privacy:
        raise UnsupportedCombination(
            f"policy '{old.name}' counts {old.privacy} privacy and '{new.name}' {new.privacy}, whose promises are two "
            "kinds: compare two that count alike, and read each with 'dxgeom report'"
        )
    before, after = facts_of(old), facts_of(new)
    found = sorted(_pairs(before, after), key=lambda one: (-one.growth, one.attribute, one.words))
    weaker = [one for one in found if one.growth > 0]
    stronger = [one for one in reversed(found) if one.growth < 0]
    short = Section(0, "In short", tuple(_short(before, after, weaker, stronger)))
    sections = (
        short,
        Section(
            1, "Hidden less than before", _table_of_changes(weaker, new.privacy, "No pair is hidden less than before.")
        ),
        Section(
            2,
            "Hidden more than before",
            _table_of_changes(stronger, new.privacy, "No pair is hidden more than before."),
        ),
    )
    facts: tuple[tuple[str, Words], ...] = (
        ("Old policy", (old.name, " ", Code(old.fingerprint[:12]))),
        ("New policy", (new.name, " ", Code(new.fingerprint[:12]))),
    )
    return Document("Change of policy", new.name, new.about, facts, sections, new.fingerprint)


def _pairs(before: Facts, after: Facts) -> Iterator[PairChange]:
    newer = {one.name: one for one in after.compared}
    for one in before.compared:
        if one.name in newer:
            yield from _of_attribute(one, newer[one.name], before.budget, after.budget)


def _of_attribute(one: PairDistances, other: PairDistances, before: float, after: float) -> Iterator[PairChange]:
    """Every changed pair of values that both have."""
    mine, _, older, newer = distances_in_both(one, other, before, after)
    for first, second in np.argwhere(np.triu(are_changed(older, newer), 1)):
        words = both(one.labels[mine[first]], one.labels[mine[second]])
        yield PairChange(one.name, words, float(older[first, second]), float(newer[first, second]))


def distances_in_both(
    one: PairDistances, other: PairDistances, before: float, after: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The codes of values that both have, in each; and their distances (n, n), each times its budget."""
    place = {label: code for code, label in enumerate(other.labels)}
    codes = [(code, place[label]) for code, label in enumerate(one.labels) if label in place]
    mine, theirs = np.array(codes, dtype=np.int64).reshape(-1, 2).T
    return mine, theirs, one.distances[np.ix_(mine, mine)] * before, other.distances[np.ix_(theirs, theirs)] * after


def are_changed(older: NDArray[np.float64], newer: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where two distances are not the same, but for how they are rounded."""
    with np.errstate(invalid="ignore"):
        same = (older == newer) | (np.abs(older - newer) <= _SAME * np.maximum(older, newer))
    return np.asarray(~same)


def _short(before: Facts, after: Facts, weaker: list[PairChange], stronger: list[PairChange]) -> Iterator[Block]:
    pure = after.policy.privacy == PURE
    yield Paragraph(
        f"{_count(len(weaker))} hidden less than before, {_count(len(stronger))} hidden more. "
        f"{_OF_ODDS if pure else _OF_CURVES}"
    )
    if weaker:
        worst = weaker[0]
        before_now = (
            f"{odds(worst.before)} before, {odds(worst.after)} now"
            if pure
            else f"{in_curves(worst.before)[0]} right guesses of 1,000 before, {in_curves(worst.after)[0]} now"
        )
        more = f"{worst.attribute}, {worst.words}: {before_now}."
        yield Notice("decide", "The worst change.", more, "section-1", "Section 1")
    yield from beside_pairs(before, after)


def beside_pairs(before: Facts, after: Facts) -> Iterator[Notice]:
    """What changed beside how far pairs are apart: budget, presence, what is public, attributes and values."""
    one, other = before.policy, after.policy
    if one.budget != other.budget:
        yield Notice("know", "The budget is another.", f"{amount(one.budget)} before, {amount(other.budget)} now.")
    if one.delta != other.delta:
        before_now = [
            "always" if each.delta is None else f"except with chance {chance_in_words(each.delta)}"
            for each in (one, other)
        ]
        more = f"{before_now[0]} before, {before_now[1]} now."
        yield Notice("decide" if (other.delta or 0) > (one.delta or 0) else "know", "Odds hold otherwise:", more)
    if (one.universe.absent is None) != (other.universe.absent is None):
        lost = other.universe.absent is None
        said = "no longer hidden" if lost else "now hidden"
        yield Notice("decide" if lost else "know", "Having a record is", f"{said}, and so is the number of records.")
    mine, theirs = (None if each.informed is None else "; ".join(each.informed.counts) for each in (one, other))
    if mine != theirs or (one.resolved.known and one.resolved.known.digest) != (
        other.resolved.known and other.resolved.known.digest
    ):
        yield Notice("decide", "What is public is another.", f"{mine or 'Nothing'} before, {theirs or 'nothing'} now.")
    yield from _universe(one, other)
    unseen = [*before.review.not_examined, *after.review.not_examined]
    if unseen:
        yield Notice("know", "Not compared pair by pair:", ", ".join(dict.fromkeys(unseen)) + ".")


def _universe(one: Policy, other: Policy) -> Iterator[Notice]:
    """Attributes and values that only one of the policies has."""
    older, newer = ({each.name: each for each in policy.universe.attributes} for policy in (one, other))
    for name in [name for name in older if name not in newer]:
        yield Notice(
            "decide", f"The attribute {name} is gone.", "What only it told apart is no part of any answer now."
        )
    for name in [name for name in newer if name not in older]:
        yield Notice("decide", f"The attribute {name} is new.", "Answers may now depend on it.")
    for name in [name for name in older if name in newer]:
        mine, theirs = older[name].labels, newer[name].labels
        gone, new = sorted(set(mine) - set(theirs)), sorted(set(theirs) - set(mine))
        if gone or new:
            more = "; ".join(
                f"{words}: {', '.join(values[:5])}{'' if len(values) <= 5 else ' and more'}"
                for words, values in (("gone", gone), ("new", new))
                if values
            )
            yield Notice("know", f"Values of {name} changed:", f"{more}.")


def _table_of_changes(changes: list[PairChange], privacy: Privacy, nothing: str) -> tuple[Block, ...]:
    if not changes:
        return (Paragraph(nothing),)
    pure = privacy == PURE
    columns = (
        ShownColumn("Two records that differ only in"),
        ShownColumn("For example"),
        *(_ODDS_COLUMNS if pure else _CURVE_COLUMNS),
    )
    rows = tuple(_row(change) if pure else _row_in_curves(change) for change in changes[:_MOST_ROWS])
    more = len(changes) - _MOST_ROWS
    rest = (Paragraph(f"And {more:,} more pairs, each changed by no more than these.", "note"),) if more > 0 else ()
    return (ShownTable("Changed pairs", columns, rows), *rest)


def _row(change: PairChange) -> tuple[Words, ...]:
    band = band_of(change.after)
    right = f"{guesses(change.before):,} → {guesses(change.after):,}"
    return (
        change.attribute,
        change.words,
        odds(change.before),
        odds(change.after),
        right,
        (Badge(band.words, band.look),),
    )


def _row_in_curves(change: PairChange) -> tuple[Words, ...]:
    (right, before), (now_right, now) = in_curves(change.before), in_curves(change.after)
    return change.attribute, change.words, right, now_right, before, now


def in_curves(distance: float) -> tuple[str, str]:
    """Right guesses of 1,000, and odds that are passed one time in a million, *rounded up*."""
    if math.isinf(distance):
        return "1,000", NO_LIMIT
    (point,) = curve_of([Fraction(distance * _UP)], Fraction(1))
    return f"{math.ceil(1000 * point.right_guess):,}", point.odds.removeprefix("at most ")


def _count(number: int) -> str:
    return "No pair of values is" if number == 0 else "One pair is" if number == 1 else f"{number:,} pairs are"
