"""Finished claims, re-checked by another route than the one that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.audit.claims import claims_of as claims_of, read_claims as read_claims, write_claims as write_claims
    from dxgeom.audit.covariance_audit import CovarianceAudit as CovarianceAudit, audit_covariance as audit_covariance
    from dxgeom.audit.distances_audit import audit_edges as audit_edges, audit_matrix as audit_matrix
    from dxgeom.audit.hull_audit import HullAudit as HullAudit, audit_hull as audit_hull
    from dxgeom.audit.observed_losses import ObservedLoss as ObservedLoss, observed_loss as observed_loss
    from dxgeom.audit.plan_audit import PlanAudit as PlanAudit, audit_plan as audit_plan
    from dxgeom.audit.policy_audit import Audit as Audit, audit_policy as audit_policy

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
