"""Which pods each Service selects, indexed by label so that a change does not scan all pods."""

from __future__ import annotations

from typing import NamedTuple

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.controllers.client import is_terminating, labels_of
from whysync.kubernetes.controllers.controller import Key

_Label = tuple[str, str, str]
"""Namespace, key, value."""


class PodSummary(NamedTuple):
    """The fields of a pod that matter to Services and PodDisruptionBudgets."""

    labels: Object
    ip: str
    ready: bool
    terminating: bool
    finished: bool
    node: str


def pod_summary(pod: Object) -> PodSummary:
    status = fields(pod.get("status"))
    ready = any(
        fields(raw).get("type") == "Ready" and fields(raw).get("status") == "True"
        for raw in items(status.get("conditions"))
    )
    return PodSummary(
        labels_of(pod),
        text(status.get("podIP")),
        ready,
        is_terminating(pod),
        status.get("phase") in ("Succeeded", "Failed"),
        text(dig(pod, "spec", "nodeName")),
    )


class ServicePods:
    def __init__(self) -> None:
        self._pods: dict[Key, PodSummary] = {}
        self._by_label: dict[_Label, dict[str, None]] = {}
        self._services: dict[Key, Object] = {}
        self._services_by_label: dict[_Label, dict[str, None]] = {}

    def set_service(self, key: Key, selector: Object) -> None:
        """Sets the selector of a Service; an empty one removes the Service."""
        old = self._services.pop(key, {})
        if old:
            self._services_by_label.get(_index_label(key[0], old), {}).pop(key[1], None)
        if selector:
            self._services[key] = selector
            self._services_by_label.setdefault(_index_label(key[0], selector), {})[key[1]] = None

    def update_pod(self, key: Key, new: PodSummary | None) -> list[Key]:
        """The Services that the change affects; none if nothing relevant changed."""
        old = self._pods.get(key)
        if old == new:
            return []
        if old is not None and (new is None or old.labels != new.labels):
            for label in _labels(key[0], old.labels):
                self._by_label.get(label, {}).pop(key[1], None)
        if new is None:
            self._pods.pop(key, None)
        else:
            self._pods[key] = new
            if old is None or old.labels != new.labels:
                for label in _labels(key[0], new.labels):
                    self._by_label.setdefault(label, {})[key[1]] = None
        affected: dict[Key, None] = {}
        for pod in (old, new):
            if pod is not None:
                affected.update(dict.fromkeys(self._selecting_services(key[0], pod.labels)))
        return list(affected)

    def _selecting_services(self, namespace: str, labels: Object) -> list[Key]:
        return [
            (namespace, name)
            for label in _labels(namespace, labels)
            for name in self._services_by_label.get(label, {})
            if _selects(labels, self._services[namespace, name])
        ]

    def selected_pods(self, key: Key) -> list[str]:
        """Names of the pods that a Service selects, in order."""
        selector = self._services.get(key, {})
        if not selector:
            return []
        no_pods: dict[str, None] = {}
        candidates = min((self._by_label.get(label, no_pods) for label in _labels(key[0], selector)), key=len)
        return sorted(name for name in candidates if _selects(self._pods[key[0], name].labels, selector))

    def pod(self, key: Key) -> PodSummary:
        return self._pods[key]


def _index_label(namespace: str, selector: Object) -> _Label:
    key = min(selector)
    return (namespace, key, text(selector[key]))


def _labels(namespace: str, labels: Object) -> list[_Label]:
    return [(namespace, key, text(value)) for key, value in labels.items()]


def _selects(labels: Object, selector: Object) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())
