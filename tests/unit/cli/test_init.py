"""dxgeom init on messy tables: how they are written is found or asked about; no cell gets into a file or a screen."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.project import ROOT
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli import init as command
from dxgeom.cli.main import app
from dxgeom.starting import tables

DRAFTS = ROOT / "tests" / "golden" / "drafts"
ROWS = range(60)
ORDERS = [
    ("order_id", "bigint", False, [], [], True),
    ("customer_id", "bigint", False, [], [], False),
    ("ordered_at", "timestamp with time zone", False, [], [], False),
    ("country", "character varying(2)", False, [], [], False),
    ("channel", "text", False, [], ["CHECK ((channel = ANY (ARRAY['web'::text, 'app'::text, 'shop'::text])))"], False),
    ("items", "integer", False, [], ["CHECK ((items > 0))"], False),
    ("amount", "numeric(10,2)", False, [], [], False),
    ("returned", "boolean", False, [], [], False),
]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words, typed=None):
    return CliRunner().invoke(app, ["init", *map(str, words)], input=typed)


def written(name, header, row, *, sep=",", encoding="utf-8", before="", after="", end="\n"):
    lines = [*before.splitlines(), *([header] if header else []), *(row(k) for k in ROWS), *after.splitlines()]
    Path(name).write_bytes((end.join(lines).replace("§", sep) + end).encode(encoding))


def drafted(name, *words):
    result = run(name, *words)
    assert result.exit_code == 0, result.output
    return Path("policy.yaml").read_text(encoding="utf-8")


def stays():
    """The annex's hospital: 6,303 visits of 4,200 people."""
    chosen = random.Random(1)
    people = [*range(4200), *(chosen.randrange(4200) for _ in range(2103))]
    lines = ["Pat-Nr;Geschlecht;Alter;Ankunft;Wohnort;Diagnose (ICD);Wartezeit min;Aufgenommen;Triage"]
    for k, who in enumerate(people):
        sex, day = ("F", "M", "f ", "D")[k % 4], f"{1 + k % 28:02d}.{1 + k % 12:02d}.2025 {k % 24:02d}:{k % 60:02d}"
        code = f"{'ABCDEFGHIJ'[k % 10]}{k % 100:02d}.{k % 7}" if k % 11 else ""
        wait, last = f"{k % 500},{k % 10}", f"{'ja' if k % 3 else 'nein'};{1 + k % 5}"
        lines.append(f"{20000 + who};{sex};{k % 97};{day};Ort {k % 300};{code};{wait};{last}")
    Path("aufnahmen.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_draft_of_a_dialogue_is_that_of_the_design(monkeypatch):
    stays()
    monkeypatch.setattr(command, "_somebody_answers", lambda: True)
    answers = "1|1|F, M, D|y|y|1|y|y|0, 600|ja, nein|1, 5".replace("|", "\n")
    result = run("aufnahmen.csv", typed=answers + "\n")
    assert result.stdout == (DRAFTS / "stays.txt").read_text(encoding="utf-8")
    assert Path("policy.yaml").read_text() == (DRAFTS / "stays.yaml").read_text()
    assert Path("policy-queries.yaml").read_text() == (DRAFTS / "stays-queries.yaml").read_text()
    checked = CliRunner().invoke(app, ["check", "policy.yaml", "--table", "aufnahmen.csv"])
    assert checked.exit_code == 0 and "6,303 rows, 4,200 people (Pat-Nr)" in checked.stdout, checked.output


def test_the_draft_of_a_server_is_that_of_the_design(monkeypatch):
    monkeypatch.setattr(tables, "schema_of", lambda _: ("shop.orders", ORDERS))
    result = run("postgresql://analyst:secret@db/shop#shop.orders", "--person", "customer_id", "--accept")
    assert result.stdout == (DRAFTS / "orders.txt").read_text(encoding="utf-8")
    assert Path("policy.yaml").read_text() == (DRAFTS / "orders.yaml").read_text()
    assert "analyst" not in Path("policy.yaml").read_text()


@pytest.mark.parametrize(
    ("checks", "words"),
    [
        (["CHECK ((a = ANY (ARRAY['x'::text, 'it''s'::text])))"], ("x", "it's")),
        (["CHECK (((a)::text = ANY ((ARRAY['x'::character varying])::text[])))"], ("x",)),
        (["CHECK ((a = ANY (ARRAY['x'::text])) OR (b > 0))"], ()),
        (["CHECK ((a <> 'x'::text))"], ()),
        (["a IN ('x', 'y')"], ("x", "y")),
        (["a NOT IN ('x', 'y')"], ()),
    ],
)
def test_only_a_check_that_lists_words_is_taken_for_the_words(checks, words):
    assert tables._words_of(checks) == words


def test_sqlite_is_read_by_its_schema():
    with sqlite3.connect("clinic.db") as base:
        base.execute(
            "CREATE TABLE visits (id INTEGER PRIMARY KEY, patient INTEGER NOT NULL, sex TEXT NOT NULL "
            "CHECK (sex IN ('F', 'M')), age INTEGER NOT NULL, note TEXT)"
        )
        base.execute("INSERT INTO visits VALUES (1, 4711, 'F', 77, 'CANARY')")
    base.close()
    text = drafted("sqlite:///clinic.db#visits", "--person", "patient")
    assert "sex: [F, M]" in text and "age: {range: [0, 110], step: 5, clamp: true}" in text and "note" in text
    assert run("sqlite:///clinic.db#none", "-o", "other.yaml").exit_code == 1


FORMS = {
    "tabs": ({"sep": "\t", "header": "user§size§sex"}, ["separator: tab"]),
    "bars": ({"sep": "|", "header": "user§size§sex"}, ['separator: "|"']),
    "a mark": ({"sep": ";", "header": "user§size§sex", "encoding": "utf-8-sig"}, ['separator: ";"']),
    "utf-16": ({"sep": "\t", "header": "user§size§sex", "encoding": "utf-16"}, ["separator: tab", "encoding: utf-16"]),
    "sep=": ({"sep": ";", "header": "user§size§sex", "before": "sep=;"}, ['separator: ";"', "header: 2"]),
    "a title": ({"sep": ";", "header": "user§size§sex", "before": "CANARY 3.4.2025§§\nKlinik\n\n"}, ["header: 4"]),
    "old Macs": ({"header": "user§size§sex", "end": "\r"}, []),
    "Windows": ({"header": "user§size§sex", "end": "\r\n"}, []),
    "a total": ({"header": "user§size§sex", "after": "Summe§4711§"}, ["ignore: {user: FILL IN}"]),
    "an open mark": ({"header": "user§size§sex", "after": '7§"4§F\n8§9§M'}, ["line_breaks: FILL IN"]),
}


@pytest.mark.parametrize("case", FORMS)
def test_how_a_file_is_written_is_found(case):
    how, lines = FORMS[case]
    written("t.csv", row=lambda k: f"{k // 2}§{k * 7 % 50}§{'FM'[k % 2]}", **how)
    text = drafted("t.csv")
    reading = text.partition("reading:")[2].partition("\n\n")[0]
    assert [line for line in lines if line not in reading] == []
    assert len(reading.strip().splitlines()) == len(lines) + (case in ("a title",))
    assert "people: FILL IN    # user?" in text and "CANARY" not in text and "4711" not in text


HEADERS = {
    "a number": "17§Ann§F",
    "a day": "2025-03-04§Ann§F",
    "repeated": "who§who§sex",
    "empty": "who§§sex",
    "a cell of its column": "who§Name 3§sex",
    "shaped like its column": "who§Name 99§sex",
    "mail": "who§ann@example.org§sex",
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_that_looks_like_data_is_asked_about_and_never_shown(case):
    written("t.csv", HEADERS[case], lambda k: f"x{k}§Name {k % 20}§{'FM'[k % 2]}")
    result = run("t.csv")
    assert result.exit_code == 2
    assert "Line 1" in result.stderr and "--header none --names" in result.stderr and "--header 1" in result.stderr
    assert not any(word in result.output for word in ("Ann", "Name", "ann@"))
    assert [path.name for path in Path().iterdir()] == ["t.csv"]
    assert "names: [who, what, sex]" in drafted("t.csv", "--names", "who, what, sex")


def test_two_columns_of_one_name_are_told_by_their_places():
    written("t.csv", "who§age§age", lambda k: f"x{k}§{k}§{k + 1}")
    result = run("t.csv")
    assert result.exit_code == 2 and "age" not in result.output
    assert "its cells 2 and 3 are alike" in result.stderr and "one of the two is renamed in the table" in result.stderr


def test_words_only_may_be_names_or_data():
    written("t.csv", "Anna§Bonn§Grau", lambda k: f"{('Bert', 'Carl', 'Dora')[k % 3]}§{('Ulm', 'Hamburg')[k % 2]}§Blau")
    assert run("t.csv").exit_code == 2
    written("u.csv", "Vorname§Stadt§Farbe", lambda k: f"{('Bert', 'Karoline')[k % 2]}§{('Ulm', 'Hamburg')[k % 2]}§Blau")
    assert "Farbe: {values: FILL IN" in drafted("u.csv")


@pytest.mark.parametrize("first", ["Zoë-Ann Q.§Garmisch", "Maximilian Alexander§Rom", "x§Bad Tölz (Oberbayern)"])
def test_words_above_words_are_asked_about_though_they_are_unlike_them(first):
    written("t.csv", first, lambda k: f"{('anna', 'bo', 'carl')[k % 3]}§{('bern', 'oslo')[k % 2]}")
    result = run("t.csv")
    assert (result.exit_code, [path.name for path in Path().iterdir()]) == (2, ["t.csv"])
    assert "Zoë" not in result.output and "Maximilian" not in result.output


def test_a_marker_names_no_column():
    written("t.csv", "Zoë§n/a", lambda k: f"{('anna', 'bo', 'carl')[k % 3]}§{k}")
    assert run("t.csv").exit_code == 2


def test_cells_of_several_lines_are_found_and_asked_about():
    written("t.csv", "id§sex§note", lambda k: f'{k // 2}§{"FM"[k % 2]}§"Zoë\n{k} kg"')
    draft = drafted("t.csv")
    assert "line_breaks: FILL IN" in draft and "sex: {values: FILL IN" in draft and "header" not in draft


def test_a_sign_of_nothing_in_a_cell_is_no_other_encoding():
    written("t.csv", "id§sex", lambda k: f"{k // 2}§{'FM'[k % 2]}" + "\0" * (k == 9))
    assert "encoding" not in drafted("t.csv")


@pytest.mark.parametrize("name", ["t.txt", "t"])
def test_a_file_of_any_name_says_what_separates_its_cells(name):
    written(name, "id§sex§age", lambda k: f"{k // 2}§{'FM'[k % 2]}§{k}")
    assert 'separator: ","' in drafted(name)
    run(name, "--person", "id", "--values", "sex=F,M", "-o", "q.yaml")
    assert CliRunner().invoke(app, ["check", "q.yaml", "--table", name]).exit_code == 0


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("größe", {"encoding": "cp1252"}, "--encoding windows-1252"),
        ("size", {"encoding": "utf-16-le"}, "--encoding utf-16-le"),
        ("a,b;size", {}, '--separator ";"'),
    ],
)
def test_a_form_that_nobody_can_know_is_asked_about(name, options, said):
    row = (lambda k: "1,2;3") if "," in name else lambda k: f"{k // 2}§Köln{k % 3}"
    written("t.csv", name if "," in name else f"user§{name}", row, **options)
    result = run("t.csv", "--format", "json")
    assert result.exit_code == 2 and said in result.stderr
    assert json.loads(result.stdout)["error"]["kind"] == "FormDoubt"
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


def test_an_encoding_that_no_name_needs_is_marked():
    written("t.csv", "user§town", lambda k: f"{k // 2}§Köln{k % 3}", encoding="cp1252")
    assert "encoding: FILL IN" in drafted("t.csv")


KINDS = {
    "31.12.2025 23:59": (
        lambda k: f"{1 + k % 28:02d}.{1 + k % 12:02d}.2025 08:{k % 60:02d}",
        "written: 31.12.2025 23:59",
    ),
    "either": (lambda k: f"0{1 + k % 9}/0{1 + k % 8}/2025", "written: FILL IN"),
    "American": (lambda k: f"{1 + k % 12}/{1 + k % 28}/2025 1:05 PM", "written: 12/31/2025 11:59 PM"),
    "two digits": (lambda k: f"{13 + k % 15}.{1 + k % 12:02d}.75", "written: 31.12.25"),
    "three ways": (lambda k: f"{1 + k % 12:02d}-{1 + k % 11:02d}-{1 + k % 10:02d}", "written: FILL IN"),
    "a zone": (lambda k: f"2025-03-{1 + k % 28:02d}T12:00:00+01:00", "zone: FILL IN"),
    "as it is": (lambda k: f"2025-03-{1 + k % 28:02d}", "step: 7}"),
    "months by name": (lambda k: f"{1 + k % 28} Mar 2025", "written: 31 Dec 2025"),
    "a unit": (lambda k: f"{60 + k} kg", "units: FILL IN"),
    "zeros first": (lambda k: f"{k % 7:03d}", "{values: FILL IN, unlisted: other}"),
    "a decimal comma": (lambda k: f'"{k},5"', 'decimal: ","'),
    "thousands": (lambda k: f'"{1 + k % 9}.{100 + k},50"', 'thousands: "."'),
    "either sign": (lambda k: f"{1 + k % 9}.{100 + k}", "decimal: FILL IN"),
    "both signs": (lambda k: f'"{k},5"' if k % 2 else f"{k}.25", "decimal: FILL IN"),
    "marks": (lambda k: "NA" if k % 9 == 1 else f"{k % 30}", "missing: FILL IN"),
    "blanks": (lambda k: ("F ", "M")[k % 2], "trim: true"),
    "cases": (lambda k: ("F", "f", "M")[k % 3], "case: fold"),
}


@pytest.mark.parametrize("case", KINDS)
def test_what_cells_are_is_found_or_asked(case):
    cell, said = KINDS[case]
    written("t.csv", "user§value", lambda k: f"{k // 2}§{cell(k)}")
    text = drafted("t.csv")
    assert said in text
    seen = "# seen in the rows: keep it if it is known without them"
    marked = case not in (
        "either",
        "three ways",
        "as it is",
        "a unit",
        "zeros first",
        "either sign",
        "both signs",
        "marks",
    )
    assert (seen in text) == marked
    Path("policy.yaml").unlink(), Path("policy-queries.yaml").unlink()
    assert seen not in drafted("t.csv", "--accept")


def test_one_day_that_only_one_way_reads_settles_it():
    written("t.csv", "user§day", lambda k: f"{k // 2}§{'13' if k == 50 else '05'}/04/2025")
    assert "written: 31/12/2025}" in drafted("t.csv")
    written("u.csv", "user§day", lambda k: f"{k // 2}§{('13/04', '04/13')[k % 2] if k > 50 else '05/04'}/2025")
    assert "written: FILL IN" in run("u.csv", "-o", "u.yaml").output + Path("u.yaml").read_text()


def test_no_cell_of_any_kind_is_in_a_file_or_on_a_screen():
    canaries = ["Zzyzx", "731.25", "20.02.1931", "CANARY-9"]
    row = lambda k: f"{'CANARY-9' if k == 7 else k // 2}§Zzyzx§{731.25 + k % 40}§20.02.19{31 + k % 60}§{'FM'[k % 2]}"  # noqa: E731
    written("t.csv", "Pat-Nr§Ort§Betrag§Geburtstag§Geschlecht", row)
    outputs = [
        run("t.csv").output,
        run("t.csv", "-o", "b.yaml", "--accept", "--take", "Ort", "--person", "Pat-Nr").output,
    ]
    texts = [path.read_text() for path in Path().glob("*.yaml")]
    assert len(texts) == 4
    for text in [*outputs, *texts]:
        assert [canary for canary in canaries if canary in text] == []
        assert "60" not in text.replace("[1, 20]", "")  # rows


@pytest.mark.parametrize("kind", ["parquet", "pandas", "arrow", "gz"])
def test_typed_tables_frames_and_compressed_files(kind):
    table = pa.table({"user": [f"u{k // 2}" for k in ROWS], "age": list(ROWS), "on": [k % 2 == 0 for k in ROWS]})
    if kind == "parquet":
        pq.write_table(table, "t.parquet")
    Path("t.csv.gz").write_bytes(gzip.compress(table.to_pandas().to_csv(index=False).encode()))
    given = {"parquet": "t.parquet", "pandas": pd.DataFrame(table.to_pandas()), "arrow": table, "gz": "t.csv.gz"}[kind]
    draft = dx.init(given, person="user", one_row_each=False, values={"on": ["false", "true"]})
    assert "age: {range: [0, 110], step: 5, clamp: true}" in draft.policy
    assert draft.todo == ()
    policy = dx.parse_policy(draft.policy)
    assert dx.parse_queries(draft.queries, policy).count == 2
    assert "user" in dx.init(given).policy.partition("people: FILL IN")[2].partition("\n")[0]


def test_a_word_may_hold_a_comma_where_words_are_a_list():
    draft = dx.init(pa.table({"answer": ["no, never"]}), one_row_each=True, values={"answer": ["yes", "no, never"]})
    assert dx.parse_policy(draft.policy).universe.attributes[0].labels == ("yes", "no, never")


def test_people_are_said_in_three_ways():
    written("t.csv", "user§house§age", lambda k: f"{k // 2}§{k // 4}§{k}")
    assert "people: {column: [house, user], count: once}" in drafted("t.csv", "--person", "house", "--person", "user")
    assert "people: one row each" in drafted("t.csv", "-o", "b.yaml", "--one-row-each") + Path("b.yaml").read_text()
    run("t.csv", "-o", "c.yaml", "--person", "user", "--rows", "3")
    text = Path("c.yaml").read_text()
    assert "count: rows, at_most: 3}" in text and "- presence: true" in text
    assert run("t.csv", "-o", "d.yaml", "--one-row-each", "--rows", "3").exit_code == 1


def test_at_most_twelve_columns_and_the_others_are_named():
    written(
        "t.csv", "§".join(f"answer{k}" for k in range(20)), lambda k: "§".join("xyz"[(k + j) % 3] for j in range(20))
    )
    text = drafted("t.csv", "--take", "answer19")
    assert text.count("values: FILL IN") == 12 and "answer19: {values" in text and "(more than 12 columns)" in text


def test_only_the_header_is_looked_at_where_that_is_asked_for():
    written("t.csv", "user§day", lambda k: f"{k // 2}§{k % 28 + 1}.03.2025")
    assert "day: FILL IN" in drafted("t.csv", "--header-only")


def test_doubts_are_asked_about_on_a_terminal(monkeypatch):
    monkeypatch.setattr(command, "_somebody_answers", lambda: True)
    written("t.csv", "", lambda k: f"{k // 2};{'FM'[k % 2]};0{1 + k % 9}/0{1 + k % 8}/2025;{1 + k % 9}.{100 + k}")
    typed = "1\nuser, sex, day, kg\n1\n1\n2\nF, M\n2\n3\n2025-01-01, 2025-12-31\n0, 9\n"
    result = run("t.csv", typed=typed)
    assert result.exit_code == 0, result.output
    text = Path("policy.yaml").read_text()
    assert "header: none\n  names: [user, sex, day, kg]" in text
    assert "day: {dates: [2025-01-01, 2025-12-31], step: 1, written: 12/31/2025}" in text
    assert 'decimal: ","' in text and "FILL IN" not in text and "people: {column: user, count: once}" in text


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_separator_at_the_end_of_lines_is_no_column(encoding):
    written("t.csv", "user;größe;;", lambda k: f"{k // 2};{5 * (k % 7)};;", encoding=encoding)
    policy = drafted("t.csv", "--encoding", "windows-1252" if encoding == "cp1252" else "utf-8", "--person", "user")
    assert '"größe"' in policy and '""' not in policy
    text = policy.replace("FILL IN", "[0, 100]")
    universe = dx.parse_policy(text).universe
    assert universe.names == ("größe",)
    plan = dx.plan(
        dx.parse_policy(text).compile(), dx.parse_queries("queries: [{count: 'true'}]", dx.parse_policy(text))
    )
    assert plan.release("t.csv", ledger=":memory:", spend=1).values == pytest.approx([30])


def test_a_column_without_a_name_is_left_out_once_the_header_is_sure():
    written("t.csv", ",sex,user", lambda k: f"{k},{'FM'[k % 2]},{k // 2}")
    assert run("t.csv").exit_code == 2
    policy = drafted("t.csv", "--header", "1")
    assert "sex:" in policy and '"":' not in policy


def test_a_name_of_two_lines_is_told_and_its_second_line_names_nothing():
    Path("t.csv").write_text('"id\nno",sex\n' + "\n".join(f"{k // 2},{'FM'[k % 2]}" for k in ROWS))
    result = run("t.csv")
    assert (
        result.exit_code == 1
        and "line 1 of 't.csv'" in result.stderr
        and "column's name is on one line" in result.stderr
    )
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


def test_an_encoding_is_asked_for_on_a_terminal_though_no_name_needs_it(monkeypatch):
    written("t.csv", "user§town", lambda k: f"{k // 2}§Köln{k % 3}", encoding="cp1252")
    monkeypatch.setattr(command, "_somebody_answers", lambda: True)
    result = run("t.csv", typed="\n".join(["1", "1", "1", *[""] * 20]))
    assert "is not written in UTF-8" in result.stdout and "Köln" not in result.output
    assert "encoding: windows-1252" in Path("policy.yaml").read_text()
