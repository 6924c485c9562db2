"""Small Applications to compare: `compared(targets=[…], live=[…])`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from whysync.argocd.api.application import Application
from whysync.argocd.api.project import AppProject
from whysync.argocd.compare.compare_app_state import compare
from whysync.argocd.compare.comparison import Comparison, Inputs
from whysync.argocd.compare.kind_scopes import Scopes
from whysync.argocd.compare.live_objects import LiveIndex, LiveState
from whysync.argocd.projects import Cluster
from whysync.argocd.settings import Settings
from whysync.json_tree import Json, Object
from whysync.kubernetes.api.decode import decode
from whysync.kubernetes.api.manifest import Manifest, Role

NOW = datetime(2026, 3, 2, 3, 10, tzinfo=UTC)
SERVER = "https://kubernetes.default.svc"
OPEN_PROJECT: Object = {
    "metadata": {"name": "default"},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    },
}


def application(*, spec: Object | None = None, status: Object | None = None, **meta: Json) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "shop", "namespace": "argocd", "uid": "app-uid", **meta},
        "spec": {
            "project": "default",
            "source": {"repoURL": "https://git.example.com/shop.git", "path": "deploy"},
            "destination": {"server": SERVER, "namespace": "shop"},
            **(spec or {}),
        },
        "status": status or {},
    }


def config_map(
    name: str = "settings",
    *,
    data: Object | None = None,
    namespace: str = "shop",
    annotations: Object | None = None,
    owner: str = "shop",
    **meta: Json,
) -> Object:
    """Marked as this app's, unless `owner` says otherwise."""
    mark: Object = (
        {"argocd.argoproj.io/tracking-id": f"{owner}:/ConfigMap:{namespace}/{name}"} if owner else {}
    )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {**mark, **(annotations or {})},
            **meta,
        },
        "data": data or {"a": "b"},
    }


def live_config_map(name: str = "settings", **more: Json) -> Object:
    """The same with a UID, as the cluster has it."""
    return config_map(name, uid=f"uid-of-{name}", **more)  # pyright: ignore[reportArgumentType]  (passed on as it is)


def inputs(
    *,
    app: Object | None = None,
    targets: Sequence[Object] = (),
    live: Sequence[Object] | LiveState = (),
    project: Object | None = None,
    settings: Object | None = None,
    target_error: str | None = None,
    scopes: Scopes | None = None,
) -> Inputs:
    body = app or application()
    decoded, _ = decode(body, Application)
    permits, _ = decode(project or OPEN_PROJECT, AppProject)
    assert decoded is not None
    read = Settings.from_config_maps({"data": settings or {}}, None)
    return Inputs(
        application=body,
        app=decoded,
        project=permits,
        settings=read,
        targets=targets,
        live=_indexed(live, read) if isinstance(live, Sequence) else live,
        now=NOW,
        scopes=scopes or Scopes(),
        cluster=Cluster(server=SERVER),
        revisions=("abc123",),
        target_error=target_error,
    )


def compared(
    *,
    app: Object | None = None,
    targets: Sequence[Object] = (),
    live: Sequence[Object] | LiveState = (),
    project: Object | None = None,
    settings: Object | None = None,
    target_error: str | None = None,
    scopes: Scopes | None = None,
) -> Comparison:
    return compare(
        inputs(
            app=app,
            targets=targets,
            live=live,
            project=project,
            settings=settings,
            target_error=target_error,
            scopes=scopes,
        )
    )


def conditions_of(comparison: Comparison) -> list[tuple[str, str]]:
    return [(condition.type, condition.message) for condition in comparison.conditions]


def _indexed(live: Sequence[Object], settings: Settings) -> LiveIndex:
    return LiveIndex([Manifest(body, role=Role.LIVE) for body in live], settings)
