"""Argo CD's settings exclude this kind, so it is neither compared nor applied.

## What happens
`resource.exclusions` in `argocd-cm` takes kinds out of Argo CD's sight, for all Applications; and once
`resource.inclusions` names kinds of a cluster, everything else there is out of sight as well. An object
of such a kind in Git gives a warning and is left alone: it is never created, and its drift is never
seen. Since Argo CD 3.0 some noisy kinds (Endpoints, Leases, reports) are excluded by default.

## How whysync knows
`Resource … is excluded in the settings`. With the settings at hand, whysync tells which of the two lists
does it.

## Fix
Take the object out of Git; or take the kind off the exclusions, or put it on the inclusions. Events,
Leases and metrics are never looked at, whatever the lists say.

## When it is something else
The project does not permit the kind: project-denied.
"""

from collections.abc import Iterator

from whysync.argocd.settings.resource_filter import ExcludedBy, excluded_by
from whysync.diagnosis import Case, Confidence, Evidence, Finding, Fix, Set, Severity, cite, rule
from whysync.diagnosis.destination_clusters import cluster_for, known_clusters
from whysync.diagnosis.fix import Edit, FixKind
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
    with_comment,
)
from whysync.queries.group_failures import grouped
from whysync.queries.named_objects import named_ref

POINTERS = {
    ExcludedBy.EXCLUSIONS: "/data/resource.exclusions",
    ExcludedBy.INCLUSIONS: "/data/resource.inclusions",
}
RISK = "Argo CD then watches all objects of this kind, in every cluster: more load"
SAYS = {
    ExcludedBy.EXCLUSIONS: "this list leaves it out",
    ExcludedBy.INCLUSIONS: "only what is on this list is looked at",
}


@rule(cause="excluded-resource", since="0.1")
def resource_excluded(case: Case) -> Iterator[Finding]:
    settings = case.settings("argocd-cm")
    for group in grouped(case, ExcludedResource, by=lambda f: (f.resource.group, f.resource.kind)):
        ref = named_ref(case, group.failure.resource, group.ref)
        more = f" and {len(group.reports) - 1} more" if len(group.reports) > 1 else ""
        listed = settings is not None and any(isinstance(settings.at(one), str) for one in POINTERS.values())
        by = excluded_by(case.argocd, ref.group, ref.kind, _cluster(case))
        yield Finding(
            about=ref,
            explains=group.explains,
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            verdict=f"{ref}{more}: {_words(by, ref.kind)}, so it is never applied",
            evidence=(*group.cited(says="Argo CD leaves it alone"), *_cited(settings, by)),
            fixes=(
                Fix.run(
                    comment(f"delete {ref} from the source, and commit"),
                    title="Take it out of Git, if nobody needs it there",
                ),
                *_permit(case, settings, ref, by),
            ),
            already_fixed=render_again(
                case,
                listed and by is None,
                "by now they do not",
                "Refresh: the settings do not exclude it any more",
            ),
        )


def _words(by: ExcludedBy | None, kind: str) -> str:
    match by:
        case ExcludedBy.INCLUSIONS:
            return f"Argo CD's settings name the kinds to look at (resource.inclusions), not {kind}"
        case ExcludedBy.NATURE:
            return f"Argo CD never looks at {kind}, whatever its settings say"
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
    title = f"Or put {ref.kind} on {name}" if listed else f"Or take {ref.kind} off {name}"
    changed = _changed(case, settings, ref, by) if settings is not None and by is not None else None
    if changed is not None and settings is not None:
        yield Fix(title=title, kind=FixKind.SETTINGS, target=settings.ref, edits=(changed,), risk=RISK)
        return
    edit = kubectl("edit", "configmap", "argocd-cm", namespace=argocd_namespace(case))
    yield Fix.run(
        with_comment(edit, name), restart(case, CONTROLLER), hard_refresh(case), title=title, risk=RISK
    )


def _changed(case: Case, settings: Manifest, ref: Ref, by: ExcludedBy) -> Edit | None:
    """The list without the kind, or with it; `None` where an entry leaves out more than it names."""
    try:
        entries = items(load(text(settings.at(POINTERS[by]))))
    except Invalid:
        return None
    if by is ExcludedBy.INCLUSIONS:
        added: Json = {"apiGroups": [ref.group], "kinds": [ref.kind]}
        return Set(pointer=POINTERS[by], value=dump([*entries, added]))
    kept: list[Json] = []
    for entry, filtered in zip(entries, case.argocd.resource_exclusions, strict=False):
        if not filtered.matches(ref.group, ref.kind, _cluster(case)):
            kept.append(entry)
            continue
        if ref.kind not in filtered.kinds:
            return None
        others: list[Json] = [kind for kind in filtered.kinds if kind != ref.kind]
        if others:
            kept.append({**fields(entry), "kinds": others})
    return Set(pointer=POINTERS[by], value=dump(kept))


def _cluster(case: Case) -> str:
    """By its address, as the lists name clusters."""
    destination = case.app.spec.destination
    return cluster_for(destination, known_clusters(case.index.snapshot.settings)).server or destination.name
