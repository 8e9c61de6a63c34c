"""``dxgeom schema``: the language for editors."""

from __future__ import annotations

from typing import Annotated

import typer

from dxgeom.cli.terminal.printing import print_json


def schema(
    queries: Annotated[bool, typer.Option("--queries", help="The schema of queries files instead.")] = False,
) -> None:
    """Print the JSON Schema of policy files, for editors that complete and underline.

    A schema knows the words of the language, not the names, units and files of a policy: check does.

    \b
    Example:
      dxgeom schema > policy.schema.json
    """
    from dxgeom.policy.syntax.schema import policy_schema
    from dxgeom.queries.schema import queries_schema

    print_json(queries_schema() if queries else policy_schema())
