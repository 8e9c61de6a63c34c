"""The conventions of scikit-learn's estimators, without it: parameters, clones, tags, and what arrays are taken."""

from __future__ import annotations

import copy
import inspect
import sys
import threading
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError, BudgetExceeded, UnsupportedCombination, WrongArgument
from dxgeom.ledger.chronicle import Uncopied
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.policy.policy import Policy


@final
class Lineage(Uncopied):
    """Counts the fits of an estimator, its clones and its copies. Copies of this are this."""

    def __init__(self) -> None:
        self._made = 0
        self._lock = threading.Lock()

    def count(self, allowed: int) -> None:
        """One fit more.

        Raises: BudgetExceeded, before anything is charged, when more were not asked for.
        """
        with self._lock:
            if self._made >= allowed:
                raise BudgetExceeded(
                    f"this estimator and its clones have paid for {self._made} fit{'s' * (self._made != 1)}, and each "
                    "further one is charged as well, as every fold of a cross-validation and every candidate of a "
                    f"search is: ask for that by fits={self._made + 1} or more, or fit a new estimator"
                )
            self._made += 1

    def take_back(self) -> None:
        """A fit that was refused with nothing spent."""
        with self._lock:
            self._made -= 1

    def __reduce__(self) -> tuple[type[Lineage], tuple[()]]:
        """In another process it counts from 0: the ledger's file is what all processes share."""
        return Lineage, ()


class Estimator(ABC):
    """An estimator as scikit-learn takes them; it need not be installed.

    Laws: parameters are those of ``__init__``, kept as they were given; what is learned ends with an underscore;
    clones and copies share the ledger, and the count of fits that were asked for.
    """

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Any:
        """Sets parameters. Raises: ValueError for unknown ones."""
        for name, value in params.items():
            if name not in self._parameter_names():
                known = self._parameter_names()
                raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}.")
            setattr(self, name, value)
        return self

    @property
    def lineage(self) -> Lineage:
        """The count of fits, shared by all clones and copies."""
        return self.__dict__.setdefault("_lineage", Lineage())  # type: ignore[no-any-return]

    def __sklearn_clone__(self) -> Any:
        twin = type(self)(**{name: _copied(value) for name, value in self.get_params().items()})
        twin.__dict__["_lineage"] = self.lineage
        return twin

    def __copy__(self) -> Any:
        twin = type(self).__new__(type(self))
        _ = self.lineage
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        twin = type(self).__new__(type(self))
        _ = self.lineage
        twin.__dict__.update({name: _copied(value) for name, value in self.__dict__.items()})
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """A copy for another process knows the ledger's file; a ledger in memory stays where it is."""
        state = dict(self.__dict__)
        if isinstance(state.get("ledger"), Ledger):
            state["ledger"] = state["ledger"].file
        return state

    def __repr__(self) -> str:
        defaults = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
        told = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
        return f"{type(self).__name__}({', '.join(told)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    @abstractmethod
    def _kind_of_tags(self, tags: Any) -> Any:
        """Scikit-learn's tags, with those of a classifier or regressor."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        tags = Tags(estimator_type=None, target_tags=TargetTags(required=True))
        tags.non_deterministic = True
        return self._kind_of_tags(tags)

    def _require_fitted(self) -> None:
        if hasattr(self, "coef_"):
            return
        message = f"This {type(self).__name__} instance is not fitted yet: call 'fit' first, which charges the ledger"
        try:
            from sklearn.exceptions import NotFittedError
        except ImportError:
            raise UnsupportedCombination(message) from None
        raise NotFittedError(message)

    def _remember_columns(self, X: Any, size: int) -> None:
        self.n_features_in_ = size
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _numbers_to_predict(self, X: Any) -> NDArray[np.float64]:
        """(n, p) of new rows. Raises: not fitted; DataError for other columns than were fitted."""
        self._require_fitted()
        self._check_names(X)
        table = numbers(X)
        if table.shape[1] != self.n_features_in_:
            raise ArrayError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        return table

    def _check_names(self, X: Any) -> None:
        now, then = column_names(X), getattr(self, "feature_names_in_", None)
        if now is None and then is None:
            return
        if then is None:
            warnings.warn(
                f"X has feature names, but {type(self).__name__} was fitted without feature names", stacklevel=4
            )
            return
        if now is None:
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names",
                stacklevel=4,
            )
            return
        if list(now) != list(then):
            raise ArrayError(_other_names(list(now), list(then)))


def _other_names(now: list[str], then: list[str]) -> str:
    """In scikit-learn's words."""
    told = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(now) - set(then)), sorted(set(then) - set(now))
    if unseen:
        told += "Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in unseen)
    if missing:
        told += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {name}\n" for name in missing)
    return told if unseen or missing else told + "Feature names must be in the same order as they were in fit.\n"


def column_names(X: Any) -> list[str] | None:
    """The columns' names of a data frame, None of an array.

    Raises: WrongArgument for names of which only some are text.
    """
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        raise WrongArgument(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(name).__name__ for name in names})} as feature name / column name types. If you want "
            "feature names to be stored and validated, you must convert them all to strings, by using X.columns = "
            "X.columns.astype(str) for example."
        )
    return names if names and all(text) else None


def numbers(X: Any) -> NDArray[np.float64]:
    """A table of numbers (n, p). Raises: ArrayError, WrongArgument for anything else."""
    if "scipy.sparse" in sys.modules and sys.modules["scipy.sparse"].issparse(X):
        raise WrongArgument("sparse data was passed, but dense data is required: use X.toarray()")
    table = np.asarray(X)
    if np.iscomplexobj(table):
        raise ArrayError("Complex data not supported: features are real numbers")
    if table.ndim != 2:
        raise ArrayError(
            f"Expected 2D array, got {table.ndim}D array instead: a table has a row for each record. Reshape your data "
            "either using array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it "
            "contains a single sample."
        )
    try:
        table = table.astype(np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError):
            raise WrongArgument(f"features are numbers: {error}") from error
        raise ArrayError(f"features are numbers: {error}") from error
    if table.shape[0] == 0:
        raise ArrayError(f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is required.")
    if table.shape[1] == 0:
        raise ArrayError(f"Found array with 0 feature(s) (shape={table.shape}) while a minimum of 1 is required.")
    if not np.all(np.isfinite(table)):
        raise ArrayError("Input X contains NaN or infinity: features are finite numbers; drop such rows first")
    return table


def one_response_each(y: Any, rows: int) -> NDArray[Any]:
    """Responses (n,). Raises: ArrayError for another number of them."""
    if y is None:
        raise ArrayError("requires y to be passed, but the target y is None")
    found = np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        _warn_of_column()
        found = found[:, 0]
    if found.ndim != 1:
        raise ArrayError(f"y should be a 1d array, got an array of shape {found.shape} instead.")
    if len(found) != rows:
        raise ArrayError(f"Found input variables with inconsistent numbers of samples: {[rows, len(found)]}")
    return found


def _warn_of_column() -> None:
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        DataConversionWarning = UserWarning
    message = "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)."
    warnings.warn(message, DataConversionWarning, stacklevel=4)


def _copied(value: Any) -> Any:
    """A copy of a parameter, but of a ledger and of what counts fits."""
    return value if isinstance(value, (Ledger, Lineage, VerifiedMetric, Policy, str, Path)) else copy.deepcopy(value)
