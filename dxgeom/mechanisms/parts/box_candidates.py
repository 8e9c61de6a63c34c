"""Noise in blocks as a candidate of plans for linear queries that are all counts in boxes, whose names are kept.

The blocks of numbers that noise in boxes is added to, when it is noise in answers to linear queries.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.measured_parts import AskedBoxes, parts_in_answers


def in_answers(
    made: BoxMechanism, sensitivity: Sensitivity, left: NDArray[np.int64] | None = None
) -> AdditiveMechanism:
    """The same noise in the answers to linear queries, see :func:`parts_in_answers`. ``left``: the places of the boxes
    among these, None for all; others take none. Raises: TooLarge, CertificateRefused."""
    told = made.merged
    answers = np.arange(told.count) if left is None else left
    asked = [
        AskedBoxes(columns, answers[places], told.lower[places][:, list(columns)], told.upper[places][:, list(columns)])
        for columns, places in told.supports
    ]
    return parts_in_answers(made, sensitivity, asked)
