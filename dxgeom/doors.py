"""How a room offers names without loading what is behind them.

A room's ``__init__`` lists its public names as imports under ``TYPE_CHECKING``, where type checkers and editors read
them, and hands its own source to :func:`doors_of`; the file behind a name is loaded when it is first asked for. So
each name stands in one place, and importing a room costs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from dxgeom.old_names import warn_of

OLD: Final = {
    **dict.fromkeys(
        ("dxgeom.one_secret", *(f"dxgeom.mechanisms.{room}" for room in ("finite", "metric_space", "statistics"))),
        "dxgeom.lab",
    ),
    **{
        f"dxgeom.audit.{name}": f"dxgeom.lab.{name}"
        for name in ("PrivacyLevel", "is_private", "most_hidden", "most_learned", "posterior", "privacy_level")
    },
    **{
        f"dxgeom.{name}": f"dxgeom.{room}.{name}"
        for room, names in {
            "errors": "LedgerError NotAMetric TooLarge UnboundedLoss",
            "lab": "optimal_table planar_laplace statistic_mechanism",
            "mechanisms.contract": "in_parallel in_sequence",
            "mechanisms.linear": "series_mechanism",
            "mechanisms.selection": "small_database",
            "mechanisms.synthetic": "mwem",
            "metrics": "lipschitz repair_edges",
            "noise": "k_norm_noise",
        }.items()
        for name in names.split()
    },
    "dxgeom.mechanisms.parts.KroneckerMechanism": "dxgeom.mechanisms.parts.TableMechanism",
    "dxgeom.report.adjacent_outputs_picture": "dxgeom.lab.adjacent_outputs_picture",
    "dxgeom.report.shadows_picture": "dxgeom.report.projections_picture",
    "dxgeom.disclosure.told": "dxgeom.disclosure.disclosed_loss",
    "dxgeom.privacy.currency_of": "dxgeom.privacy.privacy_measure_of",
}
"""What was documented by another name: that still leads there for one version, and no list has it."""


class Doors(NamedTuple):
    """What a lazy room defines: its ``__getattr__``, its ``__dir__`` and its ``__all__``."""

    open: Callable[[str], Any]
    listed: Callable[[], list[str]]
    names: list[str]


def doors_of(room: str, source: str) -> Doors:
    """The names that ``source``, the file of the package ``room``, imports under ``TYPE_CHECKING``; rooms in it too."""
    homes = _homes(source)
    names = sorted(homes)

    def open_door(name: str) -> Any:
        if name in homes:
            module, original = homes[name]
            if module == room:  # a room inside this one
                return import_module(f"{room}.{original}")
            return getattr(import_module(module), original)
        if anew := OLD.get(f"{room}.{name}"):
            warn_of(f"{room}.{name}", anew)
            home, _, last = anew.rpartition(".")
            return getattr(import_module(home), last)
        raise AttributeError(f"{room} has no '{name}'" + _nearest(name, room, source))

    return Doors(open_door, lambda: names, names)


def _homes(source: str) -> dict[str, tuple[str, str]]:
    """The module behind each name, and what it is called there."""
    tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [line for block in guarded for line in block.body if isinstance(line, ast.ImportFrom)]
    return {alias.asname or alias.name: (line.module or "", alias.name) for line in imports for alias in line.names}


def _nearest(name: str, room: str, source: str) -> str:
    """Where a deeper room has that name, or the nearest name: of this room, or else of a deeper one."""
    if name.startswith("_"):  # asked for by machines, which try what there is
        return ""
    from difflib import get_close_matches

    below = _listed_below(room, Path(source).parent)
    if name in below:
        return f"; it is {below[name]}.{name}"
    here = [known for known, home in below.items() if home == room]
    for names in (here, [*below]):
        for near in get_close_matches(name, names, 1):
            return f"; did you mean '{near if below[near] == room else f'{below[near]}.{near}'}'?"
    return ""


def _listed_below(room: str, folder: Path) -> dict[str, str]:
    """What this room and those in it list, and the first room that does; nothing is loaded for it."""
    homes = _homes(str(folder / "__init__.py"))
    found = dict.fromkeys(homes, room)
    inner = (name for name, home in homes.items() if home == (room, name) and (folder / name).is_dir())
    for name in inner:
        for known, home in _listed_below(f"{room}.{name}", folder / name).items():
            found.setdefault(known, home)
    return found
