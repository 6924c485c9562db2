"""Hidden drift: fields that differ although Argo CD's diff does not show them, or an ignore rule hides them.

A three-way diff does not report fields that Git never set. Such fields are reported only if neither a
controller nor the API server wrote them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import SyncCode
from whysync.argocd.compare.comparison import ComparedResource, Comparison
from whysync.argocd.compare.ignored_fields import IgnoredFields
from whysync.argocd.diff.normalize import normalize_secret
from whysync.argocd.ignore_differences import Rule, application_rules
from whysync.diagnosis.drift import SERVER_FIELDS, Drift, HiddenBy, per_map_entry
from whysync.diagnosis.drift.equivalent_values import list_with_duplicate_keys
from whysync.diagnosis.drift.field_heuristics import (
    completed,
    is_bookkeeping,
    is_builtin,
    is_known_default,
    is_written_by_reloader,
)
from whysync.diagnosis.drift.mechanism import (
    Mechanism,
    applies_server_side,
    has_unsynced_revision,
    mechanism_of,
)
from whysync.diagnosis.drift.mutating_webhooks import mutating_webhook
from whysync.diagnosis.drift.raw_difference import Difference, differences
from whysync.diagnosis.drift.schemas import crd_of
from whysync.diagnosis.symptom import SymptomId, SymptomKind
from whysync.json_tree import MISSING, Json, Missing, Object, fields, items, text
from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.kubernetes.field_writers import Writer, WriterKind, kind_of, writer_of
from whysync.kubernetes.merge.last_applied import LAST_APPLIED_POINTER, last_applied

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

BY_HAND = frozenset(
    {WriterKind.KUBECTL_EDIT, WriterKind.KUBECTL_PATCH, WriterKind.KUBECTL_SCALE, WriterKind.CONSOLE}
)
_EXCLUDED = (LAST_APPLIED_POINTER, "/metadata/finalizers", *SERVER_FIELDS)
_RESTARTED = "kubectl.kubernetes.io~1restartedAt"
_FEW = 3
_encode = msgspec.json.Encoder().encode
_EMPTY: tuple[Json, ...] = (None, "", [], {})
# Kinds whose fields are mostly filled in by Kubernetes or by controllers.
_FILLED_KINDS = frozenset(
    {
        "APIService", "CustomResourceDefinition", "Endpoints", "EndpointSlice", "Event", "Lease",
        "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "Pod", "ServiceAccount",
        "ValidatingWebhookConfiguration",
    }
)  # fmt: skip
# Fields that admission plugins and controllers of Kubernetes fill in.
_FILLED_FIELDS = frozenset(
    {
        ("PersistentVolumeClaim", "/spec/storageClassName"),
        ("PersistentVolumeClaim", "/spec/volumeName"),
        ("Ingress", "/spec/ingressClassName"),
        ("Job", "/spec/selector"),
        ("Job", "/spec/template/metadata"),
        ("Deployment", "/spec/template/spec/serviceAccount"),
        ("StatefulSet", "/spec/template/spec/serviceAccount"),
        ("DaemonSet", "/spec/template/spec/serviceAccount"),
        ("Job", "/spec/template/spec/serviceAccount"),
        ("CronJob", "/spec/jobTemplate/spec/template/spec/serviceAccount"),
    }
)
# Mechanisms that do not identify the writer without managedFields.
_UNCLEAR_MECHANISMS = frozenset({Mechanism.BY_HAND, Mechanism.CONTESTED, Mechanism.SCALED, Mechanism.UNKNOWN})


_TEMPLATE_LISTS = frozenset({"env", "envFrom", "args", "initContainers", "volumes", "volumeMounts"})
OTHER_TOOLS = frozenset(
    {WriterKind.HELM, WriterKind.KUBECTL_OTHER, WriterKind.OTHER_GITOPS, WriterKind.TERRAFORM}
)
CO_OWNERS = frozenset({WriterKind.CONTROLLER, WriterKind.OPERATOR, WriterKind.UNKNOWN})


class HiddenDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a Synced resource whose live value differs from Git."""

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
    """A differing field that Argo CD does not show, and what hides it."""

    ref: Ref
    pointer: str
    desired: Json | Missing
    live: Json | Missing
    hidden_by: HiddenBy
    ignore_rule: str = ""
    """The rule that hides it: where it is configured, and its pointer, expression or manager."""


def unreported_differences(case: Case) -> tuple[UnreportedDifference, ...]:
    """All differences that Argo CD does not show: ignored, normalized or reported as Synced.

    Apps without symptoms and ignore rules are skipped, to save the comparison.
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
                desired=drift.desired_value,
                live=drift.live_value,
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


def undetected(case: Case) -> tuple[HiddenDifference, ...]:
    """Fields of Synced resources that neither Git, nor a default, nor a known program sets.

    With managedFields: fields that a person wrote or a former manager left, fields of Git that Argo CD itself
    wrote with another value, and with server-side apply elements of a Pod template that a controller owns.
    Without them: fields of Git with another value, and added fields that no default and no known controller
    explains, unless these are in many objects, which points to a program.
    """
    recorded: list[HiddenDifference] = []
    unrecorded: list[HiddenDifference] = []
    for key, desired, live in _pairs(case, "Synced"):
        managers = items(live.meta.get("managedFields"))
        if managers:
            server_side = applies_server_side(case, desired)
            is_manual = any(_is_manual(fields(entry)) for entry in managers) or (
                server_side and any(_is_former_argocd(fields(entry)) for entry in managers)
            )
            is_foreign = _may_be_foreign(live) and any(_is_foreign(fields(entry)) for entry in managers)
            if not is_manual and not is_foreign and _covers(live.body, desired.body):
                continue
            raw = tuple(_raw_drifts(key, desired, live))
            recorded += _recorded(case, raw) if is_manual else ()
            recorded += _missed_by_diff(case, raw)
            recorded += _co_owned(raw) if server_side else ()
            recorded += _added_by_others(raw) if is_foreign else ()
        else:
            raw = tuple(_raw_drifts(key, desired, live))
            recorded += _contradicting(case, raw)
            unrecorded += _added(case, raw) if _may_be_foreign(live) else ()
    few = len({difference.key for difference in unrecorded}) <= _FEW
    return (*recorded, *(unrecorded if few else ()))


def _covers(live: Json, desired: Json) -> bool:
    """Does the live object have everything that Git declares, with the same values? Nearly all have.

    A list counts only if its entries are in the same order, so `False` means that it is not certain.
    """
    if isinstance(desired, dict):
        if not isinstance(live, dict):
            return False
        # This runs for all objects of a fleet: equal parts are compared by compiled code.
        for key, value in desired.items():
            live_value, kind = live.get(key, MISSING), type(value)
            if kind is dict or kind is list:
                if isinstance(live_value, Missing):
                    return False
                if live_value == value and _encode(live_value) == _encode(value):  # 1 equals True in Python
                    continue
                if not _covers(live_value, value):
                    return False
            elif type(live_value) is not kind or live_value != value:
                return False
        return True
    if isinstance(desired, list):
        return isinstance(live, list) and len(live) == len(desired) and all(map(_covers, live, desired))
    return type(live) is type(desired) and live == desired


def _recorded(case: Case, drifts: Iterable[Drift]) -> Iterator[HiddenDifference]:
    for drift in drifts:
        if _is_excluded(drift.pointer):
            continue
        writer = drift.writer
        by_hand = writer is not None and writer.kind in BY_HAND
        if by_hand or mechanism_of(case, drift) is Mechanism.LEFT_OVER:
            yield _hidden_difference(drift)


def _co_owned(drifts: Iterable[Drift]) -> Iterator[HiddenDifference]:
    """Elements of a Pod template that only a controller owns, in an app with server-side apply.

    The controller added them. Or it once took over the list with what Git declared then: a server-side apply
    does not remove what another manager owns as well.
    """
    for drift in drifts:
        parts, writer = pointers.split(drift.pointer), drift.writer
        in_list = "template" in parts and not _TEMPLATE_LISTS.isdisjoint(parts)
        strange = writer is not None and writer.kind in CO_OWNERS
        if drift.only_live and in_list and strange and not is_written_by_reloader(drift):
            yield _hidden_difference(drift)


def _added_by_others(drifts: Iterable[Drift]) -> Iterator[HiddenDifference]:
    """Fields outside of the metadata that a program added which is neither Argo CD nor known to own them.

    No diff shows them: server-side apply keeps what another manager applied, and a three-way diff does not
    compare what Git never declared.
    """
    for drift in drifts:
        writer, root = drift.writer, pointers.split(drift.pointer)[0]
        if writer is None or not drift.only_live or root in ("metadata", "status"):
            continue
        is_filled = (drift.ref.kind, drift.pointer) in _FILLED_FIELDS or is_written_by_reloader(drift)
        is_default = is_builtin(drift.ref) and is_known_default(drift)
        if _is_stranger(writer.kind, writer.operation, drift.ref) and not is_filled and not is_default:
            yield _hidden_difference(drift)


def _is_stranger(kind: WriterKind, operation: str, ref: Ref) -> bool:
    """Other tools count, and whoever applies; who updates a custom resource is most likely its operator."""
    if kind in OTHER_TOOLS:
        return True
    if operation == "Apply":
        return kind in (WriterKind.OPERATOR, WriterKind.UNKNOWN)
    return kind is WriterKind.UNKNOWN and is_builtin(ref)


def _may_be_foreign(live: Manifest) -> bool:
    return live.ref.kind not in _FILLED_KINDS and not live.meta.get("ownerReferences")


def _missed_by_diff(case: Case, drifts: Iterable[Drift]) -> Iterator[HiddenDifference]:
    """Fields that Git declares and that Argo CD itself wrote with another value.

    A server-side diff removes what webhooks changed before it compares, and may remove such a field as well.
    """
    for drift in drifts:
        if drift.only_live:
            continue
        writer = drift.writer
        by_argocd = writer is not None and writer.kind is WriterKind.ARGOCD
        if by_argocd and _is_contradiction(case, drift) and _hiding_rule(case, drift) is None:
            yield _hidden_difference(drift)


def _added(case: Case, drifts: Iterable[Drift]) -> Iterator[HiddenDifference]:
    for drift in drifts:
        if drift.only_live and not _is_explained(case, drift):
            yield _hidden_difference(drift)


def _contradicting(case: Case, drifts: Iterable[Drift]) -> Iterator[HiddenDifference]:
    """Fields of Git with another value, in objects of any kind."""
    for drift in drifts:
        if not drift.only_live and _is_contradiction(case, drift):
            rule = _hiding_rule(case, drift)
            if rule is None or is_broad(rule, drift.pointer):
                yield msgspec.structs.replace(_hidden_difference(drift), rule=rule)


def _is_contradiction(case: Case, drift: Drift) -> bool:
    """Does the live object have another value than the one that Argo CD compared it with?

    Only if Git is still at the compared commit: the desired objects may be newer than the rows.
    """
    if any(symptom.kind is SymptomKind.BEHIND for symptom in case.symptoms) or has_unsynced_revision(case):
        return False
    mechanism = mechanism_of(case, drift)
    if mechanism is Mechanism.MERGED:
        return True
    if mechanism is Mechanism.GENERATED:  # what is rendered again is OutOfSync
        return drift.ref.kind == "Secret" and _hiding_rule(case, drift) is None
    return mechanism in _UNCLEAR_MECHANISMS and not drift.only_git and not _is_excluded(drift.pointer)


def _hiding_rule(case: Case, drift: Drift) -> Rule | None:
    """The ignore rule of the Application that hides the field."""
    return next(
        (
            hidden.rule
            for hidden in hidden_by_ignoring(case)
            if hidden.key == drift.key and pointers.within(drift.pointer, hidden.pointer)
        ),
        None,
    )


def is_broad(rule: Rule, pointer: str) -> bool:
    """Does the rule hide a whole top-level field, such as `/data`, of every object of a kind?

    It hides every commit as well, which hardly anyone wants; a rule for one field or object is intended.
    """
    return not rule.name and any(
        len(pointers.split(ignored)) == 1 and pointers.within(pointer, ignored) for ignored in rule.pointers
    )


def _raw_drifts(key: Key, desired: Manifest, live: Manifest) -> Iterator[Drift]:
    """Fields that differ in a Synced resource, without those that are not live.

    The desired object is defaulted as the API server would, so that defaults do not differ.
    """
    if desired.ref.kind == "Secret":
        desired = desired.with_body(normalize_secret(desired.body))
    for difference in per_map_entry(differences(completed(desired.body), live.body)):
        merged = isinstance(difference.live_value, Missing) and (
            list_with_duplicate_keys(desired.body, live.body, difference.pointer) is not None
        )
        if merged or (difference.live_value not in _EMPTY and not isinstance(difference.live_value, Missing)):
            declared = not isinstance(desired.at(difference.pointer), Missing)
            yield Drift(
                ref=live.ref,
                key=key,
                pointer=difference.pointer,
                desired_value=difference.desired_value if declared else MISSING,
                live_value=difference.live_value,
                desired=desired,
                live=live,
                symptom=SymptomId.differs(key, difference.pointer),
                hidden_by=HiddenBy.REPORTED_SYNCED,
            )


def _hidden_difference(drift: Drift) -> HiddenDifference:
    return HiddenDifference(
        key=drift.key,
        desired=drift.desired,
        live=drift.live,
        difference=Difference(drift.pointer, drift.desired_value, drift.live_value),
        writer=drift.writer,
    )


def _is_explained(case: Case, drift: Drift) -> bool:
    """Does a default, a known controller, admission or a program's bookkeeping explain the field?"""
    if drift.pointer == LAST_APPLIED_POINTER:
        return not (applies_server_side(case, drift.desired) and _is_outdated_copy(drift))
    parts = pointers.split(drift.pointer)
    if _is_excluded(drift.pointer) or (drift.ref.kind, drift.pointer) in _FILLED_FIELDS:
        return True
    if parts[-2:-1] in (("annotations",), ("labels",)) and is_bookkeeping(parts[-1]):
        return True
    if drift.ref.kind in ("ConfigMap", "Secret") and _is_filled_by_injection(drift.live):
        return True
    if is_builtin(drift.ref):
        if is_known_default(drift):
            return True
        # known defaults are excluded above; sidecars are injected into Pods, not into templates
        readings = _UNCLEAR_MECHANISMS | {Mechanism.API_DEFAULT}
        if mutating_webhook(case, drift.ref) is None:
            readings |= {Mechanism.INJECTED}
        return mechanism_of(case, drift) not in readings
    return mechanism_of(case, drift) not in (
        _UNCLEAR_MECHANISMS
        if crd_of(case, drift.ref) is not None
        else _UNCLEAR_MECHANISMS | {Mechanism.CRD_DEFAULT}
    )


def _is_outdated_copy(drift: Drift) -> bool:
    """Does the last-applied annotation differ from Git? Server-side apply does not update it."""
    applied = last_applied(drift.live.body)
    return applied is None or any(
        applied.get(part) != drift.desired.body.get(part) for part in ("spec", "data")
    )


def _is_filled_by_injection(live: Manifest) -> bool:
    """Does a label or annotation request injected content, such as a CA bundle?"""
    return any("inject" in name for name in (*live.labels, *live.annotations))


def hidden_by_ignoring(case: Case, *, status: str = "Synced") -> Iterator[HiddenDifference]:
    """Differing fields of rows with that status that an ignore rule of the Application hides."""
    rules = tuple(application_rules(case.app.spec.ignore_differences))
    normalizer = case.own_ignore_rules
    if normalizer is None or not rules:
        return
    for key, desired, live in _pairs(case, status):
        applying = [rule for rule in rules if rule.mismatch(live.ref) is None]
        if not applying:
            continue
        still_different = {
            d.pointer
            for d in differences(normalizer.normalize(desired.body), normalizer.normalize(live.body))
        }
        for difference in differences(desired.body, live.body):
            declared = not isinstance(difference.desired_value, Missing) and not isinstance(
                difference.live_value, Missing
            )
            if (
                declared
                and difference.pointer not in still_different
                and not _is_excluded(difference.pointer)
            ):
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
    """Live maps and lists of OutOfSync rows that an ignore rule empties but does not remove."""
    rules = tuple(application_rules(case.app.spec.ignore_differences))
    normalizer = case.own_ignore_rules
    for key, desired, live in _pairs(case, "OutOfSync") if normalizer is not None and rules else ():
        applying = [rule for rule in rules if rule.mismatch(live.ref) is None]
        normalized = normalizer.normalize(live.body) if normalizer is not None and applying else live.body
        for difference in differences(desired.body, live.body) if normalized is not live.body else ():
            remaining = pointers.resolve(normalized, difference.pointer)
            if (
                isinstance(difference.desired_value, Missing)
                and difference.live_value
                and remaining in ({}, [])
            ):
                yield HiddenDifference(
                    key=key, desired=desired, live=live, difference=difference, writer=None, rule=applying[0]
                )


def _pairs(case: Case, status: str) -> Iterator[tuple[Key, Manifest, Manifest]]:
    for row, key, desired, live in case.row_objects:
        if row.status == status and desired is not None and live is not None:
            yield key, desired, live


def _is_manual(entry: Object) -> bool:
    kind = kind_of(
        text(entry.get("manager")),
        operation=text(entry.get("operation")),
        subresource=text(entry.get("subresource")),
    )
    applied = kind is WriterKind.KUBECTL_APPLY  # a leftover if the app uses server-side apply
    return (kind in BY_HAND or applied) and entry.get("subresource") != "status"


def _is_former_argocd(entry: Object) -> bool:
    """Client-side applies of Argo CD are recorded as updates: a server-side apply does not remove these."""
    kind = kind_of(text(entry.get("manager")), operation=text(entry.get("operation")), subresource="")
    return kind is WriterKind.ARGOCD and entry.get("operation") == "Update" and not entry.get("subresource")


def _is_foreign(entry: Object) -> bool:
    manager, operation = text(entry.get("manager")), text(entry.get("operation"))
    kind = kind_of(manager, operation=operation, subresource=text(entry.get("subresource")))
    is_strange = kind in OTHER_TOOLS or kind is WriterKind.UNKNOWN
    return (is_strange or (kind is WriterKind.OPERATOR and operation == "Apply")) and not entry.get(
        "subresource"
    )


def _is_excluded(pointer: str) -> bool:
    return pointer.endswith(_RESTARTED) or any(pointers.within(pointer, parent) for parent in _EXCLUDED)
