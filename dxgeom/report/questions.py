"""Section 5: what is asked, and how exact the answers are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dxgeom.document.document import Badge, Beside, Block, Paragraph, Picture, Section, ShownColumn, ShownTable, Words
from dxgeom.document.scene import Scene
from dxgeom.document.scenes import noise_shape
from dxgeom.planner.overview import TableErrors
from dxgeom.planner.plan import Plan
from dxgeom.privacy.measures import PURE
from dxgeom.report.exactness import LEVEL, Expected, covers, expected
from dxgeom.report.facts import Facts
from dxgeom.report.projection import projection_of_body
from dxgeom.wording.numbers import amount, digits, odds, plus_minus

MOST_ROWS: Final = 200
MOST_SHOWN: Final = 40
"""Questions with ± on a page: a reader gets through so many."""
_DRAWS: Final = 20_000
_MOST_DRAWN: Final = 4_000_000


def questions_section(facts: Facts) -> Section:
    """The section."""
    title = "What is asked, and how exact the answers are"
    if facts.plan_shown is not None and facts.spend is not None:
        return Section(5, title, errors_of_questions(facts.plan_shown, facts.spend))
    if facts.plan is None or facts.spend is None:
        nothing = Paragraph("No questions were given with this page. What they cost in accuracy is not on it.")
        return Section(5, title, (nothing,))
    rows = expected(facts, facts.plan, facts.spend)
    blocks: list[Block] = [question_table(facts, rows), Paragraph(_explained(facts, facts.spend, rows), "note")]
    blocks += [Paragraph(words) for words in _biases(rows)]
    blocks += noise_blocks(facts.plan, facts.spend)
    return Section(5, title, tuple(blocks))


def question_table(facts: Facts, rows: tuple[Expected, ...]) -> ShownTable:
    """Each question with ±, and where odds are promised the two yardsticks beside it; of many the least exact."""
    columns = [ShownColumn("Question"), ShownColumn("This plan, 19 times in 20", figures=True)]
    if facts.policy.privacy == PURE:
        near, far = (odds(pair.distance * facts.budget) for pair in (facts.extremes.closest, facts.extremes.farthest))
        columns += [
            ShownColumn(f"If every pair were as hidden as the closest ({near})", figures=True),
            ShownColumn(f"If every pair were as little hidden as the farthest ({far})", figures=True),
        ]
    cells = []
    for row in least_exact(rows):
        widths = (row.half_width, row.closest, row.farthest)[: len(columns) - 1]
        cells.append((row.name, *(width_in_words(width, row.possible) for width in widths)))
    return ShownTable("Questions and their errors", tuple(columns), tuple(cells))


def least_exact(rows: tuple[Expected, ...]) -> tuple[Expected, ...]:
    """All questions in their order; of more than a page holds those whose ± is largest beside what is possible, or
    where that is not public, largest."""
    if len(rows) <= MOST_SHOWN:
        return rows
    known = all(row.possible is not None and row.possible[1] > row.possible[0] for row in rows)

    def exactness(row: Expected) -> float:
        span = row.possible[1] - row.possible[0] if known and row.possible is not None else 1.0
        return row.half_width / span

    return tuple(sorted(rows, key=lambda row: -exactness(row))[:MOST_SHOWN])


def width_in_words(half_width: float | None, possible: tuple[float, float] | None) -> Words:
    """± of an answer, and whether that makes it useless."""
    if half_width is None:
        return "not known"
    said = plus_minus(half_width)
    return (said, " ", Badge("✖ useless", "useless")) if covers(half_width, possible) else said


def _explained(facts: Facts, spend: Fraction, rows: tuple[Expected, ...]) -> str:
    useful = next((row.possible for row in rows if row.possible is not None), None)
    useless = (
        "Which answers are useless cannot be said here: the number of records is not public on this page."
        if useful is None
        else f"Useless: the bar covers half or more of what is possible, such as {amount(useful[0])} to "
        f"{amount(useful[1])} for the first question."
    )
    first = f"At spend {amount(spend)}, 19 times in 20 an answer is off by at most this."
    beside = f" {_yardsticks(facts)}" if facts.policy.privacy == PURE else " Squares of spends add up."
    return f"{first}{beside} {useless}{_rest(rows)}"


def _yardsticks(facts: Facts) -> str:
    far = facts.extremes.farthest.distance
    right = (
        f"Right column: less is hidden; the closest two, too, could then be told apart at {odds(far * facts.budget)}."
        if math.isfinite(far)
        else "Right column: nothing is hidden, and answers are exact."
    )
    return f"Middle column: ordinary noise, which protects everybody more than the policy asks. {right}"


def _rest(rows: tuple[Expected, ...]) -> str:
    """What is said of the questions that the table leaves out."""
    shown = least_exact(rows)
    left = [row.half_width for row in rows if row not in shown]
    if not left:
        return ""
    ends = plus_minus(min(left)), plus_minus(max(left))
    return f" These are the {len(shown)} least exact; and {len(left):,} more, {ends[0]} to {ends[1]}."


def _biases(rows: tuple[Expected, ...]) -> Iterator[str]:
    for row in least_exact(rows):
        if math.isinf(row.bias):
            yield f"{row.name}: no upper limit can be given; values stand for many numbers of uncounted records."
        elif row.bias > 0:
            most = digits(row.bias, 2, ROUND_CEILING)
            yield f"{row.name}: a bias of up to {most}, which repetition does not average away, is in ±."


def noise_blocks(plan: Plan, spend: Fraction) -> tuple[Block, ...]:
    """The noise of the first two questions that get any; nothing where there are no two, or both always move alike."""
    scene = noise_picture(plan, spend)
    if scene is None:
        return ()
    note = Paragraph(
        "How far two of the answers may be off together. The inner shape holds both errors half the time, the outer "
        "one 19 times in 20; dots at the edge are errors beyond the picture. The arrow is what one changed record does "
        "to both. The noise is usually larger than that. It is drawn once and never shown. Spend "
        f"{amount(spend)}; shapes measured on simulated noise.",
        "note",
    )
    return (Beside((Picture(scene, "Errors of two answers together, in their own units."),), (note,)),)


def noise_picture(plan: Plan, spend: Fraction, pair: tuple[int, int] | None = None) -> Scene | None:
    """The contours of the noise of two answers; None where these two have none to show."""
    mechanism = plan.mechanism
    noisy = np.flatnonzero(mechanism.ideal_variances > 0)
    if mechanism.law is None or (pair is None and noisy.size < 2):
        return None
    first, second = (int(noisy[0]), int(noisy[1])) if pair is None else pair
    outline = projection_of_body(mechanism, first, second)
    if len(outline) < 3:
        return None
    size = max(2000, min(_DRAWS, _MOST_DRAWN // mechanism.law.dimension))
    draws = mechanism.law.simulate(size, np.random.default_rng(0)) @ mechanism.float_mixing[[first, second]].T
    sensitivity = mechanism.sensitivity
    steps = sensitivity.queries.float_steps[[first, second]]
    moves = sensitivity.differences[:, [first, second]] * steps
    longest = moves[int(np.argmax(np.abs(moves / np.abs(outline).max(axis=0)).sum(axis=1)))]
    moved = (float(longest[0]), float(longest[1]))
    names = [plan.queries.names[first], plan.queries.names[second]]
    return noise_shape(names, outline / float(spend), draws / float(spend), moved, "one record changed")


def errors_of_questions(stated: Any, spend: Fraction) -> tuple[Block, ...]:
    """Each question beside what holds of its errors at a spend."""
    tables = stated.each_table(spend, LEVEL)
    if tables:
        return _of_tables(tables, stated.records, spend)
    statements = stated.each_stated(spend, LEVEL)
    columns = ShownColumn("Question"), ShownColumn("What is asked"), ShownColumn("What holds of its errors")
    rows = tuple((one.name, one.question, one.holds) for one in statements[:MOST_ROWS])
    guessed = any("1,000 records" in one.holds for one in statements) and stated.records is None
    said = (
        f"At spend {amount(spend)}. What is no estimate holds whatever the data. Probability 0.95 is 19 times in 20. A "
        "rank is the place of a record when all stand in order. There is no column of ordinary noise: these errors are "
        f"not compared with it.{' Nobody says how many records there are: 1,000 is a guess.' if guessed else ''}"
    )
    return (
        ShownTable("Questions and what holds of their errors", columns, rows),
        Paragraph(f"{said}{_left_out(len(statements))}", "note"),
    )


def _of_tables(tables: Sequence[TableErrors], records: int | None, spend: Fraction) -> tuple[Block, ...]:
    columns = (
        ShownColumn("Counts in every cell of"),
        ShownColumn("Cells", figures=True),
        ShownColumn("± of each, 19 times in 20", figures=True),
    )
    rows = tuple((one.name, one.cells, _cell_width(one.half_width, records)) for one in tables[:MOST_ROWS])
    useless = (
        "Which are useless cannot be said: the number of records is not public on this page."
        if records is None
        else f"Useless: the bar covers half or more of what is possible, 0 to {records:,}."
    )
    said = f"At spend {amount(spend)}, each cell on its own. {useless}{_left_out(len(tables))}"
    return ShownTable("Tables and their errors", columns, rows), Paragraph(said, "note")


def _cell_width(half_width: float, records: int | None) -> Words:
    possible = None if records is None else (0.0, float(records))
    return width_in_words(half_width if math.isfinite(half_width) else None, possible)


def _left_out(number: int) -> str:
    return f" The first {MOST_ROWS} of {number:,}." if number > MOST_ROWS else ""
