"""An object has been terminating for a long time: a finalizer has not been removed.

## What happens
A finalizer makes Kubernetes keep an object until its controller has cleaned up. If that controller was
uninstalled or fails, the object stays in deletion forever: a prune or the deletion of an Application waits
for it, and an object of the same name cannot be created.

## How whysync knows
A live object has a `deletionTimestamp` and finalizers; or its health is `Pending deletion`, or Progressing
for a kind of Kubernetes that has no health check; or the operation waits for its deletion; or Argo CD
reports that it cannot delete it; or the Application itself was deleted long ago and still exists.

## Fix
Get the controller that handles the finalizer working again. Only if that controller no longer exists, remove
the finalizer manually. `foregroundDeletion` belongs to the garbage collector of Kubernetes: it waits for the
dependents with `blockOwnerDeletion`, which have to be deleted first. Kubernetes removes the finalizers that
protect claims and volumes when nothing uses them anymore; never remove these manually.

## When it is something else
The namespace itself is being deleted: namespace-terminating.
"""

from collections.abc import Iterator

from whysync.argocd.api.application import HealthCode, ResourceRow
from whysync.argocd.health.assess import health_of
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.drift.field_heuristics import is_builtin
from whysync.diagnosis.owning_resource import symptoms_about
from whysync.diagnosis.sentences import and_more, counted
from whysync.diagnosis.symptom import DELETION, OPERATION, SymptomId, SymptomKind
from whysync.diagnosis.symptoms import health_of_row
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key, Ref
from whysync.messages.benign import is_pending_deletion
from whysync.messages.patterns.apply import DeletionFailed, FinalizerStuck
from whysync.messages.patterns.operations import Awaited
from whysync.queries.commands import (
    CONTROLLER,
    app_argument,
    argocd_namespace,
    kubectl,
    on_object,
    terminate,
    with_comment,
)
from whysync.queries.deletion_blockers import blocker_of, not_removed
from whysync.queries.finalizers import (
    DELETION_TIMESTAMP,
    FINALIZERS,
    REMOVE_FINALIZERS,
    finalizers_of,
    is_stuck_in_deletion,
)
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.timestamps import age_at, age_text
from whysync.queries.waiting_on import wait_of


@rule(cause="finalizer-stuck", since="0.1")
def finalizer_blocks_deletion(case: Case) -> Iterator[Finding]:
    findings = list(_reported(case))
    findings += _seen_in_cluster(case, {finding.about.key for finding in findings})
    findings += _of_the_application(case)
    findings += _reported_by_health(case, {finding.about.key for finding in findings})
    findings = findings or list(_without_condition(case)) or list(_awaited(case))
    yield from findings


def _reported(case: Case) -> Iterator[Finding]:
    for group in grouped(case, FinalizerStuck, by=lambda failure: failure.resource):
        failure = group.failure
        ref = named_ref(case, failure.resource, group.ref)
        yield _finding(
            case,
            ref,
            explains=group.explains,
            evidence=group.cited(says="it is being deleted already, so no finalizer can be added"),
            # the one in the message could not be added: another one keeps the object
            finalizers=tuple(
                name for name in finalizers_of(case.live_of(ref.key)) if name != failure.finalizer
            ),
        )


def _seen_in_cluster(case: Case, reported: set[Key]) -> Iterator[Finding]:
    """Objects in deletion that no message names."""
    for live in case.index.being_deleted:
        if live.key in reported or not is_stuck_in_deletion(case, live):
            continue
        reported.add(live.key)
        explains = tuple(_blocked_by(case, live))
        if explains:
            yield _finding(case, live.ref, explains=explains, finalizers=finalizers_of(live))


def _of_the_application(case: Case) -> Iterator[Finding]:
    """Argo CD cannot delete a resource of the Application, so the Application stays too."""
    for group in grouped(case, DeletionFailed, by=lambda failure: failure.resource):
        ref = named_ref(case, group.failure.resource, group.ref)
        yield _finding(
            case,
            ref,
            explains=(*group.explains, *_deletion(case)),
            evidence=group.cited(says="Argo CD cannot delete it"),
            finalizers=finalizers_of(case.live_of(ref.key)) or case.app.metadata.finalizers,
            sure=False,
        )


def _reported_by_health(case: Case, reported: set[Key]) -> Iterator[Finding]:
    """Rows that are Progressing only because their object is being deleted; the facts do not contain it."""
    if case.synced_recently:
        return
    for row in case.rows_with(SymptomKind.UNHEALTHY):
        if row.key in reported or case.live_of(row.key) is not None or not _is_pending_deletion(case, row):
            continue
        is_namespace = (row.group, row.kind) == ("", "Namespace")
        kept_by = (
            "what is left in it" if is_namespace else "most likely a finalizer, or an object that it owns"
        )
        yield Finding(
            about=row.ref,
            cause="namespace-terminating" if is_namespace else "",
            field=FINALIZERS,
            explains=(SymptomId.unhealthy(row.key), *_deletion(case)),
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM,
            verdict=f"{row.ref} is being deleted and still exists: {kept_by} keeps it",
            evidence=(case.cited_row(row, says="reported so only while it is being deleted"),),
            fixes=(
                Fix.run(
                    with_comment(on_object("get", row.ref, "-o", "yaml"), "its finalizers and conditions"),
                    title="Read its finalizers, and let the controller that set them run",
                ),
            ),
        )


def _is_pending_deletion(case: Case, row: ResourceRow) -> bool:
    """Says its health so? Without a health check, a kind of Kubernetes is Progressing only then.

    Mirrors gitops-engine `GetResourceHealth`, Argo CD 3.6: a deletion timestamp comes before any check.
    """
    code, message = health_of_row(case, row)
    if code != HealthCode.PROGRESSING or message:
        return is_pending_deletion(message)
    bare: Object = {"apiVersion": row.ref.api_version, "kind": row.kind, "metadata": {"name": row.name}}
    return is_builtin(row.ref) and health_of(bare, case.argocd.overrides) is None


def _awaited(case: Case) -> Iterator[Finding]:
    """A sync waits for a deletion, and the facts do not contain the object."""
    wait = wait_of(case)
    if wait is None or wait.what is not Awaited.DELETION or not wait.is_long:
        return
    others = and_more(wait.others)
    yield Finding(
        about=wait.ref,
        field=FINALIZERS,
        explains=tuple(dict.fromkeys((OPERATION, *symptoms_about(case, wait.ref)))),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"the sync has been running for {age_text(wait.age)} and waits for the deletion of"
        f" {wait.ref}{others}: most likely a finalizer keeps it",
        evidence=(
            cite(case.application, "/status/operationState/message", says="what the operation waits for"),
        ),
        fixes=(
            Fix.run(
                on_object("get", wait.ref, "-o", "yaml"),
                terminate(case),
                title="Read its finalizers: let the controller that set them run, or terminate the operation",
                risk="what was applied so far stays",
            ),
        ),
    )


def _blocked_by(case: Case, live: Manifest) -> Iterator[SymptomId]:
    """The symptoms of its own row, and an operation that waits for its deletion."""
    yield from (s.id for s in case.symptoms if s.ref is not None and s.ref.key == live.key)
    if live.key in case.rows:
        yield from _deletion(case)
    wait = wait_of(case)
    if (wait is not None and wait.ref.key == live.key and OPERATION in case.symptom_ids) or (
        wait is not None and wait.what is Awaited.DELETION and wait.ref.name == live.ref.name
    ):
        yield OPERATION


def _deletion(case: Case) -> tuple[SymptomId, ...]:
    return tuple(id for id in (DELETION,) if id in case.symptom_ids)


def _finding(
    case: Case,
    ref: Ref,
    *,
    explains: tuple[SymptomId, ...],
    finalizers: tuple[str, ...],
    evidence: tuple[Evidence, ...] = (),
    sure: bool = True,
) -> Finding:
    live = case.live_of(ref.key)
    blocker = blocker_of(case, ref, live, finalizers, sure=sure)
    since = age_at(case, live, DELETION_TIMESTAMP)
    age = f" for {age_text(since)}" if since is not None else ""
    return Finding(
        about=blocker.about,
        field=FINALIZERS,
        explains=tuple(dict.fromkeys(explains)),
        severity=Severity.CRITICAL,
        confidence=blocker.confidence,
        verdict=f"{blocker.about} has been terminating{age}: {blocker.why}",
        root=blocker.root,
        evidence=(*evidence, *_cited(live), *blocker.evidence),
        fixes=blocker.fixes,
    )


def _without_condition(case: Case) -> Iterator[Finding]:
    """The Application was deleted long ago, and no condition reports why it still exists."""
    if DELETION not in case.symptom_ids or not case.app.metadata.finalizers:
        return
    if any(condition.type.endswith("Error") for condition in case.app.status.conditions):
        return
    remaining = [row.ref for row in case.app.status.resources if case.live_of(row.key) is not None]
    remaining_text = ""
    if remaining:
        remaining_text = f"; it still has {counted(len(remaining), 'resource')}, first {remaining[0]}"
    yield Finding(
        about=case.application.ref,
        field=FINALIZERS,
        explains=(DELETION,),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        verdict=f"{case.application.ref} has been terminating for {age_text(case.being_deleted_for)}:"
        f" {not_removed(case.app.metadata.finalizers)}{remaining_text}",
        evidence=(
            *_cited(case.application),
            *(
                cite(case.application, "/status/resources/0", says="a resource that is still listed")
                for _ in remaining[:1]
            ),
        ),
        fixes=(
            Fix.run(
                kubectl("logs", CONTROLLER, namespace=argocd_namespace(case))
                + f" | grep {app_argument(case)}",
                with_comment(
                    on_object("get", case.application.ref, "-o", "yaml"),
                    "its remaining resources and conditions",
                ),
                title="Check that the application controller runs, and what it cannot delete",
            ),
            Fix.run(
                on_object("patch", case.application.ref, "--type=merge", "-p", REMOVE_FINALIZERS),
                title="Only if its resources may stay, or are gone: remove the finalizer",
                destroys=(
                    "the Application, immediately; resources that are not deleted yet stay in the cluster",
                ),
            ),
        ),
    )


def _cited(live: Manifest | None) -> Iterator[Evidence]:
    if live is not None:
        yield cite(live, DELETION_TIMESTAMP, says="when it was deleted")
        yield cite(live, FINALIZERS, says="finalizers that remain")
