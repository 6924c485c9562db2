"""Argo CD's RBAC does not allow the request.

## What happens
Argo CD checks each request of a user, a token or a CI job against `policy.csv` in ConfigMap `argocd-rbac-cm`
and the roles of the project. The request was denied before anything was done: neither Git nor the cluster is
at fault. Auto-sync is never affected.

## How whysync knows
`permission denied: <resource>, <action>, <object>`. If the policy is in the facts, whysync evaluates it as
Argo CD does: which line comes closest, what it does not cover, and whether a line denies the request.

## Fix
Add a line to `policy.csv`, as narrow as the request. whysync evaluates the policy with that line before it
proposes it.

## When it is something else
`is forbidden: User … cannot …` comes from Kubernetes, not from Argo CD: that is k8s-rbac. A project that
does not permit a source, destination or kind is project-denied.
"""

from collections.abc import Iterator
from shlex import join

from msgspec.structs import replace

from whysync.argocd.rbac import (
    Asker,
    Explanation,
    Permission,
    Policy,
    PolicyPart,
    Reason,
    Request,
    explain,
    read_policy,
)
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Severity, cite, rule
from whysync.json_tree import fields
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.projects import ArgocdDenied
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import argocd_namespace, comment, kubectl, with_comment
from whysync.queries.group_failures import grouped

ROLE_PLACEHOLDER = "role:NAME"


@rule(cause="argocd-rbac", since="0.1")
def denied_by_argocd_rbac(case: Case) -> Iterator[Finding]:
    config = case.settings("argocd-rbac-cm")
    for group in grouped(case, ArgocdDenied, by=lambda f: (f.resource, f.action, f.object, f.subject)):
        failure = group.failure
        request = Request(resource=failure.resource, action=failure.action, object=failure.object)
        explanation = _explanation(case, config, failure.subject, request)
        request_text = f"{request}{_of_other_app(case, request)}" if failure.resource else "this request"
        yield Finding(
            about=case.application.ref if config is None else config.ref,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Argo CD's RBAC does not allow {failure.subject or 'the user'}: {request_text}"
            + _shortfall(explanation, request),
            evidence=(*group.cited(says="Argo CD denies the request"), *_lines(config, explanation)),
            fixes=tuple(_fixes(case, failure.subject, request, explanation)) if failure.resource else (),
            already_fixed=already_fixed(
                "the policy allows it now",
                Fix.run(
                    _check(case, failure.subject or ROLE_PLACEHOLDER, request),
                    title="Try again, and check that Argo CD has loaded the policy",
                ),
                when=explanation is not None and explanation.decision.allowed,
            ),
        )


def _of_other_app(case: Case, request: Request) -> str:
    name = request.object.rpartition("/")[2]
    is_other = request.resource == "applications" and name not in ("", "*", case.app.name)
    return f" (app {name}, not {case.app.name})" if is_other else ""


def _explanation(case: Case, config: Manifest | None, subject: str, request: Request) -> Explanation | None:
    """Evaluates the policy. The nearest line is one of argocd-rbac-cm, not of the built-in policy."""
    if config is None or not request.resource:
        return None
    policy, written = read_policy(_data(config)), read_policy(_data(config), builtin=False)
    projects = {case.app.project: case.project} if case.project is not None else {}
    asker = Asker(subject=subject, is_token=True)
    explanation = explain(policy, asker, request, projects)
    if explanation.decision.allowed or explanation.decision.bad_line is not None:
        return explanation
    nearest = explain(written, asker, request, projects).nearest
    if subject:
        return replace(explanation, nearest=nearest or explanation.nearest)
    remedy = _for_role(policy, nearest.line.subject, request) if nearest is not None else None
    return replace(explanation, nearest=nearest or explanation.nearest, remedy=remedy)


def _data(config: Manifest) -> dict[str, str]:
    data = fields(config.body.get("data"))
    return {key: value for key, value in data.items() if isinstance(value, str)}


def _for_role(policy: Policy, role: str, request: Request) -> Permission | None:
    """The subject is unknown: the role whose line nearly covers the request is the likely one."""
    result = explain(policy, Asker(subject=role), request).remedy
    return result if isinstance(result, Permission) else None


def _misplaced(explanation: Explanation | None, request: Request) -> Permission | None:
    """The nearest line, if it has the app's name where the project belongs: objects are PROJECT/APP."""
    nearest = explanation.nearest if explanation is not None else None
    if nearest is None or nearest.misses != (PolicyPart.OBJECT,):
        return None
    app = request.object.rpartition("/")[2]
    return nearest.line if nearest.line.allows and nearest.line.object.partition("/")[0] == app else None


def _shortfall(explanation: Explanation | None, request: Request) -> str:
    if explanation is None:
        return ""
    decision, nearest = explanation.decision, explanation.nearest
    if decision.allowed:
        return ""
    if decision.bad_line is not None:
        return f"; the policy is invalid at {decision.bad_line.origin}: {decision.bad_line.problem}"
    if decision.reason is Reason.DENIED and decision.answer and decision.answer.line:
        return f"; a line denies it: {decision.answer.line}"
    if nearest is None:
        return "; no line of the policy matches"
    if not nearest.misses:
        return f"; only {nearest.line.subject} may: {nearest.line}"
    if _misplaced(explanation, request) is not None:
        return f"; a line has the app's name where the project belongs (PROJECT/APP): {nearest.line}"
    return f"; the nearest line does not cover the {' and the '.join(nearest.misses)}: {nearest.line}"


def _lines(config: Manifest | None, explanation: Explanation | None) -> Iterator[Evidence]:
    if config is None or explanation is None:
        return
    answer = explanation.decision.answer
    line = answer.line if answer is not None and answer.line is not None else None
    line = line or (explanation.nearest.line if explanation.nearest is not None else None)
    if line is None or f"/data/{line.origin.name}" == "/data/built-in":
        yield cite(config, "/data/policy.csv", says="the policy")
        return
    yield Evidence(
        source=config.role.value,
        ref=config.ref,
        pointer=f"/data/{line.origin.name}",
        value=str(line),
        says=f"line {line.origin.line} " + ("denies it" if line.denies else "comes closest"),
        origin=config.origin,
    )


def _check(case: Case, who: str, request: Request) -> str:
    words = ("argocd", "admin", "settings", "rbac", "can", who, request.action, request.resource)
    return f"{join((*words, request.object))} --namespace {argocd_namespace(case)}"


def _fixes(case: Case, subject: str, request: Request, explanation: Explanation | None) -> Iterator[Fix]:
    decision = explanation.decision if explanation is not None else None
    remedy = explanation.remedy if explanation is not None else None
    who = subject or (remedy.subject if isinstance(remedy, Permission) else ROLE_PLACEHOLDER)
    check = _check(case, who, request)
    edit = f"kubectl -n {argocd_namespace(case)} edit configmap argocd-rbac-cm"
    if decision is not None and decision.bad_line is not None:
        yield Fix.run(
            with_comment(edit, decision.bad_line.text),
            title="Correct the line: it invalidates the whole policy",
        )
    elif decision is not None and decision.answer and decision.answer.line and decision.answer.line.denies:
        yield Fix.run(
            with_comment(edit, f"delete: {decision.answer.line}"),
            check,
            title="Remove the deny line: a deny overrides every allow of the same subject",
        )
    elif (line := _misplaced(explanation, request)) is not None:
        yield Fix.run(
            with_comment(edit, f"replace: {line}"),
            comment(f"by: {replace(line, object=request.object)}"),
            check,
            title="Correct the line: the object is PROJECT/APP; the check must print Yes",
            risk="allows it to everybody with this role" if who.startswith("role:") else "",
        )
    elif remedy is not None or explanation is None or not subject:
        line = str(remedy) if remedy is not None else f"p, {ROLE_PLACEHOLDER}, {request}, allow"
        risk = "allows it to everybody with this role" if who.startswith("role:") else ""
        if subject:
            yield Fix.policy(line, title=f"Allow exactly this for {who}", risk=risk)
            yield Fix.run(check, title="Check it afterwards: this must print Yes")
            return
        yield Fix.policy(
            line,
            title=f"Allow exactly this for {who}, a role that the user has by a line g, SUBJECT, {who}",
            risk=risk,
        )
        yield Fix.run(
            with_comment("argocd account get-user-info", "as that user: SUBJECT is its username or a group"),
            with_comment(
                kubectl("get", "configmap", "argocd-rbac-cm", "-o", "yaml", namespace=argocd_namespace(case)),
                "is there a line g, SUBJECT, …? scopes names the token claims that count as groups",
            ),
            with_comment(_check(case, "SUBJECT", request), "afterwards; a check of the role proves nothing"),
            title="Find which subject the user's token has, and check with it: this must print Yes",
        )
