"""Bars hold: over random policies, raw data and releases the truth about raw numbers lies within 95 % intervals.

False alarms: each share is compared at five standard deviations of as many independent releases, below 1e-6 each.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.linear.bars import half_widths
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.answers.linear_answers import LinearAnswers

LEVEL = 0.95
QUERIES = """queries:
  - {name: mean, mean: v}
  - {name: sum, sum: v}
  - {name: of some, sum: v, where: w == 'a'}
  - {name: some, count: w == 'a'}
"""
PRIVATE = QUERIES.replace("  - {name: mean, mean: v}\n", "")


def random_attribute(generator):
    """How a policy states it, and numbers that a table may hold."""
    whole = bool(generator.integers(2))
    if generator.integers(2):
        step = int(generator.integers(1, 8))
        low, high = 0, int(generator.integers(step, 40))
        text = f"{{range: [{low}, {high}], step: {step}"
    else:
        edges = np.cumsum(generator.integers(1, 15, int(generator.integers(2, 6)))).tolist()
        low, high = edges[0], edges[-1]
        text = f"{{bins: {edges}"
    if generator.integers(2):
        low, high = low - int(generator.integers(0, 5)), high + int(generator.integers(0, 20))
        text += f", clamp: [{low}, {high}]"
    text += ", whole: true}" if whole else "}"
    clustered = generator.uniform(low, high) if generator.integers(2) else None
    values = np.full(40, clustered) if clustered is not None else generator.uniform(low, high, 40)
    return text, np.clip(np.floor(values) if whole else values, low, high)


def random_plan(generator):
    text, raw = random_attribute(generator)
    private = generator.integers(4) == 0
    near = generator.integers(2)
    rules = "  - {change: v, epsilon: 1" + (", per: 3 steps}\n" if near else "}\n") + "  - {change: w, epsilon: 1}\n"
    rules += "  - {presence: true, epsilon: 2}\n" if private else ""
    policy = dx.parse_policy(f"policy: p\nuniverse:\n  attributes:\n    v: {text}\n    w: [a, b]\nrules:\n{rules}")
    asked = PRIVATE if private else f"records: {raw.size}\n{QUERIES}"
    return policy, dx.plan(policy.compile(), dx.parse_queries(asked, policy), mechanism="laplace"), raw


def truths(plan, raw, chosen):
    of = {"mean": raw.mean(), "sum": raw.sum(), "of some": raw[chosen].sum(), "some": chosen.sum()}
    return np.array([of[name] for name in plan.queries.names])


def coverage(policies, releases, seed):
    """How often raw truths are within the intervals, and how often noise alone is within its own bars."""
    generator = np.random.default_rng(seed)
    within, noise, entries = 0, 0, 0
    for one in range(policies):
        policy, plan, raw = random_plan(generator)
        chosen = generator.random(raw.size) < generator.random()
        codes = [
            one.encode(cells)
            for one, cells in zip(policy.universe.attributes, (raw, np.where(chosen, "a", "b")), strict=True)
        ]
        counts = np.bincount(policy.universe.indices_of(codes), minlength=policy.universe.size)
        truth, middle = truths(plan, raw, chosen), np.array([float(x) for x in plan.queries.answers(counts)])
        spend = Fraction(int(generator.integers(1, 9)), 4)
        alone = half_widths(plan.mechanism, LEVEL, spend, None)
        randomness = InsecureSeededRandomness(seed * 1000 + one)
        for values in plan.mechanism.draws(counts, spend, releases, randomness):
            private = policy.universe.absent is not None
            answers = LinearAnswers(plan.queries, plan.mechanism, values, spend, None if private else raw.size)
            widths = answers.half_widths(LEVEL)
            within += int(np.sum(np.abs(answers.values - truth) <= widths))
            noise += int(np.sum(np.abs(answers.values - middle) <= alone))
            entries += len(truth)
    return within / entries, noise / entries


def held(shares, releases):
    within, noise = shares
    deviation = 5 * math.sqrt(LEVEL * (1 - LEVEL) / releases)
    assert LEVEL <= within <= 1
    assert abs(noise - LEVEL) <= deviation + 0.003  # bars also hold the half steps of the lattice
    return True


@pytest.mark.long
def test_intervals_hold_the_truth_about_raw_numbers():
    assert held(coverage(policies=6, releases=50, seed=1), 300)


@pytest.mark.long
def test_intervals_hold_the_truth_about_raw_numbers_in_ten_thousand_releases():
    assert held(coverage(policies=100, releases=100, seed=2), 10_000)


STOPS = "stop,east,height\na,0,10\nb,4,31\nc,9,80\nd,15,84\n"
SEVERAL = """
policy: p
privacy: {currency}
universe:
  attributes:
    stop: {{points: stops.csv, key: stop, x: east, "y": height, unit: km}}
    day: {{dates: [2026-01-01, 2026-02-11], step: 7}}
    v: {{range: [0, {top}], step: {step}, clamp: [0, {end}]}}
rules:
  - {{change: stop, epsilon: {first}, per: 5 km}}
  - {{change: day, epsilon: 1, per: 14 days}}
  - {{change: v, epsilon: {second}}}
"""
ASKED = """queries:
  - {name: height, sum: height}
  - {name: v, sum: v}
  - {name: early, count: "day < '2026-01-22'"}
  - {name: late and high, count: "day >= '2026-01-29' and height > 20"}
  - {name: v early, mean: v, where: "day < '2026-01-22'"}
  - {name: v, mean: v, by: stop}
"""


def several(generator, mechanism, folder):
    """A policy of places, days and numbers, a plan by a mechanism of that name, and raw rows."""
    step = int(generator.integers(1, 6))
    top, count = step * int(generator.integers(2, 6)), 60
    currency = "concentrated" if mechanism == "gaussian" else "pure"
    first, second = (str(round(generator.uniform(0.2, 1), 2)) for _ in range(2))
    text = SEVERAL.format(step=step, top=top, end=top + step, first=first, second=second, currency=currency)
    policy = dx.parse_policy(text, folder=folder)
    plan = dx.plan(policy.compile(), dx.parse_queries(f"records: {count}\n{ASKED}", policy), mechanism=mechanism)
    days = np.datetime64("2026-01-01") + generator.integers(0, 42, count)
    rows = (generator.choice(["a", "b", "c", "d"], count), days.astype(str), generator.uniform(0, top + step, count))
    return policy, plan, rows


def facts(names, rows):
    """The truth about raw rows, by the name of an answer or a ratio."""
    stop, day, v = rows
    height = np.array([{"a": 10, "b": 31, "c": 80, "d": 84}[one] for one in stop])
    early = day < "2026-01-22"
    of = {"height": height.sum(), "v": v.sum(), "early": early.sum(), "v early": v[early].mean()}
    of["late and high"] = ((day >= "2026-01-29") & (height > 20)).sum()
    of |= {f"v, stop={one}": v[stop == one].mean() for one in "abcd"}
    return np.array([of[name] for name in names])


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["rotated-laplace", "ellipsoid", "box", "strategy", "gaussian"])
def test_intervals_hold_whatever_the_noise_is_over_places_days_and_means_of_groups(tmp_path, mechanism):
    """Ten thousand releases, two thousand by each mechanism; ratios are counted apart."""
    (tmp_path / "stops.csv").write_text(STOPS)
    generator = np.random.default_rng(7)
    within, entries, means, asked = 0, 0, 0, 0
    for one in range(4):
        policy, plan, rows = several(generator, mechanism, tmp_path)
        codes = [attribute.encode(cells) for attribute, cells in zip(policy.universe.attributes, rows, strict=True)]
        counts = np.bincount(policy.universe.indices_of(codes), minlength=policy.universe.size)
        spend = Fraction(int(generator.integers(1, 9)), 4)
        stated = [place for place, name in enumerate(plan.queries.names) if name in ("height", "v", "early")]
        stated += [place for place, name in enumerate(plan.queries.names) if name == "late and high"]
        truth = facts([plan.queries.names[place] for place in stated], rows)
        for values in plan.mechanism.draws(counts, spend, 500, InsecureSeededRandomness(one)):
            answers = LinearAnswers(plan.queries, plan.mechanism, values, spend, 60)
            widths = answers.half_widths(LEVEL)[stated]
            within += int(np.sum(np.abs(answers.values[stated] - truth) <= widths))
            entries += len(stated)
            ratios = answers.ratios(LEVEL)
            for ratio, fact in zip(ratios, facts([ratio.name for ratio in ratios], rows), strict=True):
                low, high = ratio.interval
                means, asked = means + (low <= fact <= high), asked + 1
    assert len(ratios) == 5
    deviation = 5 * math.sqrt(LEVEL * (1 - LEVEL) / 2000)
    assert LEVEL - deviation <= within / entries <= 1
    assert LEVEL - deviation <= means / asked <= 1
