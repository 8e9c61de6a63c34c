"""What readers see instead of names and values; in no fingerprint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class PolicyLabels:
    """``titles``: of attributes, by name; ``values``: what their values are called, by attribute and value; ``units``:
    what their numbers are in; ``people``: what those are called whom records are of. What is not in them is called what
    the policy calls it."""

    titles: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]]
    units: Mapping[str, str]
    people: str = "people"

    def __bool__(self) -> bool:
        return bool(self.titles or self.values)

    def attribute(self, name: str) -> str:
        """What an attribute is called."""
        return self.titles.get(name, name)

    def value(self, name: str, value: str) -> str:
        """What a value of an attribute is called."""
        return self.values.get(name, {}).get(value, value)

    def values_of(self, name: str, values: Sequence[str]) -> tuple[str, ...]:
        """What values of an attribute are called."""
        return tuple(self.value(name, value) for value in values)

    def answer(self, name: str, group: Mapping[str, str]) -> str:
        """What an answer about a group is called; its name holds ``attribute=value`` for each attribute of these.

        All at once and whole words only: ``x=1`` is no part of ``max=1``, and none of what a label says.
        """
        said = {f"{attribute}={value}": self._pair(attribute, str(value)) for attribute, value in group.items()}
        each = "|".join(re.escape(one) for one in sorted(said, key=len, reverse=True))
        return re.sub(rf"(?<!\S)(?:{each})(?![^\s,])", lambda found: said[found[0]], name) if said else name

    def _pair(self, attribute: str, value: str) -> str:
        called, title = self.value(attribute, value), self.attribute(attribute)
        return called if called != value else f"{attribute}={value}" if title == attribute else f"{title}: {value}"
