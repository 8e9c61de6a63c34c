"""What the documents show works as shown."""

from __future__ import annotations

import ast
import re
from contextlib import nullcontext
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name

import pytest
from reference.project import GUIDE, ROOT
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.policy.policy import parse_policy
from dxgeom.queries.queries_file import parse_queries

FOLDERS = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith(".")]
DOCUMENTS = sorted(
    {*ROOT.glob("*.md"), *(document for folder in FOLDERS for document in folder.rglob("*.md"))}
    - {ROOT / "papers" / "dxgeom" / "paper.md"}  # a journal's form; its page is made of it
)
PAGES = [
    *(
        "bodies",
        "checking",
        "currency",
        "dbt",
        "estimates",
        "few-data",
        "gallery",
        "keys",
        "learning",
        "ledger",
        "many-questions",
        "mechanisms",
        "noise",
        "people",
        "plans",
        "policies",
        "public",
        "quantiles",
    ),
    *("queries", "review", "secrets", "selection", "tasks"),
]
CODE_RUN_HERE = {
    "README.md",
    "docs/coming-from.md",
    "docs/guide/engines.md",
    *(f"docs/guide/{page}.md" for page in PAGES),
}
COMMANDS_RUN_HERE = {
    "README.md": [
        "words",
        "examples",
        "docs",
        "init",
        "check",
        "plan",
        "release",
        "release",
        "answer",
        "report",
        "verify",
    ],
    "docs/guide/checking.md": ["verify", "verify", "verify", "verify", "verify", "audit", "plan", "audit"],
    "docs/guide/keys.md": ["plan", "release"],
    "docs/guide/every-day.md": ["key", "plan", "open", "release", "release", "release"],
    "docs/guide/tasks.md": ["plan", "release", "ledger", "release", "release", "ledger", "plan", "plan"],
    "docs/guide/secrets.md": ["answer", "answer"],
    "policies/README.md": ["check", "plan", "release"],
}
RUN_ON_SERVERS = {"docs/guide/shared-ledger.md"}
"""Run by ``test_documents_on_servers.py``."""
RUN_WITH_EXTRAS = {"docs/guide/opendp.md"}
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document, language):
    return [text for kind, text in FENCE.findall(document.read_text(encoding="utf-8")) if kind == language]


@pytest.fixture
def in_a_copy(tmp_path, policies, monkeypatch):
    (tmp_path / "policies").symlink_to(policies)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_readme_example_runs_and_charges_its_ledger(in_a_copy, capsys):
    (code,) = blocks(ROOT / "README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.count(", between ") == 7
    assert "balanced MSE" in printed
    assert (in_a_copy / "privacy.db").is_file()


def test_the_readme_policy_is_the_one_in_the_folder(policies):
    (text,) = blocks(ROOT / "README.md", "yaml")
    shown = parse_policy(text, folder=policies / "us-cities")
    assert shown.fingerprint == dx.load_policy(policies / "us-cities" / "policy.yaml").fingerprint


def commands(document):
    """The command lines that a document shows, without their comments."""
    lines = [line for block in blocks(document, "") for line in block.splitlines()]
    return [line.split("#")[0].split() for line in lines if line.startswith("dxgeom")]


def test_no_document_that_shows_code_or_commands_is_forgotten():
    """Each is run by a test of its own below; the errors' reference has its own module."""
    shown = {path.relative_to(ROOT).as_posix(): path for path in DOCUMENTS}
    assert {
        name for name, path in shown.items() if blocks(path, "python")
    } == CODE_RUN_HERE | RUN_ON_SERVERS | RUN_WITH_EXTRAS
    assert {name for name, path in shown.items() if commands(path)} == {*COMMANDS_RUN_HERE, *RUN_ON_SERVERS}


@pytest.mark.needs("opendp")
def test_the_document_on_opendp_composes_what_it_shows(in_a_copy, capsys):
    (code,) = blocks(GUIDE / "opendp.md", "python")
    exec(compile(code, "opendp.md", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert (shown[0].startswith("0.0625 ['1/8', '1/8'] "), shown[1:]) == (True, ["True"])
    assert len(dx.ledger.read_ledger("clinic.db").entries) == 3


def imported(code):
    """What a text imports, as it is written there."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {ast.unparse(node) for node in nodes}


@pytest.mark.parametrize("document", sorted(CODE_RUN_HERE | RUN_ON_SERVERS | RUN_WITH_EXTRAS))
def test_a_document_imports_the_package_by_its_front_door_only(document):
    found = {line for code in blocks(ROOT / document, "python") for line in imported(code)}
    assert {line for line in found if "dxgeom" in line} <= {"import dxgeom as dx"}


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_an_example_imports_the_package_by_its_front_door_only(example):
    found = imported(example.read_text(encoding="utf-8"))
    assert {line for line in found if "dxgeom" in line} == {"import dxgeom as dx"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_document_names_by_the_front_door_is_found_there(document):
    """The list of changes speaks of old names and of files, too."""
    changes = document.name == "CHANGELOG.md"
    with pytest.warns(DeprecationWarning) if changes else nullcontext():
        for name in set(re.findall(r"\bdx((?:\.[A-Za-z]\w*)+)", document.read_text(encoding="utf-8"))):
            assert (resolve_name(f"dxgeom{name}") if changes else attrgetter(name[1:])(dx)) is not None


@pytest.mark.parametrize("document", COMMANDS_RUN_HERE)
def test_the_commands_of_a_document_run(document, in_a_copy):
    lines = commands(ROOT / document)
    assert [words[1] for words in lines] == COMMANDS_RUN_HERE[document]
    Path("distances.csv").write_text("0,1,2\n1,0,1\n2,1,0\n")
    Path("mine.csv").write_text("age,ward\n34,A\n57,B\n")
    Path("roads.csv").write_text("from,to,distance\na,b,1\nb,c,2\n")
    Path("patients.yaml").write_text(blocks(GUIDE / "tasks.md", "yaml")[3])
    Path("day.yaml").write_text(blocks(GUIDE / "secrets.md", "yaml")[0])
    for words in lines:
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, result.output


def test_the_policy_document_shows_policies_that_compile():
    found = [parse_policy(text) for text in blocks(GUIDE / "policies.md", "yaml")]
    sizes = [("clinic", 84), ("admissions", 264), ("visits", 240), ("admissions", 6678), ("households", 4400)]
    sizes += [("visits", 735), ("visits", 735), ("clinic", 22)]
    assert [(policy.name, policy.compile().size) for policy in found] == sizes
    series = found[4].compile().distance(*(found[4].universe.index(reading) for reading in READINGS))
    assert 0.5 * (1 - 1e-12) <= series <= 0.5


READINGS = [
    {"region": "north", "gender": "F", "age": 40, "noon": noon, "night": night} for noon, night in ((3, 5), (4, 6))
]


def test_the_policy_document_builds_a_policy_in_python(capsys):
    code, with_things = blocks(GUIDE / "policies.md", "python")
    exec(compile(with_things, "policies.md", "exec"), {})
    assert float(capsys.readouterr().out) == 3.5
    exec(compile(code, "policies.md", "exec"), {})
    assert capsys.readouterr().out.startswith("policy: clinic\nuniverse:\n")


def test_the_checking_document_measures_a_map(capsys):
    graph, code = blocks(GUIDE / "checking.md", "python")
    exec(compile(graph, "checking.md", "exec"), {})
    assert capsys.readouterr().out.startswith("EdgePath(nodes=('flu', 'virus', 'cold')")
    exec(compile(code, "checking.md", "exec"), {})
    assert float(capsys.readouterr().out) == pytest.approx(2)


def test_the_policy_document_shows_what_explain_prints(in_a_copy):
    (shown,) = [text for text in blocks(GUIDE / "policies.md", "text") if text.startswith("$ ")]
    command, printed = shown.split("\n", 1)
    assert CliRunner().invoke(app, command.split()[2:]).stdout == printed


def test_the_query_document_shows_queries_that_load(policies):
    """Its sum over cities and its matrix need other data than its counts over adults."""
    text, quantiles = blocks(GUIDE / "queries.md", "yaml")
    entries = re.split(r"^  - ", text, flags=re.MULTILINE)
    kept = [entry for entry in entries if not entry.startswith(("sum: elevation_m", "matrix:"))]
    queries = parse_queries("  - ".join(kept), dx.load_policy(policies / "adult" / "policy.yaml"))
    assert "women over 50K" in queries.names
    assert len(entries) - len(kept) == 2
    attributes = "{age: {range: [0, 9], step: 1}, ward: [north, south], district: [a, b]}"
    rules = "unconnected: allow\nrules: [{change: age, epsilon: 1}]\n"
    policy = dx.parse_policy(f"policy: p\nuniverse: {{attributes: {attributes}}}\n{rules}")
    assert dx.plan(policy.compile(), parse_queries(quantiles, policy)).queries.names == ("median age", "ages")


def test_the_document_on_public_counts_says_what_comes_out(in_a_copy, capsys):
    for code in blocks(GUIDE / "public.md", "python"):
        exec(compile(code, "public.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "at most 7.39 to 1; whoever judges all people separately, at most 20.1 to 1" in printed
    assert "judges all people separately: 3, odds at most 20.1 to 1" in printed


def test_the_document_on_single_secrets_runs(in_a_copy, capsys):
    names: dict[str, object] = {}
    for code in blocks(GUIDE / "secrets.md", "python"):
        exec(compile(code, "secrets.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "of the budget remain" in printed
    assert printed.endswith(blocks(GUIDE / "secrets.md", "text")[-1])
    assert Path("places.db").is_file()


def test_the_noise_document_draws_what_it_shows(capsys):
    (code,), (shown,) = (blocks(GUIDE / "noise.md", kind) for kind in ("python", "text"))
    exec(compile(code, "noise.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_the_document_on_queries_plans_what_it_shows(capsys):
    codes, texts = (blocks(GUIDE / "queries.md", kind) for kind in ("python", "text"))
    for code, begin in zip(codes, ("women's years", "3000.0 records", "changed-queries"), strict=True):
        exec(compile(code, "queries.md", "exec"), {})
        assert capsys.readouterr().out == next(text for text in texts if text.startswith(begin))


def test_the_document_on_estimates_tells_their_worth(capsys):
    codes, (told, *_) = (blocks(ROOT / "docs" / "guide" / "estimates.md", which) for which in ("python", "text"))
    names: dict[str, object] = {}
    for code in codes:
        exec(compile(code, "estimates.md", "exec"), names)
    assert capsys.readouterr().out == told


def test_the_document_on_many_questions_plans_and_releases_what_it_shows(in_a_copy, capsys):
    page = ROOT / "docs" / "guide" / "many-questions.md"
    exec(compile("\n".join(blocks(page, "python")), page.name, "exec"), {})
    assert capsys.readouterr().out == "".join(blocks(page, "text"))


def test_the_document_on_few_data_releases_tables_with_bars(in_a_copy):
    Path("rows.csv").write_text("sex,ward,smokes\n" + "f,A,y\n" * 40 + "m,C,n\n" * 30 + "m,B,n\n" * 9)
    names = {}
    for code in blocks(GUIDE / "few-data.md", "python"):
        exec(compile(code, "few-data.md", "exec"), names)
    answer = names["release"].answer
    assert [one.shape for one in answer.tables] == [one.shape for one in answer.half_widths()] == [(6,), (6,)]
    assert names["few"].table("ward, smokes").shape == (3, 2)


def test_the_document_on_keys_reports_the_key_that_has_many_records(in_a_copy, capsys):
    (code,), names = blocks(GUIDE / "keys.md", "python"), {}
    exec(compile(code, "keys.md", "exec"), names)
    assert capsys.readouterr().out
    # Of 43 records 40 have one key; that it is below 12 has a chance of e^-28.
    assert "17, DE" in names["release"].answer["read"].names


def test_the_document_on_plans_saves_loads_and_releases_what_it_shows(in_a_copy, capsys):
    (code,), (shown, _) = (blocks(GUIDE / "plans.md", kind) for kind in ("python", "text"))
    exec(compile(code, "plans.md", "exec"), {})
    assert capsys.readouterr().out == shown
    for line in blocks(GUIDE / "plans.md", "sh")[0].splitlines():
        result = CliRunner().invoke(app, line.split()[1:])
        assert result.exit_code == 0, result.output


def test_the_document_on_the_review_page_writes_one(in_a_copy, capsys):
    (code,), (shown,) = (blocks(GUIDE / "review.md", kind) for kind in ("python", "text"))
    exec(compile(code, "review.md", "exec"), {})
    assert capsys.readouterr().out == shown
    Path("report.html").unlink()
    (line,) = blocks(GUIDE / "review.md", "sh")[0].splitlines()
    assert CliRunner().invoke(app, line.split()[1:]).exit_code == 0
    assert Path("report.html").is_file()


def test_the_document_on_starting_shows_commands_that_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_text("name,sex,age\nann,F,3\n")
    for text in blocks(GUIDE / "start.md", "sh"):
        for line in text.splitlines():
            # What a terminal would be asked.
            asked = ["--one-row-each", "--values", "sex=F,M"] if " init " in line else []
            result = CliRunner().invoke(app, [*line.split()[1:], *asked])
            assert result.exit_code == 0, result.output
        Path("report.html").unlink(missing_ok=True)


def test_the_document_on_selection_runs(in_a_copy, capsys):
    code, *others = blocks(GUIDE / "selection.md", "python")
    exec(compile(code, "selection.md", "exec"), {})
    assert "2/5 of the budget remain" in capsys.readouterr().out
    for other, shown in zip(others, blocks(GUIDE / "selection.md", "text"), strict=True):
        exec(compile(other, "selection.md", "exec"), {})
        assert capsys.readouterr().out == shown
    assert Path("adult.db").is_file()


def test_the_document_on_tasks_releases_what_it_shows(in_a_copy, capsys):
    exec(compile("\n".join(blocks(GUIDE / "tasks.md", "python")), "tasks.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "below the most common, 95 times in 100" in printed
    assert "1/2 of the budget remains" in printed
    assert "(80, 3)" in printed
    assert "small-database is taken" in printed
    assert "grades: each of 3 answers" in printed
    assert "noon: " in printed
    assert len(dx.ledger.read_ledger("tasks.db").entries) == 1


def test_the_document_on_learning_runs(in_a_copy, capsys):
    exec(compile("\n".join(blocks(GUIDE / "learning.md", "python")), "learning.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "1 remains" in printed
    assert "ask for that by fits=3 or more" in printed
    assert Path("study.db").is_file()
    assert not Path("adult.db").exists()


def test_the_document_on_quantiles_runs(in_a_copy, capsys):
    for code in blocks(GUIDE / "quantiles.md", "python"):
        exec(compile(code, "quantiles.md", "exec"), {"dx": dx})
    printed = capsys.readouterr().out
    assert "of 30,162 records no more would have to change their value" in printed
    assert "9/10 of the budget remain" in printed
    assert Path("ages.db").is_file()


def test_the_document_on_the_ledger_runs(in_a_copy, capsys):
    codes, shown = (blocks(GUIDE / "ledger.md", kind) for kind in ("python", "text"))
    exec(compile("\n".join(codes), "ledger.md", "exec"), {})
    assert capsys.readouterr().out == "".join(shown)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_somewhere(document):
    for target, heading in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", document.read_text(encoding="utf-8")):
        if target.startswith("https:"):
            continue
        linked = document.parent / target if target else document
        assert linked.exists(), target
        assert not heading or heading in headings(linked), heading


def headings(document):
    """The anchors that a page's headings make."""
    found = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_files_that_documents_name_exist(document):
    """By their paths, or the ends of these."""
    written = [f"/{path.relative_to(ROOT).as_posix()}" for folder in FOLDERS for path in folder.rglob("*.py")]
    for named in re.findall(r"`(?:python )?([\w/]+\.py)\b", document.read_text(encoding="utf-8")):
        assert any(path.endswith(f"/{named}") for path in written), named


def test_the_contents_list_every_page():
    """Where pages are read as files, by links, and where they are a site."""
    contents = ROOT / "docs" / "index.md"
    text = contents.read_text(encoding="utf-8")
    linked = {(contents.parent / target).resolve() for target in re.findall(r"\]\(([^)#]+)", text)}
    listed = re.findall(r"^(?!:)(/?\w[\w/-]+)$", "".join(re.findall(r"```{toctree}\n(.*?)```", text, re.DOTALL)), re.M)
    paths = [ROOT / name[1:] if name.startswith("/") else contents.parent / name for name in listed]
    site = {path.with_name(f"{path.name}.md") for path in paths}
    pages = {page for page in DOCUMENTS if page != contents and page.parent.name not in {"decisions", "exports_shown"}}
    assert site == pages
    papers = {page for page in pages if page.name == "page.md"}  # linked from the list of papers
    assert pages - papers <= linked | {contents}


def test_the_first_page_of_the_site_leads_to_pages_and_shows_pictures_that_are_there():
    """It is a template and no page, so that no builder follows its links."""
    text = (ROOT / "docs" / "site" / "landing.html").read_text(encoding="utf-8")
    targets = re.findall(r"pathto\('([^']+)'\)", text)
    files = re.findall(r"pathto\('([^']+)', 1\)", text)
    assert len(targets) + len(files) == len(re.findall(r"<(?:a|img|iframe) ", text))
    assert all((ROOT / f"{target}.md").is_file() for target in targets)
    pictures = {file.removeprefix("_images/") for file in files if file.startswith("_images/")}
    assert pictures and all((GUIDE / "pictures" / picture).is_file() for picture in pictures)
    written = (ROOT / "docs" / "extensions" / "landing.py").read_text(encoding="utf-8")
    assert all(f'"{file}"' in written for file in files if not file.startswith("_images/"))


ARCHITECTURE = ROOT / "docs" / "architecture.md"


def test_the_architecture_names_every_room_and_no_other():
    """In the first column of its table."""
    rooms = {path.parent.relative_to(ROOT / "dxgeom").as_posix() for path in (ROOT / "dxgeom").rglob("__init__.py")}
    table, _ = ARCHITECTURE.read_text(encoding="utf-8").split("## The types")
    named = re.findall(r"^\| `([\w/]+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted(rooms - {"."})


def test_what_the_architecture_names_in_a_file_stands_there():
    text = ARCHITECTURE.read_text(encoding="utf-8")
    steps = re.findall(r"`([\w/]+\.py): (\w+)`", text)
    types = [(file, name) for name, file in re.findall(r"^\| `(\w+)` \| `([\w/]+\.py)` \|", text, re.MULTILINE)]
    assert len(steps) > 30
    assert len(types) > 10
    for file, name in steps + types:
        source = (ROOT / "dxgeom" / file).read_text(encoding="utf-8")
        assert re.search(rf"^(def|class) {name}\b|^{name}\b.* = ", source, re.MULTILINE), (file, name)


def test_each_walk_through_the_architecture_fits_one_screen():
    walks = re.findall(r"^## (The walk of .*)\n((?:(?!## ).*\n)*)", ARCHITECTURE.read_text(encoding="utf-8"), re.M)
    assert [title for title, _ in walks] == [f"The walk of {what}" for what in ("an epsilon", "a row", "an answer")]
    for title, text in walks:
        assert text.count("\n") <= 30, title
        assert max(map(len, text.splitlines())) <= 132, title


def test_the_census_of_adults_is_released_in_one_call(in_a_copy, policies):
    release = dx.compile_and_release(
        policies / "adult" / "policy.yaml",
        policies / "adult" / "people.csv",
        policies / "adult" / "queries.yaml",
        ledger="a.db",
        spend="1/4",
    )
    assert release.records == 30162
    assert Path("a.db").stat().st_size > 0


def test_the_document_on_bodies_releases_what_it_shows(in_a_copy, capsys):
    own, statistics = blocks(GUIDE / "bodies.md", "python")
    exec(compile(own, "bodies.md", "exec"), {})
    assert re.fullmatch(r"body 4\.59\n\(2, 3\)\n", capsys.readouterr().out)
    names: dict[str, object] = {}
    exec(compile(statistics, "bodies.md", "exec"), names)
    assert capsys.readouterr().out.startswith("24000000 CornerStructure(reached=2, corners=16)\nstatistic, hull 0.00")
    assert len(names["noisy"]) == 4


def test_the_document_on_the_family_of_mechanisms_prints_what_it_shows(in_a_copy, capsys):
    document = GUIDE / "mechanisms.md"
    names = {}
    for code in blocks(document, "python"):
        exec(compile(code, "mechanisms.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines(keepends=True)
    assert re.fullmatch("(young|middle|old) 1/2\n", printed[0])
    assert printed[1:] == blocks(document, "text")
