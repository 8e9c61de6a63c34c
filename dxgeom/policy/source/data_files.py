"""CSV files beside a policy: read from its folder only, with a stated size, into exact columns.

Regions in a GeoJSON file (RFC 7946): read from the policy's folder only, with stated sizes.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.policy.source.fields import THE_LIST, EdgeList
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.text import Folder, Unreadable, decoded, read_beside
from dxgeom.universe.columns import Column, NumberColumn, TextColumn
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.wording import shown


@final
class NotCommaSeparated(Exception):
    """The text is no comma-separated text; the message says why, ``line`` where. Callers turn it into their error."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.line = line


@final
class TooManyCells(Exception):
    """The text holds more cells than were allowed. Callers turn it into their error."""


def comma_rows(lines: Iterable[str], most_cells: int) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty lines, each with the line it ends on.

    Raises: NotCommaSeparated; TooManyCells before more than ``most_cells`` were handed out.
    """
    reader = csv.reader(lines, strict=True)
    cells = 0
    try:
        for row in reader:
            cells += len(row)
            if cells > most_cells:
                raise TooManyCells
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise NotCommaSeparated(str(error), reader.line_num) from error


MAX_DATA_BYTES: Final = 64 << 20
MAX_ROWS: Final = 1_000_000
_MAX_CELLS: Final = 20_000_000


@final
class WrongContent(Exception):
    """A data file was read but its content is wrong; the text says where and why. Never leaves this module."""


Read = TypeVar("Read")


def read_or_note(read: Callable[[], Read], mistakes: Mistakes, span: Span, what: str, form: str = "CSV") -> Read | None:
    """What ``read`` makes of a file; None when it cannot, which is then noted where the file is named.

    Args: ``what`` it is, with its name, and in which ``form``, for the message.
    """
    try:
        return read()
    except Unreadable as error:
        advice = f"name a {form} file in the policy's own folder or below it"
        mistakes.add("DX114", span, f"{what}: {error}", advice)
    except WrongContent as error:
        mistakes.add("DX115", span, str(error))
    return None


@final
@dataclass(frozen=True)
class CsvTable:
    """A header and rows of equal length; ``lines``: the line of the file each row ends on.

    ``counted``: what the numbers in ``lines`` count, which are not lines where a policy lists the rows itself.
    """

    file: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    counted: str = "line"
    _read: dict[str, tuple[Fraction, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def at(self, line: int) -> str:
        """A row's place, as messages tell it."""
        return f"{self.file}, {self.counted} {line}"

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of a column.

        Raises: WrongContent when there is none of that name.
        """
        if name not in self.header:
            known = ", ".join(map(shown, self.header[:20]))
            raise WrongContent(f"{self.file} has no column {shown(name)}; it has {known}")
        place = self.header.index(name)
        return tuple(row[place] for row in self.rows)

    def numbers(self, name: str) -> tuple[Fraction, ...]:
        """The cells of a column as exact decimals.

        Raises: WrongContent naming the first cell that is none.
        """
        if name not in self._read:
            self._read[name] = self._decimals(name)
        return self._read[name]

    def _decimals(self, name: str) -> tuple[Fraction, ...]:
        found = []
        for cell, line in zip(self.column(name), self.lines, strict=True):
            try:
                found.append(exact(cell.strip()))
            except NotANumber as error:
                raise WrongContent(f"{self.at(line)}: {name} is {shown(cell)}: {error}") from error
        return tuple(found)


def read_csv(folder: Folder | None, name: str) -> CsvTable:
    """Read a CSV file by its name relative to ``folder``.

    Raises: Unreadable when it may not or cannot be opened, WrongContent when it is no table.
    """
    text = decoded(read_beside(folder, name, MAX_DATA_BYTES))
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    try:
        for line, row in comma_rows(io.StringIO(text), _MAX_CELLS):
            if len(rows) > MAX_ROWS:
                raise TooManyCells
            rows.append(tuple(row))
            lines.append(line)
    except TooManyCells as error:
        raise WrongContent(f"{name} has more than {MAX_ROWS:,} rows or {_MAX_CELLS:,} cells") from error
    except NotCommaSeparated as error:
        raise WrongContent(f"{name}, line {error.line}: this is not CSV: {error}") from error
    return _table(name, rows, lines)


def _table(name: str, rows: list[tuple[str, ...]], lines: list[int]) -> CsvTable:
    if len(rows) < 2:
        raise WrongContent(f"{name} needs a header line and at least one row below it")
    header = tuple(cell.strip() for cell in rows[0])
    if len(set(header)) < len(header) or "" in header:
        raise WrongContent(f"{name}: the columns of the header need distinct names that are not empty")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise WrongContent(f"{name}, line {line}: {len(row)} cells under a header of {len(header)}")
    return CsvTable(name, header, tuple(rows[1:]), tuple(lines[1:]))


def listed_rows(file: str, counted: str, header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> CsvTable:
    """Rows that a policy lists itself, as if a file had them. Args: as of :class:`CsvTable`."""
    return CsvTable(file, header, rows, tuple(range(1, len(rows) + 1)), counted)


def edges_of(folder: Folder | None, edges: str | EdgeList, number: str) -> CsvTable:
    """The edges of a file, or those of a list: two columns of ends and perhaps one, ``number``, of their numbers.

    Raises: Unreadable, WrongContent.
    """
    if isinstance(edges, str):
        return read_csv(folder, edges)
    header = ("one end", "the other end", number)
    return listed_rows(THE_LIST, "edge", header[: len(edges[0])], edges)


def read_words(folder: Folder | None, name: str) -> tuple[str, ...]:
    """The lines of a text file, by its name relative to ``folder``.

    Raises: Unreadable when it may not or cannot be opened, WrongContent for an empty line, or the same word twice.
    """
    words = decoded(read_beside(folder, name, MAX_DATA_BYTES)).removesuffix("\n").split("\n")
    words = [word.removesuffix("\r") for word in words]
    if len(words) > MAX_ROWS:
        raise WrongContent(f"{name} has more than {MAX_ROWS:,} lines")
    first: dict[str, int] = {}
    for line, word in enumerate(words, start=1):
        if not word.strip():
            raise WrongContent(f"{name}, line {line}: a word is expected here, found an empty line")
        if word in first:
            raise WrongContent(f"{name}, line {line}: the word {shown(word)} is already in line {first[word]}")
        first[word] = line
    return tuple(words)


def check_keys(keys: tuple[str, ...], table: CsvTable) -> None:
    """Names of values are distinct and not empty. Raises: WrongContent."""
    first: dict[str, int] = {}
    for key, line in zip(keys, table.lines, strict=True):
        if not key:
            raise WrongContent(f"{table.at(line)}: the key is empty")
        if key in first:
            raise WrongContent(f"{table.at(line)}: the key {shown(key)} is already in line {first[key]}")
        first[key] = line


def column_of(table: CsvTable, name: str) -> Column:
    """A column of numbers if every cell is a decimal, else of words."""
    try:
        return NumberColumn(name, table.numbers(name))
    except WrongContent:
        return TextColumn(name, table.column(name))


MAX_BYTES: Final = 16 << 20
MAX_REGIONS: Final = 100_000
_LARGEST: Final = (180.0, 90.0)
_REFERENCES: Final = frozenset(
    {"urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84", "urn:ogc:def:crs:EPSG::4326", "EPSG:4326"}
)


@final
class Numeral(str):
    """A JSON number, as it was written."""

    __slots__ = ()


@final
@dataclass(frozen=True, eq=False)
class Feature:
    """A region: where the file has it, what is known about it, and its polygons, each a list of closed rings."""

    place: str
    properties: Mapping[str, Any]
    polygons: tuple[tuple[NDArray[np.float64], ...], ...]


def read_geojson(folder: Folder | None, name: str) -> tuple[Feature, ...]:
    """The features of a GeoJSON file by its name relative to ``folder``, in the file's order.

    Raises: Unreadable when it may not or cannot be opened, WrongContent when it is no collection of polygons.
    """
    document = _json(name, decoded(read_beside(folder, name, MAX_BYTES)))
    if not isinstance(document, dict) or document.get("type") != "FeatureCollection":
        raise WrongContent(f"{name} is not a GeoJSON FeatureCollection")
    _check_reference(name, document.get("crs"))
    features = document.get("features")
    if not isinstance(features, list) or not features:
        raise WrongContent(f"{name} has no features; each region is one")
    if len(features) > MAX_REGIONS:
        raise WrongContent(f"{name} has {len(features):,} features; at most {MAX_REGIONS:,} regions are handled")
    return tuple(_feature(f"{name}, feature {number}", one) for number, one in enumerate(features, start=1))


def _json(name: str, text: str) -> Any:
    try:
        document = json.loads(
            text,
            parse_float=Numeral,
            parse_int=Numeral,
            parse_constant=lambda word: _refuse(f"{name}: {word} is no number of JSON"),
            object_pairs_hook=lambda pairs: _distinct(name, pairs),
        )
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode("utf-8")
        return document
    except UnicodeEncodeError as error:
        raise WrongContent(f"{name} holds half a character: a surrogate without the other one") from error
    except RecursionError as error:
        raise WrongContent(f"{name}: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise WrongContent(f"{name}, line {error.lineno}: this is not JSON: {error.msg}") from error


def _refuse(message: str) -> Any:
    raise WrongContent(message)


def _distinct(name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise WrongContent(f"{name}: the key {shown(twice)} stands twice in one object")
    return found


def _check_reference(name: str, crs: Any) -> None:
    """Older files name their coordinate system; anything but longitude and latitude would be misread."""
    if crs is None:
        return
    properties = crs.get("properties") if isinstance(crs, dict) else None
    said = properties.get("name") if isinstance(properties, dict) else None
    if said not in _REFERENCES:
        found = shown(said) if isinstance(said, str) else "another"
        raise WrongContent(
            f"{name}: coordinates are WGS 84 longitudes and latitudes (EPSG:4326), found the coordinate system "
            f"{found}; convert the file"
        )


def _feature(place: str, feature: Any) -> Feature:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        raise WrongContent(f"{place}: this is not a GeoJSON Feature")
    properties = feature.get("properties")
    geometry = feature.get("geometry")
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if not isinstance(geometry, dict) or kind not in ("Polygon", "MultiPolygon"):
        found = shown(kind) if isinstance(kind, str) else "none"
        raise WrongContent(f"{place}: a region is a Polygon or a MultiPolygon, found {found}")
    parts = geometry.get("coordinates")
    parts = [parts] if kind == "Polygon" else parts
    if not isinstance(parts, list) or not parts:
        raise WrongContent(f"{place}: the {kind} has no coordinates")
    polygons = tuple(_polygon(place, rings) for rings in parts)
    return Feature(place, properties if isinstance(properties, dict) else {}, polygons)


def _polygon(place: str, rings: Any) -> tuple[NDArray[np.float64], ...]:
    if not isinstance(rings, list) or not rings:
        raise WrongContent(f"{place}: a polygon is a list of rings, found none")
    return tuple(_ring(place, ring) for ring in rings)


def _ring(place: str, ring: Any) -> NDArray[np.float64]:
    if not isinstance(ring, list) or len(ring) < 4:
        raise WrongContent(f"{place}: a ring has at least four positions, the last one equal to the first")
    positions = np.array([_position(place, position) for position in ring], dtype=np.float64)
    if tuple(positions[0]) != tuple(positions[-1]):
        raise WrongContent(f"{place}: a ring ends where it begins, found {_words(ring[0])} and {_words(ring[-1])}")
    return positions


def _position(place: str, position: Any) -> tuple[float, float]:
    """Longitude and latitude; heights are left out."""
    wellformed = isinstance(position, list) and len(position) in (2, 3)
    if not wellformed or not all(isinstance(number, Numeral) for number in position):
        raise WrongContent(f"{place}: a position is [longitude, latitude], both numbers")
    longitude, latitude = float(position[0]), float(position[1])
    if not (math.fabs(longitude) <= _LARGEST[0] and math.fabs(latitude) <= _LARGEST[1]):
        raise WrongContent(
            f"{place}: longitudes lie between -180 and 180 degrees, latitudes between -90 and 90, found "
            f"{_words(position)}"
        )
    return longitude, latitude


def _words(position: Any) -> str:
    return f"[{', '.join(number[:20] for number in position[:2])}]"
