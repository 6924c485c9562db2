"""Ingress, of any version. Where no controller publishes an address, it is Progressing for ever."""

from __future__ import annotations

from whysync.contracts.application import HealthCode
from whysync.contracts.tree import Object, dig, items
from whysync.semantics.health.builtin.typed import GoCheck
from whysync.semantics.health.verdict import Verdict


def _judge(ingress: Object) -> Verdict:
    """Mirrors gitops-engine `getIngressHealth`, Argo CD 3.6."""
    addresses = items(dig(ingress, "status", "loadBalancer", "ingress"))
    return Verdict(HealthCode.HEALTHY if addresses else HealthCode.PROGRESSING)


INGRESS = GoCheck(name="Ingress", judge=_judge)
