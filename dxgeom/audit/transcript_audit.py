"""What a stored release of tables that follow the data paid, step by step: checked again, from the ledger alone.

Two routes. Each step is made anew from those before it: how much of each limit it could take, which tables could be
selected and at which rate, how much noise that buys; it has to be the one that was kept. And, without limits or a
search for any: for every change of a record that the metric's distances are made of, all that the steps tell of it is
added up and held against the distance.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple, final

import numpy as np

from dxgeom.arguments import require
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.synthetic.adaptive import ENDING, FIRST, LITTLE, SELECTING, AdaptiveMechanism
from dxgeom.mechanisms.synthetic.adaptive_answer import AdaptiveStep, AdaptiveTables
from dxgeom.mechanisms.synthetic.on_histograms import AdaptiveOnHistogram
from dxgeom.mechanisms.synthetic.table_model import Axes
from dxgeom.mechanisms.synthetic.vector_account import Costs, Limit, VectorAccount
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.plan import Plan

_LARGEST: Final = 2**20
_NEAR: Final = Fraction(1, 2**40)
"""Distances of pairs are float64, rounded down."""


@final
class TranscriptAudit(NamedTuple):
    """What was checked of a release, in sentences."""

    checked: tuple[str, ...]


def audit_release(plan: Plan, ledger: str | Path, entry: int) -> TranscriptAudit:
    """What the steps of a stored release paid, checked again. Reads no table, and leaves the ledger as it is.

    Args: ``plan``: by which it was released, as of :meth:`dxgeom.planner.plan.Plan.release_again`; of a plan file the
    policy is compiled anew. Guarantee: of what it has ``checked``, raises or is true: *exactly*, and against distances
    in float64 up to 2⁻⁴⁰ of them. How well a model fits is not looked at: it is made of what was measured, and tells no
    more. Raises: CertificateRefused for a step that is not as public numbers and earlier steps make it, or that shows
    more than it may; UnsupportedCombination where nothing kept its steps; LedgerError as of that method.
    """
    require(plan, Plan, "plan", "give a plan, or what dx.load_plan returns")
    require(ledger, (str, os.PathLike), "ledger", "name the file of a ledger")
    metric: VerifiedMetric = plan.metric if plan.policy is None else plan.policy.compile()
    release = plan.release_again(ledger, entry)
    tasks = plan.tasks
    parts = [("", plan, Fraction(1), release.answer)]
    if tasks is not None:
        parts = [
            *zip(
                (f"task '{one}': " for one in tasks.names),
                plan.parts,
                plan.mechanism.shares,
                release.answer.answers,
                strict=True,
            )
        ]
    lines = [
        f"{name}{line}"
        for name, part, share, shown in parts
        if isinstance(part.mechanism, AdaptiveOnHistogram)
        for line in _audited(part.mechanism.inner, shown.answer, share * release.spent, metric)
    ]
    if not lines:
        raise UnsupportedCombination(
            f"entry {entry} has no steps that were kept: only tables that follow the data keep theirs; 'dxgeom audit "
            "plan' checks the plan itself"
        )
    return TranscriptAudit(tuple(lines))


def _audited(own: AdaptiveMechanism, answer: AdaptiveTables, spend: Fraction, metric: VerifiedMetric) -> Iterator[str]:
    if (own.metric.fingerprint, own.metric.privacy) != (metric.fingerprint, metric.privacy):
        raise CertificateRefused("the mechanism is about another policy than the plan's")
    account = VectorAccount(own.whole(spend))
    _require_alone(own, answer, spend, account)
    _require_rounds(own, answer, spend, account)
    _require_fresh(own, answer, spend, account)
    steps = len(answer.transcript) + len(answer.fresh)
    yield (
        f"each of {steps} steps is the one that public numbers and the steps before it make, and all were paid for: at "
        f"most {float(account.spent_part):.6f} of any limit; exact"
    )
    if metric.size > _LARGEST:
        yield (
            f"changes of more than {_LARGEST:,} possible records were not gone through one by one: what the steps show "
            "together was held against the limits of each attribute only"
        )
        return
    yield _held_against_pairs(own, (*answer.transcript, *answer.fresh), spend, metric)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise CertificateRefused(f"{what} than public numbers and earlier steps make it: the transcript was altered")


def _paid(own: AdaptiveMechanism, step: AdaptiveStep, spread: Fraction, account: VectorAccount, what: str) -> None:
    _require(step.normal == own.normal and step.steps.size == own.cells(step.axes), f"{what} is another table")
    _require(step.spread == spread, f"{what} has other noise")
    _require(dict(step.measuring) == own.measuring(step.axes, spread), f"{what} cost something else")
    account.pay(step.measuring)


def _require_alone(own: AdaptiveMechanism, answer: AdaptiveTables, spend: Fraction, account: VectorAccount) -> None:
    """Every attribute by itself, with the first part of each limit."""
    alone, whole = [one for one in own.candidates if len(one) == 1], _kept(own, spend)
    parts = {limit: FIRST * one / (len(alone) if limit is None else 1) for limit, one in whole.items()}
    first = answer.transcript[: len(alone)]
    _require([one.axes for one in first] == alone, "the first tables are others")
    for number, step in enumerate(first, start=1):
        _require(step.rate is None and not step.selecting, f"step {number} was selected otherwise")
        _paid(own, step, own.spread_for(step.axes, parts), account, f"step {number}")


def _kept(own: AdaptiveMechanism, spend: Fraction) -> dict[Limit, Fraction]:
    """What the model may take of each limit."""
    return {limit: one * (1 - own.bars) for limit, one in own.whole(spend).items()}


def _require_rounds(own: AdaptiveMechanism, answer: AdaptiveTables, spend: Fraction, account: VectorAccount) -> None:
    """Rounds grow or do not, and two share what is left or one has it, as earlier outputs were: either is public, and
    the step says which it was."""
    whole, begun = _kept(own, spend), sum(len(one) == 1 for one in own.candidates)
    rounds, part = answer.transcript[begun:], own.first_part
    _require(len(rounds) <= own.most_rounds, "there are more rounds")
    forest = own.first_forest()
    admitted = own.admitted(forest)
    for number, step in enumerate(rounds):
        tried = (part, 4 * part) if number else (part,)
        last = number == own.most_rounds - 1
        sharing = (True, False) if own.ending == ENDING else (own.ending > 1,)
        known = (
            (one, _parts(own, account, whole, one, last=last, shared=shared)) for one in tried for shared in sharing
        )
        found = next(((one, parts) for one, parts in known if _selects(own, step, parts, admitted)), None)
        what = f"step {begun + number + 1}"
        if found is None:
            raise CertificateRefused(f"{what} was selected at another rate, or price, than earlier steps make it")
        part, parts = found
        account.pay(step.selecting)
        rest = {limit: one - step.selecting.get(limit, Fraction(0)) for limit, one in parts.items()}
        _paid(own, step, own.spread_for(step.axes, rest), account, what)
        grown = None if forest is None else forest.joined(step.axes)
        if grown is not forest:
            forest, admitted = grown, own.admitted(grown)


def _parts(
    own: AdaptiveMechanism, account: VectorAccount, whole: Costs, part: Fraction, *, last: bool, shared: bool
) -> dict[Limit, Fraction]:
    """What a round may take of each limit."""
    found = {}
    for limit, one in whole.items():
        left = account.left(limit) - one * own.bars / (1 - own.bars)
        if left >= one * LITTLE:
            half = left < 2 * part * one and shared
            ends = last or left < (part if half else 2 * part) * one
            found[limit] = left if ends else left / 2 if half else part * one
    return found


def _selects(own: AdaptiveMechanism, step: AdaptiveStep, parts: Costs, admitted: tuple[Axes, ...]) -> bool:
    """Whether a selection with these parts is at this step's rate and price, and may select its table."""
    if step.axes not in admitted or not all(limit in parts for limit in own.met(step.axes)):
        return False
    pick = own.pick({limit: SELECTING * one for limit, one in parts.items()}, admitted)
    return step.axes in pick.candidates and (pick.rate, dict(pick.costs)) == (step.rate, dict(step.selecting))


def _require_fresh(own: AdaptiveMechanism, answer: AdaptiveTables, spend: Fraction, account: VectorAccount) -> None:
    """All that was asked for, once more, with what was kept for bars."""
    asked = own.queries.attribute_sets if own.bars else ()
    _require(tuple(one.axes for one in answer.fresh) == asked, "the fresh tables are others")
    for number, step in enumerate(answer.fresh, start=1):
        _require(step.rate is None and not step.selecting, f"fresh table {number} was selected otherwise")
        _paid(own, step, own.spread_for(step.axes, own.fresh_parts(spend)), account, f"fresh table {number}")


def _held_against_pairs(
    own: AdaptiveMechanism, steps: tuple[AdaptiveStep, ...], spend: Fraction, metric: VerifiedMetric
) -> str:
    """Without limits: what each change of a record is told by, beside its distance. Raises: CertificateRefused."""
    if metric.size > _LARGEST:
        raise TooLarge(f"changes of more than {_LARGEST:,} possible records are not gone through one by one")
    universe, nearest, pairs = own.queries.universe, dict[tuple[int, ...], float](), 0
    codes = np.unravel_index(np.arange(universe.record_types), universe.shape)
    classes = [one.codes[codes[one.axis]] for one in own.queries.columns]
    for block in metric.metric.generating_pairs():
        pairs += len(block.first)
        gone = np.maximum(block.first, block.second) >= universe.record_types
        first, second = (np.minimum(one, universe.record_types - 1) for one in (block.first, block.second))
        marks = np.where(gone, -1, sum((a[first] != a[second]).astype(np.int64) << k for k, a in enumerate(classes)))
        for mark in np.unique(marks).tolist():
            changed = () if mark < 0 else tuple(k for k in range(len(classes)) if mark >> k & 1)
            if mark:
                key = (-1,) if mark < 0 else changed
                nearest[key] = min(nearest.get(key, np.inf), float(block.bound[marks == mark].min()))
    for changed, distance in nearest.items():
        told, allowed = _loss(own, steps, changed), own.measure.counted(spend * Fraction(distance))
        if told > allowed * (1 + _NEAR):
            titles = [own.queries.column_titles[axis] for axis in changed if axis >= 0]
            raise CertificateRefused(f"all steps together show more of a change of {', '.join(titles) or 'a record'}")
    return (
        f"all {pairs:,} pairs of possible records that distances are made of are hidden by all steps together; "
        f"{len(nearest):,} different changes of tables"
    )


def _loss(own: AdaptiveMechanism, steps: tuple[AdaptiveStep, ...], changed: tuple[int, ...]) -> Fraction:
    """Of a change in these columns, or of a record that comes or goes (−1): squares, or sums of log-odds.

    Definition: a table that the change moves costs the number of counts that move over σ², or over b. Selecting costs
    what the largest of these columns paid; of a column without a limit, the square of the rate times what moves.
    """
    presence, power = changed == (-1,), 2 if own.normal else 1
    total = Fraction(0)
    for step in steps:
        if presence or set(changed) & set(step.axes):
            total += (1 if presence else 2) / step.spread**power
        if step.rate is not None:
            limits: tuple[Limit, ...] = (None,) if presence else changed
            half = step.rate * (1 if presence else 2)
            most = half**2 if own.normal else 2 * half
            total += max(
                step.selecting.get(limit, most if limit not in own.limits else Fraction(0)) for limit in limits
            )
    return total
