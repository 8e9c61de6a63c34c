"""Quartiles of 100,001 rows at one ε: by lengths under ordinary privacy and under a line, beside OpenDP's quantile.

OpenDP answers for a replaced record too: two changes in its symmetric distance, the number of rows known. It is asked
for each quartile with a third of ε, and for the median alone with all of it. Its score counts rows below and above a
candidate and leaves ties out, which costs it up to a value even at ε = 1. It is compared when it can be imported.
Run: .venv-peers/bin/python benchmarks/quantiles.py
Errors are root mean squares of answer − true quantile, in the attribute's own unit, over draws and levels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.quantiles.choice import quantile_choice, quantile_mechanism
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.verification import VerifiedMetric, verify
from dxgeom.numeric.randomness import SystemRandomness

ROWS = 100_001
"""Not a multiple of 4: which row is a quartile is then the same by every convention."""
VALUES = 1_001
APART = 50
"""Under the line, values that many apart are told apart as any two are under ordinary privacy."""
LEVELS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
DRAWS = 300
EPSILONS = (Fraction(1, 100), Fraction(1, 10), Fraction(1))

Draw = Callable[[], tuple[int, ...]]


def verified(metric: DiscreteMetric | LineMetric) -> VerifiedMetric:
    return verify(metric, title="benchmark", fingerprint="benchmark", budget=Fraction(1))


def rows(shape: str) -> NDArray[np.int64]:
    """Incomes with a long tail; ages between 0 and 1,000 steps; and half of all at either end."""
    generator = np.random.default_rng(5)
    if shape == "long tail":
        drawn = 150 * np.exp(0.7 * generator.standard_normal(ROWS))
    elif shape == "bell":
        drawn = 500 + 120 * generator.standard_normal(ROWS)
    else:
        drawn = np.where(generator.random(ROWS) < 0.5, 100, 900) + 30 * generator.standard_normal(ROWS)
    return np.clip(drawn, 0, VALUES - 1).astype(np.int64)


def ours(metric: VerifiedMetric, table: NDArray[np.int64], levels: tuple[Fraction, ...]) -> Draw:
    mechanism = quantile_mechanism(metric, range(VALUES), list(levels))
    counts, source = np.bincount(table, minlength=VALUES).astype(np.int64), SystemRandomness()
    return lambda: mechanism.draw(counts, Fraction(1), source).places


def opendp(table: NDArray[np.int64], levels: tuple[Fraction, ...], epsilon: Fraction) -> Draw | None:
    """OpenDP's quantiles one after the other with equal shares, None where it cannot be imported."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int), size=len(table)), dp.symmetric_distance()
    candidates, data = list(range(VALUES)), table.tolist()
    made = []
    for level in levels:

        def with_scale(scale: float, level: Fraction = level) -> object:
            measure = dp.max_divergence()
            return dp.m.make_private_quantile(*space, measure, candidates=candidates, alpha=float(level), scale=scale)

        share = float(epsilon / len(levels))
        scale = dp.binary_search_param(with_scale, d_in=2, d_out=share)
        made.append(with_scale(scale))
    return lambda: tuple(int(one(data)) for one in made)


def error(draw: Draw, truth: NDArray[np.int64], draws: int) -> tuple[float, float]:
    """The root mean squared error, and seconds for an answer."""
    started = time.perf_counter()
    drawn = np.array([draw() for _ in range(draws)])
    return float(np.sqrt(((drawn - truth) ** 2).mean())), (time.perf_counter() - started) / draws


def compare(shape: str, levels: tuple[Fraction, ...], epsilon: Fraction) -> None:
    """One line of the table."""
    table = rows(shape)
    ranks = [max(1, -(-level.numerator * ROWS // level.denominator)) for level in levels]
    truth = np.sort(table)[np.array(ranks) - 1]
    alike = verified(DiscreteMetric(VALUES, epsilon))
    line = verified(LineMetric(tuple(map(Fraction, range(VALUES))), epsilon / APART))
    found = [error(ours(metric, table, levels), truth, DRAWS) for metric in (alike, line)]
    theirs = opendp(table, levels, epsilon)
    # Each of their answers reads all rows again.
    found += [error(theirs, truth, DRAWS // 2)] if theirs is not None else []
    noise = quantile_choice(line, range(VALUES), list(levels), records=ROWS).candidates[1].expected_error
    cells = " ".join(f"{size:>9.3f} {1e3 * seconds:>7.2f}" for size, seconds in found)
    print(f"{shape:<10} {len(levels):>3} {float(epsilon):>5g} {cells}   {noise:>8.1f}")


def main() -> None:
    """One line per table, levels and ε."""
    print(f"{ROWS:,} rows, {VALUES:,} values; error and milliseconds; a line under which {APART} values apart cost ε")
    print(
        f"{'rows':<10} {'lev':>3} {'ε':>5} {'ordinary':>9} {'ms':>7} {'line':>9} {'ms':>7} {'OpenDP':>9} {'ms':>7}"
        f" {'noise':>10}"
    )
    for shape in ("bell", "long tail", "two hills"):
        for levels in (LEVELS[1:2], LEVELS):
            for epsilon in EPSILONS:
                compare(shape, levels, epsilon)


if __name__ == "__main__":
    main()
