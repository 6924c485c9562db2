"""The destination namespace has objects that belong to no Application.

## What happens
The project monitors orphaned resources: top-level objects in the destination namespace that no Application
declares. The app gets a warning with their number. Nothing is wrong with the app itself.

## How whysync knows
Argo CD's `OrphanedResourceWarning` counts them. If the live objects are available, the finding names those
without a tracking label or annotation.

## Fix
Delete objects that are not needed, add the others to Git, or list them in `orphanedResources.ignore` of the
AppProject.

## When it is something else
An object that was removed from Git but not pruned is a resource of the app, not an orphan.
"""

from collections.abc import Iterator

from whysync.argocd.compare.orphans import is_expected
from whysync.argocd.tracking import TRACKING_ID
from whysync.diagnosis import Add, Case, Confidence, Finding, Fix, Severity, cite, rule
from whysync.json_tree import Object
from whysync.kubernetes.api.manifest import Manifest
from whysync.kubernetes.api.ref import Key
from whysync.messages.patterns.operations import OrphanedResources
from whysync.queries.commands import app_argument

# Controllers create these for other objects, not always with an owner reference.
_CREATED_BY_CONTROLLERS = frozenset(
    {"Event", "Endpoints", "EndpointSlice", "Lease", "Pod", "ReplicaSet", "PodMetrics"}
)

_MAX_LISTED = 5


@rule(cause="orphaned", since="0.1")
def orphaned_resources(case: Case) -> Iterator[Finding]:
    for report in case.failures(OrphanedResources):
        orphans = _untracked(case)
        count = report.failure.count or len(orphans)
        names = ", ".join(str(orphan.ref) for orphan in orphans[:3])
        examples = (": " if count == len(orphans) <= 3 else ", such as ") + names if names else ""
        many = f"{count} objects" if count != 1 else "1 object"
        place = case.destination_namespace
        yield Finding(
            about=case.application.ref,
            explains=report.symptoms,
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            verdict=f"{many} in namespace {place} {'belong' if count != 1 else 'belongs'} to no"
            f" Application{examples}",
            evidence=(
                report.cite(says="reported by Argo CD"),
                *(
                    cite(orphan, "/metadata/name", says="no tracking label or annotation")
                    for orphan in orphans[:5]
                ),
            ),
            fixes=(
                Fix.run(
                    f"argocd app resources {app_argument(case)} --orphaned",
                    title="List them; then delete them, add them to Git, or ignore them in the project",
                ),
                *_ignore_them(case, orphans, count),
            ),
        )


def _untracked(case: Case) -> tuple[Manifest, ...]:
    """Top-level objects of the namespace without a tracking label or annotation."""
    settings = case.project.spec.orphaned_resources if case.project is not None else None
    rows: set[Key] = set(case.rows)
    return tuple(
        manifest
        for manifest in case.index.live_by_namespace.get(case.destination_namespace, ())
        if manifest.ref.namespace
        and manifest.key not in rows
        and manifest.ref.kind not in _CREATED_BY_CONTROLLERS
        and not manifest.meta.get("ownerReferences")
        and TRACKING_ID not in manifest.annotations
        and not (case.may_track_by_label and case.argocd.instance_label_key in manifest.labels)
        and settings is not None
        and not is_expected(manifest.key, settings)
    )


def _ignore_them(case: Case, orphans: tuple[Manifest, ...], count: int) -> Iterator[Fix]:
    """Offered if all of them are known by name."""
    if case.project_manifest is None or not orphans or count != len(orphans) or count > _MAX_LISTED:
        return
    rules: list[Object] = [
        {"group": orphan.ref.group, "kind": orphan.ref.kind, "name": orphan.ref.name} for orphan in orphans
    ]
    yield Fix.project(
        case.project_manifest.ref,
        *(Add(pointer="/spec/orphanedResources/ignore", value=rule) for rule in rules),
        title="They are expected: add them to orphanedResources.ignore of the project",
        risk="objects of these names are no longer reported in any namespace of the project",
    )
