"""Normal noise with jumps: odds along every shift are bounded, shown by densities that the proof does not know."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from scipy.optimize import linprog
from scipy.special import log_ndtr

from dxgeom.errors import CertificateRefused, NotANormBall
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import LARGEST_REACH, LEAST_REACH, GaussianWithJumps, drawn_jumps, float_rates, rates_of_reaches
from dxgeom.numeric.randomness import InsecureSeededRandomness, SystemRandomness

STEPS = np.array([[30, 0], [0, 20], [30, -20], [10, 10]])
DISTANCES = np.array([1.0, 1.0, 1.25, 0.875])


def law_of(widths=(90.0, 60.0), steps=STEPS, distances=DISTANCES):
    return GaussianWithJumps.around(
        GaussianNoise(Ellipsoid(np.diag(widths))), JumpShifts.listed(steps, np.asarray(distances, dtype=float))
    )


def test_rates_are_those_of_the_formula_and_never_below_it():
    reaches = np.arange(LEAST_REACH, LARGEST_REACH + 1)
    rates = rates_of_reaches()[reaches].astype(float) * 2.0**-64
    stated = float_rates(reaches / 16)
    assert np.all(rates >= stated * (1 - 1e-12))
    assert np.all(rates <= stated * (1 + 1e-12) + 2.0**-63)


@pytest.mark.parametrize("reach", [2.0, 2.5, 4.0, 8.0, 15.0, 40.0, 64.0])
@pytest.mark.parametrize("wider", [1.0, 1.0001, 1.1, 1.5, 2.0, 5.0, 40.0])
def test_one_jump_carries_where_the_normal_density_falls_too_steeply(reach, wider):
    """φ(t)(t/σ² − 1) ≤ R·(h + h′)(t), h the law of a normal number with one jump, in its closed form by the error
    function: e^(σ²/2 + x)·Φ(−(x + σ²)/σ) for each half of the jumps, x = t ∓ s²."""
    variance = reach * wider
    spread = np.sqrt(variance)
    beyond = variance * (1 + np.geomspace(1e-6, 60, 4000))
    falling = -(beyond**2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance) + np.log(beyond / variance - 1)
    rising = np.logaddexp(
        *(variance / 2 + x + log_ndtr(-(x + variance) / spread) - np.log(2) for x in (beyond - reach, beyond + reach))
    )
    rate = rates_of_reaches()[int(reach * 16)] * 2.0**-64
    assert np.all(falling <= np.log(rate) + rising + 1e-9)


def density(law, cells, width):
    """The density on a grid (cells, cells), from the characteristic function: nothing of the proof is in it."""
    turns = 2 * np.pi * np.fft.fftfreq(cells, width)
    first, second = np.meshgrid(turns, turns, indexing="ij")
    moment = law.gaussian.second_moment
    normal = np.exp(-(moment[0, 0] * first**2 + 2 * moment[0, 1] * first * second + moment[1, 1] * second**2) / 2)
    jumping = np.zeros_like(normal)
    for point, reach in zip(law.shifts.points(slice(None)), law.reaches / 16, strict=True):
        along = first * point[0] + second * point[1]
        jumping += rates_of_reaches()[int(reach * 16)] * 2.0**-64 * np.cos(reach * along) / (1 + along**2)
    return np.fft.fftshift(np.fft.ifft2(normal * (1 - law.rate) / (1 - jumping)).real) / width**2


@pytest.mark.parametrize("seed", range(4))
def test_odds_are_bounded_along_every_shift_on_a_grid(seed):
    """By the characteristic function on a grid, for random shifts, with many jumps and with normal parts far wider
    than some shift needs; where the density is above 1e-9 of its largest value, which float64 still tells."""
    generator = np.random.default_rng(seed)
    steps = np.unique(generator.integers(-8, 9, (6, 2)) * 3, axis=0)
    steps = steps[np.any(steps != 0, axis=1)]
    distances = generator.integers(4, 9, len(steps)) / 4
    wide = float(np.linalg.norm(steps / distances[:, None], axis=1).max())
    law = law_of((wide * 2.0, wide * generator.uniform(2.0, 4)), steps, distances)
    assert law.rate > 1e-3
    found = density(law, 1024, 3.0)
    clear = found > found.max() * 1e-9
    worst = -np.inf
    for step, distance in zip(steps // 3, distances, strict=True):
        for sign in (1, -1):
            moved = np.roll(found, sign * step, axis=(0, 1))
            both = clear & (moved > found.max() * 1e-9)
            worst = max(worst, float(np.abs(np.log(moved[both] / found[both])).max() / distance))
    assert 0.5 < worst <= 1 + 1e-6


def test_without_jumps_the_same_grid_sees_odds_that_are_not_bounded():
    places = (np.arange(1024) - 512) * 5.0
    without = np.exp(-np.add.outer((places / 90) ** 2, (places / 60) ** 2) / 2)
    moved = np.roll(without, (6, 0), axis=(0, 1))
    clear = (without > without.max() * 1e-9) & (moved > without.max() * 1e-9)
    assert np.abs(np.log(moved[clear] / without[clear])).max() > 1.5


def test_reaches_are_the_largest_that_can_be_proved():
    law = law_of()
    loads = np.einsum(
        "ek,kl,el->e",
        law.shifts.points(slice(None)),
        np.linalg.inv(law.gaussian.second_moment),
        law.shifts.points(slice(None)),
    )
    assert np.all(law.reaches / 16 <= 1 / loads)
    assert np.all((law.reaches + 1) / 16 > 1 / loads * (1 - 1e-9))


@pytest.mark.parametrize("place", range(4))
def test_a_reach_that_the_normal_part_does_not_have_is_refused(place):
    law = law_of()
    reaches = law.reaches + (np.arange(4) == place)
    with pytest.raises(CertificateRefused, match="too narrow"):
        GaussianWithJumps(law.gaussian, law.shifts, reaches)


def test_less_reach_than_there_is_is_allowed_and_jumps_more_often():
    law = law_of()
    other = GaussianWithJumps(law.gaussian, law.shifts, law.reaches - 8)
    assert other.rate > law.rate
    assert other.digest != law.digest


def test_a_normal_part_that_is_too_narrow_is_refused():
    with pytest.raises(CertificateRefused, match="along some shift"):
        law_of((40.0, 30.0))


def test_jumps_without_end_are_refused():
    turned = np.arange(40) * np.pi / 40
    steps = np.round(1000 * np.stack([np.cos(turned), np.sin(turned)], axis=1)).astype(int)
    with pytest.raises(CertificateRefused, match="without end"):
        law_of((1600.0, 1600.0), steps, np.ones(40))


@pytest.mark.parametrize(
    "changed",
    [
        {"reaches": np.array([31, 40, 40, 40])},
        {"reaches": np.array([1025, 40, 40, 40])},
        {"reaches": np.array([40, 40, 40])},
        {"reaches": np.array([40.0, 40, 40, 40])},
        {"shifts": JumpShifts.listed(np.array([[1, 2, 3]] * 4), np.ones(4))},
    ],
)
def test_numbers_of_no_such_law_are_refused(changed):
    law = law_of()
    parts = {"gaussian": law.gaussian, "shifts": law.shifts, "reaches": law.reaches} | changed
    with pytest.raises(NotANormBall):
        GaussianWithJumps(**parts)


@pytest.mark.parametrize(
    "changed",
    [
        {"distances": np.array([1.0, 1.0, 0.0, 1.0])},
        {"distances": np.array([1.0, 1.0, np.inf, 1.0])},
        {"distances": np.array([1.0, 1.0])},
        {"first": np.array([0, 1, 2, 5])},
        {"first": np.array([0, 1, 2, -1])},
        {"columns": np.array([[2**53, 0], [0, 20], [30, -20], [10, 10], [0, 0]])},
        {"columns": np.zeros((5, 2))},
    ],
)
def test_lists_of_no_shifts_are_refused(changed):
    shifts = law_of().shifts
    parts = {name: getattr(shifts, name) for name in ("columns", "first", "second", "distances")} | changed
    with pytest.raises(NotANormBall):
        JumpShifts(**parts)


def test_float64_is_never_further_off_than_it_says():
    law = law_of((70.0, 50.0))
    draws = law.ideal(3000, SystemRandomness())
    rows = np.flatnonzero(draws.legible)
    assert len(rows) > 2900
    with ctx.workprec(200):
        for row in rows[:1000].tolist():
            exact = draws.evaluation(row)([one.ball() for one in draws.uniforms(row)])
            for value, error, ball in zip(draws.values[row], draws.errors[row], exact, strict=True):
                assert abs(ball - arb(float(value))) < arb(float(error))


def test_jumps_are_drawn_as_often_and_as_far_as_stated():
    """A count of 300,000 draws, and of jumps along each shift: each within six standard deviations, which a correct
    sampler misses with a chance below 1e-7 for random seeds."""
    law = law_of((50.0, 45.0))
    count = 300_000
    draws = law.draw(count, InsecureSeededRandomness(5), Fraction(1))
    assert np.abs(draws.mean(axis=0) / draws.std(axis=0)).max() < 6 / np.sqrt(count)
    rates = rates_of_reaches()[law.reaches]
    jumps = drawn_jumps(np.cumsum(rates, dtype=np.uint64), count, InsecureSeededRandomness(6))
    for many in range(4):
        expected = (1 - law.rate) * law.rate**many
        assert abs(np.mean(jumps.many == many) - expected) < 6 * np.sqrt(expected / count)
    used = np.concatenate([places for _, places, _ in jumps.rounds()])
    shares = rates.astype(float) * 2.0**-64 / law.rate
    seen = np.bincount(used, minlength=4) / len(used)
    assert np.all(np.abs(seen - shares) < 6 * np.sqrt(shares / len(used)) + 1e-12)
    for signs in (jumps.away, jumps.onward, jumps.away ^ jumps.onward):
        upward = np.concatenate([signs[rows, turn] for rows, _, turn in jumps.rounds()])
        assert abs(upward.mean() - 0.5) < 3 / np.sqrt(len(upward))


def test_the_norm_of_a_listed_shift_is_its_distance_and_no_norm_is_told_too_small():
    law = law_of()
    shifts = np.vstack([STEPS, -STEPS, np.random.default_rng(3).integers(-50, 51, (30, 2)), [[0, 0]]]).astype(float)
    bounds = law.loss_upper_bounds(shifts, np.zeros_like(shifts))
    points = law.shifts.points(slice(None)).T
    for shift, bound in zip(shifts, bounds, strict=True):
        least = linprog(np.ones(8), A_eq=np.hstack([points, -points]), b_eq=shift).fun
        assert bound >= least * (1 - 1e-9)
    assert np.array_equal(bounds[:8], np.tile(DISTANCES, 2))
    assert bounds[-1] < 1e-9


@pytest.mark.parametrize("wide", [1.0, 1e-140, 1e140])
@pytest.mark.parametrize("seed", range(3))
def test_lengths_of_differences_are_never_told_too_small_and_hardly_too_large(seed, wide):
    """Against the norm in 400 bits, where columns are far longer than what they differ by."""
    generator = np.random.default_rng(seed)
    columns = 10**9 + generator.integers(-9, 10, (12, 4))
    first, second = np.triu_indices(12, 1)
    shifts = JumpShifts(columns, first, second, np.ones(len(first)))
    axes = np.linalg.qr(generator.normal(size=(4, 4)))[0] * np.geomspace(1, 1e4, 4) * wide
    found = shifts.lengths(Ellipsoid(axes))
    with ctx.workprec(400):
        inverse = arb_mat(axes.tolist()).inv()
        for length, step in zip(found.tolist(), shifts.steps(slice(None)).tolist(), strict=True):
            place = inverse * arb_mat([[number] for number in step])
            exact = sum(place[row, 0] ** 2 for row in range(4)).sqrt()
            assert arb(length) >= exact
            assert arb(length) <= exact * 1.001


def test_lengths_are_those_of_the_ellipsoid_that_is_asked():
    shifts, first, second = law_of().shifts, Ellipsoid(np.eye(2)), Ellipsoid(2 * np.eye(2))
    lengths = shifts.lengths(first)
    assert shifts.lengths(second) == pytest.approx(lengths / 2)
    assert shifts.lengths(first) == pytest.approx(lengths)
    assert np.array_equal(shifts.lengths(first), lengths)


def test_the_same_shifts_as_pairs_are_the_same_law():
    columns = np.array([[40, 10], [10, 10], [10, -10], [0, 0]])
    pairs = JumpShifts(columns, np.array([0, 1]), np.array([1, 2]), DISTANCES[:2])
    listed = JumpShifts.listed(STEPS[:2], DISTANCES[:2])
    assert np.array_equal(pairs.steps(slice(None)), listed.steps(slice(None)))
    gaussian = GaussianNoise(Ellipsoid(np.diag([90.0, 60.0])))
    laws = [GaussianWithJumps.around(gaussian, shifts) for shifts in (pairs, listed)]
    assert np.array_equal(laws[0].reaches, laws[1].reaches)
    draws = [law.draw(100, InsecureSeededRandomness(2)) for law in laws]
    assert np.array_equal(*draws)


@pytest.mark.parametrize("far", [0, 10**6])
def test_moments_of_many_shifts_are_added_up_column_by_column(monkeypatch, far):
    generator = np.random.default_rng(3)
    columns = generator.integers(-4, 5, (12, 5)) + far
    first, second = np.triu_indices(12, 1)
    shifts = JumpShifts(columns, first, second, generator.uniform(0.5, 2, len(first)))
    weights, normal = generator.uniform(0, 3, len(first)), np.eye(5)
    points = shifts.points(slice(None))
    one_by_one = normal + np.einsum("e,ek,el->kl", weights, points, points)
    assert np.allclose(shifts.added_to(normal, weights), one_by_one, rtol=1e-12, atol=0)
    monkeypatch.setattr("dxgeom.noise.jump_shifts._LONG", 0)
    # Of what cancels, no more is lost than a few units of float64 of the largest entry.
    assert np.allclose(shifts.added_to(normal, weights), one_by_one, rtol=0, atol=1e-13 * one_by_one.max())


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_widths_along_a_direction_are_not_exceeded_more_often_than_stated(level):
    """With 400,000 simulated draws: allowed six standard deviations."""
    law = law_of((50.0, 45.0))
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    widths = law.widths_along(rows, 1 - level)
    draws = np.abs(law.simulate(400_000, np.random.default_rng(4)) @ rows.T)
    missed = np.mean(draws > widths, axis=0)
    assert np.all(missed <= 1 - level + 6 * np.sqrt((1 - level) / 400_000))
    assert np.all(widths < 4 * np.quantile(draws, level, axis=0))


@pytest.mark.parametrize("row", [[1.0, 0.0], [0.0, 2.0], [1.0, -1.0], [0.0, 0.0]])
def test_widths_are_those_of_all_jumps_looked_at_one_by_one(row):
    """Chernoff's bound by its definition, at every place of the grid."""
    law = law_of((50.0, 45.0))
    along = np.abs(law.shifts.points(slice(None)) @ row)
    reaches, rates = law.reaches / 16, rates_of_reaches()[law.reaches] * 2.0**-64
    variance = float(row @ law.gaussian.second_moment @ np.array(row))
    scale = max(np.sqrt(variance), float(np.max(along * (1 + reaches))))
    bounds = [0.0] if scale == 0 else []
    for rising in np.geomspace(1e-2, 1e2, 48) / (scale or np.inf):
        series = np.sum(rates * np.cosh(rising * along * reaches) / (1 - (rising * along) ** 2))
        if scale and rising * along.max() < 0.99 and series <= 0.99:
            moment = rising**2 * variance / 2 + np.log1p(-rates.sum()) - np.log1p(-series)
            bounds.append((np.log(2 / 0.05) + max(moment, 0.0)) / rising)
    assert law.widths_along(np.array([row]), 0.05)[0] == pytest.approx(min(bounds), rel=1e-8)


def test_bars_of_many_answers_are_those_of_each_alone():
    """Of more coordinates than are looked at together: few for each answer, all of them for one, and none for one."""
    size = 60
    columns = np.vstack([np.eye(size, dtype=np.int64), np.zeros((1, size), dtype=np.int64)])
    # Neighbours along a line, whoever is 20 apart, and each from nobody.
    near = np.arange(size - 1)
    first = np.concatenate([near, np.arange(size - 20), np.arange(size)])
    second = np.concatenate([near + 1, np.arange(20, size), np.full(size, size)])
    distances = np.concatenate([np.full(size - 1, 0.5), np.full(size - 20, 1.5), np.full(size, 1.0)])
    law = GaussianWithJumps.around(
        GaussianNoise(Ellipsoid(np.diag(np.linspace(12, 15, size)))), JumpShifts(columns, first, second, distances)
    )
    rows = np.vstack([np.eye(size), (np.eye(size) - np.eye(size, k=3))[::4], np.ones(size), np.zeros(size)])
    some = range(0, len(rows), 3)
    alone = [law.quantiles_along(rows[place : place + 1], 0.05)[0] for place in some]
    assert law.quantiles_along(rows, 0.05)[some] == pytest.approx(alone, rel=1e-12)
    alone = [law.widths_along(rows[place : place + 1], 0.05)[0] for place in some]
    assert law.widths_along(rows, 0.05)[some] == pytest.approx(alone, rel=1e-12)
    points, _, rates = law._kinds_over(np.array([3, 7]))
    whole = np.array([law.shifts.points(slice(None))[:, [3, 7]].tolist()])[0]
    for point, rate in zip(points, rates, strict=True):
        assert rate == pytest.approx(law._float_rates[(whole == point).all(axis=1)].sum(), rel=1e-12)
