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
If the project is right and the manifest is not: move the object into a namespace that the project permits,
or change the source or destination of the Application. Otherwise the entry to add to the AppProject, as
narrow as the refusal. An entry that begins with `!` denies: no other entry overrides it.

## When it is something else
A project that does not exist at all is project-missing. A live object of a kind that is not
permitted is only hidden (hidden-by-project).
"""

from collections.abc import Iterator
from shlex import quote

from whysync.diagnosis import Case, Confidence, Finding, Fix, Set, Severity, rule
from whysync.diagnosis.sentences import listed
from whysync.diagnosis.symptom import OPERATION
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.projects import ProjectDenied, ProjectRule
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import (
    app_argument,
    argocd_namespace,
    comment,
    hard_refresh,
    kubectl,
    refresh,
    sync,
    with_comment,
)
from whysync.queries.group_failures import FailureGroup, grouped
from whysync.queries.project_denials import (
    denied_text,
    denying_entries,
    global_denier,
    is_permitted,
    lists_that_deny,
    may_deploy_to_destination,
    permitting_command,
    permitting_edits,
)

NAMESPACE = "/metadata/namespace"
_RISK = "it holds for every Application of the project; a project that is declared in Git is changed there"


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
            f" {denied_text(case, still or denied)}{_objects(group)}{_denied_by(case, still, known=known)}",
            evidence=(
                *group.cited(says="Argo CD refuses it"),
                *(lists_that_deny(case, still) if known else ()),
            ),
            fixes=(
                *_move_objects(case, group, known=known),
                *_fixes(case, again, name, still, known=known),
            ),
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
    globals = dict.fromkeys(p.ref.name for d in still if known and (p := global_denier(case, d)) is not None)
    for parent in globals:
        yield Fix.run(
            f"argocd proj get {quote(parent)}",
            kubectl("edit", "appproject", parent, namespace=argocd_namespace(case)),
            again,
            title=f"With its owner's consent: permit it in the global project {parent}, which forbids it",
            risk="it holds for every project that inherits from it",
        )
    still = tuple(d for d in still if not known or global_denier(case, d) is None)
    if still or not globals:
        yield from _permit(case, again, name, still, known=known)
    yield Fix.run(
        "argocd proj list",
        f"argocd app set {app_argument(case)} --project OTHER_PROJECT",
        title="Or move the Application to a project that permits it",
        risk="all other permissions, roles and sync windows of that project apply, too",
    )


def _permit(
    case: Case,
    again: str,
    name: str,
    still: tuple[ProjectDenied, ...],
    *,
    known: bool,
) -> Iterator[Fix]:
    """Permit it in the Application's own project."""
    title, risk = f"With its owner's consent: permit exactly this in AppProject {name}", _RISK
    if known and any(denying_entries(case, denied) for denied in still):
        yield Fix.run(
            f"argocd proj get {quote(name)}",
            with_comment(f"argocd app edit {app_argument(case)}", "its source or destination"),
            title="Use what the project permits: the denial is explicit",
            risk="what the Application has deployed to its current destination stays there",
        )
        title = f"Remove the entry with ! from AppProject {name}, and permit exactly this"
        risk = "the entry forbids this on purpose, for every Application of the project: ask its owner"
    if known and case.project_manifest is not None:
        edits = (edit for denied in still for edit in permitting_edits(case, denied))
        yield Fix.project(case.project_manifest.ref, *edits, title=title, risk=risk)
    else:
        commands = (permitting_command(case, name, denied) for denied in still)
        look = with_comment(
            f"argocd proj get {quote(name)}",
            "look first: an entry with ! (or in a deny list) denies it, and no other entry overrides that",
        )
        yield Fix.run(look, *commands, again, title=title, risk=risk)


def _objects(group: FailureGroup[ProjectDenied]) -> str:
    """The objects that were refused: kinds and namespaces of a sync are refused for single objects."""
    if not group.resources:
        return ""
    return f", needed by {group.resources[0]}{group.others}"


def _denied_by(case: Case, still: tuple[ProjectDenied, ...], *, known: bool) -> str:
    if not known:
        return ""
    parents = dict.fromkeys(p.ref.name for d in still if (p := global_denier(case, d)) is not None)
    if parents:
        return f": {listed([f'global project {parent}' for parent in parents])} forbids it"
    return ": an entry with ! denies it" if any(denying_entries(case, denied) for denied in still) else ""


def _move_objects(case: Case, group: FailureGroup[ProjectDenied], *, known: bool) -> Iterator[Fix]:
    """Objects in a namespace that is not permitted belong into the destination's, if that is permitted."""
    refs = [
        ref
        for report in group.reports
        if report.failure.what is ProjectRule.NAMESPACE and (ref := report.ref) is not None
    ]
    namespace = case.destination_namespace
    if not known or not refs or not may_deploy_to_destination(case):
        return
    objects = listed(dict.fromkeys(refs))
    title = f"If {objects} is meant for namespace {namespace}: move it there in Git"
    risk = f"what reads it in namespace {refs[0].namespace} does not find it there"
    desired = case.desired_of(refs[0].key)
    if desired is not None and len(set(refs)) == 1:
        yield Fix.change(desired.ref, Set(pointer=NAMESPACE, value=namespace), title=title, risk=risk)
        return
    yield Fix.run(
        comment(f"set metadata.namespace of {objects} to {namespace}, or remove the line; commit and push"),
        refresh(case),
        title=title,
        risk=risk,
    )
