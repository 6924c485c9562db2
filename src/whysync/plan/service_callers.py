"""Services that a container calls, read from its command and environment.

A manifest does not show what a program does. But a hook whose command contains `http://shop:8080`, in a
commit with a Service `shop`, needs that Service, and the simulated kubelet can reproduce that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from whysync.argocd import hooks
from whysync.json_tree import Object, dig, fields, integer, items, text
from whysync.kubernetes.controllers.behavior import Behavior, PodBehavior
from whysync.proofs.partial_objects import pod_templates

_HOST: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?)?([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?"
)
_MAX_LENGTH: Final = 20_000


def needs_of(obj: Object, services: dict[tuple[str, str], Object], namespace: str) -> tuple[str, ...]:
    """`db.shop:5432` for each Service that a hook or a Job names with a port or as the host of a URL."""
    own_namespace = text(dig(obj, "metadata", "namespace")) or namespace
    needed: dict[str, None] = {}
    for template in pod_templates(obj):
        for raw in items(template.get("containers")):
            for argument in _arguments(fields(raw)):
                for host, port in _hosts(argument):
                    name, _, rest = host.partition(".")
                    service_namespace = rest.partition(".")[0]
                    service = services.get((service_namespace or own_namespace, name))
                    if service is not None and (not port or port in _ports(service)):
                        host_name = (
                            name
                            if service_namespace in ("", own_namespace)
                            else f"{name}.{service_namespace}"
                        )
                        needed[f"{host_name}:{port}" if port else host_name] = None
    return tuple(needed)


def services_in(objects: Iterable[Object], namespace: str) -> dict[tuple[str, str], Object]:
    return {
        (text(dig(obj, "metadata", "namespace")) or namespace, text(dig(obj, "metadata", "name"))): obj
        for obj in objects
        if obj.get("kind") == "Service"
    }


def with_callers(
    behavior: Behavior, objects: list[Object], namespace: str, *, existing: Iterable[tuple[str, str]] = ()
) -> Behavior:
    """The pod behavior with the Services that hooks of this commit wait for.

    Those that already exist (`existing`) respond: facts rarely contain their endpoints.
    """
    services = services_in(objects, namespace)
    for service_key in existing:
        services.pop(service_key, None)
    callers: list[PodBehavior] = []
    for obj in objects:
        if not services or not hooks.is_hook(obj) or obj.get("kind") != "Job":
            continue
        calls = needs_of(obj, services, namespace)
        name = text(dig(obj, "metadata", "name")) or text(dig(obj, "metadata", "generateName"))
        if calls and name:
            callers.append(
                PodBehavior(
                    namespace=text(dig(obj, "metadata", "namespace")) or namespace,
                    name=f"{name}*",
                    calls=calls,
                    on_no_answer="wait",
                    runs_seconds=5,
                )
            )
    return replace(behavior, pods=(*callers, *behavior.pods)) if callers else behavior


def _arguments(container: Object) -> Iterator[str]:
    for field in ("command", "args"):
        for argument in items(container.get(field)):
            yield from text(argument)[:_MAX_LENGTH].split()
    for raw in items(container.get("env")):
        yield text(dig(raw, "value"))[:_MAX_LENGTH]


def _hosts(text: str) -> Iterator[tuple[str, int]]:
    """Hosts with a port, and hosts of URLs; a single word is not a host."""
    for match in _HOST.finditer(text.strip("'\"").lower()):
        if match[2] or "://" in match[0]:
            yield match[1], int(match[2] or 0)


def _ports(service: Object) -> set[int]:
    return {integer(dig(port, "port")) for port in items(dig(service, "spec", "ports"))}
