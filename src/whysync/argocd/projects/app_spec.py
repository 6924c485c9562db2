"""Validation of an Application's spec, before it is compared.

Mirrors `ValidatePermissions` and `GetDestinationCluster`, Argo CD 3.6: each problem becomes an
InvalidSpecError, and the app is Unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whysync.argocd.api.application import Destination, Source, SourceHydrator, Spec
from whysync.argocd.api.project import AppProject
from whysync.argocd.projects.permissions import Cluster, destination_verdict, source_verdict


class NoCluster(ValueError):
    """The destination cluster is unknown; with Argo CD's message."""


def destination_cluster(destination: Destination, clusters: Sequence[Cluster]) -> Cluster:
    """The cluster of a destination; raises `NoCluster`. Differs: the clusters can always be read."""
    if destination.name and destination.server:
        problem = "application destination can't have both name and server defined"
        raise NoCluster(f"{problem}: {destination.name} {destination.server}")
    if destination.server:
        server = destination.server.rstrip("/")
        matching = next((cluster for cluster in clusters if cluster.server.rstrip("/") == server), None)
        if matching is None:
            raise NoCluster(
                f'error getting cluster by server "{destination.server}": cluster "{server}" not found'
            )
        return matching
    if not destination.name:
        raise NoCluster("Destination server missing from app spec")
    candidates = [cluster for cluster in clusters if cluster.name == destination.name]
    if not candidates:
        raise NoCluster(f"there are no clusters with this name: {destination.name}")
    if len(candidates) > 1:
        servers = " ".join(cluster.server for cluster in candidates)
        raise NoCluster(f"there are {len(candidates)} clusters with the same name: [{servers}]")
    return candidates[0]


def spec_problems(spec: Spec, project: AppProject, clusters: Sequence[Cluster]) -> tuple[str, ...]:
    """The messages of InvalidSpecError conditions."""
    problems, complete = _source_problems(spec, project)
    if not complete:
        return tuple(problems)
    try:
        cluster = destination_cluster(spec.destination, clusters)
    except NoCluster as problem:
        return (*problems, str(problem))
    project_clusters = [cluster for cluster in clusters if cluster.project == project.metadata.name]
    if not destination_verdict(project, cluster, spec.destination.namespace, project_clusters).permitted:
        server = cluster.name if spec.destination.name else cluster.server
        problems.append(
            f"application destination server '{server}' and namespace '{spec.destination.namespace}' "
            f"do not match any of the allowed destinations in project '{project.metadata.name}'"
        )
    return tuple(problems)


def _source_problems(spec: Spec, project: AppProject) -> tuple[list[str], bool]:
    """The problems of the sources; the first incomplete source ends the validation."""
    problems: list[str] = []
    if spec.source_hydrator is not None:
        missing = list(_missing_in_hydrator(spec.source_hydrator))
        if missing:
            return missing, False
        dry = spec.source_hydrator.dry_source.repo_url
        problems += _not_permitted(project, dry, "application repo")
        hydrated = spec.source_hydrator.sync_source.repo_url
        if hydrated not in ("", dry):
            problems += _not_permitted(project, hydrated, "sync source repo")
        return problems, True
    for source in spec.sources or (spec.source or Source(),):
        if problem := _missing_in_source(source, multiple=bool(spec.sources)):
            return [*problems, problem], False
        problems += _not_permitted(project, source.repo_url, "application repo")
    return problems, True


def _not_permitted(project: AppProject, url: str, kind: str) -> Iterator[str]:
    if not source_verdict(project, url).permitted:
        yield f"{kind} {url} is not permitted in project '{project.metadata.name}'"


def _missing_in_source(source: Source, *, multiple: bool) -> str | None:
    origin = source.path or source.chart or (source.ref if multiple else "")
    if not source.repo_url or not origin:
        if multiple:
            problem = "spec.source.repoURL and either source.path, source.chart, or source.ref are required"
            return f"{problem} for source {source.repo_url}"
        return "spec.source.repoURL and either spec.source.path or spec.source.chart are required"
    if source.chart and not source.target_revision:
        return "spec.source.targetRevision is required if the manifest source is a helm chart"
    return None


def _missing_in_hydrator(hydrator: SourceHydrator) -> Iterator[str]:
    if not hydrator.dry_source.repo_url:
        yield "spec.sourceHydrator.drySource.repoURL is required"
    if not hydrator.sync_source.target_branch:
        yield "spec.sourceHydrator.syncSource.targetBranch is required"
    if hydrator.hydrate_to is not None and not hydrator.hydrate_to.target_branch:
        yield (
            "when spec.sourceHydrator.hydrateTo is set, "
            "spec.sourceHydrator.hydrateTo.targetBranch is required"
        )
