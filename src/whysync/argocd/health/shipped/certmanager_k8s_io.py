"""cert-manager before version 0.11, when it had another group."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import Check, in_order, progressing, true_or_false

GROUP: Final = "certmanager.k8s.io"

CHECKS: Final[dict[str, Check]] = {
    "Certificate": in_order(true_or_false("Ready"), progressing("Waiting for certificate")),
    "Issuer": in_order(true_or_false("Ready"), progressing("Initializing issuer")),
}
