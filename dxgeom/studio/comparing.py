"""Before and after: which pairs of records a change hides less well or better, worst first, and the reason of each."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.document.document import Notice
from dxgeom.document.page import html_of
from dxgeom.errors import DxgeomError, UnsupportedCombination
from dxgeom.policy.explain.tightening import LISTED
from dxgeom.policy.policy import Policy, Record
from dxgeom.privacy.measures import PURE
from dxgeom.report.changes import are_changed, beside_pairs, distances_in_both
from dxgeom.report.facts import Facts, PairDistances
from dxgeom.studio.draft import TriedPolicy, in_words
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import amount

_MOST: Final = 12
"""Pairs that are listed each way."""
_MOST_STEPS: Final = 12


def compared(before: TriedPolicy, now: TriedPolicy) -> dict[str, Any]:
    """What changed from one draft to the other; ``same``: whether they mean the same."""
    one, other = before.policy, now.policy
    if one is None or other is None:
        whose = "The policy before has" if one is None else "The policy has"
        return _nothing(f"{whose} mistakes, so that there is nothing to compare.")
    if one.privacy != other.privacy:
        return _nothing("The two policies count privacy in two ways, and their promises are of two kinds.")
    if before.facts is None or now.facts is None:
        return _nothing("There are too many possible records to compare them pair by pair.")
    if one.fingerprint == other.fingerprint:
        return {**_nothing("Nothing changed: both policies promise the same."), "same": True}
    weaker, stronger, counts = _changes(before.facts, now.facts)
    less, more = (f"{count:,} {'pair is' if count == 1 else 'pairs are'}" for count in counts)
    words = f"{less} hidden less well than before, {more} hidden better."
    notices: list[Notice] = list(beside_pairs(before.facts, now.facts))
    return {
        "same": False,
        "words": words,
        "weaker": weaker,
        "stronger": stronger,
        "notices": html_of(notices),
    }


def _nothing(words: str) -> dict[str, Any]:
    return {"same": False, "words": words, "weaker": [], "stronger": [], "notices": ""}


def _changes(before: Facts, now: Facts) -> tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[int, int]]:
    older = {one.name: one for one in before.compared}
    found: list[tuple[float, dict[str, Any]]] = []
    less = more = 0
    for one in now.compared:
        if one.name not in older:
            continue
        _, codes, was, told = distances_in_both(older[one.name], one, before.budget, now.budget)
        first, second = np.nonzero(np.triu(are_changed(was, told), 1))
        with np.errstate(invalid="ignore"):
            growth = np.asarray(told[first, second] - was[first, second])
        less, more = less + int(np.sum(growth > 0)), more + int(np.sum(growth < 0))
        for k in _extreme(growth):
            ends = int(codes[first[k]]), int(codes[second[k]])
            row = _row(one, ends, now.policy, float(was[first[k], second[k]]), float(told[first[k], second[k]]))
            found.append((float(growth[k]), row))
    found.sort(key=lambda each: -each[0])
    weaker = [row for growth, row in found if growth > 0][:_MOST]
    stronger = [row for growth, row in reversed(found) if growth < 0][:_MOST]
    return weaker, stronger, (less, more)


def _extreme(growth: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of the largest and the smallest, so many each way."""
    if growth.size <= 2 * _MOST:
        return np.arange(growth.size)
    order = np.argsort(growth, kind="stable")
    return np.concatenate([order[:_MOST], order[-_MOST:]])


def _row(one: PairDistances, ends: tuple[int, int], policy: Policy, was: float, told: float) -> dict[str, Any]:
    before, after = in_words(policy, was), in_words(policy, told)
    return {
        "attribute": one.name,
        "first": ends[0],
        "second": ends[1],
        "title": policy.labels.attribute(one.name),
        "pair": one.pair(*ends).words,
        "before": before["odds"],
        "now": after["odds"],
        "right": f"{before['right']} → {after['right']}",
        "band": after["band"],
        "look": after["look"],
    }


def reasons(before: TriedPolicy, now: TriedPolicy, attribute: str, first: int, second: int) -> dict[str, Any]:
    """Why two values, by their places in the present policy, are as far apart as they are: before and now."""
    policy = now.policy
    if policy is None:
        raise UnsupportedCombination("the policy has mistakes: mend them first")
    ends = _records(policy, attribute, first, second)
    if before.policy is None:
        return {"before": None, "now": _reason(policy, *ends)}
    earlier = _reason(before.policy, *ends)
    return {"before": earlier, "now": _reason(policy, *ends)}


def _records(policy: Policy, attribute: str, first: int, second: int) -> tuple[Record, Record]:
    """Two records as explanations take them."""
    universe = policy.universe
    if attribute == LISTED:
        size = universe.record_types
    else:
        found = next((one for one in universe.attributes if one.name == attribute), None)
        if found is None:
            raise UnsupportedCombination(f"the policy has no attribute {attribute!r}")
        size = found.size
    if not (0 <= first < size and 0 <= second < size):
        raise UnsupportedCombination(f"values of {attribute!r} are counted from 0 to {size - 1:,}")
    if attribute == LISTED:
        return dict(universe.record(first)), dict(universe.record(second))
    labels = next(one for one in universe.attributes if one.name == attribute).labels
    return {attribute: labels[first]}, {attribute: labels[second]}


def _reason(policy: Policy, first: Record, second: Record) -> dict[str, Any]:
    """The shortest path between two records, rule by rule, with the line of each."""
    try:
        found = policy.explain(first, second)
    except DxgeomError as error:
        return {"words": str(error), "steps": [], "odds": "", "right": ""}
    distance = float(found.distance)
    steps = [
        {
            "words": f"{hop.start} → {hop.end}: {amount(float(hop.bound))}, by {hop.rule}",
            "line": hop.line,
            "from": hop.start,
            "to": hop.end,
        }
        for hop in found.hops[:_MOST_STEPS]
    ]
    more = len(found.hops) - len(steps)
    if found.apart:
        words = "Nothing joins them: they may be told apart."
    elif policy.privacy == PURE and len(found.hops) == 1:
        words = "One rule says it as it stands."
    else:
        words = f"{len(found.hops):,} steps add up; no other way is shorter."
    rest = f" {more:,} more steps are not shown." if more > 0 else ""
    return {
        "words": f"Distance {amount(distance)} at budget {plain(policy.budget)}. {words}{rest}",
        "steps": steps,
        **in_words(policy, distance * float(policy.budget)),
    }
