"""Applications that are objects of a cluster: those that another Application deploys.

Whoever writes such an object, Argo CD takes it over; what Argo CD says of it is written back, so that the app
above sees it. Applications that are given to `ArgoCD` directly live outside of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from whysync.argocd.app_controller.app_registry import AppRegistry
from whysync.argocd.app_controller.destination import Destination
from whysync.json_tree import Object, fields
from whysync.kubernetes.api.ref import Key
from whysync.kubernetes.apiserver.storage import Place, Store

STORE: Final = ("argoproj.io", "applications")
KIND: Final = ("argoproj.io", "Application")


def definition(kind: str, plural: str) -> Object:
    """What makes the API server serve a kind of Argo CD's; its schema takes everything."""
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
    """The kinds, and the namespace in which Argo CD lives."""
    home: Object = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "labels": {"kubernetes.io/metadata.name": namespace}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    return [definition("Application", "applications"), definition("AppProject", "appprojects"), home]


class ChildApps:
    """`add` takes an Application over; `registry` keeps it like any other."""

    def __init__(self, home: Destination | None, registry: AppRegistry, add: Callable[[Object], str]) -> None:
        self._store: Store | None = home.api_server.store if home is not None else None
        self._registry = registry
        self._add = add
        self._written: dict[str, tuple[Object, Object]] = {}
        """By name: the Application, and the object of the cluster that says the same."""

    def take_over(self, changed: Iterable[Key]) -> bool:
        """What was written to the cluster since; true where that changed an Application."""
        acted = False
        for key in changed:
            if (key.group, key.kind) == KIND and self._store is not None:
                acted = self._taken(key, self._store) or acted
        return acted

    def _taken(self, key: Key, store: Store) -> bool:
        name = f"{key.namespace}/{key.name}"
        stored = store.get(_place(name))
        known = self._written.get(name)
        if stored is None:
            self._written.pop(name, None)
            if known is None or name not in self._registry.applications:
                return False
            self._registry.drop(name)
            return True
        if known is not None and known[1] is stored:
            return False
        before = self._registry.applications.get(name)
        if before is None:
            self._add(stored)
        else:
            kept = {part: before[part] for part in ("status", "operation") if part in before}
            self._registry.save(name, {**stored, **kept})
        self._written[name] = self._registry.applications[name], stored
        return True

    def write_back(self) -> None:
        """What Argo CD has changed meanwhile."""
        if self._store is None:
            return
        for name, (app, live) in list(self._written.items()):
            now = self._registry.applications.get(name)
            if now is None:
                del self._written[name]
                self._store.drop(_place(name))
            elif now is not app:
                meta = {**fields(live.get("metadata")), **fields(now.get("metadata"))}
                if "finalizers" not in fields(now.get("metadata")):
                    meta.pop("finalizers", None)
                self._written[name] = now, self._store.put(_place(name), {**now, "metadata": meta})


def _place(name: str) -> Place:
    namespace, _, bare = name.partition("/")
    return STORE, namespace, bare
