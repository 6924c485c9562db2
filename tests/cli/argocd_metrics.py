"""The metrics of Argo CD 3.6 that the alerts use, with their labels; expressions may use no others.

From `controller/metrics/` (`metrics.go`, `clustercollector.go`) and `reposerver/metrics/metrics.go`. The
application controller is scraped at `argocd-metrics:8082`, the repo-server at `argocd-repo-server:8084`.
"""

from __future__ import annotations

from typing import Final

_APP: Final = ("namespace", "name", "project")
_FAILED_FETCH: Final = ("repo", "revision")

METRICS: Final[dict[str, tuple[str, ...]]] = {
    "argocd_app_info": (
        *_APP,
        "autosync_enabled",
        "repo",
        "dest_server",
        "dest_namespace",
        "sync_status",
        "health_status",
        "operation",
    ),
    "argocd_app_sync_total": (*_APP, "dest_server", "phase", "dry_run"),
    # a histogram; the controller names it argocd_app_reconcile
    "argocd_app_reconcile_count": ("namespace", "dest_server"),
    "argocd_cluster_connection_status": ("server", "k8s_version"),
    "argocd_git_fetch_fail_total": _FAILED_FETCH,
    "argocd_git_lsremote_fail_total": _FAILED_FETCH,
    "argocd_oci_extract_fail_total": _FAILED_FETCH,
    "argocd_oci_resolve_revision_fail_total": _FAILED_FETCH,
}
