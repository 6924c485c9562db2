"""Which pods each Service selects, indexed by label so that a change does not scan all pods."""

from __future__ import annotations

from typing import NamedTuple

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.controllers.client import is_leaving, labels_of
from whysync.kubernetes.controllers.controller import Key

_Label = tuple[str, str, str]
"""Namespace, key, value."""


class Seen(NamedTuple):
    """All of a pod that matters to who calls it."""

    labels: Object
    address: str
    ready: bool
    leaving: bool
    over: bool
    node: str


def seen(pod: Object) -> Seen:
    status = fields(pod.get("status"))
    ready = any(
        fields(raw).get("type") == "Ready" and fields(raw).get("status") == "True"
        for raw in items(status.get("conditions"))
    )
    return Seen(
        labels_of(pod),
        text(status.get("podIP")),
        ready,
        is_leaving(pod),
        status.get("phase") in ("Succeeded", "Failed"),
        text(dig(pod, "spec", "nodeName")),
    )


class ServicePods:
    def __init__(self) -> None:
        self._pods: dict[Key, Seen] = {}
        self._by_label: dict[_Label, dict[str, None]] = {}
        self._services: dict[Key, Object] = {}
        self._waiting_for: dict[_Label, dict[str, None]] = {}

    def note_service(self, key: Key, selector: Object) -> None:
        """Its selector; an empty one takes it out."""
        old = self._services.pop(key, {})
        if old:
            self._waiting_for.get(_first(key[0], old), {}).pop(key[1], None)
        if selector:
            self._services[key] = selector
            self._waiting_for.setdefault(_first(key[0], selector), {})[key[1]] = None

    def note_pod(self, key: Key, now: Seen | None) -> list[Key]:
        """The Services that the change affects; none if nothing relevant changed."""
        old = self._pods.get(key)
        if old == now:
            return []
        if old is not None and (now is None or old.labels != now.labels):
            for label in _labels(key[0], old.labels):
                self._by_label.get(label, {}).pop(key[1], None)
        if now is None:
            self._pods.pop(key, None)
        else:
            self._pods[key] = now
            if old is None or old.labels != now.labels:
                for label in _labels(key[0], now.labels):
                    self._by_label.setdefault(label, {})[key[1]] = None
        touched: dict[Key, None] = {}
        for pod in (old, now):
            if pod is not None:
                touched.update(dict.fromkeys(self._selecting(key[0], pod.labels)))
        return list(touched)

    def _selecting(self, namespace: str, labels: Object) -> list[Key]:
        return [
            (namespace, name)
            for label in _labels(namespace, labels)
            for name in self._waiting_for.get(label, {})
            if _covers(labels, self._services[namespace, name])
        ]

    def behind(self, key: Key) -> list[str]:
        """Names of the pods that a Service selects, in order."""
        selector = self._services.get(key, {})
        if not selector:
            return []
        nobody: dict[str, None] = {}
        rarest = min((self._by_label.get(label, nobody) for label in _labels(key[0], selector)), key=len)
        return sorted(name for name in rarest if _covers(self._pods[key[0], name].labels, selector))

    def pod(self, key: Key) -> Seen:
        return self._pods[key]


def _first(namespace: str, selector: Object) -> _Label:
    key = min(selector)
    return (namespace, key, text(selector[key]))


def _labels(namespace: str, labels: Object) -> list[_Label]:
    return [(namespace, key, text(value)) for key, value in labels.items()]


def _covers(labels: Object, selector: Object) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())
