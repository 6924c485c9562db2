"""What the API server answers to an apply."""

from __future__ import annotations

import pytest

from tests.messages.says import Row, says
from whysync.kubernetes.api.stateful_sets import MUTABLE_FIELDS
from whysync.messages.failure import Network, ObjectName
from whysync.messages.parse import understand
from whysync.messages.patterns.admission import AdmissionDenied, PolicyEngine, WebhookDown
from whysync.messages.patterns.apply import (
    AlreadyExists,
    AnnotationTooLong,
    ConflictModified,
    FinalizerStuck,
    ImmutableField,
    KindNotServed,
    LimitRange,
    NamespaceMissing,
    NamespaceTerminating,
    ObjectMissing,
    QuotaExceeded,
    SsaConflict,
)
from whysync.messages.patterns.pods import DependencyMissing
from whysync.messages.patterns.rbac import Forbidden
from whysync.messages.patterns.schema import SchemaInvalid, SchemaProblem, SecretEncoding

FAILED = "one or more objects failed to apply, reason: "
WEB = ObjectName(kind="Deployment", group="apps", name="web")

IMMUTABLE: list[Row] = [
    (
        FAILED
        + 'Deployment.apps "web" is invalid: spec.selector: Invalid value: v1.LabelSelector{MatchLabels:'
        'map[string]string{"app":"web"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field '
        "is immutable",
        ImmutableField,
        {"resource": WEB, "field": "spec.selector", "pointer": "/spec/selector"},
    ),
    (
        'StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields '
        "other than "
        "'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ImmutableField,
        {
            "resource": ObjectName(kind="StatefulSet", group="apps", name="db"),
            "pointer": "/spec",
            "allowed": (
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ),
        },
    ),
    (
        "one or more objects failed to apply, reason: from cleanup-: cannot use generate name with apply",
        SchemaInvalid,
        {"field": "metadata.generateName", "pointer": "/metadata/generateName"},
    ),
    (
        'error when replacing "/dev/shm/1": Service "web" is invalid: spec.clusterIPs[0]: Invalid '
        "value: []string(nil): "
        "primary clusterIP can not be unset",
        SchemaInvalid,
        {"pointer": "/spec/clusterIPs/0", "problem": SchemaProblem.INVALID},
    ),
    (
        'Service "web" is invalid: spec.clusterIP: Invalid value: "None": field is immutable',
        ImmutableField,
        {"pointer": "/spec/clusterIP", "new": "None"},
    ),
    (
        'Service "web" is invalid: spec.clusterIPs[0]: Invalid value: []string{"10.0.0.7"}: may not '
        "change once set",
        ImmutableField,
        {"pointer": "/spec/clusterIPs/0"},
    ),
    (
        'RoleBinding.rbac.authorization.k8s.io "ci" is invalid: roleRef: Invalid value: '
        "rbac.RoleRef{APIGroup:"
        '"rbac.authorization.k8s.io", Kind:"ClusterRole", Name:"edit"}: cannot change roleRef',
        ImmutableField,
        {"pointer": "/roleRef"},
    ),
    (
        'StorageClass.storage.k8s.io "fast" is invalid: parameters: Forbidden: updates to parameters '
        "are forbidden.",
        ImmutableField,
        {"pointer": "/parameters"},
    ),
    (
        'persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized '
        "and the storageclass "
        "that provisions the pvc must support resize",
        ImmutableField,
        {"pointer": "/spec/resources/requests/storage"},
    ),
    (
        'PersistentVolumeClaim "data" is invalid: spec.resources.requests.storage: Forbidden: field '
        "can not be less than "
        "previous value",
        ImmutableField,
        {"pointer": "/spec/resources/requests/storage"},
    ),
    (
        "Forbidden: updates to statefulset spec for fields other than 'replicas' ... are forbidden",
        ImmutableField,
        {"resource": ObjectName(kind="StatefulSet", group="apps"), "allowed": MUTABLE_FIELDS},
    ),
    (
        'ConfigMap "settings" is invalid: data: Forbidden: field is immutable when `immutable` is set',
        ImmutableField,
        {"pointer": "/data"},
    ),
    (
        'Widget.example.com "w" is invalid: spec.region: Invalid value: "string": Value is immutable',
        ImmutableField,
        {"pointer": "/spec/region", "new": "string"},
    ),
    (
        'Pod "p" is invalid: spec: Forbidden: pod updates may not change fields other than '
        "`spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`",
        ImmutableField,
        {
            "allowed": (
                "spec.containers[*].image",
                "spec.initContainers[*].image",
                "spec.activeDeadlineSeconds",
            )
        },
    ),
]

KINDS: list[Row] = [
    (
        'error: unable to decode "/dev/shm/1": no kind "PodSecurityPolicy" is registered for version '
        '"policy/v1beta1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        KindNotServed,
        {"kind": "PodSecurityPolicy", "group": "policy", "version": "v1beta1"},
    ),
    (
        'error: unable to recognize "/dev/shm/1": no matches for kind "Ingress" in version '
        '"extensions/v1beta1"',
        KindNotServed,
        {"kind": "Ingress", "group": "extensions", "version": "v1beta1"},
    ),
    (
        'resource mapping not found for name: "w" namespace: "" from "/dev/shm/1": no matches for '
        'kind "Widget" in version '
        '"example.com/v1"\nensure CRDs are installed first',
        KindNotServed,
        {"kind": "Widget", "group": "example.com", "version": "v1"},
    ),
    (
        "The Kubernetes API could not find monitoring.coreos.com/ServiceMonitor for requested "
        "resource shop/web. Make sure "
        'the "ServiceMonitor" CRD is installed on the destination cluster.',
        KindNotServed,
        {"kind": "ServiceMonitor", "group": "monitoring.coreos.com", "version": "", "other_version": ""},
    ),
    (
        'The Kubernetes API could not find version "v1beta1" of policy/PodDisruptionBudget for '
        "requested resource shop/web. "
        'Version "v1" of policy/PodDisruptionBudget is installed on the destination cluster.',
        KindNotServed,
        {"kind": "PodDisruptionBudget", "version": "v1beta1", "other_version": "v1", "other_group": "policy"},
    ),
    ("the server could not find the requested resource", KindNotServed, {"kind": ""}),
    (
        "failed to get API resource info for example.org/Cart: unable to verify permissions",
        KindNotServed,
        {"kind": "Cart", "group": "example.org"},
    ),
]

RBAC: list[Row] = [
    (
        FAILED + 'deployments.apps "web" is forbidden: User "system:serviceaccount:argocd:controller" '
        "cannot patch resource "
        '"deployments" in API group "apps" in the namespace "shop"',
        Forbidden,
        {
            "user": "system:serviceaccount:argocd:controller",
            "verb": "patch",
            "resource": "deployments",
            "group": "apps",
            "namespace": "shop",
            "cluster_scope": False,
            "name": "web",
        },
    ),
    (
        'namespaces is forbidden: User "u" cannot create resource "namespaces" in API group "" at '
        "the cluster scope",
        Forbidden,
        {"verb": "create", "resource": "namespaces", "cluster_scope": True, "namespace": ""},
    ),
    (
        'error running kubectl auth reconcile: clusterroles.rbac.authorization.k8s.io "r" is forbidden: user '
        '"system:serviceaccount:a:b" (groups=["system:serviceaccounts" "system:authenticated"]) is '
        "attempting to grant RBAC "
        'permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
        Forbidden,
        {"escalation": True, "user": "system:serviceaccount:a:b", "resource": "clusterroles", "name": "r"},
    ),
]

PLACES: list[Row] = [
    (FAILED + 'namespaces "shop" not found', NamespaceMissing, {"namespace": "shop"}),
    (
        'configmaps "c" is forbidden: unable to create new content in namespace shop because it is '
        "being terminated",
        NamespaceTerminating,
        {"namespace": "shop"},
    ),
    (
        'pods "web-1" is forbidden: exceeded quota: compute, requested: requests.cpu=2, used: '
        "requests.cpu=7, limited: "
        "requests.cpu=8",
        QuotaExceeded,
        {
            "quota": "compute",
            "requested": "requests.cpu=2",
            "used": "requests.cpu=7",
            "limited": "requests.cpu=8",
            "resource": ObjectName(resource="pods", name="web-1"),
        },
    ),
    (
        'pods "web-1" is forbidden: [maximum memory usage per Container is 1Gi, but limit is 2Gi]',
        LimitRange,
        {
            "bound": "maximum",
            "amount": "memory",
            "per": "Container",
            "limit": "1Gi",
            "got": "2Gi",
            "side": "limit",
        },
    ),
    (
        'pods "web-1" is forbidden: minimum cpu usage per Container is 100m.  No request is specified',
        LimitRange,
        {
            "bound": "minimum",
            "amount": "cpu",
            "per": "Container",
            "limit": "100m",
            "got": "",
            "side": "request",
        },
    ),
    ('deployments.apps "web" already exists', AlreadyExists, {"being_deleted": False}),
    (
        'object is being deleted: jobs.batch "migrate" already exists',
        AlreadyExists,
        {"being_deleted": True, "resource": ObjectName(resource="jobs", group="batch", name="migrate")},
    ),
    (
        'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; '
        "please apply your changes to "
        "the latest version and try again",
        ConflictModified,
        {"resource": ObjectName(resource="deployments", group="apps", name="web")},
    ),
    (
        'Apply failed with 2 conflicts: conflicts with "kubectl" using apps/v1:\n- '
        '.spec.replicas\nconflicts with "hpa":\n'
        '- .spec.template.spec.containers[name="a"].image',
        SsaConflict,
        {
            "managers": ("kubectl", "hpa"),
            "fields": (".spec.replicas", '.spec.template.spec.containers[name="a"].image'),
        },
    ),
    ('services "web" not found', DependencyMissing, {"kind": "Service", "name": "web"}),
    ('statefulsets.apps "db" not found', ObjectMissing, {}),
]

SCHEMA: list[Row] = [
    (
        "one or more objects failed to apply, reason: the namespace of the provided object does not match the"
        " namespace sent on the request",
        SchemaInvalid,
        {"pointer": "/metadata/namespace", "problem": SchemaProblem.INVALID},
    ),
    (
        'error validating data: ValidationError(Deployment.spec.template): unknown field "replica" in '
        "io.k8s.api.core.v1.PodTemplateSpec",
        SchemaInvalid,
        {"pointer": "/spec/template/replica", "problem": SchemaProblem.UNKNOWN_FIELD},
    ),
    (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field '
        '"spec.template.spec.containers[0].imagePull"',
        SchemaInvalid,
        {
            "pointer": "/spec/template/spec/containers/0/imagePull",
            "problem": SchemaProblem.UNKNOWN_FIELD,
            "resource": ObjectName(kind="Deployment"),
        },
    ),
    (
        'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string '
        "into Go struct field "
        "DeploymentSpec.spec.replicas of type int32",
        SchemaInvalid,
        {"field": "spec.replicas", "problem": SchemaProblem.TYPE, "pointer": ""},
    ),
    (
        'Ingress.networking.k8s.io "web" is invalid: spec.rules[0].http.paths[0].pathType: Required '
        "value: pathType must be "
        "specified",
        SchemaInvalid,
        {"pointer": "/spec/rules/0/http/paths/0/pathType", "problem": SchemaProblem.REQUIRED},
    ),
    (
        'Service "web" is invalid: spec.type: Unsupported value: "Cluster": supported values: '
        '"ClusterIP", "NodePort"',
        SchemaInvalid,
        {"pointer": "/spec/type", "problem": SchemaProblem.UNSUPPORTED, "value": "Cluster"},
    ),
    (
        'CustomResourceDefinition.apiextensions.k8s.io "x" is invalid: metadata.annotations: Too '
        "long: may not be more than "
        "262144 bytes",
        AnnotationTooLong,
        {"limit": 262144},
    ),
    (
        'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4',
        SecretEncoding,
        {"resource": ObjectName(kind="Secret")},
    ),
    (
        'Application.argoproj.io "a" is invalid: metadata.finalizers: Forbidden: no new finalizers '
        "can be added if the object "
        'is being deleted, found new finalizers []string{"x/y"}',
        FinalizerStuck,
        {"finalizer": "x/y"},
    ),
    (
        "error validating options: --force cannot be used with --server-side",
        SchemaInvalid,
        {"problem": SchemaProblem.OPTIONS},
    ),
]

ADMISSION: list[Row] = [
    (
        'admission webhook "validate.kyverno.svc-fail" denied the request: policy '
        "Deployment/shop/web for resource violation: "
        "no-latest: image-tag: 'validation error: a tag is required'",
        AdmissionDenied,
        {
            "policy": "no-latest",
            "rule": "image-tag",
            "resource": ObjectName(kind="Deployment", namespace="shop", name="web"),
        },
    ),
    (
        FAILED + 'admission webhook "validate.kyverno.svc-fail" denied the request: \n\nresource '
        "Deployment/shop/web was blocked "
        "due to the following policies \n\nrequire-limits:\n  check-limits: 'validation error: "
        "limits are required. rule "
        "check-limits failed at path /spec/template/spec/containers/0/resources/limits/'\n",
        AdmissionDenied,
        {
            "engine": PolicyEngine.KYVERNO,
            "policy": "require-limits",
            "rule": "check-limits",
            "pointer": "/spec/template/spec/containers/0/resources/limits",
            "resource": ObjectName(kind="Deployment", namespace="shop", name="web"),
        },
    ),
    (
        'admission webhook "validation.gatekeeper.sh" denied the request: [must-have-owner] you must '
        'provide labels: {"owner"}',
        AdmissionDenied,
        {
            "engine": PolicyEngine.GATEKEEPER,
            "policy": "must-have-owner",
            "reason": 'you must provide labels: {"owner"}',
        },
    ),
    (
        "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'replicas' with binding "
        "'replicas-all' denied request: "
        "failed expression: object.spec.replicas <= 5",
        AdmissionDenied,
        {
            "engine": PolicyEngine.ADMISSION_POLICY,
            "policy": "replicas",
            "binding": "replicas-all",
            "reason": "failed expression: object.spec.replicas <= 5",
            "resource": ObjectName(resource="deployments", group="apps", name="web"),
        },
    ),
    (
        'pods "web" is forbidden: violates PodSecurity "baseline:latest": privileged (container "a" '
        "must not set "
        "securityContext.privileged=true)",
        AdmissionDenied,
        {"engine": PolicyEngine.POD_SECURITY, "policy": "baseline:latest"},
    ),
    (
        'admission webhook "validate.nginx.ingress.kubernetes.io" denied the request: host '
        '"a.example" and path "/" is '
        "already defined in ingress shop/old",
        AdmissionDenied,
        {"engine": PolicyEngine.WEBHOOK, "webhook": "validate.nginx.ingress.kubernetes.io"},
    ),
    (
        'Internal error occurred: failed calling webhook "mutate.example.com": Post '
        '"https://hook.ns-a.svc:443/m?timeout=30s": '
        'service "hook" not found',
        WebhookDown,
        {
            "service": "hook",
            "namespace": "ns-a",
            "reason": Network.SERVICE_MISSING,
            "webhook": "mutate.example.com",
        },
    ),
    (
        'Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: Post '
        '"https://w.ns.svc:443/v?timeout=10s": context deadline exceeded',
        WebhookDown,
        {"reason": Network.TIMEOUT, "url": "https://w.ns.svc:443/v?timeout=10s"},
    ),
    (
        'Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: Post '
        '"https://hooks.example.com/v": x509: certificate signed by unknown authority',
        WebhookDown,
        {"reason": Network.X509, "service": ""},
    ),
]


@pytest.mark.parametrize(("text", "kind", "parts"), IMMUTABLE + KINDS + RBAC + PLACES + SCHEMA + ADMISSION)
def test_apply_failures(text: str, kind: type, parts: dict[str, object]) -> None:
    says(text, kind, **parts)


def test_several_field_errors_are_several_failures() -> None:
    text = (
        'Ingress.networking.k8s.io "web" is invalid: [spec.rules[0].host: Invalid value: "A, B": a '
        "lowercase RFC 1123 "
        "subdomain must consist of lower case characters, '-' or '.', spec.tls[0].secretName: Required value]"
    )
    host, secret = understand(text).failures
    assert isinstance(host, SchemaInvalid)
    assert isinstance(secret, SchemaInvalid)
    assert (host.pointer, host.problem, host.value) == ("/spec/rules/0/host", SchemaProblem.NAME, "A, B")
    assert (secret.pointer, secret.problem) == ("/spec/tls/0/secretName", SchemaProblem.REQUIRED)


def test_every_complaint_of_client_side_validation_counts() -> None:
    text = (
        'error validating data: [ValidationError(Deployment.spec): unknown field "a" in '
        "io.k8s.api.apps.v1.DeploymentSpec, "
        'ValidationError(Deployment.spec): missing required field "selector" in '
        "io.k8s.api.apps.v1.DeploymentSpec]"
    )
    fields = [failure.field for failure in understand(text).every(SchemaInvalid)]
    assert fields == ["spec.a", "spec.selector"]


def test_an_immutable_field_leads_over_what_it_entails() -> None:
    text = (
        'Deployment.apps "web" is invalid: [spec.template.metadata.labels: Invalid value: '
        'map[string]string{"a":"b"}: '
        "`selector` does not match template `labels`, spec.selector: Invalid value: "
        "v1.LabelSelector{}: field is immutable]"
    )
    assert [type(failure) for failure in understand(text).failures] == [ImmutableField, SchemaInvalid]


def test_an_api_server_that_misses_the_selector_of_a_job_refuses_an_update() -> None:
    """It generates the selector of a new Job; the end of the text, which says so, was cut off."""
    text = (
        'error when replacing "/dev/shm/1": Job.batch "migrate" is invalid: [spec.selector: Required value, '
        'spec.template.metadata.labels: Invalid value: map[string]string{"a":"b"}: `selector` does not match'
    )
    assert understand(text).first(ImmutableField) is not None
    alone = 'Job.batch "migrate" is invalid: spec.selector: Required value'
    assert understand(alone).first(ImmutableField) is None


def test_a_webhook_message_about_an_immutable_field() -> None:
    message = understand('admission webhook "v.example.com" denied the request: spec.storage is immutable')
    (failure,) = message.failures
    assert isinstance(failure, AdmissionDenied)
    immutable = message.first(ImmutableField)
    assert immutable is not None
    assert immutable.pointer == "/spec/storage"


@pytest.mark.parametrize(
    "text",
    [
        "deployment.apps/web configured",
        "deployment.apps/web unchanged",
        "service/web serverside-applied",
        "successfully synced (all tasks run)",
        "",
        "one or more synchronization tasks completed unsuccessfully",
        "one or more objects failed to apply (dry run)",
        "one or more tasks are running",
    ],
)
def test_texts_that_name_no_failure(text: str) -> None:
    assert understand(text).failures == ()


def test_annotations_that_are_too_long_are_known_by_their_limit() -> None:
    (failure,) = understand("metadata.annotations: oo long: must have at most 262144 bytes").failures
    assert isinstance(failure, AnnotationTooLong)
