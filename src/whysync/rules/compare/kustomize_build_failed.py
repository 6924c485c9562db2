"""Kustomize cannot build the overlay.

## What happens
`kustomize build` stops: a file or base that is listed is not there, a patch finds no target, an
object appears twice, a remote base cannot be fetched, or the kustomization uses what this version
does not know. Nothing can be compared.

## How whysync knows
Kustomize's own words, with the file, the patch target or the remote base that it names.

## Fix
Build the same folder on your machine with the same version, mend what it names, commit.

## When it is something else
A remote base that rejects the login is repo-auth; one that is too slow ends as generation-timeout.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.manifests import KustomizeBuild
from whysync.queries.commands import argocd_namespace, hard_refresh
from whysync.queries.group_failures import grouped
from whysync.queries.sources import commits_since_last_sync, failing_source, source_pointer


@rule(cause="kustomize-build", since="0.1")
def kustomize_build_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case,
        KustomizeBuild,
        by=lambda f: (f.missing_file, f.patch_target, f.duplicate_id, f.remote, f.detail),
    ):
        failure = group.failure
        source = failing_source(case, group.message)
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Kustomize cannot build the overlay: {_what(failure)}",
            root=one_line(failure.detail) or None,
            evidence=(*group.cited(says="Kustomize's own words"), *_where(case, source)),
            fixes=(_fix(case, failure, source),),
        )


def _what(failure: KustomizeBuild) -> str:
    if failure.remote:
        return f"it cannot get the remote base {failure.remote}"
    if failure.missing_file:
        return f"{failure.missing_file} is not there"
    if failure.patch_target:
        return f"a patch finds no target {failure.patch_target}"
    if failure.duplicate_id:
        return f"{failure.duplicate_id} appears twice"
    return failure.detail or "it says no more"


def _where(case: Case, source: Source | None) -> Iterator[Evidence]:
    if source is not None and source.path:
        yield cite(case.application, f"{source_pointer(case, source)}/path", says="the overlay that is built")


def _fix(case: Case, failure: KustomizeBuild, source: Source | None) -> Fix:
    path = quote(source.path if source and source.path else "OVERLAY")
    version = f"kubectl -n {argocd_namespace(case)} exec deploy/argocd-repo-server -- kustomize version"
    if failure.remote:
        title = "Correct the remote base, or keep a copy of it in the repository"
    elif failure.missing_file:
        title = "Commit the file, or take it out of the kustomization"
    else:
        title = "Mend what it names, and commit"
    return Fix.run(
        *commits_since_last_sync(case, source),
        f"{version}   # use the same",
        f"kustomize build {path}",
        hard_refresh(case),
        title=title,
    )
