"""Histograms learnt from private answers by multiplicative weights, with bounds on how far off they can be.

Touches ``selection``, ``linear`` and everything below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.synthetic.graphical_model import (
        NoisyTable as NoisyTable,
        by_graphical_model as by_graphical_model,
        estimate as estimate,
        require_whole_marginals as require_whole_marginals,
    )
    from dxgeom.mechanisms.synthetic.models import (
        Boxes as Boxes,
        CliqueModel as CliqueModel,
        CliqueTree as CliqueTree,
        HistogramModel as HistogramModel,
        Known as Known,
        TableAnswers as TableAnswers,
        TableSums as TableSums,
        fit as fit,
        last_passes as last_passes,
        tree_of_cliques as tree_of_cliques,
    )
    from dxgeom.mechanisms.synthetic.multiplicative_weights import (
        Mwem as Mwem,
        measured_at_once as measured_at_once,
        mwem as mwem,
    )
    from dxgeom.mechanisms.synthetic.synthetic import (
        IntegerQueries as IntegerQueries,
        LastLook as LastLook,
        Measurement as Measurement,
        SyntheticHistogram as SyntheticHistogram,
        histogram_bytes as histogram_bytes,
        integer_queries as integer_queries,
        kept_histogram as kept_histogram,
        known_blocks as known_blocks,
        decoded_histogram as decoded_histogram,
        whole_counts as whole_counts,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
