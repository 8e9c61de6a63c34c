"""Section 1: what is hidden, and how strongly: each rule as a sentence, with real pairs of records and pictures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from dxgeom.document.document import Badge, Beside, Block, Paragraph, Picture, Section, ShownColumn, ShownTable, Words
from dxgeom.document.scenes import MOST_VALUES, curve_over_time, flat, guess_curve, heat_map, of_odds, place_map
from dxgeom.policy.axes import PlacesAxis
from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.distance_bounds import PerDistance, Threshold
from dxgeom.policy.explain.sentences import AGES, listed
from dxgeom.policy.explain.telling import except_with
from dxgeom.policy.explain.tightening import LISTED
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.rule_kinds import kind_of_rule
from dxgeom.policy.source.fields import edges_words
from dxgeom.report.facts import Chosen, Facts, Pair, PairDistances, both
from dxgeom.universe.places import PointsAttribute
from dxgeom.wording.numbers import BANDS, amount, at_most, band_of, digits, guesses, odds


def rule_title(number: int, rule: ResolvedRule) -> str:
    """How the page calls a rule."""
    return f"Rule {number} (line {rule.line}): {rule.syntax.title or rule.words}"


def rule_sentence(rule: ResolvedRule, budget: float) -> str:
    """What the rule promises of all answers within the budget together."""
    if rule.lasting is not None:
        whole, one = (odds(float(told) * budget) for told in (rule.lasting.epsilon, rule.lasting.share))
        return (
            f"Whatever somebody does {rule.lasting.words}, {rule.lasting.of_somebody} at most: odds at most "
            f"{whole}; so of one {rule.lasting.every} at most {one}."
        )
    if rule.presence is not None:
        once, twice = (odds(times * float(rule.presence) * budget) for times in (1, 2))
        return (
            f"Having a record or none: odds at most {once}; so any two records at most {twice}, and the number of "
            f"records is private.{'' if rule.syntax.published is None else f' {AGES[0].upper()}{AGES[1:]}.'}"
        )
    if rule.everything is not None:
        return f"Any two records: odds at most {odds(float(rule.everything) * budget)}, whatever other rules say."
    if rule.joint is not None:
        return _together(rule, budget)
    names = [name for name, _ in rule.bounds]
    if rule.missing:
        return (
            f"Whether {names[0]} is missing, or what it is: odds at most {_odds_of(rule, budget)} between a missing "
            "value and any other."
        )
    if rule.syntax.secrets is not None:
        return _secret(rule, names, budget)
    if kind_of_rule(rule.syntax) is not None:
        return _by_value(rule, names, budget)
    length = rule.syntax.per or rule.syntax.within
    if length is None:
        return _constant(rule, names, budget)
    who, epsilon = f"Two records that differ only in {' or only in '.join(names)}", float(rule.syntax.epsilon or 0)
    if rule.syntax.per:
        return f"{who}: odds grow with the difference, {odds(epsilon * budget)} for every {length}."
    beyond = "in proportion" if rule.syntax.beyond else "along chains of near ones"
    return f"{who}, by up to {length}: odds at most {odds(epsilon * budget)}; farther, {beyond}."


def _odds_of(rule: ResolvedRule, budget: float) -> str:
    return odds(float(rule.syntax.epsilon or rule.bounds[0][1].to_missing or 0) * budget)


def _constant(rule: ResolvedRule, names: list[str], budget: float) -> str:
    epsilon = float(rule.syntax.epsilon or 0) * budget
    if len(names) == 1:
        return f"Two records that differ only in {names[0]}: odds at most {odds(epsilon)}."
    both = f"; in {'both' if len(names) == 2 else 'all of them'}, at most {odds(len(names) * epsilon)}"
    return f"Two records that differ only in {' or only in '.join(names)}: odds at most {odds(epsilon)}{both}."


def _together(rule: ResolvedRule, budget: float) -> str:
    if rule.joint is None:
        return ""
    names, constant = listed(rule.joint.names), rule.joint.constant
    if rule.syntax.secrets is not None and constant is not None:
        by = listed(rule.syntax.secrets.partition or ())
        return f"Inside one {by}, whatever else differs: odds at most {odds(float(constant) * budget)}."
    if constant is not None:
        return f"Two records that differ only in {names}, in any of them at once: odds at most " + (
            f"{odds(float(constant) * budget)}."
        )
    epsilon = float(rule.syntax.epsilon or 0) * budget
    return (
        f"Two records that differ only in {names}: the largest of their differences counts, odds {odds(epsilon)} for "
        f"every {rule.syntax.per}."
    )


def _secret(rule: ResolvedRule, names: list[str], budget: float) -> str:
    secrets = rule.syntax.secrets
    if secrets is None:
        return ""
    if secrets.edges is None:
        by, bound = listed(secrets.partition or ()), rule.bounds[0][1]
        epsilon = float(bound.extremes[0])
        across = "between two, only what other rules hide" if bound.of_present is None else "between two, see below"
        return f"{names[0]} inside one {by}: odds at most {odds(epsilon * budget)}; {across}."
    least, most = (float(end) * budget for end in rule.bounds[0][1].extremes)
    each = f"each step has its own odds, {odds(least)} to {odds(most)}" if least != most else f"a step: {odds(most)}"
    way = edges_words(secrets.edges)
    return f"The shorter the way in {way}, the harder two records are to tell apart: {each}; steps multiply."


def _by_value(rule: ResolvedRule, names: list[str], budget: float) -> str:
    kind, given = kind_of_rule(rule.syntax) or (None, None)
    least, most = (float(end) for end in rule.bounds[0][1].extremes)
    reach = (
        odds(least * budget)
        if least == most or math.isinf(most)
        else f"{odds(least * budget)} to " + odds(most * budget)
    )
    if kind is not None and kind.key == "values":
        return f"Every value of {names[0]} has its own number, and of two the smaller counts: odds at most {reach}."
    if kind is not None and kind.key == "individuals":
        return f"Every value of {names[0]} has its own number, and two of them add up: odds at most {reach}."
    if kind is None:
        return ""

    def told(epsilon: Fraction) -> str:
        return odds(float(epsilon) * budget)

    said = kind.sentence(names[0], given, rule.syntax.otherwise, rule.bounds[0][1], told)
    return said[:1].upper() + said[1:] + "."


_MOST_RINGS: Final = 4
_CAPTION: Final = (
    "Each dot is a place, at one scale in all directions. Around the orange one, circles show how far two places may "
    "be from each other for the odds written on them, whole budget."
)


def map_of(facts: Facts, one: PairDistances) -> Picture | None:
    """The map, where the attribute is of places and their distance counts."""
    attribute = next((each for each in facts.policy.universe.attributes if each.name == one.name), None)
    present = None if attribute is None else attribute.present
    if not isinstance(present, PointsAttribute):
        return None
    spots = flat(present.coordinates, present.geometry)
    rings = _rings(facts, one.name, present.unit or "")
    called = facts.policy.labels.values_of(one.name, present.labels)
    scene = place_map(facts.policy.labels.attribute(one.name), called, spots, present.unit or "", rings)
    return Picture(scene, _CAPTION if rings else "Each dot is a place, at one scale in all directions.")


def _rings(facts: Facts, name: str, unit: str) -> list[tuple[float, str]]:
    """How far places are from each other where a rule by distance reaches the end of a band."""
    found: list[tuple[float, str]] = []
    for rule in facts.policy.rules:
        bound = dict(rule.bounds).get(name)
        if isinstance(bound, Threshold) and isinstance(bound.axis, PlacesAxis):
            near = f"{odds(float(bound.epsilon) * facts.budget)}, within {amount(bound.reach)} {unit}"
            found.append((float(bound.reach), near.rstrip()))
        elif isinstance(bound, PerDistance) and isinstance(bound.axis, PlacesAxis):
            found += _growing(bound, facts.budget, unit)
    return found[:_MOST_RINGS]


def _growing(bound: PerDistance, budget: float, unit: str) -> list[tuple[float, str]]:
    each = float(bound.rate) * budget
    limits = [(one.most, math.log(one.most)) for one in BANDS[:-1]]
    return [
        (limit / each, f"{amount(most)} to 1, about {digits(limit / each, 2)} {unit}".rstrip())
        for most, limit in limits
        if limit > float(bound.floor) * budget
    ]


Row = tuple[str, Pair]
_LEAD: Final = (
    "Somebody wants to know which of two records is in the data. They differ only as stated, and seemed equally "
    "likely; every other record may be known. A coin gets 500 of 1,000 such guesses right; with the answers, at most "
    "this many are right, on average."
)
_SAME: Final = 1e-9
_STEPS: Final = ((1, "One step"), (2, "Two steps"), (4, "Four steps"))


def hidden(facts: Facts) -> Section:
    """The section."""
    section = promises(facts)
    return replace(section, blocks=(*section.blocks, *_pictures(facts), *over_time(facts)))


def promises(facts: Facts) -> Section:
    """The section without its pictures."""
    unlisted = except_with(facts.policy.delta)
    blocks: list[Block] = [Paragraph(_LEAD + (f" All this holds{unlisted}." if unlisted else ""))]
    for number, rule in enumerate(facts.policy.rules, 1):
        blocks.append(Paragraph(rule_title(number, rule), "title"))
        blocks.append(Paragraph(rule_sentence(rule, facts.budget)))
        rows = rows_of(facts, rule)
        if rows:
            blocks.append(pair_table(facts, f"Pairs under rule {number}", rows))

    return Section(1, "What is hidden, and how strongly", tuple(blocks))


def pair_table(facts: Facts, label: str, rows: list[Row]) -> ShownTable:
    """Pairs with their odds so far and within the whole budget, guesses, and how well that hides."""
    other = _other_spend(facts)
    columns = [ShownColumn("Two records"), ShownColumn("For example")]
    columns += [] if other is None else [ShownColumn(other[0], figures=True)]
    columns += [
        ShownColumn("Odds, whole budget", figures=True),
        ShownColumn("Right guesses of 1,000", figures=True),
        ShownColumn("In words"),
    ]
    cells = []
    for what, pair in rows:
        whole = pair.distance * facts.budget
        before: tuple[Words, ...] = () if other is None else (odds(pair.distance * other[1]),)
        band = band_of(whole)
        cells.append((what, pair.words, *before, odds(whole), f"{guesses(whole):,}", (Badge(band.words, band.look),)))
    return ShownTable(label, tuple(columns), tuple(cells))


def _other_spend(facts: Facts) -> tuple[str, float] | None:
    """What was told so far, or else what the planned questions would tell, where that is not the whole budget."""
    if facts.spent:
        return "Odds, told so far", float(facts.spent)
    if facts.spend is not None and facts.spend != facts.policy.budget:
        return f"Odds, spend {amount(facts.spend)}", float(facts.spend)
    return None


def rows_of(facts: Facts, rule: ResolvedRule) -> list[Row]:
    """Pairs that the rule is about, by their compiled distances: the closest and the farthest, or step by step."""
    if rule.presence is not None:
        away = float(min(one.presence for one in facts.policy.rules if one.presence is not None))
        whole = [("Having a record or none", Pair("any record and no record", away))]
        if rule.lasting is not None:
            whole += [
                (f"A record a {rule.lasting.every} or none", Pair(rule.lasting.words, away * rule.lasting.periods))
            ]
        return whole
    if rule.everything is not None:
        return [("Any two, at most", facts.extremes.farthest)]
    if facts.policy.universe.listed is not None:
        return _listed_rows(facts, rule)
    if rule.joint is not None:
        return _together_rows(facts, rule)
    known = {one.name: one for one in facts.compared}
    every = [(name, bound) for name, bound in rule.bounds if name in known]
    rows = []
    for name, bound in every:
        stated = np.isfinite(bound.matrix(known[name].size))
        found = _pairs_of(known[name], bound, rule, stated & known[name].every)
        title = facts.policy.labels.attribute(name)
        rows += [(f"{title}: {what.lower()}" if len(rule.bounds) > 1 else what, pair) for what, pair in found]
    return rows


def _pairs_of(one: PairDistances, bound: Bound, rule: ResolvedRule, chosen: Chosen) -> Iterator[Row]:
    """Pairs that show what a bound does: along a line step by step, elsewhere from the closest to the farthest."""
    if rule.syntax.per is None:
        yield from _ends(one, chosen)
    elif bound.in_order:
        yield from _steps(one)
    else:
        closest, farthest = one.closest(chosen), one.farthest(chosen)
        if closest is not None and farthest is not None:
            yield "Closest two", closest
            for count, _ in _STEPS:
                near = one.nearest(chosen, count * float(rule.syntax.epsilon or 0))
                if near is not None and closest.distance < near.distance < farthest.distance:
                    yield f"About {replace(rule.syntax.per, amount=count * rule.syntax.per.amount)} apart", near
            yield "Farthest two", farthest


def _steps(one: PairDistances) -> Iterator[Row]:
    """Values that are one, two and four steps from each other; of these the pair that is farthest apart."""
    last = one.size - 1
    for count, words in _STEPS:
        if count <= last:
            far = np.argmax(np.diagonal(one.distances, count))
            all_there_are = " (all there are)" if count == last else ""
            yield words + all_there_are, one.pair(int(far), int(far) + count)
    if last not in (1, 2, 4) and last > 0:
        yield "First and last", one.pair(0, last)


def _ends(one: PairDistances, chosen: Chosen) -> Iterator[Row]:
    closest, middle, farthest = one.closest(chosen), one.middle(chosen), one.farthest(chosen)
    if closest is None or farthest is None:
        return
    whole = one.farthest(one.every)
    beyond = whole is not None and whole.distance > farthest.distance * (1 + _SAME)
    if farthest.distance <= closest.distance * (1 + _SAME):
        yield "Any two that it names" if beyond else "Any two", closest
    else:
        yield "Closest two", closest
        if middle is not None and closest.distance < middle.distance < farthest.distance:
            yield "Two in the middle", middle
        yield "Farthest two", farthest
    if whole is not None and beyond:
        yield "Farthest two by any way", whole


def _together_rows(facts: Facts, rule: ResolvedRule) -> list[Row]:
    """Records that differ in all of the rule's attributes at once."""
    joint = rule.joint
    if joint is None:
        return []
    universe, metric = facts.policy.universe, facts.policy.metric
    known = {one.name: one for one in facts.compared}
    if any(name not in known for name in joint.names):
        return []

    def moved(ends: dict[str, tuple[int, int]]) -> Pair:
        codes = [ends.get(attribute.name, (0, 0)) for attribute in universe.attributes]
        one, other = (int(universe.indices_of([np.array([code[k]]) for code in codes])[0]) for k in (0, 1))
        words = [", ".join(known[name].labels[ends[name][k]] for name in joint.names) for k in (0, 1)]
        return Pair(both(words[0], words[1]), float(metric.distance(one, other)), (one, other))

    sizes = [known[name].size for name in joint.names]
    if joint.constant is None:
        steps = [(count, words) for count, words in _STEPS if count < min(sizes)]
        return [(f"{words} in each", moved(dict.fromkeys(joint.names, (0, count)))) for count, words in steps]
    far = {name: np.unravel_index(int(np.argmax(known[name].distances)), known[name].distances.shape) for name in known}
    return [("All of them differ", moved({name: (int(far[name][0]), int(far[name][1])) for name in joint.names}))]


def _listed_rows(facts: Facts, rule: ResolvedRule) -> list[Row]:
    """Where a table lists the records: pairs of them that differ only in what the rule is about."""
    found = next((one for one in facts.compared if one.name == LISTED), None)
    if found is None:
        return []
    universe, rows = facts.policy.universe, list[Row]()
    groups = [rule.joint.names] if rule.joint is not None else [(name,) for name, _ in rule.bounds]
    for names in groups:
        alike = found.every
        for name, codes in zip(universe.names, universe.listed_codes, strict=True):
            if name not in names:
                alike = alike & (codes[:, None] == codes[None, :])
        several = f"{names[0]}: " if len(groups) > 1 else ""
        rows += [(f"{several}{what}", pair) for what, pair in _ends(found, alike) if "by any way" not in what]
    return rows


def example_pairs(facts: Facts) -> list[Pair]:
    """All pairs that the page gives as examples."""
    rows = itertools.chain.from_iterable(rows_of(facts, rule) for rule in facts.policy.rules)
    return list(dict.fromkeys([facts.extremes.closest, *(pair for _, pair in rows), facts.extremes.farthest]))


def over_time(facts: Facts, right: Callable[[float], float] = of_odds) -> Iterator[Block]:
    """What is revealed of some periods in a row, as figures and as a curve; nothing where a policy has no time.

    Args: ``right``: right guesses of 1,000, at most, at a distance and spend 1.
    """
    review = facts.review.time
    if review is None:
        return
    yield Paragraph("Over time", "title")
    every = review.time.periods.every
    yield Paragraph(
        f"A rule about one {every} says little of a year. Of somebody with one record in each {every}, some in a row, "
        "all answers within the budget reveal whether they are there, or what these say, with at most so many right "
        "guesses of 1,000."
    )
    columns = (
        ShownColumn("In a row"),
        *(ShownColumn(one, figures=True) for one in ("Distance", "Right of 1,000", "Odds")),
    )
    spans = [(f"{one.periods:,} {every}{'s' * (one.periods > 1)}", one) for one in review.spans]
    rows = [
        (words, amount(float(one.distance)), f"{math.ceil(right(float(one.distance) * facts.budget)):,}", one.odds)
        for words, one in spans
    ]
    yield ShownTable("What is revealed over time", columns, tuple(rows))
    each = float(review.spans[0].distance) * facts.budget
    scene = curve_over_time([(words, float(one.periods)) for words, one in spans], each, right)
    yield Picture(scene, "Right guesses of 1,000, at most, over periods in a row.")


def _pictures(facts: Facts) -> Iterator[Block]:
    """How the bands are coloured, the curve, a heat map of each small attribute, and a map of places."""
    legend = tuple((f"odds up to {amount(band.most)} to 1", (Badge(band.words, band.look),)) for band in BANDS[:-1])
    bands = ShownTable("The words for odds", (ShownColumn("Odds"), ShownColumn("In words")), (*legend, _LAST))
    pairs = [(pair.words, pair.distance) for pair in example_pairs(facts)]
    spent = None if facts.spent is None else float(facts.spent)
    curve = Picture(
        guess_curve(pairs, facts.budget, spent),
        "Right guesses of 1,000, at most, between two records that seemed equally likely. The strip shows the words.",
    )
    note = Paragraph(
        "All figures are upper limits, rounded up. The words are this page's own; no law uses them.", "note"
    )
    yield Beside((bands, note), (curve,))
    for one in facts.compared:
        if 2 < one.size <= MOST_VALUES and one.name != LISTED:
            yield heat_map_of(facts, one)
        drawn = map_of(facts, one)
        if drawn is not None:
            yield drawn


_MOST_PAIRS: Final = 8


def heat_map_of(facts: Facts, one: PairDistances) -> Block:
    """Every pair of values as a picture with the worst of them as figures; a sentence where all are alike."""
    title, told = facts.policy.labels.attribute(one.name), one.distances * facts.budget
    first, second = np.triu_indices(one.size, 1)
    pairs = told[first, second]
    if pairs.min() >= pairs.max() * (1 - _SAME) or math.isinf(pairs.min()):
        return Paragraph(f"{title}: any two of its {one.size} values are at odds of {at_most(float(pairs.max()))}.")
    order = np.argsort(-pairs, kind="stable")[:_MOST_PAIRS]
    rows = [(one.pair(int(first[k]), int(second[k])).words, odds(float(pairs[k]))) for k in order]
    more = len(pairs) - len(rows)
    rest = [(f"and {more:,} more", f"down to {odds(float(pairs.min()))}")] if more else []
    columns = ShownColumn("Two values, worst first"), ShownColumn("Odds, whole budget", figures=True)
    return Picture(
        heat_map(title, one.labels, told),
        f"{title}: every pair of values, in the file's order; odds “to 1” at most, whole budget.",
        ShownTable(f"Pairs of {title}", columns, (*rows, *rest)),
        heat_map(title, one.labels, told, narrow=True),
    )


_LAST: Final[tuple[Words, ...]] = ("above, or no limit", (Badge(BANDS[-1].words, BANDS[-1].look),))
