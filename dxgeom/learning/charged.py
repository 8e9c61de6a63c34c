"""A fit as a release: what is refused first, how many fits were asked for, and the charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dxgeom.errors import AlreadyCharged, DxgeomError, UnsupportedCombination, WrongArgument
from dxgeom.learning.plain_models import Prepared
from dxgeom.ledger.ledger import Ledger
from dxgeom.planner.releases.answer_once import release


def refuse_weights(weights: dict[str, Any]) -> None:
    """Raises: UnsupportedCombination, WrongArgument for any further argument of a fit."""
    if "sample_weight" in weights:
        raise UnsupportedCombination(
            "sample weights are refused: a record of weight w tells w times as much, and the guarantee is for records "
            "that weigh 1; leave them out, or repeat no row"
        )
    if weights:
        raise WrongArgument(f"fit takes X and y, found also {', '.join(sorted(weights))}")


def charged_fit(estimator: Any, prepared: Prepared, ledger: str | Path | Ledger) -> Any:
    """The release of a prepared fit; counted among those that the estimator and its clones may make."""
    if isinstance(estimator.fits, bool) or not isinstance(estimator.fits, int) or estimator.fits < 1:
        raise WrongArgument(f"'fits' is how many fits may be charged, a whole number from 1, found {estimator.fits!r}")
    estimator.lineage.count(estimator.fits)
    try:
        return release(
            prepared.mechanism,
            prepared.data,
            ledger=ledger,
            spend=prepared.spend,
            purpose=estimator.purpose,
            id=estimator.id,
            insecure_test_seed=estimator.insecure_test_seed,
        )
    except DxgeomError as error:
        if not isinstance(error, AlreadyCharged):
            estimator.lineage.take_back()
        raise
