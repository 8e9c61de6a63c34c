"""Laplace mechanisms in a row against their tables, written out from the definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dxgeom as dx
from dxgeom.errors import CertificateRefused, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.lab.finite_mechanism import PrivateTable, likelihood_ratio_bounds
from dxgeom.lab.laplace_tables import (
    BandedTable,
    banded_geometric,
    banded_laplace,
    finite_laplace,
    truncated_geometric,
)
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness

UNEVEN = (0, 1, 3, 4, 9, 11)


def line(positions, rate):
    metric = LineMetric(tuple(map(Fraction, positions)), Fraction(rate))
    return verify(metric, title="line", fingerprint="line", budget=Fraction(1))


@pytest.mark.parametrize("rate", ["1/10", "1", "4"])
def test_written_out_it_is_the_truncated_geometric_table(rate):
    assert banded_geometric(line(range(7), rate)).law.rows == truncated_geometric(line(range(7), rate)).law.rows


@pytest.mark.parametrize("rate", ["1/10", "1", "4"])
def test_written_out_it_is_the_table_that_a_system_of_equations_gives(rate):
    banded, solved = (make(line(UNEVEN, rate)).law.rows for make in (banded_laplace, finite_laplace))
    assert np.allclose(np.array(banded, dtype=float), np.array(solved, dtype=float), atol=1e-12)


@pytest.mark.parametrize("spend", [Fraction(1), Fraction(1, 3)])
def test_no_odds_exceed_the_metric_and_neighbours_reach_it(spend):
    """Every pair, every answer, in exact rationals."""
    metric = line(UNEVEN, "1/2")
    law = banded_laplace(metric, spend).law
    assert likelihood_ratio_bounds(metric, spend).excess(law) is None
    for k, gap in enumerate(np.diff(UNEVEN)):
        assert float(law.odds_between(k, k + 1)) == pytest.approx(np.exp(float(spend) * gap / 2), rel=1e-13)


def test_walks_end_by_the_chances_of_the_table():
    table = banded_laplace(line(UNEVEN, "1/2"))
    for secret in (0, 2, 5):
        drawn = np.bincount(table.reports(secret, 20_000, InsecureSeededRandomness(secret)), minlength=6)
        expected = 20_000 * np.array([float(chance) for chance in table.law.rows[secret]])
        assert stats.chi2.sf(np.sum((drawn - expected) ** 2 / expected), 5) > 1e-7


def test_mean_errors_are_those_of_the_table():
    table = banded_laplace(line(UNEVEN, "1/2"))
    losses = [[Fraction(abs(here - there)) for there in UNEVEN] for here in UNEVEN]
    wanted = [float(loss) for loss in table.law.expected_losses(losses)]
    assert table.mean_absolute_errors(UNEVEN) == pytest.approx(wanted)
    prior = [Fraction(1, 6)] * 6
    guessed = table.with_best_guesses(prior, losses)
    assert guessed.expected_loss(prior, losses) <= table.expected_loss(prior, losses)


def test_ten_thousand_values_are_released(tmp_path):
    metric = line(range(10_000), "1/100")
    for make in (truncated_geometric, finite_laplace):
        table = make(metric, Fraction(1, 2))
        assert isinstance(table, BandedTable)
        released = dx.release(table, 5000, ledger=tmp_path / "ledger.db")
        assert abs(released.answer - 5000) < 12_000
    assert table.mean_absolute_errors(range(10_000))[5000] == pytest.approx(200, rel=1e-3)


def test_a_hundred_values_are_written_out_as_ever():
    assert isinstance(truncated_geometric(line(range(20), 1)), PrivateTable)


def test_values_that_lie_in_parts_stay_in_theirs():
    far = np.inf
    metric = dx.verify_metric([[0, 1, far, far], [1, 0, far, far], [far, far, 0, 2], [far, far, 2, 0]])
    table = banded_laplace(metric)
    assert {table.report(2, InsecureSeededRandomness(k)) for k in range(50)} == {2, 3}
    with pytest.raises(UnsupportedCombination, match="finite distance"):
        banded_geometric(metric)


def test_what_is_no_line_is_refused():
    with pytest.raises(CertificateRefused, match="they are no line"):
        banded_laplace(dx.verify_metric([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
    with pytest.raises(UnboundedLoss):
        banded_laplace(dx.verify_metric([[0, 0], [0, 0]]))
    with pytest.raises(TooLarge, match="10,000"):
        banded_geometric(line(range(10_001), 1))
    with pytest.raises(TooLarge, match="not written out"):
        _ = banded_geometric(line(range(600), 1)).law
