"""A policy over whole numbers: an attribute for each size, some of them lines."""

from __future__ import annotations

import dxgeom as dx


def policy_of_ranges(sizes=(7, 3), privacy="concentrated", lines=(), presence=False, alone=False):
    """Attributes a0, a1, …; those whose places are in ``lines`` have distances that grow with the step. ``alone``: no
    rule but that about presence."""
    rules = [{"change": f"a{k}", "epsilon": 1 + k, **({"per": 1} if k in lines else {})} for k in range(len(sizes))]
    return dx.Policy.from_dict(
        {
            "policy": "boxes",
            "privacy": privacy,
            "universe": {"attributes": {f"a{k}": {"range": [0, n - 1], "step": 1} for k, n in enumerate(sizes)}},
            "rules": [*(() if alone else rules), *([{"presence": True, "epsilon": 2}] if presence else [])],
        }
    )
