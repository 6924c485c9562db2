"""Objects in an app's namespace that belong to nobody.

Mirrors the part of `getResourceTree` about orphans, and `isKnownOrphanedResourceExclusion`, Argo CD 3.6.
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
    """Of objects without an owner (each with the app it is marked for): those that nobody manages.

    A mark of an app that does not exist counts for nothing. Without the setting in the project, nobody looks.
    """
    settings = project.spec.orphaned_resources
    if settings is None:
        return ()
    ours, apps = set(managed), set(existing_apps)
    return tuple(
        sorted(
            key
            for key, app in top_level
            if key not in ours
            and app not in apps
            and key.namespace
            and kind_verdict(project, key.group, key.kind, key.name, namespaced=True).permitted
            and not is_expected(key, settings)
        )
    )


def orphan_warning(project: AppProject, count: int) -> str | None:
    """The message of the OrphanedResourceWarning; only a project that asks for it gets one."""
    settings = project.spec.orphaned_resources
    if not count or settings is None or settings.warn is not True:
        return None
    return f"Application has {count} orphaned resources"


def is_expected(key: Key, settings: OrphanedResources) -> bool:
    """What every namespace has, and what the project ignores; an empty group there is the core group."""
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
