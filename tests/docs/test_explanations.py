"""What the explanations say in figures and words of their own is what the package says."""

from __future__ import annotations

import re

from reference.project import ROOT

from dxgeom.wording.numbers import band_of, guesses, odds_figure

PAGE = (ROOT / "docs" / "explanation" / "what-it-means.md").read_text(encoding="utf-8")


def test_odds_and_guesses_are_those_of_the_review_page():
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.,]+) to 1 \| ([\d,]+) \| ([a-z ]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 8
    for distance, odds, right, band in rows:
        said = (odds_figure(float(distance)), f"{guesses(float(distance)):,}", band_of(float(distance)).words)
        assert (odds, right, band) == said
