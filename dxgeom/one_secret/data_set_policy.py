"""Policies about one small data set as a whole: which graphs, or which databases, are hidden from which."""

from __future__ import annotations

import os
from collections.abc import Mapping as Map
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, TypeAlias, final

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, WithJsonSchema

from dxgeom.errors import PolicyError
from dxgeom.mechanisms.metric_space.dataset_space import DatabasePolicy, Under
from dxgeom.one_secret.task import note_problem
from dxgeom.policy.policy import Policy, load_policy
from dxgeom.policy.source.fields import Epsilon, Positive, whole_from_1
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import Language, PolicyText
from dxgeom.policy.source.yaml_tree import Mapping, as_data, read_tree
from dxgeom.policy.syntax.writing import text_of_data

_POLICIES: Final = Language("policy", "dx.one_secret.data_set_policy_from_dict", "data", PolicyError)
_STRICT: Final = ConfigDict(extra="forbid", frozen=True)
_KINDS: Final = ("graphs", "database")

Whole: TypeAlias = Annotated[
    int, PlainValidator(lambda value: whole_from_1(value, "these")), WithJsonSchema({"type": "integer", "minimum": 1})
]


@final
class GraphsSyntax(BaseModel):
    """Graphs of so many nodes; two that differ by an edge are ``epsilon`` apart, others as far as edges lead."""

    model_config = _STRICT

    nodes: Whole
    epsilon: Epsilon


@final
class DatabaseSyntax(BaseModel):
    """So many individuals, each with a value step·{0..largest} or absent; ``epsilon`` per unit of a metric."""

    model_config = _STRICT

    individuals: Whole
    largest: Whole
    epsilon: Epsilon
    step: Positive = Fraction(1)
    under: Under = "manhattan"


@final
class DataSetSyntax(BaseModel):
    """A whole file: a name, and graphs or a database."""

    model_config = _STRICT

    policy: str
    about: str = ""
    graphs: GraphsSyntax | None = None
    database: DatabaseSyntax | None = None
    budget: Positive = Fraction(1)


@final
@dataclass(frozen=True)
class DataSetPolicy:
    """What may be the data set, and how strongly it is hidden: of ``graphs`` and ``database`` one is there."""

    name: str
    budget: Fraction
    graphs: GraphsSyntax | None
    database: DatabasePolicy | None

    @property
    def kind(self) -> Literal["graphs", "database"]:
        """Which of the two."""
        return "graphs" if self.database is None else "database"


def load_policy_of_secrets(path: str | os.PathLike[str]) -> Policy | DataSetPolicy:
    """The policy of a file: about one small data set where it has the key ``graphs`` or ``database``, else of records.

    Raises: PolicyError with every mistake, each with its place.
    """
    text = _POLICIES.read(path)
    mistakes = Mistakes(text)
    root = read_tree(mistakes)
    own = isinstance(root, Mapping) and any(root.entry(kind) is not None for kind in _KINDS)
    return _policy_of(text) if own else load_policy(path)


def data_set_policy_from_dict(data: Map[str, Any], *, file: str = "policy") -> DataSetPolicy:
    """The policy that Python data states: the words and numbers that a file would hold. Raises: PolicyError."""
    return _policy_of(text_of_data(data, _POLICIES, file, None))


def _policy_of(text: PolicyText) -> DataSetPolicy:
    mistakes = Mistakes(text)
    root = read_tree(mistakes)
    made = None
    if isinstance(root, Mapping):
        try:
            made = DataSetSyntax.model_validate(as_data(root))
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_input=False):
                _note(root, problem, mistakes)
        if made is not None and (made.graphs is None) == (made.database is None):
            mistakes.add("DX107", root.span, "a policy of data sets has the key 'graphs' or the key 'database'")
    if made is None or mistakes:
        raise PolicyError(mistakes.found)
    database = made.database
    described = (
        None
        if database is None
        else DatabasePolicy(database.individuals, database.step, database.largest, database.under, database.epsilon)
    )
    return DataSetPolicy(made.policy, made.budget, made.graphs, described)


def _note(root: Mapping, problem: Any, mistakes: Mistakes) -> None:
    models: dict[object, type[BaseModel]] = {"graphs": GraphsSyntax, "database": DatabaseSyntax}
    path = problem["loc"]
    known = tuple((models[path[0]] if len(path) > 1 else DataSetSyntax).model_fields)
    note_problem(root, problem, mistakes, known, f"known here: {', '.join(known)}")
