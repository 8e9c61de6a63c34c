"""Rings of people who change places, beside all of them by brute force, and beside the worst mechanisms."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from reference.informed_observers import belief_of, tables_of, worst_odds, worst_ring

from dxgeom.metrics.combinations import CapMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.rings import ClassesByParts, rings_of_elements

UP = 1 + 1e-8


def discrete(count: int, epsilon: float) -> Metric:
    return DiscreteMetric(count, Fraction(str(epsilon)))


def distances(metric: Metric) -> NDArray[np.float64]:
    codes = np.arange(metric.size)
    return np.asarray(metric.distance(codes[:, None], codes[None, :]))


def line(*positions: float) -> Metric:
    return LineMetric(tuple(Fraction(str(one)) for one in positions), Fraction(1))


def drawn(rng: random.Random) -> tuple[Metric, NDArray[np.int64]]:
    """A metric on few records, and classes of these."""
    shapes = [
        lambda: SumMetric((discrete(3, 1), discrete(2, 0.2))),
        lambda: SumMetric((discrete(2, 0.5), line(0, 1, 1.5))),
        lambda: CapMetric(SumMetric((discrete(2, 0.5), line(0, 1, 1.5))), Fraction("1.2")),
        lambda: PresenceMetric(SumMetric((discrete(2, 1), line(0, 0.5, 2))), Fraction("0.7")),
        lambda: line(*sorted(rng.sample(range(12), 6))),
    ]
    metric = rng.choice(shapes)()
    labels = np.array([rng.randrange(3) for _ in range(metric.size)])
    return metric, np.unique(labels, return_inverse=True)[1].astype(np.int64)


def test_no_ring_costs_more_than_the_closed_form():
    rng, attained, pairs = random.Random(3), 0, 0
    for _ in range(6):
        metric, labels = drawn(rng)
        apart = distances(metric)
        rings, ends, farthest = rings_of_elements(metric, labels)
        for people in (2, 3):
            most = 0.0
            for i, j in itertools.permutations(range(metric.size), 2):
                if labels[i] != labels[j]:
                    classes = (int(labels[i]), int(labels[j]))
                    stated = rings.cost((ends[i], ends[j]), classes, apart[i, j], people)
                    reached = worst_ring(apart, labels.tolist(), i, j, people)
                    assert reached <= stated
                    attained, pairs, most = attained + (reached * UP >= stated), pairs + 1, max(most, stated)
            assert most <= rings.most(farthest, people) * UP
    assert attained > pairs / 2  # attained for most, and never passed


def test_of_one_known_attribute_the_closed_form_is_attained():
    """Distances add, classes are the values of one attribute, farther apart than what is in them."""
    metric = SumMetric((discrete(3, 4), line(0, 1, 1.5)))
    labels = np.repeat(np.arange(3), 3)
    apart = distances(metric)
    rings, ends, _ = rings_of_elements(metric, labels)
    for i, j in itertools.permutations(range(9), 2):
        if labels[i] != labels[j]:
            for people in (2, 3):
                stated = rings.cost((ends[i], ends[j]), (int(labels[i]), int(labels[j])), apart[i, j], people)
                assert worst_ring(apart, labels.tolist(), i, j, people) == pytest.approx(stated, rel=1e-8)


@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_one_margin_of_a_square_table_costs_as_many_epsilons_as_it_has_columns(k):
    """Ordinary ε-privacy: identity against shift, a ring of k people."""
    metric = discrete(k * k, 1)
    rings, ends, _ = rings_of_elements(metric, np.repeat(np.arange(k), k))
    assert rings.cost((ends[0], ends[k]), (0, 1), 1.0, k) == pytest.approx(k)


@pytest.mark.parametrize("presence", [False, True])
def test_bounds_by_attribute_are_those_of_elements_where_classes_are_products(presence):
    parts = (line(0, 1, 4), discrete(2, 0.5), line(0, 2, 3))
    inner = SumMetric(parts)
    metric = PresenceMetric(inner, Fraction(6)) if presence else inner
    own = np.array([0, 1, 1])
    labels = np.repeat(own, 6)
    rings, ends, _ = rings_of_elements(metric, np.append(labels, [2][: int(presence)]) if presence else labels)
    laid_out = ClassesByParts(parts, (0,), own, 3 if presence else 2, math.inf, 2 if presence else None, 6.0)
    found = laid_out.rings()
    assert found.diameters == pytest.approx(rings.diameters)
    assert found.widest == pytest.approx(rings.widest)
    for index in range(18):
        codes = [int(code) for code in np.unravel_index(index, (3, 2, 3))]
        assert laid_out.eccentricity(codes, int(labels[index])) == pytest.approx(ends[index])


def test_bounds_by_attribute_are_never_below():
    rng = random.Random(5)
    for _ in range(40):
        parts = (line(0, 1, 4), discrete(3, 0.5))
        metric = CapMetric(SumMetric(parts), Fraction("3.5"))
        labels = np.array([rng.randrange(3) for _ in range(9)])
        labels[:3] = range(3)
        exact, ends, _ = rings_of_elements(metric, labels)
        laid_out = ClassesByParts(parts, (0, 1), labels.reshape(3, 3), 3, 3.5)
        assert np.all(laid_out.rings().diameters * UP >= exact.diameters)
        for index in range(9):
            codes = [int(code) for code in np.unravel_index(index, (3, 3))]
            assert laid_out.eccentricity(codes, int(labels[index])) * UP >= ends[index]


def odds_of_observers(seed: int, observers: int, people: int, classes: int) -> tuple[int, float]:
    """How many observers were asked, and the most of the stated loss that one of them reached; none passes it."""
    rng = random.Random(seed)
    generator = np.random.default_rng(seed)
    asked, share = 0, 0.0
    metric = SumMetric((discrete(classes, 0.7), line(0, 0.4)))
    labels = np.repeat(np.arange(classes), 2)
    apart, (rings, ends, _) = distances(metric), rings_of_elements(metric, labels)
    counts = np.array([labels == own for own in range(classes)]).astype(float)
    tables = tables_of(2 * classes, people)
    for _ in range(observers):
        i, j = rng.choice([(0, 2), (0, 3), (1, 2), (0, 1)])
        priors = generator.dirichlet([0.5] * 2 * classes, size=people)
        if rng.random() < 0.5:  # each is one of two, or is known
            priors = np.zeros((people, 2 * classes))
            for own in priors[1:]:
                own[rng.sample(range(2 * classes), 2)] = 0.5
        true = [i, *(rng.choices(range(2 * classes), weights=own)[0] for own in priors[1:])]
        known = counts @ np.bincount(true, minlength=2 * classes)
        one, other = (belief_of(priors, record, counts, known) for record in (i, j))
        if not one or not other:
            continue
        two = (int(labels[i]), int(labels[j]))
        same = two[0] == two[1]
        limit = apart[i, j] if same else rings.cost((ends[i], ends[j]), two, apart[i, j], min(classes, people))
        reached = worst_odds(apart, one, other, tables)
        assert reached <= limit + 1e-6
        asked, share = asked + 1, max(share, 0.0 if same else reached / limit)
    return asked, share


def test_no_belief_about_separate_people_goes_beyond_the_closed_form():
    asked, share = odds_of_observers(1, 12, 3, 2)
    assert asked >= 4
    assert share > 0.5


@pytest.mark.long
@pytest.mark.parametrize(("people", "classes"), [(2, 2), (3, 2), (4, 2), (5, 2), (3, 3), (4, 3)])
def test_no_belief_about_up_to_five_people_goes_beyond_the_closed_form(people, classes):
    asked, share = odds_of_observers(people, 120, people, classes)
    assert asked > 40
    assert share > 0.6  # and some come near; the one who reaches it is below


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_some_observer_reaches_the_closed_form(classes):
    """Everybody of a ring is one of two: each class loses one record and gets its other one, or nobody moves."""
    metric = SumMetric((discrete(classes, 0.7), line(0, 0.4)))
    labels = np.repeat(np.arange(classes), 2)
    apart, (rings, ends, _) = distances(metric), rings_of_elements(metric, labels)
    counts = np.array([labels == own for own in range(classes)]).astype(float)
    priors = np.zeros((classes, 2 * classes))
    for person in range(1, classes):
        priors[person, [2 * person, 2 * ((person + 1) % classes) + 1]] = 0.5
    beliefs = [belief_of(priors, record, counts, (1,) * classes) for record in (0, 3)]
    stated = rings.cost((ends[0], ends[3]), (0, 1), apart[0, 3], classes)
    assert worst_odds(apart, beliefs[0], beliefs[1], tables_of(2 * classes, classes)) == pytest.approx(stated, abs=1e-6)
