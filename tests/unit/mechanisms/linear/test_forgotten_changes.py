"""Changes in factors that forget some records' changes are found out, whoever forgot them."""

from __future__ import annotations

import numpy as np
import pytest

import dxgeom as dx
import dxgeom.mechanisms.linear.sensitivity as sensitivity_module
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.changes import FactoredChanges, factored_changes

RULES = [*({"change": name, "epsilon": "1"} for name in "xyz"), {"between": "everything", "epsilon": "0.5"}]


def asked(presence):
    """Pairs of attributes in all their ways, and one count of everybody that looks at an attribute."""
    rules = [*RULES, {"presence": True, "epsilon": "5"}] if presence else RULES
    attributes = {name: {"range": [0, 19], "step": 1} for name in "xyz"}
    policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    make = dx.LinearQueries
    tables = make.marginals(policy.universe, [["x", "y"], ["x", "z"], ["y", "z"]])
    return policy.compile(), make.stack([tables, make.prefixes(policy.universe, "x").only([19])])


@pytest.mark.parametrize("presence", [False, True])
def test_a_count_of_everybody_takes_no_noise_from_other_counts(presence):
    metric, queries = asked(presence)
    sensitivity = sensitivity_of(metric, queries)
    assert isinstance(sensitivity.changes, FactoredChanges)
    steps = np.array([float(step) for step in sensitivity.queries.steps])
    assert sensitivity.changes.largest_load(steps) >= 6 / 0.5  # six cells change, at the distance of everything
    assert np.all(sensitivity.of_each_query[:-1] > 0)


@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("kept", [slice(0, -1), slice(0, 0)])
def test_whoever_forgets_a_family_of_changes_is_refused(presence, kept, monkeypatch):
    metric, queries = asked(presence)

    def forgetful(metric, tables):
        found = factored_changes(metric, tables)
        return FactoredChanges(found.count, found.families[kept])

    monkeypatch.setattr(sensitivity_module, "factored_changes", forgetful)
    with pytest.raises(CertificateRefused, match="a fault of dxgeom"):
        sensitivity_of(metric, queries)
