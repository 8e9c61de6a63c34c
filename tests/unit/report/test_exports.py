"""Pages in the forms of others: an entry that the registry's schema takes once people filled it in, and a checklist."""

from __future__ import annotations

import math
import re

import pytest
from reference.project import POLICIES, TESTS
from ruamel.yaml import YAML

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.report.review import EXPORTS, exported_page

SHOWN = TESTS / "golden" / "exports_shown"
WORDS = str
SCHEMA = {
    "basic": {
        "name": WORDS,
        "data_curators": list,
        "description": WORDS,
        "intended_use": WORDS,
        "data_product_type": {"Summary statistics", "Machine learning model", "Dataset", "Synthetic data"},
        "data_product_region": WORDS,
        "data_product_sector": WORDS,
        "publication_date": WORDS,
    },
    "dp_variant": {
        "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
        "data_domain": WORDS,
        "unprotected_quantities": WORDS,
    },
    "privacy_loss": {
        "privacy_unit": WORDS,
        "privacy_unit_details": WORDS,
        "number_of_privacy_units": int,
        "privacy_parameters": dict,
        "privacy_parameters_details": WORDS,
    },
    "deployment_model": {
        "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
        "actors": WORDS,
        "release_type": {"One release", "Many releases"},
        "access_type": {"Interactive", "Non-interactive"},
    },
    "implementation": dict.fromkeys(
        (
            *("preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing"),
            *("justification", "utility", "additional_information"),
        ),
        WORDS,
    ),
    "administrative": {"status": {"Draft"}, "registry_authors": list, "tier": int, "evidence_sources": dict},
}
"""The keys and words of the registry's schema, opendp/deployments-registry-data in 2026, that an entry may use."""
REQUIRED = {
    "basic": {"name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"}
    | {"publication_date"},
    "administrative": {"status", "registry_authors", "tier"},
}


def policy_of(name):
    return dx.load_policy(POLICIES / name / "policy.yaml")


def entry_of(text):
    return YAML(typ="safe", pure=True).load(text)


def breaches(entry):
    """What the schema forbids in an entry."""
    found = [key for key in entry if key not in ("url_slug", "deployment")]
    for section, filled in entry["deployment"].items():
        found += [f"{section}: {key}" for key in REQUIRED.get(section, set()) - filled.keys()]
        for key, value in filled.items():
            kind = SCHEMA[section].get(key)
            fits = value in kind if isinstance(kind, set) else kind is not None and isinstance(value, kind)
            if not fits or (kind is WORDS and "\n" in value.strip()):
                found.append(f"{section}.{key}: {value!r}")
    return found


def planned(name, records=None):
    policy = policy_of(name)
    queries = dx.load_queries(POLICIES / name / "queries.yaml", policy, records)
    return policy, dx.plan(policy.compile(), queries)


def test_an_entry_of_ordinary_privacy_is_as_recorded():
    text = exported_page("registry", policy_of("poll"))
    assert re.sub(r"dxgeom \d[\w.]*\.", "dxgeom VERSION.", text) == (SHOWN / "poll.yaml").read_text(encoding="utf-8")
    assert breaches(entry_of(text)) == []
    assert entry_of(text)["deployment"]["dp_variant"]["variant_name"] == "Pure DP"


def test_a_checklist_is_as_recorded():
    assert exported_page("checklist", policy_of("hotline")) == (SHOWN / "hotline.md").read_text(encoding="utf-8")


def test_another_form_is_refused_with_those_there_are():
    with pytest.raises(UnsupportedCombination, match="registry or checklist"):
        exported_page("poster", policy_of("poll"))


@pytest.mark.parametrize("name", ["clinic", "shelter", "hotline", "payroll"])
def test_the_number_is_no_less_than_any_distance(name):
    """Brute force over all pairs of records of a small policy: an epsilon, or a rho, of the whole budget."""
    policy = policy_of(name)
    metric, size = policy.metric, policy.universe.size
    farthest = max(float(metric.distance(i, j)) for i in range(size) for j in range(size))
    told = farthest * float(policy.budget)
    least = told if policy.privacy == "pure" else told**2 / 2
    loss = entry_of(exported_page("registry", policy))["deployment"]["privacy_loss"]
    if math.isinf(farthest):
        assert "privacy_parameters" not in loss
    else:
        (number,) = loss["privacy_parameters"].values()
        assert least <= number <= least * 1.001 + 0.000002


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(path.name for path in POLICIES.iterdir() if path.is_dir()))
@pytest.mark.parametrize("form", EXPORTS)
def test_every_example_can_be_exported(name, form):
    text = exported_page(form, policy_of(name))
    assert breaches(entry_of(text)) == [] if form == "registry" else text.count("☒") >= 3


@pytest.mark.long
def test_plan_and_ledger_are_in_both(tmp_path):
    policy, plan = planned("hospital-stays", 304)
    ledger = tmp_path / "stays.db"
    for _ in range(2):
        plan.release(POLICIES / "hospital-stays" / "stays.csv", ledger=ledger, spend="0.25")
    entry = entry_of(exported_page("registry", policy, plan, spend="0.25", ledger=ledger))
    assert breaches(entry) == []
    found = entry["deployment"]
    assert found["deployment_model"]["release_type"] == "Many releases"
    assert "So far 0.5 is spent" in found["implementation"]["composition"]
    assert "3 answers by laplace noise" in found["implementation"]["utility"]
    assert found["privacy_loss"]["number_of_privacy_units"] == 304
    listed = exported_page("checklist", policy, plan, spend="0.25", ledger=ledger)
    assert "☒ **Accuracy.** 3 answers" in listed and "☒ **Composition.**" in listed
