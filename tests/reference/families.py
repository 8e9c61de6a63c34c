"""Who belongs to a family: its concrete classes in the package, not the toys that tests make."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import isabstract
from pkgutil import walk_packages

import dxgeom


def members(family: type) -> set[type]:
    """The concrete classes that derive from a family's base, however many abstract ones are between.

    Every module of the package is imported first: else it would depend on the tests before this one who is found.
    """
    _import_everything()
    return _derived(family)


def _derived(family: type) -> set[type]:
    below = set().union(*({kind, *_derived(kind)} for kind in family.__subclasses__()))
    return {kind for kind in below if kind.__module__.startswith("dxgeom.") and not isabstract(kind)}


@cache
def _import_everything() -> None:
    for module in walk_packages(dxgeom.__path__, "dxgeom."):
        if not module.name.endswith("__main__"):
            _import(module.name)


def _import(name: str) -> None:
    try:
        import_module(name)
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith("dxgeom"):  # Else an optional library, which this environment does not hold.
            raise
