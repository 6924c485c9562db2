"""A real API server with a copy of it in memory, on which pods live.

The real server answers every request of a sync. It has no controllers and no kubelet, so what it accepted is
copied into a model, where they play: the sync waits for them, and looks at health there. What they do that a
later request may hang on (deletions, the status of quotas and claims) goes back to the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from whysync.argocd.health.assess import Assessment
from whysync.argocd.sync.cluster_ops import Mode, Refused
from whysync.argocd.sync.kubectl.cluster_ops import KubectlClusterOps
from whysync.argocd.sync.request import is_definition
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api.ref import ref_of
from whysync.kubernetes.apiserver.protocol import Answer, Cluster, Request, ServedKind
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.apiserver.storage import Change, ObjectKey

_READS: Final = ("get", "list", "watch")
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_TOLD_BACK: Final = (("", "resourcequotas"), ("", "persistentvolumeclaims"))
_PATIENCE: Final = 10.0
_WAITING: Final = ("foregroundDeletion", "orphan")


class Twin:
    """A `Cluster`: the real one, with `copy` always a step behind it."""

    def __init__(self, real: Cluster, copy: ApiServer) -> None:
        self._real, self.copy = real, copy
        self._kinds: Sequence[ServedKind] = ()
        self._followed = 0
        self._own: set[int] = set()
        """Lines of the copy's journal that are copies themselves."""
        self.made: list[str] = []
        """Where the sync has created something on the server."""

    def now(self) -> datetime:
        """That of the copy: nobody wants to wait for pods."""
        return self.copy.now()

    def kinds(self) -> Sequence[ServedKind]:
        if not self._kinds:
            self._kinds = self._real.kinds()
        return self._kinds

    def send(self, request: Request) -> Answer:
        self.tell_back()
        if request.groups:  # the server itself knows the groups of a service account
            request = replace(request, groups=())
        if request.verb == "update" and dig(request.body, "metadata", "resourceVersion"):
            request = self._with_version(request)
        answer = self._real.send(request)
        if answer.ok and request.verb not in _READS and not request.dry_run:
            if "customresourcedefinitions" in request.path:
                self._kinds = ()
            if request.verb == "delete":
                self._deleted(request)
            elif answer.body is not None:
                if answer.code == 201:
                    self.made.append(_path_of(request, answer.body))
                self._copied(answer.body)
        return answer

    def _with_version(self, request: Request) -> Request:
        """Argo CD knows the latest version of an object from its cache; the copy's are its own."""
        body = copy_object(fields(request.body))
        answer = self._real.send(Request(verb="get", path=request.path))
        version = text(dig(answer.body or {}, "metadata", "resourceVersion"))
        fields(body["metadata"])["resourceVersion"] = version
        return replace(request, body=body)

    # -- from the server to the copy --------------------------------------------------------------

    def take(self, objects: Iterable[Object]) -> None:
        """Copy what is there already."""
        for obj in sorted(objects, key=lambda one: one.get("kind") != "CustomResourceDefinition"):
            self._copied(obj)

    def _copied(self, obj: Object) -> None:
        resource = self.copy.discovery.of_object(obj)
        name = text(dig(obj, "metadata", "name"))
        if resource is None or not name:
            return
        object_key = (
            resource.store,
            text(dig(obj, "metadata", "namespace")) if resource.namespaced else "",
            name,
        )
        before = self.copy.store.get(object_key)
        copy = copy_object(obj)
        lived = fields(before).get("status") if before is not None else None
        if lived and resource.store != _DEFINITIONS:
            copy["status"] = lived
        if before is not None and resource.store == ("", "persistentvolumeclaims"):
            fields(copy.get("spec")).setdefault("volumeName", text(dig(before, "spec", "volumeName")))
        self._marked(lambda: self.copy.load([copy]))

    def _deleted(self, request: Request) -> None:
        """The copy's own controllers do the rest, and the server is told of it."""
        if not self._real.send(Request(verb="get", path=request.path)).ok:
            before = self.copy.send(Request(verb="get", path=request.path)).body
            if before is not None and dig(before, "metadata", "finalizers"):
                free: Object = {"metadata": {"finalizers": None}}
                self.copy.send(Request(verb="merge-patch", path=request.path, body=free))
        self._marked(lambda: self.copy.send(replace(request, user="", groups=())))

    def _marked(self, act: Callable[[], object]) -> None:
        start = len(self.copy.store.journal)
        act()
        self._own.update(
            at
            for at in range(start, len(self.copy.store.journal))
            if not self._gone(self.copy.store.journal[at])
        )

    @staticmethod
    def _gone(change: Change) -> bool:
        return change.type == "DELETED"

    # -- from the copy to the server --------------------------------------------------------------

    def tell_back(self) -> None:
        journal = self.copy.store.journal
        latest: dict[ObjectKey, Change] = {}
        while self._followed < len(journal):
            change = journal[self._followed]
            if self._followed not in self._own:
                latest[change.object_key] = change
            self._followed += 1
        for object_key, change in latest.items():
            path = self._path(object_key)
            if not path:
                continue
            if change.type == "DELETED":
                self._end(path)
            elif object_key[0] in _TOLD_BACK:
                self._lived(path, change.obj)
            elif object_key[0] == ("", "pods"):
                self._bound(path, change.obj)

    def _path(self, object_key: ObjectKey) -> str:
        resource = self.copy.discovery.of_store(object_key[0])
        if resource is None:
            return ""
        for kind in self.kinds():
            if (kind.group, kind.plural) == object_key[0]:
                return kind.path(object_key[1], object_key[2])
        return ""

    def _end(self, path: str) -> None:
        """What the copy's controllers have deleted goes, with whatever the server waits for."""
        answer = self._real.send(Request(verb="get", path=path))
        if not answer.ok or path.startswith("/api/v1/nodes"):
            return
        end(self._real, path)
        if _DEFINITIONS[1] in path:
            self._kinds = ()

    def _bound(self, path: str, pod: Object) -> None:
        """As the scheduler does it; pods that the server does not know are the copy's own."""
        node = text(dig(pod, "spec", "nodeName"))
        result = self._real.send(Request(verb="get", path=path)).body or {}
        if not node or result.get("kind") != "Pod" or dig(result, "spec", "nodeName"):
            return
        target: Object = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding: Object = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": text(dig(pod, "metadata", "name"))},
            "target": target,
        }
        self._real.send(Request(verb="create", path=f"{path}/binding", body=binding))

    def _lived(self, path: str, obj: Object) -> None:
        body = self._real.send(Request(verb="get", path=path)).body
        if body is None or not dig(body, "metadata", "uid"):
            return
        volume = text(dig(obj, "spec", "volumeName"))
        if volume and not dig(body, "spec", "volumeName"):
            change: Object = {"spec": {"volumeName": volume}}
            self._real.send(Request(verb="merge-patch", path=path, body=change, manager="controller"))
        status: Object = {"status": obj.get("status")}
        self._real.send(Request(verb="merge-patch", path=f"{path}/status", body=status, manager="controller"))


def _path_of(request: Request, made: Object) -> str:
    name = text(dig(made, "metadata", "name"))
    return request.path if request.verb != "create" else f"{request.path.partition('?')[0]}/{name}"


def end(real: Cluster, path: str) -> None:
    """Gone at once: no controller is there to take finalizers off."""
    free: Object = {"metadata": {"finalizers": None}}
    if path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
        real.send(Request(verb="delete", path=path))
        left = real.send(Request(verb="get", path=path)).body or {}
        if left.get("kind") == "Namespace":
            left["spec"] = {"finalizers": []}
            real.send(Request(verb="update", path=f"{path}/finalize", body=left))
        return
    real.send(Request(verb="delete", path=path, grace=0))
    if real.send(Request(verb="get", path=path)).ok:
        real.send(Request(verb="merge-patch", path=path, body=free))


class RealClusterOps(KubectlClusterOps):
    """How a sync reads and writes a `Twin`; only a definition is really waited for."""

    def __init__(
        self, twin: Twin, *, user: str, health: Callable[[Object], Assessment | None], wave_delay: float
    ) -> None:
        super().__init__(twin, user=user, health=health, wave_delay=wave_delay)
        self._twin = twin

    def apply(self, obj: Object, mode: Mode) -> str:
        output = super().apply(obj, mode)
        self._wait_until_served(obj, dry_run=mode.dry_run)
        return output

    def create(self, obj: Object, mode: Mode) -> str:
        output = super().create(obj, mode)
        self._wait_until_served(obj, dry_run=mode.dry_run)
        return output

    def replace(self, obj: Object, mode: Mode) -> str:
        output = super().replace(obj, mode)
        self._wait_until_served(obj, dry_run=mode.dry_run)
        return output

    def update(self, obj: Object, *, dry_run: bool) -> None:
        super().update(obj, dry_run=dry_run)
        self._wait_until_served(obj, dry_run=dry_run)

    def _wait_until_served(self, obj: Object, *, dry_run: bool) -> None:
        """Mirrors `ensureCRDReady`, which the model leaves out because it establishes a CRD at once."""
        if dry_run or not is_definition(obj):
            return
        ref = ref_of(obj)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                result = self.get(ref)
            except Refused:
                return
            if _serves(self._twin, result):
                self._twin.take([result])
                return
            time.sleep(0.05)


def _serves(twin: Twin, definition: Object) -> bool:
    group, plural = text(dig(definition, "spec", "group")), text(dig(definition, "spec", "names", "plural"))
    versions: list[Json] = [
        version for version in items(dig(definition, "spec", "versions")) if dig(version, "served") is True
    ]
    return all(
        twin.send(Request(verb="list", path=f"/apis/{group}/{text(dig(version, 'name'))}/{plural}")).ok
        for version in versions
    )
