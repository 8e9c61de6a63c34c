"""What releases under several policies told of people with many rows."""

from __future__ import annotations

from collections.abc import Sequence

from dxgeom.policy.policy import Policy
from dxgeom.universe.people.people import MOVER, People
from dxgeom.universe.wording import shown


def unbounded_in(people: People | None, released: Sequence[Policy]) -> tuple[str, ...]:
    """The policies under which a release may have told anything of a person: those that take every row to be another
    person's, or that say by another column who people are."""
    if people is None:
        return ()
    theirs = ((one.name, one.universe.reading.people) for one in released)
    return tuple(dict.fromkeys(name for name, said in theirs if said is None or said.column != people.column))


def people_in_words(people: People | None, unbounded: Sequence[str], released: Sequence[Policy]) -> tuple[str, ...]:
    """What the figures mean for people.

    Once: Σ s_k·W_k ≤ W under Σ s_k·d_k, W the earth mover's distance between a person's rows. By rows: s·d/m for each
    of at most m rows, so s·d where all change alike.
    """
    if people is None:
        return ()
    if unbounded:
        named = ", ".join(map(shown, unbounded))
        return (
            f"Releases under {named} do not count people by '{people.column}': what they told of somebody grows with "
            "the number of their rows, without bound.",
        )
    said = [
        "Figures are about people all of whose rows change from the one record to the other. What was told of any "
        f"other two is at most {MOVER} between their rows, under what was told of records: where all releases are "
        "under this policy, the spent multiple of the distance that 'dxgeom explain' shows of the two."
    ]
    counted = [one.universe.reading.people for one in released]
    if any(one is not None and one.count == "rows" for one in counted):
        said = [
            "Figures are about people all of whose rows change from the one record to the other; some releases count "
            "rows, and told a part of that of every row that they kept."
        ]
    return tuple(said)
