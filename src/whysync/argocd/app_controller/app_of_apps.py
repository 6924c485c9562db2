"""App of apps: Applications that another Application deploys to the cluster.

Argo CD takes over each Application that is written to its cluster, and writes its status back, so that the
parent app sees it. Applications that are passed to `ApplicationController` directly are not stored there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.destination import Destination
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.apiserver.storage import ObjectKey, Store

STORE: Final = ("argoproj.io", "applications")
KIND: Final = ("argoproj.io", "Application")


def definition(kind: str, plural: str) -> Object:
    """The CRD of one of Argo CD's kinds; its schema accepts everything."""
    anything: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Object = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
    }
    names: Object = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.argoproj.io"},
        "spec": {"group": "argoproj.io", "names": names, "scope": "Namespaced", "versions": [version]},
    }


def definitions(namespace: str) -> list[Object]:
    """Argo CD's CRDs and the namespace of Argo CD."""
    argocd_namespace: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": {"kubernetes.io/metadata.name": namespace}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    return [
        definition("Application", "applications"),
        definition("AppProject", "appprojects"),
        argocd_namespace,
    ]


class ChildApps:
    """Synchronizes Applications in the cluster with `registry`; `add` registers a new one."""

    def __init__(self, home: Destination | None, registry: AppRegistry, add: Callable[[Object], str]) -> None:
        self._store: Store | None = home.api_server.store if home is not None else None
        self._registry = registry
        self._add = add
        self._written: dict[str, tuple[Object, Object]] = {}
        """By name: the Application in the registry, and the equal object in the cluster."""

    def take_over(self, changed: Iterable[Key]) -> bool:
        """Takes over Applications that were written to the cluster; true if any was changed."""
        has_changed = False
        for key in changed:
            if (key.group, key.kind) == KIND and self._store is not None:
                has_changed = self._take_over(key, self._store) or has_changed
        return has_changed

    def _take_over(self, key: Key, store: Store) -> bool:
        name = f"{key.namespace}/{key.name}"
        stored = store.get(_object_key(name))
        written = self._written.get(name)
        if stored is None:
            self._written.pop(name, None)
            if written is None or name not in self._registry.applications:
                return False
            self._registry.drop(name)
            return True
        if written is not None and written[1] is stored:
            return False
        before = self._registry.applications.get(name)
        if before is None:
            self._add(stored)
        else:
            own_fields = {field: before[field] for field in ("status", "operation") if field in before}
            self._registry.save(name, {**stored, **own_fields})
        self._written[name] = self._registry.applications[name], stored
        return True

    def write_back(self) -> None:
        """Writes Applications that Argo CD has changed back to the cluster."""
        if self._store is None:
            return
        for name, (app, live) in list(self._written.items()):
            now = self._registry.applications.get(name)
            if now is None:
                del self._written[name]
                self._store.drop(_object_key(name))
            elif now is not app:
                meta = {**fields(live.get("metadata")), **fields(now.get("metadata"))}
                if "finalizers" not in fields(now.get("metadata")):
                    meta.pop("finalizers", None)
                self._written[name] = now, self._store.put(_object_key(name), {**now, "metadata": meta})


def _object_key(name: str) -> ObjectKey:
    namespace, _, bare = name.partition("/")
    return STORE, namespace, bare
