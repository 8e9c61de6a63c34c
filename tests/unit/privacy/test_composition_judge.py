"""What several releases tell together, before another judge: dp-accounting's privacy loss distributions."""

from __future__ import annotations

import pytest

from dxgeom.privacy import Composition

ACCOUNTS = {
    "a year of pure releases": ([0.05] * 365, []),
    "two kinds": ([0.1] * 40 + [0.35] * 7, []),
    "pure beside Gaussian": ([0.2] * 20, [0.3] * 12 + [0.7]),
    "Gaussian alone": ([], [0.25] * 16),
    "ten thousand of a hundred kinds": ([k / 10_000 for k in range(1, 101)] * 100, []),
    "ten thousand of a hundred kinds beside Gaussian": ([k / 10_000 for k in range(1, 101)] * 100, [0.3] * 12),
}


def judged(pure, gaussian, *, pessimistic):
    from dp_accounting.pld import common, privacy_loss_distribution

    how = {"value_discretization_interval": 2e-5, "pessimistic_estimate": pessimistic}
    parts = [
        privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=2e-5
        ).self_compose(pure.count(epsilon))
        for epsilon in sorted(set(pure))
    ]
    parts += [
        privacy_loss_distribution.from_gaussian_mechanism(1 / mu, **how).self_compose(gaussian.count(mu))
        for mu in sorted(set(gaussian))
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole


@pytest.mark.needs("dp_accounting")
@pytest.mark.parametrize("name", ACCOUNTS)
def test_curves_are_those_of_another_accountant(name):
    pure, gaussian = ACCOUNTS[name]
    ours, above = Composition.of(pure, gaussian), judged(pure, gaussian, pessimistic=True)
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        delta, theirs = ours.delta(epsilon), above.get_delta_for_epsilon(epsilon)
        assert delta == pytest.approx(theirs, rel=2e-2, abs=1e-9), epsilon
    for delta in (1e-3, 1e-6):
        assert ours.epsilon(delta) == pytest.approx(above.get_epsilon_for_delta(delta), rel=2e-3)
    if not pure:
        below = judged(pure, gaussian, pessimistic=False)
        assert below.get_delta_for_epsilon(1.0) <= ours.delta(1.0) * (1 + 1e-9)
