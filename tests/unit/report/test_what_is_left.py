"""What a release leaves of the budget: exactly, or rounded down where that is shorter, so that it can be spent."""

from __future__ import annotations

from fractions import Fraction

import dxgeom as dx

POLICY = """policy: visits
universe: {attributes: {day: [a, b, c]}}
rules: [{presence: true, epsilon: 1}]
privacy: concentrated
budget: 2
"""


def test_many_digits_are_rounded_down_and_what_is_named_can_be_spent(tmp_path):
    policy = dx.parse_policy(POLICY)
    plan = dx.plan(policy.compile(), dx.parse_queries("queries: [{count: true, by: day}]", policy))
    data = {"day": ["a", "b", "b"]}
    first = plan.release(data, ledger=tmp_path / "l.db", spend="1/2", insecure_test_seed=1)
    assert "; 1.936 and a little more is left." in " ".join(str(first).split())
    assert Fraction("1.936") < first.remaining < Fraction("1.937")
    last = plan.release(data, ledger=tmp_path / "l.db", spend="1.936", insecure_test_seed=2)
    assert last.remaining > 0
