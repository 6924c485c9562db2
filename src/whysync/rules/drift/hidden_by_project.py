"""The object exists, but the AppProject does not permit it, so Argo CD does not see it.

## What happens
Before it compares, Argo CD drops live objects that the app's project does not permit by kind or namespace.
The object is in the cluster, but the app shows it as Missing or Unknown and stays OutOfSync. A sync fails,
or tries to create an object that already exists.

## How whysync knows
The resource is Missing or Unknown, and the project's lists, evaluated as Argo CD does, do not permit its kind
or namespace.

## Fix
Permit the kind or the namespace in the AppProject, or move the object to an app of a project that permits it.

## When it is something else
If the project permits it, the object was deleted or never created.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.projects import Cluster, PermissionResult, destination_verdict, kind_verdict
from whysync.diagnosis import Add, Case, Confidence, Evidence, Fact, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import APP_DIFFERS, SymptomId
from whysync.json_tree import Object
from whysync.queries.commands import comment, refresh

DESTINATIONS = "/spec/destinations"
_RISK = (
    "applies to every Application of the project; it may be a security decision of the project's owner,"
    " and a project declared in Git is changed there"
)


@rule(cause="hidden-by-project", needs={Fact.PROJECT}, since="0.1")
def hidden_by_project(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        live = case.live_of(row.key)
        candidates = [SymptomId.missing(row.key)] if live is not None else []
        candidates += [APP_DIFFERS] if row.status == "Unknown" else []
        symptom = next((id for id in candidates if id in case.symptom_ids), None)
        if symptom is None:
            continue
        pointer = _denying_list(case, row)
        if pointer is None or case.project_manifest is None:
            continue
        what = f"namespace {row.namespace}" if pointer == DESTINATIONS else f"kind {row.kind}"
        yield Finding(
            about=row.ref,
            explains=(symptom,),
            confidence=Confidence.HIGH if live is not None else Confidence.MEDIUM,
            verdict=f"{row.ref}{' exists, but' if live else ':'} project {case.app.project} does not permit"
            f" {what}, so Argo CD cannot see it",
            evidence=(
                case.cited_row(row, says="status of the resource"),
                *_existing(case, row),
                cite(case.project_manifest, pointer, says="the project's list"),
            ),
            fixes=tuple(_fixes(case, row, pointer)),
        )


def _existing(case: Case, row: ResourceRow) -> tuple[Evidence, ...]:
    live = case.live_of(row.key)
    return (cite(live, "/metadata/name", says="live object"),) if live is not None else ()


def _denying_list(case: Case, row: ResourceRow) -> str | None:
    """The pointer to the project's list that does not permit the resource."""
    project = case.effective_project
    assert project is not None
    scope = "namespace" if row.namespace else "cluster"
    verdict = kind_verdict(project, row.group, row.kind, row.name, namespaced=bool(row.namespace))
    if verdict is PermissionResult.DENIED:
        return f"/spec/{scope}ResourceBlacklist"
    if not verdict.permitted:
        return f"/spec/{scope}ResourceWhitelist"
    spec = case.app.spec.destination
    by_server = spec.server and all(not entry.name for entry in project.spec.destinations)
    if not row.namespace or not by_server or project.spec.permit_only_project_scoped_clusters:
        return None  # a cluster's name does not identify its server here
    permitted = destination_verdict(project, Cluster(server=spec.server), row.namespace).permitted
    return None if permitted else DESTINATIONS


def _fixes(case: Case, row: ResourceRow, pointer: str) -> Iterator[Fix]:
    assert case.project_manifest is not None
    entry: Object = (
        {"server": case.app.spec.destination.server, "namespace": row.namespace}
        if pointer == DESTINATIONS
        else {"group": row.group, "kind": row.kind}
    )
    if pointer.endswith("Blacklist"):
        yield Fix.run(
            f"argocd proj allow-{'namespace' if row.namespace else 'cluster'}-resource"
            f" {quote(case.app.project)} {quote(row.group)} {quote(row.kind)}",
            title=f"With its owner's consent: remove {row.kind} from the project's blacklist",
            risk=_RISK,
        )
    else:
        yield Fix.project(
            case.project_manifest.ref,
            Add(pointer=pointer, value=entry),
            title=f"With its owner's consent: permit only this in AppProject {case.app.project}",
            risk=_RISK,
        )
    yield Fix.run(
        f"git grep -n {quote(f'name: {row.name}')}   # where Git declares it",
        comment("remove it there; commit"),
        refresh(case),
        title="The project is right: remove the manifest from this app's source",
        risk="the live object stays, and no app manages it",
    )
