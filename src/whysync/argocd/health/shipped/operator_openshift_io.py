"""OpenShift: ingress controllers. The first condition with something to say decides."""

from __future__ import annotations

from whysync.argocd.health.shipped.vocabulary import (
    Check,
    degraded,
    each,
    healthy,
    in_order,
    progressing,
    says,
)

GROUP = "operator.openshift.io"
CHECKS: dict[str, Check] = {
    "IngressController": in_order(
        each(
            ".status?.conditions",
            says("Degraded", "True", degraded("{message}")),
            says("DeploymentReplicasAllAvailable", "False", progressing("{message}")),
            says("Progressing", "True", progressing("{reason}")),
            says("Available", "True", healthy("IngressController is available")),
            keyed=True,
        ),
        progressing("Status of IngressController is not known yet"),
    ),
}
