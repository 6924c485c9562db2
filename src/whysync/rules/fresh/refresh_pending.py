"""The branch has moved on, and Argo CD has not seen it yet.

## What happens
Argo CD asks Git every two to three minutes (`timeout.reconciliation`, 120 s, and up to 60 s of jitter; the
repo-server remembers answers for as long). Without a webhook from the Git host, a push stays unseen for
that long. The app says Synced, and means the commit before.

## How whysync knows
The head of the tracked branch is another commit than the one Argo CD compared with last.

## Fix
Refresh the app. To have it always: a webhook from the Git host to `/api/webhook`. If the app still shows
the old commit long after its interval, the webhook or the controller has a problem.

## When it is something else
The app tracks another branch or a fixed commit than the one you look at. `manifest-generate-paths` can
make Argo CD take a commit for one that does not concern the app. With `skip-reconcile` on the app nobody
looks at all.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.symptom import OVERDUE, RECONCILIATION_SKIPPED
from whysync.queries.commands import refresh
from whysync.queries.timestamps import age_text

# timeout.reconciliation, its jitter, and the repo-server's cache of revisions: the longest normal wait.
PATIENCE = timedelta(seconds=120 + 60 + 180)


@rule(cause="polling-lag", needs={Fact.GIT}, since="0.1")
def refresh_pending(case: Case) -> Iterator[Finding]:
    if case.symptom_ids & {OVERDUE, RECONCILIATION_SKIPPED}:
        return  # nobody looks at the app at all, or reconciling is switched off: a push is not the story
    age = case.age(case.app.status.reconciled_at)
    late = age is not None and age > PATIENCE
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.BEHIND:
            continue
        last_compared = (
            f"last compared {age_text(age)} ago" if age is not None else "when it last compared is unknown"
        )
        yield Finding(
            about=case.application.ref,
            explains=(symptom.id,),
            severity=Severity.WARNING if late else Severity.INFO,
            confidence=Confidence.HIGH,
            verdict=f"{symptom.text}; {last_compared}",
            evidence=(
                cite(case.application, "/status/sync/revision", says="Argo CD compared with this commit"),
                cite(case.application, "/status/reconciledAt", says="then"),
                cite(case.application, "/spec/source/targetRevision", says="the branch it follows"),
            ),
            fixes=(
                Fix.run(
                    refresh(case),
                    title="Refresh now; for every push, set up a webhook to /api/webhook",
                ),
            ),
        )
