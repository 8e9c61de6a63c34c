"""The released law against its density, the minimiser against a solve in 200 bits, and what must change nothing."""

from __future__ import annotations

import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from reference.perturbed_law import log_density

from dxgeom.audit.observed_losses import observed_loss
from dxgeom.errors import CertificateRefused, DataError, UnsupportedCombination
from dxgeom.learning import gradient_noise as gradient_noise_module
from dxgeom.learning import perturbation
from dxgeom.learning.features import Change, FeatureGroup, Features
from dxgeom.learning.gradient_noise import gradient_noise, least_strength
from dxgeom.learning.objective import LogisticLoss, PerturbedObjective, PseudoHuberLoss, exact_gradient
from dxgeom.learning.perturbation import STEP, ObjectivePerturbation
from dxgeom.ledger.entry import Account
from dxgeom.noise.round_laws import BoxNoise, LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness

ACCOUNT = Account("test", "test", Fraction(1))
ONE = Fraction(1)
FITS = int(os.environ.get("DXGEOM_FITS", "1000"))
"""Of an audit."""


def box(*names):
    return FeatureGroup(names, "box")


def choice(*names):
    return FeatureGroup(names, "choice")


def mechanism_of(groups, share=None, loss=None, changes=None, ridge=Fraction(0)):
    loss = LogisticLoss() if loss is None else loss
    changes = (Change(ONE, (2 * loss.steepest,) * len(groups)),) if changes is None else changes
    return ObjectivePerturbation("test", loss, Features(tuple(groups)), changes, ACCOUNT, ridge, share)


def table_of(count, seed=0):
    """An intercept, a choice of three, two numbers; labels that follow from them."""
    generator = np.random.default_rng(seed)
    chosen = np.eye(3)[generator.integers(3, size=count)]
    features = np.column_stack([np.ones(count), chosen, generator.uniform(-1, 1, (count, 2))])
    labels = generator.random(count) < 1 / (1 + np.exp(-features @ [0.5, 1, -1, 0, 2, -1]))
    return np.column_stack([features, labels])


GROUPS = (box("one"), choice("a", "b", "c"), box("x", "y"))
PLANE = np.stack(np.meshgrid(np.linspace(-30, 30, 121), np.linspace(-30, 30, 121)), axis=-1).reshape(-1, 2)
WORST = [  # (table, neighbour): one record of each replaced, together furthest apart in gradient or in Hessian
    ([[1, 1, 0]], [[1, -1, 1]]),
    ([[1, 1, 0], [1, 0.5, 1]], [[1, -1, 1], [1, 0.5, 1]]),
    ([[1, 1, 0]], [[0, 0, 1]]),
    ([[-1, 1, 1], [0.25, 1, 0], [1, 1, 1]], [[1, -1, 0], [0.25, 1, 0], [1, 1, 1]]),
]


def losses(mechanism, here, there, spend, **planted):
    return log_density(mechanism, here, spend, PLANE, **planted) - log_density(
        mechanism, there, spend, PLANE, **planted
    )


@pytest.mark.parametrize(("here", "there"), WORST)
@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 2), Fraction(995, 1000)])
def test_no_two_neighbours_are_told_apart_by_more_than_the_spend(here, there, share):
    mechanism = mechanism_of([box("x", "y")], share)
    for spend in (Fraction(1, 4), ONE, Fraction(3)):
        found = losses(mechanism, here, there, spend)
        assert np.abs(found).max() <= float(spend) + 1e-9


def test_the_whole_spend_is_used_by_the_worst_neighbours():
    """Gradients that differ by nearly (2, 0), beside records that make the noise's first coordinate the largest."""
    mechanism = mechanism_of([box("x", "y")], Fraction(995, 1000))
    others = [[1, 0, 1]] * 4000
    thetas = np.array([[0.0, height] for height in range(4, 15)])
    here, there = (log_density(mechanism, [record, *others], ONE, thetas) for record in ([1.0, 1, 0], [1.0, -1, 1]))
    assert 0.99 <= np.abs(here - there).max() <= 1


def test_a_planted_ridge_that_is_half_as_large_is_caught():
    mechanism, share = mechanism_of([box("x", "y")], Fraction(1, 10)), Fraction(1, 10)
    half = mechanism.strength(share, ONE) / 2
    assert max(np.abs(losses(mechanism, *pair, ONE, strength=half)).max() for pair in WORST) > 1.05


def test_the_printed_ridge_is_negative_and_has_no_minimiser():
    """Awan & Slavković 2020, Algorithm 2, prints γ = λ/(e^{ε(q − 1)} − 1)."""
    share, loss = Fraction(1, 2), LogisticLoss()
    features = Features((box("x", "y"),))
    change = Change(ONE, (Fraction(2),))
    printed = 0.5 / np.expm1(-0.5)
    assert printed < 0 < least_strength(features, [change], loss.curvature, share, ONE)
    assert np.linalg.eigvalsh(np.eye(2) * printed).max() < 0


def test_noise_without_its_radius_is_caught():
    """Awan & Slavković 2020, Algorithm 8, prints T + U without R: its noise has an end, and an audit sees beyond it."""
    mechanism = mechanism_of([box("x", "y")], Fraction(1, 2))
    body = mechanism.noise(Fraction(1, 2)).known_body
    uniform = body.simulate_uniform(4000, np.random.default_rng(0))
    shift = np.array([2.0, 0.0])
    assert np.mean(body.gauge(uniform + shift) > 1) > 0.1  # never so without the shift


def test_noise_that_is_too_narrow_is_refused(monkeypatch):
    monkeypatch.setattr(gradient_noise_module, "_MARGIN", 0.999)
    with pytest.raises(CertificateRefused):
        gradient_noise(Features(GROUPS), [Change(ONE, (Fraction(2),) * 3)], Fraction(1, 3))


def test_a_label_takes_no_share_of_the_ridge_and_the_smallest_distance_shapes_each_group():
    features = Features((box("x"), choice("a", "b")))
    changes = [
        Change(Fraction(1, 2), (ONE, ONE), bends=False),
        Change(Fraction(4), (Fraction(2), ONE)),
        Change(Fraction(2), (ONE, Fraction(2))),
    ]
    law = gradient_noise(features, changes, Fraction(1, 2))
    first, second = law.parts
    assert isinstance(first, BoxNoise)
    assert isinstance(second, LaplaceNoise)
    assert first.body.half_widths == pytest.approx([2.0])  # 1/(1/2), over 2/(4/2) and 1/(2/2)
    assert second.scales == pytest.approx([2.0, 2.0])
    assert least_strength(features, changes, Fraction(1, 4), Fraction(1, 2), ONE) == pytest.approx(0.5 / np.expm1(1.0))
    assert least_strength(features, changes[:1], Fraction(1, 4), Fraction(1, 2), ONE) == 0


@pytest.mark.parametrize("loss", [LogisticLoss(), PseudoHuberLoss()])
def test_the_minimiser_is_that_of_a_solve_in_200_bits(loss):
    mechanism, spend = mechanism_of(GROUPS, Fraction(7, 8), loss), ONE
    table = table_of(40)
    share = Fraction(7, 8)
    for seed in range(3):
        (answer,) = mechanism.draws(table, spend, 1, InsecureSeededRandomness(seed))
        drawn = mechanism.noise(share).ideal(1, InsecureSeededRandomness(seed))
        with ctx.workprec(250):
            tilt = [
                mpmath.mpf(str(v.mid().str(60, radius=False)))
                for v in drawn.evaluation(0)([u.ball() for u in drawn.uniforms(0)])
            ]
        exact = solved_slowly(table, loss, mechanism.strength(share, spend), tilt, [float(x) for x in answer])
        assert [int(mpmath.nint(x / mpmath.mpf(STEP.numerator) * STEP.denominator)) for x in exact] == [
            int(x / STEP) for x in answer
        ]


def solved_slowly(table, loss, strength, tilt, start):
    """Newton's method in 200 bits."""
    with mpmath.workprec(200):
        size = len(start)
        theta = mpmath.matrix(start)
        rows = [[mpmath.mpf(x) for x in row] for row in table.tolist()]
        for _ in range(12):
            gradient = mpmath.matrix([strength * theta[k] + tilt[k] for k in range(size)])
            hessian = mpmath.eye(size) * strength
            for *a, y in rows:
                z = mpmath.fsum(x * theta[k] for k, x in enumerate(a))
                slope, bend = derivatives(loss, z, y)
                for i in range(size):
                    gradient[i] += slope * a[i]
                    for j in range(size):
                        hessian[i, j] += bend * a[i] * a[j]
            theta = theta - mpmath.lu_solve(hessian, gradient)
        return list(theta)


def derivatives(loss, z, y):
    if isinstance(loss, LogisticLoss):
        p = 1 / (1 + mpmath.exp(-z))
        return p - y, p * (1 - p)
    root = mpmath.sqrt(1 + (z - y) ** 2)
    return (z - y) / root, root**-3


@pytest.mark.parametrize("tolerance", [1e-3, 0.5])
def test_a_solver_that_stops_early_changes_nothing_in_what_is_released(tolerance, monkeypatch):
    mechanism, table = mechanism_of(GROUPS), table_of(300)
    answers = mechanism.draws(table, ONE, 3, InsecureSeededRandomness(4))
    monkeypatch.setattr(perturbation, "_TOLERANCE", tolerance)
    monkeypatch.setattr("dxgeom.learning.objective._MOST_POLISHES", 0)
    assert mechanism.draws(table, ONE, 3, InsecureSeededRandomness(4)) == answers


def test_a_point_that_is_no_minimiser_at_all_changes_nothing_either(monkeypatch):
    mechanism, table = mechanism_of(GROUPS), table_of(300)
    answers = mechanism.draws(table, ONE, 2, InsecureSeededRandomness(4))
    monkeypatch.setattr(perturbation, "solved", lambda objective, tolerance: np.full(6, 0.1))
    assert mechanism.draws(table, ONE, 2, InsecureSeededRandomness(4)) == answers


def test_roundings_that_float64_leaves_open_are_decided_from_further_bits(monkeypatch):
    mechanism, table = mechanism_of(GROUPS), table_of(300)
    answers = mechanism.draws(table, ONE, 2, InsecureSeededRandomness(4))
    monkeypatch.setattr(PerturbedObjective, "distance_bound", lambda self, theta: np.inf)
    assert mechanism.draws(table, ONE, 2, InsecureSeededRandomness(4)) == answers


@pytest.mark.parametrize("loss", [LogisticLoss(), PseudoHuberLoss()])
def test_the_gradient_in_float64_is_within_its_bound(loss):
    table = table_of(700, 5)
    tilt = np.linspace(-3, 3, 6)
    objective = PerturbedObjective(loss, table[:, :-1], table[:, -1], 0.75, tilt, np.zeros(6))
    for scale in (0.0, 1.0, 50.0):
        theta = scale * np.random.default_rng(1).standard_normal(6)
        found = objective.gradient(theta)
        with ctx.workprec(200):
            exact = exact_gradient(objective, [arb(x) for x in theta], [arb(x) for x in tilt])
            off = [abs(float((g - arb(x)).mid())) for g, x in zip(exact, found.value.tolist(), strict=True)]
        assert np.all(np.array(off) <= found.error)
        assert np.all(found.error < 1e-9)


@pytest.mark.long
def test_an_audit_of_a_thousand_fits_finds_no_more_than_the_spend():
    """Two tables that differ in their one informative record; a correct mechanism fails with a chance of 1e-10. With
    DXGEOM_FITS=100000, as in ``make soak``, a hundred times as many."""
    mechanism, spend = mechanism_of([box("x", "y")], Fraction(9, 10)), Fraction(8)
    here, there = np.array([[1, 1, 0], [0, 0, 1.0]]), np.array([[1, -1, 1], [0, 0, 1.0]])
    views = []
    for seed, data in enumerate((here, there)):
        answers = np.array(mechanism.draws(data, spend, FITS, InsecureSeededRandomness(seed)), dtype=np.float64)
        views.append(log_density(mechanism, here, spend, answers) - log_density(mechanism, there, spend, answers))
    found = observed_loss(*views, 1e-10).nats
    assert 0.3 < found <= float(spend)


@pytest.mark.parametrize(
    "wrong",
    [
        [[1, 0, 0, 0, 0.5, 0.5, 2]],
        [[1, 1, 1, 0, 0.5, 0.5, 1]],
        [[1, 0.5, 0, 0, 0.5, 0.5, 1]],
        [[1, 0, 0, 0, 1.5, 0.5, 1]],
        [[1, 0, 0, 0, np.nan, 0.5, 1]],
        [[1, 0, 0, 0, 0.5, 1]],
        np.empty((0, 7)),
        [["a"] * 7],
    ],
)
def test_rows_that_no_record_has_are_refused(wrong):
    with pytest.raises(DataError):
        mechanism_of(GROUPS).check(wrong, ONE)


def test_what_makes_nothing_strictly_convex_is_refused():
    label = Change(ONE, (ONE,), bends=False)
    with pytest.raises(UnsupportedCombination, match="ridge"):
        mechanism_of([box("x")], changes=(label,))
    assert mechanism_of([box("x")], changes=(label,), ridge=ONE).strength(Fraction(1, 2), ONE) == 1


def test_the_share_of_the_noise_depends_on_public_figures_alone():
    mechanism = mechanism_of(GROUPS)
    first, second = table_of(100, 1), table_of(100, 2)
    assert mechanism.share_for(len(first), ONE) == mechanism.share_for(len(second), ONE)
    assert all(Fraction(1, 2) <= mechanism.share_for(n, ONE) < 1 for n in (1, 100, 10**7))
