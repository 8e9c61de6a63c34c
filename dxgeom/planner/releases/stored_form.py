"""An answer as the ledger stores it: as it is shown, and in a form of which it is made again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dxgeom.errors import LedgerError, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.numeric.json_text import compact_json

KEPT: Final = "kept"
"""The part of a stored release that the answer is made of again; the others are for whoever reads it."""

_REMAINING_BYTES: Final = 1024
"""More than what remains of a budget takes: a ledger's fractions have at most 300 digits above and below the line."""


def stored_bytes(blank: Mapping[str, Any], mechanism: Mechanism[Any, Any], spend: Fraction) -> int:
    """No release of this mechanism takes more when it is stored; ``blank``: one without an answer, or of zeros.

    What is said of answers may take more words than of zeros, an interval in two parts: this is twice as much.
    """
    return 2 * len(compact_json(blank)) + _REMAINING_BYTES + mechanism.answer_bytes(spend)


def stored_form(shown: Callable[[], Mapping[str, Any]], mechanism: Mechanism[Any, Any], answer: Any) -> str:
    """What is stored of a release whose mechanism, before any function, answered so.

    Guarantee: an answer is stored whatever it is and whatever fails in saying it: in exact numbers, else as its text.
    """
    document: dict[str, Any] = {}
    try:
        document |= shown()
    except Exception as error:  # noqa: BLE001 (the answer is paid for; how it looks must not cost it)
        document["not shown"] = f"{type(error).__name__}: {error}"
    try:
        document[KEPT] = mechanism.encode_answer(answer)
    except Exception:  # noqa: BLE001 (as above: its text is kept instead)
        document.setdefault("answer", repr(answer))
    try:
        return compact_json(document)
    except (TypeError, ValueError):
        return compact_json({"answer": repr(answer)})


def read_stored(content: bytes, entry: int) -> dict[str, Any]:
    """What was stored of a release.

    Raises: LedgerError when it was stored by something else, or is of a kind that is not made again.
    """
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not (isinstance(document, dict) and {KEPT, "spent", "remaining", "time"} <= {*document}):
        raise LedgerError(
            f"the answer of entry {entry} was kept as text and cannot be made again here; 'dxgeom ledger show' with "
            f"--entry {entry} shows it; nothing was spent"
        )
    return document


def plain_answer(answer: Any) -> Any:
    """Numbers, text, lists of them and what has names, as JSON has them; exact rationals as text beside their float.

    Raises: UnsupportedCombination.
    """
    match answer:
        case None | bool() | int() | float() | str():
            return answer
        case Fraction():
            return {"value": float(answer), "exact": str(answer)}
        case tuple() | list():
            return [plain_answer(part) for part in answer]
        case dict():
            return {str(name): plain_answer(part) for name, part in answer.items()}
        case np.ndarray() | np.generic():
            return answer.tolist()
        case _ if hasattr(answer, "as_dict"):
            return answer.as_dict()
        case _:
            raise UnsupportedCombination(f"an answer of type {type(answer).__name__} has no form in JSON")
