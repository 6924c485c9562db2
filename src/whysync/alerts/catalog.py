"""The alerts: the PromQL expression of each, and the likely causes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whysync.alerts.limits import AlertLimits, Scope, duration

APP = "{{ $labels.%s }}/{{ $labels.name }}"


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """An alerting rule.

    `causes` are ids of whysync rules, the most likely first; `per_app`: its labels name an Application.
    """

    name: str
    expr: str
    lasts: float = 0.0
    severity: str
    summary: str
    description: str
    causes: tuple[str, ...]
    per_app: bool = True


def alerts_of(scope: Scope, limits: AlertLimits) -> tuple[Alert, ...]:
    """All alerts; those about Argo CD itself only if the apps are not restricted."""
    narrowed = bool(scope.namespaces or scope.projects or scope.apps)
    alerts = (*_operations(scope, limits), *_states(scope, limits), *_loops(scope, limits))
    return alerts if narrowed else (*alerts, *_argocd_itself(limits))


def _info(scope: Scope, *more: str) -> str:
    """PromQL for one series per app.

    A change of any label of `argocd_app_info` starts another series, and `for` would start again. So only the
    labels that name the app are kept.
    """
    return f"max by ({scope.by}) (argocd_app_info{scope.matchers(*more)})"


def _app(scope: Scope) -> str:
    return APP % scope.namespace_label


def _operations(scope: Scope, limits: AlertLimits) -> Iterator[Alert]:
    app = _app(scope)
    yield Alert(
        name="ArgoCDSyncStuck",
        expr=_info(scope, 'operation="sync"') + " == 1",
        lasts=limits.stuck,
        severity="warning",
        summary=f"The sync of {app} does not finish",
        description=f"A sync of {app} has been requested or running for {duration(limits.stuck)}. It"
        " waits for a wave or a hook that never completes, or is retried again and again. No other sync"
        " starts meanwhile.",
        causes=(
            "wave_stalled",
            "hook_stuck",
            "status_never_reported",
            "operation_pinned_to_older_commit",
            "finalizer_blocks_deletion",
            "app_not_reconciled",
        ),
    )
    yield Alert(
        name="ArgoCDDeletionStuck",
        expr=_info(scope, 'operation="delete"') + " == 1",
        lasts=limits.stuck,
        severity="warning",
        summary=f"The deletion of {app} does not finish",
        description=f"The deletion of {app} has been running for {duration(limits.stuck)}: a"
        " finalizer of one of its resources, or of the Application itself, has not been removed.",
        causes=("finalizer_blocks_deletion", "namespace_terminating", "destination_cluster_unreachable"),
    )
    failed = scope.matchers('phase=~"Error|Failed"', 'dry_run!="true"')
    span = duration(limits.window)
    # A counter is created with its first failure, which `increase` does not count; `unless offset` does.
    yield Alert(
        name="ArgoCDSyncFailed",
        expr=f"sum by ({scope.by}) (increase(argocd_app_sync_total{failed}[{span}])) >"
        f" {limits.failures}\nor\n"
        f"(sum by ({scope.by}) (argocd_app_sync_total{failed})"
        f" unless sum by ({scope.by}) (argocd_app_sync_total{failed} offset {span})) > {limits.failures}",
        severity="warning",
        summary=f"Syncs of {app} fail",
        description=f"{{{{ $value | humanize }}}} syncs of {app} have failed within {span}.",
        causes=(
            "manifest_invalid",
            "hook_failed",
            "crd_missing",
            "immutable_field_changed",
            "forbidden_by_kubernetes_rbac",
            "admission_denied",
            "project_denied",
            "namespace_missing",
        ),
    )


def _states(scope: Scope, limits: AlertLimits) -> Iterator[Alert]:
    app = _app(scope)
    yield Alert(
        name="ArgoCDAppStaysOutOfSync",
        expr=_info(scope, 'sync_status="OutOfSync"', 'autosync_enabled="true"') + " == 1",
        lasts=limits.out_of_sync,
        severity="warning",
        summary=f"{app} stays OutOfSync although automated sync is on",
        description=f"{app} has automated sync and has been OutOfSync for"
        f" {duration(limits.out_of_sync)}: its syncs fail, change nothing, are blocked by a sync window, or"
        " another writer changes the fields back.",
        causes=(
            "autosync_gave_up",
            "replicas_owned_by_autoscaler",
            "field_owned_by_controller",
            "mutated_by_webhook",
            "autosync_without_self_heal",
            "sync_window_closed",
            "pending_prune",
            "api_server_default",
        ),
    )
    yield Alert(
        name="ArgoCDAppWaitsForSync",
        expr=_info(scope, 'sync_status="OutOfSync"', 'autosync_enabled="false"') + " == 1",
        lasts=limits.waiting,
        severity="info",
        summary=f"{app} is OutOfSync and waits for a manual sync",
        description=f"{app} has no automated sync and has been OutOfSync for {duration(limits.waiting)}.",
        causes=("new_commit_not_synced", "manual_edit", "field_owned_by_controller"),
    )
    yield Alert(
        name="ArgoCDAppCannotBeCompared",
        expr=_info(scope, 'sync_status="Unknown"') + " == 1",
        lasts=limits.unknown,
        severity="critical",
        summary=f"Argo CD cannot compare {app}",
        description=f"The sync status of {app} has been Unknown for {duration(limits.unknown)}: its"
        " manifests cannot be generated, or its cluster does not respond. New commits are not deployed.",
        causes=(
            "repo_credentials_rejected",
            "repository_unreachable",
            "revision_not_found",
            "app_path_not_found",
            "helm_template_failed",
            "kustomize_build_failed",
            "destination_cluster_unreachable",
            "cluster_credentials_rejected",
            "project_missing",
        ),
    )
    yield Alert(
        name="ArgoCDAppDegraded",
        expr=_info(scope, 'health_status=~"Degraded|Missing"') + " == 1",
        lasts=limits.degraded,
        severity="critical",
        summary=f"{app} is not healthy",
        description=f"{app} has been Degraded or Missing for {duration(limits.degraded)}.",
        causes=(
            "container_crash_loop",
            "image_pull_failed",
            "probe_failing",
            "referenced_object_missing",
            "container_oom_killed",
            "pod_unschedulable",
            "deleted_from_cluster",
            "workload_degraded",
        ),
    )
    yield Alert(
        name="ArgoCDAppStillProgressing",
        expr=_info(scope, 'health_status="Progressing"') + " == 1",
        lasts=limits.progressing,
        severity="warning",
        summary=f"{app} does not become healthy",
        description=f"{app} has been Progressing for {duration(limits.progressing)}: a"
        " rollout, a volume or an address that it waits for is not ready.",
        causes=(
            "load_balancer_pending",
            "ingress_without_address",
            "pvc_not_bound",
            "pod_unschedulable",
            "probe_failing",
            "status_never_reported",
        ),
    )


def _loops(scope: Scope, limits: AlertLimits) -> Iterator[Alert]:
    app, span = _app(scope), duration(limits.window)
    yield Alert(
        name="ArgoCDAppHealthFlaps",
        expr=_changes(_info(scope, 'health_status="Healthy"'), scope, limits),
        severity="warning",
        summary=f"{app} alternates between healthy and unhealthy",
        description=f"The health of {app} has changed {{{{ $value }}}} times within {span}.",
        causes=("container_crash_loop", "probe_failing", "container_oom_killed", "workload_degraded"),
    )
    yield Alert(
        name="ArgoCDAppSyncFlaps",
        expr=_changes(_info(scope, 'sync_status="Synced"'), scope, limits),
        severity="warning",
        summary=f"{app} alternates between Synced and OutOfSync",
        description=f"The sync status of {app} has changed {{{{ $value }}}} times within {span}: Argo"
        " CD and another writer change the same fields.",
        causes=(
            "replicas_owned_by_autoscaler",
            "field_owned_by_controller",
            "shared_resource",
            "nondeterministic_rendering",
            "job_deleted_by_ttl",
        ),
    )
    synced = scope.matchers('phase="Succeeded"', 'dry_run!="true"')
    yield Alert(
        name="ArgoCDAppSyncedAgainAndAgain",
        expr=f"sum by ({scope.by}) (increase(argocd_app_sync_total{synced}[{span}])) > {limits.syncs}",
        severity="warning",
        summary=f"{app} is synced again and again",
        description=f"{{{{ $value | humanize }}}} syncs of {app} have succeeded within {span}: something"
        " starts a new sync after each of them.",
        causes=("sync_loop", "replicas_owned_by_autoscaler", "nondeterministic_rendering"),
    )


def _changes(condition: str, scope: Scope, limits: AlertLimits) -> str:
    """A series that is 1 while the condition holds and otherwise 0, so that its changes can be counted."""
    return f"changes(({condition} or 0 * {_info(scope)})[{duration(limits.window)}:1m]) > {limits.flaps}"


def _argocd_itself(limits: AlertLimits) -> Iterator[Alert]:
    span = duration(limits.window)
    failing = (
        "argocd_git_fetch_fail_total",
        "argocd_git_lsremote_fail_total",
        "argocd_oci_extract_fail_total",
        "argocd_oci_resolve_revision_fail_total",
    )
    yield Alert(
        name="ArgoCDRepositoryFails",
        expr="\nor\n".join(
            f"sum by (repo) (increase({metric}[{span}])) > {limits.repo_failures}" for metric in failing
        ),
        severity="warning",
        summary="Argo CD cannot read {{ $labels.repo }}",
        description=f"{{{{ $value | humanize }}}} requests to {{{{ $labels.repo }}}} have failed within"
        f" {span}.",
        causes=(
            "repo_credentials_rejected",
            "repository_unreachable",
            "certificate_or_host_key_untrusted",
            "revision_not_found",
        ),
        per_app=False,
    )
    yield Alert(
        name="ArgoCDClusterUnreachable",
        expr="max by (server) (argocd_cluster_connection_status) == 0",
        lasts=limits.unknown,
        severity="critical",
        summary="Argo CD cannot reach the cluster {{ $labels.server }}",
        description=f"Argo CD has not been able to read {{{{ $labels.server }}}} for"
        f" {duration(limits.unknown)}.",
        causes=(
            "destination_cluster_unreachable",
            "cluster_credentials_rejected",
            "openapi_schema_unavailable",
            "conversion_webhook_failed",
        ),
        per_app=False,
    )
    silent = duration(limits.silent)
    yield Alert(
        name="ArgoCDDoesNotReconcile",
        expr='count by (dest_server) (argocd_app_info{dest_server!=""})\nunless\n'
        f"sum by (dest_server) (increase(argocd_app_reconcile_count[{silent}])) > 0",
        lasts=limits.unknown,
        severity="critical",
        summary="Argo CD does not reconcile the apps on {{ $labels.dest_server }}",
        description=f"{{{{ $value }}}} apps are deployed to {{{{ $labels.dest_server }}}}, but none of"
        f" them was reconciled within {silent}. Usually each app is reconciled every 2 to 3 minutes"
        " (timeout.reconciliation in argocd-cm).",
        causes=("app_not_reconciled", "reconciliation_skipped", "argocd_cache_unavailable"),
        per_app=False,
    )
    yield Alert(
        name="ArgoCDGivesNoMetrics",
        expr="absent(argocd_app_info)",
        lasts=limits.unknown,
        severity="critical",
        summary="Argo CD's application controller exports no metrics",
        description="There is no argocd_app_info: the controller is down or is not scraped"
        " (argocd-metrics:8082), or there is no Application at all. The other alerts cannot fire meanwhile.",
        causes=("app_not_reconciled", "argocd_cache_unavailable"),
        per_app=False,
    )
