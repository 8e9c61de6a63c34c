"""Finding the columns a policy needs among those a table has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from dxgeom.errors import DataError
from dxgeom.universe.wording import nearest

Wanted: TypeAlias = tuple[str, ...] | Callable[[Sequence[str]], tuple[str, ...]]
"""The columns that are wanted, or what says so once it knows which there are."""

_SHOWN = 30


def located(found: Sequence[str], wanted: Wanted, described: str) -> tuple[int, ...]:
    """The position in ``found`` of every wanted column, letter for letter.

    Raises: DataError when a wanted column is missing, or any name occurs twice.
    """
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise DataError(f"column names are distinct; {described} has two columns named '{twice[0]}'")
    wanted = wanted(found) if callable(wanted) else wanted
    missing = [name for name in wanted if name not in found]
    if missing:
        raise DataError("; ".join(_missing(name, found, described) for name in missing) + _listing(found))
    return tuple(found.index(name) for name in wanted)


def _missing(name: str, found: Sequence[str], described: str) -> str:
    alike = nearest(name, found)
    return f"{described} has no column named '{name}'" + (f" (did you mean '{alike}'?)" if alike else "")


def _listing(found: Sequence[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    hint = ""
    if len(found) == 1 and (";" in found[0] or "\t" in found[0]):
        hint = "; a .csv file separates its cells by commas, a .tsv file by tabs"
    return f"; the columns found are {listed}{more}{hint}"
