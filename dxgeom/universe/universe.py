"""The universe: every possible record there is, numbered from 0, and perhaps the absence of a record."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, TooLarge
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.reading.reading import PLAIN, FileForm, Reading, plain_reading

MOST_ATTRIBUTES: Final = 32
MOST_RECORD_TYPES: Final = 100_000_000
"""Of more possible records no histogram is made; whole tables of counts are read without one."""
_COMBINATIONS_BELOW: Final = 2**62


@final
@dataclass(frozen=True, eq=False)
class Universe:
    """The product of finite attributes, the last attribute's code running fastest; or what a table lists of it.

    ``listed``: None for the whole product, else the places in it of the records that exist, (n,) int64, in the table's
    order, which numbers them. ``presence``: a record may be absent. Then one more element, the last one, stands for no
    record: data never hold it, and every query gives it the weight 0. ``stated_reading``: how rows are read where a
    policy says more than the attributes do; see ``reading``. ``one_row_each``: whether it is stated that every person
    has one row, which is assumed in any case and changes no meaning. ``form``: how files of rows are written; of that
    only the names of columns are a part of the meaning.

    Laws: ``index(record(i)) == i`` for every possible record; sizes multiply; ``encode`` never yields the absent
    record.
    """

    attributes: tuple[Attribute, ...]
    presence: bool = False
    listed: NDArray[np.int64] | None = field(default=None, repr=False)
    stated_reading: Reading | None = field(default=None, repr=False)
    one_row_each: bool = field(default=False, repr=False, compare=False)
    form: FileForm = field(default=PLAIN, repr=False)

    def __post_init__(self) -> None:
        if self.stated_reading is not None and len(self.stated_reading.attributes) != len(self.attributes):
            raise DataError("a universe's reading has one entry for each of its attributes")
        if self.listed is None:
            return
        combinations = math.prod(self.shape)
        if combinations >= _COMBINATIONS_BELOW:
            raise TooLarge(f"the columns of a table of records make fewer than {_COMBINATIONS_BELOW:,} combinations")
        inside = self.listed.size > 0 and self.listed.min() >= 0 and self.listed.max() < combinations
        if not inside or np.unique(self.listed).size < self.listed.size:
            raise DataError("a table of records lists at least one record of its attributes, and none twice")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def record_types(self) -> int:
        """The number of possible records, without the absent record."""
        return math.prod(self.shape) if self.listed is None else len(self.listed)

    @property
    def size(self) -> int:
        """The number of elements: possible records, and the absent record where there is one."""
        return self.record_types + self.presence

    @property
    def indexable(self) -> bool:
        """Whether there are so few possible records that they are numbered, and a histogram can be made of them."""
        return len(self.attributes) <= MOST_ATTRIBUTES and self.record_types <= MOST_RECORD_TYPES

    def require_indexable(self, what: str) -> None:
        """Raises: TooLarge, naming what needs a histogram, where there are too many possible records for one."""
        if not self.indexable:
            raise TooLarge(
                f"{what} need a count of every possible record, and this policy has {len(self.attributes):,} "
                f"attributes and about 10^{len(str(self.record_types)) - 1} possible records: whole tables of counts "
                "alone are answered without, see dx.universe.MarginalQueries; or take a policy with fewer attributes "
                "or values"
            )

    @property
    def absent(self) -> int | None:
        """The index of the absent record, always the last; None where every record is present."""
        return self.record_types if self.presence else None

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """The columns of a table that say which record a row is: those of each attribute, in order."""
        return tuple(column for one in self.reading.attributes for column in one.columns)

    @cached_property
    def reading(self) -> Reading:
        """How a row of a table says which record it is."""
        own = tuple(map(plain_reading, self.attributes))
        return Reading(own) if self.stated_reading is None else self.stated_reading

    @property
    def reading_in_words(self) -> tuple[str, ...]:
        """A sentence for each attribute that is not read as it stands."""
        each = zip(self.attributes, self.reading.attributes, strict=True)
        return tuple(sentence for attribute, one in each for sentence in one.sentences(attribute))

    @property
    def meaning(self) -> dict[str, Any]:
        """What an index means, but for presence, ready for JSON: attributes, what is listed of them, how rows are read.

        Of a policy's fingerprint this is a part, in which the rule about presence has its own; see ``digest``.
        """
        meaning: dict[str, Any] = {"attributes": [attribute.digest for attribute in self.attributes]}
        if self.listed is not None:
            meaning["listed"] = self.listed.tolist()
        if self.stated_reading is not None:
            meaning["reading"] = self.stated_reading.digest
        if self.form.names:
            meaning["names"] = list(self.form.names)
        return meaning

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what every index means: universes with one digest count the same rows as the same records."""
        text = json.dumps({**self.meaning, "presence": self.presence}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def lists_the_same_records(self, other: Universe) -> bool:
        """Whether an index means the same record in both, and the same rows of tables count as it."""
        return self is other or self.digest == other.digest

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name.

        Raises: KeyError.
        """
        return dict(zip(self.names, self.attributes, strict=True))[name]

    def codes(self, index: int) -> tuple[int, ...]:
        """The code of each attribute in the possible record with that index.

        Raises: IndexError when there is no such possible record; the absent record has no codes; TooLarge.
        """
        self._require_numbered()
        if not 0 <= index < self.record_types:
            raise IndexError(f"record {index} does not exist: the universe has {self.record_types} possible records")
        place = index if self.listed is None else self.listed[index]
        return tuple(int(code) for code in np.unravel_index(place, self.shape))

    def record(self, index: int) -> dict[str, str]:
        """The possible record with that index, as labels by attribute name; nothing for the absent record."""
        if self.presence and index == self.absent:
            return {}
        codes = zip(self.attributes, self.codes(index), strict=True)
        return {attribute.name: attribute.labels[code] for attribute, code in codes}

    def index(self, record: Mapping[str, Any]) -> Any:
        """The index of a record, or an array of indices when the mapping holds columns of equal length.

        Raises: DataError naming the first value that is in no attribute, or a missing or unknown attribute.
        """
        unknown = [name for name in record if name not in self.names]
        missing = [name for name in self.names if name not in record]
        if unknown or missing:
            found = f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}"
            raise DataError(f"a record has exactly the attributes {', '.join(self.names)}; {found}")
        single = all(np.ndim(record[name]) == 0 for name in self.names)
        columns = {name: [record[name]] if single else record[name] for name in self.names}
        indices = self.encode(columns)
        if np.any(indices == OUTSIDE):
            row = int(np.argmax(indices == OUTSIDE))
            raise DataError(f"this record is not in the universe: { ({n: columns[n][row] for n in self.names}) }")
        return int(indices[0]) if single else indices

    def encode(self, columns: Mapping[str, Any]) -> NDArray[np.int64]:
        """Indices of rows given by columns; ``OUTSIDE`` where a cell is no value or a row is not listed."""
        return self.indices_of([attribute.encode(columns[attribute.name]) for attribute in self.attributes])

    def indices_of(self, codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Indices of rows given by the code of each attribute; ``OUTSIDE`` where any is, or no such row is listed.

        Raises: TooLarge where numbers of possible records do not fit 64 bits.
        """
        if not codes:
            raise DataError("a universe without attributes has no rows to encode")
        self._require_numbered()
        flat = np.zeros(len(codes[0]), dtype=np.int64)
        outside = np.zeros(len(codes[0]), dtype=np.bool_)
        for attribute, column in zip(self.attributes, codes, strict=True):
            flat = flat * attribute.size + column
            outside |= column == OUTSIDE
        return np.where(outside, OUTSIDE, flat if self.listed is None else self._ranks_of(flat))

    def _require_numbered(self) -> None:
        """Raises: TooLarge where numbers would go around in 64 bits, to those of other records."""
        if self.record_types >= _COMBINATIONS_BELOW:
            raise TooLarge(
                f"these attributes make about 10^{len(str(self.record_types)) - 1} possible records, too many to "
                "number one by one: take fewer attributes, or coarser ones"
            )

    def _ranks_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which listed record stands at each place of the product, ``OUTSIDE`` where none does."""
        ordered, rank = self._lookup
        at = np.minimum(np.searchsorted(ordered, places), ordered.size - 1)
        return np.where(ordered[at] == places, rank[at], OUTSIDE)

    @cached_property
    def _lookup(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        listed = np.arange(self.record_types) if self.listed is None else self.listed
        rank = np.argsort(listed)
        return listed[rank], rank

    @property
    def layout(self) -> tuple[int, ...]:
        """The shape of an array over the possible records before it is flattened: an axis per attribute, or one of
        rows."""
        return self.shape if self.listed is None else (len(self.listed),)

    @cached_property
    def listed_codes(self) -> tuple[NDArray[np.int64], ...]:
        """The code of each attribute in every possible record, in order."""
        places = np.arange(self.record_types) if self.listed is None else self.listed
        return tuple(np.asarray(codes, dtype=np.int64) for codes in np.unravel_index(places, self.shape))

    def spread(self, place: int, by_code: NDArray[Any]) -> NDArray[Any]:
        """Entries by code of the attribute at ``place``, shaped to broadcast over the layout."""
        if self.listed is not None:
            return by_code[self.listed_codes[place]]
        shape = [1] * len(self.shape)
        shape[place] = self.shape[place]
        return by_code.reshape(shape)

    def laid_out(self, entries: NDArray[Any]) -> NDArray[Any]:
        """An array that broadcasts over the layout as one flat row (size,); 0 or False for the absent record."""
        flat = np.empty(self.size, dtype=entries.dtype)
        flat[: self.record_types] = np.broadcast_to(entries, self.layout).ravel()
        flat[self.record_types :] = 0
        return flat
