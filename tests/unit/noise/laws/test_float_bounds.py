"""The float64 path of every law stays within its stated error, by 200-bit balls; millions of draws in the benchmark."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest
from flint import arb, ctx, fmpq
from reference.families import members
from reference.project import ROOT

from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rounding import IdealDraws, LazyUniform
from dxgeom.numeric.randomness import InsecureSeededRandomness

_SPEC = importlib.util.spec_from_file_location("float_bounds", ROOT / "benchmarks" / "float_bounds.py")
float_bounds = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(float_bounds)


@pytest.mark.parametrize("name", float_bounds.SAMPLERS)
def test_errors_stay_far_below_their_bound(name):
    assert 0 < float_bounds.largest_share(float_bounds.SAMPLERS[name], 500, InsecureSeededRandomness(1)) < 0.02


@pytest.mark.parametrize("name", float_bounds.REJECTIONS)
def test_margins_stay_far_below_their_bound(name):
    law = float_bounds.REJECTIONS[name]
    assert 0 < float_bounds.largest_margin_share(law, 500, InsecureSeededRandomness(2)) < 0.02


def test_a_bound_that_is_too_small_is_noticed(monkeypatch):
    law = float_bounds.SAMPLERS["box, m = 3"]
    honest = law.ideal(200, InsecureSeededRandomness(3))
    boast = IdealDraws(honest.values, honest.errors * 1e-5, honest.legible, honest.words, honest.evaluation)
    monkeypatch.setattr(type(law), "ideal", lambda *_: boast)
    with pytest.raises(SystemExit, match="of its bound"):
        float_bounds.largest_share(law, 200, InsecureSeededRandomness(3))


def test_a_ball_holds_all_that_its_bits_leave_open_and_little_more():
    draws = float_bounds.SAMPLERS["Laplace, m = 2"].ideal(2, InsecureSeededRandomness(4))
    longer = [LazyUniform((int(word) << 64) + 5, 128) for word in draws.words[1]]
    draws = replace(draws, refined={1: longer})
    with ctx.workprec(float_bounds.PRECISION):
        for row, bits in ((0, 64), (1, 128)):
            prefixes = [uniform.prefix for uniform in longer] if row else draws.words[row].tolist()
            for ball, prefix in zip(float_bounds.balls(draws, row), prefixes, strict=True):
                assert all(ball.contains(arb(fmpq(prefix + end, 2**bits))) for end in (0, 1))
                assert float(ball.rad()) < 2.0**-bits


def test_no_law_is_forgotten():
    assert {type(law) for law in float_bounds.SAMPLERS.values()} == members(NoiseLaw)
