"""A plan is kept beside the ledger, and used again only where it is the plan of just this, and proved anew."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

import dxgeom as dx
from dxgeom.plan_files.kept_plans import ENDING, KeptPlan
from dxgeom.plan_files.text.json_text import digest_of, document_text

POLICY = """
policy: people
universe: {attributes: {sex: [F, M], age: {bins: [0, 20, 40, 60, 80, 100]}}}
rules: [{change: sex, epsilon: 1}, {change: age, epsilon: 1, per: 20}]
budget: 10
"""
COUNTS = "records: 40\nqueries: [{name: women, count: sex == 'F'}, {name: old, count: age >= 60}]"
OTHERS = "records: 40\nqueries: [{name: men, count: sex == 'M'}]"
MEDIAN = "records: 40\nqueries: [{median: age}]"
HOW = {"spend": 1, "mechanism": "laplace"}


def none_told(line: str) -> None:
    raise AssertionError(line)


def asked(folder, policy=POLICY, queries=COUNTS, how=HOW, ledger="privacy.db"):
    read = dx.parse_policy(policy)
    return KeptPlan.beside(str(folder / ledger), read, dx.parse_queries(queries, read), how)


def planned(kept):
    return dx.plan(kept.policy.compile(), kept.question, mechanism="laplace")


def test_a_kept_plan_is_the_plan_that_was_made(tmp_path):
    assert asked(tmp_path).plan(none_told) is None
    kept = asked(tmp_path)
    plan = planned(kept)
    kept.keep(plan)
    found = asked(tmp_path).plan(none_told)
    assert found.fingerprint == plan.fingerprint
    assert found.mechanism.fingerprint == plan.mechanism.fingerprint
    assert found.file is None


@pytest.mark.parametrize(
    "other",
    [
        {"policy": POLICY.replace("budget: 10", "budget: 9")},
        {"policy": POLICY.replace("policy: people", "policy: persons")},
        {"queries": OTHERS},
        {"queries": COUNTS.replace("40", "50")},
        {"how": {**HOW, "mechanism": "hull"}},
        {"how": {**HOW, "thorough": True}},
        {"how": {**HOW, "records": 40}},
        {"ledger": "other.db"},
    ],
)
def test_whatever_else_is_said_is_another_plan(tmp_path, other):
    assert asked(tmp_path, **other).path != asked(tmp_path).path


def test_the_spend_decides_between_forms_of_quantiles_and_nothing_for_counts(tmp_path):
    half = {**HOW, "spend": 2}
    assert asked(tmp_path, how=half).path == asked(tmp_path).path
    assert asked(tmp_path, queries=MEDIAN, how=half).path != asked(tmp_path, queries=MEDIAN).path


@pytest.mark.parametrize("ledger", [":memory:", "postgresql://localhost/privacy", "postgres://localhost/privacy"])
def test_nothing_is_kept_where_the_ledger_is_no_file(ledger):
    policy = dx.parse_policy(POLICY)
    assert KeptPlan.beside(ledger, policy, dx.parse_queries(COUNTS, policy), HOW) is None


def test_nothing_is_kept_of_what_was_made_by_hand(tmp_path):
    policy = dx.parse_policy(POLICY)
    queries = dx.LinearQueries.from_matrix(["a"], [[1] * policy.universe.size])
    assert KeptPlan.beside(str(tmp_path / "privacy.db"), policy, queries, HOW) is None


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_folder_and_files_are_their_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        kept = asked(tmp_path)
        kept.keep(planned(kept))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / f"privacy.db{ENDING}").stat().st_mode) == 0o700
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600


def changed(text: str, how: str) -> str:
    if how == "cut":
        return text[: len(text) // 2]
    if how == "other bytes":
        return "\x00\xff"
    document = json.loads(text)
    if how == "less noise":
        document["mechanism"]["law"] = json.loads(json.dumps(document["mechanism"]["law"]).replace('"1"', '"1/100"'))
    document["errors"][0]["rmse"] = "0.001"
    return json.dumps(document)


@pytest.mark.parametrize("how", ["cut", "other bytes", "less noise", "smaller errors"])
def test_a_damaged_or_forged_plan_is_not_used_and_one_line_says_so(tmp_path, how):
    kept = asked(tmp_path)
    kept.keep(planned(kept))
    kept.path.write_text(changed(kept.path.read_text(encoding="ascii"), how), encoding="latin-1")
    told: list[str] = []
    assert asked(tmp_path).plan(told.append) is None
    (line,) = told
    assert line.startswith("a plan kept beside the ledger is not used, and made anew: DX30")
    assert "\n" not in line
    kept.keep(planned(kept))
    assert asked(tmp_path).plan(none_told) is not None


@pytest.mark.parametrize("other", [{"queries": OTHERS}, {"policy": POLICY.replace("epsilon: 1,", "epsilon: 3,")}])
def test_a_plan_of_something_else_under_this_name_is_not_used(tmp_path, other):
    foreign, kept = asked(tmp_path, **other), asked(tmp_path)
    foreign.keep(planned(foreign))
    foreign.path.replace(kept.path)
    told: list[str] = []
    assert asked(tmp_path).plan(told.append) is None
    assert told == [
        "a plan kept beside the ledger is not used, and made anew: it is of another policy or other queries"
    ]


def test_several_that_keep_at_once_leave_one_whole_plan(tmp_path):
    kept = asked(tmp_path)
    plan = planned(kept)
    each = [threading.Thread(target=kept.keep, args=(plan,)) for _ in range(4)]
    for one in each:
        one.start()
    for one in each:
        one.join()
    assert [path.name for path in kept.path.parent.iterdir()] == [kept.path.name]
    assert asked(tmp_path).plan(none_told).fingerprint == plan.fingerprint


def test_what_cannot_be_written_is_not_kept(tmp_path):
    kept = asked(tmp_path / "nowhere")
    kept.keep(planned(kept))
    assert not (tmp_path / "nowhere").exists()


def edition(document):
    document["policy"]["written"]["dataset"]["edition"] = "2027"


def data_set(document):
    document["policy"]["written"]["dataset"]["name"] = "of nobody"


def form(document):
    document["policy"]["written"]["reading"]["separator"] = ";"


def unit(document):
    document["queries"]["written"]["queries"][0]["unit"] = "millions"


def weights(document):
    document["queries"]["written"] = None


NAMED = f"{POLICY}\ndataset: {{name: visits, edition: '2026', budget: 10}}\nreading: {{separator: ','}}"


@pytest.mark.parametrize("forge", [edition, data_set, form, unit, weights])
def test_a_plan_forged_where_no_fingerprint_looks_is_not_used(tmp_path, forge):
    """The data set that is charged, how the table's file is cut, and units are in no fingerprint."""
    kept = asked(tmp_path, policy=NAMED)
    kept.keep(planned(kept))
    assert asked(tmp_path, policy=NAMED).plan(none_told) is not None
    document = json.loads(kept.path.read_text(encoding="ascii"))
    forge(document)
    kept.path.write_text(document_text({**document, "digest": digest_of(document)}), encoding="ascii")
    told: list[str] = []
    assert asked(tmp_path, policy=NAMED).plan(told.append) is None
    assert len(told) == 1


def linked_folder(folder, kept):
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))


def linked_file(folder, kept):
    elsewhere = folder.with_name("plan.json")
    kept.path.replace(elsewhere)
    kept.path.symlink_to(elsewhere)


def open_folder(folder, kept):
    folder.chmod(0o777)


def open_file(folder, kept):
    kept.path.chmod(0o660)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("opened", [linked_folder, linked_file, open_folder, open_file])
def test_nothing_is_taken_from_where_others_may_write(tmp_path, opened):
    kept = asked(tmp_path)
    plan = planned(kept)
    kept.keep(plan)
    opened(kept.path.parent, kept)
    told: list[str] = []
    assert kept.plan(told.append) is None
    assert "is a link, another's, or open for others to write" in told[0]
    before = sorted(path.name for path in tmp_path.rglob("*"))
    kept.keep(plan)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX's")
def test_nothing_is_taken_from_a_folder_of_somebody_else(tmp_path, monkeypatch):
    kept = asked(tmp_path)
    kept.keep(planned(kept))
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    told: list[str] = []
    assert kept.plan(told.append) is None
    assert "another's" in told[0]


def test_a_folder_that_may_not_be_looked_into_is_told_of_and_ends_nothing(tmp_path):
    kept = asked(tmp_path)
    kept.path.parent.write_text("no folder")
    told: list[str] = []
    assert kept.plan(told.append) is None
    assert told == ["a plan kept beside the ledger is not used, and made anew: it cannot be read: Not a directory"]


@pytest.mark.parametrize("ledger", ["", ".", "..", "/"])
def test_nothing_is_kept_beside_what_is_no_name_of_a_file(ledger):
    policy = dx.parse_policy(POLICY)
    assert KeptPlan.beside(ledger, policy, dx.parse_queries(COUNTS, policy), HOW) is None


def test_of_too_many_kept_plans_the_oldest_are_deleted_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr("dxgeom.plan_files.kept_plans.MOST_KEPT", 3)
    kept = asked(tmp_path)
    folder = kept.path.parent
    folder.mkdir(mode=0o700)
    older = [folder / f"{digit * 64}.json" for digit in "abcd"]
    for age, place in enumerate(older):
        place.write_text("{}", encoding="ascii")
        os.utime(place, (age + 1, age + 1))
    others = [folder / "mine.json", folder / f"{'e' * 64}.txt"]
    for place in others:
        place.write_text("", encoding="ascii")
        os.utime(place, (0, 0))
    assert kept.keep(planned(kept))
    assert {*folder.iterdir()} == {kept.path, *older[2:], *others}
