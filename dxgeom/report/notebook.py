"""Policies, metrics, plans, releases and ledgers in a notebook: the sentence that matters, and small tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.document.document import (
    Block,
    Code,
    Document,
    Paragraph,
    Picture,
    Section,
    ShownColumn,
    ShownTable,
    Strong,
    Words,
)
from dxgeom.document.scene import Scene
from dxgeom.document.scenes import MOST_VALUES, answer_bars, guess_curve, heat_map, improvement_dots
from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.history import read_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.diameters import smallest_distance
from dxgeom.metrics.metric import MetricCertificate
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.json_text import compact_json
from dxgeom.planner.answers.linear_answers import ErrorBars
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import parts_of
from dxgeom.planner.candidates import CandidateResult, title_of
from dxgeom.planner.estimates.estimate import Estimate
from dxgeom.planner.plan import Plan
from dxgeom.planner.release import Release
from dxgeom.policy.explain.telling import Telling, curve_in_words, except_with
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE, privacy_measure_of
from dxgeom.report.account import answer_blocks, budget_gauge, date_of, joint_words
from dxgeom.report.exactness import LEVEL, ordinary_noise
from dxgeom.report.facts import Facts, PairDistances, entries_of, facts_of, require_odds
from dxgeom.report.questions import MOST_ROWS, noise_picture
from dxgeom.report.released import AnswerAsReleased, Released, release_of
from dxgeom.report.rules import example_pairs, map_of, promises
from dxgeom.report.sections import head, in_short
from dxgeom.report.short_plan import plan_screen
from dxgeom.report.short_policy import policy_screen
from dxgeom.report.short_release import release_screen
from dxgeom.report.warnings import warnings
from dxgeom.universe.people.people import PUBLIC_NUMBER
from dxgeom.universe.wording import shown as quoted
from dxgeom.wording.numbers import amount, at_most, digits, guesses, plus_minus

_TIMES_SMALLER: Final = "How many times smaller each error is than under ordinary noise."
_DOTS_AND_LINES: Final = "The dots are the released answers, the lines their bars."


def policy(shown: Policy) -> Document:
    """In short, and the rules; of concentrated privacy the curves."""
    facts = facts_of(shown)
    if shown.privacy != PURE:
        curves = Section(0, "In short", tuple(Paragraph(line) for line in curve_in_words(facts.review.curve)))
        rules = Section(0, "Rules", tuple(Paragraph(f"{one.words}: {one.sentence}.") for one in facts.review.rules))
        return Document("Policy", shown.name, shown.about, head(facts), (curves, rules), shown.fingerprint)
    sections = (in_short(facts, warnings(facts)), replace(promises(facts), number=0))
    return Document("Policy", shown.name, shown.about, head(facts), sections, shown.fingerprint)


def policy_scene(shown: Policy, about: tuple[str, ...]) -> Scene | None:
    """The curve of all its pairs, or a map or heat map of one attribute.

    Raises: UnsupportedCombination for a policy that promises no odds.
    """
    require_odds(shown)
    facts = facts_of(shown)
    if not about:
        return guess_curve([(pair.words, pair.distance) for pair in example_pairs(facts)], facts.budget, None)
    found = next((one for one in facts.compared if one.name == about[0]), None)
    return None if found is None or len(about) > 1 else _of_attribute(facts, found)


def _of_attribute(facts: Facts, found: PairDistances) -> Scene | None:
    drawn = map_of(facts, found)
    if drawn is not None:
        return drawn.scene
    return heat_map(found.name, found.labels, found.distances * facts.budget) if found.size <= MOST_VALUES else None


def verifiedmetric(shown: VerifiedMetric) -> Document:
    """Its closest pair and its certificate."""
    told = smallest_distance(shown.metric) * float(shown.budget)
    short = Paragraph(
        (
            "All answers within the budget together tell the closest two records apart with odds ",
            *_guesses_in_words(shown, told),
        )
    )
    facts: tuple[tuple[str, Words], ...] = (
        ("Records", f"{shown.size:,}"),
        ("Budget", amount(shown.budget)),
        ("Fingerprint", (Code(shown.fingerprint[:12]),)),
    )
    section = Section(0, "In short", (short, certificate_table(shown.certificate)))
    return Document("Verified metric", shown.title, "", facts, (section,), shown.fingerprint)


def _guesses_in_words(shown: VerifiedMetric, told: float) -> tuple[str | Strong, ...]:
    if shown.privacy == PURE or not math.isfinite(told):
        return (Strong(at_most(told)), f", {guesses(told):,} right of 1,000 guesses{except_with(shown.delta)}.")
    return (Strong(Telling(shown.privacy, shown.budget, shown.delta).at_most(Fraction(told) / shown.budget)), ".")


def metriccertificate(shown: MetricCertificate) -> Document:
    """Part by part, why the axioms hold."""
    holds = "The axioms of a distance hold." if shown.verdict == "holds" else "They hold within the numbers' rounding."
    section = Section(0, "In short", (Paragraph(holds), certificate_table(shown)))
    return Document("Certificate", shown.form, "", (("Values", f"{shown.size:,}"),), (section,), "")


def certificate_table(shown: MetricCertificate) -> ShownTable:
    """A row for each part, the whole first."""
    columns = (
        ShownColumn("Part"),
        ShownColumn("Values", figures=True),
        ShownColumn("Established by"),
        ShownColumn("Checked"),
    )
    return ShownTable("Certificate", columns, tuple(_rows(shown, 0)))


def _rows(shown: MetricCertificate, depth: int) -> Iterator[tuple[Words, ...]]:
    checked = f"{shown.pairs:,} pairs, {shown.triples:,} triples" if shown.pairs else "by a theorem"
    yield f"{'· ' * depth}{shown.form}", f"{shown.size:,}", shown.reason, checked
    for part in shown.parts:
        yield from _rows(part, depth + 1)


def plan(shown: Plan) -> Document:
    """± of each answer beside ordinary noise, and the candidates; of any other plan what it says of itself."""
    shown = shown.plan
    if not shown.answers_a_list:
        return _in_its_words(shown)
    widths, ordinary = _widths(shown)
    spend = amount(shown.metric.budget)
    short = Paragraph(
        f"With the whole budget, {spend}, answers are off by at most this, 19 times in 20. {shown.reason}."
    )
    columns = (
        ShownColumn("Question"),
        ShownColumn("This plan", figures=True),
        ShownColumn("Ordinary noise", figures=True),
    )
    rows = tuple(
        (name, plus_minus(float(widths[k])), "not known" if ordinary is None else plus_minus(float(ordinary[k])))
        for k, name in enumerate(shown.queries.names[:MOST_ROWS])
    )
    blocks: list[Block] = [short, ShownTable("Questions and errors", columns, rows), *_gains_drawn(shown)]
    sections = (
        Section(0, "How exact", tuple(blocks)),
        Section(
            0, "Candidates", (_candidates(shown.comparison.shown, shown.loss), Paragraph(f"{shown.bound_in_words}."))
        ),
    )
    facts: tuple[tuple[str, Words], ...] = (
        ("Questions", f"{shown.queries.count:,}"),
        ("Mechanism", title_of(shown.mechanism.name)),
        ("Fingerprint", (Code(shown.fingerprint[:12]),)),
    )
    return Document("Plan", shown.metric.title, "", facts, sections, shown.fingerprint)


def plan_short(shown: Plan) -> Document:
    """Its screen, and how much smaller errors are than under ordinary noise."""
    return _with_pictures(plan_screen(shown, shown.spend_of_figures()), _gains_drawn(shown))


def release_short(shown: Release[Any]) -> Document:
    """Its screen, and the answers with their bars as a picture."""
    return _with_pictures(release_screen(shown), _answers_drawn(_document(shown).answers))


def policy_short(shown: Policy) -> Document:
    """Its screen."""
    return policy_screen(shown, shown.review())


def _with_pictures(short: Document, pictures: list[Picture]) -> Document:
    drawn = (Section(0, "", tuple(pictures)),) if pictures else ()
    return replace(short, sections=(*short.sections, *drawn))


def _in_its_words(shown: Plan) -> Document:
    short = Section(0, "In short", tuple(map(Paragraph, shown.lines())))
    facts: tuple[tuple[str, Words], ...] = (
        ("Mechanism", shown.mechanism.name),
        ("Fingerprint", (Code(shown.fingerprint[:12]),)),
    )
    return Document("Plan", shown.mechanism.account.policy_name, "", facts, (short,), shown.fingerprint)


def candidateresult(shown: CandidateResult) -> Document:
    """What became of one candidate."""
    table = _candidates((shown,), shown.loss or 1.0)
    return Document("Candidate", title_of(shown.name), "", (), (Section(0, "In short", (table,)),), "")


def plan_scene(shown: Plan, about: tuple[str, ...]) -> Scene | None:
    """Improvement over ordinary noise as dots, or the noise of two answers; None of what is no list of queries."""
    shown = shown.plan
    if not shown.answers_a_list:
        return None
    if about:
        unknown = [name for name in about if name not in shown.queries.names]
        if unknown or len(set(about)) != 2:
            known = ", ".join(shown.queries.names[:20])
            raise UnsupportedCombination(f"the noise of two different queries is drawn, of {known}; found {about!r}")
        first, second = (shown.queries.names.index(name) for name in about)
        return noise_picture(shown, shown.metric.budget, (first, second))
    rows = _gains(shown)
    return improvement_dots(rows) if rows else None


def _gains_drawn(shown: Plan) -> list[Picture]:
    """The same with how to read it, also for a telephone; none where there is nothing to draw."""
    rows = _gains(shown.plan) if shown.plan.answers_a_list else []
    return [Picture(improvement_dots(rows), _TIMES_SMALLER, None, improvement_dots(rows, narrow=True))] if rows else []


def _gains(shown: Plan) -> list[tuple[str, float, str]]:
    """Questions, how many times smaller their errors are, and both errors; none where none is smaller or larger."""
    widths, ordinary = _widths(shown)
    if ordinary is None or not np.any(ordinary > 0):
        return []
    return [
        (
            name,
            math.inf if widths[k] == 0 else float(ordinary[k] / widths[k]),
            f"{plus_minus(float(widths[k]))} instead of {plus_minus(float(ordinary[k]))}",
        )
        for k, name in enumerate(shown.queries.names)
        if np.isfinite(widths[k])
    ]


def _widths(shown: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Half-widths with the whole budget, and under ordinary noise, which hides every pair as the closest two."""
    spend = Fraction(shown.metric.budget)
    mechanism = ordinary_noise(shown)
    ordinary = None if mechanism is None else ErrorBars(shown.queries, mechanism, spend, shown.records)
    return shown.half_widths(LEVEL, spend), None if ordinary is None else ordinary.half_widths(LEVEL)


def _candidates(candidates: tuple[CandidateResult, ...], loss: float) -> ShownTable:
    columns = (
        ShownColumn("Candidate"),
        ShownColumn("Times the chosen loss", figures=True),
        ShownColumn("Worst question's rmse", figures=True),
        ShownColumn("Note"),
    )
    rows = []
    for one in candidates:
        ratio = "not built" if one.loss is None else "exact" if loss == 0 else digits(one.loss / loss, 3)
        worst = "" if not one.per_query else digits(math.sqrt(max(one.per_query)), 3)
        rows.append((title_of(one.name), ratio, worst, one.reason or one.build_cost))
    return ShownTable("Candidates", columns, tuple(rows))


def release(shown: Release[Any]) -> Document:
    """Answers with bars, and the budget."""
    account = shown.mechanism.account
    budget = account.budget
    released = _document(shown)
    drawn = _answers_drawn(released.answers)
    blocks: list[Block] = [Paragraph(joint_words(released)), *drawn] if drawn else []
    blocks += answer_blocks(released.parts)
    counted = privacy_measure_of(account.privacy_measure)
    spent = counted.spend_above(counted.counted(budget) - counted.counted(shown.remaining))
    blocks.append(budget_gauge(spent, budget, None, account.privacy_measure))
    blocks += [] if shown.records is None else [Paragraph(PUBLIC_NUMBER)]
    if shown.rehearsal:
        blocks.insert(0, Paragraph("A rehearsal with made-up records: nothing here is about anybody."))
    facts: tuple[tuple[str, Words], ...] = (
        ("Spent", amount(shown.spent)),
        ("Records", "private" if shown.records is None else f"{shown.records:,}"),
        ("When", date_of(shown.time)),
        ("Plan", (Code(shown.plan_fingerprint[:12]),)),
    )
    section = Section(0, "Answers", tuple(blocks))
    return Document("Release", account.policy_name, "", facts, (section,), shown.plan_fingerprint)


def shownanswers(shown: ShownAnswers) -> Document:
    """Answers without what their release cost."""
    blocks = answer_blocks(parts_of(json.loads(compact_json(shown.document()))))
    return Document("Answers", "", "", (), (Section(0, "Answers", tuple(blocks)),), shown.question_fingerprint or "")


def estimate(shown: Estimate) -> Document:
    """Estimates beside the released answers."""
    columns = (ShownColumn("query"), *(ShownColumn(title, figures=True) for title in ("released", "estimate")))
    rows = tuple((name, amount(released), amount(value)) for name, released, value in shown.pairs())
    table: list[Block] = [ShownTable("Estimates", columns, rows)] if rows else []
    blocks = (*table, *map(Paragraph, shown.done))
    return Document("Estimates", "", "", (), (Section(0, "Answers", blocks),), shown.plan_fingerprint)


def release_scene(shown: Release[Any], about: tuple[str, ...]) -> Scene | None:
    """The answers with bars; all of one unit, or those of the names given."""
    return _scene(_document(shown).answers, about)


def _answers_drawn(answers: tuple[AnswerAsReleased, ...]) -> list[Picture]:
    """The same with how to read it, also for a telephone; none where there is nothing to draw."""
    scene = _scene(answers, ())
    return [] if scene is None else [Picture(scene, _DOTS_AND_LINES, None, _scene(answers, (), narrow=True))]


def _scene(answers: tuple[AnswerAsReleased, ...], about: tuple[str, ...], *, narrow: bool = False) -> Scene | None:
    unknown = [name for name in about if name not in {one.name for one in answers}]
    if unknown:
        raise UnsupportedCombination(f"the release has no answer to {quoted(unknown[0])}")
    wanted = [one for one in answers if not about or one.name in about]
    rows = [(one.name, one.value, one.low, one.high) for one in wanted if one.unit == wanted[0].unit]
    return answer_bars(rows, None, wanted[0].unit or "", narrow=narrow) if rows else None


def _document(shown: Release[Any]) -> Released:
    return release_of(compact_json(shown.as_dict()).encode(), "this release")


_MOST_ROWS = 50


def ledger(shown: Ledger) -> Document:
    """The gauge and the entries of its policy."""
    account, blocks = shown.account, list[Block]()
    if shown.file is None:
        blocks.append(Paragraph("In memory: it is forgotten when it is closed, and protects nobody across runs."))
    else:
        blocks += _entries(shown, shown.file)
    facts: tuple[tuple[str, Words], ...] = (
        ("Kept in", "memory" if shown.file is None else shown.file),
        ("Budget", amount(account.budget)),
        ("Policy", (account.policy_name, " ", Code(account.policy_fingerprint[:12]))),
    )
    section = Section(0, "What was told, and what is left", tuple(blocks))
    return Document("Ledger", account.policy_name, "", facts, (section,), account.policy_fingerprint)


def _entries(shown: Ledger, file: str) -> list[Block]:
    history = read_ledger(file)
    account, answered = shown.account, {*history.answers, *history.waiting}
    mine = entries_of(history, account.policy_fingerprint, account.data_set.edition)
    counted = history.privacy_measure
    spent = counted.spend_above(sum((counted.counted(entry.spend) for entry in mine), Fraction(0)))
    columns = (
        ShownColumn("Entry"),
        ShownColumn("Day"),
        ShownColumn("Purpose"),
        ShownColumn("Spend", figures=True),
        ShownColumn("State"),
    )
    rows = tuple(
        (
            str(entry.number),
            date_of(entry.time_utc),
            entry.purpose,
            amount(entry.spend),
            "answered" if entry.number in answered else "charged, answer not kept here",
        )
        for entry in mine[-_MOST_ROWS:]
    )
    return [
        budget_gauge(spent, account.budget, len(mine), account.privacy_measure),
        ShownTable("Entries", columns, rows),
    ]
