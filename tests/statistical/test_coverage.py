"""Bars hold: over random policies, raw data and releases the truth about raw numbers lies within 95 % intervals.

False alarms: each share is compared at five standard deviations of as many independent releases, below 1e-6 each.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.linear.bars.intervals import half_widths
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
