"""The chain of objects from one that is not ready to the last one that reports why.

A reason is often one object away: a Certificate waits for its Order, that for a Challenge, which names the
HTTP status. The walk follows owner references downwards, references out of the spec, what would create a
missing object, volumes, Services and child Applications, and ends with the last object that reports a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from whysync.argocd.api.application import Application
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.reported_texts import FAILED_PHASES
from whysync.diagnosis.status_failures import names_failure
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Json, Object, dig, fields, items, text
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import join
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.validation.selectors import matches
from whysync.messages.benign import reports_progress
from whysync.messages.patterns.pods import is_claim_unbound
from whysync.queries.producers import producer_of
from whysync.queries.reasons import Reason, is_ready, reason_of, warning_of
from whysync.queries.references import Reference, is_absent, references_of
from whysync.queries.service_backends import pods_behind

if TYPE_CHECKING:
    from whysync.diagnosis.case import Case

_LONGEST = 7
_MOST_CHILDREN = 20
_DEEPEST_FIELD = 5
_CLAIM = "PersistentVolumeClaim"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """One object of a chain; `how` is its relation to the object before it."""

    ref: Ref
    how: str = ""
    reason: Reason | None = None


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    manifest: Manifest
    how: str


def reason_chain(case: Case, ref: Ref) -> tuple[Link, ...]:
    """From the object to the last one that reports a reason; empty where none of them reports any."""
    return _chain(case, ref, _live(case, ref), how="", seen=set())


def chain_of_producer(case: Case, ref: Ref) -> tuple[Link, ...]:
    """Of an object that has not created another one, whatever its own status reports."""
    warning = warning_of(case, ref)
    return reason_chain(case, ref) or ((Link(ref=ref, reason=warning),) if warning is not None else ())


def last_reason(chain: tuple[Link, ...]) -> Reason | None:
    return chain[-1].reason if chain else None


def fails_below(chain: tuple[Link, ...]) -> bool:
    """Does the chain end with the failure of another object, and not with work that goes on?"""
    reason = last_reason(chain)
    if reason is None or len(chain) < 2 or reason.rank < 2:
        return False
    return not reports_progress(reason.text) and not is_claim_unbound(reason.text)


def is_no_progress(case: Case, chain: tuple[Link, ...]) -> bool:
    """Does it end with the failure of another object, or with a failure in words that nothing reads?"""
    return fails_below(chain) or is_unread(case, chain)


def is_unread(case: Case, chain: tuple[Link, ...]) -> bool:
    """Does it end with a failure in words that nothing reads, which is not known to pass?"""
    reason = last_reason(chain)
    if reason is None or reason.rank < 2 or not names_failure(reason.text):
        return False
    ref = chain[-1].ref
    return any(
        symptom.unread
        and symptom.ref is not None
        and symptom.ref.key == ref.key
        and reason.text in symptom.raw
        for symptom in case.symptoms
    )


def chain_evidence(chain: tuple[Link, ...]) -> tuple[Evidence, ...]:
    """What each object on the way reports, the last one at the end."""
    cited = ((link.how, link.reason.evidence) for link in chain if link.reason is not None)
    return tuple(
        msgspec.structs.replace(evidence, says=f"{how}: {evidence.says}" if how else evidence.says)
        for how, evidence in cited
    )


def symptoms_on(case: Case, chain: tuple[Link, ...]) -> tuple[SymptomId, ...]:
    """The symptoms about objects of the chain: events do not always give the API group."""
    names = {(link.ref.kind, link.ref.namespace, link.ref.name) for link in chain}
    return tuple(
        symptom.id
        for symptom in case.symptoms
        if symptom.ref is not None and (symptom.ref.kind, symptom.ref.namespace, symptom.ref.name) in names
    )


def _chain(
    case: Case, ref: Ref, manifest: Manifest | None, *, how: str, seen: set[tuple[str, str, str]]
) -> tuple[Link, ...]:
    own = Link(ref=ref, how=how, reason=_reason(case, ref, manifest))
    seen.add((ref.kind, ref.namespace, ref.name))
    below: list[tuple[Link, ...]] = []
    for step in _next(case, manifest) if manifest is not None and len(seen) < 10 * _LONGEST else ():
        to = step.manifest.ref
        if (to.kind, to.namespace, to.name) not in seen:
            below.append(_chain(case, to, step.manifest, how=step.how, seen=seen))
    best = max(below, key=_weight, default=())
    if best:
        return (own, *best)
    return (own,) if own.reason is not None else ()


def _weight(chain: tuple[Link, ...]) -> tuple[int, bool, int]:
    reason = last_reason(chain)
    return reason.weight if reason is not None else (-1, False, 0)


def _live(case: Case, ref: Ref) -> Manifest | None:
    if ref.kind == "Application":
        return _application(case, ref.name, ref.namespace)
    return case.live_of(ref.key) or case.live_named(ref.kind, ref.namespace, ref.name)


def _reason(case: Case, ref: Ref, manifest: Manifest | None) -> Reason | None:
    if manifest is not None and ref.kind == "Application":
        return _application_reason(manifest)
    return reason_of(case, ref, manifest)


# --- next objects ----------------------------------------------------------------------


def _next(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """Objects that this one depends on and that are not ready themselves."""
    for step in (
        *_children(case, manifest),
        *_named_in_spec(case, manifest),
        *_of_pods(case, manifest),
        *_storage(case, manifest),
        *_behind_services(case, manifest),
        *_metrics(case, manifest),
        *_counted(case, manifest),
        *_of_application(case, manifest),
    ):
        if step.manifest.ref.kind == "Application" or not is_ready(case, step.manifest):
            yield step


def _children(case: Case, manifest: Manifest) -> Iterator[_Step]:
    for child in case.owned_by(manifest.ref)[:_MOST_CHILDREN]:
        yield _Step(manifest=child, how=f"{child.ref.kind} of {manifest.ref}")


def _named_in_spec(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """`issuerRef`, `secretStoreRef`, `parentRefs`: fields of the spec that name another object."""
    for field, value in _references(manifest.spec, 0):
        namespace = text(value.get("namespace")) or manifest.ref.namespace
        target = _named(case, manifest, field, value, namespace)
        if target is not None:
            yield _Step(manifest=target, how=f"{field} of {manifest.ref}")


def _named(case: Case, manifest: Manifest, field: str, value: Object, namespace: str) -> Manifest | None:
    """By its kind; a reference without one has a default that its field is named after.

    `secretStoreRef` refers to a SecretStore, `vaultAuthRef` to a VaultAuth, `providerConfigRef` to a
    ProviderConfig of the referrer's own project.
    """
    kind, name = text(value.get("kind")), text(value.get("name"))
    if kind:
        return case.live_named(kind, namespace, name)
    stem = _REFERENCE.sub("", field).lower()
    alike = [
        key
        for key in case.index.live_keys_by_name.get(name, ())
        if key.kind.lower() == stem and key.namespace in ("", namespace)
    ]
    domain = _domain(manifest.ref.group)
    own = [key for key in alike if _domain(key.group) == domain]
    chosen = own or alike
    return case.index.live_by_key[chosen[0]][0] if len(chosen) == 1 else None


def _domain(group: str) -> str:
    return ".".join(group.split(".")[-2:])


_REFERENCE = re.compile(r"Refs?$")


def _references(value: Json, depth: int) -> Iterator[tuple[str, Object]]:
    """Each reference with its field: an object with a name, a list of these, or the name alone."""
    if depth > _DEEPEST_FIELD:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            named = [entry for entry in (_entries_of(inner) if _REFERENCE.search(key) else ()) if entry]
            yield from ((key, entry) for entry in named)
            if not named:
                yield from _references(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value[:_MOST_CHILDREN]:
            yield from _references(inner, depth + 1)


def _entries_of(value: Json) -> Iterator[Object]:
    for entry in value[:_MOST_CHILDREN] if isinstance(value, list) else [value]:
        if isinstance(entry, str) and entry:
            yield {"name": entry}
        elif text(dig(entry, "name")):
            yield fields(entry)


def _of_pods(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """What its Pods, or a custom resource itself, need: a claim that is not bound, or the source of an
    object that does not exist."""
    namespace = manifest.ref.namespace
    secrets = tuple(_secrets_of(manifest))
    for reference in (*references_of(manifest), *secrets):
        target = case.live_named(reference.kind, namespace, reference.name)
        # Where no Secrets were read, one that is made from an object which fails is most likely absent.
        is_unread = reference in secrets and not case.index.live_names.get((reference.kind, namespace))
        if target is not None:
            yield _Step(manifest=target, how=f"needed by {manifest.ref}")
        elif is_unread or is_absent(case, reference, namespace):
            producer = producer_of(case, reference.kind, namespace, reference.name)
            if producer is not None:
                yield _Step(
                    manifest=producer.manifest,
                    how=f"{reference.kind} {reference.name}, which {manifest.ref} needs, is created from it",
                )


_SECRET = re.compile(r"^(?:\w*[sS]ecret(?:Name|Ref|KeyRef|KeySelector)?|certificateRefs)$")


def _secrets_of(manifest: Manifest) -> Iterator[Reference]:
    """Secrets that a custom resource names: `secretName`, `passwordSecret`, the certificates of a Gateway.

    Some of these the resource creates itself: then it is its own producer, which the walk has seen.
    """
    for pointer, value in () if is_builtin(manifest.ref) else _named_secrets(manifest.spec, ("spec",)):
        yield Reference(kind="Secret", name=value, pointer=join(pointer))


def _named_secrets(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if len(path) > 2 * _DEEPEST_FIELD:
        return
    if isinstance(value, list):
        for index, inner in enumerate(value[:_MOST_CHILDREN]):
            yield from _named_secrets(inner, (*path, str(index)))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not _SECRET.match(key):
                yield from _named_secrets(inner, (*path, key))
                continue
            for entry in _entries_of(inner):
                if text(entry.get("kind")) in ("", "Secret"):
                    yield (*path, key), text(entry.get("name"))


def _storage(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """From a claim to its volume, and from a volume to its attachments."""
    ref = manifest.ref
    if ref.kind == _CLAIM:
        volume = case.live_named("PersistentVolume", "", text(manifest.spec.get("volumeName")))
        if volume is not None:
            yield _Step(manifest=volume, how=f"volume of {ref}")
    if ref.kind == "PersistentVolume":
        yield from _attachments(case, ref.name)
    if ref.kind == "Pod":  # a bound claim is ready, but its volume may not be attached to the node
        claims = (reference.name for reference in references_of(manifest) if reference.kind == _CLAIM)
        for name in claims:
            claim = case.live_named(_CLAIM, ref.namespace, name)
            if claim is not None:
                yield from _attachments(case, text(claim.spec.get("volumeName")))


def _attachments(case: Case, volume: str) -> Iterator[_Step]:
    for attachment in case.live_of_kind("VolumeAttachment"):
        if volume and dig(attachment.spec, "source", "persistentVolumeName") == volume:
            yield _Step(manifest=attachment, how=f"attachment of PersistentVolume {volume}")


def _behind_services(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """From an APIService or a webhook's Service to the Pods that should answer."""
    if manifest.ref.kind == "APIService":
        service = fields(manifest.spec.get("service"))
        target = case.live_named("Service", text(service.get("namespace")), text(service.get("name")))
        if target is not None:
            for pod in pods_behind(case, target):
                yield _Step(manifest=pod, how=f"Pod behind {target.ref}, which serves {manifest.ref.name}")


# The APIs from which an autoscaler reads each type of metric.
_METRICS_APIS = {
    "Resource": "metrics.k8s.io",
    "ContainerResource": "metrics.k8s.io",
    "Pods": "custom.metrics.k8s.io",
    "Object": "custom.metrics.k8s.io",
    "External": "external.metrics.k8s.io",
}


def _metrics(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """From an autoscaler to the APIs that serve its metrics; one without metrics scales by CPU."""
    if manifest.ref.kind != "HorizontalPodAutoscaler":
        return
    types = {text(fields(metric).get("type")) for metric in items(manifest.spec.get("metrics"))}
    groups = {_METRICS_APIS.get(type, "") for type in types or {"Resource"}}
    for service in case.live_of_kind("APIService"):
        group = text(service.spec.get("group")) or service.ref.name.partition(".")[2]
        if group in groups:
            yield _Step(manifest=service, how=f"serves metrics of {manifest.ref}")


def _counted(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """From a budget to the Pods that it counts."""
    if manifest.ref.kind != "PodDisruptionBudget":
        return
    selector = manifest.spec.get("selector")
    for pod in case.live_of_kind("Pod"):
        if pod.ref.namespace == manifest.ref.namespace and matches(selector, pod.labels):
            yield _Step(manifest=pod, how=f"Pod counted by {manifest.ref}")


# --- child Applications --------------------------------------------------------------------------


def _application(case: Case, name: str, namespace: str) -> Manifest | None:
    named = [m for m in case.index.snapshot.applications if m.ref.name == name]
    return next((m for m in named if m.ref.namespace == namespace), named[0] if named else None)


def _of_application(case: Case, manifest: Manifest) -> Iterator[_Step]:
    """The resources of a child Application that are not healthy; its own children among them."""
    app = decode(manifest.body, Application)[0] if manifest.ref.kind == "Application" else None
    for row in app.status.resources if app is not None else ():
        if row.health is not None and row.health.status in ("Degraded", "Progressing", "Missing"):
            live = _live(case, row.ref)
            if live is not None:
                yield _Step(manifest=live, how=f"resource of {manifest.ref}")


def _application_reason(manifest: Manifest) -> Reason | None:
    """Its error conditions, its failed operation, then the health messages of its resources."""
    app = decode(manifest.body, Application)[0]
    if app is None:
        return None
    for index, condition in enumerate(app.status.conditions):
        if condition.type.endswith("Error") and condition.message:
            pointer = f"/status/conditions/{index}/message"
            return Reason(text=condition.message, evidence=cite(manifest, pointer, says=condition.type))
    operation = app.status.operation_state
    if operation is not None and operation.phase in FAILED_PHASES and operation.message:
        pointer = "/status/operationState/message"
        return Reason(text=operation.message, evidence=cite(manifest, pointer, says="its last operation"))
    for index, row in enumerate(app.status.resources):
        if row.health is not None and row.health.status == "Degraded" and row.health.message:
            pointer = f"/status/resources/{index}/health/message"
            text = f"{row.ref}: {row.health.message}"
            return Reason(text=text, evidence=cite(manifest, pointer, says="one of its resources"))
    return None
