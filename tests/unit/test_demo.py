"""``make demo``: the whole path on real data."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from reference.project import POLICIES, ROOT

import dxgeom as dx


def test_the_demonstration_releases_answers_and_draws_pictures_afresh(tmp_path: Path) -> None:
    (tmp_path / "privacy.db").write_text("left over from an earlier run")
    (tmp_path / "mine.txt").write_text("not the demonstration's")
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "us_cities.py"), "--output", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    for part in ("odds at most", "chosen: hull", "residents above 1000 m", "± with ε-DP", "3/4 remains"):
        assert part in result.stdout
    for name in ("noise-body.png", "improvement.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "mine.txt").exists()
    check_ledger_and_answers(tmp_path)


def check_ledger_and_answers(folder: Path) -> None:
    policy = dx.load_policy(POLICIES / "us-cities" / "policy.yaml")
    metric = policy.compile()
    with dx.Ledger.open(
        folder / "privacy.db", policy_fingerprint=metric.fingerprint, policy_name=metric.title, budget=metric.budget
    ) as ledger:
        assert ledger.remaining() == Fraction(3, 4)
    release = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert (release["records"], release["mechanism"], release["spent"]) == (152_979_160, "hull", "1/4")
    assert [len(answer["interval"]) for answer in release["answers"]] == [2] * 7
