"""From the files of a command to a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dxgeom.cli.options import Mechanism

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


def planned(policy: Path, queries: Path, records: int | None, mechanism: Mechanism) -> Plan:
    """The plan for a queries file under a policy file.

    Raises: PolicyError, QueryError, and what planning raises.
    """
    from dxgeom.planner.choose import plan
    from dxgeom.policy.policy import load_policy
    from dxgeom.policy.queries_file import load_queries

    loaded = load_policy(policy)
    return plan(loaded.compile(), load_queries(queries, loaded, records), mechanism=mechanism.value)
