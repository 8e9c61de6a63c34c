"""Screens of three examples, as a terminal shows them: check, plan and a seeded release, one below the other."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from reference.example_policies import TABLES, policy_file, queries_file, table_file

import dxgeom as dx
from dxgeom.document.document import Document
from dxgeom.report.short_plan import plan_screen
from dxgeom.report.short_policy import policy_screen
from dxgeom.report.short_release import release_screen

HERE = Path(__file__).parent / "screens_shown"
EXAMPLES = ("hospital-stays", "adult", "us-cities")
FORMS = ((60, "utf-8"), (80, "utf-8"), (120, "utf-8"), (80, "ascii"))
SEED = 5


def file_of(name: str, width: int, encoding: str) -> Path:
    """Where the screens of an example are recorded."""
    return HERE / f"{name}-{width}{'' if encoding == 'utf-8' else f'-{encoding}'}.txt"


@cache
def documents(name: str) -> tuple[Document, ...]:
    """The three screens of an example."""
    policy = dx.load_policy(policy_file(name))
    plan = dx.plan(policy.compile(), dx.load_queries(queries_file(name), policy))
    how: dict[str, Any] = {"count_column": TABLES[name][1], "insecure_test_seed": SEED}
    release = plan.release(table_file(name), ledger=":memory:", spend="1/4", **how)
    return policy_screen(policy, policy.review()), plan_screen(plan, policy.budget), release_screen(release)


def text_of(name: str, width: int, encoding: str) -> str:
    """The screens of an example below each other."""
    return "\n\n\n".join("\n".join(one.lines(width, encoding)) for one in documents(name)) + "\n"
