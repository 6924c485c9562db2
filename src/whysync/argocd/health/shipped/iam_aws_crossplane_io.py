"""Crossplane, AWS: identities."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_crossplane_aws import ready_and_synced
from whysync.argocd.health.shipped.vocabulary import Check

GROUP = "iam.aws.crossplane.io"
CHECKS: dict[str, Check] = {
    "Policy": ready_and_synced("Policy"),
    "Role": ready_and_synced("Role"),
    "RolePolicyAttachment": ready_and_synced("RolePolicyAttachment"),
}
