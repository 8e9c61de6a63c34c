"""What a proof rests on stays as it is: arrays are read-only, and nobody adds to what it believes from outside."""

from __future__ import annotations

import copyreg
from abc import ABC
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from functools import cached_property as cached_property  # noqa: PLC0414 (for whoever takes it from here)
else:
    import functools

    @final
    class cached_property(functools.cached_property):  # noqa: N801 (it takes the place of the other)
        """As that of functools, but arrays that are kept are read-only."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            super().__init__(function)
            self.func = wraps(function)(lambda thing: sealed(function(thing)))


def _read_only(entries: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(entries)


copyreg.pickle(MappingProxyType, lambda proxy: (_read_only, (dict(proxy),)))


def sealed(value: Any) -> Any:
    """The same; an array, or arrays in a tuple, are read-only from now on, and so is what they are views of."""
    if isinstance(value, tuple):
        for one in value:
            if isinstance(one, (np.ndarray, tuple)):
                sealed(one)
    whole = value
    while isinstance(whole, np.ndarray):
        whole.setflags(write=False)
        whole = whole.base
    return value


def seal(thing: object) -> None:
    """Give a frozen thing its arrays for itself: read-only copies of those that somebody else may write to."""
    for name, value in tuple(vars(thing).items()):
        if isinstance(value, (np.ndarray, tuple, Mapping)):
            object.__setattr__(thing, name, _own(value))


def _own(value: Any) -> Any:
    match value:
        case np.ndarray():
            return value if _is_sealed(value) else sealed(value.copy(order="K"))
        case tuple() if any(issubclass(kind, (np.ndarray, tuple, Mapping)) for kind in {*map(type, value)}):
            return tuple(map(_own, value)) if type(value) is tuple else type(value)(*map(_own, value))
        case Mapping():
            return MappingProxyType({key: _own(one) for key, one in value.items()})
    return value


def _is_sealed(value: Any) -> bool:
    while isinstance(value, np.ndarray) and not value.flags.writeable:
        value = value.base
    return value is None or isinstance(value, bytes)


class Sealed(ABC):  # noqa: B024 (what it is made of, its dataclass says)
    """A frozen dataclass that has its arrays for itself; one with a ``__post_init__`` of its own calls :func:`seal`."""

    def __post_init__(self) -> None:
        seal(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As any other; but what was read-only is so in a copy, too."""
        vars(self).update(state)
        sealed(tuple(state.values()))


class Closed(Sealed, ABC):
    """A family of things that a proof believes. All that belong to it are in this package, under the tests of it, and
    final."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        derived = any("__final__" in vars(base) for base in cls.__bases__)
        if derived or cls.__module__.partition(".")[0] != "dxgeom":
            raise TypeError(
                f"proofs believe what a {cls.__bases__[0].__name__} says, so nobody derives from one elsewhere: found "
                f"'{cls.__name__}' in {cls.__module__}; take one that is there, or add it to the package with its laws"
            )
