"""Noise in blocks for linear queries: what answers take of it is exact, and plans try it without being asked."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.mechanisms.linear.lengths_in_boxes import counted_boxes
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.box_candidates import in_answers
from dxgeom.mechanisms.parts.box_mechanism import LAPLACE, NORMAL, BoxMechanism
from dxgeom.mechanisms.parts.box_scales import BoxQuestion, best_scales, promised_of
from dxgeom.mechanisms.parts.factors import Path, Tree
from dxgeom.planner.boxes.as_candidates import BoxCandidates
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.choose import listed_plan

SIZES = (7, 3)
FACTORS = [
    (Tree(7, (7,)), Tree(3, (3,))),
    (Tree(7, (2, 2, 2)), Tree(3, (2, 2))),
    (Tree(7, (4, 2)), Tree(3, (3,))),
    (Path(7), Tree(3, (2, 2))),
    (Path(7), Path(3)),
]


def queries_of(policy, number, seed=0):
    """Different boxes, each of one attribute at least."""
    generator, found = np.random.default_rng(seed), {}
    while len(found) < number:
        box = {}
        for name, size in zip(policy.universe.names, policy.universe.shape, strict=True):
            low, high = sorted(generator.choice(size + 1, 2, replace=False).tolist())
            if high - low < size:
                box[name] = (low, high)
        if box:
            found[tuple(sorted(box.items()))] = box
    return dx.LinearQueries.boxes(policy.universe, list(found.values()))


def built(factors, name, presence):
    lines = [place for place, one in enumerate(factors) if isinstance(one, Path)]
    own = policy_of_ranges(privacy="concentrated" if name == NORMAL else "pure", lines=lines, presence=presence)
    metric = own.compile()
    sensitivity = sensitivity_of(metric, queries_of(own, 60))
    boxes = counted_boxes(sensitivity)
    question = BoxQuestion(boxes.merged, factors, promised_of(metric, boxes.merged, factors), name == NORMAL)
    made = BoxMechanism(name, metric, boxes, factors, best_scales(question))
    return made, sensitivity


@pytest.mark.parametrize("name", [NORMAL, LAPLACE])
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("presence", [False, True])
def test_noisy_counts_without_their_noise_make_up_every_answer(factors, name, presence):
    made, sensitivity = built(factors, name, presence)
    mechanism = in_answers(made, sensitivity)
    weights, left = sensitivity.queries.numerators, []
    step = Fraction(1, 2 ** max(0, math.ceil(math.log2(64 / made.scales[made.scales > 0].min()))))
    for number, record in enumerate(itertools.product(*map(range, SIZES))):
        counts = np.zeros(SIZES, dtype=np.int64)
        counts[record] = 1
        cells = [counts.sum(axis=tuple({0, 1} - {*one})).ravel() for one in made.queries.attribute_sets]
        data, parts = type("Counted", (), {"cells": cells, "total": 1})(), []
        for place in np.flatnonzero(made.scales > 0).tolist():
            split = [length for one in made.sums_of(place).values() for length in one.shape]
            table = made.measured(place, data).reshape(split) // made.step.denominator
            parts.append(table.transpose([*range(0, len(split), 2), *range(1, len(split), 2)]).ravel())
        taken = mechanism.mixing.numerators @ np.concatenate(parts)
        steps = zip(taken.tolist(), mechanism.mixing.divisors, weights[:, number].tolist(), strict=True)
        left.append([own - total / divisor / step for total, divisor, own in steps])
    # Where the number of records is public, its part of an answer is the same whoever they are.
    assert all(one == (left[0] if not presence else [0] * len(one)) for one in left)
    assert mechanism.ideal_variances == pytest.approx(made.variances, rel=2e-3)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize(
    ("sizes", "lines", "presence"), [((40,), (), False), pytest.param((6, 5, 3), (1,), True, marks=pytest.mark.long)]
)
@pytest.mark.long
def test_very_many_boxes_are_planned_in_blocks_without_being_asked(privacy, sizes, lines, presence, tmp_path):
    own = policy_of_ranges(sizes, privacy, lines, presence)
    asked = queries_of(own, 420)
    plan = dx.plan(own.compile(), asked, thorough=True)
    name = "boxes-gaussian" if privacy == "concentrated" else "boxes-laplace"
    losses = {one.name: one.loss for one in plan.candidates}
    assert plan.answers_a_list and losses[name] is not None
    assert plan.mechanism.name in (name, "strategy", "gaussian") and losses["laplace"] > 20 * losses[name]
    assert 0 < plan.lower_bound <= plan.objective.loss(plan.mechanism.variances())


@pytest.fixture(scope="module")
def in_blocks():
    """A plan whose noise is in blocks, by the candidate alone."""
    own = policy_of_ranges((40,), "pure")
    asked = queries_of(own, 420)
    metric = own.compile()
    from dxgeom.planner.candidate_builder import CandidateBuilder
    from dxgeom.planner.comparing.comparison import CandidateComparison
    from dxgeom.planner.objectives.objective import Objective

    shared = CandidateBuilder(sensitivity_of(metric, asked))
    compared = CandidateComparison(shared, ("boxes-laplace",))
    return own, listed_plan(metric, asked, Objective("mse"), compared.mechanism("boxes-laplace"), compared, None)


def test_it_is_released_and_kept_in_files_where_it_is_proved_again(in_blocks, tmp_path):
    own, plan = in_blocks
    loaded = dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    assert loaded.plan.mechanism.fingerprint == plan.mechanism.fingerprint
    rows = pd.DataFrame({"a0": [1, 2, 3] * 50})
    one, again = (kept.release(rows, ledger=":memory:", spend=1, insecure_test_seed=3) for kept in (plan, loaded))
    assert [*one.answer.values] == [*again.answer.values]
    document = json.loads((tmp_path / "plan.json").read_text())
    assert document["mechanism"]["law"]["kind"] == "ScalesInBoxes"
    for change in ({"measured": [[2, 2]]}, {"measured": ["line"]}, {"measured": [[40], [2]]}):
        forged = json.loads(json.dumps(document))
        forged["mechanism"]["law"] |= change
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        with pytest.raises(dx.DxgeomError):
            dx.load_plan(tmp_path / "forged.json")


def test_few_queries_and_other_queries_are_no_boxes(in_blocks):
    own, _ = in_blocks
    metric = own.compile()
    assert not CandidateBuilder(sensitivity_of(metric, queries_of(own, 3))).asks_boxes
    rows = np.random.default_rng(0).integers(0, 2, (450, 40))
    assert not BoxCandidates(
        sensitivity_of(metric, dx.LinearQueries.from_matrix([f"q{k}" for k in range(450)], rows, own.universe)),
        None,
        worst=False,
    ).boxes
    runs = np.array(
        [(low <= np.arange(40)) & (np.arange(40) < high) for low in range(40) for high in range(low + 1, 41)]
    )
    handed = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(runs))], runs.astype(int), own.universe)
    assert BoxCandidates(sensitivity_of(metric, handed), None, worst=False).boxes
