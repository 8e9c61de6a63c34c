"""Plans of quantiles as files: which form answers each question, and of what; the mechanism is made anew from these."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dxgeom.errors import UnsupportedCombination
from dxgeom.plan_files.aims import spend_of, the_spend
from dxgeom.plan_files.asked import quantile_queries_of, written_queries
from dxgeom.plan_files.document import FORMAT, Digest, PolicyPart, QueriesPart, Rational, path_text
from dxgeom.plan_files.exact_text import rational_of
from dxgeom.plan_files.json_text import digest_of, document_text
from dxgeom.plan_files.sources import policy_data, policy_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.answers.quantile_answers import QuantileAnswers
from dxgeom.planner.quantile_plan import QuantilePlan, plan_quantiles
from dxgeom.planner.release import Release
from dxgeom.policy.policy import Policy

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger


@final
class QuantilePlanDocument(BaseModel):
    """A plan of quantiles: everything that decides the law of its releases, and nothing private."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal["dxgeom plan 1"]
    policy: PolicyPart
    queries: QueriesPart
    forms: list[list[Literal["transport", "laplace"]]] = Field(
        description="For each query, how it, or each of its groups in turn, is answered: by transport cost or with "
        "Laplace noise."
    )
    compared_at_spend: Rational = Field(description="The spend at which the forms were compared.")
    spend: Rational | None = Field(description="The spend of a release, where it was stated with the plan.")
    fingerprint: Digest = Field(description="What ledgers remember the plan's releases by.")
    digest: Digest = Field(description="SHA-256 of all other fields, in their order, as JSON without blanks.")


@final
@dataclass(frozen=True, eq=False)
class LoadedQuantilePlan:
    """A plan of quantiles that was read from a file: the mechanism that was planned, made anew.

    ``spend``: what the file states, None where it leaves that open. ``digest``: of the whole file.
    """

    policy: Policy
    plan: QuantilePlan
    spend: Fraction | None
    digest: str
    document: QuantilePlanDocument = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """What ledgers remember its releases by: that of the plan that was written."""
        return self.plan.fingerprint

    def at_spend(self, spend: Amount | None) -> Fraction:
        """The spend of a release: that of the file, or, where it states none, the one given.

        Raises: UnsupportedCombination for none at all, or another than the file's.
        """
        amount = the_spend(spend, self.spend)
        if amount is None:
            raise UnsupportedCombination("this plan states no spend: say how much of the budget to use, spend=...")
        return amount

    def release(
        self,
        table: Any,
        *,
        ledger: str | Path | Ledger,
        spend: Amount | None = None,
        purpose: str = "",
        outside: Literal["refuse", "drop"] = "refuse",
        count_column: str | None = None,
        quiet_data: bool = False,
        id: str | None = None,
        allotment: str | None = None,
        insecure_test_seed: int | None = None,
    ) -> Release[QuantileAnswers]:
        """Charge the ledger, then draw the quantiles once, as :meth:`dxgeom.QuantilePlan.release` does.

        Args: ``spend``: left out where the file states it. The others are those of :func:`dxgeom.release`.
        Raises: DataError before anything is charged; BudgetExceeded, LedgerError without anything charged.
        """
        return self.plan.release(
            table,
            ledger=ledger,
            spend=self.at_spend(spend),
            purpose=purpose,
            outside=outside,
            count_column=count_column,
            quiet_data=quiet_data,
            id=id,
            allotment=allotment,
            insecure_test_seed=insecure_test_seed,
        )

    def to_opendp(self, *, ledger: str | Path | Ledger, spend: Amount | None = None, **how: Any) -> Any:
        """The plan as an OpenDP measurement, as :meth:`dxgeom.Plan.to_opendp`; without ``spend`` at the file's."""
        return self.plan.to_opendp(ledger=ledger, spend=self.at_spend(spend), **how)

    def to_json(self) -> str:
        """The text of the file."""
        return document_text(self.document.model_dump())


def quantile_plan_text(plan: QuantilePlan, policy: Policy, spend: Amount | None) -> str:
    """The text of the file.

    Raises: UnsupportedCombination for another policy, and for queries that were not read from a text.
    """
    if plan.metric.fingerprint != policy.fingerprint:
        raise UnsupportedCombination("this plan is for another policy: give the one that its metric was compiled from")
    document: dict[str, Any] = {
        "format": FORMAT,
        "policy": policy_data(policy),
        "queries": written_queries(plan.queries, plan.records),
        "forms": [list(part.forms) for part in plan.parts],
        "compared_at_spend": str(plan.spend),
        "spend": None if spend is None else str(exact_amount(spend, "spend")),
        "fingerprint": plan.fingerprint,
    }
    return document_text({**document, "digest": digest_of(document)})


def loaded_quantiles(document: dict[str, Any]) -> LoadedQuantilePlan:
    """The plan of a document. Nothing is searched for: the forms are the file's, what they hide is the policy's.

    Raises: Wrong.
    """
    try:
        part = QuantilePlanDocument.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Wrong("DX302", path_text(first["loc"]), str(first["msg"])) from error
    if part.digest != digest_of(document):
        raise Wrong("DX307", "digest", "the file was changed after it was written: its digest is another")
    policy = policy_of(part.policy)
    queries = quantile_queries_of(part.queries, policy)
    if len(part.forms) != len(queries.asked):
        raise Wrong("DX302", "forms", "there are forms for each query")
    compared = rational_of(part.compared_at_spend, "compared_at_spend")
    with refused_as("DX305", "forms"):
        plan = plan_quantiles(policy.compile(), queries, records=part.queries.records, spend=compared, forms=part.forms)
    if plan.fingerprint != part.fingerprint:
        raise Wrong("DX307", "fingerprint", f"this plan's fingerprint is {plan.fingerprint}")
    return LoadedQuantilePlan(policy, plan, spend_of(part.spend, policy), part.digest, part)
