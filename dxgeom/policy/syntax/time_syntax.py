"""``time:``, the periods that answers are about; whether they are whole is checked with their meaning."""

from __future__ import annotations

from abc import ABC
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, final

from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema, create_model

from dxgeom.policy.kinds.kind import AttributeKeys, Zone
from dxgeom.policy.source.fields import Day, wrong_field
from dxgeom.universe.periods import Every

_WRITTEN_AS: Final = AttributeKeys.model_fields["written"]


def _no(value: Any) -> Literal["false"]:
    if value not in (False, "false"):
        raise wrong_field(
            "DX108", "what lies outside the window is kept, or 'false' stands here", "write before: false"
        )
    return "false"


_No = Annotated[Literal["false"] | None, PlainValidator(_no), WithJsonSchema({"enum": [False, "false"]})]


class TimeKeys(BaseModel, ABC):
    """What ``time`` says, but for its first day, whose key is a word of Python."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    column: str


if TYPE_CHECKING:

    @final
    class TimeSyntax(TimeKeys):
        """``{column, from, to, every, zone, written, title, before, after}``."""

        to: date
        every: Every
        zone: str | None = None
        written: tuple[str, ...] | None = None
        title: str | None = None
        before: Literal["false"] | None = None
        after: Literal["false"] | None = None

else:
    _FIELDS = {
        "from": (Day, ...),
        "to": (Day, ...),
        "every": (Every, ...),
        "zone": (Zone | None, None),
        "written": (Annotated[_WRITTEN_AS.annotation, *_WRITTEN_AS.metadata], None),
        "title": (str | None, None),
        "before": (_No, None),
        "after": (_No, None),
    }
    TimeSyntax = create_model("TimeSyntax", __base__=TimeKeys, __module__=__name__, **_FIELDS)


def first_day(stated: TimeSyntax) -> date:
    """What stands behind ``from``."""
    found: date = getattr(stated, "from")
    return found
