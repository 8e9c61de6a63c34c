"""What whoever knows the public counts may learn: more than the rules say, of records that are counted apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import Metric
from dxgeom.metrics.rings import ClassesByParts, Rings, rings_of_elements
from dxgeom.numeric.rounding import round_up
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.public_counts import KnownCounts

_SMALL: Final = 1024
"""So few records are compared pair by pair."""
_UP: Final = 1 + 1e-9
_DIGITS: Final = 6
TWO: Final = 2
NOT_HELD: Final = "This is stated, not prevented: no noise is added for it."
_HELD: Final = (
    "The policy says 'hold: {hold}': for whoever judges {several} separately{unsure}, every two records are no farther "
    "apart than the rules say, since noise hides rings of {several}, too."
)
Codes: TypeAlias = "list[int] | None"


def ceiling_of(rules: Sequence[ResolvedRule]) -> Fraction | None:
    """The least of what is stated for all pairs of records at once, directly or by way of absence."""
    ceilings = [rule.everything for rule in rules if rule.everything is not None]
    ceilings += [2 * rule.presence for rule in rules if rule.presence is not None]
    return min(ceilings, default=None)


@final
@dataclass(frozen=True)
class WhoseRecord:
    """Whose record it is that is protected, in words."""

    one: str
    several: str

    @property
    def crossing(self) -> str:
        """What is said where no bound on the odds is known."""
        return f"these counts cross: no bound but the number of {self.several}"


PERSON: Final = WhoseRecord("person", "people")
_RECORD: Final = WhoseRecord("record", "records")
"""Under ``time`` somebody has a record in each period, and each is protected by itself."""


def who_of(policy: ResolvedPolicy) -> WhoseRecord:
    """Whose record a policy protects."""
    return PERSON if policy.document.time is None else _RECORD


@final
@dataclass(frozen=True)
class Informed:
    """What whoever knows the public counts may learn of any two records that they count apart.

    ``counts``: which counts, in words. ``partition``: whether they are counts of classes; otherwise they cross, and
    nothing is known but of two people, for any two records. ``classes``: how many. ``two``: the largest distance that
    counts for whoever is unsure of one person and one more; ``separate``: for whoever judges all people separately,
    None where there is no bound. Both *rounded up*, and not below what some observer reaches. ``who``: whose record is
    protected, a person's, or under ``time`` each by itself.
    """

    counts: tuple[str, ...]
    partition: bool
    classes: int
    two: float
    separate: float | None
    all_told: Telling = field(repr=False)
    who: WhoseRecord = PERSON
    hold: str | None = None

    def lines(self) -> list[str]:
        """For a reader."""
        return [f"Public: {'; '.join(self.counts)}. {self.sentences} {self.remedy}"]

    @property
    def remedy(self) -> str:
        """Whether this is prevented, for a reader."""
        if self.hold is None:
            return NOT_HELD
        unsure = f" and is unsure of one {self.who.one} and one more" if self.hold == "2" else ""
        return _HELD.format(hold=self.hold, several=self.who.several, unsure=unsure)

    @property
    def sentences(self) -> str:
        """What they may learn, for a reader."""
        two = _odds(self.two, self.all_told)
        if self.separate is None:
            return (
                f"Whoever judges all {self.who.several} separately: {self.who.crossing}. Whoever is unsure of one "
                f"{self.who.one} and one more tells any two records apart with odds {two}."
            )
        if self.classes == 1:
            return "They count all records together, so that whoever knows them learns no more than the rules say."
        separate = _odds(self.separate, self.all_told)
        return (
            f"Whoever knows this and is unsure of one {self.who.one} and one more tells records that are counted apart "
            f"from each other with odds {two}; whoever judges all {self.who.several} separately, {separate}. Records "
            "that are counted together: as the rules say."
        )

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; infinite distances are written "inf"."""
        return {
            "counts": list(self.counts),
            "partition": self.partition,
            "classes": self.classes,
            "unsure_of_two": _jsonable(self.two),
            "judging_all_separately": None if self.separate is None else _jsonable(self.separate),
            "held": False if self.hold is None else self.hold,
        }


@final
@dataclass(frozen=True)
class InformedPair:
    """The same of two records.

    ``together``: whether they are counted together. ``stated``: their distance by the rules. ``possible``: whether both
    can be somebody's record, by the numbers.
    """

    counts: tuple[str, ...]
    together: bool
    stated: float
    two: float
    separate: float | None
    all_told: Telling = field(repr=False)
    possible: bool = True
    who: WhoseRecord = PERSON

    def lines(self) -> list[str]:
        """For a reader."""
        public = f"public: {'; '.join(self.counts)}"
        if not self.possible:
            return [public, "  by these numbers at least one of the two is nobody's record"]
        if self.together:
            return [public, "  both records are counted together: as stated"]
        two = f"{_shown(self.two)}, odds {_odds(self.two, self.all_told)}"
        separate = self.who.crossing
        if self.separate is not None:
            separate = f"{_shown(self.separate)}, odds {_odds(self.separate, self.all_told)}"
        return [
            public,
            f"  for whoever knows this and is unsure of one {self.who.one} and one more: {two}",
            f"  for whoever knows this and judges all {self.who.several} separately: {separate}",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; infinite distances are written "inf"."""
        return {
            "counts": list(self.counts),
            "counted_together": self.together,
            "stated": _jsonable(self.stated),
            "unsure_of_two": _jsonable(self.two),
            "judging_all_separately": None if self.separate is None else _jsonable(self.separate),
            "possible": self.possible,
        }


@final
@dataclass(frozen=True, eq=False)
class _Ringed:
    """The rings of a policy's known classes; ``farthest``: how far records counted apart are from each other at most.

    ``ends``: the eccentricity of each element, where these are few; else ``by_parts`` tells it.
    """

    known: KnownCounts
    rings: Rings
    farthest: float
    ends: NDArray[np.float64] | None
    by_parts: ClassesByParts | None


def _ringed(policy: ResolvedPolicy, known: KnownCounts, parts: Sequence[Metric], metric: Metric) -> _Ringed:
    universe, classes = policy.universe, known.classes
    small = universe.size <= _SMALL and universe.indexable
    if small or universe.listed is not None:
        labels = classes.of_elements(universe)
        if small:
            rings, ends, farthest = rings_of_elements(metric, labels)
            return _Ringed(known, rings, farthest, ends, None)
        widest = min(2 * float(np.max(metric.distance(0, np.arange(metric.size)))) * _UP, _ceiling(policy))
        widest = max(widest, _away(policy))
        return _Ringed(known, Rings(np.full(classes.count, widest), widest), widest, np.full(metric.size, widest), None)
    absent = None if universe.absent is None else classes.absent
    laid_out = ClassesByParts(
        parts, classes.axes, classes.labels, classes.count, _ceiling(policy), absent, _away(policy)
    )
    rings = laid_out.rings()
    return _Ringed(known, rings, rings.widest, None, laid_out)


def _away(policy: ResolvedPolicy) -> float:
    """How far the absent record is from every other; 0 where there is none."""
    return min((round_up(rule.presence) for rule in policy.rules if rule.presence is not None), default=0.0)


def _ceiling(policy: ResolvedPolicy) -> float:
    """How far two records are apart at most, neither of them the absent one."""
    stated = ceiling_of(policy.rules)
    return math.inf if stated is None else round_up(stated)


def informed_of(policy: ResolvedPolicy, parts: Sequence[Metric], metric: Metric) -> Informed | None:
    """What the policy's public counts tell beside its rules, of any two records; None where it lists none.

    Guarantee: *rounded up*. Of more than 1,024 possible records distances inside classes are bounds by attribute.
    """
    known = policy.known
    if known is None:
        return None
    ringed, classes = _ringed(policy, known, parts, metric), known.classes
    words, told = tuple(one.words for one in known.counts), Telling(policy.privacy, policy.budget, policy.delta)
    if not classes.partition:
        return Informed(
            words, False, classes.count, _up(2 * ringed.rings.widest), None, told, who_of(policy), known.hold
        )
    if classes.count == 1:
        return Informed(words, True, 1, 0.0, 0.0, told, who_of(policy), known.hold)
    two, separate = (ringed.rings.most(ringed.farthest, people) for people in (TWO, classes.most_people))
    return Informed(words, True, classes.count, _up(two), _up(separate), told, who_of(policy), known.hold)


def informed_of_pair(
    policy: ResolvedPolicy,
    parts: Sequence[Metric],
    metric: Metric,
    records: tuple[Codes, Codes],
    free: Sequence[int],
    apart: float,
) -> InformedPair | None:
    """The same of two records, given by the code of each attribute, None for the absent record: the worst over what
    both have in the ``free`` attributes, which nobody asked about."""
    known = policy.known
    if known is None or records[0] == records[1]:
        return None
    words, told = tuple(one.words for one in known.counts), Telling(policy.privacy, policy.budget, policy.delta)
    classes, ringed = known.classes, _ringed(policy, known, parts, metric)
    both = [*_completed(policy, ringed, records, free)]
    if not both:
        return InformedPair(words, False, apart, 0.0, 0.0, told, possible=False)
    if not classes.partition:
        return InformedPair(words, False, apart, _up(apart * _UP + ringed.rings.widest), None, told, who=who_of(policy))
    if all(one.classes[0] == one.classes[1] for one in both):
        return InformedPair(words, True, apart, apart, apart, told)
    two, separate = (
        max(
            apart if one.classes[0] == one.classes[1] else ringed.rings.cost(one.ends, one.classes, apart, people)
            for one in both
        )
        for people in (TWO, classes.most_people)
    )
    return InformedPair(words, False, apart, _up(two), _up(separate), told, who=who_of(policy))


class _Both(NamedTuple):
    """The classes of two records, and how far each is from others of its class at most."""

    classes: tuple[int, int]
    ends: tuple[float, float]


def _completed(
    policy: ResolvedPolicy, ringed: _Ringed, records: tuple[Codes, Codes], free: Sequence[int]
) -> Iterator[_Both]:
    """The records with every value of what is free in both, as far as the numbers say that there are such."""
    known, laid_out = ringed.known.classes, ringed.by_parts
    asked = [] if laid_out is None else [place for place in free if place in known.axes]
    if laid_out is not None and math.prod(policy.universe.shape[place] for place in asked) > _SMALL:
        widest = ringed.rings.widest
        # So many that each is taken for the worst.
        yield _Both((0, min(1, known.count - 1)), (widest, widest))
        return
    listed = free if laid_out is None else asked
    for values in itertools.product(*(range(policy.universe.shape[place]) for place in listed)):
        found = []
        for codes in records:
            own = None if codes is None else [*codes]
            for place, value in zip(listed, values, strict=True):
                if own is not None:
                    own[place] = value
            label = _class(policy, ringed.known, own)
            found.append((label, _end(policy, ringed, own, label, open_ended=len(free) > len(asked))))
        (first, here), (second, there) = found
        if first >= 0 and second >= 0:
            yield _Both((first, second), (here, there))


def _index(policy: ResolvedPolicy, codes: Codes) -> int:
    if codes is None:
        return policy.universe.record_types
    return int(policy.universe.indices_of([np.array([code]) for code in codes])[0])


def _class(policy: ResolvedPolicy, known: KnownCounts, codes: Codes) -> int:
    """The class of a record; −1 where the numbers say that there is no such record."""
    classes = known.classes
    if codes is None:
        return -1 if classes.absent is None else classes.absent
    if policy.universe.listed is not None:
        return int(classes.labels[_index(policy, codes)]) if classes.axes else int(classes.labels)
    return int(classes.labels[tuple(codes[axis] for axis in classes.axes)])


def _end(policy: ResolvedPolicy, ringed: _Ringed, codes: Codes, label: int, *, open_ended: bool) -> float:
    """How far a record is from others of its class at most; ``open_ended``: whatever it has in some attributes."""
    if ringed.ends is not None:
        return float(ringed.ends[_index(policy, codes)])
    if ringed.by_parts is None or open_ended or label < 0:
        return float(ringed.rings.diameters[label])
    return ringed.by_parts.eccentricity(codes, label)


def _up(amount: float) -> float:
    """Rounded up to six digits, but for the rounding of distances."""
    if amount == 0 or not math.isfinite(amount):
        return amount
    place = 10.0 ** (math.floor(math.log10(amount)) - _DIGITS + 1)
    return float(f"{math.ceil(amount / place * (1 - 4e-9)) * place:.12g}")


def _odds(distance: float, told: Telling) -> str:
    return "without limit" if math.isinf(distance) else told.at_most(Fraction(distance))


def _shown(distance: float) -> str:
    return "no limit" if math.isinf(distance) else f"{distance:g}"


def _jsonable(distance: float) -> float | str:
    return "inf" if math.isinf(distance) else distance
