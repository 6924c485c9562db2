"""The AppProject does not permit the source, the destination or a kind.

## What happens
An AppProject lists what its Applications may use: repositories, clusters with namespaces, kinds.
What is not on the list is refused. A refused source or destination stops the Application before it
is compared (InvalidSpecError, status Unknown); one refused kind or namespace stops the whole sync
before anything is applied. Cluster-scoped kinds are refused unless listed.

## How whysync knows
Argo CD names what is refused and by which project; if the facts contain the project, whysync checks that it
still refuses it.

## Fix
The entry to add to the AppProject, as narrow as the refusal. If the project is right and the
Application is not, move the Application to another project or change its source or destination.

## When it is something else
A project that does not exist at all is project-missing. A live object of a kind that is not
permitted is only hidden (hidden-by-project).
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Severity, rule
from whysync.diagnosis.symptom import OPERATION
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.projects import ProjectDenied
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import hard_refresh, sync
from whysync.queries.group_failures import grouped
from whysync.queries.project_denials import (
    denied_text,
    is_permitted,
    lists_that_deny,
    permitting_command,
    permitting_edits,
)


@rule(cause="project-denied", since="0.1")
def project_denied(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ProjectDenied, by=lambda failure: failure.project):
        denied = tuple(report.failure for report in group.reports)
        name = group.failure.project or case.app.project
        known = case.project is not None and case.app.project == name
        still = tuple(d for d in denied if not (known and is_permitted(case, d)))
        again = sync(case) if OPERATION in group.explains or group.resources else hard_refresh(case)
        about = Ref(
            group="argoproj.io",
            version="v1alpha1",
            kind="AppProject",
            namespace=case.app.namespace,
            name=name,
        )
        yield Finding(
            about=about,
            explains=group.explains,
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            verdict=f"project {name} {'does' if still else 'did'} not permit"
            f" {denied_text(case, still or denied)}",
            evidence=(
                *group.cited(says="Argo CD refuses it"),
                *(lists_that_deny(case, still) if known else ()),
            ),
            fixes=tuple(_fixes(case, again, name, still, known=known)),
            already_fixed=already_fixed(
                "the project permits it now",
                Fix.run(again, title="Try again: the project permits it now"),
                when=not still,
            ),
        )


def _fixes(
    case: Case,
    again: str,
    name: str,
    still: tuple[ProjectDenied, ...],
    *,
    known: bool,
) -> Iterator[Fix]:
    title, risk = f"Permit exactly this in AppProject {name}", "it holds for every Application of the project"
    if known and case.project_manifest is not None:
        edits = (edit for denied in still for edit in permitting_edits(case, denied))
        yield Fix.project(case.project_manifest.ref, *edits, title=title, risk=risk)
    else:
        commands = (permitting_command(case, name, denied) for denied in still)
        yield Fix.run(*commands, again, title=title, risk=risk)
    yield Fix.run(
        "argocd proj list",
        f"argocd app set {quote(case.app.name)} --project OTHER_PROJECT",
        title="Or move the Application to a project that permits it",
    )
