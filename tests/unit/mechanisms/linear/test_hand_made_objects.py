"""Nothing made by hand gets noise past its proof: not by arrays that change later, nor by classes that say otherwise,
nor by records in another order, nor by numbers that only look exact."""

from __future__ import annotations

import importlib
import itertools
import pickle
import pkgutil
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.engines.counted_tables import table_counts
from dxgeom.errors import CertificateRefused, DataError, UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.mixing import Classes, DiagonalMixing, IntegerMixing, MeasuredNumbers, RunningTotals
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.factors import Factor, Path, Tree
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.mechanisms.parts.table_candidates import (
    kronecker_gaussian,
    marginal_gaussian,
    marginal_laplace,
    marginal_space,
)
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism, packed, unpacked
from dxgeom.mechanisms.parts.tables import MarginalQuestion, SetFamily
from dxgeom.mechanisms.parts.toeplitz_mechanism import ToeplitzMechanism
from dxgeom.mechanisms.parts.toeplitz_strategies import ToeplitzStrategy
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import FAMILIES, verify
from dxgeom.noise.composed import CartesianProductNoise, LinearImageNoise
from dxgeom.noise.k_norm import LAWS
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.weight_table import WeightTable
from dxgeom.universe.weight_tables import WeightTables

POLICY = policy_of_ranges((4, 3), "pure", (0,))
CONCENTRATED = policy_of_ranges((4, 3), "concentrated", (0,))
HIDDEN = policy_of_ranges((4, 3), "pure", presence=True)
BOXES = [{"a0": (0, 2)}, {"a0": (1, 3), "a1": (0, 2)}, {"a1": (1, 3)}]
OTHER = dx.Policy.from_dict(
    {
        "policy": "other words",
        "universe": {"attributes": {"a0": list("wxyz"), "a1": list("uvw")}},
        "rules": [{"change": "a0", "epsilon": 1}, {"change": "a1", "epsilon": 1}],
    }
)


def sensitivity(policy=POLICY, rows=None):
    universe = policy.universe
    if rows is None:
        return sensitivity_of(policy.compile(), dx.LinearQueries.marginals(universe, [("a0",)]))
    return sensitivity_of(policy.compile(), dx.LinearQueries.from_matrix(list("uvw"), rows, universe))


def measured():
    return marginal_laplace(marginal_space(sensitivity(), None, worst=False))


def dense():
    """The third answer follows from the others."""
    own = sensitivity(rows=[[1] * 3 + [0] * 9, [0] * 3 + [1] * 3 + [0] * 6, [1] * 6 + [0] * 6])
    some = optimal_laplace(own.only([0, 1]))
    mixing = np.array([[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)], [Fraction(1), Fraction(1)]])
    return AdditiveMechanism("by hand", own, some.law, mixing)


def made_up(cells, total):
    return type("MadeUp", (), {"cells": cells, "total": total})()


# Arrays


def test_what_somebody_else_can_write_to_is_copied_when_it_is_taken():
    numbers, levels = np.array([1]), (np.empty((1, 0), dtype=np.int64), np.array([[0], [1]]))
    family = SetFamily(np.array([3, 3]), levels, numbers[:])
    numbers[:] = 2
    levels[1][:] = [[1], [0]]
    assert (family.workload_sets.tolist(), family.levels[1].tolist()) == ([1], [[0], [1]])


@pytest.mark.parametrize("part", ["classes", "stated", "counted"])
def test_weights_are_those_that_were_looked_at(part):
    given = {"classes": np.array([0, 0, 1, 1]), "stated": np.array([[0, 1], [1, 0]]), "counted": np.array([0, 1])}
    stated, counted = (None, given["counted"][:]) if part == "counted" else (given["stated"][:], None)
    table = WeightTable(np.array([0, 1]), (0,), (given["classes"][:],), stated, counted)
    tables = WeightTables(POLICY.universe.shape, (table,))
    queries = dx.LinearQueries(("u", "v"), tables, (Fraction(1), Fraction(1)), POLICY.universe)
    mechanism = optimal_laplace(sensitivity_of(POLICY.compile(), queries))
    before = mechanism.sensitivity.queries.numerators.copy()
    given[part][:] = 0
    assert np.array_equal(mechanism.sensitivity.queries.numerators, before)


def test_a_matrix_of_distances_and_a_table_of_weights_are_those_that_were_checked():
    distances, weights = 1 - np.eye(3), np.array([[1, 0, 0]])
    metric, queries = dx.verify_metric(distances), dx.LinearQueries.from_matrix(["q"], weights)
    distances[:], weights[:] = 9, 7
    assert metric.distance([0], [1]) == [1]
    assert queries.tables.matrix().max() == 1


def test_boxes_are_those_that_were_asked_for():
    asked = dx.universe.BoxQueries.of(POLICY.universe, BOXES)
    lower = asked.lower.copy()
    own = replace(asked, lower=lower[:])
    lower[:] = 3
    assert np.array_equal(own.lower, asked.lower)


def test_a_copy_from_another_process_is_as_read_only():
    mechanism = dx.plan(POLICY.compile(), dx.universe.BoxQueries.of(POLICY.universe, BOXES)).mechanism
    copied = pickle.loads(pickle.dumps(mechanism))
    with pytest.raises(ValueError, match="read-only"):
        copied.scales[:] = 0
    with pytest.raises(ValueError, match="read-only"):
        copied.boxes.lower[:] = 0


@pytest.mark.parametrize("make", [marginal_laplace, marginal_gaussian, kronecker_gaussian])
def test_blocks_and_law_are_worked_out_when_they_are_proved(make):
    made = make(marginal_space(sensitivity(CONCENTRATED), None, worst=False))
    own = replace(made.mixing.measured)
    assert not {"blocks", "law"} & {*vars(own)}
    mixing = replace(made.mixing, measured=own)
    assert {"blocks", "law"} <= {*vars(own)}
    with pytest.raises(CertificateRefused, match="other noise"):
        replace(made, mixing=mixing)


# Classes


@pytest.mark.parametrize(
    "final",
    [
        Path,
        Tree,
        Classes,
        BoxMechanism,
        TableMechanism,
        RunningTotals,
        ToeplitzMechanism,
        ToeplitzStrategy,
        SetFamily,
        MarginalQuestion,
        IntegerMixing,
        DiagonalMixing,
    ],
)
def test_nobody_derives_from_what_a_proof_believes(final):
    with pytest.raises(TypeError, match="nobody derives from one elsewhere: found 'Mine'"):
        type("Mine", (final,), {})


@pytest.mark.parametrize("family", [MeasuredNumbers, Factor, LatticeNoise])
def test_nobody_adds_to_a_family_that_a_proof_believes_from_outside(family):
    with pytest.raises(TypeError, match="add it to the package with its laws"):
        type("Mine", (family,), {})


def test_numbers_that_are_only_said_to_be_measured_are_refused():
    good = measured()
    own = good.mixing.measured
    liar = type("Liar", (), {name: getattr(own, name) for name in ("metric", "blocks", "codes", "steps_per_count")})()
    liar.law = LaplaceNoise(np.full(good.law.dimension, 1e-3))
    for family in (MeasuredNumbers, LatticeNoise):
        family.register(type(liar))
        with pytest.raises(CertificateRefused, match="nothing is proved here of such numbers"):
            AdditiveMechanism(good.name, good.sensitivity, liar.law, replace(good.mixing, measured=liar))


def test_factors_and_box_mechanisms_that_are_only_said_to_be_such_are_refused():
    liar = type("Liar", (), {"size": 4, "levels": 2})()
    Factor.register(type(liar))
    boxes = dx.universe.BoxQueries.of(POLICY.universe, [{"a0": (k, k + 1)} for k in range(4)])
    with pytest.raises(dx.errors.DxgeomError, match="a factor for each column"):
        BoxMechanism("boxes-laplace", POLICY.compile(), boxes, (liar,), np.array([0.0, 1.0]))


@dataclass(frozen=True, eq=False)
class Lying(NoiseLaw):
    """Hides everything, it says."""

    scales: np.ndarray
    dimension = 4
    amplitude = body = None
    ideal = simulate = None
    second_moment = property(lambda self: np.eye(4))

    def loss_upper_bounds(self, shifts, errors):
        return np.zeros(len(shifts))


DERIVED = type("Derived", (LaplaceNoise,), {"loss_upper_bounds": Lying.loss_upper_bounds})(np.full(4, 1e-3))


@pytest.mark.parametrize("law", [DERIVED, Lying(np.ones(4)), LinearImageNoise(Lying(np.ones(4)), np.eye(4))])
def test_a_law_that_is_listed_nowhere_is_refused_also_inside_another(law):
    good = optimal_laplace(sensitivity())
    with pytest.raises(CertificateRefused, match="nothing is proved here of such a law"):
        replace(good, law=law)


def test_a_metric_that_is_listed_nowhere_is_refused():
    class Short(Metric):
        size, distance, generating_pairs, certificate = 4, None, None, None

    derived = type("Derived", (DiscreteMetric,), {})(4, Fraction(1))
    for own in (Short(), derived):
        with pytest.raises(UnsupportedCombination, match=r"no proof is known here that a (Short|Derived) is a metric"):
            verify(own, title="t", fingerprint="0" * 64, budget=Fraction(1))


def kinds_below(family):
    for module in pkgutil.walk_packages(dx.__path__, "dxgeom."):
        compiled = module.name.endswith("_compiled")  # it needs an optional library
        if module.name.startswith(("dxgeom.noise.", "dxgeom.metrics.")) and not compiled:
            importlib.import_module(module.name)
    left, found = [family], set()
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        found |= {kind} if vars(kind).get("__final__") else set()
    return found


def test_no_law_and_no_metric_is_forgotten_in_the_lists():
    laws = {kind for kind in kinds_below(NoiseLaw) if kind.__module__.startswith("dxgeom.")}
    assert laws - {CartesianProductNoise} == {*LAWS}  # that one is only the noise of learning, which proves it itself
    assert {kind for kind in kinds_below(Metric) if kind.__module__.startswith("dxgeom.")} == {*FAMILIES}


# Records


@pytest.mark.parametrize("policy", [POLICY, CONCENTRATED], ids=["pure", "concentrated"])
def test_queries_about_other_records_are_refused_by_the_mechanisms_themselves(policy):
    universe, metric, other = policy.universe, policy.compile(), OTHER.universe
    tables = dx.plan(metric, dx.universe.MarginalQueries.of(universe, [("a0",)])).mechanism
    with pytest.raises(UnsupportedCombination, match="about other records than the metric"):
        replace(tables, queries=dx.universe.MarginalQueries.of(other, [("a0",)]))
    boxes = dx.plan(metric, dx.universe.BoxQueries.of(universe, BOXES)).mechanism
    with pytest.raises(UnsupportedCombination, match="about other records than the metric"):
        replace(boxes, boxes=dx.universe.BoxQueries.of(other, BOXES))


def test_counts_of_other_records_are_refused():
    own = pa.table({"a0": [0, 3], "a1": [0, 2]})
    other = pa.table({"a0": ["w", "z"], "a1": ["u", "w"]})
    mechanism = dx.plan(POLICY.compile(), dx.universe.MarginalQueries.of(POLICY.universe, [("a0",)])).mechanism
    mechanism.check(table_counts(own, mechanism.queries), Fraction(1))
    counts = table_counts(other, dx.universe.MarginalQueries.of(OTHER.universe, [("a0",)]))
    with pytest.raises(DataError, match="counts of other tables"):
        mechanism.check(counts, Fraction(1))


# Workloads


UNLIKE = dx.Policy.from_dict(
    {
        "policy": "one attribute is far more private than the other",
        "universe": {"attributes": {"a": list("uvw"), "b": list("xyz")}},
        "rules": [{"change": "a", "epsilon": "0.1"}, {"change": "b", "epsilon": 10}],
    }
)


def without(codes):
    return np.where(codes == 1, 0, codes)


@pytest.mark.parametrize(
    "changed",
    [
        lambda a, b: (b, a),
        lambda a, b: (a, replace(b, axis=0)),
        lambda a, b: (a, replace(b, axis=2)),
        lambda a, b: (a, replace(b, axis=-1)),
        lambda a, b: (a, replace(b, codes=b.codes[:2])),
        lambda a, b: (a, replace(b, codes=b.codes + 1)),
        lambda a, b: (a, replace(b, codes=b.codes - 1)),
        lambda a, b: (a, replace(b, codes=without(b.codes))),
        lambda a, b: (a, replace(b, codes=b.codes.astype(float))),
        lambda a, b: [a, b],
    ],
)
def test_columns_are_of_different_attributes_in_their_order_and_have_all_values(changed):
    """Budgets are by attribute: of columns in another order those of one would be spent on the other."""
    tables = dx.universe.MarginalQueries.of(UNLIKE.universe, [("a",), ("b",)])
    boxes = dx.universe.BoxQueries.of(UNLIKE.universe, [{"a": (0, 1)}, {"b": (0, 1)}])
    for queries in (tables, boxes):
        assert replace(queries, columns=queries.columns).columns == queries.columns
        with pytest.raises(UnsupportedCombination, match="of different attributes of the universe, rising"):
            replace(queries, columns=changed(*queries.columns))


THREE, CELLS = np.arange(3), np.eye(9, dtype=np.int64).reshape(9, 3, 3)


@pytest.mark.parametrize(
    "table",
    [
        WeightTable(np.arange(9), (1, 0), (THREE, THREE), None, np.arange(9)),
        WeightTable(np.arange(9), (1, 0), (THREE, THREE), CELLS),
        WeightTable(np.arange(9), (0, 0), (THREE, THREE), CELLS),
        WeightTable(np.arange(9), (0, 2), (THREE, THREE), CELLS),
        WeightTable(np.arange(9), (-1, 0), (THREE, THREE), CELLS),
        WeightTable(np.arange(9), (0,), (THREE, THREE), CELLS),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE[:2]), CELLS),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE - 1), CELLS),
        WeightTable(np.arange(9), (0, 1), (THREE, np.array([0, 2, 2])), CELLS),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE), CELLS, np.arange(9)),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE), CELLS.astype(float)),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE), CELLS.reshape(9, 9)),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE), None, np.arange(9) - 1),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE), None, np.arange(9) + 1),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE), None, np.arange(8)),
        WeightTable(np.arange(9), (0, 1), (THREE, THREE), None),
        WeightTable(np.arange(9) - 1, (0, 1), (THREE, THREE), CELLS),
        WeightTable(np.zeros(9, dtype=np.int64), (0, 1), (THREE, THREE), CELLS),
    ],
)
def test_a_table_of_weights_is_what_all_that_read_it_take_it_for(table):
    """Where attributes do not rise, what is proved of one is released of the other."""

    def asked(one):
        names = tuple(f"q{place}" for place in range(9))
        return dx.LinearQueries(names, WeightTables((3, 3), (one,)), (Fraction(1),) * 9, UNLIKE.universe)

    proper = WeightTable(np.arange(9), (0, 1), (THREE, THREE), CELLS)
    assert asked(proper).count == asked(replace(proper, dense=None, counted=np.arange(9))).count == 9
    with pytest.raises(UnsupportedCombination, match="rising attributes"):
        asked(table)


# Private totals


TOTALS = [0, 2**31 - 1, 2**31, 3_123_456_789, 2**52, 2**60, 2**63 - 1]


def test_no_number_of_records_is_refused_and_tables_are_exact_for_all():
    queries = dx.universe.MarginalQueries.of(HIDDEN.universe, [("a0",), ("a0", "a1")])
    made = dx.plan(HIDDEN.compile(), queries).mechanism
    for spend in (Fraction(1), Fraction(1, 2**10)):
        assert made._most_records(spend) < 2**62
        found = []
        for total in TOTALS:
            data = made_up((np.array([total, 0, 0, 0]), np.eye(1, 12, dtype=np.int64)[0] * total), total)
            made.check(data, spend)
            found.append(made.draw(data, spend, InsecureSeededRandomness(3)))
        for total, answer in zip(TOTALS, found, strict=True):
            for own, none, divisor in zip(answer.numerators, found[0].numerators, answer.divisors, strict=True):
                assert (own.astype(object) - none).tolist() == [total * divisor, *[0] * (len(own) - 1)]
                assert unpacked(packed(own)).tolist() == own.tolist()
                fits = max(map(abs, own.tolist())) < 2**63
                assert (own.dtype == np.int64) == fits


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_no_number_of_records_is_refused_and_boxes_are_right_for_all(privacy):
    policy = policy_of_ranges((4, 3), privacy, presence=True)
    made = dx.plan(policy.compile(), dx.universe.BoxQueries.of(policy.universe, BOXES)).mechanism
    inside = [sum(shape) > 0 for shape in made.queries.shapes]
    for total in TOTALS:
        cells = tuple(np.eye(1, int(np.prod(shape)), dtype=np.int64)[0] * total for shape in made.queries.shapes)
        made.check(made_up(cells, total), Fraction(1))
        first, _, third = made.draw(made_up(cells, total), Fraction(1), InsecureSeededRandomness(5))
        assert first == pytest.approx(total, rel=1e-9, abs=100)
        assert third == pytest.approx(0, abs=max(100, total * 1e-9))
    assert all(inside)


# Numbers


def driven(mechanism, counts, noise):
    """The cells of all tables, over one divisor."""
    silent = {number: np.zeros(law.dimension * draws, dtype=np.int64) for number, law, draws in mechanism.noisy_parts()}
    answer = mechanism.answered(counts, silent | noise)
    return np.concatenate(
        [own * (12 * 2**20 // by) for own, by in zip(answer.numerators, answer.divisors, strict=True)]
    )


def test_whichever_tables_are_measured_what_a_record_moves_has_noise():
    """Of scales that are there or not, wherever they come from: if they are accepted, some noise moves all cells as any
    change of a record does."""
    rules = [{"change": name, "epsilon": 1} for name in "ac"]
    values = {"a": list("uvw"), "c": list("xy")}
    policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": values}, "rules": rules})
    tables = dx.universe.MarginalQueries.of(policy.universe, [("a",), ("a", "c")])
    made = replace(dx.plan(policy.compile(), tables).mechanism, scales=np.full(8, 2.0**6))
    moves = []
    for record in np.eye(6, dtype=np.int64):
        cells = (record.reshape(3, 2).sum(axis=1), record)
        moves.append(driven(made, made_up(cells, 1), {}))
    nobody, changes = made_up((np.zeros(3, dtype=np.int64), np.zeros(6, dtype=np.int64)), 0), np.array(moves) - moves[0]
    accepted = 0
    for used in itertools.product((0, 2.0**6), repeat=6):
        try:
            mechanism = replace(made, scales=np.array([0, *used[:3], 0, *used[3:]]))
        except CertificateRefused:
            continue
        accepted += 1
        taken = [
            driven(mechanism, nobody, {number: unit})
            for number, law, _ in mechanism.noisy_parts()
            for unit in np.eye(law.dimension, dtype=np.int64)
        ]
        rank = np.linalg.matrix_rank(np.array([np.zeros(9), *taken], dtype=float))
        assert np.linalg.matrix_rank(np.array([*taken, *changes], dtype=float)) == rank, used
    assert 0 < accepted < 2**6


def test_a_dense_mixing_has_a_row_for_each_answer_of_exact_numbers():
    good = dense()
    for wrong in (good.mixing[:2], good.mixing[:, :1], good.mixing[0]):
        with pytest.raises(CertificateRefused, match="its coordinates are not those"):
            replace(good, mixing=wrong)
    for wrong in (good.mixing.astype(float), good.mixing.astype(np.float32), good.mixing * 1.0):
        with pytest.raises(CertificateRefused, match="whole numbers or Fractions"):
            replace(good, mixing=wrong)


@pytest.mark.parametrize("kind", [np.int64, np.int32, object])
def test_what_answers_take_is_added_up_in_integers_without_end(kind):
    """In 64 bits sums go around, and how often is a function of the noise alone."""
    own = sensitivity(rows=[[1] * 3 + [0] * 9, [0] * 3 + [1] * 3 + [0] * 6, [2**29] * 6 + [0] * 6])
    some = optimal_laplace(own.only([0, 1]))
    steps = own.queries.steps
    shares = [int(2**29 * step / steps[2]) for step in steps[:2]]
    mechanism = AdditiveMechanism("by hand", own, some.law, np.array([[1, 0], [0, 1], shares], dtype=kind))
    ((first, second, third),) = mechanism.answered(np.zeros(12, dtype=np.int64), [[2**40, 2**41]])
    assert third == 2**29 * (first + second) > 0
    assert mechanism.fingerprint == replace(mechanism, mixing=mechanism.mixing).fingerprint


@pytest.mark.parametrize("wrong", [1.0, 0.5, 0, Fraction(0), -1, Fraction(-1, 2), "1", None, np.int64(3), True])
def test_divisors_are_positive_whole_numbers_or_fractions(wrong):
    good = measured().mixing
    with pytest.raises(CertificateRefused, match="positive whole numbers or Fractions"):
        IntegerMixing(good.numerators, (wrong, *good.divisors[1:]), good.measured)
    with pytest.raises(CertificateRefused, match="positive whole numbers or Fractions"):
        IntegerMixing(good.numerators, good.divisors[1:], good.measured)


@pytest.mark.parametrize("divisor", [2**70, Fraction(1, 2**70)])
def test_a_divisor_of_any_size_is_looked_at_where_a_query_counts_nobody(divisor):
    own = sensitivity(rows=[[1] * 3 + [0] * 9, [0] * 12, [0] * 6 + [1] * 3 + [0] * 3])
    good = measured().mixing
    numerators = np.stack([good.numerators[0], good.numerators[1] * 0, good.numerators[2]])
    mixing = IntegerMixing(numerators, (good.divisors[0], divisor, good.divisors[2]), good.measured)
    others = AdditiveMechanism("by hand", own, good.measured.law, mixing)
    assert others.mixing.divisors[1] == divisor
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        replace(others, mixing=replace(mixing, numerators=good.numerators[:3]))


def test_whole_divisors_divide_exactly():
    good = measured().mixing
    mixing = IntegerMixing(good.numerators, (3,) * len(good.divisors), good.measured)
    assert {*map(type, mixing.noise_of_each([1] * good.numerators.shape[1]))} == {Fraction}


@pytest.mark.parametrize("radices", [(2, 2), (), (2, 2, 1), (8.0,), (0, 8), (-2, -4), (True,), (np.int64(8),)])
def test_a_tree_has_room_for_its_values(radices):
    with pytest.raises(CertificateRefused, match="a tree over 8 values splits into whole numbers"):
        Tree(8, radices)


@pytest.mark.parametrize("size", [1, 0, -3, 4.0])
def test_a_line_has_two_values_or_more(size):
    with pytest.raises(CertificateRefused, match="two values or more"):
        Path(size)
