"""Make the cluster as it was before a scenario, so that the next one can use the same names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from tools.real_argocd.running import RealArgoCD
from tools.real_argocd.standing import SETTINGS, config_map
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Request, ServedKind

_SECONDS: Final = 90
_OURS: Final = (
    ("argoproj.io", "Application"),
    ("argoproj.io", "AppProject"),
    ("argoproj.io", "ApplicationSet"),
)
_SLOW: Final = ("Namespace", "CustomResourceDefinition")
"""Kinds whose objects disappear only when others have."""
_EPHEMERAL: Final = frozenset({"Event", "ComponentStatus", "APIService", "Lease", "CSINode", "Node"})


class NotClean(Exception):
    """Objects of a scenario do not disappear."""


class Cleaner:
    """Deletes every object that was created after it."""

    def __init__(self, argocd: RealArgoCD) -> None:
        self._argocd = argocd
        self._client = argocd.kubernetes.client
        self._baseline = self._at_the_start()
        self._deleted: list[str] = []

    def _at_the_start(self) -> set[tuple[str, str]]:
        """On a busy machine, the API server serves a new kind seconds before it lists it: without kwok's
        stages in the baseline, they would be deleted after the first scenario.
        """
        until = time.monotonic() + _SECONDS
        found = set(self._cluster_scoped())
        while "Stage" not in {kind for kind, _ in found}:
            if time.monotonic() > until:
                raise NotClean(f"the stages of kwok are not listed after {_SECONDS} s")
            time.sleep(0.3)
            found = set(self._cluster_scoped())
        return found

    def clean(self) -> None:
        for kind in self._kinds():
            if (kind.group, kind.kind) in _OURS:
                for body in self._listed(kind):
                    if text(dig(body, "metadata", "name")) != "default" or kind.kind != "AppProject":
                        self._remove(kind, body)
        secrets = self._client.send(Request(verb="list", path="/api/v1/namespaces/argocd/secrets")).body or {}
        for secret in map(fields, items(secrets.get("items"))):
            if dig(secret, "metadata", "labels", "argocd.argoproj.io/secret-type"):
                name = text(dig(secret, "metadata", "name"))
                self._client.send(Request(verb="delete", path=f"/api/v1/namespaces/argocd/secrets/{name}"))
        for name in SETTINGS:
            path = f"/api/v1/namespaces/argocd/configmaps/{name}"
            current = self._client.send(Request(verb="get", path=path)).body or {}
            if current.get("data"):
                self._client.send(Request(verb="update", path=path, body=config_map(name)))
        # Webhooks first: one that denies everything would also deny the rest.
        fresh = [key for key in self._cluster_scoped() if key not in self._baseline]
        fresh.sort(key=lambda key: (not key[0].endswith("WebhookConfiguration"), key))
        kinds = {kind.kind: kind for kind in self._kinds() if not kind.namespaced}
        for kind_name, name in fresh:
            if kind_name in kinds:
                self._remove(kinds[kind_name], {"metadata": {"name": name}})
        self._deleted = [kinds[kind].path("", name) for kind, name in fresh if kind in _SLOW]
        for name in (name for kind, name in fresh if kind == "Namespace"):
            self._remove_finalizers(name)

    def wait_until_deleted(self, names_in: str) -> None:
        """Wait for namespaces and kinds of earlier scenarios whose names occur in this text."""
        until = time.monotonic() + _SECONDS
        waiting = [path for path in self._deleted if path.rpartition("/")[2] in names_in]
        while left := [path for path in waiting if self._client.send(Request(verb="get", path=path)).ok]:
            if time.monotonic() > until:
                raise NotClean(f"{', '.join(left)} are still there after {_SECONDS} s")
            for path in left:
                if "/namespaces/" in path:
                    self._remove_finalizers(path.rpartition("/")[2])
            time.sleep(0.3)

    def _remove_finalizers(self, namespace: str) -> None:
        for kind in self._kinds():
            if kind.namespaced and kind.kind not in _EPHEMERAL:
                for body in self._listed(kind, namespace):
                    if dig(body, "metadata", "finalizers"):
                        self._remove(kind, body)

    def _remove(self, kind: ServedKind, body: Object) -> None:
        path = kind.path(text(dig(body, "metadata", "namespace")), text(dig(body, "metadata", "name")))
        none: Json = {"metadata": {"finalizers": None}}
        if dig(body, "metadata", "finalizers"):
            self._client.send(Request(verb="merge-patch", path=path, body=none))
        self._client.send(Request(verb="delete", path=path))

    def _cluster_scoped(self) -> Iterator[tuple[str, str]]:
        for kind in self._kinds():
            if not kind.namespaced and kind.kind not in _EPHEMERAL:
                for body in self._listed(kind):
                    yield kind.kind, text(dig(body, "metadata", "name"))

    def _kinds(self) -> list[ServedKind]:
        return [kind for kind in self._client.kinds() if kind.plural not in _UNLISTED]

    def _listed(self, kind: ServedKind, namespace: str = "") -> list[Object]:
        answer = self._client.send(Request(verb="list", path=kind.collection(namespace)))
        return [fields(item) for item in items((answer.body or {}).get("items"))] if answer.ok else []


_UNLISTED: Final = frozenset({"tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews", "bindings"})
