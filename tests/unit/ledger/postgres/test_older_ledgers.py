"""Answers belong to their charge on a server, too; ledgers that an older version began there are brought up to date."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.errors import LedgerError
from dxgeom.ledger import answers
from dxgeom.ledger.history import migrate_ledger, read_answer, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.postgres_functions import functions_of
from dxgeom.ledger.tables import FORMAT, TABLES
from dxgeom.metrics.metric import DataSet

pytestmark = pytest.mark.service("postgres")

OLD = "b011670edd0b23f77b68d7848207f78284bfa445d0f666f088d4694ac5416d3e"
"""SHA-256 of the functions that the version before this gave a ledger in the schema s."""


def opened(place: str, fingerprint: str = "f") -> Ledger:
    return Ledger.open(
        place, policy_fingerprint=fingerprint, policy_name="n", budget=Fraction(1), data_set=DataSet("visits")
    )


def charged(ledger: Ledger, key: str | None = None) -> Any:
    return ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", key=key)


def as_role(postgres: Any, place: str, role: str) -> str:
    postgres.execute(f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    with opened(place) as ledger:
        ledger.open_account()
        ledger.grant(role)
    return place.replace("postgres@", f"{role}@")


def test_the_functions_of_older_ledgers_are_known_to_the_letter() -> None:
    said = json.dumps([list(one) for one in functions_of("s", FORMAT)])
    assert hashlib.sha256(said.encode()).hexdigest() == OLD


def test_nobody_who_was_granted_answers_for_another(postgres: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    place = postgres.new_ledger()
    ana, bob = (as_role(postgres, place, role) for role in ("ana", "bob"))
    with opened(ana) as hers, opened(bob) as his:
        entry = charged(hers, "monday")
        assert entry.charged_by == "ana" and entry.commitment is not None
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(answers, "_SECRETS", {})
            for ledger in (his, hers):
                with pytest.raises(LedgerError, match="takes its answer from the process that charged it only"):
                    ledger.store(1, b"forged")
        found = hers.find("monday", plan_fingerprint="p", spend=Fraction(1, 10))
        assert found is not None and found.answer is None
        hers.store(entry, b"hers")
    assert read_answer(bob, 1) == b"hers"
    assert [one.charged_by for one in verify_ledger(place).entries] == ["ana"]
    for words, said in (([], '"charged_by": "ana"'), (["--entry", "1"], '"charged_by": "ana"')):
        shown = CliRunner().invoke(app, ["ledger", "show", place, "--format", "json", *words])
        assert said in shown.stdout
    assert "charged by ana" in CliRunner().invoke(app, ["ledger", "show", place, "--entry", "1"]).stdout


def test_a_key_that_another_role_took_first_is_no_answer_of_ones_own(postgres: Any) -> None:
    place = postgres.new_ledger()
    ana, bob = (as_role(postgres, place, role) for role in ("ana", "bob"))
    with opened(bob) as his:
        his.store(charged(his, "monday"), b"what ana shall believe")
    with opened(ana) as hers, pytest.raises(LedgerError, match=r"'monday' is that of entry 1.*another role"):
        hers.find("monday", plan_fingerprint="p", spend=Fraction(1, 10))


def brought_back(postgres: Any, place: str) -> None:
    """As the version before this left it: without the later columns, and with its own functions."""
    schema = place.partition("?ledger=")[2]
    for table in TABLES:
        for column in table.columns:
            if column not in table.columns_of(FORMAT):
                postgres.execute(f"ALTER TABLE {schema}.{table.name} DROP COLUMN {column.name}")
    for one in functions_of(schema, FORMAT):
        rights = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp" if one.definer else ""
        postgres.execute(
            f"CREATE OR REPLACE FUNCTION {schema}.{one.name}({one.arguments}) RETURNS {one.returns} "
            f"LANGUAGE {one.language} {rights} AS $body${one.body}$body$"
        )


CHARGES_AS_BEFORE = """
import sys
from fractions import Fraction
from dxgeom.ledger import answers, charging, ledger
from dxgeom.metrics.metric import DataSet
charge_row = charging.charge_row
def as_before(*words):
    table, fields = charge_row(*words)
    return table, fields[:12]
charging.charge_row = as_before
visits = DataSet("visits")
one = ledger.Ledger.open(sys.argv[1], policy_fingerprint="f", policy_name="n", budget=Fraction(1), data_set=visits)
entry = one.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", key="old")
one.store(entry, "an old answer")
one.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", key="lost")
"""


@pytest.fixture
def old(postgres: Any) -> str:
    """Two charges, one of them answered, none of which says who may answer it."""
    place: str = postgres.new_ledger()
    subprocess.run([sys.executable, "-c", CHARGES_AS_BEFORE, place], check=True)
    brought_back(postgres, place)
    return place


def test_an_older_ledger_is_read_by_all_and_brought_up_to_date_by_its_keeper(postgres: Any, old: str) -> None:
    before = verify_ledger(old)
    assert [entry.commitment for entry in before.entries] == [None, None] and read_answer(old, 1) == b"an old answer"
    postgres.execute("DO $$ BEGIN CREATE ROLE ana LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    schema = old.partition("?ledger=")[2]
    postgres.execute(f"GRANT USAGE ON SCHEMA {schema} TO ana")
    postgres.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO ana")
    postgres.execute(f"GRANT INSERT ON {schema}.entries, {schema}.answers TO ana")
    hers = old.replace("postgres@", "ana@")
    assert read_ledger(hers).entries == before.entries
    with pytest.raises(LedgerError, match=r"an older dxgeom began it.*ledger migrate LEDGER'; nothing was spent"):
        opened(hers)
    done = CliRunner().invoke(app, ["ledger", "migrate", old])
    assert done.exit_code == 0, done.output
    assert verify_ledger(old, seal=before.receipt).entries == before.entries == migrate_ledger(old).entries
    with opened(hers) as ledger:
        with pytest.raises(LedgerError, match="without the secret"):
            ledger.store(2, b"forged for an older charge")
        ledger.store(charged(ledger), b"new")
    after = verify_ledger(hers, seal=before.receipt)
    assert [entry.charged_by for entry in after.entries] == [None, None, "ana"]


def test_an_older_ledger_that_was_altered_is_not_brought_up_to_date(postgres: Any, old: str) -> None:
    schema = old.partition("?ledger=")[2]
    nothing = "RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$"
    postgres.execute(f"CREATE OR REPLACE FUNCTION {schema}.entries_fit() {nothing}")
    for look in (migrate_ledger, verify_ledger, opened):
        with pytest.raises(LedgerError, match="were altered"):
            look(old)


def test_it_is_brought_up_to_date_once_by_whoever_comes_first(old: str) -> None:
    commands = [[sys.executable, "-m", "dxgeom", "ledger", "migrate", old]] * 4
    running = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for one in commands]
    assert [one.communicate(timeout=300)[1] for one in running] == [b""] * 4
    assert len(verify_ledger(old).entries) == 2
