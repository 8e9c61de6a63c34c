"""Arguments of the wrong kind are refused with a sentence, at every door of the package."""

from __future__ import annotations

from dxgeom.errors import WrongArgument


def require(value: object, kinds: type | tuple[type, ...], what: str, advice: str) -> None:
    """Raises: WrongArgument, saying what to do, unless the argument ``what`` is of one of these kinds."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise WrongArgument(f"'{what}' is of type {wanted}; found {described(value)}: {advice}")


def described(value: object) -> str:
    """What an argument is, without what it holds: that may be private."""
    return "None" if value is None else f"one of type {type(value).__name__}"
