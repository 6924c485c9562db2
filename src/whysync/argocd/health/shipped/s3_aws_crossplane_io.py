"""Crossplane, AWS: buckets."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_crossplane_aws import ready_and_synced
from whysync.argocd.health.shipped.vocabulary import Check

GROUP = "s3.aws.crossplane.io"
CHECKS: dict[str, Check] = {
    "Bucket": ready_and_synced("Bucket"),
}
