"""Crossplane, AWS: DNS records. The odd word in the messages is upstream's."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_crossplane_aws import ready_and_synced
from whysync.argocd.health.shipped.vocabulary import Check

GROUP = "route53.aws.crossplane.io"
CHECKS: dict[str, Check] = {
    "ResourceRecordSet": ready_and_synced("resourcrecordset"),
}
