"""Metrics given by their matrices: the check of one, the largest metric below one, and the metric that it is.

The check asks for a zero diagonal, symmetry, no negative or undefined entries, and the triangle inequality; the
largest metric below claimed distances is their shortest-path closure.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require, require_exact, require_function
from dxgeom.errors import NotAMetric
from dxgeom.metrics.detours import ROWS, half_precision_of, through_one_record, worst_detour
from dxgeom.metrics.metric import Metric, MetricCertificate, PairBlock, pairs_at_a_finite_distance
from dxgeom.universe.columns import plain

ROUNDING_OF_INPUT = 2.0**-48
"""A float64 distance matrix computed elsewhere is trusted to this relative accuracy, no further."""
EXACT_BELOW = 2.0**52
TRIANGLE = "no detour is shorter"

Progress = Callable[[int, int], None]


def certify_matrix(
    matrix: NDArray[np.float64],
    factor: Fraction = Fraction(1),
    progress: Progress | None = None,
    first: bool = False,
) -> MetricCertificate:
    """Check every axiom of a pseudometric with values in [0, ∞] on ``factor`` times a square float64 matrix.

    Guarantee: matrices of integers below 2⁵² are decided *exactly*. Otherwise each detour is one float64 addition, so
    an excess up to 2⁻⁴⁸ of the entry is reported as "within rounding" and anything beyond is refused.
    Either way a mechanism honours every entry as it stands, because every finite pair is a generating pair.
    Args: ``first`` stops at the first rows that show a violation; ``progress`` is told the rows done and the rows.
    Raises: NotAMetric with the worst witness i, k, j (of the rows looked at) and every broken axiom's count.
    """
    _check_entries(matrix, factor)
    size = len(matrix)
    whole = np.array_equal(matrix, np.floor(matrix))
    integral = whole and bool(np.max(matrix, initial=0.0, where=np.isfinite(matrix)) < EXACT_BELOW)
    tolerance = 0.0 if integral else ROUNDING_OF_INPUT
    enough = tolerance if first else np.inf
    excess, witness, count, rows = _worst_triangle(matrix, progress, enough)
    if witness is not None and (integral or excess > ROUNDING_OF_INPUT):
        missed = excess * float(matrix[witness[0], witness[2]] * factor)
        message = _describe(matrix, factor, witness, count, rows)
        raise NotAMetric(message, witness, missed, ((TRIANGLE, count),))
    reason = "every triple compared" + (", in exact integers" if integral else ", in float64")
    triples = size * (size - 1) * (size - 2) // 2
    pairs = size * (size - 1) // 2
    if witness is not None:
        return MetricCertificate("matrix", size, reason, pairs, triples, "within rounding", excess, tolerance)
    return MetricCertificate("matrix", size, reason, pairs, triples, tolerance=tolerance)


def matrix_of(distances: ArrayLike | Any) -> tuple[NDArray[np.float64], Fraction]:
    """A claimed distance matrix as float64 and the factor that was taken out of it.

    Exact rationals (Fraction or int entries) are scaled to integers, so that the check decides them exactly;
    the float matrix times the factor is the input.
    Raises: NotAMetric when it is not a square matrix of numbers.
    """
    try:
        raw = np.asarray(distances)
    except ValueError as error:
        raise NotAMetric("a distance matrix is square, found rows of different lengths", ()) from error
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1] or raw.shape[0] == 0:
        raise NotAMetric(f"a distance matrix is square and not empty, found shape {raw.shape}", ())
    if raw.dtype == object:
        return _scaled_to_integers(raw)
    if raw.dtype.kind not in "iufb":
        raise NotAMetric(
            f"a distance matrix holds numbers, found {raw.dtype}: convert it, such as by matrix.astype(float)", ()
        )
    if raw.dtype.kind in "iu" and raw.size and (raw.max() >= EXACT_BELOW or raw.min() <= -EXACT_BELOW):
        raise NotAMetric("integer distances must stay below 2**52 to be decided exactly", ())
    # Zero has one sign, so that equal matrices have equal fingerprints.
    return np.array(raw, dtype=np.float64) + 0.0, Fraction(1)


def require_of_a_check(title: object, budget: object, progress: object, first: object) -> None:
    """Raises: WrongArgument unless this is what a checker may be told besides the distances."""
    require(title, str, "title", "give the name that a ledger is to know the metric by")
    require_exact(budget, "budget")
    require_progress(progress)
    require(first, bool, "first", "say True or False")


def require_progress(progress: object) -> None:
    """Raises: WrongArgument for what cannot be told how far a check is."""
    if progress is not None:
        require_function(progress, "progress", "pass one of two numbers, what is done and of how much")


def fingerprint_of(matrix: NDArray[np.float64], factor: Fraction) -> str:
    """SHA-256 of the matrix and its factor."""
    digest = hashlib.sha256(f"matrix {matrix.shape} {factor} ".encode())
    digest.update(np.ascontiguousarray(matrix, dtype="<f8").tobytes())
    return digest.hexdigest()


def _describe(
    matrix: NDArray[np.float64], factor: Fraction, witness: tuple[int, int, int], count: int, rows: int
) -> str:
    i, k, j = witness
    pairs = rows * (rows - 1) // 2
    stopped = "" if rows == len(matrix) else f" among the first {rows:,} records, and no more were looked at"
    return (
        f"the triangle inequality fails for {count:,} of {pairs:,} pairs{stopped}; worst: "
        f"d({i}, {j}) = {_shown(matrix[i, j], factor)} > d({i}, {k}) + d({k}, {j}) = "
        f"{_shown(matrix[i, k], factor)} + {_shown(matrix[k, j], factor)}; "
        "lower the entry, or take the shortest-path closure"
    )


def _shown(entry: np.float64, factor: Fraction) -> str:
    """An entry in the numbers that were given."""
    return f"{entry:.17g}" if factor == 1 or not np.isfinite(entry) else plain(Fraction(float(entry)) * factor)


def _scaled_to_integers(raw: NDArray[Any]) -> tuple[NDArray[np.float64], Fraction]:
    whole, factor = over_common_denominator([_exact(entry) for entry in raw.ravel()])
    return whole.reshape(raw.shape), factor


def over_common_denominator(rationals: Sequence[Fraction | None]) -> tuple[NDArray[np.float64], Fraction]:
    """Whole numbers and the factor that makes them the rationals; None is ∞.

    Raises: NotAMetric for whole numbers beyond 2⁵².
    """
    common = math.lcm(*(rational.denominator for rational in rationals if rational is not None))
    whole = [math.inf if rational is None else int(rational * common) for rational in rationals]
    if any(abs(number) >= EXACT_BELOW for number in whole if number != math.inf):
        raise NotAMetric("over their common denominator these rationals need integers beyond 2**52; round them", ())
    return np.array(whole, dtype=np.float64), Fraction(1, common)


def _exact(entry: Any) -> Fraction | None:
    """The entry as an exact rational, None for infinity."""
    try:
        return None if entry == np.inf else Fraction(entry)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotAMetric(f"a distance is a number or infinity, found {entry!r}", ()) from error


def _check_entries(matrix: NDArray[np.float64], factor: Fraction) -> None:
    undefined = np.isnan(matrix)
    rules = (
        (undefined, "no distance is NaN"),
        (matrix < 0, "no distance is negative"),
        (np.diag((np.diag(matrix) != 0) & ~np.diag(undefined)), "the distance of a record from itself is 0"),
        ((matrix != matrix.T) & ~undefined & ~undefined.T, "distances are symmetric"),
    )

    def found(place: int) -> tuple[str, tuple[int, int]]:
        i, j = divmod(place, len(matrix))
        there, back = _shown(matrix[i, j], factor), _shown(matrix[j, i], factor)
        return f"d({i}, {j}) = {there} and d({j}, {i}) = {back}", (i, j)

    refuse_broken(rules, "entries", found)


def refuse_broken(
    rules: Iterable[tuple[NDArray[np.bool_], str]], what: str, found: Callable[[int], tuple[str, tuple[int, int]]]
) -> None:
    """Refuse the first rule that is broken anywhere, and name the others.

    Args: where each rule is broken; ``found`` tells what is at the first such place, and between which records.
    Raises: NotAMetric with the count of each broken rule.
    """
    broken = [(rule, int(np.count_nonzero(where)), int(np.argmax(where))) for where, rule in rules if where.any()]
    if not broken:
        return
    (rule, count, place), *others = broken
    words, pair = found(place)
    more = "".join(f"; also broken: {other}, by {number:,} {what}" for other, number, _ in others)
    counts = tuple((said, number) for said, number, _ in broken)
    raise NotAMetric(f"{rule}, found {words} ({count:,} such {what}){more}", pair, broken=counts)


def _worst_triangle(
    matrix: NDArray[np.float64], progress: Progress | None, enough: float
) -> tuple[float, tuple[int, int, int] | None, int, int]:
    """The largest relative excess, its witness, the pairs that fail, and the rows looked at until one was enough."""
    size = len(matrix)
    worst, witness, count = 0.0, None, 0
    coarse = half_precision_of(matrix, ROWS)
    for start in range(0, size, ROWS):
        stop = min(start + ROWS, size)
        excess, here, more = worst_detour(matrix, start, stop, coarse)
        count += more
        if here is not None and (witness is None or excess > worst):
            worst, witness = excess, here
        if progress is not None:
            progress(stop, size)
        if worst > enough:
            return worst, witness, count, stop
    return worst, witness, count, size


Distance: TypeAlias = Fraction | float


@final
@dataclass(frozen=True, eq=False)
class Repair:
    """A matrix closed to a metric, and what that lowered.

    ``entries``: (N, N), int64 or Fraction where the input was exact, else float64. ``fell``: how many entries are
    smaller than before; ``where``: the one that fell most, from ``before`` to ``after``, None when nothing fell.
    ``rounds``: how often detours were looked for until none was shorter.
    """

    entries: NDArray[Any] = field(repr=False)
    fell: int
    where: tuple[int, int] | None
    before: Distance
    after: Distance
    rounds: int


def repair_metric(matrix: ArrayLike, *, progress: Progress | None = None) -> Repair:
    """The largest pseudometric that is nowhere above the matrix.

    Definition: the shortest-path closure of min(d, dᵀ) with a zero diagonal.
    Guarantee: *exact* for integers and rationals (below 2⁵² over their common denominator). For float64, every entry
    is at most the input's and is the length of a path, each addition rounded to nearest; no detour over one record is
    shorter in float64, so :func:`dxgeom.verify_metric` says of it that it holds.
    Args: ``progress`` is called with the rows done and the rows of one round.
    Raises: NotAMetric when no metric lies below: an entry is negative or NaN, or this is no square matrix.
    """
    require_progress(progress)
    stated, factor = matrix_of(matrix)
    raw = np.asarray(matrix)
    _require_bounds(stated)
    closed = np.minimum(stated, stated.T)
    np.fill_diagonal(closed, 0.0)
    rounds, changed = 0, True
    while changed:
        shorter = _squared(closed, progress)
        changed = not np.array_equal(shorter, closed)
        closed, rounds = shorter, rounds + 1
    return _report(raw, stated, closed, factor, rounds)


def _require_bounds(stated: NDArray[np.float64]) -> None:
    for broken, rule in ((np.isnan(stated), "no distance is NaN"), (stated < 0, "no distance is negative")):
        if np.any(broken):
            i, j = divmod(int(np.argmax(broken)), len(stated))
            count = int(np.count_nonzero(broken))
            raise NotAMetric(
                f"{rule}, found one at ({i}, {j}) ({count:,} such entries): no metric lies below this matrix; "
                "correct these entries first",
                (i, j),
                broken=((rule, count),),
            )


def _squared(matrix: NDArray[np.float64], progress: Progress | None) -> NDArray[np.float64]:
    """Paths of twice as many steps."""
    size = len(matrix)
    shorter = np.empty_like(matrix)
    for start in range(0, size, ROWS):
        stop = min(start + ROWS, size)
        rows = through_one_record(matrix, start, stop)
        shorter[start:stop, :start] = rows[:, :start]
        shorter[:start, start:stop] = rows[:, :start].T
        corner = rows[:, start:]
        # i + k + j and j + k + i add the same two numbers, so the corner is symmetric.
        shorter[start:stop, start:stop] = corner
        if progress is not None:
            progress(stop, size)
    return shorter


def _report(
    raw: NDArray[Any], stated: NDArray[np.float64], closed: NDArray[np.float64], factor: Fraction, rounds: int
) -> Repair:
    fell, most = largest_fall(stated, closed)
    i, j = divmod(most, len(closed))
    entries: NDArray[Any] = closed
    if raw.dtype == object:
        entries = np.empty(closed.shape, dtype=object)
        entries[:] = [[_unscaled(entry, factor) for entry in row] for row in closed.tolist()]
    elif raw.dtype.kind in "iu":
        entries = closed.astype(np.int64)
    before, after = _given(stated[i, j], factor, raw), _given(closed[i, j], factor, raw)
    return Repair(entries, fell, (i, j) if fell else None, before, after, rounds)


def largest_fall(stated: NDArray[np.float64], closed: NDArray[np.float64]) -> tuple[int, int]:
    """How many entries became smaller, and the place of the one that did most."""
    fell = closed < stated
    falls = np.zeros_like(closed)
    falls[fell] = stated[fell] - closed[fell]
    return int(np.count_nonzero(fell)), int(np.argmax(falls))


def _given(entry: float, factor: Fraction, raw: NDArray[Any]) -> Distance:
    return float(entry) if raw.dtype.kind == "f" else _unscaled(float(entry), factor)


def _unscaled(entry: float, factor: Fraction) -> Distance:
    return entry if np.isinf(entry) else Fraction(entry) * factor


@final
@dataclass(frozen=True, eq=False)
class DenseMetric(Metric):
    """d(i, j) = matrix[i, j]; shape (N, N), float64, already rounded down. Every finite pair is a generating pair."""

    matrix: NDArray[np.float64] = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.matrix)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(self.matrix[np.asarray(i), np.asarray(j)])

    def generating_pairs(self) -> Iterator[PairBlock]:
        return pairs_at_a_finite_distance(self)

    def certificate(self) -> MetricCertificate:
        return certify_matrix(self.matrix)
