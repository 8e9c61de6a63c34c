"""Every kind of mechanism, small enough to be looked at from all sides; one that is missing fails a test."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import dxgeom.learning
import dxgeom.mechanisms
from dxgeom.engines.counted_tables import KeyTable, TableCounts
from dxgeom.lab.dataset_space import neighbouring_datasets
from dxgeom.lab.laplace_tables import (
    banded_geometric,
    banded_laplace,
    finite_laplace,
    halved_exponential,
    truncated_geometric,
)
from dxgeom.lab.layers import (
    calibrated_table,
    composed_layers,
    ladder_layers,
    layered_table,
    privacy_first_layers,
)
from dxgeom.lab.line_noise import layered_line, planar_laplace, staircase
from dxgeom.lab.optimal_tables import optimal_table
from dxgeom.lab.statistic_release import statistic_mechanism
from dxgeom.learning.evaluation import ErrorCount, FewestErrors
from dxgeom.learning.features import Change, FeatureGroup, Features
from dxgeom.learning.gradient_noise import LabelTotals
from dxgeom.learning.logistic_plan import plan_logistic
from dxgeom.learning.objective import LogisticLoss
from dxgeom.learning.perturbation import ObjectivePerturbation
from dxgeom.learning.polynomials import bounded_column, moments
from dxgeom.learning.regression_totals import GRID, RegressionTotals, integer_totals
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.composition import followed_by, in_parallel, in_sequence
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.linear.distinct import distinct_count
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.linear.time_series import series_mechanism
from dxgeom.mechanisms.quantiles.choice import quantile_mechanism
from dxgeom.mechanisms.selection.scores import declared_selection, tabled_selection
from dxgeom.mechanisms.selection.selections import selection, top_selection
from dxgeom.mechanisms.selection.small_databases import small_database
from dxgeom.mechanisms.synthetic.adaptive import FIRST, adaptive_tables
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem
from dxgeom.mechanisms.synthetic.on_histograms import AdaptiveOnHistogram, tables_of
from dxgeom.metrics.families import LineMetric, PartitionMetric
from dxgeom.metrics.verification import verify
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.rejection import RejectionNoise
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import Kind, build, names
from dxgeom.planner.choose import plan
from dxgeom.planner.wish import PlanOptions
from dxgeom.policy.policy import Policy
from dxgeom.queries.queries_file import queries_from_dict
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries
from reference.perturbed_law import log_density, mean_square
from reference.selection_law import permute_and_flip_chances

SIZE = 4
RATE = Fraction(3, 4)
LINE = verify(LineMetric(tuple(map(Fraction, range(SIZE))), RATE), title="line", fingerprint="line", budget=Fraction(1))
HALVES = verify(PartitionMetric(np.array([0, 0, 1, 1]), RATE), title="halves", fingerprint="halves", budget=Fraction(1))
PATH = neighbouring_datasets(range(SIZE), np.arange(SIZE - 1), np.arange(1, SIZE))
PLACES = np.array([[9 * x, 0] for x in range(SIZE)])
LOSSES = [[Fraction(abs(x - w)) for w in range(SIZE)] for x in range(SIZE)]
ROWS = np.array([[1, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, 1]])
FIRST_AND_LAST = np.array([[1, 0, 0, 0], [0, 0, 0, 1]])
LEVEL_BESIDE = np.array([*FIRST_AND_LAST, [0, 0, 0, 0]])
COUNTS = np.array([3, 1, 4, 2])
ONE_ALONE = np.array([1, 1, 6, 2])
FITTED = [[1, 1], [-1, 0], [0.5, 1]]
COLUMN = bounded_column("x", 0, 4, 1)


def queries(rows=ROWS):
    return LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], np.array(rows))


def moved(counts, i, j, times=1):
    """The histogram after records of type i were replaced by j."""
    after = counts.copy()
    after[i] -= times
    after[j] += times
    return after


@dataclass(frozen=True)
class Case:
    """``others``: other data, each so far from ``data`` in nats at spend 1. ``view(mechanism, answers, here, there)``:
    each answer as one number, mostly its log-likelihood under ``here`` less that under ``there``. ``stated``: the mean
    of ``loss(answer)`` at ``spend``, or a bound on it where that is not ``exact``. ``wrong``: what is no data.
    ``affordable``: so many releases of half a nat fit a budget of one: two, or four of concentrated privacy."""

    make: Callable[[], Mechanism[Any, Any]]
    data: Any
    others: tuple[tuple[Any, Fraction], ...]
    view: Callable[[Any, list[Any], Any, Any], Any]
    wrong: tuple[Any, ...]
    loss: Callable[[Any], float]
    stated: Callable[[Any, Fraction], float]
    exact: bool = True
    spend: Fraction = Fraction(1, 2)
    draws: int = 3000
    affordable: int = 2


WRONG_COUNTS = (
    [3, 1, 4, 2],
    None,
    np.array([1, 2]),
    np.array([1, 2, 3, -4]),
    np.array([0.5, 1, 1, 1]),
    np.array([1, 2, 3, 4], dtype=object),
    np.ma.array([1, 2, 3, 4], mask=[0, 0, 0, 1]),
)
REPLACED = tuple((moved(COUNTS, 0, j), RATE * j) for j in (1, 2, 3))


def gauge(law, places):
    """The norm behind a law, in float64; with jumps what the normal part tells."""
    match law:
        case LaplaceNoise(scales=scales):
            return (np.abs(places) / scales).sum(axis=1)
        case BoxNoise(body=body) | EllipsoidNoise(body=body) | FacetConeNoise(body=body) | RejectionNoise(body=body):
            return body.gauge(places)
        case GaussianWithJumps(gaussian=normal):
            return normal.body.gauge(places) ** 2 / 2
        case LinearImageNoise(inner=inner, map=image):
            return gauge(inner, places @ np.linalg.pinv(image).T)
        case ProductNoise(parts=parts):
            ends = np.cumsum([part.dimension for part in parts])[:-1]
            return sum(gauge(part, cut) for part, cut in zip(parts, np.split(places, ends, axis=1), strict=True))


def nearer(law, answers, here, there):
    """By how much the norm of the noise is smaller if ``here`` is true."""
    drawn = np.array(answers, dtype=np.float64)
    return gauge(law, drawn - np.array(there, dtype=float)) - gauge(law, drawn - np.array(here, dtype=float))


def additive_view(mechanism, answers, here, there):
    lattice = mechanism.sensitivity.queries
    steps = np.array(answers, dtype=np.float64) / lattice.float_steps
    return nearer(mechanism.law, steps, lattice.integer_answers(here), lattice.integer_answers(there))


def series_view(mechanism, answers, here, there):
    steps = np.array(answers, dtype=np.float64) / float(mechanism.step)
    return nearer(mechanism.law, steps, here, there)


def totals_view(mechanism, answers, here, there):
    steps = np.array(mechanism.steps, dtype=np.float64)
    places = [integer_totals(np.rint(np.array(table) * GRID).astype(np.int64)) for table in (here, there)]
    drawn = np.array(answers, dtype=np.float64) / steps
    body = mechanism.law.known_body
    return body.gauge(drawn - np.array(places[1])) - body.gauge(drawn - np.array(places[0]))


def statistic_view(mechanism, answers, here, there):
    scale = np.array([float(step) for step in mechanism.statistic.steps])
    exact = [np.array(mechanism.statistic.exact(table), dtype=float) / scale for table in (here, there)]
    return nearer(mechanism.law, np.array(answers, dtype=np.float64) / scale, *exact)


def measured_view(mechanism, answers, here, there):
    """Of the measurements alone; which queries were selected tells a little more."""
    del mechanism
    near, far = ROWS @ here, ROWS @ there
    return np.array(
        [
            sum((abs(one.value - far[one.query]) - abs(one.value - near[one.query])) / one.scale for one in measured)
            for measured in (answer.measurements for answer in answers)
        ],
        dtype=np.float64,
    )


def planar_view(mechanism, answers, here, there):
    return nearer(mechanism.law, np.array(answers, dtype=np.float64) * 9, PLACES[here], PLACES[there])


def line_view(mechanism, answers, here, there):
    layers = {
        z: mechanism.law.layer(z) for z in {int(a / mechanism.step) - p for a in answers for p in mechanism.places}
    }
    steps = [int(answer / mechanism.step) for answer in answers]
    near, far = mechanism.places[here], mechanism.places[there]
    return float(mechanism.law.epsilon) * np.array([layers[z - far] - layers[z - near] for z in steps], dtype=float)


def on_a_line(make):
    return Case(
        make=lambda: make(LINE, [Fraction(j) for j in range(SIZE)], Fraction(1, 2)),
        data=0,
        others=tuple((j, RATE * j) for j in (1, 2, 3)),
        view=line_view,
        wrong=(-1, SIZE, 1.5, math.nan, True, None),
        loss=lambda number: float(abs(number)),
        stated=lambda mechanism, _: mechanism.mean_absolute,
    )


def itself(mechanism, answers, here, there):
    """An answer that is a number already."""
    del mechanism, here, there
    return np.array(answers, dtype=np.float64)


def additive(name, records=None):
    return Case(
        make=lambda: build(
            name, CandidateBuilder(sensitivity_of(LINE, queries()), options=PlanOptions(records=records))
        ),
        data=COUNTS,
        others=REPLACED,
        view=additive_view,
        wrong=WRONG_COUNTS,
        loss=lambda answer: sum(float(a - t) ** 2 for a, t in zip(answer, ROWS @ COUNTS, strict=True)),
        stated=lambda mechanism, spend: float(mechanism.variances(spend).sum()),
    )


def secret(make, spend=Fraction(1, 2)):
    return Case(
        make=lambda: make(spend),
        data=0,
        others=tuple((j, RATE * j) for j in (1, 2, 3)),
        view=itself,
        wrong=(-1, SIZE, 1.5, math.nan, True, None),
        loss=lambda answer: float(LOSSES[0][answer]),
        stated=lambda mechanism, _: float(mechanism.law.expected_losses(LOSSES)[0]),
        spend=spend,
    )


def histogram(make, view, loss, stated, exact=False):
    return Case(make, COUNTS, REPLACED, view, WRONG_COUNTS, loss, stated, exact)


def third_place(mechanism, answers, *_):
    """The third smallest of the ten values is 0 in ``COUNTS``."""
    del mechanism
    return np.array([answer.places[0] for answer in answers], dtype=np.float64)


def expected_place(mechanism, spend):
    """By the definition: one record from 0 to 1, two to 2, and so on, each at its distance."""
    del mechanism
    chances = permute_and_flip_chances([0, -1, -(2 + 1), -(3 + 2 + 4)], spend * RATE / 2)
    return float(sum(place * chance for place, chance in enumerate(chances)))


def shortfall(answer):
    scores = FIRST_AND_LAST @ COUNTS
    return float(scores.max() - scores[answer])


def outer(counts):
    """A score that is not linear: each end's count, but no more than three."""
    return [min(int(counts[0]), 3), min(int(counts[-1]), 3)]


def off(answers):
    return float(np.abs(np.array(answers, dtype=float) - ROWS @ COUNTS).max())


def first_entry(answer):
    """A function that looks at nothing private, by name, so that it can be pickled."""
    return answer[0]


def parallel_view(mechanism, answers, here, there):
    """One block alone differs, and the others' noise would only hide that from the audit."""
    block = int(
        np.argmax([not np.array_equal(a, b) for a, b in zip(*map(mechanism.blocks.cut, (here, there)), strict=True)])
    )
    cut = [mechanism.blocks.cut(counts)[block] for counts in (here, there)]
    return additive_view(mechanism.parts[block], [answer[block] for answer in answers], *cut)


def counted_in_half(metric, members):
    del members
    return optimal_laplace(sensitivity_of(metric, queries([[1, 0]])))


CASES = {
    **{name: additive(name) for name in names(Kind.SHAPE, Kind.PURE, Kind.ORDINARY)},
    # What it states is the error of the worst records.
    "changed-queries": replace(additive("changed-queries", int(COUNTS.sum())), exact=False),
    "truncated geometric": secret(lambda spend: truncated_geometric(LINE, spend)),
    "finite Laplace": secret(lambda spend: finite_laplace(LINE, spend)),
    "halved exponential": secret(lambda spend: halved_exponential(LINE, spend)),
    "optimal table": secret(lambda spend: optimal_table(LINE, [Fraction(1, SIZE)] * SIZE, LOSSES, spend)),
    "banded geometric": secret(lambda spend: banded_geometric(LINE, spend)),
    "banded Laplace": secret(lambda spend: banded_laplace(LINE, spend)),
    "privacy first": secret(
        lambda spend: layered_table(PATH, privacy_first_layers(PATH), RATE, "privacy first", spend)
    ),
    "ladder": secret(lambda spend: calibrated_table(PATH, ladder_layers(PATH), RATE, "ladder", spend)),
    "composed": secret(
        lambda spend: calibrated_table(PATH, composed_layers(PATH, [Fraction(1)] * SIZE), RATE, "composed", spend)
    ),
    "planar Laplace": Case(
        make=lambda: planar_laplace(LINE, PLACES, Fraction(1, 9), Fraction(1, 2)),
        data=0,
        others=tuple((j, RATE * j) for j in (1, 2, 3)),
        view=planar_view,
        wrong=(-1, SIZE, 1.5, math.nan, True, None),
        loss=lambda place: float(place[0] ** 2 + place[1] ** 2),
        stated=lambda mechanism, _: mechanism.mean_squared_error,
    ),
    "staircase": on_a_line(staircase),
    "layered line": on_a_line(lambda *given: layered_line(*given, width=1)),
    "series": Case(
        make=lambda: series_mechanism("meter", 3, RATE, Fraction(1, 8)),
        data=[8, 16, 8],
        others=tuple(([8 - 8 * j, 16 - 8 * j, 8 - 8 * j], RATE * j) for j in (1, 2)),
        view=series_view,
        wrong=([8, 16], [8, 16, 0.5], [8, 16, math.nan], [8, 16, True], None, {8: 1, 16: 1, 24: 1}),
        loss=lambda series: float((series[0] - 1) ** 2),
        stated=lambda mechanism, spend: (mechanism.root_mean_square**2 - 1 / 768) / float(spend) ** 2 + 1 / 768,
    ),
    "statistic, hull": Case(
        make=lambda: statistic_mechanism(moments([COLUMN]), "hull", title="ages"),
        data=[[0], [3], [4]],
        others=tuple(([[x], [3], [4]], Fraction(1)) for x in (2, 4)),
        view=statistic_view,
        wrong=([[math.nan]], [[1, 2]]),
        loss=lambda entries: float((entries[0] - 7) ** 2),
        stated=lambda mechanism, spend: float(mechanism.covariance(spend)[0, 0]),
    ),
    "statistic, cylinders": Case(
        make=lambda: statistic_mechanism(moments([COLUMN, bounded_column("y", 0, 1, 1)]), "cylinders", title="ages"),
        data=[[0, 0], [3, 1], [4, 1]],
        others=tuple(([[x, y], [3, 1], [4, 1]], Fraction(1)) for x, y in ((2, 1), (4, 0))),
        view=statistic_view,
        wrong=([[math.nan, 0]], [[1]]),
        loss=lambda entries: float((entries[0] - 7) ** 2),
        stated=lambda mechanism, spend: float(mechanism.covariance(spend)[0, 0]),
    ),
    "logistic regression": Case(
        make=lambda: ObjectivePerturbation(
            "logistic regression",
            LogisticLoss(),
            Features((FeatureGroup(("x",), "box"),)),
            (Change(Fraction(1), (Fraction(2),)),),
            Account("test", "test", Fraction(1)),
        ),
        data=FITTED,
        others=(([[-1, 0], *FITTED[1:]], Fraction(1)), ([[1, 0], *FITTED[1:]], Fraction(1))),
        view=lambda mechanism, answers, here, there: (
            log_density(mechanism, here, Fraction(1, 2), np.array(answers, dtype=np.float64))
            - log_density(mechanism, there, Fraction(1, 2), np.array(answers, dtype=np.float64))
        ),
        wrong=([[math.nan, 1]], [[1, 2, 3]], [[2, 1]], [[1, 0.5]], []),
        loss=lambda coefficients: float(coefficients[0] ** 2),
        stated=lambda mechanism, spend: mean_square(mechanism, FITTED, spend),
        draws=1000,
    ),
    "test errors": Case(
        make=lambda: ErrorCount("test errors", Account("test", "test", Fraction(1))),
        data=[1, 0, 0],
        others=(([0, 0, 0], Fraction(1)), ([1, 1, 0], Fraction(1))),
        view=lambda mechanism, answers, here, there: (
            np.abs(np.array(answers) - sum(there)) - np.abs(np.array(answers) - sum(here))
        ),
        wrong=([[1]], [0.5], [], ["a"]),
        loss=lambda count: float((count - 1) ** 2),
        stated=lambda mechanism, spend: 2 / float(spend) ** 2 + 1 / 12,
        exact=False,
    ),
    "fewest errors": Case(
        make=lambda: FewestErrors("fewest errors", 2, Account("test", "test", Fraction(1))),
        data=[[1, 0], [1, 0], [0, 1]],
        others=(([[0, 1], [1, 0], [0, 1]], Fraction(1)),),
        view=itself,
        wrong=([1], [[0.5, 1]], [[1, 0, 1]], []),
        loss=lambda place: float(place == 0),
        stated=lambda mechanism, spend: math.exp(-float(spend) / 2) / 2,
    ),
    "labels": Case(
        make=lambda: LabelTotals(
            "labels",
            Features((FeatureGroup(("x",), "box"),)),
            (Change(Fraction(1), (Fraction(1),), bends=False),),
            Account("test", "test", Fraction(1)),
        ),
        data=[[1, 1], [0.5, 0]],
        others=(([[1, 0], [0.5, 0]], Fraction(1)),),
        view=lambda mechanism, answers, here, there: (
            np.abs(np.array(answers, dtype=np.float64)[:, 0] - there[0][1])
            - np.abs(np.array(answers, dtype=np.float64)[:, 0] - here[0][1])
        ),
        wrong=([[math.nan, 1]], [[1, 2, 3]], [[2, 1]], [[1, 0.5]], []),
        loss=lambda totals: float((totals[0] - 1) ** 2),
        stated=lambda mechanism, spend: 2 / float(spend) ** 2,
    ),
    "linear regression": Case(
        make=lambda: RegressionTotals("linear regression", ("x",), Account("test", "test", Fraction(1))),
        data=[[-1, 0.5], [1, 0], [0, 1]],
        others=(([[1, 0.5], [1, 0], [0, 1]], Fraction(1)), ([[1, -1], [1, 0], [0, 1]], Fraction(1))),
        view=totals_view,
        wrong=([[math.nan, 1]], [[1, 2, 3]], [[2, 1]], [["a", 0.5]], []),
        loss=lambda totals: float(totals[0] ** 2),
        stated=lambda mechanism, spend: float(mechanism.covariance(spend)[0, 0]),
    ),
    "permute-and-flip": histogram(
        lambda: selection(LINE, queries(FIRST_AND_LAST)),
        itself,
        shortfall,
        lambda mechanism, spend: mechanism.expected_shortfall(spend),
    ),
    "exponential": histogram(
        lambda: selection(LINE, queries(FIRST_AND_LAST), "exponential"),
        itself,
        shortfall,
        lambda mechanism, spend: mechanism.expected_shortfall(spend),
    ),
    "top by permute-and-flip": histogram(
        lambda: top_selection(LINE, queries(LEVEL_BESIDE), 2),
        lambda mechanism, answers, *_: np.array([3 * one + other for one, other in answers], dtype=np.float64),
        lambda answer: float((LEVEL_BESIDE @ COUNTS).max() - (LEVEL_BESIDE @ COUNTS)[answer[0]]),
        lambda mechanism, spend: mechanism.expected_shortfall(spend),
    ),
    "declared score": histogram(
        lambda: declared_selection(LINE, ["low", "high"], outer, sensitivity=Fraction(4, 3), version="outer"),
        lambda mechanism, answers, *_: np.array([answer.place for answer in answers], dtype=np.float64),
        lambda answer: float(max(outer(COUNTS)) - outer(COUNTS)[answer.place]),
        lambda mechanism, spend: mechanism.expected_shortfall(spend),
    ),
    "tabled score": histogram(
        lambda: tabled_selection(LINE, ["low", "high"], outer, records=int(COUNTS.sum())),
        itself,
        lambda answer: float(max(outer(COUNTS)) - outer(COUNTS)[answer]),
        lambda mechanism, spend: mechanism.expected_shortfall(spend),
    ),
    "transport quantiles": histogram(
        lambda: quantile_mechanism(LINE, range(SIZE), "3/10"),
        third_place,
        lambda answer: float(answer.numbers[0]),
        expected_place,
        exact=True,
    ),
    "laplace quantiles": histogram(
        lambda: quantile_mechanism(LINE, range(SIZE), "3/10", form="laplace"),
        third_place,
        lambda answer: float(answer.numbers[0]),
        lambda mechanism, spend: mechanism.scale(spend) + 0.5,
    ),
    "distinct count": replace(
        histogram(
            lambda: distinct_count(LINE, queries(np.eye(SIZE, dtype=np.int64))),
            itself,
            lambda answer: float((answer - SIZE) ** 2),
            lambda mechanism, spend: mechanism.root_mean_square(spend) ** 2,
        ),
        data=ONE_ALONE,
        others=tuple((moved(ONE_ALONE, 0, j), RATE * j) for j in (1, 2, 3)),
    ),
    "small database": histogram(
        lambda: small_database(LINE, queries(), 0.6),
        lambda mechanism, answers, *_: np.array([sum(4**k for k in one.record_types) for one in answers], dtype=float),
        lambda answer: off(answer.answers),
        lambda mechanism, spend: mechanism.error_bound(10, 0.9999, spend),
    ),
    "mwem": replace(
        histogram(
            lambda: mwem(LINE, queries(), rounds=1),
            measured_view,
            lambda answer: off(answer.answers) - answer.largest_error(0.9999),
            lambda mechanism, spend: 0.0,
        ),
        draws=800,
    ),
    "sequence": Case(
        make=lambda: in_sequence([additive("laplace").make(), selection(LINE, queries(FIRST_AND_LAST))]),
        data=COUNTS,
        others=REPLACED,
        view=lambda mechanism, answers, *both: additive_view(mechanism.parts[0], [one for one, _ in answers], *both),
        wrong=WRONG_COUNTS,
        loss=lambda answer: additive("laplace").loss(answer[0]),
        stated=lambda mechanism, spend: float(mechanism.parts[0].variances(spend / 2).sum()),
    ),
    "parallel": Case(
        make=lambda: in_parallel(HALVES, [0, 0, 1, 1], counted_in_half),
        data=COUNTS,
        others=((moved(COUNTS, 0, 1), RATE), (moved(COUNTS, 2, 3), RATE)),
        view=parallel_view,
        wrong=WRONG_COUNTS,
        loss=lambda answer: float((answer[0][0] - 3) ** 2 + (answer[1][0] - 4) ** 2),
        stated=lambda mechanism, spend: sum(float(part.variances(spend).sum()) for part in mechanism.parts),
    ),
    "first answer": Case(
        make=lambda: followed_by(additive("laplace").make(), first_entry, "first answer"),
        data=COUNTS,
        others=REPLACED,
        view=itself,
        wrong=WRONG_COUNTS,
        loss=lambda answer: float((answer - 3) ** 2),
        stated=lambda mechanism, spend: float(mechanism.inner.variances(spend)[0]),
    ),
}


TABLE_POLICY = Policy.from_dict(
    {
        "policy": "two values",
        "universe": {"attributes": {"a": {"values": ["x", "y"]}, "b": {"values": ["x", "y"]}}},
        "rules": [{"change": "a", "epsilon": "0.75"}, {"change": "b", "epsilon": "0.75"}],
    }
)


FIT_POLICY = Policy.from_dict(
    {
        "policy": "one number and a label",
        "universe": {"attributes": {"x": {"range": [0, 1], "step": 1}, "y": ["no", "yes"]}},
        "rules": [{"between": "everything", "epsilon": "0.75"}],
    }
)
FIT_COUNTS = np.bincount([3], minlength=FIT_POLICY.universe.size)


def fit_to_counts():
    return replace(plan_logistic(FIT_POLICY, "y").mechanism, name="fit to counts")


def fit_view(mechanism, answers, here, there):
    thetas = np.array(answers, dtype=np.float64)
    tables = [mechanism.model.of_counts(np.asarray(counts)) for counts in (here, there)]
    logs = [log_density(mechanism.inner, table, Fraction(1, 2), thetas) for table in tables]
    return logs[0] - logs[1]


def fit_mean(mechanism, spend):
    """E[min(θ₀², 100)] on a grid."""
    axis = np.arange(-80, 80, 0.25) + 0.125
    thetas = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = log_density(mechanism.inner, mechanism.model.of_counts(FIT_COUNTS), spend, thetas)
    density = np.exp(logs - logs.max())
    return float((density * np.minimum(thetas[:, 0] ** 2, 100.0)).sum() / density.sum())


CASES["fit to counts"] = Case(
    make=fit_to_counts,
    data=FIT_COUNTS,
    others=tuple((moved(FIT_COUNTS, 3, j), RATE) for j in (0, 1, 2)),
    view=fit_view,
    wrong=([1, 2], FIT_COUNTS.astype(float), -FIT_COUNTS, np.zeros_like(FIT_COUNTS), None),
    loss=lambda answer: min(float(answer[0]) ** 2, 100.0),
    stated=fit_mean,
    draws=1000,
)


def whole_tables(*counts):
    return TableCounts(tuple(np.array(one) for one in counts), int(sum(counts[0])))


CASES["marginal-laplace"] = Case(
    make=lambda: (
        plan(
            TABLE_POLICY.compile(),
            MarginalQueries.of(TABLE_POLICY.universe, [["a"], ["b"]]),
            mechanism="marginal-laplace",
        ).mechanism
    ),
    data=whole_tables([6, 4], [3, 7]),
    others=((whole_tables([5, 5], [3, 7]), RATE), (whole_tables([5, 5], [4, 6]), 2 * RATE)),
    view=lambda mechanism, answers, here, there: np.array(
        [float(one.numerators[0][0] / one.divisors[0]) for one in answers]
    ),
    wrong=(COUNTS, None, [1, 2], whole_tables([1, 2, 3], [3, 3])),
    loss=lambda answer: (answer.numerators[0][0] / answer.divisors[0] - 6) ** 2,
    stated=lambda mechanism, spend: float(mechanism.variances[0]) / float(spend) ** 2,
)


def transcript_view(mechanism, answers, here, there):
    """Of all measurements. There is one table to select, so that all of the loss is seen here: how much a selection
    tells is enumerated in tests/unit/mechanisms/synthetic/test_adaptive.py."""
    del mechanism
    near, far = here.cells[0], there.cells[0]

    def nearer(step):
        return float(np.sum(np.abs(step.values - far) - np.abs(step.values - near)) / float(step.spread))

    return np.array([sum(map(nearer, one.transcript)) for one in answers])


def first_mean_square(mechanism, spend):
    """Of the first count of the first table, which has its part of the first budget."""
    part = FIRST * mechanism.whole(spend)[0]
    return 2 * float(mechanism.spread_for((0,), {0: part})) ** 2


CASES["adaptive tables"] = Case(
    make=lambda: adaptive_tables(
        TABLE_POLICY.compile(), MarginalQueries.of(TABLE_POLICY.universe, [["a"]]), rounds=1, bars=0
    ),
    data=whole_tables([6, 4]),
    others=((whole_tables([5, 5]), RATE), (whole_tables([4, 6]), 2 * RATE)),
    view=transcript_view,
    wrong=(COUNTS, None, [1, 2], whole_tables([1, 2, 3])),
    loss=lambda answer: float((answer.transcript[0].values[0] - 6) ** 2),
    stated=first_mean_square,
    draws=800,
)
CASES["adaptive tables on a histogram"] = Case(
    make=lambda: AdaptiveOnHistogram(CASES["adaptive tables"].make()),
    data=np.array([2, 4, 3, 1]),
    others=((np.array([2, 3, 3, 2]), RATE), (np.array([2, 2, 3, 3]), 2 * RATE)),
    view=lambda mechanism, answers, *data: transcript_view(
        mechanism, answers, *(tables_of(mechanism.inner.queries, np.array(one)) for one in data)
    ),
    wrong=WRONG_COUNTS,
    loss=lambda answer: float((answer.transcript[0].values[0] - 6) ** 2),
    stated=lambda mechanism, spend: first_mean_square(mechanism.inner, spend),
    draws=800,
)


KEY_POLICY = Policy.from_dict(
    {
        "policy": "four keys",
        "universe": {"attributes": {"a": {"range": [0, SIZE - 1], "step": 1}, "b": {"values": ["x", "y"]}}},
        "rules": [{"change": "a", "epsilon": "0.75"}, {"change": "b", "epsilon": "2"}],
    }
)


def keys(*counts):
    """The counts of all keys, of which none is handed over that no record has."""
    there = np.flatnonzero(np.array(counts))
    return KeyTable(there, np.array(counts)[there], sum(counts))


def four_keys():
    asked = queries_from_dict({"tasks": [{"keys": "a", "at_least": 2}]}, KEY_POLICY)
    (part,) = plan(KEY_POLICY.compile(), asked).parts
    return part.mechanism


def reached(mechanism, spend, count):
    """P(count + round(V) ≥ 2)."""
    scale, edge = mechanism.blocks[0].scale / float(spend), 1.5 - count
    return math.exp(-edge / scale) / 2 if edge > 0 else 1 - math.exp(edge / scale) / 2


def log_of_key(mechanism, spend, count, told):
    """Of a key with so many records, and what is told of it, None for nothing; reported from 2 on."""
    scale = mechanism.blocks[0].scale / float(spend)
    if told is None:
        return math.log(1 - reached(mechanism, spend, count))
    off = abs(told - count)
    return math.log(1 - math.exp(-0.5 / scale) if off == 0 else math.exp(-off / scale) * math.sinh(0.5 / scale))


def key_view(mechanism, answers, here, there):
    """The whole log-likelihood, of what is not reported, too."""

    def log_chance(data, one):
        counts = dict(zip(data.keys.tolist(), data.counts.tolist(), strict=True))
        told = dict(zip(one.keys.tolist(), one.numerators.tolist(), strict=True))
        return sum(log_of_key(mechanism, Fraction(1, 2), counts.get(key, 0), told.get(key)) for key in range(SIZE))

    return np.array([log_chance(here, one) - log_chance(there, one) for one in answers])


CASES["noisy keys"] = Case(
    make=four_keys,
    data=keys(3, 0, 4, 2),
    others=((keys(2, 1, 4, 2), RATE), (keys(2, 0, 5, 2), RATE), (keys(2, 0, 4, 3), RATE)),
    view=key_view,
    wrong=(COUNTS, None, [1, 2], KeyTable(np.array([0, 4]), np.array([1, 2]), 3), KeyTable(np.array([0]), COUNTS, 3)),
    loss=lambda answer: float(len(answer.keys)),
    stated=lambda mechanism, spend: sum(reached(mechanism, spend, count) for count in (3, 0, 4, 2)),
)


UNLISTED_POLICY = Policy.from_dict(
    {
        "policy": "own words",
        "universe": {"attributes": {"a": {"open": "text"}}},
        "rules": [{"change": "a", "epsilon": "0.75"}],
        "delta": "0.9",
    }
)


def texts(*counts):
    """The counts of keys by their texts, of which each that is handed over has some record."""
    return KeyTable(np.arange(len(counts)), np.array(counts), sum(counts), words=tuple("abcd"[: len(counts)]))


def own_words():
    """Noise that shows a key of one record alone with a chance of 0.4, so that what is reported is often enough seen.
    The tables that are compared have the same keys: what is told of one's own is enumerated in tests/unit."""
    asked = queries_from_dict({"tasks": [{"keys": "a", "delta": "0.4"}]}, UNLISTED_POLICY)
    (part,) = plan(UNLISTED_POLICY.compile(), asked).parts
    return part.mechanism


def unlisted_chance(mechanism, spend, count):
    scale, edge = mechanism.known.blocks[0].scale / float(spend), mechanism.threshold(spend) - 0.5 - count
    return math.exp(-edge / scale) / 2 if edge > 0 else 1 - math.exp(edge / scale) / 2


def unlisted_view(mechanism, answers, here, there):
    """The whole log-likelihood, of what is not reported, too."""
    spend = Fraction(1, 2)
    scale = mechanism.known.blocks[0].scale / float(spend)

    def log_chance(data, one):
        told = {one.words[key]: value for key, value in zip(one.keys.tolist(), one.numerators.tolist(), strict=True)}
        total = 0.0
        for word, count in zip(data.words, data.counts.tolist(), strict=True):
            if word not in told:
                total += math.log(1 - unlisted_chance(mechanism, spend, count))
                continue
            off = abs(told[word] - count)
            chance = 1 - math.exp(-0.5 / scale) if off == 0 else math.exp(-off / scale) * math.sinh(0.5 / scale)
            total += math.log(chance)
        return total

    return np.array([log_chance(here, one) - log_chance(there, one) for one in answers])


CASES["noisy keys that nobody listed"] = Case(
    make=own_words,
    data=texts(3, 1, 4, 2),
    others=((texts(2, 2, 4, 2), RATE), (texts(2, 1, 5, 2), RATE), (texts(2, 1, 4, 3), RATE)),
    view=unlisted_view,
    wrong=(COUNTS, None, [1, 2], KeyTable(np.array([0, 4]), np.array([1, 2]), 3), texts(1, 0)),
    loss=lambda answer: float(len(answer.keys)),
    stated=lambda mechanism, spend: sum(unlisted_chance(mechanism, spend, count) for count in (3, 1, 4, 2)),
)


def eight_keys():
    asked = {"tasks": [{"keys": ["a", "b"], "rollup": {"a": "0.4"}, "at_least": 2}]}
    (part,) = plan(KEY_POLICY.compile(), queries_from_dict(asked, KEY_POLICY)).parts
    return part.mechanism


def rolled_view(mechanism, answers, here, there):
    """The whole log-likelihood: of all parents, and of all children of those that are told."""
    parents, children = mechanism.levels

    def log_chance(data, one):
        counts = np.zeros(2 * SIZE, dtype=np.int64)
        counts[data.keys] = data.counts
        codes = np.stack(mechanism.codes_of(one.keys)).T.tolist()
        told = dict(zip(map(tuple, codes), one.numerators.tolist(), strict=True))
        total = 0.0
        for a, pair in enumerate(counts.reshape(SIZE, 2).tolist()):
            above = told.get((a, 2))
            total += log_of_key(parents.counts, parents.share / 2, sum(pair), above)
            for b, count in enumerate(pair if above is not None else ()):
                total += log_of_key(children.counts, children.share / 2, count, told.get((a, b)))
        return total

    return np.array([log_chance(here, one) - log_chance(there, one) for one in answers])


CASES["noisy keys along a tree"] = Case(
    make=eight_keys,
    data=keys(3, 1, 0, 2, 4, 0, 2, 0),
    others=(
        (keys(2, 1, 1, 2, 4, 0, 2, 0), RATE),
        (keys(2, 1, 0, 2, 5, 0, 2, 0), RATE),
        (keys(2, 2, 0, 2, 4, 0, 2, 0), Fraction(2)),
    ),
    view=rolled_view,
    wrong=(COUNTS, None, [1, 2], KeyTable(np.array([0, 8]), np.array([1, 2]), 3), KeyTable(np.array([0]), COUNTS, 3)),
    loss=lambda answer: float(np.isin(answer.keys % 4, 2).sum()),
    stated=lambda mechanism, spend: sum(
        reached(mechanism.levels[0].counts, spend * mechanism.levels[0].share, count) for count in (4, 2, 4, 2)
    ),
)


LINE_POLICY = Policy.from_dict(
    {
        "policy": "three values on a line",
        "privacy": "concentrated",
        "universe": {"attributes": {"a": {"range": [0, 2], "step": 1}, "b": {"values": ["x", "y"]}}},
        "rules": [{"change": "a", "per": 1, "epsilon": "0.75"}, {"change": "b", "epsilon": "0.75"}],
    }
)


CASES["kronecker-gaussian"] = Case(
    make=lambda: (
        plan(
            LINE_POLICY.compile(),
            MarginalQueries.of(LINE_POLICY.universe, [["a", "b"]]),
            mechanism="kronecker-gaussian",
        ).mechanism
    ),
    data=whole_tables([5, 1, 2, 0, 1, 1]),
    others=((whole_tables([4, 1, 3, 0, 1, 1]), RATE), (whole_tables([4, 1, 2, 0, 1, 2]), 3 * RATE)),
    view=lambda mechanism, answers, here, there: np.array(
        [float((one.numerators[0] / one.divisors[0]) @ (here.cells[0] - there.cells[0])) for one in answers]
    ),
    wrong=(COUNTS, None, [1, 2], whole_tables([1, 2, 3])),
    loss=lambda answer: float(np.mean((answer.numerators[0] / answer.divisors[0] - [5, 1, 2, 0, 1, 1]) ** 2)),
    stated=lambda mechanism, spend: float(mechanism.cell_errors.mean[0]) / float(spend) ** 2,
    affordable=4,
)


CASES["boxes-laplace"] = Case(
    make=lambda: (
        plan(TABLE_POLICY.compile(), BoxQueries.of(TABLE_POLICY.universe, [{"a": (0, 1)}, {"b": (1, 2)}])).mechanism
    ),
    data=whole_tables([3, 7], [6, 4]),
    others=((whole_tables([3, 7], [5, 5]), RATE), (whole_tables([4, 6], [5, 5]), 2 * RATE)),
    view=lambda mechanism, answers, here, there: np.array([float(one[0]) for one in answers]),
    wrong=(COUNTS, None, [1, 2], whole_tables([1, 2, 3], [3, 3])),
    loss=lambda answer: float((answer[0] - 6) ** 2),
    stated=lambda mechanism, spend: float(mechanism.variances[0]) / float(spend) ** 2,
)


COMING_POLICY = Policy.from_dict(
    {
        "policy": "three values on a line, and records that come and go",
        "privacy": "concentrated",
        "universe": {"attributes": {"a": {"range": [0, 2], "step": 1}, "b": {"values": ["x", "y"]}}},
        "rules": [
            {"change": "a", "per": 1, "epsilon": "0.75"},
            {"change": "b", "epsilon": "0.75"},
            {"presence": True, "epsilon": "1.5"},
        ],
    }
)


CASES["toeplitz-gaussian"] = Case(
    make=lambda: (
        plan(
            COMING_POLICY.compile(), BoxQueries.prefixes(COMING_POLICY.universe, "a"), mechanism="toeplitz-gaussian"
        ).mechanism
    ),
    data=whole_tables([10], [6, 1, 3]),
    others=((whole_tables([10], [5, 2, 3]), RATE), (whole_tables([10], [5, 1, 4]), 2 * RATE)),
    view=lambda mechanism, answers, here, there: np.array([float(one[0]) for one in answers]),
    wrong=(COUNTS, None, [1, 2], whole_tables([1, 2, 3], [3, 3])),
    loss=lambda answer: float((answer[0] - 6) ** 2),
    stated=lambda mechanism, spend: float(mechanism.variances[0]) / float(spend) ** 2,
    affordable=4,
)


def every_mechanism() -> set[type]:
    """All concrete subclasses, after every file of the room was read."""
    for room in (dxgeom.mechanisms, dxgeom.learning):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)
    found, left = set(), [Mechanism]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if not kind.__subclasses__():
            found.add(kind)
    return found
