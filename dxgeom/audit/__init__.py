"""Finished claims, re-checked by another route than the one that made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.audit.covariance_audit import audit_covariance as audit_covariance
    from dxgeom.audit.hull_audit import audit_hull as audit_hull, audit_hulls as audit_hulls
    from dxgeom.audit.observed_losses import observed_loss as observed_loss
    from dxgeom.audit.plan_audit import audit_plan as audit_plan
    from dxgeom.audit.transcript_audit import audit_release as audit_release

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
