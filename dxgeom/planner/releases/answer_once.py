"""A release, once: found again by its key, or charged, drawn, stored and then shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeVar, Unpack

from dxgeom.arguments import WHOLE, pointing_elsewhere, require, taking
from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.ledger import Ledger, ledger_of
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness, SystemRandomness
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.release import LEFT_OUT, Release, Wanted
from dxgeom.planner.releases.paying import Earlier, Order, buy, check_allotment, earlier_release, failing_after_charge
from dxgeom.planner.releases.reading import read
from dxgeom.planner.releases.stored_form import KEPT, stored_bytes
from dxgeom.universe.columns import plain

New = TypeVar("New")
_VALUES: Final = 12
_LEDGER: Final = "name a file, such as 'privacy.db', in which spends are written down"


@pointing_elsewhere
@taking(Wanted, LEFT_OUT)
def release(
    mechanism: Mechanism[Data, Answer], data: Any, *, plan_fingerprint: str | None = None, **how: Unpack[Wanted]
) -> Release[Answer]:
    """Charge the ledger with the whole spend, answer once, store the answer, and only then return it.

    Args: ``data``: for a mechanism on histograms, and for sequences and functions of such, the path of a CSV or Parquet
    file, a DataFrame, an Arrow table, or an array of counts; else what the mechanism reads: a secret, a series, a table
    of bounded numbers. ``ledger``: path (created when new), ``":memory:"``, or an open Ledger. ``spend``: the multiple
    of the metric that this release uses up, 0.1 means exactly 1/10; left out for a mechanism that was made for one
    spend. ``outside``: "refuse" rows outside the universe, or "drop" them; that anybody lies outside is then not
    hidden, and how many do is stated in the release. ``count_column``: the column that says how many records each row
    stands for. ``quiet_data``: a refusal says nothing of what the data hold, for those who must not see it. ``id``: a
    name for this release: asked for again with the same plan, policy and spend it returns what was stored, reads no
    data and costs nothing. ``allotment``: whose part of a divided account is charged, as ``dxgeom ledger allot`` named
    it; left out, what is not allotted. ``plan_fingerprint``: what the ledger is to remember it by; left out, the
    mechanism's own.
    Raises: DataError, TooLarge, UnsupportedCombination before anything is charged; BudgetExceeded, LedgerError without
    anything charged; AlreadyCharged for whatever fails after the charge, a function of the answer among it. No refusal
    begins a new ledger.
    """
    order = checked_order(
        mechanism,
        how["spend"],
        purpose=how["purpose"],
        plan_fingerprint=plan_fingerprint,
        id=how["id"],
        allotment=how["allotment"],
    )
    return release_as(order, mechanism, _as_it_is, None, data, how)


def checked_order(
    mechanism: Mechanism[Any, Any],
    spend: Amount | None,
    *,
    purpose: str,
    plan_fingerprint: str | None,
    id: str | None,
    allotment: str | None,
) -> Order:
    """What is asked of the ledger, as :func:`release` takes it. Raises: UnsupportedCombination, WrongArgument."""
    require(mechanism, Mechanism, "mechanism", "pass plan.mechanism, or what selection, mwem and their like return")
    require_words(":memory:", purpose, id, allotment)
    if id is None:  # else it may have been paid for, by an older version
        _require_asked(mechanism.public_answers)
    return Order(
        mechanism.without_functions,
        _amount(mechanism, spend),
        purpose or f"one answer by {mechanism.name}",
        mechanism.fingerprint if plan_fingerprint is None else plan_fingerprint,
        id,
        allotment,
    )


def require_words(ledger: object, purpose: object, id: object, allotment: object) -> None:
    """Raises: WrongArgument where one of them is of another type."""
    require(ledger, (str, Path, Ledger), "ledger", _LEDGER)
    require(purpose, (str, NoneType), "purpose", "say in words what the answers are for")
    require(id, (str, NoneType), "id", "give the release a name of its own, or leave it out")
    require(allotment, (str, NoneType), "allotment", "name an allotment of the ledger, or leave it out")


def release_as(
    order: Order,
    mechanism: Mechanism[Any, Any],
    present: Callable[[Any, Fraction, int | None], New],
    blank: Any,
    data: Any,
    how: Wanted,
) -> Release[New]:
    """The release of an order, with the mechanism's answer said otherwise.

    Args: ``present``: an answer, at a spend, of so many records or None where that is private, as it is shown.
    ``blank``: an answer that no data were read for; whatever may fail in saying answers fails with it, before the
    charge. ``how``: what the order does not say.
    """
    ledger, insecure_test_seed = how["ledger"], how["insecure_test_seed"]
    _check_kinds(ledger, insecure_test_seed)
    file = ledger.file if isinstance(ledger, Ledger) else None if str(ledger) == ":memory:" else str(ledger)
    with ledger_of(ledger, mechanism.account) as opened:
        earlier = earlier_release(opened, file, order)
        if earlier is not None:
            return repeated(mechanism, present, order.spend, order.plan_fingerprint, earlier)
        _require_asked(mechanism.public_answers)
        check_allotment(opened, order.allotment)
        found = read(mechanism, data, how["outside"], how["count_column"], how["quiet_data"])
        mechanism.check(found.data, order.spend)
        secure = insecure_test_seed is None
        randomness = SystemRandomness() if insecure_test_seed is None else InsecureSeededRandomness(insecure_test_seed)
        time = datetime.now(UTC).isoformat(timespec="seconds")

        def made(answer: Any, remaining: Fraction) -> Release[New]:
            shown, records, dropped = present(answer, order.spend, found.records), found.records, found.dropped
            return Release(
                mechanism, shown, order.spend, remaining, records, dropped, time, secure, order.plan_fingerprint
            )

        reserve = stored_bytes(made(blank, order.spend).as_dict(), order.mechanism, order.spend)
        stored: list[Release[New]] = []

        def said(answer: Any, remaining: Fraction) -> Mapping[str, Any]:
            stored.append(made(answer, remaining))
            return stored[-1].as_dict()

        bought = buy(opened, file, order, found.data, reserve, said, randomness)
    with failing_after_charge(bought.entry.number, file, stored=True):
        finished = mechanism.finished(bought.answer)
        # Its error bars are known from storing it; a function of the answer is shown otherwise than it was stored.
        shown = stored[0] if stored and finished is bought.answer else made(finished, bought.entry.remaining)
    return replace(
        shown,
        receipt=bought.receipt,
        not_declared_whole=found.not_declared_whole,
        looks_like_people=found.looks_like_people,
    )


def repeated(
    mechanism: Mechanism[Any, Any],
    present: Callable[[Any, Fraction, int | None], New],
    spend: Fraction,
    plan_fingerprint: str,
    earlier: Earlier,
) -> Release[New]:
    """The earlier release as it was then."""
    then = earlier.document
    return Release(
        mechanism,
        present(mechanism.finished(mechanism.without_functions.decode_answer(then[KEPT])), spend, then["records"]),
        spend,
        Fraction(then["remaining"]),
        then["records"],
        then.get("dropped_people", then["dropped_rows"]),
        then["time"],
        then["secure_randomness"],
        plan_fingerprint,
        earlier.receipt,
        repeated=True,
    )


def _require_asked(public: tuple[tuple[str, Fraction], ...] | None) -> None:
    """Raises: UnsupportedCombination where a release would spend, and all of it is public."""
    if public is None:
        return
    values = [f"'{name}' is {plain(value)}" for name, value in public]
    more = f", and {len(values) - _VALUES:,} more" if len(values) > _VALUES else ""
    raise UnsupportedCombination(
        f"the policy's public numbers say all of it: {', '.join(values[:_VALUES])}{more}. They cost nothing, and "
        "are never compared with the data; a release of nothing else would spend for nothing, so that none is made and "
        "nothing is charged: take these answers, and ask only what is not public"
    )


def _as_it_is(answer: Any, spend: Fraction, records: int | None) -> Any:
    return answer


def _check_kinds(ledger: object, seed: object) -> None:
    require(ledger, (str, Path, Ledger), "ledger", _LEDGER)
    if seed is not None:
        require(seed, WHOLE, "insecure_test_seed", "leave it out, for answers that nobody can predict")


def _amount(mechanism: Mechanism[Any, Any], spend: Amount | None) -> Fraction:
    if spend is not None:
        return exact_amount(spend, "spend")
    if mechanism.only_spend is None:
        raise UnsupportedCombination(f"{mechanism.name} serves any spend: say how much of the budget to use, spend=...")
    return mechanism.only_spend
