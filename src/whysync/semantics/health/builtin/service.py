"""Service: only one of type LoadBalancer can be unready."""

from __future__ import annotations

from whysync.contracts.application import HealthCode
from whysync.contracts.tree import Object, dig, items
from whysync.semantics.health.builtin.reading import spec_of
from whysync.semantics.health.builtin.typed import METADATA, GoCheck
from whysync.semantics.health.verdict import Verdict


def _judge(service: Object) -> Verdict:
    """Mirrors gitops-engine `getCorev1ServiceHealth`, Argo CD 3.6."""
    addresses = items(dig(service, "status", "loadBalancer", "ingress"))
    if spec_of(service).get("type") == "LoadBalancer" and not addresses:
        return Verdict(HealthCode.PROGRESSING)
    return Verdict(HealthCode.HEALTHY)


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
