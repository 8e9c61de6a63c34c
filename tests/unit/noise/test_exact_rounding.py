"""The float path, the ball-arithmetic path and forced refinement all round the same way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.noise import rounding
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.laplace import LaplaceNoise
from dxgeom.noise.lazy_uniform import LazyUniform
from dxgeom.noise.rounding import exponentials, round_exactly, settled
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


def high_precision_sums(coefficients, factor, words):
    """The sums of a draw whose uniforms are (word + 1/2)/2^64, at 300 bits."""
    with ctx.workprec(300):
        sizes = [-(arb(fmpq(2 * int(word) + 1, 2**65))).log() for word in words]
        scale = arb(fmpq(factor.numerator, factor.denominator))
        return [sum((arb(a) * e for a, e in zip(row, sizes, strict=True)), arb(0)) * scale for row in coefficients]


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
        expected = round_exactly(coefficients, Fraction(3, 7), whole, ScriptedRandomness([]))
        coarse = [LazyUniform(string >> (192 - chunk), chunk) for string in strings]
        later = interleaved_words(strings, chunk)
        source = ScriptedRandomness(later)
        assert round_exactly(coefficients, Fraction(3, 7), coarse, source) == expected
        refined += source.asked > 0
    assert refined > 100


def interleaved_words(strings, chunk):
    """The 64-bit words that follow the first ``chunk`` bits, in the order in which refinement asks for them."""
    words = []
    for step in range((192 - chunk) // 64):
        shift = 192 - chunk - 64 * (step + 1)
        words += [(string >> shift) & (2**64 - 1) for string in strings]
    return words


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_the_float_error_stays_below_its_bound(dimension):
    """Against 300-bit evaluation; words of every size that the fast path accepts."""
    generator = np.random.default_rng(dimension)
    body = random_body(dimension, dimension)
    noise = FacetConeNoise(body)
    factor = Fraction(body.inflation) * Fraction(10, 3)
    for _ in range(400):
        bits = generator.integers(47, 65)
        words = generator.integers(0, 2**64, dimension, dtype=np.uint64) >> np.uint64(64 - bits)
        words = np.maximum(words, np.uint64(rounding.SMALLEST_WORD))
        facet = int(generator.integers(body.facets))
        vertices = noise._vertices[facet]
        sizes = exponentials(words)
        sums = (sizes @ vertices) * float(factor)
        magnitudes = ((1 + sizes) @ np.abs(vertices)) * float(factor)
        exact = high_precision_sums(vertices.T.tolist(), factor, words)
        for k in range(dimension):
            # The word stands for an interval of relative width 2**-46 or less; half of the bound is kept for it.
            allowed = magnitudes[k] * rounding.FLOAT_ERROR / 2
            assert bool(abs(arb(float(sums[k])) - exact[k]) <= arb(float(allowed)))


def test_a_sum_next_to_a_half_integer_is_not_settled_by_floats():
    words = np.full((3, 1), 2**63, dtype=np.uint64)
    sums = np.array([[0.5 + 1e-14], [0.5 + 1e-9], [2.0**51]])
    assert settled(sums, np.ones((3, 1)), words).tolist() == [False, True, False]
    assert not settled(np.array([[0.1]]), np.ones((1, 1)), np.array([[2**45]], dtype=np.uint64))[0]


@pytest.mark.parametrize("law", [LaplaceNoise(np.array([300.0, 7.0])), FacetConeNoise(random_body(3, 5))])
def test_the_exact_path_alone_gives_the_same_draws(law, monkeypatch):
    fast = law.draw(300, InsecureSeededRandomness(3))
    monkeypatch.setattr(f"{type(law).__module__}.settled", lambda sums, magnitudes, words: np.zeros(len(sums), bool))
    slow = law.draw(300, InsecureSeededRandomness(3))
    assert np.array_equal(fast, slow)


def test_an_all_zero_word_is_refined_rather_than_rounded():
    uniform = LazyUniform(0)
    source = ScriptedRandomness([2**63])
    value = round_exactly([[1.0]], Fraction(1), [uniform], source)[0]
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
