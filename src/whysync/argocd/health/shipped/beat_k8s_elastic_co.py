"""Elastic Cloud on Kubernetes: Beats."""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    absent,
    by,
    degraded,
    healthy,
    in_order,
    present,
    progressing,
    unknown,
    when,
)

GROUP: Final = "beat.k8s.elastic.co"

_UNDER_WAY: Final = progressing("Elastic Beat phase is progressing")

CHECKS: Final[dict[str, Check]] = {
    "Beat": in_order(
        by(
            ".status?.health",
            {
                "red": degraded("Elastic Beat status is Red"),
                "green": healthy("Elastic Beat status is Green"),
                "yellow": in_order(
                    when(
                        present(".status.availableNodes"),
                        present(".status.expectedNodes"),
                        then=progressing(
                            "Elastic Beat status is deploying, there is {.status.availableNodes} instance(s)"
                            " on {.status.expectedNodes} expected"
                        ),
                    ),
                    _UNDER_WAY,
                ),
            },
        ),
        when(absent(".status?.health"), present(".status?.expectedNodes"), then=_UNDER_WAY),
        unknown(
            "Elastic Beat status is unknown. Ensure your ArgoCD is current and then check for/file a bug"
            " report: https://github.com/argoproj/argo-cd/issues"
        ),
    )
}
