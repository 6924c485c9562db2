"""The object exists, and the project does not let Argo CD see it.

## What happens
Argo CD leaves out live objects that the app's project does not permit (by kind, or by namespace) before it
compares. The object is in the cluster, yet the app shows it as missing, or with status Unknown, and stays
OutOfSync. A sync fails, or tries to create what is there.

## How whysync knows
The row is Missing or Unknown, the live object is at hand (or the kind is known), and the project's lists,
evaluated as Argo CD does, do not permit it.

## Fix
Permit the kind or the namespace in the AppProject, or move the object to an app of a project that does.

## When it is something else
The project permits it: then it was deleted, or never created.
"""

from collections.abc import Iterator
from shlex import quote

from whysync.argocd.api.application import ResourceRow
from whysync.argocd.projects import Cluster, PermissionResult, destination_verdict, kind_verdict
from whysync.diagnosis import Add, Case, Confidence, Evidence, Fact, Finding, Fix, cite, rule
from whysync.diagnosis.symptom import APP_DIFFERS, SymptomId
from whysync.json_tree import Object
from whysync.queries.commands import refresh
from whysync.queries.resource_rows import row_evidence

DESTINATIONS = "/spec/destinations"


@rule(cause="hidden-by-project", needs={Fact.PROJECT}, since="0.1")
def hidden_by_project(case: Case) -> Iterator[Finding]:
    for row in case.app.status.resources:
        live = case.live_of(row.key)
        candidates = [SymptomId.missing(row.key)] if live is not None else []
        candidates += [APP_DIFFERS] if row.status == "Unknown" else []
        symptom = next((id for id in candidates if id in case.symptom_ids), None)
        if symptom is None:
            continue
        pointer = _forbidding(case, row)
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
                row_evidence(case, row, says="what Argo CD says of it"),
                *_existing(case, row),
                cite(case.project_manifest, pointer, says="what the project says"),
            ),
            fixes=tuple(_fixes(case, row, pointer)),
        )


def _existing(case: Case, row: ResourceRow) -> tuple[Evidence, ...]:
    live = case.live_of(row.key)
    return (cite(live, "/metadata/name", says="it is in the cluster"),) if live is not None else ()


def _forbidding(case: Case, row: ResourceRow) -> str | None:
    """The list of the project that keeps it from being seen."""
    assert case.project is not None
    scope = "namespace" if row.namespace else "cluster"
    verdict = kind_verdict(case.project, row.group, row.kind, row.name, namespaced=bool(row.namespace))
    if verdict is PermissionResult.DENIED:
        return f"/spec/{scope}ResourceBlacklist"
    if not verdict.permitted:
        return f"/spec/{scope}ResourceWhitelist"
    spec = case.app.spec.destination
    by_server = spec.server and all(not entry.name for entry in case.project.spec.destinations)
    if not row.namespace or not by_server or case.project.spec.permit_only_project_scoped_clusters:
        return None  # which cluster a name stands for is not known here
    permitted = destination_verdict(case.project, Cluster(server=spec.server), row.namespace).permitted
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
            title=f"Take {row.kind} off the list of what the project forbids",
            risk="it holds for every Application of the project",
        )
    else:
        yield Fix.project(
            case.project_manifest.ref,
            Add(pointer=pointer, value=entry),
            title=f"Permit exactly this in AppProject {case.app.project}",
            risk="it holds for every Application of the project",
        )
    yield Fix.run(
        f"git grep -n {quote(f'name: {row.name}')}   # where Git declares it",
        refresh(case),
        title="Or the project is right: take the manifest out of this app's Git, the object stays as it is",
    )
