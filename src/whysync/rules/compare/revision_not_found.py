"""The branch, tag, commit or chart version that the Application tracks does not exist.

## What happens
Argo CD resolves the target revision before it renders anything. A deleted branch, a misspelt tag, a
force-pushed commit or a version range that matches nothing stops it there: the sync status is
Unknown.

## How whysync knows
`unable to resolve '…' to a commit SHA`, `version matching constraint not found`, a chart version
that is not in the index.

## Fix
Track a revision that exists, or push the missing one. The list of what exists is one command away. Until
then the Application may stay at the commit that it has synced last.

## When it is something else
The repository itself is not found: repo-unreachable or repo-auth. The path inside the revision is
gone: path-not-found.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite, rule
from whysync.messages.patterns.git import RevisionNotFound
from whysync.queries.already_fixed import render_again
from whysync.queries.commands import app_argument, hard_refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.sources import (
    failing_source,
    is_oci,
    oci_chart,
    source_flag,
    source_pointer,
    synced_commit,
)


@rule(cause="revision-not-found", since="0.1")
def revision_not_found(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RevisionNotFound, by=lambda f: (f.revision or f.constraint, f.chart)):
        failure = group.failure
        source = failing_source(case, group.message, url=failure.repo)
        pointer = f"{source_pointer(case, source)}/targetRevision" if source else None
        yield Finding(
            about=case.application.ref,
            field=pointer,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(failure, source),
            evidence=(
                *group.cited(says="Argo CD cannot resolve it"),
                *((cite(case.application, pointer, says="the revision that is tracked"),) if pointer else ()),
            ),
            fixes=(_fix(case, failure, source), *_stay(case, source)),
            already_fixed=render_again(
                case,
                _tracks_another(failure, source),
                "the Application tracks another revision by now",
                "Refresh hard: the revision has been corrected",
            ),
        )


def _tracks_another(failure: RevisionNotFound, source: Source | None) -> bool:
    if source is None or source.chart or not failure.revision or not source.target_revision:
        return False
    return source.target_revision != failure.revision


def _stay(case: Case, source: Source | None) -> Iterator[Fix]:
    """A branch that was merged and deleted mostly leaves its commits behind."""
    commit = synced_commit(case, source)
    if source is not None and commit:
        yield Fix.application(
            case.application.ref,
            Set(pointer=f"{source_pointer(case, source)}/targetRevision", value=commit),
            title=f"Until that is decided, stay at {commit[:8]}, which runs",
            risk="it works as long as Git has that commit; later ones do not arrive",
        )


def _verdict(failure: RevisionNotFound, source: Source | None) -> str:
    repo = failure.repo or (source.repo_url if source else "") or "the repository"
    asked = failure.constraint or failure.revision or (source.target_revision if source else "") or "HEAD"
    chart = failure.chart or (source.chart if source else "")
    if chart:
        return f"chart {chart} has no version {asked} in {repo}"
    if failure.ambiguous:
        return f"{asked} is ambiguous in {repo}: a branch and a tag bear that name"
    if is_oci(repo):
        return f"{asked} does not exist in {repo}: no tag or digest of that name"
    return f"{asked} does not exist in {repo}: no branch, tag or commit of that name"


def _fix(case: Case, failure: RevisionNotFound, source: Source | None) -> Fix:
    url = failure.repo or (source.repo_url if source else "")
    repo = quote(url or "URL")
    chart = failure.chart or (source.chart if source else "")
    if chart and is_oci(url):
        address = oci_chart(url, chart)
        look = with_comment(
            f"helm show chart {quote(address)}",
            f"the newest; oras repo tags {address.removeprefix('oci://')} lists all",
        )
    elif chart:
        look = f"helm search repo {quote(chart)} --versions   # after: helm repo add NAME {repo}"
    elif is_oci(url):
        look = f"oras repo tags {quote(url.removeprefix('oci://'))}"
    else:
        look = f"git ls-remote --heads --tags {repo}"
    return Fix.run(
        look,
        f"argocd app set {app_argument(case)}{source_flag(case, source)} --revision REVISION",
        hard_refresh(case),
        title="Track a revision that exists (or push the missing one)",
    )
