"""A plan, audited without data: what a release of it would run is driven, and held against the policy's distances.

Of counts x and noise z a release may show what it likes of M·x + z, M the numbers that are said to have the noise, and
of how many records each component has, which no change at a finite distance moves; where a record may be absent, of
M·x + z alone. So answers must be the same when records change within their components and the noise makes up for it.
What is shown is a sum of products, so random numbers that nobody knew before tell, but for a chance of p/2⁶¹ for p
attributes.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.audit.bound_audit import BoundAgain, bound_again
from dxgeom.audit.contrasted_moves import require_contrasted
from dxgeom.audit.counted_blocks import (
    BITS,
    NoisyBlock,
    RandomChange,
    added_up,
    blocks_with_noise,
    from_nowhere,
    of_answers,
    whole_numbers,
    within_components,
)
from dxgeom.audit.key_audit import require_keys
from dxgeom.audit.listed_shifts import carried, joined_by_rings, require_hidden_shifts
from dxgeom.audit.moves import (
    moves_of,
    require_along_bases,
    require_along_totals,
    require_in_a_row,
    require_moves,
    require_weighed,
    weighs_sums,
)
from dxgeom.audit.rolled_up_audit import require_rolled_up
from dxgeom.audit.totals_of_several import in_joint_totals, require_by_category, require_joint_totals
from dxgeom.audit.unlisted_audit import require_unlisted
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.composition import PostProcessed, Sequential
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.contract.readers import TableReader
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.distinct import DistinctCount
from dxgeom.mechanisms.linear.key_counts import KeyCounts
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.rolled_up_keys import RolledUpKeys
from dxgeom.mechanisms.linear.unlisted_keys import UnlistedKeys
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism
from dxgeom.mechanisms.parts.toeplitz_mechanism import ToeplitzMechanism
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.components import components_of
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.over_periods import OverPeriods
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.toeplitz import ToeplitzNormals
from dxgeom.noise.triangular import KroneckerNormals, TriangularNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.plan import Plan

_DIGIT: Final = 12
"""Numbers of any size are driven digit by digit, of so many bits, which is exact: each step is a sum of multiples."""
_WIDE: Final = 20
_TRIALS: Final = 32
MISSED: Final = f"a row that shows more is missed with a chance below p/2^{BITS} for p attributes"

Numbers = Sequence[NDArray[Any]]
Shown = Callable[[Numbers], Numbers]
"""From whole numbers, of records and of noise, to exact ones."""


@final
class DrivenTables(NamedTuple):
    """What a mechanism reads of tables of counts: the cells of each, and nothing beside them."""

    cells: tuple[NDArray[np.int64], ...]

    @property
    def total(self) -> int:
        """Raises: CertificateRefused."""
        raise CertificateRefused("what is released looks at how many records there are, beside the tables of counts")


def require_answers(mechanism: AdditiveMechanism, records: NDArray[Any], measured: NDArray[Any]) -> None:
    """That linear answers show of such a change of records (N,) what is ``measured`` (m,) of it, with noise, beside
    what they are of no record and no noise, which is public.

    Raises: CertificateRefused.
    """

    def answers(counts: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
        return np.array(mechanism.answered(counts, [noise.tolist()])[0], dtype=object)

    of_nobody = answers(np.zeros_like(records, dtype=np.int64), np.zeros_like(measured, dtype=np.int64))

    def shown(parts: Numbers) -> Numbers:
        return [answers(*parts) - of_nobody]

    _require_nothing_else(shown, [records, -measured])


def require_tables(mechanism: TableMechanism, noisy: Mapping[int, NoisyBlock], change: RandomChange) -> None:
    """The same of whole tables of counts; and that they are those counts, but for noise. Raises: CertificateRefused."""
    cells = _cells(mechanism, change)

    def answers(parts: Numbers) -> Numbers:
        noise = dict(zip(noisy, parts[len(cells) :], strict=True))
        return mechanism.answered(DrivenTables(tuple(parts[: len(cells)])), noise).numerators

    of_nobody = answers([np.zeros(len(one), dtype=np.int64) for one in cells] + _silent(noisy))  # public numbers alone

    def shown(parts: Numbers) -> Numbers:
        return [one - nothing for one, nothing in zip(answers(parts), of_nobody, strict=True)]

    _require_nothing_else(shown, [*cells, *(-one.block.numbers(change) for one in noisy.values())])
    found = _exactly(lambda parts: shown([*parts, *_silent(noisy)]), cells)
    for place, (one, own, divisor) in enumerate(zip(found, cells, mechanism.divisors, strict=True)):
        _require(np.array_equal(one * mechanism.shares, _less_public(mechanism, place, own, divisor)))


def _silent(noisy: Mapping[int, NoisyBlock]) -> list[NDArray[Any]]:
    return [np.zeros(one.block.size, dtype=np.int64) for one in noisy.values()]


def _less_public(mechanism: TableMechanism, place: int, cells: NDArray[Any], divisor: int) -> NDArray[Any]:
    """What is left of a table, times its divisor, where public numbers tell some of its residuals: along attributes of
    one of these numbers less their mean, along others the mean."""
    members, shape = mechanism.queries.attribute_sets[place], mechanism.queries.shapes[place]
    table = cells.astype(object).reshape(shape)
    public = 0 * table
    for told in map(mechanism.family.members_of, mechanism.told):
        if {*told} <= {*members}:
            part = table
            for axis, (member, size) in enumerate(zip(members, shape, strict=True)):
                sums = part.sum(axis=axis, keepdims=True) + 0 * part
                part = size * part - sums if member in told else sums
            public = public + part
    return np.asarray(table * divisor - public * divisor // math.prod(shape)).reshape(-1)


def require_boxes(
    mechanism: BoxMechanism | ToeplitzMechanism, noisy: Mapping[int, NoisyBlock], change: RandomChange
) -> None:
    """The same of counts in boxes: what is measured are the numbers that are said to be; whatever else is done sees no
    more of the data than these with noise. Raises: CertificateRefused.
    """
    cells = _cells(mechanism, change)
    bare = [] if isinstance(mechanism, ToeplitzMechanism) else np.flatnonzero(~mechanism.question.protected).tolist()
    for number in sorted({*noisy, *bare}):

        def measured(parts: Numbers, number: int = number) -> Numbers:
            return [mechanism.measured(number, DrivenTables(tuple(parts))).reshape(-1)]

        (found,) = _exactly(measured, cells)
        _require(np.array_equal(found, noisy[number].block.table(change).ravel() if number in noisy else 0 * found))
    noise = {number: whole_numbers(one.block.size, _WIDE) for number, one in noisy.items()}
    made_up = {number: drawn - noisy[number].block.numbers(change) for number, drawn in noise.items()}
    nobody = DrivenTables(tuple(np.zeros(len(one), dtype=np.int64) for one in cells))
    _require(mechanism.answered(nobody, noise) == mechanism.answered(DrivenTables(tuple(cells)), made_up))


def _cells(mechanism: Any, change: RandomChange) -> Numbers:
    """The tables that the mechanism reads, of these records, cell by cell."""
    found = []
    for asked in mechanism.queries.attribute_sets:
        columns = [mechanism.queries.columns[place] for place in asked]
        table = change.margin([one.axis for one in columns])
        for place, one in enumerate(columns):
            table = np.moveaxis(added_up(np.moveaxis(table, place, -1), one.codes, len(one.words)), -1, place)
        found.append(np.ascontiguousarray(table).reshape(-1))
    return found


def _require_nothing_else(shown: Shown, numbers: Numbers) -> None:
    """That nothing is shown of these, by what is a sum of multiples of any."""
    _require(not any(np.any(table) for table in _exactly(shown, numbers)))
    one, other = ([whole_numbers(part.size, _WIDE) for part in numbers] for _ in range(2))
    both = shown([first + second for first, second in zip(one, other, strict=True)])
    for table, first, second in zip(both, shown(one), shown(other), strict=True):
        _require(np.array_equal(table, first + second))


def _exactly(shown: Shown, numbers: Numbers) -> Numbers:
    """What is shown of whole numbers of any size, from what is shown of their digits."""
    left: list[NDArray[Any]] = [abs(one) for one in numbers]
    signs = [np.where(one < 0, -1, 1) for one in numbers]
    total: Numbers = [0 * table.astype(object) for table in shown([np.zeros(one.size, dtype=np.int64) for one in left])]
    place = 0
    while any(np.any(one) for one in left):
        digits = [(one & ((1 << _DIGIT) - 1)).astype(np.int64) * sign for one, sign in zip(left, signs, strict=True)]
        part = [table.astype(object) * (1 << place) for table in shown(digits)]
        total = [one + other for one, other in zip(total, part, strict=True)]
        left, place = [one >> _DIGIT for one in left], place + _DIGIT
    return total


def _require(holds: bool) -> None:
    if not holds:
        raise CertificateRefused(
            "what is released shows more of the records than the numbers that have noise: weights, or what is made of "
            "noise, are others than those that were proved"
        )


_LARGEST_HISTOGRAM: Final = 1_000_000


@final
@dataclass(frozen=True)
class PlanAudit:
    """What was ``checked`` of a plan, and what was ``not_audited``, in sentences: of that nothing is said. ``bounds``:
    how near it is to the best, where a second route tells."""

    checked: tuple[str, ...]
    not_audited: tuple[str, ...]
    bounds: tuple[BoundAgain, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all of the plan was audited, and holds."""
        return bool(self.checked) and not self.not_audited

    @property
    def verdict(self) -> str:
        """In a word or two."""
        return "holds" if self.holds else "not audited" if not self.checked else "holds in part"


def audit_plan(plan: Any) -> PlanAudit:
    """Check by a second route, without data, that what a plan releases hides what its policy protects.

    The very mechanism that a release would run is taken. Its step from counts and noise to answers is driven with
    random ones: it may show of the records nothing but the numbers that have the noise, counted anew by the audit's own
    code, and what no protected change moves. Then what changes of a record shift these numbers by is held against the
    policy's distances, in the norm of the noise. Nothing of how the noise was proved when the plan was made is used.

    Args: ``plan``: a plan, held against its own metric, or what ``dx.load_plan`` returns, held against the policy in
    the file, which is compiled for this.
    Guarantee: of what it has ``checked``, raises or is true: lengths *exactly*, or in balls; what is driven but for a
    chance of p/2⁶¹ for p attributes, over randomness that is drawn now. Bounds are proved in whole numbers.
    Raises: CertificateRefused for a plan that shows more than it may, or states a bound above its own loss.
    """
    require(plan, Plan, "plan", "give a plan, or what dx.load_plan returns")
    policy = plan.policy
    metric: VerifiedMetric = plan.metric if policy is None else policy.compile()
    checked, left = [], []
    for name, mechanism in mechanisms_within(plan.mechanism, ""):
        try:
            lines = _audited(mechanism, metric)
        except (TooLarge, UnsupportedCombination) as error:
            left.append(f"{name}{error}")
        else:
            checked += [f"{name}{line}" for line in lines]
    if policy is not None and not left:
        checked.append("distances are those of the policy in the file, compiled for this audit")
    inside = plan.kind.inside(plan) or (plan,)
    names = ("",) * len(inside) if plan.tasks is None else plan.tasks.names
    bounds = ((name, bound_again(one, metric)) for name, one in zip(names, inside, strict=True))
    near = tuple(one._replace(task=name) for name, one in bounds if one is not None)
    return PlanAudit(tuple(checked), tuple(left), near)


def mechanisms_within(mechanism: Mechanism[Any, Any], name: str) -> Iterator[tuple[str, Mechanism[Any, Any]]]:
    """The mechanisms that see data, each with what it is called before a sentence about it."""
    if isinstance(mechanism, PostProcessed):
        yield from mechanisms_within(mechanism.inner, name)
    elif isinstance(mechanism, Sequential):
        shares = mechanism.shares
        if len(shares) != len(mechanism.parts) or min(shares) < 0 or sum(shares, Fraction(0)) > 1:
            raise CertificateRefused("the shares of the parts of this plan come to more than the whole spend")
        if any(share == 0 and not _asks_nothing(part) for part, share in zip(mechanism.parts, shares, strict=True)):
            raise CertificateRefused("a part that asks something of the data has no part of the budget")
        for place, (part, share) in enumerate(zip(mechanism.parts, shares, strict=True), start=1):
            yield from mechanisms_within(part, f"{name}part {place}, {part.name} at {share} of the spend: ")
    else:
        yield name, mechanism


def _asks_nothing(mechanism: Mechanism[Any, Any]) -> bool:
    if isinstance(mechanism, TableMechanism):
        shapes = mechanism.queries.shapes
        made_up = (DrivenTables(tuple(whole_numbers(math.prod(one), _WIDE) for one in shapes)) for _ in range(2))
        first, second = (mechanism.answered(one, {}).numerators for one in made_up)
        return not mechanism.noisy and all(map(np.array_equal, first, second))
    return isinstance(mechanism, AdditiveMechanism) and not np.any(mechanism.sensitivity.queries.tables.matrix())


def _audited(mechanism: Mechanism[Any, Any], metric: VerifiedMetric) -> list[str]:
    """Raises: CertificateRefused; TooLarge, UnsupportedCombination where there is no second route."""
    if metric.held and not _in_answers(mechanism):
        raise UnsupportedCombination(
            "the policy says 'hold', and that this noise hides rings of people has no second route here"
        )
    if isinstance(mechanism, AdditiveMechanism):
        normal = mechanism.law is not None and mechanism.law.concentrated
    elif isinstance(mechanism, TableMechanism | BoxMechanism | ToeplitzMechanism | KeyCounts):
        normal = mechanism.normal
    elif isinstance(mechanism, RolledUpKeys):
        normal = any(one.counts.normal for one in mechanism.levels)
    elif isinstance(mechanism, UnlistedKeys):
        normal = mechanism.known.normal
    elif isinstance(mechanism, DistinctCount):
        normal = mechanism.law is not None and mechanism.law.concentrated
    else:
        raise UnsupportedCombination(
            f"'{mechanism.name}' is not noise on counts, sums or numbers of different values, and this audit has no "
            "second route for it: that it hides what it should is proved where it is made and read, and not checked "
            "here"
        )
    own = mechanism.metric
    same = (own.size, own.privacy) == (metric.size, metric.privacy) and metric.people in (None, own.people)
    if not (same and metric.absent in (None, mechanism.absent)):
        raise CertificateRefused("the mechanism is about other records, or another privacy, than the plan's policy")
    if mechanism.absent is not None and any(one is not None for one in _numbers_stated(mechanism)):
        raise CertificateRefused("tables of other numbers of records are refused, which the policy keeps private")
    if normal and metric.privacy == "pure":
        raise CertificateRefused("noise whose odds have no bound is no noise for pure privacy")
    if isinstance(mechanism, AdditiveMechanism | DistinctCount) and metric.size > _LARGEST_HISTOGRAM:
        raise TooLarge(f"answers from histograms of more than {_LARGEST_HISTOGRAM:,} possible records are not driven")
    if isinstance(mechanism, DistinctCount):
        return _different_values(mechanism, metric.metric)
    if isinstance(mechanism, KeyCounts):
        return require_keys(mechanism, metric.metric)
    if isinstance(mechanism, RolledUpKeys):
        return require_rolled_up(mechanism, metric.metric)
    if isinstance(mechanism, UnlistedKeys):
        return require_unlisted(mechanism, metric)
    present = isinstance(metric.metric, PresenceMetric)
    hidden = _listed(mechanism, metric) if _in_answers(mechanism) else _in_blocks_or_rows(mechanism, metric)
    counted = "" if present else ", and how many lie in each component"
    return [f"answers show of records only their numbers with noise{counted}: driven exactly; {MISSED}", hidden]


def _in_answers(mechanism: Mechanism[Any, Any]) -> TypeGuard[AdditiveMechanism]:
    """Whether the answers themselves have the noise, and no numbers that they share."""
    return isinstance(mechanism, AdditiveMechanism) and not isinstance(mechanism.mixing, IntegerMixing)


def _different_values(mechanism: DistinctCount, metric: Metric) -> list[str]:
    """That a release is how many groups somebody is in, with noise, and that this hides any change of the group.

    Two groups differ in some binary digit of their numbers, and noise that hides each digit alone hides that one more
    or one fewer is there.
    """
    weights = mechanism.groups.tables.matrix()
    if np.any((weights != 0) & (weights != 1)) or np.any(weights.sum(axis=0) > 1):
        raise CertificateRefused("some record is in two groups, or counts more than once")
    if mechanism.absent is not None and np.any(weights[:, mechanism.absent]):
        raise CertificateRefused("an absent record is in a group")
    places = np.arange(1, len(weights) + 1) @ weights
    spread = np.random.default_rng(secrets.randbits(64))
    for trial in range(_TRIALS):
        there = spread.random(metric.size) < spread.random()
        if mechanism.absent is not None:
            there[mechanism.absent] = False
        true, once = len({*places[there].tolist()} - {0}), Fraction(1)
        noise = [0]
        if mechanism.law is not None:
            noise = mechanism.law.draw(1, InsecureSeededRandomness(trial), once)[:, 0].tolist()
        found = mechanism.drawn(there.astype(np.int64), once, 1, InsecureSeededRandomness(trial))
        _require(found == [min(max(true + noise[0], 0), len(weights))])
    hidden = ""
    for digit in range(len(weights).bit_length()):
        hidden = require_hidden_shifts(mechanism.law, (places >> digit & 1)[None], metric)
    return [f"the answer is in how many groups somebody is, with noise: driven with {_TRIALS} random tables", hidden]


def _numbers_stated(mechanism: Mechanism[Any, Any]) -> tuple[int | None, ...]:
    """Of records, where a release is for just so many."""
    if isinstance(mechanism, DistinctCount):
        return ()
    if not isinstance(mechanism, AdditiveMechanism):
        return (mechanism.queries.records,) if isinstance(mechanism, TableReader) else ()
    return mechanism.sensitivity.queries.records, None if mechanism.change is None else mechanism.change.records


def _in_blocks_or_rows(mechanism: Any, metric: VerifiedMetric) -> str:
    """Where something is promised of several periods, distances of single records may be kept, or that promise."""
    over = metric.over_periods
    if over is None:
        return _in_blocks(mechanism, metric.metric)
    try:
        return _in_blocks(mechanism, metric.metric)
    except CertificateRefused:
        return _in_blocks(mechanism, over.metric, over)


def _in_blocks(mechanism: Any, metric: Metric, over: OverPeriods | None = None) -> str:
    """Of noise in tables of numbers that answers are made of; with ``over``, what is promised of several periods,
    too."""
    universe = mechanism.universe if isinstance(mechanism, AdditiveMechanism) else mechanism.queries.universe
    if universe is None or universe.listed is not None:
        raise CertificateRefused("noise in measured numbers is over the attributes of records, and these have none")
    moves = moves_of(metric, universe.shape)
    change = from_nowhere(moves.sizes) if moves.presence is not None else within_components(moves.labels)
    if isinstance(mechanism, AdditiveMechanism):
        noisy = of_answers(mechanism)
        records = change.margin(range(len(moves.sizes))).reshape(-1)
        gone = [-records.sum()] * (metric.size - len(records))  # to no record, where that is one of the types
        measured = [one.block.numbers(change) for one in noisy]
        require_answers(mechanism, np.append(records, gone), np.concatenate(measured))
    else:
        claimed = blocks_with_noise(mechanism)
        noisy = [*claimed.values()]
        (require_tables if isinstance(mechanism, TableMechanism) else require_boxes)(mechanism, claimed, change)
    if any(isinstance(law, ToeplitzNormals | TriangularNormals) for one in noisy for law in one.laws):
        said = require_along_totals(noisy, moves)
        return said if over is None else f"{said}; {require_in_a_row(noisy, over)}"
    if any(isinstance(law, CategoryNormals) for one in noisy for law in one.laws):
        return require_by_category(noisy, moves)
    if in_joint_totals(noisy):
        return require_joint_totals(noisy, moves)
    if over is not None:
        raise CertificateRefused("the noise does not hide what the metric protects: totals move too far")
    bases = any(isinstance(law, KroneckerNormals) for one in noisy for law in one.laws)
    if bases and weighs_sums(noisy):
        return require_contrasted(noisy, moves)
    if weighs_sums(noisy):
        return require_weighed(noisy, moves)
    return (require_along_bases if bases else require_moves)(noisy, moves)


def _listed(mechanism: AdditiveMechanism, verified: VerifiedMetric) -> str:
    """Of noise in the answers themselves."""
    metric = verified.metric
    labels = components_of(metric).of(np.arange(metric.size))
    if any(np.any(labels[pairs.first] != labels[pairs.second]) for pairs in metric.generating_pairs()):
        raise CertificateRefused("two records at a finite distance are said to be in different components")
    weights = carried(mechanism)
    if verified.held:
        labels = joined_by_rings(verified, labels)
    records = within_components([labels]).margin([0])
    if mechanism.absent is not None:  # no histogram counts it: what it weighs is never told
        weights[:, mechanism.absent] = records[mechanism.absent] = 0
    require_answers(mechanism, records, np.array([row.astype(object) @ records for row in weights], dtype=object))
    return require_hidden_shifts(mechanism.law, weights, metric, verified if verified.held else None)
