"""What a proof rests on stays as it is: arrays are read-only, and nobody adds to what it believes from outside.

Digests of defining numbers: the same on every machine, different for whatever differs.
"""

from __future__ import annotations

import copyreg
import hashlib
from abc import ABC
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import WrongArgument

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
            object.__setattr__(thing, name, _frozen(value))


def _frozen(value: Any) -> Any:
    match value:
        case np.ndarray():
            # Never a subclass: masked ones, and whoever's own, say otherwise than their numbers.
            kept = type(value) is np.ndarray and _is_sealed(value)
            return value if kept else sealed(np.array(value, order="K"))
        case tuple() if any(issubclass(kind, (np.ndarray, tuple, Mapping)) for kind in {*map(type, value)}):
            return tuple(map(_frozen, value)) if type(value) is tuple else type(value)(*map(_frozen, value))
        case Mapping():
            return MappingProxyType({key: _frozen(one) for key, one in value.items()})
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


@runtime_checkable
class Digested(Protocol):
    """What says its own digest."""

    @property
    def digest(self) -> str:
        """SHA-256 of what it means."""


class DefinedByNumbers(Sealed, ABC):
    """A frozen dataclass that is what its numbers say: two with one digest are one and the same."""

    @property
    def defining(self) -> tuple[Any, ...]:
        """The numbers that make it what it is: its fields, in order."""
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its kind and its defining numbers; the same on every machine."""
        return canonical_digest(type(self).__name__, *self.defining)


def freeze_arrays(thing: object, *names: str) -> None:
    """Give a frozen thing these arrays in float64 for itself: read-only copies.

    What was proved of it then holds for good, whatever becomes of the arrays that it was made of.
    Raises: WrongArgument for what is no array of numbers.
    """
    for name in names:
        try:
            numbers = np.array(getattr(thing, name), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise WrongArgument(f"'{name}' of a {type(thing).__name__} is an array of numbers") from error
        numbers.setflags(write=False)
        object.__setattr__(thing, name, numbers)


def frozen_integers(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """A read-only copy, for what is proved of it to hold for good.

    Raises: WrongArgument for anything but an array of 64-bit integers.
    """
    if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64:
        raise WrongArgument("what a proof is about is an array of 64-bit integers")
    own: NDArray[np.int64] = np.array(numbers)
    own.setflags(write=False)
    return own


def canonical_digest(kind: str, *meaning: object) -> str:
    """SHA-256 of a kind of thing and the numbers and words that define it.

    Guarantee: what is digested can be read back from the text that is hashed, so different things have different
    digests. Integers and Fractions are written out, float64 as the very number it is, arrays with their shape in one
    order of bytes. No result of float64 arithmetic enters unless it is itself a defining number.
    Raises: TypeError for what is none of these and says no digest of its own.
    """
    hashed = hashlib.sha256()
    for part in (kind, *meaning):
        for piece in _pieces(part):
            hashed.update(piece)
    return hashed.hexdigest()


def _pieces(part: object) -> Iterator[bytes]:
    """A letter for the kind, a length, and the contents."""
    match part:
        case None:
            yield b"n;"
        case bool() | np.bool_():
            yield b"b1;" if part else b"b0;"
        case int() | np.integer() | Fraction():
            yield b"q" + str(part).encode() + b";"
        case float():
            yield b"f" + float(part).hex().encode() + b";"
        case str():
            text = part.encode("utf-8", "surrogatepass")
            yield b"s%d:" % len(text) + text
        case tuple() | list():
            yield b"l%d:" % len(part)
            for entry in part:
                yield from _pieces(entry)
        case np.ndarray():
            yield from _pieces_of_array(part)
        case Digested(digest=digest):
            yield b"d" + digest.encode() + b";"
        case _:
            raise TypeError(f"a digest is of numbers, words and what has a digest, found a {type(part).__name__}")


def _pieces_of_array(array: NDArray[np.generic]) -> Iterator[bytes]:
    kinds = {"b": "|u1", "i": "<i8", "f": "<f8"}
    if array.dtype.kind == "O":
        yield b"ao" + repr(array.shape).encode() + b":"
        for entry in array.ravel().tolist():
            yield from _pieces(entry)
    elif array.dtype.kind in kinds and array.dtype.itemsize <= 8:
        yield b"a" + array.dtype.kind.encode() + repr(array.shape).encode() + b":"
        yield np.ascontiguousarray(array, dtype=kinds[array.dtype.kind]).tobytes()
    else:
        raise TypeError(f"a digest is of arrays of 64-bit numbers or rationals, found {array.dtype}")
