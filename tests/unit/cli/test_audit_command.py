"""``--certificate`` and ``dxgeom audit certificate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app


def run(*words: str | Path) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(app, [*map(str, words), "--format", "json"])
    return result.exit_code, json.loads(result.stdout)


def test_a_checked_policy_has_a_certificate_that_holds(tmp_path: Path, policies: Path) -> None:
    out = tmp_path / "clinic.json"
    assert run("check", policies / "clinic" / "policy.yaml", "--certificate", out)[0] == 0
    code, document = run("audit", "certificate", out, policies / "clinic" / "policy.yaml")
    assert (code, document["verdict"]) == (0, "holds")
    said = CliRunner().invoke(app, ["audit", "certificate", str(out), str(policies / "clinic" / "policy.yaml")])
    assert "verdict  holds" in said.stdout
    code, document = run("audit", "certificate", out, policies / "adult" / "policy.yaml")
    assert (code, document["error"]["kind"]) == (1, "CertificateRefused")
    assert "claims fingerprint" in document["error"]["message"]


@pytest.mark.parametrize(
    ("text", "options"),
    [("0,1/3,2/3\n1/3,0,1/3\n2/3,1/3,0\n", []), ("a,b,0.1\nb,c,0.2\nc,a,0.3\n", ["--edges"])],
    ids=["matrix", "edges"],
)
def test_verified_distances_have_a_certificate_that_holds(tmp_path: Path, text: str, options: list[str]) -> None:
    given, out = tmp_path / "given.csv", tmp_path / "out.json"
    given.write_text(text)
    assert run("verify", given, *options, "--certificate", out)[0] == 0
    assert run("audit", "certificate", out, given)[0] == 0
    given.write_text(text.replace("0.3", "0.25").replace("2/3", "5/9"))
    code, document = run("audit", "certificate", out, given)
    assert (code, document["error"]["kind"]) == (1, "CertificateRefused")


def test_only_what_holds_gets_a_certificate_and_nothing_is_overwritten(tmp_path: Path) -> None:
    given, out = tmp_path / "given.csv", tmp_path / "out.json"
    given.write_text("0,3,1\n3,0,1\n1,1,0\n")
    assert run("verify", given, "--certificate", out)[0] == 1
    assert not out.exists()
    out.write_text("mine")
    document = run("verify", given, "--certificate", out)[1]
    assert "is not overwritten" in document["error"]["message"]
    assert out.read_text() == "mine"


def test_a_certificate_about_nothing_known_is_refused(tmp_path: Path) -> None:
    given, out = tmp_path / "given.csv", tmp_path / "out.json"
    given.write_text("0,1\n1,0\n")
    run("verify", given, "--certificate", out)
    out.write_text(out.read_text().replace('"matrix"', '"moon"', 1))
    code, document = run("audit", "certificate", out, given)
    assert (code, document["error"]["kind"]) == (1, "CertificateRefused")
    assert "'moon'" in document["error"]["message"]


@pytest.mark.long
def test_hulls_of_a_plan_file_are_audited(tmp_path: Path, policies: Path) -> None:
    out, clinic = tmp_path / "plan.json", policies / "clinic"
    words = ("plan", clinic / "policy.yaml", clinic / "queries.yaml", "--mechanism", "hull", "--output", out)
    assert run(*words)[0] == 0
    code, document = run("audit", "hull", out)
    assert (code, document["verdict"]) == (0, "holds")
    assert document["hulls"][0]["mechanism"] == "hull"
    said = CliRunner().invoke(app, ["audit", "hull", str(out)])
    assert "checked  hull: double description finds just these facets" in said.stdout
