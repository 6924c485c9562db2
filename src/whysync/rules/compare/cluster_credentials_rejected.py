"""The destination cluster rejects Argo CD's credentials, or Argo CD cannot obtain them.

## What happens
The token in the cluster Secret has expired or was revoked, the service account `argocd-manager` was
deleted, or the exec plugin that gets a token from the cloud (`argocd-k8s-auth`, an IAM role) fails. Argo CD
cannot read the live state for any Application of that cluster.

## How whysync knows
`Unauthorized`, `the server has asked for the client to provide credentials`, `getting
credentials: exec: …`, or a refusal of `system:anonymous`: a request without credentials. Never bind a role
to that user.

## Fix
Register the cluster again under the same name, with the labels, annotations, namespaces, project and shard
that its Secret has now: `--upsert` drops what is not given. `argocd cluster rotate-auth` does not help: it
uses the rejected token. In its own cluster Argo CD uses the service account of its Pods: restart them. For
cloud logins, fix the role of the controller's service account.

## When it is something else
If the login works but one action is forbidden: k8s-rbac. If the cluster does not answer: cluster-unreachable.
"""

from collections.abc import Iterator

from whysync.argocd.app_controller.destination import IN_CLUSTER
from whysync.argocd.projects.cluster_secrets import cluster_for, known_clusters
from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.rbac import ClusterAuth
from whysync.queries.cluster_registration import DROPPED, register_again
from whysync.queries.commands import (
    CLUSTERS,
    CONTROLLER,
    argocd_namespace,
    kubectl,
    refresh,
    restart,
    with_comment,
)
from whysync.queries.gone_cluster import is_own_cluster
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
    if failure.anonymous:
        return f"Argo CD has no credentials for {server}: its requests arrive there as system:anonymous"
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
    elsewhere = failure.server and failure.server.rstrip("/") != IN_CLUSTER
    if is_own_cluster(case) and not elsewhere and not failure.uses_exec_plugin:
        yield _own_token(case)
        return
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


def _own_token(case: Case) -> Fix:
    """Argo CD logs in to its own cluster with its service account, unless a cluster Secret has a token."""
    namespace = argocd_namespace(case)
    secrets = kubectl("get", "secret", "-l", CLUSTERS, namespace=namespace)
    return Fix.run(
        with_comment(secrets, f"one for {IN_CLUSTER} replaces the service account: renew its token"),
        with_comment(
            restart(case, CONTROLLER),
            "otherwise: its Pods get a new token of their service account",
        ),
        refresh(case),
        title="Renew the token with which Argo CD logs in to its own cluster",
        risk="a restarted controller reads all clusters again: comparisons wait for some minutes",
    )
