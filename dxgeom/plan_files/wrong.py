"""What can be wrong with a plan file: a code for each kind, its place in the file, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

import numpy as np

from dxgeom.errors import Diagnostic, DxgeomError, FileMistakes, PlanError

PLAN_CODES: Final[dict[str, str]] = {
    "DX300": "the file cannot be read: missing, too large, not UTF-8, not JSON, or a key twice",
    "DX301": "the file is no plan, or of a format that this version does not read",
    "DX302": "a field is missing, unknown, of the wrong kind, or a number that is not written as this format does",
    "DX303": "the policy in the file is wrong, or not the one that the file says it is",
    "DX304": "the queries in the file are wrong, or not those that the file says they are",
    "DX305": "the noise in the file cannot be built: its numbers are no law, or no body's",
    "DX306": "the noise in the file does not hide what the policy protects",
    "DX307": "the file says of its plan what is not so: a fingerprint, a step, an error, a bias, the digest",
    "DX308": "the spend is no positive number, or more than the policy's budget",
}
"""What each code means; a code never changes its meaning between versions."""

_PLAN_AGAIN: Final = "plan again, and keep files as they were written"


@final
class Wrong(Exception):
    """A plan file is wrong at a place. Never leaves this module."""

    def __init__(self, code: str, place: str, message: str, advice: str = _PLAN_AGAIN) -> None:
        self.code, self.place, self.message, self.advice = code, place, message, advice
        super().__init__(message)


@contextmanager
def told_as(file: str) -> Iterator[None]:
    """Turns what is wrong into the error that a user sees, with the file's name. Raises: PlanError."""
    try:
        yield
    except Wrong as wrong:
        place = wrong.place or "top level"
        raise PlanError([Diagnostic(file, 1, 1, wrong.code, wrong.message, wrong.advice, path=place)]) from wrong


@contextmanager
def refused_as(code: str, place: str) -> Iterator[None]:
    """Whatever is refused, or leaves the range of numbers, while a part of a file is built is that part's mistake."""
    try:
        with np.errstate(all="ignore"):
            yield
    except FileMistakes as error:
        first = error.diagnostics[0]
        inner = f"{place}.{first.path}" if first.path and first.path != "top level" else place
        raise Wrong(code, inner, f"{first.code}: {first.message}", first.advice or _PLAN_AGAIN) from error
    except (DxgeomError, ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError) as error:
        said = " ".join(str(error).split())  # an array's numbers may fill several lines
        raise Wrong(code, place, said or type(error).__name__) from error
