"""Orphaned resources: objects in an app's namespace that no app manages.

Mirrors the orphans part of `getResourceTree`, and `isKnownOrphanedResourceExclusion`, Argo CD 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable

from whysync.argocd.api.project import AppProject, OrphanedResources
from whysync.argocd.projects import kind_verdict
from whysync.golang.glob import glob_match
from whysync.kubernetes.api.ref import Key


def orphans(
    project: AppProject,
    top_level: Iterable[tuple[Key, str]],
    *,
    managed: Iterable[Key] = (),
    existing_apps: Iterable[str] = (),
) -> tuple[Key, ...]:
    """The orphaned ones among objects without an owner, each with the app of its tracking metadata.

    Tracking metadata of an app that does not exist is ignored. Empty unless the project enables monitoring.
    """
    settings = project.spec.orphaned_resources
    if settings is None:
        return ()
    managed_keys, apps = set(managed), set(existing_apps)
    return tuple(
        sorted(
            key
            for key, app in top_level
            if key not in managed_keys
            and app not in apps
            and key.namespace
            and kind_verdict(project, key.group, key.kind, key.name, namespaced=True).permitted
            and not is_expected(key, settings)
        )
    )


def orphan_warning(project: AppProject, count: int) -> str | None:
    """The message of the OrphanedResourceWarning, if the project enables the warning."""
    settings = project.spec.orphaned_resources
    if not count or settings is None or settings.warn is not True:
        return None
    return f"Application has {count} orphaned resources"


def is_expected(key: Key, settings: OrphanedResources) -> bool:
    """Is it a default object of every namespace, or ignored by the project? An empty group means core."""
    if key.group == "" and (
        (key.kind, key.namespace, key.name) == ("Service", "default", "kubernetes")
        or (key.kind, key.name) in (("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt"))
    ):
        return True
    return any(
        (item.kind == "" or glob_match(item.kind, key.kind))
        and glob_match(item.group, key.group)
        and (item.name == "" or glob_match(item.name, key.name))
        for item in settings.ignore
    )
