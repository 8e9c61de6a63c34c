"""How often released models err on private records, and which of them errs least: each a release of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.learning.conventions import Estimator
from dxgeom.learning.plain_arrays import plain_account, usable_ledger
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.contract.mechanism import Mechanism, require_spend
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import Randomness, bernoulli_exp, uniform_integer
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.releases.answer_once import release

_LONGEST: Final = 2**60


@final
@dataclass(frozen=True, eq=False)
class ErrorCount(Mechanism[ArrayLike, int]):
    """How many records a model gets wrong, with Laplace noise of scale 1/spend, rounded.

    The data are (n,) numbers 0 and 1: whether each record is wrong, by a model that was released before.
    Guarantee: replacing one record by any other changes the count by at most 1, and so the odds of any answers by at
    most e^spend. The number of records is public.
    """

    name: str
    account: Account

    @property
    def fingerprint(self) -> str:
        return canonical_digest("error count", self.account.policy_fingerprint, self.name)

    def check(self, data: ArrayLike, spend: Fraction) -> None:
        require_spend(spend)
        self._law.check_size(1 / spend)
        _marks(data, 1)

    def draws(self, data: ArrayLike, spend: Fraction, count: int, randomness: Randomness) -> list[int]:
        """The count: any whole number, also one below 0 or above that of the records."""
        self.check(data, spend)
        wrong = int(_marks(data, 1).sum())
        return [wrong + int(z) for z in self._law.draw(count, randomness, 1 / spend)[:, 0]]

    @property
    def _law(self) -> LaplaceNoise:
        return LaplaceNoise(np.array([1.0]))


@final
@dataclass(frozen=True, eq=False)
class FewestErrors(Mechanism[ArrayLike, int]):
    """Which of K models errs least: the exponential mechanism on their counts, in its form permute and flip.

    The data are (n, K) numbers 0 and 1: whether each model is wrong about each record. Models are gone through in
    random order, and each is taken with the chance e^(−spend·(its errors − the fewest)/2).
    Guarantee: replacing one record by any other changes each count by at most 1, and so the odds of any choice by at
    most e^spend; coins are *exact*. Source: McKenna & Sheldon 2020.
    """

    name: str
    models: int
    account: Account

    @property
    def fingerprint(self) -> str:
        return canonical_digest("fewest errors", self.account.policy_fingerprint, self.name, self.models)

    def check(self, data: ArrayLike, spend: Fraction) -> None:
        require_spend(spend)
        rows = len(_marks(data, 2, self.models))
        if max(spend.numerator * rows, spend.denominator * 2) >= _LONGEST:
            raise UnsupportedCombination("a spend with fewer digits is needed to choose by exact coins")

    def draws(self, data: ArrayLike, spend: Fraction, count: int, randomness: Randomness) -> list[int]:
        """The place of the chosen model."""
        self.check(data, spend)
        errors = _marks(data, 2, self.models).sum(axis=0)
        return [self._chosen(errors, spend, randomness) for _ in range(count)]

    def _chosen(self, errors: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> int:
        left = list(range(self.models))
        while True:
            place = left.pop(uniform_integer(len(left), randomness))
            gap = int(errors[place] - errors.min()) * spend / 2
            coin = np.array([gap.numerator], dtype=np.int64), np.array([gap.denominator], dtype=np.int64)
            if bernoulli_exp(*coin, randomness)[0]:
                return place


class ErrorRate(NamedTuple):
    """``errors`` of ``records``, noisy; the rate lies within ``low`` and ``high`` with probability at least .95, of the
    noise alone: these records are the ones that are asked about."""

    errors: int
    records: int
    rate: float
    low: float
    high: float


def private_error(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: Amount,
    ledger: str | Path | Ledger,
    budget: Amount = 1,
    id: str | None = None,
    named: str = "",
) -> ErrorRate:
    """How often a fitted classifier errs on private records; charged to the ledger of plain arrays.

    Args: ``budget``: of a ledger that is begun by its path. ``id``: a name of this question, which is about this model
    and so many records: asked for again it is shown at no cost, whatever the records now are. ``named``: public words
    that tell the model from all others; regressions of dxgeom are known by their released coefficients.
    Guarantee: that of :class:`ErrorCount`. Raises: as :func:`dxgeom.release`; UnsupportedCombination for an ``id``
    where nothing says which model this is. Nothing is spent on a refusal.
    """
    spend, wrong = exact_amount(epsilon, "epsilon"), _wrong(model, X, y)
    mechanism = ErrorCount("test errors", _owner(ledger, budget))
    question = _question(mechanism, [model], [named], len(wrong), id)
    count = release(
        mechanism, wrong, ledger=usable_ledger(ledger), spend=spend, id=id, plan_fingerprint=question
    ).answer
    reach = math.ceil(math.log(20) / float(spend) + 0.5)
    low, middle, high = (min(max(x / len(wrong), 0.0), 1.0) for x in (count - reach, count, count + reach))
    return ErrorRate(count, len(wrong), middle, low, high)


def select_model(
    models: Sequence[Any],
    X: Any,
    y: Any,
    *,
    epsilon: Amount,
    ledger: str | Path | Ledger,
    budget: Amount = 1,
    id: str | None = None,
    names: Sequence[str] = (),
) -> int:
    """The place of a fitted classifier that errs nearly least on private records; charged as :func:`private_error`.

    Args: ``names``: what each model is ``named`` there, in their order.
    Guarantee: that of :class:`FewestErrors`. With probability at least .95 it errs on at most
    2·log(20·K)/epsilon records more than the best of K.
    """
    require(models, Sequence, "models", "list the fitted classifiers to choose from")
    if not models:
        raise UnsupportedCombination("there is nothing to choose from: list one fitted classifier at least")
    spend = exact_amount(epsilon, "epsilon")
    wrong = np.column_stack([_wrong(model, X, y) for model in models])
    mechanism = FewestErrors("the model of fewest errors", len(models), _owner(ledger, budget))
    question = _question(mechanism, models, names or [""] * len(models), len(wrong), id)
    chosen = release(mechanism, wrong, ledger=usable_ledger(ledger), spend=spend, id=id, plan_fingerprint=question)
    return int(chosen.answer)


def _question(
    mechanism: Mechanism[Any, Any], models: Sequence[Any], names: Sequence[str], records: int, key: str | None
) -> str | None:
    """What tells this question from others, of public facts alone: which models, and of how many records.

    None where that is not known, which a question without a key need not be. Raises: UnsupportedCombination.
    """
    if len(names) != len(models):
        raise UnsupportedCombination(f"models have a name each; found {len(names)} names of {len(models)} models")
    known = [_known(model, named) for model, named in zip(models, names, strict=True)]
    if all(known):
        return canonical_digest("errors of models", mechanism.fingerprint, records, known)
    if key is None:
        return None
    raise UnsupportedCombination(
        "an id belongs to a question, and nothing says which model this one is about: name it, by words that tell it "
        "from all others, or leave id out"
    )


def _known(model: Any, named: str) -> str:
    """A digest of what was released of a model and of its name; empty for one without either."""
    require(named, str, "named", "say in words which model this is, such as 'forest 3'")
    if not isinstance(model, Estimator) or not hasattr(model, "release_"):
        return named and canonical_digest("named", named)
    released: Any = model
    classes = [repr(one) for one in np.asarray(getattr(model, "classes_", [])).tolist()]
    how = [str(getattr(model, option, None)) for option in ("label", "outside")]
    numbers = released.release_.mechanism.fingerprint, released.coef_, released.intercept_
    return canonical_digest("released model", type(model).__name__, named, *numbers, classes, how)


def _wrong(model: Any, X: Any, y: Any) -> NDArray[np.int64]:
    predicted, truth = np.asarray(model.predict(X)), np.asarray(y).ravel()
    if predicted.shape != truth.shape:
        raise DataError(f"X and y are of the same records; found {len(predicted)} and {len(truth)}")
    return np.asarray(predicted != truth, dtype=np.int64)


def _owner(ledger: object, budget: Amount) -> Account:
    return plain_account(ledger.account.budget if isinstance(ledger, Ledger) else exact_amount(budget, "budget"))


def _marks(data: ArrayLike, axes: int, width: int = 1) -> NDArray[np.int64]:
    """The data as whole numbers. Raises: DataError for what is no array of 0 and 1."""
    try:
        marks = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("marks of errors are numbers, 0 and 1") from error
    shaped = marks.ndim == axes and len(marks) > 0 and (axes == 1 or marks.shape[1] == width)
    if not (shaped and np.all((marks == 0) | (marks == 1))):
        raise DataError("marks of errors are 0 or 1 for each record, and each model where there are several")
    return marks.astype(np.int64)
