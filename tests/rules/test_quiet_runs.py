"""Apps that are well, looked at again and again while they live: no alarm, at no instant.

Generated apps run on the model of a cluster with the real pace of Argo CD: the first sync, a rollout, a
second commit, hooks, waves, an autoscaler at work. A snapshot is taken every few seconds, and the whole
diagnosis of it says nothing above a note ("wait").
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from whysync import app
from whysync.argocd.repo_server.repository import GitRepositories, GitRepository
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import Controllers, World, WorldCluster
from whysync.diagnosis.finding import Finding, Severity
from whysync.diagnosis.rule import diagnosis_rules
from whysync.diagnosis.runner import diagnose
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.masking import mask_snapshot
from whysync.facts.simulated import snapshot_of
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Json, Object, copy_object, fields
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import Behavior, Metric, PodBehavior

URL = "https://git.example.com/team/shop.git"
START = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
PROJECT: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "default", "namespace": "argocd"},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    },
}


def _object(api: str, kind: str, name: str, body: Object, **annotations: str) -> Object:
    marks: Object = {key.replace("_", "-"): value for key, value in annotations.items()}
    full_annotations: Object = {f"argocd.argoproj.io/{key}": value for key, value in marks.items()}
    metadata: Object = {"name": name, **({"annotations": full_annotations} if full_annotations else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **body}


def _pods(name: str, image: str, **spec: Json) -> Object:
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "containers": [{"name": "main", "image": image, "resources": {"requests": {"cpu": "100m"}}}],
            **spec,
        },
    }


def _deployment(name: str, image: str, replicas: int | None, **marks: str) -> Object:
    spec: Object = {"selector": {"matchLabels": {"app": name}}, "template": _pods(name, image)}
    if replicas is not None:
        spec["replicas"] = replicas
    return _object("apps/v1", "Deployment", name, {"spec": spec}, **marks)


def _job(name: str, image: str, **marks: str) -> Object:
    template = _pods(name, image, restartPolicy="Never")
    return _object("batch/v1", "Job", name, {"spec": {"template": template, "backoffLimit": 2}}, **marks)


def _parts(image: str) -> dict[str, tuple[Object, ...]]:
    """Everything that an app may be made of, by name; each part is a few objects."""
    claim: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    service: Object = {"ports": [{"port": 80, "targetPort": 8080}], "selector": {"app": "web"}}
    backend: Object = {"service": {"name": "web", "port": {"number": 80}}}
    rule: Object = {"host": "shop.example.com", "http": {"paths": [
        {"path": "/", "pathType": "Prefix", "backend": backend}]}}  # fmt: skip
    database: Object = {
        "serviceName": "db",
        "replicas": 2,
        "selector": {"matchLabels": {"app": "db"}},
        "template": _pods("db", image),
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": copy_object(claim)}],
    }
    agents: Object = {"selector": {"matchLabels": {"app": "agent"}}, "template": _pods("agent", image)}
    nightly: Object = {
        "schedule": "*/2 * * * *",
        "jobTemplate": {"spec": {"template": _pods("nightly", image, restartPolicy="Never")}},
    }
    target: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "scaled"}
    metric: Object = {"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}  # fmt: skip
    return {
        "web": (_deployment("web", image, 2), _object("v1", "Service", "web", {"spec": service})),
        "public": (
            _object("v1", "Service", "public", {"spec": {**copy_object(service), "type": "LoadBalancer"}}),
        ),
        "ingress": (
            _object(
                "networking.k8s.io/v1",
                "Ingress",
                "web",
                {"spec": {"ingressClassName": "nginx", "rules": [rule]}},
            ),
        ),
        "database": (_object("apps/v1", "StatefulSet", "db", {"spec": database}),),
        "volume": (_object("v1", "PersistentVolumeClaim", "files", {"spec": copy_object(claim)}),),
        "agent": (_object("apps/v1", "DaemonSet", "agent", {"spec": agents}),),
        "nightly": (_object("batch/v1", "CronJob", "nightly", {"spec": nightly}),),
        "off": (_object("batch/v1", "CronJob", "off", {"spec": {**copy_object(nightly), "suspend": True}}),),
        "scaled": (
            _deployment("scaled", image, None),
            _object(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                "scaled",
                {"spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5, "metrics": [metric]}},
            ),
        ),
        "settings": (_object("v1", "ConfigMap", "settings", {"data": {"mode": "quiet", "image": image}}),),
        "secret": (_object("v1", "Secret", "token", {"stringData": {"token": "not-a-real-one"}}),),
        "account": (_object("v1", "ServiceAccount", "shop", {}),),
        "migration": (_job("migrate", image, hook="PreSync", hook_delete_policy="BeforeHookCreation"),),
        "announcement": (_job("announce", image, hook="PostSync", hook_delete_policy="HookSucceeded"),),
        "waves": (
            _deployment("first", image, 1, sync_wave="-1"),
            _deployment("last", image, 1, sync_wave="2"),
        ),
        "paused": (_paused(image),),
    }


def _paused(image: str) -> Object:
    deployment = _deployment("paused", image, 1)
    fields(deployment["spec"])["paused"] = True
    return deployment


def _application(automated: Object | None) -> Object:
    policy: Object = {"syncOptions": ["CreateNamespace=true"]}
    if automated is not None:
        policy["automated"] = automated
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "shop", "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": URL, "path": "deploy", "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
            "syncPolicy": policy,
        },
    }


def _alarms(snapshot: Snapshot) -> Iterator[Finding]:
    world = SnapshotIndex(mask_snapshot(_copied(snapshot)))
    for case in app.cases(world):
        report = diagnose(case, diagnosis_rules())
        assert not report.crashed
        yield from (finding for finding in report.findings if finding.severity is not Severity.INFO)


def _copied(snapshot: Snapshot) -> Snapshot:
    """Masking changes what it is given, and the simulation goes on."""

    def copies(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
        return tuple(
            Manifest(
                copy_object(manifest.body),
                role=manifest.role,
                origin=manifest.origin,
                cluster=manifest.cluster,
            )
            for manifest in manifests
        )

    return replace(
        snapshot,
        applications=copies(snapshot.applications),
        projects=copies(snapshot.projects),
        settings=copies(snapshot.settings),
        desired={name: copies(rendered) for name, rendered in snapshot.desired.items()},
        live=copies(snapshot.live),
        events=copies(snapshot.events),
    )


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    names=st.sets(st.sampled_from(sorted(_parts(""))), min_size=1, max_size=5),
    automated=st.sampled_from(
        [{}, {"selfHeal": True}, {"prune": True, "selfHeal": True}]  # pyright: ignore[reportUnknownArgumentType]
    ),
    ready_seconds=st.sampled_from([1, 20, 70]),
    step=st.sampled_from([7, 13]),
)
@example(names={"account", "migration", "volume"}, automated={}, ready_seconds=1, step=13)
def test_nothing_alarming_is_said_of_an_app_that_is_well(
    names: set[str], automated: Object, ready_seconds: int, step: int
) -> None:
    if "paused" in names:  # a sync that still has something to do waits for what is paused
        names = names - {"waves", "announcement"}
    alarms = _alarms_of_a_run(names, automated=automated, ready_seconds=ready_seconds, step=step)
    assert list(alarms) == []


def _alarms_of_a_run(names: set[str], *, automated: Object, ready_seconds: int, step: int) -> Iterator[str]:
    """Ten minutes of an app, with a new commit after five; looked at every few seconds."""
    clock = Clock(START)
    git = GitRepository(url=URL, clock=clock)
    git.push({"deploy": [manifest for name in sorted(names) for manifest in _parts("shop:1")[name]]})
    behavior = Behavior(
        pods=(PodBehavior(name="*", start_seconds=2, ready_seconds=ready_seconds),),
        metrics=(Metric(namespace="shop", name="scaled", after_seconds=60, replicas=3),),
    )
    simulation = Simulation(
        World(
            clock=clock,
            repository=GitRepositories([git]),
            applications=(_application(automated),),
            projects=(PROJECT,),
            clusters=(WorldCluster(controllers=Controllers.ALL, behavior=behavior),),
        )
    )
    for second in range(0, 600, step):
        if second <= 300 < second + step:
            git.push({"deploy": [manifest for name in sorted(names) for manifest in _parts("shop:2")[name]]})
        simulation.run(timedelta(seconds=step))
        for alarm in _alarms(snapshot_of(simulation)):
            yield f"{second + step} s: {alarm.cause}: {alarm.verdict}"
