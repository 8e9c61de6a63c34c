"""The page of --what-if: what it reckons with gives the compiled distances, and its modules say what Python says."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess

import numpy as np
import pytest
from reference.project import POLICIES, ROOT

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.studio.nearness import distances_from
from dxgeom.studio.what_if import WhatIf, what_if_page
from dxgeom.wording.numbers import band_of, guesses, odds, plus_minus

QUICK = ("clinic", "districts", "vaccinations")
SCRIPTS = ROOT / "dxgeom" / "studio"


def policy_of(name):
    return dx.load_policy(POLICIES / name / "policy.yaml")


def compiled(policy, name):
    size = next(one.size for one in policy.universe.attributes if one.name == name)
    return np.stack([distances_from(policy, name, k, size) for k in range(size)])


@pytest.mark.parametrize("name", QUICK)
def test_any_numbers_give_the_compiled_distances(name):
    draw = random.Random(7)
    found = WhatIf(policy_of(name))
    assert found.names
    moved = {k: draw.choice(lever.stops) for k, lever in found.levers.items()}
    other = found._with(moved)
    values = {k: float(value) for k, value in moved.items()}
    for one in found.names:
        np.testing.assert_allclose(found.distances(one, values), compiled(other, one), rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["adult", "admissions", "births", "hospital-stays", "library-loans", "shelter", "tenants"]
)
@pytest.mark.long
def test_any_numbers_of_large_examples_give_the_compiled_distances(name):
    test_any_numbers_give_the_compiled_distances(name)


def test_numbers_of_some_values_are_no_sliders():
    model = WhatIf(parsed("{change: a, values: {x: 0.2, y: 0.3}, otherwise: 1}, {change: a, epsilon: 2}")).model()
    notes = {rule["words"]: rule["note"] for rule in model["rules"] if rule["number"] is None}
    assert len(notes) == 1 and all("studio" in note for note in notes.values())


def parsed(rules, attributes="a: [x, y, z]", more=""):
    return dx.parse_policy(f"policy: p\nuniverse: {{attributes: {{{attributes}}}}}\nrules: [{rules}]\n{more}")


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        (lambda: parsed("{change: a, epsilon: 1}", more="privacy: concentrated\n"), "has none"),
        (lambda: parsed("{change: a, epsilon: 1}", "a: {range: [0, 500], step: 1}"), "too many values"),
        (lambda: parsed("{change: a, epsilon: 1}", more="budget: 1.00000000001\n"), "no plain number"),
        (lambda: policy_of("hotline"), "Try it out"),
        (lambda: policy_of("payroll"), "Try it out"),
    ],
)
def test_what_the_page_cannot_reckon_with_is_refused(policy, word):
    with pytest.raises(UnsupportedCombination, match=word):
        what_if_page(policy())


def test_a_way_through_another_attribute_keeps_an_attribute_off_the_page(monkeypatch):
    policy = parsed("{change: a, epsilon: 1}, {change: b, epsilon: 2}", "a: [x, y], b: [u, v]")
    assert WhatIf(policy).names == ("a", "b")
    wrong = distances_from
    monkeypatch.setattr(
        "dxgeom.studio.what_if.distances_from", lambda *given: wrong(*given) * (0.5 if given[1] == "a" else 1)
    )
    found = WhatIf(policy).model()
    assert [one["name"] for one in found["attributes"]] == ["b"] and "a is hidden by rules" in found["left"][0]


def test_the_page_refers_to_nothing_and_names_are_no_markup():
    name = "</script><img src=x>"
    page = what_if_page(parsed("{change: a, epsilon: 1}", f"a: [x, '{name}']"))
    assert name not in page and "\\u003c/script>" in page
    assert not re.findall(r"https?://(?!www\.w3\.org)", page) and "import " not in page.split('type="module">')[1]
    assert "'unsafe-inline'" not in page.split("script-src")[1].split(";")[0]


NODE = """
import { distances, odds, guesses, band, error, up } from './reckoning.mjs';
import { readFileSync } from 'node:fs';
const asked = JSON.parse(readFileSync(0, 'utf-8'));
const of = text => text === 'inf' ? Infinity : Number(text);
console.log(JSON.stringify({
  said: asked.distances.map(of).map(one => [odds(one), guesses(one), band(one).words, band(one).look]),
  up: asked.up.map(([value, count]) => up(Number(value), count)),
  found: asked.models.map(({ attribute, numbers }) => distances(attribute, numbers).map(row => [...row].map(String))),
  errors: asked.errors.map(([rows, at, away, budget]) => error(rows.map(row => row.map(of)), at, of(away), budget)),
}));
"""


def reckoned(folder, **asked):
    """What the page's own module answers, run without a browser."""
    shutil.copy(SCRIPTS / "reckoning.js", folder / "reckoning.mjs")
    (folder / "ask.mjs").write_text(NODE)
    given = {"distances": [], "up": [], "models": [], "errors": []} | asked
    node = shutil.which("node") or "node"
    run = [node, folder / "ask.mjs"]
    return json.loads(subprocess.run(run, input=json.dumps(given), text=True, check=True, capture_output=True).stdout)


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's module without a browser")


@needs_node
@pytest.mark.long
def test_the_page_says_of_distances_what_python_says(tmp_path):
    draw = random.Random(3)
    some = [0.0, math.inf, 0.1, 1.0, 3.0, 4.5, 7.0, 13.8155, 13.82, 30.0, math.log(20), 1e-9]
    some += [draw.uniform(0, 15) for _ in range(500)] + [math.log(k) for k in (1.23, 2.72, 20.1, 1000)]
    found = reckoned(tmp_path, distances=[repr(one) for one in some])["said"]
    for one, said in zip(some, found, strict=True):
        assert said == [odds(one), guesses(one), band_of(one).words, band_of(one).look], one


@needs_node
@pytest.mark.long
def test_errors_are_written_as_python_writes_them(tmp_path):
    draw = random.Random(5)
    some = [6.04, 12.2, 9.999, 99.01, 99.0, 0.00123, 123456.0, 100.0, 0.5]
    some += [10 ** draw.uniform(-4, 7) for _ in range(300)]
    found = reckoned(tmp_path, up=[[repr(one), 2] for one in some])["up"]
    assert [f"± {one}" for one in found] == [plus_minus(one) for one in some]


@needs_node
@pytest.mark.long
@pytest.mark.parametrize("name", ["clinic", "districts", "hospital-stays"])
def test_the_page_reckons_the_compiled_distances(name, tmp_path):
    draw = random.Random(11)
    what = WhatIf(policy_of(name))
    moved = {k: draw.choice(lever.stops) for k, lever in what.levers.items()}
    numbers = [float(moved.get(k, 1)) for k in range(len(what.policy.rules))]
    model = what.model()
    found = reckoned(tmp_path, models=[{"attribute": one, "numbers": numbers} for one in model["attributes"]])["found"]
    for one, rows in zip(what.names, found, strict=True):
        rows = [[math.inf if cell == "Infinity" else float(cell) for cell in row] for row in rows]
        np.testing.assert_allclose(rows, compiled(what._with(moved), one), rtol=1e-9)


@needs_node
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "attribute"), [("clinic", "native"), ("districts", "means"), ("hospital-stays", "diagnosis")]
)
def test_an_error_is_that_of_the_plan_of_one_count(name, attribute, tmp_path):
    policy = policy_of(name)
    rows, place = compiled(policy, attribute), 1
    label = next(one.labels[place] for one in policy.universe.attributes if one.name == attribute)
    asked = dx.parse_queries(f"queries: [{{name: n, count: \"`{attribute}` == '{label}'\"}}]", policy, 1000)
    planned = float(dx.plan(policy.compile(), asked).half_widths(0.95, policy.budget)[0])
    away = min((float(one.presence) for one in policy.rules if one.presence is not None), default=math.inf)
    cells = [["inf" if math.isinf(cell) else cell for cell in row] for row in rows.tolist()]
    given = [cells, place, "inf" if math.isinf(away) else away, float(policy.budget)]
    (said,) = reckoned(tmp_path, errors=[given])["errors"]
    shown = float(said.removeprefix("± ").replace(",", ""))
    assert planned <= shown <= 1.12 * planned  # a step of two digits is a tenth at most
