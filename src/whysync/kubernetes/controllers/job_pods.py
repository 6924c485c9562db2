"""The pods of a Job: the tracking finalizer, completion indexes, creation and deletion."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.client import Client, StatusError, annotations_of, is_terminating, name_of
from whysync.kubernetes.controllers.conditions import parse_unsigned
from whysync.kubernetes.controllers.pod_control import (
    Failure,
    active_pods_with_ranks,
    create_pod,
    delete_pod,
    is_active,
    is_finished,
    phase_of,
    pod_from_template,
)

TRACKING: Final = "batch.kubernetes.io/job-tracking"
_COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_COMPONENT: Final = "job-controller"
_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_MAX_PODS_PER_SYNC: Final = 500
_MAX_INDEXES: Final = 100_000


def is_tracked(pod: Object) -> bool:
    return TRACKING in items(dig(pod, "metadata", "finalizers"))


def without_tracking_finalizer(pod: Object) -> Object:
    meta = dict(fields(pod.get("metadata")))
    finalizers: list[Json] = [
        finalizer for finalizer in items(meta.get("finalizers")) if finalizer != TRACKING
    ]
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    return {**pod, "metadata": meta}


def is_failed(pod: Object, job: Object) -> bool:
    if phase_of(pod) == "Failed":
        return True
    if dig(job, "spec", "podReplacementPolicy") == "Failed":
        return False
    return is_terminating(pod) and phase_of(pod) != "Succeeded"


def is_indexed(job: Object) -> bool:
    return dig(job, "spec", "completionMode") == "Indexed"


def completion_index(pod: Object) -> int:
    index = parse_unsigned(text(annotations_of(pod).get(_COMPLETION_INDEX)))
    return -1 if index is None else index


def parse_indexes(ranges: str) -> set[int]:
    """Parses status.completedIndexes, such as `1,3-5`."""
    indexes: set[int] = set()
    for range_text in ranges.split(","):
        first, _, last = range_text.partition("-")
        start = parse_unsigned(first)
        if start is not None:
            end = parse_unsigned(last)
            indexes.update(range(start, min(start if end is None else end, start + _MAX_INDEXES) + 1))
    return indexes


def format_indexes(indexes: set[int]) -> str:
    ranges: list[list[int]] = []
    for index in sorted(indexes):
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(
        str(first) if first == last else f"{first},{last}" if last == first + 1 else f"{first}-{last}"
        for first, last in ranges
    )


class JobPods:
    def __init__(self, client: Client, job: Object, pods: list[Object]) -> None:
        self._client = client
        self._job = job
        self._pods = pods

    def count(self) -> int:
        return len(self._pods)

    def terminating(self) -> int:
        return sum(1 for pod in self._pods if is_terminating(pod) and not is_finished(pod))

    def delete(self, pod: Object) -> None:
        delete_pod(self._client, self._job, pod, _COMPONENT)

    def delete_uncounted(self, pod: Object) -> None:
        """Deletes a pod that must not be counted as failed."""
        try:
            updated = self._client.update(without_tracking_finalizer(pod)) if is_tracked(pod) else pod
        except StatusError:
            updated = pod
        delete_pod(self._client, self._job, updated, _COMPONENT)

    def pods_to_delete(self, active: list[Object], count: int) -> list[Object]:
        """The pods to delete: duplicates of an index first, then by `active_pods_with_ranks`."""
        duplicates: list[Object] = []
        if is_indexed(self._job):
            seen: set[int] = set()
            for pod in active:
                index = completion_index(pod)
                if index in seen or index < 0:
                    duplicates.append(pod)
                seen.add(index)
        candidates = [pod for pod in active if pod not in duplicates]
        return [
            *duplicates,
            *active_pods_with_ranks(candidates, candidates)[: max(count - len(duplicates), 0)],
        ]

    def create(self, count: int, completed: set[int]) -> tuple[list[Object], bool]:
        """Creates pods in batches of 1, 2, 4, …; returns them, and whether a creation failed."""
        new_pods = self._new_pods(min(count, _MAX_PODS_PER_SYNC), completed)
        created: list[Object] = []
        batch = 1
        while new_pods:
            batch_pods, new_pods = new_pods[:batch], new_pods[batch:]
            outcomes = [create_pod(self._client, self._job, draft, _COMPONENT) for draft in batch_pods]
            created.extend(pod for pod in outcomes if pod is not None and not isinstance(pod, Failure))
            if any(isinstance(outcome, Failure) for outcome in outcomes):
                return created, True
            batch *= 2
        return created, False

    def _new_pods(self, count: int, completed: set[int]) -> list[Object]:
        pod = pod_from_template(fields(dig(self._job, "spec", "template")), self._job)
        meta = fields(pod.get("metadata"))
        finalizers = items(meta.get("finalizers"))
        pod_meta: Object = {**meta, "finalizers": [*finalizers, TRACKING]}
        new_pod: Object = {**pod, "metadata": pod_meta}
        if not is_indexed(self._job):
            return [new_pod] * count
        used_indexes = completed | {completion_index(pod) for pod in self._pods if is_active(pod)}
        completions = min(integer(dig(self._job, "spec", "completions")), _MAX_INDEXES)
        free_indexes = [at for at in range(completions) if at not in used_indexes]
        return [self._with_index(new_pod, index) for index in free_indexes[:count]]

    def _with_index(self, pod: Object, index: int) -> Object:
        meta, name = fields(pod.get("metadata")), name_of(self._job)
        pod_meta: Object = {
            **meta,
            "generateName": f"{name}-{index}-",
            "labels": {**fields(meta.get("labels")), _COMPLETION_INDEX: str(index)},
            "annotations": {**fields(meta.get("annotations")), _COMPLETION_INDEX: str(index)},
        }
        spec = dict(fields(pod.get("spec")))
        spec["hostname"] = f"{name}-{index}"
        for key in ("initContainers", "containers"):
            if key in spec:
                spec[key] = [_with_index_variable(fields(container)) for container in items(spec[key])]
        return {**pod, "metadata": pod_meta, "spec": spec}


def _with_index_variable(container: Object) -> Object:
    env = items(container.get("env"))
    if any(fields(variable).get("name") == _INDEX_VARIABLE for variable in env):
        return container
    path = f"metadata.labels['{_COMPLETION_INDEX}']"
    index_variable: Object = {"name": _INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return {**container, "env": [*env, index_variable]}
