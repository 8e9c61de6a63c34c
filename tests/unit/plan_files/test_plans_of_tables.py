"""Plans of whole tables of counts as files: kept as they were, refused when forged, and nothing is believed."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from reference.forger import with_own_seals
from reference.json_schema import is_valid
from reference.plan_documents import changed, read, without, write

import dxgeom as dx
from dxgeom.errors import PlanError
from dxgeom.plan_files.codec import plan_schema
from dxgeom.plan_files.diff import differences
from dxgeom.plan_files.text.json_text import digest_of

SIZES = (2, 3, 5, 4) * 10
QUERIES = """queries:
  - marginal: [a0, a3]
    error: 3
  - marginals: {ways: 2, of: [a1, a2, a5]}
  - count: true
"""


def policy(privacy="concentrated"):
    attributes = {f"a{i}": {"values": [f"v{j}" for j in range(size)]} for i, size in enumerate(SIZES)}
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    return dx.Policy.from_dict(
        {"policy": "wide", "privacy": privacy, "universe": {"attributes": attributes}, "rules": rules}
    )


@pytest.fixture(params=["pure", "concentrated"])
def original(request, tmp_path):
    own = policy(request.param)
    plan = dx.plan(own.compile(), dx.parse_queries(QUERIES, own))
    dx.save_plan(plan, tmp_path / "original.json", policy=own, spend="1/2")
    return own, plan, tmp_path / "original.json"


def rows():
    generator = np.random.default_rng(0)
    return pd.DataFrame({f"a{i}": [f"v{j}" for j in generator.integers(0, n, 200)] for i, n in enumerate(SIZES)})


def test_a_plan_of_tables_is_kept(original):
    _, plan, path = original
    loaded = dx.load_plan(path)
    assert (loaded.fingerprint, loaded.plan.fingerprint) == (plan.fingerprint, plan.fingerprint)
    assert loaded.to_json() == path.read_text("ascii")
    assert is_valid(read(path), plan_schema())
    assert np.array_equal(loaded.rmse(), plan.rmse("1/2"))
    assert loaded.plan.queries.attribute_sets == plan.queries.attribute_sets
    assert 0 < loaded.lower_bound <= plan.lower_bound
    data = rows()
    drawn = [one.release(data, ledger=":memory:", spend="1/2", insecure_test_seed=7) for one in (plan, loaded)]
    assert drawn[0].answer.as_dicts() == drawn[1].answer.as_dicts()
    assert differences(loaded, loaded).lines() == ["the two plans are the same"]


def test_tables_asked_for_in_python_are_written_in_words(tmp_path):
    own = policy()
    importance = [2, *[1] * 779, 3]
    groups = [*map(list, itertools.combinations(own.universe.names, 2)), []]
    queries = dx.universe.MarginalQueries.of(own.universe, groups, importance=importance, records=200)
    plan = dx.plan(own.compile(), queries, mechanism="marginal-laplace")
    kept = dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    assert kept.fingerprint == plan.fingerprint
    assert kept.plan.queries.records == 200


def refused(document, tmp_path):
    path = tmp_path / "forged.json"
    write(path, {**document, "digest": digest_of(document)})
    with pytest.raises(PlanError) as caught:
        dx.load_plan(path)
    (first,) = caught.value.diagnostics
    return first.code, first.path


def test_noise_that_is_too_small_or_missing_somewhere_is_refused(original, tmp_path):
    _, _, path = original
    document = read(path)
    scales = document["table_noise"]["scales"]["scales"]["floats"]
    where = ("table_noise", "scales", "scales", "floats")
    noisy = [place for place, text in enumerate(scales) if float.fromhex(text) > 0]
    smaller = [(float.fromhex(text) * (1 - 1e-6)).hex() for text in scales]
    assert refused(changed(document, where, smaller), tmp_path) == ("DX306", "table_noise")
    silent = [text if place == noisy[0] else "0x0.0p+0" for place, text in enumerate(scales)]
    assert refused(changed(document, where, silent), tmp_path) == ("DX306", "table_noise")
    for text in ("-0x1.0000000000000p+3", "inf", "0x1.0000000000000p+900"):
        code, _ = refused(changed(document, (*where, noisy[0]), text), tmp_path)
        assert code in ("DX302", "DX306")
    wider = [(float.fromhex(text) * 2).hex() if float.fromhex(text) else text for text in scales]
    assert refused(changed(document, where, wider), tmp_path) == ("DX307", "fingerprint")


FORGED = [
    (("table_noise", "name"), "laplace", "DX302", "table_noise"),
    (("queries", "written", "queries", 0, "error"), "4", "DX304", "queries.fingerprint"),
    (("queries", "written", "queries", 0), {"count": "a0 == 'v1'"}, "DX304", "queries.written"),
    (("queries", "written"), None, "DX302", "queries"),
    (("policy", "written", "rules", 0, "epsilon"), "9", "DX303", "policy.fingerprint"),
    (("spend",), "2", "DX308", "spend"),
    (("errors", 0), "0.1", "DX307", "errors[0]"),
    (("errors",), [], "DX307", "errors"),
    (("fingerprint",), "0" * 64, "DX307", "fingerprint"),
    (("mechanism",), {}, "DX302", "mechanism"),
]


@pytest.mark.parametrize(("place", "value", "code", "where"), FORGED)
def test_a_forged_plan_of_tables_is_refused(original, place, value, code, where, tmp_path):
    document = read(original[2])
    found, at = refused(changed(document, place, value), tmp_path)
    assert (found, at.startswith(where)) == (code, True)


@pytest.mark.parametrize("others", list(itertools.product((0.0, 64.0), repeat=3)))
def test_differences_of_a_table_without_attributes_of_two_values_are_no_noise(others, tmp_path):
    """Such a file, with seals that fit, had every count released as it is."""
    values = {"a": list("uvw"), "b": list("xyzt")}
    rules = [{"change": name, "epsilon": 1} for name in values]
    own = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": values}, "rules": rules})
    queries = dx.universe.MarginalQueries.of(own.universe, [("a",)])
    dx.save_plan(dx.plan(own.compile(), queries, mechanism="marginal-laplace"), tmp_path / "honest.json", policy=own)
    document = read(tmp_path / "honest.json")
    where = ("table_noise", "scales", "scales", "floats")
    nobody, table, of_nobody = others
    forged = [one.hex() for one in (nobody, table, of_nobody, 64.0)]
    sealed = with_own_seals(changed(document, where, forged))
    if table:
        assert np.all(dx.load_plan(write(tmp_path / "noisy.json", sealed)).plan.rmse() > 1)
    else:
        assert refused(sealed, tmp_path) == ("DX306", "table_noise")


def test_gaussian_noise_is_refused_under_a_pure_policy(tmp_path):
    own = policy()
    dx.save_plan(dx.plan(own.compile(), dx.parse_queries(QUERIES, own)), tmp_path / "one.json", policy=own)
    pure = policy("pure")
    document = changed(read(tmp_path / "one.json"), ("policy", "written", "privacy"), "pure")
    document = changed(document, ("policy", "fingerprint"), pure.fingerprint)
    assert refused(document, tmp_path) == ("DX306", "table_noise")


def test_no_field_may_be_missing_and_an_edited_file_is_refused(original, tmp_path):
    document = read(original[2])
    for name in [*document]:
        code, _ = refused(without(document, (name,)), tmp_path) if name != "digest" else ("DX302", "")
        assert code in ("DX301", "DX302")
    path = tmp_path / "edited.json"
    path.write_text(json.dumps({**document, "spend": "1/4"}), encoding="ascii")
    with pytest.raises(PlanError, match="DX307"):
        dx.load_plan(path)


def test_another_objective_is_another_file_of_the_same_law_and_its_figures_are_computed_anew(original, tmp_path):
    _, plan, path = original
    kept = dx.load_plan(path)
    other = dx.load_plan(write(tmp_path / "other.json", {**read(path), "objective": "mse"}))
    assert (other.fingerprint, kept.objective, other.objective) == (plan.fingerprint, "max", "mse")
    assert other.digest != kept.digest
    assert other.loss > kept.loss > 0
    assert (kept.as_dict()["objective"], other.as_dict()["losses"]) == ("max", {plan.mechanism.name: other.loss})
    assert any("objective" in line for line in differences(kept, other).lines())


LINE = """queries:
  - marginals: {ways: 2, of: [a0, age, place]}
"""


def unlike():
    """A line and a graph beside words."""
    return dx.Policy.from_dict(
        {
            "policy": "unlike",
            "privacy": "concentrated",
            "universe": {
                "attributes": {
                    "a0": {"values": ["v0", "v1"]},
                    "age": {"range": [0, 4], "step": 1},
                    "place": {"graph": [["p", "q", 0.1], ["q", "r", 2], ["r", "s", 1]]},
                }
            },
            "rules": [
                {"change": "a0", "epsilon": 1},
                {"change": "age", "epsilon": "0.2", "per": 1},
                {"change": "place", "epsilon": 1, "per": "1"},
            ],
        }
    )


@pytest.fixture
def along_bases(tmp_path):
    own = unlike()
    plan = dx.plan(own.compile(), dx.universe.MarginalQueries.of(own.universe, ways=2))
    assert plan.mechanism.name == "kronecker-gaussian"
    dx.save_plan(plan, tmp_path / "original.json", policy=own, spend="1/2")
    return plan, tmp_path / "original.json"


def test_a_plan_along_bases_is_kept(along_bases):
    plan, path = along_bases
    loaded = dx.load_plan(path)
    assert plan.noise == loaded.plan.noise == "gaussian"
    assert plan.predicted_mse == pytest.approx(plan.loss, rel=1e-3)
    assert (loaded.fingerprint, loaded.to_json()) == (plan.fingerprint, path.read_text("ascii"))
    assert is_valid(read(path), plan_schema())
    assert np.array_equal(loaded.rmse(), plan.rmse("1/2"))
    rng = np.random.default_rng(0)
    data = {"a0": rng.choice(["v0", "v1"], 50), "age": rng.integers(0, 5, 50), "place": rng.choice(list("pqrs"), 50)}
    drawn = [
        one.release(pd.DataFrame(data), ledger=":memory:", spend="1/2", insecure_test_seed=7) for one in (plan, loaded)
    ]
    assert drawn[0].answer.as_dicts() == drawn[1].answer.as_dicts()


def test_forged_bases_are_refused(along_bases, tmp_path):
    document = read(along_bases[1])
    noise = ("table_noise",)
    for field in ("scales", "bases"):
        own = document["table_noise"]["scales"]["scales"] if field == "scales" else document["table_noise"]["bases"][1]
        smaller = {**own, "floats": [(float.fromhex(text) * 0.999).hex() for text in own["floats"]]}
        where = (*noise, "scales", "scales") if field == "scales" else (*noise, "bases", 1)
        assert refused(changed(document, where, smaller), tmp_path) == ("DX306", "table_noise")
    for bases, code in (
        (None, "DX302"),
        ([], "DX306"),
        ([None, None, None], "DX306"),
        ([*document["table_noise"]["bases"][:2], {"shape": [1], "floats": ["inf"]}], "DX302"),
        ([*document["table_noise"]["bases"][:2], document["table_noise"]["bases"][1]], "DX306"),
    ):
        assert refused(changed(document, (*noise, "bases"), bases), tmp_path)[0] == code
    other = changed(document, (*noise, "name"), "marginal-gaussian")
    assert refused(other, tmp_path) == ("DX302", "table_noise.bases")


def test_linear_queries_along_bases_are_kept_and_forged_ones_refused(tmp_path):
    own = unlike()
    queries = dx.LinearQueries.marginals(own.universe, ways=2)
    plan = dx.plan(own.compile(), queries, mechanism="kronecker-gaussian")
    loaded = dx.save_plan(plan, tmp_path / "linear.json", policy=own)
    assert loaded.fingerprint == plan.fingerprint
    document = read(tmp_path / "linear.json")
    assert is_valid(document, plan_schema())
    law = document["mechanism"]["law"]
    smaller = [(float.fromhex(text) * 0.999).hex() for text in law["scales"]["floats"]]
    where = ("mechanism", "law")
    assert refused(changed(document, (*where, "scales", "floats"), smaller), tmp_path) == ("DX306", "mechanism.law")
    assert refused(changed(document, (*where, "bases"), [None] * 3), tmp_path) == ("DX306", "mechanism.law")
    assert refused(changed(document, (*where, "kind"), "ScalesInTables"), tmp_path) == ("DX305", "mechanism.law")
    assert refused(without(document, (*where, "bases")), tmp_path) == ("DX302", "mechanism.law")
