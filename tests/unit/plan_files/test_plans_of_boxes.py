"""Plans of boxes as files: kept as they were, refused when forged, and nothing is believed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from reference.json_schema import is_valid
from reference.plan_documents import changed, read, without, write

import dxgeom as dx
from dxgeom.errors import PlanError
from dxgeom.plan_files.codec import plan_schema
from dxgeom.plan_files.diff import differences
from dxgeom.plan_files.text.json_text import digest_of

QUERIES = """queries:
  - prefixes: age
  - {ranges: age, at: [4, 8], where: a3 == 'v1'}
  - {count: age < 6 and a1 == 'v0', error: 4}
  - count: true
"""


def policy(privacy="concentrated", more=()):
    attributes = {f"a{i}": {"values": [f"v{j}" for j in range(2 + i % 3)]} for i in range(40)}
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    return dx.Policy.from_dict(
        {
            "policy": "wide",
            "privacy": privacy,
            "universe": {"attributes": {**attributes, "age": {"range": [0, 9], "step": 1}}},
            "rules": [*rules, {"change": "age", "epsilon": "0.5", "per": 2}, *more],
        }
    )


@pytest.fixture(params=["pure", "concentrated"], scope="module")
def original(request, tmp_path_factory):
    own = policy(request.param)
    plan = dx.plan(own.compile(), dx.parse_queries(QUERIES, own))
    path = tmp_path_factory.mktemp("plans") / "original.json"
    dx.save_plan(plan, path, policy=own, spend="1/2")
    return own, plan, path


def rows(own):
    generator = np.random.default_rng(0)
    sizes = dict(zip(own.universe.names, own.universe.shape, strict=True))
    data = {name: [f"v{j}" for j in generator.integers(0, n, 200)] for name, n in sizes.items() if name != "age"}
    return pd.DataFrame({**data, "age": generator.integers(0, 10, 200)})


def test_a_plan_of_boxes_is_kept(original):
    own, plan, path = original
    loaded = dx.load_plan(path)
    assert loaded.fingerprint == plan.fingerprint
    assert loaded.to_json() == path.read_text("ascii")
    assert is_valid(read(path), plan_schema())
    assert np.array_equal(loaded.rmse(), plan.rmse("1/2"))
    assert loaded.plan.lower_bound <= loaded.plan.loss == plan.loss
    drawn = [one.release(rows(own), ledger=":memory:", spend="1/2", insecure_test_seed=7) for one in (plan, loaded)]
    assert drawn[0].answer.values.tolist() == drawn[1].answer.values.tolist()
    assert differences(loaded, loaded).lines() == ["the two plans are the same"]


def test_boxes_asked_for_in_python_are_kept_and_compared(tmp_path):
    own = policy()
    asked = [{"age": (0, 5)}, {"a0": (0, 1), "age": (3, 10)}, {}]
    queries = dx.universe.BoxQueries.of(own.universe, asked, importance=[2, 1, 1], records=200)
    kept = dx.save_plan(dx.plan(own.compile(), queries), tmp_path / "plan.json", policy=own)
    assert (kept.plan.queries.fingerprint, kept.plan.queries.records) == (queries.fingerprint, 200)
    fewer = dx.universe.BoxQueries.of(own.universe, asked[:2])
    other = dx.save_plan(dx.plan(own.compile(), fewer), tmp_path / "fewer.json", policy=own)
    said = "\n".join(differences(kept, other).lines())
    assert "'all records' is no longer asked" in said and "records was 200" in said


def refused(document, tmp_path):
    path = tmp_path / "forged.json"
    write(path, {**document, "digest": digest_of(document)})
    with pytest.raises(PlanError) as caught:
        dx.load_plan(path)
    (first,) = caught.value.diagnostics
    return first.code, first.path


def test_noise_that_is_too_small_or_missing_somewhere_is_refused(original, tmp_path):
    document = read(original[2])
    scales = document["box_noise"]["scales"]["scales"]["floats"]
    where = ("box_noise", "scales", "scales", "floats")
    smaller = [(float.fromhex(text) * (1 - 1e-6)).hex() for text in scales]
    assert refused(changed(document, where, smaller), tmp_path) == ("DX306", "box_noise")
    assert refused(changed(document, where, ["0x0.0p+0"] * len(scales)), tmp_path) == ("DX306", "box_noise")
    for text in ("-0x1.0000000000000p+3", "inf", "0x1.0000000000000p+900"):
        assert refused(changed(document, (*where, 0), text), tmp_path)[0] in ("DX302", "DX306")
    shorter = changed(changed(document, where, scales[:-1]), (*where[:3], "shape"), [len(scales) - 1])
    assert refused(shorter, tmp_path) == ("DX306", "box_noise")
    wider = [(float.fromhex(text) * 2).hex() if float.fromhex(text) else text for text in scales]
    assert refused(changed(document, where, wider), tmp_path) == ("DX307", "fingerprint")


FORGED = [
    (("box_noise", "name"), "laplace", "DX302", "box_noise"),
    (("box_noise", "measured"), ["line"], "DX305", "box_noise.measured"),
    (("box_noise", "measured", 0), "line", "DX306", "box_noise"),
    (("box_noise", "measured", 0), [1], "DX305", "box_noise.measured[0]"),
    (("box_noise", "measured", 0), [], "DX305", "box_noise.measured[0]"),
    (("box_noise", "measured", 0), [2] * 70, "DX305", "box_noise.measured[0]"),
    (("box_noise", "measured", 0), [2**40], "DX305", "box_noise.measured[0]"),
    (("boxes", "lower", 3), [0], "DX304", "boxes.lower"),
    (("boxes", "lower", 3, 2), -1, "DX304", "boxes"),
    (("boxes", "upper", 3, 2), 11, "DX304", "boxes"),
    (("boxes", "upper", 3, 2), 2**70, "DX30", ""),
    (("boxes", "upper", 3, 2), 5, "DX304", "boxes.fingerprint"),
    (("boxes", "upper"), [], "DX304", "boxes.upper"),
    (("boxes", "attributes"), ["age", "a1", "a3"], "DX304", "boxes.attributes"),
    (("boxes", "attributes", 0), "nobody", "DX304", "boxes.attributes"),
    (("boxes", "errors", 0), "5", "DX304", "boxes.fingerprint"),
    (("boxes", "errors", 0), "0", "DX304", "boxes"),
    (("boxes", "importance"), ["1"], "DX304", "boxes"),
    (("policy", "written", "rules", 0, "epsilon"), "9", "DX303", "policy.fingerprint"),
    (("spend",), "2", "DX308", "spend"),
    (("errors", 0), "0.1", "DX307", "errors[0]"),
    (("errors",), [], "DX307", "errors"),
    (("fingerprint",), "0" * 64, "DX307", "fingerprint"),
    (("mechanism",), {}, "DX302", "mechanism"),
]


@pytest.mark.parametrize(("place", "value", "code", "where"), FORGED)
def test_a_forged_plan_of_boxes_is_refused(original, place, value, code, where, tmp_path):
    found, at = refused(changed(read(original[2]), place, value), tmp_path)
    assert found.startswith(code)
    assert at.startswith(where)


def test_gaussian_noise_is_refused_under_a_pure_policy(tmp_path):
    own, pure = policy(), policy("pure")
    dx.save_plan(dx.plan(own.compile(), dx.parse_queries(QUERIES, own)), tmp_path / "one.json", policy=own)
    document = changed(read(tmp_path / "one.json"), ("policy", "written", "privacy"), "pure")
    document = changed(document, ("policy", "fingerprint"), pure.fingerprint)
    assert refused(document, tmp_path) == ("DX306", "box_noise")


def test_no_field_may_be_missing_and_an_edited_file_is_refused(original, tmp_path):
    document = read(original[2])
    for name in [*document]:
        code, _ = refused(without(document, (name,)), tmp_path) if name != "digest" else ("DX302", "")
        assert code in ("DX301", "DX302")
    path = tmp_path / "edited.json"
    path.write_text(json.dumps({**document, "spend": "1/4"}), encoding="ascii")
    with pytest.raises(PlanError, match="DX307"):
        dx.load_plan(path)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_a_number_of_records_is_not_slipped_into_a_plan_that_keeps_it_private(privacy, tmp_path):
    """A release would be refused for any other number of rows, and say theirs. No fingerprint knows of it."""
    own = policy(privacy, [{"presence": True, "epsilon": 1}])
    plan = dx.plan(own.compile(), dx.parse_queries(QUERIES, own))
    dx.save_plan(plan, tmp_path / "plan.json", policy=own)
    other = changed(read(tmp_path / "plan.json"), ("boxes", "records"), 200)
    with pytest.raises(PlanError, match="keeps private") as refused:
        dx.load_plan(write(tmp_path / "other.json", other))
    assert refused.value.diagnostics[0].code == "DX306"
