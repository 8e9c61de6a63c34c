"""The JSON Schema that editors use agrees with the language."""

from __future__ import annotations

import json
import re
from datetime import date

import pytest
from reference.json_schema import is_valid
from reference.project import POLICIES, TESTS
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dxgeom.policy.kinds.attribute_kinds import ATTRIBUTE_KINDS, WORDS
from dxgeom.policy.kinds.places import NearestSyntax
from dxgeom.policy.policy import parse_policy
from dxgeom.policy.syntax import models as syntax_models
from dxgeom.policy.syntax.schema import DESCRIPTIONS, policy_schema
from dxgeom.queries.schema import queries_schema
from dxgeom.queries.syntax import KINDS

WRONG = sorted((TESTS / "golden" / "policies" / "wrong").glob("*.yaml"))
STRUCTURAL = {"DX105", "DX108"}
"""A key that is not there, or the wrong kind of thing; what is missing depends on the other keys."""


def as_an_editor_reads_it(text, version=(1, 2)):
    reader = YAML(typ="safe", pure=True)
    reader.version = version
    return reader.load(text)


def codes_of(path):
    """Of the messages that are written beside a wrong policy; that it gets them is tested with them."""
    return set(re.findall(r"^[^ ].*?: (DX\d+): ", path.with_suffix(".txt").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("version", [(1, 1), (1, 2)])
@pytest.mark.parametrize("path", sorted(POLICIES.glob("*/*.yaml")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_example_is_valid_whichever_yaml_the_editor_speaks(path, version):
    schema = policy_schema() if path.stem == "policy" else queries_schema()
    read = as_an_editor_reads_it(path.read_text(encoding="utf-8"), version)
    assert is_valid(json.loads(json.dumps(read, default=date.isoformat)), schema)  # JSON has no dates, only their text


@pytest.mark.parametrize(
    "text",
    [
        "policy: 7\nuniverse: {attributes: {a: [1, 2.5, true, No]}}\nrules: [{change: a, epsilon: '0.5'}]\nbudget: 1",
        "policy: p\nuniverse: {attributes: {a: {range: [-5, '10'], step: .5}}}\n"
        "rules: [{change: [a], epsilon: 1, within: 2 steps, beyond: linear}, {change: a, epsilon: 1, per: 5}]",
        "policy: p\nabout: x\nuniverse: {attributes: {a: {bins: [0, 1, 2]}}}\n"
        "rules: [{change: a, values: {'[0, 1)': 1}}]\nunconnected: allow",
        "policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{presence: true, epsilon: 1}]",
        "policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{change: a, epsilon: 1}]\n"
        "dataset: {name: 7, edition: 2026, people: disjoint, budget: 0.5}",
        "policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{presence: 'true', epsilon: 1}]",
        "policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{change: a, individuals: {x: 1}, otherwise: '2'}]",
    ],
)
def test_what_loads_is_valid(text):
    assert parse_policy(text).name
    assert is_valid(as_an_editor_reads_it(text), policy_schema())


@pytest.mark.parametrize("more", ["", ", attributes: {}", ", attributes: {y: {range: [0, 9], step: 1}}"])
def test_a_table_of_records_that_loads_is_valid(tmp_path, more):
    (tmp_path / "records.csv").write_text("x,y\na,1\nb,2\n")
    text = f"policy: p\nuniverse: {{table: records.csv{more}}}\nrules: [{{between: everything, epsilon: 1}}]"
    assert parse_policy(text, folder=tmp_path).universe.record_types == 2
    assert is_valid(as_an_editor_reads_it(text), policy_schema())


@pytest.mark.parametrize("path", [path for path in WRONG if codes_of(path) & STRUCTURAL], ids=lambda path: path.stem)
def test_a_wrong_policy_of_the_wrong_structure_is_underlined(path):
    assert not is_valid(as_an_editor_reads_it(path.read_text(encoding="utf-8")), policy_schema())


@pytest.mark.long
def test_the_schema_rejects_most_wrong_policies_on_its_own():
    """Of those that are YAML at all; names, units, files and sizes are for ``check``."""
    found = {}
    for path in WRONG:
        try:
            found[path.stem] = is_valid(as_an_editor_reads_it(path.read_text(encoding="utf-8")), policy_schema())
        except (YAMLError, ValueError):
            # Not YAML, or a date that no calendar has: an editor's reader refuses it before any schema.
            continue
    for name in ("missing_everything", "no_bound", "epsilon_negative", "epsilon_zero", "bins_too_few", "wrong_kinds"):
        assert found[name] is False, name


@pytest.mark.parametrize(
    "text",
    [
        "queries: []",
        "queries: [{count: a == 'x', sum: b}]",
        "queries: [{mean: b, at: [1]}]",
        "queries: [{cuont: a == 'x'}]",
        "querys: [{count: a == 'x'}]",
        "records: -1\nqueries: [{mean: b}]",
    ],
)
def test_queries_of_the_wrong_structure_are_underlined(text):
    assert not is_valid(as_an_editor_reads_it(text), queries_schema())


def test_every_key_of_every_model_has_a_sentence_that_editors_show():
    models = {name: model for name, model in vars(syntax_models).items() if re.fullmatch(r"[A-Z]\w+Syntax", name)}
    with_fields = {name: model.model_fields for name, model in models.items() if hasattr(model, "model_fields")}
    assert {name: {"", *fields} for name, fields in with_fields.items()} == {
        name: set(words) for name, words in DESCRIPTIONS.items()
    }
    schema = policy_schema()
    kinds = {kind.syntax.__name__: kind.syntax.model_fields for kind in ATTRIBUTE_KINDS if kind is not WORDS}
    kinds["NearestSyntax"] = NearestSyntax.model_fields
    assert all(field.description for fields in kinds.values() for field in fields.values())
    assert set(schema["$defs"]) | {"PolicySyntax"} == set(DESCRIPTIONS) | set(kinds)
    for part in (schema, *schema["$defs"].values()):
        assert part["title"] and part["description"]
        assert all(form["description"] for form in part["properties"].values())
    assert [one["title"] for one in queries_schema()["properties"]["queries"]["items"]["anyOf"]] == list(KINDS)
