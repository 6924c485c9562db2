"""Read logs of containers that fail or should finish, and of their previous run, for a few Pods per owner."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from whysync.facts.http.errors import HttpError, Missing, Rejected
from whysync.facts.kubernetes_api.api import Api
from whysync.facts.kubernetes_api.gaps import Unread
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest

MAX_LOGS = 60
_MAX_PODS_PER_OWNER = 2
_MAX_CHARACTERS = 256 << 10
_STATUSES = ("initContainerStatuses", "containerStatuses")


class FailingContainer(msgspec.Struct, frozen=True, kw_only=True):
    pod: Manifest
    container: str
    has_run: bool
    ran_before: bool


async def read_logs(
    api: Api, live: Iterable[Manifest], namespaces: frozenset[str], *, lines: int
) -> list[Log]:
    containers = list(_containers_to_read(live, namespaces))[:MAX_LOGS]
    logs_by_container = await asyncio.gather(*(_logs_of(api, failing, lines) for failing in containers))
    return [log for logs in logs_by_container for log in logs]


def _containers_to_read(live: Iterable[Manifest], namespaces: frozenset[str]) -> Iterator[FailingContainer]:
    """Pods of one owner fail for the same reason: two of them are sufficient."""
    pods_of_owner: Counter[tuple[str, str]] = Counter()
    pods = (
        live_object
        for live_object in live
        if live_object.ref.kind == "Pod" and live_object.ref.namespace in namespaces
    )
    for pod in sorted(pods, key=lambda live_pod: (live_pod.ref.namespace, live_pod.ref.name)):
        failing = list(failing_in(pod))
        owners = items(pod.meta.get("ownerReferences"))
        owner = text(fields(owners[0]).get("uid")) if owners else pod.uid
        if not failing or pods_of_owner[pod.ref.namespace, owner] >= _MAX_PODS_PER_OWNER:
            continue
        pods_of_owner[pod.ref.namespace, owner] += 1
        yield from failing


def failing_in(pod: Manifest) -> Iterator[FailingContainer]:
    """Containers that failed, now or before, or run without being ready.

    Also those of a running Job: a sync may be waiting for it to finish.
    """
    of_job = any(fields(owner).get("kind") == "Job" for owner in items(pod.meta.get("ownerReferences")))
    for field in _STATUSES:
        for raw in items(pod.status.get(field)):
            status = fields(raw)
            restarts = integer(status.get("restartCount"))
            has_run = "running" in fields(status.get("state")) or "terminated" in fields(status.get("state"))
            ran_before = restarts > 0 or bool(fields(status.get("lastState")).get("terminated"))
            is_awaited = of_job and "running" in fields(status.get("state"))
            failing = is_awaited or _is_failing(status, init=field == "initContainerStatuses")
            if not (has_run or ran_before) or not failing:
                continue
            yield FailingContainer(
                pod=pod, container=text(status.get("name")), has_run=has_run, ran_before=ran_before
            )


def _is_failing(status: Object, *, init: bool) -> bool:
    terminated = fields(dig(status, "state", "terminated"))
    if terminated:
        return integer(terminated.get("exitCode")) != 0
    last_terminated = fields(dig(status, "lastState", "terminated"))
    if last_terminated and integer(last_terminated.get("exitCode")) != 0:
        return True
    if init:
        return "running" in fields(status.get("state"))
    return status.get("ready") is not True


async def _logs_of(api: Api, failing: FailingContainer, lines: int) -> list[Log]:
    attempts = [
        previous
        for previous, exists in ((False, failing.has_run or failing.ran_before), (True, failing.ran_before))
        if exists
    ]
    logs = await asyncio.gather(*(_log(api, failing, lines, previous=previous) for previous in attempts))
    return [log for log in logs if log is not None]


async def _log(api: Api, failing: FailingContainer, lines: int, *, previous: bool) -> Log | None:
    kind = api.kinds.find("", "Pod")
    if kind is None:
        return None
    ref = failing.pod.ref
    path = f"{kind.path(ref.namespace, ref.name)}/log"
    params: dict[str, str | int] = {"container": failing.container, "tailLines": lines}
    if previous:
        params["previous"] = "true"
    try:
        response = await api.client.get(path, params)
    except (Missing, Rejected):
        return None  # the container has not started, or the node has no log of the previous run
    except HttpError as problem:
        api.gaps.add_unread(Unread(kind=kind, namespace=ref.namespace, problem=problem, verb="logs"))
        return None
    # The server's byte limit would cut off the end, which contains the error.
    lines_read = response.text()[-_MAX_CHARACTERS:].splitlines()
    if not lines_read:
        return None
    return Log(
        namespace=ref.namespace,
        pod=ref.name,
        container=failing.container,
        lines=tuple(lines_read),
        previous=previous,
        origin=f"{path}?container={failing.container}{'&previous=true' if previous else ''}",
        cluster=api.cluster,
    )
