"""The source hydrator could not render or push the hydrated manifests.

## What happens
With a source hydrator, Argo CD renders the dry source and pushes the result to a branch, from which
it then syncs. That push or rendering failed, so the hydrated branch is behind: new commits of the
dry source do not arrive. Applications that share the branch fail together.

## How whysync knows
A condition or the log names the hydrator: `failed to commit hydrated manifests`, `cannot hydrate
because …`; `status.sourceHydrator.currentOperation` is cited where it is at hand.

## Fix
Mend what the message names: mostly write access to the branch, or one Application of the group that
does not render. Argo CD tries again after two minutes, or at the next commit.

## When it is something else
The hydrated branch is up to date and the sync from it fails: then that failure is told on its own.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import app_argument
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.words import one_line
from whysync.semantics.messages import HydratorFailed


@rule(cause="hydrator-failed", since="0.1")
def hydration_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, HydratorFailed, by=lambda failure: (failure.app, failure.branch)):
        failure = group.failure
        culprit = (
            f" because of Application {failure.app}" if failure.app and failure.app != case.app.name else ""
        )
        yield Finding(
            about=case.application.ref,
            field="/spec/sourceHydrator",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the source hydrator failed{culprit}"
            + (f": {one_line(failure.detail)}" if failure.detail else ""),
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="what the hydrator says"), *_operation(case)),
            fixes=(
                Fix.run(
                    "argocd repo list   # the hydrator needs a credential that may push (repository-write)",
                    f"argocd app get {app_argument(case)} --hard-refresh",
                    title="Mend what the message names (write access, a source that does not render)",
                ),
            ),
        )


def _operation(case: Case) -> Iterator[Evidence]:
    pointer = "/status/sourceHydrator/currentOperation/phase"
    if case.application.at(pointer):
        yield cite(case.application, pointer, says="how the last hydration ended")
