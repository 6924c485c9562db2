"""Server-side apply keeps a field that Git does not declare, because of its field ownership.

## What happens
Server-side apply records which manager owns each field. Argo CD owns every field that it has applied (or
took over when the app moved from client-side apply): if Git leaves the field out, the next apply must
remove it. If the API server fills the field in again or keeps it, the difference is back after every sync.
Some lists have one owner as a whole: what the API server fills in there (`apiVersion` and `kind` of a
StatefulSet's `volumeClaimTemplates`) also counts as applied by Argo CD.

Conversely, a server-side apply removes only fields that Argo CD's own entry owns. Fields written by
`kubectl apply` or by an earlier client-side apply of Argo CD stay, although Git leaves them out.

## How whysync knows
Only the live object has the field, and `managedFields` name `argocd-controller` with operation `Apply` as its
owner; or they name `kubectl` or an `Update` of Argo CD, and the app uses server-side apply. Without
managedFields: Argo CD compares with server-side apply, in which fields of other managers are no difference.

## Fix
Declare the live value in Git. Or give up the ownership: sync once with the field declared, then once
without it. Or ignore only this field.

## When it is something else
Another manager owns the field, or the commit that removed it has not been synced yet.
"""

import json
from collections.abc import Iterator
from itertools import pairwise

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
from whysync.diagnosis.drift.mechanism import in_atomic_list
from whysync.kubernetes.api.pointer import split
from whysync.kubernetes.field_writers import Writer
from whysync.queries.commands import comment, kubectl, on_object, sync
from whysync.queries.drift import declare_live, drift_finding, field_names
from whysync.queries.ignore_rules import ignore_fields

_MIGRATES = (3, 2)
_MIGRATED = "kubectl-client-side-apply"
_NO_MIGRATION = ("ClientSideApplyMigration=false", "DisableClientSideApplyMigration=true")
_MIGRATION = "argocd.argoproj.io/client-side-apply-migration-manager"


@rule(cause="ssa-ownership", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def server_side_apply_keeps_field(case: Case) -> Iterator[Finding]:
    yield from _owned_by_former_manager(case)
    for drifts in case.drifts_by_object(Mechanism.KEPT):
        first = drifts[0]
        names = field_names(drifts)
        proven = first.writer is not None
        owner = "argocd-controller still owns" if proven else "Argo CD most likely still owns"
        pointers = [drift.pointer for drift in drifts]
        yield drift_finding(
            *drifts,
            writer=first.writer,
            confidence=Confidence.HIGH if proven else Confidence.MEDIUM,
            verdict=f"the API server fills in {', '.join(drift.last_key for drift in drifts)} of"
            f" {_list_name(first)} of {first.ref}, a list that"
            " Argo CD owns as a whole through server-side apply; Git does not declare it"
            if all(in_atomic_list(drift) for drift in drifts)
            else f"{owner} {names} of {first.ref} through server-side apply, but Git does not declare it",
            fixes=(
                declare_live(drifts, title="Declare the live value in Git"),
                *ignore_fields(case, first.ref, *pointers),
            ),
        )


def _owned_by_former_manager(case: Case) -> Iterator[Finding]:
    """Fields that Git leaves out and that kubectl or an earlier client-side apply of Argo CD owns."""
    for drifts in case.drifts_by_object(Mechanism.LEFT_OVER):
        first, writer = drifts[0], drifts[0].writer
        if writer is None:
            continue
        names = field_names(drifts)
        manager = f"{writer.manager} ({writer.operation})"
        yield drift_finding(
            *drifts,
            writer=writer,
            confidence=Confidence.HIGH,
            verdict=f"{manager} owns {names} of {first.ref}, which Git leaves out: Argo CD's server-side"
            " apply removes only its own fields",
            fixes=tuple(_remove(case, drifts, writer)),
        )


def _remove(case: Case, drifts: tuple[Drift, ...], writer: Writer) -> Iterator[Fix]:
    ref = drifts[0].ref
    patch = json.dumps([{"op": "remove", "path": drift.pointer} for drift in reversed(drifts)])
    yield Fix.run(
        on_object("patch", ref, "--type", "json", "-p", patch),
        title="Git is right: remove it from the cluster",
        risk="may affect what uses the value: look at it first",
        destroys=tuple(f"the live value at {drift.pointer}" for drift in drifts),
    )
    migrates = not case.argocd_release or case.argocd_release >= _MIGRATES
    migration = tuple(_migrate(case, writer)) if writer.operation == "Update" and migrates else ()
    declare = declare_live(drifts, title="The live value is right: declare it in Git")
    yield from (declare, *migration) if _was_not_migrated(case, writer) else (*migration, declare)


def _was_not_migrated(case: Case, writer: Writer) -> bool:
    """Did a sync succeed after the field was written, and leave it to its manager?"""
    ended = case.operation.finished_at if case.operation is not None else None
    succeeded = case.operation is not None and case.operation.phase == "Succeeded"
    return succeeded and ended is not None and writer.time is not None and writer.time < ended


def _migrate(case: Case, writer: Writer) -> Iterator[Fix]:
    """A sync with server-side apply takes over the fields of one manager: kubectl's, or the annotation's.

    Mirrors `performClientSideApplyMigration` of gitops-engine, Argo CD 3.2.
    """
    app = case.app
    risk = "removes every field of this manager that Git does not declare"
    if not case.argocd_release:
        risk += "; Argo CD before 3.2 does not migrate managers"
    if writer.manager == _MIGRATED and _was_not_migrated(case, writer):
        risk += "; the last sync did not do it: then only if server-side apply was enabled after it"
    option = next(filter(case.has_sync_option, _NO_MIGRATION), "")
    if option:
        yield Fix.run(
            comment(
                f"delete {option} from spec.syncPolicy.syncOptions where the Application is declared; then"
            ),
            sync(case),
            title=f"Let Argo CD migrate this manager's fields: {option} prevents it",
            risk=risk,
        )
    elif writer.manager == _MIGRATED:
        yield Fix.run(
            sync(case),
            title="Sync: Argo CD takes over this manager's fields and removes those that Git leaves out",
            risk=risk,
        )
    else:
        annotate = ("annotate", "application", app.name, f"{_MIGRATION}={writer.manager}")
        yield Fix.run(
            kubectl(*annotate, namespace=app.namespace),
            sync(case),
            title="Migrate this manager's fields to Argo CD; a sync then removes those that Git leaves out",
            risk=risk,
        )


def _list_name(drift: Drift) -> str:
    """`volumeClaimTemplates`: the innermost list on the way to the field."""
    parts = split(drift.pointer)
    return next((name for name, index in reversed(list(pairwise(parts))) if index.isdecimal()), "a list")
