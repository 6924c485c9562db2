"""Recent changes: syncs, commits, charts, images, parameters, settings and project since the app was healthy.

All times are from the facts: Argo CD's history, the operation, `managedFields`, the creation of a ReplicaSet,
an event. The list includes the deployment that was current when the problem began, because it may be the
cause. What the facts do not contain is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from shlex import quote

import msgspec

from whysync.argocd.api.application import InitiatedBy, OperationState
from whysync.diagnosis.case import Case
from whysync.diagnosis.drift.raw_difference import differences
from whysync.diagnosis.evidence import shortened
from whysync.diagnosis.symptom import Side
from whysync.facts.snapshot import Gap, GapKind
from whysync.json_tree import Json, Missing, Object, dig, fields, integer, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import resolve
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import WriterKind, phrase
from whysync.kubernetes.field_writers.ownership import writer_from
from whysync.queries.commands import on_object
from whysync.queries.introducing_commit import plain_template, versions
from whysync.queries.sources import is_commit, repository_secret
from whysync.queries.timestamps import instant

_ROUNDING = timedelta(seconds=2)
"""Times in Kubernetes objects have whole seconds."""
_MOST_PARAMETERS = 20
_MOST = 100
# Programs that a person uses to change a live object.
_MANUAL_WRITERS = frozenset(
    {
        WriterKind.KUBECTL_EDIT,
        WriterKind.KUBECTL_APPLY,
        WriterKind.KUBECTL_SCALE,
        WriterKind.KUBECTL_PATCH,
        WriterKind.KUBECTL_OTHER,
        WriterKind.CONSOLE,
        WriterKind.HELM,
        WriterKind.TERRAFORM,
    }
)
_PHASES = {
    "Failed": "failed sync",
    "Error": "failed sync",
    "Running": "running sync",
    "Terminating": "sync that is being terminated",
}
_SETTINGS = (
    "argocd-cm",
    "argocd-cmd-params-cm",
    "argocd-rbac-cm",
    "argocd-tls-certs-cm",
    "argocd-ssh-known-hosts-cm",
)
_EVENTS = frozenset({"OperationStarted", "OperationCompleted", "ResourceActionRan", "ResourceDeleted"})


class ChangeKind(StrEnum):
    SYNC = "sync"
    COMMIT = "commit"
    CHART = "chart"
    PARAMETER = "parameter"
    """A field of the source: a parameter, a path, a value."""
    NEW_COMMIT = "new-commit"
    """A commit in Git that Argo CD has not compared."""
    IMAGE = "image"
    TEMPLATE = "template"
    """A field of a Pod template other than an image."""
    APPLICATION = "application"
    PROJECT = "project"
    SETTINGS = "settings"
    OBJECT = "object"
    EVENT = "event"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """`time` is `None` if it is unknown; `before` and `after` if there is no value.

    `names_object`: `what` already names the object `about`.
    """

    kind: ChangeKind
    what: str
    about: Ref
    time: datetime | None = None
    who: str = ""
    names_object: bool = False
    before: Json = None
    after: Json = None
    command: str = ""


class RecentChanges(msgspec.Struct, frozen=True, kw_only=True):
    """`began` is the earliest time of a reported problem, in the field `shown_by`."""

    began: datetime | None
    shown_by: str
    changes: tuple[Change, ...]
    gaps: tuple[Gap, ...]


class _Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """One sync: an entry of the history, or the last operation."""

    name: str
    time: datetime | None
    who: InitiatedBy
    revisions: tuple[str, ...]
    sources: tuple[Object, ...]


def recent_changes(case: Case) -> RecentChanges | None:
    """Changes, newest first; `None` for an app without symptoms."""
    if not case.symptoms:
        return None
    began, shown_by = problem_began(case)
    start = _start(case, began)
    changes = [
        change
        for change in _changes(case)
        if change.time is None or start is None or change.time > start + _ROUNDING
    ]
    changes.sort(key=lambda change: (change.time is None, -change.time.timestamp() if change.time else 0))
    return RecentChanges(
        began=began, shown_by=shown_by, changes=tuple(changes[:_MOST]), gaps=tuple(_gaps(case, start))
    )


def problem_began(case: Case) -> tuple[datetime | None, str]:
    """The earliest time of a reported problem, and its field: condition, operation or health."""
    status = case.app.status
    candidates = [
        (condition.last_transition_time, f"/status/conditions/{index}/lastTransitionTime")
        for index, condition in enumerate(status.conditions)
    ]
    operation = status.operation_state
    if operation is not None and operation.phase != "Succeeded":
        field = "finishedAt" if operation.finished_at else "startedAt"
        candidates.append((operation.finished_at or operation.started_at, f"/status/operationState/{field}"))
    if status.health.status not in ("", "Healthy"):
        candidates.append((status.health.last_transition_time, "/status/health/lastTransitionTime"))
    times = [(time, field) for time, field in candidates if time is not None]
    return min(times, default=(None, ""))


def _start(case: Case, began: datetime | None) -> datetime | None:
    """When the deployment before the suspected one was made; `None` if the history is too short."""
    deployed = [entry.deployed_at for entry in case.app.status.history if entry.deployed_at]
    before = [time for time in deployed if began is None or time <= began + _ROUNDING]
    return before[-2] if len(before) > 1 else None


def _changes(case: Case) -> Iterator[Change]:
    yield from _sync_changes(case)
    yield from _spec_changes(case)
    yield from _new_commits(case)
    yield from _template_changes(case)
    yield from _object_writes(case)
    yield from _events(case)


# --- syncs ----------------------------------------------------------------------------------------------


def _deployments(case: Case) -> list[_Deployment]:
    raw = items(case.application.at("/status/history"))
    deployments = [
        _Deployment(
            name=f"sync {entry.id}",
            time=entry.deployed_at,
            who=entry.initiated_by,
            revisions=entry.revisions or (entry.revision,),
            sources=_sources(fields(raw[index])),
        )
        for index, entry in enumerate(case.app.status.history)
    ]
    operation = case.operation
    if operation is not None and operation.operation.sync is not None and not _is_recorded(case, operation):
        result, sync_operation = operation.sync_result, operation.operation.sync
        revisions = (result.revisions or (result.revision,)) if result is not None else ()
        if not any(revisions):
            revisions = sync_operation.revisions or (sync_operation.revision,)
        deployments.append(
            _Deployment(
                name=_PHASES.get(operation.phase, "sync"),
                time=operation.started_at,
                who=operation.operation.initiated_by,
                revisions=revisions,
                sources=_sources(fields(case.application.at("/status/operationState/syncResult"))),
            )
        )
    return deployments


def _is_recorded(case: Case, operation: OperationState) -> bool:
    """Is it the last entry of the history? Failed syncs and self-heal syncs are not recorded."""
    recorded = [entry.deployed_at for entry in case.app.status.history if entry.deployed_at]
    ended = operation.finished_at
    if operation.phase != "Succeeded" or ended is None:
        return False
    return bool(recorded) and ended <= recorded[-1] + _ROUNDING


def _sources(body: Object) -> tuple[Object, ...]:
    several = tuple(fields(source) for source in items(body.get("sources")))
    return several or ((fields(body.get("source")),) if body.get("source") else ())


def _sync_changes(case: Case) -> Iterator[Change]:
    deployments = _deployments(case)
    about = case.application.ref
    for before, after in pairwise((None, *deployments)):
        if after is None:
            continue
        username = after.who.username or ("auto-sync" if after.who.automated else "")
        revisions = ", ".join(
            revision[:8] if is_commit(revision) else revision for revision in after.revisions
        )
        description = f"{after.name} to {revisions}" if revisions.strip(", ") else after.name
        yield Change(kind=ChangeKind.SYNC, what=description, about=about, time=after.time, who=username)
        if before is not None:
            yield from _revision_changes(case, before, after)
            yield from _source_changes(before.sources, after.sources, about, after.time)


def _revision_changes(case: Case, before: _Deployment, after: _Deployment) -> Iterator[Change]:
    if len(before.revisions) != len(after.revisions):
        return
    several = len(after.revisions) > 1
    for index, (old, new) in enumerate(zip(before.revisions, after.revisions, strict=True)):
        if not old or not new or old == new:
            continue
        source = after.sources[index] if index < len(after.sources) else {}
        own = case.app.sources[index] if index < len(case.app.sources) else None
        chart = text(source.get("chart")) or (own.chart if own is not None else "")
        path = text(source.get("path")) or (own.path if own is not None else "")
        commits = is_commit(old) and is_commit(new)
        yield Change(
            kind=ChangeKind.CHART if chart else ChangeKind.COMMIT,
            what=(f"chart {chart}" if chart else "commit") + (f" of source {index + 1}" if several else ""),
            about=case.application.ref,
            time=after.time,
            before=old,
            after=new,
            command=f"git log --oneline {old[:8]}..{new[:8]} -- {quote(path or '.')}" if commits else "",
        )


def _source_field(source: Json, pointer: str) -> str:
    """`parameter image.tag`: an entry of a list by its name, another field by its pointer."""
    around, _, field = pointer.rpartition("/")
    name = text(dig(resolve(source, around), "name"))
    return f"parameter {name}" if name and field == "value" else f"source {pointer}"


def _source_changes(
    before: tuple[Object, ...], after: tuple[Object, ...], about: Ref, time: datetime | None
) -> Iterator[Change]:
    """Fields of the sources, where both are known."""
    if not before or not after:
        return
    old: list[Json] = [*before]
    new: list[Json] = [*after]
    single = len(old) == len(new) == 1
    changes = differences(old[0], new[0]) if single else differences(old, new)
    for _, difference in zip(range(_MOST_PARAMETERS), changes, strict=False):
        yield Change(
            kind=ChangeKind.PARAMETER,
            what=_source_field(new[0] if single else new, difference.pointer),
            about=about,
            time=time,
            before=_value(difference.desired_value),
            after=_value(difference.live_value),
        )


def _spec_changes(case: Case) -> Iterator[Change]:
    """Fields of the source that differ from the last deployment; the time of the change is unknown."""
    deployments = [deployment for deployment in _deployments(case) if deployment.sources]
    if deployments:
        now = _sources(fields(case.application.at("/spec")))
        yield from _source_changes(deployments[-1].sources, now, case.application.ref, None)


def _new_commits(case: Case) -> Iterator[Change]:
    for index, source in enumerate(case.app.sources):
        head = case.head_of(source.repo_url, source.target_revision)
        compared = case.app.revisions[index] if index < len(case.app.revisions) else ""
        if head is None or not is_commit(compared) or head.commit.startswith(compared[:7]):
            continue
        yield Change(
            kind=ChangeKind.NEW_COMMIT,
            what=f"{head.revision} of {head.repo} in Git",
            about=case.application.ref,
            before=compared,
            after=head.commit,
            command=f"git log --oneline {compared[:8]}..{head.commit[:8]} -- {quote(source.path or '.')}",
        )


def _value(value: Json | Missing) -> Json:
    return None if isinstance(value, Missing) else shortened(value)


# --- workloads ------------------------------------------------------------------------------------------


def _template_changes(case: Case) -> Iterator[Change]:
    for row in case.app.status.resources:
        live = case.live_of(row.key)
        if live is None:
            continue
        new, old, time = _versions(case, live)
        for difference in differences(old, new) if new and old else ():
            pointer = f"/spec/template{difference.pointer}"
            yield Change(
                kind=ChangeKind.IMAGE if pointer.endswith("/image") else ChangeKind.TEMPLATE,
                what=pointer,
                about=live.ref,
                time=time,
                before=_value(difference.desired_value),
                after=_value(difference.live_value),
            )


def _versions(case: Case, live: Manifest) -> tuple[Object, Object, datetime | None]:
    """The newest two Pod templates below a workload, and when the newer one was created."""
    sets = versions(case, live) if live.ref.kind == "Deployment" else []
    if sets:
        templates = [fields(manifest.at("/spec/template")) for manifest in sets]
    else:
        revisions = (
            manifest for manifest in case.owned_by(live.ref) if manifest.ref.kind == "ControllerRevision"
        )
        sets = sorted(revisions, key=lambda manifest: -integer(manifest.body.get("revision")))
        templates = [fields(dig(manifest.body, "data", "spec", "template")) for manifest in sets]
    if len(sets) < 2:
        return {}, {}, None
    return (
        plain_template(templates[0]),
        plain_template(templates[1]),
        instant(sets[0].meta.get("creationTimestamp")),
    )


# --- who wrote objects ----------------------------------------------------------------------------------


def _object_writes(case: Case) -> Iterator[Change]:
    yield from _writes(case.application, ChangeKind.APPLICATION, ("f:spec",))
    if case.project_manifest is not None:
        yield from _writes(case.project_manifest, ChangeKind.PROJECT, ("f:spec",))
    for settings in _settings(case):
        yield from _writes(settings, ChangeKind.SETTINGS, ("f:data",))
    for row in case.app.status.resources:
        live = case.live_of(row.key)
        if live is not None:
            yield from _writes(live, ChangeKind.OBJECT, ("f:spec", "f:data"), people=True)


def _settings(case: Case) -> Iterator[Manifest]:
    """Argo CD's ConfigMaps, and where it could not compare, the credentials of the app's repositories."""
    for name in _SETTINGS:
        manifest = case.settings(name)
        if manifest is not None:
            yield manifest
    if any(symptom.side is Side.COMPARE for symptom in case.symptoms):
        for source in case.app.sources:
            secret = repository_secret(case, source.repo_url)
            if secret is not None:
                yield secret


def _writes(
    manifest: Manifest, kind: ChangeKind, parts: tuple[str, ...], *, people: bool = False
) -> Iterator[Change]:
    """The last write of each manager that owns one of these parts, except the creation."""
    created = instant(manifest.meta.get("creationTimestamp"))
    for raw in items(manifest.meta.get("managedFields")):
        entry = fields(raw)
        owned = fields(entry.get("fieldsV1"))
        writer = writer_from(entry)
        if writer.time is None or writer.time.tzinfo is None or not any(part in owned for part in parts):
            continue
        if people and writer.kind not in _MANUAL_WRITERS:
            continue
        if created is None or writer.time > created + _ROUNDING:
            yield Change(
                kind=kind,
                what=f"{manifest.ref} was written",
                names_object=True,
                about=manifest.ref,
                time=writer.time,
                who=phrase(writer),
            )


def _events(case: Case) -> Iterator[Change]:
    reported: set[tuple[str, datetime | None]] = set()
    for _, event in case.events_about(case.application.ref):
        key = (event.says, event.seen_at)
        if event.reason in _EVENTS and key not in reported:
            reported.add(key)
            description = f"{event.reason}: {event.says}"
            yield Change(
                kind=ChangeKind.EVENT, what=description, about=case.application.ref, time=event.seen_at
            )


# --- what the facts do not contain -------------------------------------------------------------------------


def _gaps(case: Case, start: datetime | None) -> Iterator[Gap]:
    if start is None:
        yield _gap("earlier deployed versions", "status.history is too short")
    if not case.application.meta.get("managedFields"):
        yield _gap(
            "when the Application was edited, and by which program",
            "it came without managedFields",
            on_object("get", case.application.ref, "-o", "yaml", "--show-managed-fields"),
        )
    if case.project_manifest is None:
        yield _gap(f"changes of project {case.app.project}", "the AppProject is not in the facts")
    if case.settings("argocd-cm") is None:
        yield _gap("changes of Argo CD's settings", "argocd-cm is not in the facts")
    if not case.index.snapshot.heads:
        yield _gap("commits that Argo CD has not compared", "the facts contain no Git heads")


def _gap(what: str, why: str, how_to_get: str = "") -> Gap:
    return Gap(kind=GapKind.NOT_COLLECTED, what=what, why=why, how_to_get=how_to_get)
