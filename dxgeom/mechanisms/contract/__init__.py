"""What every mechanism offers, compositions of mechanisms, and what a release tells about groups.

Touches ``metrics``, ``ledger`` accounts and ``numeric``; knows no particular mechanism.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.contract.composition import (
        Parallel as Parallel,
        PostProcessed as PostProcessed,
        Sequential as Sequential,
        followed_by as followed_by,
        histogram_readers as histogram_readers,
        in_parallel as in_parallel,
        in_sequence as in_sequence,
        kept_by as kept_by,
        least_error_shares as least_error_shares,
        metrics_of_rows as metrics_of_rows,
    )
    from dxgeom.mechanisms.contract.group_losses import group_loss as group_loss
    from dxgeom.mechanisms.contract.mechanism import (
        Mechanism as Mechanism,
        account_of as account_of,
        digest_of as digest_of,
        fraction_bytes as fraction_bytes,
        kept_numbers as kept_numbers,
        decoded_numbers as decoded_numbers,
        require_spend as require_spend,
    )
    from dxgeom.mechanisms.contract.readers import (
        CountedTables as CountedTables,
        HistogramMechanism as HistogramMechanism,
        RowReader as RowReader,
        TableReader as TableReader,
        require_counts_of as require_counts_of,
        require_own_records as require_own_records,
    )
    from dxgeom.mechanisms.contract.secret_mechanism import (
        SecretMechanism as SecretMechanism,
        require_one_record as require_one_record,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
