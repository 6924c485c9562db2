"""Texts of the application controller's cluster cache."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

LIVE_STATE = "Failed to load live state: "
CLUSTER_CACHE = LIVE_STATE + (
    'failed to get cluster info for "https://10.4.0.1:6443": error synchronizing cache state : '
)

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.CONDITION,
        "ComparisonError",
        CLUSTER_CACHE,
        (
            (
                "cluster-unreachable",
                "failed to get server version: failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": dial tcp 10.4.0.1:6443: i/o '
                "timeout",
            ),
            (
                "cluster-auth",
                "failed to get server version: failed to get server version: the server "
                "has asked for the client to provide credentials",
            ),
            (
                "cluster-auth",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Secret: Unauthorized",
            ),
            (
                "tls-trust cluster-auth",
                "failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": tls: failed to verify '
                "certificate: x509: certificate signed by unknown authority",
            ),
            (
                "k8s-rbac",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Secret: secrets is forbidden: User "
                '"system:serviceaccount:argocd:argocd-manager" cannot list resource '
                '"secrets" in API group "" at the cluster scope',
            ),
            (
                "cluster-unreachable",
                'failed to get server version: Get "https://10.4.0.1:6443/version?timeout=32s": EOF',
            ),
            (
                "cluster-auth",
                "failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": getting credentials: exec: '
                "executable argocd-k8s-auth failed with exit code 20",
            ),
            (
                "cluster-auth",
                "failed to get server version: Get "
                '"https://10.4.0.1:6443/version?timeout=32s": getting credentials: exec: '
                "executable aws not found",
            ),
            (
                "cluster-unreachable openapi-error",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Widget.example.com: the server was unable to return a "
                "response in the time allotted, but may still be processing the request",
            ),
            (
                "conversion-webhook-failed",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Widget.example.com: conversion webhook for "
                "example.com/v1alpha1, Kind=Widget failed: Post "
                '"https://widget.example.svc:443/convert?timeout=30s": no endpoints '
                'available for service "widget"',
            ),
            (
                "openapi-error",
                "failed to load open api schema while syncing cluster cache: error getting "
                "openapi resources: the server is currently unable to handle the request",
            ),
            (
                "cluster-unreachable",
                "failed to sync cluster https://10.4.0.1:6443: failed to load initial "
                "state of resource Pod: etcdserver: leader changed",
            ),
            (
                "cluster-unreachable",
                'failed to get server version: an error on the server ("<html>503 Service '
                'Unavailable</html>") has prevented the request from succeeding',
            ),
            (
                "cluster-unreachable",
                "failed to get api resources: failed to discover server resources, zero "
                'resources returned: Get "https://10.4.0.1:6443/api?timeout=32s": context '
                "deadline exceeded",
            ),
        ),
    ),
    Group(
        Origin.CONDITION,
        "ComparisonError",
        LIVE_STATE,
        (
            ("namespace-not-managed", 'namespace "web" for Deployment "web" is not managed'),
            (
                "cluster-unreachable",
                'failed to get cluster info for "https://10.4.0.1:6443": error getting '
                'cluster: failed to get cluster "https://10.4.0.1:6443": Get '
                '"https://10.96.0.1:443/api/v1/secrets": dial tcp 10.96.0.1:443: connect: '
                "connection refused",
            ),
        ),
    ),
)
