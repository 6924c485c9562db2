"""Service: only one of type LoadBalancer can be unready."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.reading import spec_of
from whysync.argocd.health.builtin.typed import METADATA, GoCheck
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, dig, items


def _judge(service: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getCorev1ServiceHealth`, Argo CD 3.6."""
    addresses = items(dig(service, "status", "loadBalancer", "ingress"))
    if spec_of(service).get("type") == "LoadBalancer" and not addresses:
        return HealthVerdict(HealthCode.PROGRESSING)
    return HealthVerdict(HealthCode.HEALTHY)


SERVICE = GoCheck(
    name="Service",
    versions=("v1",),
    judge=_judge,
    shape={
        "metadata": METADATA,
        "spec": {"type": "v1.ServiceType"},
        "status": {"loadBalancer": {"ingress": [{"ip": "string", "hostname": "string"}]}},
    },
)
