"""The pods of a Job: tracked by a finalizer until they are counted, numbered where the Job is indexed."""

from __future__ import annotations

from typing import Final

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.client import Client, Denied, annotations_of, is_leaving, name_of
from whysync.kubernetes.controllers.conditions import whole
from whysync.kubernetes.controllers.pod_control import (
    Failure,
    active_pods_with_ranks,
    create_pod,
    delete_pod,
    is_active,
    is_finished,
    phase_of,
    pod_from,
)

TRACKING: Final = "batch.kubernetes.io/job-tracking"
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_COMPONENT: Final = "job-controller"
_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_MOST_AT_ONCE: Final = 500
_MOST_INDEXES: Final = 100_000


def is_tracked(pod: Object) -> bool:
    return TRACKING in items(dig(pod, "metadata", "finalizers"))


def untracked(pod: Object) -> Object:
    meta = dict(fields(pod.get("metadata")))
    left: list[Json] = [finalizer for finalizer in items(meta.get("finalizers")) if finalizer != TRACKING]
    if left:
        meta["finalizers"] = left
    else:
        meta.pop("finalizers", None)
    return {**pod, "metadata": meta}


def is_failed(pod: Object, job: Object) -> bool:
    if phase_of(pod) == "Failed":
        return True
    if dig(job, "spec", "podReplacementPolicy") == "Failed":
        return False
    return is_leaving(pod) and phase_of(pod) != "Succeeded"


def is_indexed(job: Object) -> bool:
    return dig(job, "spec", "completionMode") == "Indexed"


def index_of(pod: Object) -> int:
    index = whole(text(annotations_of(pod).get(_INDEX)))
    return -1 if index is None else index


def indexes_in(written: str) -> set[int]:
    """`1,3-5` as numbers."""
    indexes: set[int] = set()
    for part in written.split(","):
        first, _, last = part.partition("-")
        least = whole(first)
        if least is not None:
            most = whole(last)
            indexes.update(range(least, min(least if most is None else most, least + _MOST_INDEXES) + 1))
    return indexes


def written_indexes(indexes: set[int]) -> str:
    parts: list[list[int]] = []
    for index in sorted(indexes):
        if parts and parts[-1][1] == index - 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(
        str(first) if first == last else f"{first},{last}" if last == first + 1 else f"{first}-{last}"
        for first, last in parts
    )


class JobPods:
    def __init__(self, client: Client, job: Object, pods: list[Object]) -> None:
        self._client = client
        self._job = job
        self._pods = pods

    def count(self) -> int:
        return len(self._pods)

    def leaving(self) -> int:
        return sum(1 for pod in self._pods if is_leaving(pod) and not is_finished(pod))

    def delete(self, pod: Object) -> None:
        delete_pod(self._client, self._job, pod, _COMPONENT)

    def drop(self, pod: Object) -> None:
        """Deletes a pod that must not be counted."""
        try:
            fresh = self._client.update(untracked(pod)) if is_tracked(pod) else pod
        except Denied:
            fresh = pod
        delete_pod(self._client, self._job, fresh, _COMPONENT)

    def surplus(self, active: list[Object], count: int) -> list[Object]:
        """Those to give up: doubles of an index first, then the least useful."""
        twice: list[Object] = []
        if is_indexed(self._job):
            seen: set[int] = set()
            for pod in active:
                index = index_of(pod)
                if index in seen or index < 0:
                    twice.append(pod)
                seen.add(index)
        rest = [pod for pod in active if pod not in twice]
        return [*twice, *active_pods_with_ranks(rest, rest)[: max(count - len(twice), 0)]]

    def create(self, count: int, done: set[int]) -> tuple[list[Object], bool]:
        """New pods, one, two, four at a time; true where one could not be made."""
        drafts = self._drafts(min(count, _MOST_AT_ONCE), done)
        made: list[Object] = []
        batch = 1
        while drafts:
            now, drafts = drafts[:batch], drafts[batch:]
            outcomes = [create_pod(self._client, self._job, draft, _COMPONENT) for draft in now]
            made.extend(pod for pod in outcomes if pod is not None and not isinstance(pod, Failure))
            if any(isinstance(outcome, Failure) for outcome in outcomes):
                return made, True
            batch *= 2
        return made, False

    def _drafts(self, count: int, done: set[int]) -> list[Object]:
        pod = pod_from(fields(dig(self._job, "spec", "template")), self._job)
        meta = fields(pod.get("metadata"))
        finalizers = items(meta.get("finalizers"))
        tracked: Object = {**meta, "finalizers": [*finalizers, TRACKING]}
        plain: Object = {**pod, "metadata": tracked}
        if not is_indexed(self._job):
            return [plain] * count
        taken = done | {index_of(pod) for pod in self._pods if is_active(pod)}
        most = min(integer(dig(self._job, "spec", "completions")), _MOST_INDEXES)
        free = [at for at in range(most) if at not in taken]
        return [self._numbered(plain, index) for index in free[:count]]

    def _numbered(self, pod: Object, index: int) -> Object:
        meta, name = fields(pod.get("metadata")), name_of(self._job)
        numbered: Object = {
            **meta,
            "generateName": f"{name}-{index}-",
            "labels": {**fields(meta.get("labels")), _INDEX: str(index)},
            "annotations": {**fields(meta.get("annotations")), _INDEX: str(index)},
        }
        spec = dict(fields(pod.get("spec")))
        spec["hostname"] = f"{name}-{index}"
        for key in ("initContainers", "containers"):
            if key in spec:
                spec[key] = [_with_variable(fields(container)) for container in items(spec[key])]
        return {**pod, "metadata": numbered, "spec": spec}


def _with_variable(container: Object) -> Object:
    given = items(container.get("env"))
    if any(fields(variable).get("name") == _VARIABLE for variable in given):
        return container
    path = f"metadata.labels['{_INDEX}']"
    index_variable: Object = {"name": _VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    return {**container, "env": [*given, index_variable]}
