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

from whysync.argocd.projects import Cluster, destination_verdict, kind_verdict, source_verdict
from whysync.diagnosis import Add, Case, Confidence, Evidence, Finding, Fix, Remove, Severity, cite, rule
from whysync.diagnosis.fix import Edit
from whysync.diagnosis.symptom import OPERATION
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.ref import Ref
from whysync.messages.patterns.projects import ProjectDenied, ProjectRule
from whysync.queries.already_fixed import already_fixed
from whysync.queries.commands import hard_refresh, sync
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import is_namespaced

LISTS = {
    ProjectRule.SOURCE: "/spec/sourceRepos",
    ProjectRule.HELM_REPO: "/spec/sourceRepos",
    ProjectRule.DESTINATION: "/spec/destinations",
    ProjectRule.NAMESPACE: "/spec/destinations",
}


@rule(cause="project-denied", since="0.1")
def project_denied(case: Case) -> Iterator[Finding]:
    for group in grouped(case, ProjectDenied, by=lambda failure: failure.project):
        denied = tuple(report.failure for report in group.reports)
        name = group.failure.project or case.app.project
        known = case.project is not None and case.app.project == name
        still = tuple(d for d in denied if not (known and _permitted(case, d)))
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
            verdict=f"project {name} {'does' if still else 'did'} not permit {_words(case, still or denied)}",
            evidence=(*group.cited(says="Argo CD refuses it"), *(_lists(case, still) if known else ())),
            fixes=tuple(_fixes(case, again, name, still, known=known)),
            already_fixed=already_fixed(
                "the project permits it now",
                Fix.run(again, title="Try again: the project permits it now"),
                when=not still,
            ),
        )


def _words(case: Case, denied: tuple[ProjectDenied, ...]) -> str:
    shown = [_word(case, d) for d in denied[:3]]
    more = f" and {len(denied) - 3} more" if len(denied) > 3 else ""
    return ", ".join(dict.fromkeys(shown)) + more


def _word(case: Case, denied: ProjectDenied) -> str:
    match denied.what:
        case ProjectRule.SOURCE | ProjectRule.HELM_REPO:
            return f"the repository {denied.value}"
        case ProjectRule.DESTINATION:
            server, namespace = _destination(case, denied)
            return f"the destination {server}, namespace {namespace}"
        case ProjectRule.NAMESPACE:
            return f"the namespace {denied.namespace or denied.value}"
        case ProjectRule.KIND:
            return f"the kind {denied.kind or denied.value}" + (f" ({denied.group})" if denied.group else "")


def _destination(case: Case, denied: ProjectDenied) -> tuple[str, str]:
    destination = case.app.spec.destination
    server = denied.server or destination.server or destination.name
    return server, denied.namespace or destination.namespace


def _permitted(case: Case, denied: ProjectDenied) -> bool:
    assert case.project is not None
    match denied.what:
        case ProjectRule.SOURCE | ProjectRule.HELM_REPO:
            return source_verdict(case.project, denied.value).permitted
        case ProjectRule.DESTINATION | ProjectRule.NAMESPACE:
            server, namespace = _destination(case, denied)
            cluster = Cluster(server=server) if "://" in server else Cluster(name=server)
            return destination_verdict(case.project, cluster, namespace).permitted
        case ProjectRule.KIND:
            namespaced = is_namespaced(case, denied.kind)
            return kind_verdict(case.project, denied.group, denied.kind, "", namespaced=namespaced).permitted


def _list_of(case: Case, denied: ProjectDenied) -> str:
    if denied.what is ProjectRule.KIND:
        scope = "namespace" if is_namespaced(case, denied.kind) else "cluster"
        return f"/spec/{scope}ResourceWhitelist"
    return LISTS[denied.what]


def _lists(case: Case, still: tuple[ProjectDenied, ...]) -> Iterator[Evidence]:
    assert case.project_manifest is not None
    for denied in still:
        black = _list_of(case, denied).replace("White", "Black")
        if black.endswith("Blacklist") and case.project_manifest.at(black):
            yield cite(case.project_manifest, black, says="what the project forbids")
    for pointer in dict.fromkeys(_list_of(case, denied) for denied in still):
        if pointer != "/spec/namespaceResourceWhitelist" or case.project_manifest.at(pointer):
            yield cite(case.project_manifest, pointer, says="what the project permits")


def _edits(case: Case, denied: ProjectDenied) -> Iterator[Edit]:
    """Add it to the list of what may be used; and take it off the list of what may not."""
    manifest, pointer = case.project_manifest, _list_of(case, denied)
    entry: Json
    match denied.what:
        case ProjectRule.SOURCE | ProjectRule.HELM_REPO:
            entry = denied.value
        case ProjectRule.DESTINATION | ProjectRule.NAMESPACE:
            server, namespace = _destination(case, denied)
            by: Object = {"server": server} if "://" in server else {"name": server}
            entry = {**by, "namespace": namespace}
        case ProjectRule.KIND:
            entry = {"group": denied.group, "kind": denied.kind}
            black = manifest.at(pointer.replace("White", "Black")) if manifest else None
            if isinstance(black, list) and entry in black:
                yield Remove(pointer=f"{pointer.replace('White', 'Black')}/{black.index(entry)}")
            if (
                "/namespace" in pointer
                and manifest is not None
                and not isinstance(manifest.at(pointer), list)
            ):
                return  # no list permits every namespaced kind: adding one would forbid all others
    yield Add(pointer=pointer, value=entry)


def _fixes(
    case: Case,
    again: str,
    name: str,
    still: tuple[ProjectDenied, ...],
    *,
    known: bool,
) -> Iterator[Fix]:
    if known and case.project_manifest is not None:
        yield Fix.project(
            case.project_manifest.ref,
            *(edit for denied in still for edit in _edits(case, denied)),
            title=f"Permit exactly this in AppProject {name}",
            risk="it holds for every Application of the project",
        )
    else:
        yield Fix.run(
            *(_command(case, name, denied) for denied in still),
            again,
            title=f"Permit exactly this in AppProject {name}",
            risk="it holds for every Application of the project",
        )
    yield Fix.run(
        "argocd proj list",
        f"argocd app set {quote(case.app.name)} --project OTHER_PROJECT",
        title="Or move the Application to a project that permits it",
    )


def _command(case: Case, name: str, denied: ProjectDenied) -> str:
    project = quote(name)
    match denied.what:
        case ProjectRule.SOURCE | ProjectRule.HELM_REPO:
            return f"argocd proj add-source {project} {quote(denied.value)}"
        case ProjectRule.DESTINATION | ProjectRule.NAMESPACE:
            server, namespace = _destination(case, denied)
            return f"argocd proj add-destination {project} {quote(server)} {quote(namespace)}"
        case ProjectRule.KIND:
            scope = "namespace" if is_namespaced(case, denied.kind) else "cluster"
            return f"argocd proj allow-{scope}-resource {project} {quote(denied.group)} {quote(denied.kind)}"
