"""Arguments of the wrong kind are refused with a sentence, at every entry point of the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import wraps
from types import NoneType
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dxgeom.errors import UnsupportedCombination, WrongArgument

Given = ParamSpec("Given")
Returned = TypeVar("Returned")
_EPSILON: Final = (
    "the policy's rules say which epsilon, and a release spends a part of its budget: spend=Fraction(1, 4)"
)
_SEED: Final = "what is released is drawn from the system's randomness; plan.rehearse() tries without a table"
_ELSEWHERE: Final = {
    **dict.fromkeys(("epsilon", "eps", "epsilons", "privacy_budget"), _EPSILON),
    **dict.fromkeys(("seed", "random_state", "rng"), _SEED),
    "delta": "the policy says the kind of its promise, 'privacy: concentrated', from which each delta follows",
}
"""Arguments of other libraries, and what to write instead."""
_SUCH_AS: Final = {"ledger": "ledger='privacy.db', a file that keeps account", "spend": "spend=0.25"}
"""What is often left out."""

WHOLE = (int, np.integer)
"""Kinds of a whole number."""
NUMBER = (int, float, Fraction, np.number)
"""Kinds of a number that need not be exact."""


def require(value: object, kinds: type | tuple[type, ...], what: str, advice: str) -> None:
    """Raises: WrongArgument, saying what to do, unless the argument ``what`` is of one of these kinds.

    ``NoneType`` among the kinds: it may be left out. True and False are no numbers here, though Python counts with
    them.
    """
    listed = kinds if isinstance(kinds, tuple) else (kinds,)
    mistaken = isinstance(value, bool) and bool not in listed
    if mistaken or not isinstance(value, listed):
        wanted = " or ".join(kind.__name__ for kind in listed if kind is not NoneType)
        raise WrongArgument(f"'{what}' is of type {wanted}; found {described(value)}: {advice}")


def require_function(value: object, what: str, advice: str) -> None:
    """Raises: WrongArgument, saying what to do, unless the argument ``what`` can be called."""
    if not callable(value):
        raise WrongArgument(f"'{what}' is a function; found {described(value)}: {advice}")


def require_exact(number: object, what: str) -> None:
    """Raises: WrongArgument unless the argument ``what`` is an exact number above 0, for floats are rounded."""
    require(number, (Fraction, int), what, "write it exactly, such as Fraction('0.1')")
    if isinstance(number, (Fraction, int)) and number <= 0:
        raise WrongArgument(f"'{what}' is a positive number; found {number}")


def require_level(level: object) -> None:
    """Raises: UnsupportedCombination unless this is a confidence level."""
    require(level, NUMBER, "level", "give a number such as 0.95")
    if not 0 < level < 1:  # type: ignore[operator]
        percent = f": {level:g} % is {level / 100:g}" if 1 < level < 100 else ""  # type: ignore[operator]
        raise UnsupportedCombination(f"a confidence level lies strictly between 0 and 1, found {level}{percent}")


def words_of(texts: object, what: str, advice: str) -> tuple[str, ...]:
    """The texts of a list of them.

    Raises: WrongArgument, saying what to do, for anything that holds no texts. One text alone is a list of its letters.
    """
    listed = tuple(texts) if isinstance(texts, Iterable) else (None,)
    if not all(isinstance(text, str) for text in listed):
        raise WrongArgument(f"'{what}' is a list of texts; found {described(texts)} that is none: {advice}")
    return listed


def array_of(values: object, what: str, advice: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """The values as an array.

    Raises: WrongArgument, saying what to do, for rows of different lengths, for what is not of that dtype, and for
    sparse matrices, of which NumPy would make one object.
    """
    if hasattr(values, "toarray"):
        raise WrongArgument(f"'{what}' is laid out here, and a sparse matrix is not: give what its toarray() returns")
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        held = "numbers in rows of one length" if dtype is not None else "rows of one length"
        found = f"found {described(values)} that is none"
        raise WrongArgument(f"'{what}' is an array of {held}; {found}: {advice}") from error


def described(value: object) -> str:
    """What an argument is, without what it holds: that may be private."""
    return "None" if value is None else f"one of type {type(value).__name__}"


def pointing_elsewhere(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """The same, which refuses arguments that other libraries have with what to write instead. Raises: WrongArgument."""

    @wraps(function)
    def called(*given: Given.args, **said: Given.kwargs) -> Returned:
        for word in said.keys() & _ELSEWHERE.keys():
            raise WrongArgument(f"'{word}' is no argument of {function.__name__}: {_ELSEWHERE[word]}")
        return function(*given, **said)

    return called


def _as_written(kind: Any) -> str:
    """An annotation of a dictionary's word, without that it has to be there."""
    written = str(getattr(kind, "__forward_arg__", kind))
    return written[len("Required[") : -1] if written.startswith("Required[") else written


def taking(
    words: type, left_out: Mapping[str, Any]
) -> Callable[[Callable[Given, Returned]], Callable[Given, Returned]]:
    """The same function, whose ``**how`` are these words, or as they are ``left_out``: it shows them in its signature.

    Raises: TypeError for any other word.
    """

    def made(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
        written = inspect.signature(function)
        own = [one for one in written.parameters.values() if one.kind is not one.VAR_KEYWORD]
        keyword, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
        more = [
            inspect.Parameter(word, keyword, default=left_out.get(word, empty), annotation=_as_written(kind))
            for word, kind in words.__annotations__.items()
        ]
        signature = written.replace(parameters=[*own, *more])

        @wraps(function)
        def called(*given: Given.args, **said: Given.kwargs) -> Returned:
            try:
                bound = signature.bind(*given, **said)
            except TypeError as error:
                advice = next(
                    (f": write {_SUCH_AS[word]}" for word in _SUCH_AS if f"argument: '{word}'" in str(error)), ""
                )
                raise TypeError(f"{function.__qualname__}() {error}{advice}") from None
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        called.__signature__ = signature  # type: ignore[attr-defined]
        # Whoever reads defaults from the source would miss those of the words.
        del called.__wrapped__
        return called

    return made
