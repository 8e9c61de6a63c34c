"""Whatever a plan file says that is not so is refused, in one sentence, with a code and a place; none is released."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.example_policies import policy_file, queries_file
from reference.plan_documents import changed, read, without, write
from reference.project import GUIDE
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.plan_files.answering import mechanism_data
from dxgeom.plan_files.wrong import PLAN_CODES

MECHANISMS = ("laplace", "box", "ellipsoid", "hull", "strategy", "block-hulls", "body", "changed-queries")


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """A plan of each kind for the clinic, and what its file says."""
    policy = dx.load_policy(policy_file("clinic"))
    metric, queries = policy.compile(), dx.load_queries(queries_file("clinic"), policy)
    found = {}
    for name in MECHANISMS:
        search = dx.Search(body=dx.geometry.PowerBall(np.ones(queries.count), 1.5) if name == "body" else None)
        plan = dx.plan(
            metric, queries, mechanism=name, search=search, records=50 if name == "changed-queries" else queries.records
        )
        path = tmp_path_factory.mktemp("plans") / f"{name}.json"
        dx.save_plan(plan, path, policy=policy, spend="1/4")
        found[name] = read(path)
    return found


@pytest.fixture
def refused(tmp_path):
    """The one mistake of a forged document, as (code, place); everything about how it is told is checked here."""

    def refuse(document):
        return told(write(tmp_path / "forged.json", document))

    return refuse


def told(path):
    with pytest.raises(dx.errors.PlanError) as caught:
        dx.load_plan(path)
    (mistake,) = caught.value.diagnostics
    assert mistake.file == str(path)
    assert mistake.code in PLAN_CODES
    assert mistake.path and mistake.message and mistake.advice
    assert "\n" not in mistake.message
    shown = CliRunner().invoke(app, ["release", str(path), "nowhere.csv", "--ledger", str(path.parent / "x.db")])
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert f"{mistake.path}: {mistake.code}: " in shown.stderr
    assert not (path.parent / "x.db").exists()
    return mistake.code, mistake.path


def with_own_fingerprints(document):
    """What a forger would write who knows how fingerprints are made, but not how to make the proof succeed."""
    from dxgeom.mechanisms.linear import additive
    from dxgeom.plan_files import loading, wrong
    from dxgeom.plan_files.text.json_text import digest_of

    holes = {"require_hiding": lambda mechanism: None}
    kept = {name: getattr(additive, name) for name in holes}
    try:
        for name, hole in holes.items():
            setattr(additive, name, hole)
        for _ in range(40):
            try:
                loading.loaded({**document, "digest": digest_of(document)})
            except wrong.Wrong as error:
                found = error.message.rsplit(" ", 1)[-1]
                if error.place.endswith("fingerprint"):
                    document = changed(document, tuple(error.place.split(".")), found)
                elif error.place.startswith("errors["):
                    number, name = int(error.place[7:].split("]")[0]), error.place.rsplit(".", 1)[-1]
                    value = error.message.split("this is ")[1].split(",")[0].removeprefix("np.float64(").rstrip(")")
                    document = changed(document, ("errors", number, name), value)
                else:
                    raise
            else:
                return document
    finally:
        for name, own in kept.items():
            setattr(additive, name, own)
    raise AssertionError("the forger did not find the fingerprints")


def smaller(text):
    """A float's text for a number that is a millionth smaller."""
    return (float.fromhex(text) * (1 - 1e-6)).hex()


def test_what_was_not_forged_loads(originals, tmp_path):
    for document in originals.values():
        dx.load_plan(write(tmp_path / "same.json", document))


NARROWER = {
    "laplace": ("scales", "floats", 0),
    "box": ("map", "floats", 0),
    "ellipsoid": ("map", "floats", 4),
    "hull": ("body", "inflation"),
    "strategy": ("map", "floats", 0),
    "block-hulls": ("map", "floats", 0),
    "body": ("map", "floats", 0),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_noise_that_is_a_millionth_narrower_is_refused_whatever_its_fingerprint_says(name, originals, refused):
    law = originals[name]["mechanism"]["law"]
    if law["kind"] == "LinearImageNoise":
        entries = law["map"]["floats"]
        forged = changed(originals[name], ("mechanism", "law", "map", "floats"), [smaller(one) for one in entries])
    elif law["kind"] == "LaplaceNoise":
        scales = law["scales"]["floats"]
        forged = changed(originals[name], ("mechanism", "law", "scales", "floats"), [smaller(one) for one in scales])
    else:
        forged = changed(originals[name], ("mechanism", "law", "body", "inflation"), smaller)
    assert refused(forged)[0] in ("DX306", "DX307")
    assert refused(with_own_fingerprints(forged)) == ("DX306", "mechanism.law")


def test_noise_has_the_name_of_its_law(tmp_path, refused):
    policy = dx.parse_policy(
        "policy: p\nprivacy: concentrated\nuniverse: {attributes: {sex: [F, M], ward: [A, B, C]}}\n"
        "rules: [{change: sex, epsilon: 1}, {change: ward, epsilon: 1}]\n"
    )
    queries = dx.parse_queries("queries: [{count: sex == 'F'}, {count: ward == 'A'}]", policy)
    for name, other in (("gaussian", "laplace"), ("laplace", "gaussian")):
        plan = dx.plan(policy.compile(), queries, mechanism=name)
        dx.save_plan(plan, tmp_path / f"{name}.json", policy=policy)
        forged = changed(read(tmp_path / f"{name}.json"), ("mechanism", "name"), other)
        assert refused(forged) == ("DX305", "mechanism.name")


@pytest.mark.parametrize("name", MECHANISMS)
def test_wider_noise_than_the_file_says_is_refused_by_its_fingerprint(name, originals, refused):
    law = originals[name]["mechanism"]["law"]
    key = {"LaplaceNoise": "scales", "LinearImageNoise": "map"}.get(law["kind"])
    if key:
        wider = [(2 * float.fromhex(one)).hex() for one in law[key]["floats"]]
        forged = changed(originals[name], ("mechanism", "law", key, "floats"), wider)
    else:
        forged = changed(originals[name], ("mechanism", "law", "body", "inflation"), "0x1.0000000000000p+2")
    assert refused(forged) == ("DX307", "mechanism.fingerprint")


def flipped(entries):
    place = next(place for place, entry in enumerate(entries) if entry)
    return [-entry if number == place else entry for number, entry in enumerate(entries)]


FORGED_BODIES = {
    "a vertex that is moved": (("vertices", "whole", 0), lambda entry: entry + 1),
    "a vertex on the other side": (("vertices", "whole"), flipped),
    "a facet that is missing": (
        ("simplices",),
        lambda data: {"shape": [data["shape"][0] - 1, data["shape"][1]], "whole": data["whole"][data["shape"][1] :]},
    ),
    "a facet that is there twice": (
        ("simplices",),
        lambda data: {
            "shape": [data["shape"][0] + 1, data["shape"][1]],
            "whole": data["whole"] + data["whole"][: data["shape"][1]],
        },
    ),
    "a facet of other vertices": (("simplices", "whole", 0), lambda entry: (entry + 1) % 4),
    "a facet of a vertex that is not there": (("simplices", "whole", 0), 10**6),
    "a facet of a vertex before the first": (("simplices", "whole", 0), -1),
    "a flat body": (("vertices", "whole"), lambda entries: [0] * len(entries)),
    "a vertex that float64 cannot hold": (("vertices", "whole", 0), 2**53),
    "a shape that does not fit": (("vertices", "shape", 0), lambda entry: entry + 1),
    "a shape of nothing": (("vertices",), {"shape": [0, 2], "whole": []}),
    "a shape with a negative side": (("vertices", "shape", 0), -1),
}


@pytest.mark.parametrize("case", FORGED_BODIES)
def test_a_forged_boundary_is_refused(case, originals, refused):
    place, value = FORGED_BODIES[case]
    forged = changed(originals["hull"], ("mechanism", "law", "body", "fan", *place), value)
    code, where = refused(forged)
    assert code in ("DX302", "DX305")
    assert where.startswith("mechanism.law.body.fan")


WRONG_FLOATS = [
    "NaN",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "0x1p+1",
    "0x1.8p+1",
    "0x1.0000000000000p+9999",
    "",
    " ",
    "0x1.8000000000000p+1 ",
    "1_0",
    None,
    1,
    True,
    [],
    {},
]


@pytest.mark.parametrize("value", WRONG_FLOATS, ids=repr)
@pytest.mark.parametrize("name", ["laplace", "box", "hull"])
def test_what_is_no_float_of_the_format_is_refused(name, value, originals, refused):
    place = ("mechanism", "law", *NARROWER[name])
    code, where = refused(changed(originals[name], place, value))
    # A polytope's inflation may be written as inf, and is then refused as no body's.
    assert code == ("DX305" if (name, value) == ("hull", "inf") else "DX302")
    assert where.startswith("mechanism.law")


@pytest.mark.parametrize("value", ["0x0.0p+0", "-0x0.0p+0", "-0x1.0000000000000p+3"])
@pytest.mark.parametrize(
    "place",
    [
        ("laplace", "scales", "floats", 0),
        ("hull", "body", "inflation"),
        ("hull", "body", "units", "floats", 0),
        ("box", "inner", "body", "half_widths", "floats", 0),
    ],
)
def test_lengths_that_are_not_positive_are_refused(place, value, originals, refused):
    name, *inner = place
    assert refused(changed(originals[name], ("mechanism", "law", *inner), value))[0] == "DX305"


@pytest.mark.parametrize("value", ["0x1.8000000000000p-26", "0x1.0000000000000p+900", "0x0.0000000000001p-1022"])
def test_units_that_are_no_powers_of_two_with_room_around_are_refused(value, originals, refused):
    forged = changed(originals["hull"], ("mechanism", "law", "body", "units", "floats", 0), value)
    assert refused(forged)[0] == "DX305"


def test_a_negative_zero_for_a_zero_is_another_law(originals, refused):
    entries = originals["hull"]["mechanism"]["law"]
    entries = originals["box"]["mechanism"]["law"]["map"]["floats"]
    zeros = [number for number, entry in enumerate(entries) if entry in ("0x0.0p+0", "-0x0.0p+0")]
    if not zeros:
        pytest.skip("this map has no zero")
    other = "-0x0.0p+0" if entries[zeros[0]] == "0x0.0p+0" else "0x0.0p+0"
    forged = changed(originals["box"], ("mechanism", "law", "map", "floats", zeros[0]), other)
    assert refused(forged) == ("DX307", "mechanism.fingerprint")


NINE = "0x1.0000000000000p+9"
WIDE = "0x1.0000000000000p+60"


def scales(*sizes, number=NINE):
    count = int(np.prod(sizes))
    return {"kind": "LaplaceNoise", "scales": {"shape": list(sizes), "floats": [number] * count}}


OTHER_LAWS = {
    "no noise": None,
    "another kind": {"kind": "BoxNoise", "body": {"kind": "Box", "half_widths": {"shape": [3], "floats": [NINE] * 3}}},
    "a body for a law": {"kind": "Box", "half_widths": {"shape": [1], "floats": [NINE]}},
    "an unknown kind": {**scales(1), "kind": "Gaussian"},
    "a kind that is no word": {"kind": ["LaplaceNoise"]},
    "no kind": {"scales": {"shape": [1], "floats": [NINE]}},
    "a field more": {**scales(1), "seed": 1},
    "a field less": {"kind": "LaplaceNoise"},
    "one coordinate too few": scales(1, number=WIDE),
    "many coordinates too many": scales(9, number=WIDE),
    "a matrix of scales": scales(1, 3, number=WIDE),
    "a product of nothing": {"kind": "ProductNoise", "parts": []},
    "a map of rank 0": {
        "kind": "LinearImageNoise",
        "inner": scales(3),
        "map": {"shape": [3, 3], "floats": ["0x0.0p+0"] * 9},
    },
    "a text": "LaplaceNoise",
}


@pytest.mark.parametrize("case", OTHER_LAWS)
@pytest.mark.parametrize("name", ["laplace", "hull"])
def test_another_law_is_refused(name, case, originals, refused):
    code, where = refused(changed(originals[name], ("mechanism", "law"), OTHER_LAWS[case]))
    assert code in ("DX302", "DX305", "DX306", "DX307")
    assert where.startswith("mechanism")


def test_a_law_within_laws_without_end_is_refused(originals, refused):
    law = {"kind": "LaplaceNoise", "scales": {"shape": [1], "floats": ["0x1.0000000000000p+9"]}}
    for _ in range(60):
        law = {"kind": "ProductNoise", "parts": [law]}
    assert refused(changed(originals["laplace"], ("mechanism", "law"), law))[0] == "DX302"


def test_a_rotated_map_is_refused(originals, refused):
    """The same lengths in other directions; with fingerprints of its own the proof is what fails."""
    law = originals["box"]["mechanism"]["law"]
    size = law["map"]["shape"][0]
    matrix = np.array([float.fromhex(one) for one in law["map"]["floats"]]).reshape(size, -1)
    turned, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((size, size)))
    rotated = [float(entry).hex() for entry in (turned @ matrix).ravel()]
    forged = changed(originals["box"], ("mechanism", "law", "map", "floats"), rotated)
    assert refused(with_own_fingerprints(forged)) == ("DX306", "mechanism.law")


@pytest.mark.parametrize(
    "value",
    [
        lambda text: str(Fraction(text) * 2),
        lambda text: str(Fraction(text) / 2),
        "0",
        "-1",
        "2/4",
        "1/0",
        "1e-3",
        "0.5",
        "",
        "NaN",
        1,
        None,
    ],
)
@pytest.mark.parametrize("name", ["laplace", "hull", "changed-queries"])
def test_a_forged_lattice_is_refused(name, value, originals, refused):
    code, where = refused(changed(originals[name], ("mechanism", "steps", 0), value))
    assert code in ("DX302", "DX307")
    assert where.startswith("mechanism.steps")


FORGED_MIXINGS = {
    "an answer without its noise": ("laplace", ("without_noise",), [0]),
    "an answer that is not there": ("laplace", ("without_noise",), [99]),
    "an answer twice": ("laplace", ("without_noise",), [0, 0]),
    "a place before the first": ("laplace", ("without_noise",), [-1]),
    "neither way": ("laplace", ("without_noise",), None),
    "both ways": ("laplace", ("mixing",), [["1"], ["1"], ["1"]]),
    "half of the noise": ("hull", ("mixing", 0), lambda row: [str(Fraction(share) / 2) for share in row]),
    "none of it": ("hull", ("mixing",), lambda rows: [["0"] * len(row) for row in rows]),
    "a row too few": ("hull", ("mixing",), lambda rows: rows[1:]),
    "a share too few": ("hull", ("mixing", 0), lambda row: row[1:]),
    "no rows": ("hull", ("mixing",), []),
    "rows of nothing": ("hull", ("mixing",), [[], [], []]),
}


@pytest.mark.parametrize("case", FORGED_MIXINGS)
def test_forged_shares_of_the_noise_are_refused(case, originals, refused):
    name, place, value = FORGED_MIXINGS[case]
    code, where = refused(changed(originals[name], ("mechanism", *place), value))
    assert code in ("DX302", "DX306")
    assert where.startswith("mechanism")


FORGED_CHANGES = {
    "other records": (("records",), 51),
    "fewer records": (("records",), 1),
    "no records": (("records",), 0),
    "a smaller shift": (("shifts", 0), "0"),
    "a larger shift": (("shifts", 0), "5"),
    "other weights": (("weights", "tables", 0, "weights", 0), lambda entry: entry + 1),
    "other units": (("weights", "units", 0), lambda text: str(Fraction(text) * 2)),
    "other names": (("weights", "names", 0), "another"),
    "weights that are too large": (("weights", "tables", 0, "weights", 0), 2**52),
    "one weight less": (("weights", "tables", 0, "weights"), lambda entries: entries[1:]),
    "an attribute that is not there": (("weights", "tables", 0, "axes"), [7]),
    "of a universe": (("weights", "of_universe"), True),
}


@pytest.mark.parametrize("case", FORGED_CHANGES)
def test_forged_changes_of_queries_are_refused(case, originals, refused):
    place, value = FORGED_CHANGES[case]
    code, where = refused(changed(originals["changed-queries"], ("mechanism", "change", *place), value))
    assert code in ("DX302", "DX304", "DX305", "DX306", "DX307")
    assert where.startswith("mechanism")


def test_changed_queries_that_are_forgotten_are_refused(originals, refused):
    code, _ = refused(changed(originals["changed-queries"], ("mechanism", "change"), None))
    assert code in ("DX306", "DX307")


FORGED_POLICIES = {
    "a weaker rule": (("written", "rules", 0, "epsilon"), "100", "DX303"),
    "a rule less": (("written", "rules"), lambda rules: rules[1:], "DX303"),
    "a larger budget": (("written", "budget"), "1000", "DX303"),
    "no rules": (("written", "rules"), [], "DX303"),
    "a mistake": (("written", "rules", 0, "epsilom"), "1", "DX303"),
    "a float": (("written", "rules", 0, "epsilon"), "1e400", "DX303"),
    "a number": (("written", "rules", 0, "epsilon"), 100, "DX303"),
    "a truth": (("written", "budget"), True, "DX303"),
    "a file of another folder": (("written", "universe", "attributes", "age"), {"points": "/etc/passwd"}, "DX303"),
    "a file above": (("written", "universe", "attributes", "age"), {"points": "../secret.csv"}, "DX303"),
    "a file that nothing names": (("files",), {"more.csv": "a,b\n"}, "DX303"),
    "another fingerprint": (("fingerprint",), "0" * 64, "DX303"),
    "no fingerprint": (("fingerprint",), "", "DX302"),
}


@pytest.mark.parametrize("case", FORGED_POLICIES)
def test_a_forged_policy_is_refused(case, originals, refused):
    place, value, code = FORGED_POLICIES[case]
    found, where = refused(changed(originals["laplace"], ("policy", *place), value))
    assert (found, where.split(".")[0]) == (code, "policy")


def test_a_weaker_policy_with_fingerprints_of_its_own_is_another_policy_and_its_ledger_refuses_it(originals, tmp_path):
    """Files are not signed: who writes another policy has another plan, and no ledger of the first one takes it."""
    strict = dx.load_plan(write(tmp_path / "plan.json", originals["laplace"]))
    weaker = changed(originals["laplace"], ("policy", "written", "rules", 0, "epsilon"), "2")
    loose = dx.load_plan(write(tmp_path / "loose.json", with_own_fingerprints_or_wider(weaker)))
    counts = np.zeros(strict.plan.metric.size, dtype=int)
    counts[0] = 50
    strict.release(counts, ledger=tmp_path / "privacy.db")
    with pytest.raises(dx.errors.LedgerError):
        loose.release(counts, ledger=tmp_path / "privacy.db")


def with_own_fingerprints_or_wider(document):
    policy = dx.Policy.from_dict(document["policy"]["written"])
    queries = dx.queries_from_dict(document["queries"]["written"], policy, document["queries"]["records"])
    plan = dx.plan(policy.compile(), queries, mechanism="laplace")
    part = mechanism_data(plan.mechanism)
    return with_own_fingerprints({**document, "mechanism": part})


NOTHING_ASKED = {"names": [], "units": [], "shape": [], "tables": [], "importance": None, "of_universe": False}
FORGED_QUERIES = {
    "another condition": (("written", "queries", 0), {"count": "native = No"}, "DX304"),
    "a query less": (("written", "queries"), lambda queries: queries[1:], "DX304"),
    "no queries": (("written", "queries"), [], "DX304"),
    "an importance": (("written", "queries", 0, "importance"), "1000", "DX304"),
    "no number of records": (("records",), 0, "DX302"),
    "both ways": (("weights",), NOTHING_ASKED, "DX302"),
    "neither way": (("written",), None, "DX302"),
    "a file that nothing names": (("files",), {"more.csv": "a,b\n"}, "DX304"),
    "another fingerprint": (("fingerprint",), "0" * 64, "DX304"),
}


@pytest.mark.parametrize("case", FORGED_QUERIES)
def test_forged_queries_are_refused(case, originals, refused):
    place, value, code = FORGED_QUERIES[case]
    found, where = refused(changed(originals["laplace"], ("queries", *place), value))
    assert (found, where.split(".")[0]) == (code, "queries")


def test_another_number_of_records_for_a_mean_is_refused(refused, tmp_path):
    ages = {"range": [0, 100], "step": 5}
    rule = {"change": "age", "epsilon": 1, "per": 20}
    policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": {"age": ages}}, "rules": [rule]})
    queries = dx.queries_from_dict({"queries": [{"mean": "age"}]}, policy, 50)
    dx.save_plan(dx.plan(policy.compile(), queries), tmp_path / "plan.json", policy=policy)
    document = read(tmp_path / "plan.json")
    for records in (49, 51, 5000, None):
        assert refused(changed(document, ("queries", "records"), records))[0] == "DX304"


def test_an_answer_that_claims_to_be_about_another_group_is_refused(refused, tmp_path):
    policy = dx.load_policy(policy_file("tenants"))
    asked = {"queries": [{"mean": "age", "by": "quarter"}]}
    queries = replace(dx.queries_from_dict(asked, policy), source=None)
    dx.save_plan(dx.plan(policy.compile(), queries), tmp_path / "plan.json", policy=policy)
    document = read(tmp_path / "plan.json")
    origin, ratio = ("origins", 0), ("ratios", 0, "asks")
    wrong = [(("origins",), [{"query": "all", "group": []}])]
    for about in (origin, ratio):
        wrong += [((*about, "group", 0, 1), value) for value in ("docks", "o", "old", "wn", "")]
        wrong += [((*about, "group", 0, 0), column) for column in ("income", "quart", "", "tenants.quart")]
        wrong += [((*about, "query"), query) for query in ("number of the ill", "mean", "median of age", "")]
        wrong += [((*about, "group"), group) for group in ([], [["quarter", "old town"], ["quarter", "old town"]])]
    for place, value in wrong:
        code, where = refused(changed(document, ("queries", "weights", *place), value))
        assert (code, where.startswith(f"queries.weights.{place[0]}")) == ("DX304", True), (place, value)


WRONG_SPENDS = [
    "0",
    "-1/4",
    "2",
    "1/0",
    "2/8",
    "1e400",
    "1e-3",
    "NaN",
    "inf",
    "-0",
    "0.25",
    "",
    1,
    0.25,
    True,
    [],
    "9" * 5000,
    "1/" + "9" * 3999,
]


@pytest.mark.parametrize("value", WRONG_SPENDS, ids=lambda value: repr(value)[:20])
def test_a_forged_spend_is_refused(value, originals, tmp_path):
    document = changed(originals["laplace"], ("spend",), value)
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(document), encoding="ascii")
    code, where = told(path)
    if value != 0.25:
        code, where = told(write(path, document))
        assert where == "spend"
    assert code in ("DX302", "DX308")


FORGED_CLAIMS = {
    "a smaller error": ("errors", 0, "rmse"),
    "a smaller bias": ("errors", 0, "bias"),
    "another name": ("errors", 0, "name"),
    "another fingerprint": ("fingerprint",),
    "another mechanism": ("mechanism", "fingerprint"),
}


@pytest.mark.parametrize("case", FORGED_CLAIMS)
def test_a_claim_that_is_not_so_is_refused(case, originals, refused):
    place = FORGED_CLAIMS[case]
    value = {"rmse": "0.001", "bias": "0.5", "name": "another"}.get(str(place[-1]), "0" * 64)
    code, where = refused(changed(originals["laplace"], place, value))
    assert (code, where.split("[")[0].split(".")[0]) == ("DX307", place[0])


@pytest.mark.parametrize("value", ["NaN", "inf", "-1.0", "1e400", "", "0x1p3", "1e999999999", 1, None])
def test_an_error_that_is_no_number_is_refused(value, originals, refused):
    assert refused(changed(originals["laplace"], ("errors", 0, "rmse"), value))[0] in ("DX302", "DX307")


@pytest.mark.parametrize("name", ["another", "auto", "", "hull", None, 7])
def test_another_name_of_the_mechanism_is_refused(name, originals, refused):
    assert refused(changed(originals["laplace"], ("mechanism", "name"), name))[0] in ("DX302", "DX305", "DX307")


def places(data, place=()):
    """Every field of a document, law and policy aside."""
    for key, value in data.items():
        yield (*place, key)
        if isinstance(value, dict) and key not in ("written", "files"):
            yield from places(value, (*place, key))


def test_no_field_may_be_missing_and_none_may_be_added(originals, tmp_path):
    document = originals["hull"]
    for place in places(document):
        if place == ("digest",):
            continue
        with pytest.raises(dx.errors.PlanError) as caught:
            dx.load_plan(write(tmp_path / "forged.json", without(document, place)))
        assert caught.value.diagnostics[0].code in ("DX301", "DX302", "DX305")
    inner = {place[:-1] for place in places(document) if "written" not in place[:-1] and "files" not in place[:-1]}
    for place in inner:
        with pytest.raises(dx.errors.PlanError) as caught:
            dx.load_plan(write(tmp_path / "forged.json", changed(document, (*place, "more"), 1)))
        assert caught.value.diagnostics[0].code in ("DX302", "DX305")


@pytest.mark.parametrize("value", [None, 1, True, "x", [], {}, [[]], {"a": 1}, -1, 2**52], ids=repr)
def test_no_field_may_be_of_another_kind(value, originals, tmp_path):
    document = originals["hull"]
    for place in places(document):
        forged = changed(document, place, value)
        if forged == document or place == ("digest",) or (place in DECIDED and value in (None, 1, 2**52)):
            continue
        with pytest.raises(dx.errors.PlanError):
            dx.load_plan(write(tmp_path / "forged.json", forged))
            pytest.fail(f"{place} may be {value}")


@pytest.mark.parametrize(
    "said", ["dxgeom plan 0", "dxgeom plan 2", "dxgeom plan 1.0", "dxgeom plan", "dxgeom release 1", "", 1, None]
)
def test_another_format_is_refused(said, originals, refused):
    assert refused(changed(originals["laplace"], ("format",), said)) == ("DX301", "format")


def test_a_file_that_was_edited_is_refused_by_its_digest(originals, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**originals["laplace"], "spend": "1/8"}), encoding="ascii")
    assert told(path) == ("DX307", "digest")


def test_a_file_that_was_laid_out_anew_is_the_same_file(originals, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(originals["laplace"], indent=4), encoding="ascii")
    assert dx.load_plan(path).digest == originals["laplace"]["digest"]


@pytest.mark.parametrize("share", [0, 1, 10, 50, 90, 99])
def test_a_truncated_file_is_refused(share, originals, tmp_path):
    whole = write(tmp_path / "plan.json", originals["hull"]).read_text(encoding="ascii")
    path = tmp_path / "cut.json"
    path.write_text(whole[: len(whole.rstrip()) * share // 100], encoding="ascii")
    assert told(path) == ("DX300", "top level")


NO_DOCUMENTS = {
    "a list": ("[]", "DX301"),
    "a number": ("7", "DX301"),
    "nothing": ("{}", "DX301"),
    "null": ("null", "DX301"),
    "a key twice": ('{"format": "dxgeom plan 1", "format": "dxgeom plan 1"}', "DX300"),
    "a key twice, deep": ('{"format": "dxgeom plan 1", "policy": {"written": {"a": 1, "a": 2}}}', "DX300"),
    "deep nesting": ("[" * 100_000 + "]" * 100_000, "DX300"),
    "deep mappings": ('{"a":' * 50_000 + "1" + "}" * 50_000, "DX300"),
    "a huge integer": ('{"format": ' + "9" * 100_000 + "}", "DX302"),
    "a long integer": ('{"format": 123456789012345678}', "DX302"),
    "a float": ('{"format": 1.5}', "DX302"),
    "a float out of range": ('{"format": 1e400}', "DX302"),
    "not a number": ('{"format": NaN}', "DX302"),
    "infinity": ('{"format": -Infinity}', "DX302"),
    "a negative zero": ('{"format": -0}', "DX302"),
    "half a character": ('{"format": "\\ud800"}', "DX300"),
    "two documents": ("{} {}", "DX300"),
    "a comment": ("{} // fine", "DX300"),
    "yaml": ("format: dxgeom plan 1", "DX300"),
    "a NUL": ("\0", "DX300"),
}


@pytest.mark.parametrize("case", NO_DOCUMENTS)
def test_what_is_no_document_is_refused(case, tmp_path):
    text, code = NO_DOCUMENTS[case]
    path = tmp_path / "plan.json"
    path.write_text(text, encoding="utf-8")
    assert told(path)[0] == code


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "plan.json"
    path.write_bytes(b'{"format": "\xff"}')
    assert told(path) == ("DX300", "top level")
    assert told(tmp_path / "nowhere.json") == ("DX300", "top level")
    (tmp_path / "folder.json").mkdir()
    assert told(tmp_path / "folder.json") == ("DX300", "top level")


def test_random_edits_are_refused_and_never_crash(originals, tmp_path):
    """A hundred bytes changed one at a time, wherever they are: without the right digest none is believed."""
    generator = np.random.default_rng(11)
    whole = write(tmp_path / "plan.json", originals["hull"]).read_bytes()
    for _ in range(100):
        place = int(generator.integers(len(whole) - 2))
        byte = int(generator.integers(32, 127))
        edited = whole[:place] + bytes([byte]) + whole[place + 1 :]
        if json_of(edited) == json_of(whole):
            continue
        (tmp_path / "edited.json").write_bytes(edited)
        with pytest.raises(dx.errors.PlanError):
            dx.load_plan(tmp_path / "edited.json")


def json_of(content):
    try:
        return json.loads(content)
    except ValueError:
        return None


DECIDED = (("digest",), ("spend",), ("queries", "records"), ("records",))
"""Nothing else tells what these were; another spend, or number of records that no query divides by, is another plan."""


def leaves(data, place=()):
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*place, key))
    else:
        yield place, data


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_word_and_no_number_of_a_file_can_be_changed_unnoticed(name, originals, tmp_path):
    """Every leaf is changed once, with a digest that fits; some words of a policy say nothing that counts."""
    means_nothing = {("policy", "written", "about"), ("policy", "written", "policy")}
    generator = np.random.default_rng(5)
    every = [(place, value) for place, value in leaves(originals[name]) if place[:3] not in means_nothing]
    chosen = generator.permutation(len(every))[:60]
    for place, value in (every[number] for number in chosen):
        if place in DECIDED:
            continue
        other = value + 1 if isinstance(value, int) and not isinstance(value, bool) else f"1{value}"
        with pytest.raises(dx.errors.PlanError):
            dx.load_plan(write(tmp_path / "forged.json", changed(originals[name], place, other)))
            pytest.fail(f"{place} was {value}, is {other}")


HUGE = "9" * 4000
OUT_OF_RANGE = {
    "range": (("ratios", 0, "within"), ["0", HUGE], "ratios[0]"),
    "narrow range": (("ratios", 0, "within"), ["0", f"1/{HUGE}"], "ratios[0]"),
    "rounding": (("rounding", 0, "per_record"), HUGE, "rounding[0]"),
    "error": (("errors",), [HUGE, None], "errors[0]"),
}


@pytest.fixture(scope="session")
def of_a_ratio(tmp_path_factory):
    """A plan of the mean of a group, its queries weight by weight."""
    text = "policy: p\nuniverse:\n  attributes: {sex: [F, M], age: {range: [0, 8], step: 2}}\n"
    policy = dx.parse_policy(f"{text}rules: [{{change: [sex, age], epsilon: 1}}]\n")
    queries = dx.queries_from_dict({"queries": [{"mean": "age", "where": "sex == 'F'"}]}, policy)
    path = tmp_path_factory.mktemp("plans") / "ratio.json"
    plan = dx.plan(policy.compile(), replace(queries, source=None), mechanism="laplace")
    dx.save_plan(plan, path, policy=policy, spend="1/4")
    return read(path)


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_figures_beyond_float64_are_refused_and_never_met_by_a_release(case, of_a_ratio, refused):
    place, value, told_at = OUT_OF_RANGE[case]
    assert refused(changed(of_a_ratio, ("queries", "weights", *place), value)) == (
        "DX302",
        f"queries.weights.{told_at}",
    )


@pytest.mark.parametrize("within", [["4", "4"], ["0", "5"], ["3", "8"], ["-9", "-1"]])
def test_a_ratio_that_some_records_do_not_have_is_refused(within, of_a_ratio, refused):
    """Intervals would end there. Each age stands for numbers that are off by 1 at most."""
    place = ("queries", "weights", "ratios", 0, "within")
    assert refused(changed(of_a_ratio, place, within)) == ("DX304", "queries.weights.ratios[0].within")


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 0), (0, 0), (1, 1)])
def test_a_ratio_of_other_answers_than_its_range_is_of_is_refused(numerator, denominator, of_a_ratio, refused):
    ratio = {"numerator": numerator, "denominator": denominator, "within": ["2", "3"]}
    place = ("queries", "weights", "ratios", 0)
    other = changed(of_a_ratio, place, lambda one: {**one, **ratio})
    assert refused(other) == ("DX304", "queries.weights.ratios[0].within")


def test_wanted_errors_beyond_float64_are_refused(of_a_ratio, refused):
    assert refused(changed(of_a_ratio, ("objective", "wanted"), [HUGE, HUGE])) == ("DX302", "objective.wanted[0]")


def test_every_code_is_told_in_the_guide():
    page = (GUIDE / "plans.md").read_text(encoding="utf-8")
    for code, meaning in PLAN_CODES.items():
        assert f"| {code} | {meaning} |" in page


def test_gaussian_noise_in_the_file_of_a_policy_that_promises_odds_is_refused(tmp_path, refused):
    policy = dx.load_policy(policy_file("clinic"))
    concentrated = dx.parse_policy(f"{policy.to_yaml()}privacy: concentrated\n", folder=policy_file("clinic").parent)
    plan = dx.plan(concentrated.compile(), dx.load_queries(queries_file("clinic"), concentrated), mechanism="gaussian")
    dx.save_plan(plan, tmp_path / "gaussian.json", policy=concentrated)
    honest = read(tmp_path / "gaussian.json")
    pure = changed(honest, ("policy",), {**honest["policy"], "fingerprint": policy.fingerprint})
    pure["policy"]["written"] = {key: word for key, word in pure["policy"]["written"].items() if key != "privacy"}
    assert refused(pure) == ("DX306", "mechanism.law")
    axes = honest["mechanism"]["law"]["body"]
    around = {"kind": "RejectionNoise", "body": axes, "envelope": honest["mechanism"]["law"]}
    code, place = refused(changed(honest, ("mechanism", "law"), around))
    assert (code, place.startswith("mechanism.law")) == ("DX305", True)
    narrow = json.loads(json.dumps(honest))
    floats = narrow["mechanism"]["law"]["body"]["axes"]["floats"]
    narrow["mechanism"]["law"]["body"]["axes"]["floats"] = [(float.fromhex(one) * 0.999).hex() for one in floats]
    assert refused(changed(narrow, ("spend",), None)) == ("DX306", "mechanism.law")
