"""A new kind of rule is one class and one line in a tuple: read, checked, explained and told to editors from there."""

from __future__ import annotations

import subprocess
import sys
import textwrap

PROGRAM = textwrap.dedent(
    """
    import math
    from dataclasses import dataclass
    from fractions import Fraction
    from typing import Any

    import numpy as np

    from dxgeom.metrics.metric import PairBlock, all_pairs
    from dxgeom.policy.bounds.bound import Bound, closed, in_units
    from dxgeom.policy import rule_kinds
    from dxgeom.policy.rule_kinds import RuleKind
    from dxgeom.policy.source.fields import Epsilon


    @dataclass(frozen=True)
    class Ring(Bound):
        count: int
        epsilon: Fraction

        def between(self, start, end):
            return self.epsilon if abs(start - end) in (1, self.count - 1) else math.inf

        def as_written(self, unit):
            step = in_units([self.epsilon], unit)
            return lambda one, other: np.where(np.isin(abs(one - other), (1, self.count - 1)), step, math.inf)

        def metric(self, size):
            pairs = (PairBlock(one, other, self.of_pairs(one, other)) for one, other in all_pairs(size))
            known = ((block, np.isfinite(block.bound)) for block in pairs)
            return closed(size, (PairBlock(*(column[kept] for column in block)) for block, kept in known))

        @property
        def denominator(self):
            return self.epsilon.denominator

        @property
        def data(self):
            return ["ring", self.count, str(self.epsilon)]


    class RingKind(RuleKind):
        key = "ring"
        field = Epsilon
        about = "The epsilon of neighbours on the ring of all values."
        example = "write an epsilon, as in 0.5"

        def bound(self, given, attribute, rule):
            return Ring(attribute.size, given)

        def words(self, given):
            return f"epsilon {given} on a ring"

        def sentence(self, name, given, otherwise, bound, at_most):
            return f"neighbours on the ring of {name}: {at_most(given)}"

        def takes_otherwise(self, given):
            return False


    rule_kinds.RULE_KINDS = (*rule_kinds.RULE_KINDS, RingKind())  # the one line

    import dxgeom as dx
    from dxgeom.errors import PolicyError
    from dxgeom.policy.policy import Policy, parse_policy
    from dxgeom.policy.syntax.schema import policy_schema

    WARDS = "policy: p\\nuniverse: {attributes: {ward: [a, b, c, d, e], sex: [F, M]}}\\nrules:\\n"
    SEX = "  - {change: sex, epsilon: 0.5}\\n"


    def mistakes(rule):
        try:
            parse_policy(WARDS + SEX + "  - " + rule)
        except PolicyError as error:
            return str(error)
        raise AssertionError(rule)


    policy = parse_policy(WARDS + SEX + "  - {change: ward, ring: 0.4}")
    assert policy.explain({"ward": "a", "sex": "F"}, {"ward": "d", "sex": "M"}).distance == Fraction(13, 10)
    assert "epsilon 2/5 on a ring" in policy.explain(0, 2).lines()[-1]
    assert "neighbours on the ring of ward: at most 1.50 to 1" in "\\n".join(policy.review().lines())
    assert Policy.from_dict({
        "policy": "p",
        "universe": {"attributes": {"ward": list("abcde"), "sex": ["F", "M"]}},
        "rules": [{"change": "sex", "epsilon": 0.5}, {"change": "ward", "ring": 0.4}],
    }).fingerprint == policy.fingerprint == parse_policy(policy.to_yaml()).fingerprint
    assert "'values', 'individuals', 'ring' and 'weight', found 'epsilon' and 'ring'" in mistakes(
        "{change: ward, ring: 1, epsilon: 1}"
    )
    assert "'per' does not go with 'ring'" in mistakes("{change: ward, ring: 1, per: 2 steps}")
    assert "'ring' goes with 'change' of one attribute" in mistakes("{change: [ward, sex], ring: 1}")
    assert "'ring' does not go with 'presence'" in mistakes("{presence: true, ring: 1, epsilon: 1}")
    assert "'otherwise' goes with" in mistakes("{change: ward, ring: 1, otherwise: 2}")
    assert "above 0" in mistakes("{change: ward, ring: -1}")
    assert "did you mean 'ring'" in mistakes("{change: ward, rin: 1}")
    assert policy_schema()["$defs"]["RuleSyntax"]["properties"]["ring"]["description"] == RingKind.about
    print("done")
    """
)


def test_a_new_kind_of_rule_runs_end_to_end():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert (found.stdout, found.stderr) == ("done\n", "")
