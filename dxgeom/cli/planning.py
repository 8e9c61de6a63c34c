"""From the files of a command to a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxgeom.metrics.checking.data_set import DataSet
    from dxgeom.planner.plan import Plan


def planned(policy: Path, queries: Path, records: int | None, data_set: DataSet | None = None, **options: Any) -> Plan:
    """The plan for a queries file under a policy file; ``options``: of :func:`dxgeom.plan`, None where left out.

    ``data_set``: what was said of the data beside the policy.
    Raises: PolicyError, QueryError, LedgerError for a data set that the policy is not about, and what planning raises.
    """
    from dxgeom.planner.choose import plan
    from dxgeom.policy.policy import load_policy
    from dxgeom.queries.queries_file import load_queries

    loaded = load_policy(policy)
    asked = load_queries(queries, loaded, records)
    stated = {name: option for name, option in options.items() if option is not None}
    metric = loaded.compile() if data_set is None else loaded.compile().about(data_set)
    with _told() as progress:
        return plan(metric, asked, progress=progress, **stated)


@contextmanager
def _told() -> Iterator[Callable[[str], None] | None]:
    """A line on standard error about what is being built, if somebody is looking."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("planning") as line:
        yield lambda what: line.update(f"planning: {what}")
