"""What a sync does to the objects of a simulation, and whether that lasts.

Effects are read from the journal of writes, object by object. Whether they last is seen when time passes with
all other writers active.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

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

WORKLOADS: Final = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Rollout"})
_DATA: Final = frozenset({"PersistentVolumeClaim", "PersistentVolume", "Secret", "Namespace"})
_PEOPLE: Final = frozenset(
    {
        WriterKind.KUBECTL_EDIT,
        WriterKind.KUBECTL_APPLY,
        WriterKind.KUBECTL_SCALE,
        WriterKind.KUBECTL_PATCH,
        WriterKind.KUBECTL_OTHER,
        WriterKind.CONSOLE,
    }
)
_NOBODYS: Final = frozenset({WriterKind.ARGOCD, WriterKind.API_SERVER})
_TEMPLATE: Final = "/spec/template"
_REPLICAS: Final = "/spec/replicas"
# Written by servers and by Argo CD itself with each apply: nobody's work.
_PLUMBING: Final = (
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwritten:
    """One field that the sync changed; `before` is missing where it was only in Git."""

    ref: Ref
    pointer: str
    before: Json | Missing
    after: Json | Missing
    writer: Writer | None
    mechanism: Mechanism | None
    age: timedelta | None
    """Of the writer's last change; `None` where nobody knows."""

    @property
    def by_hand(self) -> bool:
        if self.mechanism is not None:
            return self.mechanism is Mechanism.BY_HAND
        return self.writer is not None and self.writer.kind in _PEOPLE

    @property
    def is_of_git(self) -> bool:
        """Is it plainly a newer commit that changes it? Who wrote what nobody knows may be missed."""
        if self.mechanism is not None:
            return self.mechanism in (Mechanism.NOT_SYNCED_YET, Mechanism.KEPT)
        return self.writer is not None and self.writer.kind in _NOBODYS

    @property
    def is_work(self) -> bool:
        """Did somebody other than Argo CD put it there?"""
        if self.mechanism in (Mechanism.NOT_SYNCED_YET, Mechanism.KEPT):
            return False
        return self.by_hand or (self.writer is not None and self.writer.kind not in _NOBODYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    overwritten: tuple[Overwritten, ...] = ()
    created: tuple[Ref, ...] = ()
    deleted: tuple[Ref, ...] = ()
    recreated: tuple[Ref, ...] = ()
    restarted: tuple[tuple[Ref, int], ...] = ()
    """Workloads whose template changed, each with its running pods."""
    scaled: tuple[tuple[Ref, int, int], ...] = ()
    """From how many replicas to how many."""
    pods: tuple[tuple[Key, int], ...] = ()
    """How many pods ran at the start, by workload."""
    hooks: tuple[tuple[Ref, str], ...] = ()
    """Hooks that ran, each with its phase."""
    taken: tuple[tuple[Ref, str], ...] = ()
    """Objects that were marked as another Application's."""

    @property
    def is_nothing(self) -> bool:
        changed = self.overwritten or self.created or self.deleted or self.recreated
        return not (changed or self.hooks or self.taken)

    def pods_of(self, ref: Ref) -> int:
        return dict(self.pods).get(ref.key, 0)


def effects_of(world: SimulatedCase, since: int) -> Effects:
    """All that happened to the app's own objects since that place in the journal, while the sync ran."""
    return _Reading(world, world.simulation.api_server.store.journal[since:]).made()


def holds_data(world: SimulatedCase, ref: Ref) -> str:
    """In words what would be lost with it; empty where nothing is."""
    if ref.kind == "CustomResourceDefinition":
        body = world.before.get(ref.key, {})
        kind, group = text(dig(body, "spec", "names", "kind")), text(dig(body, "spec", "group"))
        known = len(
            [
                one
                for one in world.case.index.live_by_kind.get(kind, ())
                if not group or one.ref.group == group
            ]
        )
        return f"and with it every {kind or 'object of its kind'}" + (f" ({known} known)" if known else "")
    if ref.kind == "Namespace":
        return "and all that is in it"
    return "and the data it holds" if ref.kind in _DATA else ""


class _Reading:
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
        self._mechanisms = {(one.ref.key, one.pointer): one for one in world.writers.all}

    def _own_keys(self) -> set[Key]:
        results = items(dig(self._world.operation, "syncResult", "resources"))
        named = {
            Key(*(text(dig(result, part)) for part in ("group", "kind", "namespace", "name")))
            for result in results
        }
        return named | set(self._world.part.keys)

    def made(self) -> Effects:
        created: list[Ref] = []
        deleted: list[Ref] = []
        recreated: list[Ref] = []
        restarted: list[tuple[Ref, int]] = []
        scaled: list[tuple[Ref, int, int]] = []
        overwritten: list[Overwritten] = []
        hooks = {ref.key: (ref, phase) for ref, phase in self._hooks()}
        for key, changes in sorted(self._changes.items()):
            before = self._before.get(key)
            ref = ref_of(before if before is not None else changes[0].obj)
            if key in hooks:
                continue
            gone = any(change.type == "DELETED" for change in changes)
            if gone:
                (deleted if changes[-1].type == "DELETED" else recreated).append(ref)
                continue
            if before is None:
                created.append(ref)
                continue
            if any(dig(change.obj, "metadata", "deletionTimestamp") for change in changes):
                if not dig(before, "metadata", "deletionTimestamp"):
                    deleted.append(ref)
                continue
            after = next((change.obj for change in changes if _says_else(before, change.obj)), None)
            if after is None:
                continue
            fields_changed = list(self._changed(ref, before, after))
            overwritten += fields_changed
            old, new = _replicas(before), _replicas(after)
            if old is not None and new is not None and old != new:
                scaled.append((ref, old, new))
            changes_pods = any(pointers.within(one.pointer, _TEMPLATE) for one in fields_changed)
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
            taken=tuple(self._taken()),
        )

    def _taken(self) -> Iterator[tuple[Ref, str]]:
        """Whose mark was another one before, and has changed."""
        settings, app = self._world.case.argocd, self._world.case.app
        for key, changes in sorted(self._changes.items()):
            before = self._before.get(key)
            if before is None or changes[-1].type == "DELETED":
                continue
            old, new = (
                owner_of(one, method=settings.tracking_method, label_key=settings.instance_label_key)
                for one in (before, changes[-1].obj)
            )
            own = {f"{app.namespace}_{app.name}", app.name, app.qualified_name}
            if old and new and old != new and not {old, new} <= own:
                yield ref_of(before), old

    def _hooks(self) -> Iterator[tuple[Ref, str]]:
        for raw in items(dig(self._world.operation, "syncResult", "resources")):
            row = fields(raw)
            if row.get("hookType") and row.get("status") != "SyncFailed":  # what is refused does not run
                ref = Ref(
                    group=text(row.get("group")),
                    version=text(row.get("version")),
                    kind=text(row.get("kind")),
                    namespace=text(row.get("namespace")),
                    name=text(row.get("name")),
                )
                yield ref, text(row.get("syncPhase")) or text(row.get("hookType"))

    def _changed(self, ref: Ref, before: Object, after: Object) -> Iterator[Overwritten]:
        for found in differences(after, before):
            if any(pointers.within(found.pointer, one) for one in _PLUMBING):
                continue
            writer = None if found.live_value is MISSING else writer_of(before, found.pointer)
            known = self._mechanisms.get((ref.key, found.pointer))
            time = self._time(ref, writer, found.pointer)
            yield Overwritten(
                ref=ref,
                pointer=found.pointer,
                before=found.live_value,
                after=found.desired_value,
                writer=writer,
                mechanism=known.mechanism if known is not None else None,
                age=self._world.case.age(time),
            )

    def _time(self, ref: Ref, writer: Writer | None, pointer: str) -> datetime | None:
        """The API server keeps no time of writes through `scale`: what followed them tells it, too."""
        if writer is None or writer.time is not None or pointer != _REPLICAS:
            return writer.time if writer is not None else None
        case = self._world.case
        told = [event.seen_at for _, event in case.events_about(ref) if event.reason == "ScalingReplicaSet"]
        known = [one for one in told if one is not None]
        status = writer_of(self._before.get(ref.key, {}), "/status/replicas")
        return max(known) if known else (status.time if status is not None else None)


def _says_else(before: Object, after: Object) -> bool:
    """Is more different than the status and the record of writers?"""
    for difference in differences(after, before):
        if not any(pointers.within(difference.pointer, plumbing) for plumbing in _PLUMBING):
            return True
    return False


def _replicas(obj: Object) -> int | None:
    found = dig(obj, "spec", "replicas")
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _running_pods(objects: dict[Key, Object]) -> dict[Key, int]:
    """By workload: through ReplicaSets up to the Deployment."""
    owner: dict[Key, Key] = {}
    for key, obj in objects.items():
        for raw in items(dig(obj, "metadata", "ownerReferences"))[:1]:
            group = text(dig(raw, "apiVersion")).rpartition("/")[0]
            owner[key] = Key(group, text(dig(raw, "kind")), key.namespace, text(dig(raw, "name")))
    counts: dict[Key, int] = {}
    for key, obj in objects.items():
        if key.kind != "Pod" or dig(obj, "status", "phase") != "Running":
            continue
        at, steps = owner.get(key), 0
        while at is not None and steps < 5:
            counts[at] = counts.get(at, 0) + 1
            at, steps = owner.get(at), steps + 1
    for key, obj in objects.items():
        if key in counts or (key.kind not in WORKLOADS and _replicas(obj) is None):
            continue
        ready = integer(dig(obj, "status", "readyReplicas"))
        unseen = key.kind not in WORKLOADS or not fields(obj.get("status"))
        counts[key] = ready or ((_replicas(obj) or 0) if unseen else 0)  # nothing says that they do not run
    return counts


WHILE: Final = timedelta(minutes=15)
_ROUNDS: Final = 3
_WRITTEN: Final = (" configured", " created", " serverside-applied", " replaced")


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """`again` is how long after the sync it differed again; `None` where it held."""

    again: timedelta | None = None
    rounds: int = 0
    """Syncs that Argo CD started by itself afterwards."""
    period: timedelta | None = None
    """Between two of them: as history shows it, else as the model does."""
    seen: bool = False
    """The facts show the loop too."""
    writers: tuple[OtherWriter, ...] = ()
    gone: tuple[Key, ...] = ()
    """Objects that are not there any more: somebody deletes them."""

    @property
    def is_loop(self) -> bool:
        return self.rounds > 1


def held(world: SimulatedCase) -> Aftermath:
    """Lets time pass; raises `TimelineNeverSettles`. Ends early once a loop has shown itself."""
    began, start = world.simulation.clock.now, len(world.simulation.argocd.trace)
    differs: dict[Key, datetime] = dict.fromkeys(_differing(world), began)
    world.wake()

    def enough() -> bool:
        for key in _differing(world):
            differs.setdefault(key, world.simulation.clock.now)
        return len(_started(world.simulation.argocd.trace[start:])) > _ROUNDS

    world.until(enough, WHILE)
    moments = world.simulation.argocd.trace[start:]
    starts = _started(moments)
    for moment in moments:  # a difference that is healed at the same instant is seen by what was written only
        if (
            starts
            and moment.what is TraceKind.RESULT
            and moment.about is not None
            and moment.text.endswith(_WRITTEN)
        ):
            differs.setdefault(_key_of(world, moment.about.key), moment.at)
    if not differs:
        return Aftermath()
    loop = sync_loop_of(world.case)
    every = (one for one in world.writers.all if one.again and one.certain)
    writers = tuple(one for one in every if one.ref.key in differs)
    between = [later - earlier for earlier, later in pairwise(starts)]
    return Aftermath(
        again=min(differs.values()) - began,
        rounds=len(starts),
        period=(loop.period if loop is not None else None) or period_of(writers, between),
        seen=loop is not None,
        writers=writers,
        gone=tuple(sorted(differs.keys() - world.objects().keys())),
    )


def _key_of(world: SimulatedCase, told: Key) -> Key:
    """Results name the destination's namespace for cluster-wide objects, too: so Argo CD keeps them."""
    wide = told._replace(namespace="")
    known = world.objects()
    return wide if told not in known and wide in known else told


def _started(moments: list[TraceEvent]) -> list[datetime]:
    return [moment.at for moment in moments if moment.what is TraceKind.STARTED]


def _differing(world: SimulatedCase) -> frozenset[Key]:
    rows = items(world.status.get("resources"))
    return frozenset(
        Key(*(text(dig(row, part)) for part in ("group", "kind", "namespace", "name")))
        for row in rows
        if dig(row, "status") == "OutOfSync" and dig(row, "requiresPruning") is not True
    )


def period_of(writers: tuple[OtherWriter, ...], spans: list[timedelta]) -> timedelta | None:
    """Who was seen to take a minute is no faster for being played: the model's own times are short."""
    if not spans:
        return None
    slowest = max((writer.seconds for writer in writers if writer.timed), default=0.0)
    return max(sorted(spans)[len(spans) // 2], timedelta(seconds=slowest))
