"""What all releases of a ledger together may have told, under whatever policies.

Touches ``policy`` and ``ledger``; reads no data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.disclosure.all_releases import disclosed_loss as disclosed_loss

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
