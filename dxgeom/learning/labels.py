"""The two classes of a binary response."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError


def two_classes(y: NDArray[Any], classes: Any) -> NDArray[Any]:
    """The classes (2,) in order: those stated, or the two that there are, which then are public.

    Raises: ArrayError for labels that are no classes, and unless there are two.
    """
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ArrayError("Input y contains NaN or infinity: a label names a class")
    if y.dtype.kind == "f" and np.any(y != np.floor(y)):
        raise ArrayError("Unknown label type: continuous. A classifier's labels name classes; these are numbers")
    try:
        found = np.unique(y)
    except TypeError as error:
        raise ArrayError("Unknown label type: unknown. Labels are numbers or words") from error
    if classes is not None:
        stated = np.unique(np.asarray(classes))
        if len(stated) != 2:
            raise ArrayError(f"'classes' names the two classes, found {classes!r}")
        if not np.all(np.isin(found, stated)):
            raise ArrayError(f"a label is none of the classes {stated.tolist()}; correct it, or drop its row")
        return stated
    if len(found) > 2:
        raise ArrayError(
            f"Only binary classification is supported. The type of the target is multiclass: {len(found)} classes."
        )
    if len(found) < 2:
        raise ArrayError(
            "these labels are of 1 class, and a classifier tells two apart: state both, classes=(0, 1), which keeps it "
            "private that only one occurs"
        )
    return found
