"""Charge, draw, store: when the answer is handed on, it is on the disk and paid for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

from dxgeom.errors import AlreadyCharged
from dxgeom.ledger.charging import no_allotment
from dxgeom.ledger.entry import Entry
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.numeric.randomness import Randomness
from dxgeom.planner.releases.receipt import ReleaseReceipt, shown_again_by
from dxgeom.planner.releases.stored_form import read_stored, stored_form


@final
@dataclass(frozen=True)
class Order:
    """What is asked of a ledger and drawn.

    ``mechanism``: without functions of its answers; ``allotment``: whose part of the account is charged, None for what
    is not allotted.
    """

    mechanism: Mechanism[Any, Any]
    spend: Fraction
    purpose: str
    plan_fingerprint: str
    key: str | None
    allotment: str | None = None


class Bought(NamedTuple):
    """The answer of :attr:`Order.mechanism`, the entry that paid for it, and where it is stored; None in memory."""

    answer: Any
    entry: Entry
    receipt: ReleaseReceipt | None


class Earlier(NamedTuple):
    """What an earlier release of the same key was, as it was stored."""

    document: Mapping[str, Any]
    receipt: ReleaseReceipt | None


def earlier_release(ledger: Ledger, file: str | None, order: Order) -> Earlier | None:
    """The earlier release of the order's key, None without one; looked up before any data are read.

    Raises: LedgerError when the key is that of another plan, policy, spend or edition; AlreadyCharged when it was
    charged and not answered; LedgerError when its answer is of a kind that cannot be made again.
    """
    if order.key is None:
        return None
    found = ledger.find(order.key, plan_fingerprint=order.plan_fingerprint, spend=order.spend)
    if found is None:
        return None
    entry = found.entry
    if found.answer is None:
        raise AlreadyCharged(
            f"the release '{order.key}' was charged but not answered, as entry {entry.number} of the ledger: it was "
            "ended in between, or is still running; it counts as spent and is not drawn again; wait for it, or give a "
            "new release a key of its own",
            entry.number,
        )
    return Earlier(read_stored(found.answer, entry.number), receipt_of(file, entry, found.seal))


def check_allotment(ledger: Ledger, allotment: str | None) -> None:
    """Refuse, before any data are read, an allotment that the account does not have. Raises: LedgerError."""
    if allotment is not None:
        known = [one.owner for one in ledger.allotments()]
        if allotment not in known:
            raise no_allotment(ledger.account, allotment, known)


def buy(
    ledger: Ledger,
    file: str | None,
    order: Order,
    data: Any,
    reserve: int,
    shown: Callable[[Any, Fraction], Mapping[str, Any]],
    randomness: Randomness,
) -> Bought:
    """Charge, with room for the answer; draw, once; store. All that can be refused was decided before.

    Args: ``file``: of the ledger, None for one in memory. ``shown``: says an answer, given what remains.
    Raises: BudgetExceeded, LedgerError with nothing charged; AlreadyCharged for whatever fails afterwards.
    """
    entry = ledger.charge(
        order.spend,
        purpose=order.purpose,
        plan_fingerprint=order.plan_fingerprint,
        key=order.key,
        owner=order.allotment,
        reserve=reserve,
        chance=order.mechanism.delta,
    )
    with failing_after_charge(entry.number, file, stored=False):
        answer = order.mechanism.draw(data, order.spend, randomness)
        content = stored_form(lambda: shown(answer, entry.remaining), order.mechanism, answer)
        receipt = ledger.store(entry, content)
    return Bought(answer, entry, receipt_of(file, entry, receipt.seal, receipt.waiting))


@contextmanager
def failing_after_charge(entry: int, file: str | None, *, stored: bool) -> Iterator[None]:
    """Says of whatever fails what was paid, and where the answer is once it is ``stored``.

    Raises: AlreadyCharged from the failure; an interruption is passed on, with a note.
    """
    told = charged_in_words(entry, file, stored=stored)
    try:
        yield
    except Exception as error:
        raise AlreadyCharged(f"{type(error).__name__}: {error}; {told}", entry, stored=stored) from error
    except BaseException as interruption:
        interruption.add_note(told)
        raise


def charged_in_words(entry: int, file: str | None, *, stored: bool) -> str:
    """What was paid, and where the answer is once it is ``stored``."""
    where = f"entry {entry} of the ledger in memory" if file is None else f"entry {entry} of the ledger '{file}'"
    if not stored:
        return f"{where} was charged but not answered: it counts as spent, and is not drawn again"
    again = "" if file is None else f"; '{shown_again_by(file, entry)}' shows it at no cost"
    return f"the answer is paid for and stored, as {where}{again}"


def receipt_of(file: str | None, entry: Entry, seal: str, waiting: str | None = None) -> ReleaseReceipt | None:
    """Where a release is written down; None in memory."""
    return None if file is None else ReleaseReceipt(file, entry.number, seal, waiting, entry.warning)
