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
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.json_tree import dig, items, text
from whysync.messages.failure import Network
from whysync.messages.patterns.git import RepoUnreachable
from whysync.queries.commands import app_argument, argocd_namespace, comment, hard_refresh, with_comment
from whysync.queries.connection_errors import why_unreachable
from whysync.queries.group_failures import grouped
from whysync.queries.sources import (
    failing_source,
    is_oci,
    is_of_source,
    oci_chart,
    references_in_git,
    repository_address,
    source_flag,
    source_pointer,
)

ANSWERED = frozenset(
    {
        Network.RATE_LIMITED,
        Network.UNAVAILABLE,
        Network.SERVER_ERROR,
        Network.NOT_FOUND,
        Network.REMOTE_ERROR,
        Network.NOT_A_CHART,
    }
)
"""The host was reached but returned an error."""
OUTAGE = frozenset({Network.UNAVAILABLE, Network.SERVER_ERROR})
_WAIT = "Wait until the host works again (see its status page)"
_TEST = "Test the connection from the repo-server's Pod, fix it"
_TITLES = {
    Network.UNAVAILABLE: _WAIT,
    Network.SERVER_ERROR: _WAIT,
    Network.REMOTE_ERROR: "Correct what the Git server reports there, or wait until it works again",
    Network.RATE_LIMITED: "Wait, use a credential with a higher rate limit, or poll less (webhooks)",
    Network.NOT_FOUND: "Correct the address, or renew the credential if the repository exists",
    Network.NOT_A_CHART: "Correct the address or the version (an image may have the same tag), or push the"
    " chart with helm push; an old Argo CD reads only charts of its Helm release",
    Network.DNS: "Correct the host name, or the DNS that the repo-server uses",
    Network.REFUSED: "Find what refuses it: the host or its port, a firewall, a network policy",
    Network.TIMEOUT: "Let the repo-server through: network policies, firewall, proxy (HTTPS_PROXY)",
    Network.NO_ROUTE: "Let the repo-server through: routes, network policies, firewall",
    Network.PROXY: "Correct the proxy of the repository or of the repo-server (HTTPS_PROXY, NO_PROXY)",
}


@rule(cause="repo-unreachable", since="0.1")
def repository_unreachable(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RepoUnreachable, by=lambda failure: failure.url or failure.host):
        failure = group.failure
        source = failing_source(case, group.message, url=failure.url)
        own = source if source is not None and is_of_source(failure.url, source) else None
        url = repository_address(failure.url, source)
        where = url or failure.host or "the repository"
        hidden = failure.reason is Network.NOT_FOUND
        answered = failure.reason in ANSWERED
        reason = _reason(failure)
        yield Finding(
            about=case.application.ref,
            field=f"{source_pointer(case, own)}/repoURL" if own else None,
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
                            f"{source_pointer(case, own)}/repoURL",
                            says="repository of the source",
                        ),
                    )
                    if own is not None
                    else ()
                ),
                *_worked_before(case, url),
            ),
            fixes=tuple(_fixes(case, url, own, failure, references_in_git(None if own else source, url))),
        )


def _worked_before(case: Case, url: str) -> Iterator[Evidence]:
    """The last deployment from this address: it was correct then, and Argo CD could read it."""
    history = items(dig(case.application.body, "status", "history"))
    for number, entry in reversed(list(enumerate(history))):
        sources = (dig(entry, "source"), *items(dig(entry, "sources")))
        if any(text(dig(source, "repoURL")) == url for source in sources):
            field = "revision" if text(dig(entry, "revision")) else "revisions"
            place = f"/status/history/{number}/{field}"
            yield cite(case.application, place, says="Argo CD deployed from this address before")
            return


def _reason(failure: RepoUnreachable) -> str:
    if failure.reason is Network.NOT_FOUND:
        return "the repository does not exist, or Argo CD's credentials have no access to it"
    if failure.reason in OUTAGE and failure.http_status:
        unavailable = failure.reason is Network.UNAVAILABLE
        status = f"HTTP {failure.http_status}"
        return f"its host is unavailable ({status})" if unavailable else f"its host responds with {status}"
    if failure.reason is Network.REMOTE_ERROR and failure.detail:
        return f"its server responds with an error: {one_line(failure.detail)}"
    return why_unreachable(failure.reason)


def _fixes(
    case: Case, url: str, source: Source | None, failure: RepoUnreachable, references: tuple[str, ...]
) -> Iterator[Fix]:
    """`source` is the one with this repository; `references` finds what else names it."""
    reason = failure.reason
    title = _TITLES.get(reason, _TEST)
    if reason is Network.DNS and any(_worked_before(case, url)):
        title = "Get the host's DNS record back, or correct the DNS that the repo-server uses"
    inside = f"kubectl -n {argocd_namespace(case)} exec deploy/argocd-repo-server --"
    address = quote(url) if url else "URL"
    probe = f"env GIT_TERMINAL_PROMPT=0 git ls-remote {address} HEAD"
    if source is not None and source.chart:
        oci = is_oci(source.repo_url)
        probe = f"helm show chart --repo {address} {quote(source.chart)}"
        probe = f"helm show chart {quote(oci_chart(source.repo_url, source.chart))}" if oci else probe
    elif url.startswith("oci://"):
        probe = f"helm show chart {address}"
    elif failure.is_chart_index:
        probe = f"helm show chart --repo {address} CHART"
    same = with_comment(
        f"argocd repo get {address} --refresh hard", "with Argo CD's own credentials, if they are registered"
    )
    network = with_comment(f"{inside} {probe}", "from its Pod, but without Argo CD's credentials")
    move = with_comment(
        f"argocd app set {app_argument(case)}{source_flag(case, source)} --repo NEW_URL",
        "if it was renamed or moved",
    )
    if reason is Network.RATE_LIMITED:
        yield Fix.run(
            with_comment(
                "argocd repo list", "an entry with a credential? Hosts limit anonymous requests more"
            ),
            comment("poll less: a webhook of the repository to /api/webhook, and a longer"),
            comment("timeout.reconciliation in argocd-cm (read when Argo CD's Pods start)"),
            with_comment(hard_refresh(case), "when the limit has been reset"),
            title=f"{_TITLES[reason]}, then hard refresh",
        )
        return
    yield Fix.run(
        same,
        network,
        *(references or ((move,) if reason is Network.NOT_FOUND else ())),
        hard_refresh(case),
        title=f"{title}, then hard refresh",
    )
