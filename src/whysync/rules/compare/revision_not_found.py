"""The target revision (branch, tag, commit or chart version) does not exist.

## What happens
Argo CD resolves the target revision before it renders. This fails for a deleted branch, a misspelled tag, a
commit removed by a force-push, or a version range that matches nothing. The sync status is Unknown.

## How whysync knows
`unable to resolve '…' to a commit SHA`, `version matching constraint not found`, a chart version
that is not in the index. `invalid revision provided, must be SHA`: the commit exists, but its SHA is
abbreviated.

## Fix
Set an existing target revision, or push the missing one. The command shown lists the existing ones. Until
then the Application can stay at the last synced commit.

## When it is something else
If the repository is not found: repo-unreachable or repo-auth. If the path does not exist in the revision:
path-not-found.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, cite_if, rule
from whysync.messages.patterns.git import RevisionNotFound
from whysync.queries.already_fixed import render_again
from whysync.queries.commands import app_argument, comment, hard_refresh, with_comment
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.revert import is_fixed_revision
from whysync.queries.sources import (
    changed_since_comparison,
    commits_since_last_sync,
    failing_source,
    is_commit,
    is_oci,
    is_of_source,
    oci_chart,
    references_in_git,
    source_flag,
    source_pointer,
    synced_commit,
)

_LASTING = frozenset({"", "HEAD", "main", "master", "trunk", "develop"})
"""Branches that no app has for itself."""


@rule(cause="revision-not-found", since="0.1")
def revision_not_found(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RevisionNotFound, by=lambda f: (f.revision or f.constraint, f.chart)):
        failure = group.failure
        if failure.abbreviated:
            yield _abbreviated(case, group)
            continue
        failing = failing_source(case, group.message, url=failure.repo)
        if failing is not None and not is_of_source(failure.repo, failing):
            yield _of_another_repository(case, group, failing)
            continue
        source = failing
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
                *cite_if(case.application, pointer, says="target revision"),
            ),
            fixes=tuple(_fixes(case, failure, source)),
            already_fixed=render_again(
                case,
                "the Application already tracks another revision",
                "Hard refresh: the revision has been corrected",
                when=_tracks_another(failure, source) and changed_since_comparison(case, source),
            ),
        )


def _abbreviated(case: Case, group: FailureGroup[RevisionNotFound]) -> Finding:
    """The commit exists: rendering works with a part of its SHA, the comparison of files does not."""
    revision, repo = group.failure.revision, group.failure.repo
    source = next((s for s in case.app.sources if s.target_revision == revision), None)
    pointer = f"{source_pointer(case, source)}/targetRevision" if source else None
    where = f" in {pointer[1:].replace('/', '.')}" if pointer else ""
    return Finding(
        about=case.application.ref,
        field=pointer,
        explains=group.explains,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"{revision} is an abbreviated commit SHA, but Argo CD needs all 40 characters to find the"
        f" files that changed in {repo} (annotation manifest-generate-paths)",
        evidence=(
            *group.cited(says="Argo CD refuses it"),
            *cite_if(case.application, pointer, says="target revision"),
        ),
        fixes=(
            Fix.run(
                with_comment(f"git rev-parse {quote(revision)}", f"in a clone of {repo}: all 40 characters"),
                f"argocd app set {app_argument(case)}{source_flag(case, source)} --revision COMMIT"
                if source
                else comment(f"set them as targetRevision of the source that names {revision}"),
                hard_refresh(case),
                title=f"Write the whole SHA{where}",
            ),
        ),
    )


def _of_another_repository(case: Case, group: FailureGroup[RevisionNotFound], source: Source) -> Finding:
    """A chart dependency or a remote base names it; the target revision is that of the source."""
    failure = group.failure
    origin = f"chart {source.chart}" if source.chart else f"files of {source.repo_url}"
    return Finding(
        about=case.application.ref,
        explains=group.explains,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        verdict=f"{_verdict(failure, None)}; {origin} {'refers' if source.chart else 'refer'} to it",
        evidence=tuple(group.cited(says="Argo CD cannot resolve it")),
        fixes=(
            Fix.run(
                *references_in_git(source, failure.repo),
                *commits_since_last_sync(case, source),
                _existing_revisions(failure.repo, failure.chart),
                hard_refresh(case),
                title="Correct the reference in Git (or push the missing revision), then hard refresh",
            ),
        ),
    )


def _tracks_another(failure: RevisionNotFound, source: Source | None) -> bool:
    if source is None or source.chart or not failure.revision or not source.target_revision:
        return False
    return source.target_revision != failure.revision


def _fixes(case: Case, failure: RevisionNotFound, source: Source | None) -> Iterator[Fix]:
    """A pinned commit deploys nothing new; auto-sync deploys any other revision immediately."""
    if _tracks_another(failure, source) and source is not None:
        yield _refresh_first(case, failure, source)
    pin = tuple(_pin_synced_commit(case, source))
    other = _fix(case, failure, source)
    yield from (*pin, other) if case.is_automated else (other, *pin)
    generated = any(owner.kind == "ApplicationSet" for owner in case.app.metadata.owner_references)
    revision = source.target_revision if source is not None else ""
    if pin and not generated and revision not in _LASTING and not is_fixed_revision(revision):
        yield Fix.run(
            f"argocd app delete {app_argument(case)}",
            title="If the app was only for that branch: delete it with its resources",
            destroys=("the Application and everything that it manages",),
        )


def _refresh_first(case: Case, failure: RevisionNotFound, source: Source) -> Fix:
    """The error is about a revision that the Application does not name: an earlier one, or a lost commit."""
    target = source.target_revision
    if is_commit(failure.revision):
        return Fix.run(
            hard_refresh(case),
            with_comment(
                f"git submodule status | grep {failure.revision[:12]}", "in a checkout: or of a submodule?"
            ),
            title=f"Hard refresh: Argo CD resolves {target} again (a force push may have removed the commit)",
        )
    return Fix.run(
        hard_refresh(case),
        title=f"Hard refresh: the Application now follows {target}, the error is about {failure.revision}",
    )


def _risk_of_other(case: Case) -> str:
    if not case.is_automated:
        return ""
    prunes = ", and deletes what that revision does not have" if case.prunes else ""
    return f"auto-sync deploys the revision immediately{prunes}: compare it first"


def _pin_synced_commit(case: Case, source: Source | None) -> Iterator[Fix]:
    """Pin the last synced commit, which usually still exists after its branch was deleted."""
    commit = synced_commit(case, source)
    if source is not None and commit:
        yield Fix.application(
            case.application.ref,
            Set(pointer=f"{source_pointer(case, source)}/targetRevision", value=commit),
            title=f"For now, pin the last synced commit {commit[:8]}",
            risk="works only while Git has this commit; later commits are not deployed",
        )


def _verdict(failure: RevisionNotFound, source: Source | None) -> str:
    repo = failure.repo or (source.repo_url if source else "") or "the repository"
    revision = failure.constraint or failure.revision or (source.target_revision if source else "") or "HEAD"
    chart = failure.chart or (source.chart if source else "")
    if chart:
        is_in_name = chart.startswith(f"{repo.removeprefix('oci://').rstrip('/')}/")
        return f"chart {chart} has no version {revision}" + ("" if is_in_name else f" in {repo}")
    if failure.ambiguous:
        return f"{revision} is ambiguous in {repo}: a branch and a tag have this name"
    if is_oci(repo):
        return f"{revision} does not exist in {repo}: no such tag or digest"
    return f"{revision} does not exist in {repo}: no such branch, tag or commit"


def _fix(case: Case, failure: RevisionNotFound, source: Source | None) -> Fix:
    url = failure.repo or (source.repo_url if source else "")
    chart = failure.chart or (source.chart if source else "")
    return Fix.run(
        _existing_revisions(url, chart),
        *_compared_first(case, source, chart),
        f"argocd app set {app_argument(case)}{source_flag(case, source)} --revision REVISION",
        hard_refresh(case),
        title="Set an existing target revision (or push the missing one)",
        risk=_risk_of_other(case),
    )


def _existing_revisions(url: str, chart: str) -> str:
    if chart and is_oci(url):
        address = oci_chart(url, chart)
        return with_comment(
            f"helm show chart {quote(address)}",
            f"the newest; oras repo tags {address.removeprefix('oci://')} lists all",
        )
    repo = quote(url or "URL")
    if chart:
        return f"helm search repo {quote(chart)} --versions   # after: helm repo add NAME {repo}"
    if is_oci(url):
        return f"oras repo tags {quote(url.removeprefix('oci://'))}"
    return f"git ls-remote --heads --tags {repo}"


def _compared_first(case: Case, source: Source | None, chart: str) -> Iterator[str]:
    """`argocd app diff --revision`, where auto-sync would deploy the revision; it has one source only."""
    if case.is_automated and source is not None and not chart and len(case.app.sources) == 1:
        yield with_comment(
            f"argocd app diff {app_argument(case)} --revision REVISION", "what it would change"
        )
