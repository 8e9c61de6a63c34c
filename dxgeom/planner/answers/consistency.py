"""Answers that agree with each other and with what is known, made from released ones: it costs no privacy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.displayed import Displayed
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.numeric.arrays import distinct_rows
from dxgeom.planner.amounts import Amount
from dxgeom.planner.answers.consistent_errors import ConsistentErrors, errors_of_consistent
from dxgeom.planner.answers.exact_projection import (
    NoSuchPointError,
    independent_equations,
    left_dependencies,
    nearest_point,
)
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.universe.decimals import NotANumber, exact

_EXACT: Final = 1e9
"""Products of exact rationals, of which a second makes some 30 million: what takes more is refused before anything is
spent."""
_WEIGHT_BITS = 10


@final
@dataclass(frozen=True, eq=False, repr=False)
class ConsistentAnswers(Displayed):
    """Answers made from a release without reading data again.

    ``exact_values``: rationals. ``variances``: those that the answers were weighed by, the released ones rounded to ten
    bits; 0 for an answer that was exact and stayed. ``done``: what was changed, in plain sentences. ``errors``: what is
    known of how far they are from the truth.

    The error bars of the release are about the released answers; these may lie outside them.
    """

    released: LinearAnswers = field(repr=False)
    plan_fingerprint: str = field(repr=False)
    exact_values: tuple[Fraction, ...] = field(repr=False)
    variances: tuple[Fraction, ...] = field(repr=False)
    done: tuple[str, ...]
    errors: ConsistentErrors

    @property
    def names(self) -> tuple[str, ...]:
        """The queries' names."""
        return self.released.names

    @property
    def values(self) -> NDArray[np.float64]:
        """(K,): the answers as float64."""
        return np.array([float(value) for value in self.exact_values])

    def as_dict(self) -> dict[str, Any]:
        """The answers ready for JSON."""
        return {
            "answers": [
                {"name": name, "value": float(value), "exact": str(value), "released": str(released)}
                for name, value, released in zip(self.names, self.exact_values, self.released.exact_values, strict=True)
            ],
            "done": list(self.done),
            "errors": self.errors.as_dict(),
            "plan_fingerprint": self.plan_fingerprint,
        }

    def to_json(self) -> str:
        """The answers as JSON text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)


def consistent_answers(
    released: LinearAnswers,
    plan_fingerprint: str,
    *,
    nonnegative: bool,
    integers: bool,
    totals: Mapping[str, Amount],
) -> ConsistentAnswers:
    """See :meth:`Release.consistent`."""
    require(nonnegative, bool, "nonnegative", "say True or False")
    require(integers, bool, "integers", "say True or False")
    require(totals, Mapping, "totals", 'give known answers by their names, such as {"everybody": 1000}')
    mechanism = released.mechanism
    # What holds for the answers asked for need not hold for those of changed queries.
    lattice = mechanism.sensitivity.queries if mechanism.change is None else mechanism.change.unchanged
    require_few(len(released.names))
    variances = tuple(_ten_bits(float(v)) for v in mechanism.variances(released.spent))
    equations = _implied(lattice.numerators, lattice.steps, released.records)
    known = [_known(released.names, name, value) for name, value in totals.items()]
    bounded = {k for k, row in enumerate(lattice.numerators) if nonnegative and row.min() >= 0}
    problem = _Problem(released.exact_values, variances, (*equations, *known), frozenset(bounded))
    try:
        nearest = problem.nearest({})
        whole = _with_integer_weights(lattice.numerators, lattice.steps) if integers else []
        rounded = _rounded(problem, nearest, whole)
    except NoSuchPointError as error:
        raise UnsupportedCombination(
            "no answers satisfy all of this at once: correct the totals, or ask for less than integers"
        ) from error
    only_equations = None if bounded or integers else [row for row, _ in problem.equations]
    moves = [after - before for after, before in zip(rounded, nearest, strict=True)]
    errors = errors_of_consistent(mechanism, released.spent, variances, only_equations, moves)
    hidden = tuple(name for name in totals if variances[released.names.index(name)] > 0)
    done = (*_sentences(released, rounded, len(equations), tuple(totals), whole), *_given_away(hidden))
    return ConsistentAnswers(released, plan_fingerprint, tuple(rounded), variances, (*done, errors.in_words), errors)


def require_few(answers: int) -> None:
    """Raises: TooLarge when so many answers are not made consistent."""
    work = float(answers) ** 3
    if work > _EXACT:
        raise TooLarge(
            f"to make {answers:,} answers consistent takes about {work:.2g} exact products, and at most {_EXACT:.2g} "
            "are made: release fewer at once"
        )


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


def _known(names: tuple[str, ...], name: str, value: Amount) -> tuple[list[Fraction], Fraction]:
    if name not in names:
        raise UnsupportedCombination(f"no answer is called '{name}'; the release has {', '.join(names[:8])}")
    try:
        number = value if isinstance(value, Fraction) else exact(str(value).strip())
    except NotANumber as error:
        raise UnsupportedCombination(f"a known total is a number, found {value!r} for '{name}'") from error
    return [Fraction(int(other == name)) for other in names], number


def _with_integer_weights(numerators: NDArray[np.int64], steps: tuple[Fraction, ...]) -> list[int]:
    return [k for k, step in enumerate(steps) if not np.any(numerators[k] * step.numerator % step.denominator)]


def _ten_bits(variance: float) -> Fraction:
    mantissa, exponent = math.frexp(variance)
    return Fraction(round(mantissa * 2**_WEIGHT_BITS)) * Fraction(2) ** (exponent - _WEIGHT_BITS)


def _sentences(
    released: LinearAnswers, values: list[Fraction], implied: int, totals: tuple[str, ...], whole: list[int]
) -> tuple[str, ...]:
    before = released.exact_values
    lifted = [released.names[k] for k, value in enumerate(before) if value < 0 <= values[k]]
    furthest = max(range(len(values)), key=lambda k: abs(values[k] - before[k]))
    said = ["no data was read and no budget spent: all of this follows from the released answers"]
    if implied:
        said.append(f"{implied} equations hold exactly that the queries imply, such as parts and their sums")
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


def _given_away(totals: Sequence[str]) -> tuple[str, ...]:
    """What the promise no longer says where totals are public that it hides: answers without noise hide nothing."""
    if not totals:
        return ()
    return (
        f"whoever knows {_listed(totals)} exactly can rule out every table with other totals: the policy's promise is "
        "about what releases tell, and does not hold between two records whose exchange would change a public total",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
