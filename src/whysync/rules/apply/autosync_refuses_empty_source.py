"""The source renders no manifests, and auto-sync refuses to delete everything.

## What happens
With automatic pruning, an empty source would delete every resource of the Application. Argo CD refuses that,
because usually the path, the branch or a filter is wrong.

## How whysync knows
`auto-sync will wipe out all resources`.

## Fix
Find out why the source is empty: a folder that was moved, an `include` that matches nothing, a chart whose
components are all disabled. Only if the Application is meant to be empty, sync it manually with pruning.

## When it is something else
The path does not exist at all: path-not-found.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, SymptomKind, cite, rule
from whysync.messages.patterns.operations import AutosyncWipeRefused
from whysync.queries.commands import app_argument, with_comment
from whysync.queries.group_failures import grouped


@rule(cause="autosync-empty-refused", since="0.1")
def autosync_refuses_empty_source(case: Case) -> Iterator[Finding]:
    for group in grouped(case, AutosyncWipeRefused):
        revision = group.failure.revision or case.app.status.sync.revision
        count = len(case.app.status.resources)
        everything = (
            "everything" if not count else f"all {count} resources" if count > 1 else "its only resource"
        )
        source = "/spec/sources" if case.app.spec.sources else "/spec/source"
        yield Finding(
            about=case.application.ref,
            field=source,
            explains=(*group.explains, *(s.id for s in case.symptoms if s.kind is SymptomKind.EXTRA)),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"the source renders no manifests at {revision[:8] or 'this revision'},"
            f" and auto-sync refuses to delete {everything}",
            evidence=(
                *group.cited(says="Argo CD refuses to empty the Application"),
                cite(case.application, source, says="the source"),
            ),
            fixes=(
                Fix.run(
                    f"argocd app manifests {app_argument(case)} --source git   # prints nothing",
                    *_removed_files(case, revision),
                    title="Find out why the source is empty (path, branch, include, values) and fix it",
                ),
                Fix.run(
                    f"argocd app sync {app_argument(case)} --prune",
                    title="Only if the Application is meant to be empty: sync manually with pruning",
                    destroys=("every resource of the Application",),
                ),
            ),
        )


def _removed_files(case: Case, revision: str) -> Iterator[str]:
    """The diff between the last deployed commit and this one, which shows a moved folder."""
    deployed = next((entry.revision for entry in reversed(case.app.status.history)), "")
    source = next(iter(case.app.sources), None)
    if deployed and revision and deployed != revision and source is not None and source.path:
        command = ("git", "diff", "--stat", deployed[:12], revision[:12], "--", source.path)
        yield with_comment(" ".join(quote(word) for word in command), "what was removed from the folder")
    else:
        yield f"argocd app diff {app_argument(case)}"
