"""The source renders an object under a new name each time.

## What happens
A template puts the current time or a random string into a name, usually of a Job, so that each rendering
creates a new object. Argo CD sees two objects: one that is declared but missing, and one that is live but no
longer declared. A sync creates the first and prunes the second, and the next rendering has a third name.

## How whysync knows
The names of two resources of one kind differ only in a timestamp: one is missing, the other requires pruning.
Or the last part of the name differs, although the last sync applied this commit from this source.

## Fix
Give it a fixed name. A Job that must run at each sync is a hook with a fixed name and a delete policy; a Job
that must run once per version has the version in its name.

## When it is something else
A name with a checksum or a version changes with the commit: sync the new commit with pruning.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, rule
from whysync.diagnosis.drift.mechanism import synced_from_current_source
from whysync.diagnosis.symptom import SymptomId
from whysync.queries.commands import app_argument, comment
from whysync.queries.generated_names import renamed_by_rendering


@rule(cause="nondeterministic", since="0.1")
def generated_name_changes(case: Case) -> Iterator[Finding]:
    certain = synced_from_current_source(case)
    for row, earlier_rows in renamed_by_rendering(case):
        yield Finding(
            about=row.ref,
            explains=(
                SymptomId.missing(row.key),
                *(SymptomId.extra(earlier_row.key) for earlier_row in earlier_rows),
            ),
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            verdict=f"{row.ref} gets a new name each time the source is rendered;"
            f" {earlier_rows[0].name} is from an earlier rendering",
            evidence=(
                case.cited_row(row, says="declared now, but missing"),
                *(
                    case.cited_row(earlier_row, says="live, but no longer declared")
                    for earlier_row in earlier_rows[:3]
                ),
            ),
            fixes=(
                Fix.run(
                    f"argocd app manifests {app_argument(case)} --source git | grep 'name:' > one.txt",
                    f"argocd app get {app_argument(case)} --hard-refresh > /dev/null",
                    f"argocd app manifests {app_argument(case)} --source git | grep 'name:' | diff one.txt -",
                    comment(
                        "give what differs a fixed name; a Job for each sync: a hook, BeforeHookCreation"
                    ),
                    title="Render twice and compare; then give it a fixed name (a Job: as a hook)",
                ),
            ),
        )
