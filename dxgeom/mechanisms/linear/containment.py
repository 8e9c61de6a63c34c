"""Whether noise hides every difference: the one check that all shapes of noise pass before they are used.

That noise in measured numbers hides the very weights that are released, and not others: checked in integers.

Let M be the measured numbers, each row integers over possible records, V their noise, W the weights that a release
takes of the histogram x, and C and D what answers take of the noise. Released is W·x + D⁻¹·C·round(V). Let P be the 0/1
indicators of components, which are possible records at finite distance, and U any integers. If D·W = C·M + U·P, that is
D⁻¹·(C·round(M·x + V) + U·P·x); a change of a record at finite distance leaves P·x as it is and shifts M·x, which V
hides. So it is enough to look at D·W - C·M: it has to be the same for all possible records of a component, and 0 where
one of them is no record at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.round_bodies import CrossPolytope, lengths_rounded_up
from dxgeom.mechanisms.linear.distance_bounds import parts_of
from dxgeom.mechanisms.linear.lattice import tables_over
from dxgeom.mechanisms.linear.mixing import DiagonalMixing, IntegerMixing, MeasuredNumbers, are_exact
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.changes import ListedChanges, largest_first
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.paired_changes import ROUNDING, PairedChanges
from dxgeom.noise import k_norm
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.numeric.arrays import FITS, distinct_rows
from dxgeom.numeric.exact_numbers import ExactNumber, at_most_one, rational
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, quotient_round_up
from dxgeom.universe.weight_table import WeightTable, only
from dxgeom.universe.weight_tables import require_nothing_for_absence

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.additive import AdditiveMechanism

_ENTRIES_AT_ONCE: Final = 1 << 22


def require_measured(sensitivity: Sensitivity, mixing: IntegerMixing) -> None:
    """Raises: CertificateRefused unless every answer is, exactly, what ``mixing`` makes of measured numbers, and of
    what no change of a record at finite distance moves; TooLarge where the weights are too many to be looked at.
    """
    universe, queries, measured = sensitivity.universe, sensitivity.queries, mixing.measured
    answers, widths = len(queries.names), [block.size for block in measured.blocks]
    fits = mixing.numerators.shape == (answers, sum(widths)) and len(mixing.divisors) == answers
    _require_made_of_noisy(fits and universe is not None and universe.listed is None)
    _require_made_of_noisy(all(divisor.numerator > 0 for divisor in mixing.divisors))
    if universe is None:
        return
    if sensitivity.absent is not None:
        require_nothing_for_absence(queries.tables, sensitivity.absent)
    first_near = _first_near(sensitivity.metric.metric, universe.shape)
    for parts in _batches(tables_over(queries, universe), measured):
        made, start = _made(parts, mixing, kind := _kind_of(parts, mixing)), 0
        for part in parts:
            rows = slice(start, start := start + len(part.queries))
            left = _left(part, mixing, {axes: one[rows] for axes, one in made.items()}, kind)
            if first_near is None:
                _require_made_of_noisy(not np.any(left))
                continue
            for place, axis in enumerate(part.axes):
                one, other = _near_kinds(part.classes[place], measured.codes.get(axis), first_near(axis))
                _require_made_of_noisy(np.array_equal(left.take(one, axis=place + 1), left.take(other, axis=place + 1)))


def _require_made_of_noisy(holds: bool) -> None:
    if not holds:
        raise CertificateRefused(
            "the noise does not hide what the metric protects: the answers are not made of the numbers that have it"
        )


def _first_near(metric: Metric, shape: tuple[int, ...]) -> Callable[[int], NDArray[np.int64]] | None:
    """Of an attribute, for every value the first one at a finite distance from it; None where all records are at one
    from no record. What no answer looks at is not worked out: its values may be very many.

    Where distances do not add up over attributes, all values are held to be near: that asks for more.
    """
    if isinstance(metric, PresenceMetric):
        return None
    try:
        parts = parts_of(metric, shape)
    except TooLarge:
        return lambda axis: np.zeros(shape[axis], dtype=np.int64)
    return cache(lambda axis: _first_near_along(parts[axis]))


def _first_near_along(part: Metric) -> NDArray[np.int64]:
    values = np.arange(part.size)
    first = np.full(part.size, -1)
    while np.any(first < 0):  # to be at a finite distance is an equivalence
        value = int((first < 0).argmax())
        first[np.isfinite(part.distance(np.full(part.size, value), values)) & (first < 0)] = value
        first[value] = value
    return first


def _kinds(classes: NDArray[np.int64], codes: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The values of an attribute that queries or measured numbers tell apart: one of each kind, and each value's."""
    both = np.stack([classes, np.zeros_like(classes) if codes is None else codes], axis=1)
    which = distinct_rows(both)[1]
    return np.unique(which, return_index=True)[1], which


def _near_kinds(
    classes: NDArray[np.int64], codes: NDArray[np.int64] | None, first_near: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(2, pairs): kinds of values at a finite distance; all others that are so follow from these."""
    which = _kinds(classes, codes)[1]
    pairs = distinct_rows(np.stack([which, which[first_near]], axis=1))[0]
    return np.ascontiguousarray(pairs[pairs[:, 0] != pairs[:, 1]].T)


def _batches(tables: Iterable[WeightTable], measured: MeasuredNumbers) -> Iterator[list[WeightTable]]:
    """The tables' queries, so many at a time as are laid out; a table of many in several parts."""
    told = {axis: 1 + int(own.max()) + 1 for axis, own in measured.codes.items()}
    summed = sum(math.prod(told[axis] for axis in axes) for axes in {block.axes for block in measured.blocks})
    batch: list[WeightTable] = []
    room = _ENTRIES_AT_ONCE
    for table in tables:
        cells = max(summed, table.cells)
        at_once = max(_ENTRIES_AT_ONCE // cells, 1)
        for start in range(0, len(table.queries), at_once):
            rows = table.queries[start : start + at_once]
            if batch and room < len(rows) * cells:
                yield batch
                batch, room = [], _ENTRIES_AT_ONCE
            batch.append(replace(only(table, range(start, start + len(rows))), queries=rows))
            room -= len(rows) * cells
    if batch:
        yield batch


def _kind_of(parts: Sequence[WeightTable], mixing: IntegerMixing) -> Any:
    """Of what all of D·W - C·M is summed: integers of 64 bits where they suffice."""
    steps, reach = mixing.measured.steps_per_count, 0
    entry = max((block.largest for block in mixing.measured.blocks), default=1)
    for part in parts:
        largest = max(int(np.abs(part.weights).max(initial=0)), 1)
        for row in part.queries.tolist():
            above, below = _over_steps(mixing.divisors[row], steps)
            reach = max(reach, above * largest + below * entry * max(mixing.row_sums[row], 1))
    return np.int64 if reach < FITS else object


def _left(table: WeightTable, mixing: IntegerMixing, made: Mapping[tuple[int, ...], NDArray[Any]], kind: Any) -> Any:
    """(k, values of axis 1, …): what is left of D·W − C·M for these queries and values, times what makes D whole; of
    numbers of this kind."""
    measured = mixing.measured
    values, weights = dict[int, NDArray[np.int64]](), table.weights  # of each attribute a value of each kind
    for place, (axis, classes) in enumerate(zip(table.axes, table.classes, strict=True)):
        values[axis] = _kinds(classes, measured.codes.get(axis))[0]
        weights = weights.take(classes[values[axis]], axis=place + 1)
    of_noise = np.zeros((len(table.queries), *[1] * len(table.axes)), dtype=kind)
    for axes, part in made.items():
        if {*axes} <= {*table.axes}:
            for place, axis in enumerate(axes):
                part = part.take(measured.codes[axis][values[axis]], axis=place + 1)
            shape = [len(values[axis]) if axis in axes else 1 for axis in table.axes]
            of_noise = of_noise + part.reshape([len(part), *shape])
    steps = measured.steps_per_count
    divisors = [_over_steps(mixing.divisors[row], steps) for row in table.queries.tolist()]
    along = (-1, *[1] * len(table.axes))
    times = np.array([above for above, _ in divisors], dtype=kind).reshape(along)
    over = np.array([below for _, below in divisors], dtype=kind).reshape(along)
    return np.asarray(times * weights.astype(kind) - over * of_noise)


def _over_steps(divisor: Fraction, steps: int) -> tuple[int, int]:
    """Numerator and denominator of the quotient, which as a Fraction takes far longer."""
    common = math.gcd(divisor.numerator, steps)
    return divisor.numerator // common, divisor.denominator * (steps // common)


def _made(parts: Sequence[WeightTable], mixing: IntegerMixing, kind: Any) -> dict[tuple[int, ...], NDArray[Any]]:
    """C·M of these queries, per step, by the attributes of theirs that it depends on.

    Raises: CertificateRefused where it depends on another attribute.
    """
    told = {axis: np.arange(int(own.max()) + 1) for axis, own in mixing.measured.codes.items()}
    looked = {axis: np.concatenate([np.full(len(one.queries), axis in one.axes) for one in parts]) for axis in told}
    rows = np.concatenate([one.queries for one in parts])
    found: dict[tuple[int, ...], NDArray[Any]] = {}
    start = 0
    for block in mixing.measured.blocks:
        shares = mixing.numerators[rows, start : start + block.size].astype(kind, copy=False)
        start += block.size
        taking = np.flatnonzero(shares.any(axis=1))
        if not taking.size:
            continue
        alike = {axis: one.alike(len(told[axis])) for axis, one in zip(block.axes, block.sums, strict=True)}
        part = block.of_records(
            shares[taking], {axis: np.unique(own, return_index=True)[1] for axis, own in alike.items()}
        )
        which = sum((looked[axis][taking] * 2**bit for bit, axis in enumerate(block.axes)), np.zeros_like(taking))
        for pattern in np.unique(which).tolist():
            here = which == pattern
            own, kept = part[here], list[int]()
            for bit, axis in reversed([*enumerate(block.axes)]):
                first = own.take(0, axis=bit + 1)
                if pattern >> bit & 1:
                    kept.insert(0, axis)
                else:
                    _require_made_of_noisy(bool(np.all(own == np.expand_dims(first, bit + 1))))
                    own = first
            axes = tuple(sorted(kept))
            own = own.transpose([0, *(1 + kept.index(axis) for axis in axes)])
            for place, axis in enumerate(axes):
                own = own.take(alike[axis], axis=place + 1)
            found.setdefault(axes, np.zeros((len(rows), *own.shape[1:]), dtype=kind))[taking[here]] += own
    return found


_ENTRIES_PER_BLOCK = 4_000_000
_MARGINS = (1e-13, 1e-10, 1e-7)
"""By how much more than the load noise is enlarged, each tried when the one before was not enough."""
_MARGINS_OF_PAIRS = (1e-9, 1e-7, 1e-5)
"""Their error bounds are wider, most where some answers follow from others, and a pass over all takes longest."""
_NEAR = 1e-9
"""Relative: loads so near to 1 are told apart in exact numbers."""
_TOO_NARROW = "it is too narrow for some difference"
_ALL = slice(None)


def hiding(
    inner: NoiseLaw,
    image: NDArray[np.float64],
    changes: ListedChanges | PairedChanges,
    noisy: NDArray[np.bool_] | NDArray[np.int64] | slice = _ALL,
    first: ListedChanges | None = None,
) -> LinearImageNoise:
    """The noise f·image·V, V ~ ``inner``, with the smallest factor f that hides every difference, up to 1e-5.

    Args: ``image`` (m, n) of rank m; ``changes`` of K queries, differences below 2⁵³, of which the ``noisy`` (K,) are
    the coordinates; the others never change. ``first``: some of them, to begin with where all take long to look at.
    Guarantee: the law returned has ‖Δ_e‖ ≤ b_e for all e, established for the very numbers it holds.
    Raises: CertificateRefused when float64 cannot show it.
    """
    load = load_of_changes(LinearImageNoise(inner, image), first or changes, noisy)
    for margin in _MARGINS if isinstance(changes, ListedChanges) else _MARGINS_OF_PAIRS:
        if not 0 < load < math.inf:
            break
        image = image * (load * (1 + margin))
        law = LinearImageNoise(inner, image)
        load = load_of_changes(law, changes, noisy)
        if load <= 1:
            return law
    raise CertificateRefused("the shape of this noise is too badly scaled to prove that it hides every difference")


def load_of_changes(
    law: NoiseLaw, changes: ListedChanges | PairedChanges, noisy: NDArray[np.bool_] | NDArray[np.int64] | slice = _ALL
) -> float:
    """max_e ‖Δ_e‖/b_e over all differences, *rounded up*, as :func:`largest_load`."""
    if isinstance(changes, ListedChanges):
        return largest_load(law, np.ascontiguousarray(changes.differences[:, noisy]), changes.bounds)
    return _load_of_pairs(law, changes, noisy)


def _load_of_pairs(
    law: NoiseLaw, changes: PairedChanges, noisy: NDArray[np.bool_] | NDArray[np.int64] | slice
) -> float:
    """The law's map is taken of each kind of records, with a bound on the error, and subtracted for each pair.

    A subtraction is off by half a unit in the last place, which the factor makes up for; what the norm of the error of
    each of the two kinds can be is added to that of their difference.
    """
    gauge, values, errors = _turned(law, changes, noisy)
    # Whole numbers are subtracted exactly.
    rounding = ROUNDING if np.any(errors) else 0.0
    own = gauge(np.zeros_like(errors), errors) * (1 + rounding)
    largest, (_, first, second, _), start = 0.0, changes.kinds, 0
    for steps, bounds in changes.steps(values):
        here = slice(start, start := start + len(bounds))
        gauges = (gauge(steps, np.abs(steps) * rounding) + own[first[here]] + own[second[here]]) * (1 + rounding)
        largest = float(np.maximum(largest, _loads(gauges, bounds).max()))
    return largest


_Gauge: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def _turned(
    law: NoiseLaw, changes: PairedChanges, noisy: NDArray[np.bool_] | NDArray[np.int64] | slice
) -> tuple[_Gauge, NDArray[np.float64], NDArray[np.float64]]:
    """What a law's norm is taken of for each kind of records, a bound on its error, and the norm."""
    values = np.ascontiguousarray(changes.kinds.columns[:, noisy]).astype(np.float64)
    if isinstance(law, LinearImageNoise):
        return law.inner.loss_upper_bounds, *law.preimages(values)
    if isinstance(law, GaussianNoise):
        return lengths_rounded_up, *law.body.preimages(values)
    return law.loss_upper_bounds, values, np.zeros_like(values)


def heaviest_pairs(
    law: NoiseLaw, changes: PairedChanges, noisy: NDArray[np.bool_] | NDArray[np.int64] | slice, most: int
) -> ListedChanges:
    """Some pairs with the largest ‖Δ_e‖/b_e, as float64 sees them: what to begin with where all take long."""
    gauge, values, _ = _turned(law, changes, noisy)
    loads = np.concatenate([gauge(steps, np.zeros_like(steps)) / bounds for steps, bounds in changes.steps(values)])
    places = largest_first(loads, most)
    return ListedChanges(changes.rows(places), changes.bounds[places])


def largest_load(
    law: NoiseLaw, differences: NDArray[np.int64] | NDArray[np.float64], bounds: NDArray[np.float64]
) -> float:
    """max_e ‖Δ_e‖/b_e in the norm up to which ``law`` hides shifts, *rounded up*, as the law itself bounds it."""
    largest = 0.0
    for loads in _loads_in_blocks(law, differences, bounds):
        # What overflows is not a number, which this keeps and no comparison accepts.
        largest = float(np.maximum(largest, loads.max()))
    return largest


def _loads_in_blocks(
    law: NoiseLaw, differences: NDArray[np.int64] | NDArray[np.float64], bounds: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    rows = max(1, _ENTRIES_PER_BLOCK // differences.shape[1])
    for start in range(0, len(bounds), rows):
        here = differences[start : start + rows].astype(np.float64)
        yield _loads(law.loss_upper_bounds(here, np.zeros_like(here)), bounds[start : start + rows])


def _loads(gauges: NDArray[np.float64], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quotients, *rounded up*, and not above 1 where no gauge is above its bound."""
    loads = quotient_round_up(gauges, bounds)
    return np.where(gauges <= bounds, np.minimum(loads, 1.0), loads)


def require_hiding(mechanism: AdditiveMechanism) -> None:
    """The proof once more, of a finished mechanism wherever it came from: its noise hides every generating difference.

    For each of them some whole shift w of the noise's coordinates takes the answers as far as the difference does,
    exactly, and ‖w‖ ≤ b_e in the norm up to which the law hides shifts. Nothing that was known when the mechanism was
    made is used: only its numbers, and the sensitivity that metric and queries have.
    Raises: CertificateRefused.
    """
    sensitivity, law = mechanism.sensitivity, mechanism.law
    _require(sensitivity.whole, "only some of the differences were looked at")
    _require(law is None or _is_known(law), "nothing is proved here of such a law")
    if isinstance(mechanism.mixing, IntegerMixing):
        measured = mechanism.mixing.measured
        _require(MeasuredNumbers in type(measured).__mro__, "nothing is proved here of such numbers")
        _require(law is measured.law, "it is other noise than that of the numbers that answers are made of")
        same = measured.metric.metric is sensitivity.metric.metric
        same &= measured.metric.over_periods is sensitivity.metric.over_periods
        _require(same, "it was proved for another metric")
        require_measured(sensitivity, mechanism.mixing)
        return
    mixing, answers = mechanism.mixing, len(sensitivity.queries.names)
    if isinstance(mixing, DiagonalMixing):
        shape, exact = (*mixing.noisy.shape, mixing.coordinates.size), mixing.noisy.dtype == np.bool_
    else:
        shape, exact = mixing.shape, are_exact(mixing.ravel().tolist())
    _require(exact, "what answers take of it are whole numbers or Fractions")
    carried = 0 if law is None else law.dimension
    _require(shape == (answers, carried), "its coordinates are not those that the answers take")
    noisy = sensitivity.of_each_query > 0
    if law is None:
        _require(not np.any(noisy), "some answers need noise and get none")
    elif isinstance(mechanism.mixing, DiagonalMixing):
        _require(not np.any(noisy & ~mechanism.mixing.noisy), "some answers need noise and get none")
        if law.laplace_scales is not None:
            _require_wide_scales(sensitivity, mechanism.mixing, law.laplace_scales)
        elif np.any(noisy) and isinstance(sensitivity.changes, PairedChanges):
            load = load_of_changes(law, sensitivity.changes, mechanism.mixing.noisy)
            _require(load <= 1, _TOO_NARROW)
        elif np.any(noisy) and isinstance(law, TriangularNormals):
            from dxgeom.mechanisms.linear.lengths_in_boxes import load_in_boxes  # which few plans need

            _require(load_in_boxes(law, sensitivity, mechanism.mixing.noisy) <= 1, _TOO_NARROW)
        elif np.any(noisy):
            _require_long(law, sensitivity.differences[:, mechanism.mixing.noisy], sensitivity.bounds)
    elif np.any(noisy) and isinstance(sensitivity.changes, PairedChanges):
        carriers = _carriers(sensitivity.changes.joined, mechanism.mixing)
        _require(load_of_changes(law, sensitivity.changes, carriers) <= 1, _TOO_NARROW)
    elif np.any(noisy):
        carriers = _carriers(sensitivity.differences, mechanism.mixing)
        _require_long(law, sensitivity.differences[:, carriers], sensitivity.bounds)


def _require_wide_scales(sensitivity: Sensitivity, mixing: DiagonalMixing, scales: NDArray[np.float64]) -> None:
    """Σ_k |Δ_e,k|/c_k ≤ b_e. A rate is rounded once and a summand of a load K + 4 times, which the factor makes up for;
    where that does not tell, the differences in question are summed in rationals."""
    rates = np.zeros(len(mixing.noisy))
    rates[mixing.coordinates] = 1 / scales
    load = float(sensitivity.changes.largest_loads(rates, 1).loads.max(initial=0.0)) * (
        1 + (len(rates) + 8) * UNIT_ROUNDOFF
    )
    if not load <= 1:
        _require(load <= 1 + _NEAR and isinstance(sensitivity.changes, ListedChanges), _TOO_NARROW)
        differences = np.ascontiguousarray(sensitivity.differences[:, mixing.noisy])
        loads = (np.abs(differences) / scales).sum(axis=1) / sensitivity.bounds
        _require_exactly(CrossPolytope(scales), differences, sensitivity.bounds, loads > 1 - _NEAR)


def _require_long(law: NoiseLaw, shifts: NDArray[np.int64], bounds: NDArray[np.float64]) -> None:
    """‖w_e‖ ≤ b_e as the law bounds it; where that does not tell, as its body's exact gauge does."""
    shifts = np.ascontiguousarray(shifts)
    load = largest_load(law, shifts, bounds)
    if not load <= 1:
        _require(load <= 1 + _NEAR and law.body is not None, _TOO_NARROW)
        loads = np.concatenate([*_loads_in_blocks(law, shifts, bounds)])
        _require_exactly(law.known_body, shifts, bounds, ~(loads <= 1))


def _require_exactly(
    body: ConvexBody, shifts: NDArray[np.int64], bounds: NDArray[np.float64], open_still: NDArray[np.bool_]
) -> None:
    for place in np.flatnonzero(open_still).tolist():
        shift, bound = [fmpq(int(step)) for step in shifts[place]], rational(float(bounds[place]))
        _require(at_most_one(partial(_exact_load, body, shift, bound)) is True, _TOO_NARROW)


def _exact_load(body: ConvexBody, shift: Sequence[fmpq], bound: fmpq) -> ExactNumber:
    return body.exact_gauge(shift) / bound


def _carriers(rows: NDArray[np.int64], mixing: NDArray[Any]) -> NDArray[np.int64]:
    """(m,): the answers that carry a coordinate of the noise each; in all ``rows`` (E, K), differences or what these
    are sums of, the others follow from them as the mixing says, exactly."""
    own: dict[int, int] = {}
    for row, shares in enumerate(mixing.tolist()):
        taken = [place for place, share in enumerate(shares) if share]
        if len(taken) == 1 and shares[taken[0]] == 1:
            own.setdefault(taken[0], row)
    _require(len(own) == mixing.shape[1], "some coordinate of the noise belongs to no answer")
    carriers = np.array([own[place] for place in range(mixing.shape[1])], dtype=np.int64)
    most, taken = max(int(np.abs(rows).max(initial=0)), 1), mixing.tolist()
    common = [math.lcm(*(share.denominator for share in shares)) for shares in taken]
    parts = [
        [share.numerator * (over // share.denominator) if share else 0 for share in shares]
        for shares, over in zip(taken, common, strict=True)
    ]
    fits = np.array([max(over, sum(map(abs, own))) * most < 2**52 for own, over in zip(parts, common, strict=True)])
    # Whole numbers below 2⁵³, all sums on the way among them, are exact in float64, whose products are fast.
    _require_follow(rows, carriers, parts, common, np.flatnonzero(fits), np.float64)
    _require_follow(rows, carriers, parts, common, np.flatnonzero(~fits), object)
    return carriers


def _require_follow(
    rows: NDArray[np.int64],
    carriers: NDArray[np.int64],
    parts: Sequence[Sequence[int]],
    common: Sequence[int],
    answers: NDArray[np.int64],
    kind: Any,
) -> None:
    """Of these ``answers`` each times its divisor is its parts of what the carriers have, in numbers of this kind."""
    taken = np.array([parts[row] for row in answers.tolist()], dtype=kind).reshape(len(answers), len(carriers)).T
    times = np.array([common[row] for row in answers.tolist()], dtype=kind)
    at_once = max(1, _ENTRIES_AT_ONCE // max(rows.shape[1], 1))
    for start in range(0, len(rows) if len(answers) else 0, at_once):
        here = rows[start : start + at_once].astype(kind)
        follows = bool(np.all(here[:, carriers] @ taken == here[:, answers] * times))
        _require(follows, "an answer does not change as its noise says that it follows from others")


def _is_known(law: NoiseLaw) -> bool:
    """Whether the law, and all that it is made of, are of the very kinds that are listed."""
    held = (part for one in vars(law).values() for part in (one if isinstance(one, tuple) else (one,)))
    parts = {part for part in held if isinstance(part, NoiseLaw)}
    return type(law) in k_norm.LAWS and all(map(_is_known, parts))


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise CertificateRefused(f"the noise does not hide what the metric protects: {what}")
