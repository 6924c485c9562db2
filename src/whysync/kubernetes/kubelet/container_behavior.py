"""Which part of the script a container plays, and what it does where the script says nothing."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final, Literal

from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.behavior import PodBehavior
from whysync.kubernetes.controllers.client import labels_of, name_of, namespace_of
from whysync.kubernetes.controllers.object_index import controller_of
from whysync.kubernetes.kubelet.pod_dependencies import Find

PLAIN: Final = PodBehavior()
_INIT_SECONDS: Final = 1.0
_JOB_SECONDS: Final = 5.0

Role = Literal["init", "sidecar", "main"]


class ContainerBehavior:
    """Counts the runs that a part with `times` was played in, by the owner of the pod."""

    def __init__(self, parts: tuple[PodBehavior, ...]) -> None:
        self._parts = parts
        self._played: dict[tuple[int, str, str, str, str], int] = {}

    def of_run(self, pod: Object, container: Object, role: Role) -> PodBehavior:
        """The part for the next run of a container, with an end for those that must end."""
        part = PLAIN
        for number, candidate in enumerate(self._parts):
            if _fits(candidate, pod) and _fits_container(candidate, container, main=role == "main"):
                if candidate.times is not None and not self._count(number, candidate.times, pod, container):
                    continue
                part = candidate
                break
        if part.runs_seconds is not None or role == "sidecar":
            return part
        if role == "init":
            return replace(part, runs_seconds=_INIT_SECONDS)
        if text(dig(pod, "spec", "restartPolicy"), "Always") != "Always":
            return replace(part, runs_seconds=_JOB_SECONDS)
        return part

    def is_told(self, pod: Object, container: Object, role: Role) -> bool:
        """Does the script say anything of this container?"""
        main = role == "main"
        return any(_fits(part, pod) and _fits_container(part, container, main=main) for part in self._parts)

    def unschedulable(self, pod: Object) -> str:
        """Why the script lets no node take the pod."""
        for part in self._parts:
            if part.unschedulable and _fits(part, pod) and _has_image(part, pod):
                return part.unschedulable
        return ""

    def stop_seconds(self, pod: Object) -> float:
        """How long the pod's containers take to stop when asked."""
        for part in self._parts:
            if _fits(part, pod) and _has_image(part, pod):
                return part.stop_seconds
        return PLAIN.stop_seconds

    def _count(self, number: int, times: int, pod: Object, container: Object) -> bool:
        owner = controller_of(pod)
        key = (
            number,
            namespace_of(pod),
            text(owner.get("kind")),
            text(owner.get("name")) or name_of(pod),
            text(container.get("name")),
        )
        played = self._played.get(key, 0)
        if played >= times:
            return False
        self._played[key] = played + 1
        return True


def _matches(value: str, glob: str) -> bool:
    return glob == "*" or fnmatchcase(value, glob)


def _fits(part: PodBehavior, pod: Object) -> bool:
    if not (_matches(namespace_of(pod), part.namespace) and _matches(name_of(pod), part.name)):
        return False
    labels = labels_of(pod)
    return all(labels.get(key) == value for key, value in part.labels.items())


def _fits_container(part: PodBehavior, container: Object, *, main: bool) -> bool:
    """What is said of a whole pod is meant for its main containers; the others have to be named."""
    if not main and part.image == "*" and part.container == "*":
        return False
    named = _matches(text(container.get("name")), part.container)
    return named and _matches(text(container.get("image")), part.image)


def _has_image(part: PodBehavior, pod: Object) -> bool:
    return any(_fits_container(part, fields(raw), main=True) for raw in items(dig(pod, "spec", "containers")))


_DNS: Final = "10.96.0.10:53"


def no_answer(call: str, namespace: str, find: Find) -> str:
    """Why `db:5432` does not answer in this namespace, in Go's words; empty if it answers."""
    host, _, port = call.partition(":")
    name, _, rest = host.partition(".")
    space = rest.partition(".")[0] or namespace
    service = find((("", "services"), space, name))
    unknown = f"dial tcp: lookup {host} on {_DNS}: no such host"
    if service is None:
        return unknown
    if dig(service, "spec", "type") == "ExternalName":
        return ""
    address = text(dig(service, "spec", "clusterIP"))
    answers = _has_ready(find((("", "endpoints"), space, name)))
    if address in ("", "None"):
        return "" if answers else unknown
    if port and not _has_port(service, port):
        return f"dial tcp {address}:{port}: i/o timeout"
    return "" if answers else f"dial tcp {address}:{port or 80}: connect: connection refused"


def _has_port(service: Object, port: str) -> bool:
    return any(
        port in (str(integer(fields(raw).get("port"))), fields(raw).get("name"))
        for raw in items(dig(service, "spec", "ports"))
    )


def _has_ready(endpoints: Object | None) -> bool:
    subsets = [] if endpoints is None else items(endpoints.get("subsets"))
    return any(items(fields(raw).get("addresses")) for raw in subsets)
