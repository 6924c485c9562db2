"""Pods that were rejected, not their workload: its controller creates them again without a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.json_tree import fields, integer, items
from whysync.queries.commands import comment, kubectl, sync, with_comment

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case
    from whysync.kubernetes.api.manifest import Manifest
    from whysync.kubernetes.api.ref import Ref

_WITH_ROLLOUT_STATUS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
_CREATES_PODS = _WITH_ROLLOUT_STATUS | {"ReplicaSet", "Job", "CronJob", "Rollout"}
_RETRIES = "its controller tries again by itself, within minutes"


def _exceeded_its_deadline(deployment: Manifest) -> bool:
    conditions = map(fields, items(deployment.status.get("conditions")))
    return any(
        (condition.get("type"), condition.get("reason")) == ("Progressing", "ProgressDeadlineExceeded")
        for condition in conditions
    )


def until_created(case: Case, ref: Ref) -> tuple[str, ...]:
    """The last commands of a fix outside Git that lets the Pods of `ref`, or `ref` itself, be created."""
    operation = case.operation
    unfinished = operation is not None and operation.phase in (*FAILED_PHASES, "Running")
    if ref.kind not in _CREATES_PODS or unfinished or case.app.status.sync.status != "Synced":
        return (sync(case),)
    if ref.kind not in _WITH_ROLLOUT_STATUS:
        return (comment(_RETRIES),)
    workload = f"{ref.kind.lower()}/{ref.name}"
    live = case.live_of(ref.key)
    if live is not None and _exceeded_its_deadline(live):
        # `rollout status` fails at once for it; its ReplicaSet waits up to 16 min between two tries.
        replicas = integer(live.spec.get("replicas"), 1)
        until = f"--for=jsonpath={{.status.availableReplicas}}={replicas}"
        wait = kubectl("wait", workload, until, "--timeout=20m", namespace=ref.namespace)
        return (with_comment(wait, "its controller tries again by itself, after at most 16 min"),)
    status = kubectl("rollout", "status", workload, "--timeout=10m", namespace=ref.namespace)
    return (with_comment(status, _RETRIES),)
