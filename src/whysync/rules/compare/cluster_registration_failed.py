"""`argocd cluster add` fails, so the cluster is not registered.

## What happens
`argocd cluster add` creates the service account `argocd-manager` in the target cluster, binds it to a
ClusterRole, waits for a Secret with its token, and gives that to Argo CD. It stopped at one of these steps:
Argo CD does not know the cluster, and Applications cannot be deployed to it.

## How whysync knows
The fatal line of the command: `did not have a token`, `Failed to wait for service account secret`, `failed to
create service account`, `context … does not exist in kubeconfig`.

## Fix
If the account gets no token, run the command again with an up-to-date `argocd`, which creates the Secret of
the token itself. Otherwise correct what the command reports.

## When it is something else
If an admission policy or RBAC of the target cluster refuses the account: admission-denied, k8s-rbac. If Argo
CD cannot reach the cluster afterwards: cluster-unreachable.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.messages.patterns.cluster import RegistrationFailed
from whysync.queries.commands import with_comment
from whysync.queries.group_failures import grouped


@rule(cause="cluster-not-registered", since="0.1")
def cluster_registration_failed(case: Case) -> Iterator[Finding]:
    for group in grouped(case, RegistrationFailed, by=lambda f: (f.no_token, f.context, f.detail)):
        failure = group.failure
        yield Finding(
            about=case.application.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=_verdict(failure),
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="the argocd command stops here"),
            fixes=(_fix(failure),),
        )


def _verdict(failure: RegistrationFailed) -> str:
    if failure.no_token:
        why = f"service account argocd-manager got no token ({one_line(failure.detail)})"
    else:
        why = one_line(failure.detail)
    return f"the cluster is not registered: {why}"


def _fix(failure: RegistrationFailed) -> Fix:
    add = "argocd cluster add CONTEXT"
    if failure.no_token:
        return Fix.run(
            with_comment("argocd version --client", "a current one creates the Secret of the token itself"),
            with_comment(
                "kubectl -n kube-system get secrets",
                "in the target cluster: is there one of argocd-manager? Its controllers fill it",
            ),
            add,
            title="Add the cluster again with a current argocd command; if its Secret stays empty, the target"
            " cluster has no token controller: register it with another credential",
        )
    if failure.context:
        return Fix.run(
            with_comment("kubectl config get-contexts -o name", "the names that the command accepts"),
            add,
            title="Name a context of your kubeconfig",
        )
    return Fix.run(
        with_comment("kubectl auth can-i create serviceaccounts -n kube-system", "with that context"),
        with_comment(add, "--system-namespace creates the account in another namespace"),
        title="Correct what the command reports, then add the cluster again",
    )
