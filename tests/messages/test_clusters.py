"""Destination clusters, and diffs that cannot be computed."""

from __future__ import annotations

import pytest

from tests.messages.says import Row, says
from whysync.messages.failure import Network
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import AdmissionDenied, ConversionWebhookFailed, WebhookDown
from whysync.messages.patterns.apply import ImmutableField, SizeLimit, TooLarge
from whysync.messages.patterns.cluster import (
    ApiServerFailing,
    ClusterNotRegistered,
    ClusterUnreachable,
    NamespaceNotManaged,
)
from whysync.messages.patterns.diffs import (
    DiffProblem,
    DiffSchemaError,
    DiffSide,
    IgnoreRuleInvalid,
    OpenApiError,
)
from whysync.messages.patterns.rbac import ClusterAuth, Forbidden
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem

LIVE = (
    'Failed to load live state: failed to get cluster info for "https://10.0.0.1:6443": '
    "error synchronizing cache state : "
)
COMPARE = "Failed to compare desired state to live state: failed to calculate diff: "
DRY_RUN = COMPARE + (
    "error calculating server side diff: serverSideDiff error: "
    "error running server side apply in dryrun mode for resource "
)

ROWS: list[Row] = [
    (
        LIVE
        + 'failed to get server version: failed to get server version: Get "https://10.0.0.1:6443/version'
        '?timeout=32s": dial tcp 10.0.0.1:6443: connect: connection refused',
        ClusterUnreachable,
        {"server": "https://10.0.0.1:6443", "reason": Network.REFUSED},
    ),
    (
        LIVE + "failed to sync cluster https://10.0.0.1:6443: failed to load initial state of resource "
        "PodMetrics.metrics.k8s.io: the server is currently unable to handle the request",
        ClusterUnreachable,
        {"reason": Network.UNAVAILABLE, "loading": "PodMetrics.metrics.k8s.io"},
    ),
    (
        LIVE + "failed to sync cluster https://10.0.0.1:6443: failed to load initial state of resource "
        "Deployment.apps: the server is currently unable to handle the request",
        ApiServerFailing,
        {"reason": Network.UNAVAILABLE, "loading": "Deployment.apps"},
    ),
    (
        "one or more objects failed to apply, reason: the server is currently unable to handle the request"
        " (get pods.metrics.k8s.io)",
        OpenApiError,
        {"group_version": "metrics.k8s.io"},
    ),
    (
        "one or more objects failed to apply, reason: etcdserver: leader changed (retried 5 times).",
        ApiServerFailing,
        {"detail": "etcdserver: leader changed"},
    ),
    (
        "one or more objects failed to apply, reason: Timeout: request did not complete within requested "
        "timeout - context deadline exceeded",
        ApiServerFailing,
        {"reason": Network.TIMEOUT},
    ),
    (
        "failed to sync cluster https://10.0.0.1:6443: failed to load initial state of resource "
        'Widget.example.com: Get "https://10.0.0.1:6443/apis/example.com/v1/widgets?limit=500": '
        "stream error: stream ID 7; INTERNAL_ERROR; received from peer",
        ClusterUnreachable,
        {"reason": Network.RESET, "loading": "Widget.example.com"},
    ),
    (
        LIVE + "the server has asked for the client to provide credentials",
        ClusterAuth,
        {"server": "https://10.0.0.1:6443"},
    ),
    ("Unauthorized", ClusterAuth, {}),
    (
        'Get "https://x.gr7.eu-west-1.eks.amazonaws.com/version?timeout=32s": getting credentials: '
        "exec: executable "
        "argocd-k8s-auth failed with exit code 20",
        ClusterAuth,
        {"server": "https://x.gr7.eu-west-1.eks.amazonaws.com"},
    ),
    (
        'InvalidSpecError: error getting cluster by server "https://1.2.3.4": rpc error: code = '
        "NotFound desc = "
        'cluster "https://1.2.3.4" not found',
        ClusterNotRegistered,
        {"server": "https://1.2.3.4", "name": ""},
    ),
    ("there are no clusters with this name: prod-eu", ClusterNotRegistered, {"name": "prod-eu"}),
    (
        "unable to find destination server: there are 2 clusters with the same name: [https://a https://b]",
        ClusterNotRegistered,
        {"ambiguous": True},
    ),
    (
        'Failed to load live state: Namespace "test" for Service "archery" is not managed',
        NamespaceNotManaged,
        {"namespace": "test", "kind": "Service", "name": "archery"},
    ),
    (
        'Failed to load live state: Cluster level ClusterRole "reader" can not be managed when in '
        "namespaced mode",
        NamespaceNotManaged,
        {"namespace": "", "kind": "ClusterRole", "name": "reader"},
    ),
    (
        LIVE + "failed to sync cluster https://10.0.0.1:6443: failed to load initial state of resource "
        "Issuer.cert-manager.io: conversion webhook for cert-manager.io/v1alpha2, Kind=Issuer failed: Post "
        '"https://cert-manager-webhook.cert-manager.svc:443/convert?timeout=30s": no endpoints '
        "available for service "
        '"cert-manager-webhook"',
        ConversionWebhookFailed,
        {
            "group": "cert-manager.io",
            "version": "v1alpha2",
            "kind": "Issuer",
            "service": "cert-manager-webhook",
            "namespace": "cert-manager",
            "reason": Network.NO_ENDPOINTS,
        },
    ),
    (
        LIVE + "failed to sync cluster https://10.0.0.1:6443: failed to load initial state of resource "
        "Secret: secrets is "
        'forbidden: User "system:serviceaccount:argocd:controller" cannot list resource "secrets" in '
        'API group "" at '
        "the cluster scope",
        Forbidden,
        {"verb": "list", "resource": "secrets", "cluster_scope": True},
    ),
    (
        "unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale "
        "GroupVersion discovery",
        OpenApiError,
        {"group_version": "metrics.k8s.io/v1beta1"},
    ),
    (
        COMPARE
        + "error calculating structured merge diff: error building typed value from live resource: errors:\n"
        '  .spec.template.spec.containers[name="app"].ports: duplicate entries for key '
        '[containerPort=80,protocol="TCP"]',
        DiffSchemaError,
        {
            "side": DiffSide.LIVE,
            "problem": DiffProblem.DUPLICATE_KEY,
            "fields": ('.spec.template.spec.containers[name="app"].ports',),
            "pointers": (),
        },
    ),
    (
        COMPARE + "error calculating structured merge diff: error building typed value from config resource: "
        ".spec.replicas: expected numeric (int or float), got string",
        DiffSchemaError,
        {"side": DiffSide.CONFIG, "problem": DiffProblem.TYPE, "pointers": ("/spec/replicas",)},
    ),
    (
        COMPARE
        + "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.foo: field "
        "not declared in schema",
        DiffSchemaError,
        {"side": DiffSide.CONFIG, "problem": DiffProblem.UNDECLARED, "pointers": ("/spec/foo",)},
    ),
    (
        "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.foo: field "
        "not declared in schema",  # the API server refuses to apply it
        SchemaInvalid,
        {"problem": SchemaProblem.UNKNOWN_FIELD, "pointer": "/spec/foo"},
    ),
    (
        COMPARE
        + "error calculating structured merge diff: unable to resolve parseableType for GroupVersionKind: "
        "example.com/v1, Kind=Widget",
        DiffSchemaError,
        {"problem": DiffProblem.NO_SCHEMA},
    ),
    (
        "Failed to compare desired state to live state: failed to create diff normalizer: failed to parse jq "
        'path expression: unexpected token "]"',
        IgnoreRuleInvalid,
        {},
    ),
    (
        "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
        "(209715310 vs. 104857600)",
        TooLarge,
        {"limit_of": SizeLimit.GRPC, "size": 209715310, "limit": 104857600},
    ),
    ("etcdserver: request is too large", TooLarge, {"limit_of": SizeLimit.ETCD}),
    (
        "Request entity too large: limit is 3145728",
        TooLarge,
        {"limit_of": SizeLimit.REQUEST, "limit": 3145728},
    ),
    (
        'Failed to load live state: failed to get cluster info for "https://10.0.0.1": error synchronizing '
        "cache state : error getting openapi data: the server is currently unable to handle the request",
        OpenApiError,
        {},
    ),
    (
        'failed to get version info from the target cluster "https://10.0.0.1"',
        ClusterUnreachable,
        {"server": "https://10.0.0.1"},
    ),
]


@pytest.mark.parametrize(("text", "kind", "parts"), ROWS)
def test_cluster_failures(text: str, kind: type, parts: dict[str, object]) -> None:
    says(text, kind, **parts)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (
            'Deployment/web: Deployment.apps "web" is invalid: spec.selector: Invalid value: '
            'v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}}: field is immutable',
            ImmutableField,
        ),
        (
            "Ingress/web: Internal error occurred: failed calling webhook "
            '"validate.nginx.ingress.kubernetes.io": failed '
            'to call webhook: Post "https://nginx-admission.ingress.svc:443/networking?timeout=10s": '
            "dial tcp "
            "10.0.0.9:443: connect: connection refused",
            WebhookDown,
        ),
        ('Pod/web: admission webhook "policy.example.com" denied the request: no', AdmissionDenied),
    ],
)
def test_what_hides_in_a_server_side_diff_is_found(answer: str, kind: type) -> None:
    message = understand(DRY_RUN + answer)
    (failure,) = message.failures
    assert isinstance(failure, DiffSchemaError)
    assert failure.problem is DiffProblem.REJECTED
    assert failure.resource.name == "web"
    assert isinstance(failure.inner, kind)
    assert message.first(kind) is failure.inner


def test_a_registry_that_rejects_a_login_is_no_cluster() -> None:
    text = 'Could not get tags from registry: Get "https://ghcr.io/v2/team/shop/tags/list": unauthorized'
    assert not any(isinstance(failure, ClusterAuth) for failure in understand(text).failures)
    assert isinstance(understand("failed to get server version: Unauthorized").failures[0], ClusterAuth)


def test_a_refusal_without_the_beginning_of_its_sentence() -> None:
    text = 'cannot list resource "prometheusrules" in API group "monitoring.coreos.com" in the namespace "a"'
    (failure,) = understand(text).failures
    assert isinstance(failure, Forbidden)
    assert (failure.verb, failure.resource, failure.namespace) == ("list", "prometheusrules", "a")
