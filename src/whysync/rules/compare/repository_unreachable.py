"""The Git host or chart registry is unreachable, or the repository does not exist.

## What happens
Argo CD cannot fetch the source, so nothing can be compared. The name cannot be resolved, nothing answers, a
proxy or network policy blocks the connection, the host has an outage, or the repository was renamed, moved
or deleted.

## How whysync knows
The connection error: `no such host`, `connection refused`, `i/o timeout`, `repository
not found`, status 5xx.

## Fix
Test the address from the repo-server's Pod: what works on your machine may not work there. Then fix the
name, the network or the address.

## When it is something else
Many hosts also return `repository not found` for wrong credentials (repo-auth).
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.failure import Network
from whysync.messages.patterns.git import RepoUnreachable
from whysync.queries.commands import app_argument, argocd_namespace, hard_refresh, with_comment
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped
from whysync.queries.sources import (
    failing_source,
    is_oci,
    oci_chart,
    repository_address,
    source_flag,
    source_pointer,
)

ANSWERED = frozenset({Network.RATE_LIMITED, Network.UNAVAILABLE, Network.SERVER_ERROR, Network.NOT_FOUND})
"""The host was reached but returned an error."""


@rule(cause="repo-unreachable", since="0.1")
def repository_unreachable(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RepoUnreachable, by=lambda failure: failure.url or failure.host):
        failure = group.failure
        source = failing_source(case, group.message, url=failure.url)
        url = repository_address(failure.url, source)
        where = url or failure.host or "the repository"
        hidden = failure.reason is Network.NOT_FOUND
        answered = failure.reason in ANSWERED
        reason = (
            "the repository does not exist, or Argo CD's credentials have no access to it"
            if hidden
            else why_unreachable(failure.reason)
        )
        yield Finding(
            about=case.application.ref,
            field=f"{source_pointer(case, source)}/repoURL" if source else None,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM if hidden else Confidence.HIGH,
            verdict=f"Argo CD cannot {'read' if answered else 'reach'} {where}: {reason}",
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="why the connection failed"),
                *(
                    (
                        cite(
                            case.application,
                            f"{source_pointer(case, source)}/repoURL",
                            says="repository of the source",
                        ),
                    )
                    if source
                    else ()
                ),
            ),
            fixes=tuple(_fixes(case, url, source, failure.reason)),
        )


def _fixes(case: Case, url: str, source: Source | None, reason: Network) -> Iterator[Fix]:
    inside = f"kubectl -n {argocd_namespace(case)} exec deploy/argocd-repo-server --"
    address = quote(url) if url else "URL"
    probe = f"git ls-remote {address} HEAD"
    if source is not None and source.chart:
        oci = is_oci(source.repo_url)
        probe = f"helm show chart --repo {address} {quote(source.chart)}"
        probe = f"helm show chart {quote(oci_chart(source.repo_url, source.chart))}" if oci else probe
    yield Fix.run(
        f"{inside} {probe}   # the same request from the repo-server",
        hard_refresh(case),
        title="Wait, use a credential with a higher rate limit, or poll less (webhooks), then hard refresh"
        if reason is Network.RATE_LIMITED
        else "Test the connection from the repo-server, fix it, then hard refresh",
    )
    if reason is Network.NOT_FOUND:
        yield Fix.run(
            f"argocd repo get {address}",
            with_comment(
                f"argocd app set {app_argument(case)}{source_flag(case, source)} --repo NEW_URL",
                "if it was renamed or moved",
            ),
            title="Correct the address, or renew the credential if the repository exists",
        )
