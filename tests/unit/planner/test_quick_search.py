"""What some differences tell a quick plan of all of them."""

from __future__ import annotations

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.comparing.candidate_bounds import is_large
from dxgeom.planner.comparing.comparison import (
    QuickSearch,
    laplace_bound,
    quick_estimate_of_rotated_laplace,
    with_some,
)
from dxgeom.planner.objectives.objective import Objective

RECORDS, QUERIES = 100, 26


def asked(rows: np.ndarray) -> tuple[dx.VerifiedMetric, dx.LinearQueries]:
    names = [f"q{k}" for k in range(len(rows))]
    return dx.verify_metric(1 - np.eye(rows.shape[1])), dx.LinearQueries.from_matrix(names, rows.tolist())


def random_counts(seed: int) -> tuple[dx.VerifiedMetric, dx.LinearQueries]:
    return asked(np.random.default_rng(seed).integers(0, 2, (QUERIES, RECORDS)))


@pytest.mark.parametrize("objective", ["mse", "max"])
@pytest.mark.parametrize("seed", range(3))
def test_no_laplace_noise_is_below_its_floor(seed: int, objective: str) -> None:
    shared = CandidateBuilder(sensitivity_of(*random_counts(seed)), Objective(objective))
    some = with_some(shared)
    assert is_large(shared)
    assert some.sensitivity.changes.count < shared.sensitivity.changes.count
    floor, loss = laplace_bound(some), shared.objective.loss(shared.laplace.variances())
    assert loss / 2 < floor <= loss


def test_no_noise_is_proved_for_some_of_the_differences() -> None:
    some = with_some(CandidateBuilder(sensitivity_of(*random_counts(0))))
    with pytest.raises(CertificateRefused, match="only some of the differences"):
        optimal_laplace(some.sensitivity)


def test_few_differences_are_all_looked_at() -> None:
    shared = CandidateBuilder(sensitivity_of(*asked(np.eye(4, dtype=np.int64))))
    assert with_some(shared) is shared


def test_what_cannot_pay_is_not_built_and_the_table_says_by_how_much() -> None:
    plan = dx.plan(*random_counts(0), thorough=False)
    told = {one.name: one for one in plan.candidates}
    assert plan.mechanism.name == "gaussian-with-jumps"
    assert told["laplace"].predicted_mse is None
    assert "times the least total MSE found" in told["laplace"].reason
    assert "it has at least" in told["rotated-laplace"].reason
    assert "beyond 12 dimensions" in told["block-hulls"].reason
    assert told["epsilon-dp"].predicted_mse is not None
    assert plan.loss <= dx.plan(*random_counts(0), mechanism="laplace").loss


def test_where_a_search_is_too_much_work_where_it_would_begin_decides_and_its_space_is_not_built() -> None:
    shared = CandidateBuilder(sensitivity_of(*asked(np.random.default_rng(0).integers(0, 2, (60, RECORDS)))))
    with pytest.raises(TooLarge, match="its search would begin at"):
        QuickSearch(shared).require_worth_building("rotated-laplace", (), least=1.0)
    assert "_search_space" not in vars(shared)


def test_laplace_noise_is_built_where_it_is_the_best() -> None:
    # Each record is in one count alone: independent noise is nearly the best there is.
    plan = dx.plan(*asked(np.kron(np.eye(QUERIES, dtype=np.int64), np.ones((1, 4), dtype=np.int64))), thorough=False)
    assert {one.name: one for one in plan.candidates}["laplace"].loss is not None
    assert plan.mechanism.name in ("laplace", "rotated-laplace")


def test_a_basis_that_the_search_begins_from_is_worth_what_the_glimpse_says() -> None:
    shared = CandidateBuilder(sensitivity_of(*asked(np.tril(np.ones((QUERIES, QUERIES + 1), dtype=np.int64)))))
    assert quick_estimate_of_rotated_laplace(shared) >= shared.objective.loss(
        dx.plan(
            *asked(np.tril(np.ones((QUERIES, QUERIES + 1), dtype=np.int64))), mechanism="rotated-laplace"
        ).mechanism.variances()
    ) * (1 - 1e-6)
