"""Which keys were reported, with their counts, and what is known of these and of the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.mechanisms.linear.key_counts import KeyCounts, NoisyKeys
from dxgeom.mechanisms.linear.rolled_up_keys import ALL, OTHERS, RolledUpKeys
from dxgeom.mechanisms.linear.unlisted_keys import UnlistedKeys
from dxgeom.numeric.arrays import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import unknown_name
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.columns import chance_in_words
from dxgeom.universe.tasks.questions import KeysTask
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.universe.labels import PolicyLabels

MOST_WRITTEN: Final = 20_000
"""More keys are not written out in JSON: they are kept in the ledger, and reported as rows."""
_FIRST: Final = 100
"""Of those the first are."""
_NOT_TOLD: Final = Unknown(
    "how far off a key's count is depends on whether some record has it: one without is reported for its noise alone",
    "intervals() hold for every key that is reported, given that it is",
)


@final
@dataclass(frozen=True, eq=False)
class KeyAnswers(ShownAnswers):
    """The keys that were reported, by their number, each with its count.

    Intervals hold for each key with the stated probability, whatever the data, *given that it is reported*. Of V, the
    noise on it, given that it is t or more with t ≥ 0, the part above t has no heavier a tail than |V|, as the density
    is log-concave. A key whose true count is the threshold or more is reported with chance 1/2 at least. An interval
    that would not begin above the threshold begins at 0.

    Of keys that are rolled up a child is reported where its parent is, too, whose noise is another. The interval around
    what children leave of a parent is that of the parent less those of the k children, each with a chance of
    (1 − level)/(k + 1) of being off.
    """

    never_joint = "intervals of keys are each key's own: leave joint out"
    no_rmse = no_biases = _NOT_TOLD
    no_bars = Unknown(
        "a key that no record has may be reported, so intervals are not around counts", "take intervals()"
    )

    question: KeysTask = field(repr=False)
    mechanism: KeyCounts | RolledUpKeys | UnlistedKeys = field(repr=False)
    reported: NoisyKeys
    spent: Fraction

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Of every key the value of each column."""
        rolled = self._rolled_up
        texts, columns = self.reported.words, self.question.columns
        words = [texts if own.unlisted else own.words for own in columns] if rolled is None else rolled.words
        each = zip(self.question.titles, words, self.mechanism.codes_of(self.reported.keys), strict=True)
        return {title: [own[code] for code in places.tolist()] for title, own, places in each}

    @property
    def _rolled_up(self) -> RolledUpKeys | None:
        return self.mechanism if self.question.rollup else None  # type: ignore[return-value]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each key is called."""
        return tuple(map(", ".join, zip(*self.groups.values(), strict=True)))

    @property
    def by_name(self) -> Mapping[str, float]:
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        each = zip(*self.groups.values(), strict=True)
        return tuple(AnswerOrigin(self.question.called, tuple(zip(self.groups, own, strict=True))) for own in each)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return np.asarray(self.reported.numerators / self.reported.divisor, dtype=np.float64)

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(number, self.reported.divisor) for number in self.reported.numerators.tolist())

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K, 2): the true count of each key lies between these with probability *at least* ``level``, given that it is
        reported. Raises: UnsupportedCombination for ``joint``, and unless 0 < level < 1."""
        self.require_joint(joint=joint)
        require_level(level)
        rolled = self._rolled_up
        both = self._of_keys(level) if rolled is None else _of_levels(rolled, self.reported, self.spent, level)
        ends = both / self.reported.divisor
        outward = (np.nextafter(ends[:, 0], 0.0), np.nextafter(ends[:, 1], np.inf))
        return ends if self.reported.divisor == 1 else np.stack(outward, axis=1)

    def _of_keys(self, level: float) -> NDArray[np.float64]:
        plain: KeyCounts | UnlistedKeys = self.mechanism  # type: ignore[assignment]
        return _ends(plain, self.reported, self.spent, level)

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        return self.whole(level, query, joint=joint)

    def whole(
        self,
        level: float = 0.95,
        query: str | None = None,
        *,
        joint: bool = False,
        labels: PolicyLabels | None = None,
    ) -> Columns:
        """A row for each key that was reported: its values, the count, and the interval."""
        if query not in (None, self.question.called):
            raise unknown_name("query", query, [self.question.called])
        if labels and len(self.reported.keys) <= MOST_WRITTEN:
            return super().whole(level, joint=joint, labels=labels)
        ends = self.intervals(level, joint=joint)
        called = {"by " + title if title in _OWN else title: words for title, words in self.groups.items()}
        several = {"query": [self.question.called] * len(ends), "name": [*self.names], **called}
        return {**several, "value": self.values, "low": ends[:, 0], "high": ends[:, 1]}

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        each = statements_of(self.question, self.mechanism, self.spent, level)
        return tuple(zip(("threshold", "error", "others", "levels"), each, strict=False))

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        number = len(self.reported.keys)
        written = number <= MOST_WRITTEN
        part = self if written else self._first
        rows = [
            {
                "name": name,
                "query": self.question.called,
                "group": dict(zip(part.groups, group, strict=True)),
                "value": value,
                "exact": str(exact),
                "interval": ends,
            }
            for name, group, value, exact, ends in zip(
                part.names,
                zip(*part.groups.values(), strict=True),
                part.values.tolist(),
                part.exact_values,
                part.intervals(level, joint=joint).tolist(),
                strict=True,
            )
        ]
        return {
            "answers" if written else "first_answers": rows,
            "count": number,
            "key_columns": [*self.question.titles],
            **({} if self.question.delta is None else {"delta": str(self.question.delta)}),
            "level": float(level),
        }

    @property
    def _first(self) -> KeyAnswers:
        own = self.reported
        reported = NoisyKeys(own.keys[:_FIRST], own.numerators[:_FIRST], own.divisor, own.words)
        return KeyAnswers(self.question, self.mechanism, reported, self.spent)


def _ends(counts: KeyCounts | UnlistedKeys, reported: NoisyKeys, spend: Fraction, level: float) -> NDArray[np.float64]:
    """(K, 2): between which the count of each reported key lies, in parts of the divisor."""
    width = np.floor(counts.widths((1 + level) / 2, spend) + 0.5)[counts.blocks_of(reported.keys)].astype(np.float64)
    noisy = reported.numerators.astype(np.float64)
    low = np.where(noisy - width > counts.threshold(spend), noisy - width, 0.0)
    return np.stack([low, noisy + width], axis=1)


def _of_levels(rolled: RolledUpKeys, told: NoisyKeys, spend: Fraction, level: float) -> NDArray[np.float64]:
    """The same of rows of all levels, and of what children leave of their parents."""
    found = np.zeros((len(told.keys), 2))
    levels, rest = rolled.level_of(told.keys)

    def ends(number: int, rows: NDArray[np.bool_], at: float) -> NDArray[np.float64]:
        own = rolled.levels[number]
        keys = rolled.keys_of(number, told.keys[rows])
        return _ends(own.counts, NoisyKeys(keys, told.numerators[rows], told.divisor), spend * own.share, at)

    for number in range(len(rolled.levels)):
        here = (levels == number) & ~rest
        found[here] = ends(number, here, level)
        left = (levels == number) & rest
        if not left.any():
            continue
        below = (levels == number + 1) & ~rest
        parents, over = rolled.keys_of(number, told.keys[left]), rolled.keys_of(number, told.keys[below])
        known = rolled.keys_of(number, told.keys[here])
        order = np.argsort(known, kind="stable")
        own = order[np.searchsorted(known[order], parents)]
        rows = np.argsort(parents, kind="stable")
        child = rows[np.searchsorted(parents[rows], over)]
        each = np.bincount(child, minlength=len(parents))
        bounds = np.zeros((len(parents), 2))
        for count in np.unique(each).tolist():
            at = 1 - (1 - level) / (count + 1)
            of_parent, of_child = ends(number, here, at)[own], ends(number + 1, below, at)
            sums = np.stack([np.bincount(child, side, len(parents)) for side in of_child.T], axis=1)
            low, high = of_parent[:, 0] - sums[:, 1], of_parent[:, 1] - sums[:, 0]
            same = each == count
            # Sums of so many float64 are off by less than this, relatively.
            off = (of_parent[:, 1] + sums[:, 1]) * (count + 4) * 2.0**-52
            bounds[same] = np.maximum(np.stack([low - off, high + off], axis=1), 0.0)[same]
        found[left] = bounds
    return found


_OWN: Final = ("query", "name", "value", "low", "high", "rmse", "bias", "unit")


def statements_of(
    question: KeysTask, mechanism: KeyCounts | RolledUpKeys | UnlistedKeys, spend: Fraction, level: float
) -> tuple[str, ...]:
    """What holds of the keys that are reported, and of those that are not, whatever the data."""
    if question.unlisted:
        return _of_unlisted(mechanism, spend, level)  # type: ignore[arg-type]
    if not question.rollup:
        return _statements_of(mechanism, spend, level)  # type: ignore[arg-type]
    rolled: RolledUpKeys = mechanism  # type: ignore[assignment]
    each = [
        [f"by {', '.join(question.titles[place] for place in one.places)}: {said}" for said in of_level]
        for one in rolled.levels
        for of_level in [_statements_of(one.counts, spend * one.share, level, below=one is not rolled.levels[0])]
    ]
    below = (
        f"keys are reported below reported ones alone; '{ALL}' is the count of a key whatever else is so, and "
        f"'{OTHERS}' what those below it that are reported leave of it, whose interval covers the noise of all of them"
    )
    first, *more = tuple("; ".join(said) for said in zip(*each, strict=True))
    return (first, *more, below)


def _of_unlisted(mechanism: UnlistedKeys, spend: Fraction, level: float) -> tuple[str, ...]:
    least, rows = _said(mechanism.threshold(spend)), mechanism.rows
    whose = "one record" if rows == 1 else f"one person, with up to {rows:,} records,"
    return (
        f"reported are keys whose count with noise is {least} or more, of those that some record has; the odds that "
        f"the policy states hold except with chance {chance_in_words(mechanism.chance)}: with at most that chance a "
        f"key is reported that {whose} alone has, and all releases together use up the policy's 'delta'",
        *_of_reported(mechanism, spend, level),
    )


def _statements_of(mechanism: KeyCounts, spend: Fraction, level: float, *, below: bool = False) -> tuple[str, ...]:
    """``below``: whether they are told below reported keys alone."""
    threshold, spurious = mechanism.threshold(spend), mechanism.expected_spurious(spend)
    least = _said(threshold / mechanism.shares)
    number, none = f"{mechanism.key_count:,}", f"{mechanism.none_spurious(spend):.3g}"
    return (
        f"reported are keys whose count with noise is {least} or more, of {number} that there can be; if no key had a "
        f"record, {_said(spurious)} would be reported on average at most, and none with probability {none} at least",
        *_of_reported(mechanism, spend, level, below=below),
    )


def _of_reported(
    mechanism: KeyCounts | UnlistedKeys, spend: Fraction, level: float, *, below: bool = False
) -> tuple[str, str]:
    """How far off a reported count is, and which keys are reported mostly."""
    shares, threshold = mechanism.shares, mechanism.threshold(spend)
    widths = mechanism.widths((1 + level) / 2, spend)
    above = mechanism.widths(1 - min(2 * (1 - level), 0.999), spend)
    kept = [math.ceil(threshold - 0.5 + float(width)) for width in (above.min(), above.max())]
    off = [math.floor(float(width) + 0.5) / shares for width in (widths.min(), widths.max())]
    people = "people" if shares > 1 else "records"
    nearest = ["; the nearest two keys decide how much noise all have"] if mechanism.rates.uneven else []
    least = _said(threshold / shares)
    return (
        f"a reported count is at most {_between(off)} too low, and at most as much too high where what that leaves is "
        f"above {least}; a lower one may be too high by all of it; with probability {level:g} for each"
        + "".join(nearest),
        f"a key of {_between([one / shares for one in kept])} {people} or more is reported with probability "
        f"{level:g} at least" + (" where those above it are" if below else ""),
    )


def _between(ends: list[float]) -> str:
    low, high = map(_said, ends)
    return low if low == high else f"{low} to {high}"


def _said(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else brief(number)
