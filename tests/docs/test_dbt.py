"""What the page on dbt shows is run on DuckDB: dbt is played by a command and an object that do what it documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from reference.project import GUIDE, POLICIES

import dxgeom as dx
from dxgeom.ledger.history import read_ledger

PAGE = (GUIDE / "dbt.md").read_text(encoding="utf-8")
SQL, SCRIPT, MODEL = (re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)[0] for kind in ("sql", "sh", "python"))
CLINIC = POLICIES / "clinic"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with policy, queries, a source, and the script."""
    monkeypatch.chdir(tmp_path)
    for name in ("policy.yaml", "queries.yaml"):
        Path(name).write_bytes((CLINIC / name).read_bytes())
    rows = [f"{'MF'[k % 2]},{('Yes', 'No')[k % 3 == 0]},{('above', 'below')[k % 5 == 0]} 18,p{k}" for k in range(60)]
    Path("source.csv").write_text("\n".join(["gender,native,age,name", *rows]) + "\n", encoding="utf-8")
    Path("answers").mkdir()
    Path("after-dbt.sh").write_text(SCRIPT, encoding="utf-8")
    return tmp_path


def built(session):
    """The model in SQL as DuckDB runs it, once dbt has filled in its source."""
    return session.sql(
        re.sub(
            r"\{\{ source\(.*?\) \}\}",
            "read_csv('source.csv', all_varchar=true)",
            re.sub(r"\{\{ config\(.*?\) \}\}", "", SQL),
        )
    )


def command(name, line):
    folder = Path("bin")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


@pytest.mark.long
@pytest.mark.parametrize("fails", [False, True])
def test_the_script_releases_what_was_built_and_nothing_if_dbt_fails(project, fails):
    built(duckdb.connect()).write_parquet("built.parquet")
    command("dbt", "exit 1" if fails else "mv built.parquet patients.parquet")
    command("dxgeom", f'exec "{sys.executable}" -m dxgeom "$@" --mechanism laplace')
    path = f"{project}/bin:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "after-dbt.sh"], env={**os.environ, "PATH": path, "NIGHT": "2026-11-27"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, Path("privacy.db").exists()) == ((1, False) if fails else (0, True)), done.stderr
    assert len(list(Path("answers").glob("*.json"))) == (0 if fails else 1)


class Played:
    """What dbt hands to a model in Python: ``ref`` gives a relation of the session."""

    def __init__(self, session):
        self.session, self.configured = session, {}

    def config(self, **how):
        self.configured = how

    def ref(self, name):
        return self.session.table(name)


@pytest.mark.long
def test_the_model_is_charged_once_a_night(project, monkeypatch):
    policy = dx.load_policy("policy.yaml")
    plan = dx.plan(policy.compile(), dx.load_queries("queries.yaml", policy))
    dx.save_plan(plan, "plan.json", policy=policy, spend="1/4")
    session = duckdb.connect()
    built(session).to_table("patients")
    known: dict[str, object] = {}
    exec(compile(MODEL, "patients_released.py", "exec"), known)
    nights = []
    for night in ("26", "26", "27"):
        monkeypatch.setenv("NIGHT", f"2026-11-{night}")
        dbt = Played(session)
        session.register("answers", known["model"](dbt, session))
        assert dbt.configured == {"materialized": "table"}
        nights.append(session.sql("SELECT name, value FROM answers ORDER BY name").fetchall())
    assert nights[0] == nights[1] != nights[2]
    assert len(read_ledger("privacy.db").entries) == 2
