"""The Application lives in a namespace that its project, or Argo CD, does not serve.

## What happens
Applications outside Argo CD's own namespace are served only if that namespace is switched on twice:
for Argo CD (`application.namespaces`) and for the project (`sourceNamespaces`). Otherwise the
Application is refused, or simply never looked at.

## How whysync knows
`is not permitted to use project`, or `namespace '…' is not permitted`. Or the Application has no status
at all long after it was made, and `application.namespaces` does not name its namespace.

## Fix
Add the namespace to the project's `sourceNamespaces`; check that Argo CD serves it.

## When it is something else
The namespace that the Application deploys to is not permitted: project-denied.
"""

import json
from collections.abc import Iterator

from whysync.argocd.projects import app_namespace_permitted
from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.diagnosis.freshness import is_served, never_reconciled
from whysync.diagnosis.symptom import NEVER_RECONCILED
from whysync.json_tree import text
from whysync.kubernetes.api.pointer import join
from whysync.messages.patterns.projects import AppNamespaceNotPermitted
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import API_SERVER, CONTROLLER, argocd_namespace, kubectl, restart
from whysync.queries.group_failures import grouped
from whysync.queries.timestamps import age_text

NAMESPACES = join(("data", "application.namespaces"))


@rule(cause="app-namespace-disabled", since="0.1")
def application_namespace_not_enabled(case: Case) -> Iterator[Finding]:
    yield from _never_looked_at(case)
    for group in grouped(case, AppNamespaceNotPermitted, by=lambda f: (f.namespace, f.project)):
        failure = group.failure
        namespace = failure.namespace or case.app.namespace
        name = failure.project or case.app.project
        project = case.project if case.app.project == name else None
        control = argocd_namespace(case)
        permitted = project is not None and app_namespace_permitted(project, namespace, control)
        yield Finding(
            about=case.application.ref,
            field="/metadata/namespace",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"Applications of namespace {namespace} may not use project {name}",
            evidence=group.cited(says="Argo CD does not serve it from there"),
            fixes=tuple(_fixes(case, namespace, name, known=project is not None)),
            already_fixed=already_fixed(
                permitted,
                "the project permits it by now",
                *_fixes(case, namespace, name, known=False),
            ),
        )


def _never_looked_at(case: Case) -> Iterator[Finding]:
    """The controller passes over it without a word: only the empty status tells."""
    age, served = never_reconciled(case), is_served(case)
    if age is None or NEVER_RECONCILED not in case.symptom_ids or served is True:
        return
    if served is None and case.app.namespace in ("", "argocd", "openshift-gitops"):
        return  # most likely Argo CD's own: then the controller is to blame
    params = case.settings("argocd-cmd-params-cm")
    yield Finding(
        about=case.application.ref,
        field="/metadata/namespace",
        explains=(NEVER_RECONCILED,),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if served is False else Confidence.MEDIUM,
        verdict=f"Argo CD does not serve Applications in namespace {case.app.namespace}:"
        f" nothing has looked at this one in {age_text(age)}",
        evidence=(
            cite(case.application, "/metadata/namespace", says="where the Application lives"),
            cite(case.application, "/status", says="no status at all"),
            *((cite(params, NAMESPACES, says="what Argo CD serves beside its own"),) if params else ()),
        ),
        fixes=tuple(_fixes(case, case.app.namespace, case.app.project, known=False)),
    )


def _fixes(case: Case, namespace: str, name: str, *, known: bool) -> Iterator[Fix]:
    if known and case.project_manifest is not None:
        yield Fix.project(
            case.project_manifest.ref,
            Add(pointer="/spec/sourceNamespaces", value=namespace),
            title=f"Let Applications of {namespace} use project {name}",
            risk="whoever may write Applications there can then deploy with this project's rights",
        )
    params = case.settings("argocd-cmd-params-cm")
    if params is not None and is_served(case) is False:
        yield _serve(case, namespace, text(params.at(NAMESPACES)))
        return
    show = "jsonpath={.data.application\\.namespaces}"
    yield Fix.run(
        kubectl("get", "configmap", "argocd-cmd-params-cm", "-o", show, namespace=argocd_namespace(case)),
        restart(case, CONTROLLER, API_SERVER) + "   # after a change",
        title=f"Check that application.namespaces names {namespace}",
    )


def _serve(case: Case, namespace: str, served: str) -> Fix:
    """Argo CD has to serve the namespace, and the project has to take Applications from it."""
    control = argocd_namespace(case)
    both = json.dumps({"data": {"application.namespaces": f"{served},{namespace}" if served else namespace}})
    commands = [
        kubectl("patch", "configmap", "argocd-cmd-params-cm", "--type=merge", "-p", both, namespace=control)
    ]
    project = case.project
    if project is not None and not app_namespace_permitted(project, namespace, control):
        known = [*project.spec.source_namespaces, namespace]
        more = json.dumps({"spec": {"sourceNamespaces": known}})
        commands.append(
            kubectl("patch", "appproject", case.app.project, "--type=merge", "-p", more, namespace=control)
        )
    return Fix.run(
        *commands,
        restart(case, CONTROLLER, API_SERVER),
        title=f"Let Argo CD serve Applications of {namespace}",
        risk="whoever may write Applications there can then deploy with the project's rights",
    )
