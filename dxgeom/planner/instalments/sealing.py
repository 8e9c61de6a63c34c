"""A seal: the exact sums of one period and the secret of its noise, closed with a key.

What a seal is of – ledger and opening, period – is bound to it: moved elsewhere it does not open. Its length tells the
number of sums, which is public, and nothing of their size.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dxgeom.errors import LedgerError, TooLarge
from dxgeom.ledger.windows import SEAL, InstalmentStep, Window
from dxgeom.numeric.optional_library import optional_library
from dxgeom.planner.instalments.keys import KEY_BYTES, Keys

_MARK: Final = b"dxgeom seal 1"
_SUM_BYTES: Final = 16
_NONCE_BYTES: Final = 12


class PeriodSeal(NamedTuple):
    """``secret``: of the period's noise; ``sums``: exact, one for each answer that looks at the period."""

    secret: bytes
    sums: tuple[int, ...]


def fresh_secret(keys: Keys, window: Window, period: str) -> bytes:
    """The secret of a period's noise: from 32 fresh bytes of the system's, and of the key. Raises: MissingExtra."""
    hkdf = optional_library("cryptography.hazmat.primitives.kdf.hkdf", "instalments", "seals are closed")
    hashes = optional_library("cryptography.hazmat.primitives.hashes", "instalments", "seals are closed")
    made = hkdf.HKDF(algorithm=hashes.SHA256(), length=KEY_BYTES, salt=keys.current, info=_bound(window, period))
    secret: bytes = made.derive(os.urandom(KEY_BYTES))
    return secret


def closed(sealed: PeriodSeal, keys: Keys, window: Window, period: str) -> InstalmentStep:
    """The step that seals a period, or closes its seal with the current key. Raises: MissingExtra, TooLarge."""
    known = window.seals.get(period)
    try:
        plain = sealed.secret + b"".join(one.to_bytes(_SUM_BYTES, "big", signed=True) for one in sealed.sums)
    except OverflowError as error:
        raise TooLarge("a period's sums have more than 127 bits; ask for smaller weights") from error
    nonce = os.urandom(_NONCE_BYTES)
    text = base64.b64encode(nonce + _cipher(keys.current).encrypt(nonce, plain, _bound(window, period))).decode()
    return InstalmentStep(
        window.entry.number, SEAL, 0 if known is None else known.turn + 1, period, keys.name, "", text
    )


def opened(window: Window, period: str, keys: Keys) -> PeriodSeal:
    """What a seal holds. Raises: LedgerError where its key is another, or it is not as it was made."""
    step = window.seals[period]
    key = keys.named(step.key)
    if key is None:
        raise LedgerError(
            f"the seal of period '{period}' was closed with another key, which seals call {step.key}; '{keys.file}' "
            f"holds {keys.name}; give the key that it was closed with: without it the plan cannot go on"
        )
    invalid = optional_library("cryptography.exceptions", "instalments", "seals are opened").InvalidTag
    try:
        whole = base64.b64decode(step.text, validate=True)
        plain: bytes = _cipher(key).decrypt(whole[:_NONCE_BYTES], whole[_NONCE_BYTES:], _bound(window, period))
    except (binascii.Error, ValueError, invalid) as error:
        raise LedgerError(f"the seal of period '{period}' was altered, or is of another ledger or period") from error
    rest = plain[KEY_BYTES:]
    numbers = [rest[start : start + _SUM_BYTES] for start in range(0, len(rest), _SUM_BYTES)]
    return PeriodSeal(plain[:KEY_BYTES], tuple(int.from_bytes(one, "big", signed=True) for one in numbers))


def require_sums(sealed: Sequence[PeriodSeal], expected: Sequence[int]) -> None:
    """Raises: LedgerError where a seal holds another number of sums than the plan takes."""
    if [len(one.sums) for one in sealed] != [*expected]:
        raise LedgerError("a seal holds other sums than those of this plan; nothing was read")


def _bound(window: Window, period: str) -> bytes:
    """The entry's seal stands for the ledger, the plan and all that went before."""
    return b"|".join([_MARK, window.entry.seal.encode(), window.entry.plan_fingerprint.encode(), period.encode()])


def _cipher(key: bytes) -> Any:
    aead = optional_library("cryptography.hazmat.primitives.ciphers.aead", "instalments", "seals are closed")
    return aead.ChaCha20Poly1305(key)
