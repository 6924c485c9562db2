"""Whatever part of a healthy cluster somebody has collected: loaded into the model, it stays as it is."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from whysync.argocd.app_controller.trace import TraceKind
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import SyncSafety
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.snapshot import Snapshot
from whysync.lab.parse import scenario_from
from whysync.lab.player import play
from whysync.proofs.simulated_case import simulated
from whysync.proofs.sync_safety import safety_of

SCENARIO = """
title: an app with one of each
applications:
- metadata: {name: all}
  spec:
    source: {repoURL: "https://git.example.com/platform/deploy.git", targetRevision: main, path: all}
    destination: {namespace: all}
    syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}
git:
  message: all
  files:
    all/all.yaml: |
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 3
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            serviceAccountName: web
            containers:
            - {name: web, image: "web:1", envFrom: [{configMapRef: {name: web}}, {secretRef: {name: web}}]}
      ---
      apiVersion: v1
      kind: ServiceAccount
      metadata: {name: web}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: web}
      data: {a: b}
      ---
      apiVersion: v1
      kind: Secret
      metadata: {name: web}
      stringData: {a: b}
      ---
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: db}
      spec:
        serviceName: db
        replicas: 2
        selector: {matchLabels: {app: db}}
        template:
          metadata: {labels: {app: db}}
          spec: {containers: [{name: db, image: "db:1"}]}
        volumeClaimTemplates:
        - metadata: {name: data}
          spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
      ---
      apiVersion: apps/v1
      kind: DaemonSet
      metadata: {name: agent}
      spec:
        selector: {matchLabels: {app: agent}}
        template:
          metadata: {labels: {app: agent}}
          spec: {containers: [{name: agent, image: "agent:1"}]}
      ---
      apiVersion: v1
      kind: Service
      metadata: {name: web}
      spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
      ---
      apiVersion: batch/v1
      kind: Job
      metadata: {name: seed}
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: seed, image: "seed:1"}]}}}
      ---
      apiVersion: batch/v1
      kind: CronJob
      metadata: {name: nightly}
      spec:
        schedule: "0 1 * * *"
        jobTemplate:
          spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "n:1"}]}}}
ends: 5m
"""
_MADE = (
    "Pod",
    "ReplicaSet",
    "ControllerRevision",
    "PersistentVolumeClaim",
    "Node",
    "EndpointSlice",
    "Endpoints",
)


@cache
def facts() -> Snapshot:
    return play(scenario_from(SCENARIO, name="all", origin="all.yaml")).snapshot()


def case_without(*kinds: str, every: int = 1) -> Case:
    """A case without every object (or every n-th object) of these kinds."""
    number = 0
    remaining: list[object] = []
    for live_object in facts().live:
        if live_object.ref.kind in kinds:
            number += 1
            if number % every == 0:
                continue
        remaining.append(live_object)
    snapshot = replace(
        facts(),
        live=tuple(
            live_object for live_object in facts().live if any(live_object is other for other in remaining)
        ),
    )
    world = SnapshotIndex(snapshot)
    manifest, app = world.decoded[0]
    return Case(world, manifest, app)


def test_the_scenario_ends_well() -> None:
    case = case_without()
    assert (case.app.status.sync.status, case.app.status.health.status) == ("Synced", "Healthy")
    assert {live_object.ref.kind for live_object in facts().live}.issuperset(
        {"Pod", "ReplicaSet", "ControllerRevision"}
    )


@given(st.sets(st.sampled_from([*_MADE, "ServiceAccount", "Namespace"])), st.integers(1, 3), st.booleans())
@settings(deadline=None, max_examples=25)
def test_a_healthy_app_does_not_change(missing: set[str], every: int, everything: bool) -> None:
    case = case_without(*missing, every=every)
    world = simulated(case, everything=everything)
    world.run(timedelta(minutes=10))
    assert [str(entry) for entry in world.simulation.argocd.trace if entry.kind is TraceKind.STARTED] == []
    assert world.sync_and_health == ("Synced", "Healthy")


@given(st.sets(st.sampled_from(_MADE)), st.integers(1, 3))
@settings(deadline=None, max_examples=15)
def test_a_sync_of_it_restarts_nothing(missing: set[str], every: int) -> None:
    """All of it is applied again, and each object says the same as before."""
    case = case_without(*missing, every=every)
    world = simulated(case, everything=True)
    pods = {obj.name for obj in world.objects() if obj.kind == "Pod"}
    world.sync()
    world.run(timedelta(minutes=5))
    assert world.operation["phase"] == "Succeeded"
    assert {obj.name for obj in world.objects() if obj.kind == "Pod"} == pods
    assert world.sync_and_health == ("Synced", "Healthy")


def test_the_verdict_is_safe() -> None:
    safety = safety_of(case_without())
    assert safety.sync is SyncSafety.SAFE
    assert [reason.text for reason in safety.reasons] == ["nothing differs, so it changes nothing"]
