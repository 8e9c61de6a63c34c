"""One small data set as a whole: policies about graphs or databases, which are secrets up to what a query answers on
them, and answers by layers of data sets around one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Annotated, Any, Final, Literal, TypeAlias, final

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, WithJsonSchema

from dxgeom.arguments import described
from dxgeom.errors import DataError, PolicyError, UnsupportedCombination
from dxgeom.lab.dataset_space import (
    DatabasePolicy,
    DatasetSpace,
    Query,
    SmallGraphs,
    Under,
    average,
    neighbouring_datasets,
    percentile,
    small_graphs,
    total,
)
from dxgeom.lab.finite_mechanism import PrivateTable
from dxgeom.lab.layers import calibrated_table, composed_layers, ladder_layers, privacy_first_layers
from dxgeom.lab.secrets import AnswerKind, ReadyAnswer, SecretAnswer, Secrets
from dxgeom.lab.task import SecretTask, note_problem
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.policy.policy import Policy, load_policy
from dxgeom.policy.source.fields import Epsilon, Positive, whole_from_1
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import Language, PolicyText
from dxgeom.policy.source.yaml_tree import Mapping as TreeMapping
from dxgeom.policy.source.yaml_tree import as_data, read_language
from dxgeom.policy.syntax.writing import text_of_data
from dxgeom.universe.columns import plain
from dxgeom.universe.decimals import NotANumber, exact

_POLICIES: Final = Language("policy", "dx.lab.data_set_policy_from_dict", "data", PolicyError)
_STRICT: Final = ConfigDict(extra="forbid", defer_build=True, frozen=True)
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
    root = read_language(mistakes, "policy")
    own = isinstance(root, TreeMapping) and any(root.entry(kind) is not None for kind in _KINDS)
    return _policy_of(text) if own else load_policy(path)


def data_set_policy_from_dict(data: Mapping[str, Any], *, file: str = "policy") -> DataSetPolicy:
    """The policy that Python data states: the words and numbers that a file would hold. Raises: PolicyError."""
    return _policy_of(text_of_data(data, _POLICIES, file, None))


def _policy_of(text: PolicyText) -> DataSetPolicy:
    mistakes = Mistakes(text)
    root = read_language(mistakes, "policy")
    made = None
    if isinstance(root, TreeMapping):
        try:
            made = DataSetSyntax.model_validate(as_data(root))
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_input=False):
                _note(root, problem, mistakes)
        if made is not None and (made.graphs is None) == (made.database is None):
            mistakes.add("DX107", root.span, "a policy of data sets has the key 'graphs' or the key 'database'")
    if made is None or mistakes:
        raise PolicyError(mistakes.all)
    database = made.database
    described = (
        None
        if database is None
        else DatabasePolicy(database.individuals, database.step, database.largest, database.under, database.epsilon)
    )
    return DataSetPolicy(made.policy, made.budget, made.graphs, described)


def _note(root: TreeMapping, problem: Any, mistakes: Mistakes) -> None:
    models: dict[object, type[BaseModel]] = {"graphs": GraphsSyntax, "database": DatabaseSyntax}
    path = problem["loc"]
    known = tuple((models[path[0]] if len(path) > 1 else DataSetSyntax).model_fields)
    note_problem(root, problem, mistakes, known, f"known here: {', '.join(known)}")


_STATISTICS = "write 'of: triangles', 'of: edges', 'of: {stars: 2}' or 'of: {pattern: [[a, b], [b, c]]}'"
_QUERIES = "write 'of: sum', 'of: average' or 'of: {percentile: 50}'"


@final
@dataclass(frozen=True, eq=False)
class GraphSecrets(Secrets):
    """All graphs of so many nodes, up to renaming them, and a statistic of each; neighbours differ by one edge."""

    graphs: SmallGraphs = field(repr=False)
    space: DatasetSpace = field(repr=False)
    rate: Fraction
    name: str
    budget: Fraction

    @cached_property
    def metric(self) -> VerifiedMetric:  # type: ignore[override]
        return self.space.metric(self.rate, self.name, self.budget)

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        return self.space.values

    def index_of(self, secret: Any) -> int:
        """Args: ``secret``: a NetworkX graph, pairs of names, or a text of pairs such as "ann-bob, bob-cy"."""
        return self.graphs.index(_pairs(secret) if isinstance(secret, str) else secret)

    def label(self, index: int) -> str:
        return plain(self.space.values[index])


@final
@dataclass(frozen=True, eq=False)
class DatabaseSecrets(Secrets):
    """The values of a query on a small database; ``level``: of a percentile."""

    policy: DatabasePolicy
    query: Query
    level: int
    metric: VerifiedMetric = field(repr=False)

    @cached_property
    def numbers(self) -> tuple[Fraction, ...]:
        return tuple(place * self.policy.step for place in range(self.policy.answers(self.query)))

    def index_of(self, secret: Any) -> int:
        """Args: ``secret``: the value of each individual, None for who is absent; or a text such as "3, 4, absent"."""
        database = _database_of(self.policy, secret)
        if self.query == "sum":
            return total(database)
        return average(database) if self.query == "average" else percentile(database, self.level)

    def label(self, index: int) -> str:
        return plain(self.numbers[index])


@final
@dataclass(frozen=True, eq=False)
class WholeDatabaseSecrets(Secrets):
    """All databases of a policy, up to who has which value, and what a query answers on each."""

    policy: DatabasePolicy
    space: DatasetSpace = field(repr=False)
    budget: Fraction

    @property
    def name(self) -> str:
        """What the policy's accounts are called."""
        return self.policy.title

    @property
    def rate(self) -> Fraction:
        """Nats of a unit of length in ``space``."""
        return self.policy.rate

    @cached_property
    def metric(self) -> VerifiedMetric:  # type: ignore[override]
        return self.space.metric(self.rate, self.name, self.budget)

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        return self.space.values

    def index_of(self, secret: Any) -> int:
        """Args: ``secret``: as :meth:`DatabaseSecrets.index_of` takes it."""
        database = _database_of(self.policy, secret)
        total(database)
        absent = self.policy.largest + 1
        return self.policy.databases.index(tuple(sorted(absent if one is None else one for one in database)))

    def label(self, index: int) -> str:
        return plain(self.space.values[index])


def _database_of(policy: DatabasePolicy, secret: Any) -> list[int | None]:
    cells = secret.split(",") if isinstance(secret, str) else secret
    if not isinstance(cells, Sequence) or len(cells) != policy.individuals:
        raise DataError(
            f"this secret is a database: a value for each of {policy.individuals} individuals, with commas between, "
            "and 'absent' for who is not there"
        )
    return [_steps(policy, cell) for cell in cells]


def _steps(policy: DatabasePolicy, cell: Any) -> int | None:
    if cell is None or (isinstance(cell, str) and cell.strip() in ("", "absent")):
        return None
    try:
        number = exact(cell.strip()) if isinstance(cell, str) else Fraction(cell)
    except (NotANumber, TypeError, ValueError) as error:
        raise DataError(f"a value of a database is a number, or 'absent'; found {described(cell)}") from error
    steps = number / policy.step
    if steps.denominator != 1 or not 0 <= steps <= policy.largest:
        most = plain(policy.largest * policy.step)
        raise DataError(f"values are multiples of {plain(policy.step)} from 0 to {most}; one is not")
    return int(steps)


def data_set_secrets(policy: DataSetPolicy, task: SecretTask) -> Secrets:
    """The data sets of a policy, and what the task asks of them.

    Raises: UnsupportedCombination for a statistic that there is none of; TooLarge for graphs of more than seven nodes,
    and for more than 1,100 databases where layers of whole databases are asked for.
    """
    if policy.database is not None:
        query, level = _query(task.of)
        made = policy.database
        if task.answer in DataSetLayers.words:
            return WholeDatabaseSecrets(made, made.space(query, level), policy.budget)
        return DatabaseSecrets(made, query, level, made.metric(query, policy.budget))
    if policy.graphs is None:
        raise UnsupportedCombination("a policy of data sets has graphs or a database")
    graphs = small_graphs(policy.graphs.nodes)
    values = _statistic(graphs, task.of).tolist()
    space = neighbouring_datasets(values, graphs.first, graphs.second)
    return GraphSecrets(graphs, space, policy.graphs.epsilon, policy.name, policy.budget)


def _statistic(graphs: SmallGraphs, of: Any) -> Any:
    match of:
        case "triangles":
            return graphs.triangles()
        case "edges":
            return graphs.stars(1)
        case Mapping() if "stars" in of:
            return graphs.stars(_whole(of["stars"], 1, _STATISTICS))
        case Mapping() if "pattern" in of and isinstance(of["pattern"], list):
            return graphs.subgraphs(tuple(edge) if isinstance(edge, list) else edge for edge in of["pattern"])
    raise UnsupportedCombination(f"a task about graphs asks for a statistic: {_STATISTICS}")


def _query(of: Any) -> tuple[Query, int]:
    match of:
        case "sum" | "average":
            return of, 0
        case Mapping() if "percentile" in of:
            return "percentile", _whole(of["percentile"], 0, _QUERIES)
    raise UnsupportedCombination(f"a task about a database asks for a query: {_QUERIES}")


def _whole(value: Any, least: int, advice: str) -> int:
    try:
        number = exact(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
    except NotANumber:
        number = None
    if number is None or number.denominator != 1 or not least <= number < 100:
        raise UnsupportedCombination(f"a whole number from {least} to 99 is expected: {advice}")
    return int(number)


def _pairs(text: str) -> list[tuple[str, ...]]:
    """Edges as they are written: "ann-bob, bob-cy"; a name alone is a node without an edge."""
    pieces = [piece.strip() for piece in text.replace(";", ",").split(",") if piece.strip()]
    return [tuple(end.strip() for end in piece.split("-")) for piece in pieces]


@final
class DataSetLayers(AnswerKind):
    """Layers of values around a data set, at the level that they measurably have on the whole space."""

    words = ("privacy_first", "ladder", "composed")
    keys = ("of", "width")

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        if not isinstance(secrets, GraphSecrets | WholeDatabaseSecrets):
            raise UnsupportedCombination(f"{task.answer} is about whole small data sets, such as graphs")
        if task.width is not None and task.answer != "composed":
            raise UnsupportedCombination(f"'width' is about composed layers, not about {task.answer}: leave it out")
        table = self._table(task, secrets, spend)
        even = [Fraction(1, secrets.space.size)] * secrets.space.size
        mean = float(table.expected_loss(even, secrets.space.losses))
        which = "graphs" if isinstance(secrets, GraphSecrets) else "databases"
        errors = (f"off by {mean:.4g} on average over all {which} alike likely; exact",)
        return ReadyAnswer(table, partial(_present, secrets.space, errors), errors)

    def _table(self, task: SecretTask, secrets: GraphSecrets | WholeDatabaseSecrets, spend: Fraction) -> PrivateTable:
        space = secrets.space
        match task.answer:
            case "privacy_first":
                layers = privacy_first_layers(space)
            case "ladder":
                layers = ladder_layers(space)
            case _:
                width = Fraction(1) if task.width is None else task.width
                layers = composed_layers(space, [width] * space.size)
        name = task.answer.replace("_", " ")
        return calibrated_table(space, layers, secrets.rate, name, spend, title=secrets.name, budget=secrets.budget)


def _present(space: DatasetSpace, errors: tuple[str, ...], answer: int) -> SecretAnswer:
    value = plain(space.range[answer])
    return SecretAnswer(value, value, "", errors)
