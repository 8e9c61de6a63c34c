"""Plans released in instalments from a ledger on a server, and what the server itself refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import LedgerError
from dxgeom.planner.instalments.keys import make_key

pytestmark = pytest.mark.service("postgres")
pytest.importorskip("cryptography")

POLICY = """
policy: visits
privacy: concentrated
universe:
  attributes:
    day: {bins: [0, 1, 2, 3]}
rules:
  - {presence: true, epsilon: 1}
budget: 3
"""
ROWS = np.array([3, 4, 5, 0])


@pytest.fixture
def plan() -> Any:
    policy = dx.parse_policy(POLICY)
    return dx.plan(policy.compile(), dx.parse_queries("queries:\n - prefixes: day\n", policy), mechanism="gaussian")


def test_whoever_keeps_it_opens_the_first_plan_and_roles_go_on_with_theirs(
    postgres: Any, plan: Any, tmp_path: Path
) -> None:
    key = make_key(tmp_path / "key").file
    place = postgres.new_ledger()
    role = f"analyst_{place.rpartition('_')[2]}"
    postgres.execute(f"CREATE ROLE {role} LOGIN")
    account = plan.mechanism.account
    with dx.Ledger.open(
        place,
        policy_fingerprint=account.policy_fingerprint,
        policy_name=account.policy_name,
        budget=account.budget,
        privacy_measure="concentrated",
        policy=account.policy if isinstance(account.policy, str | None) else account.policy(),
    ) as ledger:
        ledger.grant(role)
    theirs = place.replace("//postgres@", f"//{role}@")
    with pytest.raises(LedgerError, match="whoever keeps it opens the first one"):
        plan.open(theirs, along="day", spend=1)
    assert len(dx.ledger.read_ledger(place).entries) == 0
    periods = plan.open(place, along="day", spend=1).periods
    told = [plan.release_period(ROWS, period=one, along="day", ledger=place, key=key) for one in periods]
    again = plan.release_period("no table", period=periods[0], along="day", ledger=theirs, key="no key")
    assert again.exact_values == told[0].exact_values
    assert len(dx.ledger.verify_ledger(place).entries) == 1
    policy = dx.parse_policy(POLICY)
    other = dx.plan(policy.compile(), dx.parse_queries("queries:\n - marginal: day\n", policy), mechanism="gaussian")
    other.open(theirs, along="day", spend=1)
    other.release_period(ROWS, period=periods[0], along="day", ledger=theirs, key=key)
    assert len(dx.ledger.verify_ledger(theirs).entries) == 2


def test_the_server_takes_no_step_that_cannot_follow(postgres: Any, plan: Any, tmp_path: Path) -> None:
    import psycopg

    key = make_key(tmp_path / "key").file
    place = postgres.new_ledger()
    account = plan.mechanism.account
    with dx.Ledger.open(
        place,
        policy_fingerprint=account.policy_fingerprint,
        policy_name=account.policy_name,
        budget=account.budget,
        privacy_measure="concentrated",
        policy=account.policy if isinstance(account.policy, str | None) else account.policy(),
    ):
        pass
    plan.open(place, along="day", spend=1)
    plan.release_period(
        ROWS, period=plan.open(place, along="day", spend=1).periods[0], along="day", ledger=place, key=key
    )
    schema = place.rpartition("=")[2]
    for statement in (
        f'DELETE FROM "{schema}".instalments',
        f"UPDATE \"{schema}\".instalments SET text = ''",
        f'INSERT INTO "{schema}".instalments SELECT * FROM "{schema}".instalments LIMIT 1',
    ):
        with pytest.raises(psycopg.Error):
            postgres.execute(statement)
    dx.ledger.verify_ledger(place)


def test_a_ledger_that_is_moved_takes_its_opened_plans_along(postgres: Any, plan: Any, tmp_path: Path) -> None:
    key = make_key(tmp_path / "keys" / "key").file
    (tmp_path / "books").mkdir()
    file = str(tmp_path / "books" / "privacy.db")
    periods = plan.open(file, along="day", spend=1).periods
    first = plan.release_period(ROWS, period=periods[0], along="day", ledger=file, key=key)
    place = postgres.new_ledger()
    dx.ledger.move_ledger(file, place)
    again = plan.release_period("no table", period=periods[0], along="day", ledger=place, key=key)
    assert again.exact_values == first.exact_values
    plan.release_period(ROWS, period=periods[1], along="day", ledger=place, key=key)
    with pytest.raises(LedgerError, match="was moved"):
        plan.release_period(ROWS, period=periods[1], along="day", ledger=file, key=key)
