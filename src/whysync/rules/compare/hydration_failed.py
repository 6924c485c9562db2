"""The source hydrator could not render or push the hydrated manifests.

## What happens
With a source hydrator, Argo CD renders the dry source and pushes the result to a branch, from which it then
syncs. The rendering or the push failed, so the hydrated branch is outdated: new commits of the dry source
are not deployed. Applications that share the branch fail together.

## How whysync knows
`status.sourceHydrator.currentOperation` is Failed, with a message; or a condition or the log names the
hydrator: `failed to commit hydrated manifests`, `cannot hydrate because …`. A connection error there is one
of the commit-server, which does the push.

## Fix
Fix the reported problem: usually write access to the branch, or one Application of the group that does not
render. Argo CD retries after two minutes, or at the next commit.

## When it is something else
If the hydrated branch is up to date but the sync from it fails, that failure has its own finding.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import HYDRATION, SymptomId
from whysync.messages.failure import Lookup, Network
from whysync.messages.patterns.manifests import HydratorFailed
from whysync.queries.argocd_components import pods_named, resolve_again, unresolved
from whysync.queries.commands import app_argument, argocd_namespace, hard_refresh, kubectl, with_comment
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped

CURRENT_OPERATION = "/status/sourceHydrator/currentOperation"
WRITE_CREDENTIALS = "argocd.argoproj.io/secret-type=repository-write"


@rule(cause="hydrator-failed", since="0.1")
def hydration_failed(case: Case) -> Iterator[Finding]:
    is_reported = False
    for group in grouped(case, HydratorFailed, by=lambda failure: (failure.app, failure.branch)):
        failure = group.failure
        culprit = (
            f" because of Application {failure.app}" if failure.app and failure.app != case.app.name else ""
        )
        evidence, is_reported = group.cited(says="error of the hydrator"), True
        if failure.unreachable is not None:
            yield _without_commit_server(case, failure, explains=group.explains, evidence=evidence)
            continue
        yield _finding(case, failure.detail, explains=group.explains, evidence=evidence, culprit=culprit)
    hydrator = case.app.status.source_hydrator
    if not is_reported and HYDRATION in case.symptom_ids and hydrator and hydrator.current_operation:
        evidence = (cite(case.application, f"{CURRENT_OPERATION}/message", says="error of the hydrator"),)
        yield _finding(case, hydrator.current_operation.message, evidence=evidence)


def _finding(
    case: Case,
    detail: str,
    *,
    evidence: tuple[Evidence, ...],
    explains: tuple[SymptomId, ...] = (),
    culprit: str = "",
) -> Finding:
    own = (HYDRATION,) if HYDRATION in case.symptom_ids else ()
    error = one_line(detail)
    return Finding(
        about=case.application.ref,
        field="/spec/sourceHydrator",
        explains=(*explains, *own),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"the source hydrator failed{culprit}" + (f": {error}" if error else ""),
        root=error or None,
        evidence=(*evidence, *_operation(case)),
        fixes=(
            Fix.run(
                with_comment(
                    kubectl("get", "secret", "-l", WRITE_CREDENTIALS, namespace=argocd_namespace(case)),
                    "is there one for this repository, and may it push to the branch?",
                ),
                kubectl("logs", "deploy/argocd-commit-server", "--tail=50", namespace=argocd_namespace(case)),
                hard_refresh(case),
                title="If it cannot push: register a credential with write access, then hard refresh",
            ),
            Fix.run(
                with_comment(
                    f"argocd app manifests {app_argument(case)} --source git", "the error of the dry source"
                ),
                hard_refresh(case),
                title="If its dry source does not render: correct it and commit, then hard refresh",
            ),
        ),
    )


def _without_commit_server(
    case: Case, failure: HydratorFailed, *, evidence: tuple[Evidence, ...], explains: tuple[SymptomId, ...]
) -> Finding:
    """The commit-server is a component of its own, which a usual installation does not have."""
    namespace = argocd_namespace(case)
    own = (HYDRATION,) if HYDRATION in case.symptom_ids else ()
    reason = why_unreachable(failure.unreachable or Network.UNKNOWN)
    why = (
        unresolved(case, failure.lookup)
        if failure.lookup is not None
        else f"Argo CD's commit-server does not answer: {reason}"
    )
    start = Fix.run(
        kubectl("get", "deployments,services,pods", namespace=namespace) + " | grep commit-server",
        hard_refresh(case),
        title="Get the commit-server running (it is part of install-with-hydrator.yaml, in the Helm chart"
        " commitServer.enabled), then hard refresh",
    )
    return Finding(
        about=case.application.ref,
        field="/spec/sourceHydrator",
        explains=(*explains, *own),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"the source hydrator cannot push: {why}",
        evidence=(*evidence, *_operation(case), *pods_named(case, "commit-server")),
        fixes=(
            *_resolve(case, failure.lookup),
            start,
        ),
    )


def _resolve(case: Case, lookup: Lookup | None) -> Iterator[Fix]:
    if lookup is not None:
        yield resolve_again(case, lookup, hard_refresh(case), component="commit")


def _operation(case: Case) -> Iterator[Evidence]:
    if case.application.at(f"{CURRENT_OPERATION}/phase"):
        yield cite(case.application, f"{CURRENT_OPERATION}/phase", says="phase of the last hydration")
