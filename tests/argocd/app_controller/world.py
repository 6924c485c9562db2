"""Small worlds for the tests of the controller: one repository, one app, a cluster without controllers."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.argocd.app_controller.trace import TraceKind
from whysync.argocd.repo_server.repository import GitRepositories, GitRepository
from whysync.argocd.settings import Settings
from whysync.argocd.simulation.from_facts import cluster_of, with_project, with_tracking_metadata
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.sources import repositories_of
from whysync.argocd.simulation.world import OtherParticipant, World
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.apiserver.protocol import Request
from whysync.kubernetes.clock import Clock

START = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
URL = "https://git.example.com/team/shop.git"


def config_map(
    name: str, *, wave: int | None = None, annotations: Object | None = None, **data: str
) -> Object:
    meta: Object = {"name": name}
    marks: Object = dict(annotations or {})
    if wave is not None:
        marks["argocd.argoproj.io/sync-wave"] = str(wave)
    if marks:
        meta["annotations"] = marks
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {**data}}


def job(name: str, hook: str = "PreSync", **annotations: Json) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": {"argocd.argoproj.io/hook": hook, **annotations}},
        "spec": {
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "tool:1"}]}
            }
        },
    }


def application(
    *,
    name: str = "shop",
    path: str = "apps/shop",
    automated: Object | None = None,
    options: Iterable[str] = ("CreateNamespace=true",),
    namespace: str = "shop",
    **policy: Json,
) -> Object:
    sync: Object = {"syncOptions": [*options], **policy}
    if automated is not None:
        sync["automated"] = automated
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": URL, "path": path, "targetRevision": "main"},
            "destination": {"server": IN_CLUSTER, "namespace": namespace},
            "syncPolicy": sync,
        },
    }


def restored_simulation(
    application: Object, desired: list[Object], live: list[Object], now: datetime
) -> Simulation:
    """A simulation that continues from facts."""
    clock = Clock(now)
    objects = with_tracking_metadata(application, desired, live, Settings(), "argocd")
    return Simulation(
        World(
            clock=clock,
            repository=repositories_of(application, desired, clock),
            applications=(application,),
            projects=with_project(application, ()),
            clusters=(replace(cluster_of(application), objects=tuple(objects)),),
        )
    )


class SmallWorld(Simulation):
    """A simulation, and the questions that tests ask of it."""

    repo: GitRepository

    @classmethod
    def with_objects(
        cls,
        objects: Iterable[Object],
        app: Object | None = None,
        *,
        projects: tuple[Object, ...] = (),
        config_maps: tuple[Object, ...] = (),
        others: tuple[OtherParticipant, ...] = (),
    ) -> SmallWorld:
        clock = Clock(START)
        git = GitRepository(url=URL, clock=clock)
        git.push({"apps/shop": tuple(objects)})
        world = cls(
            World(
                clock=clock,
                repository=GitRepositories([git]),
                applications=(app or application(automated={"selfHeal": True, "prune": True}),),
                projects=projects,
                config_maps=config_maps,
                others=others,
            )
        )
        world.repo = git
        return world

    def minutes(self, number: float) -> None:
        self.run(timedelta(minutes=number))

    def seconds(self, number: float) -> None:
        self.run(timedelta(seconds=number))

    @property
    def codes(self) -> tuple[str, str]:
        return self.argocd.sync_and_health("shop")

    @property
    def operation(self) -> Object:
        return fields(self.argocd.status("shop").get("operationState"))

    @property
    def phase(self) -> str:
        return text(self.operation.get("phase"))

    @property
    def message(self) -> str:
        return text(self.operation.get("message"))

    def condition(self, type: str) -> str | None:
        for condition in items(self.argocd.status("shop").get("conditions")):
            if fields(condition).get("type") == type:
                return text(fields(condition).get("message"))
        return None

    def moments(self, *whats: TraceKind) -> list[str]:
        return [f"{m.at:%H:%M:%S} {m.text}" for m in self.argocd.trace if m.kind in whats]

    def get(self, path: str) -> Object | None:
        answer = self.api_server.send(Request(verb="get", path=path))
        return answer.body if answer.ok else None

    def data(self, name: str, key: str) -> str | None:
        result = self.get(f"/api/v1/namespaces/shop/configmaps/{name}")
        value = dig(result, "data", key) if result is not None else None
        return value if isinstance(value, str) else None

    def write(self, name: str, key: str, value: str, *, manager: str = "kubectl-edit") -> None:
        path = f"/api/v1/namespaces/shop/configmaps/{name}"
        answer = self.api_server.send(
            Request(verb="merge-patch", path=path, body={"data": {key: value}}, manager=manager)
        )
        assert answer.ok, answer
