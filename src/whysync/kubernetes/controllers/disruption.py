"""Disruption controller: writes healthy pods and disruptionsAllowed of PodDisruptionBudgets.

Mirrors the disruption controller of Kubernetes 1.36; the expected scale is that of the pods' controllers.
"""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Client,
    is_terminating,
    labels_of,
    namespace_of,
)
from whysync.kubernetes.controllers.controller import Key, QueueController
from whysync.kubernetes.controllers.deployment import scaled_value_from_int_or_percent
from whysync.kubernetes.controllers.object_index import Kind, controller_of
from whysync.kubernetes.controllers.service_pods import PodSummary, pod_summary
from whysync.kubernetes.validation.selectors import selects

BUDGETS: Final = ("policy", "poddisruptionbudgets")
_SCALABLE: Final = {"ReplicaSet": REPLICA_SETS, "StatefulSet": STATEFUL_SETS, "Deployment": DEPLOYMENTS}


class DisruptionController(QueueController):
    name = "disruption"
    main = BUDGETS

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._selectors: dict[str, dict[str, Object]] = {}
        self._pod_summaries: dict[Key, PodSummary] = {}

    @property
    def watches(self) -> frozenset[Kind] | None:
        return frozenset({BUDGETS, PODS})

    def on_event(self, change: Change) -> None:
        kind, namespace, name = change.object_key
        if kind == BUDGETS:
            selectors = self._selectors.setdefault(namespace, {})
            if change.type == "DELETED":
                selectors.pop(name, None)
            else:
                selectors[name] = fields(dig(change.obj, "spec", "selector"))
            self.queue.add((namespace, name))
            return
        if not self._selectors.get(namespace):
            return
        summary = pod_summary(change.obj)
        if change.type != "DELETED" and self._pod_summaries.get((namespace, name)) == summary:
            return
        self._pod_summaries[namespace, name] = summary
        for budget, selector in self._selectors[namespace].items():
            if selects(selector, summary.labels):
                self.queue.add((namespace, budget))

    def sync(self, obj: Object) -> None:
        if is_terminating(obj):
            return
        spec = fields(obj.get("spec"))
        selector = spec.get("selector")
        pods = [
            pod
            for pod in self.client.list(PODS, namespace_of(obj))
            if isinstance(selector, dict) and selects(selector, labels_of(pod))
        ]
        if not pods:
            self.client.event(obj, "Normal", "NoPods", "No matching pods found", "controllermanager")
        healthy = sum(_is_healthy(pod_summary(pod)) for pod in pods)
        expected, desired = self._get_expected_pod_count(spec, pods)
        disruptions_allowed = max(healthy - desired, 0) if expected > 0 else 0
        status: Object = {
            **fields(obj.get("status")),
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": disruptions_allowed,
            "conditions": self._conditions(obj, disruptions_allowed),
        }
        generation = dig(obj, "metadata", "generation")
        if isinstance(generation, int):
            status["observedGeneration"] = generation
        self.client.update_status(obj, status)

    def _get_expected_pod_count(self, spec: Object, pods: list[Object]) -> tuple[int, int]:
        """expectedPods and desiredHealthy."""
        min_available, max_unavailable = spec.get("minAvailable"), spec.get("maxUnavailable")
        if max_unavailable is not None:
            total = self._expected_scale(pods)
            return total, max(
                total - scaled_value_from_int_or_percent(max_unavailable, total, round_up=True), 0
            )
        if isinstance(min_available, str):
            total = self._expected_scale(pods)
            return total, scaled_value_from_int_or_percent(min_available, total, round_up=True)
        return len(pods), integer(min_available)

    def _expected_scale(self, pods: list[Object]) -> int:
        total, counted = 0, set[str]()
        for pod in pods:
            owner = controller_of(pod)
            uid, kind = text(owner.get("uid")), _SCALABLE.get(text(owner.get("kind")))
            workload = (
                None if kind is None else self.client.get(kind, namespace_of(pod), text(owner.get("name")))
            )
            if workload is None or uid in counted:
                continue
            counted.add(uid)
            total += integer(dig(workload, "spec", "replicas"), 1)
        return total

    def _conditions(self, obj: Object, disruptions_allowed: int) -> list[Json]:
        conditions = items(dig(obj, "status", "conditions"))
        old = fields(
            next(
                (
                    condition
                    for condition in conditions
                    if fields(condition).get("type") == "DisruptionAllowed"
                ),
                None,
            )
        )
        status = "True" if disruptions_allowed else "False"
        since = old.get("lastTransitionTime") if old.get("status") == status else self.client.stamp()
        condition: Object = {
            "type": "DisruptionAllowed",
            "status": status,
            "observedGeneration": integer(dig(obj, "metadata", "generation")),
            "lastTransitionTime": since,
            "reason": "SufficientPods" if disruptions_allowed else "InsufficientPods",
            "message": "",
        }
        return [condition]


def _is_healthy(pod: PodSummary) -> bool:
    return pod.ready and not pod.terminating and not pod.finished
