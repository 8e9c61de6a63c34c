"""A library that is loaded when it is first used: Ibis takes half a second, and small files of text do without it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import ibis


@final
@dataclass(frozen=True)
class _Later:
    """Stands for the library ``called``; whatever is asked of it, is asked of that."""

    called: str

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.called), name)


if not TYPE_CHECKING:
    ibis = _Later("ibis")

__all__ = ["ibis", "is_of_ibis"]


def is_of_ibis(table: Any) -> bool:
    """Whether a table is one of Ibis; by name, so that it is not loaded for tables of others."""
    return any(kind.__name__ == "Table" and kind.__module__.startswith("ibis.") for kind in type(table).__mro__)
