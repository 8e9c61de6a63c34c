"""How things look in a terminal, in a notebook and as a picture; and lines of progress."""

from __future__ import annotations

import io

import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.report.changes import changes_page
from dxgeom.report.review import review_page
from dxgeom.report.showing import document_for

FOLDER = POLICIES / "hospital-stays"


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """One of each kind that is shown, by the name of its class."""
    policy = dx.load_policy(FOLDER / "policy.yaml")
    plan = dx.plan(policy.compile(), dx.load_queries(FOLDER / "queries.yaml", policy))
    file = tmp_path_factory.mktemp("displays") / "stays.db"
    release = plan.release(FOLDER / "stays.csv", ledger=file, spend="1/4", insecure_test_seed=5)
    named = {"policy_fingerprint": policy.fingerprint, "policy_name": policy.name, "data_set": policy.data_set}
    ledger = dx.Ledger.open(file, budget=policy.budget, **named)
    metric = policy.compile()
    found = [policy, metric, metric.certificate, plan, plan.candidates[0], release, ledger]
    yield {type(one).__name__: one for one in found}
    ledger.close()


NAMES = ["Policy", "VerifiedMetric", "MetricCertificate", "Plan", "CandidateResult", "Release", "Ledger"]


@pytest.mark.parametrize("name", sorted(path.parent.name for path in POLICIES.glob("*/policy.yaml")))
def test_every_example_has_a_screen_and_a_cell(name):
    """One of them bounds only some values, and the others along them."""
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    assert policy.title in str(policy) and 'class="dxgeom part"' in policy._repr_html_()


def test_a_rule_that_leaves_some_values_without_a_number_says_so():
    policy = dx.load_policy(POLICIES / "school" / "policy.yaml")
    said = " ".join(str(policy).split())
    assert "support 1.11 to 1.23 (0.1 to 0.2; for some no limit is written)" in said


def test_where_no_odds_are_promised_curves_are_shown_and_no_odds_that_always_hold(tmp_path):
    text = (FOLDER / "policy.yaml").read_text() + "privacy: concentrated\n"
    policy = dx.parse_policy(text, folder=FOLDER)
    plan = dx.plan(policy.compile(), dx.load_queries(FOLDER / "queries.yaml", policy))
    release = plan.release(FOLDER / "stays.csv", ledger=tmp_path / "a.db", spend="0.6", insecure_test_seed=5)
    named = {"policy_fingerprint": policy.fingerprint, "policy_name": policy.name, "data_set": policy.data_set}
    with dx.Ledger.open(tmp_path / "a.db", budget=policy.budget, privacy_measure=policy.privacy, **named) as ledger:
        shown = {type(one).__name__: "\n".join(document_for(one).lines()) for one in (policy, release, ledger)}
    for name in ("Release", "Ledger"):
        assert "0.6 told" in shown[name] and "0.8 left of 1 (squares add up)" in " ".join(shown[name].split())
    assert "what is told grows faster than distance" in shown["Policy"]
    for one in (policy, policy.compile()):
        said = " ".join("\n".join(document_for(one).lines()).split())
        assert "(but one time in a million)" in said and "right of 1,000 guesses" not in said
    assert document_for(plan).lines() and repr(release).endswith("spent 0.6, 0.8 left>")
    page = "\n".join(review_page(policy, plan, spend="0.6", ledger=tmp_path / "a.db").lines())
    said = " ".join(page.split())
    assert "There is no ceiling on the odds" in said and "What all releases so far tell together" in said
    assert "0.6 told, 1 release" in said and "0.8 left of 1 (squares add up)" in said
    with pytest.raises(UnsupportedCombination, match="counts concentrated privacy, which promises none"):
        policy.plot()
    with pytest.raises(UnsupportedCombination, match="whose promises are two kinds"):
        changes_page(dx.load_policy(FOLDER / "policy.yaml"), policy)


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_short_line_and_tables(things, name):
    line = repr(things[name])
    assert line.startswith(f"<{name} ")
    assert len(line) < 120
    shown = things[name]._repr_html_()
    assert shown.startswith('<div class="dxgeom part">')
    assert "<table" in shown
    assert ' id="' not in shown
    assert "href" not in shown
    assert document_for(things[name]).lines()


def test_the_line_of_a_release_tells_no_answer(things):
    assert repr(things["Release"]) == "<Release of 'hospital-stays': 3 answers, spent 0.25, 0.75 left>"


def test_queries_and_explanations_have_a_short_line(things):
    policy = things["Policy"]
    queries = dx.load_queries(FOLDER / "queries.yaml", policy)
    assert repr(queries) == f"<LinearQueries: 3, {queries.names[0]!r} and on>"
    line = repr(policy.explain(policy.universe.record(0), policy.universe.record(1)))
    assert line.startswith("<Explanation: distance ") and " in 1 step, by " in line


def test_pictures_are_drawn_on_axes(things):
    plan, policy, release = things["Plan"], things["Policy"], things["Release"]
    dots = plan.plot()
    assert [label.get_text() for label in dots.get_yticklabels()] == list(plan.queries.names)
    assert plan.plot(*plan.queries.names[:2]).get_xlim()[0] < 0
    assert "distance" in policy.plot().get_xlabel()
    of_the_key = 4
    assert len(policy.plot("diagnosis").patches) == 14 * 13 / 2 + of_the_key
    again = release.plot(axes=dots)
    assert again is dots


@pytest.mark.parametrize("ending", ["svg", "png", pytest.param("pdf", marks=pytest.mark.long)])
def test_a_picture_is_saved_for_a_paper_the_same_every_time(things, tmp_path, ending):
    one, other = (
        dx.report.save(
            things["Plan"], tmp_path / f"{k}.{ending}", font="DejaVu Sans", font_size=7, width=3.3
        ).read_bytes()
        for k in range(2)
    )
    assert one == other and one[:4] in (b"<?xm", b"%PDF", b"\x89PNG")
    if ending == "svg":
        assert "stays for a fracture" in one.decode() and 'width="237.6pt"' in one.decode()


def test_what_cannot_be_saved_is_refused_and_nothing_is_written(things, tmp_path):
    for named, settings, said in (
        ("a.jpg", {"width": 900.0}, r"ends in .svg, .pdf, .png; width from 0.5 to 50, found 900.0"),
        ("a.svg", {"font": "No Such Font"}, "the font 'No Such Font' is not on this machine"),
    ):
        with pytest.raises(UnsupportedCombination, match=said):
            dx.report.save(things["Policy"], tmp_path / named, **settings)
    with pytest.raises(UnsupportedCombination, match="nothing to draw of this ledger"):
        dx.report.save(things["Ledger"], tmp_path / "a.svg")
    with pytest.raises(dx.errors.DataError, match="written"):
        dx.report.save(things["Policy"], tmp_path / "none" / "a.svg")
    for arguments, settings in (
        ((things["Policy"], 3), {}),
        ((things["Policy"], "b.svg", 3), {}),
        ((things["Policy"], "b.svg"), {"font": 3}),
        ((things["Policy"], "b.svg"), {"font_size": "9"}),
        ((things["Policy"], "b.svg"), {"width": True}),
        ((3, "b.svg"), {}),
    ):
        with pytest.raises(dx.errors.DxgeomError):
            dx.report.save(*arguments, **settings)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_drawn_is_refused(things):
    with pytest.raises(UnsupportedCombination, match="two different queries"):
        things["Plan"].plot("nobody", "asked")
    with pytest.raises(UnsupportedCombination, match="nothing to draw of this policy about wards"):
        things["Policy"].plot("wards")
    with pytest.raises(UnsupportedCombination, match="no answer to 'nobody'"):
        things["Release"].plot("nobody")


def test_a_map_is_drawn_of_places():
    policy = dx.load_policy(POLICIES / "bike-sharing" / "policy.yaml")
    assert policy.plot("dock").get_aspect() == 1


def test_progress_is_a_line_now_and_then():
    now = iter([0, 1, 7, 9])
    written = io.StringIO()
    tell = dx.report.ProgressLine("planning", written, lambda: next(now))
    for words in ("laplace", "hull"):
        tell(words)
    tell(3, 10)
    assert written.getvalue() == "planning: hull (7 s)\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_changes_in_place_on_a_terminal_and_is_gone_afterwards():
    now, written = iter([0, 1, 2]), Terminal()
    with dx.report.ProgressLine("reading", written, lambda: next(now)) as tell:
        tell("43 % of 10 rows", fraction=0.43)
        tell("", fraction=1.5)
    bars = ["[#########...........] reading: 43 % of 10 rows (1 s)", "[####################] reading (2 s)"]
    assert written.getvalue() == "".join(f"\r\x1b[K{line}" for line in [*bars, ""])


def test_progress_that_was_interrupted_leaves_nothing_on_a_terminal():
    written = Terminal()
    with pytest.raises(KeyboardInterrupt), dx.report.ProgressLine("reading", written) as tell:
        tell("x" * 1000)
        raise KeyboardInterrupt
    assert written.getvalue().endswith("\r\x1b[K") and "\n" not in written.getvalue()


def test_a_terminal_that_a_notebook_hands_over_gets_a_line_now_and_then(monkeypatch):
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    now, written = iter([0, 1, 7]), Terminal()
    with dx.report.ProgressLine("reading", written, lambda: next(now)) as tell:
        tell("a")
        tell("b")
    assert written.getvalue() == "reading: b (7 s)\n"


def test_nothing_is_erased_where_nothing_was_said():
    written = Terminal()
    with dx.report.ProgressLine("reading", written):
        pass
    assert written.getvalue() == ""
