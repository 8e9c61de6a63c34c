"""Why two records are as far apart as they are: the shortest path between them, rule by rule, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.metrics.graph import networkx
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes import Amount
from dxgeom.policy.explain.informed import InformedPair, informed_of_pair
from dxgeom.policy.explain.paths import Hop, RecordStep, listed_path, record_path
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.explain.tightening import NOBODY
from dxgeom.policy.lower.blocks import MetricDescription
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import OUTSIDE, Attribute, NotAValue
from dxgeom.universe.columns import plain
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

_SAME: Final = 1e-9
"""Distances computed in two ways differ by less, or something is wrong."""
_MOST_STEPS: Final = 20
ABSENT: Final = "absent"
"""How a caller names the absent record."""


@final
@dataclass(frozen=True)
class Explanation:
    """Why two records are this far apart.

    ``first``, ``second``: their values, without the attributes that nobody asked about.
    ``distance``: exact (``Fraction``), or a float *rounded down* where places or very many values are involved;
    infinite when no chain of rules joins the values of the attributes in ``apart``. ``otherwise``: how far it is by one
    attribute (or group of them) after another, when a rule about all pairs, or the way through the absent record, is
    shorter. The absent record has no values. ``known``: what whoever knows the public counts may learn.
    """

    file: str
    first: Mapping[str, str]
    second: Mapping[str, str]
    distance: Amount
    hops: tuple[Hop, ...]
    apart: tuple[str, ...]
    otherwise: Amount | None
    all_told: Telling
    known: InformedPair | None = None

    def __repr__(self) -> str:
        steps = f"{len(self.hops):,} step{'' if len(self.hops) == 1 else 's'}"
        return f"<Explanation: distance {_amount(self.distance)} in {steps}, by {self.file}>"

    def lines(self) -> list[str]:
        """The explanation for a reader."""
        pairs = ([f"{name}={value}" for name, value in record.items()] for record in (self.first, self.second))
        one, other = (", ".join(words) or NOBODY for words in pairs)
        known = [] if self.known is None else ["", *self.known.lines()]
        return [one, other, "", *self._verdict(), *(f"  {line}" for line in self._steps()), *known]

    def to_networkx(self) -> Any:
        """A ``networkx.DiGraph`` of the path: nodes 0, 1, …, one more than steps; each edge has its bound as ``weight``
        in float64, the ``attribute``, the values ``start`` and ``end``, and the ``rule`` with its ``line``. Without a
        path it has no node. Raises: MissingExtra.
        """
        made = networkx().DiGraph(name=f"{self.file}: why two records are as far apart as they are")
        if not self.apart:
            made.add_node(0)
        for place, hop in enumerate(self.hops):
            what = hop.attribute or ", ".join(hop.together)
            said = {"attribute": what, "start": hop.start, "end": hop.end, "rule": hop.rule, "line": hop.line}
            made.add_edge(place, place + 1, weight=float(hop.bound), **said)
        return made

    def _steps(self) -> list[str]:
        """The steps in words; of a long chain its two ends."""
        left_out = len(self.hops) - _MOST_STEPS
        if left_out <= 1:
            return [self._hop_words(hop) for hop in self.hops]
        first, last = self.hops[: _MOST_STEPS // 2], self.hops[-(_MOST_STEPS // 2) :]
        between = f"… {left_out:,} more steps; --format json lists them"
        return [*map(self._hop_words, first), between, *map(self._hop_words, last)]

    def _verdict(self) -> list[str]:
        if self.apart:
            names = ", ".join(map(shown, self.apart))
            return [f"distance infinite: no chain of rules joins their values of {names}; they may be told apart"]
        if not self.hops:
            return ["distance 0: the records are the same"]
        told = self.all_told.at_most(Fraction(self.distance))
        return [
            f"distance {_amount(self.distance)}: all releases within the budget together tell them apart with odds "
            f"{told}",
            "",
            "the shortest path between them",
        ]

    def _hop_words(self, hop: Hop) -> str:
        names = hop.attribute or ", ".join(hop.together)
        what = f"{names}: {hop.start} → {hop.end}" if names else f"{hop.start} → {hop.end}"
        if not names and NOBODY not in (hop.start, hop.end):
            what = "all at once"
        words = f"{what}: {_amount(hop.bound)} by {self.file}:{hop.line} ({hop.rule})"
        if not names and hop.end != NOBODY and self.otherwise is not None:
            long = "not possible" if self.otherwise == math.inf else _amount(self.otherwise)
            return f"{words}; one attribute after another: {long}"
        return words

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; ``exact`` holds exact numbers as text, null where a number is rounded down."""
        return {
            "file": self.file,
            "first": dict(self.first),
            "second": dict(self.second),
            **_amount_dict("distance", self.distance),
            "apart": list(self.apart),
            "path": [
                {
                    "attribute": hop.attribute,
                    "together": list(hop.together),
                    "from": hop.start,
                    "to": hop.end,
                    **_amount_dict("bound", hop.bound),
                    "line": hop.line,
                    "rule": hop.rule,
                }
                for hop in self.hops
            ],
            "otherwise": None if self.otherwise is None else float(self.otherwise),
            **({} if self.known is None else {"known": self.known.as_dict()}),
        }


def explain(
    file: str,
    policy: ResolvedPolicy,
    description: MetricDescription,
    parts: Sequence[Metric],
    metric: Metric,
    first: Any,
    second: Any,
) -> Explanation:
    """Explain the distance of two records, given by index or by values; see ``Policy.explain``.

    Raises: DataError, TooLarge, UnsupportedCombination.
    """
    universe = policy.universe
    mentioned = _mentioned(universe, first, second)
    i, j = (_codes(universe, record) for record in (first, second))
    records = [_labels(universe, codes, mentioned) for codes in (i, j)]
    gone = [codes is None for codes in (i, j)]
    whole = [NOBODY if one else ", ".join(record.values()) for one, record in zip(gone, records, strict=True)]
    hops: list[Hop] = []
    apart: tuple[str, ...] = ()
    total: Amount = Fraction(0)
    otherwise: Amount | None = None
    if i is not None and j is not None:
        path = record_path(policy, description, i, j) if universe.listed is None else listed_path(policy, i, j)
        total, apart, hops = path.length, path.apart, [_hop(universe, step) for step in path.steps]
        shorter = _all_at_once(policy, whole)
        if shorter and sum(hop.bound for hop in shorter) < total:
            hops, apart, otherwise = shorter, (), total
            total = sum((hop.bound for hop in shorter), Fraction(0))
    elif i is not j:
        hops = [_step_of(_nearest(policy, "presence"), whole[0], whole[1])]
        total = hops[0].bound
    distance = _agreed(total, metric, universe, i, j)
    all_told = Telling(policy.privacy, policy.budget, policy.delta)
    free = [place for place, name in enumerate(universe.names) if name not in mentioned]
    known = informed_of_pair(policy, parts, metric, (i, j), free, float(distance))
    return Explanation(file, records[0], records[1], distance, tuple(hops), apart, otherwise, all_told, known)


def _labels(universe: Universe, codes: list[int] | None, mentioned: tuple[str, ...]) -> dict[str, str]:
    if codes is None:
        return {}
    labels = {one.name: one.labels[code] for one, code in zip(universe.attributes, codes, strict=True)}
    return {name: label for name, label in labels.items() if name in mentioned}


def _all_at_once(policy: ResolvedPolicy, whole: list[str]) -> list[Hop]:
    """The shortest way that does not look at attributes: by a rule about all pairs, or through the absent record."""
    ways = []
    everything, presence = _nearest(policy, "everything"), _nearest(policy, "presence")
    if everything is not None:
        ways.append([_step_of(everything, whole[0], whole[1])])
    if presence is not None:
        ways.append([_step_of(presence, whole[0], NOBODY), _step_of(presence, NOBODY, whole[1])])
    return min(ways, key=lambda way: sum(hop.bound for hop in way), default=[])


def _nearest(policy: ResolvedPolicy, kind: str) -> tuple[Fraction, ResolvedRule] | None:
    stated = [(getattr(rule, kind), rule) for rule in policy.rules if getattr(rule, kind) is not None]
    return min(stated, key=lambda one: one[0], default=None)


def _step_of(stated: tuple[Fraction, ResolvedRule] | None, start: str, end: str) -> Hop:
    if stated is None:
        raise DataError("no rule of this policy is about the absence of a record")
    bound, rule = stated
    return Hop(None, start, end, bound, rule.line, rule.words)


def _hop(universe: Universe, step: RecordStep) -> Hop:
    """A step in words: what it changes, from what to what."""
    changed = [universe.attributes[place] for place in step.places]
    start, end = (
        ", ".join(attribute.labels[code] for attribute, code in zip(changed, codes, strict=True))
        for codes in (step.start, step.end)
    )
    names = tuple(attribute.name for attribute in changed)
    rule = step.rule
    if len(names) == 1:
        return Hop(names[0], start, end, step.bound, rule.line, rule.words)
    return Hop(None, start, end, step.bound, rule.line, rule.words, names)


def _agreed(total: Amount, metric: Metric, universe: Universe, i: list[int] | None, j: list[int] | None) -> Amount:
    """The path's length where it is exact, else the metric's; what is told must be what mechanisms rest on."""
    one, other = (_index(universe, codes) for codes in (i, j))
    distance, widest = (float(metric.distance(*pair)) for pair in ((one, other), (0, universe.record_types - 1)))
    # Numbers far along a line carry the rounding of their place, however near to each other they are.
    rounding = _SAME * widest * 1e-3 if math.isfinite(widest) else 0.0
    if not math.isclose(float(total), distance, rel_tol=_SAME, abs_tol=rounding):
        raise UnsupportedCombination(
            f"the rules' shortest path is {float(total):g} long but the metric gives {distance:g}: "
            "this policy's distances cannot be explained; please report it"
        )
    return total if isinstance(total, Fraction) else distance


def _index(universe: Universe, codes: list[int] | None) -> int:
    if codes is None:
        return universe.record_types
    return int(universe.indices_of([np.array([code]) for code in codes])[0])


def _mentioned(universe: Universe, first: Any, second: Any) -> tuple[str, ...]:
    """The attributes to speak of: all, or those of both records; the others are alike, whatever they are."""
    named = [set(record) for record in (first, second) if isinstance(record, Mapping)]
    for name in sorted(set().union(*named)):
        if name not in universe.names:
            raise DataError(f"there is no attribute {shown(str(name))}; {did_you_mean(str(name), universe.names)}")
    if not named:
        return universe.names
    expected = named[0] | named[-1]
    if universe.listed is not None or (
        len(named) == 1 and not any(_is_absent(universe, record) for record in (first, second))
    ):
        expected = set(universe.names)
    for record in named:
        missing = [name for name in universe.names if name in expected - record]
        if missing:
            raise DataError(f"a record does not say its {missing[0]}; say it for both records, or for neither")
    return tuple(name for name in universe.names if name in expected)


def _is_absent(universe: Universe, record: Any) -> bool:
    return universe.absent is not None and (record == ABSENT or record == universe.absent)


def _codes(universe: Universe, record: Any) -> list[int] | None:
    """The code of each attribute; None for the absent record."""
    if isinstance(record, Mapping):
        codes = [_code(one, record[one.name]) if one.name in record else 0 for one in universe.attributes]
        if universe.indices_of([np.array([code]) for code in codes])[0] == OUTSIDE:
            raise DataError(f"the table lists no record {', '.join(map(str, record.values()))}")
        return codes
    if _is_absent(universe, record):
        return None
    if record == ABSENT:
        raise DataError("under this policy no record is absent: it has no 'presence' rule")
    if not isinstance(record, int | np.integer):
        raise DataError(
            f"a record is its number or a mapping of its values, found a {type(record).__name__}; {_written(universe)}"
        )
    if not 0 <= record < universe.record_types:
        raise DataError(f"record {record} does not exist: they are numbered from 0 to {universe.size - 1:,}")
    return list(universe.codes(int(record)))


def _written(universe: Universe) -> str:
    """How records of a universe are handed over."""
    example = {attribute.name: attribute.labels[0] for attribute in universe.attributes[:2]}
    return f"write a dict such as {example}" if example else "give its number"


def _code(attribute: Attribute, value: Any) -> int:
    try:
        return attribute.code_of(str(value).strip())
    except NotAValue as error:
        raise DataError(str(error)) from error


def _amount(amount: Amount) -> str:
    return plain(amount) if isinstance(amount, Fraction) else f"{amount:.6g}"


def _amount_dict(name: str, amount: Amount) -> dict[str, Any]:
    return {name: float(amount), f"{name}_exact": plain(amount) if isinstance(amount, Fraction) else None}
