"""Simulate a Case: its cluster in memory, its Application in Argo CD, other writers active.

    world = simulated(case)
    world.sync()
    world.run(timedelta(minutes=10))
    world.codes  # ("Synced", "Healthy")

What the facts lack is a gap if the answer may depend on it; it is assumed if running pods prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from whysync.argocd.compare.sources import has_multiple_sources, source_of
from whysync.argocd.repo_server.repository import Folder, GitRepositories
from whysync.argocd.simulation.from_facts import cluster_of, with_project, with_tracking_metadata
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.sources import pinned_commit, repositories_of, sources_of
from whysync.argocd.simulation.world import Controllers, World
from whysync.diagnosis.case import Case
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
from whysync.proofs.partial_objects import Kinds, completed, has_marks, is_cut, unmasked, whole
from whysync.proofs.pod_behavior import begun_again, behavior_of
from whysync.proofs.scope import Scope, part_of
from whysync.proofs.workload_children import WorkloadChildren


class NotSimulated(Exception):
    """The facts do not make a world; `gap` says what is missing."""

    def __init__(self, gap: Gap) -> None:
        super().__init__(f"{gap.what}: {gap.why}")
        self.gap = gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What a caller adds to the cluster of a Case."""

    objects: tuple[Object, ...] = ()
    """Added where the Case has no such object."""
    behavior: Callable[[Behavior], Behavior] = lambda behavior: behavior
    """Changes how pods behave."""


@dataclass(slots=True, kw_only=True)
class SimulatedCase:
    case: Case
    simulation: Simulation
    app: str
    """Qualified, as Argo CD has it."""
    part: Scope
    writers: Writers
    """Who else writes in this world, each with its evidence."""
    gaps: tuple[Gap, ...]
    """What the facts lack and an answer may hang on."""
    operators: Operators
    makers: CrdCreators
    before: dict[Key, Object] = field(default_factory=dict[Key, Object])
    """The objects of the cluster as they were at the start."""

    # --- what is done ----------------------------------------------------------------------------

    def sync(self, *, prune: bool = False, user: str = "admin") -> None:
        """`argocd app sync`, with the app's own options; raises `argocd.server.server.Denied`.

        `automated.prune` is about auto-sync: a manual sync prunes only if it is told to.
        """
        wanted: Object = {"prune": prune}
        self.simulation.argocd.request_sync(self.app, {"sync": wanted}, user=user)

    def push(self, desired: Iterable[Manifest | Object]) -> str:
        """A new commit that renders to these manifests (all of the app's, as `Case.desired`).

        Those that were left out of this world stay out, unless they differ from before. Gives the commit.
        """
        known = {id(desired_object.body): desired_object for desired_object in self.case.desired}
        inside = {id(desired_object.body) for desired_object in self.part.desired}
        bodies = [
            desired_object.body if isinstance(desired_object, Manifest) else desired_object
            for desired_object in desired
        ]
        same = [desired_object.body for desired_object in self.case.desired]
        kept = [body for body in bodies if id(body) in inside or (id(body) not in known and body not in same)]
        kept += [
            body
            for body in bodies
            if body not in kept and any(body == other.body for other in self.part.desired)
        ]
        manifests = [Manifest(body, role=Role.DESIRED) for body in kept]
        made = [
            whole(manifest.body) if _is_cut(self.case, manifest) else manifest.body for manifest in manifests
        ]
        told = {self._placed(body) for body in bodies}
        rest = [body for body in self.part.as_live if self._placed(body) not in told]
        return self._commit(tuple(unmasked(copy_object(body)) for body in (*made, *rest)))

    def _placed(self, body: Object) -> Key:
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

    def wake(self) -> None:
        """From now on Argo CD syncs by itself again, as the app's policy says."""
        policy = fields(dig(self.case.application.body, "spec", "syncPolicy"))

        def woken(app: Object) -> Object:
            return {**app, "spec": {**fields(app.get("spec")), "syncPolicy": policy}}

        if policy:
            self.edit(woken)

    def edit(self, change: Callable[[Object], Object]) -> None:
        """Change the Application, as `kubectl edit` would."""
        self.simulation.argocd.edit(self.app, change)

    def run(self, duration: timedelta) -> None:
        """Raises `TimelineNeverSettles` and `ControllersNeverSettle`."""
        self.simulation.run(duration)

    def until(self, holds: Callable[[], bool], limit: timedelta) -> bool:
        return self.simulation.until(holds, limit)

    # --- what is seen ----------------------------------------------------------------------------

    @property
    def codes(self) -> tuple[str, str]:
        """Sync and health, as Argo CD says them now."""
        return self.simulation.argocd.sync_and_health(self.app)

    @property
    def status(self) -> Object:
        return self.simulation.argocd.status(self.app)

    @property
    def operation(self) -> Object:
        """`status.operationState`; empty where no sync has begun."""
        return fields(self.status.get("operationState"))

    @property
    def is_operating(self) -> bool:
        return "operation" in self.simulation.argocd.applications[self.app]

    def objects(self) -> dict[Key, Object]:
        return {
            ref_of(obj).key: obj for obj in self.simulation.api_server.objects() if obj.get("kind") != "Event"
        }

    def ref(self, key: Key) -> Ref:
        """As reports cite it: with the version that the object has."""
        found = self.before.get(key)
        return (
            ref_of(found)
            if found is not None
            else Ref(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name)
        )


def simulated(
    case: Case,
    *,
    touched: Iterable[Key] = (),
    only: frozenset[Key] | None = None,
    everything: bool = False,
    others: bool = True,
    returning: bool = True,
    quiet: bool = False,
    bare: bool = False,
    extra: Extra | None = None,
) -> SimulatedCase:
    """The simulation of a Case at its `now`; raises `NotSimulated`.

    `touched` are resources that will change though nothing is wrong with them; with `only`, only these
    and the touched ones are included; `everything` leaves nothing out. Without `others`, only Argo CD and
    Kubernetes write; without `returning`, writers that were seen once do not write again. `quiet`: Argo CD
    starts nothing by itself, and a running operation does not continue, until `wake`. `bare`: the facts have
    no rendered manifests, which is not a gap.
    """
    if not bare:
        _check(case)
    extra = extra or Extra()
    part = part_of(case, touched=touched, only=only, everything=everything)
    application = _operating(case.application.body)
    namespace = argocd_namespace(case)
    clock = Clock(case.now)
    desired = _desired(case, part)
    well = _well(case)
    live = [_put_right(live_object.body, case, well) for live_object in part.live]
    kinds = Kinds(case, live, desired)
    definitions = kinds.assumed()
    live += [_stub(row.ref) for row in part.stubs]
    live = with_tracking_metadata(application, desired, live, case.argocd, namespace)
    live = WorkloadChildren(live, well=well, now=case.now).completed()
    live += assumed_objects(case, live, desired, well)
    live += namespaces(case, live, desired)
    live += nodes_for(live, desired)
    repositories = repositories_of(application, desired, clock, pinned_commit(application, desired, live))
    writers = writers_for(case, part, active=others, returning=returning)
    operators, makers = Operators(case), CrdCreators(case)
    settings = case.index.snapshot.settings
    refusals = writers.refusals.admission
    there = {ref_of(obj).key for obj in (*definitions, *live)}
    cluster = replace(
        cluster_of(application, [setting.body for setting in settings if setting.ref.kind == "Secret"]),
        objects=(
            *definitions,
            *live,
            *refusals.objects,
            *writers.admission.objects,
            *(obj for obj in extra.objects if ref_of(obj).key not in there),
        ),
        webhooks={**writers.admission.webhooks, **refusals.webhooks},
        controllers=Controllers.SETTLED,
        behavior=extra.behavior(behavior_of(case, live, part.desired)),
    )
    simulation = Simulation(
        World(
            clock=clock,
            repository=writers.rendering(repositories),
            applications=(_quieted(application) if quiet else application,),
            projects=with_project(
                application,
                (project.body for project in case.index.snapshot.projects),
                exists=not _project_is_missing(case),
            ),
            config_maps=tuple(_config_maps(case, namespace)),
            clusters=(cluster,),
            others=(operators, makers, Quotas(case, writers.refusals), *writers.participants),
            namespace=namespace,
        )
    )
    gaps = [*part.gaps, *kinds.gaps, *_gaps(case, simulation.unserved, part)]
    made = SimulatedCase(
        case=case,
        simulation=simulation,
        app=next(iter(simulation.argocd.applications)),
        part=part,
        writers=writers,
        gaps=tuple(gaps),
        operators=operators,
        makers=makers,
    )
    made.before = made.objects()
    return made


def _desired(case: Case, part: Scope) -> list[Object]:
    """What Git renders to, with the parts that were cut from live objects and manifests alike."""
    refused = {result.key for result in case.results if result.status == "SyncFailed"}
    return [
        *(
            unmasked(
                desired_object.body
                if desired_object.key in refused or not _is_cut(case, desired_object)
                else whole(desired_object.body)
            )
            for desired_object in part.desired
        ),
        *map(unmasked, part.as_live),
    ]


def _project_is_missing(case: Case) -> bool:
    return any(failure.failure.project == case.app.project for failure in case.failures(ProjectMissing))


def _operating(application: Object) -> Object:
    """While an operation runs, the Application holds it; people show the status alone."""
    state = {**fields(dig(application, "status", "operationState"))}
    if state.get("phase") not in ("Running", "Terminating"):
        return application
    spec = fields(application.get("spec"))
    wanted: Object = {"sync": {"revision": text(dig(application, "status", "sync", "revision"))}}
    told = fields(application.get("operation")) or fields(state.get("operation")) or wanted
    state["operation"] = fields(state.get("operation")) or told
    result = {**fields(state.get("syncResult"))}
    if result and not result.get("source") and not result.get("sources"):
        if has_multiple_sources(spec):
            result["sources"] = spec["sources"]
        else:
            result["source"] = source_of(spec)
        state["syncResult"] = result
    status: Object = {**fields(application.get("status")), "operationState": state}
    return {**application, "operation": told, "status": status}


def _quieted(application: Object) -> Object:
    spec = fields(application.get("spec"))
    policy: Object = {
        key: value for key, value in fields(spec.get("syncPolicy")).items() if key != "automated"
    }
    rest: Object = {key: value for key, value in application.items() if key != "operation"}
    return {**rest, "spec": {**spec, "syncPolicy": policy}}


def argocd_namespace(case: Case) -> str:
    """Argo CD's own: as the status says, else where its settings are, else where the app is."""
    told = case.app.status.controller_namespace
    config = next((s.ref.namespace for s in case.index.snapshot.settings if s.ref.name == "argocd-cm"), "")
    return told or config or case.app.namespace or "argocd"


def _check(case: Case) -> None:
    name = case.app.name
    if not case.desired and not case.source_is_empty:
        raise NotSimulated(
            Gap(
                kind=GapKind.NOT_RENDERED,
                what="what Git renders to",
                why="the facts have no manifests of this app",
                how_to_get=f"argocd app manifests {name} --source git, as desired/{name}/",
            )
        )
    there = any(
        row.status == "Synced" or (row.health or case.app.status.health).status != "Missing"
        for row in case.app.status.resources
    )
    if there and not case.index.snapshot.live:
        raise NotSimulated(
            Gap(
                kind=GapKind.NOT_COLLECTED,
                what="the live objects",
                why="the facts have no live objects of its cluster",
                how_to_get="kubectl get … -o yaml --show-managed-fields, as live/",
            )
        )


def _is_cut(case: Case, manifest: Manifest) -> bool:
    """Cut by hand like the live object beside it; what Argo CD could not apply is judged as it stands."""
    live = case.live_of(manifest.key)
    return live is not None and is_cut(live.body)


def _put_right(body: Object, case: Case, well: frozenset[str]) -> Object:
    if body.get("kind") == "Pod":
        return begun_again(body, case.now)
    return completed(unmasked(body), well=str(ref_of(body).key) in well)


def _well(case: Case) -> frozenset[str]:
    """The keys of what Argo CD calls healthy."""
    return frozenset(
        str(row.key)
        for row in case.app.status.resources
        if row.health is None or row.health.status == "Healthy"
    )


def _stub(ref: Ref) -> Object:
    meta: Object = {"name": ref.name}
    if ref.namespace:
        meta["namespace"] = ref.namespace
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": meta}


def _config_maps(case: Case, namespace: str) -> list[Object]:
    maps = [setting.body for setting in case.index.snapshot.settings if setting.ref.kind == "ConfigMap"]
    params = "argocd-cmd-params-cm"
    if case.app.namespace != namespace and not any(dig(one, "metadata", "name") == params for one in maps):
        # Argo CD looks after the app, so it was told to look into its namespace.
        meta: Object = {"name": params, "namespace": namespace}
        data: Object = {"application.namespaces": case.app.namespace}
        maps.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
    return maps


def _gaps(case: Case, strangers: list[Object], part: Scope) -> list[Gap]:
    found: list[Gap] = []
    namespace = case.app.namespace or "argocd"
    if case.project_manifest is None and not case.project:
        found.append(
            Gap(
                kind=GapKind.NOT_COLLECTED,
                what=f"AppProject {case.app.project}",
                why="it is not among the facts: one that permits everything stands for it",
                how_to_get=f"kubectl -n {namespace} get appproject {case.app.project} -o yaml",
            )
        )
    for kind in sorted(
        {f"{text(stranger.get('apiVersion'))} {text(stranger.get('kind'))}" for stranger in strangers}
    ):
        found.append(
            Gap(
                kind=GapKind.NOT_MODELED,
                what=f"objects of {kind}",
                why="the model does not serve this version of the kind",
            )
        )
    masked = [
        desired_object.ref
        for desired_object in part.desired
        if has_marks(desired_object.body) and _differs(case, desired_object)
    ]
    found += [
        Gap(
            kind=GapKind.MASKED,
            what=f"the values of {ref}",
            why="they are masked: whether they are right cannot be told",
            about=ref,
        )
        for ref in masked
    ]
    return found


def _differs(case: Case, manifest: Manifest) -> bool:
    live = case.live_of(manifest.key)
    return live is None or fields(live.body.get("data")) != fields(manifest.body.get("data"))
