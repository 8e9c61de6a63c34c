"""The float path, the ball-arithmetic path and forced refinement all round the same way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.noise import rounding
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.rejection import RejectionNoise
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.noise.rounding import (
    IdealDraws,
    LazyUniform,
    exponential_sums,
    legible,
    round_draws,
    round_exactly,
    settled,
    stretched,
)
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness, SystemRandomness


class ScriptedRandomness(Randomness):
    """Hands out given words, to lay the bits of a draw down in advance."""

    def __init__(self, words):
        self._words = [int(word) for word in words]
        self.asked = 0

    def words(self, count):
        self.asked += count
        handed, self._words = self._words[:count], self._words[count:]
        return np.array(handed, dtype=np.uint64)


def random_body(dimension, seed):
    differences = np.random.default_rng(seed).integers(-1000, 1001, (3 * dimension + 3, dimension))
    return hull_of_differences(differences, np.ones(len(differences)))


@pytest.mark.parametrize("chunk", [8, 13])
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_reading_few_bits_at_first_rounds_like_reading_many(chunk, dimension):
    """The same infinite bit strings, cut differently: 8 bits then refinement, or 192 bits at once."""
    generator = np.random.default_rng(chunk * 10 + dimension)
    refined = 0
    for _ in range(150):
        coefficients = generator.integers(-(10**6), 10**6, (dimension, dimension)).tolist()
        strings = [int.from_bytes(generator.bytes(24), "big") for _ in range(dimension)]
        whole = [LazyUniform(string, 192) for string in strings]
        expected = round_exactly(
            stretched(exponential_sums(coefficients), Fraction(3, 7)), whole, ScriptedRandomness([])
        )
        coarse = [LazyUniform(string >> (192 - chunk), chunk) for string in strings]
        later = interleaved_words(strings, chunk)
        source = ScriptedRandomness(later)
        assert round_exactly(stretched(exponential_sums(coefficients), Fraction(3, 7)), coarse, source) == expected
        refined += source.asked > 0
    assert refined > 100


def interleaved_words(strings, chunk):
    """The 64-bit words that follow the first ``chunk`` bits, in the order in which refinement asks for them."""
    words = []
    for step in range((192 - chunk) // 64):
        shift = 192 - chunk - 64 * (step + 1)
        words += [(string >> shift) & (2**64 - 1) for string in strings]
    return words


LAWS = [
    LaplaceNoise(np.array([300.0, 7.0])),
    FacetConeNoise(random_body(1, 4)),
    FacetConeNoise(random_body(3, 5)),
    FacetConeNoise(random_body(5, 6)),
    BoxNoise(Box(np.array([300.0, 7.0, 0.1]))),
    EllipsoidNoise(Ellipsoid(np.array([[300.0]]))),
    EllipsoidNoise(Ellipsoid(np.array([[100.0, 3, 0], [90, 1, 1], [0, 2, 7]]))),
    EllipsoidNoise(Ellipsoid(50 * np.eye(4))),
    ProductNoise((LaplaceNoise(np.array([9.0])), BoxNoise(Box(np.array([30.0, 2.0]))))),
    LinearImageNoise(BoxNoise(Box(np.array([300.0, 7.0]))), np.array([[1.0, 2.0], [-0.3, 5.0]])),
    RejectionNoise(random_body(3, 5), BoxNoise(Box(np.array([1001.0, 1001.0, 1001.0])))),
    RejectionNoise(CrossPolytope(np.array([30.0, 4.0])), EllipsoidNoise(Ellipsoid(np.diag([31.0, 5.0])))),
    ProductNoise(
        (LaplaceNoise(np.array([9.0])), RejectionNoise(Ellipsoid(20 * np.eye(2)), LaplaceNoise(np.array([30.0, 30.0]))))
    ),
]


def by_name(law):
    return f"{type(law).__name__} {law.dimension}"


@pytest.mark.parametrize("law", LAWS, ids=by_name)
def test_every_law_rounds_the_same_from_8_bits_refined_as_from_192(law):
    """A draw's own words, continued by random bits and cut differently."""
    generator = np.random.default_rng(5)
    draws = law.ideal(40, InsecureSeededRandomness(6))
    refined = 0
    for row in range(40):
        strings = [int(word) << 128 | int.from_bytes(generator.bytes(16), "big") for word in draws.words[row]]
        evaluation = draws.evaluation(row)
        whole = [LazyUniform(string, 192) for string in strings]
        expected = round_exactly(evaluation, whole, ScriptedRandomness([]))
        source = ScriptedRandomness(interleaved_words(strings, 8))
        coarse = [LazyUniform(string >> 184, 8) for string in strings]
        assert round_exactly(evaluation, coarse, source) == expected
        refined += source.asked > 0
    assert refined > 10


class ShiftedRandomness(Randomness):
    """Seeded words, each shifted down by up to 20 bits: small uniforms are as frequent as large ones."""

    def __init__(self, seed):
        self._generator = np.random.default_rng(seed)

    def words(self, count):
        words = self._generator.integers(0, 2**64, count, dtype=np.uint64)
        return words >> self._generator.integers(0, 20, count, dtype=np.uint64)


@pytest.mark.parametrize("law", LAWS, ids=by_name)
def test_the_float_error_stays_below_its_bound(law):
    """Against 300-bit evaluation at both ends of what the words allow, for every legible row."""
    draws = law.ideal(1500, ShiftedRandomness(1))
    assert draws.legible.sum() > 500
    for row in np.flatnonzero(draws.legible):
        for end in (0, 1):
            with ctx.workprec(300):
                uniforms = [arb(fmpq(int(word) + end, 2**64)) for word in draws.words[row]]
                exact = draws.evaluation(int(row))(uniforms)
            for value, error, truth in zip(draws.values[row], draws.errors[row], exact, strict=True):
                assert bool(abs(arb(float(value)) - truth) <= arb(float(error)))


def test_a_sum_next_to_a_half_integer_is_not_settled_by_floats():
    values = np.array([[0.5 + 1e-14], [0.5 + 1e-9], [2.0**51]])
    assert settled(values, np.full((3, 1), rounding.FLOAT_ERROR)).tolist() == [False, True, False]
    assert legible(np.array([[2**63, 2**46], [2**63, 2**45]], dtype=np.uint64)).tolist() == [True, False]


@pytest.mark.parametrize("law", LAWS, ids=by_name)
def test_the_exact_path_alone_gives_the_same_draws(law, monkeypatch):
    fast = law.draw(300, InsecureSeededRandomness(3))
    monkeypatch.setattr(rounding, "settled", lambda values, errors: np.zeros(len(values), bool))
    slow = law.draw(300, InsecureSeededRandomness(3))
    assert np.array_equal(fast, slow)


def test_an_all_zero_word_is_refined_rather_than_rounded():
    uniform = LazyUniform(0)
    source = ScriptedRandomness([2**63])
    value = round_exactly(exponential_sums([[1.0]]), [uniform], source)[0]
    assert source.asked == 1
    assert value == round(np.log(2) * 65)


def test_a_choice_on_a_threshold_reads_more_bits():
    """Two opposite facets of equal volume: the threshold is exactly one half."""
    noise = FacetConeNoise(hull_of_differences(np.array([[5]]), np.array([1.0])))
    below, above = ScriptedRandomness([0]), ScriptedRandomness([2**64 - 1])
    half = 2**63
    assert noise._choose(LazyUniform(half - 1), above) == 0
    assert noise._choose(LazyUniform(half), below) == 1
    odd = FacetConeNoise(random_body(2, 1))
    cumulative = odd._cumulative
    word = (cumulative[0] << 64) // cumulative[-1]
    exact = Fraction(cumulative[0], cumulative[-1]) * 2**64 - word
    chosen = {follow: odd._choose(LazyUniform(word), ScriptedRandomness([follow, 0, 0])) for follow in (0, 2**64 - 1)}
    assert 0 < exact < 1
    assert chosen == {0: 0, 2**64 - 1: 1}


def test_a_draw_on_a_threshold_of_the_volumes_waits_for_more_bits():
    """The same first 64 bits lead to either simplex, depending on the next ones."""
    law = FacetConeNoise(random_body(2, 1))
    word = (law._cumulative[0] << 64) // law._cumulative[-1]
    low, high = (law.ideal(1, ScriptedRandomness([word, 2**62, 2**61, follow])).values for follow in (0, 2**64 - 1))
    sizes = np.log(2) * np.array([2, 3])
    scale = law.body.inflation
    assert np.allclose(low, sizes @ law._vertices[0] * scale)
    assert np.allclose(high, sizes @ law._vertices[1] * scale)


def test_an_illegible_draw_is_decided_exactly_whatever_floats_say():
    draws = IdealDraws(
        values=np.array([[7.0], [7.0]]),
        errors=np.full((2, 1), 1e-9),
        legible=np.array([True, False]),
        words=np.full((2, 1), 2**63, dtype=np.uint64),
        evaluation=lambda row: exponential_sums([[100.0]]),
    )
    assert round_draws(draws, Fraction(1), ScriptedRandomness([])).ravel().tolist() == [7, 69]


def test_simplices_are_chosen_by_their_exact_share_of_the_volume():
    noise = FacetConeNoise(random_body(3, 2))
    words = np.linspace(0, 2**64 - 2**12, 100_001, dtype=np.float64).astype(np.uint64)
    picked = np.searchsorted(noise._thresholds, words, side="right")
    shares = np.bincount(picked, minlength=noise.body.facets) / len(words)
    assert np.abs(shares - noise.body.shares).max() < 2e-5


def test_noise_that_could_leave_64_bit_integers_is_refused():
    with pytest.raises(TooLarge, match="64-bit"):
        LaplaceNoise(np.array([1e10])).draw(1, SystemRandomness(), Fraction(10**9))


@pytest.mark.parametrize("scales", [[0.0], [-1.0], [np.nan], [np.inf]])
def test_unusable_scales_are_refused(scales):
    with pytest.raises(NotANormBall):
        LaplaceNoise(np.array(scales))


@pytest.mark.parametrize(
    "law",
    [
        BoxNoise(Box(np.array([100.0, 1000.0]))),
        FacetConeNoise(hull_of_differences(np.array([[100, 1000], [100, -1000]]), np.ones(2))),
    ],
    ids=by_name,
)
def test_directions_follow_the_cone_measure_not_the_surface(law):
    """A box of 1 by 10: both pairs of sides are hit equally often, although one pair is ten times as long."""
    draws = law.draw(100_000, InsecureSeededRandomness(2)) / np.array([100, 1000])
    share = (np.abs(draws[:, 0]) > np.abs(draws[:, 1])).mean()
    assert abs(share - 0.5) < 6 * 0.5 / np.sqrt(100_000)
