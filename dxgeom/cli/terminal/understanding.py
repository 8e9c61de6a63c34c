"""What is said of a command line that was not understood, in the command line's own words."""

from __future__ import annotations

from typing import Any, Final, cast, final

import typer
from typer.core import TyperCommand

_USAGE: Final = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""What the command line raises of its own: an option that it does not have, a value that does not fit."""

_MEANT: Final = {
    **dict.fromkeys(("--epsilon", "--eps", "--budget"), "--spend"),
    **dict.fromkeys(("--seed", "--random-seed", "--random-state"), "--rehearse"),
    **dict.fromkeys(("--out", "--target", "--html"), "--output"),
}
_WHY: Final = {
    "--spend": "a release spends a part of the budget, and the policy's rules say which epsilon that is",
    "--rehearse": "what is released is drawn from the system's randomness; a rehearsal is for trying",
    "--output": "the file that is written is named by it",
}


@final
class Command(TyperCommand):
    """A command that answers options of other tools with its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises: typer's usage errors, said plainly."""
        try:
            return super().parse_args(ctx, args)
        except _USAGE as error:
            known = {option for parameter in self.params for option in parameter.opts}
            said = str(error.message)  # type: ignore[attr-defined]
            error.message = plainly(said, getattr(error, "option_name", None), known)  # type: ignore[attr-defined]
            raise


def plainly(message: str, option: str | None, known: set[str]) -> str:
    """What typer says, without the name of the library that found it, and with the option that is meant.

    >>> plainly("Value error, 'gaussian' is not one of 'mse'.", None, set())
    "'gaussian' is not one of 'mse'."
    >>> plainly("No such option: --epsilon", "--epsilon", {"--spend"})[:39]
    'No such option: --epsilon; write --spen'
    """
    meant = _MEANT.get(option or "")
    if meant in known:
        return f"{message}; write {meant}: {_WHY[meant]}"
    return message.removeprefix("Value error, ")
