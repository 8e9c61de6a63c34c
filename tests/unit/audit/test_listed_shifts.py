"""What pairs of records shift of answers, gathered by kinds, against every pair by itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dxgeom.audit import listed_shifts
from dxgeom.audit.listed_shifts import least_of_each, require_hidden_shifts
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.metrics.combinations import MaxMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.noise.triangular import TriangularNormals

PLACES = 5
SIZE = PLACES**2
LIMITS = {"_MOST_KINDS_SQUARED": 0, "_MOST_LISTED": 0, "_AT_ONCE": 20}


def positions(seed):
    """Two positions among five places."""
    spots = np.random.default_rng(seed).integers(0, 20, (PLACES, 2)).astype(float)
    return MaxMetric(
        (PointsMetric(spots, "plane", Fraction(1)), PointsMetric(spots[::-1].copy(), "plane", Fraction(1)))
    )


def weights_of(seed, count=3):
    """Areas of the first position, and of both: several records are alike."""
    generator = np.random.default_rng(seed)
    home, work = np.divmod(np.arange(SIZE), PLACES)
    areas = generator.integers(0, 2, (2, PLACES))
    return np.array([areas[0][home], areas[1][work], areas[0][home] * areas[1][work], 3 * (home == work)][:count])


def by_every_pair(weights, metric):
    found, every = {}, np.array(list(permutations(range(SIZE), 2)))
    for (first, second), distance in zip(every.tolist(), metric.distance(*every.T).tolist(), strict=True):
        shift = tuple((weights[:, first] - weights[:, second]).tolist())
        if any(shift) and np.isfinite(distance):
            found[shift] = min(found.get(shift, np.inf), distance)
    return found


@pytest.mark.parametrize("limits", [{}, LIMITS], ids=["listed", "as they come"])
@pytest.mark.parametrize("seed", range(4))
def test_kinds_have_the_shifts_and_least_distances_of_all_pairs(seed, limits, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(listed_shifts, name, value)
    weights, metric = weights_of(seed), positions(seed)
    kinds = listed_shifts._kinds(weights, metric, 10**6)
    assert kinds.looked_at == SIZE * (SIZE - 1) // 2
    parts = list(kinds.parts())
    shifts, distances = least_of_each(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    found = dict(zip(map(tuple, shifts.tolist()), distances.tolist(), strict=True))
    both = {}
    for shift, distance in found.items():  # a law is symmetric, and pairs of records are listed one way round
        for one in (shift, tuple(-step for step in shift)):
            both[one] = min(both.get(one, np.inf), distance)
    assert both == by_every_pair(weights, metric)


@pytest.mark.parametrize("limits", [{}, LIMITS], ids=["listed", "as they come"])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_that_just_hides_all_pairs_holds_and_a_thousandth_less_does_not(kind, limits, monkeypatch):
    weights, metric = weights_of(1, 4), positions(1)
    shifts, distances = (np.array(each) for each in zip(*by_every_pair(weights, metric).items(), strict=True))
    norms = np.abs(shifts).sum(axis=1) if kind == "laplace" else np.linalg.norm(shifts, axis=1)
    needed = float(np.max(norms / distances))
    for name, value in limits.items():
        monkeypatch.setattr(listed_shifts, name, value)

    def said(scale):
        scales = np.full(len(weights), scale)
        law = LaplaceNoise(scales) if kind == "laplace" else GaussianNoise(Ellipsoid(np.diag(scales)))
        return require_hidden_shifts(law, weights, metric)

    assert ("kinds" if limits else "different changes") in said(needed * (1 + 1e-9))
    with pytest.raises(CertificateRefused, match="does not hide"):
        said(needed * (1 - 1e-3))


def test_too_many_pairs_are_refused_with_what_can_be_audited(monkeypatch):
    monkeypatch.setattr(listed_shifts, "_MOST_WORK", 40)
    with pytest.raises(TooLarge, match=r"that 4 answers tell apart are not held .* fewer answers"):
        require_hidden_shifts(LaplaceNoise(np.full(4, 1e6)), weights_of(1, 4), positions(1))


def test_a_change_that_is_too_near_to_tell_hides_none_that_is_too_long(monkeypatch):
    """In parts that are looked at one after the other."""
    monkeypatch.setattr(listed_shifts, "_MOST_IN_BALLS", 1)
    law, shifts = TriangularNormals(np.eye(3)), np.eye(3, dtype=np.int64)
    short, near, long = (shifts, np.full(3, 1.1)), (shifts, np.ones(3)), (shifts, np.full(3, 0.9))
    for parts in ([near, long], [short, near, short, long]):
        with pytest.raises(CertificateRefused):
            listed_shifts._require_short(law, parts)
    with pytest.raises(TooLarge):
        listed_shifts._require_short(law, [short, near, short])
    listed_shifts._require_short(law, [short])
