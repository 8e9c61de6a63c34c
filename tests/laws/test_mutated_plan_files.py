"""Plan files of every kind changed by chance, with seals that fit again: each is refused, or is private and says so.

``DXGEOM_MUTATIONS``: how many; make soak asks for ten thousand. What loads is judged by ``reference.judged_plans``: it
believes no proof, noise is driven by unit vectors, and the policy is read from the file by a reader of its own.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from golden.kinds import keeping
from reference.driven_tables import driven_tables
from reference.forged import forged
from reference.forger import with_own_seals
from reference.judged_plans import Judge, worst_of
from reference.least_shift import driven
from reference.mutated_plans import mutant, spoiled_text
from reference.plan_documents import changed, write
from reference.policy_of_ranges import policy_of_ranges
from reference.random_workloads import Chance
from reference.stated_policy import stated_distances

import dxgeom as dx
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.joint_totals import JointStrategy
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, totals_in_answers
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.plan_files.text.json_text import document_text
from dxgeom.plan_files.wrong import PLAN_CODES
from dxgeom.universe.workloads.box_queries import BoxQueries

COUNT = int(os.environ.get("DXGEOM_MUTATIONS", "200"))
PARTS = 12
SLOW = 20
"""Seconds of this process: no file of a few thousand bytes takes as long to read."""


IN_TOTALS = {
    "boxes, concentrated, presence, toeplitz-gaussian": False,
    "intervals, concentrated, presence, toeplitz-gaussian": True,
}
"""Noise that is younger than what was recorded, and whether its answers are listed."""
JOINTLY = {
    "boxes, concentrated, presence, joint totals": ((4, 3), True),
    "boxes, concentrated, around, joint totals": ((7,), None),
    "boxes, concentrated, presence, around, joint totals": ((7,), True),
}
"""Noise through a matrix that is sought for the boxes: sizes of attributes, and whether records come and go."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    return (
        {name: keeping.plan_file(name) for name in keeping.names()}
        | {name: in_totals(folder / f"{listed}.json", listed) for name, listed in IN_TOTALS.items()}
        | {name: in_joint_totals(folder / f"{name}.json", *how) for name, how in JOINTLY.items()}
    )


def in_joint_totals(path, sizes, presence):
    rules = [{"presence": True, "epsilon": 1}] if presence else []
    if len(sizes) > 1:
        policy = policy_of_ranges(sizes, "concentrated", (), presence=True, alone=True)
        asked = [{"a0": (0, 2), "a1": (1, 3)}, {"a0": (1, 4), "a1": (0, 2)}, {"a0": (0, 3)}]
    else:
        hour = {"range": [0, sizes[0] - 1], "step": 1, "wraps": True}
        said = {"policy": "around", "privacy": "concentrated", "universe": {"attributes": {"a0": hour}}, "budget": 9}
        policy = dx.Policy.from_dict(said | {"rules": [*rules, {"change": "a0", "per": 1, "epsilon": 0.5}]})
        asked = [{"a0": (low, low + 3)} for low in range(sizes[0] - 2)]
    plan = dx.plan(policy.compile(), BoxQueries.of(policy.universe, asked), mechanism=TOEPLITZ)
    assert isinstance(plan.mechanism.strategy, JointStrategy)
    dx.save_plan(plan, path, policy=policy)
    return path


def in_totals(path, listed):
    policy = policy_of_ranges((6, 2), "concentrated", (0,), True)
    asked = BoxQueries.of(policy.universe, [{"a0": ends} for ends in ((0, 1), (0, 3), (2, 6), (0, 6))])
    plan = dx.plan(policy.compile(), asked, mechanism=TOEPLITZ)
    if listed:
        same = dx.LinearQueries.boxes(policy.universe, [{"a0": ends} for ends in ((0, 1), (0, 3), (2, 6), (0, 6))])
        made = totals_in_answers(plan.mechanism, sensitivity_of(policy.compile(), same))
        plan = replace(dx.plan(policy.compile(), same, mechanism="gaussian"), mechanism=made)
    dx.save_plan(plan, path, policy=policy)
    return path


@pytest.fixture(scope="module")
def documents(files):
    return {name: json.loads(path.read_text("ascii")) for name, path in files.items()}


def written(number, documents, path):
    """A changed file, and what was done to it; of one in seven a forger did not mend the seals."""
    chance = Chance(f"mutant {number}")
    name, done, document = mutant(chance, documents)
    document = with_own_seals(document) if chance.likely(0.85) else document
    text = document_text(document)
    text = spoiled_text(text, chance) if chance.likely(0.05) else text
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return name, f"{number}: {name}, {done}"


def fate(path, judge, original):
    """What became of a file; what loads has been judged.

    Raises: whatever a wrong file must not raise; AssertionError for more than it says.
    """
    start = time.process_time()
    try:
        loaded = dx.load_plan(path)
    except dx.errors.PlanError as refused:
        (mistake,) = refused.diagnostics
        assert mistake.code in PLAN_CODES and "\n" not in mistake.message, mistake.message
        return f"refused, {mistake.code}"
    finally:
        assert time.process_time() - start < SLOW, "too slow"
    document = json.loads(path.read_text("utf-8"))
    judge.judge(loaded, document)
    same = all(document.get(part) == original.get(part) for part in ("fingerprint", "spend"))
    return "harmless" if same else "another plan, judged"


@pytest.mark.parametrize("part", range(PARTS))
def test_a_changed_plan_file_is_refused_or_private_and_says_what_is_so(part, documents, tmp_path):
    judge, found, wrong = Judge(), Counter(), []
    for number in range(part, COUNT, PARTS):
        name, what = written(number, documents, tmp_path / "plan.json")
        try:
            found[fate(tmp_path / "plan.json", judge, documents[name])] += 1
        except Exception as error:  # noqa: BLE001 (every kind of error but PlanError is wrong)
            wrong.append(f"{what}: {type(error).__name__}: {error}")
    print(f"{len(range(part, COUNT, PARTS))} mutants: {dict(found)}; judged: {dict(judge.seen)}")
    assert found and not wrong, "\n".join(wrong)


NARROWER = {
    "listed, pure, laplace": 2,
    "tables, pure, plain, marginal-laplace": 1,
    "tables, concentrated, plain, marginal-gaussian": 1,
    "tables, concentrated, kronecker-gaussian": 1,
    "boxes, pure, plain": 1,
    "boxes, concentrated, the worst, boxes-gaussian": 1,
    "boxes, concentrated, presence, toeplitz-gaussian": 1,
    **{name: 1 for name in JOINTLY if "around" in name},
}


@pytest.mark.parametrize("name", NARROWER)
def test_the_judge_sees_noise_that_is_a_thousandth_narrower(name, documents, files):
    """Past the constructors, which refuse it."""
    mechanism = dx.load_plan(files[name]).plan.mechanism
    apart = stated_distances(documents[name]["policy"]["written"])
    for factor, private in ((1.0, True), (0.999, False)):
        if isinstance(mechanism, AdditiveMechanism):
            narrower = forged(mechanism, law=LaplaceNoise(np.asarray(mechanism.law.scales) * factor))
            taken, weights, law = *driven(narrower), narrower.law
        else:
            taken, weights, law = driven_tables(forged(mechanism, scales=mechanism.scales * factor), len(apart))
        assert (worst_of(taken, weights, law, apart) <= 1 + 1e-6) == private


def test_every_recorded_plan_passes_the_judge_of_its_kind(documents):
    judge = Judge()
    for name in [name for name in documents if name.partition(", ")[0] in ("quantiles", "tables")]:
        judge.judge(dx.load_plan(keeping.plan_file(name)), documents[name])
    assert judge.seen["planned anew, quantiles"] and judge.seen["driven, marginal-laplace"]


def test_the_reader_of_policies_finds_the_distances_of_the_package(documents):
    compared = 0
    for written in {
        json.dumps(one["policy"]["written"]): one["policy"]["written"] for one in documents.values()
    }.values():
        apart = stated_distances(written)
        if apart is None:
            continue
        metric, size = dx.Policy.from_dict(written).compile(), len(apart)
        first, second = np.divmod(np.arange(size * size), size)
        own = metric.distance(first, second).reshape(size, size)
        assert np.allclose(apart, own, rtol=1e-9)
        compared += 1
    assert compared > 10


def test_an_error_that_is_no_number_is_not_stated(documents, tmp_path):
    """Whatever number a file states for it, it is infinitely far from what it is."""
    wide = changed(documents["listed, pure, laplace"], ("mechanism", "law", "scales", "floats", 0), (1e200).hex())
    with pytest.raises(dx.errors.PlanError) as refused:
        dx.load_plan(write(tmp_path / "wide.json", with_own_seals(wide)))
    (mistake,) = refused.value.diagnostics
    assert (mistake.code, mistake.path) == ("DX307", "errors[0].rmse")


@pytest.mark.parametrize(("scale", "said"), [(2.0, "no record moves"), (5e-324, "no record moves")])
def test_boxes_take_no_noise_where_no_record_moves_a_part_of_them(scale, said, documents, tmp_path):
    """Errors would tell nothing of it; and where it is hardly any, no lattice is as fine."""
    name = "boxes, concentrated, once, the worst, boxes-laplace"
    (unmoved,) = np.flatnonzero(~dx.load_plan(keeping.plan_file(name)).plan.mechanism.question.protected)
    noisy = changed(documents[name], ("box_noise", "scales", "scales", "floats", int(unmoved)), scale.hex())
    with pytest.raises(dx.errors.PlanError, match=said) as refused:
        dx.load_plan(write(tmp_path / "noisy.json", with_own_seals(noisy)))
    assert refused.value.diagnostics[0].code == "DX306"


HALF = (0.5).hex()
FORGED_TOTALS = [
    ("scales", lambda one: [(float.fromhex(one[0]) * (1 - 2**-20)).hex()]),
    ("scales", lambda one: [(float.fromhex(one[0]) * 2).hex()]),
    ("scales", lambda one: ["inf"]),
    ("scales", lambda one: [(0.0).hex()]),
    ("scales", lambda one: one * 2),
    ("theta", lambda one: HALF),
    ("theta", lambda one: (float.fromhex(one) * (1 + 2**-40)).hex()),
    ("theta", lambda one: (1.0).hex()),
    ("theta", lambda one: (-0.25).hex()),
    ("window", lambda one: 3),
    ("window", lambda one: 7),
    ("scaled", lambda one: not one),
    ("scaled", lambda one: 1),
]


@pytest.mark.long
@pytest.mark.parametrize("name", IN_TOTALS)
@pytest.mark.parametrize("seals", [False, True])
def test_forged_scales_and_coefficients_of_running_totals_are_refused_or_judged(name, seals, documents, tmp_path):
    judge, found = Judge(), Counter()
    for key, change in FORGED_TOTALS:
        document = json.loads(json.dumps(documents[name]))
        said = document["box_noise"] if "box_noise" in document else document["mechanism"]["law"]
        strategy = said["measured"][0] if "measured" in said else said["strategy"]
        within = strategy if key != "scales" else (said["scales"]["scales"] if "measured" in said else said["scales"])
        place = "floats" if key == "scales" else key
        within[place] = change(within[place])
        if key == "scales":
            within["shape"] = [len(within["floats"])]
        path = write(tmp_path / "forged.json", with_own_seals(document) if seals else document)
        found[fate(path, judge, documents[name])] += 1
    refused = sum(times for what, times in found.items() if what.startswith("refused"))
    assert refused == len(FORGED_TOTALS) if not seals else refused >= 8
    assert not seals or judge.seen[f"driven, {TOEPLITZ}"] == len(FORGED_TOTALS) - refused > 0


@pytest.mark.parametrize("place", [("steps", 1), ("fingerprint",), ("name",), ("mixing",), ("without_noise",)])
def test_what_answers_take_of_running_totals_follows_from_the_queries(place, documents, tmp_path):
    other = {"steps": "1/2", "fingerprint": "0" * 64, "name": "gaussian", "mixing": [["1"]], "without_noise": [0]}
    document = changed(
        documents["intervals, concentrated, presence, toeplitz-gaussian"], ("mechanism", *place), other[place[0]]
    )
    with pytest.raises(dx.errors.PlanError):
        dx.load_plan(write(tmp_path / "other.json", document))
