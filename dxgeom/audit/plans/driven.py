"""The release's own step from counts and noise to answers, driven: that it shows no more than both together.

Of counts x and noise z a release may show what it likes of M·x + z, M the numbers that are said to have the noise, and
of how many records each component has, which no change at a finite distance moves; where a record may be absent, of
M·x + z alone. So answers must be the same when records change within their components and the noise makes up for it.
What is shown is a sum of products, so random numbers that nobody knew before tell, but for a chance of p/2⁶¹ for p
attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.audit.plans.claimed_blocks import NoisyBlock
from dxgeom.audit.plans.counted_blocks import added_up
from dxgeom.audit.plans.random_records import BITS, RandomChange, whole_numbers
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.counts_with_noise import CountsWithNoise

_DIGIT: Final = 12
"""Numbers of any size are driven digit by digit, of so many bits, which is exact: each step is a sum of multiples."""
_WIDE: Final = 20
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
    """That linear answers show of such a change of records (N,) what is ``measured`` (m,) of it, with noise.

    Raises: CertificateRefused.
    """

    def shown(parts: Numbers) -> Numbers:
        counts, noise = parts
        return [np.array(mechanism.answered(counts, [noise.tolist()])[0], dtype=object)]

    _require_nothing_else(shown, [records, -measured])


def require_tables(mechanism: CountsWithNoise, noisy: Mapping[int, NoisyBlock], change: RandomChange) -> None:
    """The same of whole tables of counts. Raises: CertificateRefused."""
    cells = _cells(mechanism, change)

    def shown(parts: Numbers) -> Numbers:
        noise = dict(zip(noisy, parts[len(cells) :], strict=True))
        return mechanism.answered(DrivenTables(tuple(parts[: len(cells)])), noise).numerators

    _require_nothing_else(shown, [*cells, *(-one.block.numbers(change) for one in noisy.values())])


def require_boxes(mechanism: BoxMechanism, noisy: Mapping[int, NoisyBlock], change: RandomChange) -> None:
    """The same of counts in boxes: what is measured are the numbers that are said to be; whatever else is done sees no
    more of the data than these with noise. Raises: CertificateRefused.
    """
    cells = _cells(mechanism, change)
    for number in range(len(mechanism.question.blocks)):
        if number in noisy or not mechanism.question.protected[number]:

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
    for asked in mechanism.queries.asked:
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
