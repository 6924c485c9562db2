"""Events and container states of the kubelet, the scheduler, controllers and operators."""

from __future__ import annotations

from tests.messages.upstream_texts.group import Group
from whysync.messages.pasted import Origin

GROUPS: tuple[Group, ...] = (
    Group(
        Origin.EVENT,
        "FailedScheduling",
        "",
        (
            (
                "unschedulable",
                "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No "
                "preemption victims found for incoming pod.",
            ),
            (
                "unschedulable",
                "0/3 nodes are available: 1 node(s) had untolerated taint "
                "{node-role.kubernetes.io/control-plane: }, 2 node(s) didn't match Pod's node "
                "affinity/selector.",
            ),
            (
                "unschedulable",
                "0/5 nodes are available: 5 node(s) didn't have free ports for the requested pod ports.",
            ),
            (
                "unschedulable pvc-pending",
                "0/3 nodes are available: 3 node(s) had volume node affinity conflict.",
            ),
            (
                "pvc-pending unschedulable",
                "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            ),
            (
                "pvc-pending dependency-missing unschedulable",
                '0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/3 nodes '
                "are available: 3 Preemption is not helpful for scheduling.",
            ),
            (
                "pvc-pending unschedulable",
                "0/1 nodes are available: 1 node(s) exceed max volume count.",
            ),
            (
                "unschedulable",
                "0/2 nodes are available: 2 Too many pods.",
            ),
            (
                "unschedulable",
                "0/4 nodes are available: 4 node(s) didn't match pod topology spread constraints.",
            ),
            (
                "unschedulable",
                "no nodes available to schedule pods",
            ),
            (
                "unschedulable",
                "skip schedule deleting pod: web/web-1",
            ),
            (
                "unschedulable",
                'running PreFilter plugin "VolumeBinding": error getting PVC "web/data": could not find '
                'v1.PersistentVolumeClaim "web/data"',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "NotTriggerScaleUp",
        "",
        (
            (
                "unschedulable",
                "pod didn't trigger scale-up: 2 max node group size reached, 1 Insufficient memory",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedMount",
        "",
        (
            (
                "dependency-missing config-error",
                'MountVolume.SetUp failed for volume "certs" : secret "web-tls" not found',
            ),
            (
                "dependency-missing config-error",
                'MountVolume.SetUp failed for volume "conf" : configmap "web" not found',
            ),
            (
                "dependency-missing config-error",
                'MountVolume.SetUp failed for volume "conf" : configmap references non-existent config '
                "key: app.yaml",
            ),
            (
                "dependency-missing config-error",
                'MountVolume.SetUp failed for volume "keys" : references non-existent secret key: tls.key',
            ),
            (
                "config-error pvc-pending",
                'MountVolume.SetUp failed for volume "dev" : hostPath type check failed: /dev/kvm is not '
                "a character device",
            ),
            (
                "pvc-pending",
                'MountVolume.MountDevice failed for volume "pvc-1" : rpc error: code = Internal desc = '
                "mount failed: exit status 32",
            ),
            (
                "pvc-pending",
                'MountVolume.MountDevice failed for volume "pvc-1" : kubernetes.io/csi: '
                "attacher.MountDevice failed to create newCsiDriverClient: driver name ebs.csi.aws.com "
                "not found in the list of registered CSI drivers",
            ),
            (
                "dependency-missing config-error pvc-pending",
                'MountVolume.SetUp failed for volume "secrets-store" : rpc error: code = Unknown desc = '
                "failed to mount secrets store objects for pod web/web-1, err: rpc error: code = Unknown "
                "desc = failed to get secretproviderclass web/vault, error: "
                'SecretProviderClass.secrets-store.csi.x-k8s.io "vault" not found',
            ),
            (
                "pvc-pending config-error degraded-workload",
                'MountVolume.SetUp failed for volume "kube-api-access-x" : failed to fetch token: pod '
                '"web-1" not found',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedAttachVolume",
        "",
        (
            (
                "degraded-workload",
                'Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one '
                "node and can't be attached to another",
            ),
            (
                "pvc-pending",
                'AttachVolume.Attach failed for volume "pvc-1" : rpc error: code = DeadlineExceeded desc '
                "= context deadline exceeded",
            ),
            (
                "pvc-pending",
                'AttachVolume.FindAttachablePluginBySpec failed for volume "pvc-1"',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "Failed",
        "",
        (
            (
                "image-pull",
                'Failed to pull image "registry.example.com/web:9": rpc error: code = NotFound desc = '
                'failed to pull and unpack image "registry.example.com/web:9": failed to resolve '
                'reference "registry.example.com/web:9": registry.example.com/web:9: not found',
            ),
            (
                "image-pull",
                'Failed to pull image "web": rpc error: code = Unknown desc = failed to pull and unpack '
                'image "docker.io/library/web:latest": failed to resolve reference: pull access denied, '
                "repository does not exist or may require authorization: server message: "
                "insufficient_scope: authorization failed",
            ),
            (
                "image-pull",
                'Failed to pull image "x": no matching manifest for linux/arm64/v8 in the manifest list '
                "entries",
            ),
            (
                "image-pull",
                'Failed to pull image "x": toomanyrequests: You have reached your pull rate limit.',
            ),
            (
                "image-pull",
                'Failed to pull image "x": tls: failed to verify certificate: x509: certificate signed '
                "by unknown authority",
            ),
            (
                "image-pull",
                "Error: ErrImageNeverPull",
            ),
            (
                "image-pull",
                "Error: InvalidImageName",
            ),
            (
                "config-error dependency-missing",
                'Error: secret "db" not found',
            ),
            (
                "config-error dependency-missing",
                "Error: couldn't find key password in Secret web/db",
            ),
            (
                "config-error",
                'Error: container has runAsNonRoot and image will run as root (pod: "web-1_web(1)", '
                "container: web)",
            ),
            (
                "config-error",
                "Error: failed to create containerd task: failed to create shim task: OCI runtime create "
                'failed: runc create failed: unable to start container process: exec: "./server": stat '
                "./server: no such file or directory: unknown",
            ),
            (
                "config-error",
                'Error: failed to prepare subPath for volumeMount "conf" of container "web"',
            ),
            (
                "config-error",
                'Error: cannot find volume "conf" to mount into container "web"',
            ),
            (
                "config-error",
                'Error: failed to start container "web": Error response from daemon: OCI runtime create '
                'failed: container_linux.go:380: starting container process caused: exec: "sh": '
                "executable file not found in $PATH: unknown",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "InspectFailed",
        "",
        (
            (
                "image-pull",
                'Failed to apply default image tag "registry.example.com/Web:1": couldn\'t parse image '
                "name: invalid reference format: repository name must be lowercase",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedToRetrieveImagePullSecret",
        "",
        (
            (
                "image-pull dependency-missing config-error",
                "Unable to retrieve some image pull secrets (regcred); attempting to pull the image may "
                "not succeed.",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "BackOff",
        "",
        (
            (
                "crashloop",
                "Back-off restarting failed container web in pod web-1_web(1)",
            ),
            (
                "image-pull",
                'Back-off pulling image "registry.example.com/web:9"',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "Unhealthy",
        "",
        (
            (
                "probe-failing",
                "Readiness probe failed: HTTP probe failed with statuscode: 503",
            ),
            (
                "probe-failing",
                'Liveness probe failed: Get "http://10.1.2.3:8080/health": dial tcp 10.1.2.3:8080: '
                "connect: connection refused",
            ),
            (
                "probe-failing",
                'Startup probe failed: command "cat /tmp/ready" timed out',
            ),
            (
                "probe-failing",
                "Readiness probe errored: rpc error: code = Unknown desc = failed to exec in container: "
                "container is in CONTAINER_EXITED state",
            ),
            (
                "probe-failing",
                'Liveness probe failed: timeout: failed to connect service ":9090" within 1s',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedCreatePodSandBox",
        "",
        (
            (
                "config-error degraded-workload",
                "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network "
                'for sandbox "1": plugin type="calico" failed (add): error getting ClusterInformation: '
                "connection is unauthorized: Unauthorized",
            ),
            (
                "config-error degraded-workload",
                "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox "
                'runtime: no runtime for "gvisor" is configured',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedCreate",
        "",
        (
            (
                "quota",
                'Error creating: pods "web-1" is forbidden: exceeded quota: compute, requested: pods=1, '
                "used: pods=10, limited: pods=10",
            ),
            (
                "admission-denied",
                'Error creating: pods "web-1" is forbidden: violates PodSecurity "baseline:latest": host '
                "namespaces (hostNetwork=true)",
            ),
            (
                "admission-denied",
                'Error creating: admission webhook "validation.gatekeeper.sh" denied the request: '
                "[no-latest] image uses latest",
            ),
            (
                "dependency-missing",
                'Error creating: pods "web-1" is forbidden: error looking up service account web/web: '
                'serviceaccount "web" not found',
            ),
            (
                "webhook-down",
                'Error creating: Internal error occurred: failed calling webhook "inject.example.com": '
                'failed to call webhook: Post "https://i.x.svc:443/inject?timeout=10s": context deadline '
                "exceeded",
            ),
            (
                "limit-range",
                'Error creating: pods "web-1" is forbidden: [maximum memory usage per Container is 1Gi, '
                "but limit is 2Gi]",
            ),
            (
                "admission-denied",
                'create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: unable to '
                "validate against any security context constraint: "
                "[spec.containers[0].securityContext.runAsUser: Invalid value: 0: must be in the ranges: "
                "[1000, 2000]]",
            ),
            (
                "schema-invalid degraded-workload",
                'create Pod web-0 in StatefulSet web failed error: Pod "web-0" is invalid: '
                'spec.hostname: Invalid value: "web.x": must not contain dots',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedBuildModel",
        "",
        (
            (
                "ingress-pending",
                "Failed build model due to couldn't auto-discover subnets: unable to resolve at least "
                "one subnet",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedGetResourceMetric",
        "",
        (
            (
                "degraded-workload",
                "failed to get cpu utilization: missing request for cpu in container web of Pod web-1",
            ),
            (
                "degraded-workload openapi-error",
                "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch "
                "metrics from resource metrics API: the server could not find the requested resource "
                "(get pods.metrics.k8s.io)",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "BackoffLimitExceeded",
        "",
        (
            (
                "degraded-workload hook-failed",
                "Job has reached the specified backoff limit",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "DeadlineExceeded",
        "",
        (
            (
                "degraded-workload hook-failed",
                "Job was active longer than specified deadline",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "Evicted",
        "",
        (
            (
                "degraded-workload",
                "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: "
                "200Mi. Container web was using 3Gi, request is 0, has larger consumption of "
                "ephemeral-storage.",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "OOMKilling",
        "",
        (
            (
                "oom",
                "Memory cgroup out of memory: Killed process 4242 (java) total-vm:123kB",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "Preempted",
        "",
        (
            (
                "degraded-workload unschedulable",
                "Preempted by pod 1 on node n1",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "FailedPostStartHook",
        "",
        (
            (
                "config-error crashloop degraded-workload",
                'Exec lifecycle hook ([/bin/sh -c setup]) for Container "web" in Pod "web-1_web(1)" '
                "failed - error: command '/bin/sh -c setup' exited with 1: , message: \"\"",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "ErrInitIssuer",
        "",
        (
            (
                "degraded-workload dependency-missing",
                'Error initializing issuer: secrets "ca" not found',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "IssuerNotFound",
        "",
        (
            (
                "degraded-workload dependency-missing",
                'Referenced "ClusterIssuer" not found: clusterissuer.cert-manager.io "letsencrypt" not found',
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "UpdateFailed",
        "",
        (
            (
                "degraded-workload dependency-missing",
                "error processing spec.data[0] (key: db), err: Secret does not exist",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "InvalidProviderConfig",
        "",
        (
            (
                "degraded-workload",
                "could not get provider client: unable to log in to auth method: Error making API "
                "request. Code: 403. Errors: permission denied",
            ),
        ),
    ),
    Group(
        Origin.EVENT,
        "ErrUnsealFailed",
        "",
        (
            (
                "degraded-workload config-error",
                "Failed to unseal: no key could decrypt secret (password)",
            ),
        ),
    ),
    Group(
        Origin.CONTAINER,
        "CrashLoopBackOff",
        "",
        (
            (
                "crashloop",
                "back-off 5m0s restarting failed container=web pod=web-1_web(1)",
            ),
        ),
    ),
    Group(
        Origin.CONTAINER,
        "ImagePullBackOff",
        "",
        (
            (
                "image-pull",
                'Back-off pulling image "registry.example.com/web:9": ErrImagePull: rpc error: code = '
                "NotFound desc = not found",
            ),
        ),
    ),
    Group(
        Origin.CONTAINER,
        "CreateContainerConfigError",
        "",
        (
            (
                "config-error dependency-missing",
                'configmap "settings" not found',
            ),
            (
                "config-error",
                'container\'s runAsUser breaks non-root policy (pod: "web-1_web(1)", container: web)',
            ),
        ),
    ),
    Group(
        Origin.CONTAINER,
        "CreateContainerError",
        "",
        (
            (
                "config-error",
                'failed to generate container "1" spec: failed to generate spec: path "/data" is mounted '
                'on "/" but it is not a shared mount',
            ),
        ),
    ),
    Group(
        Origin.CONTAINER,
        "RunContainerError",
        "",
        (
            (
                "config-error",
                "failed to create containerd task: failed to create shim: OCI runtime create failed: "
                'container_linux.go: starting container process caused: exec: "/app": permission denied: '
                "unknown",
            ),
        ),
    ),
    Group(
        Origin.CONTAINER,
        "ErrImagePull",
        "",
        (
            (
                "image-pull",
                'failed to pull and unpack image "x": failed to copy: httpReadSeeker: failed open: '
                "unexpected status code https://registry.example.com/v2/x/blobs/sha256:1: 403 Forbidden",
            ),
        ),
    ),
    Group(
        Origin.HEALTH,
        "Degraded",
        "",
        (
            (
                "degraded-workload",
                'Deployment "web" exceeded its progress deadline',
            ),
        ),
    ),
    Group(
        Origin.HEALTH,
        "Progressing",
        "",
        (
            (
                "degraded-workload rollout-unfinished none",
                "Waiting for rollout to finish: 1 out of 2 new replicas have been updated...",
            ),
        ),
    ),
)
