"""How numbers are written in a plan file: whole ones as they are, all others as text that means exactly one number.

A rational is ``p/q`` in lowest terms, a float64 the hexadecimal literal of C99, such as ``0x1.8000000000000p+1``: it
is read as the very number that was written, on every machine and in every language.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.plan_files.wrong import Wrong

FLOAT: Final = r"^-?0x[01]\.[0-9a-f]{13}p[+-][0-9]{1,4}$"
RATIONAL: Final = r"^-?[0-9]{1,4000}(/[0-9]{1,4000})?$"
LEAST_FIGURE: Final = Fraction(1, 2**500)
LARGEST_WHOLE: Final = 2**53
_ZEROS = ("0x0.0p+0", "-0x0.0p+0")
_INFINITE = "inf"


def float_text(number: float) -> str:
    """The float as text."""
    return float(number).hex()


def float_of(text: Any, place: str, *, infinite: bool = False) -> float:
    """The float of a text that :func:`float_text` writes. Raises: Wrong."""
    if infinite and text == _INFINITE:
        return math.inf
    if not isinstance(text, str) or not (text in _ZEROS or re.fullmatch(FLOAT, text)):
        raise Wrong("DX302", place, f"a float is written as 0x1.8000000000000p+1 is, found {_shown(text)}")
    try:
        number = float.fromhex(text)
    except OverflowError:
        number = math.inf
    if number.hex() != text:
        raise Wrong("DX302", place, f"the float {_shown(text)} is out of range, or not written in its shortest form")
    return number


def rational_of(text: Any, place: str) -> Fraction:
    """The rational of a text such as ``-3/4`` or ``12``, in lowest terms. Raises: Wrong."""
    if not isinstance(text, str) or not re.fullmatch(RATIONAL, text, re.ASCII):
        raise Wrong("DX302", place, f"a rational is written as 3/4 or 12 is, found {_shown(text)}")
    above, _, below = text.partition("/")
    if below and int(below) == 0:
        raise Wrong("DX302", place, "a rational has a denominator that is not 0")
    number = Fraction(int(above), int(below or 1))
    if str(number) != text:
        raise Wrong("DX302", place, f"a rational is written in lowest terms, as {_shown(str(number))}")
    return number


def figure_of(text: Any, place: str) -> Fraction:
    """A rational that error bars are made of, and so one that float64 has room around. Raises: Wrong."""
    number = rational_of(text, place)
    if number and not LEAST_FIGURE <= abs(number) <= 1 / LEAST_FIGURE:
        raise Wrong("DX302", place, "this number is 0, or from 1/2**500 to 2**500 in size")
    return number


def rationals_of(texts: Any, place: str) -> tuple[Fraction, ...]:
    """A list of rationals. Raises: Wrong."""
    known: dict[Any, Fraction] = {}  # most entries of a matrix are 0, or one of a few others
    for number, text in enumerate(list_of(texts, place)):
        if not isinstance(text, str) or text not in known:
            known[text] = rational_of(text, f"{place}[{number}]")
    return tuple(known[text] for text in texts)


def whole_of(number: Any, place: str, least: int = -LARGEST_WHOLE, most: int = LARGEST_WHOLE) -> int:
    """A whole number. Raises: Wrong."""
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise Wrong("DX302", place, f"this is a whole number from {least} to {most}, found {_shown(number)}")
    return number


def list_of(items: Any, place: str) -> list[Any]:
    """A list. Raises: Wrong."""
    if not isinstance(items, list):
        raise Wrong("DX302", place, f"this is a list, found {_shown(items)}")
    return items


def array_data(array: NDArray[Any]) -> dict[str, Any]:
    """An array of floats or whole numbers: its shape, and its entries row by row."""
    flat = array.ravel().tolist()
    if array.dtype.kind == "f":
        return {"shape": list(array.shape), "floats": [float_text(number) for number in flat]}
    return {"shape": list(array.shape), "whole": flat}


def floats_of(data: Any, place: str) -> NDArray[np.float64]:
    """An array of floats, none of them empty. Raises: Wrong."""
    shape, entries = _shaped(data, "floats", place)
    numbers = [float_of(text, f"{place}.floats[{number}]") for number, text in enumerate(entries)]
    return np.array(numbers, dtype=np.float64).reshape(shape)


def wholes_of(data: Any, place: str, least: int = -LARGEST_WHOLE, most: int = LARGEST_WHOLE) -> NDArray[np.int64]:
    """An array of whole numbers, none of them empty. Raises: Wrong."""
    shape, entries = _shaped(data, "whole", place)
    numbers = [whole_of(entry, f"{place}.whole[{number}]", least, most) for number, entry in enumerate(entries)]
    return np.array(numbers, dtype=np.int64).reshape(shape)


def keys_of(data: Any, keys: Sequence[str], place: str) -> dict[str, Any]:
    """A mapping with exactly these keys. Raises: Wrong."""
    if not isinstance(data, dict):
        raise Wrong("DX302", place, f"this is a mapping of {', '.join(keys)}, found {_shown(data)}")
    for key in data:
        if key not in keys:
            raise Wrong("DX302", f"{place}.{_shown(key)}", f"there is no such field here; known are {', '.join(keys)}")
    for key in keys:
        if key not in data:
            raise Wrong("DX302", place, f"the field '{key}' is missing")
    return data


def _shaped(data: Any, kind: str, place: str) -> tuple[tuple[int, ...], list[Any]]:
    keys_of(data, ("shape", kind), place)
    sizes = list_of(data["shape"], f"{place}.shape")
    shape = tuple(whole_of(size, f"{place}.shape", 1) for size in sizes)
    entries = list_of(data[kind], f"{place}.{kind}")
    if not shape or len(shape) > 32 or math.prod(shape) != len(entries):
        raise Wrong("DX302", place, f"the shape {_shown(sizes)} does not fit {len(entries):,} entries")
    return shape, entries


def _shown(found: Any) -> str:
    text = found if isinstance(found, str) else f"a {type(found).__name__}" if isinstance(found, dict) else repr(found)
    return text if len(text) <= 60 else f"{text[:57]}..."
