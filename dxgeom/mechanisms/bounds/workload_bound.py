"""What no noise for a list of queries errs less than in all, for queries and records of any number.

For weights p of pairs e of records, Σ p ≤ 1, every covariance Σ that hides each v_e at distance d_e has
tr Σ ≥ (tr A^{1/2})², A = Σ p_e·v_e·v_eᵀ/d_e². The weights are products over attributes, so A is one, entry by entry.
Answers are turned until A falls apart in blocks; weights are sought in few random directions; the trace is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.bounds.factored_weights import WeightBlock, blocks_of, factored
from dxgeom.mechanisms.bounds.pair_kinds import PairKind, pair_kinds
from dxgeom.mechanisms.bounds.root_trace import MatrixBall, products_off_by, root_trace_below
from dxgeom.mechanisms.bounds.weighed_pairs import PairWeights, WeighedBlock, even_weights, raised
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.work import require_affordable
from dxgeom.universe.weight_tables import WeightTables

Floats = NDArray[np.float64]
_PROOF: Final = 2.0
"""Multiplications, over the cube of a block's size, for its proof, eigenvectors among them: those in products of
matrices run four times as fast as others, and count a quarter;"""
_LOOK: Final = 1.5
"""and for a look at all directions for better weights;"""
_TOGETHER: Final = 0.25
"""So much counts a multiplication in a product of matrices that makes another matrix of that size."""
_TURNING: Final = 0.75
"""and over its square and so many directions."""
_STAGES: Final = ((8, 6), (2, 2), (1, 3))
"""first in one of so many directions, up to so many times."""
_IN_ANY_CASE: Final = 1e8
"""Multiplications that matrices may take whatever is allowed: a moment's."""
_FEWEST: Final = 64
MOST_ANSWERS: Final = 6_000
"""More have no bound by all pairs of them."""
_DOWNWARD: Final = 1 - 2.0**-40


@final
@dataclass(frozen=True, eq=False)
class WeighedWorkload:
    """A workload's blocks, and kinds of pairs, to be weighed. ``sizes``: how many classes each attribute has."""

    blocks: Sequence[WeightBlock]
    kinds: Sequence[PairKind]
    sizes: tuple[int, ...]

    @property
    def work(self) -> float:
        """Multiplications that the matrices, and the proof in all directions, take."""
        return self.least_work + _PROOF * self._cubes

    @property
    def least_work(self) -> float:
        """Multiplications that the matrices take, without which there is no bound."""
        return sum(_cost_of_matrix(one, self.kinds) for one in self.blocks)

    @property
    def _answers(self) -> int:
        return sum(len(one.roots) for one in self.blocks)

    @property
    def _cubes(self) -> float:
        return sum(float(len(one.roots)) ** 3 for one in self.blocks)

    def bound(self, work: float) -> float:
        """The bound for normal noise at the best weights that are found with so much work; *rounded down*.

        Raises: TooLarge where the matrices alone take more, and more than a moment.
        """
        self.require_affordable(work)
        weights, left = even_weights(self.kinds, self.sizes), work - self.work
        generator = np.random.default_rng(0)
        for part, times in _STAGES:
            directions = [_drawn(len(one.roots), part, generator) for one in self.blocks]
            each = zip(self.blocks, directions, strict=True)
            look = sum(_cost_of_worth(one, self.kinds) + _cost_of_look(len(one.roots), own) for one, own in each)
            for _ in range(times):
                if left > look:
                    weights, left = raised(self.blocks, self.kinds, weights, directions), left - look
        return self.at(weights, work - self.least_work)

    def require_affordable(self, work: float) -> None:
        """Raises: TooLarge where there is no bound for so much work."""
        what = f"a bound on {self._answers:,} answers by weights of pairs of records"
        require_affordable(what, self.least_work, max(work, _IN_ANY_CASE))

    def at(self, weights: PairWeights, work: float = np.inf) -> float:
        """The bound at these weights; where the proof would take more ``work`` than that, in fewer directions."""
        total = 0.0
        for block in self.blocks:
            ball = WeighedBlock(block, self.kinds, weights).ball
            share = work * float(len(block.roots)) ** 3 / self._cubes
            total += block.times * root_trace_below(_fewer(ball, share))
        return total * total * _DOWNWARD**2


def weighed_workload(metric: Metric, tables: WeightTables, roots: Floats) -> WeighedWorkload | None:
    """None where no pair of records is at a finite distance that is known here. Raises: TooLarge."""
    if tables.count > MOST_ANSWERS:
        raise TooLarge(f"a bound by all pairs of answers is for at most {MOST_ANSWERS:,} of them")
    weights = factored(tables, roots)
    kinds = pair_kinds(metric, tables.shape, weights.axes, weights.classes)
    if not kinds:
        return None
    fixed = frozenset(one.moved for one in kinds if one.listed and one.moved is not None)
    return WeighedWorkload(blocks_of(weights, fixed), kinds, tuple(one.shape[1] for one in weights.factors))


def _drawn(size: int, part: int, generator: np.random.Generator) -> Floats | None:
    """Orthonormal directions at random, one of so many; None for all."""
    few = max(_FEWEST, size // part)
    if few >= size:
        return None
    return np.asarray(np.linalg.qr(generator.standard_normal((size, few)))[0])


def _cost_of_matrix(block: WeightBlock, kinds: Sequence[PairKind]) -> float:
    """Of a block's matrix: products over the classes of each attribute and over listed changes; and entry by entry over
    the attributes, once for each kind of pairs."""
    places, classes, listed = _sizes(block, kinds)
    return float(len(block.roots)) ** 2 * (_TOGETHER * (classes + listed) + len(kinds) * (places + 1))


def _cost_of_worth(block: WeightBlock, kinds: Sequence[PairKind]) -> float:
    """Of the matrix, and of what each weight is worth: for each kind and attribute the product of all others, and what
    that is along the classes."""
    places, classes, listed = _sizes(block, kinds)
    entries = float(len(block.roots)) ** 2
    alone = len(kinds) * (places + 1) * (places + 1) + _TOGETHER * (len(kinds) * classes + (places + 2) * listed)
    return _cost_of_matrix(block, kinds) + entries * alone


def _sizes(block: WeightBlock, kinds: Sequence[PairKind]) -> tuple[int, int, int]:
    """How many attributes a block has factors of, the classes of all, and listed changes."""
    told = [one.shape[1] for one in block.factors if one is not None]
    return len(told), sum(told), sum(len(one.first) for one in kinds)


def _cost_of_look(size: int, directions: Floats | None) -> float:
    few = size if directions is None else directions.shape[1]
    return _TURNING * size * size * few + _LOOK * float(few) ** 3


def _fewer(ball: MatrixBall, work: float) -> MatrixBall:
    """QᵀAQ/‖QᵀQ‖ in so few directions Q that its proof takes no more work; its root has no larger a trace."""
    size = len(ball.middle)
    few = size
    while few > 1 and _PROOF * float(few) ** 3 + size * size * few > work and _PROOF * float(size) ** 3 > work:
        few = few * 7 // 8
    if few == size:
        return ball
    start = ball.middle @ np.random.default_rng(1).standard_normal((size, few))
    turned = np.linalg.qr(start)[0]
    square = turned.T @ turned - np.eye(few)
    longest = 1 + 2.0**-30
    norm = 1 + float(np.sqrt(np.sum(square * square))) * longest + 2 * few * products_off_by(size)
    if not norm < 2:
        return MatrixBall(np.zeros((1, 1)), 0.0)
    middle = turned.T @ (ball.middle @ turned)
    size_of = float(np.sqrt(np.sum(ball.middle**2))) * longest
    radius = (ball.radius + 3 * products_off_by(size) * few * size_of) * norm * longest
    return MatrixBall((middle + middle.T) / 2 / norm, radius / norm + 2.0**-50 * float(np.sum(np.abs(middle))))
