"""Who belongs to a family: its concrete classes in the package, not the toys that tests make."""

from __future__ import annotations


def members(family: type) -> set[type]:
    """The classes below a family's base that have none below them."""
    below = [kind for kind in family.__subclasses__() if kind.__module__.startswith("dxgeom.")]
    return {member for kind in below for member in members(kind) or {kind}}
