"""What people read: the review page of a policy, what a change of policy does, and pictures.

Lives here: the page, section by section, and its facts; how things look in notebooks; pictures of bodies and noise as
files, which need matplotlib, an optional library: ``dxgeom[plots]``. Reads no data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dxgeom.doors import doors_of
from dxgeom.numeric.optional_library import optional_library

if TYPE_CHECKING:
    from dxgeom.progress_line import ProgressLine as ProgressLine
    from dxgeom.report.changes import changes_page as changes_page
    from dxgeom.report.pictures import (
        contour_picture as contour_picture,
        improvement_picture as improvement_picture,
        noise_body_picture as noise_body_picture,
        projections_picture as projections_picture,
        solid_picture as solid_picture,
    )
    from dxgeom.report.released import read_release as read_release
    from dxgeom.report.review import review_page as review_page
    from dxgeom.report.showing import save as save

_open, __dir__, __all__ = doors_of(__name__, __file__)
_WITHOUT_PICTURES = {"Document", "changes_page", "Released", "read_release", "review_page", "ProgressLine"}


def __getattr__(name: str) -> Any:
    if name in __all__ and name not in _WITHOUT_PICTURES:
        optional_library("matplotlib", "plots", "pictures are drawn")
    return _open(name)
