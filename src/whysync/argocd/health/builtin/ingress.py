"""Ingress, of any version. Where no controller publishes an address, it is Progressing for ever."""

from __future__ import annotations

from whysync.argocd.api.application import HealthCode
from whysync.argocd.health.builtin.typed import GoCheck
from whysync.argocd.health.verdict import HealthVerdict
from whysync.json_tree import Object, dig, items


def _judge(ingress: Object) -> HealthVerdict:
    """Mirrors gitops-engine `getIngressHealth`, Argo CD 3.6."""
    addresses = items(dig(ingress, "status", "loadBalancer", "ingress"))
    return HealthVerdict(HealthCode.HEALTHY if addresses else HealthCode.PROGRESSING)


INGRESS = GoCheck(name="Ingress", judge=_judge)
