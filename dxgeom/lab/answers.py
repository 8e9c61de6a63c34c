"""What answers about one secret: among the secrets themselves by exact tables, near numbers, days and places by noise.

What a good answer among the secrets is: how likely each secret is, and what it costs to be off.

An answer about one secret, from a policy and a task: planned, its error told, rehearsed, released.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.lab.data_sets import DataSetLayers, DataSetPolicy, data_set_secrets, load_policy_of_secrets
from dxgeom.lab.finite_mechanism import Losses, Prior, PrivateTable
from dxgeom.lab.laplace_tables import BandedTable, finite_laplace, halved_exponential, truncated_geometric
from dxgeom.lab.line_noise import LineNoise, Place, layered_line, planar_laplace, staircase
from dxgeom.lab.optimal_tables import bracketed_table, optimal_table
from dxgeom.lab.secrets import LEVEL, AnswerKind, ReadyAnswer, SecretAnswer, Secrets, secrets_of
from dxgeom.lab.task import WORDS, LossWord, SecretTask, load_task, task_from_dict
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.release import Release
from dxgeom.planner.releases.answer_once import checked_order, release_as
from dxgeom.policy.policy import Policy
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.wording import shown

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger


MOST_COSTS: Final = 4_000_000
"""Entries of a table of losses."""


def prior_of(task: SecretTask, secrets: Secrets) -> Prior:
    """The probability of each secret. Raises: UnsupportedCombination for values or columns that there are none of."""
    size = secrets.metric.size
    if isinstance(task.prior, Mapping):
        weights = [Fraction(0)] * size
        for name, weight in task.prior.items():
            weights[secrets.index_of(name)] += weight
    elif task.prior == "even":
        weights = [Fraction(1)] * size
    else:
        weights = list(secrets.column(task.prior))
    total = sum(weights, Fraction(0))
    if min(weights) < 0 or total == 0:
        raise UnsupportedCombination(
            f"the numbers of {shown(str(task.prior))} are no weights: some are negative, or all 0"
        )
    return [weight / total for weight in weights]


def loss_word(task: SecretTask, secrets: Secrets) -> LossWord:
    """The loss that is asked for; else how far off numbers and places are, and whether words are wrong."""
    if task.loss is not None:
        return task.loss
    return "absolute" if secrets.numbers is not None or isinstance(secrets.attribute, PointsAttribute) else "wrong"


def losses_of(task: SecretTask, secrets: Secrets) -> Losses:
    """(N, N): what each answer costs at each secret.

    Definition: "absolute" and "squared" of the difference of numbers or days, or of the way between places, in their
    own unit or kilometres; "wrong" is 1 for any other secret; "distance" is the policy's own.
    Raises: UnsupportedCombination where values have no numbers and no places; TooLarge.
    """
    size, word = secrets.metric.size, loss_word(task, secrets)
    if size * size > MOST_COSTS:
        raise TooLarge(f"losses are listed for at most {int(MOST_COSTS**0.5):,} secrets, here are {size:,}")
    if word == "wrong":
        return [[Fraction(x != w) for w in range(size)] for x in range(size)]
    power = 2 if word == "squared" else 1
    if word != "distance" and secrets.numbers is not None:
        numbers = secrets.numbers
        return [[abs(here - there) ** power for there in numbers] for here in numbers]
    places = np.arange(size)
    if word == "distance":
        apart = secrets.metric.distance(places[:, None], places[None, :])
    elif isinstance(secrets.attribute, PointsAttribute):
        apart = _ways(secrets.attribute)
    else:
        raise UnsupportedCombination(
            f"'{word}' is about numbers and places, and these are words: take 'wrong' or 'distance'"
        )
    if not np.all(np.isfinite(apart)):
        raise UnsupportedCombination(
            "some of these secrets are infinitely far apart: take another loss than 'distance'"
        )
    return [[Fraction(float(length)) ** power for length in row] for row in apart]


def _ways(attribute: PointsAttribute) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    from dxgeom.metrics.points import lower_distance

    every = np.arange(attribute.size)
    first, second = np.broadcast_arrays(every[:, None], every[None, :])
    return np.asarray(lower_distance(attribute.coordinates, attribute.geometry, first, second))


_MOST_TOLD: Final = 256
"""Secrets up to which the expected loss of a table is told."""


@final
class Tables(AnswerKind):
    """Exact tables on the secrets themselves."""

    words = ("truncated_geometric", "finite_laplace", "halved_exponential", "optimal", "bracketed")
    keys = ("of", "loss", "prior", "guess", "stretch")
    made: ClassVar[dict[str, Callable[[VerifiedMetric, Fraction], PrivateTable | BandedTable]]] = {
        "truncated_geometric": truncated_geometric,
        "finite_laplace": finite_laplace,
        "halved_exponential": halved_exponential,
    }

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        table = self._table(task, secrets, spend)
        if task.guess is not None:
            table = table.with_best_guesses(prior_of(task, secrets), losses_of(task, secrets))
        errors = self._errors(table, task, secrets)

        def present(answer: int) -> SecretAnswer:
            return SecretAnswer(secrets.label(answer), secrets.label(answer), "", errors)

        return ReadyAnswer(table, present, errors)

    def _table(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> PrivateTable | BandedTable:
        if task.answer in self.made:
            if task.stretch is not None:
                raise UnsupportedCombination(
                    f"'stretch' is about optimal tables, not about {task.answer}: leave it out"
                )
            try:
                return self.made[task.answer](secrets.metric, spend)
            except CertificateRefused as error:
                raise CertificateRefused(f"{task.answer} does not fit these secrets: {error}") from error
        prior, losses = prior_of(task, secrets), losses_of(task, secrets)
        if task.answer == "bracketed":
            return bracketed_table(secrets.metric, prior, losses, spend).table
        return optimal_table(secrets.metric, prior, losses, spend, task.stretch or Fraction(1))

    def _errors(self, table: PrivateTable | BandedTable, task: SecretTask, secrets: Secrets) -> tuple[str, ...]:
        word = loss_word(task, secrets)
        if isinstance(table, BandedTable) and word == "absolute" and secrets.numbers is not None:
            each = table.mean_absolute_errors([float(number) for number in secrets.numbers])
            mean = float(
                sum(float(chance) * error for chance, error in zip(prior_of(task, secrets), each, strict=True))
            )
            return (_in_words(mean, word, task),)
        if secrets.metric.size > _MOST_TOLD:
            return ()
        loss = table.expected_loss(prior_of(task, secrets), losses_of(task, secrets))
        return (_in_words(float(loss), word, task),)


def _in_words(loss: float, word: str, task: SecretTask) -> str:
    prior = task.prior if isinstance(task.prior, str) else "the weights stated"
    how = "all values alike likely" if prior == "even" else f"values as likely as {prior}"
    return f"expected {word} loss {loss:.4g}, {how}; exact"


@final
class Lines(AnswerKind):
    """Noise in layers on the line of a secret's numbers."""

    words = ("staircase", "layered")
    keys = ("of", "width")

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        if secrets.numbers is None:
            raise UnsupportedCombination(f"{task.answer} is noise for numbers and days, and these values are none")
        if task.answer == "staircase":
            if task.width is not None:
                raise UnsupportedCombination("a staircase has its own best width: leave 'width' out, or take 'layered'")
            noise = staircase(secrets.metric, secrets.numbers, spend)
        else:
            noise = layered_line(secrets.metric, secrets.numbers, spend, task.width)
        errors = self._errors(noise)

        def present(answer: Fraction) -> SecretAnswer:
            return SecretAnswer(plain(answer), _number_or_day(answer, secrets.attribute), "", errors)

        return ReadyAnswer(noise, present, errors)

    def _errors(self, noise: LineNoise) -> tuple[str, ...]:
        return (
            f"off by {noise.mean_absolute:.4g} on average, {noise.root_mean_square:.4g} root mean squared; exact",
            f"off by at most {float(noise.radius(LEVEL)):.4g} with probability at least {LEVEL:g}",
        )


def _number_or_day(answer: Fraction, attribute: Attribute | None) -> str:
    """A number, or the day that is so many days after the first."""
    if not isinstance(attribute, DateAttribute):
        return plain(answer)
    try:
        return (attribute.first + timedelta(days=int(answer))).isoformat()
    except OverflowError:
        return f"{int(answer):,} days after {attribute.first.isoformat()}"


KM_A_DEGREE: Final = 6371.0088 * math.pi / 180
_FINEST: Final = 1 << 20
_FINER_THAN_NOISE: Final = 50


@final
class Planar(AnswerKind):
    """Planar Laplace noise around the places of an attribute.

    Places on the globe are laid on a plane, in kilometres from their middle, with the meridians parallel; the metric is
    asked of the laid out places, so that what this distorts costs noise and no privacy.
    """

    words = ("planar",)
    keys = ("of", "step")

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        if not isinstance(secrets.attribute, PointsAttribute):
            raise UnsupportedCombination("planar is noise for places, and these values have no coordinates")
        sheet = _sheet_of(secrets.attribute)
        laid = sheet.laid(secrets.attribute.coordinates)
        finest = Fraction(10) ** math.floor(math.log10(max(float(np.abs(laid).max()), 1e-9) / _FINEST))
        rough = planar_laplace(secrets.metric, _on_lattice(laid, finest), finest, spend)
        wide = rough.scale / float(spend) * float(finest)
        step = task.step or max(finest, Fraction(10) ** math.floor(math.log10(wide / _FINER_THAN_NOISE)))
        noise = planar_laplace(secrets.metric, _on_lattice(laid, step), step, spend)
        errors = (
            f"within {noise.radius(LEVEL):.4g} {sheet.unit or 'units'} with probability at least {LEVEL:g}",
            f"off by {math.sqrt(noise.mean_squared_error):.4g} {sheet.unit or 'units'} root mean squared",
        )
        return ReadyAnswer(noise, partial(_present, secrets.attribute, sheet, laid, errors), errors)


@final
@dataclass(frozen=True)
class _Sheet:
    """The plane on which places lie: their own, or one that touches the globe at (``latitude``, ``longitude``)."""

    unit: str
    latitude: float | None = None
    longitude: float = 0.0

    def laid(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.latitude is None:
            return coordinates
        north = (coordinates[:, 0] - self.latitude) * KM_A_DEGREE
        east = (coordinates[:, 1] - self.longitude) * KM_A_DEGREE * math.cos(math.radians(self.latitude))
        return np.column_stack([north, east])

    def back(self, place: tuple[float, float]) -> tuple[float, float]:
        if self.latitude is None:
            return place
        wide = KM_A_DEGREE * math.cos(math.radians(self.latitude))
        return self.latitude + place[0] / KM_A_DEGREE, self.longitude + place[1] / wide


def _sheet_of(attribute: PointsAttribute) -> _Sheet:
    if attribute.geometry == "plane":
        return _Sheet(attribute.unit)
    low, high = attribute.coordinates.min(axis=0), attribute.coordinates.max(axis=0)
    middle = (low + high) / 2
    return _Sheet("km", float(middle[0]), float(middle[1]))


def _on_lattice(laid: NDArray[np.float64], step: Fraction) -> NDArray[np.int64]:
    return np.rint(laid / float(step)).astype(np.int64)


def _present(
    attribute: PointsAttribute,
    sheet: _Sheet,
    laid: NDArray[np.float64],
    errors: tuple[str, ...],
    answer: Place,
) -> SecretAnswer:
    """Where the answer lies, in the coordinates of the places' file, and the place that is nearest to it."""
    spot = (float(answer[0]), float(answer[1]))
    back = sheet.back(spot)
    nearest = attribute.keys[int(np.argmin(np.linalg.norm(laid - np.array(spot), axis=1)))]
    names = ("x", "y") if sheet.latitude is None else ("latitude", "longitude")
    value = {**{name: round(number, 6) for name, number in zip(names, back, strict=True)}, "nearest": nearest}
    where = ", ".join(f"{name} {number:.6g}" for name, number in zip(names, back, strict=True))
    return SecretAnswer(
        value, f"{where}; nearest is {nearest}", sheet.unit if sheet.latitude is None else "degrees", errors
    )


ANSWERS: Final[tuple[AnswerKind, ...]] = (Tables(), Lines(), Planar(), DataSetLayers())
"""All of them."""


def kind_of(word: str) -> AnswerKind:
    """What answers by that word."""
    return next(kind for kind in ANSWERS if word in kind.words)


@final
@dataclass(frozen=True, eq=False)
class AnswerPlan:
    """What answers about one secret at a spend; no secret was looked at yet, and each release is charged on its own."""

    task: SecretTask
    secrets: Secrets = field(repr=False)
    spend: Fraction
    prepared: ReadyAnswer = field(repr=False)

    @property
    def errors(self) -> tuple[str, ...]:
        """What is known of the answer's error before it is drawn, in words."""
        return self.prepared.errors

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answer's law depends on."""
        return self.prepared.mechanism.fingerprint

    def release(
        self,
        secret: Any,
        *,
        ledger: str | Path | Ledger,
        purpose: str = "",
        id: str | None = None,
        allotment: str | None = None,
        insecure_test_seed: int | None = None,
    ) -> Release[SecretAnswer]:
        """Charge the ledger, then answer once: :func:`dxgeom.release` of the mechanism, with the answer in words.

        Args: ``secret``: a value of the attribute that is asked about, or a record as a mapping.
        Raises: DataError for what is no secret of the policy, before anything is charged; BudgetExceeded, LedgerError.
        """
        return self._released(self.secrets.index_of(secret), ledger, purpose, id, allotment, insecure_test_seed)

    def rehearse(self) -> Release[SecretAnswer]:
        """A release of a made-up secret: everything happens but for a ledger. Worth nothing."""
        made_up = int(np.random.default_rng().integers(self.secrets.metric.size))
        return replace(self._released(made_up, ":memory:", "", None, None, None), rehearsal=True)

    def _released(
        self,
        secret: int,
        ledger: str | Path | Ledger,
        purpose: str,
        id: str | None,
        allotment: str | None,
        insecure_test_seed: int | None,
    ) -> Release[SecretAnswer]:
        mechanism = self.prepared.mechanism
        order = checked_order(mechanism, self.spend, purpose=purpose, plan_fingerprint=None, id=id, allotment=allotment)
        blank = SecretAnswer("", "", "", self.errors)
        return release_as(
            order,
            mechanism,
            lambda answer, *_: blank if answer is blank else self.prepared.present(answer),
            blank,
            secret,
            {
                "ledger": ledger,
                "insecure_test_seed": insecure_test_seed,
                "outside": "refuse",
                "count_column": None,
                "quiet_data": True,
            },
        )

    def as_dict(self) -> dict[str, Any]:
        """The plan ready for JSON."""
        metric = self.secrets.metric
        return {
            "metric": {"title": metric.title, "fingerprint": metric.fingerprint},
            "answer": self.task.answer,
            "secrets": metric.size,
            "mechanism": self.prepared.mechanism.name,
            "spend": str(self.spend),
            "errors": list(self.errors),
            "fingerprint": self.fingerprint,
        }


def plan_answer(
    policy: str | os.PathLike[str] | Policy | DataSetPolicy,
    task: str | os.PathLike[str] | Mapping[str, Any] | SecretTask,
    *,
    spend: Amount,
) -> AnswerPlan:
    """Choose and prove what answers about one secret of a policy.

    Args: ``policy``: a file, or loaded, of records or of one small data set; ``task``: the word of a mechanism, such as
    "staircase", a task file, or what one would hold. ``spend``: the multiple of the metric that an answer uses up.
    Guarantee: reads no data; that replacing one secret by another changes the odds of any answer by at most
    e^(spend·d) is checked *exactly*.
    Raises: PolicyError, QueryError; UnsupportedCombination where the mechanism does not fit the secrets; TooLarge,
    UnboundedLoss, CertificateRefused.
    """
    kinds = (str, os.PathLike, Policy, DataSetPolicy)
    require(policy, kinds, "policy", "name a policy file, or load one with dx.load_policy")
    require(
        task,
        (str, os.PathLike, Mapping, SecretTask),
        "task",
        "say a mechanism, such as 'staircase', or name a task file",
    )
    asked, amount = _task(task), exact_amount(spend, "spend")
    loaded = policy if isinstance(policy, Policy | DataSetPolicy) else load_policy_of_secrets(policy)
    kind = kind_of(asked.answer)
    for key in asked.stated:
        if key not in kind.keys:
            raise UnsupportedCombination(f"'{key}' says nothing to {asked.answer}: leave it out")
    secrets = _secrets(loaded, asked)
    return AnswerPlan(asked, secrets, amount, kind.prepared(asked, secrets, amount))


def answer(
    policy: str | os.PathLike[str] | Policy | DataSetPolicy,
    task: str | os.PathLike[str] | Mapping[str, Any] | SecretTask,
    secret: Any,
    *,
    ledger: str | Path | Ledger,
    spend: Amount,
    purpose: str = "",
    id: str | None = None,
    allotment: str | None = None,
) -> Release[SecretAnswer]:
    """Plan an answer about one secret, charge the ledger, and answer once.

    Args: of :func:`plan_answer` and :meth:`AnswerPlan.release`.
    Raises: as these; nothing is spent when one is raised before the noise is drawn.
    """
    planned = plan_answer(policy, task, spend=spend)
    return planned.release(secret, ledger=ledger, purpose=purpose, id=id, allotment=allotment)


def _secrets(policy: Policy | DataSetPolicy, task: SecretTask) -> Secrets:
    if isinstance(policy, DataSetPolicy):
        return data_set_secrets(policy, task)
    if task.of is not None and not isinstance(task.of, str):
        raise UnsupportedCombination("a task about a policy of records asks about an attribute, 'of: age'")
    return secrets_of(policy, task.of)


def _task(task: str | os.PathLike[str] | Mapping[str, Any] | SecretTask) -> SecretTask:
    if isinstance(task, SecretTask):
        return task
    if isinstance(task, Mapping):
        return task_from_dict(task)
    # What is no mechanism and no name of a file is a slip of the pen.
    word = task in WORDS or (isinstance(task, str) and not Path(task).suffix and not Path(task).exists())
    return task_from_dict({"answer": task}) if word else load_task(task)
