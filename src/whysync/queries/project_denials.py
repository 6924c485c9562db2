"""What an AppProject denies: in words, the lists that decide, and the edits that permit it."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from msgspec.structs import replace

from whysync.argocd.api.project import AppProject
from whysync.argocd.projects import (
    Cluster,
    PermissionResult,
    destination_verdict,
    kind_verdict,
    source_verdict,
)
from whysync.diagnosis.case import Case
from whysync.diagnosis.evidence import Evidence, cite
from whysync.diagnosis.fix import Add, Edit, Remove
from whysync.diagnosis.sentences import and_more
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.manifest import Manifest
from whysync.messages.patterns.projects import ProjectDenied, ProjectRule
from whysync.queries.named_objects import is_namespaced

_LISTS = {
    ProjectRule.SOURCE: "/spec/sourceRepos",
    ProjectRule.HELM_REPO: "/spec/sourceRepos",
    ProjectRule.DESTINATION: "/spec/destinations",
    ProjectRule.NAMESPACE: "/spec/destinations",
}


def denied_text(case: Case, denied: tuple[ProjectDenied, ...]) -> str:
    shown = [_word(case, d) for d in denied[:3]]
    return ", ".join(dict.fromkeys(shown)) + and_more(len(denied) - 3)


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


def is_permitted(case: Case, denied: ProjectDenied) -> bool:
    assert case.effective_project is not None
    return _verdict(case, case.effective_project, denied).permitted


def global_denier(case: Case, denied: ProjectDenied) -> Manifest | None:
    """The global project that forbids it: what the Application's own project permits does not matter then."""
    names = {
        project.metadata.name
        for project in case.global_projects
        if _verdict(case, project, denied) is PermissionResult.DENIED
    }
    return next((p for p in case.index.snapshot.projects if p.ref.name in names), None)


def _verdict(case: Case, project: AppProject, denied: ProjectDenied) -> PermissionResult:
    match denied.what:
        case ProjectRule.SOURCE | ProjectRule.HELM_REPO:
            return source_verdict(project, denied.value)
        case ProjectRule.DESTINATION | ProjectRule.NAMESPACE:
            return _destination_verdict(project, *_destination(case, denied))
        case ProjectRule.KIND:
            namespaced = is_namespaced(case, denied.kind)
            return kind_verdict(project, denied.group, denied.kind, "", namespaced=namespaced)


def _destination_verdict(project: AppProject, server: str, namespace: str) -> PermissionResult:
    cluster = Cluster(server=server) if "://" in server else Cluster(name=server)
    return destination_verdict(project, cluster, namespace)


def denying_entries(case: Case, denied: ProjectDenied) -> tuple[str, ...]:
    """Pointers to the entries with `!` that deny it: an entry that permits it does not override them."""
    project = case.project
    if project is None or denied.what is ProjectRule.KIND:
        return ()
    spec = project.spec
    alone = (
        [replace(spec, source_repos=(repository,)) for repository in spec.source_repos]
        if denied.what in (ProjectRule.SOURCE, ProjectRule.HELM_REPO)
        else [replace(spec, destinations=(destination,)) for destination in spec.destinations]
    )
    return tuple(
        f"{_LISTS[denied.what]}/{index}"
        for index, only in enumerate(alone)
        if _verdict(case, replace(project, spec=only), denied) is PermissionResult.DENIED
    )


def may_deploy_to_destination(case: Case) -> bool:
    """Does the project permit the Application's own destination?"""
    destination = case.app.spec.destination
    server = destination.server or destination.name
    if case.effective_project is None or not server or not destination.namespace:
        return False
    return _destination_verdict(case.effective_project, server, destination.namespace).permitted


def _list_of(case: Case, denied: ProjectDenied) -> str:
    if denied.what is ProjectRule.KIND:
        scope = "namespace" if is_namespaced(case, denied.kind) else "cluster"
        return f"/spec/{scope}ResourceWhitelist"
    return _LISTS[denied.what]


def lists_that_deny(case: Case, still: tuple[ProjectDenied, ...]) -> Iterator[Evidence]:
    assert case.project_manifest is not None
    for denied in still:
        inherited = global_denier(case, denied)
        if inherited is not None:
            pointer = _list_of(case, denied).replace("White", "Black")
            yield cite(inherited, pointer, says="what the global project forbids")
    still = tuple(denied for denied in still if global_denier(case, denied) is None)
    for denied in still:
        black = _list_of(case, denied).replace("White", "Black")
        if black.endswith("Blacklist") and case.project_manifest.at(black):
            yield cite(case.project_manifest, black, says="what the project forbids")
    for pointer in dict.fromkeys(_list_of(case, denied) for denied in still):
        if pointer != "/spec/namespaceResourceWhitelist" or case.project_manifest.at(pointer):
            denies = any(denying_entries(case, denied) for denied in still)
            says = "what the project permits, and with ! denies" if denies else "what the project permits"
            yield cite(case.project_manifest, pointer, says=says)


def permitting_edits(case: Case, denied: ProjectDenied) -> Iterator[Edit]:
    """Add it to the list of what may be used; and take it off the list of what may not."""
    manifest, pointer = case.project_manifest, _list_of(case, denied)
    yield from (Remove(pointer=entry) for entry in reversed(denying_entries(case, denied)))
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


def permitting_command(case: Case, name: str, denied: ProjectDenied) -> str:
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
