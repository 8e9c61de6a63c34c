"""An answer about one secret as it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class SecretAnswer:
    """What was answered: ``value``, a word, an exact number as text, or coordinates; ``unit``; in words, ``told``.

    ``errors``: what is known of its error, from public facts.
    """

    value: Any
    told: str
    unit: str
    errors: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The answer ready for JSON."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"value": self.value, "told": self.told, **unit, "errors": list(self.errors)}
