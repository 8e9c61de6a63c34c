"""``dxgeom schema``: the language for editors, and the files that are written for whoever reads them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dxgeom.cli.terminal import print_json


class Described(StrEnum):
    """What has a schema."""

    policy = "policy"
    queries = "queries"
    task = "task"
    plan = "plan"
    release = "release"
    certificate = "certificate"


def schema(
    of: Annotated[Described, typer.Argument(help="The kind of file.", metavar="KIND")] = Described.policy,
    queries: Annotated[bool, typer.Option("--queries", help="The schema of queries files instead.")] = False,
) -> None:
    """Print the JSON Schema of policy files, for editors that complete and underline, or of another kind of file.

    Kinds are policy, queries, task, plan, release and certificate. A schema knows the words of the language, not the
    names, units and files of a policy: check does.

    \b
    Example:
      dxgeom schema > policy.schema.json
      dxgeom schema plan > plan.schema.json
    """
    from dxgeom.policy.syntax.schema import policy_schema
    from dxgeom.queries.schema import queries_schema

    if queries or of is Described.queries:
        print_json(queries_schema())
    elif of is Described.policy:
        print_json(policy_schema())
    elif of is Described.task:
        from dxgeom.lab.task import task_schema

        print_json(task_schema())
    else:
        from dxgeom.plan_files.codec import FILES

        print_json(FILES[of.value]())
