"""The source hydrator could not render or push the hydrated manifests.

## What happens
With a source hydrator, Argo CD renders the dry source and pushes the result to a branch, from which
it then syncs. That push or rendering failed, so the hydrated branch is behind: new commits of the
dry source do not arrive. Applications that share the branch fail together.

## How whysync knows
`status.sourceHydrator.currentOperation` is Failed, and its message tells why; or a condition or the
log names the hydrator: `failed to commit hydrated manifests`, `cannot hydrate because …`.

## Fix
Mend what the message names: mostly write access to the branch, or one Application of the group that
does not render. Argo CD tries again after two minutes, or at the next commit.

## When it is something else
The hydrated branch is up to date and the sync from it fails: then that failure is told on its own.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.diagnosis.symptom import HYDRATION, SymptomId
from whysync.messages.patterns.manifests import HydratorFailed
from whysync.queries.commands import app_argument
from whysync.queries.group_failures import grouped

LAST = "/status/sourceHydrator/currentOperation"


@rule(cause="hydrator-failed", since="0.1")
def hydration_failed(case: Case) -> Iterator[Finding]:
    told = False
    for group in grouped(case, HydratorFailed, by=lambda failure: (failure.app, failure.branch)):
        failure = group.failure
        culprit = (
            f" because of Application {failure.app}" if failure.app and failure.app != case.app.name else ""
        )
        said, told = group.cited(says="what the hydrator says"), True
        yield _finding(case, failure.detail, explains=group.explains, said=said, culprit=culprit)
    hydrator = case.app.status.source_hydrator
    if not told and HYDRATION in case.symptom_ids and hydrator and hydrator.current_operation:
        said = (cite(case.application, f"{LAST}/message", says="what the hydrator says"),)
        yield _finding(case, hydrator.current_operation.message, said=said)


def _finding(
    case: Case,
    detail: str,
    *,
    said: tuple[Evidence, ...],
    explains: tuple[SymptomId, ...] = (),
    culprit: str = "",
) -> Finding:
    own = (HYDRATION,) if HYDRATION in case.symptom_ids else ()
    words = one_line(detail)
    return Finding(
        about=case.application.ref,
        field="/spec/sourceHydrator",
        explains=(*explains, *own),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"the source hydrator failed{culprit}" + (f": {words}" if words else ""),
        root=words or None,
        evidence=(*said, *_operation(case)),
        fixes=(
            Fix.run(
                "argocd repo list   # the hydrator needs a credential that may push (repository-write)",
                f"argocd app get {app_argument(case)} --hard-refresh",
                title="Mend what the message names (write access, a source that does not render)",
            ),
        ),
    )


def _operation(case: Case) -> Iterator[Evidence]:
    if case.application.at(f"{LAST}/phase"):
        yield cite(case.application, f"{LAST}/phase", says="how the last hydration ended")
