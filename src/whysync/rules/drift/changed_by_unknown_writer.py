"""A field that Git declares was changed in the cluster by an unknown writer.

## What happens
Git's value was synced, but the live value is different now. No default, known controller or admission
webhook explains it: a person or an unknown program changed it. The app is OutOfSync until someone syncs or
commits the live value.

## How whysync knows
The last sync succeeded at the revision that Argo CD compares with, so Git's value was applied. The live
object has no managedFields (`kubectl get -o yaml` omits them), or they do not name a known program. For a
custom resource its operator is the likely writer: the finding then has the cause controller-owned. A field
that only Git has was most likely not kept by the API server (unknown-field-dropped), and one that only the
cluster has was most likely added by a webhook or a controller (webhook-injected, controller-owned). All of
these have low confidence.

## Fix
Read managedFields, which name the writer. Then commit the live value, or sync. If the value comes back
after a sync, a controller or a webhook writes it.

## When it is something else
If managedFields are available, they name the writer. A ConfigMap or Secret of a Helm chart may be rendered
differently each time: then nobody changed it, and the finding states both.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
from whysync.diagnosis.drift.field_heuristics import (
    is_builtin,
    is_setting,
    is_source_known,
    may_be_rendered_differently,
)
from whysync.diagnosis.drift.mechanism import synced_at_current_revision
from whysync.json_tree import Missing, fields, items, text
from whysync.kubernetes.api.pointer import split
from whysync.kubernetes.api.ref import Ref
from whysync.queries.drift import drift_finding, field_names, find_writer, live_values, restore_from_git


@rule(cause="manual-edit", needs={Fact.DESIRED, Fact.LIVE}, since="0.1", last_resort=True)
def changed_by_unknown_writer(case: Case) -> Iterator[Finding]:
    if not synced_at_current_revision(case):
        return
    for every in case.drifts_by_object(Mechanism.UNKNOWN):
        drifts = [drift for drift in every if _is_changed(case, drift)]
        if not drifts:
            continue
        ref = drifts[0].ref
        names = field_names(drifts)
        reading = _reading_of(case, drifts)
        finding = drift_finding(
            *drifts,
            writer=drifts[0].writer,
            confidence=Confidence.LOW,
            verdict=f"{names} of {ref} {reading.sentence}",
            fixes=(
                find_writer(ref),
                Fix.change(ref, *live_values(drifts), title=_commit_title(drifts)),
                restore_from_git(case, drifts),
            ),
        )
        yield msgspec.structs.replace(finding, cause=reading.cause)


def _commit_title(drifts: Sequence[Drift]) -> str:
    if all(drift.only_git for drift in drifts):
        return "It was removed on purpose, or cannot be kept: remove it from Git"
    return "The live value is right: commit it to Git"


class _Reading(NamedTuple):
    cause: str
    sentence: str


_OUTSIDE_GIT = "changed after the last sync, outside Git: "
_BY_ANYONE = _Reading(
    "manual-edit", _OUTSIDE_GIT + "the facts do not show whether a person or a program did it"
)
_RENDERED = _Reading(
    "manual-edit",
    "changed after the last sync: someone or something changed it in the cluster, or the source renders it"
    " differently each time",
)
_SET = _Reading(
    "manual-edit",
    "is in the cluster, but not in Git: someone or something added it after the last sync, or Git declared it"
    " before",
)
_NOT_KEPT = _Reading(
    "unknown-field-dropped",
    "is in Git, but not in the cluster, although the last sync succeeded: most likely the API server did not"
    " keep it (an older Kubernetes, a feature gate, a webhook); a person may have removed it",
)
_ADMITTED = _Reading(
    "webhook-injected",
    "is in the cluster, but not in Git: most likely an admission webhook added it; a person or a controller"
    " may have, too",
)
_ADDED = _Reading(
    "controller-owned",
    "is in the cluster, but not in Git: most likely a controller added it; a person may have, too",
)


def _reading_of(case: Case, drifts: Sequence[Drift]) -> _Reading:
    """The likeliest of the readings that remain, by the sides that have the field.

    People change values. A field that only one side has is more often one that the API server or a webhook
    removed or added: `kubectl edit` seldom leaves out a whole field, and Argo CD's own diff does not show a
    field that was added beside Git's.
    """
    ref = drifts[0].ref
    owner = _owner_of(drifts[0])
    if owner:
        return _Reading(
            "controller-owned",
            f"{_OUTSIDE_GIT}most likely by the controller of {owner}, which owns the object: Git and that"
            " controller both declare it",
        )
    if all(may_be_rendered_differently(case, drift) for drift in drifts):
        return _RENDERED
    if all(drift.only_live and is_setting(drift) for drift in drifts):
        return _SET
    if _has_operator(ref):
        return _ADDED if all(drift.only_live for drift in drifts) else _BY_ANYONE
    if not is_builtin(ref):
        return _BY_ANYONE
    if all(drift.only_git and _is_field(drift) for drift in drifts):
        return _NOT_KEPT
    if all(drift.only_live for drift in drifts):
        in_template = any("template" in split(drift.pointer) for drift in drifts)
        return _ADMITTED if in_template or ref.kind == "Pod" else _ADDED
    return _BY_ANYONE


_MAPS = frozenset(
    {"annotations", "labels", "data", "binaryData", "stringData", "matchLabels", "nodeSelector"}
)


def _is_field(drift: Drift) -> bool:
    """A field of the schema, not an element of a list or an entry of a map, which people remove."""
    parts = split(drift.pointer)
    return not parts[-1].isdecimal() and _MAPS.isdisjoint(parts[-2:])


def _owner_of(drift: Drift) -> str:
    """Kind and name of the object whose controller manages this one, if Git does not declare that owner."""
    declared = items(drift.desired.meta.get("ownerReferences"))
    for raw in items(drift.live.meta.get("ownerReferences")):
        reference = fields(raw)
        if reference.get("controller") is True and raw not in declared:
            return f"{text(reference.get('kind'))} {text(reference.get('name'))}"
    return ""


def _has_operator(ref: Ref) -> bool:
    """A custom resource has a controller that may write its spec; people mostly change built-in kinds."""
    return not is_builtin(ref) and ref.group != "argoproj.io"


def _is_changed(case: Case, drift: Drift) -> bool:
    """Does Git itself declare the field or the list around it, and does it render the same each time?

    An annotation that the cluster lacks proves no change: some are for the tool that applies the manifest.
    """
    desired = case.desired_of(drift.key)
    declared = desired is not None and not isinstance(desired.at(drift.pointer), Missing)
    lost = drift.only_git and drift.pointer.startswith("/metadata/annotations")
    if may_be_rendered_differently(case, drift) and not is_source_known(case):
        return False
    return (declared or drift.only_live) and not lost
