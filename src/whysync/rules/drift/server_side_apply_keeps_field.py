"""A field that Git does not declare, kept by the ownership rules of server-side apply.

## What happens
Server-side apply remembers who declared which field. A field that Argo CD once applied (or took over when the
app moved from client-side apply) stays its own: when Git leaves the field out, the next apply must remove
it. Where the API server fills the field in again, or does not let it go, the difference comes back
after every sync. Some lists have one owner for all of it: what the API server fills in there (`apiVersion`
and `kind` of a StatefulSet's `volumeClaimTemplates`) counts as applied by Argo CD, too.

The other way round, a server-side apply removes only what Argo CD's own entry owns. What `kubectl apply` or
an earlier client-side apply of Argo CD wrote stays, although Git leaves it out.

## How whysync knows
Only the cluster has the field, and `managedFields` name `argocd-controller` with operation `Apply` as its
owner; or they name `kubectl` or an `Update` of Argo CD, and the app applies server-side. Without
managedFields: Argo CD compares by server-side apply, in which what others
own is no difference.

## Fix
Declare the field in Git with the value that the cluster has: then both sides say the same. Or let go of
it: take the field out of Argo CD's entry in `managedFields` by one sync with the field declared, then
one without it. Or ignore exactly this field.

## When it is something else
Another manager owns the field: then it is that manager's. Git was changed and nobody has synced yet.
"""

import json
from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Drift, Fact, Finding, Fix, Mechanism, rule
from whysync.json_tree import items
from whysync.kubernetes.api.pointer import index_of, join, split
from whysync.kubernetes.field_writers import Writer, writer_of
from whysync.queries.commands import kubectl, on_object, sync
from whysync.queries.drift import declare_live, drift_finding, field_names
from whysync.queries.ignore_rules import ignore_fields

_MIGRATION = "argocd.argoproj.io/client-side-apply-migration-manager"


@rule(cause="ssa-ownership", needs={Fact.DESIRED, Fact.LIVE}, since="0.1")
def server_side_apply_keeps_field(case: Case) -> Iterator[Finding]:
    yield from _left_over(case)
    for drifts in case.drifts_by_object(Mechanism.KEPT):
        first = drifts[0]
        names = field_names(drifts)
        proven = first.writer is not None
        owner = "still belongs to argocd-controller" if proven else "most likely still belongs to Argo CD"
        pointers = [drift.pointer for drift in drifts]
        yield drift_finding(
            *drifts,
            writer=first.writer,
            confidence=Confidence.HIGH if proven else Confidence.MEDIUM,
            verdict=f"the API server fills in {names} of {first.ref}, in a list that server-side apply owns"
            " as a whole, and Git does not declare it"
            if all(_in_a_whole_list(drift) for drift in drifts)
            else f"{names} of {first.ref} {owner} by server-side apply, and Git does not declare it",
            fixes=(
                declare_live(drifts, title="Declare it in Git as the cluster has it"),
                *ignore_fields(case, first.ref, *pointers),
            ),
        )


def _left_over(case: Case) -> Iterator[Finding]:
    """Fields that Git leaves out, and that kubectl or an earlier client-side apply of Argo CD owns."""
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
            verdict=f"{names} of {first.ref} belongs to {manager}, not to Argo CD's entry: server-side apply"
            " alone does not remove it",
            fixes=tuple(_removed(case, drifts, writer)),
        )


def _removed(case: Case, drifts: tuple[Drift, ...], writer: Writer) -> Iterator[Fix]:
    ref = drifts[0].ref
    patch = json.dumps([{"op": "remove", "path": drift.pointer} for drift in reversed(drifts)])
    yield Fix.run(
        on_object("patch", ref, "--type", "json", "-p", patch),
        title="Git is right: remove it from the cluster",
        risk="if it is in use, what uses it changes: look at the value first",
        destroys=tuple(f"the live value at {drift.pointer}" for drift in drifts),
    )
    if writer.operation == "Update":
        yield Fix.run(
            kubectl(
                *("annotate", "application", case.app.name, f"{_MIGRATION}={writer.manager}"),
                namespace=case.app.namespace,
            ),
            sync(case),
            title="Let Argo CD take over what this manager owns; a sync then removes what Git leaves out",
            risk="removes every field of this manager that Git does not declare; older versions of Argo CD do"
            " not migrate managers, newer ones migrate kubectl-client-side-apply without the annotation",
        )
    yield declare_live(drifts, title="The cluster is right: declare it in Git")


def _in_a_whole_list(drift: Drift) -> bool:
    """Is it part of a list that has one owner for all of it? Then what the server puts in is that owner's.

    An element that is not there is owned only where the list is owned as a whole.
    """
    parts = split(drift.pointer)
    at = next((index for index, part in enumerate(parts) if index_of(part) is not None), None)
    if at is None:
        return False
    beyond = join((*parts[:at], str(len(items(drift.live.at(join(parts[:at])))))))
    return writer_of(drift.live.body, beyond) is not None
