"""The largest metric below a matrix of claimed distances: its shortest-path closure."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotAMetric
from dxgeom.metrics.checking.matrix_check import Progress, matrix_of, require_progress
from dxgeom.metrics.checking.min_plus import ROWS, through_one_record

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
        entries[:] = [[_exact(entry, factor) for entry in row] for row in closed.tolist()]
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
    return float(entry) if raw.dtype.kind == "f" else _exact(float(entry), factor)


def _exact(entry: float, factor: Fraction) -> Distance:
    return entry if np.isinf(entry) else Fraction(entry) * factor
