"""Argo CD does not trust a server's certificate or SSH host key.

## What happens
Argo CD verifies the server before it sends credentials. The certificate is signed by an unknown authority,
has expired or is for another name; or the SSH host key is unknown or has changed. Argo CD closes the
connection, and nothing can be compared.

## How whysync knows
The error of the TLS or SSH library: `x509: certificate signed by unknown authority`, `has expired`,
`knownhosts: key is unknown`, `Host key verification failed`.

## Fix
Add the authority or the host key to Argo CD (`argocd-tls-certs-cm`, `argocd-ssh-known-hosts-cm`) after
comparing its fingerprint with a trusted source. An expired certificate must be renewed by the operator of
the host.

## When it is something else
If the host rejects the credentials: repo-auth. An admission webhook with a bad certificate: webhook-down.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import Source
from whysync.argocd.projects.cluster_secrets import known_clusters
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.messages.failure import Peer
from whysync.messages.network import Distrust
from whysync.messages.patterns.git import TlsUntrusted
from whysync.queries.cluster_registration import DROPPED, register_again
from whysync.queries.commands import argocd_namespace, hard_refresh, kubectl, refresh, with_comment
from whysync.queries.group_failures import grouped
from whysync.queries.sources import failing_source

PROBLEMS = {
    Distrust.UNKNOWN_AUTHORITY: "the certificate of {host} is signed by an authority unknown to Argo CD",
    Distrust.EXPIRED: "the certificate of {host} has expired",
    Distrust.NOT_YET_VALID: "the certificate of {host} is not valid yet: a clock is wrong",
    Distrust.WRONG_HOST: "the certificate of {host} is for another name",
    Distrust.HOST_KEY_UNKNOWN: "the SSH host key of {host} is unknown to Argo CD",
    Distrust.HOST_KEY_CHANGED: "the SSH host key of {host} differs from the one that Argo CD has",
    Distrust.OTHER: "Argo CD does not trust the certificate of {host}",
}


@rule(cause="tls-trust", since="0.1")
def certificate_or_host_key_untrusted(case: Case) -> Iterator[Finding]:
    for group in grouped(case, TlsUntrusted, by=lambda failure: (failure.host, failure.reason)):
        failure = group.failure
        source = failing_source(case, group.message)
        host = failure.host or (
            _host_of(source.repo_url)
            if source and failure.peer is Peer.REPOSITORY and not failure.host_is_hidden
            else ""
        )
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=PROBLEMS[failure.reason].format(host=host or _unknown_host(failure)),
            evidence=group.cited(says="why the connection failed"),
            fixes=(_fix(case, failure, _address(case, failure, host, source)),),
        )


def _unknown_host(failure: TlsUntrusted) -> str:
    return "the server that the error names" if failure.host_is_hidden else "the server"


def _host_of(url: str) -> str:
    """`host` or `host:port` of `git@host:org/repo` or `https://host:port/…`."""
    rest = url.rpartition("://")[2].partition("/")[0].rpartition("@")[2]
    name, colon, port = rest.partition(":")
    return f"{name}:{port}" if colon and port.isdigit() else name


def _address(case: Case, failure: TlsUntrusted, host: str, source: Source | None) -> str:
    """The host with its port, which the error often leaves out: from the destination or the source."""
    of_cluster = failure.peer is Peer.CLUSTER
    url = case.app.spec.destination.server if of_cluster else source.repo_url if source else ""
    return _host_of(url) if _host_of(url).partition(":")[0] == host else host


def _server(host: str) -> str:
    """The URL by which `argocd cluster` knows a cluster."""
    return f"https://{host.removesuffix(':443')}"


def _cluster_name(case: Case, host: str) -> str:
    known = known_clusters(case.index.snapshot.settings)
    return next((cluster.name for cluster in known if cluster.server == _server(host)), "")


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
            title="Add the host key to Argo CD after checking its fingerprint",
            risk="an unannounced key change may be a man-in-the-middle attack: check the fingerprint first",
        )
    if failure.peer is Peer.CLUSTER and failure.reason in (Distrust.EXPIRED, Distrust.NOT_YET_VALID):
        return Fix.run(
            f"{show} | openssl x509 -noout -dates -subject",
            "# with kubeadm, on each control plane: kubeadm certs renew apiserver; restart the API server",
            refresh(case),
            title="Renew the certificate of the cluster's API server",
        )
    if failure.peer is Peer.CLUSTER:
        return Fix.run(
            *register_again(case, _server(host) if host else "", _cluster_name(case, host)),
            hard_refresh(case),
            title="Register the cluster again, with its current certificate authority",
            risk=DROPPED,
        )
    if failure.peer is Peer.ARGOCD:
        return Fix.run(
            f"{show} | openssl x509 -noout -dates -issuer -ext subjectAltName",
            with_comment("argocd login SERVER --server-crt CA.pem", "a name that the certificate has"),
            title="Use a name of the certificate as the server, and give the command its authority; or renew"
            " the certificate in Secret argocd-server-tls",
        )
    if failure.peer is Peer.LOGIN_PROVIDER:
        return Fix.run(
            f"{show} | openssl x509 -noout -dates -issuer -ext subjectAltName",
            with_comment(
                kubectl("edit", "configmap", "argocd-cm", namespace=argocd_namespace(case)),
                "rootCA in oidc.config; with Dex, the CA of the connector in dex.config",
            ),
            title="Add the provider's authority as rootCA to oidc.config, or renew its certificate",
        )
    if failure.peer is Peer.UNKNOWN and not host:
        return Fix.run(
            "argocd cluster list   # a cluster that fails: register it again",
            "argocd repo list   # a repository that fails: argocd cert add-tls HOST --from CA.pem --upsert",
            hard_refresh(case),
            title="Find out whose certificate it is, and add its certificate authority to Argo CD",
        )
    if failure.reason in (Distrust.EXPIRED, Distrust.NOT_YET_VALID, Distrust.WRONG_HOST):
        return Fix.run(
            f"{show} | openssl x509 -noout -dates -subject -ext subjectAltName",
            hard_refresh(case),
            title="Have the operator of the host renew the certificate, then hard refresh",
        )
    return Fix.run(
        with_comment(
            f"{show} | openssl x509 -noout -issuer -dates",
            "who signed it; get CA.pem from those who run the host, not from this connection",
        ),
        with_comment(
            f"argocd cert add-tls {name} --from CA.pem --upsert",
            "replaces the entry of this host: CA.pem may have several certificates, also the old one",
        ),
        with_comment(hard_refresh(case), "the repo-server sees a new entry after up to a minute"),
        title="Add the certificate authority to Argo CD, then hard refresh",
    )
