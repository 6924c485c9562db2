"""What acts on the cluster of a scenario from outside: other writers, and a cloud."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Generator
from typing import Final, Protocol

from tools.real_cluster.client import ApiServerClient
from tools.real_cluster.running import ApiServer
from whysync.argocd.simulation.commands.actor import patch_verb, served_kind
from whysync.json_tree import Object, dig, fields, items, same, text
from whysync.kubernetes.apiserver.protocol import Answer, Request
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.lab.scenario import Writer

_POLL_SECONDS: Final = 0.5
_LONGEST_DELAY: Final = 6.0
"""A writer of the model may wait half a minute; here it only has to be slower than Argo CD's sync."""


class Act(Protocol):
    """Something that acts again and again; it has a connection of its own."""

    def __call__(self) -> None: ...

    def close(self) -> None: ...


@contextlib.contextmanager
def acting(acts: list[Act]) -> Generator[None]:
    """Call each function again and again, in a thread of its own, until the block ends."""
    ended = threading.Event()

    def work(act: Act) -> None:
        while not ended.wait(_POLL_SECONDS):
            with contextlib.suppress(OSError, http.client.HTTPException):
                act()
        act.close()

    threads = [threading.Thread(target=work, args=(act,), daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


class RealWriter:
    """Writes its fields some seconds after they were changed, as `ScenarioWriter` does on the model."""

    def __init__(self, writer: Writer, server: ApiServer) -> None:
        self._writer = writer
        self._client = server.another_client()
        self._due: float | None = None

    def __call__(self) -> None:
        if not self._differs():
            self._due = None
            return
        if self._due is None:
            self._due = time.monotonic() + min(self._writer.after, _LONGEST_DELAY)
        if time.monotonic() >= self._due:
            self._due = None
            self._write(dry_run=False)

    def close(self) -> None:
        self._client.close()

    def _differs(self) -> bool:
        path = self._path()
        current = self._client.send(Request(verb="get", path=path)) if path else None
        if current is None or not current.ok or current.body is None:
            return False
        after = self._write(dry_run=True)
        return after.ok and after.body is not None and not same(_bare(current.body), _bare(after.body))

    def _write(self, *, dry_run: bool) -> Answer:
        kind = served_kind(self._client, self._writer.object.partition("/")[0])
        return self._client.send(
            Request(
                verb=patch_verb(kind),
                path=self._path(),
                body=self._writer.holds,
                manager=self._writer.name,
                agent=self._writer.name,
                dry_run=dry_run,
            )
        )

    def _path(self) -> str:
        kind, _, name = self._writer.object.partition("/")
        served = served_kind(self._client, kind)
        return served.path(self._writer.namespace, name) if served is not None else ""


def _bare(obj: Object) -> Object:
    changing = ("managedFields", "resourceVersion", "generation")
    meta = {key: value for key, value in fields(obj.get("metadata")).items() if key not in changing}
    return {**obj, "metadata": meta}


def _has_class(ingress: Object) -> bool:
    """No controller serves an Ingress without a class."""
    annotation = dig(ingress, "metadata", "annotations", "kubernetes.io/ingress.class")
    return bool(annotation or dig(ingress, "spec", "ingressClassName"))


class Cloud:
    """Gives load balancers an address and claims a volume, unless they stay pending in the scenario."""

    def __init__(self, behavior: Behavior, server: ApiServer) -> None:
        self._client: ApiServerClient = server.another_client()
        self._balances = behavior.load_balancers == "ok" and "service-lb" not in behavior.stopped
        self._provisions = behavior.volumes == "ok"

    def __call__(self) -> None:
        if self._balances:
            for service in self._listed("/api/v1/services"):
                if dig(service, "spec", "type") == "LoadBalancer":
                    self._balance("/api/v1", "services", service)
            for ingress in self._listed("/apis/networking.k8s.io/v1/ingresses"):
                if _has_class(ingress):
                    self._balance("/apis/networking.k8s.io/v1", "ingresses", ingress)
        if self._provisions:
            for claim in self._listed("/api/v1/persistentvolumeclaims"):
                self._provision(claim)

    def close(self) -> None:
        self._client.close()

    def _listed(self, path: str) -> list[Object]:
        answer = self._client.send(Request(verb="list", path=path))
        return [fields(item) for item in items((answer.body or {}).get("items"))]

    def _balance(self, api: str, plural: str, obj: Object) -> None:
        if dig(obj, "status", "loadBalancer", "ingress"):
            return
        space, name = text(dig(obj, "metadata", "namespace")), text(dig(obj, "metadata", "name"))
        self._client.send(
            Request(
                verb="merge-patch",
                path=f"{api}/namespaces/{space}/{plural}/{name}/status",
                body={"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.10"}]}}},
                manager="cloud-controller-manager",
            )
        )

    def _provision(self, claim: Object) -> None:
        """A volume reserved for the claim: kube-controller-manager binds the two."""
        if dig(claim, "status", "phase") != "Pending" or dig(claim, "spec", "volumeName"):
            return
        storage_class = text(dig(claim, "spec", "storageClassName"))
        path = f"/apis/storage.k8s.io/v1/storageclasses/{storage_class}"
        if storage_class and not self._client.send(Request(verb="get", path=path)).ok:
            return
        space, name = text(dig(claim, "metadata", "namespace")), text(dig(claim, "metadata", "name"))
        uid = text(dig(claim, "metadata", "uid"))
        reference: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": space,
            "name": name,
            "uid": uid,
        }
        storage = text(dig(claim, "spec", "resources", "requests", "storage"))
        volume: Object = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pvc-{uid}"},
            "spec": {
                "capacity": {"storage": storage},
                "accessModes": items(dig(claim, "spec", "accessModes")),
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": text(dig(claim, "spec", "storageClassName")),
                "hostPath": {"path": "/nowhere"},
                "claimRef": reference,
            },
        }
        path = "/api/v1/persistentvolumes"
        self._client.send(Request(verb="create", path=path, body=volume, manager="provisioner"))
