"""``dxgeom plan`` under concentrated privacy says which currency suits, at equal distances and at equal (ε, δ)."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from dxgeom.cli.main import app

POLICY = """policy: few
universe: {attributes: {a: [x, y, z]}}
rules: [{change: a, epsilon: 1}]
privacy: concentrated
budget: 3
"""


def test_the_table_is_followed_by_both_comparisons(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "queries.yaml").write_text("queries: [{marginal: [a]}]\n")
    words = ["plan", str(tmp_path / "policy.yaml"), str(tmp_path / "queries.yaml"), "--all"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "\npure    at equal distances " in shown.output
    assert "as one release of (ε, 1e-06) it has " in shown.output
    named = CliRunner().invoke(app, [*words, "--mechanism", "gaussian"])
    assert named.exit_code == 0 and "at equal distances" not in named.output
    found = json.loads(CliRunner().invoke(app, [*words, "--format", "json"]).output)
    assert set(found["bounds"]) == {"gaussian", "additive", "unbiased"} and found["currencies"]["ratio"] > 1
