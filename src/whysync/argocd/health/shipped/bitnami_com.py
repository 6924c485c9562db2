"""Sealed Secrets."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import Check, in_order, progressing, true_or_false

GROUP: Final = "bitnami.com"

CHECKS: Final[dict[str, Check]] = {
    "SealedSecret": in_order(
        true_or_false("Synced"), progressing("Waiting for Sealed Secret to be decrypted")
    )
}
