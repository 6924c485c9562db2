"""Selects the `PodBehavior` of a container's next run, with defaults where no behavior matches."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final, Literal

from msgspec.structs import replace

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.controllers.client import labels_of, name_of, namespace_of
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.kubelet.pod_dependencies import Find

DEFAULT_BEHAVIOR: Final = PodBehavior()
_INIT_SECONDS: Final = 1.0
_JOB_SECONDS: Final = 5.0

Role = Literal["init", "sidecar", "main"]


class ContainerBehavior:
    """The behaviors of a cluster's pods; counts the runs of those with `times`, by the owner of the pod."""

    def __init__(self, behaviors: tuple[PodBehavior, ...]) -> None:
        self._behaviors = behaviors
        self._runs: dict[tuple[int, str, str, str, str], int] = {}

    def of_next_run(self, pod: Object, container: Object, role: Role) -> PodBehavior:
        """The behavior of the container's next run; init containers and Jobs always terminate."""
        behavior = DEFAULT_BEHAVIOR
        for index, candidate in enumerate(self._behaviors):
            if _matches_pod(candidate, pod) and _matches_container(candidate, container, main=role == "main"):
                if candidate.times is not None and not self._count(index, candidate.times, pod, container):
                    continue
                behavior = candidate
                break
        if behavior.runs_seconds is not None or role == "sidecar":
            return behavior
        if role == "init":
            return replace(behavior, runs_seconds=_INIT_SECONDS)
        if text(dig(pod, "spec", "restartPolicy"), "Always") != "Always":
            return replace(behavior, runs_seconds=_JOB_SECONDS)
        return behavior

    def is_scripted(self, pod: Object, container: Object, role: Role) -> bool:
        """Does a behavior match this container?"""
        main = role == "main"
        return any(
            _matches_pod(behavior, pod) and _matches_container(behavior, container, main=main)
            for behavior in self._behaviors
        )

    def unschedulable(self, pod: Object) -> str:
        """Why the pod is unschedulable on every node; empty if the scheduler decides."""
        for behavior in self._behaviors:
            if behavior.unschedulable and _matches_pod(behavior, pod) and _has_image(behavior, pod):
                return behavior.unschedulable
        return ""

    def stop_seconds(self, pod: Object) -> float:
        """How long the pod's containers take to stop after SIGTERM."""
        for behavior in self._behaviors:
            if _matches_pod(behavior, pod) and _has_image(behavior, pod):
                return behavior.stop_seconds
        return DEFAULT_BEHAVIOR.stop_seconds

    def _count(self, index: int, times: int, pod: Object, container: Object) -> bool:
        """Count one more run; false if the behavior has been used `times` times."""
        owner = controller_of(pod)
        key = (
            index,
            namespace_of(pod),
            text(owner.get("kind")),
            text(owner.get("name")) or name_of(pod),
            text(container.get("name")),
        )
        runs = self._runs.get(key, 0)
        if runs >= times:
            return False
        self._runs[key] = runs + 1
        return True


def _matches(value: str, glob: str) -> bool:
    return glob == "*" or fnmatchcase(value, glob)


def _matches_pod(behavior: PodBehavior, pod: Object) -> bool:
    if not (_matches(namespace_of(pod), behavior.namespace) and _matches(name_of(pod), behavior.name)):
        return False
    labels = labels_of(pod)
    return all(labels.get(key) == value for key, value in behavior.labels.items())


def _matches_container(behavior: PodBehavior, container: Object, *, main: bool) -> bool:
    """Init containers and sidecars are matched only by container name or image."""
    if not main and behavior.image == "*" and behavior.container == "*":
        return False
    return _matches(text(container.get("name")), behavior.container) and _matches(
        text(container.get("image")), behavior.image
    )


def _has_image(behavior: PodBehavior, pod: Object) -> bool:
    return any(
        _matches_container(behavior, fields(raw), main=True) for raw in items(dig(pod, "spec", "containers"))
    )


_DNS: Final = "10.96.0.10:53"


def connection_error(call: str, namespace: str, find: Find) -> str:
    """Go's error for a connection to `db:5432` from this namespace; empty if the service is reachable."""
    host, _, port = call.partition(":")
    name, _, rest = host.partition(".")
    service_namespace = rest.partition(".")[0] or namespace
    service = find((("", "services"), service_namespace, name))
    no_such_host = f"dial tcp: lookup {host} on {_DNS}: no such host"
    if service is None:
        return no_such_host
    if dig(service, "spec", "type") == "ExternalName":
        return ""
    address = text(dig(service, "spec", "clusterIP"))
    ready = _has_ready_address(find((("", "endpoints"), service_namespace, name)))
    if address in ("", "None"):
        return "" if ready else no_such_host
    if port and not _has_port(service, port):
        return f"dial tcp {address}:{port}: i/o timeout"
    return "" if ready else f"dial tcp {address}:{port or 80}: connect: connection refused"


def _has_port(service: Object, port: str) -> bool:
    return any(
        port in (str(integer(fields(raw).get("port"))), fields(raw).get("name"))
        for raw in items(dig(service, "spec", "ports"))
    )


def _has_ready_address(endpoints: Object | None) -> bool:
    subsets = [] if endpoints is None else items(endpoints.get("subsets"))
    return any(items(fields(raw).get("addresses")) for raw in subsets)
