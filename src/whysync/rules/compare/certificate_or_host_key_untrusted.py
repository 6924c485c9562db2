"""Argo CD does not trust the certificate or the SSH host key of the other side.

## What happens
Before it sends credentials, Argo CD checks who answers. The certificate is signed by an authority
that it does not know, has expired or belongs to another name; or the SSH host key is not in its
list, or has changed. It then refuses to talk, and nothing can be compared.

## How whysync knows
The words of the TLS or SSH library: `x509: certificate signed by unknown authority`, `has expired`,
`knownhosts: key is unknown`, `Host key verification failed`.

## Fix
Add the authority or the host key to Argo CD (`argocd-tls-certs-cm`, `argocd-ssh-known-hosts-cm`),
after comparing its fingerprint with one from a source that you trust. An expired certificate is
renewed by whoever runs the host.

## When it is something else
The host answers and rejects the login: repo-auth. An admission webhook with a bad certificate is
webhook-down.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.failure import Peer
from whysync.messages.network import Distrust
from whysync.messages.patterns.git import TlsUntrusted
from whysync.queries.commands import hard_refresh
from whysync.queries.group_failures import grouped
from whysync.queries.sources import failing_source

WORDS = {
    Distrust.UNKNOWN_AUTHORITY: "the certificate of {host} is signed by an authority unknown to Argo CD",
    Distrust.EXPIRED: "the certificate of {host} has expired",
    Distrust.NOT_YET_VALID: "the certificate of {host} is not valid yet: one of the clocks is wrong",
    Distrust.WRONG_HOST: "the certificate that {host} shows is for another name",
    Distrust.HOST_KEY_UNKNOWN: "Argo CD does not know the SSH host key of {host}",
    Distrust.HOST_KEY_CHANGED: "the SSH host key of {host} is another one than Argo CD knows",
    Distrust.OTHER: "Argo CD does not trust the certificate of {host}",
}


@rule(cause="tls-trust", since="0.1")
def certificate_or_host_key_untrusted(case: Case) -> Iterator[Finding]:
    for group in grouped(case, TlsUntrusted, by=lambda failure: (failure.host, failure.reason)):
        failure = group.failure
        source = failing_source(case, group.message)
        host = failure.host or (
            _host_of(source.repo_url) if source and failure.peer is Peer.REPOSITORY else ""
        )
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=WORDS[failure.reason].format(host=host or "the other side")
            + ", so nothing can be compared",
            evidence=group.cited(says="why the connection was given up"),
            fixes=(_fix(case, failure, host),),
        )


def _host_of(url: str) -> str:
    """`git@host:org/repo`, `https://host:port/…` → `host:port` as it stands."""
    rest = url.rpartition("://")[2].partition("/")[0].rpartition("@")[2]
    name, colon, port = rest.partition(":")
    return f"{name}:{port}" if colon and port.isdigit() else name


def _fix(case: Case, failure: TlsUntrusted, host: str) -> Fix:
    name = quote(host.partition(":")[0]) if host else "HOST"
    port = quote(host.partition(":")[2] or "443")
    show = f"openssl s_client -connect {name}:{port} -showcerts </dev/null"
    if failure.reason in (Distrust.HOST_KEY_UNKNOWN, Distrust.HOST_KEY_CHANGED):
        changed = failure.reason is Distrust.HOST_KEY_CHANGED
        return Fix.run(
            f"ssh-keyscan {name} | ssh-keygen -lf -   # compare with the fingerprint that the host publishes",
            *((f"argocd cert rm {name} --cert-type ssh",) if changed else ()),
            f"ssh-keyscan {name} | argocd cert add-ssh --batch",
            hard_refresh(case),
            title="Tell Argo CD the host key, after checking its fingerprint",
            risk="a key that changed without notice can also be somebody in between: check it first",
        )
    if failure.peer is Peer.CLUSTER:
        return Fix.run(
            f"argocd cluster get {quote(host) if host else 'SERVER'}",
            "argocd cluster add CONTEXT --upsert   # writes the cluster's present certificate authority",
            hard_refresh(case),
            title="Register the cluster anew, with its present certificate authority",
        )
    if failure.peer is Peer.UNTOLD and not host:
        return Fix.run(
            "argocd cluster list   # a cluster that fails: argocd cluster add CONTEXT --upsert",
            "argocd repo list   # a repository that fails: argocd cert add-tls HOST --from CA.pem",
            hard_refresh(case),
            title="Find out whose certificate it is, and give Argo CD its certificate authority",
        )
    if failure.reason in (Distrust.EXPIRED, Distrust.NOT_YET_VALID, Distrust.WRONG_HOST):
        return Fix.run(
            f"{show} | openssl x509 -noout -dates -subject -ext subjectAltName",
            hard_refresh(case),
            title="Have the certificate renewed by whoever runs the host, then refresh hard",
        )
    return Fix.run(
        f"{show}   # its certificate authority, as PEM",
        f"argocd cert add-tls {name} --from CA.pem",
        hard_refresh(case),
        title="Tell Argo CD the certificate authority, then refresh hard",
    )
