"""Whether the controller processes an Application, and whether a refresh is due.

Mirrors `canProcessApp`, `needRefreshAppStatus`, `comparisonExpiry` and `refreshAppConditions`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from whysync.argocd.api.application import Application, Condition
from whysync.argocd.api.project import AppProject
from whysync.argocd.app_controller.operation_state import CompareWith
from whysync.argocd.compare.app_status import set_conditions
from whysync.argocd.compare.sources import has_multiple_sources, same, same_sources
from whysync.argocd.hooks.annotations import annotations_of
from whysync.argocd.projects import app_namespace_permitted, spec_problems
from whysync.argocd.projects.permissions import Cluster
from whysync.golang.regexp import matches_any
from whysync.json_tree import Object, dig, fields, items, text

REFRESH: Final = "argocd.argoproj.io/refresh"
SKIP_RECONCILE: Final = "argocd.argoproj.io/skip-reconcile"
INVALID_SPEC: Final = "InvalidSpecError"
UNKNOWN_ERROR: Final = "UnknownError"
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")


class Processing(StrEnum):
    PROCESSED = "processed"
    OTHER_NAMESPACE = "other-namespace"
    """`application.namespaces` does not name the namespace of the Application."""
    SKIPPED = "skipped"
    """The Application has the skip-reconcile annotation."""


class RefreshReason(StrEnum):
    REQUESTED = "requested"
    SOURCE_DIFFERS = "source-differs"
    EXPIRED = "expired"
    HARD_EXPIRED = "hard-expired"
    DESTINATION_DIFFERS = "destination-differs"
    NAMESPACE_METADATA_DIFFERS = "namespace-metadata-differs"
    IGNORE_DIFFERENCES_DIFFER = "ignore-differences-differ"
    CONTROLLER = "controller"


class Refresh(msgspec.Struct, frozen=True, kw_only=True):
    """`reason` is `None` if no refresh is due; `cites` are JSON pointers into the Application."""

    reason: RefreshReason | None
    level: CompareWith = CompareWith.CompareWithLatest
    hard: bool = False
    cites: tuple[str, ...] = ()


class Expiry(msgspec.Struct, frozen=True, kw_only=True):
    soft: bool
    hard: bool


class SpecConditions(msgspec.Struct, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...]
    has_errors: bool
    """The app is not compared; sync and health status are Unknown."""


def processing(app: Object, controller_namespace: str, application_namespaces: Iterable[str]) -> Processing:
    """Mirrors `canProcessApp`; differs: sharding is ignored."""
    namespace = text(dig(app, "metadata", "namespace"))
    if namespace != controller_namespace and not matches_any(application_namespaces, namespace):
        return Processing.OTHER_NAMESPACE
    if annotations_of(app).get(SKIP_RECONCILE) in _TRUE:
        return Processing.SKIPPED
    return Processing.PROCESSED


def should_process_operation(app: Object) -> bool:
    """Mirrors `shouldProcessOperation`: an operation is requested, or the app is being deleted."""
    return isinstance(app.get("operation"), dict) or bool(dig(app, "metadata", "deletionTimestamp"))


def comparison_expiry(
    reconciled_at: datetime | None, now: datetime, *, soft: timedelta, hard: timedelta
) -> Expiry:
    """A timeout of zero never expires; an app that was never compared is always expired."""
    zero = timedelta()
    if reconciled_at is None:
        return Expiry(soft=True, hard=hard > zero)
    age = now - reconciled_at
    return Expiry(soft=soft > zero and age > soft, hard=hard > zero and age > hard)


def need_refresh(
    app: Object,
    now: datetime,
    *,
    soft: timedelta,
    hard: timedelta,
    requested: Sequence[CompareWith] = (),
) -> Refresh:
    """`requested` are refreshes that the controller requested itself, such as after a live change."""
    annotation = annotations_of(app).get(REFRESH)
    deepest = CompareWith.CompareWithLatestForceResolve
    if annotation is not None:
        return Refresh(
            reason=RefreshReason.REQUESTED,
            level=deepest,
            hard=annotation == "hard",
            cites=("/metadata/annotations/argocd.argoproj.io~1refresh",),
        )
    spec, compared = fields(app.get("spec")), fields(dig(app, "status", "sync", "comparedTo"))
    if not same_sources(spec, compared):
        name = "sources" if has_multiple_sources(spec) else "source"
        cites = (f"/spec/{name}", f"/status/sync/comparedTo/{name}")
        return Refresh(reason=RefreshReason.SOURCE_DIFFERS, level=deepest, cites=cites)
    reconciled = _time(text(dig(app, "status", "reconciledAt")))
    expiry = comparison_expiry(reconciled, now, soft=soft, hard=hard)
    if expiry.hard:
        return Refresh(reason=RefreshReason.HARD_EXPIRED, hard=True, cites=("/status/reconciledAt",))
    if expiry.soft:
        return Refresh(reason=RefreshReason.EXPIRED, cites=("/status/reconciledAt",))
    changed = _changed(app, spec, compared)
    if changed is not None:
        return changed
    if requested:
        return Refresh(reason=RefreshReason.CONTROLLER, level=max(requested))
    return Refresh(reason=None)


def _changed(app: Object, spec: Object, compared: Object) -> Refresh | None:
    if not same(fields(spec.get("destination")), fields(compared.get("destination"))):
        cites = ("/spec/destination", "/status/sync/comparedTo/destination")
        return Refresh(reason=RefreshReason.DESTINATION_DIFFERS, cites=cites)
    metadata = dig(spec, "syncPolicy", "managedNamespaceMetadata")
    result = dig(app, "status", "operationState", "syncResult")
    synced = isinstance(metadata, dict) and isinstance(result, dict)
    # Unlike the comparisons with `same`, empty and missing values differ here.
    if synced and metadata != fields(result).get("managedNamespaceMetadata"):
        cites = ("/spec/syncPolicy/managedNamespaceMetadata",)
        return Refresh(reason=RefreshReason.NAMESPACE_METADATA_DIFFERS, cites=cites)
    if not same(items(spec.get("ignoreDifferences")), items(compared.get("ignoreDifferences"))):
        cites = ("/spec/ignoreDifferences", "/status/sync/comparedTo/ignoreDifferences")
        return Refresh(reason=RefreshReason.IGNORE_DIFFERENCES_DIFFER, cites=cites)
    return None


def spec_conditions(
    app: Application,
    projects: Mapping[str, AppProject],
    clusters: Sequence[Cluster],
    now: datetime,
    *,
    controller_namespace: str,
) -> SpecConditions:
    """The conditions after validating project and spec; conditions of other types stay."""
    project = projects.get(app.project)
    if project is None:
        message = f"Application referencing project {app.spec.project} which does not exist"
        evaluated = [Condition(type=INVALID_SPEC, message=message)]
    elif not app_namespace_permitted(project, app.namespace, controller_namespace):
        message = (
            f"application '{app.name}' in namespace '{app.namespace}' is not permitted to use "
            f"project '{project.metadata.name}'"
        )
        evaluated = [Condition(type=UNKNOWN_ERROR, message=message)]
    else:
        problems = spec_problems(app.spec, project, clusters)
        evaluated = [Condition(type=INVALID_SPEC, message=problem) for problem in problems]
    conditions = set_conditions(app.status.conditions, evaluated, (INVALID_SPEC, UNKNOWN_ERROR), now)
    return SpecConditions(conditions=conditions, has_errors=bool(evaluated))


def _time(value: str) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else None
