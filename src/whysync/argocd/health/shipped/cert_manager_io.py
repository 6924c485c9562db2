"""cert-manager: certificates and who issues them."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    conditions,
    in_order,
    progressing,
    says,
    true_or_false,
)

GROUP: Final = "cert-manager.io"


CHECKS: Final[dict[str, Check]] = {
    # While a certificate is being renewed, the old one still says Ready.
    "Certificate": in_order(
        conditions(says("Issuing", "True", progressing("{message}"))),
        true_or_false("Ready"),
        progressing("Waiting for certificate"),
    ),
    "ClusterIssuer": in_order(true_or_false("Ready"), progressing("Initializing ClusterIssuer")),
    "Issuer": in_order(true_or_false("Ready"), progressing("Initializing issuer")),
}
