"""Argo CD's own words: projects, permissions, operations, hooks, health checks, warnings."""

from __future__ import annotations

import pytest

from tests.messages.says import Row, says
from whysync.messages.failure import ObjectName
from whysync.messages.patterns.apply import SizeLimit, TooLarge
from whysync.messages.patterns.argocd import HealthScriptError
from whysync.messages.patterns.operations import (
    AutosyncSkipped,
    AutosyncWipeRefused,
    Awaited,
    DuplicateResource,
    ExcludedResource,
    HookFailed,
    ImpersonationFailed,
    NamespaceUnset,
    OperationInProgress,
    OperationTerminated,
    OrphanedResources,
    PruneSkipped,
    ResourceVanished,
    SharedResource,
    SyncWindowBlocked,
    Waiting,
)
from whysync.messages.patterns.projects import (
    AppNamespaceNotPermitted,
    ArgocdDenied,
    ProjectDenied,
    ProjectMissing,
    ProjectRule,
)

ROWS: list[Row] = [
    ("Application referencing project shop which does not exist", ProjectMissing, {"project": "shop"}),
    (
        "application 'web' in namespace 'team-a' is not permitted to use project 'shop'",
        AppNamespaceNotPermitted,
        {"app": "web", "namespace": "team-a", "project": "shop"},
    ),
    (
        "rpc error: code = FailedPrecondition desc = error creating application: the namespace of the "
        "provided object does not match the namespace sent on the request",
        AppNamespaceNotPermitted,
        {"namespace": ""},
    ),
    (
        "application 'web' in namespace 'team-a' is not allowed to use project shop",
        AppNamespaceNotPermitted,
        {"app": "web", "namespace": "team-a", "project": "shop"},
    ),
    (
        "one or more synchronization tasks are not valid: resource "
        "rbac.authorization.k8s.io:ClusterRole is not permitted in "
        "project shop",
        ProjectDenied,
        {
            "what": ProjectRule.KIND,
            "group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "project": "shop",
        },
    ),
    (
        "namespace kube-system is not permitted in project 'shop'",
        ProjectDenied,
        {"what": ProjectRule.NAMESPACE, "namespace": "kube-system", "project": "shop"},
    ),
    (
        "application repo https://github.com/acme/shop is not permitted in project 'shop'",
        ProjectDenied,
        {"what": ProjectRule.SOURCE, "value": "https://github.com/acme/shop", "project": "shop"},
    ),
    (
        "application destination server 'https://kubernetes.default.svc' and namespace 'x' do not "
        "match any of the allowed "
        "destinations in project 'shop'",
        ProjectDenied,
        {
            "what": ProjectRule.DESTINATION,
            "server": "https://kubernetes.default.svc",
            "namespace": "x",
            "project": "shop",
        },
    ),
    (
        "rpc error: code = PermissionDenied desc = helm repos https://charts.example.com are not "
        "permitted in project 'shop'",
        ProjectDenied,
        {"what": ProjectRule.HELM_REPO, "value": "https://charts.example.com"},
    ),
    (
        "rpc error: code = PermissionDenied desc = permission denied: applications, sync, shop/web, "
        "sub: alice, "
        "iat: 2024-01-01T00:00:00Z",
        ArgocdDenied,
        {"resource": "applications", "action": "sync", "object": "shop/web", "subject": "alice"},
    ),
    (
        "waiting for healthy state of apps/Deployment/web and 2 more resources",
        Waiting,
        {"what": Awaited.HEALTH, "group": "apps", "kind": "Deployment", "name": "web", "more": 2},
    ),
    (
        "waiting for completion of hook batch/Job/migrate and 1 more hooks",
        Waiting,
        {"what": Awaited.HOOK, "group": "batch", "name": "migrate", "more": 1},
    ),
    ("waiting for deletion of hook batch/Job/migrate", Waiting, {"what": Awaited.DELETION, "kind": "Job"}),
    (
        "waiting for pruning confirmation of /Namespace/shop",
        Waiting,
        {"what": Awaited.PRUNE_CONFIRMATION, "group": "", "kind": "Namespace", "name": "shop"},
    ),
    ("Sync operation blocked by sync window", SyncWindowBlocked, {"invalid": ""}),
    (
        "Sync operation blocked by sync window: invalid sync windows: cannot parse schedule 'x': "
        "expected exactly 5 fields",
        SyncWindowBlocked,
        {"invalid": "invalid sync windows: cannot parse schedule 'x': expected exactly 5 fields"},
    ),
    (
        "Skipping sync attempt to [4b825dc]: auto-sync will wipe out all resources",
        AutosyncWipeRefused,
        {"revision": "4b825dc"},
    ),
    (
        "Skipping auto-sync: most recent sync already to [4b825dc642cb]",
        AutosyncSkipped,
        {"already_tried": True, "revision": "4b825dc642cb"},
    ),
    ("Operation terminated", OperationTerminated, {"by_timeout": False}),
    (
        "Operation terminated, triggered by controller sync timeout",
        OperationTerminated,
        {"by_timeout": True},
    ),
    (
        "operation is terminating due to timeout",
        OperationTerminated,
        {"by_timeout": True},
    ),
    (
        "rpc error: code = FailedPrecondition desc = another operation is already in progress",
        OperationInProgress,
        {},
    ),
    (
        "no matching service account found for destination server https://a and namespace b",
        ImpersonationFailed,
        {"server": "https://a", "namespace": "b"},
    ),
    ("ignored (requires pruning)", PruneSkipped, {}),
    ("ignored (no prune)", PruneSkipped, {}),
    ("PostDelete hook(s) failed: shop/cleanup", HookFailed, {"phase": "PostDelete", "hook": "shop/cleanup"}),
    (
        "Resource batch/Job/migrate is missing, it might have been deleted",
        ResourceVanished,
        {"resource": ObjectName(group="batch", kind="Job", name="migrate")},
    ),
    (
        "Resource apps/Deployment/shop/web appeared 2 times among application resources.",
        DuplicateResource,
        {"resource": ObjectName(group="apps", kind="Deployment", namespace="shop", name="web"), "times": 2},
    ),
    (
        "Deployment/web is part of applications argocd/a and team/b",
        SharedResource,
        {
            "resource": ObjectName(kind="Deployment", name="web"),
            "apps": ("argocd/a", "team/b"),
            "refused": False,
        },
    ),
    (
        "Shared resource found: Deployment/web is part of applications argocd/a and b",
        SharedResource,
        {"refused": True},
    ),
    (
        "Resource cilium.io/CiliumIdentity 42 is excluded in the settings",
        ExcludedResource,
        {"resource": ObjectName(group="cilium.io", kind="CiliumIdentity", name="42")},
    ),
    (
        "ExcludedResourceWarning: Resource cilium.io/CiliumIdentity 42 is exc",
        ExcludedResource,
        {"resource": ObjectName(group="cilium.io", kind="CiliumIdentity", name="42")},
    ),
    ("Application has 7 orphaned resources", OrphanedResources, {"count": 7}),
    (
        "Namespace for web apps/v1, Kind=Deployment is missing.",
        NamespaceUnset,
        {"resource": ObjectName(kind="Deployment", name="web")},
    ),
    (
        'error setting app health: failed to get resource health for "Kafka" with name "k" in '
        'namespace "n": <string>:7: '
        "attempt to index a non-table object(nil) with key 'conditions' stack traceback: <string>:7: "
        "in main chunk",
        HealthScriptError,
        {
            "kind": "Kafka",
            "name": "k",
            "namespace": "n",
            "line": 7,
            "detail": "attempt to index a non-table object(nil) with key 'conditions'",
        },
    ),
    ("Lua returned an invalid health status", HealthScriptError, {"line": None}),
    (
        "Application status exceeds the Kubernetes resource size limit and could not be persisted",
        TooLarge,
        {"limit_of": SizeLimit.STATUS},
    ),
]


@pytest.mark.parametrize(("text", "kind", "parts"), ROWS)
def test_words_of_argocd(text: str, kind: type, parts: dict[str, object]) -> None:
    says(text, kind, **parts)
