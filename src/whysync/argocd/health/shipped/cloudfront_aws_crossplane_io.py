"""Crossplane, AWS: content delivery."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.family_crossplane_aws import ready_and_synced
from whysync.argocd.health.shipped.vocabulary import Check

GROUP: Final = "cloudfront.aws.crossplane.io"

CHECKS: Final[dict[str, Check]] = {"Distribution": ready_and_synced("distribution")}
