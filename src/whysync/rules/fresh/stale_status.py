"""The status of the app contradicts itself.

## What happens
The parts of an app's status are written together; if they contradict each other, some are stale. The app is
OutOfSync although every resource is Synced; or it was compared with a source that the spec no longer has. It
happens after a crash of the controller, the loss of a cache, or an upgrade.

## How whysync knows
The app is OutOfSync, no row is, the metadata of a managed namespace does not differ, and no sync is running;
or the status was compared with another repository, path or revision than the spec has now.

## Fix
In this order, from harmless to disruptive: refresh; hard refresh (drops cached manifests); restart the
application controller; delete the Application without cascade and create it again (`--cascade=false` keeps
its objects).

## When it is something else
This is normal seconds after a change of the spec. A row that is Unknown is one that the project does not
permit. Labels of a managed namespace can differ without a row.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, SymptomKind, cite, rule
from whysync.diagnosis.symptom import APP_DIFFERS
from whysync.queries.commands import app_argument, argocd_namespace, hard_refresh, kubectl, refresh
from whysync.queries.hidden_drift import undetected
from whysync.queries.managed_namespace import managed_metadata_differs
from whysync.queries.waiting_on import is_running


@rule(cause="stale-state", since="0.1", on_absence=True)
def stale_status(case: Case) -> Iterator[Finding]:
    if APP_DIFFERS not in case.symptom_ids or is_running(case) or managed_metadata_differs(case):
        return
    rows = case.app.status.resources
    if not rows or any(row.status == "Unknown" for row in rows):
        return  # the rows are unknown, or the project hides one of them: another cause
    if any(s.kind is SymptomKind.OPERATION or s.kind is SymptomKind.CONDITION for s in case.symptoms):
        return
    if undetected(case):
        return  # something does differ
    changed = _compared_to_another(case)
    yield Finding(
        about=case.application.ref,
        explains=(APP_DIFFERS,),
        confidence=Confidence.MEDIUM if changed else Confidence.LOW,
        verdict="the app was compared with another source than its spec has now: its status is stale"
        if changed
        else "the app is OutOfSync but no resource is: its status is stale",
        evidence=(
            cite(case.application, "/status/sync", says="the app's sync status"),
            *changed,
            cite(case.application, "/status/reconciledAt", says="when it was compared"),
        ),
        fixes=(
            Fix.run(refresh(case), hard_refresh(case), title="Refresh, then hard refresh"),
            Fix.run(
                kubectl("rollout", "restart", "statefulset", "argocd-application-controller",
                        namespace=argocd_namespace(case)),
                title="If that does not help: restart the application controller",
                risk="all apps are compared again, which causes load",
            ),
            Fix.run(
                f"argocd app delete {app_argument(case)} --cascade=false",
                title="Last resort: delete the Application without its objects, and create it again",
                risk="without --cascade=false all objects of the app are deleted",
                destroys=("the app's history and operation state",),
            ),
        ),
    )  # fmt: skip


def _compared_to_another(case: Case) -> tuple[Evidence, ...]:
    compared = case.app.status.sync.compared_to
    if compared is None or compared.source is None or case.app.spec.source is None:
        return ()
    if _source_key(compared.source) == _source_key(case.app.spec.source):
        return ()
    return (cite(case.application, "/spec/source", says="the source in the spec"),)


def _source_key(source: Source) -> tuple[str, ...]:
    return (source.repo_url, source.path, source.target_revision, source.chart)
