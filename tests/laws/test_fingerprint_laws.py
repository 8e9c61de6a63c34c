"""Mechanisms whose answers have different laws have different fingerprints; equal ones have equal ones, everywhere.

A ledger's entry names a mechanism by its fingerprint only: whoever can make two with one can say afterwards that the
other one answered.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference.forged import forged
from reference.mechanisms import CASES, LINE, ROWS, queries

from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.lattice import QueryChange
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.synthetic.synthetic import QueryShifts
from dxgeom.metrics.verification import verify
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.universe.queries import LinearQueries

SENSITIVITY = sensitivity_of(LINE, queries())
PROVED = AdditiveMechanism("m", SENSITIVITY, LaplaceNoise(np.full(3, 1e6)), DiagonalMixing(np.ones(3, bool)))
OTHER = verify(LINE.metric, title="line", fingerprint="other", budget=Fraction(1))


def additive(law, mixing=None, sensitivity=SENSITIVITY, name="m", change=None):
    """Whatever its noise hides: a fingerprint is of what is there."""
    mixing = DiagonalMixing(np.ones(3, bool)) if mixing is None else mixing
    return forged(PROVED, name=name, sensitivity=sensitivity, law=law, mixing=mixing, change=change)


def rational(rows):
    return np.array([[Fraction(x) for x in row] for row in rows], dtype=object)


def on_lattice(**changed):
    return forged(SENSITIVITY, queries=replace(SENSITIVITY.queries, **changed))


def asked(names=("q0", "q1", "q2"), rows=ROWS):
    return sensitivity_of(LINE, LinearQueries.from_matrix(list(names), np.array(rows)))


LAPLACE = LaplaceNoise(np.array([20.0, 20.0, 20.0]))
TURN = np.array([[12.0, 16.0, 0.0], [16.0, -12.0, 0.0], [0.0, 0.0, 20.0]])
EYE = np.eye(3)
STEPS, ERRORS = SENSITIVITY.queries.steps, SENSITIVITY.queries.weight_errors
CHANGE = QueryChange(SENSITIVITY.queries, 10, (Fraction(1, 8),) * 3)

ADDITIVE = {
    "as it is": additive(LAPLACE),
    "name": additive(LAPLACE, name="n"),
    "metric": additive(LAPLACE, sensitivity=forged(SENSITIVITY, metric=OTHER)),
    "absent": additive(LAPLACE, sensitivity=forged(SENSITIVITY, absent=3)),
    "absent at another place": additive(LAPLACE, sensitivity=forged(SENSITIVITY, absent=2)),
    "a query's name": additive(LAPLACE, sensitivity=asked(["q0", "q1", "q3"])),
    "names in another order": additive(LAPLACE, sensitivity=asked(["q1", "q0", "q2"])),
    "a name cut elsewhere": additive(LAPLACE, sensitivity=asked(["q0', 'q1", "q", "q2"])),
    "a weight": additive(LAPLACE, sensitivity=asked(rows=[[1, 0, 0, 0], [0, 1, 2, 4], [0, 0, 1, 1]])),
    "records in another order": additive(LAPLACE, sensitivity=asked(rows=ROWS[:, ::-1])),
    "a step": additive(LAPLACE, sensitivity=on_lattice(steps=(STEPS[0] / 2, *STEPS[1:]))),
    "what was rounded away": additive(LAPLACE, sensitivity=on_lattice(weight_errors=(Fraction(1, 9), *ERRORS[1:]))),
    "no noise": additive(None, rational(0 * EYE)),
    "a scale, by its last bit": additive(LaplaceNoise(np.array([20.0, 20.0, np.nextafter(20.0, 30)]))),
    "rotated": additive(LinearImageNoise(LaplaceNoise(np.ones(3)), TURN)),
    "rotated the other way": additive(LinearImageNoise(LaplaceNoise(np.ones(3)), TURN[[1, 0, 2]])),
    "the same scales as an image": additive(LinearImageNoise(LaplaceNoise(np.ones(3)), 20 * EYE)),
    "through a wide map": additive(LinearImageNoise(LaplaceNoise(np.ones(4)), np.hstack([TURN, TURN[:, :1]]))),
    "a box": additive(BoxNoise(Box(np.full(3, 20.0)))),
    "a ball": additive(EllipsoidNoise(Ellipsoid(20 * EYE))),
    "a product": additive(ProductNoise((LaplaceNoise(np.full(2, 20.0)), BoxNoise(Box(np.array([20.0])))))),
    "another part in the product": additive(
        ProductNoise((LaplaceNoise(np.array([20.0])), BoxNoise(Box(np.full(2, 20.0)))))
    ),
    "an answer from others": additive(LaplaceNoise(np.full(2, 20.0)), rational([[1, 0], [0, 1], [1, 1]])),
    "the same answer from others by another sign": additive(
        LaplaceNoise(np.full(2, 20.0)), rational([[1, 0], [0, 1], [1, -1]])
    ),
    "one answer without noise": additive(LaplaceNoise(np.full(2, 20.0)), DiagonalMixing(np.array([True, True, False]))),
    "another answer without noise": additive(
        LaplaceNoise(np.full(2, 20.0)), DiagonalMixing(np.array([True, False, True]))
    ),
    "changed queries": additive(LAPLACE, change=CHANGE),
    "changed for another number": additive(LAPLACE, change=replace(CHANGE, records=11)),
    "changed further": additive(LAPLACE, change=replace(CHANGE, shifts=(Fraction(1, 4), *CHANGE.shifts[1:]))),
    "changed from others": additive(LAPLACE, change=replace(CHANGE, unchanged=asked(rows=2 * ROWS).queries)),
}


def test_no_two_mechanisms_that_add_noise_share_a_fingerprint():
    found: dict[str, str] = {}
    for name, mechanism in ADDITIVE.items():
        assert found.setdefault(mechanism.fingerprint, name) == name


def test_rotated_and_independent_noise_of_equal_variances_are_told_apart():
    rotated = LinearImageNoise(LaplaceNoise(np.ones(2)), np.array([[12.0, 16.0], [16.0, -12.0]]))
    independent = LaplaceNoise(np.array([20.0, 20.0]))
    assert np.array_equal(rotated.second_moment, independent.second_moment)
    pair = sensitivity_of(LINE, queries(ROWS[:2]))
    noisy = DiagonalMixing(np.ones(2, bool))
    both = [additive(law, noisy, pair) for law in (rotated, independent)]
    assert np.array_equal(both[0].variances(), both[1].variances())
    assert both[0].fingerprint != both[1].fingerprint


def test_equal_numbers_held_apart_have_one_fingerprint():
    """Another object, another memory order, another kind of number that is the same one."""
    rotated = ADDITIVE["rotated"]
    again = additive(LinearImageNoise(LaplaceNoise(np.ones(3)), np.asfortranarray(TURN.copy())))
    assert again.fingerprint == rotated.fingerprint
    assert additive(LAPLACE, change=replace(CHANGE, records=Fraction(10))).fingerprint == (
        ADDITIVE["changed queries"].fingerprint
    )


ALTERNATIVES: dict[str, dict[str, Any]] = {
    "planar Laplace": {"step": Fraction(1, 8), "scale": 100.0, "spend": Fraction(1, 3), "name": "p"},
    "series": {"readings": 4, "epsilon": Fraction(1, 2), "step": Fraction(1, 4), "name": "s"},
    "statistic, hull": {"name": "s", "law": LaplaceNoise(np.ones(2))},
    "permute-and-flip": {
        "name": "exponential",
        "range_sensitivity": 3.5,
        "unit": Fraction(1, 2),
        "numerators": ROWS[1:],
        "at_half": True,
    },
    "small database": {
        "name": "s",
        "law": "exponential",
        "numerators": 2 * ROWS,
        "unit": Fraction(1, 2),
        "steepest": 9.5,
        "size": 5,
        "planned": 10,
        "shift": Fraction(1, 3),
    },
    "mwem": {
        "name": "w",
        "query_sensitivities": np.array([9.0, 9, 9]),
        "fineness": 7,
        "start": np.full(4, 0.25),
        "rounds": 2,
        "law": "exponential",
        "shifts": QueryShifts(queries(), Fraction(1, 2), (Fraction(1, 3),) * 3),
    },
    "truncated geometric": {"name": "t", "spend": Fraction(1, 3)},
    "sequence": {"shares": (Fraction(1, 3), Fraction(2, 3))},
    "first answer": {"name": "f"},
}


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_each_number_that_a_law_depends_on_changes_the_fingerprint(name):
    """The fields are set past the doors that would refuse some of them: what is not checked cannot be relied upon."""
    mechanism = CASES[name].make()
    for field, value in ALTERNATIVES[name].items():
        changed = object.__new__(type(mechanism))
        for each in fields(mechanism):
            object.__setattr__(changed, each.name, getattr(mechanism, each.name))
        object.__setattr__(changed, field, value)
        if np.array_equal(value, getattr(mechanism, field)):
            continue
        assert changed.fingerprint != mechanism.fingerprint, field


def test_a_digest_is_that_of_the_numbers_and_of_nothing_else():
    """Written out by hand: whoever changes how numbers are digested changes every ledger's entries."""
    scales = np.array([1.0, 0.1], dtype="<f8")
    text = b"s12:LaplaceNoiseaf(2,):" + scales.tobytes()
    text = text.replace(b"(2,)", repr((2,)).encode())
    assert LaplaceNoise(scales).digest == hashlib.sha256(text).hexdigest()
    inner = canonical_digest("Box", np.array([2.0]))
    assert BoxNoise(Box(np.array([2.0]))).digest == canonical_digest("BoxNoise", Box(np.array([2.0])))
    assert BoxNoise(Box(np.array([2.0]))).digest == hashlib.sha256(b"s8:BoxNoised" + inner.encode() + b";").hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a b", "c"), ("a", "b c")),
        (("ab",), ("a", "b")),
        ((1, 0), (10,)),
        ((True,), (1,)),
        ((None,), ("n",)),
        ((0.5,), (Fraction(1, 2),)),
        (((1, 2), 3), ((1,), 2, 3)),
        (([],), ()),
        ((np.zeros((2, 3)),), (np.zeros((3, 2)),)),
        ((np.zeros(2),), (np.zeros(2, dtype=np.int64),)),
        ((np.array([1.0, 2.0]),), (np.array([2.0, 1.0]),)),
        ((0.1,), (float(np.nextafter(0.1, 1)),)),
        (("\u00e9",), ("e\u0301",)),
    ],
)
def test_what_differs_has_another_digest(one, other):
    assert canonical_digest("kind", *one) != canonical_digest("kind", *other)
    assert canonical_digest("kind", *one) == canonical_digest("kind", *one)


def test_numbers_are_digested_as_what_they_are_however_they_are_held():
    for same in ((1, Fraction(1), np.int64(1)), (0.5, np.float64(0.5))):
        assert len({canonical_digest("kind", one) for one in same}) == 1
    arrays = (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)))
    arrays += (arrays[0].astype(">i8"), arrays[0].astype(np.int32))
    assert len({canonical_digest("kind", one) for one in arrays}) == 1


@pytest.mark.parametrize("wrong", [object(), {1: 2}, {1}, 1j, np.array(["a"]), np.zeros(2, dtype=np.longdouble)])
def test_what_has_no_canonical_form_is_not_digested(wrong):
    with pytest.raises(TypeError):
        canonical_digest("kind", wrong)
