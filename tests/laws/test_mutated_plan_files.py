"""Plan files of every kind changed by chance, with seals that fit again: each is refused, or is private and says so.

``DXGEOM_MUTATIONS``: how many; make soak asks for ten thousand. What loads is judged by ``reference.judged_plans``: it
believes no proof, noise is driven by unit vectors, and the policy is read from the file by a reader of its own.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter

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
from reference.random_workloads import Chance
from reference.stated_policy import stated_distances

import dxgeom as dx
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.plan_files.text.json_text import document_text
from dxgeom.plan_files.wrong import PLAN_CODES

COUNT = int(os.environ.get("DXGEOM_MUTATIONS", "200"))
PARTS = 12
SLOW = 20
"""Seconds of this process: no file of a few thousand bytes takes as long to read."""


@pytest.fixture(scope="module")
def documents():
    return {name: json.loads(keeping.plan_file(name).read_text("ascii")) for name in keeping.names()}


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
}


@pytest.mark.parametrize("name", NARROWER)
def test_the_judge_sees_noise_that_is_a_thousandth_narrower(name, documents):
    """Past the constructors, which refuse it."""
    mechanism = dx.load_plan(keeping.plan_file(name)).plan.mechanism
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
