"""What is said of a draft in which marks are left to be filled in: once, with a remedy for each kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_NUMBERS: Final = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
_REMEDIES: Final = (
    (r"people:\s*FILL IN|at_most: FILL IN", "people: the column that says who a person is, or: one row each"),
    (r"dates: \[FILL IN", "dates: the first and the last day there can be, as in [2025-01-01, 2025-12-31]"),
    (r"zone: FILL IN", "zone: whose clocks, as in Europe/Berlin"),
    (r"written: FILL IN", "written: how 31 December 2025, 23:59 is written, as in 31.12.2025 23:59"),
    (r"values: FILL IN", "values: all words that there can be, as in [DE, FR]"),
    (r"range: FILL IN", "range: the lowest and the highest there can be, as in [1, 20]"),
    (r"bins: FILL IN", "bins: from the lowest to the highest, as in [0, 10, 25, 50, 100]"),
    (r"units: FILL IN", "units: as in {kg: 1, g: 0.001}"),
    (r"(?:decimal|encoding|line_breaks|missing|ignore)[^#]*FILL IN", "reading: as the comment behind it says"),
    (r"^ {4}[^{]*: FILL IN", "an attribute: as in [a, b], or {range: [0, 110], step: 10}"),
)


def unfinished(name: str, text: str, marks: Mapping[int, int]) -> str:
    """A message of at most as many lines as there are kinds of marks, and three.

    Args: how many marks stand in which line.
    """
    total = sum(marks.values())
    lines = text.splitlines()
    shown = [f"{line} ({_NUMBERS.get(count, count)})" if count > 1 else str(line) for line, count in marks.items()]
    remedies = [say for kind, say in _REMEDIES if any(re.search(kind, lines[line - 1]) for line in marks)]
    places = "1 place" if total == 1 else f"{total} places"
    return "\n".join([f"{name}: {places} to fill in: line {', '.join(shown)}", *(f"  {say}" for say in remedies[:6])])
