"""Beside the text that the site begins with: a review page as ``dxgeom report`` writes it, and one with sliders."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

import dxgeom as dx

POLICIES = Path(__file__).parents[2] / "policies"
REVIEWED = "clinic"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("build-finished", write_review)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_review(app: Sphinx, error: Exception | None) -> None:
    """The page that the one who signs reads, and the one on which numbers are moved."""
    if error is None and app.builder.format == "html":
        from dxgeom.studio.what_if import what_if_page

        policy = dx.load_policy(POLICIES / REVIEWED / "policy.yaml")
        asked = dx.load_queries(POLICIES / REVIEWED / "queries.yaml", policy)
        page = dx.report.review_page(policy, dx.plan(policy.compile(), asked))
        (Path(app.outdir) / "review.html").write_text(page.html(), encoding="utf-8")
        (Path(app.outdir) / "what-if.html").write_text(what_if_page(policy), encoding="utf-8")
