"""The figures that the page of a paper shows, recomputed by the script beside it."""

from __future__ import annotations

import importlib.util

from reference.project import PAPERS


def figures_of(name):
    """The script's rows, and the lines of the table that the page shows."""
    spec = importlib.util.spec_from_file_location(f"figures_of_{name}", PAPERS / name / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (PAPERS / name / "page.md").read_text(encoding="utf-8")
    return list(module.rows()), [line for line in page.splitlines() if line.startswith("| ")][2:]
