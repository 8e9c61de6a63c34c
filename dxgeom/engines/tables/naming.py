"""Finding the columns a policy needs among those a table has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dxgeom.errors import DataError
from dxgeom.universe.wording import nearest

_SHOWN = 30
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_DECIMALS = (
    " (and decimals with points), such as by pandas.read_csv(FILE, sep=';', decimal=',').to_csv(NEW, index=False)"
)


def located(found: Sequence[str], wanted: Sequence[str], described: str, index: Sequence[str] = ()) -> tuple[int, ...]:
    """The position in ``found`` of every wanted column, letter for letter; ``index``: names that are no columns.

    Raises: DataError when a wanted column is missing, or any name occurs twice.
    """
    separator = _one_cell(found)
    if separator and wanted and found[0] not in wanted:
        more = _DECIMALS if separator == "semicolons" else ""
        raise DataError(
            f"{described} has no column named '{wanted[0]}'; the columns found are '{found[0]}'; "
            f"a .csv file separates its cells by commas, a .tsv file by tabs, and this first line by {separator}: save "
            f"it with commas{more}"
        )
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise DataError(
            f"column names are distinct; {described} has two columns named '{twice[0]}': rename one of them"
        )
    missing = [name for name in wanted if name not in found]
    if missing:
        there = [name for name in missing if name in index]
        hint = f"; there is {' and '.join(map(repr, there))} in the index: use table.reset_index()" if there else ""
        raise DataError("; ".join(_missing(name, found, described) for name in missing) + _listing(found) + hint)
    return tuple(found.index(name) for name in wanted)


def _one_cell(found: Sequence[str]) -> str:
    """What separates the cells of a header that was read as one; empty where it seems to be one."""
    if len(found) != 1:
        return ""
    return next((words for sign, words in _SEPARATORS.items() if sign in found[0]), "")


def _missing(name: str, found: Sequence[str], described: str) -> str:
    alike = nearest(name, found)
    return f"{described} has no column named '{name}'" + (f" (did you mean '{alike}'?)" if alike else "")


def _listing(found: Sequence[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"; the columns found are {listed}{more}"
