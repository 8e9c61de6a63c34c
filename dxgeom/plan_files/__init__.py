"""Plans as files: all that decides a release's law, and nothing private; whatever a file says is proved again.

Lives here: writing a plan, reading one, and saying how two differ. Touches the planner, the queries and the policy
language, because a file holds all three; nothing but the command line touches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.plan_files.diff import differences as differences
    from dxgeom.plan_files.loading import load_plan as load_plan
    from dxgeom.plan_files.saving import save_plan as save_plan
    from dxgeom.plan_files.codec import plan_schema as plan_schema, release_schema as release_schema

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
