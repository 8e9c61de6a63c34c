"""Draws what guides say in figures: each figure is computed here, or stands in the guide's own table."""

from __future__ import annotations

import itertools
import math
import re
import tempfile
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

import dxgeom as dx
from dxgeom.document.axes import write
from dxgeom.document.scene import Area, Dots, Label, Line, Look, Mark, Scale, Scene, rectangle, ticked

GUIDE = Path(__file__).parents[1]
POLICIES = GUIDE.parents[1] / "policies"
DOTS = 72


def draw(folder: Path) -> list[Path]:
    """All of them."""
    paths = []
    for name, made in PICTURES.items():
        scene = made()
        paths.append(folder / f"{name}.svg")
        write(scene, paths[-1], None, 9.0, (scene.width / DOTS, scene.height / DOTS))
    return paths


def a_shorter_detour() -> Scene:
    """A stated distance that a detour undercuts, and what the repair makes of it."""
    stated = [[0, 0.5, 1], [0.5, 0, 0.25], [1, 0.25, 0]]
    repaired = dx.repair_metric(np.array(stated)).entries
    flu, virus, cold = (0.0, 0.0), (1.0, 0.8), (2.0, 0.0)
    marks: list[Mark] = [
        Line((flu, virus, cold), "blue", 2.5),
        Line((flu, cold), "orange", 1.5, dashed=True),
        Dots((flu, virus, cold), "ink", 8),
        Label(flu, "flu", "end", shift=(-9, 0), strong=True),
        Label(virus, "virus", "middle", shift=(0, -13), strong=True),
        Label(cold, "cold", "start", shift=(9, 0), strong=True),
        Label((0.5, 0.4), f"{stated[0][1]:g}", "end", "blue", (-9, -6)),
        Label((1.5, 0.4), f"{stated[1][2]:g}", "start", "blue", (9, -6)),
        Label((1.0, 0.0), f"stated {stated[0][2]:g}; repaired {repaired[0][2]:g}", "middle", "orange", (0, 13)),
    ]
    alt = "A stated distance of 1 is longer than a detour of 0.75"
    return Scene(alt, Scale(-0.5, 2.5), Scale(-0.3, 1.1), tuple(marks), 400, 190, framed=False)


def distances_add_up() -> Scene:
    """The distance that equal releases tell together, in units of one."""
    days = (*range(1, 30), *range(30, 366, 5))
    curves: tuple[tuple[str, Look, Callable[[int], float]], ...] = (
        ("pure: releases add up", "orange", float),
        ("concentrated: their squares do", "blue", math.sqrt),
    )
    marks: list[Mark] = []
    for words, look, told in curves:
        marks.append(Line(tuple((day, told(day)) for day in days), look, 2))
        place: tuple[float, float] = (255, told(255)) if look == "orange" else (365, told(365))
        marks.append(
            Label(place, f"{words}, {told(365):.0f}", "end", look, (-12, -4) if look == "orange" else (-6, -12))
        )
    across, up = ticked(0, 370, "releases", 5), ticked(0, 380, "times the distance of one", 5)
    return Scene("Distances add up", across, up, tuple(marks), 440, 260)


def promises_kept() -> Scene:
    """The ± of deployments over the published one, from the guide's table."""
    rows = _rows(GUIDE / "deployments.md", 5)
    found = []
    for row in rows:
        numbers = [_first_number(cell) for cell in row[2:]]
        if None not in numbers:
            published, same, policy = (float(number) for number in numbers if number is not None)
            found.append((re.sub(r"\[(.*?)\].*", r"\1", row[0]), same / published, policy / published))
    marks: list[Mark] = [Line(((0, -0.8), (0, len(found) - 0.4)), "muted", 1, dashed=True)]
    for place, (name, same, policy) in enumerate(reversed(found)):
        marks += [
            Label((-3, place), name, "end", shift=(-6, 0)),
            Line(((-3, place), (3, place)), "ground", 1),
            Dots(((math.log2(same), place),), "blue", 9),
            Dots(((math.log2(policy), place),), "orange", 9),
        ]
    marks += [
        Label((-3, len(found) - 0.2), "same promise", "start", "blue"),
        Label((3, len(found) - 0.2), "a policy of its own", "end", "orange"),
    ]
    ticks = tuple((float(power), f"{2.0**power:g}") for power in range(-3, 4))
    across = Scale(-4.6, 3.2, "± over the published one", ticks)
    return Scene("± of deployments", across, Scale(-0.8, len(found) + 0.3), tuple(marks), 460, 260, names=8)


def odds_over_distance() -> Scene:
    """What a rule of epsilon 1 for every 50 km allows."""
    line = tuple((km, math.exp(km / 50)) for km in range(0, 121, 2))
    named = tuple((float(km), math.exp(km / 50)) for km in (5, 50, 100))
    marks: list[Mark] = [Line(line, "blue", 2), Dots(named, "ink", 7)]
    marks += [
        Label((km, odds), f"{km:g} km: {math.ceil(odds * 100) / 100:g} times", "end", shift=(-8, -10))
        for km, odds in named[1:]
    ]
    marks.append(Label(named[0], f"5 km: {math.ceil(named[0][1] * 100) / 100:g} times", "start", shift=(8, 13)))
    across, up = ticked(0, 120, "kilometres between two cities", 6), ticked(0, 12, "times as likely, at most", 6)
    return Scene("Odds over distance", across, up, tuple(marks), 440, 260)


def a_person_weighs_one() -> Scene:
    """Three people of one, two and five rows, under once and under rows with at most two."""
    marks: list[Mark] = []
    for top, title, kept in ((4.4, "count: once", None), (0.0, "count: rows, at_most: 2", 2)):
        marks.append(Label((0, top + 3.45), title, "start", strong=True))
        for place, rows in enumerate((1, 2, 5)):
            y = top + 2 - place
            marks.append(Label((-0.15, y + 0.35), f"{rows} row{'s' * (rows > 1)}", "end", "muted"))
            for row in range(rows):
                wide = 1 / rows if kept is None else 1.0
                counted = kept is None or row < kept
                corners = rectangle(row * wide, y, (row + 1) * wide, y + 0.7)
                marks.append(Area(corners, "blue" if counted else "ground", "ink" if counted else "muted"))
                if not counted:
                    marks.append(Label(((row + 0.5) * wide, y + 0.35), "left out", "middle", "muted"))
    return Scene("Weights of rows", Scale(-0.9, 5.1), Scale(-0.2, 8.1), tuple(marks), 440, 250, framed=False)


def ranks_off() -> Scene:
    """By how many ranks a median of 30,162 ages is off, 19 times in 20, over the spend."""
    metric = dx.load_policy(POLICIES / "adult" / "policy.yaml").compile()
    median = dx.quantiles.quantile_mechanism(metric, "age", [0.5])
    spends = [Fraction(part, 40) for part in range(2, 41)]
    bounds = [(float(spend), median.rank_bound(30_162, 0.95, spend)) for spend in spends]
    points = tuple((spend, float(bound)) for spend, bound in bounds)
    across, up = ticked(0, 1, "spend", 5), ticked(0, max(bound for _, bound in points), "ranks of 30,162", 5)
    named = [points[2], points[8], points[-1]]
    marks: list[Mark] = [Line(points, "blue", 2), Dots(tuple(named), "ink", 7)]
    marks += [
        Label(
            one, f"{one[1]:,.0f}", "middle" if one is named[2] else "start", shift=(-4 if one is named[2] else 8, -12)
        )
        for one in named
    ]
    return Scene("Ranks that a median is off by", across, up, tuple(marks), 440, 240)


def where_it_is_said_to_be() -> Scene:
    """The chances of the places that are reported of one place in 25, by the best table for squared errors."""
    places = np.array([[x, y] for x in range(5) for y in range(5)])
    metric = dx.verify_metric(np.linalg.norm(places[:, None] - places, axis=2), title="places", budget=1)
    costs = [[Fraction(int(((a - b) ** 2).sum())) for b in places] for a in places]
    best = dx.lab.optimal_table(metric, [Fraction(1, 25)] * 25, costs, spend=Fraction(1, 2))
    marks: list[Mark] = []
    for (x, y), chance in zip(places.tolist(), best.law.rows[7], strict=True):
        look: Look = "band-3" if chance > Fraction(1, 8) else "band-2" if chance > Fraction(1, 25) else "ground"
        marks.append(Area(rectangle(x, y, x + 1, y + 1), look, "muted"))
        marks.append(
            Label(
                (x + 0.5, y + 0.5),
                f"{float(chance):.1%}" if chance > Fraction(1, 1000) else "< 0.1%",
                "middle",
                on=look,
            )
        )
    x, y = places[7].tolist()
    marks.append(Label((x + 0.5, y + 0.5), "the secret", "middle", shift=(0, 14), strong=True))
    return Scene("Chances of places", Scale(-0.1, 5.1), Scale(-0.1, 5.1), tuple(marks), 330, 300, framed=False)


def how_far_below_the_best() -> Scene:
    """How many records the picked level of education has less than the most common, over the spend."""
    policy = dx.load_policy(POLICIES / "adult" / "policy.yaml")
    levels = dx.queries_from_dict({"queries": [{"marginal": "education"}]}, policy)
    pick = dx.selection(policy.compile(), levels)
    points = tuple((part / 40, float(pick.shortfall(0.95, spend=Fraction(part, 40)))) for part in range(2, 41))
    across, up = ticked(0, 1, "spend", 5), ticked(0, points[0][1] * 1.1, "records below the best", 5)
    named = [points[2], points[8], points[-1]]
    marks: list[Mark] = [Line(points, "blue", 2), Dots(tuple(named), "ink", 7)]
    marks += [
        Label(one, f"{one[1]:,.0f}", "end" if one is named[2] else "start", shift=(0 if one is named[2] else 8, -12))
        for one in named
    ]
    return Scene("Records below the best", across, up, tuple(marks), 440, 240)


def errors_of_models() -> Scene:
    """The errors of tables that follow the data beside one-way tables, from the guide's table."""
    rows = [row for row in _rows(GUIDE / "few-data.md", 6) if row[2].startswith(".") and row[3].startswith(".")]
    marks: list[Mark] = []
    for place, row in enumerate(reversed(rows)):
        ours, alone = float(row[2]), float(row[3])
        words = f"{row[0].split(',')[0]}, ρ = {row[1]}"
        marks += [
            Label((0.003, place + 0.28), words, "start"),
            Line(((ours, place), (alone, place)), "muted", 1),
            Dots(((ours, place),), "blue", 9),
            Dots(((alone, place),), "orange", 9),
        ]
    marks += [
        Label((0.003, len(rows)), "follow the data", "start", "blue"),
        Label((0.2, len(rows)), "one-way tables", "end", "orange"),
    ]
    across = ticked(0, 0.2, "mean error, in shares of all records", 5)
    return Scene("Errors of models", across, Scale(-0.4, len(rows) + 0.4), tuple(marks), 440, 220, names=12)


def moved_to_what_is_known() -> Scene:
    """Released counts of made-up records and their estimate."""
    policy = dx.Policy.from_dict(
        {
            "policy": "survey",
            "privacy": "concentrated",
            "universe": {
                "attributes": {"age": ["young", "middle", "old"], "region": ["north", "east", "south", "west"]}
            },
            "rules": [{"change": "age", "epsilon": 1}, {"change": "region", "epsilon": "0.5"}],
        }
    )
    tables = dx.universe.MarginalQueries.of(policy.universe, ways=2, records=40)
    counts = (9, 0, 1, 4, 6, 0, 0, 3, 12, 1, 0, 4)
    kinds = itertools.product(("young", "middle", "old"), ("north", "east", "south", "west"))
    rows = [row for row, count in zip(kinds, counts, strict=True) for _ in range(count)]
    with tempfile.TemporaryDirectory() as made:
        (table := Path(made) / "rows.csv").write_text("\n".join(map(",".join, [("age", "region"), *rows])))
        release = dx.plan(policy.compile(), tables).release(
            table, ledger=Path(made) / "survey.db", spend="1", insecure_test_seed=3
        )
    shown = (
        ("released", release.to_arrow("age, region")["value"].to_numpy()),
        ("estimate", release.estimate().tables[0]),
    )
    marks: list[Mark] = [Line(((-0.6, 0), (11.6, 0)), "muted", 1, dashed=True)]
    looks: tuple[Look, ...] = ("orange", "blue")
    for look, (words, values) in zip(looks, shown, strict=True):
        marks.append(
            Dots(
                tuple((float(k), float(value)) for k, value in enumerate(np.ravel(values))),
                look,
                8 if look == "blue" else 10,
            )
        )
        marks.append(Label((0.6 if look == "blue" else 3.4, 17.5), words, "start", look, strong=True))
    across = Scale(-0.6, 11.6, "twelve cells of a table of 40 records")
    return Scene("Counts and estimates", across, ticked(-6, 18, "count", 6), tuple(marks), 440, 240)


PICTURES: dict[str, Callable[[], Scene]] = {
    "a-shorter-detour": a_shorter_detour,
    "distances-add-up": distances_add_up,
    "promises-kept": promises_kept,
    "odds-over-distance": odds_over_distance,
    "a-person-weighs-one": a_person_weighs_one,
    "ranks-off": ranks_off,
    "where-it-is-said-to-be": where_it_is_said_to_be,
    "below-the-best": how_far_below_the_best,
    "errors-of-models": errors_of_models,
    "moved-to-what-is-known": moved_to_what_is_known,
}


def _rows(page: Path, cells: int) -> Iterable[list[str]]:
    """Rows of tables of so many columns."""
    for line in page.read_text(encoding="utf-8").splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(row) == cells and not set(line) <= set("|-"):
            yield row


def _first_number(cell: str) -> float | None:
    found = re.match(r"\d[\d.]*", cell)
    return float(found[0]) if found else None
