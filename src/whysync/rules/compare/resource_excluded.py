"""Argo CD's settings exclude this kind, so it is neither compared nor applied.

## What happens
Argo CD does not watch the kinds in `resource.exclusions` of `argocd-cm`, for all Applications. If
`resource.inclusions` is set, it watches only the kinds in that list. An object of an excluded kind in Git
causes a warning and is ignored: it is never created, and its drift is never detected. Since Argo CD 3.0
some noisy kinds (Endpoints, Leases, reports) are excluded by default.

## How whysync knows
`Resource … is excluded in the settings`. If the settings are available, the finding names the list.

## Fix
Remove the object from Git, or remove the kind from the exclusions, or add it to the inclusions. Argo CD never
watches Events, Leases and metrics, independent of the lists.

## When it is something else
If the project does not permit the kind: project-denied.
"""

from collections.abc import Iterator

from whysync.argocd.projects.cluster_secrets import cluster_for, known_clusters
from whysync.argocd.settings.settings import ExcludedBy, excluded_by
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.fix import Edit, FixKind
from whysync.diagnosis.sentences import and_more
from whysync.json_tree import Json, fields, items, text
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Ref
from whysync.kubernetes.api.yaml import Invalid, dump, load
from whysync.messages.patterns.operations import ExcludedResource
from whysync.queries.already_fixed import render_again
from whysync.queries.commands import (
    CONTROLLER,
    argocd_namespace,
    comment,
    hard_refresh,
    kubectl,
    restart,
    sync,
    with_comment,
)
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref
from whysync.queries.service_backends import service_without_selector

POINTERS = {
    ExcludedBy.EXCLUSIONS: "/data/resource.exclusions",
    ExcludedBy.INCLUSIONS: "/data/resource.inclusions",
}
RISK = "Argo CD then watches all objects of this kind in every cluster, which increases its load"
SAYS = {
    ExcludedBy.EXCLUSIONS: "excludes the kind",
    ExcludedBy.INCLUSIONS: "Argo CD watches only these kinds",
}


@rule(cause="excluded-resource", since="0.1")
def resource_excluded(case: Case) -> Iterator[Finding]:
    settings = case.settings("argocd-cm")
    for group in grouped(case, ExcludedResource, by=lambda f: (f.resource.group, f.resource.kind)):
        ref = named_ref(case, group.failure.resource, group.ref)
        more = and_more(len(group.reports) - 1)
        listed = settings is not None and any(isinstance(settings.at(one), str) for one in POINTERS.values())
        by = excluded_by(case.argocd, ref.group, ref.kind, _cluster(case))
        yield Finding(
            about=ref,
            explains=group.explains,
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            verdict=f"{ref}{more}: {_reason(by, ref.kind)}, so it is never applied",
            evidence=(*group.cited(says="reported by Argo CD"), *_cited(settings, by)),
            fixes=tuple(_fixes(case, settings, ref, by)),
            already_fixed=render_again(
                case,
                "the current settings no longer exclude it",
                "Refresh: the settings no longer exclude it",
                when=listed and by is None,
            ),
        )


def _fixes(case: Case, settings: Manifest | None, ref: Ref, by: ExcludedBy | None) -> Iterator[Fix]:
    service = service_without_selector(case, ref)
    permit = tuple(_permit(case, settings, ref, by))
    if service is None:
        yield Fix.run(
            comment(f"delete {ref} from the source, and commit"),
            title="Remove it from Git if it is not needed",
        )
        yield from permit
        return
    yield from permit
    yield Fix.run(
        kubectl("apply", "-f", "FILE", namespace=ref.namespace),
        comment(f"then delete {ref} from the source, and commit"),
        title=f"{'Or apply' if permit else 'Apply'} it outside Argo CD: {service} has no selector, so this is"
        " its only backend",
        risk="nobody corrects it when it changes or is deleted",
    )


def _reason(by: ExcludedBy | None, kind: str) -> str:
    match by:
        case ExcludedBy.INCLUSIONS:
            return f"resource.inclusions of Argo CD does not contain {kind}"
        case ExcludedBy.NATURE:
            return f"Argo CD never watches {kind}, independent of its settings"
        case _:
            return f"Argo CD's settings exclude {kind}"


def _cited(settings: Manifest | None, by: ExcludedBy | None) -> Iterator[Evidence]:
    if settings is not None and by is not None and by in POINTERS:
        yield cite(settings, POINTERS[by], says=SAYS[by])


def _permit(case: Case, settings: Manifest | None, ref: Ref, by: ExcludedBy | None) -> Iterator[Fix]:
    if by is ExcludedBy.NATURE:
        return
    listed = by is ExcludedBy.INCLUSIONS
    name = "resource.inclusions" if listed else "resource.exclusions"
    title = f"Add {ref.kind} to {name}" if listed else f"Remove {ref.kind} from {name}"
    changed = _changed(case, settings, ref, by) if settings is not None and by is not None else None
    if changed is not None and settings is not None:
        yield Fix(title=title, kind=FixKind.SETTINGS, target=settings.ref, edits=(changed,), risk=RISK)
        return
    edit = kubectl("edit", "configmap", "argocd-cm", namespace=argocd_namespace(case))
    yield Fix.run(
        with_comment(edit, name),
        restart(case, CONTROLLER),
        hard_refresh(case),
        *(() if case.self_heals else (sync(case),)),  # auto-sync does not sync this commit again
        title=title,
        risk=RISK,
    )


def _changed(case: Case, settings: Manifest, ref: Ref, by: ExcludedBy) -> Edit | None:
    """The list without (or with) the kind; `None` if an entry excludes it by a pattern."""
    try:
        entries = items(load(text(settings.at(POINTERS[by]))))
    except Invalid:
        return None
    if by is ExcludedBy.INCLUSIONS:
        added: Json = {"apiGroups": [ref.group], "kinds": [ref.kind]}
        return Set(pointer=POINTERS[by], value=dump([*entries, added]))
    remaining: list[Json] = []
    for entry, filtered in zip(entries, case.argocd.resource_exclusions, strict=False):
        if not filtered.matches(ref.group, ref.kind, _cluster(case)):
            remaining.append(entry)
            continue
        if ref.kind not in filtered.kinds:
            return None
        others: list[Json] = [kind for kind in filtered.kinds if kind != ref.kind]
        if others:
            remaining.append({**fields(entry), "kinds": others})
    return Set(pointer=POINTERS[by], value=dump(remaining))


def _cluster(case: Case) -> str:
    """The server of the destination, by which the lists name clusters."""
    destination = case.app.spec.destination
    return cluster_for(destination, known_clusters(case.index.snapshot.settings)).server or destination.name
