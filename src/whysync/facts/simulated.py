"""Read the facts of a simulation: a Snapshot of its clusters and its Argo CD."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.argocd.simulation.simulation import Logged, Simulation
from whysync.facts.snapshot import Snapshot
from whysync.json_tree import Object, text
from whysync.kubernetes.api.container_log import Log
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import group_of


def snapshot_of(simulation: Simulation) -> Snapshot:
    """What a bundle collected now would contain, including Secret values: mask it before showing it."""
    argocd = simulation.argocd
    clusters = [
        destination.secret(argocd.context.namespace)
        for destination in simulation.destinations
        if destination.server != IN_CLUSTER
    ]
    settings = [*argocd.context.config_maps.values(), *clusters, *simulation.secrets]
    live, events = _objects(simulation)
    return Snapshot(
        collected_at=simulation.clock.now,
        argocd_version=simulation.version,
        applications=_manifests(argocd.applications.values(), Role.APPLICATION, "applications"),
        projects=_manifests(argocd.context.projects.values(), Role.PROJECT, "projects"),
        settings=_manifests(settings, Role.SETTINGS, "settings"),
        desired={
            name: _manifests(targets, Role.DESIRED, f"desired/{name.rpartition('/')[2]}")
            for name, targets in argocd.rendered().items()
        },
        live=live,
        events=events,
        logs=tuple(_logs(simulation)),
        heads=tuple(simulation.repository.heads()),
    )


def _objects(simulation: Simulation) -> tuple[tuple[Manifest, ...], tuple[Manifest, ...]]:
    live: list[Manifest] = []
    events: list[Manifest] = []
    several = len(simulation.destinations) > 1
    for destination in simulation.destinations:
        cluster = destination.name if several else ""
        for obj in destination.api_server.objects():
            if obj.get("kind") == "Event":
                events.append(Manifest(obj, role=Role.EVENT, origin="events", cluster=cluster))
            elif not _is_lease(obj):
                live.append(Manifest(obj, role=Role.LIVE, origin="live", cluster=cluster))
    return tuple(live), tuple(events)


def _logs(simulation: Simulation) -> Iterator[Log]:
    for controllers in simulation.controller_managers:
        if isinstance(controllers, Logged):
            for log in controllers.logs.all():
                yield msgspec.structs.replace(log, origin=f"logs/{log.namespace}/{log.pod}/{log.container}")
    refused = [refusal.log_line for refusal in simulation.argocd.server.refusals]
    if refused:
        yield Log(
            namespace=simulation.argocd.context.namespace,
            pod="argocd-server-0",
            container="argocd-server",
            lines=tuple(refused),
            origin="logs/argocd-server",
        )


def _manifests(bodies: Iterable[Object], role: Role, origin: str) -> tuple[Manifest, ...]:
    return tuple(Manifest(body, role=role, origin=origin) for body in bodies)


def _is_lease(obj: Object) -> bool:
    """Leases show that components are alive; no rule reads them."""
    return group_of(text(obj.get("apiVersion"))) == "coordination.k8s.io"
