"""An answer about one secret, from a policy and a task: planned, its error told, rehearsed, released."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from dxgeom.arguments import require
from dxgeom.errors import UnsupportedCombination
from dxgeom.lab.answers import Lines, Planar, Tables
from dxgeom.lab.data_sets import DataSetLayers, DataSetPolicy, data_set_secrets, load_policy_of_secrets
from dxgeom.lab.secrets import AnswerKind, ReadyAnswer, SecretAnswer, Secrets, secrets_of
from dxgeom.lab.task import WORDS, SecretTask, load_task, task_from_dict
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.release import Release
from dxgeom.planner.releases.answer_once import checked_order, release_as
from dxgeom.policy.policy import Policy

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger


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
