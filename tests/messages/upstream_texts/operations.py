"""Texts of sync operations."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

APPLY = "one or more objects failed to apply, reason: "

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.OPERATION,
        "Failed",
        APPLY,
        (
            ("namespace-missing", 'error when creating "/dev/shm/1": namespaces "shop" not found'),
            (
                "k8s-rbac",
                'error when creating "/dev/shm/1": deployments.apps is forbidden: User '
                '"system:serviceaccount:argocd:argocd-manager" cannot create resource '
                '"deployments" in API group "apps" in the namespace "web"',
            ),
            (
                "cluster-unreachable",
                'error when patching "/dev/shm/1": Patch '
                '"https://10.4.0.1:6443/apis/apps/v1/namespaces/web/deployments/web": dial '
                "tcp 10.4.0.1:6443: connect: connection refused",
            ),
            (
                "cluster-auth",
                'error validating "/dev/shm/1": error validating data: failed to download '
                "openapi: the server has asked for the client to provide credentials",
            ),
            ("missing-crd deprecated-api", "the server could not find the requested resource"),
            (
                "admission-denied",
                'admission webhook "check.example.com" denied the request: permission '
                "denied: image not signed",
            ),
            (
                "admission-denied",
                'admission webhook "check.example.com" denied the request: secret "db" not found',
            ),
            (
                "admission-denied",
                'admission webhook "validate.example.com" denied the request: x509: '
                "certificate in spec.tls is expired",
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "check.example.com": '
                "failed to call webhook: Post "
                '"https://check.kyverno.svc:443/v?timeout=10s": context deadline exceeded',
            ),
            (
                "webhook-down",
                'Internal error occurred: failed calling webhook "check.example.com": '
                "failed to call webhook: Post "
                '"https://check.kyverno.svc:443/v?timeout=10s": tls: failed to verify '
                "certificate: x509: certificate signed by unknown authority",
            ),
            (
                "argocd-disk-full repo-server-down",
                "failed to generate temp file for manifest: open /dev/shm/123: no space left on device",
            ),
            (
                "k8s-rbac",
                "error running rbacReconcile: error getting namespace web: namespaces "
                '"web" is forbidden: User "system:serviceaccount:argocd:argocd-manager" '
                'cannot get resource "namespaces" in API group "" in the namespace "web"',
            ),
            (
                "ssa-conflict",
                'Apply failed with 1 conflict: conflict with "kube-controller-manager" '
                "using apps/v1: .spec.replicas",
            ),
            ("cluster-unreachable", "etcdserver: request timed out"),
        ),
    ),
    Group(
        Origin.OPERATION,
        "Failed",
        "",
        (
            (
                "cluster-unreachable openapi-error",
                "failed to discover server resources for group version example.com/v1: Get "
                '"https://10.4.0.1:6443/apis/example.com/v1": dial tcp 10.4.0.1:6443: i/o '
                "timeout",
            ),
            (
                "settings-malformed",
                "Failed to load resource overrides: error unmarshaling JSON: json: cannot "
                "unmarshal array into Go value of type map[string]string",
            ),
            (
                "openapi-error",
                "failed to load openAPISchema: error getting openapi resources: the server "
                "is currently unable to handle the request",
            ),
            (
                "project-denied",
                "failed to derive service account to impersonate: no matching service "
                "account found for destination server https://10.4.0.1:6443 and namespace "
                "web",
            ),
            (
                "project-missing",
                'Failed to load application project: appprojects.argoproj.io "shop" not found',
            ),
            (
                "cluster-not-registered",
                'Failed to get destination cluster: error getting cluster by name "prod": '
                "there are no clusters with this name: prod",
            ),
            (
                "k8s-rbac hook-failed",
                "one or more synchronization tasks completed unsuccessfully, reason: "
                'failed to remove hook finalizer: jobs.batch "migrate" is forbidden: User '
                '"system:serviceaccount:argocd:argocd-manager" cannot update resource '
                '"jobs" in API group "batch" in the namespace "web"',
            ),
            (
                "hook-failed hook-stuck none",
                "one or more synchronization tasks completed unsuccessfully, reason: "
                "failed to delete resource: some hook trouble",
            ),
            (
                "argocd-rbac",
                "permission denied: applications, sync, default/web, sub: dev, iat: 2026-01-01T00:00:00Z",
            ),
            (
                "repo-auth",
                "ComparisonError: Failed to load target state: failed to generate manifest "
                "for source 1 of 1: rpc error: code = Unknown desc = failed to list refs: "
                "authentication required",
            ),
            (
                "project-denied",
                "resource rbac.authorization.k8s.io:ClusterRole is not permitted in project default",
            ),
            ("hook-failed hook-stuck none", "operation is terminating"),
            (
                "missing-crd",
                "the server could not find the requested resource: no matches for kind "
                '"Widget" in version "example.com/v1"',
            ),
        ),
    ),
    Group(
        Origin.OPERATION,
        "",
        APPLY,
        (
            (
                "finalizer-stuck",
                'error when replacing "/dev/shm/1": object is being deleted: '
                'customresourcedefinitions.apiextensions.k8s.io "widgets.example.com" already '
                "exists",
            ),
        ),
    ),
)
