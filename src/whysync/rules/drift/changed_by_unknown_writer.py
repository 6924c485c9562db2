"""A field that Git declares was changed in the cluster by an unknown writer.

## What happens
Git's value was synced, but the live value is different now. No default, known controller or admission
webhook explains it: a person or an unknown program changed it. The app is OutOfSync until someone syncs or
commits the live value.

## How whysync knows
The last sync succeeded at the revision that Argo CD compares with, so Git's value was applied. The live
object has no managedFields (`kubectl get -o yaml` omits them), or they do not name a known program. For a
custom resource its operator is the likely writer: the finding then has the cause controller-owned.

## Fix
Read managedFields, which name the writer. Then commit the live value, or sync. If the value comes back
after a sync, a controller or a webhook writes it.

## When it is something else
If managedFields are available, they name the writer. A ConfigMap or Secret of a Helm chart may be rendered
differently each time: then nobody changed it.
"""

from collections.abc import Iterator

import msgspec

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin, may_be_rendered_differently
from whysync.diagnosis.drift.mechanism import synced_at_current_revision
from whysync.json_tree import Missing
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
        operated = _has_operator(ref)
        finding = drift_finding(
            *drifts,
            writer=drifts[0].writer,
            confidence=Confidence.LOW,
            verdict=f"{names} of {ref} changed after the last sync, outside Git: "
            + (
                "most likely its operator did it; a person may have, too: the facts do not show the writer"
                if operated
                else "the facts do not show whether a person or a program did it"
            ),
            fixes=(
                find_writer(ref),
                Fix.change(ref, *live_values(drifts), title="The live value is right: commit it to Git"),
                restore_from_git(case, drifts),
            ),
        )
        yield msgspec.structs.replace(finding, cause="controller-owned") if operated else finding


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
    return (declared or drift.only_live) and not lost and not may_be_rendered_differently(case, drift)
