"""Decode the responses of Argo CD's API. Pure functions; requests are sent elsewhere.

The schema is that of Argo CD 3.6 (`assets/swagger.json`): Go's JSON, in which zero values are absent and
whole objects are JSON inside strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import msgspec

from whysync.json_tree import Json, Object, fields, integer, items, text
from whysync.kubernetes.api.ref import Key

ARGO = "argoproj.io/v1alpha1"
_APP_TREE = "appTree"
_NOT_MADE: Object = {"status": "Missing", "message": "Resource has not been created"}


def typed(body: Object, kind: str, api_version: str = ARGO) -> Object:
    """Add `kind` and `apiVersion`, which the API omits in typed lists."""
    return {**body, "apiVersion": api_version, "kind": kind}


def listed(response: Object, kind: str, api_version: str = ARGO) -> list[Object]:
    return [typed(fields(item), kind, api_version) for item in items(response.get("items")) if fields(item)]


class AppId(msgspec.Struct, frozen=True, kw_only=True):
    """How the API identifies an Application; the project distinguishes a missing one from a forbidden one."""

    namespace: str
    name: str
    project: str = ""

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def id_of(app: Object) -> AppId:
    meta = fields(app.get("metadata"))
    project = text(fields(app.get("spec")).get("project"))
    return AppId(namespace=text(meta.get("namespace")), name=text(meta.get("name")), project=project)


# --- the resource tree -------------------------------------------------------------------------------


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One object of the tree. Without a `uid` it does not exist."""

    group: str = ""
    version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    health: str = ""
    parents: tuple[str, ...] = ()
    created_at: str = ""

    @property
    def key(self) -> Key:
        return Key(self.group, self.kind, self.namespace, self.name)

    @property
    def is_unhealthy(self) -> bool:
        return self.health not in ("", "Healthy", "Suspended")


def nodes_of(tree: Object) -> tuple[Node, ...]:
    return tuple(_node(fields(raw)) for raw in items(tree.get("nodes")) if fields(raw))


def _node(raw: Object) -> Node:
    return Node(
        group=text(raw.get("group")),
        version=text(raw.get("version")),
        kind=text(raw.get("kind")),
        namespace=text(raw.get("namespace")),
        name=text(raw.get("name")),
        uid=text(raw.get("uid")),
        health=text(fields(raw.get("health")).get("status")),
        parents=tuple(text(fields(parent_ref).get("uid")) for parent_ref in items(raw.get("parentRefs"))),
        created_at=text(raw.get("createdAt")),
    )


def with_row_health(app: Object, tree: Object) -> Object:
    """The Application with the health of its resources, which since Argo CD 3.0 may only be in the tree.

    Mirrors `inferResourcesStatusHealth` of Argo CD 3.6, which the API applies to one Application but not to a
    list.
    """
    status = fields(app.get("status"))
    if status.get("resourceHealthSource") != _APP_TREE:
        return app
    health: dict[Key, Object] = {}
    for raw in items(tree.get("nodes")):
        node = fields(raw)
        if node_health := fields(node.get("health")):
            health[_node(node).key] = node_health
        elif not any(node.get(name) for name in ("resourceVersion", "uid", "createdAt")):
            health[_node(node).key] = dict(_NOT_MADE)
    rows: list[Json] = []
    for raw in items(status.get("resources")):
        row = fields(raw)
        row_health = health.get(_node(row).key)
        rows.append({**row, "health": row_health} if row_health else row)
    return {**app, "status": {**status, "resources": rows}}


# --- managed resources -------------------------------------------------------------------------------


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """The two sides of the last comparison; `broken` names what could not be decoded."""

    targets: tuple[Object, ...] = ()
    live: tuple[Object, ...] = ()
    broken: tuple[str, ...] = ()


def managed_of(response: Object) -> Managed:
    by_state: dict[str, list[Object]] = {"targetState": [], "liveState": []}
    broken: list[str] = []
    for raw in items(response.get("items")):
        item = fields(raw)
        for state, objects in by_state.items():
            state_json = text(item.get(state))
            if state_json in ("", "null"):
                continue
            body = inner_object(state_json)
            if body is None:
                broken.append(f"{text(item.get('kind'))} {text(item.get('name'))} ({state})")
            else:
                objects.append(body)
    return Managed(
        targets=tuple(by_state["targetState"]), live=tuple(by_state["liveState"]), broken=tuple(broken)
    )


def inner_object(encoded: str) -> Object | None:
    """An object inside a string."""
    try:
        body = cast("Json", msgspec.json.decode(encoded))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and text(body.get("kind")) else None


def manifests_of(response: Object) -> tuple[Object, ...]:
    objects = (inner_object(text(manifest)) for manifest in items(response.get("manifests")))
    return tuple(obj for obj in objects if obj is not None)


# --- logs --------------------------------------------------------------------------------------------


class ContainerLog(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one container; `problem` if the API could not read (all of) them."""

    lines: tuple[str, ...] = ()
    problem: str = ""


def parse_log_stream(stream: Iterable[bytes]) -> ContainerLog:
    """Decode a stream of JSON, one entry per line.

    If the kubelet does not respond, Argo CD sends the error as a log line without a Pod name. The last entry
    is empty and marked as such.
    """
    lines: list[str] = []
    problem = ""
    for entry in _entries(stream):
        if entry is None:
            problem = problem or "the stream was interrupted"
        elif "error" in entry:
            error = entry["error"]
            problem = text(fields(error).get("message")) or text(error) or "the stream ended with an error"
        else:
            result = fields(entry.get("result"))
            content = text(result.get("content"))
            if result.get("last") is True and not content:
                break
            if not text(result.get("podName")):
                problem = content or problem
            else:
                lines.append(content)
    return ContainerLog(lines=tuple(lines), problem=problem)


def _entries(stream: Iterable[bytes]) -> Iterator[Object | None]:
    for line in stream:
        if not line.strip():
            continue
        try:
            entry = cast("Json", msgspec.json.decode(line))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            entry = None
        yield entry if isinstance(entry, dict) else None


# --- Pods --------------------------------------------------------------------------------------------

_PATIENT = frozenset({"ContainerCreating", "PodInitializing"})


class Container(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    # has it run before, so that there is a previous log?
    restarted: bool
    # has the current run started, so that there is a log?
    started: bool


def failing_containers(pod: Object) -> tuple[Container, ...]:
    """Containers whose log may show the cause: failed, restarted, or running but not ready.

    Also those of a running Job: Jobs should finish, and a hook that does not blocks the sync.
    """
    status = fields(pod.get("status"))
    owners = items(fields(pod.get("metadata")).get("ownerReferences"))
    of_job = any(fields(owner).get("kind") == "Job" for owner in owners)
    containers: list[Container] = []
    for list_name in ("initContainerStatuses", "containerStatuses"):
        for raw in items(status.get(list_name)):
            container_status = fields(raw)
            state = fields(container_status.get("state"))
            waiting = text(fields(state.get("waiting")).get("reason"))
            ended = fields(state.get("terminated"))
            restarts = integer(container_status.get("restartCount"))
            running = bool(fields(state.get("running")))
            is_failing = (
                (bool(waiting) and waiting not in _PATIENT)
                or integer(ended.get("exitCode")) != 0
                or restarts > 0
                or (running and (of_job or container_status.get("ready") is not True))
            )
            if is_failing and text(container_status.get("name")):
                containers.append(
                    Container(
                        name=text(container_status.get("name")),
                        restarted=restarts > 0,
                        started=running or bool(ended),
                    )
                )
    return tuple(containers)
