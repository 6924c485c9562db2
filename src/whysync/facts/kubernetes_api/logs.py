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

MOST_LOGS = 60
_OF_ONE_OWNER = 2
_MOST_CHARACTERS = 256 << 10
_STATUSES = ("initContainerStatuses", "containerStatuses")


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    pod: Manifest
    container: str
    runs: bool
    ran_before: bool


async def read_logs(
    api: Api, live: Iterable[Manifest], namespaces: frozenset[str], *, lines: int
) -> list[Log]:
    wanted = list(_chosen(live, namespaces))[:MOST_LOGS]
    several = await asyncio.gather(*(_of(api, failing, lines) for failing in wanted))
    return [log for logs in several for log in logs]


def _chosen(live: Iterable[Manifest], namespaces: frozenset[str]) -> Iterator[Failing]:
    """Pods of one owner fail for the same reason: two of them are sufficient."""
    taken: Counter[tuple[str, str]] = Counter()
    pods = (
        live_object
        for live_object in live
        if live_object.ref.kind == "Pod" and live_object.ref.namespace in namespaces
    )
    for pod in sorted(pods, key=lambda live_pod: (live_pod.ref.namespace, live_pod.ref.name)):
        failing = list(failing_in(pod))
        owners = items(pod.meta.get("ownerReferences"))
        owner = text(fields(owners[0]).get("uid")) if owners else pod.uid
        if not failing or taken[pod.ref.namespace, owner] >= _OF_ONE_OWNER:
            continue
        taken[pod.ref.namespace, owner] += 1
        yield from failing


def failing_in(pod: Manifest) -> Iterator[Failing]:
    """Containers that failed, now or before, or run without being ready.

    Also those of a running Job: a sync may be waiting for it to finish.
    """
    of_job = any(fields(owner).get("kind") == "Job" for owner in items(pod.meta.get("ownerReferences")))
    for place in _STATUSES:
        for raw in items(pod.status.get(place)):
            status = fields(raw)
            restarts = integer(status.get("restartCount"))
            runs = "running" in fields(status.get("state")) or "terminated" in fields(status.get("state"))
            before = restarts > 0 or bool(fields(status.get("lastState")).get("terminated"))
            awaited = of_job and "running" in fields(status.get("state"))
            failing = awaited or _is_failing(status, init=place == "initContainerStatuses")
            if not (runs or before) or not failing:
                continue
            yield Failing(pod=pod, container=text(status.get("name")), runs=runs, ran_before=before)


def _is_failing(status: Object, *, init: bool) -> bool:
    ended = fields(dig(status, "state", "terminated"))
    if ended:
        return integer(ended.get("exitCode")) != 0
    last = fields(dig(status, "lastState", "terminated"))
    if last and integer(last.get("exitCode")) != 0:
        return True
    if init:
        return "running" in fields(status.get("state"))
    return status.get("ready") is not True


async def _of(api: Api, failing: Failing, lines: int) -> list[Log]:
    runs = [
        previous
        for previous, there in ((False, failing.runs or failing.ran_before), (True, failing.ran_before))
        if there
    ]
    logs = await asyncio.gather(*(_log(api, failing, lines, previous=previous) for previous in runs))
    return [log for log in logs if log is not None]


async def _log(api: Api, failing: Failing, lines: int, *, previous: bool) -> Log | None:
    kind = api.kinds.find("", "Pod")
    if kind is None:
        return None
    ref = failing.pod.ref
    path = f"{kind.path(ref.namespace, ref.name)}/log"
    params: dict[str, str | int] = {"container": failing.container, "tailLines": lines}
    if previous:
        params["previous"] = "true"
    try:
        answer = await api.client.get(path, params)
    except (Missing, Rejected):
        return None  # the container has not started, or the node has no log of the previous run
    except HttpError as problem:
        api.gaps.unread(Unread(kind=kind, namespace=ref.namespace, problem=problem, verb="logs"))
        return None
    # The server's byte limit would cut off the end, which contains the error.
    written = answer.text()[-_MOST_CHARACTERS:].splitlines()
    if not written:
        return None
    return Log(
        namespace=ref.namespace,
        pod=ref.name,
        container=failing.container,
        lines=tuple(written),
        previous=previous,
        origin=f"{path}?container={failing.container}{'&previous=true' if previous else ''}",
        cluster=api.cluster,
    )
