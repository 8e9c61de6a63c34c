"""Random policies whose table lists the records."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import strategies as st

from dxgeom.policy.policy import Policy, parse_policy
from reference.policy_closure import PlainAttribute, PlainRule, table_of, text_of
from reference.random_policies import (
    BINS,
    COIN,
    DATES,
    EVEN,
    GRAPH,
    PLACES,
    RANGE,
    WIDE,
    WORDS,
    any_rule,
    perhaps_missing,
)

Listed = list[tuple[int, ...]]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[PlainAttribute], list[PlainRule], Listed]:
    some = st.sampled_from([WORDS, COIN, RANGE, BINS, PLACES, DATES, GRAPH, EVEN, WIDE])
    attributes = draw(st.lists(some, min_size=1, max_size=3, unique=True))
    attributes = [draw(perhaps_missing(attribute)) for attribute in attributes]
    every = list(itertools.product(*(range(len(attribute.labels)) for attribute in attributes)))
    listed = draw(st.lists(st.sampled_from(every), min_size=1, max_size=14, unique=True))
    return attributes, draw(st.lists(any_rule(attributes), max_size=6)), listed


def compiled_table(attributes: list[PlainAttribute], rules: list[PlainRule], listed: Listed, folder: Path) -> Policy:
    (folder / "listed.csv").write_text(table_of(attributes, listed))
    return parse_policy(text_of(attributes, rules, "listed.csv"), folder=folder)
