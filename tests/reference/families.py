"""Who belongs to a family: its concrete classes in the package, not the toys that tests make."""

from __future__ import annotations

from inspect import isabstract


def members(family: type) -> set[type]:
    """The concrete classes that derive from a family's base, however many abstract ones are between."""
    below = set().union(*({kind, *members(kind)} for kind in family.__subclasses__()))
    return {kind for kind in below if kind.__module__.startswith("dxgeom.") and not isabstract(kind)}
