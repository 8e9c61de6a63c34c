"""A fit as a release: what is refused first, how many fits were asked for, and the charge."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dxgeom.errors import AlreadyCharged, DxgeomError, UnsupportedCombination, WrongArgument
from dxgeom.learning.plain_models import Prepared
from dxgeom.ledger.ledger import Ledger
from dxgeom.planner.releases.answer_once import release

_LITTLE: Final = 0.05


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
    if not getattr(prepared.mechanism, "absence", False):  # else how many there are is private
        warn_of_little(prepared.mechanism, len(prepared.data), prepared.spend, len(prepared.mechanism.columns) - 1)
    return charged(
        estimator,
        lambda: release(
            prepared.mechanism,
            prepared.data,
            ledger=ledger,
            spend=prepared.spend,
            purpose=estimator.purpose,
            id=estimator.id,
            insecure_test_seed=estimator.insecure_test_seed,
        ),
    )


def charged(estimator: Any, released: Callable[[], Any]) -> Any:
    """What a release gives, counted as a fit of the estimator and its clones, unless it was refused."""
    if isinstance(estimator.fits, bool) or not isinstance(estimator.fits, int) or estimator.fits < 1:
        raise WrongArgument(f"'fits' is how many fits may be charged, a whole number from 1, found {estimator.fits!r}")
    estimator.lineage.count(estimator.fits)
    try:
        return released()
    except DxgeomError as error:
        if not isinstance(error, AlreadyCharged):
            estimator.lineage.take_back()
        raise


def warn_of_little(fit: Any, records: int, spend: Fraction, features: int) -> None:
    """Before anything is charged, from public figures: the records' number, the features, the spend.

    ``fit``: says by ``signal_kept`` what of a coefficient can be expected to be left.
    """
    kept = fit.signal_kept(records, spend)
    if kept < _LITTLE:
        warnings.warn(
            f"{records:,} records at a spend of {float(spend):g} tell next to nothing of {features} features: about "
            f"{kept:.0%} of a coefficient can be expected to be left of noise and ridge; spend more, or ask for fewer "
            "features",
            stacklevel=4,
        )
