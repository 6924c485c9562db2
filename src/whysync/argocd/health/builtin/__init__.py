"""The kinds whose health Argo CD judges in Go: one small module for each.

Mirrors gitops-engine `GetHealthCheckFunc`, Argo CD 3.6. The kind is matched without its version; a check then
refuses the versions that it does not know, and the object counts as Unknown.
"""

from __future__ import annotations

from typing import Final

from whysync.argocd.health.builtin.api_service import API_SERVICE
from whysync.argocd.health.builtin.autoscaler import HORIZONTAL_POD_AUTOSCALER
from whysync.argocd.health.builtin.claim import PERSISTENT_VOLUME_CLAIM
from whysync.argocd.health.builtin.daemon_set import DAEMON_SET
from whysync.argocd.health.builtin.deployment import DEPLOYMENT
from whysync.argocd.health.builtin.ingress import INGRESS
from whysync.argocd.health.builtin.job import JOB
from whysync.argocd.health.builtin.pod import POD
from whysync.argocd.health.builtin.replica_set import REPLICA_SET
from whysync.argocd.health.builtin.service import SERVICE
from whysync.argocd.health.builtin.stateful_set import STATEFUL_SET
from whysync.argocd.health.builtin.typed import GoCheck
from whysync.argocd.health.builtin.workflow import WORKFLOW
from whysync.json_tree import Object, text
from whysync.kubernetes.api.ref import group_of

__all__ = ["GoCheck", "builtin_check"]

_CHECKS: Final[dict[tuple[str, str], GoCheck]] = {
    ("apps", "Deployment"): DEPLOYMENT,
    ("apps", "StatefulSet"): STATEFUL_SET,
    ("apps", "ReplicaSet"): REPLICA_SET,
    ("apps", "DaemonSet"): DAEMON_SET,
    ("extensions", "Ingress"): INGRESS,
    ("argoproj.io", "Workflow"): WORKFLOW,
    ("apiregistration.k8s.io", "APIService"): API_SERVICE,
    ("networking.k8s.io", "Ingress"): INGRESS,
    ("", "Service"): SERVICE,
    ("", "PersistentVolumeClaim"): PERSISTENT_VOLUME_CLAIM,
    ("", "Pod"): POD,
    ("batch", "Job"): JOB,
    ("autoscaling", "HorizontalPodAutoscaler"): HORIZONTAL_POD_AUTOSCALER,
}


def builtin_check(obj: Object) -> GoCheck | None:
    """The check for an object of this kind; `None`: Argo CD has no opinion on such objects."""
    return _CHECKS.get((group_of(text(obj.get("apiVersion"))), text(obj.get("kind"))))
