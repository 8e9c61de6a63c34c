"""Ways to answer whole tables, tried out on made-up records: what each would err, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism
from dxgeom.mechanisms.synthetic.adaptive import AdaptiveMechanism, adaptive_tables
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.answers.in_parts import MarginalAnswers
from dxgeom.planner.estimates.estimate import EstimateName, as_wish
from dxgeom.planner.estimates.tables import estimate_of_tables
from dxgeom.wording.numbers import brief, counted

WAYS: Final = ("released", "consistent", "one model", "following the data")
MOST_CELLS: Final = 1_000_000
MOST_DRAWS: Final = 100
_CLASSES: Final = 4
Sizes: TypeAlias = Sequence[int]
Shape: TypeAlias = Callable[[Sizes, np.random.Generator], NDArray[np.float64]]


def _skewed(sizes: Sizes, random: np.random.Generator) -> NDArray[np.float64]:
    """Attributes that tell nothing of each other; the k-th value of each is 1/k as frequent as the first."""
    joint = np.ones(())
    for size in sizes:
        joint = joint[..., None] * random.permutation(1 / np.arange(1.0, size + 1))
    return joint


def _chain(sizes: Sizes, random: np.random.Generator) -> NDArray[np.float64]:
    """Each attribute follows from the one before, and chance."""
    joint = 1 / np.arange(1.0, sizes[0] + 1)
    for before, size in pairwise(sizes):
        joint = joint[..., None] * random.dirichlet(np.full(size, 0.5), before)
    return joint


def _classes(sizes: Sizes, random: np.random.Generator) -> NDArray[np.float64]:
    """A few kinds of records, in each of which attributes tell nothing of each other."""
    joint = np.zeros(tuple(sizes))
    for weight in random.dirichlet(np.ones(_CLASSES)):
        own = np.full((), weight)
        for size in sizes:
            own = own[..., None] * random.dirichlet(np.full(size, 0.5))
        joint += own
    return joint


def _unstructured(sizes: Sizes, random: np.random.Generator) -> NDArray[np.float64]:
    """Any record as frequent as chance has it, whatever records near it are."""
    return random.standard_gamma(0.1, tuple(sizes)) + 1e-300


SHAPES: Final[Mapping[str, Shape]] = MappingProxyType(
    {"skewed": _skewed, "chain": _chain, "hidden classes": _classes, "unstructured": _unstructured}
)


class _Counted(NamedTuple):
    """Exact counts of made-up records."""

    cells: tuple[NDArray[np.int64], ...]
    total: int


@final
@dataclass(frozen=True, eq=False)
class TriedOnShapes:
    """What four ways to answer some tables err on made-up records.

    ``errors`` (shapes, ways): the mean over tables of Σ|cell − truth| over the number of records, the mean of
    ``draws``; NaN where tables of this policy cannot follow the data. Ways are :data:`WAYS`; a fifth of the budget of
    the last is kept for bars, as usual. Guarantee: none. It is about these shapes, and other data may be unlike them
    all.
    """

    errors: NDArray[np.float64] = field(repr=False)
    records: int
    spend: Fraction
    draws: int

    @property
    def least(self) -> str:
        """The way with the smallest error on the median shape."""
        return WAYS[int(np.nanargmin(np.median(self.errors, axis=0)))]

    @property
    def lines(self) -> tuple[str, ...]:
        """The same for readers: a line for each shape."""
        drawn = f"made-up tables of {counted(self.records, 'record')}, {counted(self.draws, 'draw')} of each; errors"
        rows = [
            f"{shape}: "
            + ", ".join(f"{way} {brief(error)}" for way, error in zip(WAYS, own, strict=True) if not math.isnan(error))
            for shape, own in zip(SHAPES, self.errors.tolist(), strict=True)
        ]
        last = f"on the median shape '{self.least}' errs least; other data may be unlike all of these"
        return (f"{drawn} over the records, in the mean table:", *rows, last)

    def as_dict(self) -> dict[str, Any]:
        """The errors ready for JSON."""
        each = {
            shape: {way: None if math.isnan(error) else error for way, error in zip(WAYS, own, strict=True)}
            for shape, own in zip(SHAPES, self.errors.tolist(), strict=True)
        }
        said = {"records": self.records, "spend": str(self.spend), "draws": self.draws}
        return {**said, "errors": each, "least": self.least}


def tried_on_shapes(mechanism: TableMechanism, spend: Fraction, records: int | None, draws: int) -> TriedOnShapes:
    """See :meth:`dxgeom.planner.estimates.worth.EstimateWorth.tried_on_shapes`."""
    require(draws, WHOLE, "draws", "say how many draws are tried out on each shape, such as 3")
    if not 1 <= draws <= MOST_DRAWS:
        raise WrongArgument(f"'draws' are from 1 to {MOST_DRAWS} of each shape; found {draws}")
    if not records:
        raise UnsupportedCombination(
            "ways are tried out on as many made-up records as there are: say their public number, records=…"
        )
    if mechanism.public:
        raise UnsupportedCombination(
            "made-up records have other counts than the policy's public numbers, of which these tables are made: "
            "plan.simulate_estimate takes a table that has them"
        )
    sizes = mechanism.queries.sizes
    if math.prod(sizes) > MOST_CELLS:
        raise TooLarge(
            f"made-up records of {math.prod(sizes):,} possible ones are too many to be tried out, at most "
            f"{MOST_CELLS:,} are: try tables of fewer attributes"
        )
    follower = _follower(mechanism)
    found = np.zeros((draws, len(SHAPES), len(WAYS)))
    for draw in range(draws):
        random = np.random.default_rng([int(mechanism.fingerprint[:12], 16), draw])
        for place, shape in enumerate(SHAPES.values()):
            made = shape(sizes, random)
            counts = random.multinomial(records, (made / made.sum()).ravel()).reshape(sizes)
            found[draw, place] = _errors(
                mechanism, follower, counts, spend, InsecureSeededRandomness(draw * len(SHAPES) + place)
            )
    return TriedOnShapes(found.mean(axis=0), records, spend, draws)


def _follower(mechanism: TableMechanism) -> AdaptiveMechanism | None:
    """The same tables, following the data; None where this policy has none."""
    try:
        return adaptive_tables(mechanism.metric, mechanism.queries)
    except (UnsupportedCombination, TooLarge):
        return None


def _errors(
    mechanism: TableMechanism,
    follower: AdaptiveMechanism | None,
    counts: NDArray[np.int64],
    spend: Fraction,
    randomness: InsecureSeededRandomness,
) -> list[float]:
    """Of each way."""
    queries, total = mechanism.queries, int(counts.sum())
    every = range(counts.ndim)
    truth = tuple(counts.sum(axis=tuple(a for a in every if a not in own)).ravel() for own in queries.attribute_sets)
    data = _Counted(truth, total)
    released = MarginalAnswers(mechanism, queries, mechanism.drawn(data, spend, randomness), spend, total)
    names: tuple[EstimateName, ...] = ("auto", "model")
    ways = [
        [released.table(name) for name in queries.names],
        *(estimate_of_tables(released, mechanism.fingerprint, as_wish(one)).tables for one in names),
    ]
    if follower is not None:
        ways.append(follower.drawn(data, spend, randomness).tables)
    errors = [
        float(np.mean([np.abs(np.ravel(one) - true).sum() / total for one, true in zip(tables, truth, strict=True)]))
        for tables in ways
    ]
    return errors if follower is not None else [*errors, math.nan]
