"""Differences that do not count: fields that Argo CD's diff does not show, or that an ignore rule hides.

A three-way diff does not see what Git never set; an ignore rule hides what it names. Neither is wrong. They
are worth a note only where a person, not a controller or the API server, wrote the field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import SyncCode
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.ignored_fields import IgnoredFields
from whysync.argocd.ignore_differences import Rule, application_rules
from whysync.diagnosis.drift import HiddenBy
from whysync.diagnosis.raw_difference import Difference, differences
from whysync.json_tree import MISSING, Json, Missing, Object, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.field_writers import Writer, WriterKind, kind_of, writer_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

BY_HAND = frozenset(
    {WriterKind.KUBECTL_EDIT, WriterKind.KUBECTL_PATCH, WriterKind.KUBECTL_SCALE, WriterKind.CONSOLE}
)
_NOT_DRIFT = (
    LAST_APPLIED_POINTER,
    "/metadata/creationTimestamp",
    "/metadata/finalizers",
    "/metadata/generation",
    "/metadata/managedFields",
    "/metadata/namespace",
    "/metadata/ownerReferences",
    "/metadata/resourceVersion",
    "/metadata/selfLink",
    "/metadata/uid",
    "/status",
)
_RESTARTED = "kubectl.kubernetes.io~1restartedAt"
# Switches that are off unless somebody turns them on.
_SWITCHES = {"CronJob": "/spec/suspend", "Job": "/spec/suspend", "Deployment": "/spec/paused"}


class HiddenDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a resource that Argo CD calls Synced, and that is not as Git has it."""

    key: Key
    desired: Manifest
    live: Manifest
    difference: Difference
    writer: Writer | None
    rule: Rule | None = None

    @property
    def pointer(self) -> str:
        return self.difference.pointer


class UnreportedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field that differs although Argo CD does not show it, and what hides it."""

    ref: Ref
    pointer: str
    desired: Json | Missing
    live: Json | Missing
    hidden_by: HiddenBy
    ignore_rule: str = ""
    """Which rule hides it: where it is configured, and its pointer, expression or manager."""


def unreported_differences(case: Case) -> tuple[UnreportedDifference, ...]:
    """All differences of an app that Argo CD does not show: ignored, normalized or reported as Synced.

    Not of apps without symptoms and without ignore rules: a fleet is not compared again for them.
    """
    if not case.symptoms and not case.app.spec.ignore_differences:
        return ()
    unreported = {(drift.ref.key, drift.pointer): drift for drift in _hidden_drifts(case)}
    comparison = case.comparison
    if isinstance(comparison, Comparison):
        ignored = IgnoredFields(comparison)
        for resource in comparison.resources:
            for field in (*_ignored(resource, ignored), *_reported_as_synced(case, resource)):
                unreported[field.ref.key, field.pointer] = field
    return tuple(unreported[place] for place in sorted(unreported))


def _hidden_drifts(case: Case) -> Iterator[UnreportedDifference]:
    for drift in case.drifts:
        if drift.hidden_by is not None:
            yield UnreportedDifference(
                ref=drift.ref,
                pointer=drift.pointer,
                desired=drift.wanted,
                live=drift.found,
                hidden_by=drift.hidden_by,
            )


def _ignored(resource: ComparedResource, ignored: IgnoredFields) -> Iterator[UnreportedDifference]:
    for field in ignored.of(resource):
        yield UnreportedDifference(
            ref=resource.ref,
            pointer=field.change.pointer,
            desired=field.change.desired,
            live=field.change.live,
            hidden_by=HiddenBy.IGNORE_RULE,
            ignore_rule=f"{field.rule.origin}: {field.selector}" if field.rule is not None else "",
        )


def _reported_as_synced(case: Case, resource: ComparedResource) -> Iterator[UnreportedDifference]:
    row = case.rows.get(resource.key)
    if row is None or row.status != SyncCode.SYNCED or not resource.is_modified or resource.diff is None:
        return
    for change in resource.diff.changes:
        yield UnreportedDifference(
            ref=resource.ref,
            pointer=change.pointer,
            desired=change.desired,
            live=change.live,
            hidden_by=HiddenBy.REPORTED_SYNCED,
        )


def unseen_by_hand(case: Case) -> Iterator[HiddenDifference]:
    """Fields of Synced resources that a person wrote; without managedFields, what nobody else writes."""
    for key, desired, live in _pairs(case, "Synced"):
        managers = items(live.meta.get("managedFields"))
        if not managers:
            for difference in _only_people_write(desired, live):
                yield HiddenDifference(
                    key=key, desired=desired, live=live, difference=difference, writer=None
                )
        if not any(_is_hand(fields(entry)) for entry in managers):
            continue
        for difference in differences(desired.body, live.body):
            if isinstance(difference.found, Missing) or _is_no_drift(difference.pointer):
                continue
            writer = writer_of(live.body, difference.pointer)
            if writer is not None and writer.kind in BY_HAND:
                yield HiddenDifference(
                    key=key, desired=desired, live=live, difference=difference, writer=writer
                )


def hidden_by_ignoring(case: Case, *, status: str = "Synced") -> Iterator[HiddenDifference]:
    """Fields that Git declares, that live has otherwise, and that a rule of the Application hides.

    Of rows with that status: one that is OutOfSync all the same is a riddle of its own.
    """
    rules = tuple(application_rules(case.app.spec.ignore_differences))
    normalizer = case.own_ignoring
    if normalizer is None or not rules:
        return
    for key, desired, live in _pairs(case, status):
        applying = [rule for rule in rules if rule.mismatch(live.ref) is None]
        if not applying:
            continue
        left = {
            d.pointer
            for d in differences(normalizer.normalize(desired.body), normalizer.normalize(live.body))
        }
        for difference in differences(desired.body, live.body):
            declared = not isinstance(difference.wanted, Missing) and not isinstance(
                difference.found, Missing
            )
            if declared and difference.pointer not in left and not _is_no_drift(difference.pointer):
                writer = writer_of(live.body, difference.pointer)
                yield HiddenDifference(
                    key=key,
                    desired=desired,
                    live=live,
                    difference=difference,
                    writer=writer,
                    rule=applying[0],
                )


def emptied_by_ignoring(case: Case) -> Iterator[HiddenDifference]:
    """Maps and lists that only the cluster has, of OutOfSync rows, whose whole content a rule takes away."""
    rules = tuple(application_rules(case.app.spec.ignore_differences))
    normalizer = case.own_ignoring
    for key, desired, live in _pairs(case, "OutOfSync") if normalizer is not None and rules else ():
        applying = [rule for rule in rules if rule.mismatch(live.ref) is None]
        left = normalizer.normalize(live.body) if normalizer is not None and applying else live.body
        for difference in differences(desired.body, live.body) if left is not live.body else ():
            shell = pointers.resolve(left, difference.pointer)
            if isinstance(difference.wanted, Missing) and difference.found and shell in ({}, []):
                yield HiddenDifference(
                    key=key, desired=desired, live=live, difference=difference, writer=None, rule=applying[0]
                )


def _pairs(case: Case, status: str) -> Iterator[tuple[Key, Manifest, Manifest]]:
    for row in case.app.status.resources:
        if row.status == status:
            desired, live = case.desired_of(row.key), case.live_of(row.key)
            if desired is not None and live is not None:
                yield row.key, desired, live


def _is_hand(given: Object) -> bool:
    kind = kind_of(
        text(given.get("manager")),
        operation=text(given.get("operation")),
        subresource=text(given.get("subresource")),
    )
    return kind in BY_HAND and given.get("subresource") != "status"


def _is_no_drift(pointer: str) -> bool:
    return pointer.endswith(_RESTARTED) or any(pointers.within(pointer, one) for one in _NOT_DRIFT)


def _only_people_write(desired: Manifest, live: Manifest) -> Iterator[Difference]:
    """Only the cluster has it, and neither a default nor a controller explains it."""
    kind = live.ref.kind
    if kind == "ConfigMap":
        injected = any("inject" in name for name in (*live.labels, *live.annotations))
        if not injected and not live.meta.get("ownerReferences"):
            yield from _added(desired, live, ("data",))
    elif kind == "Ingress":
        # settings that its controller reads; what such controllers write has no prefix of their name
        for difference in _added(desired, live, ("metadata", "annotations")):
            if ".ingress.kubernetes.io/" in pointers.split(difference.pointer)[-1]:
                yield difference
    elif kind in _SWITCHES:
        switch = _SWITCHES[kind]
        if live.at(switch) is True and isinstance(desired.at(switch), Missing):
            yield Difference(switch, MISSING, True)


def _added(desired: Manifest, live: Manifest, path: tuple[str, ...]) -> Iterator[Difference]:
    declared = fields(desired.at(pointers.join(path)))
    for name, value in sorted(fields(live.at(pointers.join(path))).items()):
        if name not in declared:
            yield Difference(pointers.join((*path, name)), MISSING, value)
