"""A start: a policy and queries from the columns of one's own table, and examples with their data.

Lives here: what is declared of columns, the two files as texts, the examples. Touches the engines, for names and types
of columns, and for values that were declared public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.starting.drafts import Draft as Draft, draft_of as draft_of
    from dxgeom.starting.examples import example_names as example_names, write_example as write_example

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
