"""``dxgeom words``: what the words mean."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from dxgeom.cli.options import Format, FormatOption
from dxgeom.cli.terminal import print_either

WordArgument: TypeAlias = Annotated[
    str | None, typer.Argument(help="The word to explain, by any name.", metavar="[WORD]")
]
AllOption: TypeAlias = Annotated[bool, typer.Option("--all", help="The words that come later, too.")]


def words(word: WordArgument = None, everything: AllOption = False, output: FormatOption = Format.text) -> None:
    """Explain the ten words met before a first answer, or one word with an example.

    \b
    Example:
      dxgeom words
      dxgeom words epsilon
    """
    from dxgeom.document.document import Definitions, Document, Section
    from dxgeom.universe.wording import did_you_mean
    from dxgeom.wording.glossary import FIRST, LATER, NAMED, WORDS

    if word is None:
        chosen = {"Before the first answer": FIRST, **({"Later": LATER} if everything else {})}
        sections = tuple(
            Section(0, title, (Definitions(tuple((one.term, one.meaning) for one in found)),))
            for title, found in chosen.items()
        )
        shown = Document("words", "what they mean", "", (("One with an example", "dxgeom words WORD"),), sections, "")
    elif word.lower() in NAMED:
        one = NAMED[word.lower()]
        others = (("Also called", ", ".join(one.also)),) if one.also else ()
        facts = (("For example", one.example), ("Met in", one.where), *others)
        shown = Document("words", one.term, one.meaning, facts, (), "")
    else:
        known = ", ".join(one.term for one in WORDS)
        raise typer.BadParameter(f"no word here is '{word}'. {did_you_mean(word, NAMED)} The words are {known}.")
    print_either(output, shown.as_dict(), shown.lines())
