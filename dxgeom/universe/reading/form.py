"""How a table's file is written, as far as a policy says it: nothing of it is found out from the rows."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True)
class FileForm:
    """How a file of rows is written.

    ``separator``: None where the file's name says it; ``quote``: empty where no sign is one; ``header``: the line that
    names the columns, 0 where none does and ``names`` are theirs; ``sheet``: of a workbook, None for its only one;
    ``line_breaks``: whether cells may hold them. What tables of typed columns say themselves is not asked here.
    """

    separator: str | None = None
    quote: str = '"'
    encoding: str = "utf-8"
    header: int = 1
    names: tuple[str, ...] = ()
    sheet: str | None = None
    line_breaks: bool = False

    @property
    def utf8(self) -> bool:
        """Whether the engine reads it as it is; other encodings are decoded first."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")


PLAIN: Final = FileForm()
"""Commas, quotation marks, UTF-8, and a first line that names the columns."""
