"""The Git host or chart registry cannot be reached, or has no such repository.

## What happens
Argo CD cannot fetch the source, so nothing can be compared. The name cannot be resolved, nothing
answers, a proxy or network policy is in between, the host has an outage, or the repository was
renamed, moved or deleted.

## How whysync knows
The error of the connection itself: `no such host`, `connection refused`, `i/o timeout`, `repository
not found`, a status of 5xx.

## Fix
Try the same address from the repo-server's Pod: what works on your machine may not work from there.
Then mend the name, the route or the address.

## When it is something else
`repository not found` is also what many hosts answer to the wrong credentials (repo-auth).
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
"""The host was reached, and answered with an error."""


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
            "there is no such repository, or it hides from Argo CD's credentials"
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
                *group.cited(says="how the connection failed"),
                *(
                    (
                        cite(
                            case.application,
                            f"{source_pointer(case, source)}/repoURL",
                            says="what it asks for",
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
        f"{inside} {probe}   # the same try, from where it fails",
        hard_refresh(case),
        title="Wait, or use a credential with a higher limit; ask less often (webhooks), then refresh hard"
        if reason is Network.RATE_LIMITED
        else "Find out from the repo-server what stands in between, fix it, then refresh hard",
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
