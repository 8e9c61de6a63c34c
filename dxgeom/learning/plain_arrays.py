"""Plain arrays: their account, their public bounds, the mechanism of a fit, and its charge."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import AlreadyCharged, ArrayError, DxgeomError, LedgerError, UnsupportedCombination, WrongArgument
from dxgeom.learning.conventions import column_names, numbers, one_response_each
from dxgeom.learning.features import ROUNDED, Change, FeatureGroup, Features
from dxgeom.learning.objective import LogisticLoss
from dxgeom.learning.perturbation import ObjectivePerturbation
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.releases.answer_once import release
from dxgeom.universe.reading.record_tables import SYNTHETIC

PLAIN: Final = canonical_digest("plain arrays", "replacing a record by any other is one nat at spend 1")
"""One account for whatever columns and bounds: the promise is about whole records, so spends on them add up."""
TITLE: Final = "plain arrays"


def plain_account(budget: Fraction) -> Account:
    """The account of people whose records are rows of arrays, under ordinary differential privacy."""
    return Account(TITLE, PLAIN, budget)


def open_ledger(path: str | Path, budget: Amount) -> Ledger:
    """A ledger for estimators on plain arrays, with so many nats of ε in all; begun where there is none.

    ":memory:" is one that is forgotten when it is closed; estimators that share it share its budget.
    Raises: LedgerError when the file cannot be used or is another policy's.
    """
    return Ledger.open(path, policy_fingerprint=PLAIN, policy_name=TITLE, budget=exact_amount(budget, "budget"))


def usable_ledger(ledger: object) -> str | Path | Ledger:
    """The ledger that an estimator was given.

    Raises: LedgerError for none, and for one in memory by name, which would begin anew with every fit.
    """
    if ledger is None:
        raise LedgerError(
            "a fit is a release, and its spend is written down before anything is drawn: give the estimator a ledger, "
            "ledger='privacy.db', or one that is open"
        )
    require(ledger, (str, Path, Ledger), "ledger", "name a file, such as 'privacy.db', or give an open ledger")
    if isinstance(ledger, str) and ledger == ":memory:":
        raise LedgerError(
            "':memory:' would be a new budget with every fit: open it once, ledger=dx.learning.open_ledger(':memory:', "
            "budget), and let all estimators share it"
        )
    return ledger  # type: ignore[return-value]


Outside: TypeAlias = Literal["refuse", "clip"]


@final
@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """low ≤ x ≤ high for each column; ``low``, ``high`` (p,): float64, finite, low < high."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def middle(self) -> NDArray[np.float64]:
        """(p,): what is scaled to 0."""
        return np.asarray(self.low / 2 + self.high / 2)

    @property
    def half(self) -> NDArray[np.float64]:
        """(p,): what a distance of 1 is worth."""
        return np.asarray(self.high / 2 - self.low / 2)

    @property
    def around_zero(self) -> ColumnBounds:
        """The least bounds that hold these and are symmetric: for a model without an intercept, where 0 stays 0."""
        reach = np.maximum(np.abs(self.low), np.abs(self.high))
        return ColumnBounds(-reach, reach)

    def scaled(self, table: NDArray[np.float64], outside: Outside, what: str = "X") -> NDArray[np.float64]:
        """Rows (n, p) within [−1, 1]ᵖ, each a function of its own row alone.

        Raises: ArrayError for rows beyond the bounds, unless they are to be clipped; nothing was spent.
        """
        beyond = np.any((table < self.low) | (table > self.high), axis=1)
        _refuse(int(beyond.sum()), len(table), outside, f"{what} has rows beyond its bounds")
        return np.clip((np.clip(table, self.low, self.high) - self.middle) / self.half, -1.0, 1.0)


def column_bounds(bounds: Any, columns: int, what: str = "bounds") -> ColumnBounds:
    """Bounds for so many columns: a pair of numbers for all of them, or of lists with one number for each.

    Raises: UnsupportedCombination, WrongArgument.
    """
    try:
        low, high = (np.asarray(one, dtype=np.float64) for one in bounds)
        low, high = (np.broadcast_to(one, (columns,)).copy() for one in (low, high))
    except (TypeError, ValueError) as error:
        raise WrongArgument(
            f"'{what}' is a pair (low, high) of numbers, or of lists with a number for each of the {columns} columns; "
            "they are public, and must not be read off the data"
        ) from error
    with np.errstate(over="ignore"):
        half = high / 2 - low / 2
    if not np.all(np.isfinite(low) & np.isfinite(high) & (low < high) & (half > 0)):
        raise UnsupportedCombination(f"each column's bounds are finite numbers with low < high, found {bounds!r}")
    return ColumnBounds(low, high)


def scaled_to_ball(table: NDArray[np.float64], radius: float, outside: Outside) -> NDArray[np.float64]:
    """Rows (n, p) of length at most 1: divided by ``radius``, and shortened where they are to be clipped.

    Raises: ArrayError for longer rows, unless they are to be clipped; nothing was spent.
    """
    rows = table / radius
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1)
    _refuse(int(np.sum(~(lengths <= 1 + ROUNDED / 4))), len(rows), outside, "X has rows longer than the radius")
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
    rows = rows / largest  # so that nothing overflows
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.where(lengths * largest > 1, 1 / np.maximum(lengths, 1e-300), largest))


def _refuse(beyond: int, rows: int, outside: Outside, what: str) -> None:
    if outside not in ("refuse", "clip"):
        raise UnsupportedCombination(f"outside is 'refuse' or 'clip', found {outside!r}")
    if beyond and outside == "refuse":
        raise ArrayError(
            f"{what}: {beyond:,} of {rows:,}; correct them, state wider bounds, or ask for outside='clip', which moves "
            "them to the nearest bound; nothing was spent"
        )


Unscaled = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Coefficients (r, p) and intercepts (r,) in raw units."""
Scaling = Callable[[NDArray[np.float64]], Unscaled]
INTERCEPT = "intercept"


class Prepared(NamedTuple):
    """What is released, of which data, at which spend."""

    mechanism: Any  # of the family, with what it says of the signal that is kept
    data: Any
    spend: Fraction


def checked_arrays(estimator: Any, X: Any, y: Any) -> tuple[str | Path | Ledger, NDArray[np.float64], NDArray[Any]]:
    """The ledger, the table (n, p) and the responses (n,) of a fit that goes by no policy.

    Raises: UnsupportedCombination, LedgerError, ArrayError, WrongArgument.
    """
    if estimator.label is not None or estimator.spend is not None or estimator.features is not None:
        raise UnsupportedCombination("'label', 'features' and 'spend' go with a policy; on plain arrays say epsilon=")
    ledger = usable_ledger(estimator.ledger)
    column_names(X)
    table = numbers(X)
    return ledger, table, one_response_each(y, len(table))


def prepared_logistic(
    estimator: Any, table: NDArray[np.float64], second: NDArray[np.bool_]
) -> tuple[Prepared, Scaling]:
    """For a classifier, ``second`` (n,): who is of the second class; and how released coefficients read in raw units.

    Raises: UnsupportedCombination, WrongArgument, ArrayError.
    """
    spend = epsilon_of(estimator)
    columns, size = tuple(f"x{k}" for k in range(table.shape[1])), table.shape[1]
    if (estimator.bounds is None) == (estimator.radius is None):
        raise UnsupportedCombination(
            "state either bounds=(low, high) of the columns or the radius of the rows; they are public, and must not "
            "be read off the data"
        )
    if estimator.radius is None:
        box = column_bounds(estimator.bounds, size)
        box = box if estimator.fit_intercept else box.around_zero
        rows, middle, half = box.scaled(table, estimator.outside), box.middle, box.half
        group = FeatureGroup(columns, "box")
    else:
        radius = float(exact_amount(estimator.radius, "radius"))
        rows, middle, half = scaled_to_ball(table, radius, estimator.outside), np.zeros(size), np.full(size, radius)
        group = FeatureGroup(columns, "ball")
    groups = (FeatureGroup((INTERCEPT,), "box"), group) if estimator.fit_intercept else (group,)
    mechanism = ObjectivePerturbation(
        "logistic regression",
        LogisticLoss(),
        Features(groups),
        (Change(Fraction(1), (2 * LogisticLoss().steepest,) * len(groups)),),
        account_for(estimator),
        Fraction(0) if estimator.ridge is None else exact_amount(estimator.ridge, "ridge"),
        None if estimator.share is None else exact_amount(estimator.share, "share"),
    )
    constant = [np.ones(len(rows))] if estimator.fit_intercept else []
    data = np.column_stack([*constant, rows, second.astype(np.float64)])
    return Prepared(mechanism, data, spend), lambda found: in_raw_units(found, middle, half, estimator.fit_intercept)


def in_raw_units(
    found: NDArray[np.float64], middle: NDArray[np.float64], half: NDArray[np.float64], intercept: bool
) -> Unscaled:
    """Coefficients of (x − middle)/half, the intercept first, as coefficients of x."""
    first = found[:, 0] if intercept else np.zeros(len(found))
    slopes = found[:, 1:] if intercept else found
    raw = slopes / half
    return raw, np.asarray(first - (raw @ middle if intercept else 0.0))


def epsilon_of(estimator: Any) -> Fraction:
    """The spend. Raises: UnsupportedCombination without one."""
    if estimator.epsilon is None:
        raise UnsupportedCombination("say how much this fit may tell about a record: epsilon=0.5, for instance")
    return exact_amount(estimator.epsilon, "epsilon")


def account_for(estimator: Any) -> Account:
    """Whose budget a fit on plain arrays spends: an open ledger's own, else of the stated budget, 1 nat if none is."""
    ledger = estimator.ledger
    budget = Fraction(1) if estimator.budget is None else exact_amount(estimator.budget, "budget")
    if isinstance(ledger, Ledger) and estimator.budget is None:
        budget = ledger.account.budget
    return plain_account(budget)


_LITTLE: Final = 0.05


def warn_of_synthetic(X: Any) -> None:
    """Say so where a table says of itself that its records are synthetic: intervals do not know of their noise."""
    about = getattr(X, "attrs", None)
    if isinstance(about, dict) and about.get("dxgeom") == SYNTHETIC:
        warnings.warn(f"X has {SYNTHETIC}; the released answers have bars of their own", UserWarning, stacklevel=3)


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
