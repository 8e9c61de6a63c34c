"""From an estimator on plain arrays and its table to a mechanism, its data, and the way back to raw units."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.learning.accounts import plain_account
from dxgeom.learning.bounds import column_bounds, scaled_to_ball
from dxgeom.learning.perturbed.features import Change, FeatureGroup, Features
from dxgeom.learning.perturbed.losses import LogisticLoss
from dxgeom.learning.perturbed.perturbation import ObjectivePerturbation
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.planner.amounts import exact_amount

Unscaled = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Coefficients (r, p) and intercepts (r,) in raw units."""
Scaling = Callable[[NDArray[np.float64]], Unscaled]
INTERCEPT = "intercept"


class Prepared(NamedTuple):
    """What is released, of which data, at which spend."""

    mechanism: Mechanism[Any, Any]
    data: Any
    spend: Fraction


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
