"""Kubernetes does not let Argo CD's account do it.

## What happens
Argo CD acts with a service account of the destination cluster (its own, the one of the cluster
secret, or one that the project impersonates). That account lacks a permission, so the object cannot
be read, listed or applied. If it cannot list a kind, every Application of that cluster suffers.

## How whysync knows
`is forbidden: User … cannot <verb> resource …` from the API server.

## Fix
The smallest Role (or ClusterRole) with its binding that lets exactly this through.

## When it is something else
`permission denied: applications, sync, …` is Argo CD's own RBAC (argocd-rbac). `exceeded quota` and
admission policies also say forbidden: they are quota and admission-denied.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import one_line
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.rbac import Forbidden
from whysync.queries.commands import kubectl, refresh
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.rbac import ROLE_NAME, binding_for, role_for, service_account

LISTING = ("list", "watch", "deletecollection")
CONTROLLERS = ("argocd-application-controller", "openshift-gitops-argocd-application-controller")


@rule(cause="k8s-rbac", since="0.1")
def forbidden_by_kubernetes_rbac(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case, Forbidden, by=lambda f: (f.user, "" if f.cluster_scope else f.namespace, f.escalation)
    ):
        failure = group.failure
        yield Finding(
            about=_about(case, failure),
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Kubernetes does not let {_user(failure)} {_deeds(group)}",
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="the API server refuses it"),
            fixes=(*_own_binding(case, group), *_fixes(group)),
        )


def _user(failure: Forbidden) -> str:
    account = service_account(failure.user)
    return f"ServiceAccount {account[0]}/{account[1]}" if account else failure.user or "Argo CD's account"


def _about(case: Case, failure: Forbidden) -> Ref:
    account = service_account(failure.user)
    if account is None:
        return case.application.ref
    return Ref(version="v1", kind="ServiceAccount", namespace=account[0], name=account[1])


def _deeds(group: FailureGroup[Forbidden]) -> str:
    if group.failure.escalation:
        return "grant permissions that it does not hold itself"
    actions = dict.fromkeys(
        f"{r.failure.verb} {_resource(r.failure)}" for r in group.reports if r.failure.verb
    )
    more = f" and {len(actions) - 4} more" if len(actions) > 4 else ""
    return f"{', '.join(list(actions)[:4]) or 'do this'}{more}{_where(group)}"


def _where(group: FailureGroup[Forbidden]) -> str:
    """Who lists at the cluster scope asks for all namespaces; who names an object there, for one of none."""
    failure = group.failure
    if failure.namespace:
        return f" in namespace {failure.namespace}"
    verbs = {report.failure.verb for report in group.reports}
    return " in the whole cluster" if verbs & {"", *LISTING} else ", which lie in no namespace"


def _resource(failure: Forbidden) -> str:
    return f"{failure.resource}.{failure.group}" if failure.group else failure.resource


def _fixes(group: FailureGroup[Forbidden]) -> Iterator[Fix]:
    failure = group.failure
    if failure.escalation:
        yield Fix.run(
            "# give Argo CD's account the permissions that the Role grants (see the message), or:",
            kubectl(
                "create", "clusterrole", ROLE_NAME, "--verb=bind,escalate", "--resource=clusterroles,roles"
            ),
            *_bind(failure),
            title="Let Argo CD's account grant what it does not hold, or hold it",
            risk="with bind and escalate it can give itself any permission",
        )
        return
    if not failure.resource or not failure.verb:
        yield Fix.run(
            kubectl("auth", "can-i", "--list", f"--as={failure.user or 'USER'}"),
            title="See what the account may do, and give it what the message names",
        )
        return
    yield Fix.new(
        {"apiVersion": "v1", "kind": "List", "items": [role_for(group), binding_for(failure)]},
        title=f"Allow exactly this to {_user(failure)}",
        risk="it is for the destination cluster; apply it with an account that may grant permissions",
    )
    words = ["auth", "can-i", failure.verb, _resource(failure), f"--as={failure.user}"]
    yield Fix.run(
        kubectl(*words, namespace=failure.namespace), title="Check it: this must say yes afterwards"
    )


def _own_binding(case: Case, group: FailureGroup[Forbidden]) -> Iterator[Fix]:
    """The installed controller may do everything: if it may not even list, its binding is not in place."""
    failure = group.failure
    account = service_account(failure.user)
    if account is None or account[1] not in CONTROLLERS or failure.namespace or failure.escalation:
        return
    if failure.verb in ("list", "watch"):
        yield Fix.run(
            f"kubectl get clusterrolebinding -o wide | grep {account[1]}"
            f"   # its subject must be in namespace {account[0]}",
            refresh(case),
            title="Check the installed ClusterRoleBinding first: without it the next kind fails too",
        )


def _bind(failure: Forbidden) -> Iterator[str]:
    account = service_account(failure.user)
    who = f"--serviceaccount={account[0]}:{account[1]}" if account else f"--user={failure.user or 'USER'}"
    yield kubectl("create", "clusterrolebinding", ROLE_NAME, f"--clusterrole={ROLE_NAME}", who)
