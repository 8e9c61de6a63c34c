"""Answers about one secret: a task in a file, what it needs of a policy, the mechanism, and what it answered.

Touches ``policy``, ``mechanisms`` and the planner's releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.one_secret.answer_plan import (
        ANSWERS as ANSWERS,
        AnswerPlan as AnswerPlan,
        answer as answer,
        plan_answer as plan_answer,
    )
    from dxgeom.one_secret.data_sets import (
        DataSetPolicy as DataSetPolicy,
        data_set_policy_from_dict as data_set_policy_from_dict,
    )
    from dxgeom.one_secret.secrets import (
        AnswerKind as AnswerKind,
        ReadyAnswer as ReadyAnswer,
        SecretAnswer as SecretAnswer,
        Secrets as Secrets,
    )
    from dxgeom.one_secret.task import (
        SecretTask as SecretTask,
        load_task as load_task,
        task_from_dict as task_from_dict,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
