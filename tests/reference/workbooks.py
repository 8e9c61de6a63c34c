"""Workbooks (.xlsx) as the smallest files that are such: text, numbers, days and moments in sheets."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import escape

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_FIRST_DAY = datetime(1899, 12, 30)
"""Workbooks count days from here."""
_FORMS = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 22))
_STYLES = f'<styleSheet {_MAIN}><cellXfs count="3">{_FORMS}</cellXfs></styleSheet>'


_Place = TypeVar("_Place", Path, BytesIO)


def write_workbook(path: _Place, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> _Place:
    """A workbook of these sheets, a list of rows each; None is an empty cell. Returns: where it was written to."""
    parts = {f"xl/worksheets/sheet{place}.xml": _sheet(rows) for place, rows in enumerate(sheets.values(), 1)}
    named = "".join(f'<sheet name="{escape(n)}" sheetId="{k}" r:id="r{k}"/>' for k, n in enumerate(sheets, 1))
    leading = "".join(
        f'<Relationship Id="r{k}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{k}.xml"/>'
        for k in range(1, len(sheets) + 1)
    )
    types = "".join(f'<Override PartName="/{part}" ContentType="{_TYPE}.worksheet+xml"/>' for part in parts)
    leading += f'<Relationship Id="styles" Type="{_OFFICE}/styles" Target="styles.xml"/>'
    parts |= {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{types}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{leading}</Relationships>',
        "xl/styles.xml": _STYLES,
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, text in parts.items():
            book.writestr(name, _HEAD + text)
    return path


def _sheet(rows: Sequence[Sequence[Any]]) -> str:
    lines = "".join(
        f'<row r="{r}">{"".join(_cell(c, r, k) for k, c in enumerate(row))}</row>' for r, row in enumerate(rows, 1)
    )
    return f"<worksheet {_MAIN}><sheetData>{lines}</sheetData></worksheet>"


def _cell(value: Any, row: int, column: int) -> str:
    place = f'r="{chr(ord("A") + column)}{row}"'
    match value:
        case None:
            return ""
        case datetime():
            return f'<c {place} s="2"><v>{(value - _FIRST_DAY).total_seconds() / 86400!r}</v></c>'
        case date():
            return f'<c {place} s="1"><v>{(datetime.combine(value, datetime.min.time()) - _FIRST_DAY).days}</v></c>'
        case bool():
            return f'<c {place} t="b"><v>{int(value)}</v></c>'
        case int() | float():
            return f"<c {place}><v>{value!r}</v></c>"
        case _:
            return f'<c {place} t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'
