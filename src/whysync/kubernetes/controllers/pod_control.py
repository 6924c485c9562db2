"""Pod helpers of the controllers: state, creation, order of deletion, adoption and release."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from whysync.json_tree import Json, Object, dig, fields, integer, items, text
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.controllers.client import (
    PODS,
    Client,
    StatusError,
    annotations_of,
    is_terminating,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from whysync.kubernetes.controllers.conditions import (
    add_seconds,
    condition,
    conditions_of,
    parse_time,
    parse_unsigned,
)
from whysync.kubernetes.controllers.object_index import Kind
from whysync.kubernetes.validation.selectors import selects

_PHASE_RANKS: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"


# -- state of a pod ----------------------------------------------------------------------------------


def phase_of(pod: Object) -> str:
    return text(fields(pod.get("status")).get("phase"))


def is_finished(pod: Object) -> bool:
    return phase_of(pod) in ("Succeeded", "Failed")


def is_active(pod: Object) -> bool:
    return not is_finished(pod) and not is_terminating(pod)


def is_ready(pod: Object) -> bool:
    return condition(conditions_of(pod), "Ready").get("status") == "True"


def ready_since(pod: Object) -> datetime | None:
    ready = condition(conditions_of(pod), "Ready")
    return parse_time(text(ready.get("lastTransitionTime"))) if ready.get("status") == "True" else None


def is_available(pod: Object, min_ready_seconds: int, now: datetime) -> bool:
    """Ready for at least minReadySeconds."""
    if not is_ready(pod):
        return False
    since = ready_since(pod)
    return not min_ready_seconds or (since is not None and add_seconds(since, min_ready_seconds) <= now)


def max_container_restarts(pod: Object) -> int:
    statuses = items(fields(pod.get("status")).get("containerStatuses"))
    return max((integer(fields(status).get("restartCount")) for status in statuses), default=0)


def next_available(pods: list[Object], min_ready_seconds: int, now: datetime) -> datetime | None:
    """When the next ready pod becomes available."""
    available_at = [
        add_seconds(since, min_ready_seconds)
        for pod in pods
        if is_ready(pod) and (since := ready_since(pod)) is not None
    ]
    return min((when for when in available_at if when > now), default=None)


def active_pods_with_ranks(pods: list[Object], related: list[Object]) -> list[Object]:
    """The order in which pods are deleted. Mirrors `ActivePodsWithRanks`, Kubernetes 1.36.

    Differs: ages are compared as they are, not by their order of magnitude.
    """
    pods_per_node: dict[str, int] = {}
    for pod in related:
        if is_active(pod):
            node = text(dig(pod, "spec", "nodeName"))
            pods_per_node[node] = pods_per_node.get(node, 0) + 1

    def rank(pod: Object) -> tuple[int, int, int, int, int, float, int, float, str]:
        node = text(dig(pod, "spec", "nodeName"))
        since, created = ready_since(pod), parse_time(text(dig(pod, "metadata", "creationTimestamp")))
        cost = text(annotations_of(pod).get(_DELETION_COST))
        unsigned_cost = parse_unsigned(cost.removeprefix("-")) or 0
        return (
            1 if node else 0,
            _PHASE_RANKS.get(phase_of(pod), 0),
            1 if is_ready(pod) else 0,
            -unsigned_cost if cost.startswith("-") else unsigned_cost,
            -pods_per_node.get(node, 0),
            -since.timestamp() if since else 0,
            -max_container_restarts(pod),
            -created.timestamp() if created else 0,
            uid_of(pod),
        )

    return sorted(pods, key=rank)


# -- creation, deletion, adoption --------------------------------------------------------------------


def pod_from_template(template: Object, owner: Object) -> Object:
    """Mirrors `GetPodFromTemplate`; the API server generates the name."""
    template_meta = fields(template.get("metadata"))
    meta: Object = {"generateName": f"{name_of(owner)}-", "namespace": namespace_of(owner)}
    for key in ("labels", "annotations", "finalizers"):
        if template_meta.get(key):
            meta[key] = template_meta[key]
    meta["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec")}


class Failure(msgspec.Struct, frozen=True):
    """The API server's message for a pod that could not be created or deleted."""

    message: str


def create_pod(client: Client, owner: Object, pod: Object, component: str) -> Object | Failure | None:
    """Creates a pod and its Event; `None`, without an Event, if the namespace is terminating."""
    try:
        new = client.create(pod)
    except StatusError as error:
        if error.is_namespace_terminating:
            return None
        client.event(owner, "Warning", "FailedCreate", f"Error creating: {error.message}", component)
        return Failure(error.message)
    _record_creation_event(client, owner, new, component)
    return new


def create_pods(client: Client, owner: Object, pod: Object, count: int, component: str) -> Failure | None:
    """Creates pods in batches of 1, 2, 4, …, until a batch fails. Mirrors `slowStartBatch`."""
    batch = 1
    first: Object | None = None
    while count > 0:
        failures: list[Failure] = []
        for _ in range(min(batch, count)):
            copy = None if first is None else client.create_copy(first)
            if copy is not None:
                _record_creation_event(client, owner, copy, component)
                continue
            outcome = create_pod(client, owner, pod, component)
            if isinstance(outcome, Failure):
                failures.append(outcome)
            elif outcome is not None:
                first = outcome
        if failures:
            return failures[0]
        count -= batch
        batch *= 2
    return None


def _record_creation_event(client: Client, owner: Object, pod: Object, component: str) -> None:
    client.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {name_of(pod)}", component)


def delete_pod(client: Client, owner: Object, pod: Object, component: str) -> Failure | None:
    try:
        client.delete(pod)
    except StatusError as error:
        if error.code == 404:
            return None
        client.event(owner, "Warning", "FailedDelete", f"Error deleting: {error.message}", component)
        return Failure(f"unable to delete pods: {error.message}")
    client.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}", component)
    return None


def claim_objects(
    client: Client,
    kind: Kind,
    owner: Object,
    selector: Json,
    *,
    can_adopt: Callable[[Object], bool] | None = None,
) -> list[Object]:
    """The objects that the owner controls, after adopting matching orphans and releasing others.

    Mirrors `ControllerRefManager`.
    """
    objects: list[Object] = []
    for obj in client.owned(kind, owner):
        if selects(selector, labels_of(obj)):
            objects.append(obj)
        elif not is_terminating(owner) and not is_terminating(obj):
            _release(client, obj, uid_of(owner))
    if is_terminating(owner):
        return objects
    for orphan in client.orphans(kind, namespace_of(owner)):
        if selects(selector, labels_of(orphan)) and not is_terminating(orphan):
            if (kind == PODS and is_finished(orphan)) or (can_adopt is not None and not can_adopt(orphan)):
                continue
            adopted = _adopt(client, orphan, owner)
            if adopted is not None:
                objects.append(adopted)
    return objects


def potential_owners(client: Client, kind: Kind, change: Change) -> list[tuple[str, str]]:
    """Objects of a kind whose selector matches an object without a controller."""
    labels = labels_of(change.obj)
    if not labels or change.type == "DELETED":
        return []
    return [
        (namespace_of(candidate), name_of(candidate))
        for candidate in client.list(kind, change.object_key[1])
        if selects(fields(candidate.get("spec")).get("selector"), labels)
    ]


def _adopt(client: Client, obj: Object, owner: Object) -> Object | None:
    meta = fields(obj.get("metadata"))
    references: list[Json] = [*items(meta.get("ownerReferences")), owner_reference(owner)]
    new_meta: Object = {**meta, "ownerReferences": references}
    return _update_or_none(client, {**obj, "metadata": new_meta})


def _release(client: Client, obj: Object, owner: str) -> None:
    meta = dict(fields(obj.get("metadata")))
    references = [
        reference for reference in items(meta.get("ownerReferences")) if fields(reference).get("uid") != owner
    ]
    if references:
        meta["ownerReferences"] = references
    else:
        meta.pop("ownerReferences", None)
    _update_or_none(client, {**obj, "metadata": meta})


def _update_or_none(client: Client, obj: Object) -> Object | None:
    try:
        return client.update(obj)
    except StatusError:
        return None
