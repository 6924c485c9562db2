"""Kubernetes RBAC does not permit a request of Argo CD's account, or of an account of the app.

## What happens
Argo CD uses an account of the destination cluster: its own service account, the one in the cluster Secret,
or one that the project impersonates. That account lacks a permission, so the object cannot be read, listed
or applied. If it cannot list a kind, every Application of that cluster is affected. A controller that is part
of the app has an account of its own, and its log reports what that account lacks.

## How whysync knows
`is forbidden: User … cannot <verb> resource …` from the API server.

## Fix
If Argo CD's own controller cannot list a kind, its ClusterRoleBinding is missing or has another subject:
repair the binding, because the next kind fails too. Otherwise create a Role (or ClusterRole) and binding that
permits what Argo CD does with this kind. For an account of the app, the Role belongs in the app's source;
many charts have a value for it. A Role that grants more than the account has: narrow its rules, or give the
account these permissions. The API server checks all rules at each write, not only new ones. If the message
names another authorizer (`GKEAutopilot authz: …`), no Role permits the request: exclude the kind in Argo CD,
or do not deploy the object.

## When it is something else
`permission denied: applications, sync, …` is Argo CD's own RBAC (argocd-rbac). `exceeded quota` and admission
policies also report forbidden: they are quota and admission-denied.
"""

from collections.abc import Iterator

from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.finding import AlreadyFixed
from whysync.diagnosis.sentences import listed, one_line
from whysync.json_tree import fields, items, text
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.apiserver.builtin_kinds import built_in
from whysync.messages.patterns.rbac import Forbidden
from whysync.queries.already_fixed import sync_again
from whysync.queries.attempts import sync_or_retry
from whysync.queries.commands import (
    argocd_namespace,
    comment,
    kubectl,
    refresh,
    restart,
    sync,
    with_comment,
)
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.rbac import (
    bound_role,
    is_account_of_app,
    is_cluster_wide,
    missing_rules,
    resource_of,
    role_and_binding,
    role_name,
    rules_for,
    service_account,
)

_NODE = "system:node:"
LISTING = ("list", "watch", "deletecollection")
CONTROLLERS = ("argocd-application-controller", "openshift-gitops-argocd-application-controller")


@rule(cause="k8s-rbac", since="0.1")
def forbidden_by_kubernetes_rbac(case: Case) -> Iterator[Finding]:
    for group in grouped(
        case,
        Forbidden,
        by=lambda f: (
            f.user,
            "" if f.cluster_scope else f.namespace,
            f.escalation,
            f.other_authorizer and f.resource,
        ),
    ):
        failure = group.failure
        yield Finding(
            about=_about(case, failure),
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"{failure.other_authorizer} does not permit {_user(failure)} to {_requests(group)}:"
            " Kubernetes RBAC cannot change that"
            if failure.other_authorizer
            else f"Kubernetes RBAC does not permit {_user(failure)} to {_requests(group)}",
            root=one_line(failure.detail) or None,
            evidence=group.cited(says="the API server denies the request"),
            fixes=tuple(_denied_by_other(case, group))
            if failure.other_authorizer
            else (*_own_binding(case, group), *_fixes(case, group)),
            already_fixed=_already_permitted(case, group),
        )


def _already_permitted(case: Case, group: FailureGroup[Forbidden]) -> AlreadyFixed | None:
    """A log keeps the refusals from before the Role was changed."""
    role = bound_role(case, group) if is_account_of_app(group) else None
    if role is None or group.failure.escalation or missing_rules(role, group):
        return None
    return sync_again(
        case,
        f"{role.ref} in Git permits it",
        "Sync the app, so that the cluster has this Role: the controller tries again by itself",
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
        granted = f"apply {group.applied}, because it grants" if group.applied else "grant"
        return f"{granted} permissions that it does not have itself"
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
        yield from _escalation(case, group)
        return
    if not failure.resource or not failure.verb:
        yield Fix.run(
            kubectl("auth", "can-i", "--list", f"--as={failure.user or 'USER'}"),
            title="List the account's permissions, and grant what the message names",
        )
        return
    if is_account_of_app(group):
        yield _in_source(case, group)
        return
    if failure.user.startswith(_NODE):
        yield _own_identity(case)
        return
    managed = tuple(_by_operator(case, failure))
    yield from managed
    yield Fix.new(
        role_and_binding(case, group),
        title=f"{'Or permit' if managed else 'Permit'} {_user(failure)} to {_grants(group)}",
        risk=f"{_reach(group)}{_next_kinds(case, group)}; apply it in the destination cluster"
        f"{_namespace_first(case, failure)}",
    )


def _next_kinds(case: Case, group: FailureGroup[Forbidden]) -> str:
    """The kinds that this sync has not applied yet, in the same scope: nothing shows whether it may."""
    namespace = group.failure.namespace
    attempted = {result.ref.kind for result in case.results if result.status}
    kinds = dict.fromkeys(
        row.kind
        for row in case.app.status.resources
        if row.status == "OutOfSync" and row.namespace == namespace and row.kind not in attempted
    )
    return f"the next kind may be refused too{f': {listed(kinds)}' if kinds else ''}"


def _by_operator(case: Case, failure: Forbidden) -> Iterator[Fix]:
    """The operator of Argo CD names the account after its instance, and binds it in labeled namespaces."""
    account = service_account(failure.user)
    if account is None or not failure.namespace or not account[1].endswith(f"-{CONTROLLERS[0]}"):
        return
    label = f"argocd.argoproj.io/managed-by={account[0]}"
    yield Fix.run(
        kubectl("label", "namespace", failure.namespace, label),
        *sync_or_retry(case),
        title=f"Label namespace {failure.namespace}: the operator of Argo CD then grants its account what it"
        " needs there",
        risk="Argo CD can then change every object in that namespace",
    )


def _namespace_first(case: Case, failure: Forbidden) -> str:
    """A Role needs its namespace; if this sync has to create it, it may not exist yet."""
    name = failure.namespace
    may_be_missing = case.has_sync_option("CreateNamespace=true") and not is_cluster_wide(failure)
    if not may_be_missing or case.live_named("Namespace", "", name) is not None:
        return ""
    return f"; if namespace {name} does not exist yet, create it first"


def _denied_by_other(case: Case, group: FailureGroup[Forbidden]) -> Iterator[Fix]:
    """One authorizer that denies a request is enough: RBAC is not asked any more."""
    failure = group.failure
    built_in_kinds = (kind.kind for kind in built_in().values() if kind.plural == failure.resource)
    kind = next(built_in_kinds, "KIND")
    if failure.verb in LISTING and not is_account_of_app(group):
        edit = kubectl("edit", "configmap", "argocd-cm", namespace=argocd_namespace(case))
        yield Fix.run(
            with_comment(edit, "add below data.resource.exclusions, and keep what is there:"),
            comment(f"- {{apiGroups: ['{failure.group}'], kinds: [{kind}], clusters: ['*']}}"),
            refresh(case),
            title=f"Exclude {_resource(failure)} in Argo CD, so that it does not list this kind",
            risk="Argo CD then neither applies nor compares objects of this kind, in all Applications; if"
            " other clusters need it, name only this one in clusters",
        )
    else:
        yield Fix.run(
            comment(
                f"in Git: remove {group.applied or 'the object'} from the app's source, or deploy it to a"
            ),
            comment("namespace that the provider of the cluster does not manage; commit and push"),
            sync(case),
            title=f"Do not deploy what {failure.other_authorizer} protects",
        )
    yield Fix.run(
        comment(
            "ask who runs the cluster, or read the provider's documentation: a newer version or a setting"
        ),
        comment("of the cluster may permit the request"),
        title=f"Or have {failure.other_authorizer} permit it",
    )


def _grants(group: FailureGroup[Forbidden]) -> str:
    """What the generated Role grants, which may be more than was refused: `get, list and watch secrets`."""
    resources: dict[tuple[str, ...], list[str]] = {}
    for granted in map(fields, rules_for(group)):
        verbs = tuple(text(verb) for verb in items(granted.get("verbs")))
        resources.setdefault(tuple(sorted(verbs)), []).append(resource_of(granted))
    parts = (f"{_verbs(verbs)} {listed(names, 4)}" for verbs, names in resources.items())
    return f"{' and to '.join(parts)}{_whole(group.failure)}"


def _verbs(verbs: tuple[str, ...]) -> str:
    return "read, write and delete" if {"create", "delete"} <= {*verbs} else ", ".join(verbs)


def _whole(failure: Forbidden) -> str:
    return f" in namespace {failure.namespace}" if failure.namespace else " in the whole cluster"


def _reach(group: FailureGroup[Forbidden]) -> str:
    """What the account can then do with objects that are not of this app."""
    granted = {text(verb) for rule in rules_for(group) for verb in items(fields(rule).get("verbs"))}
    refused = {report.failure.verb for report in group.reports}
    if "delete" in granted:
        return (
            f"the account can then also change and delete such objects of other apps{_whole(group.failure)}; "
        )
    more = listed(sorted(granted - refused), 7)
    return f"it also grants {more}, which Argo CD's cache needs too; " if more else ""


def _own_identity(case: Case) -> Fix:
    """A node may do only what its Pods need: Argo CD must not work with the node's identity."""
    return Fix.run(
        with_comment("argocd cluster list", "the cluster whose credential is that of a node"),
        kubectl("get", "serviceaccounts", "-o", "yaml", namespace=argocd_namespace(case))
        + " | grep -n -e 'name: argocd' -e role-arn",
        comment("give Argo CD's service accounts an identity (a cloud role, a token of argocd-manager), and"),
        comment("map that identity to permissions in the destination cluster; then restart the components"),
        restart(case, "deployment/argocd-server", "statefulset/argocd-application-controller"),
        title="Give Argo CD its own identity: it calls the cluster with that of a node",
        risk="do not bind permissions to the node: every Pod on it could use them",
    )


def _in_source(case: Case, group: FailureGroup[Forbidden]) -> Fix:
    """The app's source has to declare what its own Pods need: many charts have a value for it."""
    risk = (
        "it covers only what was refused: the next kind may be refused too; Argo CD can only grant what its"
        " own account is permitted"
    )
    role = bound_role(case, group)
    if role is not None:
        edits = (Add(pointer="/rules", value=rule) for rule in missing_rules(role, group))
        return Fix.change(role.ref, *edits, title=f"Permit it in {role.ref}, in the app's source", risk=risk)
    return Fix.new(
        role_and_binding(case, group),
        title=f"Permit it for {_user(group.failure)} in the app's source: a value of its chart, or this Role",
        risk=risk,
        in_source=True,
    )


def _escalation(case: Case, group: FailureGroup[Forbidden]) -> Iterator[Fix]:
    """The API server checks all rules at each write of a Role or a binding, also if they did not change."""
    failure = group.failure
    what = group.applied or "the Role"
    yield Fix.run(
        comment(f"in Git: reduce what {what} grants to what its users need; commit and push"),
        sync(case),
        title=f"Does {what} have to grant all this? If not, narrow its rules in Git",
    )
    yield Fix.run(
        kubectl("auth", "can-i", "--list", f"--as={failure.user or 'USER'}"),
        comment("grant the account what the message lists, with an account that has it itself"),
        *sync_or_retry(case),
        title=f"Or give {_user(failure)} the permissions that {what} grants",
        risk="whoever can change the Git sources of Argo CD's apps can then use these permissions",
    )
    verbs = _escalated(group)
    name = role_name(failure.user, *(flag.partition("=")[2].replace(",", "-") for flag in verbs))
    yield Fix.run(
        kubectl("create", "clusterrole", name, *verbs),
        *_bind(failure, name),
        *sync_or_retry(case),
        title="Or let Argo CD's account grant any permission (bind, escalate)",
        risk="it can then give itself any permission",
    )


def _escalated(group: FailureGroup[Forbidden]) -> tuple[str, ...]:
    """What the account may do: `escalate` to write rules, `bind` to bind a role.

    Not limited to names: a request that creates an object has none, and would still be refused.
    """
    roles = [ref for ref in group.resources if ref.kind in ("ClusterRole", "Role")]
    if not roles or len(roles) < len(group.resources):
        return ("--verb=bind,escalate", "--resource=clusterroles,roles")
    resources = ",".join(dict.fromkeys(f"{ref.kind.lower()}s" for ref in roles))
    return ("--verb=escalate", f"--resource={resources}")


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


def _bind(failure: Forbidden, role: str) -> Iterator[str]:
    account = service_account(failure.user)
    who = f"--serviceaccount={account[0]}:{account[1]}" if account else f"--user={failure.user or 'USER'}"
    yield kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}", who)
