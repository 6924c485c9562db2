"""What Argo CD says of the app contradicts itself.

## What happens
The parts of an app's status are written together; when they contradict each other, some of them are old. The
app is OutOfSync and every resource is Synced; or all is compared with a source that the spec does not
name any more. It happens after a crash of the controller, a cache that was lost, or a change of version.

## How whysync knows
The app is OutOfSync, no row is, no metadata of a managed namespace differs, and no sync is under way; or the
status was compared to another repository, path or revision than the spec names now.

## Fix
The ladder, from harmless to harsh: refresh; hard refresh (drops cached manifests); restart the application
controller; delete the Application without cascade and create it again (`--cascade=false` keeps its objects).

## When it is something else
Seconds after a change of the spec this is normal. A row that is Unknown is one that the project does not
permit. Labels of a managed namespace differ without a row.
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
        return  # nothing is known of the rows, or the project hides one of them: another story
    if any(s.kind is SymptomKind.OPERATION or s.kind is SymptomKind.CONDITION for s in case.symptoms):
        return
    if undetected(case):
        return  # something does differ
    changed = _compared_to_another(case)
    yield Finding(
        about=case.application.ref,
        explains=(APP_DIFFERS,),
        confidence=Confidence.MEDIUM if changed else Confidence.LOW,
        verdict="the app was compared to another source than it names now: the status is old"
        if changed
        else "the app is OutOfSync and none of its resources is: a part of the status is old",
        evidence=(
            cite(case.application, "/status/sync", says="what Argo CD says of the whole"),
            *changed,
            cite(case.application, "/status/reconciledAt", says="and when"),
        ),
        fixes=(
            Fix.run(refresh(case), hard_refresh(case), title="Refresh, then hard refresh"),
            Fix.run(
                kubectl("rollout", "restart", "statefulset", "argocd-application-controller",
                        namespace=argocd_namespace(case)),
                title="If it stays so: restart the application controller",
                risk="all apps are compared anew: a burst of load",
            ),
            Fix.run(
                f"argocd app delete {app_argument(case)} --cascade=false",
                title="At last: delete the Application without its objects, and create it again",
                risk="without --cascade=false all objects of the app are deleted",
                destroys=("the app's history and operation state",),
            ),
        ),
    )  # fmt: skip


def _compared_to_another(case: Case) -> tuple[Evidence, ...]:
    compared = case.app.status.sync.compared_to
    if compared is None or compared.source is None or case.app.spec.source is None:
        return ()
    if _place(compared.source) == _place(case.app.spec.source):
        return ()
    return (cite(case.application, "/spec/source", says="the spec names another one now"),)


def _place(source: Source) -> tuple[str, ...]:
    return (source.repo_url, source.path, source.target_revision, source.chart)
