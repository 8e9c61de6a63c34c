"""A plan, and a candidate, in a notebook: how exact answers will be, and what else was tried."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace
from dxgeom.planner.answers.error_bars import ErrorBars
from dxgeom.planner.candidates import CandidateResult, title_of
from dxgeom.planner.plan import Plan
from dxgeom.planner.releases.releasable import Releasable
from dxgeom.report.document.blocks import Block, Code, Paragraph, Picture, Section, ShownColumn, ShownTable, Words
from dxgeom.report.document.document import Document
from dxgeom.report.drawing.answer_bars import improvement_dots
from dxgeom.report.drawing.scene import Scene
from dxgeom.report.facts.exactness import LEVEL
from dxgeom.report.sections.asked import MOST_ROWS, noise_picture
from dxgeom.wording.numbers import amount, digits, plus_minus


def plan(shown: Plan) -> Document:
    """± of each answer beside ordinary noise, and the candidates."""
    shown = shown.plan
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
    scene = plan_scene(shown, ())
    blocks: list[Block] = [short, ShownTable("Questions and errors", columns, rows)]
    if scene is not None:
        blocks.append(Picture(scene, "How many times smaller each error is than under ordinary noise."))
    sections = (
        Section(0, "How exact", tuple(blocks)),
        Section(
            0, "Candidates", (_candidates(shown.comparison.told, shown.loss), Paragraph(f"{shown.bound_in_words}."))
        ),
    )
    facts: tuple[tuple[str, Words], ...] = (
        ("Questions", f"{shown.queries.count:,}"),
        ("Mechanism", title_of(shown.mechanism.name)),
        ("Fingerprint", (Code(shown.fingerprint[:12]),)),
    )
    return Document("Plan", shown.metric.title, "", facts, sections, shown.fingerprint)


def releasable(shown: Releasable[Any]) -> Document:
    """What any other plan says of itself."""
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
    """Improvement over ordinary noise as dots, or the noise of two answers."""
    shown = shown.plan
    if about:
        unknown = [name for name in about if name not in shown.queries.names]
        if unknown or len(set(about)) != 2:
            known = ", ".join(shown.queries.names[:20])
            raise UnsupportedCombination(f"the noise of two different queries is drawn, of {known}; found {about!r}")
        first, second = (shown.queries.names.index(name) for name in about)
        return noise_picture(shown, shown.metric.budget, (first, second))
    widths, ordinary = _widths(shown)
    if ordinary is None or not np.any(ordinary > 0):
        return None
    rows = [
        (
            name,
            math.inf if widths[k] == 0 else float(ordinary[k] / widths[k]),
            f"{plus_minus(float(widths[k]))} instead of {plus_minus(float(ordinary[k]))}",
        )
        for k, name in enumerate(shown.queries.names)
        if np.isfinite(widths[k])
    ]
    return improvement_dots(rows) if rows else None


def _widths(shown: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Half-widths with the whole budget, and under ordinary noise, which hides every pair as the closest two."""
    spend = Fraction(shown.metric.budget)
    try:
        ordinary = ErrorBars(shown.queries, epsilon_dp_laplace(shown.mechanism.sensitivity), spend, shown.records)
        return shown.half_widths(LEVEL, spend), ordinary.half_widths(LEVEL)
    except (TooLarge, CertificateRefused):
        return shown.half_widths(LEVEL, spend), None


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
