"""From a plan file to a plan that releases: nothing that the file says is believed, all of it is made anew."""

from __future__ import annotations

import os
from pathlib import Path

from dxgeom.arguments import require
from dxgeom.plan_files.codec import loaded
from dxgeom.plan_files.text.json_text import read_document
from dxgeom.plan_files.wrong import told_as
from dxgeom.planner.plan import Plan


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan file, whoever wrote it.

    The policy is compiled and the queries are read anew from what the file says, the sensitivity and the lattice are
    those of these two, and the law has the file's numbers. It stands when its noise is proved to hide every difference,
    and everything that the file states is what was found: fingerprints, steps, biases, and errors up to 1e-9 of
    themselves. No search for a better law is run.

    Returns: the plan, whose ``file`` is this one: its members are at the spend that the file states.
    Guarantee: a plan that loads keeps the promise of the policy in the file, as one that was planned just now.
    Raises: PlanError with a code, the place in the file, and what to do.
    """
    require(path, (str, os.PathLike), "path", "name a file of 'dxgeom plan --output' or dx.save_plan")
    with told_as(os.fspath(path)):
        return loaded(read_document(Path(path)))
