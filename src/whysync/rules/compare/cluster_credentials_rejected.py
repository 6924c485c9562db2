"""The destination cluster rejects Argo CD's credentials, or they cannot be obtained.

## What happens
The token in the cluster secret has expired or was revoked, the service account `argocd-manager` is
gone, or the helper that gets a token from the cloud (`argocd-k8s-auth`, an IAM role) fails. No live
state can be read for any Application of that cluster.

## How whysync knows
`Unauthorized`, `the server has asked for the client to provide credentials`, or `getting
credentials: exec: …`.

## Fix
Register the cluster anew, or rotate its token. For cloud logins, mend the role of the controller's
service account.

## When it is something else
The login works and one action is refused: k8s-rbac. The cluster does not answer:
cluster-unreachable.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.commands import argocd_namespace, kubectl, refresh
from whysync.diagnosis.grouped import grouped
from whysync.diagnosis.words import one_line
from whysync.semantics.messages import ClusterAuth


@rule(cause="cluster-auth", since="0.1")
def cluster_credentials_rejected(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ClusterAuth, by=lambda failure: failure.server):
        failure = group.failure
        destination = case.app.spec.destination
        server = failure.server or destination.server or destination.name
        secrets = kubectl(
            "get", "secret", "-l", "argocd.argoproj.io/secret-type=cluster", namespace=argocd_namespace(case)
        )
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
            fixes=(
                Fix.run(
                    f"{secrets}   # the one of this cluster",
                    f"argocd cluster rotate-auth {quote(server) if server else 'SERVER'}",
                    refresh(case),
                    title="Give Argo CD a new token for this cluster, then refresh",
                ),
                Fix.run(
                    "argocd cluster add CONTEXT --upsert",
                    refresh(case),
                    title="Or register the cluster anew, with a kubeconfig context that may administer it",
                    risk="it creates the service account argocd-manager with rights on the whole cluster",
                ),
            ),
        )
