"""The destination cluster rejects Argo CD's credentials, or they cannot be obtained.

## What happens
The token in the cluster secret has expired or was revoked, the service account `argocd-manager` is
gone, or the helper that gets a token from the cloud (`argocd-k8s-auth`, an IAM role) fails. No live
state can be read for any Application of that cluster.

## How whysync knows
`Unauthorized`, `the server has asked for the client to provide credentials`, or `getting
credentials: exec: …`.

## Fix
Register the cluster anew, under its old name. `argocd cluster rotate-auth` does not help any more: it
logs in with the token that is rejected. For cloud logins, mend the role of the controller's service
account.

## When it is something else
The login works and one action is refused: k8s-rbac. The cluster does not answer:
cluster-unreachable.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.destination_clusters import cluster_for, known_clusters
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.rbac import ClusterAuth
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
            verdict=f"{server or 'the cluster'} rejects Argo CD's credentials, or they cannot be had",
            root=one_line(failure.detail) or None,
            evidence=(
                *group.cited(says="how the login failed"),
                cite(case.application, "/spec/destination", says="where the Application goes"),
            ),
            fixes=tuple(_fixes(case, failure)),
        )


def _fixes(case: Case, failure: ClusterAuth) -> Iterator[Fix]:
    helper = "exec:" in failure.text
    if helper:
        accounts = kubectl("get", "serviceaccount", "-o", "yaml", namespace=argocd_namespace(case))
        yield Fix.run(
            with_comment(accounts, "which role the controller and the server log in with"),
            refresh(case),
            title="Mend the login of the helper: the role of Argo CD's accounts, and what it may do there",
        )
    name = cluster_for(case.app.spec.destination, known_clusters(case.index.snapshot.settings)).name
    register = f"argocd cluster add CONTEXT --name {quote(name) if name else 'NAME'} --upsert"
    # Under another name the Applications that name the cluster would not find it any more.
    look = () if name else (with_comment("argocd cluster list", "its NAME stays as it is"),)
    yield Fix.run(
        *look,
        register,
        refresh(case),
        title=("Or register" if helper else "Register")
        + " the cluster anew, with a kubeconfig context that may administer it",
        risk="it creates the service account argocd-manager with rights on the whole cluster",
    )
