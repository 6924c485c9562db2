# ruff: noqa: E501  (a table: one object on a line)
"""Deployments, StatefulSets, DaemonSets, Jobs, Pods: what the server makes of them."""

from __future__ import annotations

from suites.cluster.steps import Case, case, create, edit, get, obj, patch, put
from whysync.json_tree import Object

LABELS = "selector: {matchLabels: {app: web}}"
PLAIN = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}"
_SPECS = {
    "minimal": "containers: [{name: c, image: nginx}]",
    "tagged": "containers: [{name: c, image: 'nginx:1.27'}]",
    "latest": "containers: [{name: c, image: 'nginx:latest'}]",
    "digest": "containers: [{name: c, image: 'nginx@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}]",
    "registry_port": "containers: [{name: c, image: 'localhost:5000/nginx'}]",
    "ports": "containers: [{name: c, image: a, ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP, name: dns}]}]",
    "host_network": "{hostNetwork: true, containers: [{name: c, image: a, ports: [{containerPort: 80}]}]}",
    "env": (
        "containers: [{name: c, image: a, env: [{name: A, value: b}, {name: E}, {name: F, valueFrom: {fieldRef: "
        "{fieldPath: metadata.name}}}, {name: R, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}, "
        "{name: S, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}], "
        "envFrom: [{configMapRef: {name: c}}, {prefix: P_, secretRef: {name: s}}]}]"
    ),
    "probes": (
        "containers: [{name: c, image: a, livenessProbe: {httpGet: {port: 80}}, readinessProbe: {tcpSocket: {port: "
        "web}}, startupProbe: {exec: {command: [ls]}, failureThreshold: 30}}]"
    ),
    "grpc_probe": "containers: [{name: c, image: a, livenessProbe: {grpc: {port: 80}}}]",
    "lifecycle": (
        "containers: [{name: c, image: a, lifecycle: {preStop: {httpGet: {port: 80}}, postStart: {exec: {command: "
        "[ls]}}}}]"
    ),
    "sleep_hook": "containers: [{name: c, image: a, lifecycle: {preStop: {sleep: {seconds: 5}}}}]",
    "resources": (
        "containers: [{name: c, image: a, resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: '0.10', "
        "memory: 1e6}}}]"
    ),
    "limits_only": "containers: [{name: c, image: a, resources: {limits: {cpu: 2, memory: 128Mi, ephemeral-storage: 1Gi}}}]",
    "volumes": (
        "{containers: [{name: c, image: a, volumeMounts: [{name: a, mountPath: /a}, {name: s, mountPath: /s, subPath: "
        "x, readOnly: true}]}], volumes: [{name: a, emptyDir: {}}, {name: s, secret: {secretName: s}}, {name: m, "
        "configMap: {name: m, items: [{key: k, path: p}]}}, {name: p, projected: {sources: [{secret: {name: s}}, "
        "{downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}, {serviceAccountToken: {path: "
        "t}}]}}, {name: d, downwardAPI: {items: [{path: n, fieldRef: {fieldPath: metadata.name}}]}}, {name: h, "
        "hostPath: {path: /x}}, {name: v, persistentVolumeClaim: {claimName: v}}, {name: n, nfs: {server: n, path: "
        "/}}, {name: e, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: "
        "{storage: 1Gi}}}}}}]}"
    ),
    "volume_without_source": "{containers: [{name: c, image: a}], volumes: [{name: a}]}",
    "modes": (
        "{containers: [{name: c, image: a}], volumes: [{name: s, secret: {secretName: s, defaultMode: 0440}}, {name: "
        "m, configMap: {name: m, defaultMode: 256, items: [{key: k, path: p, mode: 0777}]}}]}"
    ),
    "init": "{initContainers: [{name: i, image: a}, {name: side, image: b, restartPolicy: Always}], containers: [{name: c, image: a}]}",
    "security": (
        "{securityContext: {runAsUser: 1000, fsGroup: 2000, seccompProfile: {type: RuntimeDefault}}, containers: "
        "[{name: c, image: a, securityContext: {privileged: false, capabilities: {drop: [ALL]}, "
        "allowPrivilegeEscalation: false, readOnlyRootFilesystem: true}}]}"
    ),
    "account": "{serviceAccountName: robot, automountServiceAccountToken: false, containers: [{name: c, image: a}]}",
    "old_account": "{serviceAccount: robot, containers: [{name: c, image: a}]}",
    "scheduling": (
        "{nodeSelector: {a: b}, tolerations: [{key: a, operator: Exists, effect: NoSchedule}, {operator: Exists}], "
        "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "
        "labelSelector: {matchLabels: {app: web}}}], affinity: {podAntiAffinity: "
        "{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: host, "
        "labelSelector: {matchLabels: {app: web}}}}]}, nodeAffinity: "
        "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, "
        "operator: In, values: [b]}]}]}}}, containers: [{name: c, image: a}]}"
    ),
    "dns": (
        "{dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1]}, hostAliases: [{ip: 1.2.3.4, hostnames: [a]}], "
        "hostname: h, subdomain: s, containers: [{name: c, image: a}]}"
    ),
    "os_and_more": (
        "{os: {name: linux}, terminationGracePeriodSeconds: 5, enableServiceLinks: false, shareProcessNamespace: "
        "true, imagePullSecrets: [{name: s}], containers: [{name: c, image: a, imagePullPolicy: Never, tty: true, "
        "stdin: true, workingDir: /w, command: [a], args: [b], terminationMessagePolicy: FallbackToLogsOnError}]}"
    ),
    "priority_class": "{priorityClassName: system-cluster-critical, containers: [{name: c, image: a}]}",
    "pod_resources": "{resources: {limits: {cpu: 1, memory: 1Gi}}, containers: [{name: c, image: a, resources: {requests: {cpu: 100m}}}]}",
    "resize_policy": (
        "containers: [{name: c, image: a, resources: {requests: {cpu: 1}}, resizePolicy: [{resourceName: cpu, "
        "restartPolicy: RestartContainer}]}]"
    ),
    "gates": "{schedulingGates: [{name: a.example/b}], readinessGates: [{conditionType: a.example/b}], containers: [{name: c, image: a}]}",
    "claims": (
        "{resourceClaims: [{name: gpu, resourceClaimTemplateName: t}], containers: [{name: c, image: a, resources: "
        "{claims: [{name: gpu}]}}]}"
    ),
}


def pod(spec: str, name: str = "web") -> Object:
    return obj(f"v1/Pod {name}", f"spec: {_flow(spec)}")


def templated(kind: str, spec: str, more: str = "", name: str = "web") -> Object:
    template = f"template: {{metadata: {{labels: {{app: web}}}}, spec: {_flow(spec)}}}"
    return obj(f"{kind} {name}", f"spec: {{{LABELS}, {template}{', ' + more if more else ''}}}")


def workload(kind: str, more: str = "", name: str = "web") -> Object:
    """With the plainest of pods, and `more` in its spec."""
    return obj(f"{kind} {name}", f"spec: {{{LABELS}, {PLAIN}{', ' + more if more else ''}}}")


def _flow(spec: str) -> str:
    return spec if spec.startswith("{") else f"{{{spec}}}"


_CLAIM = (
    "{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
)
_JOB = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: a}]}}"

_MORE: dict[str, Object] = {
    "deployment_full": workload(
        "apps/v1/Deployment",
        "replicas: 3, revisionHistoryLimit: 2, progressDeadlineSeconds: 60, minReadySeconds: 5, paused: true, "
        "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 50%}}",
    ),
    "deployment_recreate": workload("apps/v1/Deployment", "strategy: {type: Recreate}"),
    "deployment_zero": workload("apps/v1/Deployment", "replicas: 0"),
    "stateful_full": workload(
        "apps/v1/StatefulSet",
        f"serviceName: web, volumeClaimTemplates: [{_CLAIM}], podManagementPolicy: Parallel, updateStrategy: "
        "{rollingUpdate: {partition: 2}}, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}, "
        "ordinals: {start: 1}, minReadySeconds: 3",
    ),
    "stateful_unavailable": workload(
        "apps/v1/StatefulSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 2}}"
    ),
    "daemon_surge": workload(
        "apps/v1/DaemonSet", "updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"
    ),
    "daemon_percent": workload("apps/v1/DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 30%}}"),
    "replicaset": workload("apps/v1/ReplicaSet", "replicas: 2, minReadySeconds: 1"),
    "replication_controller": obj(
        "v1/ReplicationController rc",
        "spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: a}]}}}",
    ),
    "job": obj("batch/v1/Job j", f"spec: {{{_JOB}}}"),
    "job_indexed": obj(
        "batch/v1/Job j",
        f"spec: {{{_JOB}, completionMode: Indexed, completions: 3, parallelism: 2, backoffLimitPerIndex: 1, "
        "maxFailedIndexes: 1}",
    ),
    "job_policy": obj(
        "batch/v1/Job j",
        f"spec: {{{_JOB}, podFailurePolicy: {{rules: [{{action: FailJob, onExitCodes: {{operator: In, values: [1]}}}}, "
        "{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]}, podReplacementPolicy: Failed}",
    ),
    "job_success_policy": obj(
        "batch/v1/Job j",
        f"spec: {{{_JOB}, completionMode: Indexed, completions: 2, successPolicy: {{rules: [{{succeededIndexes: "
        "'0'}]}}",
    ),
    "job_suspended": obj("batch/v1/Job j", f"spec: {{{_JOB}, suspend: true, ttlSecondsAfterFinished: 10}}"),
    "job_labelled": obj(
        "batch/v1/Job j",
        "spec: {template: {metadata: {labels: {a: b}, annotations: {c: d}}, spec: {restartPolicy: OnFailure, "
        "containers: [{name: c, image: a}]}}}",
    ),
    "cronjob": obj(
        "batch/v1/CronJob c", f"spec: {{schedule: '*/5 * * * *', jobTemplate: {{spec: {{{_JOB}}}}}}}"
    ),
    "cronjob_full": obj(
        "batch/v1/CronJob c",
        "spec: {schedule: '@daily', timeZone: Europe/Berlin, concurrencyPolicy: Forbid, startingDeadlineSeconds: 10, "
        f"suspend: true, successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 3, jobTemplate: {{metadata: {{labels: {{a: b}}}}, spec: {{{_JOB}}}}}}}",
    ),
    "pod_template": obj(
        "v1/PodTemplate t",
        "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: a}]}}",
    ),
    "controller_revision": obj("apps/v1/ControllerRevision r", "{revision: 1, data: {spec: {a: 1}}}"),
}

CASES: tuple[Case, ...] = (
    *(case(f"pod_{name}", create(pod(spec)), get(pod(spec))) for name, spec in _SPECS.items()),
    *(
        case(f"deployment_{name}", create(templated("apps/v1/Deployment", spec)))
        for name, spec in _SPECS.items()
    ),
    *(
        case(f"{kind.rpartition('/')[2].lower()}_minimal", create(workload(kind)))
        for kind in ("apps/v1/StatefulSet", "apps/v1/DaemonSet", "apps/v1/ReplicaSet")
    ),
    *(case(name, create(body), get(body)) for name, body in _MORE.items()),
    *(
        case(f"{name}_again", create(body), put(body), edit(body, "metadata: {labels: {x: y}}"))
        for name, body in _MORE.items()
        if not name.startswith("job")
    ),
    *(
        case(f"{name}_unchanged", create(body), patch("merge", body, "{}"), patch("merge", body, "{}"))
        for name, body in _MORE.items()
    ),
    *(
        case(f"pod_{name}_unchanged", create(pod(spec)), patch("merge", pod(spec), "{}"))
        for name, spec in _SPECS.items()
    ),
    case(
        "scale",
        create(workload("apps/v1/Deployment")),
        get(workload("apps/v1/Deployment"), "scale"),
        edit(workload("apps/v1/Deployment"), "spec: {replicas: 5}", "scale"),
        patch("merge", workload("apps/v1/Deployment"), "spec: {replicas: 7}", "scale", manager="hpa"),
        patch("merge", workload("apps/v1/Deployment"), "spec: {replicas: -1}", "scale"),
        get(workload("apps/v1/Deployment")),
    ),
    case(
        "status",
        create(workload("apps/v1/Deployment")),
        patch(
            "merge",
            workload("apps/v1/Deployment"),
            "{spec: {replicas: 9}, status: {replicas: 1, readyReplicas: 1, observedGeneration: 1, conditions: [{type: "
            "Available, status: 'True', reason: R, message: m}]}}",
            "status",
            manager="kube-controller-manager",
        ),
        edit(workload("apps/v1/Deployment"), "status: {availableReplicas: 1}", "status"),
        edit(workload("apps/v1/Deployment"), "status: {availableReplicas: 4}"),
        get(workload("apps/v1/Deployment"), "status"),
    ),
)
