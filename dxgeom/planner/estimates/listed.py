"""Estimates of answers to a list of queries: exact in rationals for some hundreds, in float64 beyond."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.lattice import LatticeQueries
from dxgeom.numeric.arrays import Columns, distinct_rows
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.planner.answers.tables import called_by, unknown_name
from dxgeom.planner.estimates.estimate import (
    NOTHING_READ,
    Estimate,
    EstimateWish,
    given_away,
    known_number,
    require_no_model,
    require_no_records,
)
from dxgeom.planner.estimates.exact_projection import (
    NoSuchPointError,
    independent_equations,
    left_dependencies,
    nearest_in_floats,
    nearest_point,
)
from dxgeom.planner.public_numbers import follow_from_known

if TYPE_CHECKING:
    from dxgeom.universe.labels import PolicyLabels

_EXACT: Final = 3e7
"""Products of exact rationals, of which a second makes some 30 million. What takes more is estimated in float64;"""
_EXACT_INTEGERS: Final = 1e9
"""and integers, which are found in rationals only, are refused where they take more than this."""
_WEIGHT_BITS = 10


@final
@dataclass(frozen=True, eq=False)
class ListedErrors:
    """How far answers that agree are from the truth, in ‖e‖² = Σ e_k²/v_k over the answers with noise, v_k the
    variances that they were weighed by.

    ``released``: the root of E‖e‖²/K of the released answers, at its worst over all data. Theirs is not larger, since
    the truth satisfies what they were made to satisfy and projection on a convex set only shortens the way to its
    points.
    ``moved``: how much further, at most, rounding to integers took these. ``rmse`` (K,): each answer's own root mean
    squared error, at its worst, where only equations were asked for; None where signs or integers make it depend on the
    truth. Rounding of values comes on top, see the release; totals are taken to be true. ``by_loss``: v_k is one over
    what the plan's loss counts the squared error of the answer.
    Guarantee: up to the rounding of float64.
    """

    released: float
    moved: float
    rmse: NDArray[np.float64] | None = field(repr=False)
    by_loss: bool = False

    @property
    def at_most(self) -> float:
        """A bound for the root of ‖e‖²/K of these answers, in root mean square."""
        return self.released + self.moved

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        each = "" if self.rmse is None else "; each answer's own root mean squared error is exact, up to float64"
        further = f", {self.moved:.3g} of it because integers may be further off" if self.moved else ""
        measured = "weighed as in the plan's loss" if self.by_loss else "standard deviations of the released answers"
        return (
            f"together they are at most {self.at_most:.3g} {measured} off, in root "
            f"mean square{further}; the released ones are {self.released:.3g}{each}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The errors ready for JSON."""
        rmse = None if self.rmse is None else self.rmse.tolist()
        return {"released": self.released, "moved": self.moved, "at_most": self.at_most, "rmse": rmse}


@final
@dataclass(frozen=True, eq=False, repr=False)
class ListedEstimate(Estimate):
    """Estimates of answers to a list of queries.

    ``exact_values``: rationals. ``variances``: one over what their squared changes were weighed by, rounded to ten
    bits: those of the released answers, or for the plan's loss one over what it counts them; 0 for an answer that was
    exact and stayed. ``ends``: what the true answers cannot lie outside of. ``errors``: what is known of how far the
    estimates are from the truth.
    """

    released: LinearAnswers = field(repr=False)
    plan_fingerprint: str = field(repr=False)
    exact_values: tuple[Fraction, ...] = field(repr=False)
    variances: tuple[Fraction, ...] = field(repr=False)
    done: tuple[str, ...]
    errors: ListedErrors
    ends: NDArray[np.float64] = field(repr=False)

    @property
    def by_name(self) -> Mapping[str, float]:
        return dict(zip(self.released.names, self.values.tolist(), strict=True))

    @property
    def values(self) -> NDArray[np.float64]:
        """(K,): the answers as float64."""
        return np.array([float(value) for value in self.exact_values])

    def pairs(self, labels: PolicyLabels | None = None) -> list[tuple[str, float, float]]:
        about = zip(self.names, self.released.all_origins, strict=False)
        called = [called_by(labels, name, origin) for name, origin in about]
        return list(zip(called, self.released.values.tolist(), self.values.tolist(), strict=True))

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K, 2): the bars of the release less what cannot be: each true answer lies between these with probability *at
        least* ``level``, as it does between the released ones."""
        bars = self.released.intervals(level, joint=joint)
        return np.clip(bars, self.ends[:, :1], self.ends[:, 1:])

    def outside(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.bool_]:
        """(K,): whether the estimate lies outside the released bar."""
        bars = self.released.intervals(level, joint=joint)
        return np.asarray((self.values < bars[:, 0]) | (self.values > bars[:, 1]))

    def squared_errors(self, exact: Any) -> NDArray[np.float64]:
        both = np.column_stack([self.released.values, self.values])
        return np.asarray(np.square(both - exact.values[:, None]))

    def as_dict(self) -> dict[str, Any]:
        return {
            "answers": [
                {"name": name, "value": float(value), "exact": str(value), "released": str(released)}
                for name, value, released in zip(self.names, self.exact_values, self.released.exact_values, strict=True)
            ],
            "done": list(self.done),
            "errors": self.errors.as_dict(),
            "plan_fingerprint": self.plan_fingerprint,
        }

    def document(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        found, outside = self.as_dict(), self.outside(level, joint=joint).tolist()
        bars = self.intervals(level, joint=joint)
        for one, ends, out in zip(found["answers"], bars, outside, strict=True):
            one["interval"] = [float(end) if np.isfinite(end) else None for end in ends]
            one["outside_released_interval"] = out
        return {**found, "level": float(level)}

    def batches(
        self, level: float = 0.95, *, joint: bool = False, labels: PolicyLabels | None = None
    ) -> Iterator[Columns]:
        (found,) = self.released.batches(level, joint=joint, labels=labels)
        low, high = self.intervals(level, joint=joint).T.tolist()
        # Ratios come below the answers.
        below = [None] * (len(found["name"]) - len(low))
        said = {"estimate": self.values.tolist(), "estimate_low": low, "estimate_high": high}
        yield {**found, **{title: [*cells, *below] for title, cells in said.items()}}


def estimate_of_list(released: LinearAnswers, plan_fingerprint: str, wish: EstimateWish) -> ListedEstimate:
    """See :meth:`Release.estimate` and :meth:`Release.consistent`."""
    mechanism, names = released.mechanism, released.names
    # What holds for the answers asked for need not hold for those of changed queries.
    lattice = _asked(released) if mechanism.change is None else mechanism.change.unchanged
    require_few(len(names), wish)
    variances = tuple(_ten_bits(float(v)) for v in _weighed_by(released, wish))
    known = {_place(names, name): known_number(name, value) for name, value in wish.totals.items()}
    low, high = lattice.tables.extremes
    bounded = {k for k, least in enumerate(low.tolist()) if wish.nonnegative and least >= 0}
    if float(len(names)) ** 3 > _EXACT and not wish.integers:
        found = nearest_in_floats(lattice, released.records, released.values, variances, known, bounded)
        estimated, implied, whole = [Fraction(value) for value in found.values.tolist()], found.equations, list[int]()
        moves, only_equations, further = [Fraction(0)] * len(names), None, found.in_words
    else:
        equations = _implied(lattice.numerators, lattice.steps, released.records)
        totals = [([Fraction(int(k == place)) for k in range(len(names))], side) for place, side in known.items()]
        problem = _Problem(released.exact_values, variances, (*equations, *totals), frozenset(bounded))
        try:
            nearest = problem.nearest({})
            whole = _with_integer_weights(lattice.numerators, lattice.steps) if wish.integers else []
            estimated = _rounded(problem, nearest, whole)
        except NoSuchPointError as error:
            raise UnsupportedCombination(
                "no answers satisfy all of this at once: correct the totals"
                f"{' or the public numbers of the policy' if _is_public(released) else ''}, or ask for less than "
                "integers"
            ) from error
        only_equations = None if bounded or wish.integers else [row for row, _ in problem.equations]
        moves = [after - before for after, before in zip(estimated, nearest, strict=True)]
        implied, further = len(equations), ()
    errors = _errors(mechanism, released.spent, variances, only_equations, moves, by_loss=wish.by_loss)
    hidden = tuple(name for name in wish.totals if variances[names.index(name)] > 0)
    done = (*_sentences(released, estimated, implied, tuple(wish.totals), whole, rounded=bool(further)), *further)
    done = (*done, *([given_away(_listed(hidden), listed=_known(released, hidden))] if hidden else []), errors.in_words)
    ends = _ends(released, lattice, low, high)
    return ListedEstimate(released, plan_fingerprint, tuple(estimated), variances, done, errors, ends)


def _known(released: LinearAnswers, names: Sequence[str]) -> bool:
    """Whether the policy lists counts as public from which all these follow."""
    places = [released.names.index(name) for name in names]
    return follow_from_known(released.mechanism.metric, released.queries.only(places))


def _is_public(released: LinearAnswers) -> bool:
    return released.mechanism.sensitivity.queries.public is not None


def _asked(released: LinearAnswers) -> LatticeQueries:
    """What was asked, where answers are not the same less public numbers."""
    lattice, queries = released.mechanism.sensitivity.queries, released.queries
    if lattice.public is None:
        return lattice
    return LatticeQueries(queries.names, queries.tables, queries.units, lattice.weight_errors, queries.records)


def require_few(answers: int, wish: EstimateWish) -> None:
    """Raises: TooLarge when so many answers are not made integers; UnsupportedCombination for those of records."""
    require_no_records(wish)
    require_no_model(wish)
    work = float(answers) ** 3
    if wish.integers and work > _EXACT_INTEGERS:
        raise TooLarge(
            f"to make {answers:,} answers integers that agree takes about {work:.2g} exact products, and at most "
            f"{_EXACT_INTEGERS:.2g} are made: leave integers out, or ask for whole tables"
        )


def _weighed_by(released: LinearAnswers, wish: EstimateWish) -> NDArray[np.float64]:
    """(K,): the variances, or one over what the plan's loss counts squared errors; 0 where there is no noise."""
    variances = released.mechanism.variances(released.spent)
    if not wish.by_loss:
        return variances
    counted = np.ones(len(variances)) if released.loss_factors is None else released.loss_factors
    return np.where(variances > 0, 1 / counted, 0.0)


def _ends(
    released: LinearAnswers, lattice: LatticeQueries, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(K, 2): what the answers about raw records lie between, from weights and the public number of records."""
    steps, number = lattice.float_steps, released.records
    least, most = low * steps, high * steps
    if number is None:
        ends = np.column_stack([np.where(least < 0, -np.inf, 0.0), np.where(most > 0, np.inf, 0.0)])
    else:
        off = np.array([float(one) for one in lattice.weight_errors])
        ends = np.column_stack([(least - off) * number, (most + off) * number])
    # Values may stand for many numbers; 1e-9 is float64's.
    room = released.bars.rounding + 1e-9 * np.abs(np.where(np.isfinite(ends), ends, 0.0)).max(axis=1)
    return np.asarray(ends + np.column_stack([-room, room]))


@final
@dataclass(frozen=True)
class _Problem:
    """``equations``: pairs of a row (K,) and its right side; ``bounded``: answers that are not negative."""

    point: tuple[Fraction, ...]
    variances: tuple[Fraction, ...]
    equations: tuple[tuple[list[Fraction], Fraction], ...]
    bounded: frozenset[int]

    def nearest(self, settled: Mapping[int, Fraction]) -> list[Fraction]:
        """The nearest answers, where some are settled; answers without noise stay as they are.

        Raises: NoSuchPointError.
        """
        values = list(self.point)
        for k, value in settled.items():
            values[k] = value
        free = [k for k in range(len(values)) if self.variances[k] > 0 and k not in settled]
        rows, right = [], []
        for row, side in self.equations:
            rows.append([row[k] for k in free])
            right.append(side - sum((row[k] * values[k] for k in set(range(len(row))) - set(free)), Fraction(0)))
        found = nearest_point(
            [values[k] for k in free],
            [self.variances[k] for k in free],
            independent_equations(rows, right, len(free)),
            [place for place, k in enumerate(free) if k in self.bounded],
        )
        for k, value in zip(free, found, strict=True):
            values[k] = value
        return values


def _rounded(problem: _Problem, values: list[Fraction], whole: list[int]) -> list[Fraction]:
    """Integers for the answers in ``whole``: one after another is settled, and the others are sought again.

    An answer that no equation mentions goes to the nearest integer. Of the others, each goes to the nearer of the two
    integers around it that leaves a solution; for tables of counts and their sums one always does.
    Raises: NoSuchPointError.
    """
    mentioned = {k for row, _ in problem.equations for k, entry in enumerate(row) if entry != 0}
    settled = {k: Fraction(math.floor(values[k] + Fraction(1, 2))) for k in whole if k not in mentioned}
    values = [settled.get(k, value) for k, value in enumerate(values)]
    while True:
        settled |= {k: values[k] for k in whole if values[k].denominator == 1}
        open_answers = [k for k in whole if k not in settled]
        if not open_answers:
            return values
        values = _settling(problem, settled, open_answers[0], values[open_answers[0]])


def _settling(problem: _Problem, settled: dict[int, Fraction], answer: int, value: Fraction) -> list[Fraction]:
    below = Fraction(math.floor(value))
    nearer = sorted((below, below + 1), key=lambda integer: abs(integer - value))
    try:
        return problem.nearest({**settled, answer: nearer[0]})
    except NoSuchPointError:
        return problem.nearest({**settled, answer: nearer[1]})


def _implied(
    numerators: NDArray[np.int64], steps: tuple[Fraction, ...], records: int | None
) -> tuple[tuple[list[Fraction], Fraction], ...]:
    """Every linear equation that the answers satisfy whatever the records are, given their number where it is public;
    *exact*."""
    columns, _ = distinct_rows(numerators.T)
    # Where the number is private there is an absent record of weight 0, so no combination is the same for all.
    ones = np.ones((1, len(columns)), dtype=np.int64)
    return tuple(
        ([share / step for share, step in zip(shares, steps, strict=True)], Fraction(-rest * (records or 0)))
        for *shares, rest in left_dependencies(np.vstack([columns.T, ones]))
        if any(shares) and (records is not None or rest == 0)
    )


def _place(names: tuple[str, ...], name: str) -> int:
    if name not in names:
        raise unknown_name("answer", name, names)
    return names.index(name)


def _with_integer_weights(numerators: NDArray[np.int64], steps: tuple[Fraction, ...]) -> list[int]:
    return [k for k, step in enumerate(steps) if not np.any(numerators[k] * step.numerator % step.denominator)]


def _ten_bits(variance: float) -> Fraction:
    mantissa, exponent = math.frexp(variance)
    return Fraction(round(mantissa * 2**_WEIGHT_BITS)) * Fraction(2) ** (exponent - _WEIGHT_BITS)


def _sentences(
    released: LinearAnswers,
    values: list[Fraction],
    implied: int,
    totals: tuple[str, ...],
    whole: list[int],
    *,
    rounded: bool,
) -> tuple[str, ...]:
    before = released.exact_values
    lifted = [released.names[k] for k, value in enumerate(before) if value < 0 <= values[k]]
    furthest = max(range(len(values)), key=lambda k: abs(values[k] - before[k]))
    said = [NOTHING_READ]
    if implied:
        hold = "were sought" if rounded else "hold exactly"
        said.append(f"{implied} equations {hold} that the queries imply, such as parts and their sums")
    if totals:
        said.append(f"set to what is known: {_listed(totals)}")
    if lifted:
        said.append(f"{len(lifted)} answers were negative and are not any more: {_listed(lifted)}")
    if whole:
        said.append(f"{len(whole)} answers are integers, settled one after another")
    if values[furthest] != before[furthest]:
        said.append(
            f"the largest change is {float(abs(values[furthest] - before[furthest])):.3g}, of "
            f"'{released.names[furthest]}', whose root mean squared error was {released.rmse[furthest]:.3g}"
        )
    return tuple(said)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _errors(
    mechanism: AdditiveMechanism,
    spent: Fraction,
    variances: Sequence[Fraction],
    equations: Sequence[Sequence[Fraction]] | None,
    moves: Sequence[Fraction],
    *,
    by_loss: bool,
) -> ListedErrors:
    """The errors after projection in Σ e²/``variances``.

    Args: ``equations`` (r, K): all that was asked for, None where signs or integers were, too. ``moves`` (K,): what
    rounding to integers changed.
    """
    weights = np.array([float(variance) for variance in variances])
    noisy = weights > 0
    if not np.any(noisy):
        return ListedErrors(0.0, 0.0, None if equations is None else np.zeros(len(weights)), by_loss)
    released = math.sqrt(float(np.mean(mechanism.variances(spent)[noisy] / weights[noisy])))
    off = np.array([float(move) for move in moves])[noisy]
    moved = math.sqrt(float(np.mean(off**2 / weights[noisy])))
    each = None if equations is None else _each(mechanism, spent, weights, equations)
    return ListedErrors(released, moved, each, by_loss)


def _each(
    mechanism: AdditiveMechanism,
    spent: Fraction,
    weights: NDArray[np.float64],
    equations: Sequence[Sequence[Fraction]],
) -> NDArray[np.float64]:
    """(K,): diag(P·Σ·Pᵀ) with P the projection on the equations; a bias is at most |P|·β after it."""
    mixing = mechanism.float_mixing
    spread = np.diag(mechanism.rounding_variances)
    if mechanism.law is not None:
        spread = spread + mixing @ mechanism.law.second_moment @ mixing.T / float(spent) ** 2
    noisy = np.sqrt(weights)
    onto = np.eye(len(weights))
    if equations:
        rows = np.array([[float(entry) for entry in row] for row in equations]) * noisy
        onto = onto - noisy[:, None] * (np.linalg.pinv(rows, rcond=1e-12) @ rows) / np.where(noisy > 0, noisy, 1.0)
    bias = np.abs(onto) @ mechanism.biases
    return np.asarray(np.sqrt(np.maximum(np.einsum("kj,jl,kl->k", onto, spread, onto, optimize=True), 0.0) + bias**2))
