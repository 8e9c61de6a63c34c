"""A line for each thing, short enough for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from dxgeom.universe.columns import plain


def brief(thing: object) -> str:
    """The line; for what is not known here Python's own."""
    say = _BRIEFS.get(name_of(thing, _BRIEFS))
    return object.__repr__(thing) if say is None else f"<{type(thing).__name__} {say(thing)}>"


def name_of(thing: object, known: Collection[str]) -> str:
    """What it is called among those that are known: by its class, or one that this is of; '' where by none."""
    return next((one.__name__ for one in type(thing).__mro__ if one.__name__ in known), "")


def _policy(policy: Any) -> str:
    rules = f"{len(policy.rules)} rule{'' if len(policy.rules) == 1 else 's'}"
    return f"{policy.name!r}: {policy.universe.record_types:,} record types, {rules}, budget {plain(policy.budget)}"


def _metric(metric: Any) -> str:
    return f"{metric.title!r}: {metric.certificate.form} on {metric.size:,} records, budget {plain(metric.budget)}"


def _certificate(certificate: Any) -> str:
    return f"{certificate.form} on {certificate.size:,} values: {certificate.verdict}"


def _plan(plan: Any) -> str:
    errors = plan.plan.rmse()
    return (
        f"of {plan.metric.title!r}: {plan.queries.count:,} queries by {plan.mechanism.name}, rmse "
        f"{errors.min():.3g} to {errors.max():.3g} at spend 1"
    )


def _any_plan(plan: Any) -> str:
    return f"of {plan.mechanism.account.policy_name!r}: {plan.releasing.purpose}"


def _candidate(candidate: Any) -> str:
    said = candidate.reason if candidate.predicted_mse is None else f"mean squared error {candidate.predicted_mse:.4g}"
    return f"{candidate.name}: {said}"


def _release(release: Any) -> str:
    answered = getattr(release.answer, "names", None)
    count = "an answer" if answered is None else f"{len(answered):,} answers"
    return (
        f"of {release.mechanism.account.policy_name!r}: {count}, spent {plain(release.spent)}, "
        f"{plain(release.remaining)} left"
    )


def _ledger(ledger: Any) -> str:
    where = "in memory" if ledger.file is None else repr(ledger.file)
    return f"{where} of policy {ledger.account.policy_name!r}, budget {plain(ledger.account.budget)}"


_BRIEFS: Final[dict[str, Callable[[Any], str]]] = {
    "Policy": _policy,
    "VerifiedMetric": _metric,
    "MetricCertificate": _certificate,
    "Plan": _plan,
    "Releasable": _any_plan,
    "CandidateResult": _candidate,
    "Release": _release,
    "Ledger": _ledger,
}
