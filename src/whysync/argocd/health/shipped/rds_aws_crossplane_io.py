"""Crossplane, AWS: relational databases."""

from __future__ import annotations

from whysync.argocd.health.shipped.family_crossplane_aws import ready_and_synced
from whysync.argocd.health.shipped.vocabulary import Check

GROUP = "rds.aws.crossplane.io"
CHECKS: dict[str, Check] = {
    "DBCluster": ready_and_synced("DBCluster"),
    "DBInstance": ready_and_synced("DBInstance"),
}
