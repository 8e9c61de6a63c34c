"""Histograms learnt from private answers by multiplicative weights, with bounds on how far off they can be.

Touches ``selection``, ``linear`` and everything below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.synthetic.clique_model import CliqueModel as CliqueModel
    from dxgeom.mechanisms.synthetic.clique_tree import CliqueTree as CliqueTree, tree_of_cliques as tree_of_cliques
    from dxgeom.mechanisms.synthetic.common_unit import (
        IntegerQueries as IntegerQueries,
        integer_queries as integer_queries,
    )
    from dxgeom.mechanisms.synthetic.fitting import Known as Known, fit as fit, last_passes as last_passes
    from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model as by_graphical_model
    from dxgeom.mechanisms.synthetic.graphical_model import (
        NoisyTable as NoisyTable,
        estimate as estimate,
        require_whole_marginals as require_whole_marginals,
    )
    from dxgeom.mechanisms.synthetic.histogram_model import HistogramModel as HistogramModel
    from dxgeom.mechanisms.synthetic.measure_at_once import measured_at_once as measured_at_once
    from dxgeom.mechanisms.synthetic.multiplicative_weights import Mwem as Mwem, mwem as mwem
    from dxgeom.mechanisms.synthetic.round_shares import (
        best_rounds as best_rounds,
        share_of_round as share_of_round,
        worth_it as worth_it,
    )
    from dxgeom.mechanisms.synthetic.synthetic import (
        LastLook as LastLook,
        Measurement as Measurement,
        SyntheticHistogram as SyntheticHistogram,
        known_blocks as known_blocks,
        whole_counts as whole_counts,
    )
    from dxgeom.mechanisms.synthetic.table_answers import TableAnswers as TableAnswers
    from dxgeom.mechanisms.synthetic.table_sums import Boxes as Boxes, TableSums as TableSums
    from dxgeom.mechanisms.synthetic.kept_histograms import (
        histogram_bytes as histogram_bytes,
        kept_histogram as kept_histogram,
        recalled_histogram as recalled_histogram,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
