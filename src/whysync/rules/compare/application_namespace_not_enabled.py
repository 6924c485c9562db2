"""Argo CD or the project does not allow Applications in this namespace.

## What happens
Argo CD reconciles Applications outside its own namespace only if that namespace is enabled twice: for Argo CD
(`application.namespaces`) and for the project (`sourceNamespaces`). Otherwise it rejects the Application, or
never reconciles it.

## How whysync knows
`is not permitted to use project`, or `namespace '…' is not permitted`. Or the Application has no status
long after it was created, and `application.namespaces` does not name its namespace.

## Fix
Add the namespace to the project's `sourceNamespaces`, and check `application.namespaces`. Never add it to
`default` or another project that permits every destination: whoever can create Applications there could then
deploy anywhere, also into Argo CD's own namespace. Create a project for the team first.

## When it is something else
If the destination namespace is not permitted: project-denied.
"""

import json
from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.project import AppProject
from whysync.argocd.projects import app_namespace_permitted
from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, cite, cite_if, rule
from whysync.diagnosis.freshness import is_served, never_reconciled
from whysync.diagnosis.symptom import NEVER_RECONCILED
from whysync.json_tree import text
from whysync.kubernetes.api.pointer import join
from whysync.messages.patterns.projects import AppNamespaceNotPermitted
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import (
    API_SERVER,
    CONTROLLER,
    argocd_namespace,
    comment,
    kubectl,
    refresh,
    restart,
    with_comment,
)
from whysync.queries.group_failures import grouped
from whysync.queries.timestamps import age_text

NAMESPACES = join(("data", "application.namespaces"))


@rule(cause="app-namespace-disabled", since="0.1")
def application_namespace_not_enabled(case: Case) -> Iterator[Finding]:
    yield from _never_reconciled(case)
    for group in grouped(case, AppNamespaceNotPermitted, by=lambda f: (f.namespace, f.project)):
        failure = group.failure
        namespace = failure.namespace or case.app.namespace
        name = failure.project or case.app.project
        project = case.project if case.app.project == name else None
        control = argocd_namespace(case)
        permitted = project is not None and app_namespace_permitted(project, namespace, control)
        yield Finding(
            about=case.application.ref,
            cause="project-denied" if failure.app else "",  # the AppProject lacks the entry
            field="/metadata/namespace",
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"project {name} does not permit Applications in namespace {namespace}",
            evidence=group.cited(says="Argo CD rejects the Application"),
            fixes=tuple(_fixes(case, namespace, name, known=project is not None)),
            already_fixed=already_fixed(
                "the project already permits it", *_fixes(case, namespace, name, known=False), when=permitted
            ),
        )


def _never_reconciled(case: Case) -> Iterator[Finding]:
    """The controller skips the Application without an error: only the empty status shows it."""
    age, served = never_reconciled(case), is_served(case)
    if age is None or NEVER_RECONCILED not in case.symptom_ids or served is True:
        return
    if served is None and case.app.namespace in ("", "argocd", "openshift-gitops"):
        return  # most likely Argo CD's own namespace: then the controller is the cause
    params = case.settings("argocd-cmd-params-cm")
    yield Finding(
        about=case.application.ref,
        field="/metadata/namespace",
        explains=(NEVER_RECONCILED,),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if served is False else Confidence.MEDIUM,
        verdict=f"Argo CD does not reconcile Applications in namespace {case.app.namespace}:"
        f" this one has had no status for {age_text(age)}",
        evidence=(
            cite(case.application, "/metadata/namespace", says="namespace of the Application"),
            cite(case.application, "/status", says="no status"),
            *cite_if(params, NAMESPACES, says="additional namespaces of Argo CD"),
        ),
        fixes=tuple(_fixes(case, case.app.namespace, case.app.project, known=False)),
    )


def _fixes(case: Case, namespace: str, name: str, *, known: bool) -> Iterator[Fix]:
    if known and case.project is not None and _permits_everything(case.project):
        yield Fix.run(
            *_own_project(case, namespace),
            title=f"Create a project of its own for {namespace}: {name} permits every destination",
        )
    elif known and case.project_manifest is not None:
        yield Fix.project(
            case.project_manifest.ref,
            Add(pointer="/spec/sourceNamespaces", value=namespace),
            title=f"Permit Applications in {namespace} to use project {name}",
            risk="users who can create Applications there can then deploy with this project's permissions",
        )
    if name and not known and case.project is None and NEVER_RECONCILED not in case.symptom_ids:
        yield _permit_unseen(case, namespace, name)
        return
    params = case.settings("argocd-cmd-params-cm")
    if params is not None and is_served(case) is False:
        yield _enable(case, namespace, text(params.at(NAMESPACES)))
        return
    show = "jsonpath={.data.application\\.namespaces}"
    yield Fix.run(
        kubectl("get", "configmap", "argocd-cmd-params-cm", "-o", show, namespace=argocd_namespace(case)),
        restart(case, CONTROLLER, API_SERVER) + "   # after a change",
        title=f"Add {namespace} to application.namespaces in argocd-cmd-params-cm, if it is not there",
        risk="Argo CD restarts: nothing is reconciled for a minute or two",
    )


def _permit_unseen(case: Case, namespace: str, name: str) -> Fix:
    """Only the project refuses with these words: Argo CD itself serves the namespace."""
    title = f"permit Applications in {namespace} to use project {name} (sourceNamespaces)"
    if name == "default":
        return Fix.run(
            *_own_project(case, namespace),
            title=f"Create a project of its own for {namespace}: default permits every destination",
        )
    return Fix.run(
        with_comment(f"argocd proj get {quote(name)}", "what it permits: its destinations and sources"),
        f"argocd proj add-source-namespace {quote(name)} {quote(namespace)}",
        refresh(case),
        title=f"With its owner's consent: {title}",
        risk="users who can create Applications there can then deploy with this project's permissions",
    )


def _permits_everything(project: AppProject) -> bool:
    """Argo CD's docs forbid to add the namespaces of users to a privileged project such as `default`."""
    everywhere = any(
        "*" in (entry.server, entry.name) and entry.namespace == "*" for entry in project.spec.destinations
    )
    return project.metadata.name == "default" or everywhere


def _own_project(case: Case, namespace: str) -> tuple[str, ...]:
    """A project that permits only what this Application uses, and the Application in it."""
    destination = case.app.spec.destination
    place = f"{destination.server or destination.name or 'SERVER'},{destination.namespace or namespace}"
    repositories = dict.fromkeys(source.repo_url for source in case.app.sources if source.repo_url)
    sources = " ".join(f"--src {quote(url)}" for url in repositories)
    create = f"argocd proj create {quote(namespace)} --dest {quote(place)} {sources}"
    patch = json.dumps({"spec": {"project": namespace}})
    move = kubectl("patch", "application", case.app.name, "--type=merge", "-p", patch, namespace=namespace)
    return (
        f"{create} --source-namespaces {quote(namespace)}",
        with_comment(move, "and in its manifest, if that is in Git"),
    )


def _enable(case: Case, namespace: str, served: str) -> Fix:
    """Enable the namespace in Argo CD and, if needed, in the project."""
    control = argocd_namespace(case)
    namespaces_patch = json.dumps(
        {"data": {"application.namespaces": f"{served},{namespace}" if served else namespace}}
    )
    commands = [
        kubectl(
            "patch",
            "configmap",
            "argocd-cmd-params-cm",
            "--type=merge",
            "-p",
            namespaces_patch,
            namespace=control,
        )
    ]
    project = case.project
    title = f"Enable Applications in {namespace} for Argo CD"
    risk = (
        "users who can create Applications there can then deploy with the project's permissions; the restart"
        " interrupts running syncs for a moment"
    )
    if project is not None and _permits_everything(project):
        commands.extend(_own_project(case, namespace))
        title += f", in a project of their own: {case.app.project} permits every destination"
    elif project is not None and not app_namespace_permitted(project, namespace, control):
        source_namespaces = [*project.spec.source_namespaces, namespace]
        project_patch = json.dumps({"spec": {"sourceNamespaces": source_namespaces}})
        commands.append(
            kubectl(
                "patch",
                "appproject",
                case.app.project,
                "--type=merge",
                "-p",
                project_patch,
                namespace=control,
            )
        )
    return Fix.run(
        *commands,
        restart(case, CONTROLLER, API_SERVER),
        comment("for CLI and UI, also apply examples/k8s-rbac/argocd-server-applications of Argo CD"),
        title=title,
        risk=risk,
    )
