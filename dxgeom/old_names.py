"""Old names: what is called otherwise now answers to them for one version more, with a DeprecationWarning.

A class says ``told = OldName("disclosed_loss")``, before a function stands ``old_keyword(currency="privacy_measure")``,
and what rooms listed by other names stands in the table of :mod:`dxgeom.doors`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, final

Given = ParamSpec("Given")
Made = TypeVar("Made")


def warn_of(old: str, new: str, depth: int = 3) -> None:
    """Say that ``old`` goes, and what to write; ``depth``: as ``stacklevel`` of ``warnings.warn``."""
    warnings.warn(f"{old} is called {new} now; the old name goes with the next version", DeprecationWarning, depth)


@final
class OldName:
    """An attribute or method of a class under its old name."""

    def __init__(self, new: str) -> None:
        self.new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = f"{owner.__name__}.{name}"

    def __get__(self, thing: object, owner: type | None = None) -> Any:
        if thing is None:
            return self
        warn_of(self.old, self.new)
        return getattr(thing, self.new)


def old_keyword(**renamed: str) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """A function that takes keywords by their old names, too: ``old="new"``."""

    def decorated(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @wraps(function)
        def understanding(*given: Given.args, **keywords: Given.kwargs) -> Made:
            for old, new in renamed.items():
                if old in keywords and new not in keywords:
                    warn_of(f"{function.__qualname__}({old}=…)", f"{new}=")
                    keywords[new] = keywords.pop(old)
            return function(*given, **keywords)

        return understanding

    return decorated
