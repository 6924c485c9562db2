"""Google Kubernetes Engine: managed certificates."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    degraded,
    each,
    healthy,
    in_order,
    is_,
    progressing,
    when,
)

GROUP = "networking.gke.io"
CHECKS: dict[str, Check] = {
    "ManagedCertificate": in_order(
        each(
            ".status?.domainStatus",
            when(
                is_("status", "FailedNotVisible"),
                then=degraded("At least one certificate has failed to be provisioned"),
            ),
        ),
        when(is_(".status?.certificateStatus", "Active"), then=healthy("All certificates are active")),
        progressing("At least one certificate is still being provisioned"),
    ),
}
