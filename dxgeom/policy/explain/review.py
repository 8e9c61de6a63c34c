"""What a policy amounts to, for its author to read before anything is released; also what is probably not meant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.metrics.combinations import OneMoreMetric
from dxgeom.metrics.metric import DataSet, Metric, MetricCertificate
from dxgeom.numeric.rounding import round_down, round_up
from dxgeom.policy.explain.informed import Informed, ceiling_of, informed_of
from dxgeom.policy.explain.over_time import TimeReview, time_review
from dxgeom.policy.explain.sentences import OBSERVER, PeopleReview, belief, people_review, sentence
from dxgeom.policy.explain.telling import CurvePoint, Telling, curve_in_words
from dxgeom.policy.explain.tightening import (
    EXAMINED_SIZE,
    LISTED,
    AttributeExamination,
    Tightening,
    examine,
    examine_listed,
    largest_distance,
)
from dxgeom.policy.lower.lowered import Unprotected
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.syntax.models import DatasetSyntax
from dxgeom.privacy.measures import CONCENTRATED
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import chance_in_words, plain
from dxgeom.universe.people.people import public_number_in_words
from dxgeom.universe.reading.reading import FileForm
from dxgeom.universe.wording import shown

_TOLERANCE: Final = 1e-9
"""Distances are each rounded down; a ceiling this near to their sum may bind."""


def idle(number: int, rule: ResolvedRule, examined: Mapping[str, AttributeExamination]) -> bool:
    """Whether a rule selects no pair of any attribute it is about; an attribute too large to look at counts as some."""
    about = [LISTED] if LISTED in examined else rule.names(examined)
    return rule.presence is None and all(number in examined[name].idle for name in about)


def redundant(
    number: int, rule: ResolvedRule, rules: Sequence[ResolvedRule], examined: Mapping[str, AttributeExamination]
) -> bool:
    """Whether the metric is the same without a rule because it gives less on every pair; not sure counts as no."""
    if idle(number, rule, examined):
        return False
    nearest = min((other.presence for other in rules if other.presence is not None), default=None)
    if rule.lasting is not None and rule.presence == rule.lasting.epsilon:
        # Two records of a period are no further apart than twice what a record and none are.
        return nearest is not None and 2 * nearest * rule.lasting.periods <= rule.lasting.epsilon
    if rule.presence is not None and nearest is not None and (rule.lasting is None or nearest == rule.presence):
        return nearest < rule.presence
    constant = rule.constant
    if nearest is not None and constant is not None and 2 * nearest < constant:
        return True
    if LISTED in examined:
        return number in examined[LISTED].slack
    if rule.joint is not None and constant is None:
        joint = [other.joint for other in rules if other.joint is not None]
        return rule.joint.is_undercut(joint, None)
    if constant is None:
        about = [examined[name] for name, _ in rule.bounds]
        return all(number in one.slack or number in one.idle for one in about)
    # Records may differ in all of these attributes at once: then the distances add, or other constants cover some.
    names = set(rule.names(examined))
    farthest = {name: math.inf if one.diameter is None else one.diameter for name, one in examined.items()}
    others = [(other.constant, set(other.names(examined))) for other in rules if other.constant is not None]
    if any(epsilon <= constant and names < wider for epsilon, wider in others):
        return True
    ways = [0.0, *(round_up(epsilon) for epsilon, _ in others)]
    covered = [set[str](), *(wider for _, wider in others)]
    most = min(way + sum(farthest[name] for name in names - cover) for way, cover in zip(ways, covered, strict=True))
    return most * (1 + _TOLERANCE) < round_down(constant)


@final
@dataclass(frozen=True)
class MissingReview:
    """What it means that an attribute may be missing.

    ``epsilon``: how far the missing value is from every other, None where it is public whether there is one;
    ``before`` and ``after``: the largest distance of values that are there, without and with it, by the attribute's own
    rules and ceilings; None where it is not known.
    """

    attribute: str
    epsilon: Fraction | None
    before: float | None
    after: float | None

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"'{self.attribute}' may be missing, and whether it is, is told exactly (missing: public)"
        far = f"'{self.attribute}' may be missing, {plain(self.epsilon)} from every value"
        if self.before is None or self.after is None:
            return far
        if self.before == math.inf:
            return f"{far}: that joins values that no rule joins, which are now at most {self.after:.4g} apart"
        if self.after >= self.before:
            return f"{far}: that lowers no distance (half of the largest, {self.before:.4g}, or more never does)"
        return (
            f"{far}: the largest distance of two values falls from {self.before:.4g} to {self.after:.4g}, the noise "
            f"that hides it grows by up to {self.before / self.after:.4g}; from epsilon {self.before / 2:.4g} on "
            "nothing falls"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; infinite distances are written "inf"."""
        before = "inf" if self.before == math.inf else self.before
        return {
            "attribute": self.attribute,
            "public": self.epsilon is None,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "largest_without": before,
            "largest_with": self.after,
            "factor": self.before / self.after if self.before and self.after and self.before < math.inf else None,
        }


def missing_reviews(policy: ResolvedPolicy, parts: tuple[Metric, ...]) -> tuple[MissingReview, ...]:
    """One for each attribute that may be missing; ``parts``: their metrics, none where a table lists the records."""
    metrics = parts or (None,) * len(policy.universe.attributes)
    each = zip(policy.universe.attributes, metrics, strict=True)
    return tuple(
        _of_attribute(policy, attribute, metric) for attribute, metric in each if attribute.missing is not None
    )


def _of_attribute(policy: ResolvedPolicy, attribute: Attribute, metric: Metric | None) -> MissingReview:
    if attribute.name in policy.public:
        return MissingReview(attribute.name, None, None, None)
    own = [rule.alone(attribute.name) for rule in policy.rules if rule.missing]
    stated = min(bound.extremes[0] for bound in own if bound is not None)
    if not isinstance(metric, OneMoreMetric):
        return MissingReview(attribute.name, stated, None, None)
    ceilings = [rule.constant for rule in policy.rules if _covers(rule, attribute.name) and rule.constant is not None]
    ceilings += [2 * rule.presence for rule in policy.rules if rule.presence is not None]
    most = min((round_up(one) for one in ceilings), default=math.inf)
    before = largest_distance(metric.inner)
    after = None if before is None else min(before, 2 * round_down(stated), most)
    return MissingReview(attribute.name, stated, None if before is None else min(before, most), after)


def _covers(rule: ResolvedRule, name: str) -> bool:
    return name in rule.names([name])


_HIDES_NOTHING: Final = Fraction(math.log(1_000_000))


def doubts_of_values(attributes: Sequence[Attribute]) -> Iterator[str]:
    """Attributes with one value, and what they say of themselves."""
    for one in attributes:
        name = shown(one.name)
        if one.size == 1:
            yield f"{name} has one value only, which every record has: list the others, or leave the attribute out"
        yield from one.doubts


def doubts_of_data(dataset: DatasetSyntax | None) -> Iterator[str]:
    """A named data set that does not say what may be spent on it in all."""
    if dataset is not None and dataset.budget is None:
        yield (
            f"the data set '{dataset.name}' has no budget of its own, so every further policy about it has a whole "
            "budget more; write what all together may spend into the dataset, as in 'budget: 2', or 'budget: none' "
            "where that is meant; version 0.3 refuses a data set without it"
        )


def doubts_of_form(form: FileForm) -> Iterator[str]:
    """A table whose rows need not be lines."""
    if form.line_breaks:
        yield (
            "'line_breaks: true': a quotation mark that one person's cell opens and another one's closes swallows the "
            "rows between them, which the policy's promise does not cover"
        )


def doubts_of_rules(rules: Sequence[ResolvedRule], budget: Fraction) -> Iterator[str]:
    """Rules under which even the two records that are hidden best are told apart."""
    for rule in rules:
        least = _least(rule)
        if least is not None and least * budget > _HIDES_NOTHING:
            yield (
                f"the rule at line {rule.line} ({rule.words}) hides nothing: the odds between the nearest two of its "
                "records may be more than 1,000,000 to 1 once the budget is spent; an epsilon is mostly from 0.01 to "
                "3, write a smaller one"
            )


def _least(rule: ResolvedRule) -> Fraction | None:
    """The smallest distance above 0 that a rule states, None for none."""
    stated = [Fraction(bound.extremes[0]) for _, bound in rule.bounds]
    stated += [one for one in (rule.everything, rule.presence, rule.constant) if one is not None]
    return min((one for one in stated if one > 0), default=None)


def unlisted_in_words(names: Sequence[str], delta: Fraction | None) -> list[str]:
    """What it means that nobody listed the values of some attributes; nothing where all are listed."""
    if delta is None:
        return []
    named = " and ".join(map(shown, names))
    return [
        f"Nobody listed the values of {named}: two words stand for any two of them here. Only counts of keys are asked "
        "of them, and each such release has a chance of its own to show a key that a single person has. All these "
        f"chances together are at most {chance_in_words(delta)}: except with it, odds hold as stated."
    ]


ONLY_LISTED: Final = (
    "The table lists the records: a chain of rules goes through listed records only, so distances can be larger than "
    "they would be if every combination of values existed."
)
UNNAMED_DATA: Final = "About data without a name, so that a ledger serves this policy only; 'dataset' names them."


@final
@dataclass(frozen=True)
class RuleReview:
    """A rule: where it stands, what it promises in words, and whether it selects no pair at all.

    ``belief``: an example of what that means to an observer, empty where there is none to show.
    ``redundant``: it selects pairs, but other rules bound every one of them by less, so it changes nothing.
    """

    line: int
    words: str
    sentence: str
    belief: str
    idle: bool
    redundant: bool


@final
@dataclass(frozen=True)
class Review:
    """Pure data: sizes, distances, certificate, sentences, and everything that must not stay silent.

    ``doubts``: rules that hide nothing, and values that are probably not meant so.
    ``known``: what whoever knows the public counts may learn, None where none are listed.
    ``unlisted``: attributes whose values nobody listed, and ``delta``, with which chance the odds do not hold.
    ``curve``: of concentrated privacy, what is told at once, twice and four times the smallest distance of a rule.
    """

    file: str
    name: str
    about: str
    fingerprint: str
    budget: str
    size: int
    attributes: tuple[AttributeExamination, ...]
    rules: tuple[RuleReview, ...]
    certificate: MetricCertificate
    unprotected: tuple[str, ...]
    people: PeopleReview
    data_set: str
    missing: tuple[MissingReview, ...] = ()
    read: tuple[str, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    doubts: tuple[str, ...] = ()
    number_is_public: bool = False
    time: TimeReview | None = None
    known: Informed | None = None
    unlisted: tuple[str, ...] = ()
    delta: Fraction | None = None

    @property
    def tightened(self) -> tuple[Tightening, ...]:
        """Where the metric gives less than a rule states."""
        return tuple(one for attribute in self.attributes for one in attribute.tightened)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is legal but probably not meant."""
        said = [(rule, "selects no pair") for rule in self.rules if rule.idle]
        said += [(rule, "never binds: the other rules ask for more") for rule in self.rules if rule.redundant]
        return (*(f"the rule at line {rule.line} ({rule.words}) {what}" for rule, what in said), *self.doubts)

    @property
    def not_examined(self) -> tuple[str, ...]:
        """Attributes too large to be compared pair by pair."""
        return tuple(attribute.name for attribute in self.attributes if not attribute.examined)

    def lines(self) -> list[str]:
        """The review for a reader."""
        about = [self.about] if self.about else []
        return [
            f"policy {self.name}: {self.size:,} possible records, budget {self.budget}",
            *about,
            "",
            "attributes",
            *(f"  {_attribute_line(attribute)}" for attribute in self.attributes),
            "",
            "what the rules promise (odds: of all releases within the budget together)",
            *(line for rule in self.rules for line in _rule_lines(rule)),
            "",
            "what to know",
            *(f"  {line}" for line in self._to_know()),
            "",
            "certificate",
            *self.certificate.lines("  "),
        ]

    def _to_know(self) -> list[str]:
        spots = [attribute for attribute in self.attributes if attribute.same_spot is not None]
        large = ", ".join(self.not_examined)
        return [
            *self.people.lines,
            OBSERVER,
            *unlisted_in_words(self.unlisted, self.delta),
            *([] if self.known is None else self.known.lines()),
            self.data_set or UNNAMED_DATA,
            *(() if self.time is None else self.time.lines()),
            *curve_in_words(self.curve),
            *(f"Read: {one}." for one in self.read),
            *(f"Missing: {one}." for one in self.missing),
            *(f"Tightened: {one}." for one in self.tightened),
            *(f"Unprotected: {one}." for one in self.unprotected),
            *(f"Warning: {one}." for one in self.warnings),
            *(f"At distance 0 (never told apart): {' and '.join(a.same_spot or ())} of '{a.name}'." for a in spots),
            *([ONLY_LISTED] if any(attribute.name == LISTED for attribute in self.attributes) else []),
            *(
                [f"Not examined pair by pair (more than {EXAMINED_SIZE:,} values, or too many bounds): {large}."]
                if large
                else []
            ),
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; infinite distances are written "inf"."""
        return {
            "file": self.file,
            "policy": self.name,
            "about": self.about,
            "fingerprint": self.fingerprint,
            "budget": self.budget,
            "record_types": self.size,
            "attributes": [_attribute_dict(attribute) for attribute in self.attributes],
            "rules": [
                {"line": r.line, "rule": r.words, "sentence": r.sentence, "belief": r.belief} for r in self.rules
            ],
            **({"privacy": CONCENTRATED, "curve": [one.as_dict() for one in self.curve]} if self.curve else {}),
            **({} if self.time is None else {"time": self.time.as_dict()}),
            **self.people.as_dict(),
            **public_number_in_words(self.number_is_public),
            "observer": OBSERVER,
            **({} if self.delta is None else {"unlisted": list(self.unlisted), "delta": str(self.delta)}),
            **({} if self.known is None else {"known": self.known.as_dict()}),
            **({"data_set": self.data_set} if self.data_set else {}),
            **({"read": list(self.read)} if self.read else {}),
            **({"missing": [one.as_dict() for one in self.missing]} if self.missing else {}),
            "tightened": [one.as_dict() for one in self.tightened],
            "unprotected": list(self.unprotected),
            "warnings": list(self.warnings),
            "not_examined": list(self.not_examined),
            "certificate": self.certificate.as_dict(),
        }


def review(
    file: str,
    policy: ResolvedPolicy,
    parts: Sequence[Metric],
    metric: Metric,
    unprotected: Sequence[Unprotected],
) -> Review:
    """Examine a compiled policy; ``parts`` are its attributes' metrics, none where a table lists the records."""
    listed = policy.universe.listed is not None
    pairs = zip(policy.universe.attributes, parts, strict=not listed)
    placed = {attribute.name: (attribute, metric) for attribute, metric in pairs}
    if listed:
        found = examine_listed(policy.universe, metric, policy.rules)
    else:
        found = tuple(examine(attribute, metric, policy.rules) for attribute, metric in placed.values())
    examined = {found[0].name: found[0]} if listed else {one.name: one for one in found}
    return Review(
        file=file,
        name=policy.name,
        about=policy.about,
        fingerprint=policy.fingerprint,
        budget=plain(policy.budget),
        size=policy.universe.record_types,
        attributes=found,
        rules=_reviewed(policy, placed, examined),
        certificate=metric.certificate(),
        unprotected=tuple(map(str, unprotected)),
        people=people_review(policy, unprotected),
        data_set=_about(policy.data_set),
        missing=missing_reviews(policy, tuple(parts)),
        read=policy.universe.reading_in_words,
        curve=_telling(policy).curve(_nearest(policy)),
        doubts=(
            *doubts_of_data(policy.document.dataset),
            *doubts_of_form(policy.universe.form),
            *doubts_of_rules(policy.rules, policy.budget),
            *doubts_of_values(policy.universe.attributes),
        ),
        number_is_public=policy.universe.absent is None,
        time=time_review(policy, parts, _telling(policy)),
        known=informed_of(policy, parts, metric),
        unlisted=tuple(one.name for one in policy.universe.attributes if one.unlisted),
        delta=policy.delta,
    )


def _about(data_set: DataSet) -> str:
    """Which data the policy is about, and what adds up with what."""
    if data_set.name is None:
        return ""
    adds = "each edition has other people and the whole budget" if data_set.disjoint else "spends add over editions"
    cap = "" if data_set.budget is None else f"; under all policies together at most {plain(data_set.budget)} is spent"
    return f"About {data_set}: policies about it share a ledger, and {adds}{cap}."


def _reviewed(
    policy: ResolvedPolicy,
    placed: Mapping[str, tuple[Attribute, Metric]],
    examined: Mapping[str, AttributeExamination],
) -> tuple[RuleReview, ...]:
    ceiling = ceiling_of(policy.rules)
    return tuple(
        RuleReview(
            rule.line,
            rule.words,
            sentence(rule, _telling(policy)),
            belief(rule, placed, ceiling, _telling(policy)),
            idle(number, rule, examined),
            redundant(number, rule, policy.rules, examined),
        )
        for number, rule in enumerate(policy.rules)
    )


def _telling(policy: ResolvedPolicy) -> Telling:
    return Telling(policy.privacy, policy.budget, policy.delta)


def _nearest(policy: ResolvedPolicy) -> Fraction:
    """The smallest epsilon that a rule states."""
    stated = [rule.syntax.epsilon for rule in policy.rules if rule.syntax.epsilon is not None]
    stated += [Fraction(bound.extremes[0]) for rule in policy.rules for _, bound in rule.bounds]
    return min((one for one in stated if one > 0), default=Fraction(1))


def _rule_lines(rule: RuleReview) -> list[str]:
    return [f"  line {rule.line}: {rule.sentence}", *([f"    {rule.belief}"] if rule.belief else [])]


def _attribute_line(attribute: AttributeExamination) -> str:
    known = [
        f"{words} {distance:.4g}"
        for words, distance in (("largest distance", attribute.diameter), ("smallest", attribute.smallest))
        if distance is not None
    ]
    if attribute.name == LISTED:
        return ", ".join([f"{LISTED}: {attribute.values:,}", *known])
    return ", ".join([f"{attribute.name}: {attribute.values:,} value{'s' if attribute.values != 1 else ''}", *known])


def _attribute_dict(attribute: AttributeExamination) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "values": attribute.values,
        "form": attribute.form,
        "examined": attribute.examined,
        "diameter": _jsonable(attribute.diameter),
        "smallest": _jsonable(attribute.smallest),
        "same_spot": list(attribute.same_spot) if attribute.same_spot else None,
    }


def _jsonable(distance: float | None) -> float | str | None:
    return "inf" if distance == float("inf") else distance
