"""Kubitus' operator for Grafana organizations: one check for all its kinds."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    by,
    conditions,
    degraded,
    healthy,
    in_order,
    progressing,
    says,
)

GROUP: Final = "grafana-org-operator.kubitus-project.gitlab.io"

CHECKS: Final[dict[str, Check]] = {
    "*": in_order(
        conditions(
            says(
                "Ready",
                None,
                by(
                    "status",
                    {"False": degraded("{message}"), "True": healthy("{message}")},
                    other=progressing("{message}"),
                ),
            )
        ),
        progressing("Waiting ..."),
    )
}
