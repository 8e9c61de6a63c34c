"""A plan at a spend as an OpenDP measurement."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np

from dxgeom.arguments import described, require, taking
from dxgeom.errors import DxgeomError, UnsupportedCombination, WrongArgument
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.numeric.optional_library import optional_library
from dxgeom.numeric.rounding import round_up
from dxgeom.planner.amounts import Amount
from dxgeom.planner.release import LEFT_OUT, EachTime, Release
from dxgeom.planner.releases.answer_once import checked_order
from dxgeom.planner.releases.reading import read
from dxgeom.privacy.measures import CONCENTRATED

_FEATURES: Final = ("contrib", "honest-but-curious")


@taking(EachTime, LEFT_OUT)
def measurement_of(
    released: Callable[..., Release[Any]], mechanism: Mechanism[Any, Any], spend: Amount, **how: Unpack[EachTime]
) -> Any:
    """An ``opendp.Measurement`` that releases, and charges the ledger, whenever it is called with data.

    Definition: the input domain is whatever the plan releases from; the distance of two of these is D, the least sum
    of distances d of the policy over all ways to pair their records, infinite where they have unequal numbers of them
    and the policy says nothing of presence. Records are people where these count once, and rows at a part in
    ``at_most`` of d where so many of a person's count, whole or in shares. The privacy map is s·D under the max
    divergence, or (s·D)²/2 under zero-concentrated divergence where the policy is concentrated. Domain and distance
    name the policy's fingerprint and how the table is read, so that only measurements about the same can be composed.
    Guarantee: the map is *exact*, then *rounded up*. The budget of the ledger holds besides OpenDP's own bounds; each
    call is an entry of its own. Nothing that is told of a table depends on what it holds.
    Args: ``released``: the plan's ``release``. The others are those of :func:`dxgeom.release`.
    Returns: a measurement whose answers are releases.
    Raises: MissingExtra; UnsupportedCombination where OpenDP's features "contrib" and "honest-but-curious", which
    measurements from elsewhere need, are not enabled, for a ledger in memory that nobody holds open, and for answers
    that are outside their promise with some chance, of which the map knows nothing. When the
    measurement is called, OpenDP passes on what a release raises as its own exception.
    """
    if mechanism.delta is not None:
        raise UnsupportedCombination(
            "an OpenDP measurement of a policy has a map without a delta, and keys that nobody listed are outside the "
            "promise with some chance: release the plan with dx.release, whose ledger counts that chance"
        )
    dp = optional_library("opendp.prelude", "opendp", "measurements are made")
    _require_features(optional_library("opendp.mod", "opendp", "measurements are made"))
    ledger, outside, count_column = how["ledger"], how["outside"], how["count_column"]
    require(ledger, (str, Path, Ledger), "ledger", "name a file, such as 'privacy.db', or hand over an open Ledger")
    whose: dict[str, Any] = {"purpose": how["purpose"], "allotment": how["allotment"]}
    order = checked_order(mechanism, spend, plan_fingerprint=None, id=None, **whose)
    if outside not in ("refuse", "drop"):
        raise UnsupportedCombination(f"outside is 'refuse' or 'drop'; found {outside!r}")
    if str(ledger) == ":memory:":
        raise UnsupportedCombination(
            "a measurement is called again and again, and each call would begin ':memory:' anew: name a ledger's file, "
            "or hand over an open Ledger"
        )
    asked: dict[str, Any] = {"outside": outside, "count_column": count_column, "quiet_data": True}

    def answered(data: Any) -> Release[Any]:
        return released(data, ledger=ledger, spend=order.spend, **whose, **asked)

    account = mechanism.account
    concentrated = account.privacy_measure == CONCENTRATED
    about = f"policy {account.policy_fingerprint}, rows outside: {outside}, counts: {count_column!r}"
    return dp.m.make_user_measurement(
        dp.user_domain(f"dxgeom data of {about}", partial(_is_readable, mechanism, asked)),
        dp.user_distance(f"dxgeom distance of {about}"),
        dp.zero_concentrated_divergence() if concentrated else dp.max_divergence(),
        answered,
        lambda distance: loss_at(distance, order.spend, squared=concentrated),
    )


def loss_at(distance: Any, spend: Fraction, *, squared: bool) -> float:
    """What a release at a spend tells at most of data at a distance: s·D, or (s·D)²/2; *rounded up*.

    Raises: WrongArgument unless the distance is a number that is not negative.
    """
    try:
        told = spend * _exact(distance)
        return round_up(told * told / 2 if squared else told)
    except OverflowError:
        return math.inf


def _is_readable(mechanism: Mechanism[Any, Any], options: dict[str, Any], data: Any) -> bool:
    try:
        read(mechanism, data, **options)
    except DxgeomError:
        return False
    return True


def _exact(distance: Any) -> Fraction:
    """Raises: OverflowError for an infinite one; WrongArgument."""
    number = distance.item() if isinstance(distance, np.ndarray | np.generic) and distance.ndim == 0 else distance
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction | Decimal) or not number >= 0:
        raise WrongArgument(f"a distance is a number that is not negative; found {described(distance)}")
    return Fraction(number)


def _require_features(library: Any) -> None:
    try:
        library.assert_features(*_FEATURES)
    except library.OpenDPException as error:
        wanted = ", ".join(f'"{feature}"' for feature in _FEATURES)
        raise UnsupportedCombination(
            "OpenDP takes measurements from elsewhere only where it was told to trust them: call "
            f"opendp.prelude.enable_features({wanted})"
        ) from error
