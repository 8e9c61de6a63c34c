"""Moments: texts that name one, and what clocks somewhere show at it."""

from __future__ import annotations

from typing import Any, Final

import ibis
import ibis.expr.datatypes as dt

_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = "[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
_OFFSET: Final = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_INSTANT: Final = dt.Timestamp(timezone="UTC")


def _of_the_engine(zone: str, instant: Any) -> Any:
    """Named only; the engine has the function."""


_clocks: Final[Any] = ibis.udf.scalar.builtin(name="timezone", signature=((dt.string, _INSTANT), dt.timestamp))(
    _of_the_engine
)


def at_clocks(zone: str | None, instant: Any) -> Any:
    """What clocks in a zone show at an instant."""
    return _clocks(ibis.literal(zone), instant)


def moments_of_text(column: Any, *, with_hours: bool) -> Any:
    """The moments that texts such as 2024-02-29 or 2024-02-29 13:45 name; null for any other, and for those that name
    a zone, which would be left unheard."""
    named = column.re_search(f"^{_DAY}{_CLOCK}$" if with_hours else f"^{_DAY}({_CLOCK})?$")
    return ibis.ifelse(named, column, ibis.null("string")).try_cast(dt.timestamp)


def instants_of_text(column: Any) -> Any:
    """The instants that texts such as 2024-02-29T13:45Z or 2024-02-29 13:45+01:00 name; null for any other."""
    named = column.re_search(f"^{_DAY}{_CLOCK}{_OFFSET}$")
    return ibis.ifelse(named, column, ibis.null("string")).try_cast(_INSTANT)
