"""Simulate the sync of a commit on a cluster in memory: an empty one, or one built from facts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec.structs import replace
from msgspec.structs import replace as replaced

from whysync.argocd.app_controller.app_of_apps import KIND, definitions
from whysync.argocd.repo_server.repository import Head, Rendered, Repository
from whysync.argocd.simulation.from_facts import cluster_of, with_project
from whysync.argocd.simulation.simulation import Simulation
from whysync.argocd.simulation.world import Controllers, World
from whysync.diagnosis.case import Case
from whysync.diagnosis.report import ReasonKind, Safety, SyncOutcome, SyncSafety
from whysync.diagnosis.snapshot_index import SnapshotIndex
from whysync.facts.masking import Masker, mask_snapshot
from whysync.facts.simulated import snapshot_of
from whysync.facts.snapshot import Gap, GapKind, Snapshot
from whysync.json_tree import Object, copy_object, dig, fields, text
from whysync.kubernetes.api.manifest import Manifest, Role
from whysync.kubernetes.api.ref import group_of
from whysync.kubernetes.clock import Clock
from whysync.kubernetes.controllers.behavior import Behavior
from whysync.kubernetes.timeline import NeverSettles
from whysync.plan.find_applications import is_application, qualified
from whysync.plan.plan import Assumption, AssumptionKind, PlannedCluster, Run
from whysync.plan.prerequisites import (
    classes_and_nodes,
    health_of_custom_kinds,
    let_webhooks_fail,
    new_kinds,
    outside_objects,
    referable_objects,
    rights,
    unknown_objects,
)
from whysync.plan.projects import NOT_DECLARED, UsedProject, permits_kind, project_name, with_permissions
from whysync.plan.run_sync import Ended, retry_of, synced
from whysync.plan.service_callers import with_callers
from whysync.plan.steps import steps_of
from whysync.proofs.assumed import active_namespace, namespaces
from whysync.proofs.partial_objects import AssumedCrds
from whysync.proofs.simulated_case import Extra, SimulatedCase, simulated
from whysync.proofs.sync_effects import WORKLOADS, Effects, data_loss_text, effects_of
from whysync.proofs.sync_reasons import EVERYTHING, RankedReason, damage_reasons

NOON: Final = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""A fixed date, so that plans are reproducible."""
_APPLICATION_SET: Final = ("argoproj.io", "ApplicationSet")
"""A kind of Argo CD itself, which a cluster with Argo CD has."""
_SETTINGS: Final = ("argocd-cm", "argocd-rbac-cm", "argocd-cmd-params-cm")


def on_empty(
    application: Object,
    desired: list[Object],
    repository: Repository,
    *,
    known: Iterable[Object] = (),
    coming: Iterable[Object] = (),
    others: Sequence[Object] = (),
    unused: Sequence[Object] = (),
    project: UsedProject = NOT_DECLARED,
    planned_cluster: PlannedCluster = PlannedCluster.EMPTY,
    mask: bool = True,
    keep: bool = True,
) -> Run:
    """Simulate the sync on an empty cluster. `desired` are the rendered manifests, if known.

    `known` are manifests that already run, and `coming` those that will be synced later: what they need from
    outside exists. `others` are manifests of other Applications, and `unused` those in files of the app that
    are not rendered. Without `keep`, only a failed run keeps its final state.
    """
    name = qualified(application)
    namespace = name.partition("/")[0]
    case = _case_without_cluster(application, desired)
    later_objects = list(coming)
    assumed_crds = AssumedCrds(case, definitions(namespace), [*desired, *later_objects])
    known = list(known)
    assumed_namespaces = namespaces(case, [], desired)
    if _others_create_its_namespace(case, project, desired, known, others):
        assumed_namespaces.append(active_namespace(case.destination_namespace))
    argocd_objects = definitions(namespace)
    if not any(_is_of_argocd(desired_object) for desired_object in desired):
        argocd_objects = argocd_objects[-1:]
    crds = assumed_crds.definitions()
    outside = outside_objects(known, desired, case.destination_namespace, coming=later_objects, others=others)
    unknown = unknown_objects(
        [*desired, *later_objects],
        outside,
        case.destination_namespace,
        removed=known,
        others=others,
        unused=unused,
    )
    outside += unknown
    cluster_objects = classes_and_nodes(known, desired, coming=later_objects)
    outside_namespaces = _namespaces_of(outside, [*argocd_objects, *assumed_namespaces], case)
    health_checks = health_of_custom_kinds([*desired, *later_objects])
    simulation = Simulation(
        World(
            clock=Clock(NOON),
            repository=_WithQuietApp(repository, name),
            applications=(quieted(application),),
            projects=with_project(
                application,
                (project.body,) if project.body is not None else (),
                exists=not project.is_removed,
                children=filter(is_application, desired),
            ),
            config_maps=tuple(
                _settings(config_map, namespace, health_checks if config_map == "argocd-cm" else {})
                for config_map in _SETTINGS
            ),
            clusters=(
                replaced(
                    cluster_of(application),
                    objects=(
                        *_default_namespaces(),
                        *argocd_objects,
                        *assumed_namespaces,
                        *outside_namespaces,
                        *crds,
                        *cluster_objects,
                        *outside,
                    ),
                    controllers=Controllers.ALL,
                    behavior=with_callers(Behavior(), desired, case.destination_namespace),
                ),
            ),
            namespace=namespace,
        )
    )
    assumptions = [
        _existing(other)
        for other in (*assumed_namespaces, *outside, *cluster_objects)
        if other["kind"] != "Node" and other not in unknown
    ]
    if project == NOT_DECLARED and project_name(application) != "default":
        assumptions.append(Assumption(kind=AssumptionKind.PROJECT, of=project_name(application)))
    assumptions += [
        _served(gap.about.kind)
        for gap in assumed_crds.gaps
        if gap.about is not None and (gap.about.group, gap.about.kind) != _APPLICATION_SET
    ]
    assumptions += [
        Assumption(kind=AssumptionKind.OPERATOR, of=setting.rpartition("_")[2])
        for setting in health_checks
        if not setting.endswith("_".join(_APPLICATION_SET))
    ]
    start = len(simulation.argocd.trace)
    ended = synced(simulation, name, prune=case.prunes, retry=retry_of(application))
    snapshot = _snapshot_after(simulation, application, ended, desired) if keep or not ended.passed else None
    steps = steps_of(simulation, name, desired, simulation.argocd.trace[start:], passed=ended.passed)
    mask_secrets = _hiding(desired)
    return Run(
        cluster=planned_cluster,
        passed=ended.passed,
        message=mask_secrets(ended.message),
        seconds=ended.seconds,
        steps=tuple(
            replace(step, items=tuple(replace(item, note=mask_secrets(item.note)) for item in step.items))
            for step in steps
        ),
        assumptions=tuple(assumptions),
        notes=ended.notes,
        unknown_objects=tuple(f"{obj['kind']} {text(dig(obj, 'metadata', 'name'))}" for obj in unknown),
        snapshot=masked(_without_our_settings(snapshot)) if mask and snapshot is not None else snapshot,
    )


def _others_create_its_namespace(
    case: Case, project: UsedProject, desired: list[Object], known: list[Object], others: Sequence[Object]
) -> bool:
    """Does the namespace exist although its project forbids the app to create it?

    Another Application declares it, or the base already deploys to it.
    """
    name = case.destination_namespace
    if not case.has_sync_option("CreateNamespace=true") or permits_kind(project, "", "Namespace", name):
        return False
    declared = any(obj.get("kind") == "Namespace" and dig(obj, "metadata", "name") == name for obj in desired)
    by_others = (obj.get("kind") == "Namespace" and dig(obj, "metadata", "name") == name for obj in others)
    return not declared and (bool(known) or any(by_others))


def with_declared_project(snapshot: Snapshot, project: UsedProject) -> Snapshot:
    """Facts after the head's project is deployed."""
    if project.body is None:
        return snapshot
    name = text(dig(project.body, "metadata", "name"))
    others = [other for other in snapshot.projects if other.ref.name != name]
    empty: Object = {}
    deployed = next((other.body for other in snapshot.projects if other.ref.name == name), empty)
    body = with_permissions(deployed, project.body)
    return replace(snapshot, projects=(*others, Manifest(body, role=Role.PROJECT)))


def _existing(obj: Object) -> Assumption:
    return Assumption(
        kind=AssumptionKind.EXISTS, of=text(obj.get("kind")), name=text(dig(obj, "metadata", "name"))
    )


def _served(kind: str) -> Assumption:
    return Assumption(kind=AssumptionKind.SERVED, of=kind)


def _hiding(desired: list[Object]) -> Callable[[str], str]:
    """Mask values of Secrets in error messages of servers."""
    masker = Masker()
    for desired_object in desired:
        if desired_object.get("kind") == "Secret":
            masker.mask_object(copy_object(desired_object))
    return masker.masked_text


def onto(
    case: Case, head: list[Object], planned_cluster: PlannedCluster, *, keep: bool = True
) -> tuple[Run, Effects]:
    """Simulate the head on the cluster of a Case; `keep` as above. Raises `NotSimulated`."""
    objects = [copy_object(obj) for obj in head]
    if planned_cluster is PlannedCluster.BASE:
        objects = _with_quiet_app(objects, qualified(case.application.body))
    services = [(service.ref.namespace, service.ref.name) for service in case.live_of_kind("Service")]

    crds = new_kinds(case, objects)
    rbac_objects, assumed_rights = rights(case)

    def with_pods(behavior: Behavior) -> Behavior:
        return with_callers(behavior, objects, case.destination_namespace, existing=services)

    apps = filter(is_application, (*objects, *(manifest.body for manifest in case.desired)))
    extra = Extra(
        objects=(*crds, *rbac_objects, *referable_objects(case)), behavior=with_pods, children=tuple(apps)
    )
    world = simulated(
        case, everything=True, disable_auto_sync=True, allow_empty=not case.desired, extra=extra
    )
    simulation = world.simulation
    let_webhooks_fail(case, simulation.api_server)
    with contextlib.suppress(NeverSettles):  # the run itself reports writers there
        simulation.timeline.settle()
    before = world.sync_and_health[1]
    world.push(objects)
    first_write, first_event = len(simulation.api_server.store.journal), len(simulation.argocd.trace)
    simulation.argocd.refresh(world.app)
    retry = retry_of(case.application.body)
    ended = synced(simulation, world.app, prune=case.prunes, retry=retry, before=before)
    effects = effects_of(world, first_write)
    snapshot = (
        _snapshot_after(simulation, case.application.body, ended, head) if keep or not ended.passed else None
    )
    run = Run(
        cluster=planned_cluster,
        passed=ended.passed,
        message=ended.message,
        seconds=ended.seconds,
        steps=steps_of(
            simulation, world.app, head, simulation.argocd.trace[first_event:], passed=ended.passed
        ),
        safety=_safety(world, effects, passed=ended.passed),
        assumptions=(
            *(
                _served(text(dig(crd, "spec", "names", "kind")))
                for crd in crds
                if dig(crd, "spec", "group") != "argoproj.io"
            ),
            *assumed_rights,
        ),
        notes=(
            *(f"{gap.what}: {gap.why}" for gap in _reportable(world.gaps)),
            *ended.notes,
        ),
        snapshot=None if snapshot is None else masked(_after(snapshot, planned_cluster)),
    )
    return run, effects


def _snapshot_after(
    simulation: Simulation, application: Object, ended: Ended, desired: list[Object]
) -> Snapshot:
    """What a bundle would contain now: the app with its own policy, manifests without Argo CD's tracking."""
    snapshot = snapshot_of(simulation)
    name, spec = qualified(application), fields(application.get("spec"))
    apps = tuple(
        application.with_body({**application.body, "spec": spec})
        if application.ref.place == name
        else application
        for application in snapshot.applications
    )
    known_logs = {(log.namespace, log.pod, log.container) for log in snapshot.logs}
    deleted_logs = [log for log in ended.logs if (log.namespace, log.pod, log.container) not in known_logs]
    rendered = dict(snapshot.desired)
    if rendered.get(name):
        rendered[name] = tuple(
            Manifest(desired_object, role=Role.DESIRED, origin="git") for desired_object in desired
        )
    return replace(
        snapshot,
        applications=apps,
        desired=rendered,
        logs=(*snapshot.logs, *deleted_logs),
        is_predicted=True,
    )


def _after(snapshot: Snapshot, planned_cluster: PlannedCluster) -> Snapshot:
    return snapshot if planned_cluster is PlannedCluster.LIVE else _without_our_settings(snapshot)


def _without_our_settings(snapshot: Snapshot) -> Snapshot:
    """Remove the health settings for custom resources that the plan added."""
    settings = tuple(
        setting.with_body({**setting.body, "data": {}}) if setting.ref.name == "argocd-cm" else setting
        for setting in snapshot.settings
    )
    return replace(snapshot, settings=settings)


def _namespaces_of(outside: list[Object], present: list[Object], case: Case) -> list[Object]:
    """Namespaces of objects from outside; the app may still request their creation."""
    names = {text(dig(obj, "metadata", "name")) for obj in present if obj.get("kind") == "Namespace"}
    missing = (
        {text(dig(other, "metadata", "namespace")) for other in outside} - names - {"default", "kube-system"}
    )
    if not case.has_sync_option("CreateNamespace=true"):
        missing.discard(case.destination_namespace)
    return [_namespace(name) for name in sorted(missing - {""})]


def _reportable(gaps: tuple[Gap, ...]) -> list[Gap]:
    """Gaps worth reporting: that values are masked is not."""
    return [gap for gap in gaps if gap.kind is not GapKind.MASKED]


def _safety(world: SimulatedCase, effects: Effects, *, passed: bool) -> Safety:
    ranked: list[RankedReason] = sorted(
        damage_reasons(world, effects), key=lambda effect: (not effect.unsafe, -effect.weight)
    )
    unsafe = any(effect.unsafe and not _is_asked_for(world, effect) for effect in ranked)
    unknown = any(effect.unknown for effect in ranked)
    reasons = tuple(effect.reason for effect in ranked[:6])
    sync = SyncSafety.UNSAFE if unsafe else SyncSafety.UNKNOWN if unknown else SyncSafety.SAFE
    outcome = SyncOutcome.SUCCEEDS if passed else SyncOutcome.FAILS
    return Safety(sync=sync, outcome=outcome, reasons=reasons)


def _is_of_argocd(obj: Object) -> bool:
    return group_of(text(obj.get("apiVersion"))) == "argoproj.io"


def _is_asked_for(world: SimulatedCase, effect: RankedReason) -> bool:
    """Is it the removal of workloads without data, which the commit asks for, or of Applications?

    The removal of an Application has a plan of its own. An app of which nothing is left is no such removal:
    auto-sync refuses it.
    """
    return (
        effect.kind is ReasonKind.DELETES
        and effect.weight < EVERYTHING
        and all(
            (ref.group, ref.kind) == KIND or (ref.kind in WORKLOADS and not data_loss_text(world, ref))
            for ref in effect.refs
        )
    )


def _settings(name: str, namespace: str, data: dict[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {**data},
    }


def quieted(application: Object) -> Object:
    """Disable automation: only the plan starts a sync."""
    spec = fields(application.get("spec"))
    policy = {key: value for key, value in fields(spec.get("syncPolicy")).items() if key != "automated"}
    return {**application, "spec": {**spec, "syncPolicy": policy}}


def _with_quiet_app(objects: Iterable[Object], name: str) -> list[Object]:
    """Disable automation in the app's own manifest too: an app may deploy itself."""
    return [quieted(obj) if is_application(obj) and qualified(obj) == name else obj for obj in objects]


class _WithQuietApp(msgspec.Struct):
    """A repository whose manifests do not enable the automation of the app."""

    _repository: Repository
    _name: str

    def resolve(self, source: Object, revision: str) -> str:
        return self._repository.resolve(source, revision)

    def render(self, application: Object, source: Object, commit: str) -> Rendered:
        rendered = self._repository.render(application, source, commit)
        return replace(rendered, manifests=tuple(_with_quiet_app(rendered.manifests, self._name)))

    def heads(self) -> Sequence[Head]:
        return self._repository.heads()


def _case_without_cluster(application: Object, desired: list[Object]) -> Case:
    name = qualified(application)
    snapshot = Snapshot(
        collected_at=NOON,
        applications=(Manifest(application, role=Role.APPLICATION),),
        desired={name: tuple(Manifest(desired_object, role=Role.DESIRED) for desired_object in desired)},
    )
    return case_in(snapshot, name)


def case_in(snapshot: Snapshot, name: str) -> Case:
    """The Case of an app in a snapshot; raises `KeyError`."""
    index = SnapshotIndex(snapshot)
    for manifest, app in index.decoded:
        if name in (app.qualified_name, app.name):
            return Case(index, manifest, app)
    raise KeyError(name)


def _default_namespaces() -> list[Object]:
    return [_namespace(name) for name in ("default", "kube-system")]


def _namespace(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def masked(snapshot: Snapshot) -> Snapshot:
    """Masked facts; a copy, because masking works in place."""
    return mask_snapshot(
        replace(
            snapshot,
            applications=_copies(snapshot.applications),
            projects=_copies(snapshot.projects),
            settings=_copies(snapshot.settings),
            desired={name: _copies(manifests) for name, manifests in snapshot.desired.items()},
            live=_copies(snapshot.live),
            events=_copies(snapshot.events),
        )
    )


def _copies(manifests: tuple[Manifest, ...]) -> tuple[Manifest, ...]:
    return tuple(manifest.with_body(copy_object(manifest.body)) for manifest in manifests)
