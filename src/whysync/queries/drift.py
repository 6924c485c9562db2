"""Findings and fixes that the drift rules share.

A finding about differing fields of one object explains their symptoms and cites both values of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from shlex import quote

from whysync.diagnosis.case import Case
from whysync.diagnosis.drift import Drift
from whysync.diagnosis.drift.mechanism import Mechanism
from whysync.diagnosis.evidence import Evidence
from whysync.diagnosis.finding import Confidence, EvidenceKey, Finding
from whysync.diagnosis.fix import Edit, Fix, Remove, Set
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import SymptomId
from whysync.json_tree import Missing, Object, fields, same
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.pointer import index_of, join
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.field_writers import Writer
from whysync.queries.commands import argocd_namespace, kubectl, on_object, sync, with_comment

_LONGEST_NAMES = 70
_TTL = ("/spec/ttlSecondsAfterFinished", "/spec/ttlStrategy", "/spec/ttlSecondsAfterFinish")
COMPARE_OPTIONS_POINTER = "/metadata/annotations/argocd.argoproj.io~1compare-options"
_TRACK_BY_ANNOTATION = '{"data":{"application.resourceTrackingMethod":"annotation"}}'


def drift_finding(
    *drifts: Drift,
    verdict: str,
    confidence: Confidence,
    fixes: Iterable[Fix],
    field: str = "",
    writer: Writer | None = None,
    evidence: Iterable[Evidence] | None = None,
    explains: Iterable[SymptomId] = (),
    because: tuple[SymptomId, ...] = (),
    key: EvidenceKey | None = None,
) -> Finding:
    """The finding for differing fields of one object; `evidence` is both sides of each unless given.

    It explains the symptoms of these fields, and those in `explains`.
    """
    first = drifts[0]
    return Finding(
        about=first.ref,
        field=field or first.pointer,
        writer=writer,
        explains=(*(drift.symptom for drift in drifts), *explains),
        because=because,
        key=key,
        confidence=confidence,
        verdict=verdict,
        evidence=both_sides(drifts) if evidence is None else tuple(evidence),
        fixes=tuple(fixes),
    )


def find_writer(ref: Ref, *, hint: str = "") -> Fix:
    """Read managedFields, which `kubectl get -o yaml` omits."""
    return Fix.run(
        on_object("get", ref, "-o", "yaml", "--show-managed-fields"),
        title="Find the writer: managedFields list the manager of each field"
        + (f" ({hint})" if hint else ""),
    )


def restore_from_git(case: Case, drifts: Sequence[Drift]) -> Fix:
    """Sync only the object whose fields an unknown writer changed."""
    ref = drifts[0].ref
    return Fix.run(
        sync(case, "--resource", quote(f"{ref.group}:{ref.kind}:{ref.place}")),
        title="Git is right: sync this resource (if "
        + (
            "it is missing again, the cluster does not keep it)"
            if all(drift.only_git for drift in drifts)
            else "the value comes back, a program writes it)"
        ),
        risk="undoes the change, which may be part of incident response: ask first",
        destroys=tuple(f"the live value at {drift.pointer}" for drift in drifts if not drift.only_git),
    )


def drifts_by_list(
    case: Case, mechanism: Mechanism, list_around: Callable[[Object, Object, str], str | None]
) -> list[tuple[str, list[Drift]]]:
    """The drifts of this mechanism, one group per list; `list_around` finds the list of a field."""
    groups: dict[tuple[Ref, str], list[Drift]] = {}
    for drift in case.drifts_by(mechanism):
        pointer = list_around(drift.desired.body, drift.live.body, drift.pointer)
        if pointer is not None:
            groups.setdefault((drift.ref, pointer), []).append(drift)
    return [(pointer, drifts) for (_, pointer), drifts in groups.items()]


def both_sides(drifts: Iterable[Drift]) -> tuple[Evidence, ...]:
    """The desired and the live value of each field."""
    return tuple(evidence for drift in drifts for evidence in drift.cited())


def field_names(drifts: Iterable[Drift]) -> str:
    """`replicas, image`: the fields' names, each once; long ones up to the first."""
    names = list(dict.fromkeys(drift.name for drift in drifts))
    joined = ", ".join(names)
    return joined if len(joined) <= _LONGEST_NAMES else listed(names, 1)


def live_values(drifts: Iterable[Drift]) -> Iterator[Edit]:
    """Edits that set each field in Git to its live value, or remove it if it is not live."""
    for drift in drifts:
        value = drift.live_value if drift.only_git else drift.live.at(drift.pointer)
        counterpart = _counterpart(drift) if isinstance(value, Missing) else None
        if counterpart is not None:
            yield from counterpart
            continue
        yield (
            Remove(pointer=drift.pointer)
            if isinstance(value, Missing)
            else Set(pointer=drift.pointer, value=value)
        )


def _counterpart(drift: Drift) -> list[Edit] | None:
    """Edits of an element of a list whose key was changed in the cluster, such as the number of a port.

    It is compared as an element that is missing and another one that only the cluster has.
    """
    above, _, index = drift.pointer.rpartition("/")
    declared, live = drift.desired.at(above), drift.live.at(above)
    if not isinstance(declared, list) or not isinstance(live, list) or index_of(index) is None:
        return None
    element = fields(drift.desired.at(drift.pointer))
    name = element.get("name")
    named = [fields(other) for other in live if name is not None and fields(other).get("name") == name]
    if len(declared) == len(live) == 1:
        named = [fields(live[0])]
    if len(named) != 1 or not element or not named[0]:
        return None
    return [
        Set(pointer=drift.pointer + join((key,)), value=named[0][key])
        if key in named[0]
        else Remove(pointer=drift.pointer + join((key,)))
        for key, value in element.items()
        if key not in named[0] or not same(value, named[0][key])
    ]


def declare_live(drifts: Sequence[Drift], *, title: str) -> Fix:
    """Declare in Git the fields that only the cluster has."""
    return Fix.change(
        drifts[0].ref,
        *(
            Set(pointer=drift.pointer, value=drift.live_value)
            for drift in drifts
            if not isinstance(drift.live_value, Missing)
        ),
        title=title,
    )


def server_side_diff(case: Case, *, webhooks: bool = False) -> Fix:
    """Let the API server compute the comparison, optionally with its mutating webhooks."""
    return Fix.application(
        case.application.ref,
        Set(
            pointer=COMPARE_OPTIONS_POINTER,
            value="ServerSideDiff=true,IncludeMutationWebhook=true" if webhooks else "ServerSideDiff=true",
        ),
        title="Use server-side diff with mutation webhooks" if webhooks else "Use server-side diff",
        risk="more load on the API server; an admission denial becomes a ComparisonError",
    )


def annotation_tracking(case: Case, *, title: str, before: Sequence[str] = ()) -> Fix:
    """Switches Argo CD's resource tracking from labels to annotations, which the next sync writes.

    Objects with the label and without the annotation are not OutOfSync, but Argo CD does not prune them.
    """
    return Fix.run(
        *before,
        kubectl(
            *("patch", "configmap", "argocd-cm", "--type=merge", "-p", _TRACK_BY_ANNOTATION),
            namespace=argocd_namespace(case),
        ),
        with_comment(sync(case), "and every other app, also those that are Synced"),
        title=title,
        risk="changes the tracking of all apps: until an app is synced, Argo CD does not prune what is"
        " removed from Git",
    )


def ttl_pointer(manifest: Manifest) -> str | None:
    """The pointer of the TTL field of a Job or Workflow; `None` if it has none."""
    for pointer in _TTL:
        if not isinstance(manifest.at(pointer), Missing):
            return pointer
    return None
