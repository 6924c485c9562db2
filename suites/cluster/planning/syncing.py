"""A sync as Argo CD would do it, onto a real API server: the project's own engine, and real answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import replace

from suites.cluster.planning.twin import RealClusterOps, Twin
from whysync.argocd.app_controller.destination import Destination
from whysync.argocd.server.server import Denied
from whysync.argocd.simulation.from_facts import cluster_of, with_project
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.sources import repositories_of
from whysync.argocd.simulation.world import Controllers, World
from whysync.argocd.sync.cluster_ops import ClusterOps
from whysync.json_tree import Object, copy_object, dig, fields, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.apiserver.protocol import Cluster
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.timeline import NeverSettles
from whysync.plan.find_applications import qualified
from whysync.plan.prerequisites import health_of_custom_kinds
from whysync.plan.run_sync import retry_of
from whysync.plan.service_callers import with_callers
from whysync.plan.simulations import quieted

_LONGEST: Final = timedelta(hours=1)
_STOPPING: Final = ("ComparisonError", "InvalidSpecError")
WHOLE: Final = Ref(kind="Application", name="")
"""Stands for the sync itself, where it fails before it comes to any resource."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync came to: for each resource that was refused, the words."""

    phase: str
    message: str
    refused: dict[Ref, str] = msgspec.field(default_factory=dict[Ref, str])
    reached: frozenset[Ref] = frozenset()
    """All that the sync has a result for."""
    made: tuple[str, ...] = ()
    """Paths of what it has created on the server, in this order."""


def outcome_of(status: Object, *, message: str = "") -> Outcome:
    """From the status of an Application, after its sync."""
    state = fields(status.get("operationState"))
    rows = [fields(resource) for resource in items(dig(state, "syncResult", "resources"))]
    refused = {_ref(row): text(row.get("message")) for row in rows if row.get("status") == "SyncFailed"}
    result = message or text(state.get("message"))
    for item in map(fields, items(status.get("conditions"))):
        if item.get("type") in _STOPPING and not rows:
            refused[WHOLE] = text(item.get("message"))
    if not rows and not refused and state.get("phase") in ("Failed", "Error"):
        refused[WHOLE] = result
    return Outcome(
        phase=text(state.get("phase")), message=result, refused=refused, reached=frozenset(map(_ref, rows))
    )


def _ref(row: Object) -> Ref:
    return Ref(
        group=text(row.get("group")),
        kind=text(row.get("kind")),
        namespace=text(row.get("namespace")),
        name=text(row.get("name")),
    )


def synced(
    real: Cluster,
    application: Object,
    head: Iterable[Object],
    *,
    there: Iterable[Object] = (),
    projects: Iterable[Object] = (),
    settings: Iterable[Object] = (),
    before: Iterable[Object] | None = None,
    between: Callable[[Object], list[Object]] | None = None,
) -> Outcome:
    """Sync `head` onto the server, which has `there`; `before` is synced first, where it is given.

    `between` is called before the head comes, with the Application as it is then; it gives what else has come
    into the cluster meanwhile.
    """
    clock = Clock(datetime.now(UTC).replace(microsecond=0))
    objects = [copy_object(item) for item in head]
    first = None if before is None else [copy_object(item) for item in before]
    namespace = text(dig(application, "spec", "destination", "namespace"))
    repositories = repositories_of(application, objects if first is None else first, clock)

    def cluster_ops(destination: Destination, user: str) -> ClusterOps:  # noqa: ARG001
        context = simulation.argocd.context
        return RealClusterOps(twin, user=user, health=context.health, wave_delay=context.timings.wave_delay)

    simulation = Simulation(
        World(
            clock=clock,
            repository=repositories,
            applications=(quieted(application),),
            projects=with_project(application, projects),
            config_maps=tuple(settings) or (_settings([*objects, *(first or [])]),),
            clusters=(
                replace(
                    cluster_of(application),
                    controllers=Controllers.ALL,
                    behavior=with_callers(Behavior(), objects, namespace),
                ),
            ),
            cluster_ops=cluster_ops,
        )
    )
    twin = Twin(real, simulation.api_server)
    twin.take(copy_object(item) for item in there)
    name = qualified(application)
    if first is not None:
        done = _run(simulation, name, application)
        if done.phase != "Succeeded":
            raise BaseFailed(done.message)
        if between is not None:
            simulation.run(timedelta(minutes=1))  # claims are bound, Jobs have run
            twin.tell_back()
            twin.take(between(simulation.argocd.applications[name]))
            simulation.timeline.settle()
            twin.tell_back()
        source = fields(dig(application, "spec", "source"))
        git = repositories.get(text(source.get("repoURL")))
        assert git is not None
        git.push({text(source.get("path")): objects}, branch=text(source.get("targetRevision")))
        simulation.argocd.refresh(name)
    outcome = _run(simulation, name, application)
    twin.tell_back()
    return replace(outcome, made=tuple(twin.made))


class BaseFailed(Exception):
    """What shall be there before the commit does not come up."""


def _run(simulation: Simulation, name: str, application: Object) -> Outcome:
    argocd = simulation.argocd
    try:
        simulation.timeline.settle()
        if any(
            dig(condition, "type") in _STOPPING for condition in items(argocd.status(name).get("conditions"))
        ):
            return outcome_of(argocd.status(name))
        argocd.request_sync(name, _operation(application))
        simulation.until(lambda: "operation" not in argocd.applications[name], _LONGEST)
    except Denied as problem:
        return Outcome(phase="", message=str(problem), refused={WHOLE: str(problem)})
    except NeverSettles as problem:
        return outcome_of(argocd.status(name), message=f"restless: {problem}")
    return outcome_of(argocd.status(name))


def _operation(application: Object) -> Object:
    """As an automated sync starts; Argo CD itself tries again."""
    prunes = dig(application, "spec", "syncPolicy", "automated", "prune") is True
    return {"sync": {"prune": prunes}, "retry": {"limit": retry_of(application).limit}}


def _settings(objects: list[Object]) -> Object:
    """Operators of custom resources do their work, as plans have it."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd"},
        "data": {**health_of_custom_kinds(objects)},
    }
