"""Pods as they were seen: each sad state is played again by the same template, and by no other."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from tests.proofs.worlds import bundle, deployment, in_git, running, settings, synced, there
from tests.situations import REVISION, case_of, row
from whysync.diagnosis.case import Case
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.json_tree import Json, Object, copy_object, dig, fields
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.proofs.pod_behavior import behavior_of, was_interrupted, with_restarted_containers
from whysync.proofs.simulated_case import SimulatedCase, simulated

HASH = "5d4f8c7b9"


def pod(state: Object, *, ready: bool = False, labels: Object | None = None, **status: Json) -> Object:
    container: Object = {"name": "main", "image": "shop:1", "ready": ready, "restartCount": 3, "state": state}
    more: Object = {"phase": "Running", **status}
    if "containerStatuses" not in status:
        more["containerStatuses"] = [{**container, **fields(state.get("more"))}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"shop-{HASH}-x2x2x",
            "namespace": "shop",
            "uid": "pod",
            "resourceVersion": "1",
            "labels": labels if labels is not None else {"app": "shop", "pod-template-hash": HASH},
        },
        "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "shop:1"}]},
        "status": more,
    }


def case_with(*objects: Object) -> Case:
    return case_of(bundle(), synced(row("Deployment", "shop", health={"status": "Degraded"})), *objects)


def behavior_of_pod(pod_object: Object) -> PodBehavior | None:
    behaviors = behavior_of(case_with(pod_object), [pod_object], ()).pods
    assert len(behaviors) <= 1
    return behaviors[0] if behaviors else None


def test_a_pod_that_runs_needs_no_part() -> None:
    assert behavior_of_pod(pod({"running": {"startedAt": "2026-03-01T00:00:00Z"}}, ready=True)) is None


def test_a_crash_loop_continues_for_the_same_template() -> None:
    crashed: Object = {
        "waiting": {"reason": "CrashLoopBackOff"},
        "more": {"lastState": {"terminated": {"exitCode": 3, "reason": "Error"}}},
    }
    behavior = behavior_of_pod(pod(crashed))
    assert behavior is not None
    assert (behavior.exit_code, behavior.image, dict(behavior.labels)) == (
        3,
        "shop:1",
        {"pod-template-hash": HASH},
    )
    assert behavior.runs_seconds is not None


def test_a_killed_container_is_killed_again() -> None:
    killed: Object = {
        "waiting": {"reason": "CrashLoopBackOff"},
        "more": {"lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
    }
    behavior = behavior_of_pod(pod(killed))
    assert behavior is not None
    assert (behavior.exit_code, behavior.reason) == (137, "OOMKilled")


@pytest.mark.parametrize(
    ("message", "pull"),
    [
        ("Back-off pulling image: manifest unknown", "missing"),
        ("pull access denied, repository does not exist or may require authorization", "denied"),
        ("failed to authorize: unauthorized", "denied"),
    ],
)
def test_an_image_that_was_not_pulled_fails_again(message: str, pull: str) -> None:
    behavior = behavior_of_pod(pod({"waiting": {"reason": "ImagePullBackOff", "message": message}}))
    assert behavior is not None
    assert behavior.pull == pull


def test_a_container_that_was_never_ready_stays_not_ready() -> None:
    behavior = behavior_of_pod(pod({"running": {"startedAt": "2026-03-02T03:00:00Z"}}))
    assert behavior is not None
    assert behavior.ready_seconds is None


def test_who_started_a_moment_ago_may_become_ready() -> None:
    young = pod({"running": {"startedAt": "2026-03-02T03:10:30Z"}})
    assert behavior_of_pod(young) is None
    again = with_restarted_containers(young, case_with(young).now)
    assert "waiting" in fields(dig(again, "status", "containerStatuses", 0, "state"))
    old = pod({"running": {"startedAt": "2026-03-02T03:00:00Z"}})
    assert with_restarted_containers(old, case_with(old).now) is old


def test_an_unschedulable_pod_stays_unschedulable() -> None:
    message = "0/3 nodes are available: 3 Insufficient cpu."
    waits = pod({}, phase="Pending", containerStatuses=[])
    fields(waits["spec"]).pop("nodeName")
    fields(waits["status"])["conditions"] = [{"type": "PodScheduled", "status": "False", "message": message}]
    behavior = behavior_of_pod(waits)
    assert behavior is not None
    assert behavior.unschedulable == message


def test_what_a_missing_claim_explains_the_model_finds_itself() -> None:
    waits = pod({}, phase="Pending", containerStatuses=[])
    fields(waits["spec"]).pop("nodeName")
    fields(waits["status"])["conditions"] = [
        {
            "type": "PodScheduled",
            "status": "False",
            "message": '0/3 nodes are available: persistentvolumeclaim "data" not found.',
        }
    ]
    assert behavior_of_pod(waits) is None


def test_pods_of_one_template_are_one_behavior() -> None:
    crashed: Object = {
        "waiting": {"reason": "CrashLoopBackOff"},
        "more": {"lastState": {"terminated": {"exitCode": 3}}},
    }
    first, other = pod(crashed), pod(crashed)
    fields(other["metadata"])["name"] = "another"
    assert len(behavior_of(case_with(first, other), [first, other], ()).pods) == 1


# --- how a container behaves, from its status, its age and its log ------------------------------


CRASHED: Object = {
    "waiting": {"reason": "CrashLoopBackOff"},
    "more": {"lastState": {"terminated": {"exitCode": 3, "reason": "Error"}}},
}
REFUSED = "dial tcp: connect db.shop:5432: connection refused"


def log(*lines: str, previous: bool = False, container: str = "main", pod: str = f"shop-{HASH}-x2x2x") -> Log:
    return Log(namespace="shop", pod=pod, container=container, lines=lines, previous=previous)


def with_logs(case: Case, *logs: Log) -> Case:
    index = SnapshotIndex(replace(case.index.snapshot, logs=logs))
    manifest, app = index.decoded[0]
    return Case(index, manifest, app)


def of_job(pod_object: Object, *, labels: Object | None = None) -> Object:
    meta = fields(pod_object["metadata"])
    meta |= {"labels": labels or {}, "ownerReferences": [{"kind": "Job", "name": "migrate"}]}
    return pod_object


def behavior_with_logs(
    pod_object: Object, *logs: Log, desired: tuple[Object, ...] = ()
) -> PodBehavior | None:
    case = with_logs(case_with(pod_object, *desired), *logs)
    behaviors = behavior_of(case, [pod_object], ()).pods
    assert len(behaviors) <= 1
    return behaviors[0] if behaviors else None


def test_a_container_that_recovered_from_a_crash_runs() -> None:
    """An exit code in `lastState` alone is history: a sync of it is not predicted to fail."""
    recovered: Object = {
        "running": {"startedAt": "2026-03-02T02:00:00Z"},
        "more": {"lastState": {"terminated": {"exitCode": 3}}},
    }
    assert behavior_with_logs(pod(recovered, ready=True)) is None
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db", "namespace": "shop"}}
    assert behavior_with_logs(pod(recovered, ready=True), log(REFUSED), desired=(in_git(service),)) is None
    assert behavior_with_logs(pod({"terminated": {"exitCode": 0}})) is None


def test_a_container_that_ended_with_an_error_ends_with_it_again() -> None:
    behavior = behavior_with_logs(
        pod({"terminated": {"exitCode": 4, "reason": "Error"}}), log("the last words")
    )
    assert behavior is not None
    assert (behavior.exit_code, behavior.reason, behavior.runs_seconds) == (4, "", 2)
    assert [line.text for line in behavior.log] == ["the last words"]


def test_the_log_of_the_previous_run_contains_the_crash() -> None:
    """The current run may just have started, and its log does not contain the error yet."""
    behavior = behavior_with_logs(
        pod(CRASHED), log("starting"), log("boom", previous=True), log("?", container="sidecar")
    )
    assert behavior is not None
    assert [line.text for line in behavior.log] == ["boom"]
    long = behavior_with_logs(pod(CRASHED), log(*map(str, range(50))))
    assert long is not None
    assert [line.text for line in long.log] == [str(number) for number in range(30, 50)]


def test_an_image_that_runs_as_root_is_refused_again() -> None:
    message = "container has runAsNonRoot and image will run as root"
    behavior = behavior_with_logs(
        pod({"waiting": {"reason": "CreateContainerConfigError", "message": message}})
    )
    assert behavior is not None
    assert behavior.image_user == "0"
    other: Object = {"reason": "CreateContainerConfigError", "message": 'secret "db" not found'}
    assert (
        behavior_with_logs(pod({"waiting": other})) is None
    )  # the simulation checks whether the Secret exists


@pytest.mark.parametrize("line", [REFUSED, "lookup db: no such host", "db:5432 - i/o timeout"])
def test_a_container_waits_for_a_service_that_the_sync_creates(line: str) -> None:
    """It crashes because the Service of this app does not exist yet: with the Service it runs."""
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db", "namespace": "shop"}}
    behavior = behavior_with_logs(pod(CRASHED), log("hello", line), desired=(in_git(service),))
    assert behavior is not None
    assert (behavior.calls, behavior.on_no_answer, behavior.exit_code) == (("db",), "exit", 0)


def test_a_service_explains_no_crash_without_a_network_error_about_it() -> None:
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db", "namespace": "shop"}}
    old = (REFUSED, "retrying", "retrying", "panic: nil map")
    for lines in (("db schema is wrong",), ("cache: connection refused",), old):
        behavior = behavior_with_logs(pod(CRASHED), log(*lines), desired=(in_git(service),))
        assert behavior is not None
        assert (behavior.calls, behavior.exit_code) == ((), 3)
    exists = behavior_with_logs(pod(CRASHED), log(REFUSED), desired=(in_git(service), there(service)))
    assert exists is not None
    assert exists.calls == ()


def test_a_running_container_is_not_explained_by_a_missing_service_unless_it_is_a_job() -> None:
    """A server that logs a failed call and serves anyway is ready; a Job that waits does not finish."""
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db", "namespace": "shop"}}
    state: Object = {"running": {"startedAt": "2026-03-02T03:10:30Z"}}
    assert behavior_with_logs(pod(state), log(REFUSED), desired=(in_git(service),)) is None
    behavior = behavior_with_logs(of_job(pod(state)), log(REFUSED), desired=(in_git(service),))
    assert behavior is not None
    assert (behavior.calls, behavior.on_no_answer, behavior.name) == (("db",), "wait", "migrate-*")


@pytest.mark.parametrize(
    ("started", "runs"), [("2026-03-02T03:05:00Z", None), ("2026-03-02T03:00:00Z", 1e9), ("", None)]
)
def test_a_job_that_runs_for_ten_minutes_does_not_finish(started: str, runs: float | None) -> None:
    """A migration of a few minutes is normal: a proof does not count it as hanging."""
    behavior = behavior_with_logs(of_job(pod({"running": {"startedAt": started}}, ready=True)))
    assert (behavior.runs_seconds if behavior is not None else None) == runs


def test_the_age_of_a_container_is_that_of_its_pod_if_nothing_else_is_known() -> None:
    old = pod({"running": {}}, startTime="2026-03-02T02:00:00Z")
    behavior = behavior_with_logs(old)
    assert behavior is not None
    assert behavior.ready_seconds is None
    assert behavior_with_logs(pod({"running": {}}, startTime="2026-03-02T03:10:00Z")) is None


@pytest.mark.parametrize(
    ("labels", "name", "kept_labels"),
    [
        ({"controller-revision-hash": "web-1"}, "*", {"controller-revision-hash": "web-1"}),
        ({"job-name": "migrate"}, "*", {"job-name": "migrate"}),
        ({"app": "shop"}, f"shop-{HASH}-x2x2x", {}),
    ],
)
def test_a_behavior_applies_to_pods_of_the_same_template_only(
    labels: Object, name: str, kept_labels: Object
) -> None:
    behavior = behavior_with_logs(pod(CRASHED, labels=labels))
    assert behavior is not None
    assert (behavior.name, dict(behavior.labels)) == (name, kept_labels)


def test_an_image_is_a_pattern_that_matches_only_itself() -> None:
    odd = pod(CRASHED)
    fields(odd["spec"])["containers"] = [{"name": "main", "image": "shop:[1]*?"}]
    behavior = behavior_with_logs(odd)
    assert behavior is not None
    assert behavior.image == "shop:[[]1][*][?]"
    fields(odd["spec"])["containers"] = []
    unnamed = behavior_with_logs(odd)
    assert unnamed is not None
    assert unnamed.image == "shop:1"  # from its status


def test_init_containers_fail_again_too() -> None:
    waits = pod({}, phase="Pending", containerStatuses=[])
    fields(waits["spec"])["initContainers"] = [{"name": "wait", "image": "wait:1"}]
    fields(waits["status"])["initContainerStatuses"] = [
        {"name": "wait", "state": {"terminated": {"exitCode": 7}}}
    ]
    behavior = behavior_with_logs(waits)
    assert behavior is not None
    assert (behavior.container, behavior.image, behavior.exit_code) == ("wait", "wait:1", 7)


@pytest.mark.parametrize(
    ("phase", "node", "kind", "status"),
    [
        ("Running", "", "PodScheduled", "False"),
        ("Pending", "node-1", "PodScheduled", "False"),
        ("Pending", "", "Ready", "False"),
        ("Pending", "", "PodScheduled", "True"),
    ],
)
def test_a_pod_that_has_a_node_is_not_unschedulable(phase: str, node: str, kind: str, status: str) -> None:
    waits = pod({}, phase=phase, containerStatuses=[])
    fields(waits["spec"])["nodeName"] = node
    fields(waits["status"])["conditions"] = [{"type": kind, "status": status, "message": "no node"}]
    assert behavior_with_logs(waits) is None


def test_a_restarted_container_has_not_started_yet() -> None:
    """The simulated kubelet decides only about containers that it started; ready ones stay as they are."""
    young = pod({"running": {"startedAt": "2026-03-02T03:10:30Z"}})
    ready: Object = {
        "name": "proxy",
        "ready": True,
        "started": True,
        "state": {"running": {"startedAt": "2026-03-02T03:10:30Z"}},
    }
    statuses = fields(young["status"])["containerStatuses"]
    assert isinstance(statuses, list)
    statuses.append(ready)
    again = with_restarted_containers(young, case_with(young).now)
    assert dig(again, "status", "phase") == "Pending"
    assert dig(again, "status", "containerStatuses", 0, "started") is False
    assert dig(again, "status", "containerStatuses", 0, "state") == {
        "waiting": {"reason": "ContainerCreating"}
    }
    assert dig(again, "status", "containerStatuses", 1) == ready
    waiting = pod({"waiting": {"reason": "ContainerCreating"}})
    assert with_restarted_containers(waiting, case_with(waiting).now) is waiting
    ended = pod({"running": {"startedAt": "2026-03-02T03:10:30Z"}}, phase="Failed")
    assert with_restarted_containers(ended, case_with(ended).now) is ended


# --- what the cluster does not provide, and what an autoscaler wants -----------------------------


def load_balancer(kind: str = "LoadBalancer", *addresses: Json) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"type": kind},
        "status": {"loadBalancer": {"ingress": list(addresses)}},
    }


def test_a_load_balancer_without_an_address_stays_without_one() -> None:
    """A new Service would not get an address either, so a proof does not promise a healthy one."""
    address: Object = {"ip": "192.0.2.1"}
    for service, expected in (
        (load_balancer(), "pending"),
        (load_balancer("LoadBalancer", address), "ok"),
        (load_balancer("ClusterIP"), "ok"),
    ):
        assert behavior_of(case_with(service), [service], ()).load_balancers == expected


@pytest.mark.parametrize(("phase", "volumes"), [("Pending", "pending"), ("Bound", "ok")])
def test_a_claim_that_is_not_bound_stays_pending(phase: str, volumes: str) -> None:
    claim: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop"},
        "status": {"phase": phase},
    }
    assert behavior_of(case_with(claim), [claim], ()).volumes == volumes
    other: Object = {**claim, "kind": "PersistentVolume"}
    assert behavior_of(case_with(other), [other], ()).volumes == "ok"


def autoscaler(status: Object | None = None, **spec: Json) -> Object:
    body: Object = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "shop"}, **spec},
    }
    return body if status is None else {**body, "status": status}


@pytest.mark.parametrize(
    ("hpa", "deployed", "replicas"),
    [
        (autoscaler({"desiredReplicas": 5, "currentReplicas": 4}), 2, [5]),
        (autoscaler({"currentReplicas": 4}), 2, [4]),
        (autoscaler({}, minReplicas=3), 2, [2]),
        (autoscaler({}, minReplicas=3), None, []),
        (autoscaler(minReplicas=3), None, [3]),
        (autoscaler(), None, [1]),
    ],
)
def test_an_autoscaler_keeps_its_number(hpa: Object, deployed: int | None, replicas: list[int]) -> None:
    """A wrong number would show as pods that a sync terminates."""
    objects = [] if deployed is None else [running(deployment(replicas=deployed))]
    metrics = behavior_of(case_with(hpa, *objects), [hpa, *objects], ()).metrics
    assert [(metric.namespace, metric.name, metric.replicas) for metric in metrics] == [
        ("shop", "shop", number) for number in replicas
    ]


def test_an_autoscaler_that_the_sync_creates_keeps_the_current_number() -> None:
    unplaced = in_git(autoscaler(minReplicas=7))
    fields(unplaced["metadata"]).pop("namespace")
    case = case_with(unplaced, running(deployment(replicas=4)))
    (metric,) = behavior_of(case, (), case.desired).metrics
    assert (metric.namespace, metric.replicas) == ("shop", 4)
    other = running(deployment())
    assert behavior_of(case_with(other), [settings("settings"), other], ()).metrics == ()
    exists = case_with(in_git(autoscaler()), autoscaler({"currentReplicas": 2}))
    assert behavior_of(exists, (), exists.desired).metrics == ()


# --- hooks that failed and are gone --------------------------------------------------------------


def hook(image: str = "migrate:1", **spec: Json) -> Object:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "migrate", "namespace": "shop"},
        "spec": {"template": {"spec": {"containers": [{"name": "run", "image": image}]}}, **spec},
    }


def failed(result: Object, *objects: Object, synced_to: str = REVISION, **operation: Json) -> Case:
    app = synced(row("ConfigMap", "settings"))
    state = fields(dig(app, "status", "operationState"))
    usual: Object = {
        "group": "batch",
        "version": "v1",
        "kind": "Job",
        "namespace": "shop",
        "name": "migrate",
        "hookType": "PreSync",
        "hookPhase": "Failed",
        "message": "Job has reached the specified backoff limit",
    }
    state |= {
        "phase": "Failed",
        "syncResult": {"revision": synced_to, "resources": [{**usual, **result}]},
        **operation,
    }
    return case_of(bundle(), app, *objects)


def hooks_of(case: Case, *logs: Log) -> tuple[PodBehavior, ...]:
    case = with_logs(case, *logs)
    return behavior_of(case, (), case.desired).pods


def test_a_hook_that_failed_fails_again() -> None:
    """Its pods are deleted with it; a sync without a change does not get past it."""
    case = failed({}, in_git(hook()))
    (behavior,) = hooks_of(case, log("boom", pod="migrate-x1", container="run"), log("no", pod="other-1"))
    assert (behavior.namespace, behavior.name, behavior.image) == ("shop", "migrate-*", "migrate:1")
    assert (behavior.exit_code, behavior.runs_seconds) == (1, 2)
    assert [line.text for line in behavior.log] == ["boom"]


@pytest.mark.parametrize(
    "result",
    [
        {"hookPhase": "Succeeded"},
        {"hookPhase": "Running"},
        {"hookType": ""},
        {"status": "SyncFailed"},
        {"name": "another"},
        {"kind": "Pod", "group": ""},
    ],
)
def test_a_hook_that_did_not_fail_is_assumed_to_run(result: Object) -> None:
    """`SyncFailed` is a refusal of the API server: the hook never ran."""
    assert hooks_of(failed(result, in_git(hook()))) == ()


def test_a_hook_that_ended_with_an_error_fails_again() -> None:
    assert len(hooks_of(failed({"hookPhase": "Error"}, in_git(hook())))) == 1


def test_a_hook_that_git_has_changed_since_is_assumed_to_run() -> None:
    """A fixed migration must not be predicted to fail like the one before it."""
    older = "b" * 40
    assert hooks_of(failed({}, in_git(hook("migrate:2")), hook("migrate:1"), synced_to=older)) == ()
    assert hooks_of(failed({}, in_git(hook("migrate:2")), synced_to=older)) == ()
    same = hooks_of(failed({}, in_git(hook("migrate:1")), hook("migrate:1"), synced_to=older))
    assert [behavior.exit_code for behavior in same] == [1]
    unknown = hooks_of(failed({}, in_git(hook("migrate:2")), hook("migrate:1"), synced_to=""))
    assert len(unknown) == 1


DEADLINE = "Job was active longer than specified deadline"


def test_a_hook_that_its_deadline_interrupted_needs_half_as_much_again() -> None:
    """It did not fail: it succeeds if the deadline is raised far enough, and not with the same one."""
    case = failed({"message": DEADLINE}, in_git(hook(activeDeadlineSeconds=900)))
    (behavior,) = hooks_of(case)
    assert (behavior.exit_code, behavior.runs_seconds) == (0, 1350)
    was_shorter = failed(
        {"message": DEADLINE},
        in_git(hook(activeDeadlineSeconds=900)),
        there(hook(activeDeadlineSeconds=100)),
    )
    (behavior,) = hooks_of(was_shorter)
    assert behavior.runs_seconds == 150
    (unknown,) = hooks_of(failed({"message": DEADLINE}, in_git(hook())))
    assert (unknown.exit_code, unknown.runs_seconds) == (1, 2)


def test_a_hook_that_was_terminated_with_its_sync_needs_half_as_much_again() -> None:
    started, finished = "2026-03-02T01:00:00Z", "2026-03-02T01:10:00Z"
    terminated: Object = {"message": "Terminated"}
    (behavior,) = hooks_of(failed(terminated, in_git(hook()), startedAt=started, finishedAt=finished))
    assert (behavior.exit_code, behavior.runs_seconds) == (0, 900)
    (open_end,) = hooks_of(failed(terminated, in_git(hook()), startedAt=started, finishedAt=None))
    assert (open_end.exit_code, open_end.runs_seconds) == (1, 2)


@pytest.mark.parametrize(
    ("message", "hook_type", "interrupted"),
    [
        (DEADLINE, "PreSync", True),
        ("Terminated", "PreSync", True),
        ("Terminated", "", False),
        (DEADLINE, "", False),
        ("Job has reached the specified backoff limit", "PreSync", False),
    ],
)
def test_how_long_an_interrupted_hook_needs_is_unknown(
    message: str, hook_type: str, interrupted: bool
) -> None:
    case = failed({"message": message, "hookType": hook_type}, in_git(hook()))
    assert was_interrupted(case.results[0]) is interrupted


# --- in a world ----------------------------------------------------------------------------------


def _world(image: str) -> SimulatedCase:
    """A Deployment whose pods crash, and the image that Git declares now."""
    live = running(deployment(replicas=1))
    fields(live["status"]).pop("readyReplicas")
    fields(live["status"]).pop("availableReplicas")
    template = fields(dig(live, "spec", "template"))
    labels: Object = {"app": "shop", "pod-template-hash": HASH}
    replica_set: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"shop-{HASH}",
            "namespace": "shop",
            "uid": "set",
            "resourceVersion": "2",
            "generation": 1,
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": [
                {"kind": "Deployment", "name": "shop", "uid": "uid-shop", "controller": True}
            ],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {**copy_object(template), "metadata": {"labels": labels}},
        },
        "status": {"replicas": 1, "observedGeneration": 1},
    }
    crashed = pod(
        {
            "waiting": {"reason": "CrashLoopBackOff"},
            "more": {"lastState": {"terminated": {"exitCode": 1}}},
        }
    )
    fields(crashed["metadata"])["ownerReferences"] = [
        {"kind": "ReplicaSet", "name": f"shop-{HASH}", "uid": "set", "controller": True}
    ]
    status = "Synced" if image == "shop:1" else "OutOfSync"
    app = synced(row("Deployment", "shop", status, health={"status": "Degraded"}), sync=status)
    fields(fields(app["status"])["health"])["status"] = "Degraded"
    case = case_of(bundle(), app, in_git(deployment(image=image, replicas=1)), live, replica_set, crashed)
    return simulated(case)


def test_a_sync_of_the_same_template_does_not_mend_it() -> None:
    world = _world("shop:1")
    world.sync()
    world.run(timedelta(minutes=15))
    assert world.sync_and_health[1] != "Healthy"


def test_another_image_is_taken_to_run() -> None:
    world = _world("shop:2")
    world.sync()
    world.run(timedelta(minutes=15))
    assert world.sync_and_health == ("Synced", "Healthy")
