"""Simulate a Case: its cluster in memory, its Application in Argo CD, other writers active.

    world = simulated(case)
    world.sync()
    world.run(timedelta(minutes=10))
    world.codes  # ("Synced", "Healthy")

What the facts lack is a gap if the answer may depend on it; it is assumed if running pods prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from whysync.argocd.app_controller.context import PARAMETERS
from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.repo_server.repository import Folder, GitRepositories
from whysync.argocd.simulation.from_facts import cluster_of, with_project, with_tracking_metadata
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.sources import pinned_commit, repositories_of, sources_of
from whysync.argocd.simulation.world import Controllers, World
from whysync.diagnosis.case import Case
from whysync.diagnosis.freshness import is_compared
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.messages.patterns.projects import ProjectMissing
from whysync.proofs.admission import Quotas
from whysync.proofs.assumed import assumed_objects, namespaces, nodes_for
from whysync.proofs.operators import CrdCreators, Operators
from whysync.proofs.other_writers import Writers, writers_for
from whysync.proofs.partial_objects import (
    AssumedCrds,
    completed,
    has_masked_values,
    is_partial,
    unmasked,
    with_required_fields,
)
from whysync.proofs.pod_behavior import behavior_of, with_restarted_containers
from whysync.proofs.required_facts import require_facts
from whysync.proofs.scope import Scope, scope_of
from whysync.proofs.workload_children import WorkloadChildren
from whysync.queries.commands import kubectl
from whysync.queries.drift import ttl_pointer


class Extra(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller adds to the cluster of a Case."""

    objects: tuple[Object, ...] = ()
    """Added where the Case has no such object."""
    behavior: Callable[[Behavior], Behavior] = lambda behavior: behavior
    """Changes how pods behave."""
    children: tuple[Object, ...] = ()
    """Applications whose projects exist."""


class SimulatedCase(msgspec.Struct, kw_only=True):
    """A running simulation of one Case."""

    case: Case
    simulation: Simulation
    app: str
    """Qualified name of the Application."""
    scope: Scope
    writers: Writers
    """The other writers, each with its evidence."""
    gaps: tuple[Gap, ...]
    """What the facts lack and a result may depend on."""
    operators: Operators
    crd_creators: CrdCreators
    before: dict[Key, Object] = msgspec.field(default_factory=dict[Key, Object])
    """The objects of the cluster at the start."""

    # --- actions ---------------------------------------------------------------------------------

    def sync(self, *, user: str = "admin") -> None:
        """`argocd app sync` without flags; raises `argocd.server.server.Denied`.

        `automated.prune` applies to auto-sync only: a manual sync prunes only with `--prune`.
        """
        self.simulation.argocd.request_sync(self.app, {"sync": {"prune": False}}, user=user)

    def push(self, desired: Iterable[Manifest | Object]) -> str:
        """Push a commit that renders to these manifests (all of the app's, as `Case.desired`).

        Manifests outside the scope stay out unless they were changed. Returns the commit.
        """
        known = {id(desired_object.body) for desired_object in self.case.desired}
        inside = {id(desired_object.body) for desired_object in self.scope.desired}
        bodies = [
            desired_object.body if isinstance(desired_object, Manifest) else desired_object
            for desired_object in desired
        ]
        unchanged = _by_ref(desired_object.body for desired_object in self.case.desired)
        kept = [
            body
            for body in bodies
            if id(body) in inside or (id(body) not in known and body not in unchanged.get(ref_of(body), ()))
        ]
        kept_by_ref = _by_ref(kept)
        in_scope = _by_ref(desired_object.body for desired_object in self.scope.desired)
        kept += [
            body
            for body in bodies
            if id(body) not in known
            and body not in kept_by_ref.get(ref_of(body), ())
            and body in in_scope.get(ref_of(body), ())
        ]
        manifests = [Manifest(body, role=Role.DESIRED) for body in kept]
        completed_bodies = [
            with_required_fields(manifest.body) if _has_partial_live(self.case, manifest) else manifest.body
            for manifest in manifests
        ]
        pushed = {self._key_of(body) for body in bodies}
        assumed = [body for body in self.scope.desired_from_live if self._key_of(body) not in pushed]
        return self._commit(tuple(unmasked(copy_object(body)) for body in (*completed_bodies, *assumed)))

    def _key_of(self, body: Object) -> Key:
        key = ref_of(body).key
        return key if key.namespace else key._replace(namespace=self.case.destination_namespace)

    def _commit(self, manifests: tuple[Object, ...]) -> str:
        repositories = self.simulation.repository
        assert isinstance(repositories, GitRepositories)
        source = sources_of(self.case.application.body).main
        git = repositories.get(source.url)
        assert git is not None
        folder = Folder(manifests=manifests, source_type=source.type)
        return git.push({source.path: folder}, branch=source.branch or git.default_branch)

    def enable_auto_sync(self) -> None:
        """Restore the app's sync policy after `simulated(disable_auto_sync=True)`."""
        policy = fields(dig(self.case.application.body, "spec", "syncPolicy"))

        def with_policy(app: Object) -> Object:
            return {**app, "spec": {**fields(app.get("spec")), "syncPolicy": policy}}

        if policy:
            self.edit(with_policy)

    def edit(self, change: Callable[[Object], Object]) -> None:
        """Change the Application, as `kubectl edit` would."""
        self.simulation.argocd.edit(self.app, change)

    def run(self, duration: timedelta) -> None:
        """Raises `NeverSettles`."""
        self.simulation.run(duration)

    def until(self, holds: Callable[[], bool], limit: timedelta) -> bool:
        return self.simulation.until(holds, limit)

    # --- state -----------------------------------------------------------------------------------

    @property
    def sync_and_health(self) -> tuple[str, str]:
        """Current sync status and health status of the app."""
        return self.simulation.argocd.sync_and_health(self.app)

    @property
    def status(self) -> Object:
        return self.simulation.argocd.status(self.app)

    @property
    def operation(self) -> Object:
        """`status.operationState`; empty if no sync has started."""
        return fields(self.status.get("operationState"))

    @property
    def is_operating(self) -> bool:
        return "operation" in self.simulation.argocd.applications[self.app]

    def objects(self) -> dict[Key, Object]:
        return {
            ref_of(obj).key: obj for obj in self.simulation.api_server.objects() if obj.get("kind") != "Event"
        }

    def after(self, ref: Ref) -> Object:
        """The object as it is now in the simulation, or as it was before; empty if it never existed."""
        return self.objects().get(ref.key) or self.before.get(ref.key, {})

    def ref(self, key: Key) -> Ref:
        """The reference for reports, with the version of the object."""
        manifest = self.before.get(key)
        return (
            ref_of(manifest)
            if manifest is not None
            else Ref(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name)
        )


def _by_ref(bodies: Iterable[Object]) -> dict[Ref, list[Object]]:
    """Equal objects have the same reference, so an object is compared with those only."""
    by_ref: dict[Ref, list[Object]] = {}
    for body in bodies:
        by_ref.setdefault(ref_of(body), []).append(body)
    return by_ref


def simulated(
    case: Case,
    *,
    touched: Iterable[Key] = (),
    only: frozenset[Key] | None = None,
    everything: bool = False,
    assume_repeats: bool = True,
    disable_auto_sync: bool = False,
    allow_empty: bool = False,
    extra: Extra | None = None,
) -> SimulatedCase:
    """The simulation of a Case at its `now`; raises `NotSimulated`.

    The scope is `scope_of(touched, only, everything)`. Without `assume_repeats`, writers that were seen once
    do not write again. With `disable_auto_sync`, Argo CD starts no sync and a running operation does not
    continue until `enable_auto_sync`. With `allow_empty`, an app without rendered manifests is not a gap.
    """
    if not allow_empty:
        require_facts(case)
    extra = extra or Extra()
    scope = scope_of(case, touched=touched, only=only, everything=everything)
    application = _with_operation(case.application.body)
    namespace = argocd_namespace(case)
    clock = Clock(case.now)
    desired = _desired(case, scope)
    healthy = _healthy_keys(case)
    live = [_completed_live(live_object.body, case, healthy) for live_object in scope.live]
    assumed_crds = AssumedCrds(case, live, desired)
    definitions = assumed_crds.definitions()
    live += [_name_only(row.ref) for row in scope.stubs]
    live = with_tracking_metadata(application, desired, live, case.argocd, namespace)
    live = WorkloadChildren(live, healthy=healthy).completed()
    live += assumed_objects(case, live, desired, healthy)
    live += namespaces(case, live, desired)
    live += nodes_for(live, desired)
    repositories = repositories_of(application, desired, clock, pinned_commit(application, desired, live))
    writers = writers_for(case, scope, assume_repeats=assume_repeats)
    operators, crd_creators = Operators(case), CrdCreators(case)
    settings = case.index.snapshot.settings
    refusals = writers.refusals.admission
    existing = {ref_of(obj).key for obj in (*definitions, *live)}
    cluster = replace(
        cluster_of(application, [setting.body for setting in settings if setting.ref.kind == "Secret"]),
        objects=(
            *definitions,
            *live,
            *refusals.objects,
            *writers.admission.objects,
            *(obj for obj in extra.objects if ref_of(obj).key not in existing),
        ),
        webhooks={**writers.admission.webhooks, **refusals.webhooks},
        controllers=Controllers.SETTLED,
        behavior=extra.behavior(behavior_of(case, live, scope.desired)),
    )
    simulation = Simulation(
        World(
            clock=clock,
            repository=writers.rendering(repositories),
            applications=(_without_auto_sync(application) if disable_auto_sync else application,),
            projects=with_project(
                application,
                (project.body for project in case.index.snapshot.projects),
                exists=not _project_is_missing(case),
                children=extra.children,
            ),
            config_maps=tuple(_config_maps(case, namespace)),
            clusters=(cluster,),
            others=(operators, crd_creators, Quotas(case, writers.refusals), *writers.participants),
            namespace=namespace,
        )
    )
    gaps = [*scope.gaps, *assumed_crds.gaps, *_gaps(case, simulation.unserved, scope)]
    world = SimulatedCase(
        case=case,
        simulation=simulation,
        app=next(iter(simulation.argocd.applications)),
        scope=scope,
        writers=writers,
        gaps=tuple(gaps),
        operators=operators,
        crd_creators=crd_creators,
    )
    world.before = world.objects()
    return world


def _desired(case: Case, scope: Scope) -> list[Object]:
    """The rendered manifests; where the live object is partial, required fields are added to both."""
    refused = {result.key for result in case.results if result.status == "SyncFailed"}
    return [
        *(
            unmasked(
                desired_object.body
                if desired_object.key in refused or not _has_partial_live(case, desired_object)
                else with_required_fields(desired_object.body)
            )
            for desired_object in scope.desired
        ),
        *map(unmasked, scope.desired_from_live),
    ]


def _project_is_missing(case: Case) -> bool:
    return any(failure.failure.project == case.app.project for failure in case.failures(ProjectMissing))


def _with_operation(application: Object) -> Object:
    """Add `operation` to an Application whose operation is running: facts often have only the status."""
    state = {**fields(dig(application, "status", "operationState"))}
    if state.get("phase") not in ("Running", "Terminating"):
        return application
    spec = fields(application.get("spec"))
    default: Object = {"sync": {"revision": text(dig(application, "status", "sync", "revision"))}}
    operation = fields(application.get("operation")) or fields(state.get("operation")) or default
    state["operation"] = fields(state.get("operation")) or operation
    result = {**fields(state.get("syncResult"))}
    if result and not result.get("source") and not result.get("sources"):
        if has_multiple_sources(spec):
            result["sources"] = spec["sources"]
        else:
            result["source"] = source_of(spec)
        state["syncResult"] = result
    status: Object = {**fields(application.get("status")), "operationState": state}
    return {**application, "operation": operation, "status": status}


def _without_auto_sync(application: Object) -> Object:
    spec = fields(application.get("spec"))
    policy: Object = {
        key: value for key, value in fields(spec.get("syncPolicy")).items() if key != "automated"
    }
    rest: Object = {key: value for key, value in application.items() if key != "operation"}
    return {**rest, "spec": {**spec, "syncPolicy": policy}}


def argocd_namespace(case: Case) -> str:
    """Argo CD's namespace: from the status, else that of its settings, else that of the app."""
    reported = case.app.status.controller_namespace
    config = next((s.ref.namespace for s in case.index.snapshot.settings if s.ref.name == "argocd-cm"), "")
    return reported or config or case.app.namespace or "argocd"


def _has_partial_live(case: Case, manifest: Manifest) -> bool:
    """Is the live object of this manifest partial, or was it accepted once and deleted by its TTL?

    An object that the API server accepted has all required fields: if they are missing, the facts show only a
    part of the manifest.
    """
    live = case.live_of(manifest.key)
    if live is None:
        row = case.rows.get(manifest.key)
        return row is not None and ttl_pointer(manifest) is not None
    return is_partial(live.body)


def _completed_live(body: Object, case: Case, healthy: frozenset[str]) -> Object:
    if body.get("kind") == "Pod":
        return with_restarted_containers(body, case.now)
    return completed(unmasked(body), healthy=str(ref_of(body).key) in healthy)


def _healthy_keys(case: Case) -> frozenset[str]:
    """The keys of resources that Argo CD reports as Healthy."""
    return frozenset(
        str(row.key)
        for row in case.app.status.resources
        if row.health is None or row.health.status == "Healthy"
    )


def _name_only(ref: Ref) -> Object:
    meta: Object = {"name": ref.name}
    if ref.namespace:
        meta["namespace"] = ref.namespace
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta}


def _config_maps(case: Case, namespace: str) -> list[Object]:
    """With the namespace of the Application enabled if Argo CD compares it.

    Argo CD also reads `application.namespaces` from flags and the environment, which are not in the facts.
    """
    maps = {
        setting.ref.name: setting.body
        for setting in case.index.snapshot.settings
        if setting.ref.kind == "ConfigMap"
    }
    current = maps.get(PARAMETERS)
    if case.app.namespace == namespace or not (current is None or is_compared(case)):
        return [*maps.values()]
    enabled = ",".join((*case.argocd.application_namespaces, case.app.namespace))
    params: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": PARAMETERS, "namespace": namespace},
        "data": {**fields((current or {}).get("data")), "application.namespaces": enabled},
    }
    return [*({**maps, PARAMETERS: params}).values()]


def _gaps(case: Case, not_served: list[Object], scope: Scope) -> list[Gap]:
    gaps: list[Gap] = []
    if case.project_manifest is None and not case.project:
        gaps.append(
            Gap(
                kind=GapKind.NOT_COLLECTED,
                what=f"AppProject {case.app.project}",
                why="it is not in the facts; a project that permits everything is assumed",
                how_to_get=kubectl(
                    "get", "appproject", case.app.project, "-o", "yaml", namespace=argocd_namespace(case)
                ),
            )
        )
    for kind in sorted({f"{text(obj.get('apiVersion'))} {text(obj.get('kind'))}" for obj in not_served}):
        gaps.append(
            Gap(
                kind=GapKind.NOT_MODELED,
                what=f"objects of {kind}",
                why="the simulation does not serve this version of the kind",
            )
        )
    masked = [
        desired_object.ref
        for desired_object in scope.desired
        if has_masked_values(desired_object.body) and _data_differs(case, desired_object)
    ]
    gaps += [
        Gap(
            kind=GapKind.MASKED,
            what=f"the values of {ref}",
            why="they are masked, so they cannot be verified",
            about=ref,
        )
        for ref in masked
    ]
    return gaps


def _data_differs(case: Case, manifest: Manifest) -> bool:
    live = case.live_of(manifest.key)
    return live is None or fields(live.body.get("data")) != fields(manifest.body.get("data"))
