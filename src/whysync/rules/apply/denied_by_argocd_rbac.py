"""Argo CD's own permissions do not let this user do it.

## What happens
Argo CD checks each request of a person, a token or a CI job against `policy.csv` in ConfigMap
`argocd-rbac-cm` and the roles of the project. The request was refused before anything was done:
neither Git nor the cluster is at fault. Auto-sync is never affected by this.

## How whysync knows
`permission denied: <resource>, <action>, <object>`. With the policy at hand, whysync evaluates it:
which line comes closest, and what it does not cover.

## Fix
One more line in `policy.csv`, as narrow as the request. It was evaluated against the request before
it is shown.

## When it is something else
`is forbidden: User … cannot …` comes from Kubernetes, not from Argo CD: that is k8s-rbac. A project
that does not permit a source, destination or kind is project-denied.
"""

from collections.abc import Iterator
from dataclasses import replace
from shlex import quote

from whysync.contracts.manifest import Manifest
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.argocd_policy import Permission, Policy, Request, read_policy
from whysync.diagnosis.commands import argocd_namespace, beside
from whysync.diagnosis.grouped import grouped
from whysync.semantics.messages import ArgocdDenied


@rule(cause="argocd-rbac", since="0.1")
def denied_by_argocd_rbac(case: Case) -> Iterator[Finding]:
    config = case.settings("argocd-rbac-cm")
    policy = read_policy(config) if config is not None else None
    for group in grouped(case, ArgocdDenied, by=lambda f: (f.resource, f.action, f.object, f.subject)):
        failure = group.failure
        request = Request(
            subject=failure.subject, resource=failure.resource, action=failure.action, object=failure.object
        )
        asked = (
            f"{failure.resource}, {failure.action}, {failure.object}" if failure.resource else "this request"
        )
        who = failure.subject or "the user"
        nearest = policy.nearest(request) if policy else None
        denying = policy.denies(request) if policy else None
        allowed = policy is not None and bool(failure.subject) and policy.allows(request)
        yield Finding(
            about=case.application.ref if config is None else config.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD's RBAC does not let {who} do: {asked}"
            + _shortfall(request, nearest, denying, allowed=allowed),
            evidence=(*group.cited(says="Argo CD refuses the request"), *_lines(config, denying or nearest)),
            fixes=tuple(_fixes(case, request, policy, denying, allowed=allowed)),
        )


def _shortfall(
    request: Request, nearest: Permission | None, denying: Permission | None, *, allowed: bool
) -> str:
    if allowed:
        return "; the policy at hand allows it by now"
    if denying is not None:
        return f"; a line denies it: {denying}"
    if nearest is None:
        return ""
    missing = nearest.misses(request)
    if not missing:
        return f"; only {nearest.subject} may (`{nearest}`)"
    return f"; the nearest line does not cover the {' and the '.join(missing)}: {nearest}"


def _lines(config: Manifest | None, line: Permission | None) -> Iterator[Evidence]:
    if config is None:
        return
    if line is None:
        yield cite(config, "/data/policy.csv", says="no line of it speaks of this")
        return
    yield Evidence(
        source=config.role.value,
        ref=config.ref,
        pointer=f"/data/{line.key}",
        value=str(line),
        says="this line denies it" if not line.allows else "the line that comes closest",
        origin=config.origin,
    )


def _fixes(
    case: Case, request: Request, policy: Policy | None, denying: Permission | None, *, allowed: bool
) -> Iterator[Fix]:
    subject = request.subject or (_likely_role(policy, request) if policy else "") or "role:NAME"
    line = f"p, {subject}, {request.resource}, {request.action}, {request.object}, allow"
    check = (
        f"argocd admin settings rbac can {quote(subject)} {quote(request.action)} {quote(request.resource)}"
        f" {quote(request.object)} --namespace {argocd_namespace(case)}"
    )
    if allowed:
        yield Fix.run(check, title="Try again; check that Argo CD has read the policy")
        return
    if denying is not None:
        yield Fix.run(
            beside(
                f"kubectl -n {argocd_namespace(case)} edit configmap argocd-rbac-cm", f"delete: {denying}"
            ),
            check,
            title="Take the denying line out: a deny beats every allow of the same subject",
        )
        return
    if request.resource and _would_allow(policy, request, subject):
        wide = "everybody with this role may do it then" if subject.startswith("role:") else ""
        yield Fix.policy(line, title=f"Allow exactly this to {subject}", risk=wide)
        yield Fix.run(check, title="Check it: this must say Yes afterwards")


def _would_allow(policy: Policy | None, request: Request, subject: str) -> bool:
    """The policy with the proposed line, asked the same question."""
    asked = replace(request, subject=subject)
    line = Permission(
        subject=subject,
        resource=request.resource,
        action=request.action,
        object=request.object,
        effect="allow",
        key="policy.csv",
    )
    known = policy or Policy(permissions=(), roles=(), default="")
    return replace(known, permissions=(*known.permissions, line)).allows(asked)


def _likely_role(policy: Policy, request: Request) -> str:
    """Whose line nearly covers it, where the message does not tell who asked."""
    nearest = policy.nearest(request)
    return nearest.subject if nearest is not None else ""
