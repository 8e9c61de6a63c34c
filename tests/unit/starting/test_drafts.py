"""Drafts from a table's columns: valid, or saying what is missing; only values that were declared public are read."""

from __future__ import annotations

import datetime
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest
from reference.project import POLICIES, ROOT
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.engines.opening import public_values
from dxgeom.errors import DataError, PolicyError
from dxgeom.starting import examples
from dxgeom.starting.choices import Dialogue
from dxgeom.starting.declared import Days, Numbers, Values, ends_of
from dxgeom.starting.drafts import Asked, DraftPeople, draft_of, quoted
from dxgeom.starting.examples import example_names, write_example
from dxgeom.starting.seen import SeenColumn

STRANGE = ["no: city", "y", "#", "a`b", "{x}", "3", "null", "- a", "é"]
ONE = Fraction(1)


def asked(declared, kind="unknown"):
    return [Asked(SeenColumn(name, kind), said) for name, said in declared.items()]


def drafted(name, declared, epsilon=ONE):
    return draft_of(name, f"A draft for {name}.", asked(declared), epsilon)


def test_public_values_are_read_up_to_a_limit(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b\nx,1\ny,2\nx,3\n,4\n")
    assert public_values(file, "a", 2) == ("x", "y")
    with pytest.raises(DataError, match="more than 3 values"):
        public_values(file, "b", 3)


def test_what_is_declared_makes_a_policy_and_queries_that_load():
    declared = {
        "sex": Values(("F", "M")),
        "age": ends_of("0:110", whole=True),
        "kg": ends_of("0:150:7.5", whole=False),
        "seen": ends_of("2025-01-01:2026-12-31", whole=False),
    }
    draft = drafted("clinic", declared, Fraction("0.5"))
    policy = dx.parse_policy(draft.policy)
    assert draft.missing == ()
    assert [attribute.size for attribute in policy.universe.attributes] == [2, 23, 21, 49]
    assert dx.parse_queries(draft.queries, policy).count == 3


def test_strange_names_and_words_stay_what_they_are():
    names = ["no: city", "y", "#", "3", "é - {a}"]
    declared = {name: Values(tuple(STRANGE)) for name in names}
    draft = drafted("a: {\nb", declared)
    policy = dx.parse_policy(draft.policy)
    assert list(policy.universe.names) == names
    assert list(policy.universe.attributes[0].labels) == [*STRANGE, "missing"]
    assert dx.parse_queries(draft.queries, policy).count == (len(STRANGE) + 1) * 2


def test_what_is_not_declared_is_pointed_at():
    draft = drafted("t", {"a": Values(("x", "y")), "b": None})
    assert draft.missing == ("b",)
    with pytest.raises(PolicyError, match="found 'FILL IN'"):
        dx.parse_policy(draft.policy)


@pytest.mark.parametrize("text", ["", "1", "1:1", "2:1", "a:b", "0:1:0", "0:1:2", "2026-01-01:2025-01-01", "0:1:1:1"])
def test_ends_that_make_no_sense_are_refused(text):
    with pytest.raises(DataError, match="range"):
        ends_of(text, whole=False)


def test_ends_are_rounded_to_steps():
    assert ends_of("0:93", whole=True) == Numbers(Fraction(0), Fraction(95), Fraction(5), True)
    assert ends_of("1:5", whole=True) == Numbers(Fraction(1), Fraction(5), Fraction(1), True)
    assert ends_of("-1.5:1", whole=True) == Numbers(Fraction("-1.5"), Fraction(1), Fraction("0.1"), False)
    assert ends_of("2026-01-01:2026-01-31:7", whole=False) == Days(
        datetime.date(2026, 1, 1), datetime.date(2026, 1, 31), 7
    )


@pytest.mark.parametrize("span", [1, 3, 17, 32, 33, 100, 110, 251, 600, 999, 1001, 10**6])
def test_a_range_has_few_whole_values_or_ten_to_twenty_five_round_steps(span):
    """Few of numbers that need not be whole are as many as of whole ones that are many."""
    whole = ends_of(f"0:{span}", whole=True)
    assert (whole.step == 1 and whole.steps == span < 33) or 10 <= whole.steps <= 25
    assert 10 <= ends_of(f"0:{span}", whole=False).steps <= 25


def test_a_draft_has_an_attribute_and_every_column_a_name():
    with pytest.raises(DataError, match="every column is left out"):
        drafted("t", {})
    with pytest.raises(DataError, match="without a name"):
        drafted("t", {"": None, "a": None})


def test_words_are_quoted_where_yaml_would_take_them_for_something_else():
    assert [quoted(word) for word in ("ward", "no", "a b", 'say "x"', "back\\slash")] == [
        "ward",
        '"no"',
        '"a b"',
        '"say \\"x\\""',
        '"back\\\\slash"',
    ]


def test_every_example_is_written_as_it_is(tmp_path):
    assert set(example_names()) == {path.name for path in POLICIES.iterdir() if path.is_dir()}
    for path in write_example("clinic", tmp_path / "new"):
        assert path.read_bytes() == (POLICIES / "clinic" / path.name).read_bytes()
    with pytest.raises(DataError, match="not overwritten"):
        write_example("clinic", tmp_path / "new")
    with pytest.raises(DataError, match="did you mean 'clinic'"):
        write_example("clinc", tmp_path / "other")


def test_the_wheel_holds_the_same_in_less_than_a_megabyte(tmp_path, monkeypatch):
    names: dict[str, object] = {"__name__": "hook"}
    exec(compile((ROOT / "checks" / "wheel_examples.py").read_text(), "wheel_examples.py", "exec"), names)
    archive = tmp_path / "examples.zip"
    names["pack"](POLICIES, archive)
    assert archive.stat().st_size < 1_000_000
    monkeypatch.setattr(examples, "_EXAMPLES", Path("nowhere"))
    monkeypatch.setattr(examples, "archived", lambda _: zipfile.ZipFile(archive))
    for path in write_example("us-cities", tmp_path / "new"):
        assert path.read_bytes() == (POLICIES / "us-cities" / path.name).read_bytes()


def test_the_pages_of_the_guide_travel_with_the_wheel(tmp_path, monkeypatch):
    here = examples.page_titles()
    assert next(iter(here)) == "a-real-table" and all(title[0].isupper() for title in here.values())
    assert {"start", "policies", "what-it-means"} <= set(here)
    assert examples.page_text("start") == (ROOT / "docs" / "guide" / "start.md").read_text(encoding="utf-8")
    with pytest.raises(DataError, match="did you mean 'policies'"):
        examples.page_text("policys")
    names: dict[str, object] = {"__name__": "hook"}
    exec(compile((ROOT / "checks" / "wheel_examples.py").read_text(), "wheel_examples.py", "exec"), names)
    archive = tmp_path / "pages.zip"
    names["pack"](ROOT / "docs", archive, *(f"{room}/*.md" for room in examples.ROOMS))
    monkeypatch.setattr(examples, "_PAGES", Path("nowhere"))
    monkeypatch.setattr(examples, "archived", lambda _: zipfile.ZipFile(archive))
    assert examples.page_titles() == here
    listed, one = (CliRunner().invoke(app, ["docs", *words]) for words in ((), ("start",)))
    assert listed.stdout.startswith("a-real-table") and one.stdout == examples.page_text("start")


def test_totals_that_are_published_elsewhere_are_listed_or_have_a_mark():
    sex = asked({"sex": Values(("F", "M"))})
    alone, many = DraftPeople((), "one row each"), DraftPeople(("id",))
    drafts = [
        draft_of("d", "A draft.", sex, ONE, people=people, known=known).policy
        for people, known in ((alone, None), (alone, ("sex",)), (alone, ()), (many, None))
    ]
    assert ["# known:" in text for text in drafts] == [True, False, False, False]
    assert ["\nknown:\n  - totals: sex\n" in text for text in drafts] == [False, True, False, False]
    assert dx.parse_policy(drafts[1]).resolved.known is not None


def test_a_dialogue_takes_columns_that_there_are():
    typed, told = iter(["sexes, age", "sex, age,"]), []
    dialogue = Dialogue(lambda _: next(typed), told.append)
    assert dialogue._published(["sex", "age"]) == ("sex", "age")
    assert told == ["  There are sex, age"]
