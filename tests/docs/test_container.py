"""The image is made of the lock alone, and its user has no rights."""

from __future__ import annotations

import re

from reference.project import ROOT

LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
INSTALLS = [line for line in LINES if re.search(r"pip (install|download)", line)]


def test_what_comes_from_a_network_has_the_hash_of_the_lock():
    fetched = [line for line in INSTALLS if "--no-index" not in line]
    assert len(INSTALLS) == 3 and len(fetched) == 1
    assert "--require-hashes" in fetched[0] and fetched[0].endswith("--requirement /wheels.lock")
    assert all("--find-links /wheels" in line for line in INSTALLS if line not in fetched)


def test_the_lock_is_taken_but_for_one_library_that_nothing_needs():
    (taken,) = [line for line in LINES if line.startswith("RUN awk")]
    left_out = re.search(r"!/\^(.*)==/", taken)[1]
    assert re.search(rf"^{left_out}==", LOCK, re.MULTILINE)
    needed = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("\ndependencies = [")[2].partition("]")[0]
    assert "duckdb" in needed and left_out not in needed


def test_no_address_is_named_beside_the_base_image():
    assert {line.split()[1] for line in LINES if line.startswith("FROM")} == {"python:3.11-slim"}
    assert not [line for line in LINES if "://" in line or "--index-url" in line]


def test_commands_run_as_a_user_without_rights():
    last = LINES[max(k for k, line in enumerate(LINES) if line.startswith("FROM")) :]
    assert "USER 10001" in last and last.index("USER 10001") < last.index('ENTRYPOINT ["dxgeom"]')
    assert "--shell /usr/sbin/nologin" in "\n".join(last)
