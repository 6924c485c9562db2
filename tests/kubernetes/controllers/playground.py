"""A small cluster to play on: make things, let time pass, look."""

from __future__ import annotations

from datetime import timedelta

from whysync.argocd.health.assess import health_of
from whysync.diagnosis.case import Case
from whysync.diagnosis.pods import PodHistory, pod_histories
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.apiserver.protocol import Request, kind_of
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.behavior import Behavior, Metric, PodBehavior
from whysync.kubernetes.controllers.controller_manager import ControllerManager
from whysync.kubernetes.timeline import Timeline

_APP: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "shop", "namespace": "argocd"},
    "spec": {
        "destination": {"namespace": "shop", "server": "https://kubernetes.default.svc"},
        "project": "default",
        "source": {"repoURL": "https://example.com/shop.git"},
    },
}


def pod(
    name: str = "web", *, labels: Object | None = None, container: Object | None = None, **spec: Json
) -> Object:
    first: Object = {"name": "web", "image": "nginx:1", **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": labels or {"app": name}},
        "spec": {"containers": [first], **spec},
    }


def manifest(kind: str, name: str, body: Object, version: str = "v1", **meta: Json) -> Object:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "shop", **meta},
        **body,
    }


def service(name: str, port: int = 80, selector: Object | None = None, **spec: Json) -> Object:
    ports: list[Json] = [{"port": port}]
    return manifest(
        "Service", name, {"spec": {"selector": selector or {"app": name}, "ports": ports, **spec}}
    )


class Playground:
    def __init__(
        self,
        *pods: PodBehavior,
        behavior: Behavior | None = None,
        metrics: tuple[Metric, ...] = (),
        nodes: int = 3,
    ) -> None:
        self.api_server = ApiServer()
        self.life = ControllerManager(
            self.api_server, behavior or Behavior(pods=pods, metrics=metrics), nodes=nodes
        )
        self.timeline = Timeline(self.api_server.clock, [self.life])
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        self.timeline.settle()

    def create(self, *objects: Object) -> None:
        for obj in objects:
            kind = kind_of(self.api_server, text(obj.get("apiVersion")), text(obj.get("kind")))
            assert kind is not None
            path = kind.collection(text(dig(obj, "metadata", "namespace")))
            answer = self.api_server.send(Request(verb="create", path=path, body=copy_object(obj)))
            assert answer.ok, answer.body

    def delete(self, version: str, kind: str, name: str) -> None:
        served = kind_of(self.api_server, version, kind)
        assert served is not None
        assert self.api_server.send(Request(verb="delete", path=served.path("shop", name))).ok

    def run(self, seconds: float) -> Playground:
        self.timeline.run(timedelta(seconds=seconds))
        return self

    def get(self, plural: str, name: str, *, group: str = "", namespace: str = "shop") -> Object:
        result = self.api_server.store.get(((group, plural), namespace, name))
        assert result is not None, f"no {plural} {name}"
        return result

    def find(self, plural: str, name: str, *, group: str = "") -> Object | None:
        return self.api_server.store.get(((group, plural), "shop", name))

    def status(self, name: str = "web") -> Object:
        return fields(self.get("pods", name).get("status"))

    def phase(self, name: str = "web") -> str:
        return text(self.status(name).get("phase"))

    def container(self, name: str = "web", index: int = 0, *, init: bool = False) -> Object:
        group = "initContainerStatuses" if init else "containerStatuses"
        return fields(items(self.status(name).get(group))[index])

    def waiting(self, name: str = "web", *, init: bool = False) -> tuple[str, str]:
        result = fields(dig(self.container(name, init=init), "state", "waiting"))
        return text(result.get("reason")), text(result.get("message"))

    def condition(self, kind: str, name: str = "web") -> Object:
        for raw in items(self.status(name).get("conditions")):
            if fields(raw).get("type") == kind:
                return fields(raw)
        return {}

    def events(self, name: str = "web") -> list[tuple[str, str, str]]:
        """Type, reason and message of what was told of an object, the oldest first."""
        result = [
            event
            for _, event in self.api_server.store.within(("", "events"))
            if dig(event, "involvedObject", "name") == name
        ]
        result.sort(key=lambda event: text(dig(event, "metadata", "uid")))
        return [(text(item["type"]), text(item["reason"]), text(item["message"])) for item in result]

    def health(self, plural: str = "pods", name: str = "web", *, group: str = "") -> str:
        verdict = health_of(self.get(plural, name, group=group))
        return "" if verdict is None or verdict.code is None else str(verdict.code)

    def story(self, name: str = "web") -> PodHistory:
        """The pod as a diagnosis reads it."""
        live = tuple(Manifest(obj, role=Role.LIVE) for obj in self.api_server.objects())
        app = Manifest(_APP, role=Role.APPLICATION)
        world = SnapshotIndex(Snapshot(applications=(app,), live=live, logs=tuple(self.life.logs.all())))
        manifest, decoded = world.decoded[0]
        ref = next(
            live_object.ref
            for live_object in live
            if live_object.ref.kind == "Pod" and live_object.ref.name == name
        )
        return pod_histories(Case(world, manifest, decoded), ref)[0]
