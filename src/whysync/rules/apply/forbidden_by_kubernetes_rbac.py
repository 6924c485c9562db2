"""Kubernetes RBAC does not permit a request of Argo CD's account.

## What happens
Argo CD uses an account of the destination cluster: its own service account, the one in the cluster Secret,
or one that the project impersonates. That account lacks a permission, so the object cannot be read, listed
or applied. If it cannot list a kind, every Application of that cluster is affected.

## How whysync knows
`is forbidden: User … cannot <verb> resource …` from the API server.

## Fix
If Argo CD's own controller cannot list a kind, its ClusterRoleBinding is missing or has another subject:
repair the binding, because the next kind fails too. Otherwise create the smallest Role (or ClusterRole) and
binding that permits exactly this.

## When it is something else
`permission denied: applications, sync, …` is Argo CD's own RBAC (argocd-rbac). `exceeded quota` and admission
policies also report forbidden: they are quota and admission-denied.
"""

from collections.abc import Iterator

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.sentences import listed, one_line
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.rbac import Forbidden
from whysync.queries.commands import kubectl, refresh, sync, with_comment
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
            verdict=f"Kubernetes RBAC does not permit {_user(failure)} to {_requests(group)}",
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="the API server denies the request"),
            fixes=(*_own_binding(case, group), *_fixes(case, group)),
        )


def _user(failure: Forbidden) -> str:
    account = service_account(failure.user)
    return f"ServiceAccount {account[0]}/{account[1]}" if account else failure.user or "Argo CD's account"


def _about(case: Case, failure: Forbidden) -> Ref:
    account = service_account(failure.user)
    if account is None:
        return case.application.ref
    return Ref(version="v1", kind="ServiceAccount", namespace=account[0], name=account[1])


def _requests(group: FailureGroup[Forbidden]) -> str:
    if group.failure.escalation:
        return "grant permissions that it does not have itself"
    actions = dict.fromkeys(
        f"{r.failure.verb} {_resource(r.failure)}" for r in group.reports if r.failure.verb
    )
    return f"{listed(actions, 4) or 'make this request'}{_where(group)}"


def _where(group: FailureGroup[Forbidden]) -> str:
    """A list without a namespace covers the whole cluster; other verbs then mean a cluster-scoped kind."""
    failure = group.failure
    if failure.namespace:
        return f" in namespace {failure.namespace}"
    verbs = {report.failure.verb for report in group.reports}
    return " in the whole cluster" if verbs & {"", *LISTING} else " (cluster-scoped)"


def _resource(failure: Forbidden) -> str:
    return f"{failure.resource}.{failure.group}" if failure.group else failure.resource


def _fixes(case: Case, group: FailureGroup[Forbidden]) -> Iterator[Fix]:
    failure = group.failure
    if failure.escalation:
        yield Fix.run(
            with_comment("kubectl apply -f ROLE_FILE", "with an account that has these permissions"),
            sync(case),
            title="Apply the Role once yourself: an unchanged Role needs no permission to grant it",
            risk="a later change of its rules is refused again",
        )
        yield Fix.run(
            kubectl(
                "create", "clusterrole", ROLE_NAME, "--verb=bind,escalate", "--resource=clusterroles,roles"
            ),
            *_bind(failure),
            sync(case),
            title="Or let Argo CD's account grant any permission (bind, escalate)",
            risk="with bind and escalate it can grant itself any permission",
        )
        return
    if not failure.resource or not failure.verb:
        yield Fix.run(
            kubectl("auth", "can-i", "--list", f"--as={failure.user or 'USER'}"),
            title="List the account's permissions, and grant what the message names",
        )
        return
    yield Fix.new(
        {"apiVersion": "v1", "kind": "List", "items": [role_for(group), binding_for(failure)]},
        title=f"Permit exactly this for {_user(failure)}",
        risk="for the destination cluster; apply it with an account that may grant permissions",
    )


def _own_binding(case: Case, group: FailureGroup[Forbidden]) -> Iterator[Fix]:
    """The installed controller is permitted everything: if it cannot list, its binding is missing."""
    failure = group.failure
    account = service_account(failure.user)
    if account is None or account[1] not in CONTROLLERS or failure.namespace or failure.escalation:
        return
    if failure.verb in ("list", "watch"):
        role, subject = account[1], f"--serviceaccount={account[0]}:{account[1]}"
        yield Fix.run(
            with_comment(
                f"kubectl get clusterrolebinding -o wide | grep {role}",
                f"NAME, and is its subject in namespace {account[0]}?",
            ),
            with_comment(kubectl("set", "subject", "clusterrolebinding", role, subject), "if it is not"),
            with_comment(
                kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", subject),
                "if there is no such binding",
            ),
            with_comment(
                kubectl("auth", "can-i", failure.verb, _resource(failure), f"--as={failure.user}", "-A"),
                "must print yes",
            ),
            refresh(case),
            title="Repair the binding of the controller's ClusterRole: without it, the next kind fails too",
            risk="the installed ClusterRole permits everything in the cluster; a namespace-scoped Argo CD has"
            " none",
        )


def _bind(failure: Forbidden) -> Iterator[str]:
    account = service_account(failure.user)
    who = f"--serviceaccount={account[0]}:{account[1]}" if account else f"--user={failure.user or 'USER'}"
    yield kubectl("create", "clusterrolebinding", ROLE_NAME, f"--clusterrole={ROLE_NAME}", who)
