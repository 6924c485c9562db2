"""Events and conditions of pods and workloads."""

from __future__ import annotations

import pytest

from tests.messages.says import Row, says
from whysync.messages.failure import ObjectName
from whysync.messages.patterns.pods import (
    AnalysisFailed,
    BackoffLimitExceeded,
    BudgetWithoutDisruptions,
    ContainerConfigInvalid,
    ContainerExited,
    CrashLoop,
    DeadlineExceeded,
    DefinitionNotEstablished,
    DependencyMissing,
    Evicted,
    FailedMount,
    ImagePull,
    LoadBalancerFailed,
    MetricsUnavailable,
    OomKilled,
    ProbeFailed,
    ProgressDeadline,
    PullProblem,
    RolloutUnfinished,
    SandboxFailed,
    Unschedulable,
    VolumePending,
)

PULL = 'Failed to pull image "ghcr.io/acme/web:2": '

ROWS: list[Row] = [
    (
        PULL + 'rpc error: code = NotFound desc = failed to pull and unpack image "ghcr.io/acme/web:2": '
        "failed to resolve "
        'reference "ghcr.io/acme/web:2": ghcr.io/acme/web:2: not found',
        ImagePull,
        {"image": "ghcr.io/acme/web:2", "reason": PullProblem.NOT_FOUND},
    ),
    (
        PULL + "rpc error: code = Unknown desc = failed to authorize: failed to fetch anonymous token: "
        "unexpected status: 401 "
        "Unauthorized",
        ImagePull,
        {"reason": PullProblem.UNAUTHORIZED},
    ),
    (
        PULL + "toomanyrequests: You have reached your pull rate limit.",
        ImagePull,
        {"reason": PullProblem.TOO_MANY_REQUESTS},
    ),
    (
        PULL + "dial tcp: lookup ghcr.io on 10.0.0.2:53: no such host",
        ImagePull,
        {"reason": PullProblem.UNREACHABLE},
    ),
    (
        'Back-off pulling image "web:2"',
        ImagePull,
        {"image": "web:2", "reason": PullProblem.UNKNOWN},
    ),
    (
        PULL + "no match for platform in manifest: not found",
        ImagePull,
        {"reason": PullProblem.PLATFORM},
    ),
    (
        "back-off 5m0s restarting failed container=app pod=web-5f9_shop(3f)",
        CrashLoop,
        {"container": "app", "pod": "web-5f9", "namespace": "shop"},
    ),
    (
        "Back-off restarting failed container app in pod web-5f9_shop(3f)",
        CrashLoop,
        {"container": "app", "pod": "web-5f9", "namespace": "shop"},
    ),
    ("OOMKilled", OomKilled, {}),
    ("CreateContainerConfigError", ContainerConfigInvalid, {}),
    ("Deployment does not have minimum availability.", RolloutUnfinished, {}),
    (
        "RolloutAborted: Rollout aborted update to revision 2: "
        'Metric "error-rate" assessed Failed due to failed (1) > failureLimit (0)',
        AnalysisFailed,
        {"metric": "error-rate", "detail": "failed (1) > failureLimit (0)"},
    ),
    (
        'Referenced "ClusterIssuer" not found: clusterissuer.cert-manager.io "le" not found',
        DependencyMissing,
        {"kind": "ClusterIssuer", "name": "le"},
    ),
    (
        'container "app" failed with exit code 2',
        ContainerExited,
        {"container": "app", "code": 2},
    ),
    (
        "0/6 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 node(s) didn't match "
        "Pod's node affinity/selector, "
        "3 Insufficient cpu. preemption: 0/6 nodes are available: 6 No preemption victims found for "
        "incoming pod.",
        Unschedulable,
        {
            "nodes": 6,
            "reasons": (
                ("node(s) had untolerated taint {a: b}", 1),
                ("node(s) didn't match Pod's node affinity/selector", 2),
                ("Insufficient cpu", 3),
            ),
        },
    ),
    (
        "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        Unschedulable,
        {"nodes": 3, "reasons": (("pod has unbound immediate PersistentVolumeClaims", 0),)},
    ),
    (
        'MountVolume.SetUp failed for volume "tls" : secret "web-tls" not found',
        DependencyMissing,
        {"kind": "Secret", "name": "web-tls", "referrer": "volume tls"},
    ),
    (
        "couldn't find key password in Secret shop/db",
        DependencyMissing,
        {"kind": "Secret", "namespace": "shop", "name": "db", "key": "password"},
    ),
    (
        'persistentvolumeclaim "data" not found',
        DependencyMissing,
        {"kind": "PersistentVolumeClaim", "name": "data"},
    ),
    (
        'storageclass.storage.k8s.io "fast" not found',
        DependencyMissing,
        {"kind": "StorageClass", "name": "fast"},
    ),
    (
        'Error creating: pods "web-" is forbidden: error looking up service account shop/web: '
        'serviceaccount "web" not found',
        DependencyMissing,
        {"kind": "ServiceAccount", "namespace": "shop", "name": "web", "referrer": "pods web-"},
    ),
    (
        "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[data "
        "kube-api]: timed out waiting "
        "for the condition",
        FailedMount,
        {"volume": "data", "is_summary": True, "attached_elsewhere": False},
    ),
    (
        'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) web-0',
        FailedMount,
        {
            "volume": "pvc-1",
            "detail": "Volume is already used by pod(s) web-0",
            "is_summary": False,
            "attached_elsewhere": True,
        },
    ),
    ("PodDisruptionBudget has InsufficientPods", BudgetWithoutDisruptions, {}),
    ("CRD is not established", DefinitionNotEstablished, {}),
    (
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
        ProbeFailed,
        {"probe": "readiness", "detail": "HTTP probe failed with statuscode: 503"},
    ),
    (
        "Container app failed liveness probe, will be restarted",
        ProbeFailed,
        {"probe": "liveness", "container": "app"},
    ),
    ("Error: container has runAsNonRoot and image will run as root", ContainerConfigInvalid, {}),
    (
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox",
        SandboxFailed,
        {},
    ),
    ("The node was low on resource: ephemeral-storage.", Evicted, {}),
    (
        'Deployment "web" exceeded its progress deadline',
        ProgressDeadline,
        {"resource": ObjectName(kind="Deployment", name="web")},
    ),
    (
        "Waiting for rollout to finish: 0 of 3 updated replicas are available...",
        RolloutUnfinished,
        {"detail": "0 of 3 updated replicas are available..."},
    ),
    ("Job has reached the specified backoff limit", BackoffLimitExceeded, {}),
    ("Job was active longer than specified deadline", DeadlineExceeded, {}),
    (
        'waiting for a volume to be created, either by external provisioner "ebs.csi.aws.com" or '
        "manually created by system "
        "administrator",
        VolumePending,
        {"provisioner": "ebs.csi.aws.com"},
    ),
    ("waiting for first consumer to be created before binding", VolumePending, {"first_consumer": True}),
    (
        "Error syncing load balancer: failed to ensure load balancer: could not find any suitable subnets",
        LoadBalancerFailed,
        {},
    ),
    (
        "failed to get cpu utilization: missing request for cpu in container web of Pod web-6d4b75cb6d-x2x4q",
        MetricsUnavailable,
        {"resource": "cpu", "container": "web", "pod": "web-6d4b75cb6d-x2x4q"},
    ),
    (
        "the HPA was unable to compute the replica count: failed to get memory utilization: "
        "no pods returned by selector while calculating replica count",
        MetricsUnavailable,
        {},
    ),
]


@pytest.mark.parametrize(("text", "kind", "parts"), ROWS)
def test_words_of_workloads(text: str, kind: type, parts: dict[str, object]) -> None:
    says(text, kind, **parts)
