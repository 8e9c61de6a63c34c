"""Attributes: the finite sets of values a record may have, and how a raw cell of a table finds its value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.columns import Column, NumberColumn, TextColumn
from dxgeom.universe.wording import accepted_words, cell_text, did_you_mean, is_nan, shown

OUTSIDE = -1
"""The code of a raw value that is no value of the attribute."""

CellType: TypeAlias = Literal["words", "numbers", "days"]
"""What a table's cells are read as: text, float64, or text of days written year-month-day."""


NO_WORDS: Final = ("null", "nan", "~")
"""What elsewhere says that there is no value; here it is a word."""


@final
class NotAValue(Exception):
    """A text names no value of an attribute; the message says so. Callers turn it into an error with a place.

    ``advice``: what may have been meant; may be empty.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(f"{message}; {advice}" if advice else message)
        self.advice = advice


class Attribute(ABC):
    """A finite list of values, numbered by *codes* 0..size-1, and how tables and people say them.

    An attribute of words in one column of its own name says what its ``labels``, ``columns`` and codes are; one that
    is read otherwise also says how.

    Laws: ``labels`` are distinct; ``encode(labels)`` is 0..size-1 for text attributes and
    ``encode(numbers)`` is 0..size-1 for numeric ones; whatever is no value encodes to ``OUTSIDE``.
    """

    name: str

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The values as a person writes them, one per code."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """What queries may mention; the first one bears the attribute's own name."""

    @abstractmethod
    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """Codes of raw values, ``OUTSIDE`` where there is none.

        Text attributes take strings; numeric ones take numbers (NaN and None are outside).
        """

    @property
    def unlisted(self) -> bool:
        """Whether nobody listed its values: its labels stand for any two of them."""
        return False

    @property
    def missing(self) -> int | None:
        """The code that means no value, always the last; None where every record has one."""
        return None

    @property
    def present(self) -> Attribute:
        """The same without the missing value; rules by distance, and the entries of columns, are about its codes."""
        return self

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """The columns of a table that say which value a row has."""
        return (self.name,)

    @property
    def read_as(self) -> CellType:
        """What the cells of ``raw_columns`` are read as; only numbers are read from several columns."""
        return "numbers" if isinstance(self.columns[0], NumberColumn) else "words"

    def encode_cells(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> NDArray[np.int64]:
        """Codes of rows whose ``raw_columns`` hold these cells, read as ``read_as`` says; else as :meth:`encode`."""
        (column,) = columns
        return self.encode(column)

    def code_of(self, text: str) -> int:
        """The code of a value as a person writes it: a label, or what else a table may hold for it.

        Raises: NotAValue.
        """
        if text in self._code_of_label:
            return self._code_of_label[text]
        code = int(self.encode([text])[0])
        if code == OUTSIDE:
            raise NotAValue(f"{self.name} has no value {shown(text)}", did_you_mean(text, self.labels))
        return code

    @cached_property
    def _code_of_label(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    def accepted(self, found: str) -> str:
        """What cells may hold, for a person who wrote ``found`` there, which names no value."""
        return accepted_words(self.labels, found)

    def outside(self, cells: Sequence[str | None]) -> str:
        """What is wrong with a row whose ``raw_columns`` hold these cells, which name no value."""
        told = [None if self.read_as == "numbers" and is_nan(cell) else cell for cell in cells]
        what = " and ".join(f"{name} is {cell_text(cell)}" for name, cell in zip(self.raw_columns, told, strict=True))
        return f"{what}, {self.accepted(told[0] or '')}"

    @property
    def digest(self) -> list[Any]:
        """What a policy's fingerprint knows of the attribute, ready for JSON; equal digests mean the same."""
        return [type(self).__name__, self.name, list(self.labels), *self.beyond_labels]

    @property
    def beyond_labels(self) -> Sequence[Any]:
        """What the labels do not tell of the values and of how cells find them, ready for JSON."""
        return ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is legal about the values and probably not meant, in words; mostly nothing."""
        return ()

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.labels)


@final
@dataclass(frozen=True)
class CategoricalAttribute(Attribute):
    """A list of words. A raw value belongs iff it is one of them, letter for letter."""

    name: str
    values: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return self.values

    @property
    def doubts(self) -> tuple[str, ...]:
        return tuple(
            f"{shown(self.name)} lists the word {shown(word)}, which an empty cell is not: for cells without a value "
            "the policy says 'missing', with how that counts"
            for word in self.values
            if word.lower() in NO_WORDS
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, self.values),)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return codes_of_words(self.values, raw)


KEYS_OF_UNLISTED: Final = "ask for 'keys' of it with a 'delta', in a file of tasks"


def not_listed(name: str) -> str:
    """Why most questions cannot be about an attribute."""
    return f"nobody listed the values of {shown(name)}"


ANY_TEXT: Final = ("(any text)", "(any other text)")
"""Stand for the values of an attribute that nobody listed: any two of them are as far from each other."""


@final
@dataclass(frozen=True)
class UnlistedAttribute(Attribute):
    """Texts that nobody listed. Two labels stand for any two of them, so that rules have a distance to state.

    Whatever reads codes, and not the texts, has one code for all texts: what it answers does not depend on them.
    """

    name: str

    @property
    def labels(self) -> tuple[str, ...]:
        return ANY_TEXT

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, ANY_TEXT),)

    @property
    def unlisted(self) -> bool:
        return True

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        # The second label has its own code; a row of this very text only lies where another text does.
        there = (isinstance(value, str) and value != "" for value in raw)
        codes = (int(value == ANY_TEXT[1]) if one else OUTSIDE for value, one in zip(raw, there, strict=True))
        return np.fromiter(codes, dtype=np.int64, count=len(raw))

    def accepted(self, found: str) -> str:
        return "any text is a value, and none is not"

    def code_of(self, text: str) -> int:
        if text in ANY_TEXT:
            return ANY_TEXT.index(text)
        said = " and ".join(map(shown, ANY_TEXT))
        raise NotAValue(f"the values of {self.name} are not listed", f"{said} stand for any two of them")


def codes_of_words(words: tuple[str, ...], raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """The place of each raw value among the words, letter for letter."""
    code_of = {word: code for code, word in enumerate(words)}
    return np.fromiter((code_of.get(value, OUTSIDE) for value in raw), dtype=np.int64, count=len(raw))
