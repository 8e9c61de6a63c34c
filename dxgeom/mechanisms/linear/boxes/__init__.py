"""Noise for counts in very many boxes: measured along trees of each attribute's values, or along its line.

Touches ``mechanisms/linear`` and its ``marginals``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.boxes.bound import (
        boxes_bound as boxes_bound,
        worst_alone as worst_alone,
    )
    from dxgeom.mechanisms.linear.boxes.changes import (
        BoxChanges as BoxChanges,
        Pairs as Pairs,
        every_pair as every_pair,
        neighbours as neighbours,
    )
    from dxgeom.mechanisms.linear.boxes.box_measurement import (
        BoxMeasurement as BoxMeasurement,
        blocks_of as blocks_of,
    )
    from dxgeom.mechanisms.linear.boxes.factors import (
        Factor as Factor,
        Path as Path,
        Tree as Tree,
        trees as trees,
    )
    from dxgeom.mechanisms.linear.boxes.linear_boxes import (
        coefficients_of as coefficients_of,
        counted_boxes as counted_boxes,
        in_answers as in_answers,
    )
    from dxgeom.mechanisms.linear.boxes.measuring import (
        below as below,
        centred_sums as centred_sums,
        sibling_differences as sibling_differences,
        interleaved as interleaved,
    )
    from dxgeom.mechanisms.linear.boxes.mechanism import (
        BoxMechanism as BoxMechanism,
    )
    from dxgeom.mechanisms.linear.boxes.promises import (
        line_gaps as line_gaps,
        promised_of as promised_of,
    )
    from dxgeom.mechanisms.linear.boxes.question import (
        BoxQuestion as BoxQuestion,
        Promised as Promised,
        costs_of as costs_of,
    )
    from dxgeom.mechanisms.linear.boxes.random_volumes import (
        BoundedGauge as BoundedGauge,
        random_volume_bound as random_volume_bound,
    )
    from dxgeom.mechanisms.linear.boxes.scales import (
        BlockTables as BlockTables,
        best_scales as best_scales,
        block_variances as block_variances,
        require_enough as require_enough,
    )
    from dxgeom.mechanisms.linear.boxes.worst import (
        WorstScales as WorstScales,
        worst_scales as worst_scales,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
