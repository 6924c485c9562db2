"""The effects of a sync on the objects of a simulation, and whether they last.

Effects are read from the journal of writes, object by object. To see whether they last, the simulation
continues with all other writers active.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import msgspec

from whysync.argocd.app_controller.deletion.finalizers import Finalizers
from whysync.argocd.app_controller.trace import TraceEvent, TraceKind
from whysync.argocd.tracking import owner_of
from whysync.argocd.tracking.method import TRACKING_ID_POINTER
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.diagnosis.drift.raw_difference import differences
from whysync.diagnosis.freshness import sync_loop_of
from whysync.json_tree import MISSING, Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.ref import Key, Ref, ref_of
from whysync.kubernetes.apiserver.storage import Change
from whysync.kubernetes.field_writers import Writer, WriterKind, writer_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER
from whysync.proofs.other_writers import OtherWriter
from whysync.proofs.simulated_case import SimulatedCase
from whysync.queries.deletion_cost import deleted_claims, reclaim_policy

WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Rollout"})
_MANUAL_WRITERS: Final = frozenset(
    {
        WriterKind.KUBECTL_EDIT,
        WriterKind.KUBECTL_APPLY,
        WriterKind.KUBECTL_SCALE,
        WriterKind.KUBECTL_PATCH,
        WriterKind.KUBECTL_OTHER,
        WriterKind.CONSOLE,
    }
)
_ARGOCD_OR_API_SERVER: Final = frozenset({WriterKind.ARGOCD, WriterKind.API_SERVER})
_TEMPLATE: Final = "/spec/template"
_MAX_OWNER_DEPTH: Final = 5
_REPLICAS: Final = "/spec/replicas"
# Fields that servers and Argo CD itself write with each apply.
_SERVER_FIELDS: Final = (
    "/status",
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/metadata/generation",
    "/metadata/uid",
    "/metadata/creationTimestamp",
    LAST_APPLIED_POINTER,
    TRACKING_ID_POINTER,
    "/metadata/annotations/deployment.kubernetes.io~1revision",
)


class FieldChange(msgspec.Struct, frozen=True, kw_only=True):
    """A field that the sync changed; `before` is missing if only Git had it."""

    ref: Ref
    pointer: str
    before: Json | Missing
    after: Json | Missing
    writer: Writer | None
    mechanism: Mechanism | None
    age: timedelta | None
    """Time since the writer's last change; `None` if unknown."""

    @property
    def by_hand(self) -> bool:
        if self.mechanism is not None:
            return self.mechanism is Mechanism.BY_HAND
        return self.writer is not None and self.writer.kind in _MANUAL_WRITERS

    @property
    def from_new_commit(self) -> bool:
        """Does the change come from a newer commit? False if the writer is unknown."""
        if self.mechanism is not None:
            return self.mechanism in (Mechanism.NOT_SYNCED_YET, Mechanism.KEPT)
        return self.writer is not None and self.writer.kind in _ARGOCD_OR_API_SERVER

    @property
    def by_other_writer(self) -> bool:
        """Was the previous value written by someone other than Argo CD?"""
        if self.mechanism in (Mechanism.NOT_SYNCED_YET, Mechanism.KEPT):
            return False
        return self.by_hand or (self.writer is not None and self.writer.kind not in _ARGOCD_OR_API_SERVER)


class Effects(msgspec.Struct, frozen=True, kw_only=True):
    """What a sync did to the app's own objects."""

    overwritten: tuple[FieldChange, ...] = ()
    created: tuple[Ref, ...] = ()
    deleted: tuple[Ref, ...] = ()
    recreated: tuple[Ref, ...] = ()
    restarted: tuple[tuple[Ref, int], ...] = ()
    """Workloads whose pod template changed, each with its number of running pods."""
    scaled: tuple[tuple[Ref, int, int], ...] = ()
    """Workloads with their replicas before and after."""
    pods: tuple[tuple[Key, int], ...] = ()
    """Number of running pods before the sync, by workload."""
    hooks: tuple[tuple[Ref, str], ...] = ()
    """Hooks that ran, each with its phase."""
    taken_over: tuple[tuple[Ref, str], ...] = ()
    """Objects that were tracked by another Application, with its name."""

    @property
    def is_nothing(self) -> bool:
        changed = self.overwritten or self.created or self.deleted or self.recreated
        return not (changed or self.hooks or self.taken_over)

    def pods_of(self, ref: Ref) -> int:
        return dict(self.pods).get(ref.key, 0)


def effects_of(world: SimulatedCase, since: int) -> Effects:
    """The effects on the app's own objects since an index in the journal of writes."""
    return _EffectsReader(world, world.simulation.api_server.store.journal[since:]).read()


def data_loss_text(world: SimulatedCase, ref: Ref) -> str:
    """Describes what is lost when the object is deleted; empty if nothing is."""
    if ref.kind == "CustomResourceDefinition":
        body = world.before.get(ref.key, {})
        kind, group = text(dig(body, "spec", "names", "kind")), text(dig(body, "spec", "group"))
        known = sum(
            not group or manifest.ref.group == group
            for manifest in world.case.index.live_by_kind.get(kind, ())
        )
        return f"and every {kind or 'object of its kind'}" + (f" ({known} known)" if known else "")
    if ref.kind == "Namespace":
        return "and everything in it"
    if ref.kind in ("PersistentVolumeClaim", "PersistentVolume"):
        return _volume_loss_text(world, ref)
    if ref.kind == "StatefulSet":
        spec = fields(world.before.get(ref.key, {}).get("spec"))
        policy = dig(spec, "persistentVolumeClaimRetentionPolicy", "whenDeleted")
        if policy != "Delete" or not items(spec.get("volumeClaimTemplates")):
            return ""
        lost, kept = deleted_claims(world.case, ref, spec)
        if kept and not lost:
            return "and its claims (whenDeleted: Delete); their volumes stay (reclaim policy Retain)"
        return "and its claims with their data (whenDeleted: Delete)"
    if (ref.group, ref.kind) == ("argoproj.io", "Application"):
        cascades = Finalizers.of(world.before.get(ref.key, {})).cascades
        return "and all that it deployed (it has Argo CD's resources-finalizer)" if cascades else ""
    return "and its data" if ref.kind == "Secret" else ""


def _volume_loss_text(world: SimulatedCase, ref: Ref) -> str:
    match reclaim_policy(world.case, ref):
        case "Retain":
            return "(its volume keeps the data: reclaim policy Retain)"
        case "Delete":
            return "and its data (reclaim policy Delete)"
        case _:
            return "and its data (unless its volume has reclaim policy Retain)"


class _EffectsReader:
    def __init__(self, world: SimulatedCase, changes: list[Change]) -> None:
        self._world = world
        self._before = world.before
        self._changes: dict[Key, list[Change]] = {}
        own = self._own_keys()
        for change in changes:
            key = ref_of(change.obj).key
            if key in own:
                self._changes.setdefault(key, []).append(change)
        self._pods = _running_pods(world.before)
        self._writers = {(writer.ref.key, writer.pointer): writer for writer in world.writers.all}

    def _own_keys(self) -> set[Key]:
        results = items(dig(self._world.operation, "syncResult", "resources"))
        reported = {
            Key(*(text(dig(result, field)) for field in ("group", "kind", "namespace", "name")))
            for result in results
        }
        return reported | set(self._world.scope.keys)

    def read(self) -> Effects:
        created: list[Ref] = []
        deleted: list[Ref] = []
        recreated: list[Ref] = []
        restarted: list[tuple[Ref, int]] = []
        scaled: list[tuple[Ref, int, int]] = []
        overwritten: list[FieldChange] = []
        hooks = {ref.key: (ref, phase) for ref, phase in self._hooks()}
        for key, changes in sorted(self._changes.items()):
            before = self._before.get(key)
            ref = ref_of(before if before is not None else changes[0].obj)
            if key in hooks:
                continue
            was_deleted = any(change.type == "DELETED" for change in changes)
            if was_deleted:
                (deleted if changes[-1].type == "DELETED" else recreated).append(ref)
                continue
            if before is None:
                created.append(ref)
                continue
            if any(dig(change.obj, "metadata", "deletionTimestamp") for change in changes):
                if not dig(before, "metadata", "deletionTimestamp"):
                    deleted.append(ref)
                continue
            after = next((change.obj for change in changes if _has_relevant_change(before, change.obj)), None)
            if after is None:
                continue
            fields_changed = list(self._changed(ref, before, after))
            overwritten += fields_changed
            old, new = _declared_replicas(before), _declared_replicas(after)
            if old is not None and new is not None and old != new:
                scaled.append((ref, old, new))
            changes_pods = any(pointers.within(change.pointer, _TEMPLATE) for change in fields_changed)
            if ref.kind in WORKLOADS and changes_pods:
                restarted.append((ref, self._pods.get(key, 0)))
        return Effects(
            overwritten=tuple(overwritten),
            created=tuple(created),
            deleted=tuple(deleted),
            recreated=tuple(recreated),
            restarted=tuple(restarted),
            scaled=tuple(scaled),
            pods=tuple(sorted(self._pods.items())),
            hooks=tuple(hooks.values()),
            taken_over=tuple(self._taken_over()),
        )

    def _taken_over(self) -> Iterator[tuple[Ref, str]]:
        """Objects whose tracking changed from another Application to this one."""
        settings, app = self._world.case.argocd, self._world.case.app
        for key, changes in sorted(self._changes.items()):
            before = self._before.get(key)
            if before is None or changes[-1].type == "DELETED":
                continue
            old, new = (
                owner_of(obj, method=settings.tracking_method, label_key=settings.instance_label_key)
                for obj in (before, changes[-1].obj)
            )
            own = {f"{app.namespace}_{app.name}", app.name, app.qualified_name}
            if old and new and old != new and not {old, new} <= own:
                yield ref_of(before), old

    def _hooks(self) -> Iterator[tuple[Ref, str]]:
        for raw in items(dig(self._world.operation, "syncResult", "resources")):
            row = fields(raw)
            if row.get("hookType") and row.get("status") != "SyncFailed":  # a rejected hook does not run
                ref = Ref(
                    group=text(row.get("group")),
                    version=text(row.get("version")),
                    kind=text(row.get("kind")),
                    namespace=text(row.get("namespace")),
                    name=text(row.get("name")),
                )
                yield ref, text(row.get("syncPhase")) or text(row.get("hookType"))

    def _changed(self, ref: Ref, before: Object, after: Object) -> Iterator[FieldChange]:
        for difference in differences(after, before):
            if any(pointers.within(difference.pointer, pointer) for pointer in _SERVER_FIELDS):
                continue
            if difference.live_value is MISSING and self._is_default(ref, difference.pointer):
                continue
            writer = None if difference.live_value is MISSING else writer_of(before, difference.pointer)
            other_writer = self._writers.get((ref.key, difference.pointer))
            time = self._time(ref, writer, difference.pointer)
            yield FieldChange(
                ref=ref,
                pointer=difference.pointer,
                before=difference.live_value,
                after=difference.desired_value,
                writer=writer,
                mechanism=other_writer.mechanism if other_writer is not None else None,
                age=self._world.case.age(time),
            )

    def _is_default(self, ref: Ref, pointer: str) -> bool:
        """Is it a default that the facts leave out? Git does not declare it, and the server always has it."""
        desired = self._world.case.desired_of(ref.key)
        return desired is not None and isinstance(pointers.resolve(desired.body, pointer), Missing)

    def _time(self, ref: Ref, writer: Writer | None, pointer: str) -> datetime | None:
        """Time of the write; `managedFields` has none for `scale`, so events and status are used."""
        if writer is None or writer.time is not None or pointer != _REPLICAS:
            return writer.time if writer is not None else None
        case = self._world.case
        events = (event for _, event in case.events_about(ref) if event.reason == "ScalingReplicaSet")
        times = [event.seen_at for event in events if event.seen_at is not None]
        status = writer_of(self._before.get(ref.key, {}), "/status/replicas")
        return max(times) if times else (status.time if status is not None else None)


def _has_relevant_change(before: Object, after: Object) -> bool:
    """Do the objects differ in more than status and server-managed fields?"""
    for difference in differences(after, before):
        if not any(pointers.within(difference.pointer, pointer) for pointer in _SERVER_FIELDS):
            return True
    return False


def _declared_replicas(obj: Object) -> int | None:
    replicas = dig(obj, "spec", "replicas")
    return replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None


def _running_pods(objects: dict[Key, Object]) -> dict[Key, int]:
    """Number of running pods by workload, including the owners of ReplicaSets."""
    owner: dict[Key, Key] = {}
    for key, obj in objects.items():
        for raw in items(dig(obj, "metadata", "ownerReferences"))[:1]:
            group = text(dig(raw, "apiVersion")).rpartition("/")[0]
            owner[key] = Key(group, text(dig(raw, "kind")), key.namespace, text(dig(raw, "name")))
    counts: dict[Key, int] = {}
    for key, obj in objects.items():
        if key.kind != "Pod" or dig(obj, "status", "phase") != "Running":
            continue
        ancestor, depth = owner.get(key), 0
        while ancestor is not None and depth < _MAX_OWNER_DEPTH:
            counts[ancestor] = counts.get(ancestor, 0) + 1
            ancestor, depth = owner.get(ancestor), depth + 1
    for key, obj in objects.items():
        if key in counts or (key.kind not in WORKLOADS and _declared_replicas(obj) is None):
            continue
        ready = integer(dig(obj, "status", "readyReplicas"))
        no_status = key.kind not in WORKLOADS or not fields(obj.get("status"))
        counts[key] = ready or ((_declared_replicas(obj) or 0) if no_status else 0)  # assumed to run
    return counts


_OBSERVATION_TIME: Final = timedelta(minutes=15)
_MAX_AUTO_SYNCS: Final = 3
_WRITE_RESULTS: Final = (" configured", " created", " serverside-applied", " replaced")


class DriftAfterSync(msgspec.Struct, frozen=True, kw_only=True):
    """How the app drifts after a sync. `differs_after`: time until it differs; `None` if it does not."""

    differs_after: timedelta | None = None
    auto_syncs: int = 0
    """Number of syncs that Argo CD started by itself."""
    period: timedelta | None = None
    """Time between two of them, from history or from the simulation."""
    period_reported: bool = False
    """The period is that of the history."""
    writers: tuple[OtherWriter, ...] = ()
    deleted_keys: tuple[Key, ...] = ()
    """Objects that another writer deletes."""

    @property
    def is_loop(self) -> bool:
        return self.auto_syncs > 1


def drift_after_sync(world: SimulatedCase) -> DriftAfterSync:
    """Enable auto-sync and run on until a loop is evident. Raises `NeverSettles`."""
    synced_at, start = world.simulation.clock.now, len(world.simulation.argocd.trace)
    differs: dict[Key, datetime] = dict.fromkeys(_differing(world), synced_at)
    world.enable_auto_sync()

    def is_loop() -> bool:
        for key in _differing(world):
            differs.setdefault(key, world.simulation.clock.now)
        return len(_started(world.simulation.argocd.trace[start:])) > _MAX_AUTO_SYNCS

    world.until(is_loop, _OBSERVATION_TIME)
    events = world.simulation.argocd.trace[start:]
    starts = _started(events)
    for event in events:  # a difference that is corrected at once shows only in what was written
        if (
            starts
            and event.kind is TraceKind.RESULT
            and event.about is not None
            and event.text.endswith(_WRITE_RESULTS)
        ):
            differs.setdefault(_key_of(world, event.about.key), event.at)
    if not differs:
        return DriftAfterSync()
    loop = sync_loop_of(world.case)
    writers = tuple(
        writer
        for writer in world.writers.all
        if writer.repeats and writer.confirmed and writer.ref.key in differs
    )
    between = [later - earlier for earlier, later in pairwise(starts)]
    return DriftAfterSync(
        differs_after=min(differs.values()) - synced_at,
        auto_syncs=len(starts),
        period=(loop.period if loop is not None else None) or period_of(writers, between),
        period_reported=loop is not None and loop.period is not None,
        writers=writers,
        deleted_keys=tuple(sorted(differs.keys() - world.objects().keys())),
    )


def _key_of(world: SimulatedCase, key: Key) -> Key:
    """The key of the object; sync results have a namespace even for cluster-scoped objects."""
    cluster_scoped = key._replace(namespace="")
    objects = world.objects()
    return cluster_scoped if key not in objects and cluster_scoped in objects else key


def _started(events: list[TraceEvent]) -> list[datetime]:
    return [event.at for event in events if event.kind is TraceKind.STARTED]


def _differing(world: SimulatedCase) -> frozenset[Key]:
    rows = items(world.status.get("resources"))
    return frozenset(
        Key(*(text(dig(row, field)) for field in ("group", "kind", "namespace", "name")))
        for row in rows
        if dig(row, "status") == "OutOfSync" and dig(row, "requiresPruning") is not True
    )


def period_of(writers: tuple[OtherWriter, ...], spans: list[timedelta]) -> timedelta | None:
    """The median time between syncs, but no less than the observed delay of the slowest writer."""
    if not spans:
        return None
    slowest = max((writer.seconds for writer in writers if writer.delay_observed), default=0.0)
    return max(sorted(spans)[len(spans) // 2], timedelta(seconds=slowest))
