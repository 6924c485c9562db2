"""Workloads as they were found somewhere, whatever stands in them: the controllers never break."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from whysync.json_tree import Json, Object
from whysync.kubernetes.apiserver.server import ApiServer
from whysync.kubernetes.controllers.controller_manager import ControllerManager
from whysync.kubernetes.timeline import Timeline

KINDS = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ControllerRevision"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "Pod"),
    ("v1", "Node"),
)
ODD: tuple[Json, ...] = (
    None, "", "x", 0, -1, 1, 2**40, 1.5, True, [], {}, [None], ["x"], [{}], {"x": None}, "25%", "-3%",
    "2026-01-01T00:00:00Z",
)  # fmt: skip
_WORDS = """
    replicas selector template strategy updateStrategy rollingUpdate maxSurge maxUnavailable
    partition minReadySeconds progressDeadlineSeconds revisionHistoryLimit volumeClaimTemplates
    serviceName ordinals completions parallelism backoffLimit activeDeadlineSeconds suspend
    completionMode ttlSecondsAfterFinished podFailurePolicy schedule timeZone jobTemplate
    startingDeadlineSeconds conditions startTime lastScheduleTime active completedIndexes
    collisionCount observedGeneration updatedReplicas availableReplicas currentRevision metadata
    spec containers nodeName taints affinity phase containerStatuses type rules data matchLabels
    labels status reason lastUpdateTime lastTransitionTime
"""
KEYS = tuple(_WORDS.split())

odd = st.recursive(
    st.sampled_from(ODD),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=6,
)
trees = st.dictionaries(st.sampled_from(KEYS), odd, max_size=6)
things = st.lists(
    st.tuples(st.sampled_from(KINDS), trees, trees, trees, st.booleans()), min_size=1, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(things)
def test_controllers_run_on_any_loaded_objects(
    generated: list[tuple[tuple[str, str], dict[str, Json], dict[str, Json], dict[str, Json], bool]],
) -> None:
    model = ApiServer()
    objects: list[Object] = []
    for number, ((version, kind), spec, status, meta, owned) in enumerate(generated):
        result: Object = {
            "name": f"one-{number}",
            "uid": f"uid-{number}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        if kind != "Node":
            result["namespace"] = "shop"
        if "labels" in meta:
            result["labels"] = {"app": "web"}
        if owned and number:
            parent = KINDS[(number - 1) % len(KINDS)]
            result["ownerReferences"] = [
                {
                    "apiVersion": parent[0],
                    "kind": generated[0][0][1],
                    "name": "one-0",
                    "uid": "uid-0",
                    "controller": True,
                }
            ]
        if kind == "ControllerRevision":
            objects.append({"apiVersion": version, "kind": kind, "metadata": result, "data": spec, **status})
        else:
            objects.append(
                {"apiVersion": version, "kind": kind, "metadata": result, "spec": spec, "status": status}
            )
    model.load(objects)
    Timeline(model.clock, [ControllerManager(model, nodes=1)]).run(timedelta(seconds=120))
