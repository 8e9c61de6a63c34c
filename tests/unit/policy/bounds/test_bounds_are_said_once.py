"""Outside ``policy/bounds`` nobody asks which kind a bound is, but the audit, which re-derives them on purpose, and the
map of the review page, which draws circles for what is stated by distance and none for anything else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from dxgeom.policy.axes import Axis
from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.joint_bounds import JointBound

PACKAGE = Path(__file__).parents[4] / "dxgeom"
MAY_ASK = {"policy/bounds", "policy/axes.py", "audit", "report/rules.py"}
"""Rooms, and files."""


def kinds() -> set[str]:
    found: set[str] = set()
    for path in [*(PACKAGE / "policy/bounds").glob("*.py"), PACKAGE / "policy/axes.py"]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                found |= {node.name} if bases & {Bound.__name__, JointBound.__name__, Axis.__name__} else set()
    return found


def asked(tree: ast.Module) -> Iterator[str]:
    """The classes that some ``isinstance``, ``issubclass``, ``type(…)`` comparison or ``match`` asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            yield node.cls.id
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            yield from (name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name))
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            of_a_type = [one for one in sides if isinstance(one, ast.Call) and ast.unparse(one.func) == "type"]
            yield from (one.id for one in sides if of_a_type and isinstance(one, ast.Name))


def test_the_kinds_are_found():
    assert {
        "Constant",
        "PerDistance",
        "Threshold",
        "Edges",
        "LargestChange",
        "LineAxis",
        "CircleAxis",
        "PathAxis",
    } <= kinds()


def test_nobody_else_asks_which_kind_a_bound_or_an_axis_is():
    names, breaches = kinds(), []
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE)
        if MAY_ASK.isdisjoint({place.as_posix(), place.parent.as_posix()}):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            breaches += [f"{path.name}: {name}" for name in asked(tree) if name in names]
    assert breaches == []
