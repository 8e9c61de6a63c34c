"""A policy in a notebook: what is to be decided, and what each rule promises."""

from __future__ import annotations

from dataclasses import replace

from dxgeom.policy.explain.telling import curve_in_words
from dxgeom.policy.policy import Policy
from dxgeom.privacy.currencies import PURE
from dxgeom.report.document.blocks import Paragraph, Section
from dxgeom.report.document.document import Document
from dxgeom.report.drawing.guess_curve import guess_curve
from dxgeom.report.drawing.heat_map import MOST_VALUES, heat_map
from dxgeom.report.drawing.scene import Scene
from dxgeom.report.facts.comparisons import PairDistances
from dxgeom.report.facts.facts import Facts, facts_of, require_odds
from dxgeom.report.sections.maps import map_of
from dxgeom.report.sections.opening import head, in_short
from dxgeom.report.sections.rules import example_pairs, promises
from dxgeom.report.sections.warnings import warnings


def policy(shown: Policy) -> Document:
    """In short, and the rules; of concentrated privacy the curves."""
    facts = facts_of(shown)
    if shown.privacy != PURE:
        curves = Section(0, "In short", tuple(Paragraph(line) for line in curve_in_words(facts.review.curve)))
        rules = Section(0, "Rules", tuple(Paragraph(f"{one.words}: {one.sentence}.") for one in facts.review.rules))
        return Document("Policy", shown.name, shown.about, head(facts), (curves, rules), shown.fingerprint)
    sections = (in_short(facts, warnings(facts)), replace(promises(facts), number=0))
    return Document("Policy", shown.name, shown.about, head(facts), sections, shown.fingerprint)


def policy_scene(shown: Policy, about: tuple[str, ...]) -> Scene | None:
    """The curve of all its pairs, or a map or heat map of one attribute.

    Raises: UnsupportedCombination for a policy that promises no odds.
    """
    require_odds(shown)
    facts = facts_of(shown)
    if not about:
        return guess_curve([(pair.words, pair.distance) for pair in example_pairs(facts)], facts.budget, None)
    found = next((one for one in facts.compared if one.name == about[0]), None)
    return None if found is None or len(about) > 1 else _of_attribute(facts, found)


def _of_attribute(facts: Facts, found: PairDistances) -> Scene | None:
    drawn = map_of(facts, found)
    if drawn is not None:
        return drawn.scene
    return heat_map(found.name, found.labels, found.distances * facts.budget) if found.size <= MOST_VALUES else None
