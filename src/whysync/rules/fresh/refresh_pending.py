"""The branch has a new commit that Argo CD has not compared yet.

## What happens
Argo CD polls Git every two to three minutes (`timeout.reconciliation`, 120 s, and up to 60 s of jitter; the
repo-server caches revisions for as long). Without a webhook from the Git host, a push is not noticed for that
long. The app is Synced with the previous commit.

## How whysync knows
The head of the tracked branch is another commit than the one Argo CD compared last.

## Fix
Refresh the app. To notice every push: a webhook from the Git host to `/api/webhook`. If the app still shows
the old commit long after its interval, the webhook or the controller has a problem.

## When it is something else
The app tracks another branch or a fixed commit. With `manifest-generate-paths`, Argo CD can treat a commit as
irrelevant for the app. With `skip-reconcile`, the app is not reconciled at all.
"""

from collections.abc import Iterator
from datetime import timedelta

from whysync.diagnosis import Case, Confidence, Fact, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.diagnosis.symptom import OVERDUE, RECONCILIATION_SKIPPED
from whysync.queries.commands import refresh
from whysync.queries.timestamps import age_text

# timeout.reconciliation, its jitter, and the repo-server's cache of revisions: the longest normal wait.
LONGEST_DELAY = timedelta(seconds=120 + 60 + 180)


@rule(cause="polling-lag", needs={Fact.GIT}, since="0.1")
def refresh_pending(case: Case) -> Iterator[Finding]:
    if case.symptom_ids & {OVERDUE, RECONCILIATION_SKIPPED}:
        return  # the app is not reconciled at all: that is the cause
    age = case.age(case.app.status.reconciled_at)
    late = age is not None and age > LONGEST_DELAY
    for symptom in case.symptoms:
        if symptom.kind is not SymptomKind.BEHIND:
            continue
        last_compared = (
            f"last compared {age_text(age)} ago" if age is not None else "the last comparison is unknown"
        )
        yield Finding(
            about=case.application.ref,
            explains=(symptom.id,),
            severity=Severity.WARNING if late else Severity.INFO,
            confidence=Confidence.HIGH,
            verdict=f"{symptom.text}; {last_compared}",
            evidence=(
                cite(case.application, "/status/sync/revision", says="the compared commit"),
                cite(case.application, "/status/reconciledAt", says="when it was compared"),
                cite(case.application, "/spec/source/targetRevision", says="the tracked branch"),
            ),
            fixes=(
                Fix.run(
                    refresh(case),
                    title="Refresh now; set up a webhook to /api/webhook for every push",
                ),
            ),
        )
