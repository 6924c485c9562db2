"""The destination cluster rejects Argo CD's credentials, or Argo CD cannot obtain them.

## What happens
The token in the cluster Secret has expired or was revoked, the service account `argocd-manager` was
deleted, or the exec plugin that gets a token from the cloud (`argocd-k8s-auth`, an IAM role) fails. Argo CD
cannot read the live state for any Application of that cluster.

## How whysync knows
`Unauthorized`, `the server has asked for the client to provide credentials`, or `getting
credentials: exec: …`.

## Fix
Register the cluster again under the same name, with the labels, annotations, namespaces, project and shard
that its Secret has now: `--upsert` drops what is not given. `argocd cluster rotate-auth` does not help: it
uses the rejected token. For cloud logins, fix the role of the controller's service account.

## When it is something else
If the login works but one action is forbidden: k8s-rbac. If the cluster does not answer: cluster-unreachable.
"""

from collections.abc import Iterator

from whysync.argocd.projects.cluster_secrets import cluster_for, known_clusters
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.rbac import ClusterAuth
from whysync.queries.cluster_registration import DROPPED, register_again
from whysync.queries.commands import argocd_namespace, kubectl, refresh, with_comment
from whysync.queries.group_failures import grouped


@rule(cause="cluster-auth", since="0.1")
def cluster_credentials_rejected(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ClusterAuth, by=lambda failure: failure.server):
        failure = group.failure
        destination = case.app.spec.destination
        server = failure.server or destination.server or destination.name
        yield Finding(
            about=case.application.ref,
            field="/spec/destination",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(failure, server or "the cluster"),
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="why the login failed"),
                cite(case.application, "/spec/destination", says="destination of the Application"),
            ),
            fixes=tuple(_fixes(case, failure)),
        )


def _verdict(failure: ClusterAuth, server: str) -> str:
    reason = f": {one_line(failure.detail)}" if failure.detail else ""
    if failure.uses_exec_plugin:
        return f"Argo CD cannot obtain credentials for {server}{reason}"
    return f"{server} rejects Argo CD's credentials{reason}"


def _fixes(case: Case, failure: ClusterAuth) -> Iterator[Fix]:
    if failure.uses_exec_plugin:
        accounts = kubectl("get", "serviceaccount", "-o", "yaml", namespace=argocd_namespace(case))
        yield Fix.run(
            with_comment(accounts, "the roles of the controller and the API server"),
            refresh(case),
            title="Give Argo CD's service accounts a role that may log in to the cluster, then refresh",
        )
    destination = case.app.spec.destination
    is_destination = failure.server in ("", destination.server) or not destination.server
    known = cluster_for(destination, known_clusters(case.index.snapshot.settings))
    name = known.name if is_destination else ""
    server = failure.server or known.server
    # Applications that name the cluster would not find it under another name.
    look = () if name else (with_comment("argocd cluster list", "keep its NAME"),)
    yield Fix.run(
        *look,
        *register_again(case, server, name),
        refresh(case),
        title=("Or register" if failure.uses_exec_plugin else "Register")
        + " the cluster again, with a kubeconfig context that has admin access",
        risk="creates the service account argocd-manager with permissions on the whole cluster; " + DROPPED,
    )
