"""Who belongs to a family: its concrete classes in the package, not the toys that tests make."""

from __future__ import annotations


def members(family: type) -> set[type]:
    """The classes that derive directly from a family's base."""
    return {kind for kind in family.__subclasses__() if kind.__module__.startswith("dxgeom.")}
